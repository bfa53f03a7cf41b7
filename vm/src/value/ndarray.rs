//! N-dimensional arrays: a type, the sizes of the axes, and cells.
//!
//! ```text
//! NDARRAY_INT32_NN of [[1, 2, 3], [4, 5, 6]]     shape 2, 3     strides 12, 4     cells 1 2 3 4 5 6
//! the same, given by columns                     shape 2, 3     strides 4, 8      cells 1 4 2 5 3 6
//! ```
//!
//! What operators write is contiguous, the last axis fastest. What a host gives keeps its order, so that a
//! Fortran array or a part of a larger one enters a frame as it is; every operator reads through a view.
//!
//! Invariants:
//! 1. A unit axis of the type has the size 1.
//! 2. The strides fit the cells, as in [`NdView`].
//! 3. A BOOLEAN element is 0 or 1, as there.

use crate::value::array::{HASHED, cell_size};
use crate::value::budget::{Account, Exhausted, Unlimited, reserve};
use crate::value::nd_error::NdError;
use crate::value::nd_type::NdType;
use crate::value::nd_view::{NdCell, NdView};
use crate::value::scalar::ScalarType;
use crate::value::scalar_value::ScalarValue;
use crate::value::shape::{Shape, Strides, c_strides, element_count, padded};
use crate::value::words::Words;
use std::hash::{Hash, Hasher};

/// An n-dimensional array. Refilling one keeps its memory.
#[derive(Clone, Debug)]
pub struct NdRows {
    qtype: NdType,
    shape: Shape,
    start: usize,
    strides: Strides,
    /// In words for their alignment.
    cells: Words,
}

impl NdRows {
    /// The zero of a type: its dynamic axes have no elements.
    pub fn empty(qtype: NdType) -> NdRows {
        let shape: Vec<usize> = qtype.units().map(usize::from).collect();
        let mut rows = NdRows { qtype, shape: [1; 6], start: 0, strides: [0; 6], cells: Words::new() };
        rows.set_shape(qtype, &shape);
        rows.cells.resize(1);
        rows
    }

    /// Elements one after the other, the last axis fastest.
    ///
    /// # Errors
    /// The shape is not one of the type, or there are not as many elements.
    ///
    /// # Panics
    /// If the elements are of another type.
    pub fn from_slice<T: NdCell>(qtype: NdType, shape: &[usize], values: &[T]) -> Result<NdRows, NdError> {
        NdRows::from_view(qtype, &NdView::from_slice(values, shape)?)
    }

    /// Scalars one after the other, the last axis fastest; of narrow elements INT64, whose low bits count.
    ///
    /// # Errors
    /// The shape is not one of the type, or there are not as many scalars.
    ///
    /// # Panics
    /// If the scalars are of another type.
    pub fn from_scalars(qtype: NdType, shape: &[usize], values: &[ScalarValue]) -> Result<NdRows, NdError> {
        let expected = check_shape(qtype, shape)?;
        if expected != values.len() {
            return Err(NdError::Count { shape: shape.to_vec(), expected, actual: values.len() });
        }
        let mut rows = NdRows::empty(qtype);
        let size = cell_size(qtype.element());
        let bytes = rows.make_room(qtype, shape);
        for (value, cell) in values.iter().zip(bytes.chunks_exact_mut(size)) {
            assert_eq!(value.scalar_type(), qtype.element().of_value(), "an element of the array's type");
            let bits = value.plain_bits().expect("elements are plain").to_le_bytes();
            cell.copy_from_slice(&bits[..size]);
        }
        Ok(rows)
    }

    /// A copy of the elements of a view, the last axis fastest.
    ///
    /// # Errors
    /// The shape is not one of the type, or elements may be missing.
    ///
    /// # Panics
    /// If the elements are of another type.
    pub fn from_view(qtype: NdType, view: &NdView<'_>) -> Result<NdRows, NdError> {
        check_shape(qtype, view.shape())?;
        if view.validity().is_some() {
            return Err(NdError::Missing { rank: qtype.rank() });
        }
        let mut rows = NdRows::empty(qtype);
        rows.copy_within(qtype, view, &Unlimited).unwrap_or_else(|error| panic!("{error}"));
        Ok(rows)
    }

    /// Cells in an order of the host's choice, kept as they are: `start` is where the first element begins, in
    /// bytes, as the strides are.
    ///
    /// # Errors
    /// The shape is not one of the type, or an element lies outside the cells.
    pub fn from_strided(
        qtype: NdType,
        bytes: &[u8],
        start: usize,
        shape: &[usize],
        strides: &[isize],
    ) -> Result<NdRows, NdError> {
        check_shape(qtype, shape)?;
        let view = NdView::new(qtype.element(), bytes, start, shape, strides)?;
        let mut cells = Words::new();
        cells.resize(bytes.len().div_ceil(size_of::<u64>()).max(1));
        bytemuck::cast_slice_mut(&mut cells)[..bytes.len()].copy_from_slice(bytes);
        let (start, strides) = (view.start(), padded(view.strides(), 0));
        Ok(NdRows { qtype, shape: padded(shape, 1), start, strides, cells })
    }

    /// The type.
    pub fn qtype(&self) -> NdType {
        self.qtype
    }

    /// Sizes of the axes.
    pub fn shape(&self) -> &[usize] {
        &self.shape[..self.qtype.rank()]
    }

    /// Sizes of the axes; those beyond the last axis are 1.
    #[inline(always)]
    pub(crate) fn padded_shape(&self) -> &Shape {
        &self.shape
    }

    /// Bytes from one element to the next along each axis.
    #[inline(always)]
    pub(crate) fn strides(&self) -> &Strides {
        &self.strides
    }

    /// Where the first element stands.
    #[inline(always)]
    pub(crate) fn first(&self) -> *const u8 {
        self.cells.begin().cast::<u8>().wrapping_add(self.start)
    }

    /// The same, to write elements.
    #[inline(always)]
    pub(crate) fn first_mut(&mut self) -> *mut u8 {
        self.cells.begin_mut().cast::<u8>().wrapping_add(self.start)
    }

    /// Makes every cell of truth values 0 or 1 (invariant 3).
    pub(crate) fn keep_truths(&mut self) {
        let cells: &mut [u8] = bytemuck::cast_slice_mut(&mut self.cells);
        if self.qtype.element() == ScalarType::Boolean && cells.iter().any(|byte| *byte > 1) {
            cells.iter_mut().for_each(|byte| *byte = u8::from(*byte != 0));
        }
    }

    /// The elements where they lie.
    pub fn view(&self) -> NdView<'_> {
        // The strides fit the cells (invariant 2).
        let bytes = bytemuck::cast_slice(&self.cells);
        NdView::trusted(self.qtype, bytes, self.start, (&self.shape, &self.strides))
    }

    /// The type, where the first element stands, and sizes and strides of axes, those beyond the last axis included.
    #[inline]
    pub(crate) fn place(&self) -> (NdType, *const u8, &Shape, &Strides) {
        let first = self.cells.as_ptr().cast::<u8>().wrapping_add(self.start);
        (self.qtype, first, &self.shape, &self.strides)
    }

    /// Makes room for numbers one after the other and gives their cells, which are zero or what stood there.
    ///
    /// # Panics
    /// If the shape is not one of the type, operators check sizes before; or the system has no memory. Or if the
    /// elements are truth values, of which not all bytes are one.
    pub fn resize(&mut self, qtype: NdType, shape: &[usize]) -> &mut [u8] {
        assert!(qtype.element() != ScalarType::Boolean, "elements of {qtype} are no numbers");
        self.make_room(qtype, shape)
    }

    /// The same for elements that are values of the type.
    fn make_room(&mut self, qtype: NdType, shape: &[usize]) -> &mut [u8] {
        self.resize_within(qtype, shape, &Unlimited).unwrap_or_else(|error| panic!("{error}"))
    }

    /// The same with memory on account. Without it the array stays as it is, or has no elements.
    ///
    /// # Errors
    /// The account or the system refuses.
    ///
    /// # Panics
    /// If the shape is not one of the type; operators check sizes before.
    pub(crate) fn resize_within(
        &mut self,
        qtype: NdType,
        shape: &[usize],
        account: &dyn Account,
    ) -> Result<&mut [u8], Exhausted> {
        let count = check_shape(qtype, shape).expect("a shape of the type");
        let bytes = count * cell_size(qtype.element());
        if let Err(error) = self.cells.lay_out(bytes.div_ceil(size_of::<u64>()).max(1), account) {
            if self.cells.is_empty() {
                *self = NdRows::empty(qtype);
            }
            return Err(error);
        }
        // There is room for the shape from here on, also if making room panicked.
        self.set_shape(qtype, shape);
        Ok(&mut bytemuck::cast_slice_mut(&mut self.cells)[..bytes])
    }

    /// The first of the cells of so many elements if there is room for them, which then have this shape.
    #[inline]
    pub(crate) fn reuse_room(&mut self, qtype: NdType, shape: &[usize]) -> Option<*mut u8> {
        let bytes = has_shape(qtype, shape)?.checked_mul(cell_size(qtype.element()))?;
        if bytes > self.cells.len() * size_of::<u64>() {
            return None;
        }
        self.set_shape(qtype, shape);
        Some(self.first_mut())
    }

    /// Puts an element behind the others of one axis, with room for more.
    ///
    /// # Errors
    /// The account or the system refuses; the array then is as it was.
    ///
    /// # Panics
    /// If the array has several axes, or the cell is of another size.
    pub(crate) fn append(&mut self, cell: &[u8], account: &dyn Account) -> Result<(), Exhausted> {
        let (size, count) = (cell_size(self.qtype.element()), self.shape[0]);
        assert!(self.qtype.rank() == 1 && !self.qtype.is_unit(0) && cell.len() == size, "one more element");
        self.lay_out_in_order(account)?;
        let bytes = (count + 1) * size;
        let words = bytes.div_ceil(size_of::<u64>());
        if words > self.cells.len() {
            reserve(&mut self.cells, words, account)?;
            self.cells.resize(words);
        }
        bytemuck::cast_slice_mut::<u64, u8>(&mut self.cells)[count * size..bytes].copy_from_slice(cell);
        self.shape[0] = count + 1;
        self.strides[0] = size as isize;
        Ok(())
    }

    /// Puts the elements of one axis one behind the other, from the first byte on.
    fn lay_out_in_order(&mut self, account: &dyn Account) -> Result<(), Exhausted> {
        let size = cell_size(self.qtype.element()) as isize;
        if self.start != 0 || (self.shape[0] > 1 && self.strides[0] != size) {
            let mut rows = NdRows::empty(self.qtype);
            rows.copy_within(self.qtype, &self.view(), account)?;
            *self = rows;
        }
        Ok(())
    }

    /// The words that the elements of one axis stand in, one behind the other from the first byte on.
    ///
    /// # Errors
    /// As [`NdRows::append`].
    ///
    /// # Panics
    /// If the array has several axes.
    pub(crate) fn words_in_order(&mut self, account: &dyn Account) -> Result<&mut [u64], Exhausted> {
        assert!(self.qtype.rank() == 1 && !self.qtype.is_unit(0), "an array of one axis");
        self.lay_out_in_order(account)?;
        let bytes = self.shape[0] * cell_size(self.qtype.element());
        Ok(&mut self.cells[..bytes.div_ceil(size_of::<u64>())])
    }

    /// Removes the last element of one axis; false if there is none.
    ///
    /// # Panics
    /// If the array has several axes.
    pub(crate) fn remove_last(&mut self) -> bool {
        assert!(self.qtype.rank() == 1 && !self.qtype.is_unit(0), "an array of one axis");
        let has_elements = self.shape[0] > 0;
        self.shape[0] = self.shape[0].saturating_sub(1);
        has_elements
    }

    /// Bytes of memory that the array holds.
    pub fn heap_bytes(&self) -> u64 {
        (self.cells.capacity() * size_of::<u64>()) as u64
    }

    /// Takes the elements of a view, the last axis fastest, keeping the memory, which is on account.
    ///
    /// # Errors
    /// The account or the system refuses.
    ///
    /// # Panics
    /// If the view is not of the type, or elements may be missing.
    pub(crate) fn copy_within(
        &mut self,
        qtype: NdType,
        view: &NdView<'_>,
        account: &dyn Account,
    ) -> Result<(), Exhausted> {
        assert_eq!((view.element(), view.validity()), (qtype.element(), None), "an array of this element");
        view.copy_to(self.resize_within(qtype, view.shape(), account)?);
        Ok(())
    }

    fn set_shape(&mut self, qtype: NdType, shape: &[usize]) {
        self.qtype = qtype;
        self.shape = padded(shape, 1);
        self.start = 0;
        self.strides = c_strides(shape, cell_size(qtype.element()));
    }
}

/// The number of elements, if the shape is one of the type.
///
/// # Errors
/// It is not, or has too many elements.
#[inline]
pub fn check_shape(qtype: NdType, shape: &[usize]) -> Result<usize, NdError> {
    match has_shape(qtype, shape) {
        Some(count) => Ok(count),
        None => Err(wrong_shape(qtype, shape)),
    }
}

/// The number of elements, if the shape is one of the type.
#[inline]
pub(crate) fn has_shape(qtype: NdType, shape: &[usize]) -> Option<usize> {
    let fits = |axis: usize| shape[axis] == 1 || !qtype.is_unit(axis);
    match shape.len() == qtype.rank() && (0..shape.len()).all(fits) {
        true => element_count(shape),
        false => None,
    }
}

/// What is wrong with a shape that a type has not.
#[cold]
fn wrong_shape(qtype: NdType, shape: &[usize]) -> NdError {
    if shape.len() != qtype.rank() {
        return NdError::Rank { rank: shape.len() };
    }
    match (0..shape.len()).find(|axis| qtype.is_unit(*axis) && shape[*axis] != 1) {
        Some(axis) => NdError::UnitAxis { qtype: qtype.to_string(), axis, size: shape[axis] },
        None => NdError::TooLarge { shape: shape.to_vec() },
    }
}

/// Two arrays are equal if their types, shapes and elements are, bit for bit, in whatever order they lie.
impl PartialEq for NdRows {
    fn eq(&self, other: &Self) -> bool {
        if self.qtype != other.qtype || self.shape != other.shape {
            return false;
        }
        let (a, b) = (self.view(), other.view());
        match (a.contiguous_bytes(), b.contiguous_bytes()) {
            (Some(a), Some(b)) => a == b,
            _ => a.scalars().eq(b.scalars()),
        }
    }
}

impl Eq for NdRows {}

/// Of large arrays some elements stand for all.
impl Hash for NdRows {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.qtype.hash(state);
        self.shape.hash(state);
        let step = self.shape.iter().product::<usize>().div_ceil(HASHED).max(1);
        let view = self.view();
        view.offsets().step_by(step).for_each(|at| view.scalar_at(at).hash(state));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::scalar::ScalarType;

    #[test]
    fn the_order_of_the_cells_does_not_count() {
        let qtype = NdType::new(ScalarType::Int32, 2, 0).expect("a type");
        let by_rows = NdRows::from_slice(qtype, &[2, 3], &[1, 2, 3, 4, 5, 6]).expect("fits");
        let bytes: &[u8] = bytemuck::cast_slice(&[0i32, 1, 4, 2, 5, 3, 6]);
        let by_columns = NdRows::from_strided(qtype, bytes, 4, &[2, 3], &[4, 8]).expect("fits");
        assert_eq!(by_rows, by_columns);
        assert_eq!(NdRows::from_view(qtype, &by_columns.view()), Ok(by_rows));
    }

    #[test]
    fn shapes_are_checked() {
        let qtype = NdType::new(ScalarType::Float64, 2, 1).expect("a type");
        let of = |shape: &[usize], count: usize| NdRows::from_slice(qtype, shape, &vec![0.0; count]);
        assert_eq!(of(&[1, 3], 3).map(|rows| rows.shape().to_vec()), Ok(vec![1, 3]));
        let wrong = |shape: &[usize], count| of(shape, count).unwrap_err().to_string();
        assert_eq!(wrong(&[2, 3], 6), "axis 0 of NDARRAY_FLOAT64_1N has the size 1, not 2");
        assert_eq!(wrong(&[1, 3], 2), "the shape [1, 3] has 3 elements, got 2");
        assert_eq!(NdRows::empty(qtype).shape(), [1, 0]);
    }
}
