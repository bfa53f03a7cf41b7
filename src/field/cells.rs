//! Cells of buffers: a vector of a type of the machine.

use crate::field::error::FieldProblem;
use cembra_vm::machine::HostCells;
use cembra_vm::value::array::MAX_ROWS;
use cembra_vm::value::{NdView, ScalarType, ScalarValue};
use std::ops::RangeInclusive;

/// Cells that a buffer may have.
pub const MOST_FIELD_CELLS: usize = MAX_ROWS;

/// Cells of a type of the machine.
#[derive(Clone, Debug, PartialEq)]
pub enum FieldCells {
    /// Truth values.
    Bool(Vec<bool>),
    /// 32-bit integers.
    Int32(Vec<i32>),
    /// 64-bit integers.
    Int64(Vec<i64>),
    /// 32-bit floats.
    Float32(Vec<f32>),
    /// 64-bit floats.
    Float64(Vec<f64>),
}

/// Runs an expression for the vector of cells, whatever their type.
macro_rules! each_cells {
    ($cells:expr, $vector:ident => $what:expr) => {
        match $cells {
            FieldCells::Bool($vector) => $what,
            FieldCells::Int32($vector) => $what,
            FieldCells::Int64($vector) => $what,
            FieldCells::Float32($vector) => $what,
            FieldCells::Float64($vector) => $what,
        }
    };
}

pub(super) use each_cells;

impl FieldCells {
    /// So many cells of one value; its type is the element type.
    ///
    /// # Errors
    /// There is no memory, there are too many, or fields have no such elements.
    pub fn filled(value: &ScalarValue, count: usize) -> Result<FieldCells, FieldProblem> {
        Ok(match value {
            ScalarValue::Boolean(value) => FieldCells::Bool(filled(*value, count)?),
            ScalarValue::Int32(value) => FieldCells::Int32(filled(*value, count)?),
            ScalarValue::Int64(value) => FieldCells::Int64(filled(*value, count)?),
            ScalarValue::Float32(value) => FieldCells::Float32(filled(*value, count)?),
            ScalarValue::Float64(value) => FieldCells::Float64(filled(*value, count)?),
            other => {
                let (operation, dtype) = ("a field".to_owned(), other.scalar_type());
                return Err(FieldProblem::NotDefined { operation, dtype });
            }
        })
    }

    /// Number of cells.
    pub fn len(&self) -> usize {
        each_cells!(self, cells => cells.len())
    }

    /// True without cells.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The first integer that is none of these.
    pub(super) fn integer_outside(&self, numbers: &RangeInclusive<i128>) -> Option<i128> {
        let is_outside = |number: &i128| !numbers.contains(number);
        match self {
            FieldCells::Int32(cells) => cells.iter().map(|cell| i128::from(*cell)).find(is_outside),
            FieldCells::Int64(cells) => cells.iter().map(|cell| i128::from(*cell)).find(is_outside),
            _ => None,
        }
    }

    /// The type of the machine.
    pub fn dtype(&self) -> ScalarType {
        match self {
            FieldCells::Bool(_) => ScalarType::Boolean,
            FieldCells::Int32(_) => ScalarType::Int32,
            FieldCells::Int64(_) => ScalarType::Int64,
            FieldCells::Float32(_) => ScalarType::Float32,
            FieldCells::Float64(_) => ScalarType::Float64,
        }
    }

    /// The first cells as an array of this shape.
    ///
    /// # Panics
    /// If there are fewer.
    pub(crate) fn view_as(&self, shape: &[usize]) -> NdView<'_> {
        let count = shape.iter().product();
        let view = each_cells!(self, cells => NdView::from_slice(&cells[..count], shape));
        view.expect("a box has no more points than an array")
    }

    /// The cells, to be read by a run.
    pub(crate) fn lend(&self) -> HostCells<'_> {
        each_cells!(self, cells => HostCells::read(cells))
    }

    /// Where they begin.
    pub(super) fn address(&self) -> usize {
        each_cells!(self, cells => cells.as_ptr().addr())
    }

    /// The cells as an array of one axis.
    pub(crate) fn view(&self) -> NdView<'_> {
        let view = each_cells!(self, cells => NdView::from_slice(cells, &[cells.len()]));
        view.expect("a buffer has no more cells than an array")
    }
}

fn filled<T: Clone>(value: T, count: usize) -> Result<Vec<T>, FieldProblem> {
    let mut cells = Vec::new();
    if count > MOST_FIELD_CELLS || cells.try_reserve_exact(count).is_err() {
        let what = format!("a field of {count} cells; at most {MOST_FIELD_CELLS} are allowed");
        return Err(FieldProblem::Limit { limit: "field-cells", what });
    }
    cells.resize(count, value);
    Ok(cells)
}
