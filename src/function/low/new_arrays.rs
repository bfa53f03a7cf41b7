//! Arrays and lists that calls of the library make.

use super::leaves::leaf_types;
use super::views::ArrayPart;
use super::{Lower, Lowering};
use crate::function::build::RaisedFailure;
use crate::function::library::{LibraryFunction, LibraryKind};
use crate::function::types::{ArrayOf, FunctionType};
use crate::ssa::InstId;
use cembra_vm::value::Category;
use cembra_vm::value::qtype::{BOOLEAN, FLOAT64, INT64};

/// The sizes of an array of so many values, all of which have the type of the first.
fn sizes_of(count: usize, first: Option<&FunctionType>) -> Vec<usize> {
    let (mut sizes, mut of) = (vec![count], first);
    while let Some(FunctionType::Tuple(fields)) = of {
        sizes.push(fields.len());
        of = fields.first();
    }
    sizes
}

impl Lowering<'_> {
    /// `np.linspace`: start + i * step, and the last element is the stop itself.
    pub(super) fn linspace(&mut self, array: ArrayOf, args: &[InstId]) -> Lower<Vec<InstId>> {
        use FunctionType::{Float, Int};
        let (start, stop) = (self.leaf_as(args[0], &Float), self.leaf_as(args[1], &Float));
        let count = match args.get(2) {
            Some(count) => self.leaf_as(*count, &Int),
            None => self.int(50),
        };
        let zero = self.float(0.0);
        let handle = self.filled(array, zero, vec![count])?;
        let whole = ArrayPart::whole(handle, array);
        let (one, minus) = (self.int(1), self.int(-1));
        let steps = self.total("math.add", vec![count, minus], INT64);
        let divisor = self.total("python.max", vec![steps, one], INT64);
        let divisor = self.cast(divisor, &Int, &Float);
        let range = self.total("math.subtract", vec![stop, start], FLOAT64);
        let step = self.total("math.divide", vec![range, divisor], FLOAT64);
        self.fold(count, None, &mut |this, number, _| {
            let position = this.cast(number, &Int, &Float);
            let way = this.total("math.multiply", vec![position, step], FLOAT64);
            let value = this.total("math.add", vec![way, start], FLOAT64);
            let (is_last, has_several) = (
                this.total("bool.equal", vec![number, steps], BOOLEAN),
                this.total("bool.less", vec![one, count], BOOLEAN),
            );
            let is_end = this.and(is_last, has_several);
            let value = this.select(is_end, stop, value, FLOAT64);
            this.store(&whole, &[number], value, &Float);
            Ok(None)
        })?;
        Ok(vec![handle])
    }

    pub(super) fn new_array(
        &mut self,
        builtin: LibraryFunction,
        args: &[InstId],
        inst: InstId,
    ) -> Lower<Vec<InstId>> {
        use FunctionType::{Array, Float, Int};
        let Array(array) = self.type_of(inst) else { unreachable!("inference gives an array") };
        let element = array.element;
        match builtin.kind() {
            LibraryKind::Filled(value) | LibraryKind::FilledAs(value) => {
                let has_like = matches!(builtin.kind(), LibraryKind::FilledAs(_));
                let sizes = self.sizes(&args[usize::from(has_like)..]);
                Ok(vec![self.filled_with(*array, value, sizes)?])
            }
            LibraryKind::FilledLike(value) => {
                let part = self.part(args[0]).expect("inference takes an array");
                let sizes = self.sizes_of(&part);
                let filled = self.filled_with(*array, value, sizes)?;
                self.note_shape(filled, &part);
                Ok(vec![filled])
            }
            LibraryKind::FullLike => {
                let (value, of) = (self.leaf(args[1]), self.type_of(args[1]));
                let value = self.element_value(value, of, element);
                let part = self.part(args[0]).expect("inference takes an array");
                let sizes = self.sizes_of(&part);
                let filled = self.filled(*array, value, sizes)?;
                self.note_shape(filled, &part);
                Ok(vec![filled])
            }
            LibraryKind::Eye => self.eye(*array, args),
            LibraryKind::Linspace => self.linspace(*array, args),
            LibraryKind::Full => {
                let (value, of) = (self.leaf(args[0]), self.type_of(args[0]));
                let value = self.element_value(value, of, element);
                let sizes = self.sizes(&args[1..]);
                Ok(vec![self.filled(*array, value, sizes)?])
            }
            LibraryKind::Arange if args.iter().any(|arg| *self.type_of(*arg) == Float) => {
                self.float_range(*array, args)
            }
            LibraryKind::Arange => {
                let bounds: Vec<InstId> = args.iter().map(|arg| self.leaf_as(*arg, &Int)).collect();
                let (zero, one) = (self.int(0), self.int(1));
                let (start, stop, step) = match bounds[..] {
                    [stop] => (zero, stop, one),
                    [start, stop] => (start, stop, one),
                    _ => (bounds[0], bounds[1], bounds[2]),
                };
                if bounds.len() == 3 {
                    let is_zero = self.total("bool.equal", vec![step, zero], BOOLEAN);
                    let message = "division by zero".to_owned();
                    self.raise_if(is_zero, RaisedFailure { category: Category::DivisionByZero, message });
                }
                let count = self.operator("python.range_count", vec![start, stop, step], INT64);
                self.array_of(*array, count, &mut |this, number| {
                    let way = this.total("math.multiply", vec![number, step], INT64);
                    Ok(this.total("math.add", vec![start, way], INT64))
                })
            }
            LibraryKind::ArrayOf => {
                let mut values = Vec::new();
                for arg in args {
                    self.numbers_of(self.leaves(*arg), self.type_of(*arg), &mut values);
                }
                let sizes = sizes_of(args.len(), args.first().map(|first| self.type_of(*first)));
                self.array_with(*array, &sizes, values)
            }
            LibraryKind::ArrayFrom if matches!(self.type_of(args[0]), FunctionType::Tuple(_)) => {
                let FunctionType::Tuple(fields) = self.type_of(args[0]) else {
                    unreachable!("it was looked at")
                };
                let mut values = Vec::new();
                self.numbers_of(self.leaves(args[0]), self.type_of(args[0]), &mut values);
                let sizes = sizes_of(fields.len(), fields.first());
                self.array_with(*array, &sizes, values)
            }
            _ => {
                let part = self.part(args[0]).expect("inference takes an array");
                Ok(vec![self.copied(&part, *array)?])
            }
        }
    }

    /// An array of one small number.
    pub(super) fn filled_with(&mut self, array: ArrayOf, value: i8, sizes: Vec<InstId>) -> Lower<InstId> {
        let (value, of) = match array.element.is_float() {
            true => (self.float(value.into()), FunctionType::Float),
            false => (self.int(value.into()), FunctionType::Int),
        };
        let value = self.element_value(value, &of, array.element);
        self.filled(array, value, sizes)
    }

    /// The elements of a part in an array of their own.
    pub(super) fn copied(&mut self, part: &ArrayPart, array: ArrayOf) -> Lower<InstId> {
        let element = array.element;
        if part.is_whole() && part.array.element == element {
            let qtype = self.qtype(&FunctionType::Array(array))?;
            let copy = self.operator("core._copy", vec![part.root], qtype);
            self.note_shape(copy, part);
            return Ok(copy);
        }
        if part.array.element == element {
            return Ok(self.own_array(part));
        }
        let lengths = self.sizes_of(part);
        let handle = self.filled_with(array, 0, lengths)?;
        let whole = ArrayPart::whole(handle, array);
        self.for_each_element(part, &mut |this, part, indices| {
            let value = this.load(part, indices);
            this.store(&whole, indices, value, &part.array.loaded());
            Ok(())
        })?;
        Ok(handle)
    }

    /// The numbers that a value is made of, with their types.
    fn numbers_of(&self, leaves: Vec<InstId>, of: &FunctionType, out: &mut Vec<(InstId, FunctionType)>) {
        let mut types = Vec::new();
        leaf_types(of, &mut types);
        out.extend(leaves.into_iter().zip(types));
    }

    /// `np.eye`: ones along the diagonal.
    fn eye(&mut self, array: ArrayOf, args: &[InstId]) -> Lower<Vec<InstId>> {
        let sizes = self.sizes(args);
        let (rows, columns) = (sizes[0], *sizes.last().expect("inference takes one or two"));
        let number = |this: &mut Self, value: i8| {
            let (number, of) = match array.element.is_float() {
                true => (this.float(value.into()), FunctionType::Float),
                false => (this.int(value.into()), FunctionType::Int),
            };
            this.element_value(number, &of, array.element)
        };
        let (zero, of) = (number(self, 0), array.loaded());
        let handle = self.filled(array, zero, vec![rows, columns])?;
        let whole = ArrayPart::whole(handle, array);
        let count = self.total("python.min", vec![rows, columns], INT64);
        self.fold(count, None, &mut |this, at, _| {
            let one = match of {
                FunctionType::Float => this.float(1.0),
                FunctionType::Bool => this.boolean(true),
                _ => this.int(1),
            };
            this.store(&whole, &[at, at], one, &of);
            Ok(None)
        })?;
        Ok(vec![handle])
    }

    /// `np.arange` of floats: as many as numpy counts, at the distance of the first two, which are the start, be it -0.0,
    /// and the start with the step.
    fn float_range(&mut self, array: ArrayOf, args: &[InstId]) -> Lower<Vec<InstId>> {
        use FunctionType::{Float, Int};
        let bounds: Vec<InstId> = args.iter().map(|arg| self.leaf_as(*arg, &Float)).collect();
        let (zero, one) = (self.float(0.0), self.float(1.0));
        let (start, stop, step) = match bounds[..] {
            [stop] => (zero, stop, one),
            [start, stop] => (start, stop, one),
            _ => (bounds[0], bounds[1], bounds[2]),
        };
        let way = self.total("math.subtract", vec![stop, start], FLOAT64);
        let count = self.operator("python.divide", vec![way, step], FLOAT64);
        let count = self.operator("python.ceil", vec![count], INT64);
        let (none, first) = (self.int(0), self.int(1));
        let count = self.total("python.max", vec![count, none], INT64);
        let second = self.total("math.add", vec![start, step], FLOAT64);
        let distance = self.total("math.subtract", vec![second, start], FLOAT64);
        let filler = self.element_value(zero, &Float, array.element);
        let handle = self.filled(array, filler, vec![count])?;
        let whole = ArrayPart::whole(handle, array);
        self.fold(count, None, &mut |this, number, _| {
            let position = this.cast(number, &Int, &Float);
            let way = this.total("math.multiply", vec![position, distance], FLOAT64);
            let value = this.total("math.add", vec![start, way], FLOAT64);
            let is_second = this.total("bool.equal", vec![number, first], BOOLEAN);
            let value = this.select(is_second, second, value, FLOAT64);
            let is_first = this.total("bool.equal", vec![number, none], BOOLEAN);
            let value = this.select(is_first, start, value, FLOAT64);
            this.store(&whole, &[number], value, &Float);
            Ok(None)
        })?;
        Ok(vec![handle])
    }

    /// An array of numbers, the last axis running fastest.
    fn array_with(
        &mut self,
        array: ArrayOf,
        sizes: &[usize],
        values: Vec<(InstId, FunctionType)>,
    ) -> Lower<Vec<InstId>> {
        let lengths = sizes.iter().map(|size| self.int(*size as i64)).collect();
        let of = if array.element.is_float() { FunctionType::Float } else { FunctionType::Int };
        let zero = if array.element.is_float() { self.float(0.0) } else { self.int(0) };
        let zero = self.element_value(zero, &of, array.element);
        let handle = self.filled(array, zero, lengths)?;
        let whole = ArrayPart::whole(handle, array);
        for (number, (value, of)) in values.into_iter().enumerate() {
            let (mut rest, mut place) = (number, vec![0; sizes.len()]);
            for (axis, size) in sizes.iter().enumerate().rev() {
                (place[axis], rest) = (rest % size, rest / size);
            }
            let place: Vec<InstId> = place.into_iter().map(|at| self.int(at as i64)).collect();
            self.store(&whole, &place, value, &of);
        }
        Ok(vec![handle])
    }

    /// A list of values.
    pub(super) fn new_list(&mut self, args: &[InstId], inst: InstId) -> Lower<Vec<InstId>> {
        let FunctionType::Array(array) = self.type_of(inst) else { unreachable!("inference gives a list") };
        let values: Vec<_> = args.iter().map(|arg| (self.leaf(*arg), self.type_of(*arg).clone())).collect();
        self.array_with(*array, &[values.len()], values)
    }

    /// Sizes of a new array: one operand each, or a tuple.
    fn sizes(&mut self, args: &[InstId]) -> Vec<InstId> {
        let mut sizes = Vec::new();
        for arg in args {
            match self.type_of(*arg) {
                FunctionType::Tuple(fields) => {
                    for (leaf, of) in self.leaves(*arg).into_iter().zip(&**fields) {
                        sizes.push(self.cast(leaf, of, &FunctionType::Int));
                    }
                }
                _ => sizes.push(self.leaf_as(*arg, &FunctionType::Int)),
            }
        }
        sizes
    }

    /// An array of integers that a body computes from the number of the element.
    fn array_of(
        &mut self,
        array: ArrayOf,
        count: InstId,
        body: &mut dyn FnMut(&mut Self, InstId) -> Lower<InstId>,
    ) -> Lower<Vec<InstId>> {
        let zero = match array.element.is_float() {
            true => self.float(0.0),
            false => self.int(0),
        };
        let of = if array.element.is_float() { FunctionType::Float } else { FunctionType::Int };
        let zero = self.element_value(zero, &of, array.element);
        let handle = self.filled(array, zero, vec![count])?;
        let whole = ArrayPart::whole(handle, array);
        self.fold(count, None, &mut |this, number, _| {
            let value = body(this, number)?;
            this.store(&whole, &[number], value, &FunctionType::Int);
            Ok(None)
        })?;
        Ok(vec![handle])
    }
}
