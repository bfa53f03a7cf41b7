//! Arrow IPC files. Read are the file format and the stream format, without compression or with lz4;
//! written is the file format without compression.

use crate::columns::arrow_cells::{schema, to_batch};
use crate::columns::arrow_source::{ArrowSource, Batches, cannot_read};
use crate::columns::error::ColumnsError;
use crate::columns::guard::guarded;
use crate::columns::ipc_check::{check_file, check_stream};
use crate::columns::replace::Output;
use crate::columns::sink::{OutputColumn, Sink};
use crate::columns::source::open_regular;
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_ipc::writer::FileWriter;
use arrow_schema::{ArrowError, SchemaRef};
use cembra_vm::value::ArrayRows;
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Seek};
use std::path::{Path, PathBuf};

/// What the file format begins with; the stream format does not.
const MAGIC: &[u8; 6] = b"ARROW1";

/// Opens an Arrow IPC file and reads its schema.
///
/// # Errors
/// The file cannot be read, or is no Arrow IPC file.
pub fn open_ipc(path: &Path) -> Result<ArrowSource, ColumnsError> {
    let file = path.display().to_string();
    let (mut opened, _) = open_regular(path)?;
    let checked = match has_magic(&mut opened).map_err(|e| ColumnsError::read(&file, e))? {
        true => guarded(&file, || Ok(check_file(&mut opened)))?,
        false => guarded(&file, || Ok(check_stream(&mut opened)))?,
    };
    checked.map_err(|e| ColumnsError::malformed(&file, e.to_string()))?;
    let (schema, _) = guarded(&file, || batches(path, &file, None))?;
    if schema.fields().is_empty() {
        return Err(ColumnsError::malformed(&file, "the file has no columns"));
    }
    let (name, path): (String, PathBuf) = (file.clone(), path.to_owned());
    let select = move |columns: &[usize]| {
        // A batch without columns has no rows: the first column stands for their number.
        let chosen = if columns.is_empty() { vec![0] } else { columns.to_vec() };
        guarded(&file, || batches(&path, &file, Some(chosen))).map(|(_, batches)| batches)
    };
    ArrowSource::new(name, &schema, None, Box::new(select))
}

/// True for the file format.
fn has_magic(file: &mut File) -> std::io::Result<bool> {
    let mut magic = [0; MAGIC.len()];
    let is_file = file.read_exact(&mut magic).is_ok() && magic == *MAGIC;
    file.rewind()?;
    Ok(is_file)
}

/// The schema of the whole file, and batches of the columns chosen.
fn batches(
    path: &Path,
    file: &str,
    columns: Option<Vec<usize>>,
) -> Result<(SchemaRef, Batches), ColumnsError> {
    let mut opened = File::open(path).map_err(|e| ColumnsError::read(file, e))?;
    let wrong = |error: ArrowError| cannot_read(file, &error.to_string());
    let is_file = has_magic(&mut opened).map_err(|e| ColumnsError::read(file, e))?;
    let input = BufReader::new(opened);
    match is_file {
        true => {
            let reader = FileReader::try_new(input, columns).map_err(wrong)?;
            Ok((reader.schema(), Box::new(reader)))
        }
        false => {
            let reader = StreamReader::try_new(input, columns).map_err(wrong)?;
            Ok((reader.schema(), Box::new(reader)))
        }
    }
}

/// An Arrow IPC file that is being written.
pub struct IpcSink {
    file: String,
    schema: SchemaRef,
    writer: FileWriter<BufWriter<Output>>,
}

impl IpcSink {
    /// Begins a file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn create(path: &Path, columns: &[OutputColumn]) -> Result<IpcSink, ColumnsError> {
        let file = path.display().to_string();
        let schema = schema(columns);
        let out = BufWriter::new(Output::create(path)?);
        let writer = FileWriter::try_new(out, &schema).map_err(|e| failed(&file, e))?;
        Ok(IpcSink { file, schema, writer })
    }
}

fn failed(file: &str, error: ArrowError) -> ColumnsError {
    ColumnsError::write(file, std::io::Error::other(error))
}

impl Sink for IpcSink {
    fn write(&mut self, columns: &[&ArrayRows]) -> Result<(), ColumnsError> {
        let batch = to_batch(&self.schema, columns).map_err(|e| failed(&self.file, e))?;
        self.writer.write(&batch).map_err(|e| failed(&self.file, e))
    }

    fn finish(self: Box<Self>) -> Result<(), ColumnsError> {
        let out = self.writer.into_inner().map_err(|e| failed(&self.file, e))?;
        let ended = out.into_inner().map_err(|e| e.into_error()).and_then(Output::finish);
        ended.map_err(|e| ColumnsError::write(&self.file, e))
    }
}
