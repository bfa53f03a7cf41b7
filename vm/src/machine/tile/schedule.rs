//! Schedule: what runs for each block of a region, in order, and where it leaves what only the region reads.

use crate::array::block::{BlockRun, MAX_OPERANDS};
use crate::array::scan::ScanRun;

/// What runs for each block, and where it leaves what only the region reads.
#[derive(Debug)]
pub(super) struct Schedule {
    /// Rows of a block, a multiple of 64.
    pub(super) block: usize,
    /// In order.
    pub(super) steps: Box<[Step]>,
    /// Columns in scratch memory, with their places there.
    pub(super) in_scratch: Box<[(u16, u32)]>,
    /// Bytes of scratch memory.
    pub(super) scratch: usize,
    /// True if all of it is one strip, which takes as many rows at a time as there are: nothing is in scratch memory.
    pub(super) is_one_strip: bool,
    /// Rows that all steps can take at a time, one step after the other: none if strips take in folds.
    pub(super) at_once: usize,
}

/// What runs for a block: a member, or the strip of several.
#[derive(Debug)]
pub(super) struct Step {
    /// The columns that it reads.
    pub(super) args: [u16; MAX_OPERANDS],
    /// How many there are.
    pub(super) arity: u8,
    /// Number of the member whose result it computes.
    pub(super) member: u16,
    /// Its code.
    pub(super) code: Code,
}

/// What a step does with a block.
#[derive(Debug)]
pub(super) enum Code {
    /// Computes rows.
    Rows {
        /// The code for this machine.
        run: BlockRun,
        /// True if `run` leaves presence to who runs it.
        is_lifted: bool,
    },
    /// Computes running sums or results; the number is that of the column that points to what is carried.
    Scan(ScanRun, u16),
    /// Takes the rows or elements into what the reduction with this number knows.
    Fold(u16),
    /// Runs the strip with this number.
    Strip(u16),
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
