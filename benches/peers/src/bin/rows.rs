//! Expressions over rows for `rows.py`: answers each line with a line.
//!
//! ```text
//! open DIRECTORY    ok      compiles DIRECTORY/expr.txt over the columns that DIRECTORY/columns.txt lists, evaluates
//!                           it once, and writes result N to DIRECTORY/out.N
//! run TIMES         nanoseconds of the processor that so many evaluations took
//! build             ok      makes a library in C of the program, runs it once, and compares every bit with the interpreter;
//!                           or why there is none
//! native TIMES      nanoseconds of the processor that so many calls of the library took: arguments are bound once, results
//!                   are made in memory of this program, as the frame keeps those of the interpreter
//! ```
//!
//! A line of `columns.txt` is `name element file`, or `name element file presence` with one byte a row that is 0 where
//! the row is missing; without a file the column is a value for all rows, `name element = number`. An n-dimensional array
//! is `name element file axes SIZE …`. A file of TEXT has a line for each row.

use cembra::compile::{Options, compile};
use cembra::native::{ArrayLayout, NativeCache, NativeError, ProgramCall};
use cembra::prepare::{Prepare, Source};
use cembra::vm::frame::Frame;
use cembra::vm::library::{Argument, BoundCall, Library};
use cembra::vm::machine::{BoundExpr, NdViewMut};
use cembra::vm::value::array::cell_size;
use cembra::vm::value::{
    ArrayClass, ArrayRows, ArrayType, NdRows, NdType, NdView, QType, ScalarType, ScalarValue, Value,
};
use cpu_time::ProcessTime;
use std::error::Error;
use std::hint::black_box;
use std::io::{BufRead, Write};
use std::path::Path;
use std::sync::Arc;

/// A program with its columns, evaluated once.
struct Opened {
    bound: BoundExpr,
    frame: Frame,
    /// The columns in the order of the program's inputs.
    inputs: Vec<Value>,
    result: Value,
}

type Outcome<T> = Result<T, Box<dyn Error>>;

/// A cell from its bytes.
fn cell(element: ScalarType, bytes: &[u8]) -> Outcome<ScalarValue> {
    Ok(match element {
        ScalarType::Float64 => ScalarValue::Float64(f64::from_le_bytes(bytes.try_into()?)),
        ScalarType::Float32 => ScalarValue::Float32(f32::from_le_bytes(bytes.try_into()?)),
        ScalarType::Int64 => ScalarValue::Int64(i64::from_le_bytes(bytes.try_into()?)),
        ScalarType::Int32 => ScalarValue::Int32(i32::from_le_bytes(bytes.try_into()?)),
        other => return Err(format!("no columns of {other}").into()),
    })
}

fn column(directory: &Path, words: &[&str]) -> Outcome<(String, QType, Value)> {
    let element = ScalarType::from_name(words[1]).ok_or("no such element")?;
    if words[2] == "=" {
        let number: f64 = words[3].parse()?;
        let value = match element {
            ScalarType::Int64 => ScalarValue::Int64(number as i64),
            ScalarType::Float32 => ScalarValue::Float32(number as f32),
            _ => ScalarValue::Float64(number),
        };
        return Ok((words[0].to_owned(), QType::Scalar(element), Value::Scalar(value)));
    }
    let bytes = std::fs::read(directory.join(words[2]))?;
    if element == ScalarType::Text {
        let lines = std::str::from_utf8(&bytes)?.lines();
        let cells: Vec<_> = lines.map(|line| Some(ScalarValue::Text(line.into()))).collect();
        let qtype = QType::Array(ArrayType { class: ArrayClass::Dense, element });
        let rows = ArrayRows::from_values(element, &cells);
        return Ok((words[0].to_owned(), qtype, Value::Array(ArrayClass::Dense, Arc::new(rows))));
    }
    let size = if matches!(element, ScalarType::Float32 | ScalarType::Int32) { 4 } else { 8 };
    if words.get(3) == Some(&"axes") {
        let sizes: Vec<usize> = words[4..].iter().map(|size| size.parse()).collect::<Result<_, _>>()?;
        let strides: Vec<isize> =
            (1..=sizes.len()).map(|axis| (sizes[axis..].iter().product::<usize>() * size) as isize).collect();
        let view = NdView::new(element, &bytes, 0, &sizes, &strides)?;
        let rows = NdRows::from_view(NdType::new(element, sizes.len(), 0).ok_or("a type")?, &view)?;
        return Ok((words[0].to_owned(), QType::NdArray(rows.qtype()), Value::NdArray(Arc::new(rows))));
    }
    let presence = words.get(3).map(|file| std::fs::read(directory.join(file))).transpose()?;
    let is_present = |row: usize| presence.as_ref().is_none_or(|presence| presence[row] != 0);
    let cells = bytes.chunks_exact(size).enumerate();
    let cells: Vec<Option<ScalarValue>> = cells
        .map(|(row, bytes)| is_present(row).then(|| cell(element, bytes)).transpose())
        .collect::<Outcome<_>>()?;
    let qtype = QType::Array(ArrayType { class: ArrayClass::Dense, element });
    let rows = ArrayRows::from_values(element, &cells);
    Ok((words[0].to_owned(), qtype, Value::Array(ArrayClass::Dense, Arc::new(rows))))
}

fn open(directory: &Path) -> Outcome<Opened> {
    let expr = cembra::syntax::parse(&std::fs::read_to_string(directory.join("expr.txt"))?)?;
    let list = std::fs::read_to_string(directory.join("columns.txt"))?;
    let columns = list.lines().map(|line| column(directory, &line.split(' ').collect::<Vec<_>>()));
    let columns: Vec<_> = columns.collect::<Outcome<_>>()?;
    let types = columns.iter().map(|(name, qtype, _)| (name.as_str(), qtype.clone()));
    let prepared = Prepare::standard().run(Source::new(expr, types))?;
    let bound = compile(&prepared, &Options::default())?;
    let mut frame = bound.new_frame()?;
    for (name, _, value) in &columns {
        frame.write(bound.input_slot(name)?, value)?;
    }
    bound.execute(&mut frame)?;
    let result = frame.read(bound.output_slot())?;
    for (number, field) in fields(&result).iter().enumerate() {
        let bytes = match field {
            Value::Array(_, rows) if rows.element() == ScalarType::Text => {
                (0..rows.len()).flat_map(|row| [rows.string(row), b"\n"].concat()).collect()
            }
            Value::Array(_, rows) if rows.element() == ScalarType::Unit => {
                (0..rows.len()).map(|row| rows.is_present(row).into()).collect()
            }
            Value::Array(_, rows) => rows.bytes().to_vec(),
            Value::NdArray(rows) => {
                let view = rows.view();
                let mut bytes = vec![0; view.len() * cell_size(view.element())];
                view.copy_to(&mut bytes);
                bytes
            }
            Value::Scalar(ScalarValue::Float64(x)) | Value::Present(ScalarValue::Float64(x)) => {
                x.to_le_bytes().to_vec()
            }
            Value::Scalar(ScalarValue::Int64(x)) | Value::Present(ScalarValue::Int64(x)) => {
                x.to_le_bytes().to_vec()
            }
            Value::Scalar(ScalarValue::Float32(x)) | Value::Present(ScalarValue::Float32(x)) => {
                x.to_le_bytes().to_vec()
            }
            Value::Scalar(ScalarValue::Int32(x)) | Value::Present(ScalarValue::Int32(x)) => {
                x.to_le_bytes().to_vec()
            }
            other => return Err(format!("no result of {}", other.qtype()).into()),
        };
        std::fs::write(directory.join(format!("out.{number}")), bytes)?;
    }
    let of = |name: &str| columns.iter().find(|(known, ..)| known == name).map(|(.., value)| value.clone());
    let inputs: Option<Vec<Value>> = bound.program().main().inputs.iter().map(|(name, _)| of(name)).collect();
    Ok(Opened { inputs: inputs.ok_or("an input without a column")?, bound, frame, result })
}

/// The fields of a tuple, or the value.
fn fields(value: &Value) -> Vec<Value> {
    match value {
        Value::Tuple(tuple) => tuple.fields().to_vec(),
        other => vec![other.clone()],
    }
}

/// A value as text: any NaN is one value, the zeros are two.
fn shown(value: &Value) -> String {
    match value {
        Value::Array(class, rows) => {
            format!("{}{} {:?}", class.prefix(), rows.element(), rows.iter().collect::<Vec<_>>())
        }
        other => format!("{other:?}"),
    }
}

/// Memory for a result, in which a library makes it.
struct Lent {
    cells: NdRows,
    bitmap: Vec<u8>,
}

impl Lent {
    fn of(result: &Value) -> Outcome<Option<Lent>> {
        let Value::Array(_, rows) = result else { return Ok(None) };
        if NdType::new(rows.element(), 1, 0).is_none() {
            return Ok(None);
        }
        let bytes = vec![0; rows.bytes().len()];
        let size = (bytes.len() / rows.len().max(1)) as isize;
        let view = NdView::new(rows.element(), &bytes, 0, &[rows.len()], &[size])?;
        let cells = NdRows::from_view(NdType::new(rows.element(), 1, 0).ok_or("a type")?, &view)?;
        Ok(Some(Lent { cells, bitmap: vec![0; rows.len().div_ceil(8)] }))
    }

    /// The rows that were made here.
    fn rows(&self, class: ArrayClass) -> Value {
        let is_there = |row: usize| self.bitmap[row / 8] >> (row % 8) & 1 == 1;
        let cells = self.cells.view().scalars().enumerate();
        let cells: Vec<_> = cells.map(|(row, cell)| is_there(row).then_some(cell)).collect();
        Value::Array(class, Arc::new(ArrayRows::from_values(self.cells.qtype().element(), &cells)))
    }
}

/// The library of a program; why there is none as text.
fn library(cache: &NativeCache, bound: &BoundExpr) -> Outcome<Result<Library, String>> {
    let call = ProgramCall::new("f", bound.program().clone(), ArrayLayout::Contiguous)?;
    match cache.library(&call) {
        Ok(library) => Ok(Ok(library)),
        Err(error @ NativeError::NotTranslated(_)) => Ok(Err(error.to_string())),
        Err(error) => Err(error.into()),
    }
}

/// A call that makes rows in this memory.
fn bind<'a>(library: &Library, inputs: &'a [Value], lent: &'a mut Option<Lent>) -> Outcome<BoundCall<'a>> {
    let mut call = library.bind(inputs.iter().map(Argument::Value))?;
    if let Some(lent) = lent {
        call.lend_rows(0, NdViewMut::of_rows(&mut lent.cells), &mut lent.bitmap)?;
    }
    Ok(call)
}

/// Compares what a library gives with the interpreter's result.
fn compare(library: &Library, inputs: &[Value], result: &Value) -> Outcome<()> {
    let mut lent = Lent::of(result)?;
    let mut call = bind(library, inputs, &mut lent)?;
    call.run()?;
    let found = match result {
        Value::Array(..) => None,
        _ => Some(call.result(0)),
    };
    drop(call);
    let found = match (found, result, &lent) {
        (None, Value::Array(class, _), Some(lent)) => lent.rows(*class),
        (found, ..) => found.ok_or("no result")?,
    };
    match shown(&found) == shown(result) {
        true => Ok(()),
        false => Err("the library gives other bits than the interpreter".into()),
    }
}

/// The processor nanoseconds of so many runs.
fn time(times: &str, mut run: impl FnMut() -> Outcome<()>) -> Outcome<String> {
    let start = ProcessTime::now();
    for _ in 0..times.parse()? {
        run()?;
    }
    Ok(start.elapsed().as_nanos().to_string())
}

fn answer(text: &str) -> Outcome<()> {
    println!("{text}");
    Ok(std::io::stdout().flush()?)
}

/// Serves a program until another one is opened: gives the line that opens it.
fn serve(
    directory: &Path,
    cache: &NativeCache,
    lines: &mut impl Iterator<Item = std::io::Result<String>>,
) -> Outcome<Option<String>> {
    let Opened { bound, mut frame, inputs, result } = open(directory)?;
    let mut lent = Lent::of(&result)?;
    let (mut memory, mut native) = (Some(&mut lent), None);
    answer("ok")?;
    for line in lines {
        let line = line?;
        match line.split_once(' ').unwrap_or((&line, "")) {
            ("open", _) => return Ok(Some(line)),
            ("run", times) => answer(&time(times, || Ok(bound.execute(black_box(&mut frame))?))?)?,
            ("build", _) => match library(cache, &bound)? {
                Err(reason) => answer(&reason)?,
                Ok(library) => {
                    compare(&library, &inputs, &result)?;
                    native = Some(bind(&library, &inputs, memory.take().ok_or("it is built")?)?);
                    answer("ok")?;
                }
            },
            ("native", times) => {
                let call = native.as_mut().ok_or("no library is built")?;
                answer(&time(times, || Ok(black_box(&mut *call).run()?))?)?;
            }
            _ => return Err(format!("no such line: {line}").into()),
        }
    }
    Ok(None)
}

fn main() -> Outcome<()> {
    let root = std::env::temp_dir().join(format!("cembra-rows-{}", std::process::id()));
    let cache = NativeCache::new(&root, None)?;
    let mut lines = std::io::stdin().lock().lines();
    let mut next = lines.next().transpose()?;
    while let Some(line) = next {
        let directory = line.strip_prefix("open ").ok_or_else(|| format!("nothing is open: {line}"))?;
        next = serve(Path::new(directory), &cache, &mut lines)?;
    }
    Ok(std::fs::remove_dir_all(&root)?)
}
