//! Cells of the machine itself: jumps, pauses, calls, the end.
//!
//! Layout of `args` by cell: jumps `[condition, distance, fuel if taken, fuel if not]`, where the
//! distance counts cells from the jump cell; calls `[number of the call, its address in two halves]`.

use crate::layout::access::Accumulators;
use crate::operator::cell::{Cell, State, Stop, go, resume_at, stop};

/// Where a conditional jump finds its condition.
pub(super) const IN_FRAME: bool = false;
/// Where a conditional jump finds its condition.
pub(super) const IN_ACCUMULATOR: bool = true;

/// Ends the program.
///
/// # Safety
/// The contract of [`Run`](crate::operator::cell::Run).
pub(super) unsafe fn done(cell: *const Cell, state: State, _: Accumulators) -> *const Cell {
    // SAFETY: the caller's promise.
    unsafe { stop(cell, state, Stop::Done) }
}

/// Returns to compiled code, which asked for the cells before.
///
/// # Safety
/// The contract of [`Run`](crate::operator::cell::Run).
#[cfg(feature = "jit")]
pub(super) unsafe fn back(cell: *const Cell, state: State, _: Accumulators) -> *const Cell {
    // SAFETY: the caller's promise.
    unsafe { stop(cell, state, Stop::Back) }
}

/// Returns to the interpreter loop, which resumes at the next cell.
///
/// # Safety
/// The contract of [`Run`](crate::operator::cell::Run).
pub(super) unsafe fn pause(cell: *const Cell, state: State, held: Accumulators) -> *const Cell {
    // SAFETY: the caller's promise; a pause is never the last cell.
    unsafe { resume_at(cell.add(1), state, held) }
}

/// Asks the interpreter loop to run a routine.
///
/// # Safety
/// The contract of [`Run`](crate::operator::cell::Run).
pub(super) unsafe fn call(cell: *const Cell, state: State, _: Accumulators) -> *const Cell {
    // SAFETY: the caller's promise.
    unsafe { stop(cell, state, Stop::Call) }
}

/// Jumps, forward or backward.
///
/// # Safety
/// The contract of [`Run`](crate::operator::cell::Run).
pub(super) unsafe fn jump(cell: *const Cell, state: State, held: Accumulators) -> *const Cell {
    // SAFETY: the code builder set a distance to a cell of the same array.
    unsafe {
        let [_, distance, fuel, _] = (*cell).args;
        go(cell, cell.offset(distance as i32 as isize), fuel, state, held)
    }
}

/// Jumps if the condition is present or true (`SENSE`), or missing or false (not `SENSE`).
///
/// # Safety
/// The contract of [`Run`](crate::operator::cell::Run).
pub(super) unsafe fn jump_on<const SENSE: bool, const MASK: bool>(
    cell: *const Cell,
    state: State,
    held: Accumulators,
) -> *const Cell {
    // SAFETY: as in `jump`; the condition is a verified byte.
    unsafe {
        let [condition, distance, taken, fuel] = (*cell).args;
        match mask::<MASK>(state.frame, condition, held) == SENSE {
            true => go(cell, cell.offset(distance as i32 as isize), taken, state, held),
            false => go(cell, cell.add(1), fuel, state, held),
        }
    }
}

/// # Safety
/// The frame holds a mask or a truth value at the offset unless it is in the accumulator.
#[inline(always)]
unsafe fn mask<const MASK: bool>(frame: *mut u8, condition: u32, held: Accumulators) -> bool {
    match MASK {
        IN_ACCUMULATOR => held.bits != 0,
        // SAFETY: the caller's promise.
        IN_FRAME => unsafe { frame.add(condition as usize).read() != 0 },
    }
}
