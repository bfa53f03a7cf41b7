//! Recipes in Rust.

use crate::native::c::locals::CType;
use crate::native::c::recipes::{Lowered, ctype};
use crate::native::c::special::Special;
use crate::native::syntax::Syntax;
use cembra_vm::strip::{BinaryOp, Comparison, Lane, List, Op, ShiftOp, Term, UnaryOp};
use cembra_vm::value::{ScalarType, ScalarValue, Value};

/// Rust.
pub(super) struct RustSyntax;

/// The name of a type.
pub(super) fn type_name(ctype: CType) -> &'static str {
    match ctype {
        CType::U8 => "u8",
        CType::I32 => "i32",
        CType::I64 => "i64",
        CType::F32 => "f32",
        CType::F64 => "f64",
    }
}

/// The bits of a local, as an operand of an error.
pub(super) fn bits(ctype: CType, local: &str) -> String {
    match ctype {
        CType::F64 | CType::F32 => format!("{local}.to_bits() as u64"),
        _ => format!("{local} as u64"),
    }
}

/// The constants of the leaves of a literal.
pub(super) fn constants_of(value: &Value, constants: &mut Vec<String>) {
    let mut scalar = |scalar: &ScalarValue| {
        let lane = match scalar.scalar_type() {
            ScalarType::Int32 => Lane::I32,
            ScalarType::Int64 => Lane::I64,
            ScalarType::Float32 => Lane::F32,
            ScalarType::Float64 | ScalarType::WeakFloat => Lane::F64,
            _ => Lane::Mask,
        };
        let bits = scalar.plain_bits();
        constants.extend(bits.map(|bits| RustSyntax.literal(bits, lane)));
    };
    match value {
        Value::Scalar(value) => scalar(value),
        Value::Present(ScalarValue::Unit) => scalar(&ScalarValue::Boolean(true)),
        Value::Present(value) => {
            scalar(&ScalarValue::Boolean(true));
            scalar(value);
        }
        Value::Tuple(tuple) => tuple.fields().iter().for_each(|field| constants_of(field, constants)),
        Value::Missing(ScalarType::Unit) => constants.push(zero(CType::U8)),
        Value::Missing(of) => {
            constants.push(zero(CType::U8));
            constants.extend(CType::of(*of).map(zero));
        }
        _ => {}
    }
}

/// Zero of a type.
pub(super) fn zero(ctype: CType) -> String {
    let zero = if matches!(ctype, CType::F32 | CType::F64) { "0.0" } else { "0" };
    format!("{zero}{}", type_name(ctype))
}

/// A special function without rare arguments.
pub(super) fn special_function(special: &Special) -> String {
    let (list, recorded, names) = special.recorded();
    let lowered = Lowered::new(&RustSyntax, &list, std::iter::once(recorded.value), |number, _| {
        names[usize::from(number)].to_owned()
    });
    let ctype = type_name(special.ctype());
    let parameters: Vec<String> = names.iter().map(|name| format!("{name}: {ctype}")).collect();
    format!(
        "\n#[inline]\nfn {}({}) -> {ctype} {{\n    {}\n    {}\n}}\n",
        special.name(),
        parameters.join(", "),
        lowered.temporaries.trim_end(),
        lowered.of(recorded.value)
    )
}

impl Syntax for RustSyntax {
    fn literal(&self, bits: u64, lane: Lane) -> String {
        match lane {
            Lane::F64 => match f64::from_bits(bits) {
                x if x.is_finite() => format!("({x:?}f64)"),
                _ => format!("f64::from_bits({bits})"),
            },
            Lane::F32 => match f32::from_bits(bits as u32) {
                x if x.is_finite() => format!("({x:?}f32)"),
                _ => format!("f32::from_bits({})", bits as u32),
            },
            Lane::I64 => format!("({}i64)", bits as i64),
            Lane::I32 => format!("({}i32)", bits as i32),
            Lane::Mask => format!("{}u8", bits & 1),
        }
    }

    fn declared(&self, name: &str, ctype: CType, value: &str) -> String {
        format!("let {name}: {} = {value}; ", type_name(ctype))
    }

    fn operation(&self, list: &List, op: Op, lane: Lane, of: &dyn Fn(Term) -> String) -> String {
        match op {
            Op::Column(_) | Op::Scalar(_) | Op::Presence(_) | Op::Literal(_) => String::new(),
            Op::Unary(op, x) => unary(op, &of(x), lane),
            Op::Binary(op, x, y) => binary(op, &of(x), &of(y), lane),
            Op::Compare(comparison, x, y) => {
                let (x, y) = (of(x), of(y));
                match comparison {
                    Comparison::Unordered => format!("(({x} != {x} || {y} != {y}) as u8)"),
                    other => format!("(({x} {} {y}) as u8)", sign(other)),
                }
            }
            Op::Select(mask, yes, no) => {
                format!("(if {} != 0 {{ {} }} else {{ {} }})", of(mask), of(yes), of(no))
            }
            Op::Shift(op, x, bits) => {
                let (x, width) = (of(x), if lane == Lane::I64 { 64 } else { 32 });
                match op {
                    ShiftOp::Left => format!("({x} << {bits})"),
                    ShiftOp::Right => format!("(({x} as u{width} >> {bits}) as i{width})"),
                    ShiftOp::RightSigned => format!("({x} >> {bits})"),
                }
            }
            Op::Fma(a, b, c) => format!("{}.mul_add({}, {})", of(a), of(b), of(c)),
            Op::Cast(x) => {
                let (from, x) = (list.lane(x), of(x));
                // Casts of floats give the nearest integer that there is, and 0 for NaN.
                let wide = if from == Lane::F32 && !lane.is_float() { format!("({x} as f64)") } else { x };
                format!("({wide} as {})", type_name(ctype(lane)))
            }
            Op::Bits(x) => match lane {
                Lane::F64 => format!("f64::from_bits({} as u64)", of(x)),
                Lane::F32 => format!("f32::from_bits({} as u32)", of(x)),
                Lane::I64 => format!("({}.to_bits() as i64)", of(x)),
                _ => format!("({}.to_bits() as i32)", of(x)),
            },
        }
    }
}

fn sign(comparison: Comparison) -> &'static str {
    match comparison {
        Comparison::Equal => "==",
        Comparison::NotEqual | Comparison::Unordered => "!=",
        Comparison::Less => "<",
        Comparison::LessEqual => "<=",
        Comparison::Greater => ">",
        Comparison::GreaterEqual => ">=",
    }
}

fn unary(op: UnaryOp, x: &str, lane: Lane) -> String {
    match op {
        UnaryOp::Neg if lane.is_float() => format!("(-{x})"),
        UnaryOp::Neg => format!("{x}.wrapping_neg()"),
        UnaryOp::Abs if lane.is_float() => format!("{x}.abs()"),
        UnaryOp::Abs => format!("{x}.wrapping_abs()"),
        UnaryOp::Sqrt => format!("{x}.sqrt()"),
        UnaryOp::Floor => format!("{x}.floor()"),
        UnaryOp::Ceil => format!("{x}.ceil()"),
        UnaryOp::Trunc => format!("{x}.trunc()"),
        UnaryOp::Nearest => format!("{x}.round_ties_even()"),
        UnaryOp::Not if lane == Lane::Mask => format!("({x} ^ 1)"),
        UnaryOp::Not => format!("(!{x})"),
    }
}

fn binary(op: BinaryOp, x: &str, y: &str, lane: Lane) -> String {
    let is_float = lane.is_float();
    let ordered = |name: &str| match is_float {
        true => format!("{name}_{}({x}, {y})", type_name(ctype(lane))),
        false => format!("{x}.{name}({y})"),
    };
    match op {
        BinaryOp::Add if is_float => format!("({x} + {y})"),
        BinaryOp::Add => format!("{x}.wrapping_add({y})"),
        BinaryOp::Sub if is_float => format!("({x} - {y})"),
        BinaryOp::Sub => format!("{x}.wrapping_sub({y})"),
        BinaryOp::Mul if is_float => format!("({x} * {y})"),
        BinaryOp::Mul => format!("{x}.wrapping_mul({y})"),
        BinaryOp::MulLow => format!("(({x} as u32 as u64).wrapping_mul({y} as u32 as u64) as i64)"),
        BinaryOp::Div => format!("({x} / {y})"),
        BinaryOp::Min => ordered("min"),
        BinaryOp::Max => ordered("max"),
        BinaryOp::And => format!("({x} & {y})"),
        BinaryOp::Or => format!("({x} | {y})"),
        BinaryOp::Xor => format!("({x} ^ {y})"),
        BinaryOp::AndNot if lane == Lane::Mask => format!("({x} & ({y} ^ 1))"),
        BinaryOp::AndNot => format!("({x} & !{y})"),
    }
}
