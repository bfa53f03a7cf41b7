//! Literals: in the entry, each once.

use crate::function::low::{LowFunction, LowOp};
use crate::ssa::{InstId, SsaOp};
use cembra_vm::value::Value;
use hashbrown::HashMap;

/// Moves all literals to the entry, behind its parameters, and makes equal ones one.
pub(super) fn pool(function: &mut LowFunction) {
    let flow = &mut function.flow;
    let mut known: HashMap<Value, InstId> = HashMap::new();
    let mut stands_for: Vec<InstId> = (0..flow.insts.len() as u32).map(InstId).collect();
    let mut pool = Vec::new();
    for block in &mut flow.blocks {
        block.insts.retain(|inst| {
            let SsaOp::Do(LowOp::Literal(value)) = &flow.insts[inst.index()].op else { return true };
            let first = *known.entry(value.clone()).or_insert_with(|| {
                pool.push(*inst);
                *inst
            });
            stands_for[inst.index()] = first;
            false
        });
    }
    pool.iter().for_each(|inst| flow.insts[inst.index()].name = None);
    flow.replace_values(|value| stands_for[value.index()]);
    let first = &mut flow.blocks[0].insts;
    first.splice(0..0, pool);
}
