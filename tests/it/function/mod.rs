//! Functions with loops: recorded calls, diagnostics, laws of their programs, random functions, bad inputs.
//!
//! ```text
//! oracle ────┐                       every call goes through `laws`: twice on one frame, observed,
//! recorded ──┼─> outcome ──> laws    stored and read back, with just enough fuel and with one less
//! random ────┘
//! ```

mod diagnostics;
mod exceptions;
mod expressions;
mod found;
mod generate;
mod hostile;
mod interpret;
mod laws;
mod lent;
pub mod native;
mod oracle;
mod page;
mod passes;
mod prange;
mod print;
mod random;
mod recorded;
mod reference;
mod rules;
mod stage_texts;
mod stages;
mod width;

use cembra::cli::function_value::read_arguments;
use cembra::function::compile::FunctionStages;
use cembra::function::run::{python_class, python_message};
use cembra::function::{
    CompiledFunction, FunctionError, FunctionModule, FunctionOptions, FunctionType, compile_function,
};
use cembra::python::SourceLines;
use cembra::vm::machine::RunError;
use cembra::vm::value::Value;
use serde_json::Value as Json;
use std::cell::RefCell;
use std::rc::Rc;

/// What a call led to, values in the form of recorded calls.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// It returned.
    Returned {
        /// The result.
        value: Json,
        /// Arguments that are arrays, as they are after the call.
        arrays: Vec<Json>,
    },
    /// It raised while it ran.
    Raised(Complaint),
    /// It was refused before it ran.
    Refused(Complaint),
}

/// An error as users see it.
#[derive(Clone, Debug, PartialEq)]
pub struct Complaint {
    /// CPython's class.
    pub class: String,
    /// Name of the rule of a refusal.
    pub rule: Option<&'static str>,
    /// Line of the text, from 1.
    pub line: Option<u32>,
    /// The message.
    pub message: String,
}

impl Outcome {
    /// CPython's class of an error.
    pub fn class(&self) -> Option<&str> {
        match self {
            Outcome::Returned { .. } => None,
            Outcome::Raised(complaint) | Outcome::Refused(complaint) => Some(&complaint.class),
        }
    }
}

/// Compiles a function of a text for values.
pub fn compiled(
    source: &str,
    entry: &str,
    args: &[Value],
    options: &FunctionOptions,
) -> Result<CompiledFunction, Outcome> {
    let types: Option<Vec<FunctionType>> =
        args.iter().map(|value| FunctionType::of_qtype(&value.qtype())).collect();
    let Some(types) = types else {
        return Err(refused_argument("functions take no values of this type"));
    };
    let module = FunctionModule::parse(source).map_err(|errors| refused(&errors, source))?;
    compile_function(&module, entry, &types, options).map_err(|errors| refused(&errors, source))
}

/// Compiles and calls a function under all [laws](laws::check).
pub fn outcome(source: &str, entry: &str, args: &Json, options: &FunctionOptions) -> Outcome {
    let values = match read_arguments(args) {
        Ok(values) => values,
        Err(what) => return refused_argument(&what),
    };
    match prepared(source, entry, &values, options) {
        Ok(prepared) => {
            let (function, stages) = &*prepared;
            let outcome = laws::check(function, source, &values);
            interpret::check(stages, options, &values, &outcome, source);
            outcome
        }
        Err(refusal) => refusal,
    }
}

/// A compiled function and its stages, which follow their laws.
type Prepared = Rc<(CompiledFunction, FunctionStages)>;

thread_local! {
    /// The last one, with what it was made of: calls of one function follow each other.
    static LAST: RefCell<Option<(String, Prepared)>> = const { RefCell::new(None) };
}

fn prepared(
    source: &str,
    entry: &str,
    args: &[Value],
    options: &FunctionOptions,
) -> Result<Prepared, Outcome> {
    let types: Vec<_> = args.iter().map(Value::qtype).collect();
    let key = format!("{entry} {types:?} {options:?}\n{source}");
    let last =
        LAST.with_borrow(|last| last.as_ref().filter(|(of, _)| *of == key).map(|(_, made)| made.clone()));
    if let Some(last) = last {
        return Ok(last);
    }
    let function = compiled(source, entry, args, options)?;
    let stages = stages::stages_of(source, entry, args, options);
    stages::check(&stages, source);
    let made = Rc::new((function, stages));
    LAST.set(Some((key, made.clone())));
    Ok(made)
}

fn refused_argument(what: &str) -> Outcome {
    Outcome::Refused(Complaint {
        class: "TypeError".to_owned(),
        rule: Some("argument"),
        line: None,
        message: what.to_owned(),
    })
}

fn refused(errors: &[FunctionError], source: &str) -> Outcome {
    let first = errors.first().expect("a refusal says why");
    let lines = SourceLines::new(source);
    for error in errors {
        assert!(
            error.span.end as usize <= source.len(),
            "{error} lies outside of the text: {:?}",
            error.span
        );
        assert!(!error.to_string().is_empty(), "{error:?} says nothing");
    }
    Outcome::Refused(Complaint {
        class: first.problem.python_class().to_owned(),
        rule: Some(first.problem.rule()),
        line: (!first.span.is_unknown()).then(|| lines.line(first.span)),
        message: first.to_string(),
    })
}

fn raised(error: &RunError, source: &str) -> Outcome {
    let lines = SourceLines::new(source);
    Outcome::Raised(Complaint {
        class: python_class(error),
        rule: None,
        line: error.at.as_ref().filter(|at| !at.span.is_unknown()).map(|at| lines.line(at.span)),
        message: python_message(error),
    })
}
