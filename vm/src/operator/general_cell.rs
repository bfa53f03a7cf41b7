//! The cell that runs a general kernel.

use crate::operator::cell::{Cell, Registers, next, raise};

/// Runs the general call whose number is in `args[0]`.
///
/// # Safety
/// The contract of [`Run`](crate::operator::cell::Run); `registers.calls` are the bound calls of the
/// running code.
pub unsafe fn run_general(
    cell: *const Cell,
    frame: *mut u8,
    registers: *mut Registers,
    float: f64,
    bits: u64,
) -> *const Cell {
    // SAFETY: the number was made together with the calls; the verifier established the invariants of
    // `KernelCall` for these slots.
    unsafe {
        let bound = &*(*registers).calls.add((*cell).args[0] as usize);
        (*registers).at = cell;
        (*registers).running = cell;
        let outcome = bound.run(frame, &*(*registers).arena, &*(*registers).meter);
        (*registers).running = std::ptr::null();
        match outcome {
            Ok(()) => next(cell, frame, registers, float, bits),
            Err(fault) => raise(cell, registers, fault),
        }
    }
}
