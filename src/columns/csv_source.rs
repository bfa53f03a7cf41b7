//! CSV files, read.
//!
//! The first record names the columns, the others are rows. Cells are separated by commas (tabs in
//! `.tsv` files) and may stand in double quotes; lines end as they like. An empty cell is missing. Empty
//! lines are no rows. Types are [told](crate::columns::csv_infer) by the first rows unless they are given.

use crate::columns::csv_infer::{boolean, float, infer, integer, is_out_of_range, is_rounded};
use crate::columns::csv_records::{Record, RecordError, Records};
use crate::columns::error::{ColumnsError, Problem};
use crate::columns::source::{Column, Rows, Source, check_names};
use cembra_vm::value::{ArrayRows, ScalarType};
use std::collections::VecDeque;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

/// Characters of a cell that a message shows.
const SHOWN: usize = 60;

/// Bytes of the rows that are kept to tell the types.
const AHEAD_BYTES: usize = 8 << 20;

/// A CSV file.
pub struct CsvSource {
    file: String,
    size: u64,
    records: Records,
    columns: Vec<Column>,
    /// The columns whose type nobody gave.
    told: Vec<bool>,
    selected: Vec<usize>,
    /// Records that were read to tell the types.
    ahead: VecDeque<Record>,
    record: Record,
}

impl CsvSource {
    /// Opens a file, reads its header, and as many rows as the types are told by; fewer if they are long.
    ///
    /// # Errors
    /// The file cannot be read, has no header, or two columns of one name.
    pub fn open(
        path: &Path,
        delimiter: u8,
        types: &[(Arc<str>, ScalarType)],
        infer_rows: usize,
    ) -> Result<CsvSource, ColumnsError> {
        let (file, input, size) = input(path)?;
        let mut source = CsvSource {
            file,
            size,
            records: Records::new(input, delimiter),
            columns: Vec::new(),
            told: Vec::new(),
            selected: Vec::new(),
            ahead: VecDeque::new(),
            record: Record::default(),
        };
        let names = source.header()?;
        source.read_ahead(infer_rows)?;
        source.told = names.iter().map(|name| types.iter().all(|(given, _)| given != name)).collect();
        source.columns = source.typed(names, types);
        check_names(&source.file, &source.columns)?;
        Ok(source)
    }

    fn header(&mut self) -> Result<Vec<Arc<str>>, ColumnsError> {
        let mut record = Record::default();
        if !self.next(&mut record)? {
            return Err(ColumnsError::malformed(
                &self.file,
                "the file is empty; a first line names the columns",
            ));
        }
        if let Some(line) = record.loose_quote {
            return Err(ColumnsError::malformed(&self.file, Problem::LooseQuote { line }.to_string()));
        }
        let names = record.iter().enumerate().map(|(index, cell)| {
            let name = std::str::from_utf8(cell).ok().map(str::trim).filter(|name| !name.is_empty());
            let wrong = || format!("column {} has no name of UTF-8 characters in the first line", index + 1);
            name.map(Arc::from).ok_or_else(|| ColumnsError::malformed(&self.file, wrong()))
        });
        names.collect()
    }

    fn read_ahead(&mut self, rows: usize) -> Result<(), ColumnsError> {
        let mut bytes = 0;
        while self.ahead.len() < rows && bytes < AHEAD_BYTES {
            let mut record = Record::default();
            if !self.next(&mut record)? {
                break;
            }
            bytes += record.iter().map(<[u8]>::len).sum::<usize>();
            self.ahead.push_back(record);
        }
        Ok(())
    }

    /// The columns with these names: their types as given, or as the rows read ahead tell.
    fn typed(&self, names: Vec<Arc<str>>, types: &[(Arc<str>, ScalarType)]) -> Vec<Column> {
        let column = |(index, name): (usize, Arc<str>)| {
            let given = types.iter().find(|(given, _)| *given == name).map(|(_, element)| *element);
            let told = || infer(self.ahead.iter().filter_map(|record| record.get(index)));
            let element = given.unwrap_or_else(told);
            Column { name, element: Some(element), stored: element.to_string() }
        };
        names.into_iter().enumerate().map(column).collect()
    }

    /// The next record; false at the end.
    fn next(&mut self, record: &mut Record) -> Result<bool, ColumnsError> {
        match self.records.next(record) {
            Ok(false) if self.records.position() < self.size => {
                let (read, size) = (self.records.position(), self.size);
                let what =
                    format!("the file was cut while it was read: it had {size} bytes, and ends after {read}");
                Err(ColumnsError::malformed(&self.file, what))
            }
            Ok(more) => Ok(more),
            Err(RecordError::Read(error)) => Err(ColumnsError::read(&self.file, error)),
            Err(error) => Err(ColumnsError::malformed(&self.file, error.to_string())),
        }
    }
}

/// The name of a file in messages, its bytes, and their number if it is known. `-` is standard input.
fn input(path: &Path) -> Result<(String, Box<dyn Read + Send>, u64), ColumnsError> {
    if path.as_os_str() == "-" {
        return Ok(("<standard input>".to_owned(), Box::new(std::io::stdin()), 0));
    }
    let file = path.display().to_string();
    let opened = File::open(path).map_err(|e| ColumnsError::read(&file, e))?;
    // Pipes and the like have no size that could be relied on.
    let size = opened.metadata().ok().filter(|found| found.is_file()).map_or(0, |found| found.len());
    Ok((file, Box::new(opened), size))
}

impl Source for CsvSource {
    fn file(&self) -> &str {
        &self.file
    }

    fn columns(&self) -> &[Column] {
        &self.columns
    }

    fn row_count(&self) -> Option<u64> {
        None
    }

    fn select(&mut self, columns: &[usize]) -> Result<(), ColumnsError> {
        self.selected = columns.to_vec();
        Ok(())
    }

    fn read(&mut self, most: usize, rows: &mut Rows) -> Result<(), ColumnsError> {
        let choose = |&index: &usize| Chosen {
            index,
            column: self.columns[index].clone(),
            keeps_digits: self.told[index] && self.columns[index].element == Some(ScalarType::Float64),
        };
        let chosen: Vec<Chosen> = self.selected.iter().map(choose).collect();
        rows.start(chosen.iter().map(|chosen| chosen.column.element.unwrap_or(ScalarType::Text)));
        let mut record = std::mem::take(&mut self.record);
        while rows.count < most {
            match self.ahead.pop_front() {
                Some(ahead) => record = ahead,
                None if self.next(&mut record)? => {}
                None => break,
            }
            rows.lines.push(record.line);
            push_record(&record, &chosen, self.columns.len(), rows);
            rows.count += 1;
        }
        self.record = record;
        Ok(())
    }

    fn progress(&self) -> (u64, u64) {
        (self.records.position(), self.size)
    }
}

/// A column that is read.
struct Chosen {
    index: usize,
    column: Column,
    /// Integers that its type would round are bad cells.
    keeps_digits: bool,
}

/// Appends the cells of a record; a bad one is missing in all columns.
fn push_record(record: &Record, chosen: &[Chosen], expected: usize, rows: &mut Rows) {
    let loose = record.loose_quote.map(|line| Problem::LooseQuote { line });
    let wrong_count = || Problem::Cells { found: record.len(), expected };
    if let Some(problem) = loose.or_else(|| (record.len() != expected).then(wrong_count)) {
        rows.columns.iter_mut().for_each(ArrayRows::push_missing);
        return rows.bad.push((rows.count, problem));
    }
    let mut first_problem = None;
    for (Chosen { index, column, keeps_digits }, array) in chosen.iter().zip(&mut rows.columns) {
        // The record has as many cells as the header.
        let cell = record.get(*index).unwrap_or_default();
        if cell.is_empty() {
            array.push_missing();
        } else if *keeps_digits && is_rounded(cell) || !push_cell(cell, array) {
            array.push_missing();
            first_problem.get_or_insert_with(|| problem(cell, column));
        }
    }
    rows.bad.extend(first_problem.map(|problem| (rows.count, problem)));
}

/// Appends a cell; false if it does not read as the type.
fn push_cell(cell: &[u8], rows: &mut ArrayRows) -> bool {
    match rows.element() {
        ScalarType::Int64 => push_plain(integer(cell).map(i64::to_le_bytes), rows),
        ScalarType::Float64 => push_plain(float(cell).map(f64::to_le_bytes), rows),
        ScalarType::Float32 => push_plain(float(cell).map(f32::to_le_bytes), rows),
        ScalarType::Int32 => {
            let narrow = integer(cell).and_then(|value| i32::try_from(value).ok());
            push_plain(narrow.map(i32::to_le_bytes), rows)
        }
        ScalarType::Boolean => push_plain(boolean(cell).map(|value| [u8::from(value)]), rows),
        _ => match std::str::from_utf8(cell) {
            Ok(text) => {
                rows.push_raw(true, text.as_bytes());
                true
            }
            Err(_) => false,
        },
    }
}

/// Cells are stored as this machine has them; it is little-endian as the frames are.
fn push_plain<const N: usize>(cell: Option<[u8; N]>, rows: &mut ArrayRows) -> bool {
    if let Some(cell) = &cell {
        rows.push_raw(true, cell);
    }
    cell.is_some()
}

fn problem(cell: &[u8], column: &Column) -> Problem {
    match (std::str::from_utf8(cell), column.element) {
        (Ok(text), Some(element)) => {
            let text = match text.char_indices().nth(SHOWN) {
                None => text.to_owned(),
                Some((end, _)) => format!("{}…", &text[..end]),
            };
            let column = column.name.clone();
            match element {
                _ if push_cell(cell, &mut ArrayRows::new(element)) => {
                    Problem::Inexact { column, element, text }
                }
                _ if is_out_of_range(cell, element) => Problem::OutOfRange { column, element, text },
                _ => Problem::Cell { column, element, text },
            }
        }
        _ => Problem::NotUtf8 { column: column.name.clone() },
    }
}
