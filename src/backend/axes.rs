//! Axes: which are meant, and operations that only move them.

use crate::backend::error::OpError;
use crate::dag::Array;
use crate::dag::array::{RANK_LIMIT, same_type};
use ndarray::Axis;

/// Axes of an array of a rank, from 0, in the order given; negative numbers count from the end.
///
/// # Errors
/// There is no such axis, or it is given twice.
pub fn resolve(axes: &[isize], rank: usize) -> Result<Vec<usize>, OpError> {
    let mut resolved = Vec::with_capacity(axes.len());
    for &axis in axes {
        let from_start = if axis < 0 { axis + rank as isize } else { axis };
        let inside = usize::try_from(from_start).ok().filter(|axis| *axis < rank);
        let place = inside.ok_or(OpError::AxisOutOfBounds { axis, rank })?;
        if resolved.contains(&place) {
            return Err(OpError::RepeatedAxis { axis: place });
        }
        resolved.push(place);
    }
    Ok(resolved)
}

/// The array with axes of size 1 at these places of the result; shares the elements.
///
/// # Errors
/// There is no such place, it is given twice, or there would be too many axes.
pub fn expand_dims(array: &Array, axes: &[isize]) -> Result<Array, OpError> {
    let rank = array.shape().len() + axes.len();
    if rank > RANK_LIMIT {
        return Err(OpError::TooManyAxes { rank, limit: RANK_LIMIT });
    }
    let mut places = resolve(axes, rank)?;
    places.sort_unstable();
    Ok(
        same_type!(array, elements => places.iter().fold(elements.clone(), |e, place| e.insert_axis(Axis(*place)))),
    )
}

/// The array without these axes; shares the elements.
///
/// # Errors
/// There is no such axis, it is given twice, or its size is not 1.
pub fn squeeze(array: &Array, axes: &[isize]) -> Result<Array, OpError> {
    let mut places = resolve(axes, array.shape().len())?;
    places.sort_unstable();
    for &axis in &places {
        let size = array.shape()[axis];
        if size != 1 {
            return Err(OpError::SqueezeSize { axis, size });
        }
    }
    Ok(same_type!(array, elements => {
        places.iter().rev().fold(elements.clone(), |e, place| e.index_axis_move(Axis(*place), 0))
    }))
}
