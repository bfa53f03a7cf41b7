//! Why columns cannot be read, computed or written.

use crate::compile::CompileError;
use cembra_vm::frame::FrameError;
use cembra_vm::machine::{BindError, RunError};
use cembra_vm::program::instruction::Span;
use cembra_vm::value::{Category, QType, ScalarType};
use std::fmt::Write;
use std::io;
use std::sync::Arc;
use thiserror::Error;

/// Why columns cannot be read, computed or written.
#[derive(Debug, Error)]
pub enum ColumnsError {
    /// A file cannot be read.
    #[error("cannot read {file}: {error}")]
    Read {
        /// The file.
        file: String,
        /// What the system says.
        error: io::Error,
    },
    /// A file cannot be written.
    #[error("cannot write {file}: {error}")]
    Write {
        /// The file.
        file: String,
        /// What the system says.
        error: io::Error,
    },
    /// The ending of a name tells no format.
    #[error("{file}: the name tells no format; known endings are {known}")]
    UnknownFormat {
        /// The file.
        file: String,
        /// The endings.
        known: &'static str,
    },
    /// The format needs a feature that this program was built without.
    #[error("{file}: Parquet and Arrow files need a program built with `--features columns`")]
    NotBuilt {
        /// The file.
        file: String,
    },
    /// The contents are not what the format asks for.
    #[error("{file}: {what}")]
    Malformed {
        /// The file.
        file: String,
        /// What is wrong.
        what: String,
    },
    /// Two columns of one file have one name.
    #[error("{file} has two columns `{name}`")]
    DuplicateColumn {
        /// The file.
        file: String,
        /// The name.
        name: Arc<str>,
    },
    /// A column stands in two files.
    #[error("column `{name}` is in {first} and in {second}")]
    SharedColumn {
        /// The name.
        name: Arc<str>,
        /// One file.
        first: String,
        /// The other file.
        second: String,
    },
    /// An option names a column that no file has.
    #[error("no file has a column `{name}`")]
    NoColumn {
        /// The name.
        name: Arc<str>,
    },
    /// A column is of a type that no leaf has.
    #[error("column `{column}` of {file} is {stored}; {why}")]
    ColumnType {
        /// The file.
        file: String,
        /// The column.
        column: Arc<str>,
        /// Its type there.
        stored: String,
        /// What would do.
        why: String,
    },
    /// Files have different numbers of rows.
    #[error("{first} has {first_rows} rows, {second} has {second_rows}")]
    RowCounts {
        /// One file.
        first: String,
        /// Its rows.
        first_rows: u64,
        /// The other file.
        second: String,
        /// Its rows.
        second_rows: u64,
    },
    /// There is nothing to compute.
    #[error("there is no result")]
    NoResult,
    /// Two results have one name.
    #[error("two results are named `{name}`")]
    DuplicateOutput {
        /// The name.
        name: Arc<str>,
    },
    /// A result is not a column.
    #[error("result `{name}` is {qtype}, which is not a column")]
    OutputType {
        /// The result.
        name: Arc<str>,
        /// Its type.
        qtype: QType,
    },
    /// A format cannot hold a column.
    #[error("{file}: {format} cannot hold column `{name}` of {element}")]
    CannotHold {
        /// The file.
        file: String,
        /// The format.
        format: &'static str,
        /// The column.
        name: Arc<str>,
        /// Its type.
        element: ScalarType,
    },
    /// An operator needs other rows than the one it computes, or an array has rows of its own.
    #[error("{what}, so the result would depend on the batches")]
    NotRowWise {
        /// The operator as the expression has it, and what is wrong.
        what: String,
        /// Where it stands.
        span: Span,
    },
    /// An operator that looks at no row may fail for all of them, where single rows are to be passed over.
    #[error("`{operator}` looks at no row: where it fails, it fails for all rows that need it")]
    WholeFault {
        /// The operator as the expression has it.
        operator: Arc<str>,
        /// Where it stands.
        span: Span,
    },
    /// Results of a whole file differ in length.
    #[error("results are columns of one length; one has {first} rows, another {other}")]
    OutputLengths {
        /// Rows of one result.
        first: usize,
        /// Rows of the other.
        other: usize,
    },
    /// A file has more rows than one batch can have.
    #[error("limit batch-rows: {file} has more rows than the {limit} that one batch can have")]
    TooManyRows {
        /// The file.
        file: String,
        /// Rows a batch can have.
        limit: usize,
    },
    /// An expression is wrong.
    #[error(transparent)]
    Compile(Box<CompileError>),
    /// A row cannot be read or computed.
    #[error(transparent)]
    Row(Box<RowError>),
    /// The program failed, and not in a row.
    #[error(transparent)]
    Run(Box<RunError>),
    /// A part of the program that reads no column raises: every row fails.
    #[error(transparent)]
    EveryRow(Box<RunError>),
    /// A frame could not be made or read.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// The program has no such input or output: a bug.
    #[error("internal error: {0}")]
    Bind(#[from] BindError),
}

/// A row that cannot be read or computed.
#[derive(Clone, Debug, PartialEq)]
pub struct RowError {
    /// The file with the cell, or all files.
    pub file: String,
    /// Number of the row, from 1.
    pub row: u64,
    /// The line it begins in, for files that have lines.
    pub line: Option<u64>,
    /// What is wrong.
    pub problem: Problem,
    /// Columns and the values of the row in them, as far as the expression uses them.
    pub values: Vec<(Arc<str>, String)>,
}

/// What is wrong with a row.
#[derive(Clone, Debug, PartialEq)]
pub enum Problem {
    /// A cell does not read as the type of its column.
    Cell {
        /// The column.
        column: Arc<str>,
        /// Its type.
        element: ScalarType,
        /// The cell.
        text: String,
    },
    /// A cell is a number that the type of its column has not: it would overflow, or vanish.
    OutOfRange {
        /// The column.
        column: Arc<str>,
        /// Its type.
        element: ScalarType,
        /// The cell.
        text: String,
    },
    /// A cell is an integer with digits that the type of its column, which nobody gave, would lose.
    Inexact {
        /// The column.
        column: Arc<str>,
        /// Its type.
        element: ScalarType,
        /// The cell.
        text: String,
    },
    /// A cell is not UTF-8.
    NotUtf8 {
        /// The column.
        column: Arc<str>,
    },
    /// The row has more or fewer cells than the header.
    Cells {
        /// Cells of the row.
        found: usize,
        /// Cells of the header.
        expected: usize,
    },
    /// A quoted cell has characters behind its closing quote; perhaps an earlier quote was not closed.
    LooseQuote {
        /// The line with the opening quote.
        line: u64,
    },
    /// The format cannot hold a missing value.
    Missing {
        /// The column.
        column: Arc<str>,
        /// The format.
        format: &'static str,
    },
    /// An operator raises.
    Raised(Box<RunError>),
}

impl Problem {
    /// The kind of error in one word.
    pub fn category(&self) -> Category {
        match self {
            Problem::Cell { .. }
            | Problem::OutOfRange { .. }
            | Problem::Inexact { .. }
            | Problem::NotUtf8 { .. }
            | Problem::Cells { .. }
            | Problem::LooseQuote { .. } => Category::Parse,
            Problem::Missing { .. } => Category::MissingValue,
            Problem::Raised(error) => error.category(),
        }
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Problem::Cell { column, element, text } => {
                write!(f, "column `{column}`: {} is not {element}", quoted(text))
            }
            Problem::OutOfRange { column, element, text } => {
                write!(f, "column `{column}`: the number {} is outside the range of {element}", quoted(text))
            }
            Problem::Inexact { column, element, text } => {
                let integer = quoted(text);
                write!(
                    f,
                    "column `{column}`: {element}, told by the first rows, would round the integer {integer}"
                )
            }
            Problem::NotUtf8 { column } => write!(f, "column `{column}`: the cell is not UTF-8"),
            Problem::Cells { found, expected } => {
                let cells = if *found == 1 { "cell" } else { "cells" };
                write!(f, "{found} {cells}, the header has {expected}")
            }
            Problem::LooseQuote { line } => {
                write!(f, "the cell whose quote opens in line {line} goes on behind the closing quote")
            }
            Problem::Missing { column, format } => {
                write!(f, "result `{column}` is missing, which {format} cannot hold")
            }
            // The machine counts rows of the batch; the place in the file says more.
            Problem::Raised(error) => match &error.kind {
                cembra_vm::machine::RunErrorKind::Fault(cembra_vm::value::Fault::Row { fault, .. }) => {
                    fault.fmt(f)
                }
                kind => kind.fmt(f),
            },
        }
    }
}

fn quoted(text: &str) -> String {
    let mut shown = String::new();
    cembra_vm::value::repr::write_text(&mut shown, text);
    shown
}

impl std::fmt::Display for RowError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut place = format!("{}, row {}", self.file, self.row);
        if let Some(line) = self.line {
            write!(place, " (line {line})")?;
        }
        write!(f, "{place}: {}", self.problem)
    }
}

impl std::error::Error for RowError {}

impl From<RowError> for ColumnsError {
    fn from(error: RowError) -> ColumnsError {
        ColumnsError::Row(Box::new(error))
    }
}

impl From<CompileError> for ColumnsError {
    fn from(error: CompileError) -> ColumnsError {
        ColumnsError::Compile(Box::new(error))
    }
}

impl ColumnsError {
    /// The kind of error in one word.
    pub fn category(&self) -> Category {
        use ColumnsError as E;
        match self {
            E::Read { .. } | E::Write { .. } | E::UnknownFormat { .. } | E::NotBuilt { .. } => Category::Io,
            E::Malformed { .. } | E::DuplicateColumn { .. } => Category::Parse,
            E::SharedColumn { .. } | E::NoColumn { .. } => Category::UnknownName,
            E::DuplicateOutput { .. } | E::NoResult => Category::UnknownName,
            E::Compile(error) => error.category(),
            E::ColumnType { .. }
            | E::OutputType { .. }
            | E::CannotHold { .. }
            | E::NotRowWise { .. }
            | E::WholeFault { .. } => Category::Type,
            E::RowCounts { .. } | E::OutputLengths { .. } => Category::SizeMismatch,
            E::TooManyRows { .. } | E::Frame(_) => Category::Limit,
            E::Row(error) => error.problem.category(),
            E::Run(error) | E::EveryRow(error) => error.category(),
            E::Bind(_) => Category::InvalidProgram,
        }
    }

    /// A file that cannot be read.
    pub fn read(file: &str, error: io::Error) -> ColumnsError {
        ColumnsError::Read { file: file.to_owned(), error }
    }

    /// A file that cannot be written.
    pub fn write(file: &str, error: io::Error) -> ColumnsError {
        ColumnsError::Write { file: file.to_owned(), error }
    }

    /// Contents that are not what the format asks for.
    pub fn malformed(file: &str, what: impl Into<String>) -> ColumnsError {
        ColumnsError::Malformed { file: file.to_owned(), what: what.into() }
    }
}
