//! Results of folds: the parts of leaves become one, and are written.
//!
//! ```text
//! one run            p0 p1 p2 p3                 (p0 · p1) · (p2 · p3)
//! runs side by side  p0 q0 r0 | p1 q1 r1 | …     rows of parts, all columns at a time
//! ```

use crate::array::fold_memory::{of_word, to_word};
use crate::array::meter::STRIDE;
use crate::array::runs::Runs;
use crate::layout::PlainSlot;
use crate::vector::Level;
use crate::vector::fold::{Fold, join_leaves};
use crate::vector::level::Loop;
use crate::vector::spread::{LEAF, left_half};
use crate::vector::stop::StopCheck;
use std::marker::PhantomData;

/// The results of runs whose parts are those of all leaves.
pub(super) fn results<F: Fold>(
    parts: &[u64],
    Runs { run, count, width }: Runs,
) -> impl Iterator<Item = F::Out> {
    let leaves = parts.len() / count.max(1);
    let firsts =
        (0..count).step_by(width.max(1)).flat_map(move |first| (0..width).map(move |column| (first, column)));
    firsts.map(move |(first, column)| {
        if F::HAS_ANY_PARTS && count == 1 {
            let part = parts.iter().map(|part| of_word(*part)).reduce(F::join);
            return F::finish(part.unwrap_or_else(|| F::leaf(&[])), run);
        }
        let mut of_run = parts[(first * leaves + column).min(parts.len())..].iter().step_by(width);
        join_leaves::<F>(run, &mut |size| match size {
            0 => F::leaf(&[]),
            _ => of_word(*of_run.next().expect("there is a part for each leaf")),
        })
    })
}

/// Joins the parts of runs side by side: those of each become one, which stand at the beginning.
struct JoinRuns<'p, F> {
    parts: &'p mut [u64],
    runs: Runs,
    fold: PhantomData<F>,
}

impl<F: Fold> Loop for JoinRuns<'_, F> {
    type Output = ();
    const GAINS_BY_WIDTH: bool = F::GAINS_BY_WIDTH;

    #[inline(always)]
    fn run(self) {
        let Runs { run, count, width } = self.runs;
        let of_outer = self.parts.len() / (count / width);
        for first in 0..count / width {
            join_rows::<F>(run, &mut self.parts[first * of_outer..][..of_outer], width);
            self.parts.copy_within(first * of_outer..first * of_outer + width, first * width);
        }
    }
}

/// Joins the rows of parts of so many elements to the first one, as [`join_leaves`] does; gives how many rows there are.
#[inline(always)]
fn join_rows<F: Fold>(count: usize, rows: &mut [u64], width: usize) -> usize {
    let Some(left) = left_half(count) else { return 1 };
    let of_left = joined_rows::<F>(left, rows, width);
    let (first, second) = rows.split_at_mut(of_left * width);
    let of_right = joined_rows::<F>(count - left, second, width);
    for (part, other) in first[..width].iter_mut().zip(&second[..width]) {
        *part = to_word(F::join(of_word(*part), of_word(*other)));
    }
    of_left + of_right
}

/// The same, called by itself.
fn joined_rows<F: Fold>(count: usize, rows: &mut [u64], width: usize) -> usize {
    join_rows::<F>(count, rows, width)
}

/// Writes the results of runs whose parts are those of all leaves; some of them, if it is told to stop. Parts of runs side by side are
/// joined where they are.
///
/// # Safety
/// There is room for the results.
pub(super) unsafe fn write_results<F: Fold<Out: PlainSlot>>(
    parts: &mut [u64],
    runs: Runs,
    out: *mut u8,
    stop: StopCheck<'_>,
) {
    if runs.width > 1 && runs.run > 0 && parts.len() > runs.count {
        Level::best().run(JoinRuns::<F> { parts, runs, fold: PhantomData });
    }
    let is_one_part = runs.width > 1 || runs.run <= LEAF;
    if runs.run > 0 && is_one_part && parts.len() >= runs.count {
        // Each run has one part: there is nothing to join.
        let mut out = out;
        for parts in parts[..runs.count].chunks(STRIDE) {
            for part in parts {
                // SAFETY: the caller's promise.
                out = unsafe {
                    F::Out::store(out, F::finish(of_word(*part), runs.run));
                    out.add(size_of::<F::Out>())
                };
            }
            if parts.len() == STRIDE && stop() {
                return;
            }
        }
        return;
    }
    for (number, value) in results::<F>(parts, runs).enumerate() {
        if (number + 1).is_multiple_of(STRIDE) && stop() {
            return;
        }
        // SAFETY: the caller's promise.
        unsafe { F::Out::store(out.add(number * size_of::<F::Out>()), value) };
    }
}
