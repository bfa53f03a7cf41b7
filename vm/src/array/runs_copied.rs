//! Runs of cells that are copied to one after the other, by the loop that suits how they lie.
//!
//! ```text
//! steps   8, run 3: 24      one run of all
//! steps   8, 0              copied once, and what has been copied again
//! steps 800, 8              tiles: what lies together is read at once
//! steps  24, 8, runs of 3   a loop that knows the size of a run
//! ```

use crate::vector::crossing::Crossing;
use std::mem::MaybeUninit;

/// Copies `rows` runs of `run` cells, which follow each other in steps of so many bytes, as runs do.
///
/// # Safety
/// There are these cells, which may have any address, and room for all of them.
#[inline(always)]
pub(super) unsafe fn copy_runs<T: Copy>(
    from: *const T,
    steps: (isize, isize),
    to: *mut T,
    run: usize,
    rows: usize,
) {
    let cell = size_of::<T>() as isize;
    // SAFETY: the caller's promise.
    unsafe {
        match run {
            // The runs are one.
            _ if steps == (cell, cell * run as isize) => copy_one_by_one(from, steps, to, run * rows, 1),
            _ if steps.1 == 0 => repeat_run(from, steps.0, to, run, rows),
            1 => copy_short_runs::<T, 1>(from, steps, to, rows),
            2 => copy_short_runs::<T, 2>(from, steps, to, rows),
            3 => copy_short_runs::<T, 3>(from, steps, to, rows),
            4 => copy_short_runs::<T, 4>(from, steps, to, rows),
            _ if steps.1 == cell => Crossing { from, step: steps.0, to, to_next: run, run, rows }.copy(),
            _ => copy_one_by_one(from, steps, to, run, rows),
        }
    }
}

/// # Safety
/// There are `RUN` cells in steps of so many bytes, `rows` times at a distance of so many bytes, and room for them at `to`.
#[inline(always)]
unsafe fn copy_short_runs<T: Copy, const RUN: usize>(
    from: *const T,
    (step, between): (isize, isize),
    to: *mut T,
    rows: usize,
) {
    for row in 0..rows {
        let from = from.wrapping_byte_offset(between.wrapping_mul(row as isize));
        for index in 0..RUN {
            // SAFETY: the caller's promise.
            unsafe {
                let cell = from.wrapping_byte_offset(step.wrapping_mul(index as isize)).read_unaligned();
                to.add(row * RUN + index).write(cell);
            }
        }
    }
}

/// Copies one run, and what has been copied again and again.
///
/// # Safety
/// As [`copy_short_runs`], for one run of `run` cells.
#[inline(always)]
unsafe fn repeat_run<T: Copy>(from: *const T, step: isize, to: *mut T, run: usize, rows: usize) {
    let (mut copied, all) = (run, run * rows);
    // SAFETY: the caller's promise; what is copied again is there.
    unsafe {
        copy_one_by_one(from, (step, 0), to, run, 1);
        while copied < all {
            let more = copied.min(all - copied);
            to.add(copied).copy_from_nonoverlapping(to, more);
            copied += more;
        }
    }
}

/// # Safety
/// As [`copy_short_runs`], for runs of `run` cells.
#[inline(always)]
unsafe fn copy_one_by_one<T: Copy>(
    from: *const T,
    (step, between): (isize, isize),
    to: *mut T,
    run: usize,
    rows: usize,
) {
    for row in 0..rows {
        let from = from.wrapping_byte_offset(between.wrapping_mul(row as isize));
        // SAFETY: the caller's promise.
        unsafe {
            let to = to.add(row * run);
            if step == size_of::<T>() as isize {
                // Of bytes, for the address of a cell may be an odd one.
                to.cast::<u8>().copy_from_nonoverlapping(from.cast::<u8>(), run * size_of::<T>());
            } else if step == 0 {
                std::slice::from_raw_parts_mut(to.cast::<MaybeUninit<T>>(), run)
                    .fill(MaybeUninit::new(from.read_unaligned()));
            } else {
                for index in 0..run {
                    let cell = from.wrapping_byte_offset(step.wrapping_mul(index as isize)).read_unaligned();
                    to.add(index).write(cell);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fastrand::Rng;

    fn check<T: Copy + PartialEq + std::fmt::Debug>(rng: &mut Rng, cell: impl Fn(usize) -> T) {
        let cells: Vec<T> = (0..2000).map(cell).collect();
        let (run, rows) = (1 + rng.usize(..20), 1 + rng.usize(..20));
        // Steps in cells: those of rows, of columns, of what repeats, of one run, and any.
        let steps = [(1, run), (rows, 1), (rng.usize(..4), 0), (0, rng.usize(..4)), (1 + rng.usize(..40), 1)];
        let (step, between) = steps[rng.usize(..steps.len())];
        let size = size_of::<T>() as isize;
        let mut found = vec![cells[0]; run * rows];
        // SAFETY: there are cells up to 19 * 40 + 19 * 20, and there is room.
        unsafe {
            let steps = (step as isize * size, between as isize * size);
            copy_runs(cells.as_ptr(), steps, found.as_mut_ptr(), run, rows);
        }
        let at = |at: usize| cells[at / run * between + at % run * step];
        assert_eq!(found, (0..run * rows).map(at).collect::<Vec<T>>(), "{rows} of {run}, {step}, {between}");
    }

    #[test]
    fn runs_are_those_of_one_by_one() {
        let mut rng = Rng::with_seed(3);
        for _ in 0..2000 {
            check(&mut rng, |at| at as u64 * 7);
            check(&mut rng, |at| at as u32 * 3);
            check(&mut rng, |at| (at % 251) as u8);
        }
    }
}
