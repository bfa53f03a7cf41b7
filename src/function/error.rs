//! What is wrong with a function: each finding has a rule, CPython's class for it, a place and, where one exists,
//! a hint.

use crate::compile::CompileError;
use crate::function::types::FunctionType;
use crate::python::PythonError;
use crate::ssa::SsaError;
use cembra_vm::program::instruction::Span;
use std::sync::Arc;
use thiserror::Error;

/// A finding about a function.
#[derive(Clone, Debug, Error)]
#[error("{problem}")]
pub struct FunctionError {
    /// What it is.
    pub problem: FunctionProblem,
    /// Where, in bytes of the text.
    pub span: Span,
}

/// What can be wrong with a function.
#[derive(Clone, Debug, Error)]
pub enum FunctionProblem {
    /// The text is no Python, or outside of the subset.
    #[error(transparent)]
    Python(Box<PythonError>),
    /// No function of this name.
    #[error("the module has no function `{name}`; it has {}", list(known))]
    NoFunction {
        /// The name asked for.
        name: String,
        /// Its functions.
        known: Vec<String>,
    },
    /// A name that nothing defines.
    #[error("name '{name}' is not defined")]
    UnknownName {
        /// The name.
        name: String,
    },
    /// A variable that no path gives a value before it is read.
    #[error("local variable '{name}' referenced before assignment")]
    Unbound {
        /// The variable.
        name: String,
    },
    /// A variable of the function around an inner one that no path gives a value before it is read.
    #[error("free variable '{name}' referenced before assignment in enclosing scope")]
    UnboundFree {
        /// The variable.
        name: String,
    },
    /// A module or a value without such an attribute.
    #[error("{of} has no attribute '{name}'")]
    Attribute {
        /// What was asked.
        of: String,
        /// The attribute.
        name: String,
    },
    /// Operands of types that the operation does not take.
    #[error("{message}")]
    Type {
        /// What is wrong, in CPython's words where it has some.
        message: String,
    },
    /// A value that the operation does not take, known before the run.
    #[error("{message}")]
    Value {
        /// What is wrong.
        message: String,
    },
    /// An index that is outside, known before the run.
    #[error("{message}")]
    Index {
        /// What is wrong.
        message: String,
    },
    /// Definitions of types that have no common one.
    #[error(
        "cannot unify {first} and {second} for {what}: {first} on line {first_line}, {second} on line {second_line}"
    )]
    Unify {
        /// The variable or the result.
        what: String,
        /// One type.
        first: FunctionType,
        /// Line of its definition.
        first_line: u32,
        /// The other type.
        second: FunctionType,
        /// Line of its definition.
        second_line: u32,
    },
    /// A value whose type nothing decides.
    #[error("cannot infer the type of {what}: no path gives it a value")]
    NoType {
        /// The value.
        what: String,
    },
    /// A function whose result only depends on itself.
    #[error("cannot infer the type of `{name}`: it never returns but by calling itself")]
    RunawayRecursion {
        /// The function.
        name: String,
    },
    /// What functions cannot do.
    #[error("{message}")]
    Unsupported {
        /// Name of the rule.
        rule: &'static str,
        /// What is not possible.
        message: String,
        /// What to write instead.
        hint: &'static str,
    },
    /// A limit of the compiler.
    #[error("limit {name}: more than {limit}")]
    Limit {
        /// Name of the limit.
        name: &'static str,
        /// What is allowed.
        limit: usize,
    },
    /// A stage breaks a rule: a bug of ours.
    #[error("stage {stage} is wrong: {error}")]
    Stage {
        /// Name of the stage.
        stage: &'static str,
        /// The rule.
        error: SsaError,
    },
    /// The machine has no operator for this: a bug of ours.
    #[error("no operator {name}({})", types.join(", "))]
    NoOperator {
        /// The operator.
        name: String,
        /// Types of the operands.
        types: Vec<String>,
    },
    /// The program cannot be bound.
    #[error(transparent)]
    Compile(Arc<CompileError>),
}

/// Why a function is larger than its text.
const BUILT_IN_PLACE: &str = "every call of an inner function, a lambda or a generator is a copy of its body, and of those that the body \
    calls; functions of the module are called";

impl FunctionProblem {
    /// CPython's class of the error; of what CPython accepts `NotImplementedError`.
    pub fn python_class(&self) -> &'static str {
        match self {
            FunctionProblem::Python(error) => match !error.problem.is_outside() {
                true => "SyntaxError",
                false if error.problem.rule() == "matrix-product" => "TypeError",
                false => "NotImplementedError",
            },
            FunctionProblem::NoFunction { .. }
            | FunctionProblem::UnknownName { .. }
            | FunctionProblem::UnboundFree { .. } => "NameError",
            FunctionProblem::Unbound { .. } => "UnboundLocalError",
            FunctionProblem::Attribute { .. } => "AttributeError",
            FunctionProblem::Type { .. } => "TypeError",
            FunctionProblem::Value { .. } => "ValueError",
            FunctionProblem::Index { .. } => "IndexError",
            FunctionProblem::RunawayRecursion { .. } => "RecursionError",
            FunctionProblem::Unify { .. }
            | FunctionProblem::NoType { .. }
            | FunctionProblem::Unsupported { .. }
            | FunctionProblem::Limit { .. } => "NotImplementedError",
            FunctionProblem::Stage { .. }
            | FunctionProblem::NoOperator { .. }
            | FunctionProblem::Compile(_) => "SystemError",
        }
    }

    /// Name of the rule.
    pub fn rule(&self) -> &'static str {
        match self {
            FunctionProblem::Python(error) => error.problem.rule(),
            FunctionProblem::NoFunction { .. } => "no-function",
            FunctionProblem::UnknownName { .. } => "unknown-name",
            FunctionProblem::Unbound { .. } | FunctionProblem::UnboundFree { .. } => "unbound-variable",
            FunctionProblem::Attribute { .. } => "attribute",
            FunctionProblem::Type { .. } => "type",
            FunctionProblem::Value { .. } => "value",
            FunctionProblem::Index { .. } => "index",
            FunctionProblem::Unify { .. } => "unify",
            FunctionProblem::NoType { .. } => "no-type",
            FunctionProblem::RunawayRecursion { .. } => "runaway-recursion",
            FunctionProblem::Unsupported { rule, .. } => rule,
            FunctionProblem::Limit { .. } => "limit",
            FunctionProblem::Stage { .. } => "stage",
            FunctionProblem::NoOperator { .. } => "no-operator",
            FunctionProblem::Compile(_) => "compile",
        }
    }

    /// A call of `sum` with more arguments than what is added up, and a start.
    pub(crate) fn too_many_for_sum(given: usize) -> FunctionProblem {
        let message =
            format!("sum() takes at most 2 arguments ({given} given): what is added up, and a start");
        FunctionProblem::Type { message }
    }

    /// What to write instead.
    pub fn hint(&self) -> Option<String> {
        match self {
            FunctionProblem::Python(error) => error.problem.hint().map(|hint| hint.to_string()),
            FunctionProblem::Unsupported { hint, .. } => Some((*hint).to_owned()),
            FunctionProblem::Unify { .. } => Some("give the variable one type, or use two names".to_owned()),
            FunctionProblem::Unbound { name } | FunctionProblem::UnboundFree { name } => {
                Some(format!("assign `{name}` before it is read"))
            }
            FunctionProblem::Limit { name: "function-places" | "function-instructions", .. } => {
                Some(BUILT_IN_PLACE.to_owned())
            }
            _ => None,
        }
    }
}

impl FunctionError {
    /// A finding at a place.
    pub(crate) fn new(problem: FunctionProblem, span: Span) -> FunctionError {
        FunctionError { problem, span }
    }

    /// Operands of wrong types.
    pub(crate) fn types(message: impl Into<String>, span: Span) -> FunctionError {
        FunctionError::new(FunctionProblem::Type { message: message.into() }, span)
    }

    /// What functions cannot do.
    pub(crate) fn unsupported(
        rule: &'static str,
        message: impl Into<String>,
        hint: &'static str,
        span: Span,
    ) -> FunctionError {
        FunctionError::new(FunctionProblem::Unsupported { rule, message: message.into(), hint }, span)
    }
}

fn list(names: &[String]) -> String {
    match names {
        [] => "none".to_owned(),
        names => names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "),
    }
}
