//! Elements of arrays: read and written where the [place](crate::layout::element_place) of the handle says.
//!
//! ```text
//! where a routine begins, and whenever a cell may have changed it:
//!     place = [frame + slot]      found out if it is unknown
//!     first, sizes, strides = [place], variables from here on
//!     the size of the first axis is 0 for writing if elements may not be written in place
//! an access:
//!     index below the size?       element = [first + index * stride + …]
//! ```
//!
//! One comparison an axis is all. Where it fails, the cell does it: an index from the end, an array to be copied before the
//! first write, and every fault. Reading changes no place, and writing that of no other array, so that what is computed of a
//! place leaves the loops that do not write to its array.
//!
//! 1. A slot with a handle has always one of its type, so that its place can be looked at anywhere.
//! 2. Only cells that have the slot as an operand or a result change what it holds; whoever runs one loads the place again.

use crate::jit::emitter::{Emitter, Instructed};
use crate::jit::places::Place;
use crate::layout::element_place::{Axis, ElementPlace};
use crate::layout::nd_handle::NdHandle;
use crate::operator::primitive::Primitive;
use crate::program::ValueId;
use crate::program::counted::{AffineElement, ElementAccess};
use crate::value::ScalarType;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value, types};
use cranelift_frontend::Variable;
use std::mem::offset_of;

impl Emitter<'_, '_> {
    /// Loads all places.
    pub(super) fn load_places(&mut self) {
        let mut slots: Vec<u32> = self.places.of.keys().copied().collect();
        slots.sort_unstable();
        for slot in slots {
            let loaded = self.places.of[&slot].clone();
            let place = self.located(slot, loaded.key);
            self.load_bound(place, &loaded, loaded.readable, offset_of!(ElementPlace, read_key));
            self.load_written(place, &loaded);
            for (axis, variable) in (1..).zip(loaded.sizes) {
                self.load_from(place, variable, of_axis(axis, offset_of!(Axis, size)));
            }
        }
    }

    /// Loads what may have changed where the array in a slot was written: it may be a copy of what it was.
    pub(super) fn load_moved(&mut self, slot: u32) {
        if let Some(loaded) = self.places.of.get(&slot).cloned() {
            let place = self.located(slot, loaded.key);
            self.load_written(place, &loaded);
            if let Some(moved) = self.moved {
                let yes = self.b.ins().iconst(types::I8, 1);
                self.b.def_var(moved, yes);
            }
        }
    }

    fn load_written(&mut self, place: Value, loaded: &Place) {
        self.load_bound(place, loaded, loaded.writable, offset_of!(ElementPlace, write_key));
        self.load_from(place, loaded.first, offset_of!(ElementPlace, first));
        for (axis, variable) in loaded.strides.iter().enumerate() {
            self.load_from(place, *variable, of_axis(axis, offset_of!(Axis, stride)));
        }
    }

    /// Loads the size of the first axis, or 0 where a key is not that of the type.
    fn load_bound(&mut self, place: Value, loaded: &Place, bound: Option<Variable>, keyed: usize) {
        let Some(bound) = bound else { return };
        let found = self.b.ins().load(types::I32, trusted(), place, keyed as i32);
        let is_known = self.b.ins().icmp_imm_u(IntCC::Equal, found, i64::from(loaded.key));
        let size = self.b.ins().load(types::I64, trusted(), place, of_axis(0, offset_of!(Axis, size)) as i32);
        let none = self.b.ins().iconst(types::I64, 0);
        let size = self.b.ins().select(is_known, size, none);
        self.b.def_var(bound, size);
    }

    fn load_from(&mut self, place: Value, variable: Variable, at: usize) {
        let value = self.b.ins().load(types::I64, trusted(), place, at as i32);
        self.b.def_var(variable, value);
    }

    /// The address of the place of the array in a slot, which is found out if it is unknown.
    fn located(&mut self, slot: u32, key: u32) -> Value {
        let place = place_in(self, slot);
        let found =
            self.b.ins().load(types::I32, trusted(), place, offset_of!(ElementPlace, read_key) as i32);
        let is_known = self.b.ins().icmp_imm_u(IntCC::Equal, found, i64::from(key));
        let (unknown, next) = (self.cold_block(), self.next_block());
        let located = self.b.append_block_param(next, types::I64);
        self.b.ins().brif(is_known, next, &[place.into()], unknown, &[]);
        self.enter(unknown);
        self.locate(slot);
        let place = place_in(self, slot);
        self.b.ins().jump(next, &[place.into()]);
        self.enter(next);
        located
    }
}

/// Where a place has a field of an axis.
fn of_axis(axis: usize, field: usize) -> usize {
    offset_of!(ElementPlace, axes) + axis * size_of::<Axis>() + field
}

/// The address of the place that a handle in a slot keeps.
fn place_in(e: &mut Emitter<'_, '_>, slot: u32) -> Value {
    let at = slot as usize + NdHandle::PLACE;
    e.b.ins().load(types::I64, trusted(), e.frame, at as i32)
}

/// Reads or writes an element, or gives a size; false if there is no rule. `varies` says which operands the innermost loop
/// changes.
pub(super) fn emit(
    e: &mut Emitter<'_, '_>,
    primitive: Option<Primitive>,
    instructed: Instructed<'_>,
    varies: &[bool],
) -> bool {
    match primitive {
        Some(Primitive::Get(element, _)) => get(e, element, instructed, varies),
        Some(Primitive::Set(element, _)) => set(e, element, instructed, varies),
        Some(Primitive::Length) => length(e, instructed),
        _ => return false,
    }
    true
}

/// Reads or writes an element that is inside, in a turn that began with a value of the counter.
pub(super) fn emit_inside(
    e: &mut Emitter<'_, '_>,
    instructed: Instructed<'_>,
    inside: &AffineElement,
    counter: Value,
) {
    let (at, offset) = inside_at(e, inside, counter);
    match inside.access {
        ElementAccess::Read => {
            let value = read(e, inside.element, at, offset);
            let result = instructed.results[0];
            let leaf = e.leaves(result)[0];
            e.define(result, leaf, value);
        }
        ElementAccess::Write => {
            let value = e.scalar(instructed.operands[1]);
            write(e, inside.element, value, at, offset);
        }
    }
}

/// The address of an element that is inside, without a constant distance.
fn inside_at(e: &mut Emitter<'_, '_>, inside: &AffineElement, counter: Value) -> (Value, i32) {
    let place = e.places.of[&e.routine.slot(inside.array).offset()].clone();
    let (mut at, mut moving, mut offset) = (e.b.use_var(place.first), Vec::new(), 0);
    for (axis, index) in inside.indices.iter().enumerate() {
        let is_in_one_piece = axis + 1 == inside.indices.len() && inside.goes_along_last_axis();
        let mut fixed = index.clone();
        let distance = if is_in_one_piece {
            let size = i64::from(inside.element.size());
            // What fits an instruction is added there.
            if let Ok(constant) = i32::try_from(index.constant.saturating_mul(size)) {
                (fixed.constant, offset) = (0, constant);
            }
            moving.push(e.b.ins().imul_imm_s(counter, index.scale * size));
            let fixed = e.fixed_part(&fixed);
            e.b.ins().imul_imm_s(fixed, size)
        } else {
            let stride = e.b.use_var(place.strides[axis]);
            if index.scale != 0 {
                let scaled = e.b.ins().imul_imm_s(counter, index.scale);
                moving.push(e.b.ins().imul(scaled, stride));
            }
            let fixed = e.fixed_part(&fixed);
            e.b.ins().imul(fixed, stride)
        };
        at = e.b.ins().iadd(at, distance);
    }
    (moving.into_iter().fold(at, |at, distance| e.b.ins().iadd(at, distance)), offset)
}

fn get(e: &mut Emitter<'_, '_>, element: ScalarType, instructed: Instructed<'_>, varies: &[bool]) {
    let [array, indices @ ..] = instructed.operands else { unreachable!("an array and indices") };
    let varies = &varies[1..];
    let (checks, at) = element_at(e, *array, indices, varies, ElementAccess::Read);
    let checks = folded(e, checks, varies);
    let refused = outside(e, checks);
    match element {
        // A UINT64 beyond INT64 cannot be read: the cell says so.
        ScalarType::Uint64 => {
            let (narrow, next) = (e.b.create_block(), e.b.create_block());
            let is_refused = e.b.append_block_param(next, types::I8);
            let loaded = e.b.append_block_param(next, types::I64);
            let (yes, none) = (e.b.ins().iconst(types::I8, 1), e.b.ins().iconst(types::I64, 0));
            let refused = refused.into_iter().reduce(|a, b| e.b.ins().bor(a, b)).expect("an array has axes");
            e.b.ins().brif(refused, next, &[yes.into(), none.into()], narrow, &[]);
            e.enter(narrow);
            let value = e.b.ins().load(types::I64, anywhere(), at, 0);
            let is_beyond = e.b.ins().icmp_imm_s(IntCC::SignedLessThan, value, 0);
            e.b.ins().jump(next, &[is_beyond.into(), value.into()]);
            e.enter(next);
            e.unless(&[is_refused], instructed, |_| Some(loaded));
        }
        _ => e.unless(&refused, instructed, |e| Some(read(e, element, at, 0))),
    }
}

fn set(e: &mut Emitter<'_, '_>, element: ScalarType, instructed: Instructed<'_>, varies: &[bool]) {
    let [array, value, indices @ ..] = instructed.operands else {
        unreachable!("an array, a value, indices")
    };
    let value = e.scalar(*value);
    let (checks, at) = element_at(e, *array, indices, &varies[2..], ElementAccess::Write);
    let refused = outside(e, checks);
    e.unless(&refused, instructed, |e| {
        write(e, element, value, at, 0);
        None
    });
}

fn write(e: &mut Emitter<'_, '_>, element: ScalarType, value: Value, at: Value, offset: i32) {
    match element {
        ScalarType::Int8 | ScalarType::Uint8 => e.b.ins().istore8(anywhere(), value, at, offset),
        ScalarType::Int16 | ScalarType::Uint16 => e.b.ins().istore16(anywhere(), value, at, offset),
        ScalarType::Uint32 => e.b.ins().istore32(anywhere(), value, at, offset),
        _ => e.b.ins().store(anywhere(), value, at, offset),
    };
}

fn length(e: &mut Emitter<'_, '_>, instructed: Instructed<'_>) {
    let [array, axis] = *instructed.operands else { unreachable!("an array and an axis") };
    let (place, axis) = (place_in(e, e.routine.slot(array).offset()), e.scalar(axis));
    // The number of axes is 0 where the place is unknown.
    let key = e.b.ins().load(types::I32, trusted(), place, offset_of!(ElementPlace, read_key) as i32);
    let rank = e.b.ins().ushr_imm_u(key, 8);
    let rank = e.b.ins().uextend(types::I64, rank);
    let refused = e.b.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, axis, rank);
    e.unless(&[refused], instructed, |e| {
        let distance = e.b.ins().imul_imm_s(axis, size_of::<Axis>() as i64);
        let at = e.b.ins().iadd(place, distance);
        let offset = offset_of!(ElementPlace, axes) + offset_of!(Axis, size);
        Some(e.b.ins().load(types::I64, trusted(), at, offset as i32))
    });
}

/// An index, and the size that it has to be below.
type Check = (Value, Value);

/// What an element asks for, axis by axis, and its address.
fn element_at(
    e: &mut Emitter<'_, '_>,
    array: ValueId,
    indices: &[ValueId],
    varies: &[bool],
    access: ElementAccess,
) -> (Vec<Check>, Value) {
    let place = e.places.of[&e.routine.slot(array).offset()].clone();
    let bounds = match access {
        ElementAccess::Read => place.readable,
        ElementAccess::Write => place.writable,
    };
    let bounds = bounds.expect("it was seen that the routine does this");
    // What the loop does not change is added up first, and so before the loop.
    let (mut at, mut moving) = (e.b.use_var(place.first), Vec::new());
    let mut checks = Vec::with_capacity(indices.len());
    for (axis, index) in indices.iter().enumerate() {
        let index = e.scalar(*index);
        let size = e.b.use_var(if axis == 0 { bounds } else { place.sizes[axis - 1] });
        checks.push((index, size));
        let stride = e.b.use_var(place.strides[axis]);
        let distance = e.b.ins().imul(index, stride);
        match varies[axis] {
            true => moving.push(distance),
            false => at = e.b.ins().iadd(at, distance),
        }
    }
    (checks, moving.into_iter().fold(at, |at, distance| e.b.ins().iadd(at, distance)))
}

/// Fewer checks: what does not vary in the loop makes the size of another axis 0 where it is outside, so that it is looked
/// at before the loop.
fn folded(e: &mut Emitter<'_, '_>, checks: Vec<Check>, varies: &[bool]) -> Vec<Check> {
    let with = varies.iter().position(|varies| *varies).unwrap_or(checks.len() - 1);
    let mut folded = vec![checks[with]];
    for (axis, check) in checks.into_iter().enumerate().filter(|(axis, _)| *axis != with) {
        if varies[axis] {
            folded.push(check);
            continue;
        }
        let is_inside = e.b.ins().icmp(IntCC::UnsignedLessThan, check.0, check.1);
        let none = e.b.ins().iconst(types::I64, 0);
        folded[0].1 = e.b.ins().select(is_inside, folded[0].1, none);
    }
    folded
}

/// Where an element is refused: if one of these holds.
fn outside(e: &mut Emitter<'_, '_>, checks: Vec<Check>) -> Vec<Value> {
    let outside = |(index, size)| e.b.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, index, size);
    checks.into_iter().map(outside).collect()
}

/// The value of an element that stands anywhere.
fn read(e: &mut Emitter<'_, '_>, element: ScalarType, at: Value, offset: i32) -> Value {
    let ty = match element {
        ScalarType::Boolean => {
            let byte = e.b.ins().load(types::I8, anywhere(), at, offset);
            return e.b.ins().icmp_imm_u(IntCC::NotEqual, byte, 0);
        }
        ScalarType::Int8 => return e.b.ins().sload8(types::I64, anywhere(), at, offset),
        ScalarType::Uint8 => return e.b.ins().uload8(types::I64, anywhere(), at, offset),
        ScalarType::Int16 => return e.b.ins().sload16(types::I64, anywhere(), at, offset),
        ScalarType::Uint16 => return e.b.ins().uload16(types::I64, anywhere(), at, offset),
        ScalarType::Uint32 => return e.b.ins().uload32(anywhere(), at, offset),
        ScalarType::Int32 => types::I32,
        ScalarType::Float32 => types::F32,
        ScalarType::Float64 => types::F64,
        _ => types::I64,
    };
    e.b.ins().load(ty, anywhere(), at, offset)
}

/// Memory of the machine: there, and aligned.
fn trusted() -> MemFlagsData {
    MemFlagsData::trusted()
}

/// Memory of an array: there, of any alignment.
fn anywhere() -> MemFlagsData {
    MemFlagsData::new().with_notrap()
}
