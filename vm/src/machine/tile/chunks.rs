//! The rows of a region, block by block, on one thread or several.
//!
//! ```text
//! rows      chunk 0            | chunk 1            | …       65,536 rows each, dealt to threads
//! blocks    b0 | b1 | … | b127 | b0 | …                       256 to 1,024 rows (8,192 of a fold alone), 512 to 1,024 elements
//! members   m0 m1 m2 …                                        all of a block before the next one
//! ```
//!
//! Reductions have parts of leaves, which begin and end where the number of rows or the sizes of axes say, and are joined
//! when all blocks have been seen: a result does not depend on the number of threads, which begin with a leaf.
//!
//! Running sums are carried from block to block on one thread; those from the other end have all blocks computed from
//! the last to the first.

use crate::array::block::Column;
use crate::array::fold_kernel::{CHUNK, Folded};
use crate::array::runs::Runs;
use crate::machine::tile::blocks::{Blocks, Outcome};
use crate::machine::tile::lowered::Stage;
use crate::machine::tile::region::{Fold, MemberFault};
use crate::machine::tile::strip_folds::StripFolds;
use crate::machine::tile::strips::LoadedStrip;
use crate::machine::tile::worker::Worker;
use crate::value::array::ROWS_OF_A_WORD;
use bumpalo::Bump;
use std::ops::Range;

/// What a reduction has taken in of the rows of one thread.
struct Taken {
    /// The parts of leaves.
    parts: Vec<u64>,
    /// How many rows are present.
    present: u64,
    /// True if that does not tell the result.
    is_open: bool,
}

type TakenOrFault = Result<Vec<Taken>, Box<MemberFault>>;

impl Blocks<'_> {
    /// Computes all rows and takes them into the reductions.
    ///
    /// # Safety
    /// Inputs and outputs have the rows, and nobody else accesses the outputs.
    pub(super) unsafe fn run(mut self, arena: &Bump, threads: usize, folded: &mut [Folded<'_>]) -> Outcome {
        let chunks = self.rows.div_ceil(CHUNK);
        let threads = if self.has_parts() { threads.min(chunks) } else { 1 };
        if threads > 1 {
            // SAFETY: the caller's promise.
            return unsafe { self.run_on(threads, chunks, folded) };
        }
        let columns = std::mem::take(&mut self.columns);
        if let Some(of) = self.side_by_side() {
            // SAFETY: the caller's promise.
            return unsafe { self.run_side_by_side(of, columns, 0..self.rows, arena, folded) };
        }
        if let Some(strip) = self.whole() {
            // SAFETY: the caller's promise.
            return unsafe { self.run_whole(strip, columns, 0..self.rows, arena, folded) };
        }
        if let Some(over) = self.over_runs() {
            // SAFETY: the caller's promise.
            return unsafe { self.run_over_runs(over, columns, 0..self.rows, arena) };
        }
        // SAFETY: the caller's promise.
        let mut worker = unsafe { Worker::new(&self, columns, 0, arena) };
        for number in 0..chunks {
            let chunk = if self.is_reversed() { chunks - 1 - number } else { number };
            let rows = self.begin_of(chunk)..self.begin_of(chunk + 1);
            // SAFETY: the caller's promise.
            unsafe { worker.rows(rows, folded)? };
        }
        Ok(())
    }

    /// Computes rows by the strip that is all there is to run.
    ///
    /// # Safety
    /// As [`Blocks::run`], for these columns, which stand at the first row of all.
    unsafe fn run_whole(
        &self,
        strip: &LoadedStrip,
        columns: &mut [Column],
        rows: Range<usize>,
        arena: &Bump,
        folded: &mut [Folded<'_>],
    ) -> Outcome {
        let mut folds = StripFolds::new(self.strips, self.runs, rows.start, columns, arena);
        let (mut start, mut polled) = (rows.start, rows.start);
        self.poll()?;
        while start < rows.end {
            if start - polled >= CHUNK {
                self.poll()?;
                polled = start;
            }
            let end = match &mut folds {
                None => rows.end.min(start + CHUNK),
                Some(folds) => folds.begin((rows.end - start).min(folds.most_rows()), start),
            };
            // SAFETY: the caller's promise; chunks and calls of rows with presence begin at words.
            unsafe { strip.run(columns.as_ptr(), start..end) };
            if let Some(folds) = &mut folds {
                folds.take(end - start, folded);
            }
            start = end;
        }
        Ok(())
    }

    /// True if rows can be dealt to threads. Running sums go from chunk to chunk, and reductions of different runs or
    /// kinds do not begin at the same places.
    fn has_parts(&self) -> bool {
        let leader = self.leader();
        let is_alike = |(fold, runs): (&Fold, Runs)| {
            leader.is_none_or(|(first, of_first)| {
                !fold.kernel.has_parts() || runs == of_first && fold.kernel.is_cut_like(&first.kernel)
            })
        };
        self.region.scans.is_empty() && self.folds().all(is_alike)
    }

    /// The reductions, and how rows or elements become one.
    fn folds(&self) -> impl Iterator<Item = (&Fold, Runs)> {
        self.region.folds.iter().zip(self.runs.iter().copied())
    }

    /// The reduction that says where threads may begin.
    fn leader(&self) -> Option<(&Fold, Runs)> {
        self.folds().find(|(fold, _)| fold.kernel.has_parts())
    }

    /// Where a chunk begins; with a leaf, if strips take in leaves.
    fn begin_of(&self, chunk: usize) -> usize {
        let row = self.rows.min(chunk * CHUNK);
        let mut of_strips = self.strips.iter().flat_map(|strip| &*strip.folds);
        let of_leaves = of_strips.find(|fold| matches!(fold.stage, Stage::Leaves(_)));
        match of_leaves.map(|fold| fold.fold as usize) {
            Some(fold) if self.presence.is_empty() => {
                self.region.folds[fold].kernel.next_cut(self.runs[fold], row).min(self.rows)
            }
            _ => row,
        }
    }

    /// The first row from one on where a thread may begin: with a leaf, and with a word of presence.
    fn next_cut(&self, row: usize) -> usize {
        let Some((fold, runs)) = self.leader() else { return row };
        let mut cut = row;
        loop {
            cut = fold.kernel.next_cut(runs, cut).min(self.rows);
            if self.presence.is_empty() || cut.is_multiple_of(ROWS_OF_A_WORD) || cut == self.rows {
                return cut;
            }
            cut += 1;
        }
    }

    /// The same on several threads.
    ///
    /// # Safety
    /// As [`Blocks::run`].
    #[cold]
    unsafe fn run_on(&self, threads: usize, chunks: usize, folded: &mut [Folded<'_>]) -> Outcome {
        let first_row = |thread: usize| self.next_cut(self.rows.min(chunks * thread / threads * CHUNK));
        let mut of_threads: Vec<(Range<usize>, TakenOrFault)> =
            (0..threads).map(|thread| (first_row(thread)..first_row(thread + 1), Ok(Vec::new()))).collect();
        rayon::scope(|scope| {
            for (rows, taken) in &mut of_threads {
                scope.spawn(move |_| {
                    // SAFETY: the caller's promise; no row is of two threads.
                    *taken = unsafe { self.part(rows.clone()) };
                });
            }
        });
        // They stand in the order of rows: the first that failed has the lowest row.
        for (_, taken) in of_threads {
            for (folded, Taken { parts, present, is_open }) in folded.iter_mut().zip(taken?) {
                folded.parts.extend_from_slice(&parts);
                folded.present += present;
                folded.is_open |= is_open;
            }
        }
        Ok(())
    }

    /// The rows of one thread.
    ///
    /// # Safety
    /// As [`Blocks::run`]; nobody else computes these rows.
    unsafe fn part(&self, rows: Range<usize>) -> TakenOrFault {
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        let arena = Bump::new();
        let columns = arena.alloc_slice_copy(self.columns);
        let begin = |(fold, run): (&Fold, Runs)| {
            let state = fold.kernel.begin(run, rows.clone(), &arena, *self.watch);
            state.map_err(|stop| Box::new(MemberFault { ip: fold.ip, fault: stop.into() }))
        };
        let mut folded: Vec<Folded<'_>> = self.folds().map(begin).collect::<Result<_, _>>()?;
        let taken = |folded: Folded<'_>| {
            let Folded { parts, present, is_open, .. } = folded;
            Taken { parts: parts.to_vec(), present, is_open }
        };
        if let Some(of) = self.side_by_side() {
            // SAFETY: the caller's promise; threads begin with a leaf.
            unsafe { self.run_side_by_side(of, columns, rows, &arena, &mut folded)? };
            return Ok(folded.into_iter().map(taken).collect());
        }
        if let Some(strip) = self.whole() {
            // SAFETY: the caller's promise.
            unsafe { self.run_whole(strip, columns, rows, &arena, &mut folded)? };
            return Ok(folded.into_iter().map(taken).collect());
        }
        if let Some(over) = self.over_runs() {
            // SAFETY: the caller's promise.
            unsafe { self.run_over_runs(over, columns, rows, &arena)? };
            return Ok(folded.into_iter().map(taken).collect());
        }
        // SAFETY: the caller's promise.
        let mut worker = unsafe { Worker::new(self, columns, rows.start, &arena) };
        let mut start = rows.start;
        while start < rows.end {
            let end = rows.end.min(self.begin_of(start / CHUNK + 1));
            // SAFETY: the caller's promise.
            unsafe { worker.rows(start..end, &mut folded)? };
            start = end;
        }
        Ok(folded.into_iter().map(taken).collect())
    }
}
