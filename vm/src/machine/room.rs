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
use crate::value::nd_view::Cell;
use crate::value::{NdView, ScalarType};
use std::marker::PhantomData;
use thiserror::Error;

/// Why an output does not go to a room.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RoomError {
    /// The room is for other elements, or the slot is no array over axes.
    #[error("{slot} gives no elements of {element}")]
    Type {
        /// The slot.
        slot: TypedSlot,
        /// Type of the elements that there is room for.
        element: ScalarType,
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

/// Memory for the elements of an output over axes, one after the other, the last axis fastest.
#[derive(Debug)]
pub struct Room<'a> {
    slot: &'a TypedSlot,
    element: ScalarType,
    first: *mut u8,
    count: usize,
    /// True if the frame has it, or the run has written it.
    is_lent: bool,
    target: PhantomData<&'a mut [u8]>,
}

impl<'a> Room<'a> {
    /// Memory for the elements of an output, as many as there will be.
    pub fn new<T: Cell>(slot: &'a TypedSlot, target: &'a mut [T]) -> Room<'a> {
        let first = target.as_mut_ptr().cast();
        Room { slot, element: T::ELEMENT, first, count: target.len(), is_lent: false, target: PhantomData }
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
        let room = RawRoom { element: self.element, first: self.first, bytes: self.bytes() };
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
        // SAFETY: the room borrows the target alone, and the run has written all of it.
        let bytes = || unsafe { std::slice::from_raw_parts(self.first, self.bytes()) };
        self.is_lent
            .then(|| NdView::new(self.element, bytes(), 0, &[self.count], &[self.cell() as isize]))?
            .ok()
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
        // SAFETY: the room borrows the target alone, which has so many elements; those of the view are valid ones of
        // the type.
        view.copy_to(unsafe { std::slice::from_raw_parts_mut(self.first, self.bytes()) });
        Ok(())
    }

    fn cell(&self) -> usize {
        cell_size(self.element)
    }

    fn bytes(&self) -> usize {
        self.count * self.cell()
    }
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
