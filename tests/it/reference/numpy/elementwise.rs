//! Element-wise operations, with numpy's rules, one element after the other.
//!
//! - Arithmetic works in the promoted type. Integers wrap; `divide` of integers is float64.
//! - Truth values add by `or`, multiply by `and`, have the power int8, and do not subtract.
//! - Comparisons and logic give truth values; a NaN equals nothing.
//! - Texts compare by code point, and add by concatenation.

use super::promote::{Promoted, cast, truth, with_type};
use super::{shape_of, texts_of, zip};
use cembra::backend::OpError;
use cembra::dag::array::{Element, TextArray};
use cembra::dag::kind::{BinaryOp, UnaryOp};
use cembra::dag::promotion::{divided, promote, transcendental};
use cembra::dag::{Array, DType};
use cembra::vm::vector::float::Float;
use half::f16;
use std::cmp::Ordering;

/// A function of each element.
///
/// # Errors
/// It is not defined for the type.
pub fn unary(op: UnaryOp, operand: &Array) -> Result<Array, OpError> {
    let dtype = operand.dtype();
    let not_defined = || OpError::NotDefined { operation: op.numpy_name(), dtypes: vec![dtype] };
    match op {
        UnaryOp::LogicalNot => Ok(Array::Bool(truth(operand).mapv(|v| !v).into_shared())),
        UnaryOp::Negate if dtype == DType::Bool => Err(not_defined()),
        UnaryOp::Negate => with_type!(
            dtype,
            T => Ok(T::wrap(cast::<T>(operand).mapv(Number::negate).into_shared())),
            text => Err(not_defined())
        ),
        UnaryOp::Exp | UnaryOp::Log if dtype.is_text() => Err(not_defined()),
        UnaryOp::Exp | UnaryOp::Log => Ok(match transcendental(dtype) {
            DType::Float16 => real::<f16>(op, operand),
            DType::Float32 => real::<f32>(op, operand),
            _ => real::<f64>(op, operand),
        }),
    }
}

/// An exponential or a logarithm in a type of floats.
fn real<T: Real>(op: UnaryOp, operand: &Array) -> Array {
    let function = if op == UnaryOp::Exp { T::exponential } else { T::logarithm };
    T::wrap(cast::<T>(operand).mapv(function).into_shared())
}

/// A function of each pair of elements.
///
/// # Errors
/// It is not defined for the types, the shapes do not broadcast, or an integer has a negative power.
pub fn binary(op: BinaryOp, left: &Array, right: &Array) -> Result<Array, OpError> {
    match op {
        BinaryOp::LogicalAnd => logic(left, right, |l, r| l && r),
        BinaryOp::LogicalOr => logic(left, right, |l, r| l || r),
        BinaryOp::LogicalXor => logic(left, right, |l, r| l != r),
        BinaryOp::Equal => compare(op, left, right, Ordering::is_eq),
        BinaryOp::NotEqual => compare(op, left, right, Ordering::is_ne),
        BinaryOp::Less => compare(op, left, right, Ordering::is_lt),
        BinaryOp::LessEqual => compare(op, left, right, Ordering::is_le),
        BinaryOp::Greater => compare(op, left, right, Ordering::is_gt),
        BinaryOp::GreaterEqual => compare(op, left, right, Ordering::is_ge),
        BinaryOp::Add
        | BinaryOp::Subtract
        | BinaryOp::Multiply
        | BinaryOp::Divide
        | BinaryOp::Power
        | BinaryOp::Maximum => arithmetic(op, left, right),
    }
}

fn logic(left: &Array, right: &Array, function: fn(bool, bool) -> bool) -> Result<Array, OpError> {
    Ok(Array::Bool(zip(&truth(left), &truth(right), function)?))
}

fn not_defined(op: BinaryOp, left: &Array, right: &Array) -> OpError {
    OpError::NotDefined { operation: op.numpy_name(), dtypes: vec![left.dtype(), right.dtype()] }
}

fn compare(op: BinaryOp, left: &Array, right: &Array, holds: fn(Ordering) -> bool) -> Result<Array, OpError> {
    if let (Array::Text(l), Array::Text(r)) = (left, right) {
        let pair = |l: String, r: String| holds(l.cmp(&r));
        return Ok(Array::Bool(zip(&texts_of(left, l), &texts_of(right, r), pair)?));
    }
    let dtype = promote(left.dtype(), right.dtype()).ok_or_else(|| not_defined(op, left, right))?;
    // Only `not_equal` holds beside a NaN.
    let unordered = op == BinaryOp::NotEqual;
    with_type!(
        dtype,
        T => {
            let pair = |l: T, r: T| l.partial_cmp(&r).map_or(unordered, holds);
            Ok(Array::Bool(zip(&cast::<T>(left), &cast::<T>(right), pair)?))
        },
        text => Err(not_defined(op, left, right))
    )
}

fn arithmetic(op: BinaryOp, left: &Array, right: &Array) -> Result<Array, OpError> {
    let undefined = || not_defined(op, left, right);
    if let (Array::Text(l), Array::Text(r)) = (left, right) {
        return if op == BinaryOp::Add { concatenate([left, right], [l, r]) } else { Err(undefined()) };
    }
    let dtype = promote(left.dtype(), right.dtype()).ok_or_else(undefined)?;
    let dtype = match (op, dtype) {
        (BinaryOp::Subtract, DType::Bool) => return Err(undefined()),
        (BinaryOp::Divide, dtype) => divided(dtype),
        (BinaryOp::Power, DType::Bool) => DType::Int8,
        (_, dtype) => dtype,
    };
    with_type!(
        dtype,
        T => {
            let (l, r) = (cast::<T>(left), cast::<T>(right));
            let result = match op {
                BinaryOp::Add => zip(&l, &r, T::plus),
                BinaryOp::Subtract => zip(&l, &r, T::minus),
                BinaryOp::Multiply => zip(&l, &r, T::times),
                BinaryOp::Divide => zip(&l, &r, T::over),
                BinaryOp::Maximum => zip(&l, &r, T::larger),
                _ => {
                    let is_read = !shape_of(&[left, right])?.contains(&0);
                    if is_read && r.iter().any(|exponent| exponent.is_forbidden_exponent()) {
                        return Err(OpError::NegativePower);
                    }
                    zip(&l, &r, T::power)
                }
            };
            Ok(T::wrap(result?))
        },
        text => Err(undefined())
    )
}

/// Each pair of texts as one.
fn concatenate([left, right]: [&Array; 2], [l, r]: [&TextArray; 2]) -> Result<Array, OpError> {
    let joined = zip(&texts_of(left, l), &texts_of(right, r), |l, r| l + &r)?;
    let (DType::Text(l), DType::Text(r)) = (left.dtype(), right.dtype()) else {
        unreachable!("both are texts")
    };
    let texts: Vec<&String> = joined.iter().collect();
    Ok(Array::Text(TextArray::new(&texts, joined.shape(), l + r).expect("as many texts as pairs")))
}

/// Numbers and truth values with numpy's arithmetic.
pub(crate) trait Number: Promoted + PartialOrd {
    fn plus(self, other: Self) -> Self;
    fn minus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
    fn over(self, other: Self) -> Self;
    fn larger(self, other: Self) -> Self;
    fn power(self, exponent: Self) -> Self;
    fn negate(self) -> Self;
    fn is_forbidden_exponent(&self) -> bool;
}

/// Floats with the functions of the one mathematics library.
pub(crate) trait Real: Number {
    fn exponential(self) -> Self;
    fn logarithm(self) -> Self;
}

impl Number for bool {
    fn plus(self, other: bool) -> bool {
        self | other
    }
    fn minus(self, _: bool) -> bool {
        unreachable!("truth values do not subtract")
    }
    fn times(self, other: bool) -> bool {
        self & other
    }
    fn over(self, _: bool) -> bool {
        unreachable!("truth values divide as float64")
    }
    fn larger(self, other: bool) -> bool {
        self | other
    }
    fn power(self, _: bool) -> bool {
        unreachable!("powers of truth values are int8")
    }
    fn negate(self) -> bool {
        unreachable!("truth values have no negative")
    }
    fn is_forbidden_exponent(&self) -> bool {
        false
    }
}

macro_rules! integers {
    ($($T:ty),*) => { $(
        impl Number for $T {
            fn plus(self, other: $T) -> $T {
                self.wrapping_add(other)
            }
            fn minus(self, other: $T) -> $T {
                self.wrapping_sub(other)
            }
            fn times(self, other: $T) -> $T {
                self.wrapping_mul(other)
            }
            fn over(self, _: $T) -> $T {
                unreachable!("integers divide as float64")
            }
            fn larger(self, other: $T) -> $T {
                self.max(other)
            }
            /// By squaring: at most 63 steps, also where exponents exceed `u32`.
            fn power(self, exponent: $T) -> $T {
                let (mut result, mut base, mut left) = (1 as $T, self, exponent);
                while left > 0 {
                    if left & 1 == 1 {
                        result = result.wrapping_mul(base);
                    }
                    base = base.wrapping_mul(base);
                    left >>= 1;
                }
                result
            }
            fn negate(self) -> $T {
                self.wrapping_neg()
            }
            fn is_forbidden_exponent(&self) -> bool {
                *self < 0
            }
        }
    )* };
}

integers!(i8, i32, i64);

/// Floats compute in a type that has the functions, and round to their own.
macro_rules! floats {
    ($($T:ty, $wide:ty, $widen:expr, $narrow:expr;)*) => { $(
        impl Number for $T {
            fn plus(self, other: $T) -> $T {
                self + other
            }
            fn minus(self, other: $T) -> $T {
                self - other
            }
            fn times(self, other: $T) -> $T {
                self * other
            }
            fn over(self, other: $T) -> $T {
                self / other
            }
            fn larger(self, other: $T) -> $T {
                if self.is_nan() || self >= other { self } else { other }
            }
            fn power(self, exponent: $T) -> $T {
                $narrow(Float::pow($widen(self), $widen(exponent)))
            }
            fn negate(self) -> $T {
                -self
            }
            fn is_forbidden_exponent(&self) -> bool {
                false
            }
        }

        impl Real for $T {
            fn exponential(self) -> $T {
                $narrow(<$wide as Float>::exp($widen(self)))
            }
            fn logarithm(self) -> $T {
                $narrow(<$wide as Float>::ln($widen(self)))
            }
        }
    )* };
}

floats! {
    f16, f32, f16::to_f32, f16::from_f32;
    f32, f32, |v: f32| v, |v: f32| v;
    f64, f64, |v: f64| v, |v: f64| v;
}
