//! Sink: a file that takes result columns a number of rows at a time.

use crate::columns::error::ColumnsError;
use cembra_vm::value::{ArrayRows, ScalarType};
use std::sync::Arc;

/// A result column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputColumn {
    /// Its name.
    pub name: Arc<str>,
    /// Type of its rows: BOOLEAN, INT32, INT64, FLOAT32, FLOAT64, TEXT or BYTES.
    pub element: ScalarType,
}

/// A file that takes result columns a number of rows at a time. Nothing stands under the file's name
/// before [`finish`](Sink::finish); a sink that is dropped leaves nothing.
pub trait Sink: Send {
    /// Appends rows: an array per column, all of one size.
    ///
    /// # Errors
    /// The file cannot be written, or its format cannot hold a row.
    fn write(&mut self, columns: &[&ArrayRows]) -> Result<(), ColumnsError>;

    /// Ends the file and gives it its name.
    ///
    /// # Errors
    /// The file cannot be written.
    fn finish(self: Box<Self>) -> Result<(), ColumnsError>;
}

/// A sink that keeps nothing, for runs that only print rows.
#[derive(Debug)]
pub struct NoSink;

impl Sink for NoSink {
    fn write(&mut self, _: &[&ArrayRows]) -> Result<(), ColumnsError> {
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<(), ColumnsError> {
        Ok(())
    }
}
