//! Why an expression cannot be prepared.

use crate::expr::GraphError;
use crate::expr::print::leaf_text;
use crate::registry::infer::{TypeError, suggestion};
use crate::registry::{define::LowerError, registry::nearest};
use cembra_vm::program::instruction::Span;
use cembra_vm::value::{Category, Fault, QType};
use std::collections::BTreeSet;
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

/// Inputs that an error lists, and the characters of a name that it lists.
const LISTED: (usize, usize) = (8, 40);

/// The inputs that there are, as an error lists them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GivenInputs {
    /// The first of the short names, in order.
    pub listed: Vec<Arc<str>>,
    /// How many others there are.
    pub others: usize,
}

impl GivenInputs {
    /// The list of these names.
    pub fn new(names: impl IntoIterator<Item = Arc<str>>) -> GivenInputs {
        let all: BTreeSet<Arc<str>> = names.into_iter().collect();
        let is_short = |name: &&Arc<str>| name.chars().count() <= LISTED.1;
        let listed: Vec<Arc<str>> = all.iter().filter(is_short).take(LISTED.0).cloned().collect();
        GivenInputs { others: all.len() - listed.len(), listed }
    }
}

impl fmt::Display for GivenInputs {
    /// As expressions write them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> = self.listed.iter().map(|name| leaf_text(name)).collect();
        f.write_str(&names.join(", "))?;
        match self.others {
            0 => Ok(()),
            others => write!(f, " and {others} more"),
        }
    }
}

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
    #[error("missing values for: {}", missing(inputs, given))]
    MissingInputs {
        /// All of them.
        inputs: Vec<MissingInput>,
        /// The inputs that there are.
        given: GivenInputs,
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

/// The missing leaves with suggestions, and the inputs there are if one of the leaves has none.
fn missing(inputs: &[MissingInput], given: &GivenInputs) -> String {
    let several = inputs.len() > 1;
    let list = inputs.iter().map(|input| {
        let near: Vec<Arc<str>> = input.near.iter().map(|name| leaf_text(name).into()).collect();
        let name = with_prefix(&input.name);
        match (several, suggestion(&near).strip_prefix("; ")) {
            (true, Some(question)) => format!("{name} ({question})"),
            _ => format!("{name}{}", suggestion(&near)),
        }
    });
    let list = list.collect::<Vec<_>>().join(", ");
    match inputs.iter().all(|input| !input.near.is_empty()) || *given == GivenInputs::default() {
        true => list,
        false => format!("{list}; the inputs are {given}"),
    }
}

/// A leaf as text that begins with `L`.
fn with_prefix(name: &str) -> String {
    match leaf_text(name) {
        bare if bare == name => format!("L.{name}"),
        prefixed => prefixed,
    }
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
            PrepareError::MissingInputs { inputs, .. } => inputs.first().map(|input| input.span),
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
