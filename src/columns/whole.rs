//! Whole files as arrays of numbers: the columns of a table, NPY and NPZ arrays of any number of axes.
//!
//! ```text
//! a.csv  time,80.0,80.5     time [n], 80.0 [n], 80.5 [n]
//! a.npy  (440, 400)         a [440, 400]
//! a.npz  energy, data       energy [400], data [440, 400]
//! ```
//!
//! All numbers become FLOAT64, missing ones NaN. Arrays are in C order, whatever the file has.

use crate::columns::error::ColumnsError;
use crate::columns::format::{Format, OpenOptions, open};
use crate::columns::npy_header::{Cells, Header};
use crate::columns::npy_source::NpyArray;
use crate::columns::npz_members::{Member, PRESENT, by_name, members, no_presence, presence_name};
use crate::columns::source::{Rows, Source, open_regular};
use cembra_vm::value::array::MAX_ROWS;
use cembra_vm::value::{ArrayRows, ScalarType, ScalarValue};
use std::io::{BufReader, Read};
use std::path::Path;
use std::sync::Arc;

/// Rows that are read at once.
const BATCH: usize = 1 << 16;

/// An array of numbers with its name.
#[derive(Clone, Debug, PartialEq)]
pub struct NumberArray {
    /// Name of the column or of the member; that of the file for an NPY file.
    pub name: String,
    /// Sizes of the axes.
    pub shape: Vec<usize>,
    /// The numbers; the last index moves fastest. NaN where one is missing.
    pub values: Vec<f64>,
}

/// Checks that a column of a table, which may have been taken for one of texts, is one of numbers.
///
/// # Errors
/// That cell with its row; or the file cannot be read, or has no such column.
pub fn check_numbers(path: &Path, column: &Arc<str>) -> Result<(), ColumnsError> {
    let types = vec![(column.clone(), ScalarType::Float64)];
    columns(open(path, &OpenOptions { types, ..OpenOptions::default() })?.as_mut()).map(drop)
}

/// Reads all of a file.
///
/// # Errors
/// The file cannot be read, its format not be told, or a column is no numbers.
pub fn read_whole(path: &Path) -> Result<Vec<NumberArray>, ColumnsError> {
    match Format::of(path)? {
        Format::Npy => Ok(vec![npy(path)?]),
        Format::Npz => npz(path),
        _ => columns(open(path, &OpenOptions::default())?.as_mut()),
    }
}

fn npy(path: &Path) -> Result<NumberArray, ColumnsError> {
    let file = path.display().to_string();
    let (opened, size) = open_regular(path)?;
    let mut input = BufReader::new(opened);
    let read = Header::read(&mut input).and_then(|header| header.check_length(size).map(|()| header));
    let header = read.map_err(|e| ColumnsError::malformed(&file, e.to_string()))?;
    array(&file, &path.file_stem().unwrap_or_default().to_string_lossy(), &header, &mut input)
}

fn npz(path: &Path) -> Result<Vec<NumberArray>, ColumnsError> {
    let file = path.display().to_string();
    let members = members(path)?;
    let named = by_name(&members);
    let mut arrays = Vec::new();
    for member in &members {
        let name = &*member.name;
        if name.strip_suffix(PRESENT).is_some_and(|of| named.contains_key(of)) {
            continue;
        }
        let (header, mut bytes) = member.open(path)?;
        let mut read = array(&format!("{file}, {name}.npy"), name, &header, &mut bytes)?;
        if let Some(presence) = named.get(&*presence_name(name)) {
            make_missing(&file, presence, path, &mut read)?;
        }
        arrays.push(read);
    }
    Ok(arrays)
}

/// Numbers that the other array calls missing become NaN.
fn make_missing(
    file: &str,
    presence: &Member,
    path: &Path,
    numbers: &mut NumberArray,
) -> Result<(), ColumnsError> {
    let (header, mut bytes) = presence.open(path)?;
    if header.cells.and_then(Cells::element) != Some(ScalarType::Boolean) {
        return Err(no_presence(file, &presence.name, &header));
    }
    let present = array(&format!("{file}, {}.npy", presence.name), &presence.name, &header, &mut bytes)?;
    if present.shape != numbers.shape {
        let (found, expected) = (&present.shape, &numbers.shape);
        let what =
            format!("{}.npy is of shape {found:?}, {}.npy of {expected:?}", presence.name, numbers.name);
        return Err(ColumnsError::malformed(file, what));
    }
    let missing = present.values.iter().map(|truth| *truth == 0.0);
    numbers
        .values
        .iter_mut()
        .zip(missing)
        .filter(|(_, is_missing)| *is_missing)
        .for_each(|(n, _)| *n = f64::NAN);
    Ok(())
}

/// The numbers of an NPY array behind its header, which agrees with the bytes that there are.
fn array(
    file: &str,
    name: &str,
    header: &Header,
    input: &mut impl Read,
) -> Result<NumberArray, ColumnsError> {
    let axes = header.shape.iter().map(|axis| usize::try_from(*axis).ok());
    let shape: Option<Vec<usize>> = axes.collect();
    let product = |s: &Vec<usize>| s.iter().try_fold(1_usize, |size, axis| size.checked_mul(*axis));
    let size = shape.as_ref().and_then(|s| if s.contains(&0) { Some(0) } else { product(s) });
    let (Some(shape), Some(size)) = (shape, size.filter(|size| *size <= MAX_ROWS)) else {
        let what = format!("an array of {:?} has more than {MAX_ROWS} numbers", header.shape);
        return Err(ColumnsError::malformed(file, what));
    };
    if header.cells.and_then(Cells::element).is_none() {
        return Err(ColumnsError::malformed(file, format!("cells of type {} are no numbers", header.descr)));
    }
    let mut rows = ArrayRows::new(ScalarType::Unit);
    NpyArray::new(input, header.cells).read(file, size, &mut rows)?;
    let values = numbers(file, &rows)?;
    let values = if header.is_fortran && size > 0 { transposed(file, &shape, &values)? } else { values };
    Ok(NumberArray { name: name.to_owned(), shape, values })
}

/// Numbers in Fortran order, in C order.
fn transposed(file: &str, shape: &[usize], values: &[f64]) -> Result<Vec<f64>, ColumnsError> {
    let mut strides = vec![1; shape.len()];
    for axis in 1..shape.len() {
        strides[axis] = strides[axis - 1] * shape[axis - 1];
    }
    let source = |mut place: usize| {
        let mut at = 0;
        for (size, stride) in shape.iter().zip(&strides).rev() {
            at += place % size * stride;
            place /= size;
        }
        values[at]
    };
    collected(file, (0..values.len()).map(source))
}

fn columns(source: &mut dyn Source) -> Result<Vec<NumberArray>, ColumnsError> {
    let is_number = |element: Option<ScalarType>| {
        element.is_some_and(|e| !matches!(e, ScalarType::Text | ScalarType::Bytes | ScalarType::Unit))
    };
    let found: Vec<_> = source.columns().to_vec();
    let chosen: Vec<usize> = (0..found.len()).filter(|index| is_number(found[*index].element)).collect();
    source.select(&chosen)?;
    let mut arrays: Vec<NumberArray> = chosen
        .iter()
        .map(|index| NumberArray { name: found[*index].name.to_string(), shape: vec![0], values: Vec::new() })
        .collect();
    let mut rows = Rows::default();
    loop {
        source.read(BATCH, &mut rows)?;
        if let Some((row, problem)) = rows.bad.first() {
            let line = rows.lines.get(*row).map_or(String::new(), |line| format!(" (line {line})"));
            let row = arrays.first().map_or(0, |a| a.values.len()) + row + 1;
            return Err(ColumnsError::malformed(source.file(), format!("row {row}{line}: {problem}")));
        }
        for (array, column) in arrays.iter_mut().zip(&rows.columns) {
            let more = numbers(source.file(), column)?;
            array.values.try_reserve(more.len()).map_err(|_| no_memory(source.file()))?;
            array.values.extend(more);
            array.shape[0] = array.values.len();
        }
        if rows.count < BATCH {
            return Ok(arrays);
        }
    }
}

fn numbers(file: &str, rows: &ArrayRows) -> Result<Vec<f64>, ColumnsError> {
    collected(file, rows.iter().map(|value| value.map_or(f64::NAN, |value| number(&value))))
}

/// Numbers in memory that the system may refuse.
fn collected(file: &str, numbers: impl ExactSizeIterator<Item = f64>) -> Result<Vec<f64>, ColumnsError> {
    let mut all = Vec::new();
    all.try_reserve_exact(numbers.len()).map_err(|_| no_memory(file))?;
    all.extend(numbers);
    Ok(all)
}

fn no_memory(file: &str) -> ColumnsError {
    ColumnsError::read(file, std::io::ErrorKind::OutOfMemory.into())
}

fn number(value: &ScalarValue) -> f64 {
    match value {
        ScalarValue::Boolean(truth) => f64::from(u8::from(*truth)),
        ScalarValue::Int32(number) => f64::from(*number),
        ScalarValue::Int64(number) => *number as f64,
        ScalarValue::Float32(number) => f64::from(*number),
        ScalarValue::Float64(number) | ScalarValue::WeakFloat(number) => *number,
        ScalarValue::Unit | ScalarValue::Text(_) | ScalarValue::Bytes(_) => f64::NAN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::fs::File;

    /// An NPY file of small integers.
    fn npy_bytes(order: &str, shape: &str, cells: &[u8]) -> Vec<u8> {
        let text = format!("{{'descr': '|u1', 'fortran_order': {order}, 'shape': {shape}, }}\n");
        let length = u16::try_from(text.len()).expect("a short header").to_le_bytes();
        [&b"\x93NUMPY\x01\x00"[..], &length, text.as_bytes(), cells].concat()
    }

    /// Files with these contents are read by their names.
    #[test]
    fn files_are_read_whole() {
        let directory = tempfile::tempdir().expect("the system has a directory for temporary files");
        let path = |name: &str| directory.path().join(name);
        std::fs::write(path("t.csv"), "time,80,name,90.5\n0,1,a,\n1,2,b,4\n").expect("a file");
        let table = read_whole(&path("t.csv")).expect("a table");
        let names: Vec<&str> = table.iter().map(|a| a.name.as_str()).collect();
        assert_eq!(names, ["time", "80", "90.5"]);
        assert!(table[2].values[0].is_nan() && table[2].values[1] == 4.0);
        let mut zip = zip::ZipWriter::new(File::create(path("a.npz")).expect("a file"));
        for (name, shape) in [("energy.npy", "(2,)"), ("data.npy", "(1, 2)"), ("readme.txt", "(2,)")] {
            zip.start_file(name, zip::write::SimpleFileOptions::default()).expect("a member");
            std::io::Write::write_all(&mut zip, &npy_bytes("False", shape, &[7, 9])).expect("bytes");
        }
        zip.finish().expect("an end");
        let arrays = read_whole(&path("a.npz")).expect("arrays");
        let expected = |name: &str, shape: &[usize]| NumberArray {
            name: name.to_owned(),
            shape: shape.to_vec(),
            values: vec![7.0, 9.0],
        };
        assert_eq!(arrays, [expected("energy", &[2]), expected("data", &[1, 2])]);
    }

    #[test]
    fn arrays_come_in_c_order() {
        let read = |order, shape, cells: &[u8]| {
            let bytes = npy_bytes(order, shape, cells);
            let (mut input, wrong) =
                (&bytes[..], |e: std::io::Error| ColumnsError::malformed("a.npy", e.to_string()));
            let header = Header::read(&mut input).map_err(wrong)?;
            header.check_length(bytes.len() as u64).map_err(wrong)?;
            array("a.npy", "a", &header, &mut input)
        };
        let c = read("False", "(2, 3)", &[1, 2, 3, 4, 5, 6]).expect("an array");
        assert_eq!((c.shape, c.values), (vec![2, 3], vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
        let fortran = read("True", "(2, 3)", &[1, 4, 2, 5, 3, 6]).expect("an array");
        assert_eq!(fortran.values, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let deep = read("True", "(2, 1, 2)", &[1, 3, 2, 4]).expect("an array");
        assert_eq!(deep.values, [1.0, 2.0, 3.0, 4.0]);
        assert!(read("False", "(2, 3)", &[1, 2]).is_err());
        let large = read("False", "(99999, 99999)", &[]).expect_err("too large");
        assert!(large.to_string().contains("9999800"), "{large}");
        let empty = read("True", "(0, 1000000000000, 1000000000000)", &[]).expect("an array");
        assert!(empty.values.is_empty());
    }
}
