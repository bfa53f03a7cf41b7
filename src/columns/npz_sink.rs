//! NPZ files, written: a stored NPY array for each column.
//!
//! A ZIP file has one member behind the other, and rows of all columns come together: the cells of each
//! column go to a nameless file of its own, and are put together at the end. A column with missing rows
//! gets a second array `name.present`; under a missing row stands NaN, 0 or false.

use crate::columns::error::ColumnsError;
use crate::columns::npy_header::{Cells, written};
use crate::columns::npy_sink::{cells_of, write_cells};
use crate::columns::npz_members::presence_name;
use crate::columns::replace::{Output, nameless};
use crate::columns::sink::{OutputColumn, Sink};
use cembra_vm::value::ArrayRows;
use std::fs::File;
use std::io::{self, BufWriter, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

/// Truth values.
const MASK: Cells = Cells { kind: b'b', size: 1, big_endian: false };

/// An NPZ file that is being written.
#[derive(Debug)]
pub struct NpzSink {
    path: PathBuf,
    columns: Vec<Part>,
    rows: u64,
    out: Output,
}

/// The cells of a column.
#[derive(Debug)]
struct Part {
    name: Arc<str>,
    cells: Cells,
    data: BufWriter<File>,
    /// Which rows are present; none while all are.
    presence: Option<BufWriter<File>>,
}

impl NpzSink {
    /// Begins a file.
    ///
    /// # Errors
    /// The file cannot be written, or a column has texts or bytes.
    pub fn create(path: &Path, columns: &[OutputColumn]) -> Result<NpzSink, ColumnsError> {
        let file = path.display().to_string();
        let out = Output::create(path)?;
        let part = |column: &OutputColumn| -> Result<Part, ColumnsError> {
            let cells = cells_of(&file, "NPZ", column)?;
            let data = nameless(path).map_err(|e| ColumnsError::write(&file, e))?;
            Ok(Part { name: column.name.clone(), cells, data: BufWriter::new(data), presence: None })
        };
        let columns = columns.iter().map(part).collect::<Result<_, _>>()?;
        Ok(NpzSink { path: path.to_owned(), columns, rows: 0, out })
    }

    fn write_rows(&mut self, columns: &[&ArrayRows]) -> io::Result<()> {
        for (part, rows) in self.columns.iter_mut().zip(columns) {
            write_cells(part.cells, rows, &mut part.data)?;
            if part.presence.is_none() && rows.presence().is_some() {
                let mut presence = BufWriter::new(nameless(&self.path)?);
                io::copy(&mut io::Read::take(io::repeat(1), self.rows), &mut presence)?;
                part.presence = Some(presence);
            }
            if let Some(presence) = &mut part.presence {
                for row in 0..rows.len() {
                    presence.write_all(&[u8::from(rows.is_present(row))])?;
                }
            }
        }
        self.rows += columns.first().map_or(0, |rows| rows.len()) as u64;
        Ok(())
    }

    fn put_together(self) -> io::Result<()> {
        let mut zip = ZipWriter::new(self.out);
        for part in self.columns {
            put(&mut zip, &part.name, part.cells, self.rows, part.data)?;
            if let Some(presence) = part.presence {
                put(&mut zip, &presence_name(&part.name), MASK, self.rows, presence)?;
            }
        }
        zip.finish()?.finish()
    }
}

/// A member: a header, and the cells gathered.
fn put(
    zip: &mut ZipWriter<Output>,
    name: &str,
    cells: Cells,
    rows: u64,
    data: BufWriter<File>,
) -> io::Result<()> {
    let mut data = data.into_inner().map_err(|e| e.into_error())?;
    data.rewind()?;
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored).large_file(true);
    zip.start_file(format!("{name}.npy"), options)?;
    zip.write_all(&written(cells, &[rows]))?;
    io::copy(&mut data, zip)?;
    Ok(())
}

impl Sink for NpzSink {
    fn write(&mut self, columns: &[&ArrayRows]) -> Result<(), ColumnsError> {
        self.write_rows(columns).map_err(|e| ColumnsError::write(&self.path.display().to_string(), e))
    }

    fn finish(self: Box<Self>) -> Result<(), ColumnsError> {
        let file = self.path.display().to_string();
        self.put_together().map_err(|e| ColumnsError::write(&file, e))
    }
}
