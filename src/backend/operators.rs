//! Operators of the machine with numpy's meaning where the expression language has none.
//!
//! | operator | what it does |
//! | --- | --- |
//! | `graph._maximum` | the greater number; NaN beside a NaN; the first of two equal ones, zeros of both signs included |
//! | `graph._power` | powers of integers, which wrap; raises for negative exponents |
//! | `graph._wrap_int8` | the INT32 that stands for an int8, of a result that may lie outside |
//! | `graph._round_float16` | the FLOAT32 that stands for the float16 next to a result |
//!
//! Each is a function of one element; the machine makes of it what runs over arrays.

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
    vec![
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
        Family::new("graph._wrap_int8", &["x"], "The int8 with the same last bits.")
            .exact_unary(|x: i32| i32::from(x as i8)),
        Family::new("graph._round_float16", &["x"], "The nearest float16.")
            .cost_of(5)
            .exact_unary(|x: f32| f16::from_f32(x).to_f32())
            .exact_unary(|x: f64| f16::from_f64(x).to_f32()),
    ]
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
