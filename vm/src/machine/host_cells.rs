//! Cells of a host that [kept runs](crate::machine::kept) read and write, and where elements stand among them.
//!
//! ```text
//! cells    0 1 2 3 4 5 6 7 8 9 10 11      first 5, steps (4, 1), shape (2, 2): the cells 5, 6, 9 and 10
//! ```
//!
//! Cells are of one type and stand one after the other, so that all of them are aligned.

use crate::value::ScalarType;
use crate::value::array::cell_size;
use crate::value::nd_view::NdCell;
use crate::value::shape::Strides;
use std::marker::PhantomData;

/// Cells that are lent for a run.
#[derive(Debug)]
pub struct HostCells<'m> {
    pub(crate) first: *mut u8,
    pub(crate) kind: CellsKind,
    memory: PhantomData<&'m mut [u8]>,
}

/// What is known of cells but where they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CellsKind {
    pub(crate) element: ScalarType,
    pub(crate) count: usize,
    /// True if they may be written; nobody else has them then.
    pub(crate) is_written: bool,
}

impl<'m> HostCells<'m> {
    /// Cells that are read.
    pub fn read<T: NdCell>(cells: &'m [T]) -> HostCells<'m> {
        let kind = CellsKind { element: T::ELEMENT, count: cells.len(), is_written: false };
        HostCells { first: cells.as_ptr().cast_mut().cast(), kind, memory: PhantomData }
    }

    /// Cells that are written.
    pub fn write<T: NdCell>(cells: &'m mut [T]) -> HostCells<'m> {
        let kind = CellsKind { element: T::ELEMENT, count: cells.len(), is_written: true };
        HostCells { first: cells.as_mut_ptr().cast(), kind, memory: PhantomData }
    }
}

/// Where the elements of an operand or a result stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellsPlace {
    /// The cells, by their number among those that are lent.
    pub memory: usize,
    /// The cell of the first element.
    pub first: usize,
    /// Cells to the next element along each axis; 0 where elements repeat. Of an axis of one element it may be anything.
    pub steps: Strides,
}

impl CellsPlace {
    /// Bytes to the next element along each axis of a shape that has elements; nothing if one of them lies outside of the
    /// cells.
    pub(crate) fn strides(&self, shape: &[usize], kind: CellsKind) -> Option<Strides> {
        let (mut strides, size) = (Strides::default(), isize::try_from(cell_size(kind.element)).ok()?);
        let first = isize::try_from(self.first).ok()?;
        let (mut lowest, mut highest) = (first, first);
        for (axis, count) in shape.iter().enumerate().filter(|(_, count)| **count > 1) {
            let step = *self.steps.get(axis)?;
            let reach = isize::try_from(*count).ok()?.checked_sub(1)?.checked_mul(step)?;
            lowest = lowest.checked_add(reach.min(0))?;
            highest = highest.checked_add(reach.max(0))?;
            strides[axis] = step.checked_mul(size)?;
        }
        (lowest >= 0 && usize::try_from(highest).ok()? < kind.count).then_some(strides)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::shape::padded;

    #[test]
    fn places_lie_inside() {
        let cells = [0.0; 12];
        let kind = HostCells::read(&cells).kind;
        let strides = |first: usize, steps: &[isize], shape: &[usize]| {
            CellsPlace { memory: 0, first, steps: padded(steps, 0) }.strides(shape, kind)
        };
        assert_eq!(strides(5, &[4, 1], &[2, 2]), Some(padded(&[32, 8], 0)));
        assert_eq!(strides(11, &[-4, -1], &[3, 4]), Some(padded(&[-32, -8], 0)));
        assert_eq!(strides(3, &[99, 0], &[1, 7]), Some(padded(&[0, 0], 0)));
        assert_eq!(strides(6, &[4, 1], &[2, 3]), None);
        assert_eq!(strides(3, &[-4, 1], &[2, 1]), None);
        assert_eq!(strides(12, &[], &[]), None);
        assert_eq!(strides(0, &[isize::MAX, 1], &[3, 1]), None);
    }
}
