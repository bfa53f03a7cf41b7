//! Rows of operators of three and four operands.

use crate::array::function::Outcome;
use crate::layout::PlainSlot;
use crate::layout::access::PlainScalar;
use crate::operator::family::Family;
use crate::operator::scalar::{self, Typed};
use crate::vector::Level;

impl Family {
    /// Adds overloads of three operands: `(A, B, C) -> R` and lifted.
    pub fn ternary<
        A: PlainScalar,
        B: PlainScalar,
        C: PlainScalar,
        R: PlainScalar,
        O: Outcome<R> + 'static,
    >(
        self,
        f: impl Fn(A, B, C) -> O + Copy + Send + Sync + 'static,
    ) -> Family {
        self.lift3(scalar::ternary::<_, A, B, C, R, O>(f), f)
    }

    /// The same of floats, where rows are computed by another function on machines that have AVX2: it has the same
    /// results, and instructions of their own for it.
    pub(crate) fn ternary_wide<T: PlainScalar>(
        self,
        f: impl Fn(T, T, T) -> T + Copy + Send + Sync + 'static,
        wide: impl Fn(T, T, T) -> T + Copy + Send + Sync + 'static,
    ) -> Family {
        let (mut plain, wide) =
            (scalar::ternary::<_, T, T, T, T, T>(f), scalar::ternary::<_, T, T, T, T, T>(wide));
        for level in [Level::Avx2, Level::Avx512] {
            plain.2.block.runs[level as usize] = wide.2.block.runs[level as usize];
        }
        self.lift3(plain, f)
    }

    fn lift3<A: PlainScalar, B: PlainScalar, C: PlainScalar, R: PlainScalar, O: Outcome<R> + 'static>(
        self,
        plain: Typed,
        f: impl Fn(A, B, C) -> O + Copy + Send + Sync + 'static,
    ) -> Family {
        let lifted = move |a: Option<A>, b: Option<B>, c: Option<C>| match (a, b, c) {
            (Some(a), Some(b), Some(c)) => f(a, b, c).outcome().map(Some),
            _ => Ok(None),
        };
        let lifted =
            scalar::ternary_over::<_, Option<A>, Option<B>, Option<C>, Option<R>, _>(lifted, plain.2.block);
        self.add(plain).add(lifted)
    }

    /// Adds exactly `(A, B, C) -> R`.
    pub fn exact_ternary<A: PlainSlot, B: PlainSlot, C: PlainSlot, R: PlainSlot, O: Outcome<R> + 'static>(
        self,
        f: impl Fn(A, B, C) -> O + Copy + Send + Sync + 'static,
    ) -> Family {
        self.add(scalar::ternary::<_, A, B, C, R, O>(f))
    }

    /// Adds exactly `(A, B, C, D) -> R`.
    pub fn exact_quaternary<A, B, C, D, R, O>(
        self,
        f: impl Fn(A, B, C, D) -> O + Copy + Send + Sync + 'static,
    ) -> Family
    where
        A: PlainSlot,
        B: PlainSlot,
        C: PlainSlot,
        D: PlainSlot,
        R: PlainSlot,
        O: Outcome<R> + 'static,
    {
        self.add(scalar::quaternary::<_, A, B, C, D, R, O>(f))
    }
}
