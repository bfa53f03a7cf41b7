//! The rules of a flow in SSA, checked after construction and after every pass.
//!
//! 1. Every block has a tail.
//! 2. Targets of tails exist; the entry has no predecessors.
//! 3. All blocks are reachable.
//! 4. An instruction stands in one place.
//! 5. Definitions dominate uses; an operand of a phi is used at the end of the predecessor.
//! 6. A phi has an operand for each predecessor, and phis stand first.
//! 7. Predecessors are the blocks whose tails lead there.
//! 8. Undefined values are operands of phis only; variables are neither read nor written.

use crate::ssa::dominators::Dominators;
use crate::ssa::flow::{BlockId, Flow, InstId, SsaOp, SsaOperation, Tail};
use thiserror::Error;

/// A rule that a flow breaks: a bug of the pass before.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{block}: rule {rule}: {what}")]
pub struct SsaError {
    /// The block.
    pub block: BlockId,
    /// Number of the rule in the module's documentation.
    pub rule: u8,
    /// What is wrong.
    pub what: String,
}

/// Checks the rules; the first that is broken is the error.
pub fn verify_flow<O: SsaOperation>(flow: &Flow<O>) -> Result<(), SsaError> {
    let fail = |block: BlockId, rule: u8, what: String| Err(SsaError { block, rule, what });
    check_blocks(flow)?;
    // Where each instruction stands: block and position.
    let mut place = vec![None; flow.insts.len()];
    for block in flow.block_ids() {
        for (position, inst) in flow.block(block).insts.iter().enumerate() {
            if place[inst.index()].replace((block, position)).is_some() {
                return fail(block, 4, format!("{inst} stands in two places"));
            }
        }
    }
    let dominators = Dominators::new(flow);
    let is_before = |value: InstId, block: BlockId, position: usize| {
        place[value.index()].is_some_and(|(at, index)| match at == block {
            true => index < position,
            false => dominators.dominates(at, block),
        })
    };
    for block in flow.block_ids() {
        let rows = flow.block(block);
        let mut phis_end = false;
        for (position, inst) in rows.insts.iter().enumerate() {
            let row = flow.inst(*inst);
            match row.op {
                SsaOp::Read(_) | SsaOp::Write(_) => {
                    return fail(block, 8, format!("{inst} is an access to a variable"));
                }
                SsaOp::Phi if phis_end || row.args.len() != rows.predecessors.len() => {
                    return fail(block, 6, format!("{inst} is no phi of this block"));
                }
                SsaOp::Phi => {
                    let lost = row
                        .args
                        .iter()
                        .zip(&rows.predecessors)
                        .find(|(arg, from)| !is_before(**arg, **from, flow.block(**from).insts.len()));
                    if let Some((arg, from)) = lost {
                        return fail(block, 5, format!("{inst} reads {arg}, which {from} has not"));
                    }
                }
                _ => {
                    phis_end |= !matches!(row.op, SsaOp::Undef);
                    if let Some(arg) = row.args.iter().find(|arg| !is_before(**arg, block, position)) {
                        return fail(block, 5, format!("{inst} reads {arg} before it is defined"));
                    }
                    if row.args.iter().any(|arg| matches!(flow.inst(*arg).op, SsaOp::Undef)) {
                        return fail(block, 8, format!("{inst} reads an undefined value"));
                    }
                }
            }
        }
        if let Some(value) = rows.tail.operand().filter(|value| !is_before(*value, block, rows.insts.len())) {
            return fail(block, 5, format!("the tail reads {value} before it is defined"));
        }
    }
    Ok(())
}

fn check_blocks<O: SsaOperation>(flow: &Flow<O>) -> Result<(), SsaError> {
    let fail = |block: BlockId, rule: u8, what: &str| Err(SsaError { block, rule, what: what.to_owned() });
    let mut predecessors = vec![Vec::new(); flow.blocks.len()];
    for block in flow.block_ids() {
        if flow.block(block).tail == Tail::Open {
            return fail(block, 1, "the block has no end");
        }
        for to in flow.block(block).tail.successors() {
            match predecessors.get_mut(to.index()) {
                Some(known) if to.0 != 0 => known.push(block),
                _ => return fail(block, 2, "the tail leads nowhere, or to the entry"),
            }
        }
    }
    if flow.reverse_postorder().len() != flow.blocks.len() {
        return fail(BlockId(0), 3, "a block cannot be reached");
    }
    for block in flow.block_ids() {
        let mut known = flow.block(block).predecessors.clone();
        known.sort_unstable();
        if known != predecessors[block.index()] {
            return fail(block, 7, "the predecessors are not those that lead here");
        }
    }
    Ok(())
}
