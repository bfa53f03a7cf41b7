//! Worker: what one thread computes blocks with.
//!
//! ```text
//! block     go to its first row | lay out uneven inputs | step, step, …
//!           columns move on       gathered, shifted       between them: ask for the next block
//! ```

use crate::array::block::Column;
use crate::array::fold_kernel::Folded;
use crate::array::nd_space::Position;
use crate::machine::tile::axes::{Buffers, Elements};
use crate::machine::tile::blocks::{Blocks, Outcome, Uneven, list};
use crate::machine::tile::lent::{LaidOut, Lent};
use crate::machine::tile::rare::Frequency;
use crate::machine::tile::region::LONE_BLOCK;
use crate::machine::tile::schedule::{Code, Presence, Step};
use crate::machine::tile::steps::{Rows, StepFault, follow_inputs};
use crate::machine::tile::strip_folds::StripFolds;
use crate::machine::tile::strips::{ColumnSteps, LoadedStrip};
use crate::value::array::ROWS_OF_A_WORD;
use crate::vector::prefetch::prefetch;
use bumpalo::Bump;
use bumpalo::collections::Vec as BumpVec;
use std::ops::Range;

/// Bytes of inputs and outputs that are likely to be in a second-level cache.
const CACHED_BYTES: usize = 512 << 10;

/// Most bytes of a column in a block of which hardware does not see by itself what comes next: it looks for streams a
/// page at a time.
const PAGE: usize = 4096;

/// Rows between two polls: some blocks.
const POLLED_ROWS: usize = LONE_BLOCK;

/// Rows that a strip which can fire takes at a time as long as it does not: some blocks, between two polls.
const ROWS_AT_ONCE: usize = POLLED_ROWS;

/// Bytes of the next block that are worth asking for at a time.
const LEAST_SHARE: usize = 512;

/// What one thread works with.
pub(super) struct Worker<'w> {
    blocks: &'w Blocks<'w>,
    /// The columns at the block to be computed.
    columns: &'w mut [Column],
    /// Rows of a block.
    block: usize,
    /// Where a block of each uneven input is laid out.
    places: Places<'w>,
    /// True if there are columns with the presence of an input.
    has_followers: bool,
    /// Row that the columns stand at.
    at: usize,
    /// First rows of the blocks of a chunk that is computed from its end.
    starts: BumpVec<'w, usize>,
    /// What strips take in.
    folds: Option<StripFolds<'w>>,
    /// How strips take several runs of elements.
    of_runs: Option<OfRuns<'w>>,
    /// The strip that is all there is to run, and can fire: it takes several blocks at a time as long as it does not.
    at_once: Option<(&'w LoadedStrip, &'w Frequency)>,
}

/// Blocks of several runs of elements, which strips take a call: no pass reads what stands other than in order.
struct OfRuns<'w> {
    /// Elements of a run.
    run: usize,
    /// Runs of a block.
    runs: usize,
    /// Of each strip.
    steps: &'w [ColumnSteps<&'w [isize]>],
    /// Columns of a call, which moves them.
    of_call: &'w mut [Column],
}

impl<'w> OfRuns<'w> {
    /// Nothing if there are no such runs, or long ones.
    fn new(blocks: &Blocks<'w>, columns: &[Column], arena: &'w Bump) -> Option<OfRuns<'w>> {
        let Uneven::Elements(elements) = blocks.uneven else { return None };
        let (run, block) = (elements.run(), blocks.schedule.block);
        if blocks.strips.is_empty() || !elements.takes_runs() || 2 * run > block {
            return None;
        }
        let steps = |strip| {
            let in_order = columns.iter().enumerate().filter(|(_, column)| !column.is_taken());
            let in_order = in_order.map(|(index, column)| (index as u16, (column.step * run) as isize));
            ColumnSteps::in_arena(strip, columns, in_order.chain(elements.between_runs()), arena)
        };
        let steps = &*list(arena, blocks.strips.iter().map(steps));
        let runs = steps.iter().map(|steps| steps.runs_at_once(run, block)).min().unwrap_or(1);
        Some(OfRuns { run, runs, steps, of_call: arena.alloc_slice_copy(columns) })
    }

    /// Takes whole runs with so many elements and more.
    ///
    /// # Safety
    /// As [`LoadedStrip::run`], for all elements of these runs.
    unsafe fn run(&mut self, number: usize, strip: &LoadedStrip, columns: &[Column], count: usize) {
        self.of_call.copy_from_slice(columns);
        // SAFETY: the caller's promise; elements have no presence, and the strip takes in no fold.
        unsafe {
            strip.run_often(self.of_call, self.run, count.div_ceil(self.run), (&self.steps[number], 0))
        };
    }
}

/// Places for a block of each uneven input.
enum Places<'w> {
    Rows(&'w [Lent], &'w [LaidOut]),
    Elements(&'w Elements<'w>, Buffers<'w>, Position),
}

impl<'w> Places<'w> {
    fn new(uneven: Uneven<'w>, block: usize, arena: &'w Bump) -> Places<'w> {
        match uneven {
            Uneven::Rows(lent) => {
                let places = lent.iter().map(|lent| LaidOut::new(lent, block, arena));
                Places::Rows(lent, list(arena, places))
            }
            Uneven::Elements(elements) => {
                Places::Elements(elements, elements.buffers(block, arena), Position::default())
            }
        }
    }
}

impl<'w> Worker<'w> {
    /// Gives the columns of scratch memory a place in the arena; all of them stand at the first row of all. `first_row`
    /// is that of the worker.
    ///
    /// # Safety
    /// As [`Blocks::run`].
    pub(super) unsafe fn new(
        blocks: &'w Blocks<'w>,
        columns: &'w mut [Column],
        first_row: usize,
        arena: &'w Bump,
    ) -> Worker<'w> {
        let schedule = blocks.schedule;
        let block = match blocks.uneven {
            Uneven::Rows(_) => schedule.block,
            Uneven::Elements(elements) => elements.block(schedule.block),
        };
        schedule.place_scratch(blocks.presence, columns, arena);
        let places = Places::new(blocks.uneven, schedule.block, arena);
        let has_followers = blocks.presence.iter().any(|presence| matches!(presence, Presence::Input(_)));
        let starts = BumpVec::new_in(arena);
        let folds = StripFolds::new(blocks.strips, blocks.runs, first_row, columns, arena);
        let of_runs = OfRuns::new(blocks, columns, arena);
        let at_once = blocks.one_strip().and_then(|strip| Some((strip, &strip.again.as_ref()?.fired)));
        let at = 0;
        Worker { blocks, columns, block, places, has_followers, at, starts, folds, of_runs, at_once }
    }

    /// Computes the rows of a chunk, or some of them.
    ///
    /// # Safety
    /// As [`Blocks::run`].
    pub(super) unsafe fn rows(&mut self, range: Range<usize>, folded: &mut [Folded<'_>]) -> Outcome {
        self.blocks.poll()?;
        let rows = self.blocks.rows;
        let Range { start: first, end } = range;
        if self.end_of_block(first, end) == end {
            // SAFETY: the caller's promise.
            return unsafe { self.block_at(first..end, 0, folded) };
        }
        if self.blocks.is_reversed() {
            // SAFETY: the caller's promise.
            return unsafe { self.backwards(first, end, folded) };
        }
        let is_cached = rows * self.blocks.moving.len() * 8 <= CACHED_BYTES;
        let is_stream = self.blocks.schedule.block * 8 > PAGE;
        let mut start = first;
        let (mut polled, mut tried) = (first, first);
        while start < end {
            if start - polled >= POLLED_ROWS {
                self.blocks.poll()?;
                polled = start;
            }
            if start >= tried {
                tried = (start + ROWS_AT_ONCE).min(end);
                // SAFETY: the caller's promise.
                if unsafe { self.is_done_at_once(start..tried) } {
                    start = tried;
                    continue;
                }
            }
            let next = self.end_of_block(start, end);
            let ahead = if is_cached || is_stream { 0 } else { (next - start).min(rows - next) };
            // SAFETY: the caller's promise.
            unsafe { self.block_at(start..next, ahead, folded)? };
            start = next;
        }
        Ok(())
    }

    /// Computes several blocks by [one strip](Worker::at_once), unless that fires now and then; false if they have to be
    /// computed one by one.
    ///
    /// # Safety
    /// As [`Blocks::run`].
    unsafe fn is_done_at_once(&mut self, rows: Range<usize>) -> bool {
        let Some((strip, fired)) = self.at_once.filter(|(_, fired)| fired.is_seldom()) else { return false };
        self.go_to(rows.start);
        // SAFETY: the caller's promise: all columns of the strip stand in place; chunks begin at words of presence. What is
        // computed again for a block that fires is written over.
        let has_fired = unsafe { strip.run(self.columns.as_ptr(), 0..rows.len()) };
        if !has_fired {
            fired.count(false);
        }
        !has_fired
    }

    /// Computes rows, the last block first.
    ///
    /// # Safety
    /// As [`Blocks::run`].
    unsafe fn backwards(&mut self, first: usize, end: usize, folded: &mut [Folded<'_>]) -> Outcome {
        self.starts.clear();
        let mut start = first;
        while start < end {
            self.starts.push(start);
            start = self.end_of_block(start, end);
        }
        let mut polled = end;
        while let Some(start) = self.starts.pop() {
            if polled - start >= POLLED_ROWS {
                self.blocks.poll()?;
                polled = start;
            }
            let next = self.end_of_block(start, end);
            // SAFETY: the caller's promise.
            unsafe { self.block_at(start..next, 0, folded)? };
        }
        Ok(())
    }

    /// Where the block that begins at a row ends.
    fn end_of_block(&mut self, start: usize, end: usize) -> usize {
        let end = match &mut self.places {
            Places::Rows(..) => (start + self.block).min(end),
            Places::Elements(elements, _, at) => {
                let of_runs = self.of_runs.as_ref();
                let of_runs = of_runs.and_then(|of| elements.end_of_runs(at, start, of.runs, end));
                of_runs.unwrap_or_else(|| elements.end_of_block(at, start, self.block, end))
            }
        };
        match &mut self.folds {
            None => end,
            Some(folds) => start + folds.begin(end - start, 0),
        }
    }

    /// Computes the block of these rows.
    ///
    /// # Safety
    /// As [`Blocks::run`].
    unsafe fn block_at(&mut self, rows: Range<usize>, ahead: usize, folded: &mut [Folded<'_>]) -> Outcome {
        self.go_to(rows.start);
        // SAFETY: the caller's promise.
        unsafe {
            self.lay_out(rows.len());
            self.block(rows.len(), ahead, folded)?;
        }
        if let Some(folds) = &mut self.folds {
            folds.take(rows.len(), folded);
        }
        Ok(())
    }

    /// Moves the columns to a row; those in scratch memory stay.
    fn go_to(&mut self, row: usize) {
        // Downwards it is a step of the type's whole range less so many rows.
        let rows = row.wrapping_sub(self.at);
        if rows == 0 {
            return;
        }
        for index in self.blocks.moving.iter().map(|index| *index as usize) {
            let column = &mut self.columns[index];
            column.data = column.data.wrapping_add(rows.wrapping_mul(column.step));
            if !column.presence.is_null() {
                column.presence = column.presence.wrapping_add(rows / ROWS_OF_A_WORD);
            }
        }
        self.at = row;
    }

    /// Lays out a block of the uneven inputs, and points the columns with the presence of an input to it.
    ///
    /// # Safety
    /// As [`Blocks::run`]; there are that many rows.
    unsafe fn lay_out(&mut self, count: usize) {
        match &mut self.places {
            Places::Rows(lent, places) => {
                for (lent, place) in lent.iter().zip(*places) {
                    // SAFETY: the caller's promise; the rows are lent until the end of the call.
                    unsafe { place.fill(lent, self.at, count, &mut self.columns[lent.column]) };
                }
                if self.has_followers {
                    follow_inputs(self.blocks.presence, self.columns);
                }
            }
            Places::Elements(elements, buffers, at) => {
                assert!(at.is_at(self.at), "the end of a block is asked for before it is computed");
                // SAFETY: the caller's promise; the block is one that the elements gave.
                unsafe { elements.fill(at, count, buffers, self.columns) };
            }
        }
    }

    /// Computes one block of `count` rows. Between members it asks for the `ahead` rows of the next one, so
    /// that memory works while the processor computes.
    ///
    /// # Safety
    /// As [`Blocks::run`]; there are that many rows.
    unsafe fn block(&mut self, mut count: usize, ahead: usize, folded: &mut [Folded<'_>]) -> Outcome {
        let mut ahead = (ahead > 0).then(|| Ahead::new(self.blocks, count, ahead));
        let mut lowest = Ok(());
        for step in &self.blocks.schedule.steps {
            if let Some(ahead) = &mut ahead {
                ahead.ask(self.blocks, self.columns);
            }
            // SAFETY: the caller's promise.
            if let Err(fault) = unsafe { self.step(step, count, folded) } {
                // Later members can only raise in a lower row.
                count = fault.row();
                lowest = Err(self.blocks.region.raised(self.at, *fault));
            }
        }
        lowest
    }

    /// # Safety
    /// As [`Worker::block`].
    unsafe fn step(
        &mut self,
        step: &Step,
        count: usize,
        folded: &mut [Folded<'_>],
    ) -> Result<(), Box<StepFault>> {
        match step.code {
            Code::Scan(run, carry) => {
                let size = self.blocks.size_of_run();
                // SAFETY: the caller's promise.
                unsafe { self.at_block().scan(step, (run, carry), count, (self.at % size, size)) };
                Ok(())
            }
            Code::Strip(number) if self.of_runs.as_ref().is_some_and(|of| count > of.run) => {
                let strip = &self.blocks.strips[number as usize];
                if let Some(of_runs) = &mut self.of_runs {
                    // SAFETY: the caller's promise: a block has whole runs; without what a pass has raised, fewer elements of
                    // them are wanted.
                    unsafe { of_runs.run(number as usize, strip, self.columns, count) };
                }
                Ok(())
            }
            // SAFETY: the caller's promise.
            _ => unsafe { self.at_block().run(step, count, folded) },
        }
    }

    /// The rows where the columns stand.
    #[inline(always)]
    fn at_block(&self) -> Rows<'_> {
        let Blocks { region, presence, strips, .. } = *self.blocks;
        Rows { inputs: region.inputs.len(), columns: self.columns, presence, strips, folds: &region.folds }
    }
}

/// Rows of the next block that have not been asked for.
struct Ahead {
    /// Rows of this block.
    block: usize,
    /// Rows of the next one.
    rows: usize,
    /// Bytes of them.
    left: usize,
    /// Which of the moving columns comes next.
    column: usize,
    /// From which of its bytes.
    byte: usize,
    /// Bytes to ask for at a time.
    share: usize,
}

impl Ahead {
    fn new(blocks: &Blocks<'_>, block: usize, rows: usize) -> Ahead {
        let left = rows * 8 * blocks.moving.len();
        let share = (left / blocks.schedule.steps.len()).next_multiple_of(64).max(LEAST_SHARE);
        Ahead { block, rows, left, column: 0, byte: 0, share }
    }

    fn ask(&mut self, blocks: &Blocks<'_>, columns: &[Column]) {
        let mut share = self.share;
        while share > 0 && self.left > 0 {
            let Some(index) = blocks.moving.get(self.column) else {
                // Cells of less than 8 bytes: there is nothing left.
                self.left = 0;
                return;
            };
            let column = &columns[*index as usize];
            let size = self.rows * column.step;
            let part = share.min(size - self.byte);
            prefetch(column.data.wrapping_add(self.block * column.step + self.byte), part);
            share -= part;
            self.byte += part;
            if self.byte == size {
                (self.column, self.byte) = (self.column + 1, 0);
            }
        }
    }
}
