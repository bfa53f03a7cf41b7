//! Broadcasting: shapes are aligned at the end, and axes of size 1 repeat.

use crate::backend::error::OpError;
use crate::dag::Array;
use crate::dag::array::Elements;
use ndarray::{IxDyn, Zip};

/// Elements an array may have.
pub const ELEMENT_LIMIT: usize = 1 << 31;

/// The shape to which all broadcast.
///
/// # Errors
/// Two sizes of an axis differ and neither is 1, or the shape has too many elements.
pub fn common_shape(shapes: &[&[usize]]) -> Result<Vec<usize>, OpError> {
    let rank = shapes.iter().map(|shape| shape.len()).max().unwrap_or(0);
    let mut common = vec![1; rank];
    for shape in shapes {
        let start = rank - shape.len();
        for (axis, &size) in shape.iter().enumerate() {
            let so_far = &mut common[start + axis];
            if *so_far == 1 {
                *so_far = size;
            } else if size != 1 && size != *so_far {
                let shapes = shapes.iter().map(|shape| shape.to_vec()).collect();
                let axis = axis as isize - shape.len() as isize;
                return Err(OpError::Broadcast { shapes, axis, left: *so_far, right: size });
            }
        }
    }
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

/// A function of each pair of elements.
///
/// # Errors
/// The shapes do not broadcast.
pub fn zip<A: Clone, B: Clone, R: Clone>(
    left: &Elements<A>,
    right: &Elements<B>,
    function: impl Fn(A, B) -> R,
) -> Result<Elements<R>, OpError> {
    let shape = common_shape(&[left.shape(), right.shape()])?;
    let (left, right) = (spread(left, &shape), spread(right, &shape));
    Ok(Zip::from(left).and(right).map_collect(|l, r| function(l.clone(), r.clone())).into_shared())
}

/// A view of an array in a shape it broadcasts to.
pub fn spread<'a, T: Clone>(elements: &'a Elements<T>, shape: &[usize]) -> ndarray::ArrayViewD<'a, T> {
    elements.broadcast(IxDyn(shape)).expect("the shape is the common one")
}
