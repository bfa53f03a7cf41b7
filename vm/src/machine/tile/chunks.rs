//! The rows of a region, block by block, on one thread or several.
//!
//! ```text
//! rows      chunk 0            | chunk 1            | …       65,536 rows each, dealt to threads
//! blocks    b0 | b1 | … | b127 | b0 | …                       256 to 1,024 rows, 512 to 1,024 elements
//! members   m0 m1 m2 …                                        all of a block before the next one
//! ```
//!
//! Reductions have a state for each chunk. The states are merged in the order of chunks, so that a result
//! does not depend on the number of threads. Reductions along axes have parts of leaves, which begin and end where
//! the sizes of axes say: threads begin with a leaf.
//!
//! Running sums are carried from block to block on one thread; those from the other end have all blocks computed from
//! the last to the first.

use crate::machine::tile::blocks::{Blocks, Outcome, Reduced, list};
use crate::machine::tile::region::{Fold, MemberFault};
use crate::machine::tile::strips::LoadedStrip;
use crate::machine::tile::worker::Worker;
use crate::operator::nd_reduction::{Folded, Runs};
use crate::operator::reduction::{CHUNK, State};
use bumpalo::Bump;
use std::ops::Range;

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
        if let Some(strip) = self.whole() {
            // SAFETY: the caller's promise.
            return unsafe { self.run_whole(strip, 0..self.rows) };
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

    /// Computes rows by the strip that is all there is to run.
    ///
    /// # Safety
    /// As [`Blocks::run`].
    unsafe fn run_whole(&self, strip: &LoadedStrip, rows: Range<usize>) -> Outcome {
        let mut start = rows.start;
        while start < rows.end {
            self.poll()?;
            let end = rows.end.min(start + CHUNK);
            // SAFETY: the caller's promise; the columns stand at their first row, and chunks begin at words of presence.
            unsafe { strip.run(self.columns, start..end) };
            start = end;
        }
        Ok(())
    }

    /// True if rows can be dealt to threads. Running sums go from chunk to chunk, and reductions of different runs or
    /// kinds do not begin at the same places.
    fn has_parts(&self) -> bool {
        let is_alike = |(fold, runs): (&Fold, Runs)| {
            self.folds()
                .next()
                .is_none_or(|(first, of_first)| runs == of_first && fold.kernel.is_cut_like(&first.kernel))
        };
        self.region.scans == 0 && self.folds().all(is_alike)
    }

    /// The reductions along axes, and how elements become one.
    fn folds(&self) -> impl Iterator<Item = (&Fold, Runs)> {
        self.region.folds.iter().zip(self.runs.iter().copied())
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
        if let Some(strip) = self.whole() {
            // SAFETY: the caller's promise.
            return unsafe { self.run_whole(strip, rows) }.map(|()| Part::default());
        }
        let arena = Bump::new();
        // SAFETY: the caller's promise.
        let mut worker = unsafe { Worker::new(self, arena.alloc_slice_copy(self.columns), &arena) };
        let begin = |(fold, run): (&Fold, Runs)| {
            let state = fold.kernel.begin(run, rows.clone(), &arena, *self.watch);
            state.map_err(|stop| Box::new(MemberFault { ip: fold.ip, fault: stop.into() }))
        };
        let mut folded: Vec<Folded<'_>> = self.folds().map(begin).collect::<Result<_, _>>()?;
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
