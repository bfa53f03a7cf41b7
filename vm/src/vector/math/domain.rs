//! Domains: where functions of Python's `math` have a value.
//!
//! ```text
//! math.log(x)    x > 0, else a domain error        math.exp(x)    any x; a range error where e^x is no number
//! ```
//!
//! NaN is in every domain, and gives NaN.

use crate::vector::math::real::Real;

/// The numbers at which a function has a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Domain {
    /// All of them.
    Everywhere,
    /// All but infinities.
    Finite,
    /// Zero and above.
    FromZero,
    /// Above zero.
    AboveZero,
    /// Above -1.
    AboveMinusOne,
    /// 1 and above.
    FromOne,
    /// From -1 to 1.
    UpToOne,
    /// Between -1 and 1.
    InsideOne,
    /// All but -∞, zero excluded, and the negative integers: those where the gamma function has no pole.
    NoPole,
}

impl Domain {
    /// True of the numbers in the domain, and of NaN.
    #[inline(always)]
    pub fn contains<N: Real>(self, x: N) -> N::Mask {
        match self {
            Domain::Everywhere => N::Mask::from(true),
            Domain::Finite => x.abs().ne(f64::INFINITY),
            Domain::FromZero => !x.lt(0.0),
            Domain::AboveZero => !x.le(0.0),
            Domain::AboveMinusOne => !x.le(-1.0),
            Domain::FromOne => !x.lt(1.0),
            Domain::UpToOne => !x.abs().gt(1.0),
            Domain::InsideOne => !x.abs().ge(1.0),
            Domain::NoPole => !(x.le(0.0) & x.floor().eq(x) & x.gt(f64::NEG_INFINITY)),
        }
    }
}

/// True where the value at a finite number is infinite.
#[inline(always)]
pub fn overflows<N: Real>(x: N, value: N) -> N::Mask {
    value.abs().eq(f64::INFINITY) & x.abs().lt(f64::INFINITY)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vector::math::real::{Binary64, Software};

    #[test]
    fn ends_of_domains() {
        let contained = |domain: Domain, numbers: &[f64]| -> Vec<bool> {
            numbers.iter().map(|x| domain.contains(Binary64::<Software>::from(*x))).collect()
        };
        let numbers =
            [f64::NAN, f64::NEG_INFINITY, -2.0, -1.5, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 1.5, f64::INFINITY];
        let word = |domain: Domain| -> String {
            contained(domain, &numbers).iter().map(|is_inside| if *is_inside { 'x' } else { '.' }).collect()
        };
        assert_eq!(word(Domain::Everywhere), "xxxxxxxxxxxx");
        assert_eq!(word(Domain::Finite), "x.xxxxxxxxx.");
        assert_eq!(word(Domain::FromZero), "x.....xxxxxx");
        assert_eq!(word(Domain::AboveZero), "x.......xxxx");
        assert_eq!(word(Domain::AboveMinusOne), "x....xxxxxxx");
        assert_eq!(word(Domain::FromOne), "x........xxx");
        assert_eq!(word(Domain::UpToOne), "x...xxxxxx..");
        assert_eq!(word(Domain::InsideOne), "x....xxxx...");
        assert_eq!(word(Domain::NoPole), "xx.x.x..xxxx");
    }
}
