//! Edges that cross the boundary of a library: INT64 numbers, and what they mean.
//!
//! ```text
//! split points    0 2 2 5        3 parents, whose rows begin at these numbers
//! mapping         0 0 - 2        the parent of each row, with a bitmap
//! one group                      no numbers: the size of the axis is that of the child
//! ```
//!
//! Edges of this crate are right by construction; a library checks those that it is given all the same, because C and Python call
//! it as well.

use crate::library::argument::{Argument, NO_ARRAY, mismatch, raw_rows};
use crate::library::error::BoundaryError;
use crate::library::open::RawArray;
use crate::library::signature::Parameter;
use crate::value::array::ROWS_OF_A_WORD;
use crate::value::nd_type::MAX_RANK;
use crate::value::{ArrayClass, ArrayRows, Edge, QType, ScalarType, Value};
use std::sync::Arc;

/// An edge in C: `cembra_edge`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct RawEdge {
    pub(super) numbers: RawArray,
    parents: i64,
    kind: i32,
}

const SPLIT_POINTS: i32 = 0;
const MAPPING: i32 = 1;
const ONE_GROUP: i32 = 2;

/// A place for an edge that is not there yet.
pub(super) const NO_EDGE: RawEdge = RawEdge { numbers: NO_ARRAY, parents: 0, kind: SPLIT_POINTS };

/// The edge of an argument, whose numbers are those of the value.
pub(super) fn edge_of(
    expected: &QType,
    parameter: &Parameter,
    argument: &Argument<'_>,
) -> Result<RawEdge, BoundaryError> {
    match argument {
        Argument::Value(Value::Edge(class, edge)) if *expected == type_of(*class, edge) => Ok(raw(edge)),
        Argument::Value(value) => Err(mismatch(parameter, value.qtype().to_string())),
        _ => Err(mismatch(parameter, "an array".to_owned())),
    }
}

fn type_of(class: ArrayClass, edge: &Edge) -> QType {
    if edge.is_to_scalar() { QType::EdgeToScalar(class) } else { QType::Edge(class) }
}

fn raw(edge: &Edge) -> RawEdge {
    let parents = edge.parent_size() as i64;
    if let Some(mapping) = edge.stored_mapping() {
        return RawEdge { numbers: raw_rows(mapping), parents, kind: MAPPING };
    }
    let mut numbers = RawArray { shape: [1; MAX_RANK], ..NO_ARRAY };
    let Some(points) = edge.split_points() else {
        numbers.shape[0] = edge.child_size() as i64;
        return RawEdge { numbers, parents, kind: ONE_GROUP };
    };
    // A point is not above the number of rows that an edge may have.
    const { assert!(size_of::<usize>() == size_of::<i64>(), "points are INT64") };
    numbers.data = points.as_ptr().cast_mut().cast();
    (numbers.shape[0], numbers.strides[0]) = (points.len() as i64, size_of::<i64>() as i64);
    RawEdge { numbers, parents, kind: SPLIT_POINTS }
}

impl RawEdge {
    /// A copy of an edge that a library has made; one without rows if it has made none.
    pub(super) fn value(&self, qtype: &QType) -> Value {
        let (QType::Edge(class) | QType::EdgeToScalar(class)) = qtype else {
            unreachable!("{qtype} is no edge")
        };
        let made = "a library gives edges";
        let edge = match (qtype, self.kind) {
            (QType::EdgeToScalar(_), _) => Edge::to_scalar(self.numbers.shape[0] as usize),
            _ if self.numbers.data.is_null() => Edge::empty(),
            (_, MAPPING) => Edge::from_mapping(self.mapping(), self.parents as usize).expect(made),
            _ => {
                let points = self.cells().iter().map(|point| *point as usize);
                Edge::from_points(points.collect()).expect(made)
            }
        };
        Value::Edge(*class, Arc::new(edge))
    }

    fn cells(&self) -> &[i64] {
        // SAFETY: the numbers are those that a library has made: INT64 one after the other, which stay until the next run.
        unsafe { std::slice::from_raw_parts(self.numbers.data.cast::<i64>(), self.numbers.shape[0] as usize) }
    }

    fn mapping(&self) -> ArrayRows {
        let (cells, mut rows) = (self.cells(), ArrayRows::new(ScalarType::Int64));
        rows.resize(ScalarType::Int64, cells.len());
        bytemuck::cast_slice_mut::<u8, i64>(rows.cells_mut())[..cells.len()].copy_from_slice(cells);
        // SAFETY: behind the numbers of a library there is a bitmap of whole words, which begins with a word.
        let words = unsafe {
            std::slice::from_raw_parts(
                self.numbers.validity.cast::<u64>(),
                cells.len().div_ceil(ROWS_OF_A_WORD),
            )
        };
        rows.presence_mut().copy_from_slice(words);
        rows.normalize();
        rows
    }
}
