//! Types of results: numpy's promotion, where scalars of the graph count as arrays.
//!
//! ```text
//! bool < int8 < int32 < int64        float16 < float32 < float64
//! an integer beside a float: the smallest float that holds both without loss, int64 counts as float64
//! ```
//!
//! Types follow from types alone, so that a backend can know those of all nodes before it computes any.

use crate::dag::array::DType;

/// The type of a result of operands of both types; nothing for numbers beside texts.
pub fn promote(left: DType, right: DType) -> Option<DType> {
    use DType::*;
    let (small, large) = if left <= right { (left, right) } else { (right, left) };
    Some(match (small, large) {
        (Text(l), Text(r)) => Text(l.max(r)),
        (_, Text(_)) => return None,
        (Int32 | Int64, Float16) | (Int32 | Int64, Float32) => Float64,
        (_, large) => large,
    })
}

/// The type of a result of floats where operands are of a type: integers count as float64.
pub fn divided(dtype: DType) -> DType {
    if dtype.is_float() { dtype } else { DType::Float64 }
}

/// The type of `exp` and `log`: the smallest float that holds the operand.
pub fn transcendental(dtype: DType) -> DType {
    match dtype {
        DType::Bool | DType::Int8 => DType::Float16,
        other => divided(other),
    }
}

/// The type of sums and products: integers count in int64.
pub fn summed(dtype: DType) -> DType {
    match dtype {
        DType::Bool | DType::Int8 | DType::Int32 => DType::Int64,
        other => other,
    }
}
