//! Casts between scalar types.
//!
//! A float is truncated towards zero when cast to an integer; a number that does not fit raises,
//! NaN and infinities included. FLOAT64 to FLOAT32 rounds to nearest and overflows to infinity.
//! Names follow the published dumps: casts that the compiler inserts begin with an underscore, except
//! `core.to_float64`. Casts to narrow types give the type that such a number is computed in, INT32 or INT64.

use crate::builtins::recipes;
use crate::operator::Family;
use crate::operator::primitive::Primitive;
use crate::strip::Lane;
use crate::value::repr::write_repr;
use crate::value::{Fault, ScalarType, Value};

/// Name of `core.to_bool`.
pub const TO_BOOL: &str = "core.to_bool";
/// Name of `core._to_float32`.
pub const TO_FLOAT32: &str = "core._to_float32";
/// Name of `core.to_float64`.
pub const TO_FLOAT64: &str = "core.to_float64";
/// Name of `core._to_int32`.
pub const TO_INT32: &str = "core._to_int32";
/// Name of `core._to_int64`.
pub const TO_INT64: &str = "core._to_int64";
/// Name of `core._to_int8`.
pub const TO_INT8: &str = "core._to_int8";
/// Name of `core._to_int16`.
pub const TO_INT16: &str = "core._to_int16";
/// Name of `core._to_uint8`.
pub const TO_UINT8: &str = "core._to_uint8";
/// Name of `core._to_uint16`.
pub const TO_UINT16: &str = "core._to_uint16";
/// Name of `core._to_uint32`.
pub const TO_UINT32: &str = "core._to_uint32";
/// Name of `core._to_uint64`.
pub const TO_UINT64: &str = "core._to_uint64";

/// The rows of this file.
pub fn rows() -> Vec<Family> {
    [wide(), narrow()].concat()
}

fn wide() -> Vec<Family> {
    vec![
        Family::new(TO_FLOAT64, &["x"], "The number as FLOAT64, exact except for large INT64.")
            .cells(|l, x| Some(l.cast(x[0], Lane::F64)))
            .derivative(&["1.0"])
            .unary(|x: bool| f64::from(u8::from(x)))
            .unary(|x: i32| f64::from(x))
            .unary(|x: i64| x as f64)
            .unary(|x: f32| f64::from(x))
            .unary(|x: f64| x),
        Family::new(TO_FLOAT32, &["x"], "The number as FLOAT32, rounded to nearest; too large is infinite.")
            .cells(|l, x| Some(l.cast(x[0], Lane::F32)))
            .derivative(&["1.0"])
            .unary(|x: bool| f32::from(u8::from(x)))
            .unary(|x: i32| x as f32)
            .unary(|x: i64| x as f32)
            .unary(|x: f32| x)
            .unary(|x: f64| x as f32),
        Family::new(TO_INT64, &["x"], "The number as INT64, truncated. Raises if it does not fit.")
            .cells(|l, x| Some(l.cast(x[0], Lane::I64)))
            .unary(|x: bool| i64::from(x))
            .unary(|x: i32| i64::from(x))
            .unary(|x: i64| x)
            .raises()
            .rare_cells(recipes::to_int64)
            .primitive(Primitive::Truncate)
            .harmless_with(0, 0)
            .unary(|x: f32| float_to_int(f64::from(x), &x.into(), ScalarType::Int64))
            .unary(|x: f64| float_to_int(x, &x.into(), ScalarType::Int64)),
        Family::new(TO_INT32, &["x"], "The number as INT32, truncated. Raises if it does not fit.")
            .cells(|l, x| Some(l.cast(x[0], Lane::I32)))
            .unary(|x: bool| i32::from(x))
            .unary(|x: i32| x)
            .raises()
            .rare_cells(recipes::to_int32)
            .harmless_with(0, 0)
            .primitive(Primitive::Narrow)
            .unary(|x: i64| i32::try_from(x).map_err(|_| cannot_cast(&x.into(), ScalarType::Int32)))
            .primitive(Primitive::Truncate)
            .unary(|x: f32| float_to_int(f64::from(x), &x.into(), ScalarType::Int32).map(|x| x as i32))
            .unary(|x: f64| float_to_int(x, &x.into(), ScalarType::Int32).map(|x| x as i32)),
        Family::new(TO_BOOL, &["x"], "False for zero, true for any other number, NaN included.")
            .cells(|l, x| Some(l.cast(x[0], Lane::Mask)))
            .unary(|x: bool| x)
            .unary(|x: i32| x != 0)
            .unary(|x: i64| x != 0)
            .unary(|x: f32| x != 0.0)
            .unary(|x: f64| x != 0.0),
    ]
}

fn narrow() -> Vec<Family> {
    macro_rules! row {
        ($name:ident, $narrow:ident, $computed:ident, $lane:ident, $target:ident) => {
            Family::new(
                $name,
                &["x"],
                concat!("The number, which has to be one of ", stringify!($narrow), "."),
            )
            .raises()
            .rare_cells(|l, x| recipes::within(l, x, $narrow::MIN.into()..=$narrow::MAX.into(), Lane::$lane))
            .harmless_with(0, 0)
            .unary(|x: i64| match $narrow::try_from(x) {
                Ok(x) => Ok($computed::from(x)),
                Err(_) => Err(Fault::Cast { value: x.to_string(), target: ScalarType::$target }),
            })
        };
    }
    vec![
        row!(TO_INT8, i8, i32, I32, Int8),
        row!(TO_INT16, i16, i32, I32, Int16),
        row!(TO_UINT8, u8, i32, I32, Uint8),
        row!(TO_UINT16, u16, i32, I32, Uint16),
        row!(TO_UINT32, u32, i64, I64, Uint32),
        Family::new(
            TO_UINT64,
            &["x"],
            "The number truncated, as the bits of a UINT64. Raises if it does not fit.",
        )
        .raises()
        .rare_cells(recipes::to_uint64)
        .harmless_with(0, 0)
        .unary(|x: i64| match x {
            0.. => Ok(x),
            _ => Err(Fault::Cast { value: x.to_string(), target: ScalarType::Uint64 }),
        })
        .unary(|x: f32| float_to_unsigned(f64::from(x), &x.into()))
        .unary(|x: f64| float_to_unsigned(x, &x.into())),
    ]
}

/// Truncates towards zero if the result fits UINT64.
fn float_to_unsigned(x: f64, original: &Value) -> Result<i64, Fault> {
    match x > -1.0 && x < 18_446_744_073_709_551_616.0 {
        true => Ok((x as u64).cast_signed()),
        false => Err(cannot_cast(original, ScalarType::Uint64)),
    }
}

/// Truncates towards zero if the result fits the target.
fn float_to_int(x: f64, original: &Value, target: ScalarType) -> Result<i64, Fault> {
    // The bounds are exact in FLOAT64: -2^31 - 1 and 2^31 are excluded, -2^63 is included.
    let fits = match target {
        ScalarType::Int32 => x > -2_147_483_649.0 && x < 2_147_483_648.0,
        _ => (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&x),
    };
    match fits {
        true => Ok(x as i64),
        false => Err(cannot_cast(original, target)),
    }
}

#[cold]
fn cannot_cast(value: &Value, target: ScalarType) -> Fault {
    let mut text = String::new();
    write_repr(&mut text, value);
    Fault::Cast { value: text, target }
}
