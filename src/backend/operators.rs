//! Operators of the machine with numpy's meaning where the expression language has none.
//!
//! | operator | what it does |
//! | --- | --- |
//! | `graph._maximum` | the greater number; NaN beside a NaN; the first of two equal ones, zeros of both signs included |
//! | `graph._power` | powers of integers, which wrap; raises for negative exponents |
//! | `graph._…_int8` | arithmetic on INT32 that stand for int8 |
//! | `graph._…_float16` | arithmetic on FLOAT32 that stand for float16, rounded to it |
//!
//! Each is the function of the step backend on one element, so that both backends have one semantics; the machine
//! makes of it what runs over arrays.

use crate::backend::elementwise::{Number, Real};
use crate::registry::Registry;
use cembra_vm::operator::Family;
use cembra_vm::value::Fault;
use half::f16;
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
            .exact_binary(<i32 as Number>::larger)
            .exact_binary(<i64 as Number>::larger)
            .exact_binary(<f32 as Number>::larger)
            .exact_binary(<f64 as Number>::larger),
        Family::new("graph._power", &["x", "y"], "Power of integers. Raises for a negative exponent.")
            .cost_of(20)
            .raises()
            .exact_binary(power::<i32>)
            .exact_binary(power::<i64>),
    ];
    rows.extend(int8());
    rows.extend(float16());
    rows
}

fn power<T: Number>(base: T, exponent: T) -> Result<T, Fault> {
    match exponent.is_forbidden_exponent() {
        true => {
            Err(Fault::Range { message: "integers to negative integer powers are not allowed".to_owned() })
        }
        false => Ok(base.power(exponent)),
    }
}

/// Rows of operators on int8, each with the function on one element; kernels capture nothing, so that the functions
/// stand in the code of the rows.
macro_rules! on_int8 {
    ($($name:literal $function:path, $meaning:literal;)*) => {
        [$(Family::new($name, &["x", "y"], $meaning)
            .exact_binary(|x: i32, y: i32| i32::from($function(x as i8, y as i8))),)*]
    };
}

fn int8() -> Vec<Family> {
    let mut rows = Vec::from(on_int8! {
        "graph._add_int8" Number::plus, "Sum of int8.";
        "graph._subtract_int8" Number::minus, "Difference of int8.";
        "graph._multiply_int8" Number::times, "Product of int8.";
    });
    rows.push(
        Family::new("graph._negate_int8", &["x"], "Negative of int8.")
            .exact_unary(|x: i32| i32::from((x as i8).negate())),
    );
    rows.push(
        Family::new("graph._power_int8", &["x", "y"], "Power of int8. Raises for a negative exponent.")
            .cost_of(20)
            .raises()
            .exact_binary(|x: i32, y: i32| power(x as i8, y as i8).map(i32::from)),
    );
    rows
}

/// As `on_int8`, on float16.
macro_rules! on_float16 {
    ($($name:literal $function:path, $meaning:literal;)*) => {
        [$(Family::new($name, &["x", "y"], $meaning)
            .cost_of(5)
            .exact_binary(|x: f32, y: f32| $function(f16::from_f32(x), f16::from_f32(y)).to_f32()),)*]
    };
}

fn float16() -> Vec<Family> {
    let mut rows = Vec::from(on_float16! {
        "graph._add_float16" Number::plus, "Sum of float16.";
        "graph._subtract_float16" Number::minus, "Difference of float16.";
        "graph._multiply_float16" Number::times, "Product of float16.";
        "graph._divide_float16" Number::over, "Quotient of float16.";
        "graph._power_float16" Number::power, "Power of float16.";
    });
    rows.push(
        Family::new("graph._exp_float16", &["x"], "e to the power of float16.")
            .cost_of(20)
            .exact_unary(|x: f32| f16::from_f32(x).exponential().to_f32()),
    );
    rows.push(
        Family::new("graph._log_float16", &["x"], "Natural logarithm of float16.")
            .cost_of(20)
            .exact_unary(|x: f32| f16::from_f32(x).logarithm().to_f32()),
    );
    rows
}
