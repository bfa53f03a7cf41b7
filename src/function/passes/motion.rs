//! Loop-invariant motion: what is the same in every round is computed before the first.
//!
//! ```text
//! while i < n:                      m = n - 1
//!     … a[i] * (n - 1) …            while i < n: … a[i] * m …
//! ```
//!
//! 1. Only what cannot raise moves, and only to where that is [proven](super::ranges): a loop may have no round.
//! 2. A read of an array moves if nothing in the loop may write it. Two parameters are two arrays: a call with arrays
//!    that overlap, one of which is written, is refused.
//! 3. What is dear, and is not computed in every round, stays.
//!
//! Afterwards a loop with one entry has no such operator whose operands are all from outside.

use super::ranges::Proofs;
use super::{is_array, lengths_stay};
use crate::function::low::{LowFunction, LowOp};
use crate::ssa::{BlockId, Dominators, Flow, InstId, SsaOp, natural_loops};
use cembra_vm::operator::OperatorTable;
use cembra_vm::value::QType;
use fixedbitset::FixedBitSet;

/// Most that an operator may cost which not every round computes.
const CHEAP: u32 = 1;

/// Moves invariants out of all loops.
pub(super) fn hoist(function: &mut LowFunction, table: &OperatorTable, proofs: &Proofs) {
    let dominators = Dominators::new(&function.flow);
    let is_cheap = |name: &str| table.family(name).is_some_and(|family| family.cost() <= CHEAP);
    let lengths_stay = lengths_stay(&function.flow);
    let mut home = vec![BlockId(0); function.flow.insts.len()];
    for block in function.flow.block_ids() {
        function.flow.block(block).insts.iter().for_each(|inst| home[inst.index()] = block);
    }
    for natural in natural_loops(&function.flow, &dominators) {
        let Some(preheader) = natural.preheader else { continue };
        let mut inside = FixedBitSet::with_capacity(function.flow.blocks.len());
        natural.blocks.iter().for_each(|block| inside.insert(block.index()));
        let mut blocks = natural.blocks.clone();
        blocks.sort_unstable_by_key(|block| dominators.position(*block));
        let insts = natural.blocks.iter().flat_map(|block| &function.flow.block(*block).insts);
        let writes = Writes::new(&function.flow, insts.copied());
        for block in blocks {
            let is_always = natural.latches.iter().all(|latch| dominators.dominates(block, *latch));
            let mut moved = Vec::new();
            let mut insts = std::mem::take(&mut function.flow.blocks[block.index()].insts);
            insts.retain(|inst| {
                let is_outside = |arg: &InstId| !inside.contains(home[arg.index()].index());
                let changes =
                    |arg: &InstId| is_array(function, *arg) && writes.may_change(&function.flow, *arg);
                let row = function.flow.inst(*inst);
                let moves = match row.op {
                    SsaOp::Do(LowOp::Operator(name, false)) => {
                        let is_number = matches!(function.types[inst.index()], Some(QType::Scalar(_)));
                        let is_fixed = name == "nd.length" && lengths_stay;
                        let is_steady = is_fixed || !row.args.iter().any(changes);
                        is_number && is_steady && (is_always || is_cheap(name))
                    }
                    _ => false,
                };
                let is_proven = proofs.get(inst).is_none_or(|block| !inside.contains(block.index()));
                let moves = moves && is_proven && row.args.iter().all(is_outside);
                if moves {
                    home[inst.index()] = preheader;
                    moved.push(*inst);
                }
                !moves
            });
            function.flow.blocks[block.index()].insts = insts;
            function.flow.blocks[preheader.index()].insts.extend(moved);
        }
    }
}

/// What the instructions of a loop write.
struct Writes {
    /// Parameters that are written.
    parameters: Vec<u32>,
    /// True if other arrays are, or nobody knows.
    others: bool,
}

impl Writes {
    fn new(flow: &Flow<LowOp>, insts: impl Iterator<Item = InstId>) -> Writes {
        let mut writes = Writes { parameters: Vec::new(), others: false };
        for inst in insts {
            match flow.operation(inst) {
                Some(LowOp::Update(_)) => match flow.operation(flow.inst(inst).args[0]) {
                    Some(LowOp::Input(position)) if writes.parameters.contains(position) => {}
                    Some(LowOp::Input(position)) => writes.parameters.push(*position),
                    _ => writes.others = true,
                },
                Some(LowOp::Call(_) | LowOp::Pieces(_)) => writes.others = true,
                _ => {}
            }
        }
        writes
    }

    fn may_change(&self, flow: &Flow<LowOp>, array: InstId) -> bool {
        match flow.operation(array) {
            Some(LowOp::Input(position)) => self.others || self.parameters.contains(position),
            _ => self.others || !self.parameters.is_empty(),
        }
    }
}
