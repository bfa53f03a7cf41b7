//! Cells that runs side by side are kept in while a loop over registers takes their elements in, row by row.
//!
//! ```text
//! (300, 5) -> (5)    leaf of 76 rows    rows 0 … 71    eight rows of five sums, row r goes to those of r % 8
//!                                       joined         by pairs, to the first five
//!                                       rows 72 … 75   to the first five
//! ```
//!
//! Sums have eight rows of cells, as a leaf has eight lanes; what else may be taken in in any order has one.

use crate::array::fold_memory::to_word;
use crate::vector::Level;
use crate::vector::first_stage::{FirstStage, LANE_WORDS, SumOf};
use crate::vector::fold::{Fold, SUMS};
use crate::vector::level::Loop;
use bumpalo::collections::Vec as BumpVec;
use bytemuck::Pod;

/// How the cells of runs side by side become parts.
#[derive(Clone, Copy)]
pub(crate) struct SideBySide {
    /// Rows of cells, which rows of elements go to in turn.
    pub(crate) rows: usize,
    /// Joins rows of cells to the first one: how far it is from one to the next, and how many cells each has.
    pub(crate) join: fn(&mut [u64], usize, usize),
    /// Adds parts: one for each of so many cells of the first row, of so many elements.
    pub(crate) take: fn(&mut BumpVec<'_, u64>, &[u64], usize, usize),
}

impl SideBySide {
    /// That of a fold, if a loop over registers can take its elements in.
    pub(super) fn of<F: Fold>() -> Option<SideBySide> {
        match (F::FIRST?, F::MERGE.is_some()) {
            (FirstStage::Spread(_) | FirstStage::Sum(SumOf::Halves), _) => None,
            (FirstStage::Least | FirstStage::Greatest, _) => {
                Some(SideBySide { rows: 1, join: |_, _, _| {}, take: take_extremes::<F> })
            }
            (FirstStage::Sum(_), true) => {
                Some(SideBySide { rows: SUMS, join: join::<F>, take: take_counts::<F> })
            }
            (_, true) => Some(SideBySide { rows: 1, join: |_, _, _| {}, take: take_counts::<F> }),
            (_, false) => Some(SideBySide { rows: SUMS, join: join::<F>, take: take_parts::<F> }),
        }
    }
}

fn join<F: Fold>(cells: &mut [u64], to_next: usize, width: usize) {
    Level::best().run(Join::<F> { cells: bytemuck::cast_slice_mut(cells), to_next, width });
}

/// Rows of cells that are joined.
struct Join<'c, F: Fold> {
    cells: &'c mut [F::Part],
    to_next: usize,
    width: usize,
}

impl<F: Fold> Loop for Join<'_, F> {
    type Output = ();
    const GAINS_BY_WIDTH: bool = F::GAINS_BY_WIDTH;

    #[inline(always)]
    fn run(self) {
        F::join_lanes(self.cells, self.to_next, 0..self.width);
    }
}

/// Cells are parts.
fn take_parts<F: Fold>(parts: &mut BumpVec<'_, u64>, cells: &[u64], width: usize, _: usize) {
    if size_of::<F::Part>() == size_of::<u64>() {
        return parts.extend_from_slice_copy(&cells[..width]);
    }
    let cells: &[F::Part] = bytemuck::cast_slice(cells);
    parts.extend(cells[..width].iter().map(|part| to_word(*part)));
}

/// Cells are sums of integers, in words: those of lanes of which all others are zero.
fn take_counts<F: Fold>(parts: &mut BumpVec<'_, u64>, cells: &[u64], width: usize, elements: usize) {
    take_merged::<F, u64>(parts, &cells[..width], |cell| [cell, 0, 0, 0, 0, 0, 0, 0], elements);
}

/// Cells have the type of an element: all lanes have it.
fn take_extremes<F: Fold>(parts: &mut BumpVec<'_, u64>, cells: &[u64], width: usize, elements: usize) {
    let lanes = |cell: F::Element| {
        let word = to_word(cell);
        [if size_of::<F::Element>() == 4 { word << 32 | word } else { word }; LANE_WORDS]
    };
    take_merged::<F, F::Element>(parts, &bytemuck::cast_slice(cells)[..width], lanes, elements);
}

fn take_merged<F: Fold, C: Pod>(
    parts: &mut BumpVec<'_, u64>,
    cells: &[C],
    lanes: impl Fn(C) -> [u64; LANE_WORDS],
    elements: usize,
) {
    let Some(merge) = F::MERGE else { unreachable!("elements went to lanes") };
    parts.extend(cells.iter().map(|cell| to_word(merge(&lanes(*cell), elements).part)));
}
