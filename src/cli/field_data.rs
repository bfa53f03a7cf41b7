//! Data of field programs: NPZ files in and out, scalars of the command line.
//!
//! ```text
//! u.npy          cells of the field u         k.npy      a scalar: an array without axes
//! u.origin.npy   its first point              E2V.npy    the rows of the table E2V
//! ```

use crate::cli::report::{Phase, Report};
use crate::columns::ColumnsError;
use crate::columns::npy_header::{Cells, Header, written_nd};
use crate::columns::npy_source::NpyArray;
use crate::columns::npz_members::{Member, by_name, members};
use crate::columns::replace::Output;
use crate::field::element::{dtype_from_name, dtype_name, dtype_names, integer_of, integer_value};
use crate::field::json::WrittenCells;
use crate::field::text::number;
use crate::field::{FieldBuffer, FieldCells, FieldData, FieldProblem, FieldProgram, FieldRole, TableEntries};
use cembra_vm::value::array::{MAX_ROWS, cell_size};
use cembra_vm::value::budget::Account;
use cembra_vm::value::{ArrayRows, Category, Fault, ScalarType, ScalarValue};
use serde::ser::{Serialize, SerializeMap, Serializer};
use std::io::Write;
use std::path::Path;
use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

fn wrong(what: String) -> Report {
    Report::new(Category::MissingInput, Phase::Compile, what)
}

/// The error for elements that fields do not have.
fn no_field_type(what: String, note: &str) -> Report {
    let what = format!("{what}; fields have {}", dtype_names());
    let mut report = Report::new(Category::Type, Phase::Compile, what);
    report.notes.push(note.to_owned());
    report
}

/// An array of an NPZ file.
struct Array {
    cells: FieldCells,
    /// The type of the numbers in the file.
    dtype: ScalarType,
    shape: Vec<usize>,
    is_fortran: bool,
}

/// Reads what the program declares: fields, scalars and tables. Other members are passed over.
///
/// # Errors
/// The file cannot be read, a member is no array that could be meant, or the account stops it.
pub(super) fn read_data(
    program: &FieldProgram,
    path: &Path,
    data: &mut FieldData,
    account: &dyn Account,
) -> Result<(), Report> {
    let all = members(path).map_err(Report::from)?;
    let named = by_name(&all);
    for field in &program.fields {
        let origin = named.get(&*format!("{}.origin", field.name));
        let Some(member) = named.get(&*field.name) else {
            match origin {
                Some(_) => return Err(wrong(format!("there is `{0}.origin`, and no `{0}`", field.name))),
                None => continue,
            }
        };
        let array = read_array(path, member, account)?;
        let origin = match origin {
            Some(member) => integers(&member.name, read_array(path, member, account)?)?,
            None => field.origin.clone().unwrap_or_else(|| vec![0; array.shape.len()]),
        };
        let buffer =
            buffer(array, &origin).map_err(|problem| wrong(format!("`{}`: {problem}", field.name)))?;
        data.fields.insert(field.name.to_string(), buffer);
    }
    for scalar in &program.scalars {
        let Some(member) = named.get(&*scalar.name) else { continue };
        let array = read_array(path, member, account)?;
        let name = &scalar.name;
        let rows = match array.cells.len() {
            1 => array.cells,
            len => return Err(wrong(format!("the scalar `{name}` is an array of {len} numbers"))),
        };
        let value = FieldBuffer::row_major(rows, &[0], &[1]).expect("one cell");
        let value = value.view().scalars().next().expect("one cell");
        data.scalars.insert(name.to_string(), converted(name, (&value, array.dtype), scalar.dtype)?);
    }
    for table in &program.tables {
        let Some(member) = named.get(&*table.name) else { continue };
        let array = read_array(path, member, account)?;
        let name = &table.name;
        let &[_, width] = &array.shape[..] else {
            return Err(wrong(format!("the table `{name}` has {} axes, not two", array.shape.len())));
        };
        let whole = buffer(array, &[0, 0]).map_err(|problem| wrong(format!("`{name}`: {problem}")))?;
        let entries: Option<Vec<i64>> =
            whole.view().scalars().map(|value| signed(&value, whole.dtype())).collect();
        let entries = entries
            .ok_or_else(|| wrong(format!("the table `{name}` has no integers of 64 bits with a sign")))?;
        let entries = TableEntries::new(entries, width).map_err(|problem| wrong(problem.to_string()))?;
        data.tables.insert(name.to_string(), entries);
    }
    Ok(())
}

fn read_array(path: &Path, member: &Member, account: &dyn Account) -> Result<Array, Report> {
    let file = format!("{}, {}.npy", path.display(), member.name);
    let malformed = |what: String| Report::from(ColumnsError::malformed(&file, what));
    let (header, bytes) = member.open(path).map_err(Report::from)?;
    let Header { cells, shape, is_fortran, descr, .. } = header;
    let stored = cells.map_or(descr, Cells::type_name);
    // Their bits are held as those of a signed integer.
    let cells = cells.map(|cells| if stored == "uint64" { Cells { kind: b'i', ..cells } } else { cells });
    let Some((dtype, element)) = dtype_from_name(&stored).zip(cells.and_then(Cells::element)) else {
        let what = format!("`{}` in {} has elements of {stored}", member.name, path.display());
        let note = format!("nothing converts by itself: in numpy, {}.astype(\"float64\") does", member.name);
        return Err(no_field_type(what, &note));
    };
    let sizes = shape.iter().map(|size| usize::try_from(*size).ok()).collect::<Option<Vec<usize>>>();
    let count = sizes.as_ref().and_then(|sizes| match sizes.contains(&0) {
        true => Some(0),
        false => sizes.iter().try_fold(1usize, |count, size| count.checked_mul(*size)),
    });
    let (Some(sizes), Some(count)) = (sizes, count.filter(|count| *count <= MAX_ROWS)) else {
        return Err(malformed(format!("an array of {shape:?} has more than {MAX_ROWS} numbers")));
    };
    account.charge((count * cell_size(element)) as u64).map_err(|stop| {
        let what = format!("`{}` in {}: {stop}", member.name, path.display());
        Report::new(Fault::from(stop).category(), Phase::Eval, what)
    })?;
    let mut rows = ArrayRows::new(ScalarType::Unit);
    NpyArray::new(bytes, cells).read(&file, count, &mut rows).map_err(Report::from)?;
    let cells = field_cells(&rows, element).ok_or_else(|| malformed("cells that are missing".to_owned()))?;
    Ok(Array { cells, dtype, shape: sizes, is_fortran })
}

fn field_cells(rows: &ArrayRows, element: ScalarType) -> Option<FieldCells> {
    macro_rules! cells {
        ($variant:ident, $scalar:ident) => {
            FieldCells::$variant(
                rows.iter()
                    .map(|value| match value {
                        Some(ScalarValue::$scalar(value)) => Some(value),
                        _ => None,
                    })
                    .collect::<Option<Vec<_>>>()?,
            )
        };
    }
    Some(match element {
        ScalarType::Boolean => cells!(Bool, Boolean),
        ScalarType::Int32 => cells!(Int32, Int32),
        ScalarType::Int64 => cells!(Int64, Int64),
        ScalarType::Float32 => cells!(Float32, Float32),
        ScalarType::Float64 => cells!(Float64, Float64),
        _ => return None,
    })
}

fn buffer(array: Array, origin: &[i64]) -> Result<FieldBuffer, FieldProblem> {
    let Array { cells, dtype, shape, is_fortran } = array;
    if !is_fortran {
        return FieldBuffer::row_major(cells, origin, &shape)?.of_dtype(dtype);
    }
    let mut strides = vec![1isize; shape.len()];
    for axis in 1..shape.len() {
        strides[axis] = strides[axis - 1] * shape[axis - 1].max(1) as isize;
    }
    FieldBuffer::strided(cells, origin, &shape, &strides, 0)?.of_dtype(dtype)
}

fn integers(name: &str, array: Array) -> Result<Vec<i64>, Report> {
    let (dtype, cells) = (array.dtype, array.cells.len());
    let values =
        FieldBuffer::row_major(array.cells, &[0], &[cells]).map_err(|problem| wrong(problem.to_string()))?;
    let numbers: Option<Vec<i64>> = values.view().scalars().map(|value| signed(&value, dtype)).collect();
    numbers.ok_or_else(|| wrong(format!("`{name}` has no integers of 64 bits with a sign")))
}

/// The integer that an element is, if it has a sign, or none of its highest bit.
fn signed(value: &ScalarValue, dtype: ScalarType) -> Option<i64> {
    integer_of(value, dtype).and_then(|number| i64::try_from(number).ok())
}

/// A number as a scalar of another element type, if it is one of its values.
fn converted(
    name: &str,
    (value, of): (&ScalarValue, ScalarType),
    dtype: ScalarType,
) -> Result<ScalarValue, Report> {
    let integer = integer_of(value, of);
    let float = || integer.map(|number| number as f64).or(value.as_f64());
    let result = match (dtype, value) {
        (ScalarType::Boolean, ScalarValue::Boolean(_)) => Some(value.clone()),
        (ScalarType::Float32, _) => float().map(|value| ScalarValue::Float32(value as f32)),
        (ScalarType::Float64, _) => float().map(ScalarValue::Float64),
        _ => integer.and_then(|number| integer_value(number, dtype)),
    };
    result.ok_or_else(|| {
        let dtype = dtype_name(dtype);
        wrong(format!("the scalar `{name}` is {dtype}, and its value does not fit"))
    })
}

/// Sets scalars by options `NAME=VALUE`.
///
/// # Errors
/// There is no such scalar, or the value is none of its type.
pub(super) fn set_scalars(
    program: &FieldProgram,
    options: &[String],
    data: &mut FieldData,
) -> Result<(), Report> {
    for option in options {
        let pair = option.split_once('=');
        let (name, text) =
            pair.ok_or_else(|| wrong(format!("--set {option}: a name and a value, as in k=0.1")))?;
        let found = program.scalar(name);
        let scalar = &program.scalars
            [found.ok_or_else(|| wrong(format!("--set {option}: there is no scalar `{name}`")))?.0];
        let value = match scalar.dtype {
            ScalarType::Boolean => text.parse().ok().map(ScalarValue::Boolean),
            dtype => number(text, dtype),
        };
        let dtype = dtype_name(scalar.dtype);
        let value = value.ok_or_else(|| wrong(format!("--set {option}: {text} is no {dtype}")))?;
        data.scalars.insert(name.to_owned(), value);
    }
    Ok(())
}

/// The outputs of a program, by name.
pub(super) fn outputs<'d>(
    program: &'d FieldProgram,
    data: &'d FieldData,
) -> impl Iterator<Item = (&'d str, &'d FieldBuffer)> {
    let outputs = program.fields.iter().filter(|field| field.role == FieldRole::Output);
    outputs.map(|field| (&*field.name, &data.fields[&*field.name]))
}

/// The outputs as JSON: `{"outputs": {name: {"origin", "shape", "data"}}}`.
pub(super) struct OutputsJson<'d>(pub &'d FieldProgram, pub &'d FieldData);

impl Serialize for OutputsJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map([("outputs", NamedOutputs(self.0, self.1))])
    }
}

struct NamedOutputs<'d>(&'d FieldProgram, &'d FieldData);

impl Serialize for NamedOutputs<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(outputs(self.0, self.1).map(|(name, buffer)| (name, OutputJson(buffer))))
    }
}

struct OutputJson<'d>(&'d FieldBuffer);

impl Serialize for OutputJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(3))?;
        map.serialize_entry("origin", self.0.origin())?;
        map.serialize_entry("shape", self.0.shape())?;
        map.serialize_entry("data", &WrittenCells(self.0))?;
        map.end()
    }
}

/// Writes the outputs; an origin that is not zero gets a member of its own.
///
/// # Errors
/// The file cannot be written.
pub(super) fn write_outputs(program: &FieldProgram, data: &FieldData, path: &Path) -> Result<(), Report> {
    let file = path.display().to_string();
    let failed = |error: std::io::Error| Report::from(ColumnsError::write(&file, error));
    let mut zip = ZipWriter::new(Output::create(path).map_err(Report::from)?);
    for (name, buffer) in outputs(program, data) {
        member(&mut zip, name, buffer).map_err(failed)?;
        if buffer.origin().iter().any(|first| *first != 0) {
            let origin = FieldCells::Int64(buffer.origin().to_vec());
            let axes = buffer.origin().len();
            let origin = FieldBuffer::row_major(origin, &[0], &[axes]).expect("a point for each axis");
            member(&mut zip, &format!("{name}.origin"), &origin).map_err(failed)?;
        }
    }
    zip.finish().map_err(|error| failed(error.into()))?.finish().map_err(failed)
}

fn member(zip: &mut ZipWriter<Output>, name: &str, buffer: &FieldBuffer) -> std::io::Result<()> {
    let cells = Cells::of(buffer.dtype()).expect("fields have numbers and truth values");
    let shape: Vec<u64> = buffer.shape().iter().map(|size| *size as u64).collect();
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored).large_file(true);
    zip.start_file(format!("{name}.npy"), options)?;
    zip.write_all(&written_nd(cells, &shape))?;
    let view = buffer.view();
    let held = cell_size(buffer.cells().dtype());
    let mut bytes = vec![0; view.len() * held];
    view.copy_to(&mut bytes);
    if cells.size < held {
        // A number of a narrow type is its low bytes.
        let low = if cfg!(target_endian = "big") { held - cells.size..held } else { 0..cells.size };
        bytes = bytes.chunks_exact(held).flat_map(|cell| &cell[low.clone()]).copied().collect();
    }
    if cfg!(target_endian = "big") {
        bytes.chunks_exact_mut(cells.size).for_each(<[u8]>::reverse);
    }
    zip.write_all(&bytes)
}
