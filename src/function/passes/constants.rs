//! Constants: operators on literals are literals, and branches on literals are jumps.
//!
//! The machine's own operators compute them, so that the bits are those of a run. What raises stays where it is.

use super::{literal, literals};
use crate::function::low::{LowFunction, LowOp};
use crate::ssa::{Flow, InstId, SsaOp, simplify_flow};
use cembra_vm::machine::invoke::Invoker;
use cembra_vm::operator::OperatorTable;
use cembra_vm::value::qtype::{BOOLEAN, FLOAT64, INT64};
use cembra_vm::value::{Budget, QType, ScalarValue, Value};

/// Folds operators whose operands are literals, then branches. Phis of equal literals are those.
pub(super) fn fold(function: &mut LowFunction, table: &OperatorTable) {
    let mut invoker = Invoker::default();
    for block in function.flow.reverse_postorder() {
        for inst in function.flow.block(block).insts.clone() {
            if let Some(value) = folded(function, inst, table, &mut invoker) {
                let row = &mut function.flow.insts[inst.index()];
                (row.op, row.args) = (SsaOp::Do(LowOp::Literal(value)), Vec::new());
            }
        }
    }
    literals::pool(function);
    simplify_flow(&mut function.flow, truth);
}

/// The literal that an operator of numbers gives, of 64 bits or a truth value; nothing if an operand is none, or it raises.
fn folded(
    function: &LowFunction,
    inst: InstId,
    table: &OperatorTable,
    invoker: &mut Invoker,
) -> Option<Value> {
    let flow = &function.flow;
    let args = &flow.inst(inst).args;
    let args: Vec<Value> = args.iter().map(|arg| literal(flow, *arg).cloned()).collect::<Option<_>>()?;
    computed(function, inst, &args, table, invoker)
}

/// What an operator of numbers gives for these operands, if that is of 64 bits or a truth value; nothing if it raises.
pub(super) fn computed(
    function: &LowFunction,
    inst: InstId,
    args: &[Value],
    table: &OperatorTable,
    invoker: &mut Invoker,
) -> Option<Value> {
    let LowOp::Operator(name, _) = function.flow.operation(inst)? else { return None };
    // Numbers of 32 bits have no literal in the texts of stages.
    let is_literal = |of: &QType| [BOOLEAN, INT64, FLOAT64].contains(of);
    let is_number = function.types[inst.index()].as_ref().is_some_and(is_literal);
    let are_numbers = args.iter().all(|arg| matches!(arg, Value::Scalar(_)));
    let types: Vec<QType> = args.iter().map(Value::qtype).collect();
    let overload = table.overload(name, &types).filter(|_| is_number && are_numbers && !args.is_empty())?;
    invoker.invoke(&overload, args, &Budget::default()).ok()
}

fn truth(flow: &Flow<LowOp>, condition: InstId) -> Option<bool> {
    match literal(flow, condition)? {
        Value::Scalar(ScalarValue::Boolean(value)) => Some(*value),
        _ => None,
    }
}
