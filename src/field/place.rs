//! Places: where an operation is evaluated, as coordinates by dimension.
//!
//! ```text
//! box I 2:6, J 0:4        axes 0 and 1
//! u[I+1]                  I = axis 0 + 1,   J = axis 1
//! x[E2V[1]] on Edge       Vertex = list of points, one for each position of axis 0
//! ```
//!
//! A shift adds to a coordinate, a table turns one into a list. So shifts and tables need no operation of their own: they
//! say where fields are read. Lists and places are kept once each, under a number.

use crate::field::dimension::{DimensionId, DimensionSet};
use crate::field::expression::TableId;
use hashbrown::HashMap;
use std::sync::Arc;

/// Where a dimension stands while a box is evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Coordinate {
    /// The value does not depend on the dimension.
    Unused,
    /// The point of an axis of the box, plus an offset.
    Axis { axis: usize, offset: i64 },
    /// A list of points, one for each position of an axis of the box.
    List { axis: usize, list: ListId },
    /// One point.
    Fixed(i64),
}

/// Number of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PlaceId(pub u32);

/// Number of a list of points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ListId(pub u32);

/// Points along an axis of the box, and the rows and the column of the table that they come from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PointList {
    pub points: Arc<[i64]>,
    pub from: Option<(TableId, usize, Arc<[i64]>)>,
}

/// What is read of a temporary, relative to the box of who reads it: by axis the least and greatest offset.
#[derive(Clone, Debug)]
pub(crate) struct KeptReach {
    /// The number of the temporary.
    pub number: usize,
    /// By axis of the box; nothing for one that the value does not vary along, or if nobody has read it.
    pub offsets: Vec<Option<(i64, i64)>>,
}

/// All places and lists of a lowering.
#[derive(Debug, Default)]
pub(crate) struct Places {
    places: Vec<Arc<[Coordinate]>>,
    by_place: HashMap<Arc<[Coordinate]>, PlaceId>,
    lists: Vec<PointList>,
    by_list: HashMap<PointList, ListId>,
    /// Points of all lists.
    pub points_kept: usize,
}

impl Places {
    /// The number of a place: a coordinate for each dimension of the program.
    pub fn place(&mut self, coordinates: Vec<Coordinate>) -> PlaceId {
        let coordinates: Arc<[Coordinate]> = coordinates.into();
        if let Some(id) = self.by_place.get(&coordinates) {
            return *id;
        }
        let id = PlaceId(self.places.len() as u32);
        self.places.push(coordinates.clone());
        self.by_place.insert(coordinates, id);
        id
    }

    /// The number of a list.
    pub fn list(&mut self, list: PointList) -> ListId {
        if let Some(id) = self.by_list.get(&list) {
            return *id;
        }
        let id = ListId(self.lists.len() as u32);
        self.points_kept += list.points.len();
        self.lists.push(list.clone());
        self.by_list.insert(list, id);
        id
    }

    /// A coordinate of a place.
    pub fn coordinate(&self, place: PlaceId, dim: DimensionId) -> Coordinate {
        self.places[place.0 as usize][dim.0]
    }

    /// All coordinates of a place, by dimension.
    pub fn coordinates(&self, place: PlaceId) -> &[Coordinate] {
        &self.places[place.0 as usize]
    }

    /// A list.
    pub fn points(&self, list: ListId) -> &PointList {
        &self.lists[list.0 as usize]
    }

    /// The same place for a value that depends on these dimensions only.
    pub fn restricted(&mut self, place: PlaceId, dims: DimensionSet) -> PlaceId {
        let keep = |(dim, coordinate): (usize, &Coordinate)| match dims.contains(DimensionId(dim)) {
            true => *coordinate,
            false => Coordinate::Unused,
        };
        let coordinates = self.places[place.0 as usize].iter().enumerate().map(keep).collect();
        self.place(coordinates)
    }

    /// The same place with another coordinate.
    pub fn with(&mut self, place: PlaceId, dim: DimensionId, coordinate: Coordinate) -> PlaceId {
        let mut coordinates = self.places[place.0 as usize].to_vec();
        coordinates[dim.0] = coordinate;
        self.place(coordinates)
    }

    /// The same place moved along a dimension.
    pub fn shifted(&mut self, place: PlaceId, dim: DimensionId, by: i64) -> PlaceId {
        let coordinate = match self.coordinate(place, dim) {
            Coordinate::Axis { axis, offset } => Coordinate::Axis { axis, offset: offset.saturating_add(by) },
            Coordinate::List { axis, list } => {
                let PointList { points, from } = self.points(list).clone();
                let points = points.iter().map(|point| point.saturating_add(by)).collect();
                Coordinate::List { axis, list: self.list(PointList { points, from }) }
            }
            Coordinate::Fixed(point) => Coordinate::Fixed(point.saturating_add(by)),
            Coordinate::Unused => Coordinate::Unused,
        };
        self.with(place, dim, coordinate)
    }
}
