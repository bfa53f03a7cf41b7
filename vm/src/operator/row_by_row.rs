//! General kernels over rows: a kernel that needs slots gets a frame of its own, row after row.
//!
//! ```text
//! strings.upper(DENSE_ARRAY_TEXT)    for each row:  [row] ── strings.upper ──> [result] ──> row of the result
//! ```

use crate::array::block::RowFault;
use crate::array::meter::{Meter, SLOW_STRIDE};
use crate::array::rows_out::RowsOut;
use crate::frame::{FrameError, FramePool};
use crate::layout::FrameLayout;
use crate::layout::access::{Bytes, SlotType, Text};
use crate::layout::handle::{BytesHandle, LentString, TextHandle};
use crate::layout::slot::TypedSlot;
use crate::operator::call::KernelCall;
use crate::operator::general::GeneralCall;
use crate::operator::signature::Overload;
use crate::value::array::{ArrayRows, cell_size};
use crate::value::budget::Account;
use crate::value::shape::Offsets;
use crate::value::{Fault, NdView, QType, ScalarType};
use bumpalo::Bump;

/// A kernel with the frames it runs on.
#[derive(Debug)]
pub struct RowByRow {
    kernel: GeneralCall,
    args: Box<[TypedSlot]>,
    out: TypedSlot,
    element: ScalarType,
    frames: FramePool,
}

impl RowByRow {
    /// For an overload of scalars and optionals; `None` if it is one of scalar code.
    pub fn new(rows: &Overload) -> Option<RowByRow> {
        let element = rows.result().scalar()?;
        let mut layout = FrameLayout::builder();
        let args: Box<[TypedSlot]> = rows.args().iter().map(|qtype| layout.typed(qtype.clone())).collect();
        let out = layout.typed(rows.result().clone());
        let layout = layout.build().ok()?;
        let kernel = rows.bind_general(args.clone(), out.clone())?;
        Some(RowByRow { kernel, args, out, element, frames: FramePool::new(&layout) })
    }

    /// Applies the kernel to every row of the arguments, of which there are this many.
    ///
    /// # Errors
    /// The first row that raises, or no memory.
    pub fn run(&self, call: &mut KernelCall<'_>, rows: usize) -> Result<(), Fault> {
        let mut rows_out = std::mem::replace(call.array_rows_out(), ArrayRows::new(self.element));
        let (meter, before) =
            (call.meter(), call.meter().alive() - rows_out.heap_bytes().min(call.meter().alive()));
        let outcome = self.fill(call, rows, &mut rows_out);
        // Buffers of the kernel's own frame are not the run's.
        meter.give_back(meter.alive().saturating_sub(before + rows_out.heap_bytes()));
        *call.array_rows_out() = rows_out;
        outcome
    }

    fn fill(&self, call: &KernelCall<'_>, rows: usize, out: &mut ArrayRows) -> Result<(), Fault> {
        let frame = self.frames.take().map_err(no_memory)?;
        let base = frame.base();
        out.start(self.element);
        let mut out = RowsOut::new(out, call.meter());
        out.reserve(rows)?;
        let array = |index| call.qtype(index).array().map(|_| call.array(index));
        let arrays: &[Option<&ArrayRows>] = call.arena().alloc_slice_fill_iter((0..call.len()).map(array));
        for (index, slot) in self.args.iter().enumerate().filter(|(i, _)| arrays[*i].is_none()) {
            // SAFETY: the frame is new to this call, and the slot has the argument's type.
            unsafe { call.move_to(index, base, slot)? };
        }
        let outcome = call.meter().slow_strides(rows).try_for_each(|stride| {
            stride?.try_for_each(|row| {
                for (slot, array) in self.args.iter().zip(arrays) {
                    if let Some(array) = array {
                        // SAFETY: the slot of an array's argument has the type of its rows, and lends strings until the call ends.
                        unsafe { put(base, slot, array, row) };
                    }
                }
                // SAFETY: the slots hold values of their types; nobody else has the frame.
                let outcome = unsafe { self.kernel.run(base, call.arena(), call.meter()) };
                outcome.map_err(|fault| fault.in_row(row))?;
                // SAFETY: the kernel has written its result.
                unsafe { take(base, &self.out, self.element, &mut out) }
            })
        });
        for (slot, _) in self.args.iter().zip(arrays).filter(|(_, array)| array.is_some()) {
            // SAFETY: as above.
            unsafe { take_back(base, slot) };
        }
        out.normalize();
        outcome
    }
}

impl RowByRow {
    /// Applies the kernel to the elements of arguments that have one shape; gives their number where it raises.
    /// The kernel is one of plain scalars.
    ///
    /// # Errors
    /// The first element that raises, or no memory.
    pub fn run_elements(
        &self,
        arena: &Bump,
        meter: &Meter<'_>,
        args: &[NdView<'_>],
        out: &mut [u8],
    ) -> Result<(), RowFault> {
        let frame = self.frames.take().map_err(|error| RowFault { row: 0, fault: no_memory(error) })?;
        let base = frame.base();
        let mut offsets: Vec<Offsets> = args.iter().map(NdView::offsets).collect();
        for (row, cell) in out.chunks_exact_mut(cell_size(self.element)).enumerate() {
            if row.is_multiple_of(SLOW_STRIDE) {
                meter.poll().map_err(|fault| RowFault { row, fault })?;
            }
            for ((slot, view), offsets) in self.args.iter().zip(args).zip(&mut offsets) {
                let at = offsets.next().expect("an argument has an element for each of the result");
                let bytes = &view.bytes()[at..][..cell_size(view.element())];
                // SAFETY: the slot is one of this frame, a scalar of the view's element.
                unsafe {
                    base.add(slot.offset() as usize).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len())
                };
            }
            // SAFETY: the slots hold values of their types; nobody else has the frame.
            unsafe { self.kernel.run(base, arena, meter) }.map_err(|fault| RowFault { row, fault })?;
            // SAFETY: the kernel has written its result, a scalar of the result's element.
            let result =
                unsafe { std::slice::from_raw_parts(base.add(self.out.offset() as usize), cell.len()) };
            cell.copy_from_slice(result);
        }
        Ok(())
    }
}

#[cold]
fn no_memory(error: FrameError) -> Fault {
    Fault::Host { message: error.to_string() }
}

/// Puts a row into the slot of an argument; a string is lent to it.
///
/// # Safety
/// The slot is one of the frame at `base`, a scalar or optional of the array's element. The array stays as it is until
/// [`take_back`].
unsafe fn put(base: *mut u8, slot: &TypedSlot, array: &ArrayRows, row: usize) {
    // SAFETY: the caller's promise; a presence byte is the first of its slot. The rows of a TEXT are UTF-8.
    unsafe {
        let mut at = base.add(slot.offset() as usize);
        if slot.qtype().is_optional() {
            at.write(u8::from(array.is_present(row)));
            at = base.add(value_offset(slot));
        }
        match array.element() {
            ScalarType::Text => {
                let text = std::str::from_utf8_unchecked(array.string(row));
                *at.cast::<TextHandle>() = TextHandle::Lent(LentString::new(text));
            }
            ScalarType::Bytes => {
                *at.cast::<BytesHandle>() = BytesHandle::Lent(LentString::new(array.string(row)));
            }
            _ => {
                let cell = array.raw(row);
                at.copy_from_nonoverlapping(cell.as_ptr(), cell.len());
            }
        }
    }
}

/// Takes a string back that was lent to a slot.
///
/// # Safety
/// As of [`put`].
unsafe fn take_back(base: *mut u8, slot: &TypedSlot) {
    // SAFETY: the caller's promise.
    unsafe {
        let at = base.add(value_offset(slot));
        match slot.qtype().scalar() {
            Some(ScalarType::Text) => *at.cast::<TextHandle>() = TextHandle::Owned(String::new()),
            Some(ScalarType::Bytes) => *at.cast::<BytesHandle>() = BytesHandle::Owned(Vec::new()),
            _ => {}
        }
    }
}

/// Where the value of a scalar or optional slot stands: behind the presence byte, which is the value of a mask.
fn value_offset(slot: &TypedSlot) -> usize {
    slot.value().map_or(slot.offset(), |value| value.offset()) as usize
}

/// Appends the contents of a slot to rows.
///
/// # Safety
/// The slot is one of the frame at `base`, a scalar or optional of the rows' element.
unsafe fn take(
    base: *const u8,
    slot: &TypedSlot,
    element: ScalarType,
    rows: &mut RowsOut<'_>,
) -> Result<(), Fault> {
    // SAFETY: as in `put`.
    unsafe {
        let mut at = base.add(slot.offset() as usize);
        let mut present = true;
        if let QType::Optional(scalar) = slot.qtype() {
            present = at.read() != 0;
            at = if *scalar == ScalarType::Unit { at } else { at.add(scalar.align() as usize) };
        }
        match element {
            ScalarType::Text => rows.push_trusted(present, Text::view(at).as_bytes()),
            ScalarType::Bytes => rows.push_trusted(present, Bytes::view(at)),
            plain => rows.push_trusted(present, std::slice::from_raw_parts(at, cell_size(plain))),
        }
    }
}
