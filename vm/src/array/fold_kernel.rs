//! Folds: kernels that make one value of the rows of an array, or of the elements along axes that stand together, of a whole
//! array or a block at a time.
//!
//! ```text
//! (2, 300) -> (2)     runs of 300 elements become one each
//! leaves              72 | 72 | 72 | 84 || 72 | 72 | 72 | 84
//! blocks              a . . . . . | b . . . . . | c . .           what a block has of its last leaf is kept
//!
//! (300, 2) -> (2)     two runs side by side
//! leaves              rows 0 … 71, 72 … 143, …                    a row is taken into the sums of all columns
//! ```
//!
//! The parts of all leaves are joined when all blocks have been seen. [Rows](super::row_fold) are one run. Sums over
//! [pairs](super::nd_pairs) of elements have no leaves, but a sum for each 65,536 elements; counts of rows have neither.

use crate::array::block::Column;
use crate::array::fold_memory::{PARTS_OF_STRETCHES, lane, most_parts, of_word, room, to_word, zeros};
use crate::array::fold_results::write_results;
use crate::array::meter::Watch;
use crate::array::runs::{Runs, check_elements};
use crate::array::side_by_side::SideBySide;
use crate::array::take_lanes::TakeLanes;
use crate::layout::PlainSlot;
use crate::value::nd_view::NdCell;
use crate::value::{Exhausted, Fault};
use crate::vector::Level;
use crate::vector::first_stage::{FirstStage, LANE_WORDS, Merged, OfPairs, SPREAD_WORDS};
use crate::vector::fold::{Fold, RowOfLeaf};
use crate::vector::leaves::Leaves;
use crate::vector::level::Loop;
use crate::vector::spread::LEAF;
use crate::vector::stop::StopCheck;
use bumpalo::Bump;
use bumpalo::collections::Vec as BumpVec;
use std::fmt;
use std::ops::Range;

/// Rows or elements of a chunk: a region is polled, and dealt to threads, by chunks.
pub const CHUNK: usize = 1 << 16;

/// The code of a reduction over blocks.
#[derive(Clone, Copy)]
pub(crate) struct FoldKernel {
    /// What there is none of without elements; `None` if there is a result without.
    pub(crate) needs: Option<&'static str>,
    pub(super) step: Step,
    pub(super) finish: Finish,
    /// Words that are kept for each of runs that stand side by side and have at least as many elements; one for each of
    /// shorter runs.
    pub(super) lanes: usize,
    /// Where threads may begin.
    pub(super) cut: Cut,
    /// How a strip takes rows or elements in, if it can; that of rows of presence asks for nothing but how many there are.
    pub(crate) first: Option<FirstStage>,
    /// How a strip takes in runs side by side, if it can.
    pub(crate) side_by_side: Option<SideBySide>,
    /// What comes of the elements of two operands before.
    pub(crate) pairs: Option<OfPairs>,
    /// Takes in what lanes have that rows went to in any order.
    pub(crate) take_lanes: Option<TakeLanes>,
    /// Takes in what 32 lanes have of a chunk.
    pub(crate) take_spread: Option<TakeSpread>,
    /// True if the result depends on how many rows are present.
    pub(crate) counts: bool,
    /// True if the parts of a single run may be those of any stretches: there are no leaves then.
    pub(super) has_any_parts: bool,
}

/// Takes in rows or elements of one operand, or of two.
///
/// # Safety
/// The contract of [`FoldKernel::step`].
pub(super) type Step = unsafe fn(&mut Folded<'_>, [&Column; 2], usize);

/// Writes results.
///
/// # Safety
/// The contract of [`FoldKernel::finish`].
pub(super) type Finish = unsafe fn(Known<'_>, Runs, *mut u8, StopCheck<'_>);

/// Takes in the 32 lanes of a chunk, or of the last elements; lanes of 32 bits are in the first half.
pub(crate) type TakeSpread = fn(&mut Folded<'_>, &[u64; SPREAD_WORDS]);

/// What is known of all rows or elements.
#[derive(Debug, Default)]
pub(crate) struct Known<'p> {
    /// The parts of all leaves. Those of runs side by side are joined there.
    pub(crate) parts: &'p mut [u64],
    /// How many rows are present.
    pub(crate) present: u64,
}

/// What is known of elements by itself, and joined in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cut {
    /// The leaves of the pairwise sum.
    Leaves,
    /// So many elements as a [`CHUNK`] has.
    Chunks,
    /// Nothing: rows are counted.
    Rows,
}

impl fmt::Debug for FoldKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FoldKernel")
    }
}

impl FoldKernel {
    /// The kernel of a fold of elements that stand in arrays as cells, and what there is none of without elements.
    pub(crate) fn new<C: NdCell, F: Fold<Out: PlainSlot>>(needs: Option<&'static str>) -> FoldKernel {
        const {
            assert!(size_of::<C>() == size_of::<F::Element>() && align_of::<C>() == align_of::<F::Element>());
            assert!(size_of::<F::Part>() <= size_of::<u64>());
        }
        FoldKernel::of_leaves::<F>(needs)
    }

    fn of_leaves<F: Fold<Out: PlainSlot>>(needs: Option<&'static str>) -> FoldKernel {
        FoldKernel {
            needs,
            step: step::<F>,
            finish: finish::<F>,
            lanes: F::LANES,
            cut: Cut::Leaves,
            first: F::FIRST,
            side_by_side: SideBySide::of::<F>(),
            pairs: None,
            take_lanes: TakeLanes::of::<F>(),
            take_spread: None,
            counts: false,
            has_any_parts: F::HAS_ANY_PARTS,
        }
    }

    /// An error if runs have no element, but results are asked for.
    pub(crate) fn check_elements(&self, runs: Runs) -> Result<(), Fault> {
        self.needs.map_or(Ok(()), |what| check_elements(what, runs))
    }

    /// The first place from an element on where a thread may begin. Reductions agree on it if they are of a kind and
    /// have the same runs.
    pub(crate) fn next_cut(&self, Runs { run, width, .. }: Runs, element: usize) -> usize {
        if self.cut != Cut::Leaves {
            return element.next_multiple_of(CHUNK).min(run);
        }
        let row = element.div_ceil(width);
        let row = match Leaves::from(run, row) {
            (_, 0) => row,
            (mut leaves, place) => row - place + leaves.next_size(),
        };
        row * width
    }

    /// True if there are parts to be joined; else rows are counted.
    pub(crate) fn has_parts(&self) -> bool {
        self.cut != Cut::Rows
    }

    /// True if threads may begin at the same places as for another reduction of the same runs.
    pub(crate) fn is_cut_like(&self, other: &FoldKernel) -> bool {
        self.cut == other.cut
    }

    /// What is known before the first of some elements, where a thread may begin, of runs that are not empty. There is
    /// room for the parts of these elements.
    ///
    /// # Errors
    /// The system refuses memory, or the run has to stop.
    #[inline]
    pub(crate) fn begin<'a>(
        &self,
        Runs { run, width, count }: Runs,
        elements: Range<usize>,
        arena: &'a Bump,
        watch: Option<&dyn Watch>,
    ) -> Result<Folded<'a>, Exhausted> {
        if self.has_any_parts && count == 1 {
            return Ok(Folded { parts: room(PARTS_OF_STRETCHES, arena)?, ..Folded::of_stretch(arena) });
        }
        // Divisions take as long as all the rest.
        let first = if width == 1 { elements.start } else { elements.start / width };
        let (mut leaves, _) = Leaves::from(run, first);
        let (leaf, kept) = match self.cut {
            Cut::Leaves => (leaves.next_size(), 0),
            Cut::Chunks | Cut::Rows => (0, elements.start),
        };
        let lanes = match self.lane_words(run, width) {
            0 => Default::default(),
            words => zeros(words, arena, watch)?,
        };
        let share = if count == 1 { 1 } else { count.min(elements.len().div_ceil(run) + 1) };
        let parts = match self.cut {
            Cut::Rows => 0,
            _ => most_parts(run).saturating_mul(share),
        };
        let parts = room(parts, arena)?;
        let is_one_run = count == 1;
        Ok(Folded { leaf, kept, width, is_one_run, lanes, ..Folded::of(parts, leaves, arena) })
    }

    /// Words that are kept of the last leaves of runs side by side.
    fn lane_words(&self, run: usize, width: usize) -> usize {
        match width > 1 {
            true if run < self.lanes => lane(width),
            true => self.lanes * lane(width),
            false => 0,
        }
    }

    /// Bytes that [`FoldKernel::begin`] and the steps after it take from the arena, about.
    pub(crate) fn kept_bytes(&self, Runs { run, width, count }: Runs) -> u64 {
        if self.has_any_parts && count == 1 {
            return PARTS_OF_STRETCHES as u64 * 8;
        }
        let lanes = self.lane_words(run, width);
        let parts = if self.cut == Cut::Rows { 0 } else { most_parts(run).saturating_mul(count) };
        (lanes.saturating_add(parts) as u64).saturating_mul(8)
    }

    /// Takes in the rows or elements that follow; of the second operand if there is one.
    ///
    /// # Safety
    /// There are that many elements of the kernel's type, aligned; or so many rows, which begin at a word of presence.
    pub(crate) unsafe fn step(&self, state: &mut Folded<'_>, from: [&Column; 2], count: usize) {
        // SAFETY: the caller's promise.
        unsafe { (self.step)(state, from, count) }
    }

    /// Writes the results of all runs; some of them, if it is told to stop.
    ///
    /// # Safety
    /// What is known is of all rows or elements of these runs, by this kernel; there is room for the results.
    pub(crate) unsafe fn finish(&self, known: Known<'_>, runs: Runs, out: *mut u8, stop: StopCheck<'_>) {
        // SAFETY: the caller's promise.
        unsafe { (self.finish)(known, runs, out, stop) }
    }
}

/// What is known of the elements so far.
pub(crate) struct Folded<'a> {
    /// The parts of whole leaves.
    pub(crate) parts: BumpVec<'a, u64>,
    /// How many rows are present, if that is counted.
    pub(crate) present: u64,
    /// True if the result may depend on the order of elements that lanes have not told: it has to be found anew.
    pub(crate) is_open: bool,
    /// The leaves that come next.
    pub(super) leaves: Leaves,
    /// The size of the leaf that the next element is in.
    leaf: usize,
    /// How many of its elements, or rows, are kept; without leaves, how many elements there were.
    pub(super) kept: usize,
    /// The cells of a leaf, or lanes; nothing until they are needed.
    pub(super) cells: &'a mut [u64],
    /// Runs side by side.
    width: usize,
    /// True if there is one run.
    is_one_run: bool,
    /// The one that the next element is of.
    column: usize,
    /// What is kept of each.
    lanes: &'a mut [u64],
    arena: &'a Bump,
}

/// Words for the cells of a leaf.
#[repr(align(64))]
struct Cells([u64; LEAF]);

impl<'a> Folded<'a> {
    /// Nothing yet, of a single run whose parts go to a list.
    #[inline(always)]
    fn of(parts: BumpVec<'a, u64>, leaves: Leaves, arena: &'a Bump) -> Folded<'a> {
        Folded {
            parts,
            present: 0,
            is_open: false,
            leaves,
            leaf: 0,
            kept: 0,
            cells: &mut [],
            width: 1,
            is_one_run: true,
            column: 0,
            lanes: &mut [],
            arena,
        }
    }

    /// Nothing yet, of a single run whose parts may be any.
    #[inline]
    pub(crate) fn of_stretch(arena: &'a Bump) -> Folded<'a> {
        let (leaves, _) = Leaves::from(1, 0);
        Folded::of(BumpVec::new_in(arena), leaves, arena)
    }

    /// Takes in that many rows or elements, which went to lanes.
    pub(crate) fn take_lanes(&mut self, how: TakeLanes, lanes: &[u64; LANE_WORDS], count: usize) {
        let Merged { part, is_open } = how.part(lanes, count);
        match self.parts.last_mut() {
            Some(last) => {
                let joined = how.join(*last, part);
                // What decides the result so far decides whether that is open.
                if joined != *last {
                    self.is_open = is_open;
                }
                *last = joined;
            }
            None => {
                self.is_open = is_open;
                self.parts.push(part);
            }
        }
    }

    /// What is known of all rows or elements that have been taken in.
    pub(crate) fn known(&mut self) -> Known<'_> {
        Known { parts: &mut self.parts, present: self.present }
    }

    /// The parts, and what is kept of runs side by side.
    pub(crate) fn parts_and_lanes(&mut self) -> (&mut BumpVec<'a, u64>, &mut [u64]) {
        (&mut self.parts, self.lanes)
    }

    /// Room for the cells of a leaf, which is zero at first.
    #[inline]
    pub(super) fn cells(&mut self) -> &mut [u64] {
        if self.cells.is_empty() {
            self.cells = &mut self.arena.alloc(Cells([0; LEAF])).0;
        }
        self.cells
    }
}

/// # Safety
/// The contract of [`FoldKernel::step`].
unsafe fn step<F: Fold>(state: &mut Folded<'_>, from: [&Column; 2], count: usize) {
    // SAFETY: the caller's promise; every byte pattern is an element.
    let values: &[F::Element] = unsafe { std::slice::from_raw_parts(from[0].data.cast(), count) };
    take::<F>(state, values);
}

/// Takes in elements. Not inlined: rows and elements share the copy of each level.
#[inline(never)]
pub(super) fn take<F: Fold>(state: &mut Folded<'_>, values: &[F::Element]) {
    Level::best().run(TakeIn::<F> { state, values });
}

struct TakeIn<'v, 'a, F: Fold> {
    state: &'v mut Folded<'a>,
    values: &'v [F::Element],
}

impl<F: Fold> Loop for TakeIn<'_, '_, F> {
    type Output = ();
    const GAINS_BY_WIDTH: bool = F::GAINS_BY_WIDTH;

    #[inline(always)]
    fn run(self) {
        match self.state.width > 1 {
            true => take_rows::<F>(self.state, self.values),
            false if F::HAS_ANY_PARTS && self.state.is_one_run => take_stretch::<F>(self.state, self.values),
            false => take_in::<F>(self.state, self.values),
        }
    }
}

/// Elements of one run, whose parts may be any.
#[inline(always)]
fn take_stretch<F: Fold>(state: &mut Folded<'_>, values: &[F::Element]) {
    if values.is_empty() {
        return;
    }
    let part = F::leaf(values);
    match state.parts.last_mut() {
        Some(last) => *last = to_word(F::join(of_word(*last), part)),
        None => state.parts.push(to_word(part)),
    }
}

/// The parts of leaves of so many elements; `false` if there is no code of their own for them.
#[inline(always)]
fn push_leaves_of<F: Fold>(size: usize, parts: &mut BumpVec<'_, u64>, values: &[F::Element]) -> bool {
    match size {
        2 => push_leaves::<F, 2>(parts, values),
        3 => push_leaves::<F, 3>(parts, values),
        4 => push_leaves::<F, 4>(parts, values),
        _ if size > F::MOST_OF_OWN_SIZE => return false,
        5 => push_leaves::<F, 5>(parts, values),
        6 => push_leaves::<F, 6>(parts, values),
        7 => push_leaves::<F, 7>(parts, values),
        8 => push_leaves::<F, 8>(parts, values),
        9 => push_leaves::<F, 9>(parts, values),
        10 => push_leaves::<F, 10>(parts, values),
        12 => push_leaves::<F, 12>(parts, values),
        16 => push_leaves::<F, 16>(parts, values),
        _ => return false,
    }
    true
}

/// The parts of leaves of so many elements, such as coordinates: a number that is known makes a loop over vectors.
#[inline(always)]
fn push_leaves<F: Fold, const SIZE: usize>(parts: &mut BumpVec<'_, u64>, values: &[F::Element]) {
    let (runs, first) = (values.as_chunks::<SIZE>().0, parts.len());
    parts.resize(first + runs.len(), 0);
    for (part, run) in parts[first..].iter_mut().zip(runs) {
        *part = to_word(F::leaf(run));
    }
}

#[inline(always)]
fn take_in<F: Fold>(state: &mut Folded<'_>, mut values: &[F::Element]) {
    let (leaf, kept) = (state.leaf, state.kept);
    if kept > 0 {
        let (head, rest) = values.split_at(values.len().min(leaf - kept));
        let cells: &mut [F::Element] = bytemuck::cast_slice_mut(state.cells());
        cells[kept..][..head.len()].copy_from_slice(head);
        let is_whole = kept + head.len() == leaf;
        let part = is_whole.then(|| to_word(F::leaf(&cells[..leaf])));
        values = rest;
        let Some(part) = part else {
            state.kept += head.len();
            return;
        };
        state.parts.push(part);
        (state.leaf, state.kept) = (state.leaves.next_size(), 0);
    }
    if state.leaf == state.leaves.count() && state.leaf > 0 {
        // Each run is a leaf.
        let runs = values.chunks_exact(state.leaf);
        let rest = runs.remainder();
        if !push_leaves_of::<F>(state.leaf, &mut state.parts, values) {
            runs.for_each(|run| state.parts.push(to_word(F::leaf(run))));
        }
        values = rest;
    }
    while let Some((head, rest)) = values.split_at_checked(state.leaf) {
        state.parts.push(to_word(F::leaf(head)));
        state.leaf = state.leaves.next_size();
        values = rest;
    }
    if !values.is_empty() {
        bytemuck::cast_slice_mut(state.cells())[..values.len()].copy_from_slice(values);
        state.kept = values.len();
    }
}

/// The elements of runs that stand side by side.
#[inline(always)]
fn take_rows<F: Fold>(state: &mut Folded<'_>, mut values: &[F::Element]) {
    let Folded { parts, leaves, leaf, kept, width, column, lanes, .. } = state;
    let lanes = bytemuck::cast_slice_mut::<u64, F::Part>(lanes);
    while !values.is_empty() {
        let (head, rest) = values.split_at(values.len().min(*width - *column));
        F::take_row(lanes, RowOfLeaf { row: *kept, size: *leaf, column: *column, width: lane(*width) }, head);
        if *kept + 1 == *leaf {
            parts.extend(lanes[*column..][..head.len()].iter().map(|part| to_word(*part)));
        }
        values = rest;
        *column += head.len();
        if *column < *width {
            return;
        }
        (*column, *kept) = (0, *kept + 1);
        if *kept == *leaf {
            (*leaf, *kept) = (leaves.next_size(), 0);
        }
    }
}

/// # Safety
/// The contract of [`FoldKernel::finish`].
unsafe fn finish<F: Fold<Out: PlainSlot>>(known: Known<'_>, runs: Runs, out: *mut u8, stop: StopCheck<'_>) {
    // SAFETY: the caller's promise.
    unsafe { write_results::<F>(known.parts, runs, out, stop) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::fold_results::results;
    use crate::array::meter::Meter;
    use crate::vector::extremes::Best;
    use crate::vector::fold::{self as folds, Mean, Sum, fold};
    use crate::vector::nonzero::{CountNonZero, Truth};

    /// Columns folded row by row, beside each of them gathered and folded by itself.
    fn check<F: Fold<Element = f64, Out: PlainSlot + fmt::Debug>>(bits: impl Fn(F::Out) -> u64) {
        let arena = Bump::new();
        for run in [1, 2, 7, 8, 9, 16, 127, 128, 129, 300, 1000] {
            for (outer, width) in [(1, 2), (3, 5), (1, 70)] {
                let count = outer * run * width;
                let mut values: Vec<f64> =
                    (0..count).map(|i| f64::from((i * 37 % 101) as u32) * 0.1 - 3.0).collect();
                values[count / 2] = if run == 300 { f64::NAN } else { -0.0 };
                let runs = Runs { run, count: outer * width, width };
                let mut expected = Vec::new();
                for number in 0..runs.count {
                    let first = number / width * run * width + number % width;
                    let column: Vec<f64> = (0..run).map(|row| values[first + row * width]).collect();
                    expected.push(bits(fold::<F>(&column)));
                }
                let kernel = FoldKernel::of_leaves::<F>(None);
                let mut found: Vec<F::Out> = Vec::with_capacity(runs.count);
                let column = Column::of_cells(values.as_ptr().cast(), 8);
                let (meter, out) = (Meter::of_default(), found.as_mut_ptr().cast());
                // SAFETY: the column has the elements, and there is room for the results, which are then there.
                unsafe {
                    kernel.fold_all(column, runs, out, &arena, &meter).expect("no limit");
                    found.set_len(runs.count);
                }
                let found: Vec<u64> = found.into_iter().map(&bits).collect();
                assert_eq!(found, expected, "{outer} times {run} rows of {width}");
                // Blocks of any size, from any place where a thread may begin.
                let cut = kernel.next_cut(runs, count / 2);
                let mut parts = Vec::new();
                for range in [0..cut, cut..count] {
                    let mut state = kernel.begin(runs, range.clone(), &arena, None).expect("memory");
                    for block in values[range].chunks(13) {
                        // SAFETY: the block has so many elements of the kernel's type.
                        unsafe {
                            kernel.step(
                                &mut state,
                                [&Column::of_cells(block.as_ptr().cast(), 8); 2],
                                block.len(),
                            )
                        };
                    }
                    parts.extend_from_slice(&state.parts);
                }
                let joined: Vec<u64> = results::<F>(&parts, runs).map(&bits).collect();
                assert_eq!(joined, expected, "{outer} times {run} rows of {width}, in blocks");
            }
        }
    }

    #[test]
    fn runs_side_by_side_have_the_bits_of_each_by_itself() {
        check::<Sum<f64>>(f64::to_bits);
        check::<Mean<f64>>(f64::to_bits);
        check::<folds::Product<f64>>(f64::to_bits);
        check::<Best<f64, true>>(f64::to_bits);
        check::<Best<f64, false>>(f64::to_bits);
        check::<Truth<f64, true>>(u64::from);
        check::<CountNonZero<f64>>(|count| count as u64);
    }
}
