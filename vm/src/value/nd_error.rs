//! NdError: why a buffer, a shape and strides are no array.

use crate::value::array::MAX_ROWS;
use crate::value::nd_type::MAX_RANK;
use crate::value::scalar::ScalarType;
use thiserror::Error;

/// A buffer, shape and strides that are no array.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NdError {
    /// There are no arrays of such elements that could be viewed.
    #[error("{element} is no element of n-dimensional arrays")]
    Element {
        /// Type of the elements.
        element: ScalarType,
    },
    /// Only elements along one axis can be missing.
    #[error("elements over {rank} axes cannot be missing")]
    Missing {
        /// Number of axes.
        rank: usize,
    },
    /// The bitmap is too short.
    #[error("a bitmap of {bits} bits has no bit {bit}")]
    Bitmap {
        /// The bit asked for.
        bit: usize,
        /// Bits there are.
        bits: usize,
    },
    /// Too many axes.
    #[error("an array of {rank} axes; at most {MAX_RANK} are allowed")]
    Rank {
        /// Number of axes.
        rank: usize,
    },
    /// There are not as many strides as axes.
    #[error("{strides} strides of {rank} axes")]
    Strides {
        /// Number of axes.
        rank: usize,
        /// Number of strides.
        strides: usize,
    },
    /// More elements than an array may have.
    #[error("limit array-rows: the shape {shape:?} has more than {MAX_ROWS} elements")]
    TooLarge {
        /// Sizes of the axes.
        shape: Vec<usize>,
    },
    /// An element lies outside the buffer.
    #[error(
        "the shape {shape:?} with the strides {strides:?} reaches beyond the {bytes} bytes from {start} on"
    )]
    Outside {
        /// Sizes of the axes.
        shape: Vec<usize>,
        /// Strides in bytes.
        strides: Vec<isize>,
        /// Where the first element begins.
        start: usize,
        /// Length of the buffer.
        bytes: usize,
    },
    /// An element of type BOOLEAN is neither 0 nor 1.
    #[error("byte {at} is {byte}, which is no truth value")]
    Truth {
        /// Where the element stands in the buffer.
        at: usize,
        /// What stands there.
        byte: u8,
    },
    /// A unit axis of the type has another size.
    #[error("axis {axis} of {qtype} has the size 1, not {size}")]
    UnitAxis {
        /// The type.
        qtype: String,
        /// The axis.
        axis: usize,
        /// Size of the axis in the shape.
        size: usize,
    },
    /// The number of cells is not that of the shape.
    #[error("the shape {shape:?} has {expected} elements, got {actual}")]
    Count {
        /// Sizes of the axes.
        shape: Vec<usize>,
        /// Elements of the shape.
        expected: usize,
        /// Elements given.
        actual: usize,
    },
}
