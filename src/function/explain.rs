//! Why a variable has its type: each of its definitions, and what decided.
//!
//! ```text
//! s: f64
//!   line 2: i64  const 0
//!   line 3: f64  joins i64 (line 2), f64 (line 4)
//!   line 4: f64  add of f64, f64
//! ```

use crate::function::infer::Instance;
use crate::function::module::FunctionModule;
use crate::function::op::FunctionOp;
use crate::function::types::FunctionType;
use crate::ssa::{InstId, SsaOp};
use std::fmt::Write;

/// The definitions of a variable with their types and what decided them; `None` if the function has no such variable.
pub fn explain_type(module: &FunctionModule, instance: &Instance, name: &str) -> Option<String> {
    let function = &instance.function;
    let is_named = |value: &InstId| {
        function.flow.inst(*value).name.is_some_and(|variable| function.variables[variable.index()] == name)
    };
    let all = function.flow.blocks.iter().flat_map(|block| block.insts.iter().copied());
    let definitions: Vec<InstId> = all.filter(is_named).collect();
    let types: Vec<&FunctionType> =
        definitions.iter().filter_map(|value| instance.types[value.index()].as_ref()).collect();
    let (first, rest) = types.split_first()?;
    let joined = rest.iter().try_fold((*first).clone(), |joined, next| joined.join(next));
    let mut out = format!("{name}: {}\n", joined.map_or("several types".to_owned(), |of| of.to_string()));
    for value in definitions {
        let of = instance.types[value.index()].as_ref().map_or("?".to_owned(), FunctionType::to_string);
        let _ =
            writeln!(out, "  {}: {of}  {}", place(module, instance, value), reason(module, instance, value));
    }
    Some(out)
}

/// Where a value comes from; of a phi where its first operand with a place does.
fn place(module: &FunctionModule, instance: &Instance, value: InstId) -> String {
    let flow = &instance.function.flow;
    let mut at = value;
    for _ in 0..flow.insts.len() {
        let row = flow.inst(at);
        match row.args.first().filter(|next| row.span.is_unknown() && **next != at) {
            Some(next) => at = *next,
            None => break,
        }
    }
    match flow.inst(at).span {
        span if span.is_unknown() => "start".to_owned(),
        span => format!("line {}", module.line(span)),
    }
}

fn reason(module: &FunctionModule, instance: &Instance, value: InstId) -> String {
    let flow = &instance.function.flow;
    let row = flow.inst(value);
    let of = |arg: &InstId| {
        instance.types[arg.index()].as_ref().map_or("no value".to_owned(), FunctionType::to_string)
    };
    match &row.op {
        SsaOp::Phi => {
            let parts: Vec<String> = row
                .args
                .iter()
                .map(|arg| format!("{} ({})", of(arg), place(module, instance, *arg)))
                .collect();
            format!("joins {}", parts.join(", "))
        }
        SsaOp::Do(FunctionOp::Param(position)) => format!("argument {position}"),
        SsaOp::Do(FunctionOp::Call(id)) => format!("the result of `{}`", module.name(*id)),
        SsaOp::Do(op) if row.args.is_empty() => op.to_string(),
        SsaOp::Do(op) => {
            let parts: Vec<String> = row.args.iter().map(of).collect();
            format!("{op} of {}", parts.join(", "))
        }
        SsaOp::Undef | SsaOp::Read(_) | SsaOp::Write(_) => "no value".to_owned(),
    }
}
