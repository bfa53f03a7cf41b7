//! Operators of numbers and tuples.

use super::{LowOp, Lower, Lowering};
use crate::function::options::Overflow;
use crate::function::types::{ArrayOf, FunctionType};
use crate::python::{BinaryOp, CompareOp, UnaryOp};
use crate::ssa::InstId;
use cembra_vm::value::qtype::{BOOLEAN, FLOAT64, INT64};
use cembra_vm::value::{QType, ScalarType, ScalarValue, Value};

impl Lowering<'_> {
    pub(super) fn unary(&mut self, op: UnaryOp, x: InstId) -> Lower<InstId> {
        if op == UnaryOp::Not {
            let truth = self.truth(x);
            return Ok(self.not(truth));
        }
        if *self.type_of(x) == FunctionType::Float {
            let x = self.leaf(x);
            return Ok(match op {
                UnaryOp::Neg => self.total("math.neg", vec![x], FLOAT64),
                _ => x,
            });
        }
        let x = self.leaf_as(x, &FunctionType::Int);
        Ok(match op {
            UnaryOp::Neg => match self.options.overflow {
                Overflow::Raise => self.operator("python.neg", vec![x], INT64),
                Overflow::Wrap => self.total("math.neg", vec![x], INT64),
            },
            UnaryOp::Invert => self.total("bitwise.invert", vec![x], INT64),
            _ => x,
        })
    }

    pub(super) fn binary(&mut self, op: BinaryOp, x: InstId, y: InstId, inst: InstId) -> Lower<Vec<InstId>> {
        if let FunctionType::Tuple(_) = self.type_of(x) {
            let (x_type, y_type) = (self.type_of(x), self.type_of(y));
            return Ok([self.leaves_as(x, x_type)?, self.leaves_as(y, y_type)?].concat());
        }
        let result = self.type_of(inst);
        let are_bools = *self.type_of(x) == FunctionType::Bool && *self.type_of(y) == FunctionType::Bool;
        if are_bools && *result == FunctionType::Bool {
            let name = match op {
                BinaryOp::BitAnd => "bool.logical_and",
                BinaryOp::BitOr => "bool.logical_or",
                _ => "bool.not_equal",
            };
            let args = vec![self.leaf(x), self.leaf(y)];
            return Ok(vec![self.total(name, args, BOOLEAN)]);
        }
        let are_integers = self.type_of(x).is_integer() && self.type_of(y).is_integer();
        // The quotient of integers is a float, computed from the integers.
        let wanted = match (op, are_integers) {
            (BinaryOp::Div, true) => &FunctionType::Int,
            _ => result,
        };
        let (x, y) = (self.leaf_as(x, wanted), self.leaf_as(y, wanted));
        Ok(vec![match *result == FunctionType::Float {
            true => self.float_binary(op, x, y),
            false => self.int_binary(op, x, y),
        }])
    }

    /// Arithmetic of floats; a quotient may be one of integers.
    pub(super) fn float_binary(&mut self, op: BinaryOp, x: InstId, y: InstId) -> InstId {
        let args = vec![x, y];
        match op {
            BinaryOp::Add => self.total("math.add", args, FLOAT64),
            BinaryOp::Sub => self.total("math.subtract", args, FLOAT64),
            BinaryOp::Mul => self.total("math.multiply", args, FLOAT64),
            BinaryOp::Div if self.options.numpy_errors => {
                let args = [x, y].map(|value| match self.element_of(value) == Some(ScalarType::Int64) {
                    true => self.cast(value, &FunctionType::Int, &FunctionType::Float),
                    false => value,
                });
                self.total("math.divide", args.to_vec(), FLOAT64)
            }
            BinaryOp::Div => self.operator("python.divide", args, FLOAT64),
            BinaryOp::FloorDiv => self.operator("python.floordiv", args, FLOAT64),
            BinaryOp::Mod => self.operator("python.mod", args, FLOAT64),
            // A square has one rounding, as the power has.
            BinaryOp::Pow if self.is_float_two(y) => self.total("math.multiply", vec![x, x], FLOAT64),
            BinaryOp::Pow if self.options.numpy_errors => self.total("math.pow", args, FLOAT64),
            BinaryOp::Pow => self.operator("python.pow", args, FLOAT64),
            _ => unreachable!("inference refuses bits of floats"),
        }
    }

    pub(super) fn int_binary(&mut self, op: BinaryOp, x: InstId, y: InstId) -> InstId {
        if let Some(result) = self.by_constant(op, x, y) {
            return result;
        }
        let args = vec![x, y];
        let wraps = self.options.overflow == Overflow::Wrap;
        let (name, raises) = match op {
            BinaryOp::Add if wraps => ("math.add", false),
            BinaryOp::Sub if wraps => ("math.subtract", false),
            BinaryOp::Mul if wraps => ("math.multiply", false),
            BinaryOp::Pow if wraps => ("python.wrapping_pow", true),
            BinaryOp::FloorDiv if wraps => ("python.wrapping_floordiv", true),
            BinaryOp::ShiftLeft if wraps => ("python.wrapping_shift_left", false),
            BinaryOp::ShiftRight if wraps => ("python.wrapping_shift_right", false),
            BinaryOp::Add => ("python.add", true),
            BinaryOp::Sub => ("python.subtract", true),
            BinaryOp::Mul => ("python.multiply", true),
            BinaryOp::FloorDiv => ("python.floordiv", true),
            BinaryOp::Mod => ("python.mod", true),
            BinaryOp::Pow => ("python.pow", true),
            BinaryOp::ShiftLeft => ("python.shift_left", true),
            BinaryOp::ShiftRight => ("python.shift_right", true),
            BinaryOp::BitAnd => ("bitwise.bitwise_and", false),
            BinaryOp::BitOr => ("bitwise.bitwise_or", false),
            BinaryOp::BitXor => ("bitwise.bitwise_xor", false),
            BinaryOp::Div | BinaryOp::MatMul => unreachable!("inference gives floats, or refuses"),
        };
        match raises {
            true => self.operator(name, args, INT64),
            false => self.total(name, args, INT64),
        }
    }

    /// Arithmetic with a constant that has a cheaper form: division by powers of 2, squares.
    fn by_constant(&mut self, op: BinaryOp, x: InstId, y: InstId) -> Option<InstId> {
        let constant = self.int_literal(y)?;
        let shift = u32::try_from(constant).ok().filter(|it| it.is_power_of_two())?.trailing_zeros();
        match op {
            // Rounding down is what shifts do, and the remainder is not negative.
            BinaryOp::FloorDiv => {
                let shift = self.int(i64::from(shift));
                Some(self.total("python.wrapping_shift_right", vec![x, shift], INT64))
            }
            BinaryOp::Mod => {
                let mask = self.int(constant - 1);
                Some(self.total("bitwise.bitwise_and", vec![x, mask], INT64))
            }
            BinaryOp::Pow if constant == 2 => Some(self.int_binary(BinaryOp::Mul, x, x)),
            _ => None,
        }
    }

    fn int_literal(&self, value: InstId) -> Option<i64> {
        match self.flow.operation(value) {
            Some(LowOp::Literal(Value::Scalar(ScalarValue::Int64(number)))) => Some(*number),
            _ => None,
        }
    }

    fn is_float_two(&self, value: InstId) -> bool {
        matches!(self.flow.operation(value),
            Some(LowOp::Literal(Value::Scalar(ScalarValue::Float64(number)))) if *number == 2.0)
    }

    /// The truth of a value.
    pub(super) fn truth(&mut self, x: InstId) -> InstId {
        match self.type_of(x) {
            FunctionType::Bool => self.leaf(x),
            FunctionType::Int => {
                let zero = self.int(0);
                let x = self.leaf(x);
                self.total("bool.not_equal", vec![x, zero], BOOLEAN)
            }
            FunctionType::Float => {
                let zero = self.float(0.0);
                let x = self.leaf(x);
                self.total("bool.not_equal", vec![x, zero], BOOLEAN)
            }
            FunctionType::Tuple(fields) => self.boolean(!fields.is_empty()),
            FunctionType::Char => self.boolean(true),
            FunctionType::Text => {
                let is_empty = self.known_text(x).is_some_and(|text| text.is_empty());
                self.boolean(!is_empty)
            }
            FunctionType::Dict(_) | FunctionType::Array(ArrayOf { is_list: true, .. }) => {
                let (length, zero) = (self.length(x), self.int(0));
                self.total("bool.not_equal", vec![length, zero], BOOLEAN)
            }
            FunctionType::None | FunctionType::Array(_) => self.boolean(false),
            FunctionType::Optional(of) => self.truth_of_optional(x, of),
        }
    }

    pub(super) fn compare(&mut self, op: CompareOp, x: InstId, y: InstId) -> Lower<InstId> {
        let (x_type, y_type) = (self.type_of(x), self.type_of(y));
        if let CompareOp::Is | CompareOp::IsNot = op {
            let other = if let FunctionType::Optional(_) = x_type { x } else { y };
            if let FunctionType::Optional(_) = self.type_of(other) {
                let flag = self.leaf(other);
                return Ok(match op {
                    CompareOp::Is => self.not(flag),
                    _ => flag,
                });
            }
            if *x_type == FunctionType::Bool && *y_type == FunctionType::Bool {
                let (x, y) = (self.leaf(x), self.leaf(y));
                let name = if op == CompareOp::Is { "bool.equal" } else { "bool.not_equal" };
                return Ok(self.total(name, vec![x, y], BOOLEAN));
            }
            return Ok(self.boolean((x_type == y_type) == (op == CompareOp::Is)));
        }
        if let (FunctionType::Tuple(a), FunctionType::Tuple(b)) = (x_type, y_type) {
            if a.len() != b.len() {
                return Ok(self.boolean(op == CompareOp::NotEqual));
            }
            let (x, y) = (self.leaves_as(x, x_type)?, self.leaves_as(y, y_type)?);
            let mut all = self.boolean(true);
            for (index, (x, y)) in x.into_iter().zip(y).enumerate() {
                let equal = self.compare_numbers(CompareOp::Equal, (x, &a[index]), (y, &b[index]));
                all = self.and(all, equal);
            }
            return Ok(match op {
                CompareOp::NotEqual => self.not(all),
                _ => all,
            });
        }
        if x_type.is_text() && y_type.is_text() {
            return self.compare_texts(op, x, y);
        }
        if [x_type, y_type].iter().any(|of| matches!(of, FunctionType::Optional(_))) {
            let equal = self.equal_or_none(x, y);
            return Ok(match op {
                CompareOp::Equal => equal,
                _ => self.not(equal),
            });
        }
        if !x_type.is_number() || !y_type.is_number() {
            // Values of types that have nothing in common differ; None equals itself.
            let equal = x_type == y_type && *x_type == FunctionType::None;
            return Ok(self.boolean(equal == (op == CompareOp::Equal)));
        }
        let (x, y) = (self.leaf(x), self.leaf(y));
        Ok(self.compare_numbers(op, (x, x_type), (y, y_type)))
    }

    /// Compares numbers; an integer with a float exactly.
    pub(super) fn compare_numbers(
        &mut self,
        op: CompareOp,
        (x, x_type): (InstId, &FunctionType),
        (y, y_type): (InstId, &FunctionType),
    ) -> InstId {
        use FunctionType::{Float, Int};
        let is_mixed = (x_type == &Float) != (y_type == &Float) && (x_type == &Int || y_type == &Int);
        if is_mixed && !self.is_small(x) && !self.is_small(y) {
            let name = match op {
                CompareOp::Equal => "python.equal",
                CompareOp::NotEqual => "python.not_equal",
                CompareOp::Less => "python.less",
                CompareOp::LessEqual => "python.less_equal",
                CompareOp::Greater => "python.greater",
                _ => "python.greater_equal",
            };
            return self.total(name, vec![x, y], BOOLEAN);
        }
        let wanted = x_type.join(y_type).expect("numbers have a common type");
        let wanted = if wanted == FunctionType::Bool { FunctionType::Int } else { wanted };
        let (x, y) = (self.cast(x, x_type, &wanted), self.cast(y, y_type, &wanted));
        let (name, args) = match op {
            CompareOp::Equal => ("bool.equal", [x, y]),
            CompareOp::NotEqual => ("bool.not_equal", [x, y]),
            CompareOp::Less => ("bool.less", [x, y]),
            CompareOp::LessEqual => ("bool.less_equal", [x, y]),
            CompareOp::Greater => ("bool.less", [y, x]),
            _ => ("bool.less_equal", [y, x]),
        };
        self.total(name, args.to_vec(), BOOLEAN)
    }

    /// True for an integer literal that a float holds exactly.
    fn is_small(&self, value: InstId) -> bool {
        const EXACT: u64 = 1 << 53;
        self.int_literal(value).is_some_and(|number| number.unsigned_abs() <= EXACT)
    }

    /// The opposite of a truth value.
    pub(super) fn not(&mut self, x: InstId) -> InstId {
        self.total("bool.logical_not", vec![x], BOOLEAN)
    }

    /// True where both are.
    pub(super) fn and(&mut self, x: InstId, y: InstId) -> InstId {
        self.total("bool.logical_and", vec![x, y], BOOLEAN)
    }

    /// True where one of them is.
    pub(super) fn or(&mut self, x: InstId, y: InstId) -> InstId {
        self.total("bool.logical_or", vec![x, y], BOOLEAN)
    }

    /// One of two numbers or truths.
    pub(super) fn select(&mut self, condition: InstId, x: InstId, y: InstId, qtype: QType) -> InstId {
        self.total("nd.where", vec![condition, x, y], qtype)
    }
}
