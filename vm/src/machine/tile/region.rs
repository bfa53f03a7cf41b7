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

use crate::layout::TypedSlot;
use crate::machine::tile::plan::{Closed, Extent};
use crate::operator::block::{BlockKernel, Column};
use crate::operator::reduction::ReductionKernel;
use crate::program::ValueId;
use crate::value::{Fault, NdType, QType, ScalarType};

/// Most rows of a block.
pub(super) const MAX_BLOCK: usize = 1024;
/// Fewest rows of a block.
pub(super) const MIN_BLOCK: usize = 128;

/// A group of members with what they read and write.
#[derive(Debug)]
pub(in crate::machine) struct Region {
    /// What members compute.
    pub(super) extent: Extent,
    /// What they read from the frame.
    pub(super) inputs: Box<[Input]>,
    pub(super) members: Box<[Member]>,
    pub(super) outputs: Box<[Output]>,
    /// The members that are reductions, in the order of their states.
    pub(super) reductions: Box<[u16]>,
    /// Steps and types of all columns, before a run fills in where they stand.
    pub(super) columns: Box<[Column]>,
    /// True if a member computes presence, so that rows may be missing although no input misses any.
    pub(super) has_masks: bool,
    /// Columns of rows that are read or written, not in scratch memory.
    pub(super) moving: Box<[u16]>,
    /// Why there are no more members.
    pub(super) closed: Closed,
    /// Rows of a block, a multiple of 64.
    pub(super) block: usize,
    /// Bytes of scratch memory.
    pub(super) scratch: usize,
}

/// What members read from the frame.
#[derive(Debug)]
pub(super) struct Input {
    /// The value.
    pub(super) value: ValueId,
    /// Where it stands.
    pub(super) place: InputPlace,
}

impl Input {
    /// True if it has rows or axes of its own.
    pub(super) fn is_array(&self) -> bool {
        self.extent().is_some()
    }

    /// Offset of its slot or value.
    pub(super) fn offset(&self) -> usize {
        let (InputPlace::Array { offset, .. }
        | InputPlace::Elements { offset, .. }
        | InputPlace::Scalar { offset, .. }) = self.place;
        offset as usize
    }

    /// Its own extent; `None` of a scalar.
    pub(super) fn extent(&self) -> Option<Extent> {
        match self.place {
            InputPlace::Array { .. } => Some(Extent::Rows),
            InputPlace::Elements { qtype, .. } => Extent::of(&QType::NdArray(qtype)),
            InputPlace::Scalar { .. } => None,
        }
    }
}

/// Where an input stands.
#[derive(Debug)]
pub(super) enum InputPlace {
    /// Rows of an array.
    Array {
        /// Offset of its slot.
        offset: u32,
        /// Type of its rows.
        element: ScalarType,
    },
    /// Elements of an n-dimensional array, perhaps of fewer axes than the region has.
    Elements {
        /// Offset of its slot.
        offset: u32,
        /// Its type.
        qtype: NdType,
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
    /// The columns it reads.
    pub(super) args: [u16; 4],
    /// How many there are.
    pub(super) arity: u8,
    /// Its code, and where its result goes.
    pub(super) step: Step,
}

impl Member {
    /// The columns it reads.
    pub(super) fn args(&self) -> &[u16] {
        &self.args[..self.arity as usize]
    }

    /// True if rows of its result may be missing although none of its operands is.
    pub(super) fn computes_presence(&self) -> bool {
        matches!(&self.step, Step::Rows { kernel, .. } if !kernel.is_lifted)
    }
}

/// What a member does with a block.
#[derive(Debug)]
pub(super) enum Step {
    /// Computes rows.
    Rows {
        /// The code.
        kernel: BlockKernel,
        /// Where the rows go.
        place: Place,
    },
    /// Reduces the rows of its operand.
    Reduce {
        /// The code.
        kernel: ReductionKernel,
        /// Number of its state among those of the region.
        state: u16,
        /// Offset of the result in the frame.
        offset: u32,
    },
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
    /// Its slot.
    pub(super) slot: TypedSlot,
    /// Type of its rows.
    pub(super) element: ScalarType,
}

/// Where the presence of a column stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Presence {
    /// All rows are alike; the column says how.
    Alike,
    /// In the words of the input with this number.
    Input(u16),
    /// In words of its own.
    Own,
}

/// What a member raises.
pub(super) struct MemberFault {
    pub(super) ip: u32,
    pub(super) fault: Fault,
}
