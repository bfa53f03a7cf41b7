//! `bitwise.*`: operations on the bits of integers.

use crate::builtins::recipes;
use crate::operator::Family;
use crate::operator::fusible::{Fusible, IntegerOp};
use crate::strip::BinaryOp;

/// Name of `bitwise.bitwise_and`.
pub const AND: &str = "bitwise.bitwise_and";
/// Name of `bitwise.bitwise_xor`.
pub const XOR: &str = "bitwise.bitwise_xor";
/// Name of `bitwise.count`.
pub const COUNT: &str = "bitwise.count";

/// The rows of this namespace.
pub fn rows() -> Vec<Family> {
    vec![
        Family::new(AND, &["x", "y"], "Bits set in both.")
            .cells(|l, x| Some(l.binary(BinaryOp::And, x[0], x[1])))
            .binary(|x: i32, y: i32| x & y)
            .fusible(Fusible::Integer(IntegerOp::And))
            .hot_binary(|x: i64, y: i64| x & y),
        Family::new("bitwise.bitwise_or", &["x", "y"], "Bits set in one or both.")
            .cells(|l, x| Some(l.binary(BinaryOp::Or, x[0], x[1])))
            .binary(|x: i32, y: i32| x | y)
            .binary(|x: i64, y: i64| x | y),
        Family::new(XOR, &["x", "y"], "Bits set in exactly one.")
            .cells(|l, x| Some(l.binary(BinaryOp::Xor, x[0], x[1])))
            .binary(|x: i32, y: i32| x ^ y)
            .binary(|x: i64, y: i64| x ^ y),
        Family::new("bitwise.invert", &["x"], "Every bit flipped.")
            .cells(|l, x| Some(l.not(x[0])))
            .unary(|x: i32| !x)
            .unary(|x: i64| !x),
        Family::new(COUNT, &["x"], "Number of bits set, as INT32.")
            .cells(|l, x| Some(recipes::bits_set(l, x[0])))
            .unary(|x: i32| x.count_ones() as i32)
            .unary(|x: i64| x.count_ones() as i32),
    ]
}
