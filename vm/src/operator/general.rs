//! General kernels: closures over a [`Call`], and kernels bound to slots.

use crate::frame::typed::write_zero;
use crate::layout::slot::TypedSlot;
use crate::operator::call::Call;
use crate::value::Fault;
use bumpalo::Bump;
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

    /// Runs the kernel on a frame.
    ///
    /// # Errors
    /// What the kernel raises.
    ///
    /// # Safety
    /// For the slots the call was bound to, the contract of [`Call::new`] holds.
    pub unsafe fn run(&self, frame: *mut u8, arena: &Bump) -> Result<(), Fault> {
        // SAFETY: the caller's promise; presence bytes are the first of their slots.
        unsafe {
            if let Some((tested, result)) = &self.presence {
                let present = tested.iter().all(|at| frame.add(*at as usize).read() != 0);
                frame.add(*result as usize).write(u8::from(present));
                if !present {
                    write_zero(frame, &self.out);
                    return Ok(());
                }
            }
            (self.kernel.0)(&mut Call::new(frame, &self.args, &self.out, arena))
        }
    }
}
