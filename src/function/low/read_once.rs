//! Operations on whole arrays that are computed together with the one operation that reads them.
//!
//! ```text
//! t = a * x          read by the sum alone: one expression, a * x + b
//! c = t + b
//! ```
//!
//! Both are in one block. Nothing is written in between, and nothing raises in between if the operation may, so that errors
//! come in their order.

use crate::function::infer::Instance;
use crate::function::library::LibraryKind;
use crate::function::op::{FunctionOp, IndexPart};
use crate::function::types::FunctionType;
use crate::python::BinaryOp;
use crate::ssa::{InstId, SsaOp};
use cembra_vm::value::ScalarType;
use hashbrown::HashMap;

/// True of a value that is an array, and no list.
pub(super) fn is_array(instance: &Instance, value: InstId) -> bool {
    matches!(&instance.types[value.index()], Some(FunctionType::Array(array)) if !array.is_list)
}

/// True of an operation that is applied to the elements of arrays and gives an array.
pub(super) fn is_expression(instance: &Instance, inst: InstId) -> bool {
    let row = instance.function.flow.inst(inst);
    let SsaOp::Do(op) = &row.op else { return false };
    let is_of_elements = match op {
        FunctionOp::Unary(_) | FunctionOp::Binary(_) | FunctionOp::Compare(_) => true,
        FunctionOp::LibraryFunction(function) => function.is_of_elements(),
        _ => false,
    };
    is_of_elements && is_array(instance, inst) && row.args.iter().any(|arg| is_array(instance, *arg))
}

/// True of an operation that changes the array that is its first operand, `x op= y`.
pub(super) fn is_in_place(instance: &Instance, inst: InstId) -> bool {
    let row = instance.function.flow.inst(inst);
    matches!(row.op, SsaOp::Do(FunctionOp::InPlace(_))) && is_array(instance, row.args[0])
}

/// What stands between an operation and its reader.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Between {
    Nothing,
    MayRaise,
    MayWrite,
}

/// By instruction, whether its reader computes it.
pub(super) fn read_once(instance: &Instance) -> Vec<bool> {
    let flow = &instance.function.flow;
    let mut reads = vec![0u32; flow.insts.len()];
    let blocks = flow.reverse_postorder();
    for block in blocks.iter().map(|block| flow.block(*block)) {
        let args = block.insts.iter().flat_map(|inst| &flow.inst(*inst).args);
        args.chain(&block.tail.operand()).for_each(|value| reads[value.index()] += 1);
    }
    let (mut is_read_once, mut may_raise) = (vec![false; flow.insts.len()], vec![false; flow.insts.len()]);
    for block in blocks {
        let mut place_of: HashMap<InstId, usize> = HashMap::new();
        // The last places with something that may write, and that may raise.
        let (mut written, mut raised) = (0, 0);
        for (place, inst) in (1..).zip(&flow.block(block).insts) {
            for (operand, arg) in flow.inst(*inst).args.iter().enumerate() {
                let is_computed = place_of.get(arg).is_some_and(|computed| {
                    written < *computed && (raised < *computed || !may_raise[arg.index()])
                });
                if is_computed && reads[arg.index()] == 1 && computes(instance, *inst, operand) {
                    is_read_once[arg.index()] = true;
                    may_raise[inst.index()] |= may_raise[arg.index()];
                }
            }
            if is_expression(instance, *inst) {
                may_raise[inst.index()] |= may_differ_or_overflow(instance, *inst);
                place_of.insert(*inst, place);
                continue;
            }
            match between(instance, *inst) {
                Between::Nothing => {}
                Between::MayRaise => raised = place,
                Between::MayWrite => written = place,
            }
        }
    }
    is_read_once
}

/// True of an operand that is computed where it is read.
fn computes(instance: &Instance, inst: InstId, operand: usize) -> bool {
    let row = instance.function.flow.inst(inst);
    match row.op {
        SsaOp::Do(FunctionOp::SetItem(_) | FunctionOp::InPlace(_)) => {
            operand == 1 && is_array(instance, row.args[0])
        }
        _ => is_expression(instance, inst),
    }
}

/// True of an operation on arrays whose sizes may differ, or that may not have a result for all elements.
fn may_differ_or_overflow(instance: &Instance, inst: InstId) -> bool {
    let row = instance.function.flow.inst(inst);
    let mut arrays = row.args.iter().filter(|arg| is_array(instance, **arg));
    let first = arrays.next();
    let is_of_integers = matches!(&instance.types[inst.index()],
        Some(FunctionType::Array(array)) if array.element == ScalarType::Int64);
    let rounds_down = matches!(row.op, SsaOp::Do(FunctionOp::Binary(BinaryOp::FloorDiv | BinaryOp::Mod)));
    is_of_integers || rounds_down || arrays.any(|arg| Some(arg) != first)
}

fn between(instance: &Instance, inst: InstId) -> Between {
    use LibraryKind::{All, Any, Dot, Len, Max, Mean, Min, Product, Sum, ToFloat, ToInt};
    let SsaOp::Do(op) = &instance.function.flow.inst(inst).op else { return Between::Nothing };
    match op {
        FunctionOp::Param(_)
        | FunctionOp::Constant(_)
        | FunctionOp::ModuleConstant
        | FunctionOp::Tuple
        | FunctionOp::Attribute(_)
        | FunctionOp::Compare(_)
        | FunctionOp::Truth
        | FunctionOp::Promote
        | FunctionOp::NotNone(None) => Between::Nothing,
        FunctionOp::GetItem(parts) if !parts.iter().any(|part| matches!(part, IndexPart::At)) => {
            Between::Nothing
        }
        FunctionOp::GetItem(_) | FunctionOp::Unary(_) | FunctionOp::Binary(_) => Between::MayRaise,
        FunctionOp::LibraryFunction(function)
            if function.is_of_elements()
                || matches!(
                    function.kind(),
                    All | Any | Dot | Len | Max | Mean | Min | Product | Sum | ToFloat | ToInt
                ) =>
        {
            Between::MayRaise
        }
        _ => Between::MayWrite,
    }
}
