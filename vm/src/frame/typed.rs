//! Access by slots whose type is known at run time: values in, values out, copies.
//!
//! Every call checks the slot against the frame's layout; the machine uses the unchecked forms on
//! slots that the verifier has accepted.

use crate::frame::error::FrameError;
use crate::frame::frame::Frame;
use crate::layout::access::{Bytes, PlainSlot, SlotType, Text};
use crate::layout::handle::{ArrayHandle, EdgeHandle, SequenceHandle};
use crate::layout::nd_handle::NdHandle;
use crate::layout::slot::TypedSlot;
use crate::value::array::cell_size;
use crate::value::budget::{Exhausted, Grown, Unlimited, copy_words};
use crate::value::nd_type::is_element;
use crate::value::ndarray::check_shape;
use crate::value::sequence::SequenceValue;
use crate::value::{ArrayRows, NdView, QType, ScalarType, ScalarValue, Value};
use std::sync::Arc;

impl Frame {
    /// Reads any slot as a value.
    ///
    /// # Errors
    /// The slot does not belong to the layout, or is an input or output that has not been written; or there is no memory
    /// for a copy of rows.
    pub fn read(&self, slot: &TypedSlot) -> Result<Value, FrameError> {
        self.check(slot)?;
        let bit = self.layout().bit_of(slot);
        if bit != 0 && !self.is_written(bit - 1) {
            return Err(FrameError::Unwritten { slot: slot.clone() });
        }
        // SAFETY: `check` found the slot to hold a valid value of its type.
        Ok(unsafe { read_value(self.base(), slot.offset(), slot.qtype()) }?)
    }

    /// The rows of an array slot, where they stand.
    ///
    /// # Errors
    /// The slot does not belong to the layout or is no array, or it is an input or output that has not been
    /// written.
    pub fn rows(&self, slot: &TypedSlot) -> Result<&ArrayRows, FrameError> {
        self.check(slot)?;
        if slot.qtype().array().is_none() {
            return Err(FrameError::ForeignSlot { slot: slot.clone() });
        }
        let bit = self.layout().bit_of(slot);
        if bit != 0 && !self.is_written(bit - 1) {
            return Err(FrameError::Unwritten { slot: slot.clone() });
        }
        // SAFETY: `check` found that an array handle stands there; the borrow of `self` keeps it unchanged.
        Ok(unsafe { (*self.base().add(slot.offset() as usize).cast::<ArrayHandle>()).own() })
    }

    /// Writes any slot from a value; an input counts as written from then on.
    ///
    /// # Errors
    /// The slot does not belong to the layout or holds a literal, or the value is of another type.
    pub fn write(&mut self, slot: &TypedSlot, value: &Value) -> Result<(), FrameError> {
        self.check(slot)?;
        if value.qtype().storage() != slot.qtype().storage() {
            return Err(FrameError::TypeMismatch { slot: slot.clone(), actual: value.qtype() });
        }
        if self.layout().is_literal(slot) {
            return Err(FrameError::Literal { slot: slot.clone() });
        }
        let bit = self.layout().bit_of(slot);
        if bit != 0 {
            self.written_mut().set(bit - 1);
        }
        // SAFETY: `check` found the slot to hold a valid value of its type, which is the value's;
        // `&mut self` makes the access exclusive.
        unsafe { write_value(self.base(), slot.offset(), value) };
        Ok(())
    }

    /// The n-dimensional array in a slot, where it lies; a single number or truth value is an array without axes.
    ///
    /// # Errors
    /// The slot does not belong to the layout, holds neither, or has not been written.
    pub fn nd_view(&self, slot: &TypedSlot) -> Result<NdView<'_>, FrameError> {
        self.check(slot)?;
        let bit = self.layout().bit_of(slot);
        let is_written = bit == 0 || self.is_written(bit - 1);
        match slot.qtype() {
            QType::NdArray(_) if is_written => {
                // SAFETY: `check` found the slot to hold a handle of this kind; the borrow of `self` keeps it.
                Ok(unsafe { (*self.base().add(slot.offset() as usize).cast::<NdHandle>()).rows() }.view())
            }
            QType::Scalar(scalar) if is_written && is_element(scalar.storage()) => {
                let (element, size) = (scalar.storage(), cell_size(*scalar));
                // SAFETY: `check` found the slot to hold a valid value of this size; the borrow of `self` keeps it.
                let bytes =
                    unsafe { std::slice::from_raw_parts(self.base().add(slot.offset() as usize), size) };
                Ok(NdView::new(element, bytes, 0, &[], &[]).expect("a scalar is an element"))
            }
            _ => Err(FrameError::Unwritten { slot: slot.clone() }),
        }
    }

    /// Writes an n-dimensional array into memory that the frame keeps; an input counts as written from then
    /// on. Once sizes settle nothing is allocated.
    ///
    /// # Errors
    /// The slot does not belong to the layout or holds a literal, or the array is not one of its type; or there is no
    /// memory.
    pub fn write_nd(&mut self, slot: &TypedSlot, view: &NdView<'_>) -> Result<(), FrameError> {
        self.check(slot)?;
        let qtype = slot.qtype().nd().filter(|t| t.element() == view.element());
        let fits = |t| check_shape(t, view.shape()).is_ok();
        let Some(qtype) = qtype.filter(|t| fits(*t)) else {
            return Err(FrameError::ArrayShape {
                slot: slot.clone(),
                element: view.element(),
                shape: view.shape().to_vec(),
            });
        };
        if view.validity().is_some() {
            return Err(FrameError::Missing { slot: slot.clone() });
        }
        if self.layout().is_literal(slot) {
            return Err(FrameError::Literal { slot: slot.clone() });
        }
        let bit = self.layout().bit_of(slot);
        if bit != 0 {
            self.written_mut().set(bit - 1);
        }
        // SAFETY: `check` found the slot to hold a handle of this kind; `&mut self` makes the access exclusive.
        let handle = unsafe { &mut *self.base().add(slot.offset() as usize).cast::<NdHandle>() };
        let grown = Grown::default();
        let copied = handle.owned().copy_within(qtype, view, &grown);
        self.set_alive(self.alive().saturating_add_signed(grown.bytes()));
        if copied.is_err() && bit != 0 {
            self.written_mut().unset(bit - 1);
        }
        Ok(copied?)
    }

    fn check(&self, slot: &TypedSlot) -> Result<(), FrameError> {
        match self.layout().accepts(slot) {
            true => Ok(()),
            false => Err(FrameError::ForeignSlot { slot: slot.clone() }),
        }
    }
}

/// Reads the value of a type at an offset. Rows are copied unless they are shared already.
///
/// # Errors
/// There is no memory for a copy of rows or elements.
///
/// # Safety
/// A valid value of the type stands there and does not change meanwhile.
pub(crate) unsafe fn read_value(base: *const u8, offset: u32, qtype: &QType) -> Result<Value, Exhausted> {
    // SAFETY: the caller's promise for the whole value holds for its parts.
    let value = unsafe {
        let at = base.add(offset as usize);
        match qtype {
            QType::Scalar(t) => Value::Scalar(read_scalar(at, *t)),
            QType::Optional(t) => match at.read() {
                0 => Value::Missing(*t),
                _ if *t == ScalarType::Unit => Value::Present(ScalarValue::Unit),
                _ => Value::Present(read_scalar(at.add(t.align() as usize), *t)),
            },
            QType::Edge(class) | QType::EdgeToScalar(class) => {
                Value::Edge(*class, (*at.cast::<EdgeHandle>()).0.clone())
            }
            QType::ArrayShape(class) => Value::ArrayShape(*class, at.cast::<u64>().read()),
            QType::NdArray(t) => Value::NdArray((*at.cast::<NdHandle>()).read(*t)?),
            QType::Axes(axes) => Value::Axes(*axes),
            QType::ScalarShape => Value::ScalarShape,
            QType::OptionalScalarShape => Value::OptionalScalarShape,
            QType::Tuple(t) => {
                let field = |(i, f): (usize, &QType)| read_value(base, offset + t.offset(i), f);
                let fields: Vec<Value> =
                    t.fields().iter().enumerate().map(field).collect::<Result<_, _>>()?;
                Value::of_tuple_type(t.clone(), fields)
            }
            QType::Sequence(t) => {
                let mut cells = Vec::new();
                copy_words(&mut cells, (*at.cast::<SequenceHandle>()).view(), &Unlimited)?;
                Value::Sequence(Arc::new(SequenceValue::from_cells(*t, cells)))
            }
            QType::Array(t) => Value::Array(t.class, (*at.cast::<ArrayHandle>()).read(t.element)?),
        }
    };
    Ok(value)
}

/// # Safety
/// As [`read_value`].
unsafe fn read_scalar(at: *const u8, scalar: ScalarType) -> ScalarValue {
    // SAFETY: the caller's promise.
    unsafe {
        match scalar {
            ScalarType::Text => ScalarValue::Text(Text::view(at).into()),
            ScalarType::Bytes => ScalarValue::Bytes(Bytes::view(at).into()),
            plain => ScalarValue::of_cell(plain, std::slice::from_raw_parts(at, cell_size(plain))),
        }
    }
}

/// Writes a value at an offset.
///
/// # Safety
/// A valid value of the same storage type stands there and nobody else accesses it.
pub(crate) unsafe fn write_value(base: *mut u8, offset: u32, value: &Value) {
    // SAFETY: the caller's promise for the whole value holds for its parts.
    unsafe {
        let at = base.add(offset as usize);
        match value {
            Value::Scalar(v) => write_scalar(at, v),
            Value::Present(v) => {
                at.write(1);
                if v.scalar_type() != ScalarType::Unit {
                    write_scalar(at.add(v.scalar_type().align() as usize), v);
                }
            }
            Value::Missing(t) => {
                at.write(0);
                if *t != ScalarType::Unit {
                    write_zero(base, &TypedSlot::new(offset + t.align(), QType::Scalar(*t)));
                }
            }
            Value::Edge(_, edge) => *at.cast() = EdgeHandle(edge.clone()),
            Value::ArrayShape(_, size) => at.cast::<u64>().write(*size),
            Value::ScalarShape | Value::OptionalScalarShape | Value::Axes(_) => {}
            Value::NdArray(rows) => (*at.cast::<NdHandle>()).share(rows.clone()),
            Value::Tuple(t) => {
                for (i, field) in t.fields().iter().enumerate() {
                    write_value(base, offset + t.qtype().offset(i), field);
                }
            }
            Value::Sequence(s) => {
                (*at.cast::<SequenceHandle>()).cleared().extend_from_slice(s.cells());
            }
            Value::Array(_, rows) => *at.cast() = ArrayHandle::Shared(rows.clone()),
        }
    }
}

/// Writes what stands behind a missing presence byte: zero, or an empty buffer. Does not allocate.
///
/// # Safety
/// As [`write_value`]; the slot holds a scalar.
pub(crate) unsafe fn write_zero(base: *mut u8, slot: &TypedSlot) {
    // SAFETY: the caller's promise.
    unsafe {
        let at = base.add(slot.offset() as usize);
        match slot.qtype() {
            QType::Scalar(ScalarType::Text) => Text::assign(at, ""),
            QType::Scalar(ScalarType::Bytes) => Bytes::assign(at, &[]),
            plain => at.write_bytes(0, plain.size() as usize),
        }
    }
}

/// # Safety
/// As [`write_value`], for a scalar.
unsafe fn write_scalar(at: *mut u8, value: &ScalarValue) {
    // SAFETY: the caller's promise.
    unsafe {
        match value {
            ScalarValue::Unit => <()>::store(at, ()),
            ScalarValue::Boolean(v) => bool::store(at, *v),
            ScalarValue::Int32(v) => i32::store(at, *v),
            ScalarValue::Int64(v) => i64::store(at, *v),
            ScalarValue::Float32(v) => f32::store(at, *v),
            ScalarValue::Float64(v) | ScalarValue::WeakFloat(v) => f64::store(at, *v),
            ScalarValue::Text(v) => Text::assign(at, v),
            ScalarValue::Bytes(v) => Bytes::assign(at, v),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::FrameLayout;

    #[test]
    fn values_of_every_type_round_trip() {
        let tuple = Value::tuple([Value::from("in a tuple"), Some(1.5f32).into(), None::<i64>.into()])
            .expect("small");
        let cells =
            SequenceValue::from_scalars(ScalarType::Int64, &[ScalarValue::Int64(-1), ScalarValue::Int64(5)]);
        let values = [
            Value::Scalar(ScalarValue::Unit),
            true.into(),
            (-7i32).into(),
            i64::MIN.into(),
            f32::NAN.into(),
            (-0.0f64).into(),
            Value::Scalar(ScalarValue::WeakFloat(2.5)),
            "text".into(),
            vec![0u8, 255].into(),
            Value::presence(true),
            None::<f64>.into(),
            Some("x").into(),
            Value::ScalarShape,
            tuple,
            Value::Sequence(Arc::new(cells.expect("plain elements"))),
        ];
        let mut b = FrameLayout::builder();
        let slots: Vec<TypedSlot> = values.iter().map(|v| b.typed(v.qtype())).collect();
        let literals: Vec<TypedSlot> = values.iter().map(|v| b.literal(v.clone())).collect();
        let mut frame = Frame::new(&b.build().expect("small")).expect("small");
        for ((slot, literal), value) in slots.iter().zip(&literals).zip(&values) {
            frame.write(slot, value).expect("fits");
            assert_eq!(frame.read(slot).as_ref(), Ok(value));
            assert_eq!(frame.read(literal).as_ref(), Ok(value));
        }
    }

    #[test]
    fn numbers_are_arrays_without_axes() {
        let mut b = FrameLayout::builder();
        let slot = b.typed(crate::value::qtype::FLOAT64);
        let [text, truth] = [crate::value::qtype::TEXT, crate::value::qtype::BOOLEAN].map(|t| b.typed(t));
        let layout = b.build().expect("small");
        let mut frame = Frame::new(&layout).expect("small");
        frame.set_number(layout.number_slot(&slot).expect("a number"), 2.5);
        let read = frame.nd_view(&slot).expect("a number");
        assert_eq!((read.rank(), read.as_slice::<f64>()), (0, Some(&[2.5][..])));
        assert_eq!(frame.nd_view(&truth).expect("a truth value").as_slice::<bool>(), Some(&[false][..]));
        assert!(layout.number_slot(&text).is_none() && frame.nd_view(&text).is_err());
    }

    #[test]
    #[should_panic(expected = "has no INT64")]
    fn numbers_of_another_type_are_refused() {
        let mut b = FrameLayout::builder();
        let slot = b.typed(crate::value::qtype::FLOAT64);
        let layout = b.build().expect("small");
        let mut frame = Frame::new(&layout).expect("small");
        frame.set_number(layout.number_slot(&slot).expect("a number"), 1i64);
    }

    #[test]
    fn foreign_slots_and_types_are_errors() {
        let mut b = FrameLayout::builder();
        let slot = b.typed(crate::value::qtype::TEXT);
        let mut frame = Frame::new(&b.build().expect("small")).expect("small");
        let inside = TypedSlot::new(8, crate::value::qtype::FLOAT64);
        assert_eq!(
            frame.read(&inside).unwrap_err().to_string(),
            "FLOAT64 [0x08] is not a slot of this frame"
        );
        assert_eq!(
            frame.write(&slot, &1.0.into()).unwrap_err().to_string(),
            "TEXT [0x00] cannot hold a value of type FLOAT64"
        );
    }
}
