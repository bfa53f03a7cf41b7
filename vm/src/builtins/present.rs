//! The present rows of an array or of the groups of an edge, gathered for reductions and scans.

use crate::operator::meter::{Meter, STRIDE, Scratch};
use crate::operator::read_rows::ReadRows;
use crate::value::budget::Account;
use crate::value::edge::Groups;
use crate::value::{Edge, Fault};
use bumpalo::Bump;
use bumpalo::collections::Vec as BumpVec;
use std::ops::Deref;

/// A row without a value of its own.
#[derive(Clone, Copy)]
pub(super) struct Unit;

/// What the rows of an array are read as.
pub(super) trait Cell: Copy {
    fn read(rows: &ReadRows<'_>, row: usize) -> Self;

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
        Present { values, places: (!places.is_empty()).then_some(places), size }
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

    /// The present ones of these rows.
    pub(super) fn present(
        &mut self,
        rows: ReadRows<'_>,
        group: impl ExactSizeIterator<Item = usize>,
        meter: &Meter<'_>,
    ) -> Result<Present<'_, T>, Fault> {
        let size = group.len();
        if size <= FEW {
            let (values, places) = &mut self.few;
            values.clear();
            places.clear();
            values.reserve(size);
            let take_place = |place| {
                places.push(place);
                Ok(())
            };
            gather(&rows, group, meter, |value| values.push(value), take_place)?;
            return Ok(Present::new(values, places, size));
        }
        let (values, places) = &mut self.many;
        values.clear();
        places.clear();
        values.reserve_exact(size)?;
        gather(&rows, group, meter, |value| values.push(value), |place| places.append(place))?;
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
            None => self.present(rows, 0..rows.len(), meter),
        }
    }
}

/// Takes the values of the present rows; from the first missing row on, their places as well, those before it first.
fn gather<T: Cell>(
    rows: &ReadRows<'_>,
    group: impl Iterator<Item = usize>,
    meter: &Meter<'_>,
    mut take: impl FnMut(T),
    mut take_place: impl FnMut(u32) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let (mut count, mut has_gap) = (0, false);
    for (place, row) in group.enumerate() {
        if place.is_multiple_of(STRIDE) {
            meter.poll()?;
        }
        if !rows.is_present(row) {
            continue;
        }
        if count < place && !has_gap {
            has_gap = true;
            (0..count as u32).try_for_each(&mut take_place)?;
        }
        if has_gap {
            take_place(place as u32)?;
        }
        take(T::read(rows, row));
        count += 1;
    }
    Ok(())
}

/// The groups of an edge, whose memory counts until they go.
pub(super) struct GroupsOf<'m> {
    groups: Groups,
    meter: &'m Meter<'m>,
}

impl<'m> GroupsOf<'m> {
    pub(super) fn new(edge: &Edge, meter: &'m Meter<'m>) -> Result<GroupsOf<'m>, Fault> {
        Ok(GroupsOf { groups: edge.groups_within(meter)?, meter })
    }
}

impl Deref for GroupsOf<'_> {
    type Target = Groups;

    fn deref(&self) -> &Groups {
        &self.groups
    }
}

impl Drop for GroupsOf<'_> {
    fn drop(&mut self) {
        self.meter.give_back(self.groups.heap_bytes());
    }
}

/// An edge is for arrays of as many rows as it has children.
pub(super) fn check_children(rows: usize, edge: &Edge) -> Result<(), Fault> {
    match rows == edge.child_size() {
        true => Ok(()),
        false => Err(Fault::Sizes { sizes: vec![rows as u64, edge.child_size() as u64] }),
    }
}
