//! Which writes of variables nobody reads: variables that are alive, from the end of the flow to its start.
//!
//! ```text
//! x = 0         nobody: the next write comes first
//! x = n
//! return x
//! ```
//!
//! What may raise in a block goes on behind the guard around it, with the variables that it has at any place.

use crate::ssa::flow::{BlockId, Flow, InstId, SsaOp, SsaOperation, Tail};
use fixedbitset::FixedBitSet;

/// Most places where a variable can be alive, variables times blocks; of larger flows nothing is found.
const MOST_PLACES: usize = 50_000_000;

/// Finds the writes whose values no path reads, in order of the blocks.
pub fn unread_writes<O: SsaOperation>(flow: &Flow<O>) -> Vec<InstId> {
    if flow.variables.saturating_mul(flow.blocks.len()) > MOST_PLACES {
        return Vec::new();
    }
    let mut alive = vec![FixedBitSet::with_capacity(flow.variables); flow.blocks.len()];
    let order = flow.reverse_postorder();
    let mut work: Vec<BlockId> = order.clone();
    let mut is_waiting = vec![true; flow.blocks.len()];
    let mut readers: Vec<Vec<BlockId>> = vec![Vec::new(); flow.blocks.len()];
    for block in &order {
        for to in next_blocks(flow, *block) {
            readers[to.index()].push(*block);
        }
    }
    while let Some(block) = work.pop() {
        is_waiting[block.index()] = false;
        let state = walk(flow, block, &alive, |_| {});
        if state != alive[block.index()] {
            alive[block.index()] = state;
            for from in &readers[block.index()] {
                if !std::mem::replace(&mut is_waiting[from.index()], true) {
                    work.push(*from);
                }
            }
        }
    }
    let mut unread = Vec::new();
    for block in order {
        let first = unread.len();
        walk(flow, block, &alive, |write| unread.push(write));
        unread[first..].reverse();
    }
    unread
}

/// Blocks that may come next: those of the tail, and where what is raised leads.
fn next_blocks<O: SsaOperation>(flow: &Flow<O>, block: BlockId) -> Vec<BlockId> {
    flow.block(block).tail.successors().chain(handlers(flow, block)).collect()
}

fn handlers<O: SsaOperation>(flow: &Flow<O>, block: BlockId) -> impl Iterator<Item = BlockId> + '_ {
    flow.guards(block).filter_map(|guard| match flow.block(guard).tail {
        Tail::Guard { orelse, .. } => Some(orelse),
        _ => None,
    })
}

/// What is alive where a block begins; tells of writes that nobody reads, the last first.
fn walk<O: SsaOperation>(
    flow: &Flow<O>,
    block: BlockId,
    alive: &[FixedBitSet],
    mut unread: impl FnMut(InstId),
) -> FixedBitSet {
    let mut anywhere = FixedBitSet::with_capacity(flow.variables);
    handlers(flow, block).for_each(|handler| anywhere.union_with(&alive[handler.index()]));
    let mut state = anywhere.clone();
    flow.block(block).tail.successors().for_each(|to| state.union_with(&alive[to.index()]));
    for inst in flow.block(block).insts.iter().rev() {
        match flow.inst(*inst).op {
            SsaOp::Read(variable) => state.insert(variable.index()),
            SsaOp::Write(variable) => {
                if !state.contains(variable.index()) {
                    unread(*inst);
                }
                state.set(variable.index(), anywhere.contains(variable.index()));
            }
            _ => {}
        }
    }
    state
}
