//! Plain functions as kernels: what they return, and how a kernel calls one that it knows by type only.

use crate::layout::PlainSlot;
use crate::value::Fault;

/// What a kernel function returns: a value, or a value or a fault.
pub trait Outcome<R> {
    /// True if it can be a fault.
    const FALLIBLE: bool;

    /// Splits into value or fault.
    fn outcome(self) -> Result<R, Fault>;
}

impl<R: PlainSlot> Outcome<R> for R {
    const FALLIBLE: bool = false;

    #[inline(always)]
    fn outcome(self) -> Result<R, Fault> {
        Ok(self)
    }
}

impl<R: PlainSlot> Outcome<R> for Result<R, Fault> {
    const FALLIBLE: bool = true;

    #[inline(always)]
    fn outcome(self) -> Result<R, Fault> {
        self
    }
}

/// The one value of a function type without captures.
#[inline(always)]
pub(super) fn function<F: Copy>() -> F {
    const { assert!(size_of::<F>() == 0, "a kernel function captures nothing") };
    // SAFETY: `F` has no bytes to initialise, and it is inhabited: every constructor below was given
    // a value of it.
    unsafe { std::mem::zeroed() }
}
