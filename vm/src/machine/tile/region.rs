//! Region: what a group of element-wise operators reads, computes and writes.
//!
//! ```text
//! column    0        1        2         3         4
//!           x        y        t0        t1        v4
//!           input    input    scratch   scratch   output
//!
//! scratch   [ data of t0 | words of t0 | data of t1 | words of t1 ]      places are reused
//! ```
//!
//! Every input and every result of a member is a *column*: inputs first, then members in their order.
//! A column that only members read has a place of one block in scratch memory of the frame.

use crate::operator::block::{BlockKernel, Column};
use crate::value::ScalarType;

/// Most rows of a block.
pub(super) const MAX_BLOCK: usize = 1024;
/// Fewest rows of a block.
pub(super) const MIN_BLOCK: usize = 128;

/// A group of members with what they read and write.
#[derive(Debug)]
pub(in crate::machine) struct Region {
    pub(super) inputs: Box<[Input]>,
    pub(super) members: Box<[Member]>,
    pub(super) outputs: Box<[Output]>,
    /// Steps and types of all columns, before a run fills in where they stand.
    pub(super) columns: Box<[Column]>,
    /// True if a member computes presence, so that rows may be missing although no input misses any.
    pub(super) has_masks: bool,
    /// Rows of a block, a multiple of 64.
    pub(super) block: usize,
    /// Bytes of scratch memory.
    pub(super) scratch: usize,
}

/// What members read from the frame.
#[derive(Debug)]
pub(super) enum Input {
    /// Rows of an array.
    Array {
        /// Offset of its slot.
        offset: u32,
        /// Type of its rows.
        element: ScalarType,
    },
    /// One value for all rows.
    Scalar {
        /// Offset of the value.
        offset: u32,
        /// Offset of its presence byte.
        presence: Option<u32>,
    },
}

/// An operator on columns.
#[derive(Debug)]
pub(super) struct Member {
    /// Its instruction.
    pub(super) ip: u32,
    /// Its code.
    pub(super) kernel: BlockKernel,
    /// The columns it reads.
    pub(super) args: [u16; 4],
    /// How many there are.
    pub(super) arity: u8,
    /// Where its rows go.
    pub(super) place: Place,
}

impl Member {
    /// The columns it reads.
    pub(super) fn args(&self) -> &[u16] {
        &self.args[..self.arity as usize]
    }
}

/// Where the rows of a member go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// One block at this offset of the scratch memory, the words of presence behind it.
    Scratch(u32),
    /// The output with this number.
    Output(u16),
}

/// An array that others read.
#[derive(Debug)]
pub(super) struct Output {
    /// Offset of its slot.
    pub(super) offset: u32,
    /// Type of its rows.
    pub(super) element: ScalarType,
}
