//! Elements in another type: casts to the type that [`cembra::dag::promotion`] chose, and truth.

use super::texts_of;
use cembra::dag::array::Elements;
use cembra::dag::{Array, Element};
use half::f16;

/// Runs an expression for the Rust type of a type of numbers or truth values.
macro_rules! with_type {
    ($dtype:expr, $T:ident => $body:expr, text => $text:expr) => {
        match $dtype {
            cembra::dag::DType::Bool => {
                type $T = bool;
                $body
            }
            cembra::dag::DType::Int8 => {
                type $T = i8;
                $body
            }
            cembra::dag::DType::Int32 => {
                type $T = i32;
                $body
            }
            cembra::dag::DType::Int64 => {
                type $T = i64;
                $body
            }
            cembra::dag::DType::Float16 => {
                type $T = half::f16;
                $body
            }
            cembra::dag::DType::Float32 => {
                type $T = f32;
                $body
            }
            cembra::dag::DType::Float64 => {
                type $T = f64;
                $body
            }
            cembra::dag::DType::Text(_) => $text,
        }
    };
}
pub(crate) use with_type;

/// Types that numbers are promoted to.
pub trait Promoted: Element {
    /// From a truth value or an integer.
    fn from_integer(value: i64) -> Self;
    /// From a narrower float.
    fn from_float(value: f64) -> Self;
    /// The number as float64.
    fn wide(self) -> f64;
}

macro_rules! promoted {
    ($($T:ty, $integer:expr, $float:expr, $wide:expr;)*) => { $(
        impl Promoted for $T {
            fn from_integer(value: i64) -> $T {
                $integer(value)
            }
            fn from_float(value: f64) -> $T {
                $float(value)
            }
            fn wide(self) -> f64 {
                $wide(self)
            }
        }
    )* };
}

promoted! {
    bool, |v| v != 0, |v| v != 0.0, |v| f64::from(u8::from(v));
    i8, |v| v as i8, |v| v as i8, f64::from;
    i32, |v| v as i32, |v| v as i32, f64::from;
    i64, |v| v, |v| v as i64, |v| v as f64;
    f16, |v| f16::from_f64(v as f64), f16::from_f64, f16::to_f64;
    f32, |v| v as f32, |v| v as f32, f64::from;
    f64, |v| v as f64, |v| v, |v| v;
}

/// The elements in a type that holds them.
///
/// # Panics
/// The array holds texts.
pub fn cast<T: Promoted>(array: &Array) -> Elements<T> {
    if let Some(elements) = T::unwrap(array) {
        return elements.clone();
    }
    match array {
        Array::Bool(e) => e.mapv(|v| T::from_integer(v.into())).into_shared(),
        Array::Int8(e) => e.mapv(|v| T::from_integer(v.into())).into_shared(),
        Array::Int32(e) => e.mapv(|v| T::from_integer(v.into())).into_shared(),
        Array::Int64(e) => e.mapv(T::from_integer).into_shared(),
        Array::Float16(e) => e.mapv(|v| T::from_float(v.to_f64())).into_shared(),
        Array::Float32(e) => e.mapv(|v| T::from_float(v.into())).into_shared(),
        Array::Float64(e) => e.mapv(T::from_float).into_shared(),
        Array::Text(_) => unreachable!("texts are not promoted to numbers"),
    }
}

/// Truth of each element: not zero, not empty.
pub fn truth(array: &Array) -> Elements<bool> {
    match array {
        Array::Text(texts) => texts_of(array, texts).mapv(|text| !text.is_empty()).into_shared(),
        numbers => with_type!(
            numbers.dtype(),
            T => match T::unwrap(numbers) {
                Some(elements) => elements.mapv(|v| v.wide() != 0.0).into_shared(),
                None => unreachable!("the elements have the type of the array"),
            },
            text => unreachable!("texts are above")
        ),
    }
}
