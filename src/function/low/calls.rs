//! Calls: of the library and of other instances.

use super::views::ArrayPart;
use super::{LowOp, Lower, Lowering};
use crate::function::library::{LibraryFunction, LibraryKind};
use crate::function::options::Overflow;
use crate::function::types::FunctionType;
use crate::python::{BinaryOp, CompareOp};
use crate::ssa::InstId;
use cembra_vm::value::qtype::{BOOLEAN, FLOAT64, INT64};
use cembra_vm::value::{QType, ScalarType};

impl Lowering<'_> {
    pub(super) fn call(&mut self, inst: InstId, args: &[InstId]) -> Lower<Vec<InstId>> {
        let callee = self.instance.calls[&inst];
        let wanted = &self.instances[callee.0 as usize];
        let mut values = Vec::new();
        for (arg, of) in args.iter().zip(&wanted.args) {
            let leaves = self.leaves_as(*arg, of)?;
            values.push(self.assemble(leaves, of)?);
        }
        let result = wanted.result.clone().unwrap_or(FunctionType::None);
        let qtype = self.qtype(&result)?;
        let whole = self.push(LowOp::Call(callee), values, qtype);
        self.parts(whole, &result)
    }

    pub(super) fn builtin(
        &mut self,
        builtin: LibraryFunction,
        args: &[InstId],
        inst: InstId,
    ) -> Lower<Vec<InstId>> {
        use FunctionType::{Float, Int};
        let one = |value: InstId| Ok(vec![value]);
        let plain = builtin.plain || self.options.numpy_errors;
        match builtin.kind() {
            LibraryKind::Float { checked, plain: unchecked, .. } => {
                let args: Vec<InstId> = args.iter().map(|arg| self.leaf_as(*arg, &Float)).collect();
                if builtin.name() == "math.pow" && !plain {
                    self.fail_at_pole(args[0], args[1]);
                }
                one(match plain || checked == unchecked && !checked.starts_with("python.") {
                    true => self.total(unchecked, args, FLOAT64),
                    false => self.operator(checked, args, FLOAT64),
                })
            }
            LibraryKind::Rounded(operator) => match self.type_of(args[0]) {
                Float => {
                    let x = self.leaf(args[0]);
                    one(self.operator(operator, vec![x], INT64))
                }
                _ => one(self.leaf_as(args[0], &Int)),
            },
            LibraryKind::IsNan | LibraryKind::IsInf | LibraryKind::IsFinite => {
                let x = self.leaf_as(args[0], &Float);
                one(self.float_test(builtin.kind(), x))
            }
            LibraryKind::Abs => match self.type_of(args[0]) {
                Float => {
                    let x = self.leaf(args[0]);
                    one(self.total("math.abs", vec![x], FLOAT64))
                }
                _ => {
                    let x = self.leaf_as(args[0], &Int);
                    one(match self.options.overflow {
                        Overflow::Raise => self.operator("python.abs", vec![x], INT64),
                        Overflow::Wrap => self.total("math.abs", vec![x], INT64),
                    })
                }
            },
            LibraryKind::Greater | LibraryKind::Less if *self.type_of(inst) == Float => {
                let is_less = builtin.kind() == LibraryKind::Less;
                let args = args.iter().map(|arg| self.leaf_as(*arg, &Float)).collect();
                one(self.total(if is_less { "math.minimum" } else { "math.maximum" }, args, FLOAT64))
            }
            LibraryKind::Min | LibraryKind::Max | LibraryKind::Greater | LibraryKind::Less => {
                self.extreme(builtin, args, inst)
            }
            LibraryKind::Len => one(self.length(args[0])),
            LibraryKind::ToInt => match self.type_of(args[0]) {
                Float => {
                    let x = self.leaf(args[0]);
                    one(self.operator("python.to_int", vec![x], INT64))
                }
                _ => one(self.leaf_as(args[0], &Int)),
            },
            LibraryKind::ToFloat => one(self.leaf_as(args[0], &Float)),
            LibraryKind::ToBool => one(self.truth(args[0])),
            LibraryKind::Round => self.round(args),
            LibraryKind::Pow => match args {
                [x, y, modulus] => {
                    let args = [x, y, modulus].map(|value| self.leaf_as(*value, &Int));
                    one(self.operator("python.pow_modulo", args.to_vec(), INT64))
                }
                _ => self.binary(BinaryOp::Pow, args[0], args[1], inst),
            },
            LibraryKind::DivMod => {
                let is_float = args.iter().any(|arg| *self.type_of(*arg) == Float);
                let wanted = if is_float { Float } else { Int };
                let (x, y) = (self.leaf_as(args[0], &wanted), self.leaf_as(args[1], &wanted));
                Ok([BinaryOp::FloorDiv, BinaryOp::Mod]
                    .map(|op| match is_float {
                        true => self.float_binary(op, x, y),
                        false => self.int_binary(op, x, y),
                    })
                    .to_vec())
            }
            LibraryKind::Sum => self.sum(builtin, args[0], inst),
            LibraryKind::Any | LibraryKind::All => self.any_or_all(builtin.kind(), args[0]),
            LibraryKind::Log => {
                let name = if plain { "math.log" } else { "python.log" };
                let logs: Vec<InstId> = args
                    .iter()
                    .map(|arg| {
                        let x = self.leaf_as(*arg, &Float);
                        self.operator(name, vec![x], FLOAT64)
                    })
                    .collect();
                match logs[..] {
                    [x, base] => one(self.float_binary(BinaryOp::Div, x, base)),
                    _ => Ok(logs),
                }
            }
            LibraryKind::Gcd | LibraryKind::Isqrt => {
                let name = if builtin.kind() == LibraryKind::Gcd { "python.gcd" } else { "python.isqrt" };
                let args = args.iter().map(|arg| self.leaf_as(*arg, &Int)).collect();
                one(self.operator(name, args, INT64))
            }
            LibraryKind::CounterProduct => {
                let (x, y) = (self.leaf(args[0]), self.leaf(args[1]));
                one(self.total("math.multiply", vec![x, y], INT64))
            }
            LibraryKind::NewList => self.new_list(args, inst),
            LibraryKind::Pop => {
                let part = self.written_part(args[0])?;
                let last = self.int(-1);
                let value = self.load(&part, &[last]);
                self.update("nd.remove_last", vec![part.root]);
                one(value)
            }
            LibraryKind::Repeat => {
                let FunctionType::Array(array) = self.type_of(inst) else {
                    unreachable!("inference gives a list")
                };
                let (value, of) = (self.leaf(args[0]), self.type_of(args[0]));
                let value = self.element_value(value, of, array.element);
                let (times, zero) = (self.leaf_as(args[1], &Int), self.int(0));
                // Less than no times is no times.
                let times = self.total("python.max", vec![times, zero], INT64);
                one(self.filled(*array, value, vec![times])?)
            }
            LibraryKind::Contains => self.contains(args[0], args[1]),
            LibraryKind::Chr | LibraryKind::Ord => one(self.leaf_as(args[0], &Int)),
            LibraryKind::NewDict
            | LibraryKind::NewSet
            | LibraryKind::AddKey
            | LibraryKind::DictGet
            | LibraryKind::Element
            | LibraryKind::ValueAt
            | LibraryKind::IterationLength => self.dict_builtin(builtin.kind(), args, inst),
            LibraryKind::Append => {
                let part = self.written_part(args[0])?;
                let value = self.leaf(args[1]);
                let value = self.element_value(value, self.type_of(args[1]), part.array.element);
                self.update("nd.append", vec![part.root, value]);
                Ok(Vec::new())
            }
            LibraryKind::List(method) => self.list_method(method, args),
            LibraryKind::Sign
            | LibraryKind::Square
            | LibraryKind::Power
            | LibraryKind::Where
            | LibraryKind::Narrow(_) => {
                self.numpy_scalar(builtin.kind(), args, inst).map(|value| vec![value])
            }
            LibraryKind::Dot
            | LibraryKind::Mean
            | LibraryKind::Product
            | LibraryKind::CumulativeSum
            | LibraryKind::ArgMin
            | LibraryKind::ArgMax => self.reduction(builtin.kind(), args, inst).map(|value| vec![value]),
            LibraryKind::FilledLike(_)
            | LibraryKind::FullLike
            | LibraryKind::Eye
            | LibraryKind::Linspace
            | LibraryKind::Filled(_)
            | LibraryKind::FilledAs(_)
            | LibraryKind::Full
            | LibraryKind::Arange
            | LibraryKind::ArrayOf
            | LibraryKind::ArrayFrom
            | LibraryKind::Copy => self.new_array(builtin, args, inst),
        }
    }

    fn float_test(&mut self, kind: LibraryKind, x: InstId) -> InstId {
        if kind == LibraryKind::IsNan {
            return self.total("bool.not_equal", vec![x, x], BOOLEAN);
        }
        let (size, infinity) = (self.total("math.abs", vec![x], FLOAT64), self.float(f64::INFINITY));
        let name = if kind == LibraryKind::IsInf { "bool.equal" } else { "bool.less" };
        self.total(name, vec![size, infinity], BOOLEAN)
    }

    pub(super) fn length(&mut self, value: InstId) -> InstId {
        if let Some(dict) = self.dict(value) {
            return self.axis_length(&dict.keys, 0);
        }
        if let Some(part) = self.part(value) {
            let first = part.open_axes()[0];
            return self.axis_length(&part, first);
        }
        let length = match self.type_of(value) {
            FunctionType::Tuple(fields) => fields.len(),
            FunctionType::Char => 1,
            FunctionType::Text => match self.constant_of(value) {
                Some(crate::function::constant::Constant::Text(text)) => text.chars().count(),
                _ => 0,
            },
            _ => 0,
        };
        self.int(length as i64)
    }

    fn round(&mut self, args: &[InstId]) -> Lower<Vec<InstId>> {
        let is_float = *self.type_of(args[0]) == FunctionType::Float;
        let x = self.leaf_as(args[0], if is_float { &FunctionType::Float } else { &FunctionType::Int });
        Ok(vec![match (args, is_float) {
            ([_], true) => self.operator("python.round", vec![x], INT64),
            ([_], false) => x,
            (_, _) => {
                let digits = self.leaf_as(args[1], &FunctionType::Int);
                let qtype = if is_float { FLOAT64 } else { INT64 };
                self.operator("python.round_digits", vec![x, digits], qtype)
            }
        }])
    }

    /// `math.pow(0.0, y)` of a negative number raises ValueError, where `0.0 ** y` raises ZeroDivisionError.
    fn fail_at_pole(&mut self, x: InstId, y: InstId) {
        let (zero, infinity) = (self.float(0.0), self.float(f64::NEG_INFINITY));
        let mut is_pole = self.total("bool.equal", vec![x, zero], BOOLEAN);
        for (less, more) in [(y, zero), (infinity, y)] {
            let is_less = self.total("bool.less", vec![less, more], BOOLEAN);
            is_pole = self.and(is_pole, is_less);
        }
        self.fail_if(is_pole, "math domain error".to_owned());
    }

    /// True for a truth value.
    fn is_bool(&self, value: InstId) -> bool {
        self.element_of(value) == Some(ScalarType::Boolean)
    }

    /// `min` and `max`: of arguments, of the fields of a tuple, of the elements of an array.
    fn extreme(&mut self, builtin: LibraryFunction, args: &[InstId], inst: InstId) -> Lower<Vec<InstId>> {
        let wanted = self.type_of(inst).clone();
        let qtype = self.qtype(&wanted)?;
        let is_min = matches!(builtin.kind(), LibraryKind::Min | LibraryKind::Less);
        let best = move |this: &mut Self, x: InstId, y: InstId| match this.is_bool(x) {
            true if is_min => this.and(x, y),
            true => this.or(x, y),
            false => {
                let qtype = QType::Scalar(this.element_of(x).expect("a number"));
                // The least of numpy is NaN if a number is.
                let name = match (builtin.plain && qtype == FLOAT64, is_min) {
                    (true, true) => "math.minimum",
                    (true, false) => "math.maximum",
                    (false, true) => "python.min",
                    (false, false) => "python.max",
                };
                this.total(name, vec![x, y], qtype)
            }
        };
        if let ([_], Some(part)) = (args, args.first().and_then(|arg| self.iterated(*arg))) {
            let open = part.open_axes();
            for axis in &open {
                let length = self.axis_length(&part, *axis);
                self.fail_if_zero(length, format!("{}() arg is an empty sequence", builtin.name()));
            }
            let zeros: Vec<InstId> = open.iter().map(|_| self.int(0)).collect();
            let first = self.load(&part, &zeros);
            return Ok(vec![self.fold_elements(&part, (first, qtype), &best)?]);
        }
        let values: Vec<InstId> = match args {
            [tuple] => {
                let FunctionType::Tuple(fields) = self.type_of(*tuple) else {
                    unreachable!("inference takes tuples and arrays")
                };
                let leaves = self.leaves(*tuple);
                leaves.into_iter().zip(&**fields).map(|(leaf, of)| self.cast(leaf, of, &wanted)).collect()
            }
            args => args.iter().map(|arg| self.leaf_as(*arg, &wanted)).collect(),
        };
        let mut result = values[0];
        for value in &values[1..] {
            result = best(self, result, *value);
        }
        Ok(vec![result])
    }

    /// What is gone over: elements of an array, keys of a dictionary.
    pub(super) fn iterated(&self, value: InstId) -> Option<ArrayPart> {
        self.dict(value).map(|dict| dict.keys).or_else(|| self.part(value))
    }

    /// Folds all elements of a part into one value.
    pub(super) fn fold_elements(
        &mut self,
        part: &ArrayPart,
        start: (InstId, QType),
        step: &dyn Fn(&mut Self, InstId, InstId) -> InstId,
    ) -> Lower<InstId> {
        let open = part.open_axes();
        self.fold_axes(part, &open, &mut Vec::new(), start, step)
    }

    fn fold_axes(
        &mut self,
        part: &ArrayPart,
        open: &[usize],
        indices: &mut Vec<InstId>,
        start: (InstId, QType),
        step: &dyn Fn(&mut Self, InstId, InstId) -> InstId,
    ) -> Lower<InstId> {
        let Some((axis, rest)) = open.split_first() else {
            let element = self.load(part, indices);
            return Ok(step(self, start.0, element));
        };
        let length = self.axis_length(part, *axis);
        let qtype = start.1.clone();
        let folded = self.fold(length, Some(start), &mut |this, number, value| {
            indices.push(number);
            let value = value.expect("a fold has a value");
            let next = this.fold_axes(part, rest, indices, (value, qtype.clone()), step)?;
            indices.pop();
            Ok(Some(next))
        })?;
        Ok(folded.expect("a fold has a value"))
    }

    /// `sum`: from the left, as Python adds.
    fn sum(&mut self, _: LibraryFunction, of: InstId, inst: InstId) -> Lower<Vec<InstId>> {
        let wanted = self.type_of(inst).clone();
        let qtype = self.qtype(&wanted)?;
        let is_float = wanted == FunctionType::Float;
        let zero = if is_float { self.float(0.0) } else { self.int(0) };
        let add = move |this: &mut Self, x: InstId, y: InstId| match is_float {
            true => this.float_binary(BinaryOp::Add, x, y),
            false => this.int_binary(BinaryOp::Add, x, y),
        };
        if let Some(part) = self.iterated(of) {
            if let Some(sum) = self.sum_in_order(&part) {
                return Ok(vec![sum]);
            }
            let loaded = part.array.loaded();
            let step = move |this: &mut Self, x: InstId, y: InstId| {
                let wanted = if is_float { FunctionType::Float } else { FunctionType::Int };
                let y = this.cast(y, &loaded, &wanted);
                add(this, x, y)
            };
            return Ok(vec![self.fold_elements(&part, (zero, qtype), &step)?]);
        }
        let FunctionType::Tuple(fields) = self.type_of(of) else {
            unreachable!("inference takes tuples and arrays")
        };
        let mut sum = zero;
        for (leaf, field) in self.leaves(of).into_iter().zip(&**fields) {
            let value = self.cast(leaf, field, &wanted);
            sum = add(self, sum, value);
        }
        Ok(vec![sum])
    }

    fn any_or_all(&mut self, kind: LibraryKind, of: InstId) -> Lower<Vec<InstId>> {
        let is_any = kind == LibraryKind::Any;
        let start = self.boolean(!is_any);
        let join = if is_any { "bool.logical_or" } else { "bool.logical_and" };
        let test = move |this: &mut Self, value: InstId, of: &FunctionType| match of {
            FunctionType::Bool => value,
            FunctionType::Float => {
                let zero = this.float(0.0);
                this.total("bool.not_equal", vec![value, zero], BOOLEAN)
            }
            _ => {
                let zero = this.int(0);
                this.total("bool.not_equal", vec![value, zero], BOOLEAN)
            }
        };
        if let Some(part) = self.part(of) {
            let loaded = part.array.loaded();
            let step = move |this: &mut Self, x: InstId, y: InstId| {
                let y = test(this, y, &loaded);
                this.total(join, vec![x, y], BOOLEAN)
            };
            return Ok(vec![self.fold_elements(&part, (start, BOOLEAN), &step)?]);
        }
        let FunctionType::Tuple(fields) = self.type_of(of) else {
            unreachable!("inference takes tuples and arrays")
        };
        let mut result = start;
        for (leaf, field) in self.leaves(of).into_iter().zip(&**fields) {
            let value = test(self, leaf, field);
            result = self.total(join, vec![result, value], BOOLEAN);
        }
        Ok(vec![result])
    }

    /// `x in values`: equal to one of the elements or fields.
    fn contains(&mut self, of: InstId, value: InstId) -> Lower<Vec<InstId>> {
        if let Some(dict) = self.dict(of) {
            return Ok(vec![self.has_key(&dict, value)]);
        }
        if self.type_of(of).is_text() {
            return Ok(vec![self.text_contains(of, value)?]);
        }
        let wanted = self.type_of(value).clone();
        let (value, start) = (self.leaf(value), self.boolean(false));
        if let Some(part) = self.part(of) {
            let loaded = part.array.loaded();
            let step = move |this: &mut Self, found: InstId, element: InstId| {
                let equal = this.compare_numbers(CompareOp::Equal, (element, &loaded), (value, &wanted));
                this.or(found, equal)
            };
            return Ok(vec![self.fold_elements(&part, (start, BOOLEAN), &step)?]);
        }
        let FunctionType::Tuple(fields) = self.type_of(of) else {
            unreachable!("inference takes tuples and arrays")
        };
        let mut found = start;
        for (leaf, field) in self.leaves(of).into_iter().zip(&**fields) {
            if field.is_number() {
                let equal = self.compare_numbers(CompareOp::Equal, (leaf, field), (value, &wanted));
                found = self.or(found, equal);
            }
        }
        Ok(vec![found])
    }
}
