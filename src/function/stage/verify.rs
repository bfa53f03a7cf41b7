//! The rules of stages, as findings with places.
//!
//! | rules | of | where |
//! | --- | --- | --- |
//! | 1–9 | blocks and values | [`crate::ssa::verify`] |
//! | 10–16 | types of `tssa` | [`type_errors`] |
//! | 10–18 | operators of `low` | [`low_errors`] |
//! | 20–24 | slots of the program | `cembra_vm::program` |

use crate::function::build::BuiltFunction;
use crate::function::infer::{Instance, type_errors};
use crate::function::low::{LowFunction, low_errors};
use crate::function::op::FunctionOp;
use crate::function::stage::error::{StageError, StageProblem};
use crate::function::stage::names::{value_names, with_names};
use crate::ssa::{Flow, SsaError, SsaOp, SsaOperation, Tail, flow_errors};
use cembra_vm::builtins;

/// Offences of functions in `ussa`, all that are found.
pub fn verify_ussa(functions: &[BuiltFunction]) -> Vec<StageError> {
    let mut errors = Vec::new();
    for function in functions {
        let mut found = flow_errors(&function.flow);
        if found.is_empty() {
            found = shape_errors(functions, function);
        }
        errors.extend(located(&function.flow, &function.variables, found));
    }
    errors
}

/// Offences of instances, the stage `tssa`.
pub fn verify_tssa(instances: &[Instance]) -> Vec<StageError> {
    let mut errors = Vec::new();
    for (at, instance) in instances.iter().enumerate() {
        let mut found = flow_errors(&instance.function.flow);
        if found.is_empty() {
            found = type_errors(instances, at);
        }
        errors.extend(located(&instance.function.flow, &instance.function.variables, found));
    }
    errors
}

/// Offences of functions in `low`.
pub fn verify_low(functions: &[LowFunction]) -> Vec<StageError> {
    let (table, mut errors) = (builtins::table(), Vec::new());
    for (at, function) in functions.iter().enumerate() {
        let mut found = flow_errors(&function.flow);
        if found.is_empty() {
            found = low_errors(functions, at, &table);
        }
        errors.extend(located(&function.flow, &function.variables, found));
    }
    errors
}

/// Errors with their places, values by the names that texts give them.
fn located<O: SsaOperation>(flow: &Flow<O>, variables: &[String], errors: Vec<SsaError>) -> Vec<StageError> {
    if errors.is_empty() {
        return Vec::new();
    }
    let names = value_names(flow, variables);
    let place = |error: SsaError| {
        let span = match error.inst {
            Some(inst) => flow.inst(inst).span,
            None => flow.blocks.get(error.block.index()).map(|block| block.tail_span).unwrap_or_default(),
        };
        StageError {
            problem: StageProblem::Rule { rule: error.rule, what: with_names(&error.what, &names) },
            span,
        }
    };
    errors.into_iter().map(place).collect()
}

/// Rule 10: parameters, functions and failures exist, and calls have as many arguments as their functions take.
fn shape_errors(functions: &[BuiltFunction], function: &BuiltFunction) -> Vec<SsaError> {
    let flow = &function.flow;
    let mut errors = Vec::new();
    for block in flow.block_ids() {
        let mut refuse = |inst, what| errors.push(SsaError { block, inst, rule: 10, what });
        for inst in &flow.block(block).insts {
            let row = flow.inst(*inst);
            match &row.op {
                SsaOp::Do(FunctionOp::Param(position)) if *position as usize >= function.parameters.len() => {
                    refuse(Some(*inst), format!("the function has no parameter {position}"));
                }
                SsaOp::Do(FunctionOp::Call(id)) => match functions.get(id.0 as usize) {
                    None => refuse(Some(*inst), format!("there is no function {}", id.0)),
                    Some(callee) if callee.parameters.len() != row.args.len() => {
                        refuse(
                            Some(*inst),
                            format!("{} takes {} arguments", callee.name, callee.parameters.len()),
                        );
                    }
                    Some(_) => {}
                },
                _ => {}
            }
        }
        if let Tail::Fail(number) = flow.block(block).tail
            && function.failures.get(number as usize).is_none()
        {
            refuse(None, format!("there is no failure {number}"));
        }
    }
    errors
}
