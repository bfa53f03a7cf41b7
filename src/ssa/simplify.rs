//! Control flow: ways that are never taken, and blocks that can be one.
//!
//! 1. A branch whose condition is known becomes a jump; blocks that nothing leads to any more are removed.
//! 2. A block that ends with a jump takes in the block behind, if nothing else leads there.
//! 3. Phis of one operand are that operand.
//!
//! 4. A guard of a block that cannot raise is gone; a guarded block takes in no other.
//!
//! Blocks are numbered anew, in reverse postorder. Afterwards no tail is a branch on a known condition, and no jump leads to a block of one predecessor.

use crate::ssa::construct::remove_trivial_phis;
use crate::ssa::flow::{BlockId, Flow, InstId, SsaOperation, Tail};
use crate::ssa::order::order_blocks;

/// Simplifies the control flow of a flow in SSA; `known` gives the truth of a condition that is a constant.
pub fn simplify_flow<O: SsaOperation>(flow: &mut Flow<O>, known: impl Fn(&Flow<O>, InstId) -> Option<bool>) {
    // What is gone may have been the only reason that another condition was not known.
    while fold_branches(flow, &known) | drop_guards(flow) {
        remove_unreachable(flow);
        remove_trivial_phis(flow);
    }
    remove_unreachable(flow);
    remove_trivial_phis(flow);
    merge_chains(flow);
    order_blocks(flow);
}

/// Follows rules 1 and 3 alone: afterwards there are the ways that do not depend on a known condition, and no others are gone.
pub fn remove_known_ways<O: SsaOperation>(
    flow: &mut Flow<O>,
    known: impl Fn(&Flow<O>, InstId) -> Option<bool>,
) {
    fold_branches(flow, known);
    remove_unreachable(flow);
    remove_trivial_phis(flow);
    order_blocks(flow);
}

/// Rule 1: true if a branch is gone.
fn fold_branches<O: SsaOperation>(
    flow: &mut Flow<O>,
    known: impl Fn(&Flow<O>, InstId) -> Option<bool>,
) -> bool {
    let mut is_simpler = false;
    for block in flow.block_ids() {
        let Tail::Branch { condition, then, orelse } = flow.block(block).tail else { continue };
        let taken = match known(flow, condition) {
            _ if then == orelse => then,
            Some(true) => then,
            Some(false) => orelse,
            None => continue,
        };
        let other = if taken == then { orelse } else { then };
        flow.remove_edge(block, other);
        flow.blocks[block.index()].tail = Tail::Jump(taken);
        is_simpler = true;
    }
    is_simpler
}

/// Empties blocks that no path leads to, and takes the ways out of them away.
fn remove_unreachable<O: SsaOperation>(flow: &mut Flow<O>) {
    let mut is_reachable = vec![false; flow.blocks.len()];
    flow.reverse_postorder().into_iter().for_each(|block| is_reachable[block.index()] = true);
    for block in flow.block_ids().filter(|block| !is_reachable[block.index()]) {
        let tail = std::mem::replace(&mut flow.blocks[block.index()].tail, Tail::Open);
        tail.successors().for_each(|to| flow.remove_edge(block, to));
        flow.blocks[block.index()].insts.clear();
    }
}

/// Rule 4: true if a guard is gone.
fn drop_guards<O: SsaOperation>(flow: &mut Flow<O>) -> bool {
    let mut is_simpler = false;
    for block in flow.block_ids() {
        if matches!(flow.block(block).tail, Tail::Guard { .. }) || flow.may_raise(block) {
            continue;
        }
        for guard in flow.guards(block).collect::<Vec<_>>() {
            let Tail::Guard { then, orelse, .. } = flow.block(guard).tail else { continue };
            flow.remove_edge(guard, orelse);
            flow.blocks[guard.index()].tail = Tail::Jump(then);
            is_simpler = true;
        }
    }
    is_simpler
}

/// Rule 2. The emptied blocks stay, and nothing leads to them.
fn merge_chains<O: SsaOperation>(flow: &mut Flow<O>) {
    for block in flow.block_ids() {
        if block != BlockId(0) && flow.block(block).predecessors.is_empty() {
            continue;
        }
        while let Tail::Jump(next) = flow.block(block).tail {
            let stays = flow.block(next).predecessors.len() != 1 || flow.guards(block).next().is_some();
            if next == block || stays {
                break;
            }
            let rows = &mut flow.blocks[next.index()];
            let (insts, tail) =
                (std::mem::take(&mut rows.insts), std::mem::replace(&mut rows.tail, Tail::Open));
            let (span, depth) = (rows.tail_span, rows.depth);
            rows.predecessors.clear();
            for to in tail.successors() {
                let predecessors = flow.blocks[to.index()].predecessors.iter_mut();
                predecessors.filter(|from| **from == next).for_each(|from| *from = block);
            }
            let rows = &mut flow.blocks[block.index()];
            rows.insts.extend(insts);
            (rows.tail, rows.tail_span, rows.depth) = (tail, span, rows.depth.max(depth));
        }
    }
}
