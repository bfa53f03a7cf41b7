//! Outputs: the Rust types a model's result can be read as.

use cembra_vm::frame::Frame;
use cembra_vm::layout::TypedSlot;
use cembra_vm::value::{QType, ScalarType, ScalarValue, Value};

/// A type that a model's result can be read as.
pub trait Output: Sized {
    /// The type the output must have; `None` if any will do.
    fn qtype() -> Option<QType>;

    /// Takes the result out of a frame that has been run; `None` if it is missing and this type has no
    /// place for that.
    fn take(frame: &Frame, slot: &TypedSlot) -> Option<Self>;
}

macro_rules! plain_output {
    ($($rust:ty => $scalar:ident),*) => {$(
        impl Output for $rust {
            fn qtype() -> Option<QType> {
                Some(QType::Scalar(ScalarType::$scalar))
            }

            fn take(frame: &Frame, slot: &TypedSlot) -> Option<$rust> {
                match slot.qtype() {
                    QType::Optional(_) => frame.get(frame.layout().slot::<Option<$rust>>(slot)?),
                    _ => Some(frame.get(frame.layout().slot::<$rust>(slot)?)),
                }
            }
        }

        impl Output for Option<$rust> {
            fn qtype() -> Option<QType> {
                Some(QType::Optional(ScalarType::$scalar))
            }

            fn take(frame: &Frame, slot: &TypedSlot) -> Option<Option<$rust>> {
                Some(frame.get(frame.layout().slot::<Option<$rust>>(slot)?))
            }
        }
    )*};
}

plain_output!(() => Unit, bool => Boolean, i32 => Int32, i64 => Int64, f32 => Float32, f64 => Float64);

impl Output for String {
    fn qtype() -> Option<QType> {
        Some(QType::Scalar(ScalarType::Text))
    }

    fn take(frame: &Frame, slot: &TypedSlot) -> Option<String> {
        match frame.read(slot).ok()?.scalar()? {
            ScalarValue::Text(text) => Some(text.to_string()),
            _ => None,
        }
    }
}

impl Output for Option<String> {
    fn qtype() -> Option<QType> {
        Some(QType::Optional(ScalarType::Text))
    }

    fn take(frame: &Frame, slot: &TypedSlot) -> Option<Option<String>> {
        Some(String::take(frame, slot))
    }
}

/// Whatever type the output has.
impl Output for Value {
    fn qtype() -> Option<QType> {
        None
    }

    fn take(frame: &Frame, slot: &TypedSlot) -> Option<Value> {
        frame.read(slot).ok()
    }
}
