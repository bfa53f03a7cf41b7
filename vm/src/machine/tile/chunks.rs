//! The rows of a region, block by block, on one thread or several.
//!
//! ```text
//! rows      chunk 0            | chunk 1            | …       65,536 rows each, dealt to threads
//! blocks    b0 | b1 | … | b127 | b0 | …                       128 to 1,024 rows
//! members   m0 m1 m2 …                                        all of a block before the next one
//! ```
//!
//! Reductions have a state for each chunk. The states are merged in the order of chunks, so that a result
//! does not depend on the number of threads. Reductions along axes have parts of leaves, which begin and end where
//! the sizes of axes say: threads begin with a leaf.
//!
//! Running sums are carried from block to block on one thread; those from the other end have all blocks computed from
//! the last to the first. Where a block can be a whole run nothing is carried, and two runs are computed side by side,
//! so that the additions of one fill the time that those of the other wait:
//!
//! ```text
//! runs      r0 | r1                     r2 | r3
//! members   m0 m1  m0 m1  m2  m3  m3    m0 m1  m0 m1  …      m2: a running sum of both runs at once
//! ```

use crate::machine::tile::blocks::{Blocks, Outcome, Reduced, Uneven, list};
use crate::machine::tile::region::{Code, Fold, MemberFault};
use crate::machine::tile::worker::{Progress, Worker};
use crate::operator::nd_reduction::Folded;
use crate::operator::reduction::{CHUNK, State};
use crate::operator::scan::SIDE_BY_SIDE;
use bumpalo::Bump;
use std::ops::Range;

/// Elements of a run that are worth a block of their own.
const MIN_RUN: usize = 64;

/// What reductions have taken in of the rows of one thread.
#[derive(Default)]
struct Part {
    /// By chunk.
    states: Vec<Vec<State>>,
    /// The parts of leaves.
    leaves: Vec<Vec<u64>>,
}

type PartOutcome = Result<Part, Box<MemberFault>>;

impl Blocks<'_> {
    /// Computes all rows and takes them into the reductions.
    ///
    /// # Safety
    /// Inputs and outputs have the rows, and nobody else accesses the outputs.
    pub(super) unsafe fn run(mut self, arena: &Bump, threads: usize, reduced: Reduced<'_, '_>) -> Outcome {
        let chunks = self.rows.div_ceil(CHUNK);
        let threads = if self.has_parts() { threads.min(chunks) } else { 1 };
        if threads > 1 {
            // SAFETY: the caller's promise.
            return unsafe { self.run_on(threads, chunks, reduced) };
        }
        if let Some(run) = self.side_by_side() {
            // SAFETY: the caller's promise.
            return unsafe { self.run_side_by_side(run, arena, reduced) };
        }
        let Reduced { states, folded } = reduced;
        let columns = std::mem::take(&mut self.columns);
        // SAFETY: the caller's promise.
        let mut worker = unsafe { Worker::new(&self, columns, arena) };
        for number in 0..chunks {
            let chunk = if self.is_reversed() { chunks - 1 - number } else { number };
            let of_chunk = list(arena, self.new_states());
            let rows = chunk * CHUNK..self.rows.min((chunk + 1) * CHUNK);
            // SAFETY: the caller's promise.
            unsafe { worker.rows(rows, &mut Reduced { states: of_chunk, folded })? };
            self.merge(states, of_chunk);
        }
        Ok(())
    }

    /// True if rows can be dealt to threads. Running sums go from chunk to chunk, and reductions of different runs or
    /// kinds do not begin at the same places.
    fn has_parts(&self) -> bool {
        let is_alike = |(fold, run): (&Fold, usize)| {
            self.folds()
                .next()
                .is_none_or(|(first, of_first)| run == of_first && fold.kernel.is_cut_like(&first.kernel))
        };
        self.region.scans == 0 && self.folds().all(is_alike)
    }

    /// The reductions along axes, with the elements that become one.
    fn folds(&self) -> impl Iterator<Item = (&Fold, usize)> {
        self.region.folds.iter().zip(self.runs.iter().copied())
    }

    /// Elements of a run, if blocks are whole runs, several at a time.
    fn side_by_side(&self) -> Option<usize> {
        let (Uneven::Elements(elements), 1..) = (self.uneven, self.region.scans) else { return None };
        let run = *elements.shape().last()?;
        let is_block = (MIN_RUN..=self.region.block).contains(&run);
        (is_block && self.rows >= SIDE_BY_SIDE * run).then_some(run)
    }

    /// The same of runs of elements, several at a time.
    ///
    /// # Safety
    /// As [`Blocks::run`]; the run is that of [`Blocks::side_by_side`].
    unsafe fn run_side_by_side(&self, run: usize, arena: &Bump, mut reduced: Reduced<'_, '_>) -> Outcome {
        let mut workers: [Worker<'_>; SIDE_BY_SIDE] = std::array::from_fn(|_| {
            // SAFETY: the caller's promise.
            unsafe { Worker::new(self, arena.alloc_slice_copy(self.columns), arena) }
        });
        let together = SIDE_BY_SIDE * run;
        let rest = self.rows - self.rows % together;
        for first in (0..rest).step_by(together) {
            // SAFETY: the caller's promise: a run is a block.
            unsafe { self.runs_at(first, run, &mut workers, &mut reduced)? };
        }
        for first in (rest..self.rows).step_by(run) {
            // SAFETY: as above.
            unsafe { workers[0].block_at(first..first + run, 0, &mut reduced)? };
        }
        Ok(())
    }

    /// Computes runs from an element on, one by each worker.
    ///
    /// # Safety
    /// As [`Blocks::run_side_by_side`].
    unsafe fn runs_at(
        &self,
        first: usize,
        run: usize,
        workers: &mut [Worker<'_>; SIDE_BY_SIDE],
        reduced: &mut Reduced<'_, '_>,
    ) -> Outcome {
        for (number, worker) in workers.iter_mut().enumerate() {
            worker.go_to(first + number * run);
            // SAFETY: the caller's promise.
            unsafe { worker.lay_out(run) };
        }
        let mut progress = [(); SIDE_BY_SIDE].map(|()| Progress { count: run, lowest: None });
        for part in self.region.steps.split_inclusive(|step| matches!(step.code, Code::Scan(..))) {
            let (last, steps) = part.split_last().expect("a part has a step");
            for (worker, progress) in workers.iter_mut().zip(&mut progress) {
                // SAFETY: the caller's promise.
                steps.iter().for_each(|step| unsafe { worker.next_step(step, progress, reduced) });
            }
            let is_whole = progress.iter().all(|progress| progress.count == run);
            if let (Code::Scan(_, side_by_side, _), true) = (&last.code, is_whole) {
                let runs = workers.each_ref().map(|worker| worker.scanned(last));
                // SAFETY: the caller's promise: the operands have all axes of the region, so that they have these
                // elements, and the results have room for them.
                unsafe { side_by_side(runs, run) };
                continue;
            }
            for (worker, progress) in workers.iter_mut().zip(&mut progress) {
                // SAFETY: the caller's promise.
                unsafe { worker.next_step(last, progress, reduced) };
            }
        }
        // The first that failed has the lowest row.
        progress.into_iter().try_for_each(Progress::outcome)
    }

    /// The same on several threads.
    ///
    /// # Safety
    /// As [`Blocks::run`].
    #[cold]
    unsafe fn run_on(&self, threads: usize, chunks: usize, reduced: Reduced<'_, '_>) -> Outcome {
        let first_row = |thread: usize| {
            let row = self.rows.min(chunks * thread / threads * CHUNK);
            let first = self.region.folds.first().zip(self.runs.first());
            first.map_or(row, |(fold, run)| fold.kernel.next_cut(*run, row))
        };
        let mut parts: Vec<(Range<usize>, PartOutcome)> = (0..threads)
            .map(|thread| (first_row(thread)..first_row(thread + 1), Ok(Part::default())))
            .collect();
        rayon::scope(|scope| {
            for (rows, part) in &mut parts {
                scope.spawn(move |_| {
                    // SAFETY: the caller's promise; no row is in two parts.
                    *part = unsafe { self.part(rows.clone()) };
                });
            }
        });
        // The parts stand in the order of rows: the first that failed has the lowest row.
        for (_, part) in parts {
            let Part { states, leaves } = part?;
            states.iter().for_each(|of_chunk| self.merge(reduced.states, of_chunk));
            for (folded, leaves) in reduced.folded.iter_mut().zip(leaves) {
                folded.parts.extend_from_slice(&leaves);
            }
        }
        Ok(())
    }

    /// The rows of one thread.
    ///
    /// # Safety
    /// As [`Blocks::run`]; nobody else computes these rows.
    unsafe fn part(&self, rows: Range<usize>) -> PartOutcome {
        let arena = Bump::new();
        // SAFETY: the caller's promise.
        let mut worker = unsafe { Worker::new(self, arena.alloc_slice_copy(self.columns), &arena) };
        let mut folded: Vec<Folded<'_>> =
            self.folds().map(|(fold, run)| fold.kernel.begin(run, rows.start, &arena)).collect();
        let mut of_chunks = Vec::new();
        let mut start = rows.start;
        while start < rows.end {
            let end = rows.end.min((start / CHUNK + 1) * CHUNK);
            let mut states: Vec<State> = self.new_states().collect();
            let mut reduced = Reduced { states: &mut states, folded: &mut folded };
            // SAFETY: the caller's promise.
            unsafe { worker.rows(start..end, &mut reduced)? };
            of_chunks.push(states);
            start = end;
        }
        Ok(Part { states: of_chunks, leaves: folded.iter().map(|folded| folded.parts.to_vec()).collect() })
    }

    fn new_states(&self) -> impl ExactSizeIterator<Item = State> {
        self.region.reductions.iter().map(|reduction| reduction.kernel.init())
    }

    fn merge(&self, states: &mut [State], next: &[State]) {
        for ((reduction, state), next) in self.region.reductions.iter().zip(states).zip(next) {
            reduction.kernel.merge(state, next);
        }
    }
}
