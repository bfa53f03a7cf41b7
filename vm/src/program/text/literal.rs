//! Literals as text, bit for bit, where the type is known: `1.5`, `-0`, `nan(0x7ff8000000000001)`,
//! `missing`, `'x'`, `(1, (true, missing))`, `[1, 2]`.
//!
//! A float prints in the shortest decimal that reads back to the same bits. `nan` is the quiet NaN
//! without sign or payload; any other NaN gives all its bits.

use crate::program::text::cursor::{Cursor, Read};
use crate::program::text::quoted::{read_bytes, read_text};
use crate::value::number::{write_f32, write_f64};
use crate::value::repr;
use crate::value::sequence::SequenceValue;
use crate::value::tuple::TupleType;
use crate::value::{
    ArrayClass, ArrayRows, ArrayType, Edge, NdRows, NdType, QType, ScalarType, ScalarValue, Value,
};
use std::fmt::Write;
use std::str::FromStr;
use std::sync::Arc;

/// The quiet NaN of FLOAT32 that prints as `nan`.
const NAN_32: u32 = 0x7fc0_0000;
/// The quiet NaN of FLOAT64 that prints as `nan`.
const NAN_64: u64 = 0x7ff8_0000_0000_0000;

/// Writes a value without its type.
pub(super) fn write_literal(out: &mut String, value: &Value) {
    match value {
        Value::Scalar(v) | Value::Present(v) => write_scalar(out, v),
        Value::Missing(_) => out.push_str("missing"),
        Value::Edge(class, edge) => {
            out.push_str(&format!("{} ", edge.parent_size()));
            write_literal(out, &Value::Array(*class, Arc::new(edge.mapping())));
        }
        Value::ArrayShape(_, size) => out.push_str(&size.to_string()),
        Value::ScalarShape | Value::OptionalScalarShape => out.push_str("shape"),
        Value::Axes(_) => out.push_str("axes"),
        Value::NdArray(rows) => {
            write!(out, "{:?} [", rows.shape()).expect("strings take all writes");
            for (i, value) in rows.view().scalars().enumerate() {
                out.push_str(if i > 0 { ", " } else { "" });
                write_scalar(out, &value);
            }
            out.push(']');
        }
        Value::Tuple(t) => {
            out.push('(');
            for (i, field) in t.fields().iter().enumerate() {
                out.push_str(if i > 0 { ", " } else { "" });
                write_literal(out, field);
            }
            out.push(')');
        }
        Value::Array(_, rows) => {
            out.push('[');
            for (i, row) in rows.iter().enumerate() {
                out.push_str(if i > 0 { ", " } else { "" });
                match row {
                    Some(value) => write_scalar(out, &value),
                    None => out.push_str("missing"),
                }
            }
            out.push(']');
        }
        Value::Sequence(s) => {
            out.push('[');
            for (i, element) in s.iter().enumerate() {
                out.push_str(if i > 0 { ", " } else { "" });
                write_scalar(out, &element);
            }
            out.push(']');
        }
    }
}

fn write_scalar(out: &mut String, value: &ScalarValue) {
    let push = |out: &mut String, text: std::fmt::Arguments<'_>| {
        out.write_fmt(text).expect("strings take all writes");
    };
    match value {
        ScalarValue::Float32(v) if v.is_nan() && v.to_bits() != NAN_32 => {
            push(out, format_args!("nan(0x{:08x})", v.to_bits()));
        }
        ScalarValue::Float64(v) | ScalarValue::WeakFloat(v) if v.is_nan() && v.to_bits() != NAN_64 => {
            push(out, format_args!("nan(0x{:016x})", v.to_bits()));
        }
        ScalarValue::Float32(v) => write_f32(out, *v),
        ScalarValue::Float64(v) | ScalarValue::WeakFloat(v) => write_f64(out, *v),
        other => repr::write_payload(out, other),
    }
}

/// A tuple whose fields are being read.
struct Open<'q> {
    qtype: &'q Arc<TupleType>,
    fields: Vec<Value>,
}

/// Reads a value of a type. Tuples are kept on a list and not on the stack, which may be small.
pub(super) fn read_literal(line: &mut Cursor<'_>, qtype: &QType) -> Read<Value> {
    let mut open: Vec<Open<'_>> = Vec::new();
    let mut next = qtype;
    loop {
        let mut value = match next.tuple() {
            None => read_simple(line, next)?,
            Some(qtype) => {
                line.expect("(")?;
                if let Some(first) = qtype.fields().first() {
                    open.push(Open { qtype, fields: Vec::new() });
                    next = first;
                    continue;
                }
                line.expect(")")?;
                Value::of_tuple_type(qtype.clone(), [])
            }
        };
        // The value that has ended is the field of a tuple, which may end with it.
        next = loop {
            let Some(mut tuple) = open.pop() else { return Ok(value) };
            tuple.fields.push(value);
            if let Some(field) = tuple.qtype.fields().get(tuple.fields.len()) {
                line.expect(",")?;
                open.push(tuple);
                break field;
            }
            line.expect(")")?;
            value = Value::of_tuple_type(tuple.qtype.clone(), tuple.fields);
        };
    }
}

/// Reads a value that is no tuple.
fn read_simple(line: &mut Cursor<'_>, qtype: &QType) -> Read<Value> {
    match qtype {
        QType::Optional(t) if line.peek() == "missing" => {
            line.keyword("missing").map(|()| Value::Missing(*t))
        }
        QType::Optional(t) => read_scalar(line, *t).map(Value::Present),
        QType::Scalar(t) => read_scalar(line, *t).map(Value::Scalar),
        QType::Sequence(t) => read_sequence(line, *t),
        QType::Array(t) => read_array(line, *t),
        QType::Edge(class) | QType::EdgeToScalar(class) => read_edge(line, *class, qtype),
        QType::ArrayShape(class) => match read_scalar(line, ScalarType::Int64)? {
            ScalarValue::Int64(size @ 0..) => Ok(Value::ArrayShape(*class, size as u64)),
            _ => Err(line.expected("a number of rows")),
        },
        QType::NdArray(t) => read_nd(line, *t),
        QType::Axes(axes) => line.keyword("axes").map(|()| Value::Axes(*axes)),
        QType::ScalarShape => line.keyword("shape").map(|()| Value::ScalarShape),
        QType::OptionalScalarShape => line.keyword("shape").map(|()| Value::OptionalScalarShape),
        QType::Tuple(_) => Err(line.expected("a value without fields")),
    }
}

/// The number of parents and the parent of each child: `3 [0, missing, 2]`.
fn read_edge(line: &mut Cursor<'_>, class: ArrayClass, qtype: &QType) -> Read<Value> {
    let start = *line;
    let parents = match read_scalar(line, ScalarType::Int64)? {
        ScalarValue::Int64(parents @ 0..) => parents as usize,
        _ => return Err(start.expected("a number of parents")),
    };
    let Value::Array(_, rows) = read_array(line, ArrayType { class, element: ScalarType::Int64 })? else {
        return Err(start.expected("rows"));
    };
    let edge = match qtype {
        QType::EdgeToScalar(_) => Ok(Edge::to_scalar(rows.len())),
        _ => Edge::from_mapping((*rows).clone(), parents),
    };
    match edge {
        Ok(edge) => Ok(Value::Edge(class, Arc::new(edge))),
        Err(_) => Err(start.expected("parents below their number")),
    }
}

fn read_array(line: &mut Cursor<'_>, qtype: ArrayType) -> Read<Value> {
    let mut rows = Vec::new();
    line.expect("[")?;
    while !line.eat("]") {
        if !rows.is_empty() && !line.eat(",") {
            return Err(line.expected("`,` or `]`"));
        }
        rows.push(match line.peek() {
            "missing" => line.keyword("missing").map(|()| None)?,
            _ => Some(read_scalar(line, qtype.element)?),
        });
    }
    Ok(Value::Array(qtype.class, Arc::new(ArrayRows::from_values(qtype.element, &rows))))
}

/// The shape, and the elements in order: `[2, 3] [1, 2, 3, 4, 5, 6]`.
fn read_nd(line: &mut Cursor<'_>, qtype: NdType) -> Read<Value> {
    let start = *line;
    let sizes = read_list(line, ScalarType::Int64)?;
    let shape: Option<Vec<usize>> = sizes.iter().map(|size| usize::try_from(size.as_i64()?).ok()).collect();
    let values = read_list(line, qtype.element())?;
    let shape = shape.ok_or_else(|| start.expected("sizes from 0 on"))?;
    let rows = NdRows::from_scalars(qtype, &shape, &values);
    rows.map(|rows| Value::NdArray(Arc::new(rows)))
        .map_err(|_| start.expected(format!("a shape of {qtype} and as many elements")))
}

/// `[1, 2]`, all of one type.
fn read_list(line: &mut Cursor<'_>, element: ScalarType) -> Read<Vec<ScalarValue>> {
    let mut values = Vec::new();
    line.expect("[")?;
    while !line.eat("]") {
        if !values.is_empty() && !line.eat(",") {
            return Err(line.expected("`,` or `]`"));
        }
        values.push(read_scalar(line, element)?);
    }
    Ok(values)
}

fn read_sequence(line: &mut Cursor<'_>, element: ScalarType) -> Read<Value> {
    let cells: Vec<u64> = read_list(line, element)?.iter().map(cell).collect();
    Ok(Value::Sequence(Arc::new(SequenceValue::from_cells(element, cells))))
}

/// The bits of a plain scalar as a sequence holds them.
fn cell(value: &ScalarValue) -> u64 {
    match value {
        ScalarValue::Boolean(v) => u64::from(*v),
        ScalarValue::Int32(v) => u64::from(*v as u32),
        ScalarValue::Int64(v) => *v as u64,
        ScalarValue::Float32(v) => u64::from(v.to_bits()),
        ScalarValue::Float64(v) | ScalarValue::WeakFloat(v) => v.to_bits(),
        ScalarValue::Unit | ScalarValue::Text(_) | ScalarValue::Bytes(_) => 0,
    }
}

fn read_scalar(line: &mut Cursor<'_>, scalar: ScalarType) -> Read<ScalarValue> {
    let start = *line;
    let wrong = |what: &str| start.expected(what);
    Ok(match scalar {
        ScalarType::Unit => line.keyword("unit").map(|()| ScalarValue::Unit)?,
        ScalarType::Boolean => match line.word() {
            "true" => ScalarValue::Boolean(true),
            "false" => ScalarValue::Boolean(false),
            _ => return Err(wrong("`true` or `false`")),
        },
        ScalarType::Int32 => ScalarValue::Int32(integer(line).ok_or_else(|| wrong("an INT32"))?),
        ScalarType::Int64
        | ScalarType::Int8
        | ScalarType::Int16
        | ScalarType::Uint8
        | ScalarType::Uint16
        | ScalarType::Uint32
        | ScalarType::Uint64 => ScalarValue::Int64(integer(line).ok_or_else(|| wrong("an INT64"))?),
        ScalarType::Float32 => ScalarValue::Float32(float32(line).ok_or_else(|| wrong("a FLOAT32"))?),
        ScalarType::Float64 => ScalarValue::Float64(float64(line).ok_or_else(|| wrong("a FLOAT64"))?),
        ScalarType::WeakFloat => ScalarValue::WeakFloat(float64(line).ok_or_else(|| wrong("a FLOAT64"))?),
        ScalarType::Text => ScalarValue::Text(read_text(line)?.into()),
        ScalarType::Bytes => ScalarValue::Bytes(read_bytes(line)?.into()),
    })
}

fn number<'a>(line: &mut Cursor<'a>) -> &'a str {
    line.take_while(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
}

fn integer<T: FromStr>(line: &mut Cursor<'_>) -> Option<T> {
    number(line).parse().ok()
}

fn float32(line: &mut Cursor<'_>) -> Option<f32> {
    match number(line) {
        "inf" => Some(f32::INFINITY),
        "-inf" => Some(f32::NEG_INFINITY),
        "nan" => {
            let bits = nan_bits(line, NAN_32.into())?;
            u32::try_from(bits).ok().map(f32::from_bits).filter(|v| v.is_nan())
        }
        // The digits of a finite float; the standard library reads other words, and overflow, too.
        digits => digits.parse().ok().filter(|v: &f32| v.is_finite()),
    }
}

fn float64(line: &mut Cursor<'_>) -> Option<f64> {
    match number(line) {
        "inf" => Some(f64::INFINITY),
        "-inf" => Some(f64::NEG_INFINITY),
        "nan" => Some(f64::from_bits(nan_bits(line, NAN_64)?)).filter(|v| v.is_nan()),
        digits => digits.parse().ok().filter(|v: &f64| v.is_finite()),
    }
}

/// The bits in `nan(0x…)`, after the word.
fn nan_bits(line: &mut Cursor<'_>, canonical: u64) -> Option<u64> {
    if !line.eat("(") {
        return Some(canonical);
    }
    let digits = line.word().strip_prefix("0x").filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()))?;
    let bits = u64::from_str_radix(digits, 16).ok()?;
    line.eat(")").then_some(bits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::text::cursor::Lines;
    use crate::program::text::types::read_type;

    fn read(qtype: &str, text: &str) -> Read<Value> {
        let qtype = read_type(&mut Lines::new(qtype).take())?;
        let mut line = Lines::new(text).take();
        let value = read_literal(&mut line, &qtype)?;
        line.done().map(|()| value)
    }

    #[test]
    fn literals_read_back() {
        for (qtype, text) in [
            ("UNIT", "unit"),
            ("BOOLEAN", "false"),
            ("INT32", "-2147483648"),
            ("INT64", "9223372036854775807"),
            ("FLOAT32", "0.1"),
            ("FLOAT32", "nan(0xffc00000)"),
            ("FLOAT64", "-0"),
            ("FLOAT64", "5e-324"),
            ("FLOAT64", "-inf"),
            ("WEAK_FLOAT", "nan(0x7ff0000000000001)"),
            ("OPTIONAL_FLOAT64", "nan"),
            ("OPTIONAL_UNIT", "missing"),
            ("OPTIONAL_UNIT", "unit"),
            ("OPTIONAL_TEXT", "'missing # \\n'"),
            ("BYTES", "b'a\\x00\\xff\\''"),
            ("SCALAR_SHAPE", "shape"),
            ("OPTIONAL_SCALAR_SHAPE", "shape"),
            ("tuple<>", "()"),
            ("namedtuple<a=INT32,b=tuple<OPTIONAL_INT64,TEXT>>", "(1, (missing, 'x'))"),
            ("SEQUENCE[FLOAT32]", "[1, -0, nan, inf, nan(0x7f800001)]"),
            ("SEQUENCE[UNIT]", "[unit, unit]"),
            ("SEQUENCE[INT32]", "[]"),
            ("NDARRAY_FLOAT64_N1", "[2, 1] [1.5, nan]"),
            ("NDARRAY_BOOLEAN_NN", "[0, 3] []"),
            ("AXES_02", "axes"),
        ] {
            let mut written = String::new();
            write_literal(&mut written, &read(qtype, text).expect(text));
            assert_eq!(written, text);
        }
    }

    #[test]
    fn what_is_not_of_the_type_is_refused() {
        for (qtype, text, expected) in [
            ("INT32", "2147483648", "an INT32, found '2147483648'"),
            ("FLOAT64", "1e999", "a FLOAT64, found '1e999'"),
            ("FLOAT64", "infinity", "a FLOAT64, found 'infinity'"),
            ("FLOAT64", "nan(0x7ff0000000000000)", "a FLOAT64, found 'nan'"),
            ("FLOAT32", "nan(0x17fc00000)", "a FLOAT32, found 'nan'"),
            ("BOOLEAN", "yes", "`true` or `false`, found 'yes'"),
            ("INT64", "missing", "an INT64, found 'missing'"),
            ("BYTES", "'x'", "`b'`, found '\\''"),
        ] {
            let error = read(qtype, text).unwrap_err().to_string();
            assert_eq!(error, format!("line 1, column 1: expected {expected}"));
        }
        let error = read("tuple<INT32,INT32>", "(1)").unwrap_err().to_string();
        assert_eq!(error, "line 1, column 3: expected `,`, found ')'");
    }
}
