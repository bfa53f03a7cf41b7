//! The rules of a flow in SSA, checked after construction and after every pass.
//!
//! 1. Every block has a tail.
//! 2. Targets of tails exist; the entry has no predecessors. A guarded block has no predecessor but its guard, and no
//!    instruction if it ends with a guard itself; a handler is another block, and has no phis.
//! 3. All blocks are reachable.
//! 4. An instruction stands in one place.
//! 5. Definitions dominate uses; an operand of a phi is used at the end of the predecessor.
//! 6. A phi has an operand for each predecessor, and phis stand first.
//! 7. Predecessors are the blocks whose tails lead there. Uses of values are found where they are needed and not kept,
//!    so that they cannot be wrong.
//! 8. Blocks come before those that they dominate.
//! 9. Undefined values are operands of phis only; variables are neither read nor written.
//!
//! Rules 1, 2, 3 and 7 come first: without them the others mean nothing.

use crate::ssa::dominators::Dominators;
use crate::ssa::flow::{BlockId, Flow, InstId, SsaOp, SsaOperation, Tail};
use thiserror::Error;

/// Errors of a flow that are listed.
const MAX_ERRORS: usize = 1_000;

/// A rule that a flow breaks: a bug of the pass before.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{block}: rule {rule}: {what}")]
pub struct SsaError {
    /// The block.
    pub block: BlockId,
    /// The instruction; none for the block and its tail.
    pub inst: Option<InstId>,
    /// Number of the rule in the module's documentation.
    pub rule: u8,
    /// What is wrong.
    pub what: String,
}

/// Checks the rules.
///
/// # Errors
/// The first offence.
pub fn verify_flow<O: SsaOperation>(flow: &Flow<O>) -> Result<(), SsaError> {
    flow_errors(flow).into_iter().next().map_or(Ok(()), Err)
}

/// All offences against the rules, up to a thousand.
pub fn flow_errors<O: SsaOperation>(flow: &Flow<O>) -> Vec<SsaError> {
    let mut errors = Errors { found: Vec::new() };
    check_blocks(flow, &mut errors);
    if errors.found.is_empty() {
        Verifier::new(flow, &mut errors).check(&mut errors);
    }
    errors.found
}

struct Errors {
    found: Vec<SsaError>,
}

impl Errors {
    fn add(&mut self, block: BlockId, inst: Option<InstId>, rule: u8, what: impl Into<String>) {
        if self.found.len() < MAX_ERRORS {
            self.found.push(SsaError { block, inst, rule, what: what.into() });
        }
    }
}

fn check_blocks<O: SsaOperation>(flow: &Flow<O>, errors: &mut Errors) {
    if flow.blocks.is_empty() {
        return errors.add(BlockId(0), None, 2, "there is no entry");
    }
    let mut predecessors = vec![Vec::new(); flow.blocks.len()];
    for block in flow.block_ids() {
        if flow.block(block).tail == Tail::Open {
            errors.add(block, None, 1, "the block has no end");
        }
        for to in flow.block(block).tail.successors() {
            match predecessors.get_mut(to.index()) {
                Some(known) if to.0 != 0 => known.push(block),
                _ => errors.add(block, None, 2, "the tail leads nowhere, or to the entry"),
            }
        }
    }
    if !errors.found.is_empty() {
        return;
    }
    flow.block_ids().for_each(|block| check_guard(flow, block, errors));
    let mut is_reached = vec![false; flow.blocks.len()];
    flow.reverse_postorder().iter().for_each(|block| is_reached[block.index()] = true);
    for block in flow.block_ids() {
        if !is_reached[block.index()] {
            errors.add(block, None, 3, "the block cannot be reached");
        }
        let mut known = flow.block(block).predecessors.clone();
        known.sort_unstable();
        if known != predecessors[block.index()] {
            errors.add(block, None, 7, "the predecessors are not those that lead here");
        }
    }
}

/// Rule 2 for guards.
fn check_guard<O: SsaOperation>(flow: &Flow<O>, block: BlockId, errors: &mut Errors) {
    let Tail::Guard { catch, then, orelse } = &flow.block(block).tail else { return };
    if let Some(category) = catch.first_never_caught() {
        errors.add(block, None, 2, format!("{category} is never caught"));
    }
    let rows = flow.block(*then);
    if then == orelse || rows.predecessors[..] != [block] {
        errors.add(block, None, 2, "the guarded block is not only reached by its guard");
    }
    if matches!(rows.tail, Tail::Guard { .. }) && !rows.insts.is_empty() {
        errors.add(*then, None, 2, "a guarded block with instructions ends with a guard");
    }
    if flow.phis(*orelse).next().is_some() {
        errors.add(*orelse, None, 2, "a handler has phis");
    }
}

struct Verifier<'f, O> {
    flow: &'f Flow<O>,
    dominators: Dominators,
    /// Where each instruction stands: block and position.
    place: Vec<Option<(BlockId, usize)>>,
}

impl<'f, O: SsaOperation> Verifier<'f, O> {
    fn new(flow: &'f Flow<O>, errors: &mut Errors) -> Verifier<'f, O> {
        let mut place = vec![None; flow.insts.len()];
        for block in flow.block_ids() {
            for (position, inst) in flow.block(block).insts.iter().enumerate() {
                if place[inst.index()].replace((block, position)).is_some() {
                    errors.add(block, Some(*inst), 4, format!("{inst} stands in two places"));
                }
            }
        }
        Verifier { flow, dominators: Dominators::new(flow), place }
    }

    fn check(&self, errors: &mut Errors) {
        let flow = self.flow;
        for block in flow.block_ids() {
            if self.dominators.parent(block).is_some_and(|parent| parent >= block) {
                errors.add(block, None, 8, "the block comes before one that dominates it");
            }
            let rows = flow.block(block);
            let mut phis_end = false;
            for (position, inst) in rows.insts.iter().enumerate() {
                match flow.inst(*inst).op {
                    SsaOp::Read(_) | SsaOp::Write(_) => {
                        errors.add(block, Some(*inst), 9, format!("{inst} is an access to a variable"));
                    }
                    SsaOp::Phi => self.phi(block, *inst, phis_end, errors),
                    SsaOp::Undef => {}
                    SsaOp::Do(_) => {
                        phis_end = true;
                        self.operands(block, position, *inst, errors);
                    }
                }
            }
            if let Some(value) = rows.tail.operand() {
                if !self.is_before(value, block, rows.insts.len()) {
                    errors.add(block, None, 5, format!("the tail reads {value} before it is defined"));
                }
                if self.is_undefined(value) {
                    errors.add(block, None, 9, "the tail reads an undefined value");
                }
            }
        }
    }

    fn is_before(&self, value: InstId, block: BlockId, position: usize) -> bool {
        self.place[value.index()].is_some_and(|(at, index)| match at == block {
            true => index < position,
            false => self.dominators.dominates(at, block),
        })
    }

    fn is_undefined(&self, value: InstId) -> bool {
        matches!(self.flow.inst(value).op, SsaOp::Undef)
    }

    fn phi(&self, block: BlockId, phi: InstId, phis_end: bool, errors: &mut Errors) {
        let (rows, row) = (self.flow.block(block), self.flow.inst(phi));
        if phis_end || row.args.len() != rows.predecessors.len() {
            return errors.add(block, Some(phi), 6, format!("{phi} is no phi of this block"));
        }
        for (arg, from) in row.args.iter().zip(&rows.predecessors) {
            if !self.is_before(*arg, *from, self.flow.block(*from).insts.len()) {
                errors.add(block, Some(phi), 5, format!("{phi} reads {arg}, which {from} has not"));
            }
        }
    }

    fn operands(&self, block: BlockId, position: usize, inst: InstId, errors: &mut Errors) {
        for arg in &self.flow.inst(inst).args {
            if !self.is_before(*arg, block, position) {
                errors.add(block, Some(inst), 5, format!("{inst} reads {arg} before it is defined"));
            }
            if self.is_undefined(*arg) {
                errors.add(block, Some(inst), 9, format!("{inst} reads an undefined value"));
            }
        }
    }
}
