//! Folds of the groups of an edge, all at once: rows are taken as they come, each into what is known of its group.
//!
//! ```text
//! row   parent          group 0   8 lanes of the leaf that its rows stand in, parts of the leaves before it
//! 3.5 ─── 1 ──────────▶ group 1   8 lanes, …
//!                       group 2   …
//! ```
//!
//! The bits are those of the rows of a group gathered and folded by themselves: leaves depend on how many rows a group has,
//! which is counted first, and a missing row counts as it does there. A fold whose parts may be any has no leaves, so
//! that nothing is counted first.

use crate::builtins::present::Cell;
use crate::operator::meter::{Meter, Scratch};
use crate::operator::read_rows::ReadRows;
use crate::operator::row_fold::RowFold;
use crate::operator::rows_out::RowsOut;
use crate::value::array::ROWS_OF_A_WORD;
use crate::value::{ArrayRows, Edge, Fault};
use crate::vector::fold::{Fold, SUMS, join_leaves};
use crate::vector::leaves::Leaves;
use crate::vector::spread::LEAF;
use bytemuck::Zeroable;

type Part<R> = <<R as RowFold>::Fold as Fold>::Part;

/// Appends a row for each parent; `false` if rows have to be gathered: they are not one after the other, the edge does not
/// hold parents, or lanes for all groups would take much more memory than the rows.
pub(super) fn fold_groups<R: RowFold<Row: Cell>>(
    rows: &ReadRows<'_>,
    edge: &Edge,
    out: &mut RowsOut<'_>,
    meter: &Meter<'_>,
) -> Result<bool, Fault> {
    let (Some(cells), Some(parents)) = (R::Row::all(rows), edge.stored_mapping()) else { return Ok(false) };
    let has_few_lanes = || edge.parent_size().saturating_mul(SUMS) <= cells.len() + FEW_LANES;
    let children = Children { cells, rows, parents };
    match R::Fold::HAS_ANY_PARTS {
        true => fold_into_parts::<R>(&children, edge.parent_size(), out, meter)?,
        false if has_few_lanes() => fold_into_lanes::<R>(&children, edge, out, meter)?,
        false => return Ok(false),
    }
    Ok(true)
}

/// Lanes that are few beside any number of rows that takes time.
const FEW_LANES: usize = 1 << 14;

/// Rows and the parent of each.
struct Children<'c, T> {
    cells: &'c [T],
    rows: &'c ReadRows<'c>,
    parents: &'c ArrayRows,
}

/// What rows are taken in by. No closure: two loops take rows, and a closure that two loops call is not inlined.
trait TakeRow<T> {
    /// Takes in a row that has a parent.
    fn take(&mut self, parent: usize, cell: T, is_present: bool);
}

impl<T: Copy> Children<'_, T> {
    /// Takes in each row that has a parent.
    fn each(&self, meter: &Meter<'_>, taking: &mut impl TakeRow<T>) -> Result<(), Fault> {
        let (ids, with_parent) =
            (bytemuck::cast_slice::<_, i64>(self.parents.bytes()), ReadRows::kept(self.parents));
        let are_all_there = self.rows.are_all_present() && with_parent.are_all_present();
        for stride in meter.strides(self.cells.len()) {
            let stride = stride?;
            let (cells, ids) = (&self.cells[stride.clone()], &ids[stride.clone()]);
            if are_all_there {
                cells.iter().zip(ids).for_each(|(cell, parent)| taking.take(*parent as usize, *cell, true));
                continue;
            }
            let words = cells.chunks(ROWS_OF_A_WORD).zip(ids.chunks(ROWS_OF_A_WORD));
            for (number, (cells, ids)) in (stride.start / ROWS_OF_A_WORD..).zip(words) {
                let (with_parent, present) = (with_parent.word(number), self.rows.word(number));
                for (row, (cell, parent)) in cells.iter().zip(ids).enumerate() {
                    if with_parent >> row & 1 == 1 {
                        taking.take(*parent as usize, *cell, present >> row & 1 == 1);
                    }
                }
            }
        }
        Ok(())
    }
}

/// Rows of groups that are known by one part each.
struct Parts<'p, R: RowFold> {
    known: &'p mut [Part<R>],
    /// How many rows of each group are present, if the result depends on it.
    counts: &'p mut [u32],
}

impl<R: RowFold> TakeRow<R::Row> for Parts<'_, R> {
    #[inline(always)]
    fn take(&mut self, parent: usize, cell: R::Row, is_present: bool) {
        if is_present {
            let known = &mut self.known[parent];
            *known = R::Fold::join(*known, R::Fold::of_one(R::element(cell)));
            if R::COUNTS {
                self.counts[parent] += 1;
            }
        }
    }
}

fn fold_into_parts<R: RowFold<Row: Cell>>(
    children: &Children<'_, R::Row>,
    groups: usize,
    out: &mut RowsOut<'_>,
    meter: &Meter<'_>,
) -> Result<(), Fault> {
    let (mut parts, mut counts) = (meter.zeros::<Part<R>>(groups)?, counts_for::<R>(groups, meter)?);
    for stride in meter.strides(groups) {
        parts[stride?].fill(R::Fold::of_one(R::MISSING));
    }
    children.each(meter, &mut Parts::<R> { known: &mut parts, counts: &mut counts })?;
    for stride in meter.strides(groups) {
        for group in stride? {
            let present = counts.get(group).map_or(0, |count| *count);
            out.push_plain(R::result(R::Fold::finish(parts[group], present as usize), present.into()))?;
        }
    }
    Ok(())
}

/// A count for each group, if the result depends on them.
fn counts_for<'m, R: RowFold>(groups: usize, meter: &'m Meter<'m>) -> Result<Scratch<'m, u32>, Fault> {
    meter.zeros(if R::COUNTS { groups } else { 0 })
}

/// Where a group stands in the leaf that its rows go to.
struct Group<P> {
    lanes: [P; SUMS],
    /// Rows that are in the lanes, of those that go there.
    row: u32,
    in_lanes: u32,
    /// What the lanes have become, and the rows after them.
    part: P,
    /// Rows after those of the lanes that are still to come.
    rest: usize,
    /// Rows up to the end of this leaf, and of the group.
    taken: usize,
    count: usize,
    /// Place of the part of the leaf.
    place: usize,
}

impl<P: Zeroable + Copy> Group<P> {
    /// A group before its first row, whose parts stand from a place on.
    fn new(count: usize, place: usize) -> Group<P> {
        let (lanes, part) = ([P::zeroed(); SUMS], P::zeroed());
        let mut group = Group { lanes, row: 0, in_lanes: 0, part, rest: 0, taken: 0, count, place };
        group.begin_leaf();
        group
    }

    /// Empty lanes for the next leaf; at the end none are left.
    fn begin_leaf(&mut self) {
        let size = match self.count {
            _ if self.taken == self.count => 0,
            count if count <= LEAF => count,
            count => Leaves::from(count, self.taken).0.next_size(),
        };
        self.taken += size;
        if self.row > 0 {
            self.lanes = [P::zeroed(); SUMS];
        }
        self.part = P::zeroed();
        (self.row, self.in_lanes, self.rest) = (0, (size - size % SUMS) as u32, size % SUMS);
    }

    #[inline(always)]
    fn take<F: Fold<Part = P>>(&mut self, value: F::Element, parts: &mut [P]) {
        let value = F::of_one(value);
        if self.row == self.in_lanes {
            return self.take_rest::<F>(value, parts);
        }
        let lane = &mut self.lanes[self.row as usize % SUMS];
        *lane = F::join(*lane, value);
        self.row += 1;
        if self.row == self.in_lanes {
            self.end_lanes::<F>(parts);
        }
    }

    #[inline(never)]
    fn take_rest<F: Fold<Part = P>>(&mut self, value: P, parts: &mut [P]) {
        self.part = F::join(self.part, value);
        self.rest -= 1;
        if self.rest == 0 {
            self.end_leaf(parts);
        }
    }

    #[inline(never)]
    fn end_lanes<F: Fold<Part = P>>(&mut self, parts: &mut [P]) {
        let [a, b, c, d, e, f, g, h] = self.lanes;
        self.part = F::join(F::join(F::join(a, b), F::join(c, d)), F::join(F::join(e, f), F::join(g, h)));
        if self.rest == 0 {
            self.end_leaf(parts);
        }
    }

    fn end_leaf(&mut self, parts: &mut [P]) {
        parts[self.place] = self.part;
        self.place += 1;
        self.begin_leaf();
    }
}

/// Rows of groups that are known by the lanes of a leaf and the parts of those before it.
struct Lanes<'p, R: RowFold> {
    groups: &'p mut [Group<Part<R>>],
    parts: &'p mut [Part<R>],
    counts: &'p mut [u32],
}

impl<R: RowFold> TakeRow<R::Row> for Lanes<'_, R> {
    #[inline(always)]
    fn take(&mut self, parent: usize, cell: R::Row, is_present: bool) {
        let value = if is_present { R::element(cell) } else { R::MISSING };
        self.groups[parent].take::<R::Fold>(value, self.parts);
        if R::COUNTS {
            self.counts[parent] += u32::from(is_present);
        }
    }
}

/// Places for the parts of a group: several leaves have at least 64 rows each.
fn places(count: usize) -> usize {
    count.div_ceil(LEAF / 2)
}

fn fold_into_lanes<R: RowFold<Row: Cell>>(
    children: &Children<'_, R::Row>,
    edge: &Edge,
    out: &mut RowsOut<'_>,
    meter: &Meter<'_>,
) -> Result<(), Fault> {
    let (mut groups, count) = begin::<Part<R>>(edge, meter)?;
    let (mut parts, mut counts) = (meter.zeros::<Part<R>>(count)?, counts_for::<R>(groups.len(), meter)?);
    let mut lanes = Lanes::<R> { groups: &mut groups, parts: &mut parts, counts: &mut counts };
    children.each(meter, &mut lanes)?;
    let mut first = 0;
    for stride in meter.strides(groups.len()) {
        for number in stride? {
            let (count, mut of_group) = (groups[number].count, parts[first..].iter());
            let folded = join_leaves::<R::Fold>(count, &mut |size| match size {
                0 => R::Fold::leaf(&[]),
                _ => *of_group.next().expect("a part for each leaf"),
            });
            first += places(count);
            let present = counts.get(number).map_or(0, |count| *count);
            out.push_plain(R::result(folded, present.into()))?;
        }
    }
    Ok(())
}

/// The groups before their first rows, and how many parts they have places for.
fn begin<'m, P: Zeroable + Copy>(
    edge: &Edge,
    meter: &'m Meter<'m>,
) -> Result<(Scratch<'m, Group<P>>, usize), Fault> {
    let mut counts = meter.zeros::<u32>(edge.parent_size())?;
    let counted = &mut counts[..];
    edge.each_child(meter, |_, parent| counted[parent] += 1)?;
    let (mut groups, mut parts) = (meter.vec(counts.len())?, 0);
    for stride in meter.strides(counts.len()) {
        for count in &counts[stride?] {
            groups.push(Group::new(*count as usize, parts));
            parts += places(*count as usize);
        }
    }
    Ok((groups, parts))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtins::present::{Gathered, GroupsOf, Members};
    use crate::operator::row_fold::{BestOf, MeanOf, SumOf, fold_present};
    use crate::value::{ArrayRows, ScalarType, ScalarValue};
    use bumpalo::Bump;
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

    fn check<R: RowFold<Row: Cell>>(rows: &ArrayRows, edge: &Edge, result: ScalarType) {
        let (meter, arena, read) = (Meter::of_default(), Bump::new(), ReadRows::kept(rows));
        let (mut found, mut expected) = (ArrayRows::new(result), ArrayRows::new(result));
        let mut out = RowsOut::new(&mut found, &meter);
        assert!(fold_groups::<R>(&read, edge, &mut out, &meter).expect("memory"), "{result}");
        let mut out = RowsOut::new(&mut expected, &meter);
        let mut gathered = Gathered::<R::Row>::new(&meter, &arena).expect("memory");
        for group in GroupsOf::new(edge, &meter).expect("memory").iter() {
            let present = gathered.present(read, Members::Of(group), &meter).expect("memory");
            let folded = fold_present::<R>(present.values, present.places, present.size, &|| false);
            out.push_plain(folded).expect("memory");
        }
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
        for round in 0..24 {
            let edge = edge(round % 2 == 1, &mut rng);
            let share = [1.0, 0.7, 0.02][round % 3];
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
    fn lanes_take_no_more_memory_than_rows() {
        let ids: Vec<_> = (0..10).map(|row| Some(ScalarValue::Int64(row * 1000))).collect();
        let edge =
            Edge::from_mapping(ArrayRows::from_values(ScalarType::Int64, &ids), 10_000).expect("an edge");
        let rows = ArrayRows::from_values(ScalarType::Float64, &vec![Some(ScalarValue::Float64(1.0)); 10]);
        let (meter, mut found) = (Meter::of_default(), ArrayRows::new(ScalarType::Float64));
        let mut out = RowsOut::new(&mut found, &meter);
        let is_folded = fold_groups::<SumOf<f64>>(&ReadRows::kept(&rows), &edge, &mut out, &meter);
        assert_eq!((is_folded, found.len()), (Ok(false), 0));
    }
}
