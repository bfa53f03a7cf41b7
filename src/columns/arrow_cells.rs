//! Cells between Arrow arrays and rows.
//!
//! | Arrow | rows |
//! | --- | --- |
//! | Boolean | BOOLEAN |
//! | Int8, Int16, Int32, UInt8, UInt16 | INT32 |
//! | Int64, UInt32 | INT64 |
//! | Float16, Float32 | FLOAT32 |
//! | Float64 | FLOAT64 |
//! | Utf8, LargeUtf8, Utf8View | TEXT |
//! | Binary, LargeBinary, BinaryView | BYTES |
//!
//! Written are Boolean, Int32, Int64, Float32, Float64, LargeUtf8 and LargeBinary: a batch may have more
//! than the 2 GiB of text that the others can count.

use crate::columns::sink::OutputColumn;
use arrow_array::builder::{LargeBinaryBuilder, LargeStringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    UInt8Type, UInt16Type, UInt32Type,
};
use arrow_array::{Array, ArrayRef, BooleanArray, PrimitiveArray, RecordBatch};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use cembra_vm::value::{ArrayRows, ScalarType};
use std::ops::Range;
use std::sync::Arc;

/// The types that have an [element].
pub const READABLE: &str = "Boolean, Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, Float16, Float32, Float64, \
    Utf8, LargeUtf8, Utf8View, Binary, LargeBinary and BinaryView";

/// The element that holds every cell of a type; none if there is none.
pub fn element(data_type: &DataType) -> Option<ScalarType> {
    use DataType as D;
    Some(match data_type {
        D::Boolean => ScalarType::Boolean,
        D::Int8 | D::Int16 | D::Int32 | D::UInt8 | D::UInt16 => ScalarType::Int32,
        D::Int64 | D::UInt32 => ScalarType::Int64,
        D::Float16 | D::Float32 => ScalarType::Float32,
        D::Float64 => ScalarType::Float64,
        D::Utf8 | D::LargeUtf8 | D::Utf8View => ScalarType::Text,
        D::Binary | D::LargeBinary | D::BinaryView => ScalarType::Bytes,
        _ => return None,
    })
}

/// Appends rows of an array whose type has the element of the rows.
pub fn append(array: &dyn Array, range: Range<usize>, rows: &mut ArrayRows) {
    use DataType as D;
    match array.data_type() {
        D::Boolean => {
            let array = array.as_boolean();
            append_with(array, range, rows, |rows, row| rows.push_raw(true, &[u8::from(array.value(row))]));
        }
        D::Int8 => numbers::<Int8Type, 4>(array, range, rows, |value| i32::from(value).to_le_bytes()),
        D::Int16 => numbers::<Int16Type, 4>(array, range, rows, |value| i32::from(value).to_le_bytes()),
        D::Int32 => numbers::<Int32Type, 4>(array, range, rows, i32::to_le_bytes),
        D::UInt8 => numbers::<UInt8Type, 4>(array, range, rows, |value| i32::from(value).to_le_bytes()),
        D::UInt16 => numbers::<UInt16Type, 4>(array, range, rows, |value| i32::from(value).to_le_bytes()),
        D::Int64 => numbers::<Int64Type, 8>(array, range, rows, i64::to_le_bytes),
        D::UInt32 => numbers::<UInt32Type, 8>(array, range, rows, |value| i64::from(value).to_le_bytes()),
        D::Float16 => numbers::<Float16Type, 4>(array, range, rows, |value| value.to_f32().to_le_bytes()),
        D::Float32 => numbers::<Float32Type, 4>(array, range, rows, f32::to_le_bytes),
        D::Float64 => numbers::<Float64Type, 8>(array, range, rows, f64::to_le_bytes),
        D::Utf8 => strings(array, range, rows, |row| array.as_string::<i32>().value(row).as_bytes()),
        D::LargeUtf8 => strings(array, range, rows, |row| array.as_string::<i64>().value(row).as_bytes()),
        D::Utf8View => strings(array, range, rows, |row| array.as_string_view().value(row).as_bytes()),
        D::Binary => strings(array, range, rows, |row| array.as_binary::<i32>().value(row)),
        D::LargeBinary => strings(array, range, rows, |row| array.as_binary::<i64>().value(row)),
        D::BinaryView => strings(array, range, rows, |row| array.as_binary_view().value(row)),
        other => unreachable!("{other} has no element, so it is not selected"),
    }
}

fn append_with(
    array: &dyn Array,
    range: Range<usize>,
    rows: &mut ArrayRows,
    push: impl Fn(&mut ArrayRows, usize),
) {
    for row in range {
        match array.is_null(row) {
            true => rows.push_missing(),
            false => push(rows, row),
        }
    }
}

fn numbers<T: ArrowPrimitiveType, const N: usize>(
    array: &dyn Array,
    range: Range<usize>,
    rows: &mut ArrayRows,
    cell: impl Fn(T::Native) -> [u8; N],
) {
    let values = array.as_primitive::<T>();
    append_with(array, range, rows, |rows, row| rows.push_raw(true, &cell(values.value(row))));
}

fn strings<'a>(
    array: &'a dyn Array,
    range: Range<usize>,
    rows: &mut ArrayRows,
    value: impl Fn(usize) -> &'a [u8],
) {
    append_with(array, range, rows, |rows, row| rows.push_raw(true, value(row)));
}

/// The schema of result columns.
pub fn schema(columns: &[OutputColumn]) -> SchemaRef {
    let field = |column: &OutputColumn| {
        let data_type = match column.element {
            ScalarType::Boolean | ScalarType::Unit => DataType::Boolean,
            ScalarType::Int32 => DataType::Int32,
            ScalarType::Int64 => DataType::Int64,
            ScalarType::Float32 => DataType::Float32,
            ScalarType::Float64 | ScalarType::WeakFloat => DataType::Float64,
            ScalarType::Text => DataType::LargeUtf8,
            ScalarType::Bytes => DataType::LargeBinary,
            narrow => unreachable!("no rows are of type {narrow}"),
        };
        Field::new(&*column.name, data_type, true)
    };
    Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()))
}

/// Rows as a batch of a schema that [`schema`] made.
///
/// # Errors
/// Never for rows of the schema's columns.
pub fn to_batch(schema: &SchemaRef, columns: &[&ArrayRows]) -> Result<RecordBatch, ArrowError> {
    RecordBatch::try_new(schema.clone(), columns.iter().map(|rows| to_array(rows)).collect())
}

fn to_array(rows: &ArrayRows) -> ArrayRef {
    let len = rows.len();
    match rows.element() {
        ScalarType::Boolean | ScalarType::Unit => {
            let values = BooleanBuffer::collect_bool(len, |row| rows.bytes()[row] != 0);
            Arc::new(BooleanArray::new(values, nulls(rows)))
        }
        ScalarType::Int32 => to_numbers::<Int32Type>(rows),
        ScalarType::Int64 => to_numbers::<Int64Type>(rows),
        ScalarType::Float32 => to_numbers::<Float32Type>(rows),
        ScalarType::Float64 | ScalarType::WeakFloat => to_numbers::<Float64Type>(rows),
        ScalarType::Text => {
            let mut builder = LargeStringBuilder::with_capacity(len, 0);
            let text = |row| std::str::from_utf8(rows.string(row)).expect("a text is written as a text");
            (0..len).for_each(|row| builder.append_option(rows.is_present(row).then(|| text(row))));
            Arc::new(builder.finish())
        }
        ScalarType::Bytes => {
            let mut builder = LargeBinaryBuilder::with_capacity(len, 0);
            (0..len).for_each(|row| builder.append_option(rows.is_present(row).then(|| rows.string(row))));
            Arc::new(builder.finish())
        }
        narrow => unreachable!("no rows are of type {narrow}"),
    }
}

fn to_numbers<T: ArrowPrimitiveType>(rows: &ArrayRows) -> ArrayRef {
    let cells = Buffer::from(&rows.bytes()[..rows.len() * size_of::<T::Native>()]);
    let values = ScalarBuffer::<T::Native>::new(cells, 0, rows.len());
    Arc::new(PrimitiveArray::<T>::new(values, nulls(rows)))
}

fn nulls(rows: &ArrayRows) -> Option<NullBuffer> {
    let words = Buffer::from_vec(rows.presence()?.to_vec());
    Some(NullBuffer::new(BooleanBuffer::new(words, 0, rows.len())))
}
