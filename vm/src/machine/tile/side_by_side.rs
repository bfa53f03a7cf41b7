//! Elements that become one side by side: the one strip of a region adds each row of them to cells.
//!
//! ```text
//! rows        0  1  2  3  4  5  6  7 | 8  9  …                    (300, 5) -> (5), rows of 5 elements
//! cells       a  b  c  d  e  f  g  h | a  b  …                    a … h: 5 cells each, to which rows go in turn
//! leaf        rows 0 … 71 in turn, ((a+b)+(c+d))+((e+f)+(g+h)) to a, rows 72 … 75 to a, a is the part of the leaf
//! ```
//!
//! A column of the strip has the cells, which it reads and writes; they move from row to row as other columns do. Where all
//! columns stand in order, eight rows are one run of elements, and their cells as well; else each row of cells begins with a line
//! of the cache.
//!
//! What is taken in in any order has one row of cells, and parts of whole runs where no sum has leaves.

use crate::array::block::Column;
use crate::array::fold_kernel::{CHUNK, Folded};
use crate::array::nd_space::{Position, Space};
use crate::array::nd_walk::Operand;
use crate::array::periods::{Periods, RUN, lcm};
use crate::array::runs::{Runs, runs};
use crate::array::side_by_side::SideBySide;
use crate::machine::tile::axes::{Buffers, Elements};
use crate::machine::tile::blocks::{Blocks, Outcome, Uneven};
use crate::machine::tile::lowered::Stage;
use crate::machine::tile::region::{Fold, Region};
use crate::machine::tile::strip_folds::LEAST_RUN;
use crate::machine::tile::strips::{ColumnSteps, LoadedStrip};
use crate::strip::Lane;
use crate::vector::fold::SUMS;
use crate::vector::leaves::Leaves;
use bumpalo::Bump;
use bumpalo::collections::Vec as BumpVec;
use std::ops::Range;

/// Fewest elements of a row, unless eight of them stand in order.
const LEAST_ROW: usize = 8;

/// Most rows of a run that a strip takes in [at once](super::whole_runs): those of a leaf.
pub(super) const MOST_ROWS: usize = 128;

/// Bytes of a line of the cache.
const LINE: usize = 64;

/// The strip of a region whose elements become one side by side, and the elements that it finds where they lie.
#[derive(Clone, Copy)]
pub(super) struct StripSideBySide<'r> {
    pub(super) strip: &'r LoadedStrip,
    pub(super) elements: &'r Elements<'r>,
    pub(super) runs: Runs,
}

/// A fold of such a strip, and the column of its cells.
pub(super) struct FoldSideBySide<'k> {
    /// Its number among those of the region.
    pub(super) fold: usize,
    pub(super) column: usize,
    /// The type of cells.
    pub(super) lane: Lane,
    /// What they begin with.
    pub(super) start: u64,
    pub(super) kernel: &'k SideBySide,
}

/// Cells of a fold.
struct Cells<'k> {
    of: FoldSideBySide<'k>,
    /// The first one, while rows are taken in.
    first: *mut u8,
}

impl Cells<'_> {
    /// True if rows go to eight rows of cells in turn.
    fn are_in_turn(&self) -> bool {
        self.of.kernel.rows == SUMS
    }

    /// How far it is from one row of so many cells to the next, unless eight rows are one.
    fn to_next_row(&self, width: usize, are_eight: bool) -> usize {
        if are_eight { width } else { width.next_multiple_of(LINE / self.of.lane.bytes()) }
    }
}

impl Region {
    /// True if elements of a shape become one in runs, or rows of runs side by side, that are too short for strips.
    pub(super) fn has_short_runs(&self, shape: &[usize], are_in_order: bool) -> bool {
        let Some(plan) = &self.strips else { return false };
        let mut all = self.folds.iter().map(|fold| (fold, runs(shape, fold.axes)));
        if !plan.is_side_by_side {
            return plan.has_eights && all.any(|(_, runs)| runs.run < LEAST_RUN);
        }
        let is_in_turn = |fold: &Fold| fold.kernel.side_by_side.is_some_and(|fold| fold.rows == SUMS);
        let is_short = |(fold, Runs { run, width, .. }): (&Fold, Runs)| {
            let rows = if are_in_order && run >= SUMS && is_in_turn(fold) { SUMS } else { 1 };
            width <= 1 || rows * width < LEAST_ROW
        };
        all.any(is_short)
    }

    /// The periods of inputs over elements of a shape, in runs that end where strips may end calls: behind eights, or what
    /// becomes one.
    #[inline]
    pub(super) fn periods(
        &self,
        shape: &[usize],
        space: &Space,
        operands: &[Operand<'_>],
    ) -> Option<Periods> {
        let Some(plan) = &self.strips else { return Periods::of(space, operands, SUMS, true) };
        let of_fold = |fold: &Fold| {
            let Runs { run, width, .. } = runs(shape, fold.axes);
            match run.saturating_mul(width) {
                all if all <= RUN => all,
                // The strip may take in all rows of fewer at once, which have to stand behind each other in the same way.
                _ if plan.is_side_by_side && run > MOST_ROWS => width,
                all if !plan.is_side_by_side && all.is_multiple_of(SUMS) => SUMS,
                all => all,
            }
        };
        let has_ends = plan.is_side_by_side || plan.has_eights;
        let folds = self.folds.iter().filter(|_| has_ends);
        let unit = folds.map(of_fold).fold(SUMS, lcm);
        // Columns of rows that are taken in at once stand where they are; of others eight rows are laid out.
        let takes_spread = |fold: &Fold| {
            let Runs { run, width, .. } = runs(shape, fold.axes);
            run > MOST_ROWS && width * SUMS <= RUN
        };
        let are_spread = !plan.is_side_by_side || self.folds.iter().all(takes_spread);
        Periods::of(space, operands, unit, are_spread)
    }

    /// True if strips that take in leaves of elements of a shape find the ends of these where blocks end.
    pub(super) fn has_leaves(&self, shape: &[usize], space: &Space) -> bool {
        let has_leaves = |fold: &Fold| space.has_leaves_of(runs(shape, fold.axes).run);
        !self.strips.as_ref().is_some_and(|plan| plan.has_eights) || self.folds.iter().all(has_leaves)
    }
}

impl<'r> Blocks<'r> {
    /// The strip that takes in elements which become one side by side.
    pub(super) fn side_by_side(&self) -> Option<StripSideBySide<'r>> {
        match (self.strips, self.uneven) {
            ([strip], Uneven::Elements(elements)) if self.region.is_side_by_side() && !elements.are_short => {
                Some(StripSideBySide { strip, elements, runs: *self.runs.first()? })
            }
            _ => None,
        }
    }

    /// The folds of such a strip.
    pub(super) fn folds_side_by_side(&self, strip: &LoadedStrip) -> impl Iterator<Item = FoldSideBySide<'r>> {
        let region = self.region;
        strip.folds.iter().map(|fold| {
            let kernel = &region.folds[fold.fold as usize].kernel.side_by_side;
            let (Stage::SideBySide { lane, start, .. }, Some(kernel)) = (fold.stage, kernel) else {
                unreachable!("all of a strip becomes one side by side")
            };
            FoldSideBySide { fold: fold.fold as usize, column: fold.column as usize, lane, start, kernel }
        })
    }

    /// Takes in elements, row by row.
    ///
    /// # Safety
    /// As [`Blocks::run`], for these columns, which stand at the first element of all; a leaf begins with the first of these
    /// elements.
    pub(super) unsafe fn run_side_by_side(
        &self,
        of: StripSideBySide<'_>,
        columns: &mut [Column],
        range: Range<usize>,
        arena: &Bump,
        folded: &mut [Folded<'_>],
    ) -> Outcome {
        let StripSideBySide { strip, elements, runs: Runs { run, width, .. } } = of;
        if strip.rows > 1 {
            // SAFETY: the caller's promise: a leaf is a run.
            return unsafe { self.run_whole_runs(of, columns, range, arena, folded) };
        }
        let mut cells = BumpVec::with_capacity_in(strip.folds.len(), arena);
        for of in self.folds_side_by_side(strip) {
            columns[of.column].step = of.lane.bytes();
            cells.push(Cells { of, first: std::ptr::null_mut() });
        }
        let has_leaves = cells.iter().any(Cells::are_in_turn);
        let are_all_in_turn = cells.iter().all(Cells::are_in_turn);
        let has_eights = elements.run() > width && are_all_in_turn && SUMS * width <= CHUNK;
        let has_whole_runs = range == (0..self.rows) && !has_leaves;
        let (mut leaves, _) = Leaves::from(run, range.start / width);
        let of_call = arena.alloc_slice_copy(columns);
        let (at, steps) = (Position::default(), Default::default());
        let buffers = (!elements.has_runs_in_place()).then(|| elements.buffers(RUN, arena));
        let mut rows = Rows {
            blocks: self,
            strip,
            elements,
            columns,
            of_call,
            cells,
            width,
            has_eights,
            buffers,
            at,
            element: 0,
            is_first: true,
            taken: 0,
            steps,
            arena,
        };
        self.poll()?;
        rows.go_to(range.start);
        while rows.element < range.end {
            let size = if has_whole_runs { run } else { leaves.next_size() };
            let in_turn = if has_leaves { size - size % SUMS } else { 0 };
            rows.begin(if in_turn > 0 { SUMS } else { 1 }, folded);
            // SAFETY: the caller's promise; cells are there.
            unsafe {
                rows.take_in(in_turn, SUMS)?;
                if in_turn > 0 {
                    rows.join(folded);
                }
                rows.take_in(size - in_turn, 1)?;
            }
            rows.end(size, folded);
        }
        Ok(())
    }
}

/// Rows of elements that are taken in.
struct Rows<'s> {
    blocks: &'s Blocks<'s>,
    strip: &'s LoadedStrip,
    elements: &'s Elements<'s>,
    /// At the next element.
    columns: &'s mut [Column],
    /// Columns of a call, which moves them.
    of_call: &'s mut [Column],
    cells: BumpVec<'s, Cells<'s>>,
    /// Elements of a row.
    width: usize,
    /// True if eight rows, which go to eight rows of cells, may be one run of elements.
    has_eights: bool,
    /// Where elements are laid out that do not stand along each run.
    buffers: Option<Buffers<'s>>,
    at: Position,
    /// The next element.
    element: usize,
    /// True before the first rows.
    is_first: bool,
    /// Elements since the last poll.
    taken: usize,
    /// By [`Piece`], as soon as they are needed.
    steps: [Option<ColumnSteps<&'s [isize]>>; 3],
    arena: &'s Bump,
}

/// What a strip takes at a time, again and again, and the rows of cells that rows go to in turn.
#[derive(Clone, Copy)]
enum Piece {
    /// Eight rows that stand in order.
    EightRows,
    /// A row, or what stands in order of it, while rows go to eight rows of cells in turn.
    InTurn,
    /// The same while all go to one row of cells.
    ToOne,
}

/// What is taken in next.
#[derive(Clone, Copy)]
struct Next {
    /// Rows that are left, the one that has begun included.
    rows: usize,
    /// Rows of cells that they go to in turn.
    turn: usize,
    /// The one of the next element.
    row: usize,
    /// Its place in it.
    column: usize,
}

/// What a strip takes in a call.
struct Pieces {
    kind: Piece,
    /// Elements of a piece.
    piece: usize,
    /// How often, at most.
    most: usize,
}

impl<'s> Rows<'s> {
    /// Makes so many rows of cells begin anew, of folds that have several.
    fn begin(&mut self, rows: usize, folded: &mut [Folded<'_>]) {
        for cells in &mut self.cells {
            let count = rows.min(cells.of.kernel.rows) * cells.to_next_row(self.width, self.has_eights);
            let (_, words) = folded[cells.of.fold].parts_and_lanes();
            let words_of_cells = &mut words[..(count * cells.of.lane.bytes()).div_ceil(size_of::<u64>())];
            // Zeros are written as bytes; they are there at first.
            match cells.of.start {
                0 if self.is_first => {}
                0 => words_of_cells.fill(0),
                start => words_of_cells.fill(start),
            }
            cells.first = words.as_mut_ptr().cast();
        }
        self.is_first = false;
    }

    /// Joins the rows of cells.
    fn join(&mut self, folded: &mut [Folded<'_>]) {
        for cells in &mut self.cells {
            let (_, words) = folded[cells.of.fold].parts_and_lanes();
            (cells.of.kernel.join)(words, cells.to_next_row(self.width, self.has_eights), self.width);
            cells.first = words.as_mut_ptr().cast();
        }
    }

    /// Makes parts of the cells, which have taken in so many elements each.
    fn end(&mut self, elements: usize, folded: &mut [Folded<'_>]) {
        for cells in &self.cells {
            let (parts, words) = folded[cells.of.fold].parts_and_lanes();
            (cells.of.kernel.take)(parts, words, self.width, elements);
        }
    }

    /// Moves the columns that stand in order to an element.
    fn go_to(&mut self, element: usize) {
        self.blocks.move_on(self.columns, element - self.element);
        self.element = element;
    }

    /// Takes in so many rows, which go to so many rows of cells in turn, from the first one on.
    ///
    /// # Safety
    /// As [`Blocks::run_side_by_side`]; there are cells, and so many rows left of a run.
    unsafe fn take_in(&mut self, rows: usize, turn: usize) -> Outcome {
        let end = self.element + rows * self.width;
        let mut next = Next { rows, turn, row: 0, column: 0 };
        while next.rows > 0 {
            // SAFETY: the caller's promise.
            unsafe { self.call(&mut next, end)? };
        }
        Ok(())
    }

    /// Takes in some rows, or what stands in order of one, up to an element.
    ///
    /// # Safety
    /// As [`Rows::take_in`].
    unsafe fn call(&mut self, next: &mut Next, end: usize) -> Outcome {
        let left_of_run = self.elements.begin_run(&mut self.at, self.element, self.columns);
        let Pieces { kind, piece, most } = self.pieces(next, left_of_run >= end - self.element, left_of_run);
        let most_elements = if self.buffers.is_some() { RUN } else { CHUNK };
        let count = self.steps(kind, piece).runs_at_once(piece, most_elements).min(most);
        if let Some(buffers) = self.buffers {
            assert!(count * piece <= RUN, "periods are short");
            // SAFETY: these elements are left of a run, and a buffer has room for them.
            unsafe { self.elements.fill(&self.at, count * piece, buffers, self.columns) };
        }
        for cells in &self.cells {
            let row = if cells.are_in_turn() { next.row } else { 0 };
            let place =
                (row * cells.to_next_row(self.width, self.has_eights) + next.column) * cells.of.lane.bytes();
            self.columns[cells.of.column].data = cells.first.wrapping_add(place);
        }
        // Parts of a row go along its cells.
        let turn = if matches!(kind, Piece::InTurn) && piece == self.width { next.row } else { 0 };
        self.of_call.copy_from_slice(self.columns);
        let Some(steps) = &self.steps[kind as usize] else { unreachable!("they were asked for above") };
        // SAFETY: the caller's promise: the columns stand at the begin of a piece, behind which others stand by the steps. A
        // strip reads a cell before it writes that, and no piece has a cell twice.
        unsafe { self.strip.run_often(self.of_call, piece, count, (steps, turn)) };
        self.go_to(self.element + piece * count);
        next.column += piece * count;
        let rows = match kind {
            Piece::EightRows => SUMS * count,
            Piece::InTurn | Piece::ToOne if piece == self.width => count,
            Piece::InTurn | Piece::ToOne => usize::from(next.column == self.width),
        };
        if rows > 0 {
            *next = Next { rows: next.rows - rows, row: (next.row + rows) % next.turn, column: 0, ..*next };
        }
        self.taken += piece * count;
        if self.taken >= CHUNK {
            self.taken = 0;
            self.blocks.poll()?;
        }
        Ok(())
    }

    /// What a strip takes next of a run that has so many elements left, perhaps all that are.
    #[inline]
    fn pieces(&self, next: &Next, has_all: bool, left_of_run: usize) -> Pieces {
        let (width, run) = (self.width, self.elements.run());
        let kind = if next.turn == 1 { Piece::ToOne } else { Piece::InTurn };
        let runs_left = || self.elements.runs_left(&self.at);
        if run < width {
            return Pieces { kind, piece: run, most: runs_left().min((width - next.column) / run) };
        }
        if width > CHUNK {
            return Pieces { kind, piece: CHUNK.min(width - next.column), most: 1 };
        }
        // A division takes long where rows are short.
        let rows = match (run == width, has_all) {
            (true, _) => runs_left().min(next.rows),
            (false, true) => next.rows,
            (false, false) => left_of_run / width,
        };
        match self.has_eights && next.turn == SUMS && next.row == 0 && rows >= SUMS {
            true => Pieces { kind: Piece::EightRows, piece: SUMS * width, most: rows / SUMS },
            false => Pieces { kind, piece: width, most: rows },
        }
    }

    /// By how many bytes columns move from one piece of so many elements to the next.
    fn steps(&mut self, kind: Piece, piece: usize) -> &ColumnSteps<&'s [isize]> {
        let (run, width, elements) = (self.elements.run(), self.width, self.elements);
        let (columns, cells) = (&*self.columns, &self.cells);
        let (strip, arena, has_eights) = (self.strip, self.arena, self.has_eights);
        self.steps[kind as usize].get_or_insert_with(|| {
            let is_of_cells = |column: usize| cells.iter().any(|cells| cells.of.column == column);
            let in_order = columns.iter().enumerate().filter(|(column, _)| !is_of_cells(*column));
            let in_order = in_order.map(|(column, of)| (column as u16, (of.step * piece) as isize));
            let between_runs = elements.between_runs().filter(|_| run <= width);
            let moving = in_order.chain(between_runs);
            let bytes = |Cells { of, .. }: &Cells<'_>, cells: usize| {
                (of.column as u16, (cells * of.lane.bytes()) as isize)
            };
            match kind {
                _ if piece < width => {
                    let along = cells.iter().map(|cells| bytes(cells, piece));
                    ColumnSteps::in_arena(strip, columns, moving.chain(along), arena)
                }
                Piece::InTurn => {
                    let in_turn = cells.iter().filter(|cells| cells.are_in_turn());
                    let to_next = |cells: &Cells<'_>| bytes(cells, cells.to_next_row(width, has_eights));
                    ColumnSteps::in_turn(strip, columns, moving, (SUMS, in_turn.map(to_next)), arena)
                }
                Piece::EightRows | Piece::ToOne => ColumnSteps::in_arena(strip, columns, moving, arena),
            }
        })
    }
}
