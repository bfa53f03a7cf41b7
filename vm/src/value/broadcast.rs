//! Broadcasting: the axes and sizes that several arrays are repeated to.
//!
//! ```text
//! NDARRAY_FLOAT64_N1N     (4, 1, 3)         axes are aligned from the last one
//! NDARRAY_FLOAT64_N1         (2, 1)
//! result         _NNN     (4, 2, 3)
//! ```
//!
//! An array *repeats* along an axis that it does not have and along its unit axes; along all other axes the arrays have
//! one size. Which axes are unit axes is part of a type on the machine; in the graph front they are those of size 1.

use crate::value::array::MAX_ROWS;
use crate::value::fault::Fault;
use crate::value::nd_type::{MAX_RANK, NdType};
use crate::value::qtype::QType;
use crate::value::scalar::ScalarType;
use crate::value::shape::{Shape, element_count};

/// The axes that arrays are broadcast to: whether each is a unit axis, which it is if it is one of every array that has
/// it. Of each array the number of axes is given, and which are unit axes.
pub fn common_axes<U: Fn(usize) -> bool>(
    arrays: impl Iterator<Item = (usize, U)> + Clone,
) -> impl Iterator<Item = bool> {
    let rank = arrays.clone().map(|(rank, _)| rank).max().unwrap_or(0);
    let is_unit =
        move |back: usize| arrays.clone().all(|(rank, is_unit)| rank.checked_sub(back).is_none_or(is_unit));
    (1..=rank).rev().map(is_unit)
}

/// Two sizes of one axis, along which neither array repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SizesDiffer {
    /// The axis of the result, from 0.
    pub axis: usize,
    /// The sizes, in the order of the arrays.
    pub sizes: [usize; 2],
}

/// Writes the sizes that arrays are broadcast to, for as many axes as the result has. Of each array the sizes are given,
/// and along which of its axes it repeats.
///
/// # Errors
/// The first axis with two sizes.
#[inline]
pub fn common_sizes<'a, U: Fn(usize) -> bool>(
    arrays: impl Iterator<Item = (&'a [usize], U)> + Clone,
    result: &mut [usize],
) -> Result<(), SizesDiffer> {
    let rank = result.len();
    for (axis, size) in result.iter_mut().enumerate() {
        let mut common = None;
        for (sizes, repeats) in arrays.clone() {
            let Some(own) = sizes.len().checked_sub(rank - axis).filter(|own| !repeats(*own)) else {
                continue;
            };
            match common.replace(sizes[own]) {
                Some(other) if other != sizes[own] => {
                    return Err(SizesDiffer { axis, sizes: [other, sizes[own]] });
                }
                _ => {}
            }
        }
        *size = common.unwrap_or(1);
    }
    Ok(())
}

/// The type of an array of this element that the n-dimensional arrays among types are broadcast to; `None` without arrays,
/// or if there are no arrays of the element.
pub fn broadcast_type(types: &[QType], element: ScalarType) -> Option<NdType> {
    let arrays = types.iter().filter_map(QType::nd);
    NdType::of_axes(element, common_axes(arrays.map(|t| (t.rank(), move |axis| t.is_unit(axis)))))
}

/// The sizes that arrays of these types are broadcast to.
///
/// # Errors
/// An axis that is dynamic in several types has not one size in all of the arrays, or there are too many elements.
#[inline]
pub(crate) fn common_shape<'a>(
    arrays: impl Iterator<Item = (&'a [usize], NdType)> + Clone,
    rank: usize,
) -> Result<Shape, Fault> {
    let mut shape = [1; MAX_RANK];
    let with_units = arrays.clone().map(|(shape, t)| (shape, move |axis| t.is_unit(axis)));
    match common_sizes(with_units, &mut shape[..rank]) {
        Ok(()) => check_count(&shape[..rank]).map(|_| shape),
        Err(SizesDiffer { axis, .. }) => Err(shapes_differ(arrays.map(|(shape, _)| shape), axis)),
    }
}

/// The fault of shapes that differ in an axis of the result.
#[cold]
pub(crate) fn shapes_differ<'a>(shapes: impl Iterator<Item = &'a [usize]>, axis: usize) -> Fault {
    let shapes = shapes.map(|shape| shape.iter().map(|size| *size as u64).collect()).collect();
    Fault::Shapes { shapes, axis: axis as u64 }
}

/// The number of elements of a result.
///
/// # Errors
/// There are too many; sizes of 0 count as 1.
pub fn check_count(shape: &[usize]) -> Result<usize, Fault> {
    element_count(shape).ok_or_else(|| {
        let actual = shape.iter().fold(1u64, |n, size| n.saturating_mul((*size).max(1) as u64));
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

    #[test]
    fn sizes_agree_where_nothing_repeats() {
        let join = |shapes: &[&[usize]], rank: usize| {
            let mut sizes = vec![0; rank];
            let shapes = shapes.iter().map(|shape| (*shape, |axis: usize| shape[axis] == 1));
            common_sizes(shapes, &mut sizes).map(|()| sizes)
        };
        assert_eq!(join(&[&[4, 1, 3], &[2, 1], &[]], 3), Ok(vec![4, 2, 3]));
        assert_eq!(join(&[&[1], &[0]], 1), Ok(vec![0]));
        assert_eq!(join(&[&[2, 3], &[1], &[4, 5]], 2), Err(SizesDiffer { axis: 0, sizes: [2, 4] }));
        assert_eq!(join(&[&[3], &[2, 5]], 2), Err(SizesDiffer { axis: 1, sizes: [3, 5] }));
    }
}
