//! Elements, rows and slices of arrays, fields of tuples, attributes.

use super::leaves::leaf_types;
use super::views::{ArrayPart, Axis, Lowered};
use super::{LowOp, Lower, Lowering};
use crate::function::constant::Constant;
use crate::function::infer::Instance;
use crate::function::op::{FunctionOp, IndexPart};
use crate::function::types::{ArrayOf, FunctionType};
use crate::ssa::{Inst, InstId, SsaOp, Tail};
use cembra_vm::value::qtype::{BOOLEAN, FLOAT32, INT32, INT64};
use cembra_vm::value::{QType, ScalarType};

/// What is done for an element of a part: at indices along its open axes.
pub(super) type ForElement<'a, L> = dyn FnMut(&mut L, &ArrayPart, &[InstId]) -> Lower<()> + 'a;

impl Lowering<'_> {
    /// An array value as a part of its handle.
    pub(super) fn part(&self, value: InstId) -> Option<ArrayPart> {
        match &self.lowered[value.index()] {
            Some(Lowered::Part(part)) => Some(part.clone()),
            Some(Lowered::Leaves(leaves)) => match self.type_of(value) {
                FunctionType::Array(array) => Some(ArrayPart::whole(leaves[0], *array)),
                _ => None,
            },
            None => None,
        }
    }

    pub(super) fn get_item(&mut self, inst: InstId, parts: &[IndexPart], args: &[InstId]) -> Lower<Lowered> {
        if let Some(dict) = self.dict(args[0]) {
            return Ok(Lowered::Leaves(self.dict_value(&dict, args[1])));
        }
        let Some(part) = self.part(args[0]) else {
            return Ok(Lowered::Leaves(self.field(inst, args[0], args[1])?));
        };
        let is_checked = !self.in_passing[inst.index()];
        let part = self.indexed(part, parts, &args[1..], is_checked)?;
        match part.open_axes().is_empty() {
            true => Ok(Lowered::Leaves(vec![self.load(&part, &[])])),
            // A slice of an array is a view, one of a list a list of its own.
            false if part.array.is_list => Ok(Lowered::Leaves(vec![self.copied(&part, part.array)?])),
            false => Ok(Lowered::Part(part)),
        }
    }

    /// A field of a tuple.
    fn field(&mut self, inst: InstId, tuple: InstId, index: InstId) -> Lower<Vec<InstId>> {
        let FunctionType::Tuple(fields) = self.type_of(tuple) else {
            unreachable!("inference gives parts of tuples and arrays only")
        };
        let leaves = self.leaves_as(tuple, self.type_of(tuple))?;
        let known = match self.constant_of(index) {
            Some(Constant::Int(index)) => Some(index),
            Some(Constant::Bool(index)) => Some(i64::from(index)),
            _ => None,
        };
        if let Some(index) = known {
            let place = (if index < 0 { index + fields.len() as i64 } else { index }) as usize;
            let count = |fields: &[FunctionType]| {
                let mut types = Vec::new();
                fields.iter().for_each(|field| leaf_types(field, &mut types));
                types.len()
            };
            let (start, end) = (count(&fields[..place]), count(&fields[..=place]));
            return Ok(leaves[start..end].to_vec());
        }
        // All fields hold as many numbers: those of the field that the index says.
        let wanted = self.type_of(inst);
        let (index, length) = (self.leaf_as(index, &FunctionType::Int), self.int(fields.len() as i64));
        let index = self.operator("python.index", vec![index, length], INT64);
        let Some((first, rest)) = fields.split_first() else { return Ok(vec![index]) };
        let (mut leaves, mut chosen) = (leaves.into_iter(), Vec::new());
        self.widen(&mut leaves, (first, wanted), &mut chosen);
        for (place, field) in (1..).zip(rest) {
            let (mut values, number) = (Vec::new(), self.int(place));
            self.widen(&mut leaves, (field, wanted), &mut values);
            let is_place = self.total("bool.equal", vec![index, number], BOOLEAN);
            for (chosen, value) in chosen.iter_mut().zip(values) {
                let qtype = self.types[value.index()].clone().expect("a number");
                *chosen = self.select(is_place, value, *chosen, qtype);
            }
        }
        Ok(chosen)
    }

    /// A part with places given along its open axes. Indices of rows are checked here if they are to be; those of elements are
    /// where these are read or written.
    fn indexed(
        &mut self,
        mut part: ArrayPart,
        parts: &[IndexPart],
        values: &[InstId],
        is_checked: bool,
    ) -> Lower<ArrayPart> {
        let open = part.open_axes();
        let is_checked = is_checked && !is_of_element(open.len(), parts);
        let mut values = values.iter().copied();
        for (axis, place) in open.into_iter().zip(parts) {
            part.axes[axis] = match place {
                IndexPart::At => {
                    let index = values.next().expect("an operand for each place");
                    let index = self.leaf_as(index, &FunctionType::Int);
                    if is_checked && matches!(part.axes[axis], Axis::Whole) {
                        let length = self.axis_length(&part, axis);
                        self.operator("python.index", vec![index, length], INT64);
                    }
                    Axis::Fixed(self.place_on(part.axes[axis], index))
                }
                IndexPart::Slice { lower, upper, step } => {
                    let mut bound =
                        |given: bool| given.then(|| values.next().expect("an operand for each bound"));
                    let (lower, upper, step) = (bound(*lower), bound(*upper), bound(*step));
                    self.slice(&part, axis, lower, upper, step)?
                }
            };
        }
        Ok(part)
    }

    /// An index on an axis as an index of the handle.
    fn place_on(&mut self, axis: Axis, index: InstId) -> InstId {
        match axis {
            Axis::Span { start, length, step } => {
                let index = self.operator("python.index", vec![index, length], INT64);
                let way = self.total("math.multiply", vec![index, step], INT64);
                self.total("math.add", vec![start, way], INT64)
            }
            // The element operators count from the end, and check.
            Axis::Whole | Axis::Fixed(_) => index,
        }
    }

    fn slice(
        &mut self,
        part: &ArrayPart,
        axis: usize,
        lower: Option<InstId>,
        upper: Option<InstId>,
        step: Option<InstId>,
    ) -> Lower<Axis> {
        let length = self.axis_length(part, axis);
        let by = match step.map(|step| self.constant_of(step)) {
            None => 1,
            Some(Some(Constant::Int(step))) if step != 0 => step,
            Some(_) => {
                return Err(self.unsupported(
                    "slice-step",
                    "the step of a slice is a number that is known, and not 0",
                    "write it out",
                ));
            }
        };
        let by_value = self.int(by);
        let bound = |this: &mut Self, given: Option<InstId>, name: &'static str, default: InstId| match given
        {
            None => default,
            Some(value) => {
                let value = this.leaf_as(value, &FunctionType::Int);
                this.total(name, vec![value, length, by_value], INT64)
            }
        };
        let (zero, before, last) = (self.int(0), self.int(-1), self.int(-1));
        let end = self.total("math.add", vec![length, last], INT64);
        let (first, behind) = if by > 0 { (zero, length) } else { (end, before) };
        let start = bound(self, lower, "python.slice_bound", first);
        let stop = bound(self, upper, "python.slice_bound", behind);
        let count = self.operator("python.range_count", vec![start, stop, by_value], INT64);
        Ok(match part.axes[axis] {
            Axis::Span { start: outer, step: outer_step, .. } => {
                let way = self.total("math.multiply", vec![start, outer_step], INT64);
                let start = self.total("math.add", vec![outer, way], INT64);
                let step = self.total("math.multiply", vec![by_value, outer_step], INT64);
                Axis::Span { start, length: count, step }
            }
            _ => Axis::Span { start, length: count, step: by_value },
        })
    }

    /// Elements along an axis of the handle that is open.
    pub(super) fn axis_length(&mut self, part: &ArrayPart, axis: usize) -> InstId {
        match part.axes[axis] {
            Axis::Span { length, .. } => length,
            Axis::Whole | Axis::Fixed(_) => {
                let number = self.int(axis as i64);
                self.total("nd.length", vec![part.root, number], INT64)
            }
        }
    }

    /// Loads an element, at indices along the open axes.
    pub(super) fn load(&mut self, part: &ArrayPart, indices: &[InstId]) -> InstId {
        let mut args = vec![part.root];
        args.extend(self.places(part, indices));
        let element = part.array.element;
        let loaded = self.operator("nd.get", args, cell_type(element));
        match element {
            ScalarType::Int32 => self.total("core._to_int64", vec![loaded], INT64),
            ScalarType::Float32 => {
                self.total("core.to_float64", vec![loaded], cembra_vm::value::qtype::FLOAT64)
            }
            _ => loaded,
        }
    }

    /// Stores a number as an element, at indices along the open axes.
    pub(super) fn store(&mut self, part: &ArrayPart, indices: &[InstId], value: InstId, of: &FunctionType) {
        let value = self.as_element(value, of, part.array.element);
        let mut args = vec![part.root, value];
        args.extend(self.places(part, indices));
        self.update("nd.set", args);
    }

    /// An operator that changes its first operand in place.
    pub(super) fn update(&mut self, name: &'static str, args: Vec<InstId>) {
        self.flow.push(self.block, SsaOp::Do(LowOp::Update(name)), args, self.span);
        self.types.push(None);
    }

    /// A number in the type of an element: integers wrap, floats are cut.
    fn as_element(&mut self, value: InstId, of: &FunctionType, element: ScalarType) -> InstId {
        let float = |this: &mut Self| this.cast(value, of, &FunctionType::Float);
        match element {
            ScalarType::Float64 => float(self),
            ScalarType::Float32 => {
                let value = float(self);
                self.total("core._to_float32", vec![value], FLOAT32)
            }
            ScalarType::Boolean => match of {
                FunctionType::Bool => value,
                _ => self.total("core.to_bool", vec![value], BOOLEAN),
            },
            _ => {
                let value = match of {
                    FunctionType::Float => self.operator("python.to_int", vec![value], INT64),
                    _ => self.cast(value, of, &FunctionType::Int),
                };
                match element {
                    ScalarType::Int32 => self.total("python.to_int32", vec![value], INT32),
                    _ => value,
                }
            }
        }
    }

    fn places(&mut self, part: &ArrayPart, indices: &[InstId]) -> Vec<InstId> {
        let mut rest = indices.iter();
        let axes = part.axes.clone();
        axes.into_iter()
            .map(|axis| match axis {
                Axis::Fixed(index) => index,
                open => {
                    let index = *rest.next().expect("an index for each open axis");
                    self.place_on(open, index)
                }
            })
            .collect()
    }

    pub(super) fn set_item(&mut self, parts: &[IndexPart], args: &[InstId]) -> Lower<()> {
        if let Some(dict) = self.dict(args[0]) {
            return self.set_dict_value(&dict, args[2], args[1]);
        }
        let part = self.written_part(args[0])?;
        let of = self.type_of(args[1]);
        let part = self.indexed(part, parts, &args[2..], true)?;
        if let FunctionType::Array(_) = of {
            return self.set_part(&part, args[1]);
        }
        let value = self.leaf(args[1]);
        self.for_each_element(&part, &mut |this, part, indices| {
            this.store(part, indices, value, of);
            Ok(())
        })
    }

    /// Raises ValueError if an array is not unpacked to so many names.
    pub(super) fn check_unpacked(&mut self, part: &ArrayPart, names: u32) {
        let first = part.open_axes()[0];
        let (length, wanted) = (self.axis_length(part, first), self.int(names.into()));
        let is_less = self.total("bool.less", vec![length, wanted], BOOLEAN);
        self.fail_if(is_less, format!("not enough values to unpack (expected {names})"));
        let is_more = self.total("bool.less", vec![wanted, length], BOOLEAN);
        self.fail_if(is_more, format!("too many values to unpack (expected {names})"));
    }

    /// `place[…] = array`: the elements of an array, which is stretched to the place as numpy's rules say.
    fn set_part(&mut self, place: &ArrayPart, value: InstId) -> Lower<()> {
        let source = self.array_read(value)?;
        let (element, rank) = (place.array.element, source.open_axes().len());
        // What is written is read first.
        let array = match source.is_whole() && source.array.element == element && source.root != place.root {
            true => source.root,
            false => self.copied(&source, ArrayOf::array(element, rank))?,
        };
        self.assign(place, array);
        Ok(())
    }

    /// An array that is written.
    pub(super) fn written_part(&self, value: InstId) -> Lower<ArrayPart> {
        let part = self.part(value).expect("inference refuses what is no array");
        match part.is_constant {
            false => Ok(part),
            true => Err(self.unsupported(
                "module-array",
                "an array of the module is read, not written",
                "pass it as an argument, or write to a copy",
            )),
        }
    }

    /// Runs a body for every element of a part.
    pub(super) fn for_each_element(
        &mut self,
        part: &ArrayPart,
        body: &mut ForElement<'_, Self>,
    ) -> Lower<()> {
        let open = part.open_axes();
        self.nested(part, &open, &mut Vec::new(), body)
    }

    fn nested(
        &mut self,
        part: &ArrayPart,
        open: &[usize],
        indices: &mut Vec<InstId>,
        body: &mut ForElement<'_, Self>,
    ) -> Lower<()> {
        let Some((axis, rest)) = open.split_first() else { return body(self, part, indices) };
        let length = self.axis_length(part, *axis);
        self.fold(length, None, &mut |this, number, _| {
            indices.push(number);
            this.nested(part, rest, indices, body)?;
            indices.pop();
            Ok(None)
        })?;
        Ok(())
    }

    pub(super) fn attribute(&mut self, name: &str, of: InstId) -> Lower<Vec<InstId>> {
        let Some(part) = self.part(of) else { return Ok(vec![self.leaf(of)]) };
        let open = part.open_axes();
        if name == "ndim" {
            return Ok(vec![self.int(open.len() as i64)]);
        }
        let lengths: Vec<InstId> = open.into_iter().map(|axis| self.axis_length(&part, axis)).collect();
        if name == "shape" {
            return Ok(lengths);
        }
        let mut size = lengths[0];
        for length in &lengths[1..] {
            size = self.total("math.multiply", vec![size, *length], INT64);
        }
        Ok(vec![size])
    }

    /// An array of one value.
    pub(super) fn filled(&mut self, array: ArrayOf, value: InstId, sizes: Vec<InstId>) -> Lower<InstId> {
        let qtype = self.qtype(&FunctionType::Array(array))?;
        let args = std::iter::once(value).chain(sizes).collect();
        let name = match array.element {
            ScalarType::Int8 => "nd.full_int8",
            ScalarType::Int16 => "nd.full_int16",
            ScalarType::Uint8 => "nd.full_uint8",
            ScalarType::Uint16 => "nd.full_uint16",
            ScalarType::Uint32 => "nd.full_uint32",
            ScalarType::Uint64 => "nd.full_uint64",
            _ => "nd.full",
        };
        Ok(self.operator(name, args, qtype))
    }

    /// A value as an element, for [`Lowering::filled`].
    pub(super) fn element_value(&mut self, value: InstId, of: &FunctionType, element: ScalarType) -> InstId {
        self.as_element(value, of, element)
    }
}

/// True if these places say where one element is.
fn is_of_element(open_axes: usize, parts: &[IndexPart]) -> bool {
    parts.len() == open_axes && parts.iter().all(|part| matches!(part, IndexPart::At))
}

/// By instruction: true of a row of which one expression reads or writes elements, `a[i][j]`, and nobody anything else. It needs no check
/// of its own: these check its index, at the same place, behind nothing that could be seen.
pub(super) fn rows_in_passing(instance: &Instance) -> Vec<bool> {
    let flow = &instance.function.flow;
    // By instruction: its block, as far as it has been met.
    let mut block_of = vec![None; flow.insts.len()];
    let (mut has_elements_read, mut is_read_else) =
        (vec![false; flow.insts.len()], vec![false; flow.insts.len()]);
    for id in flow.reverse_postorder() {
        let block = flow.block(id);
        for inst in &block.insts {
            block_of[inst.index()] = Some(id);
            let inst = flow.inst(*inst);
            for (operand, arg) in inst.args.iter().enumerate() {
                let is_element =
                    operand == 0 && reads_elements(instance, inst, *arg) && block_of[arg.index()] == Some(id);
                has_elements_read[arg.index()] |= is_element;
                is_read_else[arg.index()] |= !is_element;
            }
        }
        if let Tail::Return(value) | Tail::Branch { condition: value, .. } = block.tail {
            is_read_else[value.index()] = true;
        }
    }
    has_elements_read.into_iter().zip(is_read_else).map(|(elements, other)| elements && !other).collect()
}

/// True if an instruction reads or writes an element of an array whose own expression is part of that of the instruction.
fn reads_elements(instance: &Instance, inst: &Inst<FunctionOp>, array: InstId) -> bool {
    let SsaOp::Do(FunctionOp::GetItem(parts) | FunctionOp::SetItem(parts)) = &inst.op else { return false };
    let Some(FunctionType::Array(of)) = &instance.types[array.index()] else { return false };
    let (outer, inner) = (inst.span, instance.function.flow.inst(array).span);
    is_of_element(of.rank, parts) && outer.start <= inner.start && inner.end <= outer.end
}

/// The machine's type of a loaded element.
fn cell_type(element: ScalarType) -> QType {
    match element {
        ScalarType::Boolean | ScalarType::Int32 | ScalarType::Float32 | ScalarType::Float64 => {
            QType::Scalar(element)
        }
        _ => INT64,
    }
}
