//! Source: a file whose columns are read a number of rows at a time.

use crate::columns::error::{ColumnsError, Problem};
use cembra_vm::value::{ArrayRows, ScalarType};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// A column of a file.
#[derive(Clone, Debug)]
pub struct Column {
    /// The name that leaves are bound by.
    pub name: Arc<str>,
    /// Type of the rows; none if no leaf can have it.
    pub element: Option<ScalarType>,
    /// The type as the file has it.
    pub stored: String,
}

/// Rows read from a source.
#[derive(Debug, Default)]
pub struct Rows {
    /// How many.
    pub count: usize,
    /// Their cells, an array per selected column. What a bad row has is missing.
    pub columns: Vec<ArrayRows>,
    /// Rows that cannot be read, the lowest first, one problem each.
    pub bad: Vec<(usize, Problem)>,
    /// The line each row begins in; empty for files without lines.
    pub lines: Vec<u64>,
}

impl Rows {
    /// Forgets all rows, and has an array for each of these elements.
    pub fn start(&mut self, elements: impl ExactSizeIterator<Item = ScalarType>) {
        self.count = 0;
        self.bad.clear();
        self.lines.clear();
        self.columns.resize_with(elements.len(), || ArrayRows::new(ScalarType::Unit));
        self.columns.iter_mut().zip(elements).for_each(|(rows, element)| rows.start(element));
    }
}

/// A file whose columns are read a number of rows at a time.
pub trait Source: Send {
    /// The file, as messages name it.
    fn file(&self) -> &str;

    /// Its columns.
    fn columns(&self) -> &[Column];

    /// Number of rows, if the file says so.
    fn row_count(&self) -> Option<u64>;

    /// Chooses the columns that [`read`](Source::read) gives, by their position. Called once, before the
    /// first row is read, with columns that have an element.
    ///
    /// # Errors
    /// The columns cannot be read.
    fn select(&mut self, columns: &[usize]) -> Result<(), ColumnsError>;

    /// Replaces `rows` by the next `most` rows; fewer only at the end of the file.
    ///
    /// # Errors
    /// The file cannot be read, or is malformed beyond single rows.
    fn read(&mut self, most: usize, rows: &mut Rows) -> Result<(), ColumnsError>;

    /// Bytes read so far and bytes in all; the latter is 0 if unknown.
    fn progress(&self) -> (u64, u64);

    /// The types of columns that can be read, as the format calls them.
    fn readable(&self) -> &'static str {
        "BOOLEAN, INT32, INT64, FLOAT32, FLOAT64, TEXT and BYTES"
    }
}

/// The error for a column whose type no leaf has.
pub fn unreadable(source: &dyn Source, column: &Column) -> ColumnsError {
    ColumnsError::ColumnType {
        file: source.file().to_owned(),
        column: column.name.clone(),
        stored: column.stored.clone(),
        why: format!("columns of {} can be read", source.readable()),
    }
}

/// Opens a file of a format whose sizes stand in the file, and says how many bytes there are to justify them.
///
/// # Errors
/// The file cannot be read, or is no regular file.
pub fn open_regular(path: &Path) -> Result<(File, u64), ColumnsError> {
    let file = || path.display().to_string();
    // A pipe that nobody writes to would be waited for.
    let found = path.metadata().map_err(|e| ColumnsError::read(&file(), e))?;
    if !found.is_file() {
        return Err(ColumnsError::read(&file(), std::io::Error::other("it is no regular file")));
    }
    let opened = File::open(path).map_err(|e| ColumnsError::read(&file(), e))?;
    let size = opened.metadata().map_err(|e| ColumnsError::read(&file(), e))?.len();
    Ok((opened, size))
}

/// Checks that the names of the columns of one file are distinct.
///
/// # Errors
/// The first name that is used twice.
pub fn check_names(file: &str, columns: &[Column]) -> Result<(), ColumnsError> {
    let mut met = std::collections::HashSet::new();
    match columns.iter().find(|column| !met.insert(&column.name)) {
        Some(column) => {
            Err(ColumnsError::DuplicateColumn { file: file.to_owned(), name: column.name.clone() })
        }
        None => Ok(()),
    }
}
