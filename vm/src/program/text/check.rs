//! What slot checking a program will cost, found out before it is done.
//!
//! The slot checker keeps, for each block, whose every byte of the frame is. A short text can
//! describe many blocks on a large frame, or instructions that read megabytes each, so the cost is
//! bounded by a limit of its own and not by the length of the text.

use crate::program::cfg::block_starts;
use crate::program::instruction::{Instruction, ValueId};
use crate::program::program::{Program, Routine};

/// Frame bytes that the slot checker keeps in one shared piece, four bytes each.
const PIECE: u64 = 256;

/// About the bytes that [`slot_check`](crate::program::slot_check) reads and copies in one pass over
/// each block of a verified program.
pub(super) fn cost(program: &Program) -> u64 {
    program.routines().iter().map(routine_cost).fold(0, u64::saturating_add)
}

fn routine_cost(routine: &Routine) -> u64 {
    let pieces = u64::from(routine.layout.size()).div_ceil(PIECE);
    let len = routine.body.instructions().len();
    let starts = block_starts(&routine.body);
    let ends = starts.iter().skip(1).copied().chain(std::iter::once(len));
    let mut cost: u64 = 0;
    for (start, end) in starts.iter().copied().zip(ends) {
        let mut written = 0;
        for instruction in &routine.body.instructions()[start..end] {
            let (read, write) = instruction_cost(routine, instruction);
            cost = cost.saturating_add(read + write);
            written += write.div_ceil(PIECE);
        }
        // One pointer for each piece, and a copy of each piece that the block changes.
        cost = cost.saturating_add(pieces * 8 + written.min(pieces) * PIECE * 4);
    }
    cost
}

/// Bytes that an instruction reads, and bytes it writes.
fn instruction_cost(routine: &Routine, instruction: &Instruction) -> (u64, u64) {
    let size = |v: &ValueId| u64::from(routine.slot(*v).qtype().size());
    let read = routine.body.reads(instruction).iter().map(size).sum();
    let write = routine.body.writes(instruction).iter().map(size).sum();
    (read, write)
}
