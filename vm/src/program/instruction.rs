//! Instructions: an operator on values, a jump, a trap, a call.
//!
//! Jump offsets count instructions and are relative to the *next* one: `jump<+1>` skips one
//! instruction, `jump<-2>` runs the instruction before the jump again.

use crate::value::Category;
use std::fmt;
use std::sync::Arc;

/// A value of a routine: something computed, loaded or placed, in its slot.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ValueId(pub u32);

impl ValueId {
    /// Position in the routine's list of values.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for ValueId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v{}", self.0)
    }
}

impl fmt::Debug for ValueId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v{}", self.0)
    }
}

/// A run of values in a body's operand pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValueList {
    pub(crate) start: u32,
    pub(crate) len: u32,
}

/// One instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instruction {
    /// `result = operator(operands)`.
    Operator {
        /// Position in the list of operators.
        operator: u32,
        /// What it reads.
        operands: ValueList,
        /// What it writes.
        result: ValueId,
    },
    /// Continues elsewhere.
    Jump {
        /// Distance from the next instruction.
        offset: i32,
    },
    /// Continues elsewhere if the mask is present, or the truth value true.
    JumpIf {
        /// An OPTIONAL_UNIT or a BOOLEAN.
        condition: ValueId,
        /// Distance from the next instruction.
        offset: i32,
    },
    /// Continues elsewhere if the mask is missing, or the truth value false.
    JumpIfNot {
        /// An OPTIONAL_UNIT or a BOOLEAN.
        condition: ValueId,
        /// Distance from the next instruction.
        offset: i32,
    },
    /// Raises a fault.
    Trap {
        /// Position in the list of traps.
        trap: u32,
    },
    /// If the next instruction that is no guard raises what the guard takes, continues elsewhere.
    Guard {
        /// Position in the list of [catches](crate::program::Catch).
        catch: u32,
        /// Distance from the next instruction.
        offset: i32,
    },
    /// Raises the fault once more that a guard of the routine has kept.
    Again {
        /// Under which number it was kept.
        number: u32,
    },
    /// Runs another routine on a frame of its own.
    Call {
        /// Position in the program's list of routines.
        routine: u32,
        /// Values for the routine's inputs, in order.
        operands: ValueList,
        /// Values that take the routine's output and side outputs, in order.
        results: ValueList,
    },
}

impl Instruction {
    /// The jump distance, if the instruction can jump, or is a guard.
    pub fn offset(&self) -> Option<i32> {
        match self {
            Instruction::Jump { offset }
            | Instruction::JumpIf { offset, .. }
            | Instruction::JumpIfNot { offset, .. }
            | Instruction::Guard { offset, .. } => Some(*offset),
            _ => None,
        }
    }

    /// True if the next instruction can follow.
    pub fn falls_through(&self) -> bool {
        !matches!(self, Instruction::Jump { .. } | Instruction::Trap { .. } | Instruction::Again { .. })
    }
}

/// What a trap raises.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Trap {
    /// Category of the failure.
    pub category: Category,
    /// What fails.
    pub message: Arc<str>,
}

/// A stretch of source text, in bytes; empty if unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// True if the source is not known.
    pub fn is_unknown(self) -> bool {
        self == Span::default()
    }
}
