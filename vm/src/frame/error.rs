//! Errors of frames.

use crate::layout::TypedSlot;
use crate::value::{Exhausted, QType, ScalarType};
use thiserror::Error;

/// A frame cannot be made or used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FrameError {
    /// The allocator has no memory for the frame.
    #[error("out of memory: a frame of {bytes} bytes cannot be allocated")]
    OutOfMemory {
        /// Size of the frame.
        bytes: u32,
    },
    /// The system has no memory for a copy of a value.
    #[error(transparent)]
    Exhausted(#[from] Exhausted),
    /// The slot does not belong to the frame's layout.
    #[error("{slot} is not a slot of this frame")]
    ForeignSlot {
        /// The slot.
        slot: TypedSlot,
    },
    /// A literal stands in the slot, for this run and all later ones.
    #[error("{slot} holds a literal, which cannot be written")]
    Literal {
        /// The slot.
        slot: TypedSlot,
    },
    /// The value is of another type than the slot.
    #[error("{slot} cannot hold a value of type {actual}")]
    TypeMismatch {
        /// The slot.
        slot: TypedSlot,
        /// Type of the value.
        actual: QType,
    },
    /// The array is not one of the slot's type.
    #[error("{slot} cannot hold an array of {element} with the shape {shape:?}")]
    ArrayShape {
        /// The slot.
        slot: TypedSlot,
        /// Element of the array.
        element: ScalarType,
        /// Sizes of its axes.
        shape: Vec<usize>,
    },
    /// The array is one whose elements are always there, and the view has a bitmap.
    #[error("{slot} cannot hold an array with missing elements")]
    Missing {
        /// The slot.
        slot: TypedSlot,
    },
    /// The slot has not been written since the frame was taken.
    #[error("{slot} has not been written")]
    Unwritten {
        /// The slot.
        slot: TypedSlot,
    },
}
