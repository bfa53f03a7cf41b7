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

use crate::array::block::{Column, MAX_OPERANDS};
use crate::array::fold_kernel::FoldKernel;
use crate::array::scan::{Carry, Direction};
use crate::layout::TypedSlot;
use crate::machine::tile::plan::{Closed, Extent};
use crate::machine::tile::schedule::{Presence, Schedule};
use crate::machine::tile::strips::StripPlan;
use crate::operator::operand_view::OperandView;
use crate::program::ValueId;
use crate::value::{Axes, Fault, NdType, QType, ScalarType};
use bumpalo::Bump;

/// Most rows of a block.
pub(super) const MAX_BLOCK: usize = 1024;
/// Rows of a block that one fold reads and nothing else: as many as may be computed between two polls.
pub(super) const LONE_BLOCK: usize = 8192;
/// Fewest rows of a block: of shorter ones the steps cost more than misses of the first cache do.
pub(super) const MIN_BLOCK: usize = 256;
/// Fewest elements of a block of arrays with axes, which ends where a run of elements does: two halves of a run cost
/// more than the one.
pub(super) const MIN_ELEMENTS: usize = 512;

/// A group of members with what they read and write, and the steps that compute it.
#[derive(Debug)]
pub(in crate::machine) struct Region {
    /// What members compute.
    pub(super) extent: Extent,
    /// What they read from the frame, [fixed](Input::is_fixed) ones last.
    pub(super) inputs: Box<[Input]>,
    /// How many of these are not fixed.
    pub(super) varying: usize,
    pub(super) members: Box<[Member]>,
    pub(super) outputs: Box<[Output]>,
    /// How blocks are computed by a pass over rows for each operator, or some.
    pub(super) passes: Schedule,
    /// How they are computed if members run as strips.
    pub(super) strips: Option<StripPlan>,
    /// The same of elements whose runs are too short to become one there: folds are passes.
    pub(super) short: Option<StripPlan>,
    /// What running sums and results carry from block to block, before the first one.
    pub(super) scans: Box<[Carry]>,
    /// Their direction.
    pub(super) direction: Option<Direction>,
    /// The reductions.
    pub(super) folds: Box<[Fold]>,
    /// Steps and types of all columns, before a run fills in where they stand.
    pub(super) columns: Box<[Column]>,
    /// Where presence stands if no input misses a row: members may compute presence. Nothing if all rows are there then.
    pub(super) complete: Box<[Presence]>,
    /// What a [variant](crate::machine::tile::strips::Variant) of strips is for then, of rows or of elements in order.
    pub(super) complete_signature: u64,
    /// Where inputs stand, if all are whole arrays or values.
    pub(super) in_order: Option<WholeInputs>,
    /// Columns of rows that are read or written, not in scratch memory.
    pub(super) moving: Box<[u16]>,
    /// Why there are no more members.
    pub(super) closed: Closed,
}

impl Region {
    /// Number of members.
    pub(in crate::machine) fn member_count(&self) -> usize {
        self.members.len()
    }

    /// Number of arrays that others read.
    pub(in crate::machine) fn outputs(&self) -> usize {
        self.outputs.len()
    }

    /// Gives what running sums and results carry a place in the arena: the last columns point there.
    #[inline(always)]
    pub(super) fn begin_scans(&self, columns: &mut [Column], arena: &Bump) {
        let first = columns.len() - self.scans.len();
        for (column, start) in columns[first..].iter_mut().zip(&self.scans) {
            column.data = (&raw mut *arena.alloc(*start)).cast::<u8>().cast_const();
        }
    }

    /// True if an instruction is a member.
    pub(in crate::machine) fn has_member(&self, ip: usize) -> bool {
        self.members.iter().any(|member| member.ip as usize == ip)
    }
}

/// What members read from the frame.
#[derive(Debug)]
pub(super) struct Input {
    /// The value.
    pub(super) value: ValueId,
    /// Where it stands; where it would, if it is seen through views.
    pub(super) place: InputPlace,
    /// The views between an array in the frame and the value, from there on.
    pub(super) through: Box<[Through]>,
}

impl Input {
    /// True if it has rows or axes of its own.
    pub(super) fn is_array(&self) -> bool {
        self.extent().is_some()
    }

    /// True if it is rows that are chosen of an array.
    pub(super) fn is_chosen(&self) -> bool {
        self.through.iter().any(|through| through.view.chooses())
    }

    /// Its bits, if it is a literal.
    pub(super) fn literal(&self) -> Option<u64> {
        match self.place {
            InputPlace::Scalar { literal, .. } => literal,
            _ => None,
        }
    }

    /// True if it is the same present value in each run.
    pub(super) fn is_fixed(&self) -> bool {
        matches!(self.place, InputPlace::Scalar { presence: None, literal: Some(_), .. })
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

/// A view that a region makes for itself.
#[derive(Debug)]
pub(super) struct Through {
    /// Its instruction.
    pub(super) ip: u32,
    /// How it lies in the array.
    pub(super) view: OperandView,
    /// The array, if that is no view itself.
    pub(super) array: TypedSlot,
    /// Offsets of the operands that say which rows or elements.
    pub(super) sizes: Box<[u32]>,
    /// The operand that chooses rows.
    pub(super) chooser: Option<TypedSlot>,
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
        /// Its bits, if it is a literal.
        literal: Option<u64>,
    },
}

/// Where the inputs of a region stand, if all are [in order](super::in_order).
#[derive(Debug)]
pub(super) struct WholeInputs {
    pub(super) arrays: Arrays,
    /// Columns of one value for all rows, and its offset.
    pub(super) values: Box<[(u16, u32)]>,
    /// False of a region with folds along axes: more than a strip computes them.
    pub(super) are_for_strips: bool,
}

/// The inputs that are arrays.
#[derive(Debug)]
pub(super) enum Arrays {
    Rows(Box<[WholeRows]>),
    Elements {
        /// Axes of the region.
        rank: usize,
        /// With all of them.
        whole: Box<[WholeElements]>,
        /// Columns of those with fewer, which may be seen through views.
        fewer: Box<[u16]>,
    },
}

/// An input that is rows.
#[derive(Debug)]
pub(super) struct WholeRows {
    pub(super) column: u16,
    /// Offset of its slot.
    pub(super) offset: u32,
    pub(super) element: ScalarType,
    /// What the signature has for it if it may miss rows.
    pub(super) may_miss: u64,
}

/// An input that is elements.
#[derive(Debug)]
pub(super) struct WholeElements {
    pub(super) column: u16,
    /// Offset of its slot.
    pub(super) offset: u32,
    pub(super) of: NdType,
}

/// An operator on columns.
#[derive(Debug)]
pub(super) struct Member {
    /// Its instruction.
    pub(super) ip: u32,
    /// The columns it reads.
    pub(super) args: [u16; MAX_OPERANDS],
    /// How many there are.
    pub(super) arity: u8,
    /// True if a row is present where it is in all operands; else the operator says which are.
    pub(super) is_lifted: bool,
    /// If it is not lifted: by which of its operands miss no row, a bit each, a bit that is set if its result then
    /// misses none.
    pub(super) complete_if: u16,
    /// Where its result goes.
    pub(super) place: Place,
}

impl Member {
    /// The columns it reads.
    pub(super) fn args(&self) -> &[u16] {
        &self.args[..self.arity as usize]
    }
}

/// A reduction of rows, or of elements along axes.
#[derive(Debug)]
pub(super) struct Fold {
    /// Its instruction.
    pub(super) ip: u32,
    /// The code.
    pub(super) kernel: FoldKernel,
    /// The axes; that of rows is the first one.
    pub(super) axes: Axes,
    /// The slot of the result; none if nobody can read it.
    pub(super) slot: Option<TypedSlot>,
}

/// Where the result of a member goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// One block at this offset of the scratch memory, the words of presence behind it.
    Scratch(u32),
    /// The output with this number.
    Output(u16),
    /// The frame, when all rows have been reduced.
    Value,
}

/// An array that others read.
#[derive(Debug)]
pub(super) struct Output {
    /// Its column.
    pub(super) column: u16,
    /// Its slot.
    pub(super) slot: TypedSlot,
    /// Type of its rows.
    pub(super) element: ScalarType,
}

/// What a member raises.
pub(super) struct MemberFault {
    pub(super) ip: u32,
    pub(super) fault: Fault,
}
