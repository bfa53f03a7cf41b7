//! A function out of SSA: registers, copies, and the order of blocks.

use crate::function::low::{LowFunction, LowOp};
use crate::ssa::destruct::destruct;
use crate::ssa::{BlockId, Destructed, Flow, InstId, SsaOp, Tail};
use cembra_vm::operator::OperatorTable;
use cembra_vm::value::QType;

/// A function out of SSA.
pub(super) struct Draft {
    pub(super) function: LowFunction,
    pub(super) out: Destructed,
    pub(super) order: Vec<BlockId>,
}

impl Draft {
    /// Nothing if too many values are alive at once.
    pub(super) fn new(mut function: LowFunction, table: &OperatorTable) -> Option<Draft> {
        let (types, handed_on) = (&function.types, phi_operands(&function.flow));
        // An array is not made in the handle that it is made from; an operator that updates is its operand. Some operators
        // write their result before they have read all operands.
        let stays_clear = |flow: &Flow<LowOp>, value: InstId| match flow.operation(value) {
            Some(LowOp::Update(_)) => false,
            Some(LowOp::Operator(name, _)) if types[value.index()].as_ref().is_some_and(QType::is_plain) => {
                handed_on[value.index()] && writes_early(table, types, name, &flow.inst(value).args)
            }
            _ => types[value.index()].as_ref().is_some_and(|qtype| !qtype.is_plain()),
        };
        let out = destruct(&mut function.flow, is_pinned, stays_clear)?;
        let mut order = block_order(&function.flow);
        let mut draft = Draft { function, out, order: Vec::new() };
        order.retain(|block| *block == BlockId(0) || draft.forwards(*block).is_none());
        draft.order = order;
        Some(draft)
    }

    pub(super) fn flow(&self) -> &Flow<LowOp> {
        &self.function.flow
    }

    /// Where an empty block leads; nowhere if it leads back to itself, as an endless loop does.
    pub(super) fn forwards(&self, block: BlockId) -> Option<BlockId> {
        let to = self.empty_to(block)?;
        let mut at = to;
        for _ in 0..self.flow().blocks.len() {
            match self.empty_to(at) {
                Some(next) if next == block => return None,
                Some(next) => at = next,
                None => return Some(to),
            }
        }
        None
    }

    pub(super) fn empty_to(&self, block: BlockId) -> Option<BlockId> {
        let rows = self.flow().block(block);
        let has_code = |inst: &InstId| !is_pinned(self.flow(), *inst) && !self.flow().is_phi(*inst);
        match rows.tail {
            Tail::Jump(to) if to != block && self.out.copies[block.index()].is_empty() => {
                (!rows.insts.iter().any(has_code)).then_some(to)
            }
            _ => None,
        }
    }

    /// The block where control arrives that goes to a block: behind empty ones.
    pub(super) fn arrives(&self, block: BlockId) -> BlockId {
        let mut at = block;
        for _ in 0..self.flow().blocks.len() {
            match self.forwards(at).filter(|_| at != BlockId(0)) {
                Some(next) => at = next,
                None => break,
            }
        }
        at
    }

    pub(super) fn register(&self, value: InstId) -> InstId {
        self.out.register[value.index()]
    }

    pub(super) fn is_array(&self, value: InstId) -> bool {
        matches!(self.function.types[value.index()], Some(QType::NdArray(_)))
    }

    /// Reads of each value, by operands and tails.
    pub(super) fn reads(&self) -> Vec<u32> {
        let mut reads = vec![0; self.flow().insts.len()];
        for block in self.flow().block_ids() {
            let rows = self.flow().block(block);
            for inst in &rows.insts {
                self.flow().inst(*inst).args.iter().for_each(|arg| reads[arg.index()] += 1);
            }
            rows.tail.operand().into_iter().for_each(|value| reads[value.index()] += 1);
        }
        reads
    }
}

/// By value, whether a phi takes it, so that the two may share a register.
fn phi_operands(flow: &Flow<LowOp>) -> Vec<bool> {
    let mut taken = vec![false; flow.insts.len()];
    for phi in flow.block_ids().flat_map(|block| flow.phis(block)) {
        flow.inst(phi).args.iter().for_each(|arg| taken[arg.index()] = true);
    }
    taken
}

/// True of an operator that may write its result before it has read all operands.
fn writes_early(table: &OperatorTable, types: &[Option<QType>], name: &str, args: &[InstId]) -> bool {
    let types: Option<Vec<QType>> = args.iter().map(|arg| types[arg.index()].clone()).collect();
    types
        .and_then(|types| table.overload(name, &types))
        .is_some_and(|overload| !overload.reads_before_writing())
}

/// Values that keep to themselves: they are in place from the start.
pub(super) fn is_pinned(flow: &Flow<LowOp>, value: InstId) -> bool {
    match &flow.inst(value).op {
        SsaOp::Undef => true,
        SsaOp::Do(op) => matches!(op, LowOp::Literal(_) | LowOp::Input(_) | LowOp::Part(_)),
        _ => false,
    }
}

/// Blocks in the order of their instructions: the head of a loop stands behind its last block.
fn block_order(flow: &Flow<LowOp>) -> Vec<BlockId> {
    let mut order = flow.reverse_postorder();
    let mut place = vec![usize::MAX; flow.blocks.len()];
    order.iter().enumerate().for_each(|(at, block)| place[block.index()] = at);
    let heads: Vec<BlockId> = order
        .iter()
        .copied()
        .filter(|head| matches!(flow.block(*head).tail, Tail::Branch { .. }))
        .filter(|head| {
            flow.block(*head).predecessors.iter().any(|from| place[from.index()] > place[head.index()])
        })
        .collect();
    for head in heads {
        let last = flow.block(head).predecessors.iter().copied().max_by_key(|from| place[from.index()]);
        let Some(last) = last.filter(|last| flow.block(*last).tail == Tail::Jump(head)) else { continue };
        let (from, to) = (place[head.index()], place[last.index()]);
        if from < to && from > 0 {
            order[from..=to].rotate_left(1);
            order[from..=to].iter().enumerate().for_each(|(at, block)| place[block.index()] = from + at);
        }
    }
    order
}
