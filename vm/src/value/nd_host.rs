//! Between our views and those of the `ndarray` crate, without copying.
//!
//! `ndarray` counts strides in elements, ours are in bytes. A view of elements with gaps between them owns only
//! part of the memory it spans, so it has no slice to lend; such arrays are given as their buffer and strides.

use crate::value::array::cell_size;
use crate::value::nd_error::NdError;
use crate::value::nd_view::{NdCell, NdView};
use crate::value::shape::PerAxis;
use ::ndarray::{ArrayView, ArrayViewD, Axis, Dimension, IxDyn, ShapeBuilder};

impl<'a> NdView<'a> {
    /// The elements of a view whose axes may stand in any order and direction; `None` if there are gaps between
    /// its elements.
    ///
    /// # Errors
    /// There are too many axes or elements.
    pub fn from_ndarray<T: NdCell, D: Dimension>(
        view: ArrayView<'a, T, D>,
    ) -> Option<Result<NdView<'a>, NdError>> {
        let size = size_of::<T>() as isize;
        let (shape, strides) = (view.shape().to_vec(), view.strides().to_vec());
        // An axis that runs backwards begins at its end.
        let back: isize =
            shape.iter().zip(&strides).map(|(n, stride)| (*n as isize - 1).max(0) * (-stride).max(0)).sum();
        let slice = view.to_slice_memory_order()?;
        let strides: Vec<isize> = strides.iter().map(|stride| stride * size).collect();
        let start = if slice.is_empty() { 0 } else { (back * size) as usize };
        Some(NdView::new(T::ELEMENT, bytemuck::cast_slice(slice), start, &shape, &strides))
    }

    /// The same elements as a view of `ndarray`; `None` if they are not aligned to their size, strides are not multiples
    /// of it, or elements may be missing.
    ///
    /// # Panics
    /// If the elements are of another type.
    pub fn to_ndarray<T: NdCell>(&self) -> Option<ArrayViewD<'a, T>> {
        assert_eq!(T::ELEMENT, self.element(), "an array of this element");
        if self.validity().is_some() {
            return None;
        }
        if self.is_empty() {
            return ArrayView::from_shape(IxDyn(self.shape()), &[]).ok();
        }
        let size = cell_size(self.element()) as isize;
        let axes = || self.shape().iter().zip(self.strides());
        // From the lowest element on, all strides run upwards.
        let down: isize = axes().map(|(n, stride)| (*n as isize - 1) * stride.min(&0)).sum();
        let up: isize = axes().map(|(n, stride)| (*n as isize - 1) * stride.abs()).sum();
        let lowest = (self.start() as isize + down) as usize;
        let bytes = &self.bytes()[lowest..lowest + (up + size) as usize];
        let strides: Option<PerAxis> =
            self.strides().iter().map(|s| (s % size == 0).then_some((s.abs() / size) as usize)).collect();
        let cells: &[T] = bytemuck::checked::try_cast_slice(bytes).ok()?;
        let shape = IxDyn(self.shape()).strides(IxDyn(&strides?));
        let mut view = ArrayView::from_shape(shape, cells).ok()?;
        for (axis, stride) in self.strides().iter().enumerate() {
            if *stride < 0 {
                view.invert_axis(Axis(axis));
            }
        }
        Some(view)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::ndarray::{Array3, s};

    #[test]
    fn views_go_both_ways() {
        let array = Array3::from_shape_fn((2, 3, 4), |(i, j, k)| (100 * i + 10 * j + k) as i32);
        let backwards = array.slice(s![.., ..;-1, ..]);
        for view in [array.view(), array.view().reversed_axes(), backwards] {
            let ours = NdView::from_ndarray(view).expect("no gaps").expect("small");
            assert!(ours.cells::<i32>().eq(view.iter().copied()));
            assert_eq!(ours.to_ndarray::<i32>(), Some(view.into_dyn()));
        }
        assert!(NdView::from_ndarray(array.slice(s![.., .., ..2])).is_none());
        let repeated = NdView::from_slice(&[1.5f64], &[]).expect("one").broadcast_to(&[2, 2]).expect("fits");
        assert_eq!(repeated.to_ndarray::<f64>().map(|view| view.sum()), Some(6.0));
        let truths = [true, false];
        let ours = NdView::from_slice(&truths, &[2]).expect("fits");
        let back = ours.to_ndarray::<bool>().expect("aligned");
        assert!(back.iter().copied().eq(truths));
    }
}
