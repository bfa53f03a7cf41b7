//! Rules: operators whose text in C is kept by hand, in `prelude.c`. All others that have a form in C have a recipe.

use cembra_vm::builtins::bitwise::COUNT;
use cembra_vm::builtins::math::{FLOORDIV, LOG_SIGMOID, LOGIT, MOD, SIGMOID, SYMLOG1P};
use cembra_vm::builtins::python::GAMMA;
use cembra_vm::builtins::{casts, unsigned};
use cembra_vm::library::BoundaryArray;
use cembra_vm::operator::Overload;
use cembra_vm::value::{QType, ScalarType};

/// How a function of C gives what it computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::native) enum Gives {
    /// As its value.
    Value,
    /// Through its last parameter; its value is a category, or 0.
    ValueOrCategory,
}

use Gives::{Value, ValueOrCategory};

/// The operator, the types of its operands (I: INT64, i: INT32, F: FLOAT64, f: FLOAT32), the function.
const RULES: [(&str, &str, &str, Gives); 83] = [
    (FLOORDIV, "II", "math_floordiv_i64", ValueOrCategory),
    (FLOORDIV, "ii", "math_floordiv_i32", ValueOrCategory),
    (MOD, "II", "math_mod_i64", ValueOrCategory),
    (MOD, "ii", "math_mod_i32", ValueOrCategory),
    (FLOORDIV, "FF", "math_floordiv_f64", ValueOrCategory),
    (FLOORDIV, "ff", "math_floordiv_f32", ValueOrCategory),
    (MOD, "FF", "math_mod_f64", ValueOrCategory),
    (MOD, "ff", "math_mod_f32", ValueOrCategory),
    ("core._to_int64", "F", "to_int64_f64", ValueOrCategory),
    ("core._to_int64", "f", "to_int64_f32", ValueOrCategory),
    ("core._to_int32", "F", "to_int32_f64", ValueOrCategory),
    ("core._to_int32", "f", "to_int32_f32", ValueOrCategory),
    ("core._to_int32", "I", "to_int32_i64", ValueOrCategory),
    (casts::TO_INT8, "I", "to_int8_i64", ValueOrCategory),
    (casts::TO_INT16, "I", "to_int16_i64", ValueOrCategory),
    (casts::TO_UINT8, "I", "to_uint8_i64", ValueOrCategory),
    (casts::TO_UINT16, "I", "to_uint16_i64", ValueOrCategory),
    (casts::TO_UINT32, "I", "to_uint32_i64", ValueOrCategory),
    (casts::TO_UINT64, "I", "to_uint64_i64", ValueOrCategory),
    (casts::TO_UINT64, "F", "to_uint64_f64", ValueOrCategory),
    (casts::TO_UINT64, "f", "to_uint64_f32", ValueOrCategory),
    (unsigned::TO_INT64, "I", "unsigned_to_int64", ValueOrCategory),
    (unsigned::TO_FLOAT64, "I", "unsigned_to_float64", Value),
    (unsigned::TO_FLOAT32, "I", "unsigned_to_float32", Value),
    (unsigned::FLOORDIV, "II", "unsigned_floordiv", ValueOrCategory),
    (unsigned::MOD, "II", "unsigned_mod", ValueOrCategory),
    ("math.fmod", "FF", "fmod_f64", Value),
    ("math.fmod", "ff", "fmod_f32", Value),
    (COUNT, "I", "count_bits_i64", Value),
    (COUNT, "i", "count_bits_i32", Value),
    (SIGMOID, "FFF", "sigmoid_f64", Value),
    (SIGMOID, "fff", "sigmoid_f32", Value),
    (LOG_SIGMOID, "F", "log_sigmoid_f64", Value),
    (LOG_SIGMOID, "f", "log_sigmoid_f32", Value),
    (LOGIT, "F", "logit_f64", Value),
    (LOGIT, "f", "logit_f32", Value),
    (SYMLOG1P, "F", "symlog1p_f64", Value),
    (SYMLOG1P, "f", "symlog1p_f32", Value),
    ("python.add", "II", "python_add", ValueOrCategory),
    ("python.subtract", "II", "python_subtract", ValueOrCategory),
    ("python.multiply", "II", "python_multiply", ValueOrCategory),
    ("python.neg", "I", "python_neg", ValueOrCategory),
    ("python.abs", "I", "python_abs", ValueOrCategory),
    ("python.shift_left", "II", "python_shift_left", ValueOrCategory),
    ("python.shift_right", "II", "python_shift_right", ValueOrCategory),
    ("python.wrapping_shift_left", "II", "python_wrapping_shift_left", Value),
    ("python.wrapping_shift_right", "II", "python_wrapping_shift_right", Value),
    ("python.index", "II", "python_index", ValueOrCategory),
    ("python.slice_bound", "III", "python_slice_bound", Value),
    ("python.floordiv", "II", "python_floordiv", ValueOrCategory),
    ("python.wrapping_floordiv", "II", "python_wrapping_floordiv", ValueOrCategory),
    ("python.mod", "II", "python_mod", ValueOrCategory),
    ("python.divide", "II", "python_divide_i64", ValueOrCategory),
    ("python.pow", "II", "python_pow_i64", ValueOrCategory),
    ("python.wrapping_pow", "II", "python_wrapping_pow", ValueOrCategory),
    ("python.pow_modulo", "III", "python_pow_modulo", ValueOrCategory),
    ("python.round_digits", "FI", "python_round_digits_f64", ValueOrCategory),
    ("python.round_digits", "II", "python_round_digits_i64", ValueOrCategory),
    ("python.gcd", "II", "python_gcd", ValueOrCategory),
    ("python.isqrt", "I", "python_isqrt", ValueOrCategory),
    ("python.range_count", "III", "python_range_count", ValueOrCategory),
    ("python.divide", "FF", "python_divide_f64", ValueOrCategory),
    ("python.floordiv", "FF", "python_floordiv_f64", ValueOrCategory),
    ("python.mod", "FF", "python_mod_f64", ValueOrCategory),
    ("python.to_int", "F", "python_to_int", ValueOrCategory),
    ("python.floor", "F", "python_floor", ValueOrCategory),
    ("python.ceil", "F", "python_ceil", ValueOrCategory),
    ("python.round", "F", "python_round", ValueOrCategory),
    ("python.sqrt", "F", "python_sqrt", ValueOrCategory),
    ("python.fmod", "FF", "python_fmod", ValueOrCategory),
    (GAMMA, "F", "python_gamma", ValueOrCategory),
    ("python.equal", "IF", "python_equal_if", Value),
    ("python.not_equal", "IF", "python_not_equal_if", Value),
    ("python.less", "IF", "python_less_if", Value),
    ("python.less_equal", "IF", "python_less_equal_if", Value),
    ("python.greater", "IF", "python_greater_if", Value),
    ("python.greater_equal", "IF", "python_greater_equal_if", Value),
    ("python.equal", "FI", "python_equal_fi", Value),
    ("python.not_equal", "FI", "python_not_equal_fi", Value),
    ("python.less", "FI", "python_less_fi", Value),
    ("python.less_equal", "FI", "python_less_equal_fi", Value),
    ("python.greater", "FI", "python_greater_fi", Value),
    ("python.greater_equal", "FI", "python_greater_equal_fi", Value),
];

/// True for an operator whose function goes by the digits of a number.
pub(in crate::native) fn needs_decimals(overload: &Overload) -> bool {
    rule(overload).is_some_and(|(function, _)| function.starts_with("python_round_digits"))
}

/// The function of C for an operator on plain values.
pub(in crate::native) fn rule(overload: &Overload) -> Option<(&'static str, Gives)> {
    let plain = |qtype: &QType| match qtype {
        QType::Scalar(scalar) => Some(*scalar),
        _ => None,
    };
    function_of(overload, plain)
}

/// The function of a quotient of floats, which has a value where it refuses a divisor; `None` of other operators.
pub(super) fn speculated_quotient(overload: &Overload) -> Option<&'static str> {
    rule(overload).map(|(function, _)| function).filter(|function| *function == "python_divide_f64")
}

/// The function of C for an operator on plain values of which some may be missing: of those behind them.
pub(in crate::native) fn optional_rule(overload: &Overload) -> Option<(&'static str, Gives)> {
    let is_of_python = overload.name().starts_with("python.");
    (overload.result().is_optional() && !is_of_python).then(|| function_of(overload, QType::scalar))?
}

/// The function of C for an element of an operator on arrays. One that gives a category gives a value as well, always.
pub(in crate::native) fn element_rule(overload: &Overload) -> Option<(&'static str, Gives)> {
    BoundaryArray::of(overload.result())?;
    let element = |qtype: &QType| qtype.scalar_inside();
    function_of(overload, element)
}

fn function_of(
    overload: &Overload,
    scalar: impl Fn(&QType) -> Option<ScalarType>,
) -> Option<(&'static str, Gives)> {
    let letter = |scalar| match scalar {
        ScalarType::Int64 => Some('I'),
        ScalarType::Int32 => Some('i'),
        ScalarType::Float64 => Some('F'),
        ScalarType::Float32 => Some('f'),
        _ => None,
    };
    let result = scalar(overload.result())?;
    letter(result).or((result == ScalarType::Boolean).then_some('B'))?;
    let types: String = overload.args().iter().map(|qtype| letter(scalar(qtype)?)).collect::<Option<_>>()?;
    let found = RULES.iter().find(|(name, of, ..)| *name == &**overload.name() && *of == types)?;
    Some((found.2, found.3))
}
