//! Rooms: memory of a host that elements of outputs go to.
//!
//! ```text
//! run_into([Room(slot, target)])      region ── blocks ──> target            nothing is copied
//!                                     other operator ──> frame ──> target    copied at the end
//! ```
//!
//! 1. Only [`Call::run_into`](crate::machine::Call::run_into) lends a room to a frame, and takes it back whatever happens.
//! 2. What stands in a room is not in the frame: the output counts as not written there.

use crate::frame::{Frame, FrameError};
use crate::layout::nd_handle::{NdHandle, RawRoom};
use crate::layout::{FrameLayout, TypedSlot};
use crate::value::array::cell_size;
use crate::value::nd_type::MAX_RANK;
use crate::value::nd_view::NdCell;
use crate::value::shape::{Shape, Strides, c_strides, element_count, padded};
use crate::value::{NdView, ScalarType};
use std::marker::PhantomData;
use thiserror::Error;

/// What an output is told that cannot go to a room.
const OF_ARRAYS: &str = "; a room takes an output of a type such as NDARRAY_FLOAT64_N";

/// Why an output does not go to a room.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RoomError {
    /// The room is for other elements, or the slot is no array over axes.
    #[error("{slot} gives no elements of {element}{}", if slot.qtype().nd().is_some() { "" } else { OF_ARRAYS })]
    Type {
        /// The slot.
        slot: TypedSlot,
        /// Type of the elements that there is room for.
        element: ScalarType,
    },
    /// The elements would share bytes, or lie outside of the memory.
    #[error("there is no room for elements of shape {shape:?} with strides {strides:?}")]
    Place {
        /// Sizes of the axes.
        shape: Vec<usize>,
        /// Bytes from element to element along each.
        strides: Vec<isize>,
    },
    /// There is room for another number of elements than the output has.
    #[error("there is room for {expected} elements of {slot}, which has {actual}")]
    Size {
        /// The slot.
        slot: TypedSlot,
        /// Elements that there is room for.
        expected: usize,
        /// Elements of the output.
        actual: usize,
    },
    /// The slot cannot be read.
    #[error(transparent)]
    Frame(#[from] FrameError),
}

/// Memory for the elements of an output over axes.
#[derive(Debug)]
pub struct Room<'a> {
    slot: &'a TypedSlot,
    element: ScalarType,
    first: *mut u8,
    count: usize,
    /// Sizes of the axes.
    shape: Shape,
    /// Strides of the axes in bytes, if elements do not stand one after the other.
    strides: Option<Strides>,
    rank: usize,
    /// Up to the last byte of an element.
    bytes: usize,
    /// True if the frame has it, or the run has written it.
    is_lent: bool,
    target: PhantomData<&'a mut [u8]>,
}

impl<'a> Room<'a> {
    /// Memory for the elements of an output, as many as there will be, one after the other, the last axis fastest.
    pub fn new<T: NdCell>(slot: &'a TypedSlot, target: &'a mut [T]) -> Room<'a> {
        let first = target.as_mut_ptr().cast();
        let (count, bytes) = (target.len(), size_of_val(target));
        let (element, shape, target) = (T::ELEMENT, padded(&[count], 1), PhantomData);
        Room { slot, element, first, count, shape, strides: None, rank: 1, bytes, is_lent: false, target }
    }

    /// Memory for the elements of an output of this shape: the first one is `target[start]`, and `strides` are those of
    /// the elements along each axis, in elements. What lies between stays.
    ///
    /// # Errors
    /// An element lies outside, a stride is negative, or elements share memory: a stride has to lead beyond all elements of
    /// the axes with smaller strides.
    pub fn strided<T: NdCell>(
        slot: &'a TypedSlot,
        target: &'a mut [T],
        start: usize,
        shape: &[usize],
        strides: &[isize],
    ) -> Result<Room<'a>, RoomError> {
        let wrong = || RoomError::Place { shape: shape.to_vec(), strides: strides.to_vec() };
        let span = span(shape, strides).ok_or_else(wrong)?;
        let memory = target.get_mut(start..).and_then(|target| target.get_mut(..span)).ok_or_else(wrong)?;
        let mut room = Room::new(slot, memory);
        let cell = room.cell();
        // Of an axis of one element the stride may be anything.
        let mut bytes = c_strides(shape, cell);
        let mut is_in_order = true;
        for axis in (0..shape.len()).filter(|axis| shape[*axis] > 1 && span > 0) {
            let stride = strides[axis] * cell as isize;
            is_in_order &= stride == bytes[axis];
            bytes[axis] = stride;
        }
        room.count = shape.iter().product();
        (room.rank, room.shape) = (shape.len(), padded(shape, 1));
        room.strides = (!is_in_order && room.count > 0).then_some(bytes);
        Ok(room)
    }

    /// The slot of the output.
    pub fn slot(&self) -> &'a TypedSlot {
        self.slot
    }

    /// The first element, the type of elements, and for each axis the size and the bytes from one element to the next.
    #[cfg(feature = "library")]
    pub(crate) fn elements(&mut self) -> (*mut u8, ScalarType, &[usize], Strides) {
        let shape = &self.shape[..self.rank];
        let in_order = || c_strides(shape, cell_size(self.element));
        (self.first, self.element, shape, self.strides.unwrap_or_else(in_order))
    }

    pub(super) fn check(&self, layout: &FrameLayout) -> Result<(), RoomError> {
        if !layout.accepts(self.slot) {
            return Err(FrameError::ForeignSlot { slot: self.slot.clone() }.into());
        }
        match self.slot.qtype().nd() {
            Some(qtype) if qtype.element() == self.element => Ok(()),
            _ => Err(RoomError::Type { slot: self.slot.clone(), element: self.element }),
        }
    }

    /// Lends the memory to the frame, if it is for an output that the run computes.
    ///
    /// # Safety
    /// The layout of the frame was [checked](Room::check); [`Room::take_back`] follows before the room goes.
    pub(super) unsafe fn lend(&mut self, frame: &mut Frame) {
        let layout = frame.layout();
        let is_computed =
            layout.bit_of(self.slot) as usize > layout.inputs().len() && !layout.is_literal(self.slot);
        let Room { element, first, bytes, shape, strides, .. } = *self;
        let room = RawRoom { element, first, bytes, axes: strides.map(|strides| (shape, strides)) };
        // SAFETY: the caller's promise: the handle of an array stands there. The room borrows the target alone.
        self.is_lent = is_computed && unsafe { self.handle(frame).lend_room(room) };
    }

    /// Takes the memory back.
    ///
    /// # Safety
    /// The layout of the frame was [checked](Room::check).
    pub(super) unsafe fn take_back(&mut self, frame: &mut Frame) {
        // SAFETY: the caller's promise.
        self.is_lent = self.is_lent && unsafe { self.handle(frame).take_back() };
        if self.is_lent {
            let bit = frame.layout().bit_of(self.slot);
            frame.written_mut().unset(bit - 1);
        }
    }

    /// # Safety
    /// The layout of the frame was [checked](Room::check).
    unsafe fn handle<'f>(&self, frame: &'f mut Frame) -> &'f mut NdHandle {
        // SAFETY: the caller's promise: the handle of an array stands in its slot.
        unsafe { &mut *frame.base().add(self.slot.offset() as usize).cast() }
    }

    /// What the run has written here.
    fn written(&self) -> Option<NdView<'_>> {
        // SAFETY: the room borrows the target alone, whose elements are initialised.
        let bytes = || unsafe { std::slice::from_raw_parts(self.first, self.bytes) };
        let one_axis = (padded(&[self.count], 1), padded(&[self.cell() as isize], 0), 1);
        let (shape, strides, rank) =
            self.strides.map_or(one_axis, |strides| (self.shape, strides, self.rank));
        self.is_lent.then(|| NdView::new(self.element, bytes(), 0, &shape[..rank], &strides[..rank]))?.ok()
    }

    /// Copies the elements of the output.
    fn take(&mut self, view: &NdView<'_>) -> Result<(), RoomError> {
        // A kernel of the host may have filled its result with other elements.
        if view.element() != self.element {
            return Err(RoomError::Type { slot: self.slot.clone(), element: self.element });
        }
        if view.len() != self.count {
            let slot = self.slot.clone();
            return Err(RoomError::Size { slot, expected: self.count, actual: view.len() });
        }
        // SAFETY: the room borrows the target alone, which has so many bytes; those of the view are elements of the type.
        let bytes = unsafe { std::slice::from_raw_parts_mut(self.first, self.bytes) };
        let Some(strides) = self.strides else {
            view.copy_to(bytes);
            return Ok(());
        };
        let cell = self.cell();
        for (to, from) in offsets(&self.shape[..self.rank], &strides).zip(view.offsets()) {
            bytes[to..][..cell].copy_from_slice(&view.bytes()[from..][..cell]);
        }
        Ok(())
    }

    fn cell(&self) -> usize {
        cell_size(self.element)
    }
}

/// Elements from the first to behind the last one; nothing if a stride is negative or elements share memory.
pub(crate) fn span(shape: &[usize], strides: &[isize]) -> Option<usize> {
    if shape.len() > MAX_RANK || shape.len() != strides.len() || element_count(shape)? == 0 {
        return (shape.len() == strides.len()).then_some(0).filter(|_| shape.contains(&0));
    }
    let mut axes = padded(&[], (0, 1));
    for (axis, (size, stride)) in
        axes.iter_mut().zip(shape.iter().zip(strides)).filter(|(_, (size, _))| **size > 1)
    {
        *axis = (usize::try_from(*stride).ok()?, *size);
    }
    axes.sort_unstable();
    let (mut covered, mut last) = (1, 0_usize);
    for (stride, size) in axes.into_iter().filter(|(_, size)| *size > 1) {
        if stride < covered {
            return None;
        }
        covered = stride.checked_mul(size)?;
        last = last.checked_add(stride.checked_mul(size - 1)?)?;
    }
    last.checked_add(1)
}

/// Offsets of elements, the last axis fastest.
fn offsets(shape: &[usize], strides: &Strides) -> impl Iterator<Item = usize> {
    let count: usize = shape.iter().product();
    let (shape, strides, rank) = (padded(shape, 1), *strides, shape.len());
    (0..count).map(move |element| {
        let (mut rest, mut offset) = (element, 0);
        for axis in (0..rank).rev() {
            offset += rest % shape[axis] * strides[axis].unsigned_abs();
            rest /= shape[axis];
        }
        offset
    })
}

/// Copies the outputs that the run has not written where they belong. Of two rooms for one output, one was lent.
pub(super) fn finish(rooms: &mut [Room<'_>], frame: &Frame) -> Result<(), RoomError> {
    for index in 0..rooms.len() {
        let (before, rest) = rooms.split_at_mut(index);
        let (room, after) = rest.split_first_mut().expect("there is such a room");
        if room.is_lent {
            continue;
        }
        let slot = room.slot;
        match before.iter().chain(&*after).find(|other| other.slot == slot).and_then(Room::written) {
            Some(view) => room.take(&view)?,
            None => room.take(&frame.nd_view(slot)?)?,
        }
    }
    Ok(())
}
