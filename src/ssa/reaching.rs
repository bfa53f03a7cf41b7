//! Which reads of variables may find no value: reaching definitions, with one bit for "has none".
//!
//! ```text
//! if n > 0:          a: none | written
//!     a = 1
//! return a           sometimes
//! ```
//!
//! A read counts as a definition afterwards: whoever reads in vain does not go on.

use crate::ssa::flow::{Flow, InstId, Operation, SsaOp, VarId};
use fixedbitset::FixedBitSet;

/// A read that may find no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnboundRead {
    /// The read.
    pub inst: InstId,
    /// The variable.
    pub variable: VarId,
    /// True if no path gives it a value.
    pub always: bool,
}

/// What may hold of each variable where a block begins.
#[derive(Clone)]
struct Reach {
    without: FixedBitSet,
    with: FixedBitSet,
}

impl Reach {
    fn set(&mut self, variable: VarId, has_value: bool) {
        self.without.set(variable.index(), !has_value);
        self.with.set(variable.index(), has_value);
    }
}

/// Finds the reads that may find no value, in order of the blocks. Writing an undefined value deletes.
pub fn unbound_reads<O: Operation>(flow: &Flow<O>) -> Vec<UnboundRead> {
    let empty = FixedBitSet::with_capacity(flow.variables);
    let mut entry = Reach { without: empty.clone(), with: empty.clone() };
    entry.without.insert_range(..);
    let mut reach = vec![Reach { without: empty.clone(), with: empty }; flow.blocks.len()];
    reach[0] = entry;
    let order = flow.reverse_postorder();
    let mut work: Vec<_> = order.iter().rev().copied().collect();
    let mut is_waiting = vec![true; flow.blocks.len()];
    while let Some(block) = work.pop() {
        is_waiting[block.index()] = false;
        let mut state = reach[block.index()].clone();
        flow.block(block).insts.iter().for_each(|inst| step(flow, *inst, &mut state));
        for to in flow.block(block).tail.successors() {
            let next = &mut reach[to.index()];
            let known = next.without.count_ones(..) + next.with.count_ones(..);
            next.without.union_with(&state.without);
            next.with.union_with(&state.with);
            let grew = next.without.count_ones(..) + next.with.count_ones(..) > known;
            if grew && !std::mem::replace(&mut is_waiting[to.index()], true) {
                work.push(to);
            }
        }
    }
    let mut found = Vec::new();
    for block in order {
        let mut state = reach[block.index()].clone();
        for inst in &flow.block(block).insts {
            if let SsaOp::Read(variable) = flow.inst(*inst).op
                && state.without.contains(variable.index())
            {
                let always = !state.with.contains(variable.index());
                found.push(UnboundRead { inst: *inst, variable, always });
            }
            step(flow, *inst, &mut state);
        }
    }
    found
}

fn step<O: Operation>(flow: &Flow<O>, inst: InstId, state: &mut Reach) {
    let row = flow.inst(inst);
    match row.op {
        SsaOp::Read(variable) => state.set(variable, true),
        SsaOp::Write(variable) => {
            state.set(variable, !matches!(flow.inst(row.args[0]).op, SsaOp::Undef));
        }
        _ => {}
    }
}
