//! Views: n-dimensional arrays where they lie, in whatever order and with whatever gaps.
//!
//! ```text
//! bytes    . . 0 1 2 . 3 4 5 .      start 2, shape (2, 3), strides (4, 1), of one byte each
//! row 1    3 4 5                    element (i, j) begins at  start + i * 4 + j * 1
//! ```
//!
//! A stride is in bytes and may be 0, so that an axis repeats one element, or negative. No alignment is asked for.
//!
//! Invariants:
//! 1. Every element lies inside the bytes, and there are at most [`MAX_ROWS`](crate::value::array::MAX_ROWS) of them, or more along a single axis that
//!    repeats none. A view without elements begins with its bytes, and a stride that no element takes is not farther than
//!    the bytes reach.
//! 2. A BOOLEAN element is 0 or 1.
//! 3. Elements are always there, except along a single axis, where a bitmap that has a bit for every element may say
//!    which are: rows, see [`array_view`](crate::value::array_view).

use crate::value::array::cell_size;
use crate::value::nd_error::NdError;
use crate::value::nd_type::{MAX_RANK, NdType, is_element};
use crate::value::scalar::ScalarType;
use crate::value::scalar_value::ScalarValue;
use crate::value::shape::{Offsets, Shape, Strides, are_in_order, c_strides, element_count, padded};
use std::ops::Range;

/// A Rust type that is the element of an n-dimensional array. Its size is that of [`NdCell::ELEMENT`], and all bytes 0 are
/// a value; views and kernels lean on that, so that nobody else makes one.
///
/// ```compile_fail,E0277
/// #[derive(Clone, Copy, Default)]
/// struct Wide;
/// impl cembra_vm::value::nd_view::NdCell for Wide {
///     const ELEMENT: cembra_vm::value::ScalarType = cembra_vm::value::ScalarType::Float64;
///     fn read(_: &[u8]) -> Wide {
///         Wide
///     }
/// }
/// ```
pub trait NdCell:
    Default + Send + Sync + bytemuck::Zeroable + bytemuck::NoUninit + bytemuck::CheckedBitPattern + sealed::Sealed
{
    /// The scalar type.
    const ELEMENT: ScalarType;

    /// Reads the first bytes, of any alignment.
    fn read(bytes: &[u8]) -> Self;
}

mod sealed {
    pub trait Sealed {}
}

impl sealed::Sealed for bool {}

impl NdCell for bool {
    const ELEMENT: ScalarType = ScalarType::Boolean;

    fn read(bytes: &[u8]) -> bool {
        bytes[0] != 0
    }
}

macro_rules! cell {
    ($($rust:ty => $element:ident),*) => {$(
        impl sealed::Sealed for $rust {}

        impl NdCell for $rust {
            const ELEMENT: ScalarType = ScalarType::$element;

            fn read(bytes: &[u8]) -> $rust {
                bytemuck::pod_read_unaligned(&bytes[..size_of::<$rust>()])
            }
        }
    )*};
}

cell!(i32 => Int32, i64 => Int64, f32 => Float32, f64 => Float64);
cell!(i8 => Int8, i16 => Int16, u8 => Uint8, u16 => Uint16, u32 => Uint32, u64 => Uint64);

/// An n-dimensional array where it lies; of no axes, a single element. Whoever reads elements gets what stands under
/// missing ones too.
#[derive(Clone, Copy, Debug)]
pub struct NdView<'a> {
    element: ScalarType,
    rank: usize,
    bytes: &'a [u8],
    start: usize,
    shape: Shape,
    strides: Strides,
    /// The bitmap, and the bit of the first row.
    pub(super) validity: Option<(&'a [u8], usize)>,
}

impl<'a> NdView<'a> {
    /// The elements of a type in a buffer: `start` is where the first one begins, strides are in bytes.
    ///
    /// # Errors
    /// There are no elements of this type, too many axes or elements, or an element lies outside the buffer or is no
    /// truth value.
    pub fn new(
        element: ScalarType,
        bytes: &'a [u8],
        start: usize,
        shape: &[usize],
        strides: &[isize],
    ) -> Result<NdView<'a>, NdError> {
        if shape.len() > MAX_RANK {
            return Err(NdError::Rank { rank: shape.len() });
        }
        if shape.len() != strides.len() {
            return Err(NdError::Strides { rank: shape.len(), strides: strides.len() });
        }
        if !is_element(element) {
            return Err(NdError::Element { element });
        }
        let view = NdView::placed(element, (bytes, start), (shape, strides))?;
        match element == ScalarType::Boolean {
            true => view.check_truths(),
            false => Ok(view),
        }
    }

    /// A view of elements that are known to be valid.
    pub(super) fn placed(
        element: ScalarType,
        (bytes, start): (&'a [u8], usize),
        (shape, strides): (&[usize], &[isize]),
    ) -> Result<NdView<'a>, NdError> {
        let count = match (shape, strides) {
            // As many as the buffer has.
            (&[count], &[step]) if step != 0 => Some(count),
            _ => element_count(shape),
        };
        let count = count.ok_or_else(|| NdError::TooLarge { shape: shape.to_vec() })?;
        let (rank, sizes, validity) = (shape.len(), padded(shape, 1), None);
        if count == 0 {
            let strides = c_strides(shape, cell_size(element));
            return Ok(NdView { element, rank, bytes, start: 0, shape: sizes, strides, validity });
        }
        let strides_of = padded(strides, 0);
        let mut view = NdView { element, rank, bytes, start, shape: sizes, strides: strides_of, validity };
        if !view.is_inside() {
            let (shape, strides) = (shape.to_vec(), strides.to_vec());
            return Err(NdError::Outside { shape, strides, start, bytes: bytes.len() });
        }
        // Of an axis of one element the stride may be anything; a walk adds and subtracts it.
        for stride in view.strides.iter_mut().filter(|stride| stride.unsigned_abs() > bytes.len()) {
            *stride = 0;
        }
        Ok(view)
    }

    /// Looks at every element of a view of truth values, at repeated ones once.
    fn check_truths(self) -> Result<NdView<'a>, NdError> {
        let mut once = self;
        for axis in 0..self.rank {
            if self.strides[axis] == 0 && !self.is_empty() {
                once.shape[axis] = 1;
            }
        }
        let is_truth = |byte: &u8| *byte <= 1;
        if once.contiguous_bytes().is_some_and(|bytes| bytes.iter().all(is_truth)) {
            return Ok(self);
        }
        match once.offsets().find(|at| !is_truth(&self.bytes[*at])) {
            Some(at) => Err(NdError::Truth { at, byte: self.bytes[at] }),
            None => Ok(self),
        }
    }

    /// Elements one after the other, the last axis fastest.
    ///
    /// # Errors
    /// There are too many axes or elements, or not as many as the shape says.
    pub fn from_slice<T: NdCell>(values: &'a [T], shape: &[usize]) -> Result<NdView<'a>, NdError> {
        let expected = element_count(shape).ok_or_else(|| NdError::TooLarge { shape: shape.to_vec() })?;
        if expected != values.len() {
            return Err(NdError::Count { shape: shape.to_vec(), expected, actual: values.len() });
        }
        if shape.len() > MAX_RANK {
            return Err(NdError::Rank { rank: shape.len() });
        }
        let strides = c_strides(shape, size_of::<T>());
        NdView::placed(T::ELEMENT, (bytemuck::cast_slice(values), 0), (shape, &strides[..shape.len()]))
    }

    /// A view that is known to be valid, of axes padded as [`padded`] does.
    pub(crate) fn trusted(
        qtype: NdType,
        bytes: &'a [u8],
        start: usize,
        axes: (&Shape, &Strides),
    ) -> NdView<'a> {
        let (element, rank, (shape, strides)) = (qtype.element(), qtype.rank(), axes);
        let view = NdView { element, rank, bytes, start, shape: *shape, strides: *strides, validity: None };
        debug_assert!(view.is_empty() || view.is_inside(), "an element outside the buffer");
        view
    }

    fn is_inside(&self) -> bool {
        let (mut lowest, mut highest) = (self.start as i128, self.start as i128);
        for (size, stride) in self.shape.iter().zip(&self.strides).take(self.rank) {
            let reach = (*size as i128 - 1) * *stride as i128;
            lowest += reach.min(0);
            highest += reach.max(0);
        }
        lowest >= 0 && highest + cell_size(self.element) as i128 <= self.bytes.len() as i128
    }

    /// Type of the elements.
    pub fn element(&self) -> ScalarType {
        self.element
    }

    /// Number of axes.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// Sizes of the axes.
    pub fn shape(&self) -> &[usize] {
        &self.shape[..self.rank]
    }

    /// Bytes from one element to the next along each axis.
    pub fn strides(&self) -> &[isize] {
        &self.strides[..self.rank]
    }

    /// The buffer.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Where the first element begins in the buffer.
    pub fn start(&self) -> usize {
        self.start
    }

    /// The first element, if there are some that stand one after the other, the last axis fastest, each at a multiple of its size.
    pub(crate) fn in_order(&self) -> Option<*const u8> {
        let first = self.bytes.as_ptr().wrapping_add(self.start);
        are_in_order(first, (self.shape(), self.strides()), cell_size(self.element)).then_some(first)
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.shape().iter().product()
    }

    /// True without elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The same elements under axes chosen from these, in another order or fewer. Axes that are left out stay at
    /// their first position; where one of them has none, all elements are zero.
    ///
    /// # Panics
    /// If there is no such axis, or one is chosen twice; or if elements may be missing.
    pub fn select_axes(&self, axes: impl IntoIterator<Item = usize>) -> NdView<'a> {
        self.check_complete();
        let mut view = NdView { rank: 0, shape: [1; MAX_RANK], strides: [0; MAX_RANK], ..*self };
        let mut is_chosen = [false; MAX_RANK];
        for axis in axes {
            assert!(axis < self.rank, "axis {axis} of {}", self.rank);
            assert!(!std::mem::replace(&mut is_chosen[axis], true), "axis {axis} is chosen twice");
            view.shape[view.rank] = self.shape[axis];
            view.strides[view.rank] = self.strides[axis];
            view.rank += 1;
        }
        match self.is_empty() {
            true => NdView { bytes: &ZERO, start: 0, strides: [0; MAX_RANK], ..view },
            false => view,
        }
    }

    /// The same elements with unit axes at these places of as many axes as the view has then.
    ///
    /// # Panics
    /// If there are more than [`MAX_RANK`] axes then, or elements may be missing.
    pub fn with_unit_axes(&self, is_new: impl Fn(usize) -> bool) -> NdView<'a> {
        self.check_complete();
        let mut view = NdView { rank: 0, shape: [1; MAX_RANK], strides: [0; MAX_RANK], ..*self };
        let mut old = 0;
        while old < self.rank || is_new(view.rank) {
            if !is_new(view.rank) {
                (view.shape[view.rank], view.strides[view.rank]) = (self.shape[old], self.strides[old]);
                old += 1;
            }
            view.rank += 1;
        }
        view
    }

    /// The elements repeated along axes that are new or of size 1; `None` if the shapes do not fit, or the new one is
    /// not that of an array.
    ///
    /// # Panics
    /// If elements may be missing.
    pub fn broadcast_to(&self, shape: &[usize]) -> Option<NdView<'a>> {
        self.check_complete();
        let new = shape.len().checked_sub(self.rank).filter(|_| shape.len() <= MAX_RANK)?;
        element_count(shape)?;
        let fits = |axis: usize| [1, shape[new + axis]].contains(&self.shape[axis]);
        let strides = self.strides_over(shape.len());
        let view = NdView { rank: shape.len(), shape: padded(shape, 1), strides, ..*self };
        (0..self.rank).all(fits).then_some(view)
    }

    /// The elements under other axes, the first of which begins so many bytes behind the first of these.
    ///
    /// # Panics
    /// If an element would lie outside the buffer, or may be missing.
    pub(super) fn under(&self, rank: usize, shape: Shape, strides: Strides, offset: isize) -> NdView<'a> {
        self.check_complete();
        let view = NdView { rank, shape, strides, start: 0, ..*self };
        match view.is_empty() {
            true => NdView { bytes: &ZERO, strides: [0; MAX_RANK], ..view },
            false => view.at(self.start.wrapping_add_signed(offset)),
        }
    }

    fn check_complete(&self) {
        assert!(self.validity.is_none(), "elements that may be missing stay along their axis");
    }

    /// Strides under so many axes, at least those of the view, aligned from the last one; 0 where the elements repeat.
    pub(crate) fn strides_over(&self, rank: usize) -> Strides {
        let (mut strides, new) = ([0; MAX_RANK], rank - self.rank);
        for axis in (0..self.rank).filter(|axis| self.shape[*axis] != 1) {
            strides[new + axis] = self.strides[axis];
        }
        strides
    }

    /// The same view from another element on, which begins at a byte that
    /// [`offsets`](NdView::offsets) of a view over the same buffer gave; the caller keeps the elements inside.
    ///
    /// # Panics
    /// If an element would lie outside the buffer, or may be missing.
    pub fn at(&self, start: usize) -> NdView<'a> {
        self.check_complete();
        let view = NdView { start, ..*self };
        assert!(view.is_empty() || view.is_inside(), "an element outside the buffer");
        view
    }

    /// Where each element begins in the buffer, the last axis fastest.
    pub fn offsets(&self) -> Offsets {
        Offsets::new(self.rank, self.shape, self.strides, self.start, self.len())
    }

    /// The elements of a type, the last axis fastest.
    ///
    /// # Panics
    /// If the elements are of another type.
    pub fn cells<T: NdCell>(&self) -> impl ExactSizeIterator<Item = T> + 'a {
        assert_eq!(T::ELEMENT, self.element, "an array of this element");
        let bytes = self.bytes;
        self.offsets().map(move |at| T::read(&bytes[at..]))
    }

    /// The elements as scalars, the last axis fastest; narrow ones as INT64, see [`ScalarType::widen`].
    pub fn scalars(&self) -> impl ExactSizeIterator<Item = ScalarValue> + 'a {
        let (bytes, element) = (self.bytes, self.element);
        self.offsets().map(move |at| ScalarValue::of_cell(element, &bytes[at..]))
    }

    /// The element that begins at one of the [`offsets`](NdView::offsets).
    pub(super) fn scalar_at(&self, offset: usize) -> ScalarValue {
        ScalarValue::of_cell(self.element, &self.bytes[offset..])
    }

    /// The bytes of the elements, if they lie one after the other.
    pub(super) fn contiguous_bytes(&self) -> Option<&'a [u8]> {
        let bytes = self.len() * cell_size(self.element);
        (self.is_contiguous() && bytes > 0).then(|| &self.bytes[self.start..][..bytes])
    }

    /// The elements as a slice, if they lie one after the other and are aligned.
    ///
    /// # Panics
    /// If the elements are of another type.
    pub fn as_slice<T: NdCell>(&self) -> Option<&'a [T]> {
        assert_eq!(T::ELEMENT, self.element, "an array of this element");
        let count = self.len();
        if count == 0 {
            return Some(&[]);
        }
        if !self.is_contiguous() {
            return None;
        }
        bytemuck::checked::try_cast_slice(&self.bytes[self.start..][..count * size_of::<T>()]).ok()
    }

    /// A part of one axis.
    ///
    /// # Panics
    /// If the axis has not these positions, or elements may be missing.
    pub fn narrowed(&self, axis: usize, range: Range<usize>) -> NdView<'a> {
        self.check_complete();
        assert!(range.start <= range.end && range.end <= self.shape()[axis], "positions of the axis");
        let start = self.start as isize + range.start as isize * self.strides[axis];
        let mut view = NdView { start: start as usize, ..*self };
        view.shape[axis] = range.len();
        match view.is_empty() {
            true => NdView { start: 0, ..view },
            false => view,
        }
    }

    /// True if the elements lie one after the other, the last axis fastest.
    pub fn is_contiguous(&self) -> bool {
        let strides = c_strides(self.shape(), cell_size(self.element));
        let axes = self.shape().iter().zip(self.strides()).zip(strides);
        self.is_empty() || axes.into_iter().all(|((size, actual), wanted)| *size == 1 || *actual == wanted)
    }
}

/// What an array without elements has where an axis without positions is left out.
static ZERO: [u8; size_of::<u64>()] = [0; size_of::<u64>()];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strides_may_be_anything_inside_the_buffer() {
        let values = [0i32, 1, 2, 3, 4, 5];
        let bytes = bytemuck::cast_slice(&values);
        let of = |start, shape: &[usize], strides: &[isize]| {
            let view = NdView::new(ScalarType::Int32, bytes, start, shape, strides);
            view.map(|view| view.cells::<i32>().collect::<Vec<_>>())
        };
        assert_eq!(of(0, &[2, 3], &[12, 4]), Ok(vec![0, 1, 2, 3, 4, 5]));
        assert_eq!(of(0, &[3, 2], &[4, 12]), Ok(vec![0, 3, 1, 4, 2, 5]));
        assert_eq!(of(20, &[3], &[-8]), Ok(vec![5, 3, 1]));
        assert_eq!(of(8, &[2, 2], &[0, 4]), Ok(vec![2, 3, 2, 3]));
        assert_eq!(of(100, &[2, 0], &[400, 4]), Ok(vec![]));
        let by_columns = NdView::new(ScalarType::Int32, bytes, 0, &[3, 2], &[4, 12]).expect("inside");
        let all: Vec<usize> = by_columns.offsets().collect();
        assert!((0..8).all(|place| by_columns.offsets().nth(place) == all.get(place).copied()));
        assert_eq!(by_columns.offsets().step_by(4).collect::<Vec<_>>(), [all[0], all[4]]);
        assert_eq!(of(16, &[], &[]), Ok(vec![4]));
        let outside = "the shape [3] with the strides [-8] reaches beyond the 24 bytes from 12 on";
        assert_eq!(of(12, &[3], &[-8]).unwrap_err().to_string(), outside);
        assert!(of(0, &[2], &[isize::MAX]).is_err());
        assert!(of(0, &[usize::MAX, usize::MAX], &[0, 0]).is_err());
        assert_eq!(element_count(&[0, 1 << 28]), None);
    }

    #[test]
    fn slices_are_found() {
        let values = [1.0f64, 2.0, 3.0, 4.0];
        let view = NdView::from_slice(&values, &[2, 2]).expect("fits");
        assert_eq!(view.as_slice::<f64>(), Some(&values[..]));
        assert_eq!(view.select_axes([1, 0]).as_slice::<f64>(), None);
        assert_eq!(view.select_axes([1, 0]).cells::<f64>().collect::<Vec<_>>(), [1.0, 3.0, 2.0, 4.0]);
        let row = view.select_axes([1]).at(16);
        assert_eq!(row.as_slice::<f64>(), Some(&values[2..]));
        assert_eq!(row.broadcast_to(&[2, 2]).expect("fits").cells::<f64>().sum::<f64>(), 14.0);
        assert!(row.broadcast_to(&[2, 3]).is_none());
    }
}
