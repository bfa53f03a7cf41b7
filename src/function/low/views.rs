//! Parts of arrays: a handle, and where along each axis.
//!
//! ```text
//! a[2]          root a    axes: Fixed(2), Whole
//! a[1:9:2, j]   root a    axes: Span { start 1, length 4, step 2 }, Fixed(j)
//! ```
//!
//! Making a part needs no instruction but for the bounds of slices; elements are addressed where they are read.

use crate::function::types::ArrayOf;
use crate::ssa::InstId;

/// What an operation's value became.
#[derive(Clone, Debug)]
pub(super) enum Lowered {
    /// Values of the machine: one for each leaf of the type.
    Leaves(Vec<InstId>),
    /// A part of an array.
    Part(ArrayPart),
}

/// A part of an array.
#[derive(Clone, Debug)]
pub(super) struct ArrayPart {
    /// The handle.
    pub(super) root: InstId,
    /// Its type.
    pub(super) array: ArrayOf,
    /// Where, along each axis of the handle.
    pub(super) axes: Vec<Axis>,
    /// True of an array of the module, which is not written.
    pub(super) is_constant: bool,
}

/// Where along an axis.
#[derive(Clone, Copy, Debug)]
pub(super) enum Axis {
    /// At one index.
    Fixed(InstId),
    /// Everywhere.
    Whole,
    /// At start, start + step, …, so many times.
    Span {
        /// First index, not negative.
        start: InstId,
        /// How many.
        length: InstId,
        /// Distance.
        step: InstId,
    },
}

impl ArrayPart {
    /// All of an array.
    pub(super) fn whole(root: InstId, array: ArrayOf) -> ArrayPart {
        ArrayPart { root, array, axes: vec![Axis::Whole; array.rank], is_constant: false }
    }

    /// True of all of an array.
    pub(super) fn is_whole(&self) -> bool {
        self.axes.iter().all(|axis| matches!(axis, Axis::Whole))
    }

    /// Axes that are left: their places among those of the handle.
    pub(super) fn open_axes(&self) -> Vec<usize> {
        let is_open = |axis: &usize| !matches!(self.axes[*axis], Axis::Fixed(_));
        (0..self.axes.len()).filter(is_open).collect()
    }
}
