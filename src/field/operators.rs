//! The operator of the machine for each operation on elements.

use crate::field::expression::{FieldBinary, FieldUnary};
use cembra_vm::builtins::{bools, casts, math, trig, unsigned};
use cembra_vm::value::ScalarType;

/// None of what is made of several.
pub(super) fn unary_operator(op: FieldUnary) -> Option<&'static str> {
    Some(match op {
        FieldUnary::Neg => math::NEG,
        FieldUnary::Abs => math::ABS,
        FieldUnary::Sqrt => math::SQRT,
        FieldUnary::Exp => math::EXP,
        FieldUnary::Log => math::LOG,
        FieldUnary::Tanh => trig::TANH,
        FieldUnary::Sin => trig::SIN,
        FieldUnary::Cos => trig::COS,
        FieldUnary::Tan => trig::TAN,
        FieldUnary::Arcsin => trig::ASIN,
        FieldUnary::Arccos => trig::ACOS,
        FieldUnary::Arctan => trig::ATAN,
        FieldUnary::Sinh => trig::SINH,
        FieldUnary::Cosh => trig::COSH,
        FieldUnary::Arcsinh => "math.trig.asinh",
        FieldUnary::Arccosh => "math.trig.acosh",
        FieldUnary::Arctanh => "math.trig.atanh",
        FieldUnary::Cbrt => "math.cbrt",
        FieldUnary::Floor => math::FLOOR,
        FieldUnary::Ceil => math::CEIL,
        FieldUnary::Trunc => "math.trunc",
        FieldUnary::Not => bools::LOGICAL_NOT,
        FieldUnary::IsNan | FieldUnary::IsInf | FieldUnary::IsFinite | FieldUnary::Gamma => return None,
    })
}

pub(super) fn binary_operator(op: FieldBinary) -> &'static str {
    match op {
        FieldBinary::Add => math::ADD,
        FieldBinary::Sub => math::SUBTRACT,
        FieldBinary::Mul => math::MULTIPLY,
        FieldBinary::Div => math::DIVIDE,
        FieldBinary::FloorDiv => math::FLOORDIV,
        FieldBinary::Mod => math::MOD,
        FieldBinary::Pow => math::POW,
        FieldBinary::Min => math::MINIMUM,
        FieldBinary::Max => math::MAXIMUM,
        FieldBinary::Fmod => "math.fmod",
        FieldBinary::Lt => bools::LESS,
        FieldBinary::Le => bools::LESS_EQUAL,
        FieldBinary::Gt => "bool.greater",
        FieldBinary::Ge => "bool.greater_equal",
        FieldBinary::Eq => bools::EQUAL,
        FieldBinary::Ne | FieldBinary::Xor => bools::NOT_EQUAL,
        FieldBinary::And => bools::LOGICAL_AND,
        FieldBinary::Or => bools::LOGICAL_OR,
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
