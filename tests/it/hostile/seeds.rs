//! Good files of each format, small ones, that mutations begin with.

use crate::columns::npy;
use crate::support::test_file;
use cembra::columns::create;
use cembra::columns::sink::OutputColumn;
use cembra::vm::value::{ArrayRows, ScalarType, ScalarValue};
use std::path::Path;

/// Rows of every type, some missing.
fn columns(rows: usize, elements: &[ScalarType]) -> (Vec<OutputColumn>, Vec<ArrayRows>) {
    let cell = |element: ScalarType, row: usize| match element {
        _ if row % 7 == 3 => None,
        ScalarType::Boolean => Some(ScalarValue::Boolean(row.is_multiple_of(2))),
        ScalarType::Int32 => Some(ScalarValue::Int32(row as i32 - 5)),
        ScalarType::Int64 => Some(ScalarValue::Int64(row as i64 * 1_000_000_007)),
        ScalarType::Float32 => Some(ScalarValue::Float32(row as f32 / 3.0)),
        ScalarType::Float64 => Some(ScalarValue::Float64(row as f64 / 7.0)),
        _ => Some(ScalarValue::Text(["a", "größe", "", "long enough not to be inlined"][row % 4].into())),
    };
    let column = |(index, element): (usize, &ScalarType)| OutputColumn {
        name: format!("c{index}").into(),
        element: *element,
    };
    let rows = |element: &ScalarType| {
        let cells: Vec<_> = (0..rows).map(|row| cell(*element, row)).collect();
        ArrayRows::from_values(*element, &cells)
    };
    (elements.iter().enumerate().map(column).collect(), elements.iter().map(rows).collect())
}

/// A file as the library writes it.
fn written(directory: &Path, name: &str, elements: &[ScalarType]) -> Vec<u8> {
    let (columns, rows) = columns(40, elements);
    let path = directory.join(name);
    let mut sink = create(&path, &columns).expect("the directory takes files");
    sink.write(&rows.iter().collect::<Vec<_>>()).expect("the rows are of these columns");
    sink.finish().expect("the directory takes files");
    std::fs::read(path).expect("it was just written")
}

const NUMBERS: [ScalarType; 5] =
    [ScalarType::Boolean, ScalarType::Int32, ScalarType::Int64, ScalarType::Float32, ScalarType::Float64];

/// CSV files.
pub fn csv(directory: &Path) -> Vec<Vec<u8>> {
    let all = [&NUMBERS[..], &[ScalarType::Text]].concat();
    let quoted = "x,y\n1,\"a, \"\"b\"\"\nc\"\n-2.5e3,\n\n,\"\"\r\n9223372036854775807,nan\n";
    vec![written(directory, "a.csv", &all), quoted.as_bytes().to_vec()]
}

/// NPY files.
pub fn npy_files(directory: &Path) -> Vec<Vec<u8>> {
    let one = |element: &ScalarType| {
        let (columns, mut rows) = columns(40, &[*element]);
        rows[0] = ArrayRows::from_values(
            *element,
            &(0..40).map(|row| rows[0].get(row - row % 7)).collect::<Vec<_>>(),
        );
        let path = directory.join("a.npy");
        let mut sink = create(&path, &columns).expect("the directory takes files");
        sink.write(&[&rows[0]]).expect("rows without missing ones");
        sink.finish().expect("the directory takes files");
        std::fs::read(path).expect("it was just written")
    };
    let mut all: Vec<Vec<u8>> = NUMBERS.iter().map(one).collect();
    all.push(npy(">i2", "True", "(3, 2)", &[0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6]));
    all
}

/// NPZ files, stored and deflated.
pub fn npz(directory: &Path) -> Vec<Vec<u8>> {
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options =
        zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Deflated);
    for (name, cells) in [("x.npy", 3), ("y.npy", 3), ("y.present.npy", 1)] {
        zip.start_file(name, options).expect("a new name");
        let array = match cells {
            3 => npy("<f8", "False", "(3,)", &[0, 0, 0, 0, 0, 0, 240, 63].repeat(3)),
            _ => npy("|b1", "False", "(3,)", &[1, 0, 1]),
        };
        std::io::Write::write_all(&mut zip, &array).expect("memory takes bytes");
    }
    let deflated = zip.finish().expect("an end").into_inner();
    vec![written(directory, "a.npz", &NUMBERS), deflated]
}

fn cases(names: &[&str]) -> Vec<Vec<u8>> {
    let read = |name: &&str| {
        let path = test_file("cases").join(name);
        std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    };
    names.iter().map(read).collect()
}

/// Model files.
pub fn yaml() -> Vec<Vec<u8>> {
    cases(&["model/simple.yaml", "model/dynamics.yaml", "model/decay.yaml", "model/odd.yaml"])
}

/// Cases of expressions, graphs and models.
pub fn json() -> Vec<Vec<u8>> {
    cases(&[
        "batch/cases.json",
        "batch/nd_cases.json",
        "graph/weather.json",
        "graph/running.json",
        "graph/batch.json",
        "model/case.json",
    ])
}

#[cfg(feature = "columns")]
mod arrow {
    use super::*;
    use arrow_array::builder::{StringDictionaryBuilder, StringViewBuilder};
    use arrow_array::types::Int32Type;
    use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
    use arrow_ipc::CompressionType;
    use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
    use parquet::arrow::ArrowWriter;
    use parquet::basic::{BrotliLevel, Compression, GzipLevel};
    use parquet::file::properties::{WriterProperties, WriterVersion};
    use std::sync::Arc;

    fn batch() -> RecordBatch {
        let texts = || (0..60).map(|row| (row % 5 != 1).then(|| format!("text {}", row % 9)));
        let mut views = StringViewBuilder::new();
        let mut words = StringDictionaryBuilder::<Int32Type>::new();
        texts().for_each(|text| {
            views.append_option(text.as_deref().map(|t| format!("{t} and more of it")));
            words.append_option(text.as_deref());
        });
        let columns: Vec<(&str, ArrayRef)> = vec![
            (
                "x",
                Arc::new(Float64Array::from_iter(
                    (0..60).map(|row| (row % 7 != 2).then_some(f64::from(row))),
                )),
            ),
            ("n", Arc::new(Int64Array::from_iter_values(0..60))),
            ("s", Arc::new(StringArray::from_iter(texts()))),
            ("v", Arc::new(views.finish())),
            ("d", Arc::new(words.finish())),
        ];
        RecordBatch::try_from_iter(columns).expect("columns of one length")
    }

    /// Arrow IPC files and streams, with and without compression.
    pub fn ipc(directory: &Path) -> Vec<Vec<u8>> {
        let mut all = vec![written(directory, "a.arrow", &[&NUMBERS[..], &[ScalarType::Text]].concat())];
        for compression in [None, Some(CompressionType::LZ4_FRAME)] {
            let options =
                || IpcWriteOptions::default().try_with_compression(compression).expect("lz4 is built");
            let (batch, mut file, mut stream) = (batch(), Vec::new(), Vec::new());
            let mut writer =
                FileWriter::try_new_with_options(&mut file, &batch.schema(), options()).expect("a schema");
            writer
                .write(&batch)
                .and_then(|()| writer.write(&batch))
                .and_then(|()| writer.finish())
                .expect("a file");
            drop(writer);
            let mut writer = StreamWriter::try_new_with_options(&mut stream, &batch.schema(), options())
                .expect("a schema");
            writer.write(&batch).and_then(|()| writer.finish()).expect("a stream");
            drop(writer);
            all.extend([file, stream]);
        }
        all
    }

    /// Parquet files of each compression, with and without dictionaries, pages of both versions.
    pub fn parquet(directory: &Path) -> Vec<Vec<u8>> {
        let mut all = vec![written(directory, "a.parquet", &[&NUMBERS[..], &[ScalarType::Text]].concat())];
        let compressions = [
            Compression::UNCOMPRESSED,
            Compression::SNAPPY,
            Compression::GZIP(GzipLevel::default()),
            Compression::LZ4_RAW,
            Compression::BROTLI(BrotliLevel::default()),
        ];
        for (index, compression) in compressions.into_iter().enumerate() {
            let version = [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0]
                [usize::from(index.is_multiple_of(2))];
            let properties = WriterProperties::builder()
                .set_compression(compression)
                .set_dictionary_enabled(index != 1)
                .set_writer_version(version)
                .set_max_row_group_row_count(Some(45))
                .build();
            let mut file = Vec::new();
            let batch = batch();
            let mut writer =
                ArrowWriter::try_new(&mut file, batch.schema(), Some(properties)).expect("a schema");
            writer.write(&batch).expect("rows");
            writer.close().expect("a file");
            all.push(file);
        }
        all
    }
}

#[cfg(feature = "columns")]
pub use arrow::{ipc, parquet};
