//! What a compilation is asked for, and what comes out of it.

use crate::vector::Level;
use std::fmt;
use thiserror::Error;

/// How a list is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Vector registers that may be used, from 5 on; no more than the level has. Few of them make spills, for tests.
    pub registers: u8,
    /// How many groups an iteration takes, 1 to 8; by default 4 without spills, 2 with few, else 1.
    pub unroll: Option<u8>,
}

impl Default for Options {
    fn default() -> Options {
        Options { registers: 32, unroll: None }
    }
}

/// Compiled code of a list, not yet in memory that can be executed.
#[derive(Clone, Debug)]
pub struct Code {
    /// Literals, then instructions. Nothing in it depends on its address, but it has to be a multiple of 64.
    pub(super) bytes: Vec<u8>,
    /// Where the instructions begin.
    pub(super) entry: usize,
    /// Numbers of the columns of presence that are written.
    pub(super) presence_out: Vec<u16>,
    pub(super) report: CodeReport,
}

impl Code {
    /// What it consists of.
    pub fn report(&self) -> &CodeReport {
        &self.report
    }

    /// Literals and instructions, and where the instructions begin.
    pub fn bytes(&self) -> (&[u8], usize) {
        (&self.bytes, self.entry)
    }
}

/// An instruction of a strip.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Where it begins, in bytes from the first literal.
    pub offset: usize,
    /// Mnemonic and operands, in Intel's notation; literals and targets of jumps by their offsets.
    pub text: String,
    /// What it finds by the arguments of the call.
    pub operand: Option<Operand>,
}

/// What an instruction finds by the arguments of the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// The pointer of the column with this number.
    Column(u16),
    /// The scalar with this number.
    Scalar(u16),
}

/// What the code of a strip consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodeReport {
    /// Its instruction set.
    pub level: Level,
    /// Rows of a group.
    pub group: usize,
    /// Groups of an iteration of the main loop.
    pub unroll: usize,
    /// Operations of the list that are computed, columns and constants apart.
    pub operations: usize,
    /// Instructions emitted.
    pub instructions: usize,
    /// Vector registers used by the main loop, constants included.
    pub registers: usize,
    /// Constants that stay in registers.
    pub constants: usize,
    /// Values that the main loop stores on the stack, and loads again.
    pub spills: usize,
    /// Bytes of code and literals.
    pub bytes: usize,
}

impl fmt::Display for CodeReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} of {} rows, unrolled {}: {} operations, {} instructions, {} registers, {} spills, {} bytes",
            self.level.name(),
            self.group,
            self.unroll,
            self.operations,
            self.instructions,
            self.registers,
            self.spills,
            self.bytes
        )
    }
}

/// Why a list is not compiled.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Refused {
    /// The level has no strips.
    #[error("there are no strips for {}", .0.name())]
    Level(Level),
    /// There is nothing to do.
    #[error("the list stores nothing")]
    Empty,
    /// The code would have more bytes than a strip may.
    #[error("{bytes} bytes of code, of at most {limit}")]
    TooLong {
        /// How many.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// The system gives no memory, or does not let it be executed.
    #[error("no memory for machine code: {reason}")]
    Memory {
        /// What the system says.
        reason: String,
    },
}
