//! Fault: what an operator raises while it runs.
//!
//! A fault knows what happened and with which numbers; the machine adds where (instruction,
//! operator, source span). Categories are the ones the recorded cases use.

use crate::value::budget::Exhausted;
use crate::value::scalar::ScalarType;
use std::fmt;
use std::sync::Arc;
use thiserror::Error;

/// The kind of an error, stable across versions; scripts match on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Category {
    /// Integer or floor division by zero.
    DivisionByZero,
    /// A number does not fit the type it is cast to.
    Cast,
    /// Operands of the wrong type.
    Type,
    /// Sizes that should be equal are not.
    SizeMismatch,
    /// An index outside its range.
    IndexOutOfRange,
    /// A value is required and missing.
    MissingValue,
    /// Text that is not what it should be.
    Parse,
    /// An assertion of the expression does not hold.
    Assertion,
    /// An input was not given.
    MissingInput,
    /// A configured limit was reached.
    Limit,
    /// The text of an expression is not well formed.
    Syntax,
    /// A name nobody defined.
    UnknownName,
    /// The host asked to stop.
    Cancelled,
    /// The run used up its fuel, or the rows it may go over.
    FuelExhausted,
    /// The run took longer than it may.
    DeadlineExceeded,
    /// An operator panicked.
    Panic,
    /// An operator of the host reported an error.
    Host,
    /// A file or stream could not be read or written.
    Io,
    /// A stored program is not well formed.
    InvalidProgram,
    /// A number does not fit the type of its result.
    Overflow,
    /// An argument that the operation is not defined for.
    Domain,
    /// A variable of a function was read before it had a value.
    Unbound,
    /// A function raised an error of its own.
    Raised,
}

impl Category {
    /// Every category.
    pub const ALL: [Category; 23] = [
        Category::DivisionByZero,
        Category::Cast,
        Category::Type,
        Category::SizeMismatch,
        Category::IndexOutOfRange,
        Category::MissingValue,
        Category::Parse,
        Category::Assertion,
        Category::MissingInput,
        Category::Limit,
        Category::Syntax,
        Category::UnknownName,
        Category::Cancelled,
        Category::FuelExhausted,
        Category::DeadlineExceeded,
        Category::Panic,
        Category::Host,
        Category::Io,
        Category::InvalidProgram,
        Category::Overflow,
        Category::Domain,
        Category::Unbound,
        Category::Raised,
    ];

    /// The category with this name.
    pub fn from_name(name: &str) -> Option<Category> {
        Category::ALL.into_iter().find(|c| c.name() == name)
    }

    /// The category's name, such as `DIVISION_BY_ZERO`.
    pub const fn name(self) -> &'static str {
        match self {
            Category::DivisionByZero => "DIVISION_BY_ZERO",
            Category::Cast => "CAST",
            Category::Type => "TYPE",
            Category::SizeMismatch => "SIZE_MISMATCH",
            Category::IndexOutOfRange => "INDEX_OUT_OF_RANGE",
            Category::MissingValue => "MISSING_VALUE",
            Category::Parse => "PARSE",
            Category::Assertion => "ASSERTION",
            Category::MissingInput => "MISSING_INPUT",
            Category::Limit => "LIMIT",
            Category::Syntax => "SYNTAX",
            Category::UnknownName => "UNKNOWN_NAME",
            Category::Cancelled => "CANCELLED",
            Category::FuelExhausted => "FUEL_EXHAUSTED",
            Category::DeadlineExceeded => "DEADLINE_EXCEEDED",
            Category::Panic => "PANIC",
            Category::Host => "HOST",
            Category::Io => "IO",
            Category::InvalidProgram => "INVALID_PROGRAM",
            Category::Overflow => "OVERFLOW",
            Category::Domain => "DOMAIN",
            Category::Unbound => "UNBOUND",
            Category::Raised => "RAISED",
        }
    }
}

impl fmt::Display for Category {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What an operator raises.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Fault {
    /// Integer or floor division by zero.
    #[error("division by zero")]
    DivisionByZero,
    /// A number that does not fit the target type.
    #[error("cannot cast {value} to {}", target.name().to_ascii_lowercase())]
    Cast {
        /// The number, as dumps print it.
        value: String,
        /// The type it does not fit.
        target: ScalarType,
    },
    /// An operator expected a present value.
    #[error("{operator} expects present value, got missing")]
    MissingValue {
        /// The operator's name.
        operator: &'static str,
    },
    /// Text that does not read as a value of the type.
    #[error("unable to parse {target}: {}", quoted(text))]
    Parse {
        /// The text.
        text: String,
        /// The type it should have given.
        target: ScalarType,
    },
    /// Bytes that are not UTF-8, or a format string that does not fit its arguments.
    #[error("{message}")]
    Format {
        /// What is wrong.
        message: String,
    },
    /// A number of a row or of rows that an array does not have.
    #[error("{message}")]
    Range {
        /// What is wrong.
        message: String,
    },
    /// Arrays of different sizes meet.
    #[error("argument sizes mismatch: ({})", sizes.iter().map(u64::to_string).collect::<Vec<_>>().join(", "))]
    Sizes {
        /// Their sizes, in the order of the arguments.
        sizes: Vec<u64>,
    },
    /// A row of an array raises; the rows before it do not.
    #[error("{fault}, in row {row}")]
    Row {
        /// Number of the row, from 0.
        row: u64,
        /// What it raises.
        fault: Box<Fault>,
    },
    /// N-dimensional arrays whose shapes do not fit together.
    #[error("shapes {} differ in axis {axis}", shapes.iter().map(|s| shape(s)).collect::<Vec<_>>().join(" and "))]
    Shapes {
        /// The shapes, in the order of the arguments.
        shapes: Vec<Vec<u64>>,
        /// The axis of the result, from 0.
        axis: u64,
    },
    /// An element of an n-dimensional array raises; the elements before it do not.
    #[error("{fault}, in element {index:?}")]
    Element {
        /// Its place along each axis, from 0.
        index: Vec<u64>,
        /// What it raises.
        fault: Box<Fault>,
    },
    /// An index outside `0..size`.
    #[error("index out of range: {index}, size is {size}")]
    Index {
        /// The index asked for.
        index: i64,
        /// Number of elements.
        size: i64,
    },
    /// An index outside of an axis of an array that has several.
    #[error("index out of range: {index}, the size of axis {axis} is {size}")]
    AxisIndex {
        /// The index asked for.
        index: i64,
        /// The axis, from 0.
        axis: u64,
        /// Its size.
        size: i64,
    },
    /// A size that a run may not reach.
    #[error("limit {limit}: {actual} exceeds {maximum}")]
    Limit {
        /// Name of the limit.
        limit: &'static str,
        /// The size asked for.
        actual: u64,
        /// The largest size allowed.
        maximum: u64,
    },
    /// A result that does not fit its type.
    #[error("{message}")]
    Overflow {
        /// What does not fit.
        message: Arc<str>,
    },
    /// An argument that the operation is not defined for.
    #[error("{message}")]
    Domain {
        /// What is wrong.
        message: Arc<str>,
    },
    /// `core.with_assertion` found its condition missing.
    #[error("{message}")]
    Assertion {
        /// The message given in the expression.
        message: String,
    },
    /// The program reached a trap: an operation that always fails stood in the branch taken.
    #[error("{message}")]
    Trap {
        /// Category of the failure.
        category: Category,
        /// What fails.
        message: Arc<str>,
    },
    /// An operator of the host reported an error.
    #[error("{message}")]
    Host {
        /// The host's message.
        message: String,
    },
    /// The run has used up something it was given.
    #[error(transparent)]
    Exhausted(#[from] Exhausted),
}

impl Fault {
    /// The fault's category.
    pub fn category(&self) -> Category {
        match self {
            Fault::DivisionByZero => Category::DivisionByZero,
            Fault::Cast { .. } => Category::Cast,
            Fault::MissingValue { .. } => Category::MissingValue,
            Fault::Parse { .. } | Fault::Format { .. } => Category::Parse,
            Fault::Index { .. } | Fault::AxisIndex { .. } => Category::IndexOutOfRange,
            Fault::Range { .. } => Category::IndexOutOfRange,
            Fault::Sizes { .. } => Category::SizeMismatch,
            Fault::Shapes { .. } => Category::SizeMismatch,
            Fault::Row { fault, .. } | Fault::Element { fault, .. } => fault.category(),
            Fault::Limit { .. } => Category::Limit,
            Fault::Overflow { .. } => Category::Overflow,
            Fault::Domain { .. } => Category::Domain,
            Fault::Assertion { .. } => Category::Assertion,
            Fault::Trap { category, .. } => *category,
            Fault::Host { .. } => Category::Host,
            Fault::Exhausted(exhausted) => match exhausted {
                Exhausted::Instructions { .. } | Exhausted::Rows { .. } => Category::FuelExhausted,
                Exhausted::Bytes { .. } | Exhausted::Memory { .. } => Category::Limit,
                Exhausted::Time { .. } => Category::DeadlineExceeded,
                Exhausted::Cancelled => Category::Cancelled,
            },
        }
    }

    /// The fault of a row. What a run has used up is no fault of the row where it noticed.
    pub fn in_row(self, row: usize) -> Fault {
        match self {
            Fault::Exhausted(_) => self,
            fault => Fault::Row { row: row as u64, fault: Box::new(fault) },
        }
    }

    /// The fault of the element with this number, the last axis fastest, of an array of a shape.
    #[cold]
    pub(crate) fn in_element(self, number: usize, shape: &[usize]) -> Fault {
        if let Fault::Exhausted(_) = self {
            return self;
        }
        let (mut rest, mut index) = (number, vec![0; shape.len()]);
        for (place, size) in index.iter_mut().zip(shape).rev() {
            *place = (rest % size) as u64;
            rest /= size;
        }
        Fault::Element { index, fault: Box::new(self) }
    }
}

/// A shape as it is written: `(2, 3)`, `(2,)`.
pub fn shape(sizes: &[u64]) -> String {
    let list: Vec<String> = sizes.iter().map(u64::to_string).collect();
    format!("({}{})", list.join(", "), if list.len() == 1 { "," } else { "" })
}

/// Text in the quotes of a dump, cut to what an error message can carry.
fn quoted(text: &str) -> String {
    const LONGEST: usize = 120;
    let mut out = String::new();
    match text.char_indices().nth(LONGEST) {
        None => crate::value::repr::write_text(&mut out, text),
        Some((end, _)) => {
            crate::value::repr::write_text(&mut out, &text[..end]);
            out.push('…');
        }
    }
    out
}
