//! Groups that are ranges of rows: folded and scanned where they stand, one after the other.
//!
//! ```text
//! points     0           3     3              7
//! rows       a   b   c   |     |   d   e   f   g        the leaves of each range; what is known of it stays in registers
//! ```
//!
//! The results are those of groups by the parents of their rows (`vm/src/array/group_fold.rs`, `group_scan.rs`).

use crate::array::group_scan::GroupScan;
use crate::array::meter::Meter;
use crate::array::read_rows::ReadRows;
use crate::array::row_fold::{ElementOf, RowFold, element_of};
use crate::array::rows_out::RowsOut;
use crate::array::scan::scan_rows;
use crate::value::Fault;
use crate::value::array::ROWS_OF_A_WORD;
use crate::vector::Level;
use crate::vector::fold::{Fold, join_leaves};
use crate::vector::level::Loop;
use crate::vector::spread::LEAF;
use bytemuck::Pod;
use std::any::TypeId;
use std::ops::Range;

type Part<R> = <<R as RowFold>::Fold as Fold>::Part;

/// Leaves between two questions whether to stop.
const LEAVES_AT_ONCE: usize = 512;

/// Folds ranges of rows, each by itself.
pub(crate) fn fold_ranges<R: RowFold<Row: Pod>>(
    (cells, rows): (&[R::Row], &ReadRows<'_>),
    points: &[usize],
    out: &mut RowsOut<'_>,
    meter: &Meter<'_>,
) -> Result<(), Fault> {
    // Rows that are elements need not be laid out.
    let is_element = TypeId::of::<R::Row>() == TypeId::of::<ElementOf<R>>();
    let elements = bytemuck::try_cast_slice::<_, ElementOf<R>>(cells).ok();
    let elements = elements.filter(|_| is_element && rows.are_all_present());
    let (mut values, mut leaves, mut stopped) = ([R::MISSING; LEAF], 0, false);
    out.fill_plain(points.len() - 1, |group| {
        let (range, mut first) = (points[group]..points[group + 1], points[group]);
        let folded = join_leaves::<R::Fold>(range.len(), &mut |count| {
            leaves += 1;
            stopped = stopped || leaves % LEAVES_AT_ONCE == 0 && meter.stop();
            let leaf = first..first + if stopped { 0 } else { count };
            first += count;
            match elements {
                Some(elements) => leaf_of::<R>(&elements[leaf]),
                None => leaf_of::<R>(lay_out::<R>(&mut values, (cells, rows), leaf)),
            }
        });
        Ok(R::result(folded, rows.present_in(range) as u64))
    })?;
    meter.poll()
}

/// Rows of a leaf as elements.
fn lay_out<'v, R: RowFold>(
    values: &'v mut [ElementOf<R>; LEAF],
    (cells, rows): (&[R::Row], &ReadRows<'_>),
    leaf: Range<usize>,
) -> &'v [ElementOf<R>] {
    let values = &mut values[..leaf.len()];
    for (place, values) in values.chunks_mut(ROWS_OF_A_WORD).enumerate() {
        let first = leaf.start + place * ROWS_OF_A_WORD;
        let (cells, mut present) = (&cells[first..], rows.word_from(first));
        for (cell, value) in cells.iter().zip(values) {
            *value = element_of::<R>(*cell, present & 1 == 1);
            present >>= 1;
        }
    }
    values
}

/// What is known of a leaf. Few elements are not worth other instructions.
#[inline(always)]
fn leaf_of<R: RowFold>(values: &[ElementOf<R>]) -> Part<R> {
    match values.len() < ROWS_OF_A_WORD {
        true => R::Fold::leaf(values),
        false => Level::best().run(LeafOf::<R>(values)),
    }
}

struct LeafOf<'v, R: RowFold>(&'v [ElementOf<R>]);

impl<R: RowFold> Loop for LeafOf<'_, R> {
    type Output = Part<R>;

    #[inline(always)]
    fn run(self) -> Part<R> {
        R::Fold::leaf(self.0)
    }
}

/// Scans ranges of rows, each by itself, as [`scan_groups`](crate::array::group_scan::scan_groups) does.
pub(crate) fn scan_ranges<T: Copy, S: GroupScan<T>>(
    (cells, rows): (&[T], &ReadRows<'_>),
    points: &[usize],
    (out, presence): (&mut [S::Out], &mut [u64]),
    meter: &Meter<'_>,
) -> Result<(), Fault> {
    let (are_all_present, mut pace) = (rows.are_all_present(), meter.pace());
    for pair in points.windows(2) {
        let mut state = S::START;
        for first in (pair[0]..pair[1]).step_by(STRETCH) {
            let stretch = first..pair[1].min(first + STRETCH);
            let (cells, out) = (&cells[stretch.clone()], &mut out[stretch.clone()]);
            match are_all_present {
                true => scan_rows::<T, S>(&mut state, cells, out),
                false => scan_present::<T, S>(&mut state, cells, out, |row| rows.word_from(first + row)),
            }
            pace.over(stretch.len())?;
        }
        // Groups without rows take time as well.
        pace.over(1)?;
    }
    if !are_all_present {
        presence.iter_mut().enumerate().for_each(|(number, word)| *word = rows.word(number));
    }
    Ok(())
}

/// Rows that are scanned together.
const STRETCH: usize = 1 << 10;

/// Scans rows of which some may be missing; a function gives the presence of those of a word from a row on.
fn scan_present<T: Copy, S: GroupScan<T>>(
    state: &mut S::State,
    cells: &[T],
    out: &mut [S::Out],
    word_from: impl Fn(usize) -> u64,
) {
    let words = cells.chunks(ROWS_OF_A_WORD).zip(out.chunks_mut(ROWS_OF_A_WORD)).enumerate();
    for (number, (cells, out)) in words {
        let mut present = word_from(number * ROWS_OF_A_WORD);
        for (cell, out) in cells.iter().zip(out) {
            match present & 1 == 1 {
                true => *out = S::next(state, *cell),
                false => S::skip(state),
            }
            present >>= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::group_scan::scan_groups;
    use crate::value::{ArrayRows, Edge, ScalarType, ScalarValue};
    use fastrand::Rng;

    /// A running sum that says how many rows were missing before.
    struct Sum;

    impl GroupScan<i64> for Sum {
        type State = [i64; 2];
        type Out = i64;
        const START: [i64; 2] = [0; 2];

        fn next(state: &mut [i64; 2], cell: i64) -> i64 {
            state[0] += cell;
            state[0] * 1000 + state[1]
        }

        fn skip(state: &mut [i64; 2]) {
            state[1] += 1;
        }
    }

    #[test]
    fn ranges_are_scanned_as_the_same_groups_by_parents_are() {
        let mut rng = Rng::with_seed(13);
        for round in 0..100 {
            let (len, share) = (rng.usize(..300), [1.0, 0.6][round % 2]);
            let mut points: Vec<usize> =
                (0..rng.usize(..9)).map(|_| rng.usize(..=len)).chain([0, len]).collect();
            points.sort_unstable();
            let mut value = || (rng.f64() < share).then(|| ScalarValue::Int64(rng.i64(0..100)));
            let rows =
                ArrayRows::from_values(ScalarType::Int64, &(0..len).map(|_| value()).collect::<Vec<_>>());
            let (read, meter) = (ReadRows::kept(&rows), Meter::of_default());
            let edge = Edge::from_points(points).expect("an edge");
            let (mapping, groups) = (edge.mapping(), edge.parent_size());
            let points = edge.split_points().expect("points");
            let scanned = |by_parent: bool| {
                let (mut out, mut presence) = (vec![-1; len], vec![u64::MAX; len.div_ceil(64)]);
                let of = (read.all::<i64>().expect("rows in order"), &read);
                let outcome = match by_parent {
                    true => {
                        scan_groups::<i64, Sum>(of, (&mapping, groups), (&mut out, &mut presence), &meter)
                    }
                    false => scan_ranges::<i64, Sum>(of, points, (&mut out, &mut presence), &meter),
                };
                outcome.map(|()| (out, presence)).expect("memory")
            };
            assert_eq!(scanned(true), scanned(false));
        }
    }
}
