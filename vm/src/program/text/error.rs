//! Why a text is not a program, and the limits a text must keep.
//!
//! Three kinds of fault, each with its own variants: the text does not read (`Expected`, `Tuple`,
//! with a line and a column), it reads but is not what it says (`Version`, `Hash`, `Operators`), or
//! what it says is not a sound program (`Layout…`, `Verify`, `SlotCheck`). A limit names itself.
//! Whatever stems from the text is quoted with escapes, so a message cannot rearrange a terminal.

use crate::layout::LayoutError;
use crate::layout::builder::DEFAULT_FRAME_LIMIT;
use crate::operator::Effects;
use crate::program::slot_check::SlotCheckError;
use crate::program::text::id::{ProgramId, VERSION};
use crate::program::verify::VerifyError;
use crate::value::QType;
use crate::value::tuple::TupleTypeError;
use std::fmt;
use thiserror::Error;

/// What loading a text may cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// `program-bytes`: length of the text.
    pub text_bytes: u64,
    /// `frame-bytes`: the largest frame, as for [`LayoutBuilder`](crate::layout::LayoutBuilder).
    pub frame_bytes: u32,
    /// `program-frame-bytes`: the frames of all routines together.
    pub all_frame_bytes: u64,
    /// `program-traps`: different traps in all routines together.
    pub traps: u64,
    /// `program-check-bytes`: work of the slot checker, about the bytes it reads and copies.
    pub check_bytes: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            text_bytes: 64 << 20,
            frame_bytes: DEFAULT_FRAME_LIMIT,
            all_frame_bytes: 256 << 20,
            traps: 1 << 14,
            check_bytes: 1 << 30,
        }
    }
}

/// Compares a count with its limit.
pub(super) fn check_limit(
    limit: &'static str,
    what: &'static str,
    actual: u64,
    maximum: u64,
) -> Result<(), ProgramTextError> {
    match actual <= maximum {
        true => Ok(()),
        false => Err(ProgramTextError::Limit { limit, what, actual, maximum }),
    }
}

/// A place in a text. Lines and columns begin at 1; columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The line.
    pub line: u32,
    /// The character in the line.
    pub column: u32,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// A text that does not give a program.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ProgramTextError {
    /// A limit is exceeded.
    #[error("limit {limit}: {actual} {what}, at most {maximum} are allowed")]
    Limit {
        /// Name of the limit.
        limit: &'static str,
        /// What is counted.
        what: &'static str,
        /// How much there is.
        actual: u64,
        /// How much there may be.
        maximum: u64,
    },
    /// The text is not in the oldest version that has what it says.
    #[error("the program text is of version {version}, what it says is of version {needed}")]
    OtherVersion {
        /// The version stated.
        version: u32,
        /// The version in which the program is written.
        needed: u32,
    },
    /// The text is of a version that nobody here knows.
    #[error("the program text is of version {found}, only versions 1 to {VERSION} can be read")]
    Version {
        /// The version found.
        found: u32,
    },
    /// Something else was expected here.
    #[error("{at}: expected {expected}, found {found}")]
    Expected {
        /// Where.
        at: Position,
        /// What may stand here.
        expected: String,
        /// What stands here, quoted and cut.
        found: String,
    },
    /// A tuple type is not well formed or too large.
    #[error("{at}: {error}")]
    Tuple {
        /// Where the type begins.
        at: Position,
        /// What is wrong with it.
        error: TupleTypeError,
    },
    /// The slots of a layout do not fit together.
    #[error("routine {routine}: {error}")]
    Layout {
        /// Routine number.
        routine: usize,
        /// What does not fit.
        error: LayoutError,
    },
    /// The size or alignment of a layout is not what its slots need.
    #[error(
        "routine {routine}: the layout is stated with size {size}, align {align}; \
         its slots need size {actual_size}, align {actual_align}"
    )]
    LayoutSize {
        /// Routine number.
        routine: usize,
        /// Size stated.
        size: u32,
        /// Alignment stated.
        align: u32,
        /// Size of the layout that the slots give.
        actual_size: u32,
        /// Its alignment.
        actual_align: u32,
    },
    /// A slot of the layout contains a buffer handle that is not listed.
    #[error("routine {routine}: a slot has a buffer handle at 0x{at:02X}, which the layout does not list")]
    UnlistedHandle {
        /// Routine number.
        routine: usize,
        /// Offset of the handle.
        at: u32,
    },
    /// Operators of the program are missing from the table, or are no longer what they were.
    #[error("{} of the operators cannot be used here: {}", problems.len(), join(problems))]
    Operators {
        /// All of them, in the order of the text.
        problems: Vec<OperatorProblem>,
    },
    /// The text is not the one that its hash was taken of.
    #[error("the program states the hash {stated}, its content has {actual}")]
    Hash {
        /// The hash line.
        stated: ProgramId,
        /// The hash of what was read.
        actual: ProgramId,
    },
    /// The program breaks a rule of the verifier.
    #[error(transparent)]
    Verify(#[from] VerifyError),
    /// The program reads a value that is not there.
    #[error(transparent)]
    SlotCheck(#[from] SlotCheckError),
}

/// An operator that the table does not have as the program needs it. Signatures are as in the text.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum OperatorProblem {
    /// No operator has this name.
    #[error("{signature} is unknown (line {line})")]
    Unknown {
        /// Line of the text.
        line: u32,
        /// Name and argument types.
        signature: String,
    },
    /// The operator has no overload for these types.
    #[error("{signature} has no such overload (line {line})")]
    Overload {
        /// Line of the text.
        line: u32,
        /// Name and argument types.
        signature: String,
    },
    /// The overload gives another type.
    #[error("{signature} gives {}, not {} (line {line})", actual, stated)]
    Result {
        /// Line of the text.
        line: u32,
        /// Name and argument types.
        signature: String,
        /// The result type in the text.
        stated: QType,
        /// The result type in the table.
        actual: QType,
    },
    /// The overload has other effects.
    #[error("{signature} is `{}`, not `{}` (line {line})", actual.name(), stated.name())]
    Effects {
        /// Line of the text.
        line: u32,
        /// Name and argument types.
        signature: String,
        /// The effects in the text.
        stated: Effects,
        /// The effects in the table.
        actual: Effects,
    },
}

fn join(problems: &[OperatorProblem]) -> String {
    problems.iter().map(OperatorProblem::to_string).collect::<Vec<_>>().join("; ")
}
