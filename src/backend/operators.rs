//! Operators of the machine with numpy's meaning where the expression language has none.
//!
//! | operator | what it does |
//! | --- | --- |
//! | `graph._maximum` | the greater number; NaN beside a NaN; the first of two equal ones, zeros of both signs included |
//! | `graph._power` | powers of integers, which wrap; raises for negative exponents |
//! | `graph._…_int8` | arithmetic on INT32 that stand for int8 |
//! | `graph._…_float16` | arithmetic on FLOAT32 that stand for float16, rounded to it |
//!
//! Each is a function of one element; the machine makes of it what runs over arrays.

use crate::registry::Registry;
use cembra_vm::operator::Family;
use cembra_vm::value::Fault;
use cembra_vm::vector::float::Float;
use half::f16;
use std::ops::{Add, Div, Mul, Sub};
use std::sync::LazyLock;

/// The standard operators and those of this file.
pub fn registry() -> Registry {
    static WITH_GRAPHS: LazyLock<Registry> = LazyLock::new(|| {
        let mut registry = Registry::standard();
        for row in rows() {
            registry.register(row).expect("the names are not taken, and all rows have overloads");
        }
        registry
    });
    WITH_GRAPHS.clone()
}

fn rows() -> Vec<Family> {
    let mut rows = vec![
        Family::new("graph._maximum", &["x", "y"], "The greater number, or a NaN; the first of equal ones.")
            .exact_binary(larger::<i32>)
            .exact_binary(larger::<i64>)
            .exact_binary(larger::<f32>)
            .exact_binary(larger::<f64>),
        Family::new("graph._power", &["x", "y"], "Power of integers. Raises for a negative exponent.")
            .cost_of(20)
            .raises()
            .exact_binary(|x: i32, y: i32| power(x.into(), y.into()).map(|power| power as i32))
            .exact_binary(power),
    ];
    rows.extend(int8());
    rows.extend(float16());
    rows
}

fn larger<T: PartialOrd>(x: T, y: T) -> T {
    let is_second = match x.partial_cmp(&y) {
        Some(order) => order.is_lt(),
        None => x.partial_cmp(&x).is_some(),
    };
    if is_second { y } else { x }
}

/// By squaring, in at most 63 steps. Narrower integers wrap alike: their bits are the last of these.
fn power(base: i64, exponent: i64) -> Result<i64, Fault> {
    if exponent < 0 {
        let message = "integers to negative integer powers are not allowed".to_owned();
        return Err(Fault::Range { message });
    }
    let (mut result, mut base, mut left) = (1i64, base, exponent);
    while left > 0 {
        if left & 1 == 1 {
            result = result.wrapping_mul(base);
        }
        base = base.wrapping_mul(base);
        left >>= 1;
    }
    Ok(result)
}

/// Rows of operators on int8, each with its function of INT32; kernels capture nothing, so that the functions
/// stand in the code of the rows.
macro_rules! on_int8 {
    ($($name:literal $function:expr, $meaning:literal;)*) => {
        [$(Family::new($name, &["x", "y"], $meaning).exact_binary(|x: i32, y: i32| wrapped($function(x, y))),)*]
    };
}

fn wrapped(value: i32) -> i32 {
    i32::from(value as i8)
}

fn int8() -> Vec<Family> {
    let mut rows = Vec::from(on_int8! {
        "graph._add_int8" i32::wrapping_add, "Sum of int8.";
        "graph._subtract_int8" i32::wrapping_sub, "Difference of int8.";
        "graph._multiply_int8" i32::wrapping_mul, "Product of int8.";
    });
    rows.push(
        Family::new("graph._negate_int8", &["x"], "Negative of int8.")
            .exact_unary(|x: i32| wrapped(x.wrapping_neg())),
    );
    rows.push(
        Family::new("graph._power_int8", &["x", "y"], "Power of int8. Raises for a negative exponent.")
            .cost_of(20)
            .raises()
            .exact_binary(|x: i32, y: i32| power(x.into(), y.into()).map(|power| wrapped(power as i32))),
    );
    rows
}

/// As `on_int8`, on float16.
macro_rules! on_float16 {
    ($($name:literal $function:expr, $meaning:literal;)*) => {
        [$(Family::new($name, &["x", "y"], $meaning)
            .cost_of(5)
            .exact_binary(|x: f32, y: f32| rounded($function(x, y))),)*]
    };
}

fn rounded(value: f32) -> f32 {
    f16::from_f32(value).to_f32()
}

fn float16() -> Vec<Family> {
    let mut rows = Vec::from(on_float16! {
        "graph._add_float16" f32::add, "Sum of float16.";
        "graph._subtract_float16" f32::sub, "Difference of float16.";
        "graph._multiply_float16" f32::mul, "Product of float16.";
        "graph._divide_float16" f32::div, "Quotient of float16.";
        "graph._power_float16" Float::pow, "Power of float16.";
    });
    rows.push(
        Family::new("graph._round_float16", &["x"], "The nearest float16.")
            .cost_of(5)
            .exact_unary(|x: f64| f16::from_f64(x).to_f32()),
    );
    rows.push(
        Family::new("graph._exp_float16", &["x"], "e to the power of float16.")
            .cost_of(20)
            .exact_unary(|x: f32| rounded(Float::exp(x))),
    );
    rows.push(
        Family::new("graph._log_float16", &["x"], "Natural logarithm of float16.")
            .cost_of(20)
            .exact_unary(|x: f32| rounded(Float::ln(x))),
    );
    rows
}
