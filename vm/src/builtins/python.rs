//! `python.*`: arithmetic with the semantics of Python, as far as INT64 and FLOAT64 go.
//!
//! Functions with loops are lowered to these. An integer result that does not fit INT64 raises OVERFLOW (Python's
//! integers would grow), what Python's `math` refuses raises DOMAIN or OVERFLOW, a zero divisor
//! DIVISION_BY_ZERO. Comparisons of an integer with a float are exact. Operators that never raise and wrap
//! around are those of `math`.

use crate::array::function::LateFault;
use crate::array::special::{Refusals, SpecialFunction};
use crate::builtins::recipes;
use crate::operator::Family;
use crate::operator::fusible::{
    CheckedAdd, CheckedMultiply, CheckedSubtract, DOES_NOT_FIT, Fusible, IntegerOp, Operation,
};
use crate::operator::primitive::Primitive;
use crate::strip::{BinaryOp, Comparison, Lane, ShiftOp};
use crate::value::Fault;
use crate::vector::math::domain::{Domain, overflows};
use crate::vector::math::real::{Binary64, Software};
use crate::vector::math::{BinaryKind, UnaryKind, double};
use crate::vector::python;
use std::f64::consts::PI;

/// What the names of operators that stand for those of Python begin with: functions call them.
pub const NAMESPACE: &str = "python.";
/// Name of `python.gamma`.
pub const GAMMA: &str = "python.gamma";

/// The rows of this namespace.
pub fn rows() -> Vec<Family> {
    [integers(), division(), power(), conversion(), comparison(), order(), functions(), domains()].concat()
}

fn row(name: &str, params: &[&str], meaning: &str) -> Family {
    Family::new(name, params, meaning).raises()
}

/// A fault of a number that does not fit.
macro_rules! overflow {
    ($message:literal) => {
        LateFault(|| Fault::Overflow { message: $message.into() })
    };
}

/// A fault of an operand that has no result.
macro_rules! domain {
    ($message:literal) => {
        LateFault(|| Fault::Domain { message: $message.into() })
    };
}

/// The fault of a zero divisor.
const ZERO_DIVISOR: LateFault = LateFault(|| Fault::DivisionByZero);

/// The result of checked arithmetic.
#[inline(always)]
fn fits(result: Option<i64>) -> Result<i64, LateFault> {
    result.ok_or(DOES_NOT_FIT)
}

fn integers() -> Vec<Family> {
    vec![
        row("python.add", &["x", "y"], "Sum. Raises if it does not fit INT64.")
            .fusible(Fusible::Integer(IntegerOp::CheckedAdd))
            .primitive(Primitive::CheckedAdd)
            .rare_cells(recipes::sum_that_fits)
            .exact_binary(|x: i64, y: i64| fits(CheckedAdd::apply(x, y))),
        row("python.subtract", &["x", "y"], "Difference. Raises if it does not fit INT64.")
            .fusible(Fusible::Integer(IntegerOp::CheckedSubtract))
            .primitive(Primitive::CheckedSubtract)
            .rare_cells(recipes::difference_that_fits)
            .exact_binary(|x: i64, y: i64| fits(CheckedSubtract::apply(x, y))),
        row("python.multiply", &["x", "y"], "Product. Raises if it does not fit INT64.")
            .fusible(Fusible::Integer(IntegerOp::CheckedMultiply))
            .primitive(Primitive::CheckedMultiply)
            .rare_cells(recipes::product_that_fits)
            .exact_binary(|x: i64, y: i64| fits(CheckedMultiply::apply(x, y))),
        row("python.neg", &["x"], "The opposite number. Raises for the smallest INT64.")
            .primitive(Primitive::CheckedNeg)
            .rare_cells(recipes::opposite_that_fits)
            .exact_unary(|x: i64| fits(x.checked_neg())),
        row("python.abs", &["x"], "Absolute value. Raises for the smallest INT64.")
            .primitive(Primitive::CheckedAbs)
            .rare_cells(recipes::size_that_fits)
            .exact_unary(|x: i64| fits(x.checked_abs())),
        row("python.shift_left", &["x", "n"], "x * 2**n. Raises if it does not fit INT64, or n is negative.")
            .primitive(Primitive::CheckedShiftLeft)
            .exact_binary(|x: i64, n: i64| match n {
                ..0 => Err(domain!("negative shift count")),
                _ => fits(python::shift_left(x, n)),
            }),
        row("python.shift_right", &["x", "n"], "x // 2**n. Raises if n is negative.")
            .primitive(Primitive::ShiftRight)
            .exact_binary(|x: i64, n: i64| match n {
                ..0 => Err(domain!("negative shift count")),
                _ => Ok(x >> n.min(63)),
            }),
        row(
            "python.index",
            &["i", "size"],
            "The index itself, or from the end if it is negative. Raises outside.",
        )
        .primitive(Primitive::Index)
        .exact_binary(|i: i64, size: i64| match if i < 0 { i.saturating_add(size) } else { i } {
            place if (0..size).contains(&place) => Ok(place),
            _ => Err(Fault::Index { index: i, size }),
        }),
        Family::new(
            "python.slice_bound",
            &["i", "size", "step"],
            "A bound of a slice: from the end if it is negative, and at most one beyond the elements.",
        )
        .exact_ternary(python::slice_bound),
        Family::new("python.to_int32", &["x"], "The low 32 bits as INT32.")
            .cells(|l, x| Some(l.cast(x[0], Lane::I32)))
            .exact_unary(|x: i64| x as i32),
        row(
            "python.wrapping_pow",
            &["x", "y"],
            "x to the power y, which wraps around. Raises for 0 to a negative power.",
        )
        .exact_binary(|x: i64, y: i64| match y {
            ..0 if x == 0 => Err(ZERO_DIVISOR),
            _ => Ok(python::wrapping_pow(x, y)),
        }),
        row(
            "python.wrapping_floordiv",
            &["x", "y"],
            "Quotient rounded down; of the smallest INT64 by -1 it is 0. A zero divisor raises.",
        )
        .primitive(Primitive::FloorDivide)
        .exact_binary(|x: i64, y: i64| match y {
            0 => Err(ZERO_DIVISOR),
            _ => Ok(python::floordiv(x, y).unwrap_or(0)),
        }),
        Family::new(
            "python.wrapping_shift_left",
            &["x", "n"],
            "x * 2**n, which wraps around; of n the low 6 bits count.",
        )
        .primitive(Primitive::WrappingShiftLeft)
        .cells(|l, x| recipes::shifted(l, x, ShiftOp::Left))
        .exact_binary(|x: i64, n: i64| x.wrapping_shl(n as u32)),
        Family::new("python.wrapping_shift_right", &["x", "n"], "x // 2**n; of n the low 6 bits count.")
            .primitive(Primitive::WrappingShiftRight)
            .cells(|l, x| recipes::shifted(l, x, ShiftOp::RightSigned))
            .exact_binary(|x: i64, n: i64| x.wrapping_shr(n as u32)),
        row(
            "python.range_count",
            &["start", "stop", "step"],
            "How many numbers range(start, stop, step) has.",
        )
        .primitive(Primitive::RangeCount)
        .exact_ternary(|start: i64, stop: i64, step: i64| match step {
            0 => Err(domain!("range() arg 3 must not be zero")),
            _ => fits(python::range_count(start, stop, step)),
        }),
        row("python.gcd", &["x", "y"], "Greatest common divisor. Raises if it does not fit INT64.")
            .exact_binary(|x: i64, y: i64| fits(i64::try_from(python::gcd(x, y)).ok())),
        row("python.isqrt", &["x"], "The integer square root. Raises for a negative number.").exact_unary(
            |x: i64| match u64::try_from(x) {
                Ok(x) => Ok(x.isqrt() as i64),
                Err(_) => Err(domain!("isqrt() argument must be nonnegative")),
            },
        ),
    ]
}

fn division() -> Vec<Family> {
    fn checked<T: PartialEq + Default, R>(
        y: T,
        result: impl FnOnce(T) -> Result<R, LateFault>,
    ) -> Result<R, LateFault> {
        match y == T::default() {
            true => Err(ZERO_DIVISOR),
            false => result(y),
        }
    }
    vec![
        row("python.divide", &["x", "y"], "True quotient, of integers too. A zero divisor raises.")
            .primitive(Primitive::Divide)
            .exact_binary(|x: f64, y: f64| checked(y, |y| Ok(x / y)))
            .exact_binary(|x: i64, y: i64| checked(y, |y| Ok(python::divide(x, y)))),
        row("python.floordiv", &["x", "y"], "Quotient rounded down. A zero divisor raises.")
            .primitive(Primitive::FloorDivide)
            .exact_binary(|x: f64, y: f64| checked(y, |y| Ok(python::float_divmod(x, y).0)))
            .rare_cells(recipes::floor_div)
            .exact_binary(|x: i64, y: i64| checked(y, |y| fits(python::floordiv(x, y)))),
        row(
            "python.mod",
            &["x", "y"],
            "Remainder of floordiv, with the divisor's sign. A zero divisor raises.",
        )
        .primitive(Primitive::Modulo)
        .exact_binary(|x: f64, y: f64| checked(y, |y| Ok(python::float_divmod(x, y).1)))
        .rare_cells(recipes::floor_mod)
        .exact_binary(|x: i64, y: i64| checked(y, |y| Ok(python::modulo(x, y)))),
    ]
}

fn power() -> Vec<Family> {
    vec![
        row(
            "python.pow",
            &["x", "y"],
            "x to the power y. Raises if an integer power does not fit INT64 or has a negative exponent, if a float \
             power overflows or is complex, and for zero to a negative power.",
        )
        .cost_of(20)
        .exact_binary(|x: i64, y: i64| match u64::try_from(y) {
            Ok(y) => fits(python::pow(x, y)),
            Err(_) if x == 0 => Err(ZERO_DIVISOR),
            Err(_) if x == 1 || x == -1 => Ok(python::wrapping_pow(x, y)),
            Err(_) => Err(domain!("a negative power of an integer is a float: write float(x) ** y")),
        })
        .special(SpecialFunction::from(BinaryKind::Pow).refusing(Refusals::Power))
        .exact_binary(|x: f64, y: f64| {
            let power = double::pow(x, y);
            match () {
                () if power.is_finite() || !x.is_finite() || !y.is_finite() => Ok(power),
                () if x == 0.0 => Err(ZERO_DIVISOR),
                () if power.is_nan() => Err(domain!("a fractional power of a negative number is complex")),
                () => Err(overflow!("numerical result out of range")),
            }
        }),
        row("python.pow_modulo", &["x", "y", "m"], "x**y % m of integers. Raises for a zero m or a negative y.")
            .cost_of(40)
            .exact_ternary(|x: i64, y: i64, m: i64| match u64::try_from(y) {
                _ if m == 0 => Err(domain!("pow() 3rd argument cannot be 0")),
                Ok(y) => Ok(python::pow_modulo(x, y, m)),
                Err(_) => Err(domain!("pow() with a negative exponent and a modulus is not supported")),
            }),
    ]
}

fn conversion() -> Vec<Family> {
    fn integer(x: f64) -> Result<i64, LateFault> {
        match () {
            () if x.is_nan() => Err(domain!("cannot convert float NaN to integer")),
            () if x.is_infinite() => Err(overflow!("cannot convert float infinity to integer")),
            () => fits(python::to_integer(x)),
        }
    }
    vec![
        row("python.to_int", &["x"], "The number cut to an INT64. Raises if it does not fit.")
            .primitive(Primitive::Truncate)
            .exact_unary(|x: f64| integer(x.trunc())),
        row("python.floor", &["x"], "The number rounded down to an INT64. Raises if it does not fit.")
            .primitive(Primitive::Floor)
            .exact_unary(|x: f64| integer(x.floor())),
        row("python.ceil", &["x"], "The number rounded up to an INT64. Raises if it does not fit.")
            .primitive(Primitive::Ceil)
            .exact_unary(|x: f64| integer(x.ceil())),
        row("python.round", &["x"], "The nearest INT64, halves to the even one. Raises if it does not fit.")
            .primitive(Primitive::RoundEven)
            .exact_unary(|x: f64| integer(x.round_ties_even())),
        row(
            "python.round_digits",
            &["x", "n"],
            "The nearest number with n decimals, of the exact value of x.",
        )
        .cost_of(200)
        .exact_binary(|x: f64, n: i64| {
            python::round_digits(x, n).ok_or(overflow!("rounded value too large to represent"))
        })
        .exact_binary(|x: i64, n: i64| fits(python::round_integer(x, n))),
    ]
}

fn comparison() -> Vec<Family> {
    use std::cmp::Ordering::{Equal, Greater, Less};
    fn exact(
        name: &str,
        meaning: &str,
        holds: impl Fn(Option<std::cmp::Ordering>) -> bool + Copy + Send + Sync + 'static,
    ) -> Family {
        Family::new(name, &["x", "y"], meaning)
            .exact_binary(move |x: i64, y: f64| holds(python::compare(x, y)))
            .exact_binary(move |x: f64, y: i64| holds(python::compare(y, x).map(std::cmp::Ordering::reverse)))
    }
    vec![
        exact("python.equal", "True if an integer and a float are equal, exactly.", |o| o == Some(Equal)),
        exact("python.not_equal", "True if an integer and a float differ.", |o| o != Some(Equal)),
        exact("python.less", "True if x is below y, of an integer and a float.", |o| o == Some(Less)),
        exact("python.less_equal", "True if x is not above y, of an integer and a float.", |o| {
            matches!(o, Some(Less | Equal))
        }),
        exact("python.greater", "True if x is above y, of an integer and a float.", |o| o == Some(Greater)),
        exact("python.greater_equal", "True if x is not below y, of an integer and a float.", |o| {
            matches!(o, Some(Greater | Equal))
        }),
    ]
}

fn order() -> Vec<Family> {
    vec![
        Family::new("python.min", &["x", "y"], "y if it is below x, else x: Python's `min`.")
            .cells(|l, x| {
                let is_second = l.compare(Comparison::Less, x[1], x[0]);
                Some(l.select(is_second, x[1], x[0]))
            })
            .exact_binary(|x: i64, y: i64| x.min(y))
            .exact_binary(|x: f64, y: f64| if y < x { y } else { x }),
        Family::new("python.max", &["x", "y"], "y if it is above x, else x: Python's `max`.")
            .cells(|l, x| {
                let is_second = l.compare(Comparison::Greater, x[1], x[0]);
                Some(l.select(is_second, x[1], x[0]))
            })
            .exact_binary(|x: i64, y: i64| x.max(y))
            .exact_binary(|x: f64, y: f64| if y > x { y } else { x }),
    ]
}

fn functions() -> Vec<Family> {
    vec![
        Family::new("python.degrees", &["x"], "An angle in degrees.")
            .cells(|l, x| {
                let factor = l.f64(180.0 / PI);
                Some(l.binary(BinaryOp::Mul, x[0], factor))
            })
            .exact_unary(|x: f64| x * (180.0 / PI)),
        Family::new("python.radians", &["x"], "An angle in radians.")
            .cells(|l, x| {
                let factor = l.f64(PI / 180.0);
                Some(l.binary(BinaryOp::Mul, x[0], factor))
            })
            .exact_unary(|x: f64| x * (PI / 180.0)),
        Family::new("python.copysign", &["x", "y"], "abs(x) with the sign of y.")
            .cells(|l, x| Some(l.copysign(x[0], x[1])))
            .exact_binary(|x: f64, y: f64| x.copysign(y)),
        row(GAMMA, &["x"], "The gamma function. Raises for 0, −1, … and if it overflows.")
            .cost_of(80)
            .exact_unary(|x: f64| {
                let is_pole = x <= 0.0 && x == x.floor();
                match (is_pole, double::gamma(x)) {
                    (true, _) => Err(domain!("math domain error")),
                    (_, y) if y.is_infinite() && x.is_finite() => Err(overflow!("math range error")),
                    (_, y) => Ok(y),
                }
            }),
        row("python.lgamma", &["x"], "ln(abs(gamma(x))). Raises for 0, −1, ….")
            .cost_of(80)
            .special(SpecialFunction::from(UnaryKind::Lgamma).refusing(Refusals::Outside(Domain::NoPole)))
            .exact_unary(|x: f64| match Domain::NoPole.contains(Binary64::<Software>::from(x)) {
                true => Ok(double::lgamma(x)),
                false => Err(domain!("math domain error")),
            }),
        row(
            "python.fmod",
            &["x", "y"],
            "Remainder with the sign of x. Raises for a zero y and an infinite x.",
        )
        .exact_binary(|x: f64, y: f64| {
            match x.is_infinite() && !y.is_nan() || y == 0.0 && !x.is_nan() {
                true => Err(domain!("math domain error")),
                false => Ok(x % y),
            }
        }),
    ]
}

/// The value of a function in its domain, with a finite result where the operand is finite.
#[inline(always)]
fn in_domain(domain: Domain, x: f64, function: impl Fn(f64) -> f64) -> Result<f64, LateFault> {
    let number = Binary64::<Software>::from;
    if !domain.contains(number(x)) {
        return Err(domain!("math domain error"));
    }
    let value = function(x);
    match overflows(number(x), number(value)) {
        true => Err(overflow!("math range error")),
        false => Ok(value),
    }
}

/// A row of one float operand that refuses others than those of a domain, and those for which it overflows if there are any:
/// what cannot overflow says so, so that machine code, strips and C do not look.
macro_rules! domain_row {
    ($name:literal, $meaning:literal, $refusal:ident($domain:ident), $kind:ident, $function:expr $(, $primitive:expr)?) => {
        row($name, &["x"], $meaning)
            .cost_of(20)
            $(.primitive($primitive))?
            .special(
                SpecialFunction::from(UnaryKind::$kind).refusing(Refusals::$refusal(Domain::$domain)),
            )
            .exact_unary(|x: f64| in_domain(Domain::$domain, x, $function))
    };
}

/// The functions of Python's `math` that refuse arguments.
fn domains() -> Vec<Family> {
    vec![
        domain_row!(
            "python.sqrt",
            "Square root. Raises below zero.",
            Outside(FromZero),
            Sqrt,
            f64::sqrt,
            Primitive::Sqrt
        ),
        domain_row!(
            "python.log",
            "Natural logarithm. Raises unless x is positive.",
            Outside(AboveZero),
            Ln,
            double::ln
        ),
        domain_row!(
            "python.log2",
            "Logarithm to base 2. Raises unless x is positive.",
            Outside(AboveZero),
            Log2,
            double::log2
        ),
        domain_row!(
            "python.log10",
            "Logarithm to base 10. Raises unless x is positive.",
            Outside(AboveZero),
            Log10,
            double::log10
        ),
        domain_row!(
            "python.log1p",
            "log(1 + x). Raises unless x is above −1.",
            Outside(AboveMinusOne),
            Log1p,
            double::log1p
        ),
        domain_row!(
            "python.exp",
            "e to the power x. Raises if it overflows.",
            OutsideOrOverflow(Everywhere),
            Exp,
            double::exp
        ),
        domain_row!(
            "python.expm1",
            "exp(x) − 1. Raises if it overflows.",
            OutsideOrOverflow(Everywhere),
            Expm1,
            double::expm1
        ),
        domain_row!(
            "python.sinh",
            "Hyperbolic sine. Raises if it overflows.",
            OutsideOrOverflow(Everywhere),
            Sinh,
            double::sinh
        ),
        domain_row!(
            "python.cosh",
            "Hyperbolic cosine. Raises if it overflows.",
            OutsideOrOverflow(Everywhere),
            Cosh,
            double::cosh
        ),
        domain_row!("python.sin", "Sine. Raises for infinities.", Outside(Finite), Sin, double::sin),
        domain_row!("python.cos", "Cosine. Raises for infinities.", Outside(Finite), Cos, double::cos),
        domain_row!("python.tan", "Tangent. Raises for infinities.", Outside(Finite), Tan, double::tan),
        domain_row!("python.asin", "Arc sine. Raises beyond −1 and 1.", Outside(UpToOne), Asin, double::asin),
        domain_row!(
            "python.acos",
            "Arc cosine. Raises beyond −1 and 1.",
            Outside(UpToOne),
            Acos,
            double::acos
        ),
        domain_row!(
            "python.acosh",
            "Inverse hyperbolic cosine. Raises below 1.",
            Outside(FromOne),
            Acosh,
            double::acosh
        ),
        domain_row!(
            "python.atanh",
            "Inverse hyperbolic tangent. Raises unless x is between −1 and 1.",
            Outside(InsideOne),
            Atanh,
            double::atanh
        ),
    ]
}
