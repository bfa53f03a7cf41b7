//! The loops of a [kept region](super::kept): calls of its strip, each of many runs.
//!
//! ```text
//! a plane                  run 0 | run 1 | run 2 | …          one call: columns move by the bytes from one run to the next
//! levels of one run each   level 0                            a call with what is handed on to it
//!                          level 1 | level 2 | level 3 | …    one call
//! ```

use crate::array::block::Column;
use crate::array::fold_kernel::CHUNK;
use crate::machine::tile::kept::{Base, KeptStrip, Steps};
use crate::machine::tile::strips::{ColumnSteps, LoadedStrip};
use crate::value::shape::PerAxis;

impl KeptStrip {
    /// Computes all elements; false if `go_on`, which is asked every few thousand of them, was: some have been computed then.
    ///
    /// # Safety
    /// The frame has the layout of the region, and values for scalars; `base` gives where each memory begins. All elements
    /// lie inside of it, those at all positions included, none of a result shares a byte with another element, but for what is
    /// one level before, and nobody else accesses results.
    pub(in crate::machine) unsafe fn run(
        &mut self,
        frame: *const u8,
        base: impl Fn(usize) -> *mut u8,
        mut go_on: impl FnMut() -> bool,
    ) -> bool {
        for (column, offset) in &self.scalars {
            self.columns[*column as usize].data = frame.wrapping_add(*offset as usize);
        }
        for (column, list, from) in &self.taken {
            self.columns[*column as usize].presence = list.list()[*from..].as_ptr().cast();
        }
        let (mut since, mut step) = (0, 0);
        // Where levels are one run, those behind the first one are runs as well.
        let is_flat = self.outer.is_empty() && self.runs == 1;
        while step < self.levels {
            self.place_columns(step, &base);
            let of_level = self.first_level.as_ref().filter(|_| step == 0).unwrap_or(&self.level);
            let (levels, runs, steps) = match is_flat && (step > 0 || self.first_level.is_none()) {
                true => (self.levels - step, self.levels - step, &self.to_next_level),
                false => (1, self.runs, &of_level.runs),
            };
            let plane = Plane {
                strip: &self.strip,
                columns: &mut self.columns,
                of_call: &mut self.of_call,
                along_axes: &of_level.steps,
                steps,
                runs,
                run: self.run,
            };
            // SAFETY: the caller's promise: the columns stand at the first elements of a level, or at values that are
            // repeated for a run.
            if !unsafe { plane.run(&self.outer, &mut since, &mut go_on) } {
                return false;
            }
            step += levels;
        }
        true
    }

    /// Points the columns to a level.
    #[inline(always)]
    fn place_columns(&mut self, step: usize, base: &impl Fn(usize) -> *mut u8) {
        let KeptStrip { columns, level, first_level, values, .. } = self;
        let of_level = first_level.as_ref().filter(|_| step == 0).unwrap_or(level);
        let level = if self.is_down { self.levels - 1 - step } else { step } as isize;
        for moves in &of_level.moving {
            let base = match moves.base {
                Base::Memory(number) => base(number).cast_const(),
                Base::First(word) => values[word..].as_ptr().cast(),
            };
            columns[moves.column as usize].data = base.wrapping_offset(moves.first + level * moves.level);
        }
    }
}

/// The elements of a level.
struct Plane<'k> {
    strip: &'k LoadedStrip,
    columns: &'k mut [Column],
    of_call: &'k mut [Column],
    /// By axis but those of runs.
    along_axes: &'k [Steps],
    /// From one run to the next.
    steps: &'k ColumnSteps,
    runs: usize,
    run: usize,
}

impl Plane<'_> {
    /// # Safety
    /// As [`KeptStrip::run`]; the columns stand at the first elements.
    unsafe fn run(mut self, outer: &[usize], since: &mut usize, go_on: &mut impl FnMut() -> bool) -> bool {
        let mut at = PerAxis::from_iter(outer.iter().map(|_| 0));
        loop {
            // SAFETY: the caller's promise.
            if !unsafe { self.run_along(since, go_on) } {
                return false;
            }
            // The next runs, the last axis fastest.
            let mut axis = outer.len();
            loop {
                let Some(next) = axis.checked_sub(1) else { return true };
                axis = next;
                at[axis] += 1;
                if at[axis] < outer[axis] {
                    self.step(axis, 1);
                    break;
                }
                self.step(axis, -(outer[axis] as isize - 1));
                at[axis] = 0;
            }
        }
    }

    /// All runs along the last axis but one, in calls of a few thousand elements.
    ///
    /// # Safety
    /// As [`KeptStrip::run`]; the columns stand at the begin of the first run.
    #[inline(always)]
    unsafe fn run_along(&mut self, since: &mut usize, go_on: &mut impl FnMut() -> bool) -> bool {
        let at_once = self.steps.runs_at_once(self.run, CHUNK);
        let mut done = 0;
        while done < self.runs {
            let runs = at_once.min(self.runs - done);
            self.of_call.copy_from_slice(self.columns);
            if done > 0 {
                self.steps.move_by(done, self.of_call);
            }
            let is_done = match self.run <= CHUNK {
                // SAFETY: the caller's promise; rows have no presence.
                true => unsafe {
                    self.strip.run_often(self.of_call, self.run, runs, (self.steps, 0));
                    count(self.run * runs, since, go_on)
                },
                // SAFETY: as above.
                false => unsafe { self.run_long(since, go_on) },
            };
            if !is_done {
                return false;
            }
            done += runs;
        }
        true
    }

    /// One run, in pieces.
    ///
    /// # Safety
    /// As [`KeptStrip::run`]; the columns of the call stand at the begin of the run.
    unsafe fn run_long(&mut self, since: &mut usize, go_on: &mut impl FnMut() -> bool) -> bool {
        let mut start = 0;
        while start < self.run {
            let end = self.run.min(start + CHUNK);
            // SAFETY: the caller's promise; rows have no presence.
            unsafe { self.strip.run(self.of_call.as_ptr(), start..end) };
            if !count(end - start, since, go_on) {
                return false;
            }
            start = end;
        }
        true
    }

    /// Moves the columns along an axis.
    #[inline(always)]
    fn step(&mut self, axis: usize, by: isize) {
        for (column, bytes) in &self.along_axes[axis] {
            let column = &mut self.columns[*column as usize];
            column.data = column.data.wrapping_offset(bytes * by);
        }
    }
}

/// Counts elements, and asks every few thousand of them whether to go on.
#[inline(always)]
fn count(elements: usize, since: &mut usize, go_on: &mut impl FnMut() -> bool) -> bool {
    *since += elements;
    if *since < CHUNK {
        return true;
    }
    *since = 0;
    go_on()
}
