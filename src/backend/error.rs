//! Why an evaluation stops.

use crate::dag::array_text::shape_text;
use crate::dag::kind::NodePlace;
use crate::dag::{DType, DagError};
use cembra_vm::value::{Category, Fault};
use thiserror::Error;

/// Why values do not make a result.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum OpError {
    /// Shapes that do not broadcast to one.
    #[error(
        "shapes {} do not broadcast: axis {axis} has sizes {left} and {right}",
        shapes.iter().map(|s| shape_text(s)).collect::<Vec<_>>().join(" and ")
    )]
    Broadcast {
        /// Shapes of all operands.
        shapes: Vec<Vec<usize>>,
        /// The first axis that differs, counted from the end, where shapes are aligned: -1 is the last.
        axis: isize,
        /// A size of that axis.
        left: usize,
        /// Another size.
        right: usize,
    },
    /// The operation has no meaning for these types.
    #[error("{operation} is not defined for {}", dtypes.iter().map(DType::to_string).collect::<Vec<_>>().join(" and "))]
    NotDefined {
        /// The operation, as numpy calls it.
        operation: &'static str,
        /// Types of the operands.
        dtypes: Vec<DType>,
    },
    /// An integer to a negative integer power.
    #[error("integers to negative integer powers are not allowed")]
    NegativePower,
    /// A condition of a multi-clause where that is no truth value.
    #[error("condition {clause} is {dtype}, and must be bool")]
    ConditionNotBool {
        /// Number of the clause, from 0.
        clause: usize,
        /// Type of the condition.
        dtype: DType,
    },
    /// A multi-clause where without clauses.
    #[error("there are no clauses to choose from")]
    NoClauses,
    /// There is no such axis.
    #[error("axis {axis} is out of bounds for an array of {rank} axes")]
    AxisOutOfBounds {
        /// The axis.
        axis: isize,
        /// Number of axes.
        rank: usize,
    },
    /// An axis named twice.
    #[error("axis {axis} is given twice")]
    RepeatedAxis {
        /// The axis, from 0.
        axis: usize,
    },
    /// An axis that cannot be removed.
    #[error("axis {axis} has size {size}; only axes of size 1 can be squeezed")]
    SqueezeSize {
        /// The axis, from 0.
        axis: usize,
        /// Its size.
        size: usize,
    },
    /// The smallest or largest of nothing.
    #[error("{operation} of no elements")]
    NoElements {
        /// The reduction, as numpy calls it.
        operation: &'static str,
    },
    /// A share that is none.
    #[error("a quantile lies between 0 and 1, not at {q}")]
    QuantileRange {
        /// The share.
        q: f64,
    },
    /// More axes than arrays have.
    #[error("limit array-axes: the result would have {rank} axes, at most {limit} are allowed")]
    TooManyAxes {
        /// Number of axes.
        rank: usize,
        /// The largest number.
        limit: usize,
    },
    /// More elements than arrays have.
    #[error("limit array-elements: shape {} has more than {limit} elements", shape_text(shape))]
    TooLarge {
        /// The shape of the result.
        shape: Vec<usize>,
        /// The largest number of elements.
        limit: usize,
    },
    /// The program of the operation is refused or fails: a limit of the machine.
    #[error("{problem}")]
    Program {
        /// What is wrong.
        problem: String,
    },
    /// The budget is used up.
    #[error(transparent)]
    Budget(#[from] Fault),
}

/// Why a user function has no result.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum UserFunctionError {
    /// Too few arguments.
    #[error("argument {position} is missing")]
    MissingArgument {
        /// Its position, from 1.
        position: usize,
    },
    /// A keyword argument that was not given.
    #[error("keyword argument `{name}` is missing")]
    MissingKeyword {
        /// Its name.
        name: String,
    },
    /// Too many arguments.
    #[error("it takes {expected} arguments, {actual} are given")]
    TooManyArguments {
        /// Arguments it takes.
        expected: usize,
        /// Arguments given.
        actual: usize,
    },
    /// A keyword argument that the function does not know.
    #[error("there is no keyword argument `{name}`")]
    UnexpectedKeyword {
        /// Its name.
        name: String,
    },
    /// An argument of another type than the function reads.
    #[error("{argument} is {actual}, the function reads {expected}")]
    ArgumentType {
        /// Which argument: a position or a name.
        argument: String,
        /// Type the function reads.
        expected: DType,
        /// Type of the argument.
        actual: DType,
    },
    /// A result of another type than declared.
    #[error("the result is {actual}, {expected} was declared")]
    ResultType {
        /// The declared type.
        expected: DType,
        /// Type of the result.
        actual: DType,
    },
    /// A result of another shape than declared.
    #[error("the result has shape {}, {} was declared", shape_text(actual), shape_text(expected))]
    ResultShape {
        /// The declared shape.
        expected: Vec<usize>,
        /// Shape of the result.
        actual: Vec<usize>,
    },
    /// An operation inside the function failed.
    #[error(transparent)]
    Operation(#[from] OpError),
    /// The function gave up, for a reason of its own.
    #[error("{0}")]
    Failed(String),
    /// The function panicked.
    #[error("it panicked: {message}")]
    Panicked {
        /// What it said.
        message: String,
    },
}

/// Why an evaluation stops. What was evaluated before stays in the state.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum EvalError {
    /// A value was asked for that nobody has set or evaluated.
    #[error("node {node} has not been evaluated")]
    NodeValueNotFound {
        /// The node.
        node: NodePlace,
    },
    /// A placeholder without value and without default.
    #[error("no value is given for placeholder {node}, and it has no default")]
    PlaceholderValueNotProvided {
        /// The placeholder.
        node: NodePlace,
        /// True for a placeholder of a time series.
        is_timeseries: bool,
    },
    /// A function the state does not have.
    #[error("node {node} calls a function that the state does not have")]
    FunctionNotFound {
        /// The call; it has the name of the function.
        node: NodePlace,
    },
    /// A user function failed.
    #[error("function of node {node}: {error}")]
    Function {
        /// The call.
        node: NodePlace,
        /// Why it failed.
        error: UserFunctionError,
    },
    /// An operation failed.
    #[error("node {node}: {error}")]
    Operation {
        /// The operation.
        node: NodePlace,
        /// Why it failed.
        error: OpError,
    },
    /// An operation that the published engine has no evaluation for.
    #[error("node {node}: the published engine does not evaluate {operation}")]
    Unsupported {
        /// The operation.
        node: NodePlace,
        /// Its name in node texts.
        operation: &'static str,
    },
    /// A program of the machine has used up the budget.
    #[error("{problem}")]
    Exhausted {
        /// The kind of error.
        category: Category,
        /// What was used up, and by which operator.
        problem: String,
    },
    /// Nothing to compute, which the published engine forbids.
    #[error("there are neither nodes nor trees to evaluate")]
    NothingToEvaluate,
    /// The graph is not in order.
    #[error(transparent)]
    Dag(#[from] DagError),
}
