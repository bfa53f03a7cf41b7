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
use crate::columns::npy_header::Header;
use crate::columns::npy_source::{NpyArray, column, rows_left};
use crate::columns::source::{Column, Rows, Source, check_names, unreadable};
use cembra_vm::value::{ArrayRows, ScalarType};
use flate2::CrcReader;
use flate2::read::DeflateDecoder;
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom, Take};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use zip::{CompressionMethod, ZipArchive};

/// What the name of the member ends with that says which rows are present.
pub const PRESENT: &str = ".present";

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

/// A member of the ZIP file.
#[derive(Clone, Debug)]
struct Member {
    /// Name without `.npy`.
    name: String,
    start: u64,
    stored_size: u64,
    size: u64,
    crc: u32,
    deflated: bool,
}

/// A column that is read.
struct Selected {
    element: ScalarType,
    array: NpyArray<Input>,
    presence: Option<NpyArray<Input>>,
}

/// The bytes of a member, checked at their end.
struct Input {
    bytes: CrcReader<Box<dyn Read + Send>>,
    left: u64,
    crc: u32,
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.bytes.read(buffer)?;
        self.left = self.left.saturating_sub(count as u64);
        match count > 0 && self.left == 0 && self.bytes.crc().sum() != self.crc {
            true => {
                Err(std::io::Error::new(std::io::ErrorKind::InvalidData, "a member has a wrong checksum"))
            }
            false => Ok(count),
        }
    }
}

impl NpzSource {
    /// Opens a file and reads the headers of its members.
    ///
    /// # Errors
    /// The file cannot be read, or its members are not arrays of one axis and one size.
    pub fn open(path: &Path) -> Result<NpzSource, ColumnsError> {
        let file = path.display().to_string();
        let opened = File::open(path).map_err(|e| ColumnsError::read(&file, e))?;
        let members = members(&file, opened)?;
        let mut source = NpzSource {
            path: path.to_owned(),
            file,
            members,
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
        for member in self.members.clone() {
            let (header, _) = self.array(&member)?;
            let found = column(&self.file, &member.name, &header)?;
            sizes.push((found.name.clone(), header.shape[0]));
            if self.presence_of(&member.name).is_none() {
                self.columns.push(found);
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

    /// The member whose presence the member of this name says.
    fn presence_of(&self, name: &str) -> Option<&Member> {
        let of = name.strip_suffix(PRESENT)?;
        self.members.iter().find(|member| member.name == of)
    }

    /// Header and cells of a member.
    fn array(&self, member: &Member) -> Result<(Header, NpyArray<Input>), ColumnsError> {
        let mut input = self.input(member).map_err(|e| ColumnsError::read(&self.file, e))?;
        let header = Header::read(&mut input)
            .map_err(|e| ColumnsError::malformed(&self.file, format!("{}.npy: {e}", member.name)))?;
        let array = NpyArray::new(input, header.cells);
        Ok((header, array))
    }

    fn input(&self, member: &Member) -> std::io::Result<Input> {
        let mut file = File::open(&self.path)?;
        file.seek(SeekFrom::Start(member.start))?;
        let stored: Take<BufReader<File>> = BufReader::with_capacity(1 << 16, file).take(member.stored_size);
        let bytes: Box<dyn Read + Send> = match member.deflated {
            true => Box::new(DeflateDecoder::new(stored).take(member.size)),
            false => Box::new(stored),
        };
        Ok(Input { bytes: CrcReader::new(bytes), left: member.size, crc: member.crc })
    }

    fn choose(&self, column: &Column) -> Result<Selected, ColumnsError> {
        let Some(element) = column.element else { return Err(unreadable(&self.file, column)) };
        let named = |name: &str| self.members.iter().find(|member| member.name == name);
        let member = named(&column.name).expect("every column is a member");
        let presence =
            named(&format!("{}{PRESENT}", column.name)).map(|member| self.array(member)).transpose()?;
        let (_, array) = self.array(member)?;
        Ok(Selected { element, array, presence: presence.map(|(_, array)| array) })
    }
}

/// The NPY members of a ZIP file.
fn members(file: &str, opened: File) -> Result<Vec<Member>, ColumnsError> {
    let wrong = |error: zip::result::ZipError| ColumnsError::malformed(file, error.to_string());
    let mut archive = ZipArchive::new(BufReader::new(opened)).map_err(wrong)?;
    let mut members = Vec::new();
    for index in 0..archive.len() {
        let member = archive.by_index_raw(index).map_err(wrong)?;
        let Some(name) = member.name().ok().and_then(|n| Some(n.strip_suffix(".npy")?.to_owned())) else {
            continue;
        };
        let deflated = match member.compression() {
            CompressionMethod::Stored => false,
            CompressionMethod::Deflated => true,
            other => {
                let what =
                    format!("{name}.npy is compressed by {other}; stored and deflated members can be read");
                return Err(ColumnsError::malformed(file, what));
            }
        };
        let start = member.data_start().ok_or_else(|| ColumnsError::malformed(file, "no data"))?;
        let (stored_size, size, crc) = (member.compressed_size(), member.size(), member.crc32());
        members.push(Member { name, start, stored_size, size, crc, deflated });
    }
    Ok(members)
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
        let chosen = columns.iter().map(|index| self.choose(&self.columns[*index]));
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
}

/// Makes the rows missing that the mask calls false.
fn set_presence(rows: &mut ArrayRows, mask: &ArrayRows) {
    let missing = mask.bytes()[..mask.len()].iter().enumerate().filter(|(_, present)| **present == 0);
    missing.for_each(|(row, _)| rows.set_missing(row));
}
