//! Common subexpressions: what has been computed on every way here is not computed again.
//!
//! A walk down the dominator tree numbers operators by their operands. What reads an array also has the number of the
//! memory that it finds: every write makes a new one, and so does every block that several ways lead to, and every
//! handler, since the guarded block may have written before it raised.
//! An operator that raises is shared too: the first would have raised.
//!
//! Operands of phis stay: a value that goes round a loop in a register of its own costs nothing, and one that is
//! shared a copy.

use super::{is_array, lengths_stay, writes_memory};
use crate::function::low::{LowFunction, LowOp};
use crate::ssa::{BlockId, Dominators, InstId, SsaOp, Tail};
use cembra_vm::value::QType;
use fixedbitset::FixedBitSet;
use hashbrown::HashMap;

/// An operator, its operands, and the memory it reads.
type Key = (&'static str, Vec<InstId>, u32);

/// Shares what is computed several times.
pub(super) fn share(function: &mut LowFunction) {
    let dominators = Dominators::new(&function.flow);
    let in_phis = operands_of_phis(function);
    let lengths_stay = lengths_stay(&function.flow);
    let mut known: HashMap<Key, (InstId, BlockId)> = HashMap::new();
    let mut stands_for: Vec<InstId> = (0..function.flow.insts.len() as u32).map(InstId).collect();
    // The number of the memory at the end of each block.
    let (mut memory_behind, mut newest) = (vec![0u32; function.flow.blocks.len()], 0);
    for block in dominators.preorder() {
        let mut memory = match function.flow.block(*block).predecessors[..] {
            [from] if !is_handler(function, from, *block) => memory_behind[from.index()],
            _ => {
                newest += 1;
                newest
            }
        };
        let mut insts = std::mem::take(&mut function.flow.blocks[block.index()].insts);
        insts.retain(|inst| {
            let args = &mut function.flow.insts[inst.index()].args;
            args.iter_mut().for_each(|arg| *arg = stands_for[arg.index()]);
            if writes_memory(&function.flow, *inst) {
                newest += 1;
                memory = newest;
            }
            let Some((name, args)) = shareable(function, *inst).filter(|_| !in_phis.contains(inst.index()))
            else {
                return true;
            };
            let reads = args.iter().any(|arg| is_array(function, *arg));
            let is_fixed = !reads || (name == "nd.length" && lengths_stay);
            let key = (name, args.to_vec(), if is_fixed { 0 } else { memory });
            match known.get(&key).filter(|(_, at)| dominators.dominates(*at, *block)) {
                Some((first, _)) => {
                    stands_for[inst.index()] = *first;
                    false
                }
                None => {
                    known.insert(key, (*inst, *block));
                    true
                }
            }
        });
        function.flow.blocks[block.index()].insts = insts;
        memory_behind[block.index()] = memory;
    }
    function.flow.replace_values(|value| stands_for[value.index()]);
}

/// True if a block is reached from a guard, because something raised.
fn is_handler(function: &LowFunction, guard: BlockId, block: BlockId) -> bool {
    matches!(function.flow.block(guard).tail, Tail::Guard { orelse, .. } if orelse == block)
}

/// An operator that gives one number for the same operands.
fn shareable(function: &LowFunction, inst: InstId) -> Option<(&'static str, &[InstId])> {
    let row = function.flow.inst(inst);
    let SsaOp::Do(LowOp::Operator(name, _)) = row.op else { return None };
    matches!(function.types[inst.index()], Some(QType::Scalar(_))).then_some((name, &row.args[..]))
}

fn operands_of_phis(function: &LowFunction) -> FixedBitSet {
    let flow = &function.flow;
    let mut found = FixedBitSet::with_capacity(flow.insts.len());
    for phi in flow.block_ids().flat_map(|block| flow.phis(block)) {
        flow.inst(phi).args.iter().for_each(|arg| found.insert(arg.index()));
    }
    found
}
