//! Elements that an operator changes in place: some of the array that is its first operand and its result.

use crate::array::meter::Meter;
use crate::layout::element_place::ElementPlace;
use crate::layout::nd_handle::NdHandle;
use crate::operator::call::KernelCall;
use crate::operator::copy::copy_elements;
use crate::value::array::cell_size;
use crate::value::nd_type::MAX_RANK;
use crate::value::part::Part;
use crate::value::shape::{Offsets, Shape, Strides};
use crate::value::{Axes, Fault, NdView, ScalarType};
use std::marker::PhantomData;

/// Elements of a run that are written without a question whether to stop.
const PART: usize = 1 << 14;

/// Elements that may be written: all of an array, or a part of it.
#[derive(Debug)]
pub(crate) struct ChangedElements<'c> {
    element: ScalarType,
    rank: usize,
    first: *mut u8,
    shape: Shape,
    strides: Strides,
    call: PhantomData<&'c mut ()>,
}

impl KernelCall<'_> {
    /// The kernel of an operator that updates: the elements of the result, which is the first argument.
    ///
    /// # Errors
    /// There is no memory for a copy of elements that somebody else reads.
    pub(crate) fn elements_to_change(&mut self) -> Result<ChangedElements<'_>, Fault> {
        let (meter, qtype) = (self.meter, self.out.qtype().nd().expect("an operator that updates an array"));
        // SAFETY: a slot of an n-dimensional array holds such a handle, and nobody has a view of it: the verifier lets an
        // operator that updates name its array only once.
        let handle = unsafe { &mut *self.result_place().cast::<NdHandle>() };
        let found = handle.find().0;
        assert!(found.element() == qtype.element() && found.rank() == qtype.rank(), "an array of {qtype}");
        let place: &ElementPlace = handle.make_mutable(|qtype, view, own| {
            copy_elements(view, own.resize_within(qtype, view.shape(), meter)?, meter)
        })?;
        let axes = &place.axes[..qtype.rank()];
        let (mut shape, mut strides) = ([1; MAX_RANK], [0; MAX_RANK]);
        for (axis, found) in axes.iter().enumerate() {
            (shape[axis], strides[axis]) = (found.size as usize, found.stride as isize);
        }
        let (element, rank, first) = (qtype.element(), qtype.rank(), place.first);
        Ok(ChangedElements { element, rank, first, shape, strides, call: PhantomData })
    }
}

impl ChangedElements<'_> {
    /// Sizes of the axes.
    pub(crate) fn shape(&self) -> &[usize] {
        &self.shape[..self.rank]
    }

    /// Narrows them to those of a part.
    ///
    /// # Errors
    /// As for [`Part::find`].
    pub(crate) fn narrow(&mut self, kept: Axes, numbers: &[i64]) -> Result<(), Fault> {
        let part = Part::find(&self.shape[..self.rank], &self.strides[..self.rank], kept, numbers)?;
        (self.rank, self.shape, self.strides) = (part.rank, part.shape, part.strides);
        // SAFETY: the first element of the part is one of the array.
        self.first = unsafe { self.first.offset(part.offset) };
        Ok(())
    }

    /// Writes elements of the same type and shape.
    ///
    /// # Errors
    /// The run has to stop; some elements are written then.
    ///
    /// # Panics
    /// If they have another type or shape.
    pub(crate) fn write(&mut self, from: &NdView<'_>, meter: &Meter<'_>) -> Result<(), Fault> {
        assert!(from.element() == self.element && from.shape() == self.shape(), "elements for the place");
        match cell_size(self.element) {
            _ if from.is_empty() => Ok(()),
            1 => self.write_cells::<1>(from, meter),
            2 => self.write_cells::<2>(from, meter),
            4 => self.write_cells::<4>(from, meter),
            _ => self.write_cells::<8>(from, meter),
        }
    }

    fn write_cells<const SIZE: usize>(&mut self, from: &NdView<'_>, meter: &Meter<'_>) -> Result<(), Fault> {
        let last = self.rank.wrapping_sub(1);
        let (run, source_step, step) = match self.rank {
            0 => (1, 0, 0),
            _ => (self.shape[last], from.strides()[last], self.strides[last]),
        };
        let (mut outer, mut pace) = (self.shape, meter.pace());
        if self.rank > 0 {
            outer[last] = 1;
        }
        let rows = outer[..self.rank].iter().product();
        let sources = Offsets::new(self.rank, outer, from.strides_over(self.rank), from.start(), rows);
        let places = Offsets::new(self.rank, outer, self.strides, 0, rows);
        for (source, place) in sources.zip(places) {
            for begin in (0..run).step_by(PART) {
                let count = PART.min(run - begin);
                pace.over(count)?;
                let source = source as isize + begin as isize * source_step;
                let place = place as isize + begin as isize * step;
                // SAFETY: both have elements of the shape, the source inside of its bytes, the place where the handle has
                // elements that may be written.
                unsafe {
                    let from = from.bytes().as_ptr().offset(source);
                    let to = self.first.offset(place);
                    match source_step == SIZE as isize && step == SIZE as isize {
                        true => to.copy_from(from, count * SIZE),
                        false => {
                            for i in 0..count as isize {
                                let cell = from.offset(i * source_step).cast::<[u8; SIZE]>().read();
                                to.offset(i * step).cast::<[u8; SIZE]>().write(cell);
                            }
                        }
                    }
                }
            }
        }
        Ok(())
    }
}
