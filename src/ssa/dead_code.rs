//! Dead code: instructions without effects whose values nobody reads.

use crate::ssa::flow::{Flow, InstId, SsaOp, SsaOperation};

/// Removes dead instructions; phis that only read each other are among them. Afterwards every instruction has an
/// effect, or is read by one that has, or by a tail.
pub fn remove_dead_code<O: SsaOperation>(flow: &mut Flow<O>) {
    let mut is_needed = vec![false; flow.insts.len()];
    let has_effects = |inst: &InstId| match &flow.inst(*inst).op {
        SsaOp::Do(operation) => operation.has_effects(),
        SsaOp::Write(_) => true,
        SsaOp::Phi | SsaOp::Undef | SsaOp::Read(_) => false,
    };
    let mut work: Vec<InstId> = Vec::new();
    for block in &flow.blocks {
        work.extend(block.insts.iter().filter(|inst| has_effects(inst)));
        work.extend(block.tail.operand());
    }
    while let Some(inst) = work.pop() {
        if !std::mem::replace(&mut is_needed[inst.index()], true) {
            work.extend(&flow.inst(inst).args);
        }
    }
    for block in &mut flow.blocks {
        block.insts.retain(|inst| is_needed[inst.index()]);
    }
}
