//! The present rows of an array or of the groups of an edge, gathered for reductions and scans.

use crate::array::meter::{Meter, Scratch};
use crate::array::read_rows::ReadRows;
use crate::array::row_moves::each_chosen_of;
use crate::value::budget::Account;
use crate::value::edge::Groups;
use crate::value::{Edge, Fault};
use bumpalo::Bump;
use bumpalo::collections::Vec as BumpVec;
use std::ops::Range;

/// A row without a value of its own.
#[derive(Clone, Copy)]
pub(super) struct Unit;

/// What the rows of an array are read as.
pub(super) trait Cell: Copy {
    fn read(rows: &ReadRows<'_>, row: usize) -> Self;

    /// So many rows that say nothing but that they are present; `None` if rows have values.
    fn alike(_: usize) -> Option<Vec<Self>> {
        None
    }

    /// All cells, if they stand one after the other as they are read.
    fn all<'a>(rows: &ReadRows<'a>) -> Option<&'a [Self]>;
}

impl Cell for Unit {
    fn read(_: &ReadRows<'_>, _: usize) -> Unit {
        Unit
    }

    fn all<'a>(_: &ReadRows<'a>) -> Option<&'a [Unit]> {
        None
    }

    fn alike(count: usize) -> Option<Vec<Unit>> {
        // Without a size, they take no memory.
        Some(vec![Unit; count])
    }
}

macro_rules! cells {
    ($($rust:ty),*) => {$(
        impl Cell for $rust {
            fn read(rows: &ReadRows<'_>, row: usize) -> $rust {
                rows.read(row)
            }

            fn all<'a>(rows: &ReadRows<'a>) -> Option<&'a [$rust]> {
                rows.all()
            }
        }
    )*};
}

cells!(u8, i32, i64, f32, f64);

/// Code for the type of numbers that an element has; what surrounds it gives `None` of any other element.
macro_rules! with_number {
    ($element:expr, $number:ident => $code:expr) => {
        match $element {
            ScalarType::Int32 => with_number!(i32, $number: $code),
            ScalarType::Int64 => with_number!(i64, $number: $code),
            ScalarType::Float32 => with_number!(f32, $number: $code),
            ScalarType::Float64 => with_number!(f64, $number: $code),
            _ => return None,
        }
    };
    ($rust:ty, $number:ident: $code:expr) => {{
        type $number = $rust;
        $code
    }};
}
pub(super) use with_number;

/// The present rows of a group, and where in the group each stood.
pub(super) struct Present<'a, T> {
    pub(super) values: &'a [T],
    /// By value; `None` if no row of the group is missing.
    pub(super) places: Option<&'a [u32]>,
    /// Rows of the group, missing ones too.
    pub(super) size: usize,
}

impl<'a, T> Present<'a, T> {
    fn new(values: &'a [T], places: &'a [u32], size: usize) -> Present<'a, T> {
        Present { values, places: (values.len() < size).then_some(places), size }
    }

    pub(super) fn values(&self) -> &[T] {
        self.values
    }

    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    /// Where in its group a value stood.
    pub(super) fn place(&self, value: usize) -> i64 {
        self.places.map_or(value as i64, |places| i64::from(places[value]))
    }
}

/// Rows of groups that are gathered in the arena of the run, whose memory is kept for the next run.
const FEW: usize = 1 << 14;

/// Buffers for the present rows of one group after the other.
pub(super) struct Gathered<'m, T> {
    few: (BumpVec<'m, T>, BumpVec<'m, u32>),
    many: (Scratch<'m, T>, Scratch<'m, u32>),
}

impl<'m, T: Cell> Gathered<'m, T> {
    pub(super) fn new(meter: &'m Meter<'m>, arena: &'m Bump) -> Result<Gathered<'m, T>, Fault> {
        let few = (BumpVec::new_in(arena), BumpVec::new_in(arena));
        Ok(Gathered { few, many: (meter.vec(0)?, meter.vec(0)?) })
    }

    /// The present rows of a group.
    pub(super) fn present(
        &mut self,
        rows: ReadRows<'_>,
        group: Members<'_>,
        meter: &Meter<'_>,
    ) -> Result<Present<'_, T>, Fault> {
        let size = group.count();
        // Places are those of the values if none is missing.
        let placed = if rows.are_all_present() { 0 } else { size };
        if size <= FEW {
            let (values, places) = &mut self.few;
            values.clear();
            places.clear();
            values.reserve(size);
            places.reserve(placed);
            gather(&rows, group, meter, |value| values.push(value), |place| places.push(place))?;
            return Ok(Present::new(values, places, size));
        }
        let (values, places) = &mut self.many;
        values.clear();
        places.clear();
        values.reserve_exact(size)?;
        places.reserve_exact(placed)?;
        gather(&rows, group, meter, |value| values.push(value), |place| places.push(place))?;
        Ok(Present::new(values, places, size))
    }

    /// The present rows of an array, which are not copied if all are.
    pub(super) fn of_all<'a>(
        &'a mut self,
        rows: ReadRows<'a>,
        meter: &Meter<'_>,
    ) -> Result<Present<'a, T>, Fault> {
        match T::all(&rows).filter(|_| rows.are_all_present()) {
            Some(values) => Ok(Present { values, places: None, size: rows.len() }),
            None => self.present(rows, Members::Range(0..rows.len()), meter),
        }
    }
}

/// The rows of a group.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Members<'g> {
    /// Those of these numbers.
    Of(&'g [usize]),
    /// One after the other.
    Range(Range<usize>),
}

impl Members<'_> {
    /// How many there are.
    pub(super) fn count(&self) -> usize {
        match self {
            Members::Of(numbers) => numbers.len(),
            Members::Range(rows) => rows.len(),
        }
    }

    /// The number of one of them.
    #[inline]
    pub(super) fn row(&self, place: usize) -> usize {
        match self {
            Members::Of(numbers) => numbers[place],
            Members::Range(rows) => rows.start + place,
        }
    }

    /// Calls with the place in the group and the number of each row that is present.
    #[inline(always)]
    fn each_present(
        &self,
        rows: &ReadRows<'_>,
        meter: &Meter<'_>,
        mut f: impl FnMut(usize, usize),
    ) -> Result<(), Fault> {
        let numbers = match self {
            Members::Of(numbers) => numbers,
            Members::Range(range) => {
                return each_chosen_of(rows, range.clone(), meter, |row| {
                    f(row - range.start, row);
                    Ok(())
                });
            }
        };
        let are_all_present = rows.are_all_present();
        for stride in meter.strides(numbers.len()) {
            let stride = stride?;
            for (place, row) in stride.clone().zip(&numbers[stride]) {
                if are_all_present || rows.is_present(*row) {
                    f(place, *row);
                }
            }
        }
        Ok(())
    }
}

/// Takes the values of the present rows, and their places if a row may be missing.
fn gather<T: Cell>(
    rows: &ReadRows<'_>,
    group: Members<'_>,
    meter: &Meter<'_>,
    mut take: impl FnMut(T),
    mut take_place: impl FnMut(u32),
) -> Result<(), Fault> {
    let (cells, are_all_present) = (T::all(rows), rows.are_all_present());
    group.each_present(rows, meter, |place, row| {
        take(cells.map_or_else(|| T::read(rows, row), |cells| cells[row]));
        if !are_all_present {
            take_place(place as u32);
        }
    })
}

/// The rows of all groups of an edge, one group behind the other: where they stand already, or moved there.
pub(super) struct SideBySide<'a, T> {
    values: Values<'a, T>,
    starts: Starts<'a>,
}

enum Values<'a, T> {
    There(&'a [T]),
    Moved(Scratch<'a, T>),
}

enum Starts<'a> {
    Points(&'a [usize]),
    Counted(Scratch<'a, usize>),
}

impl<'a, T: Cell> SideBySide<'a, T> {
    /// Those of an array that has a row for each child; `None` if a row may be missing, or cells are not one after the other.
    pub(super) fn new(
        rows: &ReadRows<'a>,
        edge: &'a Edge,
        meter: &'a Meter<'a>,
    ) -> Result<Option<SideBySide<'a, T>>, Fault> {
        let Some(cells) = T::all(rows).filter(|_| rows.are_all_present()) else { return Ok(None) };
        if let Some(points) = edge.split_points() {
            return Ok(Some(SideBySide { values: Values::There(cells), starts: Starts::Points(points) }));
        }
        if edge.stored_mapping().is_none() {
            return Ok(None);
        }
        let mut starts = meter.zeros::<usize>(edge.parent_size() + 2)?;
        let mut values = meter.vec(cells.len())?;
        for stride in meter.strides(cells.len()) {
            values.extend_from_slice(&cells[stride?]);
        }
        let places: &mut [T] = &mut values;
        edge.place_children(&mut starts, meter, |row, place| places[place] = cells[row])?;
        Ok(Some(SideBySide { values: Values::Moved(values), starts: Starts::Counted(starts) }))
    }

    /// The rows of a group.
    pub(super) fn group(&self, group: usize) -> Present<'_, T> {
        let values: &[T] = match &self.values {
            Values::There(values) => values,
            Values::Moved(values) => values,
        };
        let starts: &[usize] = match &self.starts {
            Starts::Points(points) => points,
            Starts::Counted(starts) => &starts[..starts.len() - 1],
        };
        let (start, end) = (starts[group], starts[group + 1]);
        Present::new(&values[start..end], &[], end - start)
    }
}

/// The groups of an edge: where they stand, or lists whose memory counts until they go.
pub(super) enum GroupsOf<'m> {
    Ranges(&'m [usize]),
    Lists(Groups, &'m Meter<'m>),
}

impl<'m> GroupsOf<'m> {
    pub(super) fn new(edge: &'m Edge, meter: &'m Meter<'m>) -> Result<GroupsOf<'m>, Fault> {
        Ok(match edge.split_points() {
            Some(points) => GroupsOf::Ranges(points),
            None => GroupsOf::Lists(edge.groups_within(meter)?, meter),
        })
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        match self {
            GroupsOf::Ranges(points) => points.len() - 1,
            GroupsOf::Lists(groups, _) => groups.len(),
        }
    }

    /// The rows of one.
    pub(super) fn of(&self, group: usize) -> Members<'_> {
        match self {
            GroupsOf::Ranges(points) => Members::Range(points[group]..points[group + 1]),
            GroupsOf::Lists(groups, _) => Members::Of(groups.of(group)),
        }
    }

    /// The rows of each.
    pub(super) fn iter(&self) -> impl Iterator<Item = Members<'_>> {
        (0..self.len()).map(|group| self.of(group))
    }
}

impl Drop for GroupsOf<'_> {
    fn drop(&mut self) {
        if let GroupsOf::Lists(groups, meter) = self {
            meter.give_back(groups.heap_bytes());
        }
    }
}

/// An edge is for arrays of as many rows as it has children.
pub(super) fn check_children(rows: usize, edge: &Edge) -> Result<(), Fault> {
    match rows == edge.child_size() {
        true => Ok(()),
        false => Err(Fault::Sizes { sizes: vec![rows as u64, edge.child_size() as u64] }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::{ArrayRows, ScalarType, ScalarValue};
    use fastrand::Rng;

    fn random_rows(len: usize, share: f64, below: i64, rng: &mut Rng) -> ArrayRows {
        let mut value = || (rng.f64() < share).then(|| ScalarValue::Int64(rng.i64(0..below)));
        ArrayRows::from_values(ScalarType::Int64, &(0..len).map(|_| value()).collect::<Vec<_>>())
    }

    /// Groups of both kinds of edges, with children that have no parent, by each way to their rows.
    #[test]
    fn groups_are_the_same_however_they_are_gathered() {
        let mut rng = Rng::with_seed(3);
        for round in 0..200 {
            let (len, parents) = (rng.usize(..300), rng.usize(1..20));
            let edge = match round % 2 {
                0 => Edge::from_mapping(
                    random_rows(len, [1.0, 0.7][rng.usize(..2)], parents as i64, &mut rng),
                    parents,
                ),
                _ => {
                    let mut points: Vec<usize> =
                        (1..parents).map(|_| rng.usize(..=len)).chain([0, len]).collect();
                    points.sort_unstable();
                    Edge::from_points(points)
                }
            };
            let (edge, meter, arena) = (edge.expect("an edge"), Meter::of_default(), Bump::new());
            let rows = random_rows(len, [1.0, 0.6][rng.usize(..2)], 1000, &mut rng);
            let read = ReadRows::kept(&rows);
            let mut gathered = Gathered::<i64>::new(&meter, &arena).expect("memory");
            let (groups, listed) = (GroupsOf::new(&edge, &meter).expect("memory"), edge.groups());
            let expected: Vec<(Vec<i64>, Vec<i64>, usize)> = (0..groups.len())
                .map(|group| {
                    let present = gathered.present(read, groups.of(group), &meter).expect("memory");
                    let places = (0..present.len()).map(|value| present.place(value)).collect();
                    (present.values.to_vec(), places, present.size)
                })
                .collect();
            for (group, (values, places, size)) in expected.iter().enumerate() {
                let members = listed.of(group);
                let present = |place: &usize| rows.get(members[*place]).and_then(|value| value.as_i64());
                assert_eq!(
                    *values,
                    (0..members.len()).filter_map(|place| present(&place)).collect::<Vec<_>>()
                );
                let there = (0..members.len()).filter(|place| present(place).is_some());
                assert_eq!(*places, there.map(|place| place as i64).collect::<Vec<_>>());
                assert_eq!(*size, members.len());
            }
            if let Some(groups) = SideBySide::<i64>::new(&read, &edge, &meter).expect("memory") {
                let found = (0..edge.parent_size()).map(|group| groups.group(group).values.to_vec());
                assert!(found.eq(expected.iter().map(|(values, ..)| values.clone())));
            } else {
                assert!(rows.presence().is_some());
            }
        }
    }
}
