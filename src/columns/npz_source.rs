//! NPZ files, read: a ZIP file of NPY arrays, each a column named like its member.
//!
//! ```text
//! x.npy            column x
//! y.npy            column y
//! y.present.npy    no column: says which rows of y are present
//! ```
//!
//! Members may be stored or deflated. Every selected column reads the file by itself, so that rows of
//! all columns come together although the file has one column behind the other.

use crate::columns::error::ColumnsError;
use crate::columns::npy_header::READABLE;
use crate::columns::npy_source::{NpyArray, column, rows_left};
use crate::columns::npz_members::{
    Member, MemberBytes, PRESENT, by_name, members, no_presence, presence_name,
};
use crate::columns::source::{Column, Rows, Source, check_names, unreadable};
use cembra_vm::value::{ArrayRows, ScalarType};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An NPZ file.
pub struct NpzSource {
    path: PathBuf,
    file: String,
    members: Vec<Member>,
    columns: Vec<Column>,
    rows: u64,
    rows_read: u64,
    selected: Vec<Selected>,
}

/// A column that is read.
struct Selected {
    element: ScalarType,
    array: NpyArray<MemberBytes>,
    presence: Option<NpyArray<MemberBytes>>,
}

impl NpzSource {
    /// Opens a file and reads the headers of its members.
    ///
    /// # Errors
    /// The file cannot be read, or its members are not arrays of one axis and one size.
    pub fn open(path: &Path) -> Result<NpzSource, ColumnsError> {
        let mut source = NpzSource {
            path: path.to_owned(),
            file: path.display().to_string(),
            members: members(path)?,
            columns: Vec::new(),
            rows: 0,
            rows_read: 0,
            selected: Vec::new(),
        };
        source.read_headers()?;
        check_names(&source.file, &source.columns)?;
        Ok(source)
    }

    fn read_headers(&mut self) -> Result<(), ColumnsError> {
        let mut sizes: Vec<(Arc<str>, u64)> = Vec::new();
        let named = by_name(&self.members);
        for member in &self.members {
            let (header, _) = member.open(&self.path)?;
            let found = column(&self.file, &member.name, &header)?;
            sizes.push((found.name.clone(), header.shape[0]));
            let is_presence = member.name.strip_suffix(PRESENT).is_some_and(|of| named.contains_key(of));
            match is_presence && found.element != Some(ScalarType::Boolean) {
                true => return Err(no_presence(&self.file, &member.name, &header)),
                false if is_presence => {}
                false => self.columns.push(found),
            }
        }
        self.rows = sizes.first().map_or(0, |(_, rows)| *rows);
        match sizes.iter().find(|(_, rows)| *rows != self.rows) {
            None => Ok(()),
            Some((name, rows)) => Err(ColumnsError::RowCounts {
                first: format!("`{}` of {}", sizes[0].0, self.file),
                first_rows: self.rows,
                second: format!("`{name}`"),
                second_rows: *rows,
            }),
        }
    }

    fn choose(&self, named: &HashMap<&str, &Member>, column: &Column) -> Result<Selected, ColumnsError> {
        let Some(element) = column.element else { return Err(unreadable(self, column)) };
        let array = |member: &&Member| {
            let (header, bytes) = member.open(&self.path)?;
            Ok::<_, ColumnsError>(NpyArray::new(bytes, header.cells))
        };
        let member = named.get(&*column.name).expect("every column is a member");
        let presence = named.get(&*presence_name(&column.name)).map(array).transpose()?;
        Ok(Selected { element, array: array(member)?, presence })
    }
}

impl Source for NpzSource {
    fn file(&self) -> &str {
        &self.file
    }

    fn columns(&self) -> &[Column] {
        &self.columns
    }

    fn row_count(&self) -> Option<u64> {
        Some(self.rows)
    }

    fn select(&mut self, columns: &[usize]) -> Result<(), ColumnsError> {
        let named = by_name(&self.members);
        let chosen = columns.iter().map(|index| self.choose(&named, &self.columns[*index]));
        self.selected = chosen.collect::<Result<_, _>>()?;
        Ok(())
    }

    fn read(&mut self, most: usize, rows: &mut Rows) -> Result<(), ColumnsError> {
        rows.start(self.selected.iter().map(|chosen| chosen.element));
        rows.count = rows_left(self.rows, self.rows_read, most);
        for (chosen, array) in self.selected.iter_mut().zip(&mut rows.columns) {
            chosen.array.read(&self.file, rows.count, array)?;
            if let Some(presence) = &mut chosen.presence {
                let mut mask = ArrayRows::new(ScalarType::Boolean);
                presence.read(&self.file, rows.count, &mut mask)?;
                set_presence(array, &mask);
            }
        }
        self.rows_read += rows.count as u64;
        Ok(())
    }

    fn progress(&self) -> (u64, u64) {
        (self.rows_read, self.rows)
    }

    fn readable(&self) -> &'static str {
        READABLE
    }
}

/// Makes the rows missing that the mask calls false.
fn set_presence(rows: &mut ArrayRows, mask: &ArrayRows) {
    let missing = mask.bytes()[..mask.len()].iter().enumerate().filter(|(_, present)| **present == 0);
    missing.for_each(|(row, _)| rows.set_missing(row));
}
