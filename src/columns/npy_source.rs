//! NPY files, read: an array of one axis is a column, named like the file.
//!
//! Cells of 1 to 8 bytes in either byte order; narrow integers become INT32 or INT64, whichever holds
//! them all. An array of one axis is the same in C and Fortran order.

use crate::columns::error::ColumnsError;
use crate::columns::npy_header::{Cells, Header, READABLE};
use crate::columns::source::{Column, Rows, Source, open_regular, unreadable};
use cembra_vm::value::budget::Unlimited;
use cembra_vm::value::{ArrayRows, ScalarType};
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;
use std::sync::Arc;

/// An NPY file.
#[derive(Debug)]
pub struct NpySource {
    file: String,
    column: [Column; 1],
    rows: u64,
    array: NpyArray<BufReader<File>>,
    selected: bool,
}

impl NpySource {
    /// Opens a file and reads its header.
    ///
    /// # Errors
    /// The file cannot be read, or holds no array of one axis.
    pub fn open(path: &Path) -> Result<NpySource, ColumnsError> {
        let file = path.display().to_string();
        let (opened, size) = open_regular(path)?;
        let mut input = BufReader::new(opened);
        let wrong = |error: std::io::Error| ColumnsError::malformed(&file, error.to_string());
        let header = Header::read(&mut input).map_err(wrong)?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let column = column(&file, &name, &header)?;
        header.check_length(size).map_err(wrong)?;
        let rows = header.shape[0];
        let array = NpyArray::new(input, header.cells);
        Ok(NpySource { file, column: [column], rows, array, selected: false })
    }
}

/// The column that an array is.
///
/// # Errors
/// The array has not one axis.
pub fn column(file: &str, name: &str, header: &Header) -> Result<Column, ColumnsError> {
    let element = header.cells.and_then(Cells::element);
    let column = Column { name: Arc::from(name), element, stored: header.descr.clone() };
    match header.shape.len() {
        1 => Ok(column),
        axes => Err(ColumnsError::ColumnType {
            file: file.to_owned(),
            column: column.name,
            stored: format!("an array of {axes} axes"),
            why: "a column is an array of one axis; split it into one array for each column".to_owned(),
        }),
    }
}

impl Source for NpySource {
    fn file(&self) -> &str {
        &self.file
    }

    fn columns(&self) -> &[Column] {
        &self.column
    }

    fn row_count(&self) -> Option<u64> {
        Some(self.rows)
    }

    fn select(&mut self, columns: &[usize]) -> Result<(), ColumnsError> {
        self.selected = !columns.is_empty();
        match self.selected && self.column[0].element.is_none() {
            true => Err(unreadable(self, &self.column[0])),
            false => Ok(()),
        }
    }

    fn read(&mut self, most: usize, rows: &mut Rows) -> Result<(), ColumnsError> {
        rows.start(
            self.column[0]
                .element
                .into_iter()
                .take(usize::from(self.selected))
                .collect::<Vec<_>>()
                .into_iter(),
        );
        rows.count = rows_left(self.rows, self.array.rows_read, most);
        match rows.columns.first_mut() {
            Some(column) => self.array.read(&self.file, rows.count, column),
            None => {
                self.array.rows_read += rows.count as u64;
                Ok(())
            }
        }
    }

    fn progress(&self) -> (u64, u64) {
        (self.array.rows_read, self.rows)
    }

    fn readable(&self) -> &'static str {
        READABLE
    }
}

/// How many rows come next.
pub fn rows_left(rows: u64, read: u64, most: usize) -> usize {
    usize::try_from(rows - read).unwrap_or(usize::MAX).min(most)
}

/// The cells of an array behind its header.
#[derive(Debug)]
pub struct NpyArray<R> {
    input: R,
    cells: Option<Cells>,
    /// Rows read so far.
    pub rows_read: u64,
    /// Cells that are narrower than their element.
    narrow: Vec<u8>,
}

impl<R: Read> NpyArray<R> {
    /// The cells that come next.
    pub fn new(input: R, cells: Option<Cells>) -> NpyArray<R> {
        NpyArray { input, cells, rows_read: 0, narrow: Vec::new() }
    }

    /// Reads this many rows.
    ///
    /// # Errors
    /// The file cannot be read or ends early, or a truth value is neither 0 nor 1.
    pub fn read(&mut self, file: &str, count: usize, rows: &mut ArrayRows) -> Result<(), ColumnsError> {
        let Some((cells, element)) = self.cells.and_then(|cells| Some((cells, cells.element()?))) else {
            return Err(ColumnsError::malformed(file, "cells that cannot be read"));
        };
        let no_memory = || ColumnsError::read(file, std::io::ErrorKind::OutOfMemory.into());
        rows.resize_within(element, count, &Unlimited).map_err(|_| no_memory())?;
        let size = element.size() as usize;
        // Truth values become rows when they have been looked at.
        let bytes = match cells.size == size && element != ScalarType::Boolean {
            true => &mut rows.bytes_mut()[..count * size],
            false => {
                let bytes = count * cells.size;
                let more = bytes.saturating_sub(self.narrow.len());
                self.narrow.try_reserve_exact(more).map_err(|_| no_memory())?;
                self.narrow.resize(bytes, 0);
                &mut self.narrow[..]
            }
        };
        let first = self.rows_read;
        self.input.read_exact(bytes).map_err(|error| match error.kind() {
            std::io::ErrorKind::UnexpectedEof => {
                let what = format!("the file ends before row {}", first + count as u64);
                ColumnsError::malformed(file, what)
            }
            _ => ColumnsError::read(file, error),
        })?;
        if cells.big_endian && cells.size > 1 {
            bytes.chunks_exact_mut(cells.size).for_each(<[u8]>::reverse);
        }
        if cells.size < size {
            widen(cells, &self.narrow, rows.bytes_mut());
        }
        self.rows_read += count as u64;
        match element {
            ScalarType::Boolean => self.take_booleans(file, first, rows),
            _ => Ok(()),
        }
    }

    /// Other bytes than 0 and 1 are no truth values of the machine.
    fn take_booleans(&self, file: &str, first: u64, rows: &mut ArrayRows) -> Result<(), ColumnsError> {
        if let Some(at) = self.narrow.iter().position(|byte| *byte > 1) {
            let row = first + at as u64 + 1;
            return Err(ColumnsError::malformed(file, format!("row {row} is neither false nor true")));
        }
        rows.start(ScalarType::Boolean);
        self.narrow.iter().for_each(|byte| rows.push_raw(true, &[*byte]));
        Ok(())
    }
}

/// Little-endian integers, each in a wider one.
fn widen(cells: Cells, narrow: &[u8], wide: &mut [u8]) {
    let values = narrow.chunks_exact(cells.size).map(|cell| {
        let negative = cells.kind == b'i' && cell[cells.size - 1] >= 0x80;
        let mut value = [if negative { 0xff } else { 0 }; 8];
        value[..cells.size].copy_from_slice(cell);
        value
    });
    let size = cells.element().map_or(4, |element| element.size() as usize);
    wide.chunks_exact_mut(size)
        .zip(values)
        .for_each(|(target, value)| target.copy_from_slice(&value[..size]));
}
