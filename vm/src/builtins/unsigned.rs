//! `unsigned.*`: operations on INT64 whose bits are those of unsigned integers.
//!
//! Sums, differences, products and tests for equality are those of INT64. An order is that of INT64 once the highest bits are
//! flipped.

use crate::array::function::LateFault;
use crate::builtins::recipes;
use crate::operator::Family;
use crate::strip::Lane;
use crate::value::{Fault, ScalarType};

/// Name of `unsigned.floordiv`.
pub const FLOORDIV: &str = "unsigned.floordiv";
/// Name of `unsigned.mod`.
pub const MOD: &str = "unsigned.mod";
/// Name of `unsigned.to_float64`.
pub const TO_FLOAT64: &str = "unsigned.to_float64";
/// Name of `unsigned.to_float32`.
pub const TO_FLOAT32: &str = "unsigned.to_float32";
/// Name of `unsigned.to_int64`.
pub const TO_INT64: &str = "unsigned.to_int64";

/// The rows of this file.
pub fn rows() -> Vec<Family> {
    vec![
        Family::new(FLOORDIV, &["x", "y"], "Quotient rounded down. A zero divisor raises.")
            .cost_of(8)
            .raises()
            .harmless_with(1, 1)
            .binary(|x: i64, y: i64| checked(x.cast_unsigned().checked_div(y.cast_unsigned()))),
        Family::new(MOD, &["x", "y"], "Remainder of floordiv. A zero divisor raises.")
            .cost_of(8)
            .raises()
            .harmless_with(1, 1)
            .binary(|x: i64, y: i64| checked(x.cast_unsigned().checked_rem(y.cast_unsigned()))),
        Family::new(TO_FLOAT64, &["x"], "The number as FLOAT64, rounded to nearest.")
            .rare_cells(|l, x| recipes::of_unsigned(l, x, Lane::F64))
            .unary(|x: i64| x.cast_unsigned() as f64),
        Family::new(TO_FLOAT32, &["x"], "The number as FLOAT32, rounded to nearest.")
            .rare_cells(|l, x| recipes::of_unsigned(l, x, Lane::F32))
            .unary(|x: i64| x.cast_unsigned() as f32),
        Family::new(TO_INT64, &["x"], "The number as INT64. Raises if it does not fit.")
            .raises()
            .rare_cells(|l, x| recipes::of_unsigned(l, x, Lane::I64))
            .harmless_with(0, 0)
            .unary(|x: i64| match x {
                0.. => Ok(x),
                _ => Err(Fault::Cast { value: x.cast_unsigned().to_string(), target: ScalarType::Int64 }),
            }),
    ]
}

fn checked(result: Option<u64>) -> Result<i64, LateFault> {
    result.map(u64::cast_signed).ok_or(LateFault(|| Fault::DivisionByZero))
}
