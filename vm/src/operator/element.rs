//! Elements of arrays as threaded code: one is read or written where it stands.
//!
//! ```text
//! v5 = nd.get(v0, v3)          handle ─> place ─> compare the key, check the index ─> load ─> next cell
//! v0 = nd.set(v0, v5, v3)      the same, and a store; v0 is the result and the first operand
//! ```
//!
//! 1. An index counts from the end if it is negative. Outside of its axis it raises, and nothing changes.
//! 2. What is rare is done by another function, which finds all operands in the frame: an index from the end, an array
//!    whose [place](crate::layout::element_place) is unknown, one that is copied before the first write, and every fault.
//! 3. A kernel of a host may have left an array of another type in the slot: every cell compares the key of the type.

use crate::layout::PlainSlot;
use crate::layout::access::{Accumulator, Accumulators};
use crate::layout::element_place::{Axis, ElementPlace, key};
use crate::layout::nd_handle::NdHandle;
use crate::operator::cell::{Cell, State, raise};
use crate::operator::threaded::{
    Carried, FIRST_IN_ACCUMULATOR, OPERANDS_OF_A_CELL, RESULT_NOT_STORED, SECOND_IN_ACCUMULATOR, Threaded,
};
use crate::operator::{copy::copy_elements, element_type::Element, fusible::Fusible, primitive::Primitive};
use crate::value::{Category, Fault, NdType, ScalarType};

/// Positions of the array, and of the value that is written, among the operands.
const ARRAY: usize = 0;
const VALUE: usize = 1;
/// Position of the first index of an element that is read, and that is written.
const FIRST_READ: usize = 1;
const FIRST_WRITTEN: usize = 2;

/// Calls a function for the element and the rank of a type.
macro_rules! by_rank {
    ($function:ident, $array:expr) => {
        match $array.element() {
            ScalarType::Boolean => by_rank!($function, $array, bool),
            ScalarType::Int32 => by_rank!($function, $array, i32),
            ScalarType::Int64 => by_rank!($function, $array, i64),
            ScalarType::Float32 => by_rank!($function, $array, f32),
            ScalarType::Float64 => by_rank!($function, $array, f64),
            ScalarType::Int8 => by_rank!($function, $array, i8),
            ScalarType::Int16 => by_rank!($function, $array, i16),
            ScalarType::Uint8 => by_rank!($function, $array, u8),
            ScalarType::Uint16 => by_rank!($function, $array, u16),
            ScalarType::Uint32 => by_rank!($function, $array, u32),
            ScalarType::Uint64 => by_rank!($function, $array, u64),
            _ => None,
        }
    };
    ($function:ident, $array:expr, $element:ty) => {
        match $array.rank() {
            1 => Some($function::<$element, 1>()),
            2 => Some($function::<$element, 2>()),
            3 => Some($function::<$element, 3>()),
            4 => Some($function::<$element, 4>()),
            5 => Some($function::<$element, 5>()),
            6 => Some($function::<$element, 6>()),
            _ => None,
        }
    };
}
/// The code that reads an element of an array of this type.
pub(crate) fn getter(array: NdType) -> Option<Threaded> {
    by_rank!(getter_of, array)
}

/// The code that writes one.
pub(crate) fn setter(array: NdType) -> Option<Threaded> {
    by_rank!(setter_of, array)
}

/// The operand of the last index, which is often the one just computed.
const fn last_index(first: usize, rank: usize) -> Carried {
    Carried { operand: first + rank - 1, accumulator: Some(Accumulator::Bits) }
}

fn getter_of<T: Element, const RANK: usize>() -> Threaded {
    let last = last_index(FIRST_READ, RANK);
    let before = match RANK {
        1 => Carried { operand: ARRAY, accumulator: None },
        _ => last_index(FIRST_READ, RANK - 1),
    };
    let mut code = Threaded::new(get::<T, RANK, 0>, [last, before], T::Value::ACCUMULATOR);
    code.primitive = Some(Primitive::Get(T::ELEMENT, RANK));
    code.modes[4] = Some(get::<T, RANK, 4>);
    code.fusible = match T::ELEMENT {
        ScalarType::Float64 => Some(Fusible::GetFloat(RANK)),
        ScalarType::Int64 => Some(Fusible::GetInteger(RANK)),
        _ => None,
    };
    if RANK <= 3 {
        code.modes[1] = Some(get::<T, RANK, 1>);
        code.modes[5] = Some(get::<T, RANK, 5>);
    }
    if RANK == 2 || RANK == 3 {
        code.modes[2] = Some(get::<T, RANK, 2>);
        code.modes[6] = Some(get::<T, RANK, 6>);
    }
    code
}

fn setter_of<T: Element, const RANK: usize>() -> Threaded {
    let value = Carried { operand: VALUE, accumulator: T::Value::ACCUMULATOR };
    let mut code = Threaded::new(set::<T, RANK, 0>, [last_index(FIRST_WRITTEN, RANK), value], None);
    code.fusible = (T::ELEMENT == ScalarType::Float64).then_some(Fusible::SetFloat(RANK));
    code.primitive = Some(Primitive::Set(T::ELEMENT, RANK));
    if RANK <= 3 {
        code.modes[1] = Some(set::<T, RANK, 1>);
        code.modes[2] = Some(set::<T, RANK, 2>);
    }
    if RANK <= 3 && T::Value::ACCUMULATOR == Some(Accumulator::Float) {
        code.modes[3] = Some(set::<T, RANK, 3>);
    }
    code
}

/// The code that gives the size of an axis.
pub(crate) fn length_code() -> Threaded {
    let axis = last_index(FIRST_READ, 1);
    let none = Carried { operand: ARRAY, accumulator: None };
    let mut code = Threaded::new(length::<0>, [axis, none], i64::ACCUMULATOR);
    code.primitive = Some(Primitive::Length);
    code.modes[1] = Some(length::<1>);
    code.modes[4] = Some(length::<4>);
    code.modes[5] = Some(length::<5>);
    code
}

/// Where an operand stands.
///
/// # Safety
/// The cell has so many operands, in the frame.
#[inline(always)]
unsafe fn operand_at(cell: *const Cell, frame: *mut u8, operand: usize) -> *mut u8 {
    // SAFETY: the caller's promise; operands beyond the first cell stand in the one behind it.
    unsafe {
        let args = (*cell.add(operand / OPERANDS_OF_A_CELL)).args;
        frame.add(args[operand % OPERANDS_OF_A_CELL] as usize)
    }
}

/// The operand that a mode bit is about.
const fn carried(operand: usize, first: usize, rank: usize, mode: usize) -> bool {
    let is_last = operand == first + rank - 1 && mode & FIRST_IN_ACCUMULATOR != 0;
    let second = if first == FIRST_READ { first + rank - 2 } else { VALUE };
    is_last || (operand == second && mode & SECOND_IN_ACCUMULATOR != 0)
}

/// An index, an axis, or a value.
///
/// # Safety
/// The contract of [`Run`](crate::operator::cell::Run); the operand is of this type.
#[inline(always)]
unsafe fn operand<V: PlainSlot, const FIRST: usize, const RANK: usize, const MODE: usize>(
    cell: *const Cell,
    frame: *mut u8,
    operand: usize,
    held: Accumulators,
) -> V {
    match carried(operand, FIRST, RANK, MODE) {
        true => V::from_accumulators(held),
        // SAFETY: the caller's promise.
        false => unsafe { V::load(operand_at(cell, frame, operand)) },
    }
}

/// Puts the operands that are in accumulators into the frame, where their places are, for code that finds them
/// there.
///
/// # Safety
/// The contract of [`Run`](crate::operator::cell::Run).
#[inline(always)]
unsafe fn put_down<V: PlainSlot, const FIRST: usize, const RANK: usize, const MODE: usize>(
    cell: *const Cell,
    frame: *mut u8,
    held: Accumulators,
) {
    // SAFETY: the places are those of the operands, which are alive here.
    unsafe {
        for index in FIRST..FIRST + RANK {
            if carried(index, FIRST, RANK, MODE) {
                i64::store(operand_at(cell, frame, index), i64::from_accumulators(held));
            }
        }
        if FIRST == FIRST_WRITTEN && carried(VALUE, FIRST, RANK, MODE) {
            V::store(operand_at(cell, frame, VALUE), V::from_accumulators(held));
        }
    }
}

/// The index from the begin of an axis; `None` outside of it.
#[inline(always)]
fn along(index: i64, size: u64) -> Option<i64> {
    let place = if index < 0 { index.wrapping_add(size as i64) } else { index };
    ((place as u64) < size).then_some(place)
}

/// Where an element stands; `None` if an index is outside of its axis, or counts from the end.
///
/// # Safety
/// The contract of [`Run`](crate::operator::cell::Run), and the place is that of an array of so many axes.
#[inline(always)]
unsafe fn element_from_begin<const FIRST: usize, const RANK: usize, const MODE: usize>(
    place: &ElementPlace,
    cell: *const Cell,
    frame: *mut u8,
    held: Accumulators,
) -> Option<*mut u8> {
    let mut at = place.first;
    for axis in 0..RANK {
        // SAFETY: the caller's promise: indices are INT64.
        let index = unsafe { operand::<i64, FIRST, RANK, MODE>(cell, frame, FIRST + axis, held) };
        let Axis { size, stride } = place.axes[axis];
        if index as u64 >= size {
            return None;
        }
        at = at.wrapping_offset(index.wrapping_mul(stride) as isize);
    }
    Some(at)
}

/// Runs the cell behind one of so many operands.
///
/// # Safety
/// The contract of [`Run`](crate::operator::cell::Run).
#[inline(always)]
unsafe fn next_of<const OPERANDS: usize>(cell: *const Cell, state: State, held: Accumulators) -> *const Cell {
    // SAFETY: the builder put further operands into a cell behind, and never one of these cells at the end.
    unsafe {
        let next = cell.add(OPERANDS.div_ceil(OPERANDS_OF_A_CELL));
        ((*next).run)(next, state, held)
    }
}

/// Runs the next cell; the number of operands is a constant, which an expression cannot be.
macro_rules! go_on {
    ($rank:ident + $others:literal, $($state:ident),*) => {
        match $rank {
            1 => next_of::<{ 1 + $others }>($($state),*),
            2 => next_of::<{ 2 + $others }>($($state),*),
            3 => next_of::<{ 3 + $others }>($($state),*),
            4 => next_of::<{ 4 + $others }>($($state),*),
            5 => next_of::<{ 5 + $others }>($($state),*),
            _ => next_of::<{ 6 + $others }>($($state),*),
        }
    };
}

/// An element whose place is known, by indices from the begin; else `None`.
///
/// # Safety
/// The contract of [`Run`](crate::operator::cell::Run), of a cell that reads such an element.
#[inline(always)]
pub(super) unsafe fn read_element<T: Element, const RANK: usize, const MODE: usize>(
    cell: *const Cell,
    frame: *mut u8,
    held: Accumulators,
) -> Option<T::Value> {
    // SAFETY: the verifier checked the slots behind the offsets against the overload's types: a handle, and indices.
    // An element inside of the axes lies in the memory of the handle, and is valid.
    unsafe {
        let place = (*operand_at(cell, frame, ARRAY).cast::<NdHandle>()).place();
        if place.read_key != const { key(T::ELEMENT, RANK) } {
            return None;
        }
        T::read(element_from_begin::<FIRST_READ, RANK, MODE>(place, cell, frame, held)?)
    }
}

/// Writes such an element if it may be changed in place; else gives `None`.
///
/// # Safety
/// The contract of [`Run`](crate::operator::cell::Run), of a cell that writes such an element.
#[inline(always)]
pub(super) unsafe fn write_element<T: Element, const RANK: usize, const MODE: usize>(
    cell: *const Cell,
    frame: *mut u8,
    held: Accumulators,
) -> Option<()> {
    // SAFETY: as in `read_element`; what a handle gives to be changed is accessed by nobody else.
    unsafe {
        let place = (*operand_at(cell, frame, ARRAY).cast::<NdHandle>()).place();
        if place.write_key != const { key(T::ELEMENT, RANK) } {
            return None;
        }
        let at = element_from_begin::<FIRST_WRITTEN, RANK, MODE>(place, cell, frame, held)?;
        T::write(at, operand::<T::Value, FIRST_WRITTEN, RANK, MODE>(cell, frame, VALUE, held));
        Some(())
    }
}

/// Reads an element.
///
/// # Safety
/// The contract of [`Run`](crate::operator::cell::Run).
pub(super) unsafe fn get<T: Element, const RANK: usize, const MODE: usize>(
    cell: *const Cell,
    state: State,
    held: Accumulators,
) -> *const Cell {
    // SAFETY: the caller's promise.
    unsafe {
        if let Some(value) = read_element::<T, RANK, MODE>(cell, state.frame, held) {
            if MODE & RESULT_NOT_STORED == 0 {
                T::Value::store(state.frame.add((*cell).out as usize), value);
            }
            let held = value.into_accumulators(held);
            return go_on!(RANK + 1, cell, state, held);
        }
        put_down::<i64, FIRST_READ, RANK, MODE>(cell, state.frame, held);
        get_slowly::<T, RANK>(cell, state, held)
    }
}

/// The same for an array that takes longer to find, or with a fault.
///
/// # Safety
/// The contract of [`Run`](crate::operator::cell::Run); all operands are in the frame.
#[cold]
#[inline(never)]
unsafe fn get_slowly<T: Element, const RANK: usize>(
    cell: *const Cell,
    state: State,
    held: Accumulators,
) -> *const Cell {
    // SAFETY: as in `get`.
    unsafe {
        let found = find_to_read(cell, state.frame, const { key(T::ELEMENT, RANK) });
        match found.and_then(|at| T::read(at).ok_or_else(too_large)) {
            Ok(value) => {
                T::Value::store(state.frame.add((*cell).out as usize), value);
                let held = value.into_accumulators(held);
                go_on!(RANK + 1, cell, state, held)
            }
            Err(fault) => raise(cell, state, fault),
        }
    }
}

/// Writes an element.
///
/// # Safety
/// The contract of [`Run`](crate::operator::cell::Run).
pub(super) unsafe fn set<T: Element, const RANK: usize, const MODE: usize>(
    cell: *const Cell,
    state: State,
    held: Accumulators,
) -> *const Cell {
    // SAFETY: the caller's promise.
    unsafe {
        if write_element::<T, RANK, MODE>(cell, state.frame, held).is_some() {
            return go_on!(RANK + 2, cell, state, held);
        }
        put_down::<T::Value, FIRST_WRITTEN, RANK, MODE>(cell, state.frame, held);
        set_slowly::<T, RANK>(cell, state, held)
    }
}

/// The same for an array that has to be copied first or takes longer to find, or with a fault.
///
/// # Safety
/// The contract of [`Run`](crate::operator::cell::Run); all operands are in the frame.
#[cold]
#[inline(never)]
unsafe fn set_slowly<T: Element, const RANK: usize>(
    cell: *const Cell,
    state: State,
    held: Accumulators,
) -> *const Cell {
    // SAFETY: as in `set`.
    unsafe {
        match find_to_write(cell, state, const { key(T::ELEMENT, RANK) }) {
            Ok(at) => {
                T::write(at, T::Value::load(operand_at(cell, state.frame, VALUE)));
                go_on!(RANK + 2, cell, state, held)
            }
            Err(fault) => raise(cell, state, fault),
        }
    }
}

/// Gives the size of an axis.
///
/// # Safety
/// The contract of [`Run`](crate::operator::cell::Run).
unsafe fn length<const MODE: usize>(cell: *const Cell, state: State, held: Accumulators) -> *const Cell {
    // SAFETY: as in `get`.
    unsafe {
        let handle = &*operand_at(cell, state.frame, ARRAY).cast::<NdHandle>();
        let axis = operand::<i64, FIRST_READ, 1, MODE>(cell, state.frame, FIRST_READ, held);
        let size = match handle.place().rank() {
            0 => {
                let view = handle.find().1;
                along(axis, view.rank() as u64).map(|axis| view.shape()[axis as usize] as u64)
            }
            rank => along(axis, rank).map(|axis| handle.place().axes[axis as usize].size),
        };
        let Some(size) = size else {
            return raise(cell, state, Fault::Index { index: axis, size: handle.find().1.rank() as i64 });
        };
        if MODE & RESULT_NOT_STORED == 0 {
            i64::store(state.frame.add((*cell).out as usize), size as i64);
        }
        let held = (size as i64).into_accumulators(held);
        next_of::<2>(cell, state, held)
    }
}

/// Finds the element that a cell reads, in an array of a type with this key, or says why there is none.
///
/// # Safety
/// The contract of [`Run`](crate::operator::cell::Run); all operands are in the frame.
unsafe fn find_to_read(cell: *const Cell, frame: *mut u8, key: u32) -> Result<*mut u8, Fault> {
    // SAFETY: the caller's promise.
    unsafe {
        let handle = &mut *operand_at(cell, frame, ARRAY).cast::<NdHandle>();
        let found = handle.locate().read_key;
        find(handle, (found, key), FIRST_READ, cell, frame)
    }
}

/// Finds the element that a cell writes, after the array has been copied if somebody else has it too.
///
/// # Safety
/// As [`find_to_read`].
unsafe fn find_to_write(cell: *const Cell, state: State, key: u32) -> Result<*mut u8, Fault> {
    // SAFETY: the caller's promise. Code with such cells runs with a meter.
    unsafe {
        let handle = &mut *operand_at(cell, state.frame, ARRAY).cast::<NdHandle>();
        let meter = &*(*state.registers).meter;
        let copied = handle.make_mutable(|qtype, view, own| {
            copy_elements(view, own.resize_within(qtype, view.shape(), meter)?, meter)
        });
        let found = copied?.write_key;
        find(handle, (found, key), FIRST_WRITTEN, cell, state.frame)
    }
}

/// Where an element stands in an array that has been located, or why there is none. The key of the array is the one
/// that the cell is for, or else the array is of another type.
///
/// # Safety
/// As [`find_to_read`].
unsafe fn find(
    handle: &NdHandle,
    (found, expected): (u32, u32),
    first: usize,
    cell: *const Cell,
    frame: *mut u8,
) -> Result<*mut u8, Fault> {
    if found != expected {
        let message = format!("the array is {}, which the operator does not take", handle.find().0);
        return Err(Fault::Trap { category: Category::Panic, message: message.into() });
    }
    let place = handle.place();
    let rank = place.rank() as usize;
    let mut at = place.first;
    for axis in 0..rank {
        // SAFETY: the caller's promise: indices are INT64.
        let index = unsafe { i64::load(operand_at(cell, frame, first + axis)) };
        let Axis { size, stride } = place.axes[axis];
        let Some(element) = along(index, size) else {
            return Err(match rank {
                1 => Fault::Index { index, size: size as i64 },
                _ => Fault::AxisIndex { index, axis: axis as u64, size: size as i64 },
            });
        };
        at = at.wrapping_offset((element * stride) as isize);
    }
    Ok(at)
}

/// Why an element cannot be read: a number of any other type fits.
#[cold]
fn too_large() -> Fault {
    Fault::Trap { category: Category::Cast, message: "an element of UINT64 is larger than any INT64".into() }
}
