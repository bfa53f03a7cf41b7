//! Real numbers as the functions of this room see them: what they are written over.
//!
//! ```text
//!                      comparisons give    bits
//! Binary64<Hardware>   bool                u64       a fused multiply-add by the processor
//! Binary64<Software>   bool                u64       a fused multiply-add in integer arithmetic
//! strip::recorded      a mask              an INT64  operations become terms of a list
//! ```
//!
//! Every function is written once, for one number. It has no branches on its main path: a comparison gives a mask, and
//! [`Real::select`] takes one of two numbers that are both computed. So a loop over it is compiled into as many lanes
//! as the machine has, and the same text gives a list of its operations. The multiply-add is fused everywhere; all else
//! is rounded as IEEE 754 says. Hence every machine and every width gives the same bits.

use std::marker::PhantomData;
use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Shl, Shr, Sub};

/// A binary64, or what will compute one. Operands on the right may be constants.
pub trait Real:
    Copy
    + From<f64>
    + Neg<Output = Self>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Add<f64, Output = Self>
    + Sub<f64, Output = Self>
    + Mul<f64, Output = Self>
    + Div<f64, Output = Self>
{
    /// The outcome of a comparison.
    type Mask: Copy
        + From<bool>
        + Not<Output = Self::Mask>
        + BitAnd<Output = Self::Mask>
        + BitOr<Output = Self::Mask>
        + BitXor<Output = Self::Mask>;

    /// The 64 bits of a number.
    type Bits: Word;

    /// `self * factor + addend` with one rounding.
    fn fma(self, factor: impl Into<Self>, addend: impl Into<Self>) -> Self;

    /// The number without its sign.
    fn abs(self) -> Self;

    /// The square root, rounded.
    fn sqrt(self) -> Self;

    /// The largest integer not above.
    fn floor(self) -> Self;

    /// The integer part.
    fn trunc(self) -> Self;

    /// The magnitude of this number with the sign of another.
    fn copysign(self, sign: Self) -> Self;

    /// One of two numbers, both computed.
    fn select(mask: Self::Mask, yes: impl Into<Self>, no: impl Into<Self>) -> Self;

    /// Equal; false if one is NaN.
    fn eq(self, other: impl Into<Self>) -> Self::Mask;

    /// Not equal; true if one is NaN.
    fn ne(self, other: impl Into<Self>) -> Self::Mask;

    /// Less than; false if one is NaN.
    fn lt(self, other: impl Into<Self>) -> Self::Mask;

    /// Greater than; false if one is NaN.
    fn gt(self, other: impl Into<Self>) -> Self::Mask;

    /// Less than or equal; false if one is NaN.
    fn le(self, other: impl Into<Self>) -> Self::Mask;

    /// Greater than or equal; false if one is NaN.
    fn ge(self, other: impl Into<Self>) -> Self::Mask;

    /// True of NaN.
    fn is_nan(self) -> Self::Mask;

    /// True where the sign bit is set.
    fn is_sign_negative(self) -> Self::Mask;

    /// The bits of the number.
    fn to_bits(self) -> Self::Bits;

    /// The number with these bits.
    fn from_bits(bits: Self::Bits) -> Self;

    /// True where the lowest bit is set.
    fn is_odd(bits: Self::Bits) -> Self::Mask;
}

/// 64 bits. Operands on the right may be constants; shifts are by fewer than 64 bits, and zeros come in.
pub trait Word:
    Copy
    + From<u64>
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + BitXor<Output = Self>
    + BitAnd<u64, Output = Self>
    + BitOr<u64, Output = Self>
    + Shl<u8, Output = Self>
    + Shr<u8, Output = Self>
{
    /// The sum modulo 2^64.
    fn wrapping_add(self, other: impl Into<Self>) -> Self;

    /// The difference modulo 2^64.
    fn wrapping_sub(self, other: impl Into<Self>) -> Self;
}

impl Word for u64 {
    #[inline(always)]
    fn wrapping_add(self, other: impl Into<u64>) -> u64 {
        u64::wrapping_add(self, other.into())
    }

    #[inline(always)]
    fn wrapping_sub(self, other: impl Into<u64>) -> u64 {
        u64::wrapping_sub(self, other.into())
    }
}

/// Where a fused multiply-add comes from.
pub trait FusedMultiplyAdd: 'static {
    /// `a * b + c` with one rounding.
    fn fma(a: f64, b: f64, c: f64) -> f64;
}

/// The processor's own multiply-add. It is fast only in code compiled for a machine that has one.
pub struct Hardware;

/// A multiply-add in integer arithmetic: as exact, and many times slower.
pub struct Software;

impl FusedMultiplyAdd for Hardware {
    #[inline(always)]
    fn fma(a: f64, b: f64, c: f64) -> f64 {
        a.mul_add(b, c)
    }
}

impl FusedMultiplyAdd for Software {
    #[inline(always)]
    fn fma(a: f64, b: f64, c: f64) -> f64 {
        libm::fma(a, b, c)
    }
}

/// A number of the machine.
#[repr(transparent)]
pub struct Binary64<A>(f64, PhantomData<A>);

impl<A> Clone for Binary64<A> {
    #[inline(always)]
    fn clone(&self) -> Binary64<A> {
        *self
    }
}

impl<A> Copy for Binary64<A> {}

impl<A> From<f64> for Binary64<A> {
    #[inline(always)]
    fn from(value: f64) -> Binary64<A> {
        Binary64(value, PhantomData)
    }
}

impl<A> Binary64<A> {
    /// As a float.
    #[inline(always)]
    pub fn get(self) -> f64 {
        self.0
    }
}

impl<A> Neg for Binary64<A> {
    type Output = Binary64<A>;

    #[inline(always)]
    fn neg(self) -> Binary64<A> {
        Binary64::from(-self.0)
    }
}

macro_rules! operators {
    ($($operator:ident $method:ident;)*) => {$(
        impl<A> $operator for Binary64<A> {
            type Output = Binary64<A>;

            #[inline(always)]
            fn $method(self, other: Binary64<A>) -> Binary64<A> {
                Binary64::from(self.0.$method(other.0))
            }
        }

        impl<A> $operator<f64> for Binary64<A> {
            type Output = Binary64<A>;

            #[inline(always)]
            fn $method(self, other: f64) -> Binary64<A> {
                Binary64::from(self.0.$method(other))
            }
        }
    )*};
}

operators! {
    Add add;
    Sub sub;
    Mul mul;
    Div div;
}

impl<A: FusedMultiplyAdd> Real for Binary64<A> {
    type Mask = bool;
    type Bits = u64;

    #[inline(always)]
    fn fma(self, factor: impl Into<Self>, addend: impl Into<Self>) -> Self {
        Binary64::from(A::fma(self.0, factor.into().0, addend.into().0))
    }

    #[inline(always)]
    fn abs(self) -> Self {
        Binary64::from(self.0.abs())
    }

    #[inline(always)]
    fn sqrt(self) -> Self {
        Binary64::from(self.0.sqrt())
    }

    #[inline(always)]
    fn floor(self) -> Self {
        Binary64::from(self.0.floor())
    }

    #[inline(always)]
    fn trunc(self) -> Self {
        Binary64::from(self.0.trunc())
    }

    #[inline(always)]
    fn copysign(self, sign: Self) -> Self {
        Binary64::from(self.0.copysign(sign.0))
    }

    #[inline(always)]
    fn select(mask: bool, yes: impl Into<Self>, no: impl Into<Self>) -> Self {
        Binary64::from(std::hint::select_unpredictable(mask, yes.into().0, no.into().0))
    }

    #[inline(always)]
    fn eq(self, other: impl Into<Self>) -> bool {
        self.0 == other.into().0
    }

    #[inline(always)]
    fn ne(self, other: impl Into<Self>) -> bool {
        self.0 != other.into().0
    }

    #[inline(always)]
    fn lt(self, other: impl Into<Self>) -> bool {
        self.0 < other.into().0
    }

    #[inline(always)]
    fn gt(self, other: impl Into<Self>) -> bool {
        self.0 > other.into().0
    }

    #[inline(always)]
    fn le(self, other: impl Into<Self>) -> bool {
        self.0 <= other.into().0
    }

    #[inline(always)]
    fn ge(self, other: impl Into<Self>) -> bool {
        self.0 >= other.into().0
    }

    #[inline(always)]
    fn is_nan(self) -> bool {
        self.0.is_nan()
    }

    #[inline(always)]
    fn is_sign_negative(self) -> bool {
        self.0.is_sign_negative()
    }

    #[inline(always)]
    fn to_bits(self) -> u64 {
        self.0.to_bits()
    }

    #[inline(always)]
    fn from_bits(bits: u64) -> Self {
        Binary64::from(f64::from_bits(bits))
    }

    #[inline(always)]
    fn is_odd(bits: u64) -> bool {
        bits & 1 == 1
    }
}
