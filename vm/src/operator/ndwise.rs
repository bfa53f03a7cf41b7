//! Pointwise operators on n-dimensional arrays: an overload of plain types, applied to each element.
//!
//! ```text
//! math.add(NDARRAY_FLOAT64_NN, NDARRAY_FLOAT64_1N)     is math.add(FLOAT64, FLOAT64) over all elements
//!
//! shape (1000, 3)   strides 24, 8   24, 8      axes that all operands walk alike become one:
//! shape (3000)      strides     8       8      one long run of the block kernel
//! ```
//!
//! Axes are aligned from the last one. Absent axes and unit axes repeat by a stride of 0; dynamic axes must have
//! one size. The block kernel reads operands where they lie if a run of elements is contiguous or repeats one
//! element; other operands are gathered into a small buffer, some hundred elements at a time.

use crate::operator::block::{self, BlockKernel, Column, RowFault, Target};
use crate::operator::call::Call;
use crate::operator::row_by_row::RowByRow;
use crate::operator::signature::{Kernel, Overload};
use crate::value::array::{MAX_ROWS, cell_size};
use crate::value::nd_type::{MAX_RANK, ND_ELEMENTS};
use crate::value::nd_view::{Shape, Strides, element_count};
use crate::value::{Fault, NdType, NdView, QType, ScalarType};
use crate::vector::Level;

/// Elements in one call of a block kernel.
const CHUNK: usize = 512;
/// Runs shorter than this are gathered, several at a time.
const SHORT: usize = 32;
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
        Kernel::Scalar(kernel) => {
            let kernel = kernel.block;
            Kernel::general(move |call| apply(&kernel, result, call))
        }
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
    let views = std::array::from_fn(|index| (index < count).then(|| call.nd(index)));
    let types: [Option<NdType>; MAX_OPERANDS] =
        std::array::from_fn(|index| (index < count).then(|| call.qtype(index).nd()).flatten());
    let shape = broadcast_shape(&views, &types, rank)?;
    Ok((views, shape))
}

fn apply(kernel: &BlockKernel, result: NdType, call: &mut Call<'_>) -> Result<(), Fault> {
    let level = Level::best();
    let (views, shape) = arguments(call, result.rank())?;
    let shape = &shape[..result.rank()];
    let mut operands = Operands::new(&views, shape);
    let size = cell_size(result.element());
    let arena = call.arena();
    let mut buffers: [&mut [u64]; MAX_OPERANDS] =
        std::array::from_fn(|index| match operands.needs_buffer(index) {
            true => arena.alloc_slice_fill_copy(CHUNK, 0),
            false => &mut [][..],
        });
    let out = call.nd_out().resize(result, shape);
    for (first, rows) in operands.chunks() {
        let columns: [Column; MAX_OPERANDS] =
            std::array::from_fn(|index| operands.column(index, rows, buffers[index]));
        // Elements are never missing, and a kernel of plain types does not ask.
        let target = Target { data: out[first * size..].as_mut_ptr(), presence: std::ptr::null_mut() };
        let args = block::Operands { columns: columns.as_ptr(), positions: &[0, 1, 2, 3] };
        // SAFETY: each column is an argument of the type that the kernel takes and has this many rows; the
        // target was sized for all chunks, and an owned array shares no byte with arguments.
        let outcome = unsafe { (kernel.run(level))(args, target, rows) };
        outcome.map_err(|fault| in_element(first + fault.row, shape, fault.fault))?;
    }
    Ok(())
}

/// The fault with the place of the element that raised it.
#[cold]
fn in_element(number: usize, shape: &[usize], fault: Fault) -> Fault {
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

/// The sizes that all arguments are broadcast to.
fn broadcast_shape(
    views: &[Option<NdView<'_>>],
    types: &[Option<NdType>],
    rank: usize,
) -> Result<Shape, Fault> {
    let arrays = || views.iter().flatten().zip(types).filter_map(|(view, t)| t.map(|t| (view, t)));
    let mut shape = [1; MAX_RANK];
    for (axis, size) in shape.iter_mut().enumerate().take(rank) {
        let back = rank - axis;
        let mut sizes = arrays()
            .filter(|(_, t)| t.rank() >= back && !t.is_unit(t.rank() - back))
            .map(|(view, t)| view.shape()[t.rank() - back]);
        let Some(first) = sizes.next() else { continue };
        if sizes.any(|other| other != first) {
            let shapes = arrays().map(|(view, _)| view.shape().iter().map(|n| *n as u64).collect()).collect();
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

/// All operands over the shape of the result, with as few axes as they allow.
struct Operands<'a> {
    shape: Shape,
    rank: usize,
    walks: [Option<Walk<'a>>; MAX_OPERANDS],
    sizes: [usize; MAX_OPERANDS],
}

/// Where an operand stands.
struct Walk<'a> {
    bytes: &'a [u8],
    strides: Strides,
    index: Shape,
    at: isize,
}

impl<'a> Operands<'a> {
    fn new(views: &[Option<NdView<'a>>; MAX_OPERANDS], shape: &[usize]) -> Operands<'a> {
        let mut strides = [[0; MAX_RANK]; MAX_OPERANDS];
        for (strides, view) in strides.iter_mut().zip(views) {
            let Some(view) = view else { continue };
            let new = shape.len() - view.rank();
            for axis in (0..view.rank()).filter(|axis| view.shape()[*axis] != 1) {
                strides[new + axis] = view.strides()[axis];
            }
        }
        let (shape, rank) = merge_axes(shape, &mut strides);
        let walk = |index: usize| {
            views[index].map(|view| Walk {
                bytes: view.bytes(),
                strides: strides[index],
                index: [0; MAX_RANK],
                at: view.start() as isize,
            })
        };
        let sizes = views.map(|view| view.map_or(0, |view| cell_size(view.element())));
        Operands { shape, rank, walks: std::array::from_fn(walk), sizes }
    }

    /// The size of the innermost axis.
    fn inner(&self) -> usize {
        self.shape[self.rank - 1]
    }

    /// First element and number of elements of each call of the kernel.
    fn chunks(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let (inner, total) = (self.inner(), self.shape[..self.rank].iter().product::<usize>());
        let mut first = 0;
        std::iter::from_fn(move || {
            let rows = match total - first {
                0 => return None,
                // A chunk of long runs ends with its run.
                left if inner >= SHORT => (inner - first % inner).min(left).min(CHUNK),
                left => left.min(CHUNK),
            };
            first += rows;
            Some((first - rows, rows))
        })
    }

    /// True unless the operand lies, run by run, as the kernel can read it: a kernel of two operands takes one
    /// that repeats only beside one that does not.
    fn needs_buffer(&self, index: usize) -> bool {
        let (Some(walk), size) = (&self.walks[index], self.sizes[index]) else { return false };
        let repeat = |walk: &Walk<'_>| walk.strides[self.rank - 1] == 0;
        if index == 0 && self.inner() > 1 && self.walks.iter().flatten().all(repeat) {
            return true;
        }
        let outer = self.rank - 1;
        let repeats = walk.strides[..self.rank].iter().all(|stride| *stride == 0);
        let aligned = walk.strides[..outer].iter().all(|stride| stride % size as isize == 0)
            && (walk.bytes.as_ptr().addr().wrapping_add_signed(walk.at)).is_multiple_of(size);
        let direct = matches!(walk.strides[outer], stride if stride == 0 || stride == size as isize);
        let long = self.inner() >= SHORT || self.rank == 1;
        !(aligned && (repeats || (direct && long)))
    }

    /// The next elements of an operand as a column, of its buffer if it needs one.
    fn column(&mut self, index: usize, rows: usize, buffer: &mut [u64]) -> Column {
        let (shape, rank) = (self.shape, self.rank);
        let (Some(walk), size) = (&mut self.walks[index], self.sizes[index]) else { return Column::MISSING };
        let column = |data: *const u8, step| Column { data, step, presence: std::ptr::null(), all: u64::MAX };
        let inner = walk.strides[rank - 1];
        if buffer.is_empty() {
            let data = walk.bytes[walk.at as usize..].as_ptr();
            walk.runs(&shape[..rank], rows, |_, _, _| ());
            return column(data, if inner == 0 { 0 } else { size });
        }
        let cells: &mut [u8] = bytemuck::cast_slice_mut(buffer);
        let mut filled = 0;
        walk.runs(&shape[..rank], rows, |bytes, at, run| {
            let target = &mut cells[filled * size..][..run * size];
            match size {
                1 => gather::<1>(bytes, at, inner, target),
                4 => gather::<4>(bytes, at, inner, target),
                _ => gather::<8>(bytes, at, inner, target),
            }
            filled += run;
        });
        column(cells.as_ptr(), size)
    }
}

/// Copies elements that lie a stride apart.
fn gather<const SIZE: usize>(bytes: &[u8], at: usize, stride: isize, target: &mut [u8]) {
    let mut from = at as isize;
    for cell in target.chunks_exact_mut(SIZE) {
        cell.copy_from_slice(&bytes[from as usize..][..SIZE]);
        from += stride;
    }
}

impl<'a> Walk<'a> {
    /// Goes over the next elements run by run: calls with where a run begins and how long it is.
    fn runs(&mut self, shape: &[usize], mut count: usize, mut run: impl FnMut(&'a [u8], usize, usize)) {
        let last = shape.len() - 1;
        while count > 0 {
            let length = count.min(shape[last] - self.index[last]);
            run(self.bytes, self.at as usize, length);
            count -= length;
            self.index[last] += length;
            self.at += self.strides[last] * length as isize;
            for axis in (1..=last).rev() {
                if self.index[axis] < shape[axis] {
                    break;
                }
                self.at += self.strides[axis - 1] - self.strides[axis] * shape[axis] as isize;
                self.index[axis] = 0;
                self.index[axis - 1] += 1;
            }
        }
    }
}

/// Drops axes of size 1 and joins neighbours that every operand walks as one; gives the shape that is left, of at
/// least one axis.
fn merge_axes(shape: &[usize], strides: &mut [[isize; MAX_RANK]; MAX_OPERANDS]) -> (Shape, usize) {
    let mut merged = [1; MAX_RANK];
    let mut rank = 0;
    for (axis, size) in shape.iter().copied().enumerate().filter(|(_, size)| *size != 1) {
        let joins = rank > 0
            && strides.iter().all(|strides| strides[rank - 1] == strides[axis].wrapping_mul(size as isize));
        rank += usize::from(!joins);
        merged[rank - 1] = if joins { merged[rank - 1] * size } else { size };
        strides.iter_mut().for_each(|strides| strides[rank - 1] = strides[axis]);
    }
    if rank == 0 {
        strides.iter_mut().for_each(|strides| strides[0] = 0);
    }
    (merged, rank.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_merge_where_all_operands_allow() {
        let merge = |shape: &[usize], operands: &[&[isize]]| {
            let mut strides = [[0; MAX_RANK]; MAX_OPERANDS];
            for (to, from) in strides.iter_mut().zip(operands) {
                to[..from.len()].copy_from_slice(from);
            }
            let (merged, rank) = merge_axes(shape, &mut strides);
            (merged[..rank].to_vec(), operands.iter().zip(strides).map(|(_, s)| s[..rank].to_vec()).collect())
        };
        let one: Vec<Vec<isize>> = vec![vec![8], vec![0]];
        assert_eq!(merge(&[2, 1, 3], &[&[24, 99, 8], &[0, 0, 0]]), (vec![6], one));
        let two: Vec<Vec<isize>> = vec![vec![24, 8], vec![0, 8]];
        assert_eq!(merge(&[2, 3], &[&[24, 8], &[0, 8]]), (vec![2, 3], two));
        assert_eq!(merge(&[1, 1], &[&[24, 8]]), (vec![1], vec![vec![0]]));
        assert_eq!(merge(&[2, 0], &[&[0, 8]]), (vec![0], vec![vec![8]]));
    }

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
