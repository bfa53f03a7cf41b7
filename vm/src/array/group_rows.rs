//! Folds that take the rows of a group one after the other and know a single state of it: of all groups at once, as rows come.
//!
//! ```text
//! row   parent    known of group 1, before          after
//! 3.5 ─── 1 ────▶ 2.0 at place 4, 6 rows so far     3.5 at place 6, 7 rows
//! ```

use crate::array::children::{Children, TakeRow};
use crate::array::meter::Meter;
use crate::array::read_rows::ReadRows;
use crate::array::rows_out::RowsOut;
use crate::layout::PlainSlot;
use crate::value::array::ROWS_OF_A_WORD;
use crate::value::edge::Parents;
use crate::value::{Edge, Fault};
use crate::vector::reduce::Reducible;
use bytemuck::Pod;
use std::marker::PhantomData;

/// A fold of the rows of a group in their order.
pub(crate) trait RowsInTurn {
    /// A row.
    type Row: Pod;
    /// What is known of the rows so far.
    type State: Copy;
    /// The result.
    type Out: PlainSlot;
    /// What is known of no rows.
    const START: Self::State;

    /// Takes in the next row, if it is present.
    fn take(state: &mut Self::State, row: Self::Row, is_present: bool);

    /// The result of all rows.
    fn result(state: Self::State) -> Self::Out;
}

/// The product of the present rows; missing without any. Integers wrap.
pub(crate) struct ProductOf<T>(PhantomData<T>);

impl<T: Reducible> RowsInTurn for ProductOf<T>
where
    Option<T>: PlainSlot,
{
    type Row = T;
    type State = Option<T::Product>;
    type Out = Option<T>;
    const START: Option<T::Product> = None;

    #[inline(always)]
    fn take(state: &mut Option<T::Product>, row: T, is_present: bool) {
        if is_present {
            *state = Some(state.map_or(row.product(), |product| T::times(product, row)));
        }
    }

    fn result(state: Option<T::Product>) -> Option<T> {
        state.map(T::of_product)
    }
}

/// The place in its group of the first row that is the least, with `GREATEST` the greatest, or of the first NaN; missing without
/// rows.
pub(crate) struct PlaceOfBest<T, const GREATEST: bool>(PhantomData<T>);

/// The best row so far, and its place.
#[derive(Clone, Copy)]
pub(crate) struct BestSoFar<T> {
    best: Option<T>,
    place: u32,
    /// Rows so far, missing ones too.
    rows: u32,
}

impl<T: Reducible, const GREATEST: bool> RowsInTurn for PlaceOfBest<T, GREATEST> {
    type Row = T;
    type State = BestSoFar<T>;
    type Out = Option<i64>;
    const START: BestSoFar<T> = BestSoFar { best: None, place: 0, rows: 0 };

    #[inline(always)]
    fn take(state: &mut BestSoFar<T>, row: T, is_present: bool) {
        // A comparison with NaN does not hold: nothing is better than it, and it is better than anything else.
        let is_no_better = |best: T| best.is_nan() || if GREATEST { row <= best } else { row >= best };
        if is_present && !state.best.is_some_and(is_no_better) {
            (state.best, state.place) = (Some(row), state.rows);
        }
        state.rows += 1;
    }

    fn result(state: BestSoFar<T>) -> Option<i64> {
        state.best.map(|_| i64::from(state.place))
    }
}

/// Makes a row for each parent. `false`, and nothing is made, if the rows do not stand one after the other in memory or the parent
/// is no row: then they have to be gathered.
pub(crate) fn fold_in_turn<F: RowsInTurn>(
    rows: &ReadRows<'_>,
    edge: &Edge,
    out: &mut RowsOut<'_>,
    meter: &Meter<'_>,
) -> Result<bool, Fault> {
    let (Some(cells), Some(parents)) = (rows.all::<F::Row>(), edge.parents()) else { return Ok(false) };
    match parents {
        Parents::Points(points) => fold_ranges_in_turn::<F>((cells, rows), points, out, meter)?,
        Parents::Stored(parents) => {
            let groups = edge.parent_size();
            let mut states = meter.collect((0..groups).map(|_| F::START))?;
            // SAFETY: there is a state for each group.
            unsafe { Children { cells, rows, parents }.each(meter, &mut States::<F>(&mut states))? };
            out.fill_plain(groups, |group| Ok(F::result(states[group])))?;
        }
    }
    Ok(true)
}

/// The same of groups that are ranges of rows: what is known of one stays in registers.
fn fold_ranges_in_turn<F: RowsInTurn>(
    (cells, rows): (&[F::Row], &ReadRows<'_>),
    points: &[usize],
    out: &mut RowsOut<'_>,
    meter: &Meter<'_>,
) -> Result<(), Fault> {
    let mut pace = meter.pace();
    out.fill_plain(points.len() - 1, |group| {
        let (mut state, end) = (F::START, points[group + 1]);
        for first in (points[group]..end).step_by(ROWS_OF_A_WORD) {
            let mut present = rows.word_from(first);
            for cell in &cells[first..end.min(first + ROWS_OF_A_WORD)] {
                F::take(&mut state, *cell, present & 1 == 1);
                present >>= 1;
            }
            pace.over(ROWS_OF_A_WORD)?;
        }
        Ok(F::result(state))
    })
}

/// What is known of groups so far.
struct States<'s, F: RowsInTurn>(&'s mut [F::State]);

impl<F: RowsInTurn> TakeRow<F::Row> for States<'_, F> {
    #[inline(always)]
    unsafe fn take(&mut self, parent: usize, _: usize, cell: F::Row, is_present: bool) {
        // SAFETY: the caller's promise.
        F::take(unsafe { self.0.get_unchecked_mut(parent) }, cell, is_present);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::{ArrayRows, ScalarType, ScalarValue};
    use crate::vector::reduce;
    use crate::vector::stop::go_on;
    use fastrand::Rng;

    /// The values by group, with their places.
    fn check<F: RowsInTurn<Row = f64>>(
        rows: &ArrayRows,
        edge: &Edge,
        expected: impl Fn(&[f64], &[i64]) -> Option<ScalarValue>,
    ) {
        let (meter, read) = (Meter::of_default(), ReadRows::kept(rows));
        let mut found = ArrayRows::new(ScalarType::Float64);
        let mut out = RowsOut::new(&mut found, &meter);
        assert_eq!(fold_in_turn::<F>(&read, edge, &mut out, &meter), Ok(true));
        for (group, members) in edge.groups().iter().enumerate() {
            let present = (0..).zip(members).filter(|(_, row)| rows.is_present(**row));
            let (places, values): (Vec<i64>, Vec<f64>) =
                present.map(|(place, row)| (place, read.read::<f64>(*row))).unzip();
            let expected = expected(&values, &places);
            assert_eq!(
                format!("{:?}", found.get(group)),
                format!("{expected:?}"),
                "group {group} of {values:?}"
            );
        }
    }

    #[test]
    fn results_are_those_of_rows_that_are_gathered() {
        let mut rng = Rng::with_seed(11);
        for round in 0..60 {
            let (len, groups) = (rng.usize(..200), rng.usize(1..12));
            let ids: Vec<_> = (0..len)
                .map(|_| {
                    (rng.f64() < [1.0, 0.8][round % 2]).then(|| ScalarValue::Int64(rng.i64(0..groups as i64)))
                })
                .collect();
            let edge = match round % 5 {
                0 => {
                    let mut points: Vec<usize> =
                        (1..groups).map(|_| rng.usize(..=len)).chain([0, len]).collect();
                    points.sort_unstable();
                    Edge::from_points(points)
                }
                _ => Edge::from_mapping(ArrayRows::from_values(ScalarType::Int64, &ids), groups),
            };
            let edge = edge.expect("an edge");
            let value = |rng: &mut Rng| [0.0, -0.0, 1.5, -2.0, 3.0, f64::NAN, f64::INFINITY][rng.usize(..7)];
            let values: Vec<_> = (0..len)
                .map(|_| {
                    (rng.f64() < [1.0, 0.7, 0.1][round % 3]).then(|| ScalarValue::Float64(value(&mut rng)))
                })
                .collect();
            let rows = ArrayRows::from_values(ScalarType::Float64, &values);
            let place = |at: Option<usize>, places: &[i64]| at.map(|at| ScalarValue::Int64(places[at]));
            check::<ProductOf<f64>>(&rows, &edge, |values, _| {
                reduce::prod(values, &go_on).map(ScalarValue::Float64)
            });
            check::<PlaceOfBest<f64, true>>(&rows, &edge, |values, places| {
                place(reduce::argmax(values, &go_on), places)
            });
            check::<PlaceOfBest<f64, false>>(&rows, &edge, |values, places| {
                place(reduce::argmin(values, &go_on), places)
            });
        }
    }
}
