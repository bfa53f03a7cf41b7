//! CSV files, written.
//!
//! A first line with the names, then a line a row. Floats have the shortest digits that read back as the
//! same number, and a point or exponent, so that they stay floats; a missing value is an empty cell, and
//! so is an empty text. Cells are quoted where they must be.

use crate::columns::error::ColumnsError;
use crate::columns::replace::Output;
use crate::columns::sink::{OutputColumn, Sink};
use cembra_vm::value::{ArrayRows, ScalarType};
use csv::{ByteRecord, Writer, WriterBuilder};
use std::path::Path;

/// Bytes that are written at once.
const BUFFER: usize = 1 << 18;

/// A CSV file that is being written.
#[derive(Debug)]
pub struct CsvSink {
    file: String,
    writer: Writer<Output>,
    record: ByteRecord,
}

impl CsvSink {
    /// Begins a file with its first line.
    ///
    /// # Errors
    /// The file cannot be written, or a column has BYTES.
    pub fn create(path: &Path, delimiter: u8, columns: &[OutputColumn]) -> Result<CsvSink, ColumnsError> {
        let file = path.display().to_string();
        if let Some(column) = columns.iter().find(|column| column.element == ScalarType::Bytes) {
            let (name, element) = (column.name.clone(), column.element);
            return Err(ColumnsError::CannotHold { file, format: "CSV", name, element });
        }
        let mut builder = WriterBuilder::new();
        builder.delimiter(delimiter).buffer_capacity(BUFFER);
        let mut writer = builder.from_writer(Output::create(path)?);
        let names = columns.iter().map(|column| column.name.as_bytes());
        writer.write_record(names).map_err(|e| failed(&file, e))?;
        Ok(CsvSink { file, writer, record: ByteRecord::new() })
    }
}

fn failed(file: &str, error: csv::Error) -> ColumnsError {
    // The kind says whether the reader of a pipe has gone.
    let error = match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => std::io::Error::other(format!("{other:?}")),
    };
    ColumnsError::write(file, error)
}

impl Sink for CsvSink {
    fn write(&mut self, columns: &[&ArrayRows]) -> Result<(), ColumnsError> {
        for row in 0..columns.first().map_or(0, |rows| rows.len()) {
            self.record.clear();
            columns.iter().for_each(|rows| push_cell(rows, row, &mut self.record));
            self.writer.write_byte_record(&self.record).map_err(|e| failed(&self.file, e))?;
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<(), ColumnsError> {
        let inner = self.writer.into_inner().map_err(|e| ColumnsError::write(&self.file, e.into_error()))?;
        inner.finish().map_err(|e| ColumnsError::write(&self.file, e))
    }
}

fn push_cell(rows: &ArrayRows, row: usize, record: &mut ByteRecord) {
    if !rows.is_present(row) {
        return record.push_field(b"");
    }
    let cell = rows.raw(row);
    match rows.element() {
        ScalarType::Boolean => record.push_field(if cell == [0] { b"false" } else { b"true" }),
        ScalarType::Int32 => {
            record
                .push_field(itoa::Buffer::new().format(bytemuck::pod_read_unaligned::<i32>(cell)).as_bytes());
        }
        ScalarType::Int64 => {
            record
                .push_field(itoa::Buffer::new().format(bytemuck::pod_read_unaligned::<i64>(cell)).as_bytes());
        }
        ScalarType::Float32 => {
            record
                .push_field(zmij::Buffer::new().format(bytemuck::pod_read_unaligned::<f32>(cell)).as_bytes());
        }
        ScalarType::Float64 | ScalarType::WeakFloat => {
            record
                .push_field(zmij::Buffer::new().format(bytemuck::pod_read_unaligned::<f64>(cell)).as_bytes());
        }
        _ => record.push_field(cell),
    }
}
