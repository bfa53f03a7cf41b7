//! The stage `ussa`: variables become values, and reads that may find none are guarded.
//!
//! ```text
//! return a          bound = read a?       branch bound ? go on : fail UNBOUND
//! ```
//!
//! A variable that some read may find without a value gets a truth value beside it: false at the start, true where
//! it is assigned, false where it is deleted. A read that never finds one is an error. What is guarded stays so.

use crate::function::build::{BuiltFunction, RaisedFailure};
use crate::function::constant::Constant;
use crate::function::error::{FunctionError, FunctionProblem};
use crate::function::op::FunctionOp;
use crate::ssa::reaching::{UnboundRead, unbound_reads};
use crate::ssa::{
    BlockId, Flow, SsaOp, Tail, VarId, construct, order_blocks, remove_phis_of_one, verify_flow,
};
use cembra_vm::program::instruction::Span;
use cembra_vm::value::Category;
use hashbrown::HashMap;

/// Most places where a variable can be alive: variables times blocks. The work of liveness grows with it.
const MOST_PLACES: usize = 200_000_000;

/// Brings a function into SSA.
///
/// # Errors
/// Too many variables for so many blocks; a variable that is read and never has a value; or a rule of SSA is broken, which is a bug.
pub fn to_ssa(mut function: BuiltFunction) -> Result<BuiltFunction, FunctionError> {
    if function.flow.variables.saturating_mul(function.flow.blocks.len()) > MOST_PLACES {
        let problem = FunctionProblem::Limit { name: "function-places", limit: MOST_PLACES };
        return Err(FunctionError::new(problem, Span::default()));
    }
    let unbound = unbound_reads(&function.flow);
    if let Some(read) = unbound.iter().find(|read| read.always) {
        return Err(never_bound(&function, read));
    }
    guard(&mut function, &unbound);
    construct(&mut function.flow);
    // A variable that a test has found not to be None is the same variable behind both ways of the test.
    remove_phis_of_one(&mut function.flow, |flow, value| match flow.operation(value) {
        Some(FunctionOp::NotNone(_)) => Some(flow.inst(value).args[0]),
        _ => None,
    });
    order_blocks(&mut function.flow);
    let stage = |error| FunctionError::new(FunctionProblem::Stage { stage: "ussa", error }, Span::default());
    verify_flow(&function.flow).map_err(stage)?;
    Ok(function)
}

/// A read of a variable that no path gives a value.
pub(super) fn never_bound(function: &BuiltFunction, read: &UnboundRead) -> FunctionError {
    let name = function.variables[read.variable.index()].clone();
    let problem = match function.free_reads.contains(&read.inst) {
        true => FunctionProblem::UnboundFree { name },
        false => FunctionProblem::Unbound { name },
    };
    FunctionError::new(problem, function.flow.inst(read.inst).span)
}

/// What a read raises that finds no value.
fn unbound_failure(name: &str, is_free: bool) -> RaisedFailure {
    match is_free {
        true => RaisedFailure {
            category: Category::Raised,
            message: format!(
                "NameError: cannot access free variable '{name}' where it is not associated with a value in \
                 enclosing scope"
            ),
        },
        false => RaisedFailure {
            category: Category::Unbound,
            message: format!("cannot access local variable '{name}' where it is not associated with a value"),
        },
    }
}

fn guard(function: &mut BuiltFunction, unbound: &[UnboundRead]) {
    let mut flags: HashMap<VarId, VarId> = HashMap::new();
    for read in unbound {
        flags.entry(read.variable).or_insert_with(|| {
            function.variables.push(String::new());
            function.flow.add_variable()
        });
    }
    if flags.is_empty() {
        return;
    }
    let flow = &mut function.flow;
    set_flags(flow, &flags);
    // Reads of one block from the last to the first, so that what is split off holds none of the others.
    let mut place = vec![(0, 0); flow.insts.len()];
    for block in flow.block_ids() {
        for (position, inst) in flow.block(block).insts.iter().enumerate() {
            place[inst.index()] = (block.index(), position);
        }
    }
    let mut unbound: Vec<&UnboundRead> = unbound.iter().collect();
    unbound.sort_by_key(|read| std::cmp::Reverse(place[read.inst.index()]));
    let mut numbers: HashMap<(VarId, bool), u32> = HashMap::new();
    for read in unbound {
        let is_free = function.free_reads.contains(&read.inst);
        let number = *numbers.entry((read.variable, is_free)).or_insert_with(|| {
            let name = &function.variables[read.variable.index()];
            function.failures.push(unbound_failure(name, is_free));
            function.failures.len() as u32 - 1
        });
        let (block, position) = place[read.inst.index()];
        split_at(flow, (BlockId(block as u32), position), flags[&read.variable], number);
    }
    flow.set_predecessors();
}

/// Writes a variable's flag wherever the variable is written, and at the start.
fn set_flags(flow: &mut Flow<FunctionOp>, flags: &HashMap<VarId, VarId>) {
    let flag_value = |flow: &mut Flow<FunctionOp>, value: bool, flag: VarId, span: Span| {
        let constant = flow.add_inst(SsaOp::Do(FunctionOp::Constant(Constant::Bool(value))), vec![], span);
        let write = flow.add_inst(SsaOp::Write(flag), vec![constant], span);
        [constant, write]
    };
    for block in flow.block_ids() {
        let old = std::mem::take(&mut flow.blocks[block.index()].insts);
        let mut new = Vec::with_capacity(old.len());
        for inst in old {
            new.push(inst);
            if let SsaOp::Write(variable) = flow.inst(inst).op
                && let Some(flag) = flags.get(&variable)
            {
                let (value, span) = (flow.inst(inst).args[0], flow.inst(inst).span);
                let is_value = !matches!(flow.inst(value).op, SsaOp::Undef);
                new.extend(flag_value(flow, is_value, *flag, span));
            }
        }
        flow.blocks[block.index()].insts = new;
    }
    let mut all: Vec<VarId> = flags.values().copied().collect();
    all.sort_unstable();
    for flag in all {
        let start = flag_value(flow, false, flag, Span::default());
        flow.blocks[0].insts.splice(0..0, start);
    }
}

/// Puts a branch on the flag before the read at a place.
fn split_at(flow: &mut Flow<FunctionOp>, (block, position): (BlockId, usize), flag: VarId, failure: u32) {
    let read = flow.block(block).insts[position];
    let (depth, span) = (flow.block(block).depth, flow.inst(read).span);
    let (rest, fails) = (flow.add_block(depth), flow.add_block(depth));
    let (then, orelse) = (flow.guard_like(block, rest), flow.guard_like(block, fails));
    let moved = flow.blocks[block.index()].insts.split_off(position);
    let tail = std::mem::replace(&mut flow.blocks[block.index()].tail, Tail::Open);
    let tail_span = std::mem::replace(&mut flow.blocks[block.index()].tail_span, span);
    let rows = &mut flow.blocks[rest.index()];
    (rows.insts, rows.tail, rows.tail_span) = (moved, tail, tail_span);
    let rows = &mut flow.blocks[fails.index()];
    (rows.tail, rows.tail_span) = (Tail::Fail(failure), span);
    let condition = flow.push(block, SsaOp::Read(flag), vec![], span);
    flow.blocks[block.index()].tail = Tail::Branch { condition, then, orelse };
}
