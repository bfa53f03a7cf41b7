//! Folds of whole arrays: all rows or elements at once, outside of regions.

use crate::array::block::Column;
use crate::array::fold_kernel::{FoldKernel, Known};
use crate::array::meter::Meter;
use crate::array::runs::Runs;
use crate::layout::PlainSlot;
use crate::value::Fault;
use crate::value::budget::Account;
use crate::value::nd_view::NdCell;
use crate::vector::fold::Fold;
use bumpalo::Bump;

impl FoldKernel {
    /// Folds all rows or elements of an operand and writes the results. The runs stand side by side and are not empty, or
    /// there is one.
    ///
    /// # Errors
    /// The budget or the system refuses memory for what is kept meanwhile, or the run has to stop.
    ///
    /// # Safety
    /// The column has the rows of the runs, or their elements, aligned, of the kernel's type; there is room for the
    /// results.
    pub(crate) unsafe fn fold_all(
        &self,
        column: Column,
        runs: Runs,
        out: *mut u8,
        arena: &Bump,
        meter: &Meter<'_>,
    ) -> Result<(), Fault> {
        let count = runs.run * runs.count;
        let kept = self.kept_bytes(runs);
        meter.charge(kept)?;
        let fold = || {
            if runs.run == 0 {
                // SAFETY: there are no rows.
                unsafe { self.finish(Known::default(), runs, out, &|| false) };
                return Ok(());
            }
            let mut state = self.begin(runs, 0..count, arena, meter.watch())?;
            for stride in meter.strides(count) {
                let stride = stride?;
                // SAFETY: the column has these rows; a stride is a whole number of words of presence.
                unsafe { self.step(&mut state, [&column.at_row(stride.start); 2], stride.len()) };
            }
            // SAFETY: all rows are known.
            unsafe { self.finish(state.known(), runs, out, &|| meter.stop()) };
            meter.poll()
        };
        let outcome = fold();
        meter.give_back(kept);
        outcome
    }
}

/// Folds the elements of runs, as [`FoldKernel::fold_all`] does, and writes the bytes of the results.
///
/// # Errors
/// As there.
///
/// # Panics
/// There are other numbers of elements or of bytes, or runs that do not stand side by side.
pub(crate) fn fold_cells<C: NdCell, F: Fold<Out: NdCell + PlainSlot>>(
    cells: &[C],
    runs: Runs,
    out: &mut [u8],
    arena: &Bump,
    meter: &Meter<'_>,
) -> Result<(), Fault> {
    assert_eq!(cells.len(), runs.run * runs.count, "the elements of all runs");
    assert!(runs.count.is_multiple_of(runs.width.max(1)), "whole runs side by side");
    assert_eq!(out.len(), runs.count * size_of::<F::Out>(), "room for the results");
    let column = Column::of_cells(cells.as_ptr().cast(), size_of::<C>());
    // SAFETY: the column is of cells that the kernel is for, as many as it was just said.
    unsafe { FoldKernel::new::<C, F>(None).fold_all(column, runs, out.as_mut_ptr(), arena, meter) }
}
