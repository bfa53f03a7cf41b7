//! Recursion: calls of a function inside of itself become its body, so that it calls itself less often.
//!
//! ```text
//! fib: … fib(n - 1) + fib(n - 2)        each call does the work of three, then of seven, …
//! ```
//!
//! 1. Only numbers go in and out: an array stays in one handle.
//! 2. Every round puts the body as it was in the place of all calls, as long as the function stays small.
//! 3. A function that catches errors stays as it is: what is guarded, and what is kept, belongs to one call.
//! 4. Instructions keep the lines that they stem from.
//!
//! Afterwards calls of the function to itself are [`MOST_INSTRUCTIONS`] instructions apart, or it is larger.

use crate::function::infer::InstanceId;
use crate::function::low::{LowFunction, LowOp};
use crate::ssa::{BlockId, Inst, InstId, Tail, VarId};
use cembra_vm::value::QType;

/// Instructions of a function that has taken itself in.
const MOST_INSTRUCTIONS: usize = 400;

/// Puts the function in the place of its calls of itself.
pub(super) fn unroll_recursion(function: &mut LowFunction, own: InstanceId) {
    let is_number = |qtype: &QType| matches!(qtype, QType::Scalar(_));
    if !is_number(&function.result) || !function.parameters.iter().all(|(_, of)| is_number(of)) {
        return;
    }
    let mut calls = calls_of(function, own);
    if calls.is_empty() || has_arrays_that_meet(function) || function.flow.has_guards() {
        return;
    }
    let body = function.clone();
    let size = size_of(&body);
    while !calls.is_empty() && size_of(function) + calls.len() * size <= MOST_INSTRUCTIONS {
        // The last call of a block first: what stands behind a call leaves its block.
        calls.iter().rev().for_each(|(block, call)| put_in_place(function, &body, *block, *call));
        calls = calls_of(function, own);
    }
}

fn size_of(function: &LowFunction) -> usize {
    function.flow.blocks.iter().map(|block| block.insts.len() + 1).sum()
}

/// Calls of an instance, and where they stand.
fn calls_of(function: &LowFunction, of: InstanceId) -> Vec<(BlockId, InstId)> {
    let mut found = Vec::new();
    for block in function.flow.block_ids() {
        let calls = function.flow.block(block).insts.iter();
        let calls = calls.filter(|inst| function.flow.operation(**inst) == Some(&LowOp::Call(of)));
        found.extend(calls.map(|inst| (block, *inst)));
    }
    found
}

/// True if a phi is over arrays: a body that is there several times would have several of them.
fn has_arrays_that_meet(function: &LowFunction) -> bool {
    let flow = &function.flow;
    flow.block_ids().any(|block| flow.phis(block).any(|phi| super::is_array(function, phi)))
}

/// Puts a body in the place of a call.
fn put_in_place(function: &mut LowFunction, body: &LowFunction, block: BlockId, call: InstId) {
    let args = function.flow.inst(call).args.clone();
    let behind = split_behind(function, block, call);
    let (failures, variables) = (function.failures.len() as u32, function.variables.len() as u32);
    function.failures.extend(body.failures.iter().cloned());
    function.variables.extend(body.variables.iter().cloned());
    function.flow.variables = function.variables.len().max(function.flow.variables);
    let first = function.flow.blocks.len() as u32;
    let moved = |to: BlockId| BlockId(to.0 + first);
    // What the values of the body are here; a phi may read what comes later.
    let mut here: Vec<Option<InstId>> = vec![None; body.flow.insts.len()];
    let mut next = function.flow.insts.len() as u32;
    let insts = || body.flow.blocks.iter().flat_map(|rows| &rows.insts);
    for inst in insts() {
        here[inst.index()] = Some(match body.flow.operation(*inst) {
            Some(LowOp::Input(position)) => args[*position as usize],
            _ => {
                next += 1;
                InstId(next - 1)
            }
        });
    }
    let value = |of: InstId| here[of.index()].expect("every value that is read stands in a block");
    for inst in insts().filter(|inst| !is_input(body, **inst)) {
        let row = body.flow.inst(*inst);
        function.flow.insts.push(Inst {
            op: row.op.clone(),
            args: row.args.iter().map(|arg| value(*arg)).collect(),
            span: row.span,
            name: row.name.map(|name| VarId(name.0 + variables)),
        });
        function.types.push(body.types[inst.index()].clone());
    }
    let (depth, call_span) = (function.flow.block(block).depth, function.flow.inst(call).span);
    let mut result = None;
    for at in body.flow.block_ids() {
        let rows = body.flow.block(at);
        let new = function.flow.add_block(depth + rows.depth);
        let tail = match &rows.tail {
            Tail::Jump(to) => Tail::Jump(moved(*to)),
            Tail::Branch { condition, then, orelse } => {
                Tail::Branch { condition: value(*condition), then: moved(*then), orelse: moved(*orelse) }
            }
            Tail::Fail(number) => Tail::Fail(number + failures),
            Tail::Guard { .. } | Tail::Again(_) => unreachable!("a function with guards stays as it is"),
            Tail::Return(of) => {
                result = Some((new, value(*of)));
                Tail::Jump(behind)
            }
            Tail::Open => Tail::Open,
        };
        let kept = rows.insts.iter().filter(|inst| !is_input(body, **inst));
        let kept: Vec<InstId> = kept.map(|inst| value(*inst)).collect();
        let new = &mut function.flow.blocks[new.index()];
        (new.insts, new.tail) = (kept, tail);
        new.tail_span = if rows.tail_span.is_unknown() { call_span } else { rows.tail_span };
        new.predecessors = rows.predecessors.iter().map(|from| moved(*from)).collect();
    }
    function.flow.blocks[first as usize].predecessors = vec![block];
    function.flow.blocks[block.index()].tail = Tail::Jump(BlockId(first));
    function.flow.blocks[block.index()].tail_span = call_span;
    if let Some((from, value)) = result {
        function.flow.blocks[behind.index()].predecessors = vec![from];
        function.flow.replace_values(|of| if of == call { value } else { of });
    }
}

fn is_input(body: &LowFunction, inst: InstId) -> bool {
    matches!(body.flow.operation(inst), Some(LowOp::Input(_)))
}

/// Takes a call out of its block; what stood behind it gets a block of its own, to which nothing leads yet.
fn split_behind(function: &mut LowFunction, block: BlockId, call: InstId) -> BlockId {
    let flow = &mut function.flow;
    let behind = flow.add_block(flow.block(block).depth);
    let rows = &mut flow.blocks[block.index()];
    let position = rows.insts.iter().position(|inst| *inst == call).expect("the call stands in its block");
    let insts = rows.insts.split_off(position + 1);
    rows.insts.pop();
    let (tail, tail_span) = (std::mem::replace(&mut rows.tail, Tail::Open), rows.tail_span);
    for to in tail.successors() {
        let predecessors = flow.blocks[to.index()].predecessors.iter_mut();
        predecessors.filter(|from| **from == block).for_each(|from| *from = behind);
    }
    let rows = &mut flow.blocks[behind.index()];
    (rows.insts, rows.tail, rows.tail_span) = (insts, tail, tail_span);
    behind
}
