//! Recipes in C.

use crate::native::c::constants::{float, integer, narrow, single};
use crate::native::c::locals::CType;
use crate::native::c::recipes::ctype;
use crate::native::syntax::Syntax;
use cembra_vm::strip::{BinaryOp, Lane, ShiftOp, UnaryOp};

/// C11.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CSyntax {
    /// In statements.
    Statement,
    /// In loops over elements, where [`ZERO`] is declared.
    Loop,
}

/// The name of a number that is 0, which the compiler does not know. Added to an integer made of a float it keeps gcc from taking
/// that, as a float again, for the float without its fraction, whose zero has a sign; loops become vectors with it.
pub(super) const ZERO: &str = "cembra_zero";

impl Syntax for CSyntax {
    fn literal(&self, bits: u64, lane: Lane) -> String {
        match lane {
            Lane::F64 => float(f64::from_bits(bits)),
            Lane::F32 => single(f32::from_bits(bits as u32)),
            Lane::I64 => integer(bits as i64),
            Lane::I32 => narrow(bits as i32),
            Lane::Mask => (bits & 1).to_string(),
        }
    }

    fn declared(&self, name: &str, ctype: CType, value: &str) -> String {
        format!("{} {name} = {value}; ", ctype.name())
    }

    fn truth(&self, condition: &str) -> String {
        format!("({condition})")
    }

    fn unordered(&self, x: &str, y: &str) -> String {
        format!("__builtin_isunordered({x}, {y}) != 0")
    }

    fn select(&self, mask: &str, yes: &str, no: &str) -> String {
        format!("({mask} ? {yes} : {no})")
    }

    fn shift(&self, op: ShiftOp, x: &str, by: u8, width: u32) -> String {
        match op {
            ShiftOp::Left => format!("(int{width}_t)((uint{width}_t){x} << {by})"),
            ShiftOp::Right => format!("(int{width}_t)((uint{width}_t){x} >> {by})"),
            ShiftOp::RightSigned => format!("({x} >> {by})"),
        }
    }

    fn fma(&self, [a, b, c]: [&str; 3], lane: Lane) -> String {
        let function = if lane == Lane::F32 { "fmaf" } else { "fma" };
        format!("{function}({a}, {b}, {c})")
    }

    fn cast(&self, x: &str, from: Lane, to: Lane) -> String {
        match to {
            Lane::I64 | Lane::I32 if from.is_float() && *self == CSyntax::Loop => {
                format!("{}_in_loop({x}, {ZERO})", ending(to))
            }
            Lane::I64 if from.is_float() => format!("i64_of_f64({x})"),
            Lane::I32 if from.is_float() => format!("i32_of_f64({x})"),
            Lane::I32 => format!("(int32_t)(uint32_t){x}"),
            to => format!("({}){x}", ctype(to).name()),
        }
    }

    fn bits(&self, x: &str, to: Lane) -> String {
        match to {
            Lane::F64 => format!("f64_of((uint64_t){x})"),
            Lane::F32 => format!("f32_of((uint32_t){x})"),
            Lane::I64 => format!("(int64_t)bits_f64({x})"),
            _ => format!("(int32_t)bits_f32({x})"),
        }
    }

    fn unary(&self, op: UnaryOp, x: &str, lane: Lane) -> String {
        // The functions of FLOAT32 end with f.
        let function = |name: &str| format!("{name}{}({x})", if lane == Lane::F32 { "f" } else { "" });
        match op {
            UnaryOp::Neg if lane.is_float() => format!("(- {x})"),
            UnaryOp::Neg => format!("neg_{}({x})", ending(lane)),
            UnaryOp::Abs if lane.is_float() => function("fabs"),
            UnaryOp::Abs => format!("abs_{}({x})", ending(lane)),
            UnaryOp::Sqrt => function("sqrt"),
            UnaryOp::Floor => function("floor"),
            UnaryOp::Ceil => function("ceil"),
            UnaryOp::Trunc => function("trunc"),
            UnaryOp::Nearest => function("rint"),
            UnaryOp::Not => format!("(~{x})"),
        }
    }

    fn binary(&self, op: BinaryOp, x: &str, y: &str, lane: Lane) -> String {
        let function = match op {
            BinaryOp::MulLow => return format!("mul_low({x}, {y})"),
            BinaryOp::AndNot => return format!("({x} & ~{y})"),
            BinaryOp::Sub => "sub",
            BinaryOp::Mul => "mul",
            BinaryOp::Min => "min",
            BinaryOp::Max => "max",
            _ => "add",
        };
        format!("{function}_{}({x}, {y})", ending(lane))
    }
}

/// The ending of helpers for a type.
fn ending(lane: Lane) -> &'static str {
    match lane {
        Lane::F64 => "f64",
        Lane::F32 => "f32",
        Lane::I64 => "i64",
        Lane::I32 | Lane::Mask => "i32",
    }
}
