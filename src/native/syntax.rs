//! What languages write differently: literals, declarations, and the operations of recipes; and the walk over the latter that all share.

use crate::native::c::locals::CType;
use cembra_vm::strip::{BinaryOp, Comparison, Lane, List, Op, ShiftOp, Term, UnaryOp};

/// How a language writes what recipes consist of. Truths are numbers of one byte, 0 or 1.
pub(in crate::native) trait Syntax {
    /// A number of these bits.
    fn literal(&self, bits: u64, lane: Lane) -> String;

    /// The declaration of a local that does not change, with a blank behind it.
    fn declared(&self, name: &str, ctype: CType, value: &str) -> String;

    /// The truth of a condition.
    fn truth(&self, condition: &str) -> String;

    /// The condition that one of two numbers is NaN.
    fn unordered(&self, x: &str, y: &str) -> String;

    /// One of two numbers by a truth.
    fn select(&self, mask: &str, yes: &str, no: &str) -> String;

    /// An integer of so many bits, shifted.
    fn shift(&self, op: ShiftOp, x: &str, by: u8, width: u32) -> String;

    /// A product and a sum, rounded once.
    fn fma(&self, operands: [&str; 3], lane: Lane) -> String;

    /// A number as one of another type; a float that fits no integer is the nearest one, and NaN is 0.
    fn cast(&self, x: &str, from: Lane, to: Lane) -> String;

    /// The bits of a number as a number of another type.
    fn bits(&self, x: &str, to: Lane) -> String;

    /// An operation on one number that has no sign in common.
    fn unary(&self, op: UnaryOp, x: &str, lane: Lane) -> String;

    /// An operation on two numbers that has no sign in common.
    fn binary(&self, op: BinaryOp, x: &str, y: &str, lane: Lane) -> String;

    /// The expression of an operation on terms, whose own expressions the function gives.
    fn operation(&self, list: &List, op: Op, lane: Lane, of: &dyn Fn(Term) -> String) -> String {
        match op {
            Op::Column(_) | Op::Scalar(_) | Op::Presence(_) | Op::Literal(_) => String::new(),
            // Loops become vectors with this one, and not with the opposite of a number of one byte.
            Op::Unary(UnaryOp::Not, x) if lane == Lane::Mask => format!("({} ^ 1)", of(x)),
            Op::Unary(op, x) => self.unary(op, &of(x), lane),
            Op::Binary(op, x, y) => {
                let (x, y) = (of(x), of(y));
                match (sign_of(op, lane), op, lane) {
                    (Some(sign), ..) => format!("({x} {sign} {y})"),
                    (None, BinaryOp::AndNot, Lane::Mask) => format!("({x} & ({y} ^ 1))"),
                    _ => self.binary(op, &x, &y, lane),
                }
            }
            Op::Compare(comparison, x, y) => {
                let (x, y) = (of(x), of(y));
                self.truth(&match sign_of_comparison(comparison) {
                    Some(sign) => format!("{x} {sign} {y}"),
                    None => self.unordered(&x, &y),
                })
            }
            Op::Select(mask, yes, no) => self.select(&of(mask), &of(yes), &of(no)),
            Op::Shift(op, x, by) => self.shift(op, &of(x), by, if lane == Lane::I64 { 64 } else { 32 }),
            Op::Fma(a, b, c) => self.fma([&of(a), &of(b), &of(c)], lane),
            Op::Cast(x) => self.cast(&of(x), list.lane(x), lane),
            Op::Bits(x) => self.bits(&of(x), lane),
            Op::Running(..) => unreachable!("a recipe of one row knows of no others"),
        }
    }
}

/// The sign of an operation that all languages write alike.
fn sign_of(op: BinaryOp, lane: Lane) -> Option<&'static str> {
    Some(match op {
        BinaryOp::Add if lane.is_float() => "+",
        BinaryOp::Sub if lane.is_float() => "-",
        BinaryOp::Mul if lane.is_float() => "*",
        BinaryOp::Div => "/",
        BinaryOp::And => "&",
        BinaryOp::Or => "|",
        BinaryOp::Xor => "^",
        _ => return None,
    })
}

/// The sign of a comparison; `None` of the one that asks for NaN.
fn sign_of_comparison(comparison: Comparison) -> Option<&'static str> {
    Some(match comparison {
        Comparison::Equal => "==",
        Comparison::NotEqual => "!=",
        Comparison::Less => "<",
        Comparison::LessEqual => "<=",
        Comparison::Greater => ">",
        Comparison::GreaterEqual => ">=",
        Comparison::Unordered => return None,
    })
}
