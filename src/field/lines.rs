//! Buffers of temporaries: rows that begin at lines of the cache.
//!
//! ```text
//! lap   J 1:511     510 cells in 65 lines     the cell of J = 2, where what reads lap begins, is the first of a line
//! ```
//!
//! A load or store of 512 bits that is not from a line takes twice as long. Rows are an odd number of lines apart, so that the
//! three rows of a stencil do not share a set of the cache. Medians of three runs on an AMD EPYC with AVX-512, FLOAT64, beside
//! rows one after the other, 2026-11-29:
//!
//! ```text
//!                           64²     512²    2048²
//! bilaplacian, strips       0.98    0.90    0.99
//! bilaplacian, native       0.95    0.91    0.92
//! diffusion, strips         0.89    0.90    0.98
//! diffusion, native         0.94    0.90    0.90
//! ```

use crate::field::buffer::FieldBuffer;
use crate::field::cells::FieldCells;
use crate::field::error::FieldProblem;
use cembra_vm::value::array::cell_size;
use cembra_vm::value::{ScalarType, ScalarValue};

/// Bytes of a line of the cache.
const LINE: usize = 64;

/// Lines of the shortest rows that are kept apart.
const LEAST_LINES: usize = 4;

/// Where the rows of a buffer stand, before it has memory.
#[derive(Debug)]
pub(crate) struct RowsInLines {
    dtype: ScalarType,
    strides: Vec<isize>,
    cells: usize,
}

impl RowsInLines {
    /// Rows along the last axis of a shape.
    pub fn new(dtype: ScalarType, shape: &[usize]) -> RowsInLines {
        let in_line = LINE / cell_size(dtype);
        let mut strides = vec![1; shape.len()];
        let mut next = 1_usize;
        for (axis, size) in shape.iter().enumerate().rev() {
            strides[axis] = isize::try_from(next).unwrap_or(isize::MAX);
            next = next.saturating_mul((*size).max(1));
            if axis + 1 == shape.len() && next >= LEAST_LINES * in_line {
                next = (next.div_ceil(in_line) | 1).saturating_mul(in_line);
            }
        }
        RowsInLines { dtype, strides, cells: next.saturating_add(in_line) }
    }

    /// Bytes of the cells, those between rows included.
    pub fn bytes(&self) -> u64 {
        (self.cells as u64).saturating_mul(cell_size(self.dtype) as u64)
    }

    /// A buffer of zeros from a point on; the cell of a row that stands `ahead` cells behind its first one is at a line.
    ///
    /// # Errors
    /// There are too many cells.
    pub fn buffer(&self, origin: &[i64], shape: &[usize], ahead: usize) -> Result<FieldBuffer, FieldProblem> {
        let cells = FieldCells::filled(&ScalarValue::zero(self.dtype), self.cells)?;
        let in_line = LINE / cell_size(self.dtype);
        let first = (cells.address() / cell_size(self.dtype) + ahead) % in_line;
        FieldBuffer::strided(cells, origin, shape, &self.strides, (in_line - first) % in_line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_begin_at_lines() {
        for dtype in [ScalarType::Boolean, ScalarType::Float32, ScalarType::Float64] {
            for (shape, ahead) in
                [(vec![5, 510], 1), (vec![3, 4, 64], 0), (vec![700], 3), (vec![4, 6], 2), (vec![], 0)]
            {
                let rows = RowsInLines::new(dtype, &shape);
                let buffer = rows.buffer(&vec![1; shape.len()], &shape, ahead).unwrap();
                let layout = buffer.cells().len() * cell_size(dtype);
                assert_eq!(rows.bytes(), layout as u64);
                let start = buffer.start + ahead;
                assert_eq!((buffer.cells.address() + start * cell_size(dtype)) % LINE, 0);
                let is_long = shape.last().is_some_and(|row| row * cell_size(dtype) >= LEAST_LINES * LINE);
                if shape.len() > 1 && is_long {
                    let lines = buffer.strides[shape.len() - 2] as usize * cell_size(dtype);
                    assert_eq!((lines % LINE, lines / LINE % 2), (0, 1), "{shape:?}");
                }
            }
        }
    }

    #[test]
    fn a_shape_beyond_memory_is_refused() {
        let shape = [usize::MAX / 2, 1 << 20];
        let rows = RowsInLines::new(ScalarType::Float64, &shape);
        assert_eq!(rows.bytes(), u64::MAX);
        rows.buffer(&[0, 0], &shape, 0).unwrap_err();
    }
}
