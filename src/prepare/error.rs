//! Why an expression cannot be prepared.

use crate::expr::GraphError;
use crate::registry::infer::{TypeError, suggestion};
use crate::registry::{define::LowerError, registry::nearest};
use cembra_vm::program::instruction::Span;
use cembra_vm::value::{Category, Fault, QType};
use std::fmt;
use std::sync::Arc;
use thiserror::Error;

/// A type error of one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeError {
    /// Where the argument stood that does not fit, or else the node, if known.
    pub span: Span,
    /// The operator.
    pub operator: Arc<str>,
    /// What is wrong.
    pub error: TypeError,
    /// The node as it is written; empty if that is not known, or long.
    pub written: Arc<str>,
}

impl fmt::Display for NodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.error)?;
        match self.written.is_empty() {
            true => Ok(()),
            false => write!(f, ", in `{}`", self.written),
        }
    }
}

/// A leaf without a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingInput {
    /// Its name.
    pub name: Arc<str>,
    /// Where it stood, if known.
    pub span: Span,
    /// Inputs whose names look like it.
    pub near: Vec<Arc<str>>,
}

/// Missing inputs of one expression that have suggestions.
const SUGGESTIONS: usize = 20;

impl MissingInput {
    /// A missing input with suggestions from the inputs there are.
    fn new(name: Arc<str>, span: Span, given: impl Iterator<Item = Arc<str>>) -> MissingInput {
        let near = nearest(&name, given);
        MissingInput { name, span, near }
    }

    /// Adds a missing input to others. Only the first have suggestions: looking at all names takes time for each.
    pub fn note(
        missing: &mut Vec<MissingInput>,
        name: Arc<str>,
        span: Span,
        given: impl Iterator<Item = Arc<str>>,
    ) {
        let given = given.take(if missing.len() < SUGGESTIONS { usize::MAX } else { 0 });
        missing.push(MissingInput::new(name, span, given));
    }
}

/// Why an expression cannot be prepared.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PrepareError {
    /// Leaves that no input gives a type to.
    #[error("missing values for: {}", missing(inputs))]
    MissingInputs {
        /// All of them.
        inputs: Vec<MissingInput>,
    },
    /// Placeholders are left; they have no value.
    #[error("placeholders have no value: {}", names.iter().map(|n| format!("P.{n}")).collect::<Vec<_>>().join(", "))]
    Placeholders {
        /// All of them.
        names: Vec<Arc<str>>,
        /// Where the first stood, if known.
        span: Span,
    },
    /// Nodes whose arguments do not fit.
    #[error("{}", errors.iter().map(NodeError::to_string).collect::<Vec<_>>().join("\n"))]
    Types {
        /// The errors that do not follow from others, at most 30.
        errors: Vec<NodeError>,
    },
    /// The expression grew beyond its limit.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// An operator of literals fails on every evaluation.
    #[error("{fault}")]
    Constant {
        /// What it raises.
        fault: Fault,
        /// The operator.
        operator: Arc<str>,
        /// Where it stood, if known.
        span: Span,
    },
    /// No operator of the machine takes these types, although the expression's types fit.
    #[error("no operator of the machine computes {operator} for ({})", types.iter().map(QType::to_string).collect::<Vec<_>>().join(","))]
    NoOverload {
        /// The operator.
        operator: Arc<str>,
        /// Its argument types.
        types: Vec<QType>,
        /// Where it stood, if known.
        span: Span,
    },
    /// Several inputs or side outputs have one name.
    #[error("{role} `{name}` is given twice")]
    Duplicate {
        /// `input` or `side output`.
        role: &'static str,
        /// The name.
        name: Arc<str>,
    },
    /// The program would be longer than allowed.
    #[error("limit program-instructions: the program has more than {limit} instructions")]
    TooManyInstructions {
        /// Instructions allowed.
        limit: usize,
    },
    /// A step broke its post-condition: a bug in the step.
    #[error("step {step} broke its post-condition: {what}")]
    PostCondition {
        /// The step.
        step: String,
        /// What does not hold.
        what: String,
    },
}

fn missing(inputs: &[MissingInput]) -> String {
    let several = inputs.len() > 1;
    let list = inputs.iter().map(|i| match (several, suggestion(&i.near).strip_prefix("; ")) {
        (true, Some(question)) => format!("L.{} ({question})", i.name),
        _ => format!("L.{}{}", i.name, suggestion(&i.near)),
    });
    list.collect::<Vec<_>>().join(", ")
}

impl PrepareError {
    /// The kind of error in one word.
    pub fn category(&self) -> Category {
        match self {
            PrepareError::MissingInputs { .. } => Category::MissingInput,
            PrepareError::Placeholders { .. } => Category::UnknownName,
            PrepareError::Types { errors } => errors.first().map_or(Category::Type, |e| e.error.category()),
            PrepareError::Graph(_) | PrepareError::TooManyInstructions { .. } => Category::Limit,
            PrepareError::Constant { fault, .. } => fault.category(),
            PrepareError::NoOverload { .. } | PrepareError::Duplicate { .. } => Category::Type,
            PrepareError::PostCondition { .. } => Category::InvalidProgram,
        }
    }

    /// Where the error is, the first of several; unknown for what stands nowhere.
    pub fn span(&self) -> Option<Span> {
        match self {
            PrepareError::MissingInputs { inputs } => inputs.first().map(|input| input.span),
            PrepareError::Types { errors } => errors.first().map(|error| error.span),
            PrepareError::Placeholders { span, .. }
            | PrepareError::Constant { span, .. }
            | PrepareError::NoOverload { span, .. } => Some(*span),
            _ => None,
        }
    }

    /// An error of one node.
    pub fn of_node(span: Span, operator: &Arc<str>, error: LowerError) -> PrepareError {
        match error {
            LowerError::Graph(error) => PrepareError::Graph(error),
            LowerError::Type(error) => PrepareError::Types {
                errors: vec![NodeError { span, operator: operator.clone(), error, written: "".into() }],
            },
        }
    }
}
