//! Broadcasting: shapes are aligned at the end, and axes of size 1 repeat.

use crate::backend::error::OpError;
use crate::dag::Array;
use crate::dag::array::Elements;
use cembra_vm::value::broadcast::{SizesDiffer, common_sizes};
use ndarray::IxDyn;

/// Elements an array may have.
pub const ELEMENT_LIMIT: usize = 1 << 31;

/// The shape to which all broadcast.
///
/// # Errors
/// Two sizes of an axis differ and neither is 1, or the shape has too many elements.
pub fn common_shape(shapes: &[&[usize]]) -> Result<Vec<usize>, OpError> {
    let rank = shapes.iter().map(|shape| shape.len()).max().unwrap_or(0);
    let mut common = vec![1; rank];
    let arrays = shapes.iter().map(|shape| (*shape, |axis: usize| shape[axis] == 1));
    common_sizes(arrays, &mut common).map_err(|SizesDiffer { axis, sizes: [left, right] }| {
        let shapes = shapes.iter().map(|shape| shape.to_vec()).collect();
        OpError::Broadcast { shapes, axis: axis as isize - rank as isize, left, right }
    })?;
    check_size(&common)?;
    Ok(common)
}

/// The shape to which arrays broadcast.
///
/// # Errors
/// As [`common_shape`].
pub fn shape_of(arrays: &[&Array]) -> Result<Vec<usize>, OpError> {
    common_shape(&arrays.iter().map(|array| array.shape()).collect::<Vec<_>>())
}

/// Fails for shapes with more elements than arrays have.
pub fn check_size(shape: &[usize]) -> Result<(), OpError> {
    let size = shape.iter().try_fold(1usize, |size, axis| size.checked_mul(*axis));
    match size.filter(|size| *size <= ELEMENT_LIMIT) {
        Some(_) => Ok(()),
        None => Err(OpError::TooLarge { shape: shape.to_vec(), limit: ELEMENT_LIMIT }),
    }
}

/// A view of an array in a shape it broadcasts to.
pub fn spread<'a, T: Clone>(elements: &'a Elements<T>, shape: &[usize]) -> ndarray::ArrayViewD<'a, T> {
    elements.broadcast(IxDyn(shape)).expect("the shape is the common one")
}
