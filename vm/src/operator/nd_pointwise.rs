//! Pointwise kernels over elements of n-dimensional arrays.
//!
//! ```text
//! (1000, 3) + (1000, 3)     one walk over 3000 elements
//! (1000, 3) + (3)           the second operand begins anew every 3 elements
//! ```
//!
//! Axes are aligned from the last one. Absent axes and unit axes repeat by a stride of 0; dynamic axes must have
//! one size.

use crate::operator::block::{self, BlockKernel, Column, Target};
use crate::operator::call::Call;
use crate::operator::meter::STRIDE;
use crate::operator::nd_walk::{Position, Space, Walk, repeats_by_type, strides_over};
use crate::value::array::{MAX_ROWS, cell_size};
use crate::value::nd_type::MAX_RANK;
use crate::value::nd_view::{Shape, element_count};
use crate::value::{Fault, NdType, NdView};
use crate::vector::Level;

/// Elements in one call of a block kernel.
const CHUNK: usize = 512;
/// Operands of a block kernel.
pub(super) const MAX_OPERANDS: usize = 4;

/// The arguments, and the shape that they are broadcast to.
pub(super) fn arguments<'f>(
    call: &Call<'f>,
    rank: usize,
) -> Result<([Option<NdView<'f>>; MAX_OPERANDS], Shape), Fault> {
    let count = call.len();
    let views: [Option<NdView<'f>>; MAX_OPERANDS] =
        std::array::from_fn(|index| (index < count).then(|| call.nd(index)));
    let arrays = (0..count).filter_map(|index| Some((index, call.qtype(index).nd()?)));
    let shapes = arrays.map(|(index, qtype)| (views[index].as_ref().expect("an argument").shape(), qtype));
    let shape = common_shape(shapes, rank)?;
    Ok((views, shape))
}

/// An operator on n-dimensional arrays whose elements are computed by a block kernel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NdPointwise {
    pub(crate) kernel: BlockKernel,
    pub(crate) result: NdType,
}

impl NdPointwise {
    /// Computes all elements.
    ///
    /// # Errors
    /// Arrays of different sizes, or the first element that raises.
    pub(super) fn run(&self, call: &mut Call<'_>) -> Result<(), Fault> {
        let NdPointwise { kernel, result } = *self;
        let (views, shape) = arguments(call, result.rank())?;
        let shape = &shape[..result.rank()];
        let arena = call.arena();
        let mut strides =
            views.map(|view| view.map_or([0; MAX_RANK], |view| strides_over(&view, shape.len())));
        let space = Space::join(shape, &mut strides);
        let walks: [Option<Walk<'_>>; MAX_OPERANDS] = std::array::from_fn(|index| {
            let repeats = repeats_by_type(views[index].and_then(|_| call.qtype(index).nd()), shape);
            views[index].map(|view| Walk::new(view, strides[index], &space, repeats))
        });
        let buffer = |walk: &Option<Walk<'_>>| match walk.is_some_and(|walk| walk.is_gathered()) {
            true => arena.alloc_slice_fill_copy(CHUNK, 0u64).as_mut_ptr(),
            false => std::ptr::null_mut(),
        };
        let buffers = walks.each_ref().map(buffer);
        let size = cell_size(result.element());
        let meter = call.meter();
        let out = call.nd_out(result, shape)?;
        let (mut first, count, most) = (0, out.len() / size, space.block(CHUNK));
        let mut at = Position::default();
        let mut polled = 0;
        while first < count {
            if first - polled >= STRIDE {
                meter.poll()?;
                polled = first;
            }
            space.go_to(&mut at, first);
            let end = space.end_of_block(&at, most, count);
            let rows = end - first;
            let columns: [Column; MAX_OPERANDS] = std::array::from_fn(|index| match &walks[index] {
                Some(walk) => {
                    // SAFETY: the elements are a block of the space, and a buffer has room for a block.
                    let data = unsafe { walk.data(&space, &at, rows, buffers[index].cast()) };
                    Column { data, ..walk.column() }
                }
                None => Column::MISSING,
            });
            // Elements are never missing, and a kernel of plain types does not ask.
            let target = Target { data: out[first * size..].as_mut_ptr(), presence: std::ptr::null_mut() };
            let args = block::Operands { columns: columns.as_ptr(), positions: &block::IN_ORDER };
            // SAFETY: each column is an argument of the type that the kernel takes and has this many rows; the
            // target was sized for all blocks, and an owned array shares no byte with arguments.
            let outcome = unsafe { (kernel.run(Level::best()))(args, target, rows) };
            outcome.map_err(|fault| in_element(first + fault.row, shape, fault.fault))?;
            first = end;
        }
        Ok(())
    }
}

/// The fault with the place of the element that raised it.
#[cold]
pub(crate) fn in_element(number: usize, shape: &[usize], fault: Fault) -> Fault {
    if let Fault::Exhausted(_) = fault {
        return fault;
    }
    let mut rest = number;
    let mut index: Vec<u64> = shape
        .iter()
        .rev()
        .map(|size| {
            let place = rest % size;
            rest /= size;
            place as u64
        })
        .collect();
    index.reverse();
    Fault::Element { index, fault: Box::new(fault) }
}

/// The sizes that arrays of these types are broadcast to.
///
/// # Errors
/// An axis that is dynamic in several types has not one size in all of the arrays, or there are too many elements.
pub(crate) fn common_shape<'a>(
    arrays: impl Iterator<Item = (&'a [usize], NdType)> + Clone,
    rank: usize,
) -> Result<Shape, Fault> {
    let mut shape = [1; MAX_RANK];
    for (axis, size) in shape.iter_mut().enumerate().take(rank) {
        let back = rank - axis;
        let has_axis = |t: &NdType| t.rank() >= back && !t.is_unit(t.rank() - back);
        let arrays_with_axis = arrays.clone().filter(|(_, t)| has_axis(t));
        let mut sizes = arrays_with_axis.map(|(shape, t)| shape[t.rank() - back]);
        let Some(first) = sizes.next() else { continue };
        if sizes.any(|other| other != first) {
            let shapes = arrays.map(|(shape, _)| shape.iter().map(|n| *n as u64).collect()).collect();
            return Err(Fault::Shapes { shapes, axis: axis as u64 });
        }
        *size = first;
    }
    check_count(&shape[..rank])?;
    Ok(shape)
}

/// The number of elements of a result.
///
/// # Errors
/// There are too many.
pub fn check_count(shape: &[usize]) -> Result<usize, Fault> {
    element_count(shape).ok_or_else(|| {
        let actual = shape.iter().fold(1u64, |n, size| n.saturating_mul(*size as u64));
        Fault::Limit { limit: "array-rows", actual, maximum: MAX_ROWS as u64 }
    })
}
