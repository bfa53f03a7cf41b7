//! The cell that runs a general kernel.

use crate::frame::typed::write_zero;
use crate::operator::call::Call;
use crate::operator::cell::{Cell, Registers, next, raise};
use crate::value::{Category, Fault};

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
    // `Call` for these slots.
    unsafe {
        let bound = &*(*registers).calls.add((*cell).args[0] as usize);
        if let Some(lift) = &bound.lift {
            let present = lift.tested.iter().all(|at| frame.add(*at as usize).read() != 0);
            if !present || !lift.is_whole {
                frame.add(lift.result as usize).write(u8::from(present));
            }
            if !present {
                write_zero(frame, &lift.value);
                return next(cell, frame, registers, float, bits);
            }
        }
        let mut call = Call::new(frame, &bound.args, &bound.out, &*(*registers).arena);
        (*registers).running = cell;
        let outcome = (bound.kernel.0)(&mut call);
        (*registers).running = std::ptr::null();
        match outcome {
            Ok(()) if call.is_written() => next(cell, frame, registers, float, bits),
            Ok(()) => raise(cell, registers, no_result()),
            Err(fault) => raise(cell, registers, fault),
        }
    }
}

#[cold]
fn no_result() -> Fault {
    Fault::Trap { category: Category::Panic, message: "the operator wrote no result".into() }
}
