//! Which rule of the [verifier](crate::program::verify) a program breaks, and where.

use crate::layout::TypedSlot;
use crate::program::instruction::ValueId;
use thiserror::Error;

/// A program breaks a rule. Rule numbers are those of the verifier's documentation.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum VerifyError {
    /// Rule 1: the layout does not accept the slot.
    #[error("routine {routine}: {value} lies at {slot}, which the layout does not accept")]
    Slot {
        /// Routine number.
        routine: usize,
        /// The value.
        value: ValueId,
        /// Its slot.
        slot: TypedSlot,
    },
    /// Rule 2: the view does not fit what it views.
    #[error("routine {routine}: {value} at {slot} is not a view of {owner}")]
    View {
        /// Routine number.
        routine: usize,
        /// The view.
        value: ValueId,
        /// Its slot.
        slot: TypedSlot,
        /// What it claims to view.
        owner: ValueId,
    },
    /// Rule 3: a number refers to nothing.
    #[error("routine {routine}, instruction {ip}: {what} does not exist")]
    Reference {
        /// Routine number.
        routine: usize,
        /// Instruction.
        ip: usize,
        /// What does not exist.
        what: String,
    },
    /// Rules 4, 5, 7: an operand has the wrong type.
    #[error("routine {routine}, instruction {ip}: {what} is {actual}, expected {expected}")]
    Type {
        /// Routine number.
        routine: usize,
        /// Instruction.
        ip: usize,
        /// The operand or result.
        what: String,
        /// Its slot.
        actual: TypedSlot,
        /// The type it should have.
        expected: String,
    },
    /// Rule 4: a general operator would read what it writes.
    #[error(
        "routine {routine}, instruction {ip}: the result {result} shares bytes with the operand {operand}"
    )]
    Overlap {
        /// Routine number.
        routine: usize,
        /// Instruction.
        ip: usize,
        /// The result's slot.
        result: TypedSlot,
        /// The operand's slot.
        operand: TypedSlot,
    },
    /// Rule 4: an operator that updates would give another value than it changes.
    #[error(
        "routine {routine}, instruction {ip}: the result {result} is not {operand}, which is changed in place"
    )]
    Update {
        /// Routine number.
        routine: usize,
        /// Instruction.
        ip: usize,
        /// The result.
        result: ValueId,
        /// The first operand.
        operand: ValueId,
    },
    /// Rule 5: the jump leaves the body.
    #[error("routine {routine}, instruction {ip}: a jump by {offset} leaves the program")]
    Jump {
        /// Routine number.
        routine: usize,
        /// Instruction.
        ip: usize,
        /// The distance.
        offset: i32,
    },
    /// Rule 5: a guard that guards nothing, leads nowhere or takes what is never caught.
    #[error("routine {routine}, instruction {ip}: a guard is wrong: {what}")]
    Guard {
        /// Routine number.
        routine: usize,
        /// Instruction.
        ip: usize,
        /// What is wrong.
        what: String,
    },
    /// Rule 6: the instruction writes where it must not.
    #[error("routine {routine}, instruction {ip}: {value} at {slot} is written, but it is {what}")]
    Written {
        /// Routine number.
        routine: usize,
        /// Instruction.
        ip: usize,
        /// The value.
        value: ValueId,
        /// Its slot.
        slot: TypedSlot,
        /// Why it may not be written.
        what: &'static str,
    },
    /// Rules 3, 4, 7: the wrong number of operands or results.
    #[error("routine {routine}, instruction {ip}: {actual} {what}, expected {expected}")]
    Count {
        /// Routine number.
        routine: usize,
        /// Instruction.
        ip: usize,
        /// Operands or results.
        what: &'static str,
        /// How many there are.
        actual: usize,
        /// How many there should be.
        expected: usize,
    },
    /// Rule 8: a name, input, output or literal is not as declared.
    #[error("routine {routine}: {what}")]
    Interface {
        /// Routine number.
        routine: usize,
        /// What is wrong.
        what: String,
    },
}
