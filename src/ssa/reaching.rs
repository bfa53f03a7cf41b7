//! Which reads of variables may find no value: reaching definitions, with one bit for "has none".
//!
//! ```text
//! if n > 0:          a: none | written
//!     a = 1
//! return a           sometimes
//! ```
//!
//! Behind a read the variable has a value: whoever reads in vain does not go on.

use crate::ssa::dominators::Dominators;
use crate::ssa::flow::{BlockId, Flow, InstId, SsaOp, SsaOperation, VarId};
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
    fn set(&mut self, at: usize, has_value: bool) {
        self.without.set(at, !has_value);
        self.with.set(at, has_value);
    }
}

/// Finds the reads that may find no value, in order of the blocks. Writing an undefined value deletes.
pub fn unbound_reads<O: SsaOperation>(flow: &Flow<O>) -> Vec<UnboundRead> {
    let number = numbers_of_candidates(flow);
    let candidates = number.iter().flatten().count();
    if candidates == 0 {
        return Vec::new();
    }
    let empty = FixedBitSet::with_capacity(candidates);
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
        flow.block(block).insts.iter().for_each(|inst| step(flow, &number, *inst, &mut state));
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
    let has_value = variables_with_values(flow);
    let mut found = Vec::new();
    for block in order {
        let mut state = reach[block.index()].clone();
        for inst in &flow.block(block).insts {
            if let SsaOp::Read(variable) = flow.inst(*inst).op
                && let Some(at) = number[variable.index()]
                && state.without.contains(at)
            {
                let always = !state.with.contains(at) || !has_value[variable.index()];
                found.push(UnboundRead { inst: *inst, variable, always });
            }
            step(flow, &number, *inst, &mut state);
        }
    }
    found
}

/// By variable, whether some write gives it a value that does not come from variables without one, as `x = x` does.
fn variables_with_values<O: SsaOperation>(flow: &Flow<O>) -> Vec<bool> {
    let mut has_value = vec![false; flow.variables];
    let mut takes: Vec<Vec<VarId>> = vec![Vec::new(); flow.variables];
    let mut work: Vec<VarId> = Vec::new();
    for inst in flow.blocks.iter().flat_map(|block| &block.insts) {
        let row = flow.inst(*inst);
        let SsaOp::Write(variable) = row.op else { continue };
        match flow.inst(row.args[0]).op {
            SsaOp::Undef => {}
            SsaOp::Read(from) => takes[from.index()].push(variable),
            _ => work.push(variable),
        }
    }
    while let Some(variable) = work.pop() {
        if !std::mem::replace(&mut has_value[variable.index()], true) {
            work.extend(&takes[variable.index()]);
        }
    }
    has_value
}

fn step<O: SsaOperation>(flow: &Flow<O>, number: &[Option<usize>], inst: InstId, state: &mut Reach) {
    let row = flow.inst(inst);
    match row.op {
        SsaOp::Read(variable) => {
            if let Some(at) = number[variable.index()] {
                state.without.set(at, false);
            }
        }
        SsaOp::Write(variable) => {
            if let Some(at) = number[variable.index()] {
                state.set(at, !matches!(flow.inst(row.args[0]).op, SsaOp::Undef));
            }
        }
        _ => {}
    }
}

/// Numbers of the variables that some read may find without a value: all but those that are never deleted, and whose
/// reads are dominated by one write.
fn numbers_of_candidates<O: SsaOperation>(flow: &Flow<O>) -> Vec<Option<usize>> {
    let dominators = Dominators::new(flow);
    let mut is_candidate = vec![false; flow.variables];
    let mut first: Vec<Option<BlockId>> = vec![None; flow.variables];
    for block in flow.reverse_postorder() {
        for inst in &flow.block(block).insts {
            let row = flow.inst(*inst);
            match row.op {
                SsaOp::Write(variable) => {
                    first[variable.index()].get_or_insert(block);
                    is_candidate[variable.index()] |= matches!(flow.inst(row.args[0]).op, SsaOp::Undef);
                }
                SsaOp::Read(variable) => {
                    let is_dominated =
                        first[variable.index()].is_some_and(|at| dominators.dominates(at, block));
                    is_candidate[variable.index()] |= !is_dominated;
                }
                _ => {}
            }
        }
    }
    let mut next = 0..;
    is_candidate.into_iter().map(|is_candidate| if is_candidate { next.next() } else { None }).collect()
}
