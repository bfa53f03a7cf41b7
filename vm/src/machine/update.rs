//! Elements that a host lends to be changed in place.

use crate::layout::nd_handle::RawElements;
use crate::value::array::cell_size;
use crate::value::nd_error::NdError;
use crate::value::nd_view::NdCell;
use crate::value::shape::{PerAxis, c_strides};
use crate::value::{NdRows, NdType, NdView, ScalarType};
use std::marker::PhantomData;

/// An n-dimensional array of the host where it lies, to be read and changed.
///
/// ```
/// use cembra_vm::machine::NdViewMut;
/// let mut values = [1.0, 2.0, 3.0, 4.0];
/// let square = NdViewMut::from_slice(&mut values, &[2, 2])?;
/// assert_eq!(square.shape(), [2, 2]);
/// # Ok::<(), cembra_vm::value::NdError>(())
/// ```
#[derive(Debug)]
pub struct NdViewMut<'a> {
    /// The elements, one after the other.
    bytes: *mut u8,
    len: usize,
    element: ScalarType,
    shape: PerAxis,
    target: PhantomData<&'a mut [u8]>,
}

// SAFETY: the view borrows plain bytes alone.
unsafe impl Send for NdViewMut<'_> {}
// SAFETY: through a shared view they are only read.
unsafe impl Sync for NdViewMut<'_> {}

impl<'a> NdViewMut<'a> {
    /// Elements one after the other, the last axis fastest.
    ///
    /// # Errors
    /// There are too many axes or elements, or not as many as the shape says.
    pub fn from_slice<T: NdCell>(values: &'a mut [T], shape: &[usize]) -> Result<NdViewMut<'a>, NdError> {
        NdView::from_slice(values, shape)?;
        let (bytes, len) = (values.as_mut_ptr().cast(), size_of_val(values));
        Ok(NdViewMut {
            bytes,
            len,
            element: T::ELEMENT,
            shape: shape.iter().copied().collect(),
            target: PhantomData,
        })
    }

    /// All elements of an array. They are put one after the other if they stand otherwise.
    pub fn of_rows(rows: &'a mut NdRows) -> NdViewMut<'a> {
        if !rows.view().is_contiguous() {
            let copy = NdRows::from_view(rows.qtype(), &rows.view());
            *rows = copy.expect("the shape is one of the type");
        }
        let (element, shape) = (rows.qtype().element(), rows.shape().iter().copied().collect());
        let len = rows.view().len() * cell_size(element);
        NdViewMut { bytes: rows.first_mut(), len, element, shape, target: PhantomData }
    }

    /// Sizes of the axes.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Type of the elements.
    pub fn element(&self) -> ScalarType {
        self.element
    }

    /// The first element.
    #[cfg(feature = "library")]
    pub(crate) fn first(&self) -> *mut u8 {
        self.bytes
    }

    /// The elements for a handle of a type that has the element and takes the shape.
    pub(super) fn elements(&self, qtype: NdType) -> RawElements {
        // SAFETY: the view borrows so many bytes, initialised by their elements; nobody else changes them while the
        // view is read.
        let bytes = unsafe { std::slice::from_raw_parts(self.bytes, self.len) };
        let strides = c_strides(&self.shape, cell_size(self.element));
        let view = NdView::new(self.element, bytes, 0, &self.shape, &strides[..self.shape.len()]);
        RawElements::mutable(qtype, &view.expect("the shape was checked"), self.bytes)
    }
}
