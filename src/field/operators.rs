//! The operator of the machine for each operation on elements.

use crate::field::expression::{FieldBinary, FieldUnary};
use cembra_vm::builtins::{casts, unsigned};
use cembra_vm::value::ScalarType;

pub(super) fn unary_operator(op: FieldUnary) -> &'static str {
    match op {
        FieldUnary::Neg => "math.neg",
        FieldUnary::Abs => "math.abs",
        FieldUnary::Sqrt => "math.sqrt",
        FieldUnary::Exp => "math.exp",
        FieldUnary::Log => "math.log",
        FieldUnary::Tanh => "math.trig.tanh",
        FieldUnary::Sin => "math.trig.sin",
        FieldUnary::Cos => "math.trig.cos",
        FieldUnary::Floor => "math.floor",
        FieldUnary::Not => "bool.logical_not",
    }
}

pub(super) fn binary_operator(op: FieldBinary) -> &'static str {
    match op {
        FieldBinary::Add => "math.add",
        FieldBinary::Sub => "math.subtract",
        FieldBinary::Mul => "math.multiply",
        FieldBinary::Div => "math.divide",
        FieldBinary::FloorDiv => "math.floordiv",
        FieldBinary::Mod => "math.mod",
        FieldBinary::Pow => "math.pow",
        FieldBinary::Min => "math.minimum",
        FieldBinary::Max => "math.maximum",
        FieldBinary::Fmod => "math.fmod",
        FieldBinary::Lt => "bool.less",
        FieldBinary::Le => "bool.less_equal",
        FieldBinary::Gt => "bool.greater",
        FieldBinary::Ge => "bool.greater_equal",
        FieldBinary::Eq => "bool.equal",
        FieldBinary::Ne | FieldBinary::Xor => "bool.not_equal",
        FieldBinary::And => "bool.logical_and",
        FieldBinary::Or => "bool.logical_or",
    }
}

/// The operator that casts to a type of the machine.
pub(super) fn cast_operator(dtype: ScalarType) -> &'static str {
    match dtype {
        ScalarType::Boolean => "core.to_bool",
        ScalarType::Int32 => "core._to_int32",
        ScalarType::Int64 => "core._to_int64",
        ScalarType::Float32 => "core._to_float32",
        _ => "core.to_float64",
    }
}

/// The operator that makes an INT64 a number of a narrow type, and raises if it is none.
pub(super) fn narrow_operator(dtype: ScalarType) -> Option<&'static str> {
    Some(match dtype {
        ScalarType::Int8 => casts::TO_INT8,
        ScalarType::Int16 => casts::TO_INT16,
        ScalarType::Uint8 => casts::TO_UINT8,
        ScalarType::Uint16 => casts::TO_UINT16,
        ScalarType::Uint32 => casts::TO_UINT32,
        ScalarType::Uint64 => casts::TO_UINT64,
        _ => return None,
    })
}

/// The operator of two UINT64, if it is not that of INT64 and does not go by their order.
pub(super) fn unsigned_operator(op: FieldBinary) -> Option<&'static str> {
    match op {
        FieldBinary::FloorDiv => Some(unsigned::FLOORDIV),
        FieldBinary::Mod => Some(unsigned::MOD),
        _ => None,
    }
}
