//! Results of a call that grow with rows: charged, sized on the run's meter, and written.

use crate::array::meter::Meter;
use crate::array::rows_out::RowsOut;
use crate::layout::handle::{ArrayHandle, BytesHandle, EdgeHandle, SequenceHandle, TextHandle};
use crate::layout::nd_handle::NdHandle;
use crate::layout::slot::TypedSlot;
use crate::operator::call::KernelCall;
use crate::operator::copy::copy_elements;
use crate::value::budget::{Account, reserve};
use crate::value::ndarray::{NdRows, check_shape};
use crate::value::{ArrayRows, Edge, Fault, NdType, QType, ScalarType};
use crate::vector::order::{self, Place};
use std::sync::Arc;

/// Bytes of a text from which on its operator looks whether the run has to stop. The machine itself looks every 64
/// instructions, which may make many gigabytes of texts.
const LONG_TEXT: usize = 1 << 20;

impl KernelCall<'_> {
    /// Charges the rows of the arguments.
    pub(super) fn charge_arguments(&mut self) -> Result<(), Fault> {
        let rows = self.args.iter().map(|slot| self.rows_of(slot)).max();
        self.charge_rows(rows.unwrap_or(0))
    }

    /// Charges rows that the operator goes over, as far as those of its arguments are fewer.
    ///
    /// # Errors
    /// The run may not go over as many, or has to stop.
    pub fn charge_rows(&mut self, rows: usize) -> Result<(), Fault> {
        let more = rows.saturating_sub(self.charged);
        self.charged += more;
        match more {
            0 => Ok(()),
            more => self.meter.rows(more),
        }
    }

    /// The buffer of a TEXT result, emptied, with room for so many bytes, which count already.
    ///
    /// # Errors
    /// Too many bytes would be alive, the system refuses, or the text is long and the run has to stop.
    pub fn text_room(&mut self, bytes: usize) -> Result<&mut String, Fault> {
        self.poll_if_long(bytes)?;
        let meter = self.meter;
        let out = self.text_out();
        reserve(out, bytes, meter)?;
        Ok(out)
    }

    /// The same of a BYTES result.
    ///
    /// # Errors
    /// As [`text_room`](KernelCall::text_room).
    pub fn bytes_room(&mut self, bytes: usize) -> Result<&mut Vec<u8>, Fault> {
        self.poll_if_long(bytes)?;
        let meter = self.meter;
        let out = self.bytes_out();
        reserve(out, bytes, meter)?;
        Ok(out)
    }

    #[inline]
    fn poll_if_long(&self, bytes: usize) -> Result<(), Fault> {
        if bytes < LONG_TEXT { Ok(()) } else { self.meter.poll() }
    }

    /// The cells of a sequence result, emptied, with room for so many, which count already.
    ///
    /// # Errors
    /// As [`text_room`](KernelCall::text_room).
    pub fn sequence_room(&mut self, cells: usize) -> Result<&mut Vec<u64>, Fault> {
        let meter = self.meter;
        let out = self.sequence_out();
        reserve(out, cells, meter)?;
        Ok(out)
    }

    /// Bytes of the buffer of a text, bytes or sequence result.
    pub(super) fn result_bytes(&self) -> u64 {
        let value = self.out.value();
        let at = self.at(value.as_ref().unwrap_or(self.out));
        // SAFETY: slots of these types hold these handles, optionals behind the presence byte.
        let bytes = unsafe {
            match (self.out.qtype(), self.out.qtype().scalar()) {
                (QType::Sequence(_), _) => (*at.cast::<SequenceHandle>()).capacity() * size_of::<u64>(),
                (_, Some(ScalarType::Text)) => (*at.cast::<TextHandle>()).capacity(),
                (_, Some(ScalarType::Bytes)) => (*at.cast::<BytesHandle>()).capacity(),
                _ => 0,
            }
        };
        bytes as u64
    }

    /// Rows or elements of what stands in a slot.
    fn rows_of(&self, slot: &TypedSlot) -> usize {
        // SAFETY: slots of these types hold these handles.
        unsafe {
            match slot.qtype() {
                QType::Array(_) => (*self.at(slot).cast::<ArrayHandle>()).len(),
                QType::NdArray(_) => (*self.at(slot).cast::<NdHandle>()).computed().1.len(),
                QType::Edge(_) | QType::EdgeToScalar(_) => {
                    (*self.at(slot).cast::<EdgeHandle>()).0.child_size()
                }
                _ => 0,
            }
        }
    }

    /// Makes room for the elements of the n-dimensional array of a result and gives their cells, which are zero or
    /// what stood there.
    ///
    /// # Errors
    /// More elements than the run may go over or an array may have, or no memory.
    pub fn nd_out(&mut self, qtype: NdType, shape: &[usize]) -> Result<&mut [u8], Fault> {
        assert!(self.out.qtype().nd().is_some(), "the result {} is no n-dimensional array", self.out);
        let count = check_shape(qtype, shape).expect("a shape of the type");
        self.charge_rows(count)?;
        self.meter.check_array(count)?;
        self.written = true;
        // SAFETY: a slot of an n-dimensional array holds such a handle.
        let rows = unsafe { (*self.at(self.out).cast::<NdHandle>()).owned() };
        rows.resize_within(qtype, shape, self.meter).map_err(Fault::from)
    }

    /// The kernel of an operator that updates: puts the second argument behind the elements of the result, which is the
    /// first argument.
    ///
    /// # Errors
    /// The budget or the system refuses, or a host lends the elements.
    pub(crate) fn append_element(&mut self) -> Result<(), Fault> {
        let value = &self.args[1];
        let size = value.qtype().size() as usize;
        let mut cell = [0; size_of::<u64>()];
        // SAFETY: a plain scalar slot has initialised bytes of its size.
        unsafe { self.at(value).copy_to_nonoverlapping(cell.as_mut_ptr(), size) };
        self.charge_rows(1)?;
        let meter = self.meter;
        let rows = self.rows_to_resize()?;
        meter.check_array(rows.shape()[0].saturating_add(1))?;
        rows.append(&cell[..size], meter)?;
        self.keep_result();
        Ok(())
    }

    /// The kernel of an operator that updates: removes the last element of the result, which is the only argument.
    ///
    /// # Errors
    /// There is none, or a host lends the elements.
    pub(crate) fn remove_last_element(&mut self) -> Result<(), Fault> {
        self.charge_rows(1)?;
        match self.rows_to_resize()?.remove_last() {
            true => {
                self.keep_result();
                Ok(())
            }
            false => Err(Fault::Index { index: -1, size: 0 }),
        }
    }

    /// The kernel of an operator that updates: sorts the elements of the result, which is the only argument; NaN comes
    /// last, and what is equal stays in order.
    ///
    /// # Errors
    /// The budget or the system refuses, or a host lends the elements.
    pub(crate) fn sort_elements(&mut self) -> Result<(), Fault> {
        let meter = self.meter;
        let rows = self.rows_to_resize()?;
        let (count, element) = (rows.shape()[0], rows.qtype().element());
        self.charge_rows(count)?;
        let words = self.rows_to_resize()?.words_in_order(meter)?;
        match element {
            ScalarType::Float64 => sort_words(words, |word| order::key(f64::from_bits(word), false), meter)?,
            ScalarType::Int64 => sort_words(words, |word| order::key(word as i64, false), meter)?,
            ScalarType::Boolean => bytemuck::cast_slice_mut::<u64, u8>(words)[..count].sort_unstable(),
            other => panic!("elements of {other} have no order"),
        }
        self.keep_result();
        Ok(())
    }

    /// The array of the result, which is the first argument of an operator that updates, as the frame's own.
    pub(crate) fn rows_to_resize(&mut self) -> Result<&mut NdRows, Fault> {
        let meter = self.meter;
        // SAFETY: the slot holds such a handle, and nobody has a view of it: the verifier lets an operator that
        // updates name its array only once.
        let handle = unsafe { &mut *self.at(self.out).cast::<NdHandle>() };
        handle.make_mutable(|qtype, view, own| {
            copy_elements(view, own.resize_within(qtype, view.shape(), meter)?, meter)
        })?;
        let fixed = || Fault::Range { message: "the size of elements that a host lends is fixed".to_owned() };
        handle.resizable().ok_or_else(fixed)
    }

    /// Makes room for so many rows of an array result, all of them present.
    ///
    /// # Errors
    /// As [`KernelCall::nd_out`].
    pub fn rows_out(&mut self, element: ScalarType, rows: usize) -> Result<RowsOut<'_>, Fault> {
        self.charge_rows(rows)?;
        let mut out = self.array_out();
        out.resize(element, rows)?;
        Ok(out)
    }

    /// As [`rows_out`](KernelCall::rows_out), for a kernel that writes all plain cells.
    pub(super) fn rows_for_kernel(&mut self, element: ScalarType, rows: usize) -> Result<RowsOut<'_>, Fault> {
        self.charge_rows(rows)?;
        let mut out = self.array_out();
        out.resize_for_kernel(element, rows)?;
        Ok(out)
    }

    /// Makes what a kernel has written as bytes the truth values that they stand for.
    pub(super) fn keep_truths(&mut self) {
        if self.out.qtype().nd().is_some_and(|t| t.element() == ScalarType::Boolean) {
            // SAFETY: a slot of an n-dimensional array holds such a handle.
            unsafe { (*self.at(self.out).cast::<NdHandle>()).keep_truths() };
        }
    }

    /// The rows of an array result, to be resized and written.
    pub fn array_out(&mut self) -> RowsOut<'_> {
        let meter = self.meter;
        RowsOut::new(self.array_rows_out(), meter)
    }

    /// The rows of an array result as they stand in the frame.
    pub(crate) fn array_rows_out(&mut self) -> &mut ArrayRows {
        self.written = true;
        assert!(self.out.qtype().array().is_some(), "the result {} is no array", self.out);
        // SAFETY: an array slot holds an array handle.
        unsafe { (*self.at(self.out).cast::<ArrayHandle>()).owned() }
    }

    /// Writes an edge, whose memory is counted already.
    pub fn set_edge(&mut self, edge: Edge) {
        assert!(matches!(self.out.qtype(), QType::Edge(_)), "the result {} is no edge", self.out);
        self.written = true;
        // SAFETY: an edge slot holds an edge handle; `&mut self` makes the access exclusive.
        let handle = unsafe { &mut *self.at(self.out).cast::<EdgeHandle>() };
        self.meter.give_back(handle.0.heap_bytes());
        handle.0 = Arc::new(edge);
    }
}

/// Sorts words by keys.
fn sort_words(words: &mut [u64], key: impl Fn(u64) -> u64, meter: &Meter<'_>) -> Result<(), Fault> {
    let mut places = meter.collect(words.iter().map(|word| key(*word)).zip(0..words.len() as u32))?;
    let mut spare = meter.zeros::<Place>(places.len())?;
    order::sort(&mut places, &mut spare, &|| meter.stop());
    meter.poll()?;
    let before = meter.collect(words.iter().copied())?;
    for stride in meter.strides(words.len()) {
        for at in stride? {
            words[at] = before[places[at].1 as usize];
        }
    }
    Ok(())
}
