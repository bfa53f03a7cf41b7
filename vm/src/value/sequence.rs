//! Sequence values: a run of scalars of one type.
//!
//! A sequence keeps plain scalars as raw little cells, so that a frame can reuse its buffer and an
//! operator can index it without conversion.

use crate::value::scalar::ScalarType;
use crate::value::scalar_value::ScalarValue;

/// The values of a sequence of plain scalars (UNIT to WEAK_FLOAT).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SequenceValue {
    element: ScalarType,
    cells: Vec<u64>,
}

impl SequenceValue {
    /// An empty sequence.
    pub fn empty(element: ScalarType) -> SequenceValue {
        SequenceValue { element, cells: Vec::new() }
    }

    /// A sequence of these scalars; `None` if one is of another type or is a string.
    pub fn from_scalars(element: ScalarType, values: &[ScalarValue]) -> Option<SequenceValue> {
        let cell = |v: &ScalarValue| v.plain_bits().filter(|_| v.scalar_type() == element);
        let cells = values.iter().map(cell).collect::<Option<Vec<u64>>>()?;
        Some(SequenceValue { element, cells })
    }

    /// A sequence over cells that already hold `element` values, one a cell.
    pub fn from_cells(element: ScalarType, cells: Vec<u64>) -> SequenceValue {
        debug_assert!(element.is_plain());
        SequenceValue { element, cells }
    }

    /// Element type.
    pub fn element(&self) -> ScalarType {
        self.element
    }

    /// One cell for each element: its bits, zero-extended.
    pub fn cells(&self) -> &[u64] {
        &self.cells
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// True without elements.
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// The elements as values.
    pub fn iter(&self) -> impl Iterator<Item = ScalarValue> + '_ {
        self.cells.iter().map(|c| from_cell(self.element, *c))
    }
}

fn from_cell(element: ScalarType, cell: u64) -> ScalarValue {
    match element.is_plain() {
        true => ScalarValue::of_cell(element, &cell.to_le_bytes()),
        false => ScalarValue::Unit,
    }
}
