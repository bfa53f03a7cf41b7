//! Pointwise kernels: one operator over all rows or elements of its arguments.
//!
//! ```text
//! rows of one size, scalars                  blocks of rows with their words of presence
//! (1000, 3) + (1000, 3)                      one walk over 3000 elements
//! (1000, 3) + (3)                            the second operand begins anew every 3 elements
//! ```
//!
//! Rows have one size. Axes are broadcast as in [`broadcast`](crate::value::broadcast): where an array repeats, its
//! stride is 0. Scalars and optionals stand for a value in every row and are not copied.

use crate::array::block::{
    BlockKernel, Column, IN_ORDER, MAX_OPERANDS, Operands, RowFault, Target, intersect,
};
use crate::array::meter::STRIDE;
use crate::array::nd_space::{Position, Space};
use crate::array::nd_walk::{Operand, Walk, repeats_by_type};
use crate::operator::call::KernelCall;
use crate::value::array::cell_size;
use crate::value::broadcast::common_shape;
use crate::value::nd_type::MAX_RANK;
use crate::value::shape::Shape;
use crate::value::{Fault, NdType, NdView, QType};
use crate::vector::Level;

/// Elements that are gathered for one call of a block kernel.
const GATHERED: usize = 512;

/// An operator on arrays whose rows or elements are computed by a block kernel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pointwise {
    pub(crate) kernel: BlockKernel,
}

impl Pointwise {
    /// Computes all rows or elements.
    ///
    /// # Errors
    /// Arrays of different sizes, or the first row that raises.
    pub(super) fn run(&self, call: &mut KernelCall<'_>) -> Result<(), Fault> {
        match *call.result_type() {
            QType::NdArray(result) => self.run_elements(call, result),
            _ => self.run_rows(call),
        }
    }

    fn run_rows(&self, call: &mut KernelCall<'_>) -> Result<(), Fault> {
        let (rows, count) = (common_size(call)?, call.len());
        let mut columns = [Column::MISSING; MAX_OPERANDS];
        columns.iter_mut().enumerate().take(count).for_each(|(index, column)| *column = call.column(index));
        let result = call.result_type().element().expect("the result is an array");
        let meter = call.meter();
        let mut out = call.rows_for_kernel(result, rows)?;
        let is_complete = columns[..count].iter().all(Column::is_all_present);
        let may_miss = !self.kernel.is_lifted || !is_complete;
        let presence = if may_miss { out.presence_mut()?.as_mut_ptr() } else { std::ptr::null_mut() };
        let target = Target { data: out.cells_mut().as_mut_ptr(), presence };
        let outcome = meter.strides(rows).try_for_each(|stride| {
            let stride = stride?;
            let columns = columns.map(|column| column.at_row(stride.start));
            let target = target.at_row(stride.start, result);
            // SAFETY: the columns are arguments of the types that the kernel takes and have these rows; the target
            // was sized for all rows, and a result shares no bytes with arguments (invariant 2 of `KernelCall`).
            let outcome = unsafe {
                if self.kernel.is_lifted && may_miss {
                    intersect(columns[..count].iter(), target.presence, stride.len());
                }
                self.run_block(&columns, target, stride.len())
            };
            outcome.map_err(|fault| fault.fault.in_row(stride.start + fault.row))
        });
        out.normalize();
        outcome
    }

    fn run_elements(&self, call: &mut KernelCall<'_>, result: NdType) -> Result<(), Fault> {
        let (views, shape) = elements(call, result)?;
        let (shape, arena, count) = (&shape[..result.rank()], call.arena(), call.len());
        let mut strides = views.map(|view| view.map_or([0; MAX_RANK], |view| view.strides_over(shape.len())));
        let space = Space::join(shape, &mut strides);
        let mut columns = [Column::MISSING; MAX_OPERANDS];
        let mut walks = [None; MAX_OPERANDS];
        let mut buffers = [std::ptr::null_mut::<u8>(); MAX_OPERANDS];
        for (index, view) in views.iter().flatten().enumerate() {
            let repeats = repeats_by_type(call.qtype(index).nd(), shape);
            let first = view.bytes().as_ptr().wrapping_add(view.start());
            let operand = Operand::new(first, view.element(), &strides[index], repeats);
            let walk = Walk::new(operand, &space);
            columns[index] = walk.column();
            if walk.is_gathered() {
                buffers[index] = arena.alloc_slice_fill_copy(GATHERED, 0u64).as_mut_ptr().cast();
            }
            walks[index] = walk.changes_by_block().then_some(walk);
        }
        let most = space.block(if buffers.iter().all(|buffer| buffer.is_null()) { STRIDE } else { GATHERED });
        let meter = call.meter();
        let out = call.nd_out(result, shape)?;
        // Elements are never missing, and a kernel of plain types does not ask.
        let target = Target { data: out.as_mut_ptr(), presence: std::ptr::null_mut() };
        let elements = out.len() / cell_size(result.element());
        let (mut first, mut polled, mut at) = (0, 0, Position::default());
        while first < elements {
            if first - polled >= STRIDE {
                meter.poll()?;
                polled = first;
            }
            space.go_to(&mut at, first);
            let end = space.end_of_block(&at, most, elements);
            let mut of_block = columns;
            for index in 0..count {
                of_block[index] = match &walks[index] {
                    Some(walk) => {
                        // SAFETY: the elements are a block of the space, and a buffer has room for a block.
                        let data = unsafe { walk.data(&space, &at, end - first, buffers[index]) };
                        Column { data, ..columns[index] }
                    }
                    None => columns[index].at_row(first),
                };
            }
            // SAFETY: each column is an argument of the type that the kernel takes and has this many rows; the
            // target was sized for all blocks, and an owned array shares no byte with arguments.
            let outcome =
                unsafe { self.run_block(&of_block, target.at_row(first, result.element()), end - first) };
            outcome.map_err(|fault| fault.fault.in_element(first + fault.row, shape))?;
            first = end;
        }
        Ok(())
    }

    /// # Safety
    /// The contract of [`BlockRun`](crate::array::block::BlockRun) for the operands that come first.
    unsafe fn run_block(
        &self,
        columns: &[Column; MAX_OPERANDS],
        target: Target,
        rows: usize,
    ) -> Result<(), Box<RowFault>> {
        let args = Operands { columns: columns.as_ptr(), positions: &IN_ORDER };
        // SAFETY: the caller's promise.
        unsafe { (self.kernel.run(Level::best()))(args, target, rows) }
    }
}

/// The size of all arguments that have rows.
pub(super) fn common_size(call: &KernelCall<'_>) -> Result<usize, Fault> {
    let sizes = || (0..call.len()).filter(|i| call.qtype(*i).array().is_some()).map(|i| call.array(i).len());
    let first = sizes().next().unwrap_or(0);
    match sizes().all(|size| size == first) {
        true => Ok(first),
        false => Err(Fault::Sizes { sizes: sizes().map(|size| size as u64).collect() }),
    }
}

/// The arguments that have elements, and the shape that they are broadcast to.
pub(super) fn elements<'f>(
    call: &KernelCall<'f>,
    result: NdType,
) -> Result<([Option<NdView<'f>>; MAX_OPERANDS], Shape), Fault> {
    let count = call.len();
    let views: [Option<NdView<'f>>; MAX_OPERANDS] =
        std::array::from_fn(|index| (index < count).then(|| call.nd(index)));
    let arrays = (0..count).filter_map(|index| Some((index, call.qtype(index).nd()?)));
    let shapes = arrays.map(|(index, qtype)| (views[index].as_ref().expect("an argument").shape(), qtype));
    let shape = common_shape(shapes, result.rank())?;
    Ok((views, shape))
}
