//! Operations on elements as operators of the machine: those on narrow elements wrap to the numbers of their type.
//!
//! ```text
//! a + b of int16      x = math.add(a, b)      subtract(xor(and(x, 0xffff), 0x8000), 0x8000)
//! a + b of uint8      and(math.add(a, b), 0xff)
//! a < b of uint64     bool.less(xor(a, 1 << 63), xor(b, 1 << 63))
//! ```

use crate::expr;
use crate::field::element::{FieldLiteral, has_all, held_as, integers, is_float};
use crate::field::expression::{FieldBinary, FieldReduction, FieldUnary};
use crate::field::operators::{
    binary_operator, cast_operator, narrow_operator, unary_operator, unsigned_operator,
};
use crate::field::to_expr::BoxLowering;
use crate::field::types::integer_exponent;
use cembra_vm::builtins::nd::shape;
use cembra_vm::builtins::{bitwise, python, unsigned};
use cembra_vm::value::{ScalarType, ScalarValue, Value};

/// Closer to zero the gamma function overflows.
const LEAST_OF_GAMMA: f64 = 6e-309;

/// Above it overflows.
const GREATEST_OF_GAMMA: f64 = 171.624_376_956_302_7;

type Lowered = Result<expr::NodeId, expr::GraphError>;

/// Bits of an element that is narrower than what holds it.
fn narrow_bits(dtype: ScalarType) -> Option<u32> {
    match dtype {
        ScalarType::Int8 | ScalarType::Uint8 => Some(8),
        ScalarType::Int16 | ScalarType::Uint16 => Some(16),
        ScalarType::Uint32 => Some(32),
        _ => None,
    }
}

fn is_unsigned(dtype: ScalarType) -> bool {
    integers(dtype).is_some_and(|numbers| *numbers.start() == 0)
}

/// True if a number is cast to int64 first, or at last, which raises if it does not fit that.
fn goes_by_int64(from: ScalarType, to: ScalarType) -> bool {
    match from {
        ScalarType::Uint64 => integers(to).is_some(),
        _ => {
            is_float(from) && integers(to).is_some() && !matches!(to, ScalarType::Int32 | ScalarType::Uint64)
        }
    }
}

impl BoxLowering<'_> {
    /// A function of one element.
    pub(super) fn unary(&mut self, op: FieldUnary, dtype: ScalarType, x: expr::NodeId) -> Lowered {
        if op == FieldUnary::Abs && is_unsigned(dtype) {
            return Ok(x);
        }
        let Some(operator) = unary_operator(op) else {
            return if op == FieldUnary::Gamma { self.gamma(dtype, x) } else { self.predicate(op, dtype, x) };
        };
        let value = self.apply(operator, &[x])?;
        match op {
            FieldUnary::Neg | FieldUnary::Abs => self.wrapped(dtype, value),
            _ => Ok(value),
        }
    }

    /// The gamma function: the operator refuses poles and what overflows, where this one is 1/x, NaN or infinite.
    fn gamma(&mut self, dtype: ScalarType, x: expr::NodeId) -> Lowered {
        const DOUBLE: ScalarType = ScalarType::Float64;
        let wide = self.held(dtype, DOUBLE, x)?;
        let [zero, one, least, greatest, nan, infinity] =
            [0.0, 1.0, LEAST_OF_GAMMA, GREATEST_OF_GAMMA, f64::NAN, f64::INFINITY]
                .map(|number| self.literal(&ScalarValue::Float64(number)));
        let size = self.unary(FieldUnary::Abs, DOUBLE, wide)?;
        let is_tiny = self.binary(FieldBinary::Lt, DOUBLE, &[size, least?])?;
        let is_large = self.binary(FieldBinary::Gt, DOUBLE, &[wide, greatest?])?;
        let floor = self.unary(FieldUnary::Floor, DOUBLE, wide)?;
        let is_whole = self.binary(FieldBinary::Eq, DOUBLE, &[wide, floor])?;
        let is_below = self.binary(FieldBinary::Lt, DOUBLE, &[wide, zero?])?;
        let is_pole = self.binary(FieldBinary::And, ScalarType::Boolean, &[is_whole, is_below])?;
        let (one, nan, infinity) = (one?, nan?, infinity?);
        let mut inside = wide;
        for outside in [is_tiny, is_large, is_pole] {
            inside = self.apply(shape::WHERE, &[outside, one, inside])?;
        }
        let mut value = self.apply(python::GAMMA, &[inside])?;
        value = self.apply(shape::WHERE, &[is_large, infinity, value])?;
        value = self.apply(shape::WHERE, &[is_pole, nan, value])?;
        let reciprocal = self.binary(FieldBinary::Div, DOUBLE, &[one, wide])?;
        value = self.apply(shape::WHERE, &[is_tiny, reciprocal, value])?;
        self.held(DOUBLE, dtype, value)
    }

    /// What is asked of a float, as a comparison.
    fn predicate(&mut self, op: FieldUnary, dtype: ScalarType, x: expr::NodeId) -> Lowered {
        if op == FieldUnary::IsNan {
            return self.apply(binary_operator(FieldBinary::Ne), &[x, x]);
        }
        let infinity = self.literal(&match dtype {
            ScalarType::Float32 => ScalarValue::Float32(f32::INFINITY),
            _ => ScalarValue::Float64(f64::INFINITY),
        })?;
        let size = self.unary(FieldUnary::Abs, dtype, x)?;
        let comparison = if op == FieldUnary::IsInf { FieldBinary::Eq } else { FieldBinary::Lt };
        self.apply(binary_operator(comparison), &[size, infinity])
    }

    /// A function of two elements of a type.
    pub(super) fn binary(
        &mut self,
        op: FieldBinary,
        dtype: ScalarType,
        operands: &[expr::NodeId],
    ) -> Lowered {
        match op {
            FieldBinary::Pow if !is_float(dtype) => return self.integer_power(dtype, operands),
            FieldBinary::Fmod if !is_float(dtype) => return self.integer_fmod(dtype, operands),
            _ if dtype == ScalarType::Uint64 => return self.binary_unsigned(op, operands),
            _ => {}
        }
        let value = self.apply(binary_operator(op), operands)?;
        match op {
            FieldBinary::Add | FieldBinary::Sub | FieldBinary::Mul => self.wrapped(dtype, value),
            // The least number by -1 is beyond the greatest.
            FieldBinary::FloorDiv if !is_unsigned(dtype) => self.wrapped(dtype, value),
            _ => Ok(value),
        }
    }

    /// A power of an integer, as products that wrap.
    fn integer_power(&mut self, dtype: ScalarType, operands: &[expr::NodeId]) -> Lowered {
        let exponent = match self.graph.value(operands[1]) {
            Some(Value::Scalar(value)) => FieldLiteral::new(value.clone(), dtype),
            _ => None,
        };
        let exponent = exponent.as_ref().and_then(integer_exponent);
        let exponent = exponent.expect("the check takes an exponent only if it is written as a number");
        let Some(mut bit) = exponent.checked_ilog2() else {
            // Such a power has the axes of its base.
            let zero = self.binary(FieldBinary::Sub, dtype, &[operands[0], operands[0]])?;
            let one = self.integer(dtype, 1)?;
            return self.binary(FieldBinary::Add, dtype, &[zero, one]);
        };
        let mut power = operands[0];
        while bit > 0 {
            bit -= 1;
            power = self.binary(FieldBinary::Mul, dtype, &[power, power])?;
            if exponent >> bit & 1 == 1 {
                power = self.binary(FieldBinary::Mul, dtype, &[power, operands[0]])?;
            }
        }
        Ok(power)
    }

    /// What a quotient that is rounded towards zero leaves: it has the sign of the dividend.
    fn integer_fmod(&mut self, dtype: ScalarType, operands: &[expr::NodeId]) -> Lowered {
        let rest = self.binary(FieldBinary::Mod, dtype, operands)?;
        if is_unsigned(dtype) {
            return Ok(rest);
        }
        // The remainder of `%` has the sign of the divisor: it is one divisor too far where the signs differ.
        let zero = self.integer(dtype, 0)?;
        let is_below = self.binary(FieldBinary::Lt, dtype, &[operands[0], zero])?;
        let rest_is_below = self.binary(FieldBinary::Lt, dtype, &[rest, zero])?;
        let differ = self.apply(binary_operator(FieldBinary::Xor), &[is_below, rest_is_below])?;
        let is_left = self.binary(FieldBinary::Ne, dtype, &[rest, zero])?;
        let is_far = self.apply(binary_operator(FieldBinary::And), &[differ, is_left])?;
        let other = self.binary(FieldBinary::Sub, dtype, &[rest, operands[1]])?;
        self.apply(shape::WHERE, &[is_far, other, rest])
    }

    /// A function of two UINT64. Numbers whose highest bit is flipped have the order of INT64.
    fn binary_unsigned(&mut self, op: FieldBinary, operands: &[expr::NodeId]) -> Lowered {
        use FieldBinary::{Ge, Gt, Le, Lt, Max, Min};
        if let Some(operator) = unsigned_operator(op) {
            return self.apply(operator, operands);
        }
        if !matches!(op, Lt | Le | Gt | Ge | Min | Max) {
            return self.apply(binary_operator(op), operands);
        }
        let operands = [self.turned(operands[0])?, self.turned(operands[1])?];
        let value = self.apply(binary_operator(op), &operands)?;
        if matches!(op, Min | Max) { self.turned(value) } else { Ok(value) }
    }

    fn turned(&mut self, x: expr::NodeId) -> Lowered {
        let highest = self.integer(ScalarType::Int64, i64::MIN)?;
        self.apply(bitwise::XOR, &[x, highest])
    }

    /// One more value of a reduction.
    pub(super) fn reduce(
        &mut self,
        op: FieldReduction,
        dtype: ScalarType,
        operands: &[expr::NodeId],
    ) -> Lowered {
        let op = match op {
            FieldReduction::Sum => FieldBinary::Add,
            FieldReduction::Max => FieldBinary::Max,
            FieldReduction::Min => FieldBinary::Min,
        };
        self.binary(op, dtype, operands)
    }

    /// A number in another element type; raises if the type does not have it.
    pub(super) fn cast(&mut self, from: ScalarType, to: ScalarType, x: expr::NodeId) -> Lowered {
        if from == to {
            return Ok(x);
        }
        if goes_by_int64(from, to) && !self.casts.contains(&to) {
            self.casts.push(to);
        }
        if from == ScalarType::Uint64 && to != ScalarType::Boolean {
            return match to {
                ScalarType::Float64 => self.apply(unsigned::TO_FLOAT64, &[x]),
                ScalarType::Float32 => self.apply(unsigned::TO_FLOAT32, &[x]),
                _ => {
                    let signed = self.apply(unsigned::TO_INT64, &[x])?;
                    self.cast(ScalarType::Int64, to, signed)
                }
            };
        }
        match narrow_operator(to) {
            Some(narrow) if !has_all(to, from) => {
                let is_direct = to == ScalarType::Uint64 && is_float(from);
                let held = held_as(from);
                let wide = if is_direct { x } else { self.held(held, ScalarType::Int64, x)? };
                self.apply(narrow, &[wide])
            }
            _ => self.held(held_as(from), held_as(to), x),
        }
    }

    /// A value of the machine in another type of the machine.
    fn held(&mut self, from: ScalarType, to: ScalarType, x: expr::NodeId) -> Lowered {
        match from == to {
            true => Ok(x),
            false => self.apply(cast_operator(to), &[x]),
        }
    }

    /// The number of an element type that an integer is, of which the low bits count.
    fn wrapped(&mut self, dtype: ScalarType, x: expr::NodeId) -> Lowered {
        let Some(bits) = narrow_bits(dtype) else { return Ok(x) };
        let mask = self.integer(dtype, (1 << bits) - 1)?;
        let low = self.apply(bitwise::AND, &[x, mask])?;
        if is_unsigned(dtype) {
            return Ok(low);
        }
        let sign = self.integer(dtype, 1 << (bits - 1))?;
        let turned = self.apply(bitwise::XOR, &[low, sign])?;
        self.apply(binary_operator(FieldBinary::Sub), &[turned, sign])
    }

    fn integer(&mut self, dtype: ScalarType, value: i64) -> Lowered {
        self.literal(&match held_as(dtype) {
            ScalarType::Int32 => ScalarValue::Int32(value as i32),
            _ => ScalarValue::Int64(value),
        })
    }
}
