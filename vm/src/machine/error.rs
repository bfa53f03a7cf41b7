//! RunError: why a run did not finish, and where it stopped.

use crate::frame::FrameError;
use crate::layout::LayoutId;
use crate::program::instruction::Span;
use crate::program::{Instruction, Program};
use crate::value::{Category, Exhausted, Fault, QType};
use std::sync::Arc;
use thiserror::Error;

/// An instruction of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// Routine number; 0 is the main routine.
    pub routine: u32,
    /// Instruction number in the routine.
    pub ip: u32,
    /// Operator name, or `jump`, `trap`, `call`, `guard`, `again`.
    pub operator: Arc<str>,
    /// Source of the instruction, if known.
    pub span: Span,
    /// The operands that have rows: an input by its name, any other by its slot.
    pub arrays: Vec<String>,
}

impl Location {
    /// The location of an instruction; past the end, of the last one.
    pub(super) fn of(program: &Program, routine: usize, ip: u32) -> Location {
        let code = &program.routines()[routine];
        let body = &code.body;
        let operator = match body.instructions().get(ip as usize) {
            Some(Instruction::Operator { operator, .. }) => {
                body.operators()[*operator as usize].name().clone()
            }
            Some(Instruction::Trap { .. }) => "trap".into(),
            Some(Instruction::Call { .. }) => "call".into(),
            Some(Instruction::Guard { .. }) => "guard".into(),
            Some(Instruction::Again { .. }) => "again".into(),
            Some(_) => "jump".into(),
            None => "end".into(),
        };
        let operands = body.instructions().get(ip as usize).map_or(&[][..], |i| body.reads(i));
        let arrays = operands.iter().filter(|v| has_rows(code.slot(**v).qtype())).map(|v| {
            let input = code.inputs.iter().find(|(_, input)| input == v);
            input.map_or_else(|| code.slot(*v).to_string(), |(name, _)| name.to_string())
        });
        let (routine, span, arrays) = (routine as u32, body.span(ip as usize), arrays.collect());
        Location { routine, ip, operator, span, arrays }
    }
}

fn has_rows(qtype: &QType) -> bool {
    matches!(qtype, QType::Array(_) | QType::Edge(_) | QType::EdgeToScalar(_) | QType::ArrayShape(_))
}

/// Why a run did not finish.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RunErrorKind {
    /// An operator raised a fault.
    #[error(transparent)]
    Fault(Fault),
    /// An operator panicked; the frame is poisoned.
    #[error("the operator panicked: {message}")]
    Panic {
        /// The panic message.
        message: String,
    },
    /// The run used up its fuel.
    #[error("out of fuel: the run needs more than {fuel} instructions")]
    OutOfFuel {
        /// Instructions allowed.
        fuel: u64,
    },
    /// The host cancelled the run.
    #[error("the run was cancelled")]
    Cancelled,
    /// Too many calls of routines are open at once.
    #[error("limit call-depth: {limit} calls are open at once")]
    CallDepth {
        /// Calls allowed.
        limit: usize,
    },
    /// The frames of open calls are too large together.
    #[error(
        "limit call-frame-bytes: the frames of open calls have {actual} bytes, at most {limit} are allowed"
    )]
    CallFrameBytes {
        /// Bytes with the call that was not started.
        actual: u64,
        /// Bytes allowed.
        limit: u64,
    },
    /// An input has not been written since the frame was taken.
    #[error("missing input `{name}`: it has not been written to this frame")]
    MissingInput {
        /// Name of the input.
        name: Arc<str>,
    },
    /// The frame is of another layout.
    #[error("the frame has layout {actual}, the expression needs {expected}")]
    ForeignFrame {
        /// Layout of the expression.
        expected: LayoutId,
        /// Layout of the frame.
        actual: LayoutId,
    },
    /// An earlier run left the frame unusable.
    #[error("the frame was poisoned by an earlier run")]
    PoisonedFrame,
    /// A frame for a called routine could not be made.
    #[error(transparent)]
    Frame(#[from] FrameError),
}

impl From<Fault> for RunErrorKind {
    fn from(fault: Fault) -> RunErrorKind {
        match fault {
            Fault::Exhausted(Exhausted::Cancelled) => RunErrorKind::Cancelled,
            fault => RunErrorKind::Fault(fault),
        }
    }
}

/// Why a run did not finish, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunError {
    /// What happened.
    pub kind: RunErrorKind,
    /// The instruction; `None` if the run did not start, or a kernel panicked that leaves no trace (a
    /// function without captures).
    pub at: Option<Location>,
}

impl RunError {
    pub(super) fn before_start(kind: RunErrorKind) -> RunError {
        RunError { kind, at: None }
    }

    /// Which operands have how many rows, if that is what is wrong: `x has 3 rows, y has 2`.
    pub fn sizes(&self) -> Option<String> {
        let (RunErrorKind::Fault(Fault::Sizes { sizes }), Some(at)) = (&self.kind, &self.at) else {
            return None;
        };
        let [(first, size), rest @ ..] = &at.arrays.iter().zip(sizes).collect::<Vec<_>>()[..] else {
            return None;
        };
        let rest = rest.iter().map(|(name, size)| format!(", {name} has {size}"));
        (at.arrays.len() == sizes.len())
            .then(|| format!("{first} has {size} rows{}", rest.collect::<String>()))
    }

    /// The kind of error in one word.
    pub fn category(&self) -> Category {
        match &self.kind {
            RunErrorKind::Fault(fault) => fault.category(),
            RunErrorKind::Panic { .. } => Category::Panic,
            RunErrorKind::OutOfFuel { .. } => Category::FuelExhausted,
            RunErrorKind::Cancelled => Category::Cancelled,
            RunErrorKind::CallDepth { .. } | RunErrorKind::CallFrameBytes { .. } | RunErrorKind::Frame(_) => {
                Category::Limit
            }
            RunErrorKind::MissingInput { .. } => Category::MissingInput,
            RunErrorKind::ForeignFrame { .. } | RunErrorKind::PoisonedFrame => Category::InvalidProgram,
        }
    }
}

impl std::fmt::Display for RunError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.kind.fmt(f)?;
        match &self.at {
            Some(at) => {
                let sizes = self.sizes().map_or_else(String::new, |sizes| format!(": {sizes}"));
                write!(f, " (in {}, instruction {}{sizes})", at.operator, at.ip)
            }
            None => Ok(()),
        }
    }
}

impl std::error::Error for RunError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.kind)
    }
}
