//! Plain functions as kernels: what they return, and how a kernel calls one that it knows by type only.

use crate::layout::PlainSlot;
use crate::value::Fault;

/// What a kernel function returns: a value, or a value or a fault.
pub trait Outcome<R> {
    /// True if it can be a fault.
    const FALLIBLE: bool;
    /// The fault, or what gives it.
    type Failure: Into<Fault>;

    /// Splits into value or failure.
    fn split(self) -> Result<R, Self::Failure>;

    /// Splits into value or fault.
    #[inline(always)]
    fn outcome(self) -> Result<R, Fault>
    where
        Self: Sized,
    {
        self.split().map_err(Into::into)
    }
}

/// A fault of one kind and message, not made yet. Code that may refuse its operands needs nothing on the stack for it.
#[derive(Clone, Copy, Debug)]
pub struct LateFault(pub(crate) fn() -> Fault);

impl From<LateFault> for Fault {
    fn from(refusal: LateFault) -> Fault {
        (refusal.0)()
    }
}

impl<R: PlainSlot> Outcome<R> for R {
    const FALLIBLE: bool = false;
    type Failure = Fault;

    #[inline(always)]
    fn split(self) -> Result<R, Fault> {
        Ok(self)
    }
}

impl<R: PlainSlot> Outcome<R> for Result<R, Fault> {
    const FALLIBLE: bool = true;
    type Failure = Fault;

    #[inline(always)]
    fn split(self) -> Result<R, Fault> {
        self
    }
}

impl<R: PlainSlot> Outcome<R> for Result<R, LateFault> {
    const FALLIBLE: bool = true;
    type Failure = LateFault;

    #[inline(always)]
    fn split(self) -> Result<R, LateFault> {
        self
    }
}

/// The one value of a function type without captures.
#[inline(always)]
pub(crate) fn function<F: Copy>() -> F {
    const { assert!(size_of::<F>() == 0, "a kernel function captures nothing") };
    // SAFETY: `F` has no bytes to initialise, and it is inhabited: every constructor below was given
    // a value of it.
    unsafe { std::mem::zeroed() }
}
