//! Other elements of the buffer that a view is of.

use crate::value::array::cell_size;
use crate::value::nd_error::NdError;
use crate::value::nd_type::MAX_RANK;
use crate::value::nd_view::NdView;

impl<'a> NdView<'a> {
    /// Elements of the same type in the same buffer, wherever they lie in it, if this view is of all that are there: then
    /// nobody has to look at truth values again.
    ///
    /// # Errors
    /// As [`NdView::new`].
    pub fn rearranged(
        &self,
        start: usize,
        shape: &[usize],
        strides: &[isize],
    ) -> Result<NdView<'a>, NdError> {
        let is_all = self.is_contiguous() && self.len() * cell_size(self.element()) == self.bytes().len();
        let is_whole = |bytes: usize| bytes.is_multiple_of(cell_size(self.element()));
        match is_all && shape.len() <= MAX_RANK && shape.len() == strides.len() && is_whole(start) {
            true if strides.iter().all(|stride| is_whole(stride.unsigned_abs())) => {
                NdView::placed(self.element(), (self.bytes(), start), (shape, strides))
            }
            _ => NdView::new(self.element(), self.bytes(), start, shape, strides),
        }
    }
}
