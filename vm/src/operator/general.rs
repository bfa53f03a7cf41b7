//! General kernels: closures over a [`Call`], and the cell that runs them.

use crate::frame::typed::write_zero;
use crate::layout::slot::TypedSlot;
use crate::operator::call::Call;
use crate::operator::cell::{Cell, Registers, next, raise};
use crate::value::Fault;
use std::fmt;
use std::sync::Arc;

/// The code of a general kernel.
pub type GeneralFn = dyn Fn(&mut Call<'_>) -> Result<(), Fault> + Send + Sync;

/// A shared general kernel.
#[derive(Clone)]
pub struct GeneralKernel(pub Arc<GeneralFn>);

impl GeneralKernel {
    /// A kernel from a closure.
    pub fn new(f: impl Fn(&mut Call<'_>) -> Result<(), Fault> + Send + Sync + 'static) -> GeneralKernel {
        GeneralKernel(Arc::new(f))
    }
}

impl fmt::Debug for GeneralKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("GeneralKernel")
    }
}

/// A general kernel bound to slots.
#[derive(Debug)]
pub struct GeneralCall {
    kernel: GeneralKernel,
    args: Box<[TypedSlot]>,
    out: TypedSlot,
    /// Presence bytes to test first, and the presence byte of the result; see [`GeneralCall::lifted`].
    presence: Option<(Box<[u32]>, u32)>,
}

impl GeneralCall {
    /// Binds a kernel to slots of its own types.
    pub fn new(kernel: GeneralKernel, args: Box<[TypedSlot]>, out: TypedSlot) -> GeneralCall {
        GeneralCall { kernel, args, out, presence: None }
    }

    /// Binds a kernel of scalars to optionals: the result is missing if any optional argument is,
    /// otherwise the kernel sees the values behind the presence bytes.
    ///
    /// # Panics
    /// If the result is not optional.
    pub fn lifted(kernel: GeneralKernel, args: &[TypedSlot], out: TypedSlot) -> GeneralCall {
        let tested = args.iter().filter(|a| a.qtype().is_optional()).map(TypedSlot::offset).collect();
        GeneralCall {
            kernel,
            presence: Some((tested, out.offset())),
            args: args.iter().map(|a| a.value().unwrap_or_else(|| a.clone())).collect(),
            out: out.value().expect("the result of a lifted operator is optional"),
        }
    }
}

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
        (*registers).at = cell;
        if let Some((tested, result)) = &bound.presence {
            let present = tested.iter().all(|at| frame.add(*at as usize).read() != 0);
            frame.add(*result as usize).write(u8::from(present));
            if !present {
                write_zero(frame, &bound.out);
                return next(cell, frame, registers, float, bits);
            }
        }
        let mut call = Call::new(frame, &bound.args, &bound.out, &*(*registers).arena);
        match (bound.kernel.0)(&mut call) {
            Ok(()) => next(cell, frame, registers, float, bits),
            Err(fault) => raise(cell, registers, fault),
        }
    }
}
