//! How values print in dumps: `float64{0.5}`, `4.`, `optional_int32{NA}`, `'x'`, `(1, 2.5)`.
//!
//! The form names the type wherever the digits alone would not: FLOAT32 ends in a point, INT32 is
//! bare, every other number says what it is.

use crate::value::array::{ArrayClass, ArrayRows};
use crate::value::edge::Edge;
use crate::value::ndarray::NdRows;
use crate::value::number::{write_f32, write_f64};
use crate::value::scalar::ScalarType;
use crate::value::scalar_value::ScalarValue;
use crate::value::tuple::TupleType;
use crate::value::value::Value;
use std::fmt::{self, Write};

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        write_repr(&mut text, self);
        f.write_str(&text)
    }
}

/// Appends the representation of a value.
pub fn write_repr(out: &mut String, value: &Value) {
    match value {
        Value::Scalar(v) => write_scalar(out, v),
        Value::Present(ScalarValue::Unit) => out.push_str("present"),
        Value::Missing(ScalarType::Unit) => out.push_str("missing"),
        Value::Present(v) => {
            push_type_name(out, "optional_", v.scalar_type());
            out.push('{');
            match v {
                ScalarValue::Float32(_) | ScalarValue::Int32(_) | ScalarValue::Boolean(_) => {
                    write_scalar(out, v)
                }
                _ => write_payload(out, v),
            }
            out.push('}');
        }
        Value::Missing(t) => {
            push_type_name(out, "optional_", *t);
            out.push_str("{NA}");
        }
        Value::Edge(class, edge) => write_edge(out, *class, edge),
        Value::ArrayShape(class, size) => {
            let name = class.prefix().to_ascii_lowercase();
            write!(out, "{name}shape{{size={size}}}").expect("strings take all writes");
        }
        Value::ScalarShape => out.push_str("scalar_shape"),
        Value::OptionalScalarShape => out.push_str("optional_scalar_shape"),
        Value::Tuple(t) => write_tuple(out, t.qtype(), t.fields()),
        Value::Sequence(s) => {
            out.push_str("sequence(");
            for v in s.iter() {
                write_scalar(out, &v);
                out.push_str(", ");
            }
            write!(out, "value_qtype={})", s.element()).expect("strings take all writes");
        }
        Value::Array(class, rows) => write_array(out, *class, rows),
        Value::NdArray(rows) => write_nd(out, rows),
        Value::Axes(axes) => write!(out, "{axes}").expect("strings take all writes"),
    }
}

/// Rows of an array that print; of longer arrays the size is given.
const PRINTED_ROWS: usize = 10;

fn write_array(out: &mut String, class: ArrayClass, rows: &ArrayRows) {
    out.push_str(match class {
        ArrayClass::Dense => "dense_array([",
        ArrayClass::Array => "array([",
    });
    for (index, row) in rows.iter().take(PRINTED_ROWS).enumerate() {
        out.push_str(if index > 0 { ", " } else { "" });
        match row {
            Some(ScalarValue::Unit) => out.push_str("present"),
            Some(value) => write_scalar(out, &value),
            None => out.push_str("NA"),
        }
    }
    out.push_str(if rows.len() > PRINTED_ROWS { ", ...]" } else { "]" });
    if rows.len() > PRINTED_ROWS {
        write!(out, ", size={}", rows.len()).expect("strings take all writes");
    }
    // Without a value nothing shows the type.
    if rows.iter().take(PRINTED_ROWS).all(|row| row.is_none()) {
        write!(out, ", value_qtype={}", rows.element()).expect("strings take all writes");
    }
    out.push(')');
}

/// Nested lists as far as the array is short and has elements, else its shape and the first elements.
fn write_nd(out: &mut String, rows: &NdRows) {
    write!(out, "{}{{", rows.qtype()).expect("strings take all writes");
    let view = rows.view();
    if (1..=PRINTED_ROWS).contains(&view.len()) {
        for (number, value) in view.scalars().enumerate() {
            out.push_str(if number > 0 { ", " } else { "" });
            out.extend(ends_at(rows.shape(), number).map(|()| '['));
            write_payload(out, &value);
            out.extend(ends_at(rows.shape(), number + 1).map(|()| ']'));
        }
    } else {
        write!(out, "shape={:?}", rows.shape()).expect("strings take all writes");
        for value in view.scalars().take(PRINTED_ROWS) {
            out.push_str(", ");
            write_payload(out, &value);
        }
        out.push_str(if view.len() > PRINTED_ROWS { ", ..." } else { "" });
    }
    out.push('}');
}

/// Once for each axis that begins or ends before this element.
fn ends_at(shape: &[usize], number: usize) -> impl Iterator<Item = ()> {
    let blocks = shape.iter().rev().scan(1, |block, size| {
        *block *= size;
        Some(*block)
    });
    blocks.filter(move |block| number.is_multiple_of(*block)).map(|_| ())
}

fn write_edge(out: &mut String, class: ArrayClass, edge: &Edge) {
    out.push_str(&class.prefix().to_ascii_lowercase());
    if edge.is_to_scalar() {
        return write!(out, "to_scalar_edge(child_size={})", edge.child_size())
            .expect("strings take all writes");
    }
    match edge.split_points() {
        Some(points) => {
            let points: Vec<_> = points.iter().map(|p| Some(ScalarValue::Int64(*p as i64))).collect();
            out.push_str("edge(split_points=");
            write_array(out, class, &ArrayRows::from_values(ScalarType::Int64, &points));
        }
        None => {
            out.push_str("edge(mapping=");
            write_array(out, class, &edge.mapping());
            write!(out, ", parent_size={}", edge.parent_size()).expect("strings take all writes");
        }
    }
    out.push(')');
}

fn write_tuple(out: &mut String, qtype: &TupleType, fields: &[Value]) {
    if qtype.names().is_some() {
        write!(out, "{qtype}{{").expect("strings take all writes");
    }
    out.push('(');
    for (i, field) in fields.iter().enumerate() {
        out.push_str(if i > 0 { ", " } else { "" });
        write_repr(out, field);
    }
    out.push(')');
    if qtype.names().is_some() {
        out.push('}');
    }
}

fn write_scalar(out: &mut String, value: &ScalarValue) {
    match value {
        ScalarValue::Int64(_) | ScalarValue::Float64(_) | ScalarValue::WeakFloat(_) => {
            push_type_name(out, "", value.scalar_type());
            out.push('{');
            write_payload(out, value);
            out.push('}');
        }
        ScalarValue::Float32(v) => {
            let start = out.len();
            write_f32(out, *v);
            if out[start..].bytes().all(|b| b.is_ascii_digit() || b == b'-') {
                out.push('.');
            }
        }
        other => write_payload(out, other),
    }
}

/// The value without its type: digits, words, quoted strings.
pub fn write_payload(out: &mut String, value: &ScalarValue) {
    match value {
        ScalarValue::Unit => out.push_str("unit"),
        ScalarValue::Boolean(v) => out.push_str(if *v { "true" } else { "false" }),
        ScalarValue::Int32(v) => write!(out, "{v}").expect("strings take all writes"),
        ScalarValue::Int64(v) => write!(out, "{v}").expect("strings take all writes"),
        ScalarValue::Float32(v) => write_f32(out, *v),
        ScalarValue::Float64(v) | ScalarValue::WeakFloat(v) => write_f64(out, *v),
        ScalarValue::Text(v) => write_text(out, v),
        ScalarValue::Bytes(v) => {
            out.push_str("b'");
            v.iter().for_each(|b| write_byte(out, *b));
            out.push('\'');
        }
    }
}

/// Appends text in single quotes with C escapes. Letters of every script stay as they are; control
/// and direction-changing characters do not, so that a dump cannot rearrange the terminal.
pub fn write_text(out: &mut String, text: &str) {
    out.push('\'');
    for c in text.chars() {
        match c {
            '\u{80}'.. if is_hidden(c) => {
                write!(out, "\\u{{{:x}}}", u32::from(c)).expect("strings take all writes");
            }
            '\u{80}'.. => out.push(c),
            ascii => write_byte(out, ascii as u8),
        }
    }
    out.push('\'');
}

fn is_hidden(c: char) -> bool {
    c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn write_byte(out: &mut String, byte: u8) {
    match byte {
        b'\n' => out.push_str("\\n"),
        b'\r' => out.push_str("\\r"),
        b'\t' => out.push_str("\\t"),
        b'\'' => out.push_str("\\'"),
        b'"' => out.push_str("\\\""),
        b'\\' => out.push_str("\\\\"),
        b' '..=b'~' => out.push(byte as char),
        _ => write!(out, "\\x{byte:02x}").expect("strings take all writes"),
    }
}

fn push_type_name(out: &mut String, prefix: &str, scalar: ScalarType) {
    out.push_str(prefix);
    out.extend(scalar.name().chars().map(|c| c.to_ascii_lowercase()));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::nd_type::NdType;
    use crate::value::qtype::QType;
    use std::sync::Arc;

    #[test]
    fn published_forms() {
        let named =
            TupleType::named(["a".into(), "b".into()], [QType::Scalar(ScalarType::Int32), 2.0.into_type()])
                .expect("small");
        let cases: Vec<(Value, &str)> = vec![
            (1i32.into(), "1"),
            (5i64.into(), "int64{5}"),
            (4f32.into(), "4."),
            (2.5f32.into(), "2.5"),
            (1e10f32.into(), "10000000000."),
            (1e21f32.into(), "1e21"),
            (f32::INFINITY.into(), "inf"),
            ((-0.0f32).into(), "-0."),
            ((-0.0f64).into(), "float64{-0}"),
            (f64::NAN.into(), "float64{nan}"),
            (Value::Scalar(ScalarValue::WeakFloat(2.5)), "weak_float{2.5}"),
            (Some(3i32).into(), "optional_int32{3}"),
            (Some(3f32).into(), "optional_float32{3.}"),
            (None::<f64>.into(), "optional_float64{NA}"),
            (Value::presence(true), "present"),
            (Value::presence(false), "missing"),
            (Value::Scalar(ScalarValue::Unit), "unit"),
            (true.into(), "true"),
            ("a'b\"c\n\u{1}é\u{202e}".into(), "'a\\'b\\\"c\\n\\x01é\\u{202e}'"),
            (Some("x").into(), "optional_text{'x'}"),
            (vec![b'a', 0xff].into(), "b'a\\xff'"),
            (array(&[Some(1), None, Some(3)]), "dense_array([1, NA, 3])"),
            (Value::ArrayShape(ArrayClass::Dense, 5), "dense_array_shape{size=5}"),
            (nd("NDARRAY_INT32_N1N", &[2, 1, 2]), "NDARRAY_INT32_N1N{[[[0, 1]], [[2, 3]]]}"),
            (nd("NDARRAY_INT32_NN", &[0, 2]), "NDARRAY_INT32_NN{shape=[0, 2]}"),
            (
                nd("NDARRAY_INT32_NN", &[3, 4]),
                "NDARRAY_INT32_NN{shape=[3, 4], 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ...}",
            ),
            (array(&[]), "dense_array([], value_qtype=INT32)"),
            (array(&[None, None]), "dense_array([NA, NA], value_qtype=INT32)"),
            (array(&[Some(7); 30]), "dense_array([7, 7, 7, 7, 7, 7, 7, 7, 7, 7, ...], size=30)"),
            (Value::tuple([1i32.into(), 2.5f32.into()]).expect("small"), "(1, 2.5)"),
            (
                Value::of_tuple_type(Arc::clone(&named), [1i32.into(), 2f64.into()]),
                "namedtuple<a=INT32,b=FLOAT64>{(1, float64{2})}",
            ),
        ];
        for (value, repr) in cases {
            assert_eq!(value.to_string(), repr);
        }
    }

    fn array(rows: &[Option<i32>]) -> Value {
        let rows: Vec<_> = rows.iter().map(|row| row.map(ScalarValue::Int32)).collect();
        Value::Array(ArrayClass::Dense, Arc::new(ArrayRows::from_values(ScalarType::Int32, &rows)))
    }

    fn nd(name: &str, shape: &[usize]) -> Value {
        let qtype = NdType::from_name(name).expect("a type");
        let cells: Vec<i32> = (0..shape.iter().product::<usize>() as i32).collect();
        Value::NdArray(Arc::new(NdRows::from_slice(qtype, shape, &cells).expect("fits")))
    }

    trait IntoType {
        fn into_type(self) -> QType;
    }

    impl IntoType for f64 {
        fn into_type(self) -> QType {
            Value::from(self).qtype()
        }
    }
}
