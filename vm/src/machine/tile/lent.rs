//! Inputs that the host lends for one call: in place where a kernel can read them so, else laid out block
//! by block.
//!
//! ```text
//! cells     in order and aligned     read in place
//!           with gaps, backwards, …  copied to a block of scratch memory
//! bitmap    of any bit offset        shifted to words, 64 rows each
//! ```
//!
//! Inputs that are seen through views are read in the same way; rows that a view [chooses](super::chosen) are laid out.

use crate::array::block::{Column, rows_of_word};
use crate::layout::handle::RawRows;
use crate::machine::tile::chosen::ChosenBy;
use crate::value::array::{ROWS_OF_A_WORD, cell_size};
use bumpalo::Bump;
use std::alloc::Layout;

/// A lent input, or one that is seen through views.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lent {
    /// Its column.
    pub(super) column: usize,
    /// Its rows.
    pub(super) rows: SeenRows,
}

/// Rows of an array, or those that something chooses of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct SeenRows {
    pub(super) of: RawRows,
    pub(super) chosen_by: Option<ChosenBy>,
}

impl SeenRows {
    /// All rows of an array.
    pub(super) fn all(of: RawRows) -> SeenRows {
        SeenRows { of, chosen_by: None }
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.chosen_by.map_or(self.of.len, |by| by.len())
    }

    /// A bitmap that may miss some of them; null if all are present.
    pub(super) fn bitmap(&self) -> *const u8 {
        let of_choice = self.chosen_by.map_or(std::ptr::null(), |by| by.bitmap());
        if of_choice.is_null() { self.of.bitmap } else { of_choice }
    }

    /// True if kernels can read cells and presence where they are.
    pub(super) fn are_in_place(&self) -> bool {
        self.are_in_order() && self.of.bitmap.is_null()
    }

    /// True if kernels can read the cells where they are.
    fn are_in_order(&self) -> bool {
        let size = cell_size(self.of.element);
        self.chosen_by.is_none() && self.of.step == size as isize && self.of.first.addr().is_multiple_of(size)
    }
}

impl Lent {
    /// True if kernels can read cells and presence where they are.
    pub(super) fn is_in_place(&self) -> bool {
        self.rows.are_in_place()
    }
}

/// Places for one block of a lent input; null where it is not needed.
#[derive(Clone, Copy, Debug)]
pub(super) struct LaidOut {
    cells: *mut u8,
    words: *mut u64,
}

impl LaidOut {
    /// Places in an arena for blocks of a lent input.
    pub(super) fn new(lent: &Lent, block: usize, arena: &Bump) -> LaidOut {
        let place = |bytes: usize| {
            let layout = Layout::from_size_align(bytes, 64).expect("a block is small");
            arena.alloc_layout(layout).as_ptr()
        };
        LaidOut {
            cells: match lent.rows.are_in_order() {
                true => std::ptr::null_mut(),
                false => place(block * cell_size(lent.rows.of.element)),
            },
            words: match lent.rows.bitmap().is_null() {
                true => std::ptr::null_mut(),
                false => place(block / ROWS_OF_A_WORD * 8).cast(),
            },
        }
    }

    /// Points the column to `count` rows from `start` on.
    ///
    /// # Safety
    /// The lent rows are there, `start` is the first row of a word, and `count` is not more than a block.
    pub(super) unsafe fn fill(&self, lent: &Lent, start: usize, count: usize, column: &mut Column) {
        let rows = &lent.rows.of;
        if let Some(by) = &lent.rows.chosen_by {
            // SAFETY: the caller's promise; whoever chooses has been compared with the rows that there are.
            unsafe {
                by.lay_out(rows, start, count, self.cells);
                column.data = self.cells;
                if !self.words.is_null() {
                    by.lay_out_presence(rows, start, count, self.words);
                    column.presence = self.words;
                }
            }
            return;
        }
        let first = rows.first.wrapping_offset(rows.step * start as isize);
        column.data = first;
        if !self.cells.is_null() {
            // SAFETY: the caller's promise.
            unsafe {
                match cell_size(rows.element) {
                    1 => gather::<u8>(first, rows.step, self.cells, count),
                    4 => gather::<u32>(first, rows.step, self.cells, count),
                    _ => gather::<u64>(first, rows.step, self.cells, count),
                }
            }
            column.data = self.cells;
        }
        if !self.words.is_null() {
            for number in 0..count.div_ceil(ROWS_OF_A_WORD) {
                let row = number * ROWS_OF_A_WORD;
                // SAFETY: the caller's promise: the bitmap has a bit for each of these rows.
                unsafe {
                    let word = bits(rows.bitmap, rows.offset + start + row, ROWS_OF_A_WORD.min(count - row));
                    self.words.add(number).write(word & rows_of_word(number, count));
                }
            }
            column.presence = self.words;
        }
    }
}

/// # Safety
/// There are `count` cells at `from` in steps of `step`, and room for them at `to`.
unsafe fn gather<T: Copy>(from: *const u8, step: isize, to: *mut u8, count: usize) {
    for row in 0..count {
        // SAFETY: the caller's promise.
        unsafe {
            let cell = from.wrapping_offset(step * row as isize).cast::<T>().read_unaligned();
            to.cast::<T>().add(row).write(cell);
        }
    }
}

/// Up to 64 bits of a bitmap, from a bit on.
///
/// # Safety
/// The bitmap has these bits.
unsafe fn bits(bitmap: *const u8, first: usize, count: usize) -> u64 {
    let (byte, shift) = (first / 8, first % 8);
    let mut word = 0u128;
    for index in 0..(shift + count).div_ceil(8) {
        // SAFETY: the caller's promise.
        word |= u128::from(unsafe { bitmap.add(byte + index).read() }) << (8 * index);
    }
    (word >> shift) as u64
}
