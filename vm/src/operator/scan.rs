//! Kernels of running sums along the last axis: of a whole array, or a block at a time.
//!
//! ```text
//! runs of 4     a b c d | e f g h | i j …
//! blocks        a b c | d e f | g h i | …       the sum up to a block's end is carried into the next
//! ```
//!
//! Sums from the other end visit the blocks from the last to the first.
//!
//! Each sum waits for the one before it. Runs do not wait for each other: where a block is a run, several of them are
//! summed up side by side.

use crate::operator::general::GeneralKernel;
use std::ops::Add;

/// Which end of a run its sums begin at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// At the first element.
    Forward,
    /// At the last element.
    Back,
}

/// A running sum along the last axis.
#[derive(Clone, Debug)]
pub(crate) struct ScanKernel {
    /// The code over whole arrays.
    pub(crate) whole: GeneralKernel,
    /// The code over a block.
    pub(crate) block: ScanRun,
    /// The code over several runs.
    pub(crate) side_by_side: SideBySideRun,
    /// The order of blocks.
    pub(crate) direction: Direction,
}

impl ScanKernel {
    /// The kernel of sums of `R`, which the code over whole arrays adds up in the same order.
    pub(crate) fn new<R: Copy + Add<Output = R>>(direction: Direction, whole: GeneralKernel) -> ScanKernel {
        let (block, side_by_side): (ScanRun, SideBySideRun) = match direction {
            Direction::Forward => (forward::<R>, side_by_side::<R, false>),
            Direction::Back => (back::<R>, side_by_side::<R, true>),
        };
        ScanKernel { whole, block, side_by_side, direction }
    }
}

/// Elements of a block: where they are, where their sums go, and where they stand.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block {
    pub(crate) from: *const u8,
    pub(crate) to: *mut u8,
    pub(crate) count: usize,
    /// Place of the first of them in its run.
    pub(crate) place: usize,
    /// Elements of a run.
    pub(crate) run: usize,
}

/// Computes the sums of a block. The last sum of the block that was computed before is in `carry`, which has room for
/// one and its alignment, and is not read where a run begins.
///
/// # Safety
/// There are that many elements of the kernel's type, aligned, and room for as many sums, of which no byte is an
/// element's. `place < run`.
pub(crate) type ScanRun = unsafe fn(block: Block, carry: &mut u64);

/// # Safety
/// The contract of [`ScanRun`].
unsafe fn forward<R: Copy + Add<Output = R>>(block: Block, carry: &mut u64) {
    let Block { count, mut place, run, .. } = block;
    let (from, to, carry) = (block.from.cast::<R>(), block.to.cast::<R>(), (&raw mut *carry).cast::<R>());
    let mut first = 0;
    while first < count {
        let end = count.min(first + run - place);
        // SAFETY: the caller's promise; a carry was written before a run goes on.
        unsafe {
            let mut sum = from.add(first).read();
            if place > 0 {
                sum = carry.read() + sum;
            }
            to.add(first).write(sum);
            for row in first + 1..end {
                sum = sum + from.add(row).read();
                to.add(row).write(sum);
            }
            carry.write(sum);
        }
        (first, place) = (end, 0);
    }
}

/// # Safety
/// The contract of [`ScanRun`].
unsafe fn back<R: Copy + Add<Output = R>>(block: Block, carry: &mut u64) {
    let Block { count, place, run, .. } = block;
    let (from, to, carry) = (block.from.cast::<R>(), block.to.cast::<R>(), (&raw mut *carry).cast::<R>());
    let mut end = count;
    while end > 0 {
        let places = (place + end - 1) % run + 1;
        let first = end.saturating_sub(places);
        // SAFETY: the caller's promise; a carry was written before a run goes on.
        unsafe {
            let mut sum = from.add(end - 1).read();
            if places < run {
                sum = carry.read() + sum;
            }
            to.add(end - 1).write(sum);
            for row in (first..end - 1).rev() {
                sum = sum + from.add(row).read();
                to.add(row).write(sum);
            }
            carry.write(sum);
        }
        end = first;
    }
}

/// Runs that are summed up at a time.
pub(crate) const SIDE_BY_SIDE: usize = 2;

/// Computes the sums of whole runs of one size, which is not 0.
///
/// # Safety
/// There are that many elements of the kernel's type behind each of the first pointers, aligned, and room for as many
/// sums behind each of the second, of which no byte is an element's.
pub(crate) type SideBySideRun = unsafe fn(runs: [(*const u8, *mut u8); SIDE_BY_SIDE], size: usize);

/// # Safety
/// The contract of [`SideBySideRun`].
unsafe fn side_by_side<R: Copy + Add<Output = R>, const BACK: bool>(
    runs: [(*const u8, *mut u8); SIDE_BY_SIDE],
    size: usize,
) {
    let runs = runs.map(|(from, to)| (from.cast::<R>(), to.cast::<R>()));
    let place = |step: usize| if BACK { size - 1 - step } else { step };
    // SAFETY: the caller's promise.
    unsafe {
        let mut sums = runs.map(|(from, to)| {
            let first = from.add(place(0)).read();
            to.add(place(0)).write(first);
            first
        });
        for place in (1..size).map(place) {
            for ((from, to), sum) in runs.iter().zip(&mut sums) {
                *sum = *sum + from.add(place).read();
                to.add(place).write(*sum);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_any_size_give_the_sums_of_runs() {
        let elements: Vec<f64> = (0..60).map(|i| f64::from(i * i % 17)).collect();
        for run in [1, 3, 4, 15, 60] {
            let mut expected = [elements.clone(), elements.clone()];
            for row in expected[0].chunks_mut(run) {
                (1..run).for_each(|i| row[i] += row[i - 1]);
            }
            for row in expected[1].chunks_mut(run) {
                (0..run - 1).rev().for_each(|i| row[i] += row[i + 1]);
            }
            for size in [1, 2, 7, 15, 60] {
                let scans = [(forward::<f64> as ScanRun, false), (back::<f64>, true)];
                for ((scan, is_back), expected) in scans.into_iter().zip(&expected) {
                    let mut sums = vec![0.0; elements.len()];
                    let mut firsts: Vec<usize> = (0..elements.len()).step_by(size).collect();
                    if is_back {
                        firsts.reverse();
                    }
                    let mut carry = f64::NAN.to_bits();
                    for first in firsts {
                        let count = size.min(elements.len() - first);
                        let block = Block {
                            from: elements[first..].as_ptr().cast(),
                            to: sums[first..].as_mut_ptr().cast(),
                            count,
                            place: first % run,
                            run,
                        };
                        // SAFETY: the elements and sums of a block are in their lists.
                        unsafe { scan(block, &mut carry) };
                    }
                    assert_eq!(&sums, expected, "runs of {run}, blocks of {size}");
                }
            }
            let kernels = [side_by_side::<f64, false> as SideBySideRun, side_by_side::<f64, true>];
            for (kernel, expected) in kernels.into_iter().zip(&expected) {
                let mut sums = vec![0.0; elements.len()];
                let pairs = elements.chunks_exact(run).zip(sums.chunks_exact_mut(run));
                let mut runs = pairs.map(|(from, to)| (from.as_ptr().cast(), to.as_mut_ptr().cast()));
                let mut count = 0;
                while let (Some(first), Some(second)) = (runs.next(), runs.next()) {
                    // SAFETY: each run has its elements and sums.
                    unsafe { kernel([first, second], run) };
                    count += 2 * run;
                }
                assert_eq!(sums[..count], expected[..count], "runs of {run} side by side");
            }
        }
    }
}
