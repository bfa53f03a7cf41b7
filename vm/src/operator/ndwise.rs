//! Pointwise operators on n-dimensional arrays: an overload of plain types, applied to each element.
//!
//! ```text
//! math.add(NDARRAY_FLOAT64_NN, NDARRAY_FLOAT64_1N)     is math.add(FLOAT64, FLOAT64) over all elements
//!
//! (1000, 3) + (1000, 3)     one walk over 3000 elements
//! (1000, 3) + (3)           the second operand begins anew every 3 elements
//! ```
//!
//! Axes are aligned from the last one. Absent axes and unit axes repeat by a stride of 0; dynamic axes must have
//! one size.

use crate::operator::block::{self, BlockKernel, Column, RowFault, Target};
use crate::operator::call::Call;
use crate::operator::nd_walk::{Space, Walk, repeats_by_type, strides_over};
use crate::operator::row_by_row::RowByRow;
use crate::operator::signature::{Kernel, Overload};
use crate::value::array::{MAX_ROWS, cell_size};
use crate::value::nd_type::{MAX_RANK, ND_ELEMENTS};
use crate::value::nd_view::{Shape, element_count};
use crate::value::{Fault, NdType, NdView, QType, ScalarType};
use crate::vector::Level;

/// Elements in one call of a block kernel.
const CHUNK: usize = 512;
/// Operands of a block kernel.
const MAX_OPERANDS: usize = 4;

/// Argument types of the overload that is applied to the elements: arrays become their elements. `None` unless
/// there is an n-dimensional array, and all other arguments are scalars.
pub fn cell_types(args: &[QType]) -> Option<Vec<QType>> {
    args.iter().find(|qtype| qtype.nd().is_some())?;
    let cell = |qtype: &QType| match qtype {
        QType::NdArray(t) => Some(QType::Scalar(t.element())),
        QType::Scalar(_) => Some(qtype.clone()),
        _ => None,
    };
    args.iter().map(cell).collect()
}

/// The type of an array of this element that the arguments are broadcast to; `None` without arrays, or if there
/// are no arrays of the element.
pub fn broadcast_type(args: &[QType], element: ScalarType) -> Option<NdType> {
    let arrays = || args.iter().filter_map(QType::nd);
    let rank = arrays().map(NdType::rank).max()?;
    let unit = |axis: usize| {
        // The axis counted from the last one; an array that does not have it repeats.
        let back = rank - axis;
        arrays().filter(|t| t.rank() >= back).all(|t| t.is_unit(t.rank() - back))
    };
    NdType::of_axes(element, (0..rank).map(unit))
}

/// The overload on arrays, made of that on elements; `None` if one of its types is no element.
pub fn over_elements(args: &[QType], cells: &Overload) -> Option<Overload> {
    let element = |qtype: &QType| matches!(qtype, QType::Scalar(t) if ND_ELEMENTS.contains(t));
    if !cells.args().iter().chain([cells.result()]).all(element) || args.len() > MAX_OPERANDS {
        return None;
    }
    let result = broadcast_type(args, cells.result().scalar()?)?;
    let code = match cells.kernel() {
        Kernel::Scalar(kernel) => Kernel::NdPointwise(NdPointwise { kernel: kernel.block, result }),
        _ => {
            let kernel = RowByRow::new(cells)?;
            Kernel::general(move |call| apply_one_by_one(&kernel, result, call))
        }
    };
    Some(cells.over_arrays(args, QType::NdArray(result), code))
}

/// Applies a kernel that needs slots.
fn apply_one_by_one(kernel: &RowByRow, result: NdType, call: &mut Call<'_>) -> Result<(), Fault> {
    let (views, shape) = arguments(call, result.rank())?;
    let shape = &shape[..result.rank()];
    let repeated = views.iter().flatten().map(|view| view.broadcast_to(shape));
    let views: Option<Vec<NdView<'_>>> = repeated.collect();
    let views = views.expect("the shape is that of all arguments");
    let arena = call.arena();
    let outcome = kernel.run_elements(arena, &views, call.nd_out().resize(result, shape));
    outcome.map_err(|RowFault { row, fault }| in_element(row, shape, fault))
}

/// The arguments, and the shape that they are broadcast to.
fn arguments<'f>(call: &Call<'f>, rank: usize) -> Result<([Option<NdView<'f>>; MAX_OPERANDS], Shape), Fault> {
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
        let out = call.nd_out().resize(result, shape);
        let (mut first, count) = (0, out.len() / size);
        while first < count {
            let end = space.end_of_block(first, CHUNK, count);
            let (place, rows) = (space.place(first), end - first);
            let columns: [Column; MAX_OPERANDS] = std::array::from_fn(|index| match &walks[index] {
                // SAFETY: the elements are a block of the space, and a buffer has room for a block.
                Some(walk) => unsafe { walk.column(&space, &place, rows, buffers[index].cast()) },
                None => Column::MISSING,
            });
            // Elements are never missing, and a kernel of plain types does not ask.
            let target = Target { data: out[first * size..].as_mut_ptr(), presence: std::ptr::null_mut() };
            let args = block::Operands { columns: columns.as_ptr(), positions: &[0, 1, 2, 3] };
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unit_axes_broadcast_by_type() {
        let of = |names: &[&str]| {
            let types: Vec<QType> = names.iter().map(|name| name.parse().expect("a type")).collect();
            broadcast_type(&types, ScalarType::Boolean).map(|t| t.to_string())
        };
        assert_eq!(
            of(&["NDARRAY_INT32_1N", "FLOAT64", "NDARRAY_INT32_N11"]).as_deref(),
            Some("NDARRAY_BOOLEAN_N1N")
        );
        assert_eq!(of(&["NDARRAY_INT32_11", "NDARRAY_INT32_1"]).as_deref(), Some("NDARRAY_BOOLEAN_11"));
        assert_eq!(of(&["INT32"]), None);
    }
}
