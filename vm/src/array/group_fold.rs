//! Folds of the groups of an edge, all at once: rows are taken as they come.
//!
//! ```text
//! row   parent        extremes, sums of integers     sums of floats
//! 3.5 ─── 1 ────▶     what is known of group 1       one of the eight lanes of its leaf, or of the rows behind them
//! ```
//!
//! A fold whose parts may be any knows one part of each group. Leaves of any other one depend on how many rows a group has,
//! which is counted first; a missing row counts as it does alone. The bits are those of the rows of a group gathered and
//! folded by themselves. Rows that are moved group by group instead, or a leaf of each, leave the first cache, and take longer
//! where groups are large; where they are small, a call for each group takes longer than its rows do.

use crate::array::children::{Children, TakeRow};
use crate::array::group_ranges::fold_ranges;
use crate::array::meter::{Meter, Scratch};
use crate::array::read_rows::ReadRows;
use crate::array::row_fold::{RowFold, element_of};
use crate::array::rows_out::RowsOut;
use crate::value::edge::Parents;
use crate::value::{Edge, Fault};
use crate::vector::fold::{Fold, SUMS, join_leaves};
use crate::vector::leaves::Leaves;
use crate::vector::spread::LEAF;
use bytemuck::{Pod, Zeroable};

type Part<R> = <<R as RowFold>::Fold as Fold>::Part;

/// Makes a row for each parent. `false`, and nothing is made, if the rows do not stand one after the other in memory or the parent
/// is no row: then they have to be gathered.
pub(crate) fn fold_groups<R: RowFold<Row: Pod>>(
    rows: &ReadRows<'_>,
    edge: &Edge,
    out: &mut RowsOut<'_>,
    meter: &Meter<'_>,
) -> Result<bool, Fault> {
    let (Some(cells), Some(parents)) = (rows.all::<R::Row>(), edge.parents()) else { return Ok(false) };
    match parents {
        Parents::Points(points) => fold_ranges::<R>((cells, rows), points, out, meter)?,
        Parents::Stored(parents) => {
            let (children, groups) = (Children { cells, rows, parents }, edge.parent_size());
            match R::Fold::HAS_ANY_PARTS {
                true => fold_into_parts::<R>(&children, groups, out, meter)?,
                false => fold_into_places::<R>(&children, groups, out, meter)?,
            }
        }
    }
    Ok(true)
}

/// How many rows each group of an edge has, if that is asked for, and how many of them are present, for [`counted`]; `None` if the
/// parent is no row.
pub(crate) fn counts_of_groups<'m>(
    rows: &ReadRows<'_>,
    edge: &Edge,
    asks_size: bool,
    meter: &'m Meter<'m>,
) -> Result<Option<Scratch<'m, u64>>, Fault> {
    let Some(parents) = edge.parents() else { return Ok(None) };
    let mut counts = meter.zeros::<u64>(edge.parent_size())?;
    match parents {
        Parents::Stored(parents) => {
            // Without a size, they take no memory.
            let children = Children { cells: &vec![(); rows.len()], rows, parents };
            let mut counting = Counts(&mut counts);
            // SAFETY: there is a count for each group of the edge.
            unsafe {
                match asks_size {
                    true => children.each(meter, &mut counting)?,
                    false => children.each_present(meter, &mut counting)?,
                }
            }
        }
        Parents::Points(points) => {
            for stride in meter.strides(counts.len()) {
                for group in stride? {
                    let range = points[group]..points[group + 1];
                    counts[group] = range.len() as u64 | (rows.present_in(range) as u64) << 32;
                }
            }
        }
    }
    Ok(Some(counts))
}

/// The rows of a group, and those that are present.
pub(crate) fn counted(count: u64) -> [usize; 2] {
    [count as u32 as usize, (count >> 32) as usize]
}

/// Rows of each group, and in the upper half those that are present: one addition counts both.
struct Counts<'c>(&'c mut [u64]);

impl<T> TakeRow<T> for Counts<'_> {
    #[inline(always)]
    unsafe fn take(&mut self, parent: usize, _: usize, _: T, is_present: bool) {
        // SAFETY: the caller's promise.
        unsafe { *self.0.get_unchecked_mut(parent) += 1 | u64::from(is_present) << 32 };
    }
}

/// Groups that are known by one part each.
struct Parts<'p, R: RowFold>(&'p mut [Part<R>]);

impl<R: RowFold> TakeRow<R::Row> for Parts<'_, R> {
    #[inline(always)]
    unsafe fn take(&mut self, parent: usize, _: usize, cell: R::Row, is_present: bool) {
        let part = R::Fold::of_one(element_of::<R>(cell, is_present));
        // SAFETY: the caller's promise.
        let known = unsafe { self.0.get_unchecked_mut(parent) };
        // Of many rows, few are better than all before.
        if R::Fold::may_change(*known, part) {
            *known = R::Fold::join(*known, part);
        }
    }
}

fn fold_into_parts<R: RowFold<Row: Pod>>(
    children: &Children<'_, R::Row>,
    groups: usize,
    out: &mut RowsOut<'_>,
    meter: &Meter<'_>,
) -> Result<(), Fault> {
    let (none, mut parts) = (R::Fold::of_one(R::MISSING), meter.zeros::<Part<R>>(groups)?);
    for stride in meter.strides(groups) {
        parts[stride?].fill(none);
    }
    // SAFETY: there is a part for each group.
    unsafe { children.each(meter, &mut Parts::<R>(&mut parts))? };
    // Rows are counted only where that may tell something: a group of which nothing is known may have some all the same.
    let is_open = |part: &Part<R>| bytemuck::bytes_of(part) == bytemuck::bytes_of(&none);
    let (mut counts, mut is_one_open) = (meter.zeros::<u64>(0)?, false);
    for stride in meter.strides(if R::COUNTS { groups } else { 0 }) {
        let stride = stride?;
        is_one_open = is_one_open || parts[stride].iter().any(is_open);
    }
    if is_one_open {
        counts = meter.zeros(groups)?;
        // SAFETY: there is a count for each group.
        unsafe { children.each(meter, &mut Counts(&mut counts))? };
    }
    out.fill_plain(groups, |group| {
        let present = counts.get(group).map_or(1, |count| counted(*count)[1]);
        Ok(R::result(R::Fold::finish(parts[group], present), present as u64))
    })
}

/// Groups whose rows go to places of their own: to the lanes of each leaf in turn, and behind those of the last leaf the rows
/// that are no whole turn, each to one.
///
/// ```text
/// 133 rows      leaf of 64        leaf of 69
/// places        0 1 2 … 7         8 9 10 … 15      16 17 18 19 20
/// ```
struct Places<'p, R: RowFold> {
    parts: &'p mut [Part<R>],
    next: &'p mut [Next],
    groups: &'p mut [Group],
}

/// Where the next rows of a group go: turns of [`SUMS`] places, or less than one. In the lower half how many rows still go there,
/// in the upper one the first of the places; of less than a turn, those in front are not its own, and the last row goes to the
/// last one. A row then reads one number and writes one.
#[derive(Clone, Copy)]
struct Next(u64);

impl Next {
    fn new(left: u32, first: u32) -> Next {
        Next(u64::from(first) << 32 | u64::from(left))
    }

    #[inline(always)]
    fn left(self) -> u32 {
        self.0 as u32
    }

    #[inline(always)]
    fn first(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

/// A group, and how many of its rows have a place so far.
#[derive(Clone, Copy)]
struct Group {
    count: u32,
    placed: u32,
}

impl Group {
    /// Goes on to the places behind those of a turn, if there are more rows.
    #[inline]
    fn go_on(&mut self, next: Next) -> Next {
        let (count, placed, sums) = (self.count as usize, self.placed as usize, SUMS as u32);
        let rows = match count <= LEAF {
            true => count - placed,
            false => {
                let (mut leaves, at) = Leaves::from(count, placed);
                leaves.next_size() - at
            }
        } as u32;
        let first = next.first().wrapping_add(sums);
        let next = match rows < sums {
            true => Next::new(rows, first.wrapping_sub(sums - rows)),
            false => Next::new(rows - rows % sums, first),
        };
        self.placed += next.left();
        next
    }
}

/// Places that a group of so many rows takes at most: several leaves have at least 64 rows each.
fn places_of(count: usize) -> usize {
    let leaves = if count <= LEAF { usize::from(count >= SUMS) } else { count / (LEAF / 2) };
    leaves * SUMS + count % SUMS
}

impl<R: RowFold> TakeRow<R::Row> for Places<'_, R> {
    #[inline(always)]
    unsafe fn take(&mut self, parent: usize, _: usize, cell: R::Row, is_present: bool) {
        let value = R::Fold::of_one(element_of::<R>(cell, is_present));
        // SAFETY: the caller's promise: groups know where their rows go, and have places for all of them.
        unsafe {
            let mut next = *self.next.get_unchecked(parent);
            if next.left() == 0 {
                next = go_on(self.groups.get_unchecked_mut(parent), next);
            }
            let place = next.first().wrapping_add(next.left().wrapping_neg() % SUMS as u32);
            let part = self.parts.get_unchecked_mut(place as usize);
            *part = R::Fold::join(*part, value);
            *self.next.get_unchecked_mut(parent) = Next(next.0 - 1);
        }
    }
}

/// As [`Group::go_on`], out of the loop over rows.
#[inline(never)]
fn go_on(group: &mut Group, next: Next) -> Next {
    group.go_on(next)
}

fn fold_into_places<R: RowFold<Row: Pod>>(
    children: &Children<'_, R::Row>,
    count: usize,
    out: &mut RowsOut<'_>,
    meter: &Meter<'_>,
) -> Result<(), Fault> {
    let mut counts = meter.zeros::<u64>(count)?;
    // SAFETY: there is a count for each group.
    unsafe { children.each(meter, &mut Counts(&mut counts))? };
    let (mut next, mut groups, mut end) = (meter.vec(count)?, meter.vec(count)?, 0);
    for stride in meter.strides(count) {
        for rows in counts[stride?].iter().map(|count| counted(*count)[0]) {
            let before = Next::new(0, (end as u32).wrapping_sub(SUMS as u32));
            let mut group = Group { count: rows as u32, placed: 0 };
            next.push(if rows > 0 { group.go_on(before) } else { before });
            groups.push(group);
            end += places_of(rows);
        }
    }
    let mut parts = meter.zeros::<Part<R>>(end)?;
    let mut places = Places::<R> { parts: &mut parts, next: &mut next, groups: &mut groups };
    // SAFETY: all groups know where their rows go, and go on to as many places as `places_of` counts.
    unsafe { children.each(meter, &mut places)? };
    let mut at = 0;
    out.fill_plain(count, |group| {
        let [count, present] = counted(counts[group]);
        let first = at;
        let folded = join_leaves::<R::Fold>(count, &mut |size| {
            let (lanes, rest) = (if size < SUMS { 0 } else { SUMS }, size % SUMS);
            let leaf = &parts[at..at + lanes + rest];
            at += leaf.len();
            leaf_of_places::<R::Fold>(leaf, lanes)
        });
        at = first + places_of(count);
        Ok(R::result(folded, present as u64))
    })
}

/// The part of a leaf from its places, of which the first ones are lanes if there are any.
fn leaf_of_places<F: Fold>(places: &[F::Part], lanes: usize) -> F::Part {
    let (lanes, rest) = places.split_at(lanes);
    let first = match *lanes {
        [a, b, c, d, e, f, g, h] => {
            F::join(F::join(F::join(a, b), F::join(c, d)), F::join(F::join(e, f), F::join(g, h)))
        }
        _ => F::Part::zeroed(),
    };
    rest.iter().fold(first, |part, value| F::join(part, *value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::row_fold::{BestOf, MeanOf, SumOf, fold_present};
    use crate::value::{ArrayRows, ScalarType, ScalarValue};
    use fastrand::Rng;

    /// Groups of sizes around those of lanes and leaves, their rows shuffled; one group without rows.
    fn edge(has_gaps: bool, rng: &mut Rng) -> Edge {
        let sizes = [0, 1, 3, 7, 8, 9, 15, 64, 127, 128, 129, 200, 257, 700, 1031];
        let groups = sizes.iter().enumerate().flat_map(|(group, size)| std::iter::repeat_n(group, *size));
        let mut parents: Vec<usize> = groups.collect();
        rng.shuffle(&mut parents);
        let ids: Vec<_> = parents
            .iter()
            .map(|group| (!has_gaps || rng.f64() < 0.8).then_some(ScalarValue::Int64(*group as i64)))
            .collect();
        Edge::from_mapping(ArrayRows::from_values(ScalarType::Int64, &ids), sizes.len()).expect("an edge")
    }

    fn check<R: RowFold<Row: Pod>>(rows: &ArrayRows, edge: &Edge, result: ScalarType) {
        let (meter, read) = (Meter::of_default(), ReadRows::kept(rows));
        let (mut found, mut expected) = (ArrayRows::new(result), ArrayRows::new(result));
        let mut out = RowsOut::new(&mut found, &meter);
        assert!(fold_groups::<R>(&read, edge, &mut out, &meter).expect("memory"), "{result}");
        let mut out = RowsOut::new(&mut expected, &meter);
        let (groups, mut folded_rows) = (edge.groups(), Vec::new());
        for group in groups.iter() {
            let present = (0..).zip(group).filter(|(_, row)| rows.is_present(**row));
            let (places, values): (Vec<u32>, Vec<R::Row>) =
                present.map(|(place, row)| (place, read.read::<R::Row>(*row))).unzip();
            let folded = fold_present::<R>(&values, Some(&places), group.len(), &|| false);
            folded_rows.push(folded);
        }
        out.fill_plain(folded_rows.len(), |group| Ok(folded_rows[group])).expect("memory");
        let counts =
            counts_of_groups(&read, edge, true, &meter).expect("memory").expect("the edge holds parents");
        let members: Vec<[usize; 2]> = groups
            .iter()
            .map(|rows_of| [rows_of.len(), rows_of.iter().filter(|row| rows.is_present(**row)).count()])
            .collect();
        assert!(counts.iter().map(|count| counted(*count)).eq(members.iter().copied()), "{result}");
        let counts = counts_of_groups(&read, edge, false, &meter).expect("memory").expect("as before");
        let present = members.iter().map(|[_, present]| *present);
        assert!(counts.iter().map(|count| counted(*count)[1]).eq(present), "{result}");
        found.normalize();
        expected.normalize();
        assert_eq!(found.len(), edge.parent_size());
        for group in 0..found.len() {
            let (found, expected) = (&found, &expected);
            assert_eq!(found.is_present(group), expected.is_present(group), "group {group} of {result}");
            assert!(
                !found.is_present(group) || found.raw(group) == expected.raw(group),
                "group {group} of {result}"
            );
        }
    }

    #[test]
    fn groups_have_the_bits_of_their_rows_folded_alone() {
        let mut rng = Rng::with_seed(7);
        for round in 0..36 {
            let edge = match round % 3 {
                2 => Edge::from_points(vec![0, 0, 1, 4, 11, 19, 28, 92, 219, 347, 547, 800, 1900]),
                gaps => Ok(edge(gaps == 1, &mut rng)),
            };
            let edge = edge.expect("an edge");
            let share = [1.0, 0.7, 0.02][round / 3 % 3];
            let mut rows = |element, value: fn(&mut Rng) -> ScalarValue| {
                let values: Vec<_> =
                    (0..edge.child_size()).map(|_| (rng.f64() < share).then(|| value(&mut rng))).collect();
                ArrayRows::from_values(element, &values)
            };
            let doubles = rows(ScalarType::Float64, |rng| ScalarValue::Float64(rng.f64() * 2.0 - 1.0));
            let zeros = rows(ScalarType::Float64, |rng| ScalarValue::Float64([0.0, -0.0][rng.usize(..2)]));
            let singles = rows(ScalarType::Float32, |rng| ScalarValue::Float32(rng.f32() * 2.0 - 1.0));
            let nan = rows(ScalarType::Float32, |rng| {
                ScalarValue::Float32(if rng.usize(..9) == 0 { f32::NAN } else { rng.f32() })
            });
            let wide = rows(ScalarType::Int64, |rng| ScalarValue::Int64(rng.i64(..)));
            let narrow = rows(ScalarType::Int32, |rng| ScalarValue::Int32(rng.i32(..)));
            for doubles in [&doubles, &zeros] {
                check::<SumOf<f64>>(doubles, &edge, ScalarType::Float64);
                check::<MeanOf<f64>>(doubles, &edge, ScalarType::Float64);
                check::<BestOf<f64, true>>(doubles, &edge, ScalarType::Float64);
                check::<BestOf<f64, false>>(doubles, &edge, ScalarType::Float64);
            }
            check::<SumOf<f32>>(&singles, &edge, ScalarType::Float32);
            check::<MeanOf<f32>>(&singles, &edge, ScalarType::Float32);
            check::<BestOf<f32, true>>(&nan, &edge, ScalarType::Float32);
            check::<SumOf<i64>>(&wide, &edge, ScalarType::Int64);
            check::<BestOf<i64, false>>(&wide, &edge, ScalarType::Int64);
            check::<SumOf<i32>>(&narrow, &edge, ScalarType::Int32);
            check::<BestOf<i32, true>>(&narrow, &edge, ScalarType::Int32);
        }
    }

    #[test]
    fn places_take_no_more_memory_than_rows() {
        assert!((0..2000).all(|rows| places_of(rows) <= rows));
        let ids: Vec<_> = (0..10).map(|row| Some(ScalarValue::Int64(row * 1000))).collect();
        let edge =
            Edge::from_mapping(ArrayRows::from_values(ScalarType::Int64, &ids), 10_000).expect("an edge");
        let rows = ArrayRows::from_values(ScalarType::Float64, &vec![Some(ScalarValue::Float64(1.0)); 10]);
        check::<SumOf<f64>>(&rows, &edge, ScalarType::Float64);
        check::<MeanOf<f64>>(&rows, &edge, ScalarType::Float64);
    }
}
