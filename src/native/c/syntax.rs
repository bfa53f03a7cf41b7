//! Recipes in C.

use crate::native::c::constants::{float, integer, narrow, single};
use crate::native::c::locals::CType;
use crate::native::c::recipes::ctype;
use crate::native::syntax::Syntax;
use cembra_vm::strip::{BinaryOp, Comparison, Lane, List, Op, ShiftOp, Term, UnaryOp};

/// C11.
pub(super) struct CSyntax;

/// The same in loops over elements, where [`ZERO`] is declared.
pub(super) struct CLoopSyntax;

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

    fn operation(&self, list: &List, op: Op, lane: Lane, of: &dyn Fn(Term) -> String) -> String {
        match op {
            Op::Column(_) | Op::Scalar(_) | Op::Presence(_) | Op::Literal(_) => String::new(),
            Op::Unary(op, x) => unary(op, &of(x), lane),
            Op::Binary(op, x, y) => binary(op, &of(x), &of(y), lane),
            Op::Compare(comparison, x, y) => {
                let (x, y) = (of(x), of(y));
                match comparison {
                    Comparison::Unordered => format!("(__builtin_isunordered({x}, {y}) != 0)"),
                    other => format!("({x} {} {y})", sign(other)),
                }
            }
            Op::Select(mask, yes, no) => {
                format!("({} ? {} : {})", of(mask), of(yes), of(no))
            }
            Op::Shift(op, x, bits) => {
                let (x, width) = (of(x), if lane == Lane::I64 { 64 } else { 32 });
                match op {
                    ShiftOp::Left => format!("(int{width}_t)((uint{width}_t){x} << {bits})"),
                    ShiftOp::Right => format!("(int{width}_t)((uint{width}_t){x} >> {bits})"),
                    ShiftOp::RightSigned => format!("({x} >> {bits})"),
                }
            }
            Op::Fma(a, b, c) => {
                let function = if lane == Lane::F32 { "fmaf" } else { "fma" };
                format!("{function}({}, {}, {})", of(a), of(b), of(c))
            }
            Op::Cast(x) => cast(&of(x), list.lane(x), lane),
            Op::Bits(x) => match lane {
                Lane::F64 => format!("f64_of((uint64_t){})", of(x)),
                Lane::F32 => format!("f32_of((uint32_t){})", of(x)),
                Lane::I64 => format!("(int64_t)bits_f64({})", of(x)),
                _ => format!("(int32_t)bits_f32({})", of(x)),
            },
        }
    }
}

impl Syntax for CLoopSyntax {
    fn literal(&self, bits: u64, lane: Lane) -> String {
        CSyntax.literal(bits, lane)
    }

    fn declared(&self, name: &str, ctype: CType, value: &str) -> String {
        CSyntax.declared(name, ctype, value)
    }

    fn operation(&self, list: &List, op: Op, lane: Lane, of: &dyn Fn(Term) -> String) -> String {
        match op {
            Op::Cast(x) if list.lane(x).is_float() && matches!(lane, Lane::I64 | Lane::I32) => {
                format!("{}_in_loop({}, {ZERO})", ending(lane), of(x))
            }
            op => CSyntax.operation(list, op, lane, of),
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

/// The ending of helpers for a type.
fn ending(lane: Lane) -> &'static str {
    match lane {
        Lane::F64 => "f64",
        Lane::F32 => "f32",
        Lane::I64 => "i64",
        Lane::I32 | Lane::Mask => "i32",
    }
}

fn unary(op: UnaryOp, x: &str, lane: Lane) -> String {
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
        // Loops become vectors with this one, and not with the opposite of a number of one byte.
        UnaryOp::Not if lane == Lane::Mask => format!("({x} ^ 1)"),
        UnaryOp::Not => format!("(~{x})"),
    }
}

fn binary(op: BinaryOp, x: &str, y: &str, lane: Lane) -> String {
    let ending = ending(lane);
    match op {
        BinaryOp::Add if lane.is_float() => format!("({x} + {y})"),
        BinaryOp::Add => format!("add_{ending}({x}, {y})"),
        BinaryOp::Sub if lane.is_float() => format!("({x} - {y})"),
        BinaryOp::Sub => format!("sub_{ending}({x}, {y})"),
        BinaryOp::Mul if lane.is_float() => format!("({x} * {y})"),
        BinaryOp::Mul => format!("mul_{ending}({x}, {y})"),
        BinaryOp::MulLow => format!("mul_low({x}, {y})"),
        BinaryOp::Div => format!("({x} / {y})"),
        BinaryOp::Min => format!("min_{ending}({x}, {y})"),
        BinaryOp::Max => format!("max_{ending}({x}, {y})"),
        BinaryOp::And => format!("({x} & {y})"),
        BinaryOp::Or => format!("({x} | {y})"),
        BinaryOp::Xor => format!("({x} ^ {y})"),
        BinaryOp::AndNot if lane == Lane::Mask => format!("({x} & ({y} ^ 1))"),
        BinaryOp::AndNot => format!("({x} & ~{y})"),
    }
}

fn cast(x: &str, from: Lane, to: Lane) -> String {
    match to {
        Lane::I64 if from.is_float() => format!("i64_of_f64({x})"),
        Lane::I32 if from.is_float() => format!("i32_of_f64({x})"),
        Lane::I32 => format!("(int32_t)(uint32_t){x}"),
        to => format!("({}){x}", ctype(to).name()),
    }
}
