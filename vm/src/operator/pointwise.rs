//! Pointwise kernels: one operator over all rows of its arguments.
//!
//! Arrays have one size; scalars and optionals stand for a value in every row and are not copied.

use crate::operator::block::{BlockKernel, Column, IN_ORDER, Operands, Target, intersect};
use crate::operator::call::Call;
use crate::value::Fault;
use crate::value::array::{ROWS_OF_A_WORD, cell_size};
use crate::vector::Level;
use std::ops::Range;

/// An operator on arrays whose rows are computed by a block kernel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pointwise {
    pub(crate) kernel: BlockKernel,
}

impl Pointwise {
    /// Computes all rows.
    ///
    /// # Errors
    /// Arrays of different sizes, or the first row that raises.
    pub(super) fn run(&self, call: &mut Call<'_>) -> Result<(), Fault> {
        let rows = common_size(call)?;
        let mut columns = [Column::MISSING; 4];
        for (index, column) in columns.iter_mut().enumerate().take(call.len()) {
            *column = call.column(index);
        }
        let count = call.len();
        let result = call.result_type().element().expect("the result is an array");
        let meter = call.meter();
        let mut out = call.rows_for_kernel(result, rows)?;
        let is_complete = columns[..count].iter().all(Column::is_all_present);
        let may_miss = !self.kernel.is_lifted || !is_complete;
        let presence = if may_miss { out.presence_mut()?.as_mut_ptr() } else { std::ptr::null_mut() };
        let data = out.cells_mut().as_mut_ptr();
        let outcome = meter.strides(rows).try_for_each(|stride| {
            let Range { start, end } = stride?;
            let columns = columns.map(|column| column.at_row(start));
            let target = Target {
                data: data.wrapping_add(start * cell_size(result)),
                presence: if may_miss { presence.wrapping_add(start / ROWS_OF_A_WORD) } else { presence },
            };
            let args = Operands { columns: columns.as_ptr(), positions: &IN_ORDER };
            // SAFETY: the columns are arguments of the types that the kernel takes and have these rows; the target
            // was sized for all rows, and a result shares no bytes with arguments (invariant 2 of `Call`).
            let outcome = unsafe {
                if self.kernel.is_lifted && may_miss {
                    intersect(columns[..count].iter(), target.presence, end - start);
                }
                (self.kernel.run(Level::best()))(args, target, end - start)
            };
            outcome.map_err(|fault| fault.fault.in_row(start + fault.row))
        });
        out.normalize();
        outcome
    }
}

/// The size of all array arguments.
pub(super) fn common_size(call: &Call<'_>) -> Result<usize, Fault> {
    let sizes = || (0..call.len()).filter(|i| call.qtype(*i).array().is_some()).map(|i| call.array(i).len());
    let first = sizes().next().unwrap_or(0);
    match sizes().all(|size| size == first) {
        true => Ok(first),
        false => Err(Fault::Sizes { sizes: sizes().map(|size| size as u64).collect() }),
    }
}
