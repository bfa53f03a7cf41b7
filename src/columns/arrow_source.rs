//! Sources of Arrow batches: files whose reader has batches of its own size.

use crate::columns::arrow_cells::{READABLE, append, element};
use crate::columns::error::ColumnsError;
use crate::columns::guard::guarded;
use crate::columns::source::{Column, Rows, Source, check_names};
use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, Schema};
use cembra_vm::value::ScalarType;

/// Batches of the selected columns, in the order of the file.
pub type Batches = Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>> + Send>;

/// Makes the batches of some columns, by their position.
pub type Select = Box<dyn FnMut(&[usize]) -> Result<Batches, ColumnsError> + Send>;

/// A file with Arrow batches.
pub struct ArrowSource {
    file: String,
    columns: Vec<Column>,
    row_count: Option<u64>,
    rows_read: u64,
    select: Select,
    elements: Vec<ScalarType>,
    batches: Batches,
    /// The batch being read, and the first row of it that has not been.
    current: Option<(RecordBatch, usize)>,
}

impl ArrowSource {
    /// A file of this schema.
    ///
    /// # Errors
    /// Two columns have one name.
    pub fn new(
        file: String,
        schema: &Schema,
        row_count: Option<u64>,
        select: Select,
    ) -> Result<ArrowSource, ColumnsError> {
        let column = |field: &std::sync::Arc<arrow_schema::Field>| Column {
            name: field.name().as_str().into(),
            element: element(field.data_type()),
            stored: field.data_type().to_string(),
        };
        let columns: Vec<Column> = schema.fields().iter().map(column).collect();
        check_names(&file, &columns)?;
        let batches = Box::new(std::iter::empty());
        let elements = Vec::new();
        Ok(ArrowSource { file, columns, row_count, rows_read: 0, select, elements, batches, current: None })
    }

    /// The batch with the next row, and the number of that row in it.
    fn current(&mut self) -> Result<Option<&mut (RecordBatch, usize)>, ColumnsError> {
        while self.current.as_ref().is_none_or(|(batch, at)| *at == batch.num_rows()) {
            let mut batches = std::mem::replace(&mut self.batches, Box::new(std::iter::empty()));
            // A reader that has panicked is not asked again.
            let next = guarded(&self.file, || {
                let next = batches.next().transpose().map_err(|e| cannot_read(&self.file, &e.to_string()))?;
                Ok((batches, next))
            });
            let (batches, next) = next?;
            self.batches = batches;
            let Some(batch) = next else { return Ok(None) };
            self.current = Some((batch, 0));
        }
        Ok(self.current.as_mut())
    }
}

/// The error of a reader. What it says of zstd names features of another crate.
pub fn cannot_read(file: &str, error: &str) -> ColumnsError {
    match error.to_ascii_lowercase().contains("zstd") {
        true => zstd(file),
        false => ColumnsError::malformed(file, error),
    }
}

/// The error for a file compressed by zstd, whose library is written in C.
pub fn zstd(file: &str) -> ColumnsError {
    let what = "the columns are compressed by zstd, which this program cannot read; write the file with snappy, lz4, gzip, brotli or no compression";
    ColumnsError::malformed(file, what)
}

impl Source for ArrowSource {
    fn file(&self) -> &str {
        &self.file
    }

    fn columns(&self) -> &[Column] {
        &self.columns
    }

    fn row_count(&self) -> Option<u64> {
        self.row_count
    }

    fn select(&mut self, columns: &[usize]) -> Result<(), ColumnsError> {
        self.elements = columns.iter().filter_map(|index| self.columns[*index].element).collect();
        self.batches = (self.select)(columns)?;
        Ok(())
    }

    fn read(&mut self, most: usize, rows: &mut Rows) -> Result<(), ColumnsError> {
        rows.start(self.elements.clone().into_iter());
        while rows.count < most {
            let wanted = most - rows.count;
            let Some((batch, at)) = self.current()? else { break };
            let count = wanted.min(batch.num_rows() - *at);
            for (array, column) in batch.columns().iter().zip(&mut rows.columns) {
                append(array, *at..*at + count, column);
            }
            *at += count;
            rows.count += count;
        }
        self.rows_read += rows.count as u64;
        Ok(())
    }

    fn progress(&self) -> (u64, u64) {
        (self.rows_read, self.row_count.unwrap_or(0))
    }

    fn readable(&self) -> &'static str {
        READABLE
    }
}
