//! Liveness over blocks: of variables before SSA, of values after it.
//!
//! The fixpoint runs backwards over sets, one bit for each variable or value. An operand of a phi is read at
//! the end of the predecessor it belongs to.

use crate::ssa::flow::{BlockId, Flow, Operation, SsaOp};
use fixedbitset::FixedBitSet;

/// What is read after the start and after the end of each block.
#[derive(Clone, Debug)]
pub struct LiveSets {
    /// By block, read after its start; results of its phis are not among them.
    pub live_in: Vec<FixedBitSet>,
    /// By block, read after its end; operands of phis behind it are among them.
    pub live_out: Vec<FixedBitSet>,
}

/// Liveness of variables.
pub fn live_variables<O: Operation>(flow: &Flow<O>) -> LiveSets {
    let empty = FixedBitSet::with_capacity(flow.variables);
    let mut read = vec![empty.clone(); flow.blocks.len()];
    let mut written = vec![empty.clone(); flow.blocks.len()];
    for block in flow.block_ids() {
        let (read, written) = (&mut read[block.index()], &mut written[block.index()]);
        for inst in &flow.block(block).insts {
            match flow.inst(*inst).op {
                SsaOp::Read(variable) if !written.contains(variable.index()) => read.insert(variable.index()),
                SsaOp::Write(variable) => written.insert(variable.index()),
                _ => {}
            }
        }
    }
    let at_end = vec![empty; flow.blocks.len()];
    solve(flow, read, &written, at_end)
}

/// Liveness of the values that are marked.
pub fn live_values<O: Operation>(flow: &Flow<O>, marked: &FixedBitSet) -> LiveSets {
    let empty = FixedBitSet::with_capacity(flow.insts.len());
    let mut read = vec![empty.clone(); flow.blocks.len()];
    let mut written = vec![empty.clone(); flow.blocks.len()];
    let mut at_end = vec![empty; flow.blocks.len()];
    for block in flow.block_ids() {
        let rows = flow.block(block);
        for inst in &rows.insts {
            let row = flow.inst(*inst);
            written[block.index()].insert(inst.index());
            if flow.is_phi(*inst) {
                for (operand, from) in row.args.iter().zip(&rows.predecessors) {
                    if marked.contains(operand.index()) {
                        at_end[from.index()].insert(operand.index());
                    }
                }
                continue;
            }
            for operand in row.args.iter().filter(|operand| marked.contains(operand.index())) {
                // What the block itself defines stands before, because definitions dominate uses.
                if !written[block.index()].contains(operand.index()) {
                    read[block.index()].insert(operand.index());
                }
            }
        }
        if let Some(operand) = rows.tail.operand().filter(|operand| marked.contains(operand.index()))
            && !written[block.index()].contains(operand.index())
        {
            read[block.index()].insert(operand.index());
        }
    }
    solve(flow, read, &written, at_end)
}

/// The fixpoint of `in = read + (out - written)`, `out = at_end + ins of successors`.
fn solve<O: Operation>(
    flow: &Flow<O>,
    read: Vec<FixedBitSet>,
    written: &[FixedBitSet],
    at_end: Vec<FixedBitSet>,
) -> LiveSets {
    let (mut live_in, mut live_out) = (read, at_end);
    for block in flow.block_ids() {
        let mut through = live_out[block.index()].clone();
        through.difference_with(&written[block.index()]);
        live_in[block.index()].union_with(&through);
    }
    let mut work: Vec<BlockId> = flow.reverse_postorder();
    let mut is_waiting = vec![true; flow.blocks.len()];
    while let Some(block) = work.pop() {
        is_waiting[block.index()] = false;
        for before in &flow.block(block).predecessors {
            let mut new = live_in[block.index()].clone();
            new.difference_with(&live_out[before.index()]);
            if new.is_clear() {
                continue;
            }
            live_out[before.index()].union_with(&new);
            new.difference_with(&written[before.index()]);
            new.difference_with(&live_in[before.index()]);
            if !new.is_clear() {
                live_in[before.index()].union_with(&new);
                if !std::mem::replace(&mut is_waiting[before.index()], true) {
                    work.push(*before);
                }
            }
        }
    }
    LiveSets { live_in, live_out }
}
