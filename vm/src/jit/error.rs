//! Why a program is not compiled.

use crate::program::slot_check::SlotCheckError;
use thiserror::Error;

/// Why a program stays on the interpreter, which runs it as before.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NotCompiled {
    /// There is no compiler for this processor, or it has not what the code needs.
    #[error("no compiler for this processor: {reason}")]
    Processor {
        /// What the compiler says.
        reason: String,
    },
    /// The system gives no memory, or does not let it be executed.
    #[error("no memory for machine code: {reason}")]
    Memory {
        /// What the system says.
        reason: String,
    },
    /// The slots of the program are wrong: values would not be the same in registers.
    #[error(transparent)]
    Slots(#[from] SlotCheckError),
    /// Compiling would take too long.
    #[error("the program has {instructions} instructions, at most {limit} are compiled")]
    TooLarge {
        /// Instructions of all routines.
        instructions: usize,
        /// As many as are compiled.
        limit: usize,
    },
    /// The compiler keeps a table for each variable that is written more than once, as long as the routine.
    #[error(
        "routine {routine} has {instructions} instructions and {variables} variables that are written more than once: too many"
    )]
    TooManyVariables {
        /// Routine number.
        routine: usize,
        /// Instructions of the routine.
        instructions: usize,
        /// Its variables with several definitions.
        variables: usize,
    },
    /// Every instruction would be run by its cell, as the interpreter does with less effort.
    #[error("nothing to gain: no instruction that runs is about plain values")]
    NothingToGain,
    /// The main routine has guards, which the interpreter looks for when something is raised.
    #[error("the main routine catches errors, which the interpreter does")]
    Guards,
    /// A value of a routine is a view that has no variables of its own.
    #[error("routine {routine}: {value} is a view of bytes that are no values of their own")]
    View {
        /// Routine number.
        routine: usize,
        /// The value.
        value: crate::program::ValueId,
    },
    /// Compiled code is attached already, or will be when the program has run often.
    #[error("the program is compiled already")]
    Already,
    /// Nobody has the program any more.
    #[error("the program is gone")]
    Gone,
    /// The compiler refuses its input: a bug of this tier.
    #[error("the compiler refuses routine {routine}: {reason}")]
    Compiler {
        /// Routine number.
        routine: usize,
        /// What the compiler says.
        reason: String,
    },
}

/// Why a routine of a compiled program is run by cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Interpreted {
    /// It catches errors.
    #[error("it catches errors")]
    Guards,
    /// It is run in pieces.
    #[error("it runs in pieces")]
    Pieces,
    /// None of its instructions is about plain values.
    #[error("nothing to gain: no instruction is about plain values")]
    NothingToGain,
}
