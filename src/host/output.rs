//! Outputs: the Rust types a model's result can be read as.

use cembra_vm::frame::Frame;
use cembra_vm::machine::BoundExpr;
use cembra_vm::value::{QType, ScalarType, ScalarValue, Value};

/// A type that a model's result can be read as.
pub trait Output: Sized {
    /// The type the output must have; `None` if any will do.
    fn qtype() -> Option<QType>;

    /// Finds the output once; what comes back reads it from frames that have been run.
    fn reader(bound: &BoundExpr) -> Reader<Self>;
}

/// Reads a result; `None` if it is missing and the type has no place for that.
pub type Reader<O> = Box<dyn Fn(&Frame) -> Option<O> + Send + Sync>;

/// A reader of an output through [`Value`].
fn value_reader<O>(bound: &BoundExpr, convert: fn(Value) -> Option<O>) -> Reader<O>
where
    O: 'static,
{
    let slot = bound.output_slot().clone();
    Box::new(move |frame| convert(frame.read(&slot).ok()?))
}

macro_rules! plain_output {
    ($($rust:ty => $scalar:ident),*) => {$(
        impl Output for $rust {
            fn qtype() -> Option<QType> {
                Some(QType::Scalar(ScalarType::$scalar))
            }

            fn reader(bound: &BoundExpr) -> Reader<$rust> {
                match (bound.output::<Option<$rust>>(), bound.output::<$rust>()) {
                    (Ok(slot), _) => Box::new(move |frame| frame.get(slot)),
                    (_, Ok(slot)) => Box::new(move |frame| Some(frame.get(slot))),
                    _ => Box::new(|_| None),
                }
            }
        }

        impl Output for Option<$rust> {
            fn qtype() -> Option<QType> {
                Some(QType::Optional(ScalarType::$scalar))
            }

            fn reader(bound: &BoundExpr) -> Reader<Option<$rust>> {
                match bound.output::<Option<$rust>>() {
                    Ok(slot) => Box::new(move |frame| Some(frame.get(slot))),
                    Err(_) => Box::new(|_| None),
                }
            }
        }
    )*};
}

plain_output!(() => Unit, bool => Boolean, i32 => Int32, i64 => Int64, f32 => Float32, f64 => Float64);

impl Output for String {
    fn qtype() -> Option<QType> {
        Some(QType::Scalar(ScalarType::Text))
    }

    fn reader(bound: &BoundExpr) -> Reader<String> {
        value_reader(bound, text)
    }
}

impl Output for Option<String> {
    fn qtype() -> Option<QType> {
        Some(QType::Optional(ScalarType::Text))
    }

    fn reader(bound: &BoundExpr) -> Reader<Option<String>> {
        value_reader(bound, |value| Some(text(value)))
    }
}

/// Whatever type the output has.
impl Output for Value {
    fn qtype() -> Option<QType> {
        None
    }

    fn reader(bound: &BoundExpr) -> Reader<Value> {
        value_reader(bound, Some)
    }
}

fn text(value: Value) -> Option<String> {
    match value.scalar()? {
        ScalarValue::Text(text) => Some(text.to_string()),
        _ => None,
    }
}
