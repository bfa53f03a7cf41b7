//! The present rows of an array or of the groups of an edge, gathered for reductions and scans.

use crate::operator::meter::{Meter, STRIDE, Scratch};
use crate::value::budget::Account;
use crate::value::edge::Groups;
use crate::value::{ArrayRows, Edge, Fault};
use std::ops::Deref;

/// A row without a value of its own.
#[derive(Clone, Copy)]
pub(super) struct Unit;

/// What the rows of an array are read as.
pub(super) trait Cell: Copy {
    fn read(rows: &ArrayRows, row: usize) -> Self;

    /// All cells, if they stand one after the other as they are read.
    fn all(rows: &ArrayRows) -> Option<&[Self]>;
}

impl Cell for Unit {
    fn read(_: &ArrayRows, _: usize) -> Unit {
        Unit
    }

    fn all(_: &ArrayRows) -> Option<&[Unit]> {
        None
    }
}

macro_rules! cells {
    ($($rust:ty),*) => {$(
        impl Cell for $rust {
            fn read(rows: &ArrayRows, row: usize) -> $rust {
                bytemuck::pod_read_unaligned(&rows.bytes()[row * size_of::<$rust>()..][..size_of::<$rust>()])
            }

            fn all(rows: &ArrayRows) -> Option<&[$rust]> {
                Some(bytemuck::cast_slice(&rows.bytes()[..rows.len() * size_of::<$rust>()]))
            }
        }
    )*};
}

cells!(u8, i32, i64, f32, f64);

/// The present rows of a group, and where in the group each stood.
pub(super) struct Present<'a, T> {
    pub(super) values: &'a [T],
    /// By value; `None` if no row of the group is missing.
    places: Option<&'a [u32]>,
    /// Rows of the group, missing ones too.
    pub(super) size: usize,
}

impl<T> Present<'_, T> {
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

/// Buffers for the present rows of one group after the other.
pub(super) struct Gathered<'m, T> {
    values: Scratch<'m, T>,
    places: Scratch<'m, u32>,
}

impl<'m, T: Cell> Gathered<'m, T> {
    pub(super) fn new(meter: &'m Meter<'m>) -> Result<Gathered<'m, T>, Fault> {
        Ok(Gathered { values: meter.vec(0)?, places: meter.vec(0)? })
    }

    /// The present ones of these rows.
    pub(super) fn present(
        &mut self,
        rows: &ArrayRows,
        group: impl ExactSizeIterator<Item = usize>,
        meter: &Meter<'_>,
    ) -> Result<Present<'_, T>, Fault> {
        let size = group.len();
        self.values.clear();
        self.places.clear();
        self.values.reserve_exact(size)?;
        for (place, row) in group.enumerate() {
            if place.is_multiple_of(STRIDE) {
                meter.poll()?;
            }
            if rows.is_present(row) {
                // Places are kept from the first missing row on.
                if self.values.len() < place {
                    self.places.reserve_exact(size)?;
                    (self.places.len()..self.values.len()).for_each(|known| self.places.push(known as u32));
                    self.places.push(place as u32);
                }
                self.values.push(T::read(rows, row));
            }
        }
        let places = (!self.places.is_empty()).then_some(&*self.places);
        Ok(Present { values: &self.values, places, size })
    }

    /// The present rows of an array, which are not copied if all are.
    pub(super) fn of_all<'a>(
        &'a mut self,
        rows: &'a ArrayRows,
        meter: &Meter<'_>,
    ) -> Result<Present<'a, T>, Fault> {
        match T::all(rows).filter(|_| rows.presence().is_none()) {
            Some(values) => Ok(Present { values, places: None, size: rows.len() }),
            None => self.present(rows, 0..rows.len(), meter),
        }
    }
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
pub(super) fn check_children(rows: &ArrayRows, edge: &Edge) -> Result<(), Fault> {
    match rows.len() == edge.child_size() {
        true => Ok(()),
        false => Err(Fault::Sizes { sizes: vec![rows.len() as u64, edge.child_size() as u64] }),
    }
}
