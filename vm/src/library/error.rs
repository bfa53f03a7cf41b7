//! What can be wrong with a library, with a call of one, and inside of it.

use crate::machine::sweep_order::SweepOrder;
use crate::value::Category;
use std::fmt;
use std::path::PathBuf;
use thiserror::Error;

/// A library that is not used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LibraryError {
    /// The file cannot be read or loaded.
    #[error("{}: {message}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        message: String,
    },
    /// The file is not what its build has noted.
    #[error("{}: the file is not the one that was built: {what}", path.display())]
    Digest {
        /// The file.
        path: PathBuf,
        /// What differs.
        what: &'static str,
    },
    /// A symbol is missing.
    #[error("{}: no symbol {symbol}", path.display())]
    Symbol {
        /// The file.
        path: PathBuf,
        /// The symbol.
        symbol: String,
    },
    /// It was made for another version of the boundary.
    #[error("{}: made for version {found} of the boundary, this is version {expected}", path.display())]
    Abi {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The version of this crate.
        expected: u32,
    },
    /// It takes or gives other types.
    #[error("{}: takes and gives {found}, expected {expected}", path.display())]
    Signature {
        /// The file.
        path: PathBuf,
        /// Its types.
        found: String,
        /// Those expected.
        expected: String,
    },
}

/// Arguments that a library does not take.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BoundaryError {
    /// More or fewer than it has parameters.
    #[error("{expected} arguments are needed, {actual} were given")]
    Count {
        /// The number of parameters.
        expected: usize,
        /// The number of arguments.
        actual: usize,
    },
    /// One of another type, or with other axes.
    #[error("argument {name}: takes {expected}, got {actual}")]
    Type {
        /// The parameter.
        name: String,
        /// Its type.
        expected: String,
        /// What was given.
        actual: String,
    },
    /// An array whose elements are not one after the other.
    #[error(
        "argument {name}: the elements have to stand one after the other, strides are {strides:?} for the shape {shape:?}"
    )]
    Layout {
        /// The parameter.
        name: String,
        /// Sizes of the axes.
        shape: Vec<usize>,
        /// Bytes from one element to the next.
        strides: Vec<isize>,
    },
    /// An array that is changed was lent to be read only.
    #[error("argument {name}: the library changes the array, lend it to be changed")]
    ReadOnly {
        /// The parameter.
        name: String,
    },
    /// Memory was lent for a result that is no array.
    #[error("there is no result {number} that is an array")]
    NoArray {
        /// The number of the result.
        number: usize,
    },
    /// A sweep without a room for each result.
    #[error("{expected} results need a room, {actual} have one")]
    Rooms {
        /// The number of results.
        expected: usize,
        /// The number of results with a room.
        actual: usize,
    },
    /// The library has no sweep: its program is not one region of operations that never raise.
    #[error("the library has no sweep")]
    NoSweep,
    /// A sweep along an axis that there is not, or of no axes or too many.
    #[error("there is no sweep {order:?} over the axes of {shape:?}")]
    Sweep {
        /// Sizes of the axes.
        shape: Vec<usize>,
        /// The order.
        order: SweepOrder,
    },
    /// There is no memory for values.
    #[error("{message}")]
    Memory {
        /// What is wrong.
        message: String,
    },
}

/// An error that a library has raised.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub struct Raised {
    /// Its kind.
    pub category: Category,
    /// The routine of the program.
    pub routine: usize,
    /// The instruction.
    pub instruction: usize,
    /// The line of the source, from 1; 0 if the library does not know it.
    pub line: u32,
    /// What the program says about it.
    pub message: Option<String>,
    /// Bits of the first operands of the instruction; of an index: the index, the axis and its size.
    pub operands: [u64; 4],
}

impl fmt::Display for Raised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.message, self.category) {
            (Some(message), _) => f.write_str(message)?,
            (None, Category::IndexOutOfRange) => {
                let [index, axis, size, _] = self.operands;
                write!(
                    f,
                    "index out of range: {}, the size of axis {axis} is {}",
                    index as i64, size as i64
                )?;
            }
            (None, category) => write!(f, "{}", category.name().to_ascii_lowercase().replace('_', " "))?,
        }
        match self.line {
            0 => write!(f, ", in instruction {} of routine {}", self.instruction, self.routine),
            line => write!(f, ", in line {line}"),
        }
    }
}
