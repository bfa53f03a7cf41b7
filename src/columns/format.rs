//! Formats: which file has which, told by the ending of its name.

use crate::columns::csv_sink::CsvSink;
use crate::columns::csv_source::CsvSource;
use crate::columns::error::ColumnsError;
#[cfg(feature = "columns")]
use crate::columns::ipc::{IpcSink, open_ipc};
use crate::columns::npy_sink::NpySink;
use crate::columns::npy_source::NpySource;
use crate::columns::npz_sink::NpzSink;
use crate::columns::npz_source::NpzSource;
#[cfg(feature = "columns")]
use crate::columns::parquet_file::{ParquetSink, open_parquet};
use crate::columns::sink::{OutputColumn, Sink};
use crate::columns::source::Source;
use cembra_vm::value::ScalarType;
use std::path::Path;
use std::sync::Arc;

/// The endings of names.
const ENDINGS: &str = ".csv, .tsv, .npy, .npz, .parquet, .arrow, .feather and .ipc";

/// How a file stores columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Lines of cells between separators of this byte.
    Csv(u8),
    /// One array.
    Npy,
    /// Arrays in a ZIP file.
    Npz,
    /// Apache Parquet.
    Parquet,
    /// The Arrow IPC file or stream format.
    Arrow,
}

impl Format {
    /// The format that a name tells; `-` is CSV.
    ///
    /// # Errors
    /// The ending is not known.
    pub fn of(path: &Path) -> Result<Format, ColumnsError> {
        if path.as_os_str() == "-" {
            return Ok(Format::Csv(b','));
        }
        let ending = path.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        Ok(match &*ending {
            "csv" => Format::Csv(b','),
            "tsv" => Format::Csv(b'\t'),
            "npy" => Format::Npy,
            "npz" => Format::Npz,
            "parquet" => Format::Parquet,
            "arrow" | "feather" | "ipc" | "arrows" => Format::Arrow,
            _ => {
                let file = path.display().to_string();
                return Err(ColumnsError::UnknownFormat { file, known: ENDINGS });
            }
        })
    }
}

/// How files are read that do not say their types.
#[derive(Clone, Debug)]
pub struct OpenOptions {
    /// Types of CSV columns by name.
    pub types: Vec<(Arc<str>, ScalarType)>,
    /// Rows of a CSV file that tell the types of the others.
    pub infer_rows: usize,
}

impl Default for OpenOptions {
    fn default() -> OpenOptions {
        OpenOptions { types: Vec::new(), infer_rows: 1000 }
    }
}

/// Opens a file for reading.
///
/// # Errors
/// The file cannot be read, or its format not be told.
pub fn open(path: &Path, options: &OpenOptions) -> Result<Box<dyn Source>, ColumnsError> {
    Ok(match Format::of(path)? {
        Format::Csv(delimiter) => {
            Box::new(CsvSource::open(path, delimiter, &options.types, options.infer_rows)?)
        }
        Format::Npy => Box::new(NpySource::open(path)?),
        Format::Npz => Box::new(NpzSource::open(path)?),
        #[cfg(feature = "columns")]
        Format::Parquet => Box::new(open_parquet(path)?),
        #[cfg(feature = "columns")]
        Format::Arrow => Box::new(open_ipc(path)?),
        #[cfg(not(feature = "columns"))]
        Format::Parquet | Format::Arrow => return Err(not_built(path)),
    })
}

/// Begins a file of these columns; `-` is standard output.
///
/// # Errors
/// The file cannot be written, its format not be told, or not hold a column.
pub fn create(path: &Path, columns: &[OutputColumn]) -> Result<Box<dyn Sink>, ColumnsError> {
    Ok(match Format::of(path)? {
        Format::Csv(delimiter) => Box::new(CsvSink::create(path, delimiter, columns)?),
        Format::Npy => Box::new(NpySink::create(path, columns)?),
        Format::Npz => Box::new(NpzSink::create(path, columns)?),
        #[cfg(feature = "columns")]
        Format::Parquet => Box::new(ParquetSink::create(path, columns)?),
        #[cfg(feature = "columns")]
        Format::Arrow => Box::new(IpcSink::create(path, columns)?),
        #[cfg(not(feature = "columns"))]
        Format::Parquet | Format::Arrow => return Err(not_built(path)),
    })
}

#[cfg(not(feature = "columns"))]
fn not_built(path: &Path) -> ColumnsError {
    ColumnsError::NotBuilt { file: path.display().to_string() }
}
