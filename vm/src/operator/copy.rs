//! Copies: values from slot to slot and elements to cells, with memory counted and polls in between.

use crate::array::meter::{Meter, STRIDE};
use crate::layout::access::{Bytes, SlotType, Text};
use crate::layout::handle::{ArrayHandle, BytesHandle, EdgeHandle, SequenceHandle, TextHandle};
use crate::layout::nd_handle::NdHandle;
use crate::value::budget::{Account, reserve};
use crate::value::{Fault, NdView, QType, ScalarType};

/// Copies a value of a type from one frame to another, or within one. Handles keep their buffers.
///
/// # Errors
/// No memory for rows, or the run has to stop.
///
/// # Safety
/// Both places hold values of this type; they do not overlap.
pub(crate) unsafe fn move_value(
    source: *const u8,
    from: u32,
    target: *mut u8,
    to: u32,
    qtype: &QType,
    meter: &Meter<'_>,
) -> Result<(), Fault> {
    // SAFETY: the caller's promise, which holds for the parts of a value as well.
    unsafe {
        let (at, into) = (source.add(from as usize), target.add(to as usize));
        if qtype.is_plain() {
            into.copy_from_nonoverlapping(at, qtype.size() as usize);
            return Ok(());
        }
        match qtype {
            QType::Tuple(t) => {
                for (i, field) in t.fields().iter().enumerate() {
                    move_value(source, from + t.offset(i), target, to + t.offset(i), field, meter)?;
                }
            }
            QType::Optional(t) => {
                into.write(at.read());
                move_value(source, from + t.align(), target, to + t.align(), &QType::Scalar(*t), meter)?;
            }
            QType::Sequence(_) => {
                let cells = (*at.cast::<SequenceHandle>()).view();
                let out = (*into.cast::<SequenceHandle>()).cleared();
                reserve(out, cells.len(), meter)?;
                out.extend_from_slice(cells);
            }
            QType::Edge(_) | QType::EdgeToScalar(_) => {
                let (edge, out) = (&(*at.cast::<EdgeHandle>()).0, &mut (*into.cast::<EdgeHandle>()).0);
                meter.charge(edge.heap_bytes())?;
                meter.give_back(out.heap_bytes());
                out.clone_from(edge);
            }
            QType::Array(_) => {
                let rows = (*at.cast::<ArrayHandle>()).own();
                (*into.cast::<ArrayHandle>()).owned().copy_within(rows, meter)?;
            }
            QType::NdArray(_) => {
                let (qtype, view) = (*at.cast::<NdHandle>()).computed();
                let out = (*into.cast::<NdHandle>()).owned();
                copy_elements(&view, out.resize_within(qtype, view.shape(), meter)?, meter)?;
            }
            QType::Scalar(ScalarType::Text) => {
                let text = Text::view(at);
                let out = (*into.cast::<TextHandle>()).cleared();
                reserve(out, text.len(), meter)?;
                out.push_str(text);
            }
            QType::Scalar(ScalarType::Bytes) => {
                let bytes = Bytes::view(at);
                let out = (*into.cast::<BytesHandle>()).cleared();
                reserve(out, bytes.len(), meter)?;
                out.extend_from_slice(bytes);
            }
            _ => unreachable!("all other types are plain"),
        }
    }
    Ok(())
}

/// Copies the elements of a view to cells one after the other, the last axis fastest.
///
/// # Errors
/// The run has to stop.
pub fn copy_elements(view: &NdView<'_>, cells: &mut [u8], meter: &Meter<'_>) -> Result<(), Fault> {
    copy_elements_since(&mut STRIDE.clone(), view, cells, meter)
}

/// The same for one of many copies, which may be small: it polls when enough elements were copied since the last poll.
///
/// # Errors
/// The run has to stop.
pub fn copy_elements_since(
    since_poll: &mut usize,
    view: &NdView<'_>,
    cells: &mut [u8],
    meter: &Meter<'_>,
) -> Result<(), Fault> {
    view.copy_in_parts(cells, |count| {
        *since_poll += count;
        if *since_poll >= STRIDE {
            *since_poll = 0;
            meter.poll()?;
        }
        Ok(())
    })
}
