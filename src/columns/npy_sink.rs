//! NPY files, written: one column of numbers or truth values.
//!
//! The format has no missing values: a missing float is written as NaN, as is usual there; any other
//! missing value is an error. NPZ files hold both.

use crate::columns::error::{ColumnsError, Problem, RowError};
use crate::columns::npy_header::{Cells, written};
use crate::columns::replace::Output;
use crate::columns::sink::{OutputColumn, Sink};
use cembra_vm::value::{ArrayRows, ScalarType};
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::path::Path;

/// Bytes that are written at once.
const BUFFER: usize = 1 << 18;

/// An NPY file that is being written.
#[derive(Debug)]
pub struct NpySink {
    file: String,
    column: OutputColumn,
    cells: Cells,
    rows: u64,
    out: BufWriter<Output>,
}

impl NpySink {
    /// Begins a file. Its header has room for any number of rows, and is written again at the end.
    ///
    /// # Errors
    /// The file cannot be written, or there is not one column of numbers or truth values.
    pub fn create(path: &Path, columns: &[OutputColumn]) -> Result<NpySink, ColumnsError> {
        let file = path.display().to_string();
        let [column] = columns else {
            let what =
                format!("an NPY file holds one column, not {}; an NPZ file holds several", columns.len());
            return Err(ColumnsError::malformed(&file, what));
        };
        let cells = cells_of(&file, "NPY", column)?;
        let mut out = BufWriter::with_capacity(BUFFER, Output::create(path)?);
        out.write_all(&written(cells, &[0])).map_err(|e| ColumnsError::write(&file, e))?;
        Ok(NpySink { file, column: column.clone(), cells, rows: 0, out })
    }
}

/// How the cells of a column are stored.
///
/// # Errors
/// The format cannot hold them.
pub fn cells_of(file: &str, format: &'static str, column: &OutputColumn) -> Result<Cells, ColumnsError> {
    let (name, element) = (column.name.clone(), column.element);
    Cells::of(element).ok_or(ColumnsError::CannotHold { file: file.to_owned(), format, name, element })
}

/// Writes the cells of rows; what stands under a missing float is NaN, under anything else 0.
///
/// # Errors
/// They cannot be written.
pub fn write_cells(cells: Cells, rows: &ArrayRows, out: &mut impl Write) -> std::io::Result<()> {
    if rows.presence().is_none() {
        return out.write_all(&rows.bytes()[..rows.len() * cells.size]);
    }
    let nan = (f32::NAN.to_le_bytes(), f64::NAN.to_le_bytes());
    let missing = match (cells.kind, cells.size) {
        (b'f', 4) => &nan.0[..],
        (b'f', _) => &nan.1[..],
        _ => &[0; 8][..cells.size],
    };
    for row in 0..rows.len() {
        out.write_all(if rows.is_present(row) { rows.raw(row) } else { missing })?;
    }
    Ok(())
}

impl Sink for NpySink {
    fn write(&mut self, columns: &[&ArrayRows]) -> Result<(), ColumnsError> {
        for rows in columns {
            let is_float = matches!(self.column.element, ScalarType::Float32 | ScalarType::Float64);
            let missing = (0..rows.len()).find(|row| !is_float && !rows.is_present(*row));
            if let Some(row) = missing {
                let problem = Problem::Missing { column: self.column.name.clone(), format: "NPY" };
                let row = self.rows + row as u64 + 1;
                return Err(RowError {
                    file: self.file.clone(),
                    row,
                    line: None,
                    problem,
                    values: Vec::new(),
                }
                .into());
            }
            write_cells(self.cells, rows, &mut self.out).map_err(|e| ColumnsError::write(&self.file, e))?;
            self.rows += rows.len() as u64;
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<(), ColumnsError> {
        let NpySink { file, cells, rows, out, .. } = *self;
        let end = |mut out: BufWriter<Output>| {
            out.seek(SeekFrom::Start(0))?;
            out.write_all(&written(cells, &[rows]))?;
            out.into_inner().map_err(|e| e.into_error())?.finish()
        };
        end(out).map_err(|e| ColumnsError::write(&file, e))
    }
}
