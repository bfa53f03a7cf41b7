//! Elements of arrays as threaded code: one is read or written where it stands.
//!
//! ```text
//! v5 = nd.get(v0, v3)          handle ─> first, sizes, strides ─> check the index ─> load ─> next cell
//! v0 = nd.set(v0, v5, v3)      the same, and a store; v0 is the result and the first operand
//! ```
//!
//! 1. An index counts from the end if it is negative. Outside of its axis it raises, and nothing changes.
//! 2. What is rare is done by another function, which finds all operands in the frame: an array in a room of the
//!    host, a shared array, which is copied before the first write, and every fault.
//! 3. A kernel of a host may have left an array of another type in the slot: every cell looks at the type.

use crate::layout::PlainSlot;
use crate::layout::access::Accumulator;
use crate::layout::nd_handle::{ElementPlace, NdHandle};
use crate::operator::cell::{Cell, Registers, raise};
use crate::operator::copy::copy_elements;
use crate::operator::threaded::{
    Carried, FIRST_IN_ACCUMULATOR, OPERANDS_OF_A_CELL, RESULT_NOT_STORED, SECOND_IN_ACCUMULATOR, Threaded,
};
use crate::value::nd_type::NdType;
use crate::value::nd_view::padded;
use crate::value::{Category, Fault, ScalarType};

/// Position of the array among the operands.
const ARRAY: usize = 0;
/// Position of the value that is written.
const VALUE: usize = 1;
/// Position of the first index of an element that is read, and that is written.
const FIRST_READ: usize = 1;
const FIRST_WRITTEN: usize = 2;

/// An element of an array, and the scalar that operators take and give for it.
trait Element: 'static {
    /// Type of the element.
    const ELEMENT: ScalarType;
    /// The scalar.
    type Value: PlainSlot;

    /// Reads an element; `None` if it is beyond the scalar.
    ///
    /// # Safety
    /// A valid element stands there, of any alignment.
    unsafe fn read(at: *const u8) -> Option<Self::Value>;

    /// Writes an element.
    ///
    /// # Safety
    /// There is an element, of any alignment, that nobody else accesses.
    unsafe fn write(at: *mut u8, value: Self::Value);
}

macro_rules! element {
    ($($rust:ty => $element:ident as $memory:ty, $value:ty, read($m:ident) $read:expr, write($v:ident) $write:expr;)*) => {$(
        impl Element for $rust {
            const ELEMENT: ScalarType = ScalarType::$element;
            type Value = $value;

            #[inline(always)]
            unsafe fn read(at: *const u8) -> Option<$value> {
                // SAFETY: the caller's promise.
                let $m = unsafe { at.cast::<$memory>().read_unaligned() };
                $read
            }

            #[inline(always)]
            unsafe fn write(at: *mut u8, $v: $value) {
                // SAFETY: the caller's promise.
                unsafe { at.cast::<$memory>().write_unaligned($write) }
            }
        }
    )*};
}

element! {
    bool => Boolean as u8, bool, read(m) Some(m != 0), write(v) u8::from(v);
    i32 => Int32 as i32, i32, read(m) Some(m), write(v) v;
    i64 => Int64 as i64, i64, read(m) Some(m), write(v) v;
    f32 => Float32 as f32, f32, read(m) Some(m), write(v) v;
    f64 => Float64 as f64, f64, read(m) Some(m), write(v) v;
    i8 => Int8 as i8, i64, read(m) Some(i64::from(m)), write(v) v as i8;
    i16 => Int16 as i16, i64, read(m) Some(i64::from(m)), write(v) v as i16;
    u8 => Uint8 as u8, i64, read(m) Some(i64::from(m)), write(v) v as u8;
    u16 => Uint16 as u16, i64, read(m) Some(i64::from(m)), write(v) v as u16;
    u32 => Uint32 as u32, i64, read(m) Some(i64::from(m)), write(v) v as u32;
    u64 => Uint64 as u64, i64, read(m) i64::try_from(m).ok(), write(v) v as u64;
}

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
    code.modes[4] = Some(get::<T, RANK, 4>);
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
    float: f64,
    bits: u64,
) -> V {
    match carried(operand, FIRST, RANK, MODE) {
        true => V::from_accumulators(float, bits),
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
    float: f64,
    bits: u64,
) {
    // SAFETY: the places are those of the operands, which are alive here.
    unsafe {
        for index in FIRST..FIRST + RANK {
            if carried(index, FIRST, RANK, MODE) {
                i64::store(operand_at(cell, frame, index), i64::from_accumulators(float, bits));
            }
        }
        if FIRST == FIRST_WRITTEN && carried(VALUE, FIRST, RANK, MODE) {
            V::store(operand_at(cell, frame, VALUE), V::from_accumulators(float, bits));
        }
    }
}

/// The place along an axis; `None` outside of it.
#[inline(always)]
fn along(index: i64, size: usize) -> Option<isize> {
    let place = index.wrapping_add((index >> 63) & size as i64);
    ((place as u64) < size as u64).then_some(place as isize)
}

/// Where an element stands; `None` if an index is outside of its axis or the array of another type.
///
/// # Safety
/// The contract of [`Run`](crate::operator::cell::Run), and the place is that of a handle.
#[inline(always)]
unsafe fn element_at<T: Element, const FIRST: usize, const RANK: usize, const MODE: usize>(
    place: &ElementPlace<'_>,
    cell: *const Cell,
    frame: *mut u8,
    float: f64,
    bits: u64,
) -> Option<*mut u8> {
    if place.qtype.element() != T::ELEMENT || place.qtype.rank() != RANK {
        return None;
    }
    let mut at = place.first;
    for axis in 0..RANK {
        // SAFETY: the caller's promise: indices are INT64.
        let index = unsafe { operand::<i64, FIRST, RANK, MODE>(cell, frame, FIRST + axis, float, bits) };
        at = at.wrapping_offset(along(index, place.shape[axis])? * place.strides[axis]);
    }
    Some(at)
}

/// Runs the cell behind one of so many operands.
///
/// # Safety
/// The contract of [`Run`](crate::operator::cell::Run).
#[inline(always)]
unsafe fn next_of<const OPERANDS: usize>(
    cell: *const Cell,
    frame: *mut u8,
    registers: *mut Registers,
    float: f64,
    bits: u64,
) -> *const Cell {
    // SAFETY: the builder put further operands into a cell behind, and never one of these cells at the end.
    unsafe {
        let next = cell.add(OPERANDS.div_ceil(OPERANDS_OF_A_CELL));
        ((*next).run)(next, frame, registers, float, bits)
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

/// Reads an element.
///
/// # Safety
/// The contract of [`Run`](crate::operator::cell::Run).
unsafe fn get<T: Element, const RANK: usize, const MODE: usize>(
    cell: *const Cell,
    frame: *mut u8,
    registers: *mut Registers,
    float: f64,
    bits: u64,
) -> *const Cell {
    // SAFETY: the verifier checked the slots behind the offsets against the overload's types: a handle, and indices.
    // An element inside of the axes lies in the memory of the handle, and is valid.
    unsafe {
        let handle = &*operand_at(cell, frame, ARRAY).cast::<NdHandle>();
        if let Some(place) = handle.place()
            && let Some(at) = element_at::<T, FIRST_READ, RANK, MODE>(&place, cell, frame, float, bits)
            && let Some(value) = T::read(at)
        {
            if MODE & RESULT_NOT_STORED == 0 {
                T::Value::store(frame.add((*cell).out as usize), value);
            }
            let (float, bits) = value.into_accumulators(float, bits);
            return go_on!(RANK + 1, cell, frame, registers, float, bits);
        }
        put_down::<i64, FIRST_READ, RANK, MODE>(cell, frame, float, bits);
        get_slowly::<T, RANK>(cell, frame, registers, float, bits)
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
    frame: *mut u8,
    registers: *mut Registers,
    float: f64,
    bits: u64,
) -> *const Cell {
    // SAFETY: as in `get`.
    unsafe {
        let handle = &*operand_at(cell, frame, ARRAY).cast::<NdHandle>();
        let (qtype, view) = handle.find();
        let (shape, strides) = (&padded(view.shape(), 1), &padded(view.strides(), 0));
        let first = view.bytes().as_ptr().cast_mut().wrapping_add(view.start());
        let place = ElementPlace { qtype, first, shape, strides };
        let at = element_at::<T, FIRST_READ, RANK, 0>(&place, cell, frame, float, bits);
        match at.and_then(|at| T::read(at)) {
            Some(value) => {
                T::Value::store(frame.add((*cell).out as usize), value);
                let (float, bits) = value.into_accumulators(float, bits);
                go_on!(RANK + 1, cell, frame, registers, float, bits)
            }
            None => raise(cell, registers, fault_at::<T, FIRST_READ, RANK>(&place, cell, frame)),
        }
    }
}

/// Writes an element.
///
/// # Safety
/// The contract of [`Run`](crate::operator::cell::Run).
unsafe fn set<T: Element, const RANK: usize, const MODE: usize>(
    cell: *const Cell,
    frame: *mut u8,
    registers: *mut Registers,
    float: f64,
    bits: u64,
) -> *const Cell {
    // SAFETY: as in `get`; what a handle gives to be changed is accessed by nobody else.
    unsafe {
        let handle = &mut *operand_at(cell, frame, ARRAY).cast::<NdHandle>();
        if let Some(place) = handle.place_mut()
            && let Some(at) = element_at::<T, FIRST_WRITTEN, RANK, MODE>(&place, cell, frame, float, bits)
        {
            let value = operand::<T::Value, FIRST_WRITTEN, RANK, MODE>(cell, frame, VALUE, float, bits);
            T::write(at, value);
            return go_on!(RANK + 2, cell, frame, registers, float, bits);
        }
        put_down::<T::Value, FIRST_WRITTEN, RANK, MODE>(cell, frame, float, bits);
        set_slowly::<T, RANK>(cell, frame, registers, float, bits)
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
    frame: *mut u8,
    registers: *mut Registers,
    float: f64,
    bits: u64,
) -> *const Cell {
    // SAFETY: as in `set`. Code with such cells runs with a meter.
    unsafe {
        let handle = &mut *operand_at(cell, frame, ARRAY).cast::<NdHandle>();
        let meter = &*(*registers).meter;
        let place = handle.make_mutable(|qtype, view, own| {
            copy_elements(view, own.resize_within(qtype, view.shape(), meter)?, meter)
        });
        let place = match place {
            Ok(place) => place,
            Err(fault) => return raise(cell, registers, fault),
        };
        match element_at::<T, FIRST_WRITTEN, RANK, 0>(&place, cell, frame, float, bits) {
            Some(at) => {
                T::write(at, T::Value::load(operand_at(cell, frame, VALUE)));
                go_on!(RANK + 2, cell, frame, registers, float, bits)
            }
            None => raise(cell, registers, fault_at::<T, FIRST_WRITTEN, RANK>(&place, cell, frame)),
        }
    }
}

/// Gives the size of an axis.
///
/// # Safety
/// The contract of [`Run`](crate::operator::cell::Run).
unsafe fn length<const MODE: usize>(
    cell: *const Cell,
    frame: *mut u8,
    registers: *mut Registers,
    float: f64,
    bits: u64,
) -> *const Cell {
    // SAFETY: as in `get`.
    unsafe {
        let handle = &*operand_at(cell, frame, ARRAY).cast::<NdHandle>();
        let axis = operand::<i64, FIRST_READ, 1, MODE>(cell, frame, FIRST_READ, float, bits);
        let size = match handle.place() {
            Some(place) => along(axis, place.qtype.rank()).map(|axis| place.shape[axis as usize]),
            None => {
                let view = handle.find().1;
                along(axis, view.rank()).map(|axis| view.shape()[axis as usize])
            }
        };
        let Some(size) = size else {
            let fault = Fault::Index { index: axis, size: handle.find().1.rank() as i64 };
            return raise(cell, registers, fault);
        };
        if MODE & RESULT_NOT_STORED == 0 {
            i64::store(frame.add((*cell).out as usize), size as i64);
        }
        let (float, bits) = (size as i64).into_accumulators(float, bits);
        next_of::<2>(cell, frame, registers, float, bits)
    }
}

/// Why there is no element, or it cannot be read.
///
/// # Safety
/// As [`element_at`], with all operands in the frame.
#[cold]
unsafe fn fault_at<T: Element, const FIRST: usize, const RANK: usize>(
    place: &ElementPlace<'_>,
    cell: *const Cell,
    frame: *mut u8,
) -> Fault {
    if place.qtype.element() != T::ELEMENT || place.qtype.rank() != RANK {
        let message = format!("the array is {}, which the operator does not take", place.qtype);
        return Fault::Trap { category: Category::Panic, message: message.into() };
    }
    for axis in 0..RANK {
        // SAFETY: the caller's promise.
        let index = unsafe { i64::load(operand_at(cell, frame, FIRST + axis)) };
        let size = place.shape[axis];
        if along(index, size).is_none() {
            return match RANK {
                1 => Fault::Index { index, size: size as i64 },
                _ => Fault::AxisIndex { index, axis: axis as u64, size: size as i64 },
            };
        }
    }
    // What cannot be read is a UINT64 beyond INT64: a number of any other element fits.
    let message = "an element of UINT64 is larger than any INT64";
    Fault::Trap { category: Category::Cast, message: message.into() }
}
