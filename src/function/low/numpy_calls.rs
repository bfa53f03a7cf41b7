//! Functions of numpy: of numbers, and of all elements of an array.

use super::views::ArrayPart;
use super::{Lower, Lowering};
use crate::function::build::RaisedFailure;
use crate::function::library::LibraryKind;
use crate::function::options::Overflow;
use crate::function::types::FunctionType;
use crate::python::BinaryOp;
use crate::ssa::InstId;
use cembra_vm::value::qtype::{BOOLEAN, FLOAT32, FLOAT64, INT64};
use cembra_vm::value::{Category, ScalarType};

/// The least and the greatest integer of a narrow type.
fn bounds(element: ScalarType) -> (i64, i64) {
    match element {
        ScalarType::Int8 => (i8::MIN.into(), i8::MAX.into()),
        ScalarType::Int16 => (i16::MIN.into(), i16::MAX.into()),
        ScalarType::Int32 => (i32::MIN.into(), i32::MAX.into()),
        ScalarType::Uint8 => (0, u8::MAX.into()),
        ScalarType::Uint16 => (0, u16::MAX.into()),
        ScalarType::Uint32 => (0, u32::MAX.into()),
        _ => (i64::MIN, i64::MAX),
    }
}

impl Lowering<'_> {
    /// A function of numbers.
    pub(super) fn numpy_scalar(&mut self, kind: LibraryKind, args: &[InstId], inst: InstId) -> Lower<InstId> {
        let wanted = self.type_of(inst).clone();
        let is_float = wanted == FunctionType::Float;
        Ok(match kind {
            LibraryKind::Sign => {
                let x = self.leaf_as(args[0], &wanted);
                self.sign(x, is_float)
            }
            LibraryKind::Square => {
                let x = self.leaf_as(args[0], &wanted);
                match is_float {
                    true => self.float_binary(BinaryOp::Mul, x, x),
                    false => self.int_binary(BinaryOp::Mul, x, x),
                }
            }
            LibraryKind::Power => {
                let (x, y) = (self.leaf_as(args[0], &wanted), self.leaf_as(args[1], &wanted));
                match is_float {
                    true => self.total("math.pow", vec![x, y], FLOAT64),
                    false => self.int_binary(BinaryOp::Pow, x, y),
                }
            }
            LibraryKind::Where => {
                let qtype = self.qtype(&wanted)?;
                let condition = self.truth(args[0]);
                let (x, y) = (self.leaf_as(args[1], &wanted), self.leaf_as(args[2], &wanted));
                self.select(condition, x, y, qtype)
            }
            LibraryKind::Narrow(ScalarType::Float32) => {
                let x = self.leaf_as(args[0], &FunctionType::Float);
                let narrow = self.total("core._to_float32", vec![x], FLOAT32);
                self.total("core.to_float64", vec![narrow], FLOAT64)
            }
            LibraryKind::Narrow(element) => {
                let x = match self.type_of(args[0]) {
                    FunctionType::Float => {
                        let x = self.leaf(args[0]);
                        self.operator("python.to_int", vec![x], INT64)
                    }
                    _ => self.leaf_as(args[0], &FunctionType::Int),
                };
                self.narrow(x, element)
            }
            other => unreachable!("{other:?} is no function of this file"),
        })
    }

    /// -1, 0 or 1; of NaN itself.
    fn sign(&mut self, x: InstId, is_float: bool) -> InstId {
        let number = |this: &mut Self, value: i8| match is_float {
            true => this.float(value.into()),
            false => this.int(value.into()),
        };
        let [minus, zero, one] = [-1, 0, 1].map(|value| number(self, value));
        let qtype = if is_float { FLOAT64 } else { INT64 };
        let (is_positive, is_negative, is_zero) = (
            self.total("bool.less", vec![zero, x], BOOLEAN),
            self.total("bool.less", vec![x, zero], BOOLEAN),
            self.total("bool.equal", vec![x, zero], BOOLEAN),
        );
        let other = self.select(is_zero, zero, x, qtype.clone());
        let other = self.select(is_negative, minus, other, qtype.clone());
        self.select(is_positive, one, other, qtype)
    }

    /// An integer in the range of a narrow type: others raise, or wrap around.
    fn narrow(&mut self, x: InstId, element: ScalarType) -> InstId {
        let (low, high) = bounds(element);
        if self.options.overflow == Overflow::Wrap {
            // Its low bits, counted from the least integer on.
            let (shift, mask) = (self.int(low), self.int(high.wrapping_sub(low)));
            let from_least = self.total("math.subtract", vec![x, shift], INT64);
            let bits = self.total("bitwise.bitwise_and", vec![from_least, mask], INT64);
            return self.total("math.add", vec![bits, shift], INT64);
        }
        let (low, high) = (self.int(low), self.int(high));
        let below = self.total("bool.less", vec![x, low], BOOLEAN);
        let above = self.total("bool.less", vec![high, x], BOOLEAN);
        let is_outside = self.or(below, above);
        let message = format!("integer out of bounds for {}", element.name().to_ascii_lowercase());
        self.raise_if(is_outside, RaisedFailure { category: Category::Overflow, message });
        x
    }

    /// One number of all elements of an array, or of those of two arrays.
    pub(super) fn reduction(&mut self, kind: LibraryKind, args: &[InstId], inst: InstId) -> Lower<InstId> {
        match kind {
            LibraryKind::Dot => self.dot(args, inst),
            LibraryKind::Mean => self.mean(args[0]),
            LibraryKind::Product => self.product(args[0], inst),
            LibraryKind::CumulativeSum => self.cumulative_sum(args[0], inst),
            _ => self.place_of_extreme(args[0], kind == LibraryKind::ArgMin),
        }
    }

    fn dot(&mut self, args: &[InstId], inst: InstId) -> Lower<InstId> {
        let wanted = self.type_of(inst).clone();
        let (qtype, is_float) = (self.qtype(&wanted)?, wanted == FunctionType::Float);
        let parts = [0, 1].map(|at| self.part(args[at]).expect("inference takes arrays"));
        let lengths = [0, 1].map(|at: usize| {
            let axis = parts[at].open_axes()[0];
            self.axis_length(&parts[at], axis)
        });
        let differ = self.total("bool.not_equal", lengths.to_vec(), BOOLEAN);
        self.fail_if(differ, "the arrays of dot() have different lengths".to_owned());
        let zero = if is_float { self.float(0.0) } else { self.int(0) };
        let sum = self.fold(lengths[0], Some((zero, qtype)), &mut |this, number, sum| {
            let sum = sum.expect("a fold has a value");
            let [x, y] = [0, 1].map(|at: usize| {
                let element = this.load(&parts[at], &[number]);
                this.cast(element, &parts[at].array.loaded(), &wanted)
            });
            Ok(Some(match is_float {
                true => {
                    let product = this.float_binary(BinaryOp::Mul, x, y);
                    this.float_binary(BinaryOp::Add, sum, product)
                }
                false => {
                    let product = this.int_binary(BinaryOp::Mul, x, y);
                    this.int_binary(BinaryOp::Add, sum, product)
                }
            }))
        })?;
        Ok(sum.expect("a fold has a value"))
    }

    /// The sum, as a float, by the number of elements; of no elements NaN.
    fn mean(&mut self, of: InstId) -> Lower<InstId> {
        let part = self.part(of).expect("inference takes an array");
        let (loaded, zero) = (part.array.loaded(), self.float(0.0));
        let sum = match self.sum_in_order(&part) {
            Some(sum) => sum,
            None => self.fold_elements(&part, (zero, FLOAT64), &move |this: &mut Self, sum, element| {
                let element = this.cast(element, &loaded, &FunctionType::Float);
                this.float_binary(BinaryOp::Add, sum, element)
            })?,
        };
        let mut count = self.int(1);
        for axis in part.open_axes() {
            let length = self.axis_length(&part, axis);
            count = self.total("math.multiply", vec![count, length], INT64);
        }
        let count = self.cast(count, &FunctionType::Int, &FunctionType::Float);
        Ok(self.total("math.divide", vec![sum, count], FLOAT64))
    }

    fn product(&mut self, of: InstId, inst: InstId) -> Lower<InstId> {
        let wanted = self.type_of(inst).clone();
        let (qtype, is_float) = (self.qtype(&wanted)?, wanted == FunctionType::Float);
        let part = self.part(of).expect("inference takes an array");
        let (loaded, one) = (part.array.loaded(), if is_float { self.float(1.0) } else { self.int(1) });
        self.fold_elements(&part, (one, qtype), &move |this: &mut Self, product, element| {
            let element = this.cast(element, &loaded, &wanted);
            match is_float {
                true => this.float_binary(BinaryOp::Mul, product, element),
                false => this.int_binary(BinaryOp::Mul, product, element),
            }
        })
    }

    /// An array of the sums of the first elements, from the first on.
    fn cumulative_sum(&mut self, of: InstId, inst: InstId) -> Lower<InstId> {
        let FunctionType::Array(array) = self.type_of(inst) else { unreachable!("inference gives an array") };
        let part = self.part(of).expect("inference takes an array");
        let (loaded, wanted) = (part.array.loaded(), array.loaded());
        let length = self.axis_length(&part, part.open_axes()[0]);
        let is_float = wanted == FunctionType::Float;
        let (zero, qtype) = if is_float { (self.float(0.0), FLOAT64) } else { (self.int(0), INT64) };
        let sums = ArrayPart::whole(self.filled(*array, zero, vec![length])?, *array);
        // A sum of negative zeros is one.
        let start = if is_float { self.float(-0.0) } else { zero };
        self.fold(length, Some((start, qtype)), &mut |this, number, sum| {
            let (sum, element) = (sum.expect("a fold has a value"), this.load(&part, &[number]));
            let element = this.cast(element, &loaded, &wanted);
            let sum = match is_float {
                true => this.float_binary(BinaryOp::Add, sum, element),
                false => this.int_binary(BinaryOp::Add, sum, element),
            };
            this.store(&sums, &[number], sum, &wanted);
            Ok(Some(sum))
        })?;
        Ok(sums.root)
    }

    /// The place of the first least or greatest element of one axis; of the first NaN, if there is one.
    fn place_of_extreme(&mut self, of: InstId, is_min: bool) -> Lower<InstId> {
        let part = self.part(of).expect("inference takes an array");
        let (loaded, axis) = (part.array.loaded(), part.open_axes()[0]);
        let length = self.axis_length(&part, axis);
        self.fail_if_zero(length, "attempt to get the place of an extreme of an empty sequence".to_owned());
        let zero = self.int(0);
        let place = self.fold(length, Some((zero, INT64)), &mut |this, number, best| {
            let best = best.expect("a fold has a value");
            let [x, y] = [number, best].map(|at| {
                let element = this.load(&part, &[at]);
                match loaded {
                    FunctionType::Bool => this.cast(element, &loaded, &FunctionType::Int),
                    _ => element,
                }
            });
            let args = if is_min { vec![x, y] } else { vec![y, x] };
            let mut is_better = this.total("bool.less", args, BOOLEAN);
            if loaded == FunctionType::Float {
                let (is_nan, is_number) = (
                    this.total("bool.not_equal", vec![x, x], BOOLEAN),
                    this.total("bool.equal", vec![y, y], BOOLEAN),
                );
                let is_first_nan = this.and(is_nan, is_number);
                is_better = this.or(is_better, is_first_nan);
            }
            Ok(Some(this.select(is_better, number, best, INT64)))
        })?;
        Ok(place.expect("a fold has a value"))
    }
}
