//! Passes: the same function in fewer instructions.
//!
//! ```text
//! low ──> pieces ──> swaps ──> inline ──> literals ──> constants ──> turns ──> ranges ──> common ──> motion ──> dead code ──> program
//! ```
//!
//! | pass | afterwards |
//! | --- | --- |
//! | `pieces` | a loop over `prange` whose rounds do not need each other is a call of a function that runs in pieces |
//! | `swaps` | names of arrays that change places in a loop, or get a new array in each round, are one array each |
//! | `inline` | a function that calls itself does so less often |
//! | `literals` | literals stand in the entry, each once |
//! | `constants` | no operator that always gives a value has only literals as operands; no branch is on a literal |
//! | `turns` | a loop of a few rounds in another loop is these rounds |
//! | `ranges` | integers that provably fit, and indices that are provably inside, raise nothing |
//! | `common` | no operator is computed again where its value is at hand |
//! | `motion` | what does not change in a loop and cannot raise is computed before it |
//!
//! 1. A run gives the same value, the same arrays and the same error as without passes, at the same line. Only the
//!    number of instructions differs, and the number of calls that are open at once.
//! 2. No pass moves or removes what can raise, or writes memory; a read stays between the writes around it.
//! 3. After each pass the flow is in SSA: `verify_flow` holds.

mod common;
mod constants;
mod copies;
mod inline;
mod interval;
mod literals;
mod motion;
mod pieces;
mod ranges;
mod swaps;
mod turns;

use crate::function::check::FunctionWarning;
use crate::function::error::{FunctionError, FunctionProblem};
use crate::function::infer::InstanceId;
use crate::function::low::{LowFunction, LowOp};
use crate::ssa::{Flow, InstId, SsaOp, remove_dead_code, verify_flow};
use cembra_vm::builtins::nd::part::ASSIGN;
use cembra_vm::operator::OperatorTable;
use cembra_vm::program::instruction::Span;
use cembra_vm::value::{QType, ScalarValue, Value};

/// Runs all passes over the instances of a program; loops become further ones. Gives the loops over `prange` that run
/// serially.
///
/// # Errors
/// A pass that left the flow broken: a bug of ours.
pub fn optimize(
    functions: &mut Vec<LowFunction>,
    table: &OperatorTable,
) -> Result<Vec<FunctionWarning>, FunctionError> {
    let warnings = pieces::split(functions);
    for (number, function) in functions.iter_mut().enumerate() {
        swaps::unroll(function);
        inline::unroll_recursion(function, InstanceId(number as u32));
        literals::pool(function);
        constants::fold(function, table);
        turns::unroll(function, table);
        let proofs = ranges::prove(function);
        common::share(function);
        motion::hoist(function, table, &proofs);
        // What several loops computed is now in one place.
        common::share(function);
        remove_dead_code(&mut function.flow);
        if function.flow.has_guards() {
            // What provably does not raise needs no guard, and what a handler assigns has no value then.
            constants::fold(function, table);
            remove_dead_code(&mut function.flow);
        }
        let stage =
            |error| FunctionError::new(FunctionProblem::Stage { stage: "passes", error }, Span::default());
        verify_flow(&function.flow).map_err(stage)?;
    }
    Ok(warnings)
}

/// The literal that a value is.
fn literal(flow: &Flow<LowOp>, value: InstId) -> Option<&Value> {
    match flow.operation(value) {
        Some(LowOp::Literal(literal)) => Some(literal),
        _ => None,
    }
}

/// The integer literal that a value is.
fn int_literal(flow: &Flow<LowOp>, value: InstId) -> Option<i64> {
    match literal(flow, value) {
        Some(Value::Scalar(ScalarValue::Int64(number))) => Some(*number),
        _ => None,
    }
}

/// The operator of an instruction.
fn operator(flow: &Flow<LowOp>, inst: InstId) -> Option<&'static str> {
    match flow.operation(inst) {
        Some(LowOp::Operator(name, _)) => Some(name),
        _ => None,
    }
}

/// True if a value is an array.
fn is_array(function: &LowFunction, value: InstId) -> bool {
    matches!(function.types[value.index()], Some(QType::NdArray(_)))
}

/// True of what may change memory that it is given.
fn writes_memory(flow: &Flow<LowOp>, inst: InstId) -> bool {
    matches!(flow.inst(inst).op, SsaOp::Do(LowOp::Update(_) | LowOp::Call(_) | LowOp::Pieces(_)))
}

/// True if nothing in the function changes how long an array is.
fn lengths_stay(flow: &Flow<LowOp>) -> bool {
    let changes = |inst: &InstId| match flow.operation(*inst) {
        Some(LowOp::Update(name)) => !["nd.set", ASSIGN].contains(name),
        Some(LowOp::Call(_) | LowOp::Pieces(_)) => true,
        _ => false,
    };
    !flow.blocks.iter().flat_map(|block| &block.insts).any(changes)
}
