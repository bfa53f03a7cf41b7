//! Parquet files. Read are those without compression or with snappy, lz4, gzip or brotli; written are
//! row groups of bounded size, compressed by snappy.

use crate::columns::arrow_cells::{schema, to_batch};
use crate::columns::arrow_source::{ArrowSource, Batches, cannot_read, zstd};
use crate::columns::error::ColumnsError;
use crate::columns::guard::guarded;
use crate::columns::parquet_check::check_chunk;
use crate::columns::replace::Output;
use crate::columns::sink::{OutputColumn, Sink};
use crate::columns::source::open_regular;
use arrow_schema::SchemaRef;
use cembra_vm::value::ArrayRows;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};
use parquet::arrow::{ArrowWriter, ProjectionMask};
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};
use parquet::file::properties::WriterProperties;
use std::path::Path;

/// Rows that the reader decodes at once.
const READ: usize = 8192;

/// Bytes of a row group that is written, before its encoding is complete.
const ROW_GROUP: usize = 64 << 20;

/// Opens a Parquet file and reads its schema.
///
/// # Errors
/// The file cannot be read, or is no Parquet file.
pub fn open_parquet(path: &Path) -> Result<ArrowSource, ColumnsError> {
    let file = path.display().to_string();
    let (opened, length) = open_regular(path)?;
    // The columns as they are stored: a schema of Arrow beside them may say dictionaries.
    let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    let metadata = guarded(&file, || {
        ArrowReaderMetadata::load(&opened, options).map_err(|e| cannot_read(&file, &e.to_string()))
    })?;
    let rows = u64::try_from(metadata.metadata().file_metadata().num_rows()).ok();
    let (name, schema) = (file.clone(), metadata.schema().clone());
    let select = move |columns: &[usize]| -> Result<Batches, ColumnsError> {
        let mask = ProjectionMask::roots(metadata.parquet_schema(), columns.iter().copied());
        if uses_zstd(metadata.metadata(), &mask) {
            return Err(zstd(&file));
        }
        let mut again = opened.try_clone().map_err(|e| ColumnsError::read(&file, e))?;
        for chunk in chunks(metadata.metadata(), &mask) {
            check_chunk(&mut again, length, chunk)
                .map_err(|e| ColumnsError::malformed(&file, e.to_string()))?;
        }
        guarded(&file, || {
            let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(again, metadata.clone());
            let reader = builder.with_projection(mask).with_batch_size(READ).build();
            Ok(Box::new(reader.map_err(|e| cannot_read(&file, &e.to_string()))?) as Batches)
        })
    };
    ArrowSource::new(name, &schema, rows, Box::new(select))
}

/// The chunks of the selected columns.
fn chunks<'m>(
    metadata: &'m ParquetMetaData,
    mask: &'m ProjectionMask,
) -> impl Iterator<Item = &'m ColumnChunkMetaData> {
    let all = metadata.row_groups().iter().flat_map(|group| group.columns().iter().enumerate());
    all.filter(|(leaf, _)| mask.leaf_included(*leaf)).map(|(_, chunk)| chunk)
}

fn uses_zstd(metadata: &ParquetMetaData, mask: &ProjectionMask) -> bool {
    chunks(metadata, mask).any(|chunk| matches!(chunk.compression(), Compression::ZSTD(_)))
}

/// A Parquet file that is being written.
pub struct ParquetSink {
    file: String,
    schema: SchemaRef,
    writer: ArrowWriter<Output>,
}

impl ParquetSink {
    /// Begins a file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn create(path: &Path, columns: &[OutputColumn]) -> Result<ParquetSink, ColumnsError> {
        let file = path.display().to_string();
        let schema = schema(columns);
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        let out = Output::create(path)?;
        let writer =
            ArrowWriter::try_new(out, schema.clone(), Some(properties)).map_err(|e| failed(&file, e))?;
        Ok(ParquetSink { file, schema, writer })
    }
}

fn failed(file: &str, error: ParquetError) -> ColumnsError {
    ColumnsError::write(file, std::io::Error::other(error))
}

impl Sink for ParquetSink {
    fn write(&mut self, columns: &[&ArrayRows]) -> Result<(), ColumnsError> {
        let batch = to_batch(&self.schema, columns).map_err(|e| failed(&self.file, e.into()))?;
        self.writer.write(&batch).map_err(|e| failed(&self.file, e))?;
        match self.writer.in_progress_size() > ROW_GROUP {
            true => self.writer.flush().map_err(|e| failed(&self.file, e)),
            false => Ok(()),
        }
    }

    fn finish(self: Box<Self>) -> Result<(), ColumnsError> {
        let out = self.writer.into_inner().map_err(|e| failed(&self.file, e))?;
        out.finish().map_err(|e| ColumnsError::write(&self.file, e))
    }
}
