//! Arrays that cross the boundary of a library.
//!
//! ```text
//! NDARRAY_FLOAT64_NN      cells under axes; all elements are there
//! DENSE_ARRAY_FLOAT64     cells along one axis, and a bitmap that says which rows are there; without one all are
//! DENSE_ARRAY_UNIT        a mask: a bitmap and no cells
//! ```
//!
//! A bitmap has the Arrow layout, lowest bit first, and begins at any bit.

use crate::value::array::{ArrayType, cell_size};
use crate::value::{NdType, QType, ScalarType};
use std::fmt;

/// The type of an array that crosses the boundary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoundaryArray {
    /// Elements under axes.
    Nd(NdType),
    /// Plain rows, which may be missing.
    Rows(ArrayType),
}

impl BoundaryArray {
    /// That of a type; `None` if it is no array, or one of strings.
    pub fn of(qtype: &QType) -> Option<BoundaryArray> {
        match qtype {
            QType::NdArray(array) => Some(BoundaryArray::Nd(*array)),
            QType::Array(rows) if rows.element.is_plain() => Some(BoundaryArray::Rows(*rows)),
            _ => None,
        }
    }

    /// Type of the elements.
    pub fn element(self) -> ScalarType {
        match self {
            BoundaryArray::Nd(array) => array.element(),
            BoundaryArray::Rows(rows) => rows.element,
        }
    }

    /// Bytes of a cell: 0 of a mask, which has none.
    pub fn size(self) -> usize {
        cell_size(self.element())
    }

    /// Number of axes.
    pub fn rank(self) -> usize {
        match self {
            BoundaryArray::Nd(array) => array.rank(),
            BoundaryArray::Rows(_) => 1,
        }
    }

    /// True for an axis that has the size 1 and broadcasts.
    pub fn is_unit(self, axis: usize) -> bool {
        match self {
            BoundaryArray::Nd(array) => array.is_unit(axis),
            BoundaryArray::Rows(_) => false,
        }
    }

    /// True if elements may be missing.
    pub fn has_rows(self) -> bool {
        matches!(self, BoundaryArray::Rows(_))
    }

    /// True if both have the same axes.
    pub fn has_axes_of(self, other: BoundaryArray) -> bool {
        match (self, other) {
            (BoundaryArray::Nd(array), BoundaryArray::Nd(other)) => array.has_axes_of(other),
            (BoundaryArray::Rows(_), BoundaryArray::Rows(_)) => true,
            _ => false,
        }
    }
}

impl fmt::Display for BoundaryArray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BoundaryArray::Nd(array) => array.fmt(f),
            BoundaryArray::Rows(rows) => rows.fmt(f),
        }
    }
}
