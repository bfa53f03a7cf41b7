//! The cell that runs a general kernel.

use crate::layout::access::Accumulators;
use crate::operator::cell::{Cell, State, next, raise};

/// Runs the general call whose number is in `args[0]`.
///
/// # Safety
/// The contract of [`Run`](crate::operator::cell::Run); `registers.calls` are the bound calls of the
/// running code.
pub unsafe fn run_general(cell: *const Cell, state: State, held: Accumulators) -> *const Cell {
    // SAFETY: the number was made together with the calls; the verifier established the invariants of
    // `KernelCall` for these slots.
    unsafe {
        let State { frame, registers } = state;
        let bound = &*(*registers).calls.add((*cell).args[0] as usize);
        (*registers).at = cell;
        (*registers).running = cell;
        let outcome = bound.run(frame, &*(*registers).arena, &*(*registers).meter);
        (*registers).running = std::ptr::null();
        match outcome {
            Ok(()) => next(cell, state, held),
            Err(fault) => raise(cell, state, fault),
        }
    }
}
