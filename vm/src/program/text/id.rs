//! ProgramId: the content hash of a program, and the first line of its text.

use crate::program::instruction::{Instruction, ValueId};
use crate::program::program::{Program, Routine};
use crate::value::qtype::BOOLEAN;
use std::fmt;

/// The newest version of the text; all from 1 on are read.
pub const VERSION: u32 = 3;

/// The oldest version that has all that a program needs, which it is written in.
pub(super) fn version_of(program: &Program) -> u32 {
    let routines = program.routines();
    match () {
        () if routines.iter().any(needs_version_3) => 3,
        () if routines.iter().any(needs_version_2) => 2,
        () => 1,
    }
}

/// True if calls of a routine run in pieces, or it catches faults.
fn needs_version_3(routine: &Routine) -> bool {
    let catches = |it: &Instruction| matches!(it, Instruction::Guard { .. } | Instruction::Again { .. });
    routine.parallel.is_some() || routine.body.instructions().iter().any(catches)
}

/// True if a routine updates values, jumps on truth values, or has arrays of narrow elements.
fn needs_version_2(routine: &Routine) -> bool {
    let body = &routine.body;
    let is_truth =
        |value: &ValueId| routine.values.get(value.index()).is_some_and(|info| info.slot.qtype() == &BOOLEAN);
    let jumps_on_truth = body.instructions().iter().any(|instruction| match instruction {
        Instruction::JumpIf { condition, .. } | Instruction::JumpIfNot { condition, .. } => {
            is_truth(condition)
        }
        _ => false,
    });
    jumps_on_truth
        || routine.values.iter().any(|info| info.slot.qtype().has_narrow_elements())
        || !routine.updated_inputs.is_empty()
        || body.operators().iter().any(|operator| operator.updates())
}

/// First word of every program text.
pub(super) const TITLE: &str = "cembra-program";

/// Content hash of a program, equal across processes and machines: the SHA-256 of its text without
/// the hash line.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProgramId(pub [u8; 32]);

impl ProgramId {
    /// Reads the 64 hexadecimal digits in which an id prints.
    pub fn from_hex(digits: &str) -> Option<ProgramId> {
        let mut bytes = [0; 32];
        if digits.len() != 64 || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
            return None;
        }
        for (i, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&digits[2 * i..2 * i + 2], 16).ok()?;
        }
        Some(ProgramId(bytes))
    }
}

impl fmt::Display for ProgramId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|b| write!(f, "{b:02x}"))
    }
}

impl fmt::Debug for ProgramId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ProgramId({self})")
    }
}
