//! `math.*`: arithmetic, rounding, logarithms; trigonometry is in `trig`.
//!
//! Integers wrap around (two's complement), floats follow IEEE 754. Floor division and remainder by
//! zero raise for integers and floats alike; true division is for floats only, integers are cast
//! first.

use crate::array::recipe::Recipe;
use crate::builtins::recipes;
use crate::operator::Family;
use crate::operator::facts::Linear;
use crate::operator::fusible::{FloatOp, Fusible, IntegerOp};
use crate::operator::primitive::Primitive;
use crate::strip::{BinaryOp, Comparison, UnaryOp};
use crate::value::Fault;
use crate::vector::float::{self, Float};
use crate::vector::math::{BinaryKind, UnaryKind, double, single};

/// Name of `math.abs`.
pub const ABS: &str = "math.abs";
/// Name of `math._add4`.
pub const ADD4: &str = "math._add4";
/// Name of `math.ceil`.
pub const CEIL: &str = "math.ceil";
/// Name of `math.erf`.
pub const ERF: &str = "math.erf";
/// Name of `math.erfc`.
pub const ERFC: &str = "math.erfc";
/// Name of `math.exp`.
pub const EXP: &str = "math.exp";
/// Name of `math.exp2`.
pub const EXP2: &str = "math.exp2";
/// Name of `math.floor`.
pub const FLOOR: &str = "math.floor";
/// Name of `math.floordiv`.
pub const FLOORDIV: &str = "math.floordiv";
/// Name of `math.fma`.
pub const FMA: &str = "math.fma";
/// Name of `math.log`.
pub const LOG: &str = "math.log";
/// Name of `math.log10`.
pub const LOG10: &str = "math.log10";
/// Name of `math.log2`.
pub const LOG2: &str = "math.log2";
/// Name of `math.maximum`.
pub const MAXIMUM: &str = "math.maximum";
/// Name of `math.minimum`.
pub const MINIMUM: &str = "math.minimum";
/// Name of `math.log_sigmoid`.
pub const LOG_SIGMOID: &str = "math.log_sigmoid";
/// Name of `math.logit`.
pub const LOGIT: &str = "math.logit";
/// Name of `math.sigmoid`.
pub const SIGMOID: &str = "math.sigmoid";
/// Name of `math.symlog1p`.
pub const SYMLOG1P: &str = "math.symlog1p";
/// Name of `math.mod`.
pub const MOD: &str = "math.mod";
/// Name of `math.pos`.
pub const POS: &str = "math.pos";
/// Name of `math.pow`.
pub const POW: &str = "math.pow";
/// Name of `math._cube`.
pub const CUBE: &str = "math._cube";
/// Name of `math._fourth`.
pub const FOURTH: &str = "math._fourth";
/// Name of `math._root`.
pub const ROOT: &str = "math._root";
/// Name of `math.sign`.
pub const SIGN: &str = "math.sign";
/// Name of `math.sqrt`.
pub const SQRT: &str = "math.sqrt";
/// Name of `math.add`.
pub const ADD: &str = "math.add";
/// Name of `math.subtract`.
pub const SUBTRACT: &str = "math.subtract";
/// Name of `math.multiply`.
pub const MULTIPLY: &str = "math.multiply";
/// Name of `math.divide`.
pub const DIVIDE: &str = "math.divide";
/// Name of `math.neg`.
pub const NEG: &str = "math.neg";

/// The rows of this namespace.
pub fn rows() -> Vec<Family> {
    [arithmetic(), division(), order(), rounding(), exponential(), classification()].concat()
}

fn arithmetic() -> Vec<Family> {
    vec![
        Family::new(ADD, &["x", "y"], "Sum. Integers wrap around.")
            .cells(|l, x| Some(l.binary(BinaryOp::Add, x[0], x[1])))
            .derivative(&["1.0", "1.0"])
            .linear(Linear::InAll)
            .hot_binary(|x: i32, y: i32| x.wrapping_add(y))
            .fusible(Fusible::Integer(IntegerOp::Add))
            .hot_binary(|x: i64, y: i64| x.wrapping_add(y))
            .hot_binary(|x: f32, y: f32| x + y)
            .fusible(Fusible::Float(FloatOp::Add))
            .hot_binary(|x: f64, y: f64| x + y),
        Family::new(SUBTRACT, &["x", "y"], "Difference. Integers wrap around.")
            .cells(|l, x| Some(l.binary(BinaryOp::Sub, x[0], x[1])))
            .derivative(&["1.0", "-1.0"])
            .linear(Linear::InAll)
            .hot_binary(|x: i32, y: i32| x.wrapping_sub(y))
            .fusible(Fusible::Integer(IntegerOp::Subtract))
            .hot_binary(|x: i64, y: i64| x.wrapping_sub(y))
            .hot_binary(|x: f32, y: f32| x - y)
            .fusible(Fusible::Float(FloatOp::Subtract))
            .hot_binary(|x: f64, y: f64| x - y),
        Family::new(MULTIPLY, &["x", "y"], "Product. Integers wrap around.")
            .cells(|l, x| Some(l.binary(BinaryOp::Mul, x[0], x[1])))
            .derivative(&["y", "x"])
            .linear(Linear::InEach)
            .hot_binary(|x: i32, y: i32| x.wrapping_mul(y))
            .hot_binary(|x: i64, y: i64| x.wrapping_mul(y))
            .hot_binary(|x: f32, y: f32| x * y)
            .fusible(Fusible::Float(FloatOp::Multiply))
            .hot_binary(|x: f64, y: f64| x * y),
        Family::new(NEG, &["x"], "The number with the opposite sign; the smallest integer stays itself.")
            .cells(|l, x| Some(l.unary(UnaryOp::Neg, x[0])))
            .derivative(&["-1.0"])
            .linear(Linear::InAll)
            .unary(|x: i32| x.wrapping_neg())
            .unary(|x: i64| x.wrapping_neg())
            .unary(|x: f32| -x)
            .unary(|x: f64| -x),
        Family::new(POS, &["x"], "The number itself.")
            .recipe(Recipe::Own(recipes::same))
            .derivative(&["1.0"])
            .linear(Linear::InAll)
            .unary(|x: i32| x)
            .unary(|x: i64| x)
            .unary(|x: f32| x)
            .unary(|x: f64| x),
        Family::new(ABS, &["x"], "Absolute value; the smallest integer stays itself.")
            .cells(|l, x| Some(l.unary(UnaryOp::Abs, x[0])))
            .derivative(&["math.sign(x)"])
            .unary(|x: i32| x.wrapping_abs())
            .unary(|x: i64| x.wrapping_abs())
            .unary(|x: f32| x.abs())
            .unary(|x: f64| x.abs()),
        Family::new(SIGN, &["x"], "-1, 0 or 1; NaN stays NaN, the sign of zero is +0.")
            .cells(|l, x| Some(l.sign(x[0])))
            .derivative(&["0.0"])
            .unary(|x: i32| x.signum())
            .unary(|x: i64| x.signum())
            .unary(|x: f32| float::sign(x))
            .unary(|x: f64| float::sign(x)),
        Family::new(FMA, &["x", "y", "z"], "x * y + z with a single rounding.")
            .cells(|l, x| Some(l.fma(x[0], x[1], x[2])))
            .cost_of(8)
            .derivative(&["y", "x", "1.0"])
            .ternary_wide(single::fma, f32::mul_add)
            .ternary_wide(double::fma, f64::mul_add),
        Family::new(
            ADD4,
            &["a", "b", "c", "d"],
            "a + b + c + d, added from the left; made by the optimizer rule `add4`.",
        )
        .cells(|l, x| {
            x[1..].iter().copied().try_fold(x[0], |sum, next| Some(l.binary(BinaryOp::Add, sum, next)))
        })
        .cost_of(3)
        .exact_quaternary(|a: i32, b: i32, c: i32, d: i32| a.wrapping_add(b).wrapping_add(c).wrapping_add(d))
        .exact_quaternary(|a: i64, b: i64, c: i64, d: i64| a.wrapping_add(b).wrapping_add(c).wrapping_add(d))
        .exact_quaternary(|a: f32, b: f32, c: f32, d: f32| a + b + c + d)
        .exact_quaternary(|a: f64, b: f64, c: f64, d: f64| a + b + c + d),
    ]
}

fn division() -> Vec<Family> {
    fn checked<T: PartialEq + Default, R>(y: T, result: impl FnOnce(T) -> R) -> Result<R, Fault> {
        match y == T::default() {
            true => Err(Fault::DivisionByZero),
            false => Ok(result(y)),
        }
    }
    vec![
        Family::new(DIVIDE, &["x", "y"], "Quotient of two floats; by zero it is an infinity or NaN.")
            .cells(|l, x| Some(l.binary(BinaryOp::Div, x[0], x[1])))
            .cost_of(4)
            .linear(Linear::In(&[0]))
            .differential("(d_x - result * d_y) / y")
            .hot_binary(|x: f32, y: f32| x / y)
            .hot_binary(|x: f64, y: f64| x / y),
        Family::new(FLOORDIV, &["x", "y"], "Quotient rounded down; of floats NaN if it is infinite, as in Arolla. A zero divisor raises.")
            .rare_cells(recipes::floor_div)
            .cost_of(8)
            .derivative(&["0.0", "0.0"])
            .raises()
            .primitive(Primitive::FloorDivide)
            .harmless_with(1, 1)
            .binary(|x: i32, y: i32| checked(y, |y| floor_div(i64::from(x), i64::from(y)) as i32))
            .binary(|x: i64, y: i64| checked(y, |y| floor_div(x, y)))
            .binary(|x: f32, y: f32| checked(y, |y| float::floordiv(x, y)))
            .binary(|x: f64, y: f64| checked(y, |y| float::floordiv(x, y))),
        Family::new(
            MOD,
            &["x", "y"],
            "Remainder of floordiv, with the divisor's sign: of floats `x - math.floordiv(x, y)*y`, rounded twice; infinite if the quotient is below zero and rounds to it, as in Arolla. A zero divisor raises.",
        )
        .rare_cells(recipes::floor_mod)
        .cost_of(8)
        .derivative(&["1.0", "-math.floordiv(x, y)"])
        .raises()
        .primitive(Primitive::Modulo)
        .harmless_with(1, 1)
        .binary(|x: i32, y: i32| checked(y, |y| floor_mod(i64::from(x), i64::from(y)) as i32))
        .binary(|x: i64, y: i64| checked(y, |y| floor_mod(x, y)))
        .binary(|x: f32, y: f32| checked(y, |y| float::floormod(x, y)))
        .binary(|x: f64, y: f64| checked(y, |y| float::floormod(x, y))),
        Family::new(
            "math.fmod",
            &["x", "y"],
            "C fmod: remainder with the dividend's sign; NaN for a zero divisor.",
        )
        .rare_cells(recipes::remainder)
        .cost_of(8)
        .derivative(&["1.0", "-math.trunc(x / y)"])
        .binary(|x: f32, y: f32| x.fmod(y))
        .binary(|x: f64, y: f64| x.fmod(y)),
    ]
}

/// Quotient rounded down; wraps for the smallest integer by −1.
fn floor_div(x: i64, y: i64) -> i64 {
    let quotient = x.wrapping_div(y);
    let remainder = x.wrapping_rem(y);
    quotient - i64::from(remainder != 0 && (remainder < 0) != (y < 0))
}

/// Remainder with the divisor's sign.
fn floor_mod(x: i64, y: i64) -> i64 {
    let remainder = x.wrapping_rem(y);
    match remainder != 0 && (remainder < 0) != (y < 0) {
        true => remainder + y,
        false => remainder,
    }
}

fn order() -> Vec<Family> {
    vec![
        Family::new(MAXIMUM, &["x", "y"], "Larger of two; NaN wins, equal numbers keep the first.")
            .cells(|l, x| Some(l.binary(BinaryOp::Max, x[0], x[1])))
            .differential("nd.where(bool.greater_equal(x, y), d_x, d_y)")
            .hot_binary(|x: i32, y: i32| x.max(y))
            .hot_binary(|x: i64, y: i64| x.max(y))
            .hot_binary(|x: f32, y: f32| float::maximum(x, y))
            .hot_binary(|x: f64, y: f64| float::maximum(x, y)),
        Family::new(MINIMUM, &["x", "y"], "Smaller of two; NaN wins, equal numbers keep the first.")
            .cells(|l, x| Some(l.binary(BinaryOp::Min, x[0], x[1])))
            .differential("nd.where(bool.less_equal(x, y), d_x, d_y)")
            .hot_binary(|x: i32, y: i32| x.min(y))
            .hot_binary(|x: i64, y: i64| x.min(y))
            .hot_binary(|x: f32, y: f32| float::minimum(x, y))
            .hot_binary(|x: f64, y: f64| float::minimum(x, y)),
    ]
}

/// A row of one float operand.
macro_rules! float_row {
    ($name:expr, $meaning:literal, $cost:literal, [$($partial:literal)?], $(cells $cells:expr,)? |$x:ident| $body:expr) => {
        Family::new($name, &["x"], $meaning)
            .cost_of($cost)
            $(.derivative(&[$partial]))?
            $(.cells($cells))?
            .unary(|$x: f32| $body)
            .unary(|$x: f64| $body)
    };
}

/// A row of one float operand with loops of its own.
macro_rules! special_row {
    ($name:expr, $meaning:literal, $cost:literal, [$($partial:literal)?], $one:ident, $rows:ident) => {
        Family::new($name, &["x"], $meaning)
            .cost_of($cost)
            $(.derivative(&[$partial]))?
            .special(UnaryKind::named(stringify!($one)).expect("a function of that name"))
            .unary_rows_in_place(|x: f32| single::$one(x), single::$rows)
            .unary_rows_in_place(|x: f64| double::$one(x), double::$rows)
    };
}

pub(super) use special_row;

fn rounding() -> Vec<Family> {
    let integers = |family: Family| family.unary(|x: i32| x).unary(|x: i64| x);
    vec![
        integers(float_row!(
            FLOOR,
            "Largest integer not above.",
            2,
            ["0.0"],
            cells | l,
            x | recipes::rounded(l, x[0], UnaryOp::Floor),
            |x| x.floor()
        )),
        integers(float_row!(
            CEIL,
            "Smallest integer not below.",
            2,
            ["0.0"],
            cells | l,
            x | recipes::rounded(l, x[0], UnaryOp::Ceil),
            |x| x.ceil()
        )),
        integers(
            float_row!("math.round", "Nearest integer; halves go away from zero.", 2, ["0.0"], cells recipes::round, |x| x.round()),
        ),
        integers(float_row!(
            "math.trunc",
            "Integer part.",
            2,
            ["0.0"],
            cells | l,
            x | recipes::rounded(l, x[0], UnaryOp::Trunc),
            |x| x.trunc()
        )),
    ]
}

fn exponential() -> Vec<Family> {
    vec![
        float_row!(
            SQRT,
            "Square root; NaN below zero.",
            6,
            ["0.5 / math.sqrt(x)"],
            cells | l,
            x | Some(l.unary(UnaryOp::Sqrt, x[0])),
            |x| x.sqrt()
        ),
        special_row!(
            "math.cbrt",
            "Cube root.",
            20,
            ["1.0 / (3.0 * math.cbrt(x) * math.cbrt(x))"],
            cbrt,
            cbrt_into
        ),
        special_row!(
            CUBE,
            "x to the power 3, as `math.pow` has it; made by the optimizer rule `known_power`.",
            10,
            ["3.0 * x * x"],
            cube,
            cube_into
        ),
        special_row!(
            FOURTH,
            "x to the power 4, as `math.pow` has it; made by the optimizer rule `known_power`.",
            10,
            ["4.0 * x * x * x"],
            fourth,
            fourth_into
        ),
        special_row!(
            ROOT,
            "x to the power 1/2, as `math.pow` has it; made by the optimizer rule `known_power`.",
            6,
            ["0.5 / math.sqrt(x)"],
            root,
            root_into
        ),
        special_row!(EXP, "e to the power x.", 20, ["math.exp(x)"], exp, exp_into),
        special_row!(EXP2, "2 to the power x.", 20, ["math.exp2(x) * 0.6931471805599453"], exp2, exp2_into),
        special_row!(
            "math.expm1",
            "exp(x) - 1 without cancellation near zero.",
            20,
            ["math.exp(x)"],
            expm1,
            expm1_into
        ),
        special_row!(LOG, "Natural logarithm; NaN below zero.", 20, ["1.0 / x"], ln, ln_into),
        special_row!(LOG2, "Logarithm to base 2.", 20, ["1.4426950408889634 / x"], log2, log2_into),
        special_row!(LOG10, "Logarithm to base 10.", 20, ["0.4342944819032518 / x"], log10, log10_into),
        special_row!(
            "math.log1p",
            "log(1 + x) without cancellation near zero.",
            20,
            ["1.0 / (1.0 + x)"],
            log1p,
            log1p_into
        ),
        float_row!(
            SYMLOG1P,
            "sign(x) * log1p(abs(x)): a logarithm that is odd and passes through zero.",
            20,
            ["1.0 / (1.0 + math.abs(x))"],
            |x| float::symlog1p(x)
        ),
        float_row!(
            LOGIT,
            "log(x / (1 - x)), the inverse of sigmoid.",
            25,
            ["1.0 / (x * (1.0 - x))"],
            |x| { float::logit(x) }
        ),
        float_row!(
            LOG_SIGMOID,
            "log(sigmoid(x)) without overflow.",
            40,
            ["1.0 / (1.0 + math.exp(x))"],
            |x| float::log_sigmoid(x)
        ),
        special_row!(ERF, "Error function.", 40, ["1.1283791670955126 * math.exp(-x * x)"], erf, erf_into),
        special_row!(
            ERFC,
            "1 - erf(x) without cancellation.",
            40,
            ["-1.1283791670955126 * math.exp(-x * x)"],
            erfc,
            erfc_into
        ),
        special_row!("math.lgamma", "Natural logarithm of abs(gamma(x)).", 60, [], lgamma, lgamma_into),
        Family::new(
            SIGMOID,
            &["x", "half", "slope"],
            "1 / (1 + exp(slope * (half - x))): a smooth step that is 1/2 at `half`.",
        )
        .cost_of(25)
        .derivative(&[
            "slope * math.sigmoid(x, half, slope) * (1.0 - math.sigmoid(x, half, slope))",
            "-slope * math.sigmoid(x, half, slope) * (1.0 - math.sigmoid(x, half, slope))",
            "(x - half) * math.sigmoid(x, half, slope) * (1.0 - math.sigmoid(x, half, slope))",
        ])
        .ternary(|x: f32, half: f32, slope: f32| float::sigmoid(x, half, slope))
        .ternary(|x: f64, half: f64, slope: f64| float::sigmoid(x, half, slope)),
        Family::new(
            POW,
            &["x", "y"],
            "C pow: x to the power y; NaN for a negative x and a fractional y. Exponents 1 to 4 give products, 1/2 square roots.",
        )
        .cost_of(40)
        .derivative(&["y * x ** (y - 1.0)", "x ** y * math.log(x)"])
        .special(BinaryKind::Pow)
        .binary_rows_in_place(|x: f32, y: f32| single::pow(x, y), single::pow_into)
        .binary_rows_in_place(|x: f64, y: f64| double::pow(x, y), double::pow_into),
        Family::new("math.hypot", &["x", "y"], "sqrt(x*x + y*y) without overflow.")
            .cost_of(20)
            .derivative(&["x / math.hypot(x, y)", "y / math.hypot(x, y)"])
            .special(BinaryKind::Hypot)
            .binary_rows_in_place(|x: f32, y: f32| single::hypot(x, y), single::hypot_into)
            .binary_rows_in_place(|x: f64, y: f64| double::hypot(x, y), double::hypot_into),
    ]
}

fn classification() -> Vec<Family> {
    fn row(name: &str, meaning: &str) -> Family {
        Family::new(name, &["x"], meaning)
    }
    vec![
        row(
            "math.is_nan",
            "Present if the number is NaN; of n-dimensional arrays bool.not_equal(x, x) is true there.",
        )
        .recipe(Recipe::Own(|l, x| recipes::test(l, x, |l, x| l.compare(Comparison::Unordered, x, x))))
        .exact_unary(|x: f32| x.is_nan().then_some(()))
        .exact_unary(|x: f64| x.is_nan().then_some(()))
        .exact_unary(|x: Option<f32>| x.filter(|x| x.is_nan()).map(|_| ()))
        .exact_unary(|x: Option<f64>| x.filter(|x| x.is_nan()).map(|_| ())),
        row("math.is_inf", "Present if the number is an infinity.")
            .recipe(Recipe::Own(|l, x| recipes::test(l, x, recipes::is_infinite)))
            .exact_unary(|x: f32| x.is_infinite().then_some(()))
            .exact_unary(|x: f64| x.is_infinite().then_some(()))
            .exact_unary(|x: Option<f32>| x.filter(|x| x.is_infinite()).map(|_| ()))
            .exact_unary(|x: Option<f64>| x.filter(|x| x.is_infinite()).map(|_| ())),
        row("math.is_finite", "Present if the number is neither NaN nor an infinity.")
            .recipe(Recipe::Own(|l, x| recipes::test(l, x, recipes::is_finite)))
            .exact_unary(|x: f32| x.is_finite().then_some(()))
            .exact_unary(|x: f64| x.is_finite().then_some(()))
            .exact_unary(|x: Option<f32>| x.filter(|x| x.is_finite()).map(|_| ()))
            .exact_unary(|x: Option<f64>| x.filter(|x| x.is_finite()).map(|_| ())),
    ]
}
