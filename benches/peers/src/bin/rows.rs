//! Expressions over rows for `rows.py`: answers each line with a line.
//!
//! ```text
//! open DIRECTORY    ok      compiles DIRECTORY/expr.txt over the columns that DIRECTORY/columns.txt lists, evaluates
//!                           it once, and writes result N to DIRECTORY/out.N
//! run TIMES         nanoseconds of the processor that so many evaluations took
//! ```
//!
//! A line of `columns.txt` is `name element file`, or `name element file presence` with one byte a row that is 0 where
//! the row is missing; without a file the column is a value for all rows, `name element = number`.

use cembra::compile::{Options, compile};
use cembra::prepare::{Prepare, Source};
use cembra::vm::frame::Frame;
use cembra::vm::machine::BoundExpr;
use cembra::vm::value::{ArrayClass, ArrayRows, ArrayType, QType, ScalarType, ScalarValue, Value};
use cpu_time::ProcessTime;
use std::error::Error;
use std::hint::black_box;
use std::io::{BufRead, Write};
use std::path::Path;
use std::sync::Arc;

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
    let size = if matches!(element, ScalarType::Float32 | ScalarType::Int32) { 4 } else { 8 };
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

fn open(directory: &Path) -> Outcome<(BoundExpr, Frame)> {
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
    let mut fields = Vec::new();
    match result {
        Value::Tuple(tuple) => fields.extend(tuple.fields().iter().cloned()),
        other => fields.push(other),
    }
    for (number, field) in fields.iter().enumerate() {
        let bytes = match field {
            Value::Array(_, rows) => rows.bytes().to_vec(),
            Value::Scalar(ScalarValue::Float64(x)) | Value::Present(ScalarValue::Float64(x)) => x.to_le_bytes().to_vec(),
            Value::Scalar(ScalarValue::Int64(x)) => x.to_le_bytes().to_vec(),
            Value::Scalar(ScalarValue::Float32(x)) => x.to_le_bytes().to_vec(),
            other => return Err(format!("no result of {}", other.qtype()).into()),
        };
        std::fs::write(directory.join(format!("out.{number}")), bytes)?;
    }
    Ok((bound, frame))
}

fn main() -> Outcome<()> {
    let mut opened = None;
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let answer = match line.split_once(' ') {
            Some(("open", directory)) => {
                opened = Some(open(Path::new(directory))?);
                "ok".to_owned()
            }
            Some(("run", times)) => {
                let (bound, frame) = opened.as_mut().ok_or("nothing is open")?;
                let start = ProcessTime::now();
                for _ in 0..times.parse()? {
                    bound.execute(black_box(frame))?;
                }
                start.elapsed().as_nanos().to_string()
            }
            _ => return Err(format!("no such line: {line}").into()),
        };
        println!("{answer}");
        std::io::stdout().flush()?;
    }
    Ok(())
}
