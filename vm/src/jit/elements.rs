//! Elements of arrays: read and written where the [place](crate::layout::element_place) of the handle says.
//!
//! ```text
//! place = [frame + slot]      key = [place]      is it the key of the type?      index below the size?
//! element = [first + index * stride + …]
//! ```
//!
//! An unknown place has another key and can be looked at, so that all conditions are one. Then the cell does it: an index
//! from the end, a place to be found, an array to be copied before the first write, and every fault.

use crate::jit::emitter::{Emitter, Instructed};
use crate::layout::element_place::{Axis, ElementPlace, key};
use crate::layout::nd_handle::NdHandle;
use crate::operator::primitive::Primitive;
use crate::program::ValueId;
use crate::value::ScalarType;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value, types};
use std::mem::offset_of;

/// Reads or writes an element, or gives a size; false if there is no rule.
pub(super) fn emit(
    e: &mut Emitter<'_, '_>,
    primitive: Option<Primitive>,
    instructed: Instructed<'_>,
) -> bool {
    match primitive {
        Some(Primitive::Get(element, rank)) => get(e, element, rank, instructed),
        Some(Primitive::Set(element, rank)) => set(e, element, rank, instructed),
        Some(Primitive::Length) => length(e, instructed),
        _ => return false,
    }
    true
}

fn get(e: &mut Emitter<'_, '_>, element: ScalarType, rank: usize, instructed: Instructed<'_>) {
    let [array, indices @ ..] = instructed.operands else { unreachable!("an array and indices") };
    let keyed = offset_of!(ElementPlace, read_key);
    let (refused, at) = element_at(e, *array, indices, (element, rank), keyed);
    match element {
        // A UINT64 beyond INT64 cannot be read: the cell says so.
        ScalarType::Uint64 => {
            let (narrow, next) = (e.b.create_block(), e.b.create_block());
            let is_refused = e.b.append_block_param(next, types::I8);
            let loaded = e.b.append_block_param(next, types::I64);
            let (yes, none) = (e.b.ins().iconst(types::I8, 1), e.b.ins().iconst(types::I64, 0));
            e.b.ins().brif(refused, next, &[yes.into(), none.into()], narrow, &[]);
            e.b.switch_to_block(narrow);
            let value = e.b.ins().load(types::I64, anywhere(), at, 0);
            let is_beyond = e.b.ins().icmp_imm_s(IntCC::SignedLessThan, value, 0);
            e.b.ins().jump(next, &[is_beyond.into(), value.into()]);
            e.b.switch_to_block(next);
            e.unless(is_refused, instructed, |_| Some(loaded));
        }
        _ => e.unless(refused, instructed, |e| Some(read(e, element, at))),
    }
}

fn set(e: &mut Emitter<'_, '_>, element: ScalarType, rank: usize, instructed: Instructed<'_>) {
    let [array, value, indices @ ..] = instructed.operands else {
        unreachable!("an array, a value, indices")
    };
    let value = e.scalar(*value);
    let keyed = offset_of!(ElementPlace, write_key);
    let (refused, at) = element_at(e, *array, indices, (element, rank), keyed);
    e.unless(refused, instructed, |e| {
        match element {
            ScalarType::Int8 | ScalarType::Uint8 => e.b.ins().istore8(anywhere(), value, at, 0),
            ScalarType::Int16 | ScalarType::Uint16 => e.b.ins().istore16(anywhere(), value, at, 0),
            ScalarType::Uint32 => e.b.ins().istore32(anywhere(), value, at, 0),
            _ => e.b.ins().store(anywhere(), value, at, 0),
        };
        None
    });
}

fn length(e: &mut Emitter<'_, '_>, instructed: Instructed<'_>) {
    let [array, axis] = *instructed.operands else { unreachable!("an array and an axis") };
    let (place, axis) = (place_of(e, array), e.scalar(axis));
    // The number of axes is 0 where the place is unknown.
    let key = e.b.ins().load(types::I32, trusted(), place, offset_of!(ElementPlace, read_key) as i32);
    let rank = e.b.ins().ushr_imm_u(key, 8);
    let rank = e.b.ins().uextend(types::I64, rank);
    let refused = e.b.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, axis, rank);
    e.unless(refused, instructed, |e| {
        let distance = e.b.ins().imul_imm_s(axis, size_of::<Axis>() as i64);
        let at = e.b.ins().iadd(place, distance);
        let offset = offset_of!(ElementPlace, axes) + offset_of!(Axis, size);
        Some(e.b.ins().load(types::I64, trusted(), at, offset as i32))
    });
}

/// The address of the place that a handle keeps.
fn place_of(e: &mut Emitter<'_, '_>, array: ValueId) -> Value {
    let slot = e.routine.slot(array).offset() as usize + NdHandle::PLACE;
    e.b.ins().load(types::I64, trusted(), e.frame, slot as i32)
}

/// Whether an element is refused, and its address otherwise.
fn element_at(
    e: &mut Emitter<'_, '_>,
    array: ValueId,
    indices: &[ValueId],
    (element, rank): (ScalarType, usize),
    keyed: usize,
) -> (Value, Value) {
    let place = place_of(e, array);
    let found = e.b.ins().load(types::I32, trusted(), place, keyed as i32);
    let mut refused = e.b.ins().icmp_imm_u(IntCC::NotEqual, found, i64::from(key(element, rank)));
    let mut at = e.b.ins().load(types::I64, trusted(), place, offset_of!(ElementPlace, first) as i32);
    for (axis, index) in indices.iter().enumerate() {
        let index = e.scalar(*index);
        let axis = offset_of!(ElementPlace, axes) + axis * size_of::<Axis>();
        let field = |field: usize| (axis + field) as i32;
        let size = e.b.ins().load(types::I64, trusted(), place, field(offset_of!(Axis, size)));
        let stride = e.b.ins().load(types::I64, trusted(), place, field(offset_of!(Axis, stride)));
        let is_outside = e.b.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, index, size);
        refused = e.b.ins().bor(refused, is_outside);
        let distance = e.b.ins().imul(index, stride);
        at = e.b.ins().iadd(at, distance);
    }
    (refused, at)
}

/// The value of an element that stands anywhere.
fn read(e: &mut Emitter<'_, '_>, element: ScalarType, at: Value) -> Value {
    let ty = match element {
        ScalarType::Boolean => {
            let byte = e.b.ins().load(types::I8, anywhere(), at, 0);
            return e.b.ins().icmp_imm_u(IntCC::NotEqual, byte, 0);
        }
        ScalarType::Int8 => return e.b.ins().sload8(types::I64, anywhere(), at, 0),
        ScalarType::Uint8 => return e.b.ins().uload8(types::I64, anywhere(), at, 0),
        ScalarType::Int16 => return e.b.ins().sload16(types::I64, anywhere(), at, 0),
        ScalarType::Uint16 => return e.b.ins().uload16(types::I64, anywhere(), at, 0),
        ScalarType::Uint32 => return e.b.ins().uload32(anywhere(), at, 0),
        ScalarType::Int32 => types::I32,
        ScalarType::Float32 => types::F32,
        ScalarType::Float64 => types::F64,
        _ => types::I64,
    };
    e.b.ins().load(ty, anywhere(), at, 0)
}

/// Memory of the machine: there, and aligned.
fn trusted() -> MemFlagsData {
    MemFlagsData::trusted()
}

/// Memory of an array: there, of any alignment.
fn anywhere() -> MemFlagsData {
    MemFlagsData::new().with_notrap()
}
