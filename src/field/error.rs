//! What can be wrong with a field program, or with the data it is bound to.
//!
//! A problem carries names and numbers. The statement is counted from 1 and named by its first target; programs that come
//! from a text have the place as well.

use crate::expr::GraphError;
use crate::field::element::{dtype_name, is_float};
use cembra_vm::program::instruction::Span;
use cembra_vm::value::budget::Exhausted;
use cembra_vm::value::{Category, Fault, ScalarType};
use std::fmt;
use thiserror::Error;

/// A problem with the place where it is.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldError {
    /// What is wrong; behind a pointer, because results with errors are everywhere.
    pub problem: Box<FieldProblem>,
    /// The statement: its number from 1, and its first target.
    pub statement: Option<(usize, String)>,
    /// The place in the text; unknown if there is no text.
    pub span: Span,
}

impl FieldError {
    /// A problem of no statement.
    pub fn new(problem: FieldProblem) -> FieldError {
        FieldError::at(problem, Span::default())
    }

    /// A problem at a place of a text.
    pub fn at(problem: FieldProblem, span: Span) -> FieldError {
        FieldError { problem: Box::new(problem), statement: None, span }
    }

    /// The same problem, of this statement.
    #[must_use]
    pub fn in_statement(mut self, number: usize, target: &str) -> FieldError {
        self.statement.get_or_insert_with(|| (number, target.to_owned()));
        self
    }

    /// What may help, if there is something.
    pub fn hint(&self) -> Option<&'static str> {
        self.problem.hint()
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((number, target)) = &self.statement {
            write!(f, "statement {number} (`{target}`): ")?;
        }
        self.problem.fmt(f)
    }
}

impl std::error::Error for FieldError {}

impl From<Fault> for FieldProblem {
    fn from(fault: Fault) -> FieldProblem {
        FieldProblem::Run { category: fault.category(), what: fault.to_string() }
    }
}

impl From<Exhausted> for FieldProblem {
    fn from(stop: Exhausted) -> FieldProblem {
        Fault::from(stop).into()
    }
}

impl From<Fault> for FieldError {
    fn from(fault: Fault) -> FieldError {
        FieldProblem::from(fault).into()
    }
}

/// Why a box is not lowered.
#[derive(Debug)]
pub(crate) enum Stop {
    /// An error.
    Problem(FieldProblem),
    /// A condition changes inside of the box: it is to be cut before this point of an axis.
    Split { axis: usize, at: i64 },
}

impl From<FieldProblem> for Stop {
    fn from(problem: FieldProblem) -> Stop {
        Stop::Problem(problem)
    }
}

impl From<GraphError> for Stop {
    fn from(error: GraphError) -> Stop {
        Stop::Problem(FieldProblem::Limit { limit: "field-operations", what: error.to_string() })
    }
}

impl From<FieldProblem> for FieldError {
    fn from(problem: FieldProblem) -> FieldError {
        FieldError::new(problem)
    }
}

/// What may be missing in the data of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissingData {
    /// The cells of a field.
    Field,
    /// The rows of a table.
    Table,
    /// The value of a scalar.
    Scalar,
}

impl fmt::Display for MissingData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            MissingData::Field => "data for",
            MissingData::Table => "data for the table",
            MissingData::Scalar => "value for the scalar",
        })
    }
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum FieldProblem {
    /// Cells are needed that a field does not have.
    #[error("`{field}` is needed on {dimension} {needed_first}:{needed_end} and has {first}:{end}")]
    OutOfDomain {
        /// The field, or the table whose rows are meant.
        field: String,
        /// The dimension.
        dimension: String,
        /// First point that is needed.
        needed_first: i64,
        /// One past the last point that is needed.
        needed_end: i64,
        /// First point there is.
        first: i64,
        /// One past the last point there is.
        end: i64,
    },
    /// Cells are needed that an output without data has, and that no statement wrote.
    #[error("`{field}` is read on {points}, where nothing was written: give it data, or `fill`")]
    Unwritten {
        /// The field.
        field: String,
        /// Some of the points: a range along each dimension.
        points: String,
    },
    /// A table names a point that the field does not have.
    #[error(
        "table `{table}` has {index} in row {row}, column {column}; `{field}` has {dimension} {first}:{end}"
    )]
    TableIndex {
        /// The table.
        table: String,
        /// The point of the row.
        row: i64,
        /// The column.
        column: usize,
        /// The entry.
        index: i64,
        /// The field.
        field: String,
        /// The dimension of the entries.
        dimension: String,
        /// First point of the field.
        first: i64,
        /// One past its last point.
        end: i64,
    },
    /// A neighbour is read that is missing.
    #[error("table `{table}` has no neighbour {column} in row {row}, whose value is needed")]
    MissingNeighbor {
        /// The table.
        table: String,
        /// The point of the row.
        row: i64,
        /// The column.
        column: usize,
    },
    /// The greatest or least of nothing.
    #[error("{reduction} over `{table}`: row {row} has no neighbour")]
    NoNeighbor {
        /// `max_over` or `min_over`.
        reduction: &'static str,
        /// The table.
        table: String,
        /// The point of the row.
        row: i64,
    },
    /// A table has fewer columns than are read.
    #[error("table `{table}` has {width} columns; column {column} is read")]
    TableColumn {
        /// The table.
        table: String,
        /// Its columns.
        width: usize,
        /// The column that is read, from 0.
        column: usize,
    },
    /// A local dimension where it has no meaning.
    #[error("{what}")]
    LocalDimension {
        /// What is wrong, with the names.
        what: String,
    },
    /// Element types that have to be equal and are not.
    #[error("{operation} of {} and {}", dtype_name(*.left), dtype_name(*.right))]
    DtypeMismatch {
        /// The operation.
        operation: String,
        /// One element type.
        left: ScalarType,
        /// The other one.
        right: ScalarType,
    },
    /// A value of another element type than its place has.
    #[error("{value} is {}, not {}", dtype_name(*.found), dtype_name(*.expected))]
    WrongDtype {
        /// What the value is: `the condition of where`.
        value: String,
        /// Its element type.
        found: ScalarType,
        /// The element type of its place.
        expected: ScalarType,
    },
    /// An operation that an element type does not have.
    #[error("{operation} is not defined for {}", dtype_name(*.dtype))]
    NotDefined {
        /// The operation.
        operation: String,
        /// The element type.
        dtype: ScalarType,
    },
    /// Dimensions that do not match.
    #[error("{what}")]
    Dimensions {
        /// What is wrong, with the names.
        what: String,
    },
    /// A scan that cannot run.
    #[error("{what}")]
    Scan {
        /// What is wrong, with the names.
        what: String,
    },
    /// Cells that one statement writes twice.
    #[error("`{field}` is written twice on {points}")]
    Overlap {
        /// The field.
        field: String,
        /// The points that are written twice: a range along each dimension.
        points: String,
    },
    /// A name that stands before the line that defines it.
    #[error("`{name}` is used on line {used}, before line {defined} defines it")]
    UsedBefore {
        /// The name.
        name: String,
        /// The line where it is used, from 1.
        used: usize,
        /// The line that defines it.
        defined: usize,
    },
    /// A bound that is too large.
    #[error("the bound `{bound}` on {dimension} comes to {value}, which does not fit 32 bits")]
    BoundTooLarge {
        /// The bound as texts have it.
        bound: String,
        /// The dimension.
        dimension: String,
        /// The bound, or a part of it, that does not fit.
        value: i64,
    },
    /// A name nobody declared.
    #[error("there is no {role} `{name}`")]
    UnknownName {
        /// What the name should be.
        role: &'static str,
        /// The name.
        name: String,
    },
    /// A name that is declared twice.
    #[error("`{name}` is declared twice")]
    DeclaredTwice {
        /// The name.
        name: String,
    },
    /// A text or JSON that is no program.
    #[error("{what}")]
    Syntax {
        /// What is wrong.
        what: String,
    },
    /// Data that does not belong to the program.
    #[error("{what}")]
    Data {
        /// What is wrong, with the names and sizes.
        what: String,
    },
    /// Data that is not there.
    #[error("there is no {role} `{name}`")]
    Missing {
        /// What is missing.
        role: MissingData,
        /// Of what: the name of a field, of a table or of a scalar.
        name: String,
    },
    /// A limit.
    #[error("limit {limit}: {what}")]
    Limit {
        /// Its name.
        limit: &'static str,
        /// What exceeds it.
        what: String,
    },
    /// An operator raised while a statement ran: a zero divisor, a number that does not fit.
    #[error("{what}")]
    Run {
        /// The kind of error.
        category: Category,
        /// What the machine says.
        what: String,
    },
}

impl FieldProblem {
    /// Data that is not there.
    pub(crate) fn missing(role: MissingData, name: &str) -> FieldProblem {
        FieldProblem::Missing { role, name: name.to_owned() }
    }

    /// The class of the error, as recorded cases name it.
    pub fn class(&self) -> &'static str {
        match self {
            FieldProblem::OutOfDomain { .. } => "out_of_domain",
            FieldProblem::TableIndex { .. }
            | FieldProblem::MissingNeighbor { .. }
            | FieldProblem::NoNeighbor { .. }
            | FieldProblem::TableColumn { .. } => "table_index",
            FieldProblem::LocalDimension { .. } => "local_dimension",
            FieldProblem::DtypeMismatch { .. }
            | FieldProblem::WrongDtype { .. }
            | FieldProblem::NotDefined { .. } => "dtype_mismatch",
            FieldProblem::Dimensions { .. } => "dimension_mismatch",
            FieldProblem::Scan { .. } => "scan",
            FieldProblem::Overlap { .. } => "overlap",
            FieldProblem::UnknownName { .. }
            | FieldProblem::UsedBefore { .. }
            | FieldProblem::DeclaredTwice { .. } => "name",
            FieldProblem::Syntax { .. } => "syntax",
            FieldProblem::Unwritten { .. }
            | FieldProblem::BoundTooLarge { .. }
            | FieldProblem::Missing { .. }
            | FieldProblem::Data { .. } => "data",
            FieldProblem::Limit { .. } => "limit",
            FieldProblem::Run { .. } => "run",
        }
    }

    /// The same problem with the name of a field before what a run has found.
    pub(crate) fn of_field(self, name: &str) -> FieldProblem {
        match self {
            FieldProblem::Run { category, what } => {
                FieldProblem::Run { category, what: format!("`{name}`: {what}") }
            }
            other => other,
        }
    }

    /// The category of the error.
    pub fn category(&self) -> Category {
        match self {
            FieldProblem::OutOfDomain { .. } => Category::SizeMismatch,
            FieldProblem::TableIndex { .. }
            | FieldProblem::MissingNeighbor { .. }
            | FieldProblem::NoNeighbor { .. }
            | FieldProblem::TableColumn { .. } => Category::IndexOutOfRange,
            FieldProblem::LocalDimension { .. }
            | FieldProblem::DtypeMismatch { .. }
            | FieldProblem::WrongDtype { .. }
            | FieldProblem::NotDefined { .. }
            | FieldProblem::Dimensions { .. }
            | FieldProblem::Scan { .. }
            | FieldProblem::Overlap { .. } => Category::Type,
            FieldProblem::UnknownName { .. }
            | FieldProblem::UsedBefore { .. }
            | FieldProblem::DeclaredTwice { .. } => Category::UnknownName,
            FieldProblem::Syntax { .. } => Category::Syntax,
            FieldProblem::Unwritten { .. }
            | FieldProblem::BoundTooLarge { .. }
            | FieldProblem::Missing { .. }
            | FieldProblem::Data { .. } => Category::MissingInput,
            FieldProblem::Limit { .. } => Category::Limit,
            FieldProblem::Run { category, .. } => *category,
        }
    }

    /// What may help.
    fn hint(&self) -> Option<&'static str> {
        match self {
            FieldProblem::OutOfDomain { .. } => Some("a smaller domain on the left side reads fewer cells"),
            FieldProblem::DtypeMismatch { .. } => {
                Some("nothing converts by itself: float64(x), int32(x) and the like convert")
            }
            FieldProblem::WrongDtype { .. } => Some(
                "nothing converts by itself: float64(x), int32(x) and the like convert values; scalars and fields are \
                 declared with their type: n: int32",
            ),
            FieldProblem::NotDefined { operation, dtype } if operation == "/" && !is_float(*dtype) => {
                Some("// divides integers and rounds down; float64(x) converts")
            }
            FieldProblem::NotDefined { operation, dtype } if operation == "**" && !is_float(*dtype) => {
                Some("the exponent of an integer is a number that is written there, at least 0")
            }
            FieldProblem::UnknownName { role: "element type", .. } => {
                Some("fields have float64, float32, int8 to int64, uint8 to uint64, and bool")
            }
            FieldProblem::UnknownName { role: "function", name } => Some(match &**name {
                "scan" => "a scan is the whole right side of a line: p = scan(K forward; s = 0.0; s + x)",
                "sum" | "mean" | "prod" => {
                    "neighbor_sum(e, TABLE) adds over neighbours; whole fields are not summed"
                }
                "maximum" | "minimum" | "fmax" | "fmin" => "min(a, b) and max(a, b) are of two values",
                "round" | "rint" => "floor(x + 0.5) rounds",
                "power" => "x**y and pow(x, y) are powers",
                "astype" => "the names of element types cast: float32(x)",
                _ => {
                    "there are abs, sqrt, cbrt, exp, log, gamma, floor, ceil, trunc, sin, cos, tan, arcsin, arccos, arctan, \
                     sinh, cosh, tanh, arcsinh, arccosh, arctanh, isnan, isinf, isfinite, min, max, pow, fmod, xor, where, \
                     concat_where, broadcast, neighbor_sum, max_over, min_over, and element types"
                }
            }),
            FieldProblem::NoNeighbor { .. } | FieldProblem::MissingNeighbor { .. } => {
                Some("a missing neighbour has no value")
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::expression::{FieldReduction, FieldUnary};

    #[test]
    fn the_hint_has_all_functions_of_one_value() {
        let problem = FieldProblem::UnknownName { role: "function", name: "f".to_owned() };
        let hint = problem.hint().expect("there is one");
        let words: Vec<&str> = hint.split([' ', ',']).collect();
        let unary = FieldUnary::ALL.iter().filter(|op| !matches!(op, FieldUnary::Neg | FieldUnary::Not));
        let names = unary.map(|op| op.name()).chain(FieldReduction::ALL.iter().map(|op| op.name()));
        assert_eq!(names.filter(|name| !words.contains(name)).collect::<Vec<_>>(), [""; 0]);
    }
}
