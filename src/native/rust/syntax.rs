//! Recipes in Rust.

use crate::native::c::locals::CType;
use crate::native::c::recipes::{Lowered, ctype};
use crate::native::c::special::{ByTurns, Part, Special};
use crate::native::syntax::Syntax;
use cembra_vm::strip::{BinaryOp, Lane, ShiftOp, UnaryOp};
use cembra_vm::value::{ScalarType, ScalarValue, Value};
use cembra_vm::vector::math::domain::Domain;

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
        Value::ArrayShape(_, rows) => constants.push(RustSyntax.literal(*rows, Lane::I64)),
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

/// A special function, with the functions that it is made of.
pub(super) fn special_function(special: &Special) -> String {
    let mut text: String = special.parts().iter().map(in_rust).collect();
    if !special.has_rare() {
        return text;
    }
    let (name, ctype) = (special.name(), type_name(special.ctype()));
    let parameters = declared(special.ctype(), special.parameters());
    if let Some(ByTurns { function, angles: [first, second], value }) = special.by_turns() {
        text += &format!(
            "\n#[cold]\n#[inline(never)]\nfn {function}({parameters}) -> {ctype} {{\n    \
             let (first, second) = ({first}, {second});\n    {value}\n}}\n"
        );
    }
    let [usual, is_rare] = special.calls_of_parameters();
    let (rare, args) = (special.function_of_rare(), special.parameters().join(", "));
    let rare = match special.needs_angles() {
        true => format!("{rare}({args} as f64) as {ctype}"),
        false => format!("{rare}({args})"),
    };
    text + &format!(
        "\n#[inline]\nfn {name}({parameters}) -> {ctype} {{\n    \
         if {is_rare} != 0 {{ {rare} }} else {{ {usual} }}\n}}\n"
    )
}

/// A function that was recorded.
fn in_rust(part: &Part) -> String {
    let lowered = Lowered::new(&RustSyntax, &part.list, std::iter::once(part.value), |number, _| {
        part.parameters[usize::from(number)].to_owned()
    });
    format!(
        "\n#[inline]\nfn {}({}) -> {} {{\n    {}\n    {}\n}}\n",
        part.name,
        declared(part.of, part.parameters),
        type_name(part.gives),
        lowered.temporaries.trim_end(),
        lowered.of(part.value)
    )
}

/// Parameters of one type.
fn declared(ctype: CType, names: &[&str]) -> String {
    let parameters: Vec<String> = names.iter().map(|name| format!("{name}: {}", type_name(ctype))).collect();
    parameters.join(", ")
}

/// The condition that a float is in a domain: a truth.
pub(super) fn inside(domain: Domain, special: &Special, x: &str) -> String {
    let (list, mask) = special.recorded_domain(domain);
    let lowered = Lowered::new(&RustSyntax, &list, std::iter::once(mask), |_, _| x.to_owned());
    format!("{{ {}{} }}", lowered.temporaries, lowered.of(mask))
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

    fn truth(&self, condition: &str) -> String {
        format!("(({condition}) as u8)")
    }

    fn unordered(&self, x: &str, y: &str) -> String {
        format!("{x} != {x} || {y} != {y}")
    }

    fn select(&self, mask: &str, yes: &str, no: &str) -> String {
        format!("(if {mask} != 0 {{ {yes} }} else {{ {no} }})")
    }

    fn shift(&self, op: ShiftOp, x: &str, by: u8, width: u32) -> String {
        match op {
            ShiftOp::Left => format!("({x} << {by})"),
            ShiftOp::Right => format!("(({x} as u{width} >> {by}) as i{width})"),
            ShiftOp::RightSigned => format!("({x} >> {by})"),
        }
    }

    fn fma(&self, [a, b, c]: [&str; 3], _: Lane) -> String {
        format!("{a}.mul_add({b}, {c})")
    }

    fn cast(&self, x: &str, from: Lane, to: Lane) -> String {
        // Casts of floats give the nearest integer that there is, and 0 for NaN.
        let is_wide = from == Lane::F32 && !to.is_float();
        let wide = if is_wide { format!("({x} as f64)") } else { x.to_owned() };
        format!("({wide} as {})", type_name(ctype(to)))
    }

    fn bits(&self, x: &str, to: Lane) -> String {
        match to {
            Lane::F64 => format!("f64::from_bits({x} as u64)"),
            Lane::F32 => format!("f32::from_bits({x} as u32)"),
            Lane::I64 => format!("({x}.to_bits() as i64)"),
            _ => format!("({x}.to_bits() as i32)"),
        }
    }

    fn unary(&self, op: UnaryOp, x: &str, lane: Lane) -> String {
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
            UnaryOp::Not => format!("(!{x})"),
        }
    }

    fn binary(&self, op: BinaryOp, x: &str, y: &str, lane: Lane) -> String {
        let method = match op {
            BinaryOp::MulLow => {
                return format!("(({x} as u32 as u64).wrapping_mul({y} as u32 as u64) as i64)");
            }
            BinaryOp::AndNot => return format!("({x} & !{y})"),
            BinaryOp::Min => "min",
            BinaryOp::Max => "max",
            BinaryOp::Sub => "wrapping_sub",
            BinaryOp::Mul => "wrapping_mul",
            _ => "wrapping_add",
        };
        match lane.is_float() {
            true => format!("{method}_{}({x}, {y})", type_name(ctype(lane))),
            false => format!("{x}.{method}({y})"),
        }
    }
}
