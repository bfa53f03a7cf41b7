//! Regions by strips give what they give by passes: random members, rare rows and faults wherever blocks begin and end.

#[path = "support/draft.rs"]
mod draft;

use cembra_vm::builtins;
use cembra_vm::frame::Frame;
use cembra_vm::machine::{BoundExpr, RunOptions, Strips};
use cembra_vm::program::{Program, ValueId};
use cembra_vm::value::nd_view::NdCell;
use cembra_vm::value::{ArrayClass, ArrayRows, NdRows, NdType, QType, ScalarType, ScalarValue, Value};
use draft::Draft;
use fastrand::Rng;
use std::sync::Arc;

/// Operators of floats, and how many operands they have.
const OF_FLOATS: [(&str, usize); 29] = [
    ("math.trig.sin", 1),
    ("math.trig.cos", 1),
    ("math.trig.tan", 1),
    ("math.exp", 1),
    ("math.log", 1),
    ("math.expm1", 1),
    ("math.trig.tanh", 1),
    ("math.erf", 1),
    ("math.lgamma", 1),
    ("math.trig.asin", 1),
    ("math.log10", 1),
    ("math.sqrt", 1),
    ("math.neg", 1),
    ("math.abs", 1),
    ("math.floor", 1),
    ("math.pow", 2),
    ("math.fmod", 2),
    ("math.mod", 2),
    ("math.floordiv", 2),
    ("math.hypot", 2),
    ("math.trig.atan2", 2),
    ("math.add", 2),
    ("math.subtract", 2),
    ("math.multiply", 2),
    ("math.divide", 2),
    ("math.minimum", 2),
    ("math.maximum", 2),
    ("core.where", 3),
    ("core.presence_and", 2),
];

const OF_INTEGERS: [(&str, usize); 9] = [
    ("math.add", 2),
    ("math.subtract", 2),
    ("math.multiply", 2),
    ("math.floordiv", 2),
    ("math.mod", 2),
    ("math.minimum", 2),
    ("core._to_int64", 1),
    ("core._to_int32", 1),
    ("core.presence_and", 2),
];

const FOLDS: [&str; 5] = ["math._sum", "math._mean", "math._min", "math._max", "array._count"];

/// Of masks.
const FOLDS_OF_MASKS: [&str; 3] = ["array._count", "core._any_row", "core._all_rows"];

/// A program of one region, or some, over x and y, of which all results in `read` are outputs.
struct Case {
    bound: BoundExpr,
    frame: Frame,
    outputs: Vec<ValueId>,
    text: String,
}

/// The bits of a cell; NaN is one value.
fn bits(cell: &ScalarValue) -> u64 {
    match cell {
        ScalarValue::Float64(x) if x.is_nan() => f64::NAN.to_bits(),
        ScalarValue::Float64(x) => x.to_bits(),
        ScalarValue::Float32(x) if x.is_nan() => f32::NAN.to_bits().into(),
        ScalarValue::Float32(x) => x.to_bits().into(),
        ScalarValue::Int64(x) => *x as u64,
        ScalarValue::Int32(x) => *x as u64,
        ScalarValue::Boolean(x) => u64::from(*x),
        ScalarValue::Unit => 1,
        other => panic!("{other:?} is no cell of the test"),
    }
}

fn cells(value: &Value) -> Vec<Option<u64>> {
    match value {
        Value::Array(_, rows) => rows.iter().map(|row| row.as_ref().map(bits)).collect(),
        Value::NdArray(rows) => rows.view().scalars().map(|cell| Some(bits(&cell))).collect(),
        Value::Scalar(cell) | Value::Present(cell) => vec![Some(bits(cell))],
        Value::Missing(_) => vec![None],
        other => panic!("{other} is no result of the test"),
    }
}

/// How a program is run.
#[derive(Clone, Copy, Debug)]
struct Way {
    /// None: without options.
    strips: Option<Strips>,
    threads: usize,
}

type Outcome = Result<Vec<Vec<Option<u64>>>, String>;

impl Case {
    /// The lines are `operator operand operand …`; operands are `x`, `y`, numbers of lines (`@0`), or literals.
    fn new(inputs: &[(&str, &Value)], lines: &[String], read: &[usize]) -> Case {
        let mut draft = Draft::new();
        let named: Vec<(&str, ValueId)> =
            inputs.iter().map(|(name, value)| (*name, draft.next_input(value.qtype()))).collect();
        let mut results: Vec<ValueId> = Vec::new();
        for (number, line) in lines.iter().enumerate() {
            let mut words = line.split(' ');
            let operator = words.next().expect("an operator");
            let operands: Vec<ValueId> = words
                .map(|word| match word.strip_prefix('@') {
                    Some(number) => results[number.parse::<usize>().expect("a number")],
                    None => match named.iter().find(|(name, _)| *name == word) {
                        Some((_, value)) => *value,
                        None => draft.next_literal(literal(word)),
                    },
                })
                .collect();
            let types: Vec<QType> =
                operands.iter().map(|operand| draft.slot(*operand).qtype().storage()).collect();
            let overload = builtins::table().overload(operator, &types);
            let overload = overload.unwrap_or_else(|| panic!("{operator} of {types:?}"));
            let is_read = read.contains(&number);
            let result = match is_read {
                true => draft.next_output(overload.result().clone()),
                false => draft.next_temporary(overload.result().clone()),
            };
            draft.run(operator, &operands, result);
            results.push(result);
        }
        let outputs: Vec<ValueId> = read.iter().map(|number| results[*number]).collect();
        let mut routine = draft.finish(&named, outputs[0]);
        let side = outputs.iter().enumerate().skip(1);
        routine.side_outputs = side.map(|(number, value)| (format!("o{number:02}").into(), *value)).collect();
        let bound = BoundExpr::new(Arc::new(Program::new(vec![routine]))).expect("a verified program");
        let mut frame = bound.new_frame().expect("memory");
        for (name, value) in inputs {
            frame.write(bound.input_slot(name).expect("an input"), value).expect("a value of its type");
        }
        Case { bound, frame, outputs, text: lines.join("; ") }
    }

    fn run(&mut self, Way { strips, threads }: Way) -> Outcome {
        let outcome = match strips {
            None => self.bound.execute(&mut self.frame),
            Some(strips) => {
                let options = RunOptions::new().strips(strips).threads(threads);
                self.bound.execute_with(&mut self.frame, options)
            }
        };
        outcome.map_err(|error| error.to_string())?;
        let slot = |number: usize| match number {
            0 => self.bound.output_slot(),
            _ => self.bound.side_output_slot(&format!("o{number:02}")).expect("an output"),
        };
        let read = |number| cells(&self.frame.read(slot(number)).expect("memory"));
        Ok((0..self.outputs.len()).map(read).collect())
    }

    /// Runs by passes and by strips, on one thread and on three, and without options: before all of them, on memory of other runs, and
    /// behind them, when there are strips.
    fn check(&mut self) -> Outcome {
        let as_it_is = Way { strips: None, threads: 1 };
        let before = self.run(as_it_is);
        let expected = self.run(Way { strips: Some(Strips::Never), threads: 1 });
        let ways = [(Strips::Always, 1), (Strips::Never, 3), (Strips::Always, 3)];
        let ways = ways.map(|(strips, threads)| Way { strips: Some(strips), threads });
        let mut before = Some(before);
        for way in [as_it_is].into_iter().chain(ways).chain([as_it_is]) {
            let found = before.take().unwrap_or_else(|| self.run(way));
            if found == expected {
                continue;
            }
            let first = match (&found, &expected) {
                (Ok(found), Ok(expected)) => {
                    let output = (0..found.len()).find(|n| found[*n] != expected[*n]).expect("a difference");
                    let (found, expected) = (&found[output], &expected[output]);
                    let row = (0..found.len()).find(|row| found[*row] != expected[*row]);
                    format!(
                        "output {output}, row {row:?}: {:x?}, not {:x?}",
                        row.map(|r| found[r]),
                        row.map(|r| expected[r])
                    )
                }
                _ => format!("{:?}, not {:?}", found.as_ref().err(), expected.as_ref().err()),
            };
            panic!("{way:?}, {}: {first}", self.text);
        }
        expected
    }
}

fn literal(word: &str) -> Value {
    match word.split_once(':') {
        Some(("f32", number)) => Value::from(number.parse::<f32>().expect("a number")),
        Some(("i64", number)) => Value::from(number.parse::<i64>().expect("a number")),
        Some(("i32", number)) => Value::from(number.parse::<i32>().expect("a number")),
        None if word == "missing" => Value::Missing(ScalarType::Float64),
        _ => Value::from(word.parse::<f64>().expect("a number")),
    }
}

/// Numbers that functions have cases for.
const RARE: [f64; 14] = [
    0.0,
    -0.0,
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    3e6,
    -1e22,
    1e300,
    -2.5,
    -4.0,
    1e-310,
    9.3e18,
    -9.3e18,
    2_097_152.5,
];

fn cell(element: ScalarType, x: f64) -> ScalarValue {
    match element {
        ScalarType::Float32 => ScalarValue::Float32(x as f32),
        ScalarType::Int64 => ScalarValue::Int64(x as i64),
        ScalarType::Int32 => ScalarValue::Int32(x as i32),
        _ => ScalarValue::Float64(x),
    }
}

/// Rows; `is_rare` says where the rare numbers stand, `is_there` which rows there are.
fn column(
    rng: &mut Rng,
    element: ScalarType,
    count: usize,
    is_rare: impl Fn(usize) -> bool,
    is_there: impl Fn(usize) -> bool,
) -> Value {
    let cells: Vec<Option<ScalarValue>> = (0..count)
        .map(|row| {
            let x = match is_rare(row) {
                true => *rng.choice(&RARE).expect("some"),
                false if element == ScalarType::Int64 || element == ScalarType::Int32 => {
                    f64::from(rng.i32(1..1000))
                }
                false => rng.f64() * 6.0 + 0.1,
            };
            is_there(row).then(|| cell(element, x))
        })
        .collect();
    Value::Array(ArrayClass::Dense, Arc::new(ArrayRows::from_values(element, &cells)))
}

/// Lines of random operators, and the type of each result.
fn lines(rng: &mut Rng, element: ScalarType, count: usize) -> Vec<String> {
    let is_float = matches!(element, ScalarType::Float64 | ScalarType::Float32);
    let operators: &[(&str, usize)] = if is_float { &OF_FLOATS } else { &OF_INTEGERS };
    let mut lines: Vec<String> = Vec::new();
    // Results with rows of the element type, and masks.
    let (mut rows, mut masks): (Vec<usize>, Vec<usize>) = (Vec::new(), Vec::new());
    while lines.len() < count {
        let operand = |rng: &mut Rng, rows: &[usize]| match rng.u8(..8) {
            0 if is_float && element == ScalarType::Float64 => "1.5".to_owned(),
            0 if is_float => "f32:1.5".to_owned(),
            0 if element == ScalarType::Int64 => "i64:7".to_owned(),
            0 => "i32:7".to_owned(),
            1 => "x".to_owned(),
            2 => "y".to_owned(),
            _ => rng.choice(rows).map_or("x".to_owned(), |row| format!("@{row}")),
        };
        let of_array = |rng: &mut Rng, rows: &[usize]| match rng.bool() {
            true => rng.choice(rows).map_or("x".to_owned(), |row| format!("@{row}")),
            false => "y".to_owned(),
        };
        let (operator, arity) = *rng.choice(operators).expect("some");
        match operator {
            "core.where" | "core.presence_and" => {
                let Some(mask) = rng.choice(&masks) else {
                    let (a, b) = (of_array(rng, &rows), operand(rng, &rows));
                    masks.push(lines.len());
                    lines.push(format!("core.less {a} {b}"));
                    continue;
                };
                let (a, b) = (of_array(rng, &rows), of_array(rng, &rows));
                rows.push(lines.len());
                lines.push(match operator {
                    "core.where" => format!("core.where @{mask} {a} {b}"),
                    _ => format!("core.presence_and {a} @{mask}"),
                });
            }
            "core._to_int64" | "core._to_int32" => {
                let to = if element == ScalarType::Int64 { "core._to_int64" } else { "core._to_int32" };
                let a = of_array(rng, &rows);
                let float = lines.len();
                lines.push(format!("core.to_float64 {a}"));
                rows.push(lines.len());
                lines.push(format!("{to} @{float}"));
            }
            _ => {
                let mut line = operator.to_owned();
                line += &format!(" {}", of_array(rng, &rows));
                (1..arity).for_each(|_| line += &format!(" {}", operand(rng, &rows)));
                rows.push(lines.len());
                lines.push(line);
            }
        }
    }
    lines
}

#[test]
fn random_regions() {
    let seed = std::env::var("CEMBRA_SEED").map_or(0x57, |seed| seed.parse().expect("a number"));
    let mut rng = Rng::with_seed(seed);
    let (mut raised, mut passed) = (0, 0);
    for _ in 0..150 {
        let element = *rng
            .choice(&[
                ScalarType::Float64,
                ScalarType::Float64,
                ScalarType::Float32,
                ScalarType::Int64,
                ScalarType::Int32,
            ])
            .expect("some");
        let count = *rng.choice(&[1, 7, 64, 65, 300, 1024, 1025, 2100, 5000, 70_000]).expect("some");
        let rare_every = *rng.choice(&[0, 0, 1, 64, 256, 1024, 4999]).expect("some");
        let gaps = *rng.choice(&[usize::MAX, usize::MAX, 3, 64]).expect("some");
        let of_x = column(
            &mut rng,
            element,
            count,
            |row| rare_every > 0 && row % rare_every == rare_every - 1,
            |row| row % gaps != gaps - 1,
        );
        let of_y = column(
            &mut rng,
            element,
            count,
            |row| rare_every > 64 && row % rare_every == 0,
            |row| (row + 1) % gaps != 1,
        );
        let length = rng.usize(2..14);
        let mut lines = lines(&mut rng, element, length);
        let is_rows = |line: &str| !line.starts_with("core.less");
        let mut read: Vec<usize> = (0..lines.len())
            .filter(|n| is_rows(&lines[*n]) && (n + 1 == lines.len() || rng.u8(..4) == 0))
            .collect();
        if read.is_empty() {
            read = (0..lines.len()).filter(|n| is_rows(&lines[*n])).collect();
        }
        if read.is_empty() {
            continue;
        }
        if rng.bool() {
            let is_float = matches!(element, ScalarType::Float64 | ScalarType::Float32);
            let of_rows = FOLDS.iter().filter(|fold| is_float || **fold != "math._mean");
            let mut folds: Vec<String> = of_rows.map(|fold| format!("{fold} @{}", read[0])).collect();
            if let Some(mask) = lines.iter().position(|line| !is_rows(line)) {
                folds.extend(FOLDS_OF_MASKS.iter().map(|fold| format!("{fold} @{mask}")));
            }
            for fold in folds.into_iter().filter(|_| rng.bool()) {
                read.push(lines.len());
                lines.push(fold);
            }
        }
        let mut case = Case::new(&[("x", &of_x), ("y", &of_y)], &lines, &read);
        match case.check() {
            Ok(_) => passed += 1,
            Err(_) => raised += 1,
        }
    }
    assert!(passed > 60 && raised > 3, "{passed} passed, {raised} raised");
}

/// A literal that is missing has no bits that strips could take.
#[test]
fn missing_literals() {
    let mut rng = Rng::with_seed(3);
    let x = column(&mut rng, ScalarType::Float64, 300, |_| false, |_| true);
    let lines =
        ["math.multiply x 2.0", "math.add @0 missing", "core.less missing x", "core.where @2 @0 missing"];
    let found =
        Case::new(&[("x", &x)], &lines.map(str::to_owned), &[3, 1, 0]).check().expect("nothing raises");
    assert!(found[..2].iter().flatten().all(Option::is_none));
    assert!(found[2].iter().all(Option::is_some));
}

/// More literals and columns than a signature has bits for, and more operations than stand in one strip.
#[test]
fn long_regions() {
    let mut rng = Rng::with_seed(0x10C);
    for round in 0..24 {
        let (columns, length) = ([3, 33, 50][round % 3], [40, 700, 1500, 2500][round % 4]);
        let count = *rng.choice(&[1, 65, 300, 3000]).expect("some");
        // Of the columns with rows that are missing, the first is one of those without bits.
        let has_gaps = |number: usize| round % 2 == 1 && number % 17 == [2, 16][round / 2 % 2];
        let values: Vec<Value> = (0..columns)
            .map(|number| {
                let gap = if has_gaps(number) { 5 } else { usize::MAX };
                column(&mut rng, ScalarType::Float64, count, |_| false, |row| row % gap != gap - 1)
            })
            .collect();
        let names: Vec<String> = (0..columns).map(|number| format!("c{number}")).collect();
        let inputs: Vec<(&str, &Value)> = names.iter().map(String::as_str).zip(&values).collect();
        let (mut lines, mut rows, mut masks): (Vec<String>, Vec<usize>, Vec<usize>) = Default::default();
        while lines.len() < length {
            let of = |rng: &mut Rng, known: &[usize]| {
                let near = known.len().saturating_sub(if rng.u8(..8) == 0 { 1000 } else { 6 });
                rng.choice(&known[near..]).map(|line| format!("@{line}"))
            };
            let any = |rng: &mut Rng| rng.choice(&names).expect("some").clone();
            let literal = |rng: &mut Rng| format!("{}", f64::from(rng.u16(1..999)) * 0.01);
            let row = |rng: &mut Rng| match rng.u8(..4) {
                0 => any(rng),
                _ => of(rng, &rows).unwrap_or_else(|| any(rng)),
            };
            let line = match (rng.u8(..16), of(&mut rng, &masks)) {
                (0..5, _) | (5.., None) => {
                    masks.push(lines.len());
                    format!("core.less {} {}", row(&mut rng), literal(&mut rng))
                }
                (kind, Some(mask)) => {
                    let (a, b) = (row(&mut rng), row(&mut rng));
                    rows.push(lines.len());
                    let literals = [(); 2].map(|()| literal(&mut rng));
                    match kind {
                        5 => format!("math.exp {a}"),
                        6 => format!("math.maximum {a} {b}"),
                        7 => format!("core.presence_and {a} {mask}"),
                        8..10 => format!("core.where {mask} {a} {}", literals[0]),
                        10 => format!("core.where {mask} {a} {b}"),
                        11 => format!("math.minimum {a} {}", literals[0]),
                        12 => format!("math.divide {a} {}", literals[1]),
                        _ => format!("math.add {a} {b}"),
                    }
                }
            };
            lines.push(line);
        }
        let mut read = vec![*rows.last().expect("some"), rows[rows.len() / 2]];
        if round % 5 == 0 {
            read.push(lines.len());
            lines.push(format!("math._sum @{}", read[0]));
        }
        let outcome = Case::new(&inputs, &lines, &read).check().expect("nothing raises");
        assert_eq!(outcome[0].len(), count);
    }
}

/// Runs of all kinds on one frame in turn: rows that are all there, which strips take without asking more, and rows that are missing,
/// rare, none, more than a chunk, or not as many.
#[test]
fn runs_of_all_kinds_in_turn() {
    let mut rng = Rng::with_seed(0x1D);
    let programs: [(&[&str], &[usize]); 10] = [
        (&["math.subtract y x", "math.multiply @0 0.25", "math.add @1 x"], &[2]),
        (&["math.trig.sin x", "math.add @0 y", "math.multiply @1 @1"], &[2, 1]),
        (&["math.multiply x 2.0", "core._to_int32 @0"], &[1]),
        (&["core.less x y", "core.where @0 x 2.5", "core.presence_and y @0"], &[2, 1]),
        (&["math.maximum x y", "math._max @0", "math._min x", "array._count @0"], &[1, 2, 3, 0]),
        (&["math.multiply x y", "math._sum @0"], &[1]),
        (&["math.add x y"], &[0]),
        (&["math._mean x"], &[0]),
        (
            &["math.subtract x y", "math.multiply @0 @0", "math._sum @1", "math._mean @0", "math._sum x"],
            &[2, 3, 4],
        ),
        (&["core.less x y"], &[0]),
    ];
    let (mut passed, mut raised) = (0, 0);
    for (lines, read) in programs {
        let lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        let rows = |rng: &mut Rng, count: usize, rare: usize, gap: usize| {
            column(rng, ScalarType::Float64, count, |row| row + 1 == rare, |row| row % gap != gap - 1)
        };
        let one = rows(&mut rng, 1, 0, 64);
        let mut case = Case::new(&[("x", &one), ("y", &one)], &lines, read);
        for _ in 0..60 {
            let count = *rng.choice(&[0, 1, 8, 63, 64, 200, 1000, 3000, 65_536, 65_537]).expect("some");
            let of_y = if rng.u8(..12) == 0 { count + 1 } else { count };
            let rare = rng.usize(..3 * count + 1);
            let [x, y] = [(count, rare), (of_y, 0)].map(|(count, rare)| {
                let gap = *rng.choice(&[5, 64, count, usize::MAX, usize::MAX]).expect("some");
                rows(&mut rng, count, rare, gap.max(1))
            });
            for (name, value) in [("x", &x), ("y", &y)] {
                let slot = case.bound.input_slot(name).expect("an input");
                case.frame.write(slot, value).expect("a value of its type");
            }
            match case.check() {
                Ok(_) => passed += 1,
                Err(_) => raised += 1,
            }
        }
    }
    assert!(passed > 400 && raised > 30, "{passed} passed, {raised} raised");
}

/// A rare row at every place of a short column and around the ends of blocks, present or not.
#[test]
fn rare_rows_anywhere() {
    let lines =
        ["math.multiply x y", "math.trig.sin @0", "math.trig.cos @0", "math.multiply @1 @2", "math.add @3 x"];
    let lines = lines.map(str::to_owned);
    for count in [130, 3000, 20_000] {
        let mut rng = Rng::with_seed(7);
        let places: Vec<usize> = match count {
            130 => (0..count).collect(),
            // Strips take several blocks at a time.
            20_000 => vec![0, 1023, 8191, 8192, 8193, 9216, 16_383, 16_384, 19_999],
            _ => vec![0, 63, 64, 255, 256, 511, 512, 1023, 1024, 1025, 2047, 2048, 2999],
        };
        let y = column(&mut rng, ScalarType::Float64, count, |_| false, |row| row % 7 != 6);
        for place in places {
            for is_there in [true, false] {
                let x = column(
                    &mut rng,
                    ScalarType::Float64,
                    count,
                    |row| row == place,
                    |row| is_there || row != place,
                );
                let outcome = Case::new(&[("x", &x), ("y", &y)], &lines, &[4, 1]).check();
                assert_eq!(outcome.expect("nothing raises")[0].len(), count);
            }
        }
    }
}

/// The same of elements, in place, in another order, and repeated; what raises says where.
#[test]
fn rare_elements_anywhere() {
    let mut rng = Rng::with_seed(10);
    let shape = [150, 200];
    let y = elements(&mut rng, ScalarType::Float64, &[200]);
    let n = elements(&mut rng, ScalarType::Int64, &shape);
    for place in [None, Some(0), Some(1023), Some(8191), Some(8192), Some(16_400), Some(29_999)] {
        let cells = |rare: f64| {
            let x = |at: usize| if Some(at) == place { rare } else { at as f64 * 0.01 };
            (0..shape[0] * shape[1]).map(x).collect::<Vec<f64>>()
        };
        let array = |cells: &[f64]| {
            let qtype = NdType::new(ScalarType::Float64, 2, 0).expect("few axes");
            Value::NdArray(Arc::new(NdRows::from_slice(qtype, &shape, cells).expect("the shape fits")))
        };
        let x = array(&cells(1e10));
        for lines in [
            &["math.trig.sin x", "math.add @0 x"][..],
            &["math.trig.sin x", "math.add @0 y"],
            &["math.multiply x 2.0", "core._to_int32 @0"],
        ] {
            let lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
            let outcome = Case::new(&[("x", &x), ("y", &y)], &lines, &[1]).check();
            assert_eq!(outcome.is_ok(), place.is_none() || !lines[1].contains("int32"), "{lines:?}");
        }
        let divisors = (0..shape[0] * shape[1]).map(|at| i64::from(Some(at) != place)).collect::<Vec<_>>();
        let qtype = NdType::new(ScalarType::Int64, 2, 0).expect("few axes");
        let d =
            Value::NdArray(Arc::new(NdRows::from_slice(qtype, &shape, &divisors).expect("the shape fits")));
        let lines = ["math.floordiv x y".to_owned(), "math.add @0 x".to_owned()];
        let outcome = Case::new(&[("x", &n), ("y", &d)], &lines, &[1]).check();
        assert_eq!(outcome.is_ok(), place.is_none());
    }
}

/// A result that nobody reads has no more memory than a block.
#[test]
fn results_that_nobody_reads() {
    let mut rng = Rng::with_seed(9);
    for count in [3000, 20_000, 70_000] {
        let [x, y] = [0; 2].map(|_| column(&mut rng, ScalarType::Int64, count, |_| false, |_| true));
        for unread in ["math.floordiv x i64:7", "math.floordiv x x", "core._to_int32 x"] {
            let lines = [unread.to_owned(), "math.add y y".to_owned()];
            let outcome = Case::new(&[("x", &x), ("y", &y)], &lines, &[1]).check();
            if let Ok(found) = outcome {
                assert_eq!(found[0].len(), count, "{unread}");
            }
        }
    }
}

/// Few rows, so many that strips prefetch or stream them, and few again.
#[test]
fn rows_that_come_from_memory() {
    let mut rng = Rng::with_seed(0xfa);
    let lines = ["math.subtract x y", "math.multiply @0 y", "math._sum @0"];
    let lines = lines.map(str::to_owned);
    let mut columns = |rows| {
        [7, 11].map(|gap| column(&mut rng, ScalarType::Float64, rows, |_| false, |row| row % gap != 0))
    };
    let [few_x, few_y] = columns(1000);
    let [many_x, many_y] = columns(500_001);
    let mut case = Case::new(&[("x", &few_x), ("y", &few_y)], &lines, &[0, 1, 2]);
    for (x, y) in [(&few_x, &few_y), (&many_x, &many_y), (&few_x, &few_y), (&many_x, &many_y)] {
        for (name, value) in [("x", x), ("y", y)] {
            case.frame.write(case.bound.input_slot(name).expect("an input"), value).expect("rows");
        }
        let found = case.check().expect("nothing raises");
        assert_eq!(found[0].len(), cells(x).len());
    }
}

/// Regions whose rows are mostly rare go back to passes, and give the same.
#[test]
fn usual_rare_rows() {
    let mut rng = Rng::with_seed(8);
    let x = column(&mut rng, ScalarType::Float64, 200_000, |row| row % 100 == 0, |_| true);
    let lines = ["math.add x 1.0", "math.trig.tan @0", "math.multiply @1 x"].map(str::to_owned);
    let mut case = Case::new(&[("x", &x)], &lines, &[2]);
    let expected = case.run(Way { strips: Some(Strips::Never), threads: 1 });
    for _ in 0..20 {
        assert_eq!(case.run(Way { strips: Some(Strips::Auto), threads: 1 }), expected);
    }
}

/// Remainders and quotients of floats: every pair of special numbers, and pairs whose quotient is near a whole number or
/// far from one.
#[test]
fn remainders_of_floats() {
    const SPECIAL: [f64; 18] = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.1,
        -0.3,
        360.0,
        -7.5,
        1e-310,
        -5e-324,
        1e300,
        -1e300,
        4503599627370497.0,
        f64::MAX,
        f64::MIN_POSITIVE,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
    ];
    let mut rng = Rng::with_seed(0x5e);
    let mut pairs: Vec<(f64, f64)> = SPECIAL.iter().flat_map(|x| SPECIAL.map(|y| (*x, y))).collect();
    let number = |rng: &mut Rng, exponent: i32| (rng.f64() - 0.5) * 2f64.powi(exponent);
    for _ in 0..20_000 {
        let exponent = rng.i32(-60..60);
        let distance = rng.i32(-3..60);
        let y = number(&mut rng, exponent);
        pairs.push((number(&mut rng, exponent + distance), y));
        // Near a multiple, on either side.
        let multiple = y * f64::from(rng.i32(-1000..1000));
        pairs.push((f64::from_bits(multiple.to_bits().wrapping_add_signed(rng.i64(-2..3))), y));
    }
    for element in [ScalarType::Float64, ScalarType::Float32] {
        let rows = |pick: fn(&(f64, f64)) -> f64, pairs: &[(f64, f64)]| {
            let cells: Vec<_> = pairs.iter().map(|pair| Some(cell(element, pick(pair)))).collect();
            Value::Array(ArrayClass::Dense, Arc::new(ArrayRows::from_values(element, &cells)))
        };
        let usable = |pair: &&(f64, f64)| cell(element, pair.1).as_f64() != Some(0.0);
        let divisors: Vec<(f64, f64)> = pairs.iter().filter(usable).copied().collect();
        for (operator, pairs) in
            [("math.fmod", &pairs), ("math.mod", &divisors), ("math.floordiv", &divisors)]
        {
            let (x, y) = (rows(|pair| pair.0, pairs), rows(|pair| pair.1, pairs));
            let lines = [format!("{operator} x y"), "math.add @0 x".to_owned()];
            let found = Case::new(&[("x", &x), ("y", &y)], &lines, &[0, 1]).check().expect("no zero divisor");
            if operator == "math.fmod" {
                for (row, pair) in pairs.iter().enumerate() {
                    let expected = match element {
                        ScalarType::Float32 => ScalarValue::Float32(pair.0 as f32 % pair.1 as f32),
                        _ => ScalarValue::Float64(pair.0 % pair.1),
                    };
                    assert_eq!(found[0][row], Some(bits(&expected)), "{pair:?} of {element}");
                }
            }
        }
    }
}

/// Sums, extremes and truths of integers over many leaves, whose order does not count: lengths around leaves and calls.
#[test]
fn folds_of_integers_over_many_leaves() {
    let mut rng = Rng::with_seed(0x1f);
    for count in [1, 127, 128, 129, 1000, 4095, 4096, 4097, 4230, 10_000, 70_001] {
        for gaps in [usize::MAX, 5] {
            let values: Vec<Option<i64>> =
                (0..count).map(|row| (row % gaps != gaps - 1).then(|| rng.i64(..))).collect();
            let cells: Vec<_> = values.iter().map(|value| value.map(ScalarValue::Int64)).collect();
            let rows = ArrayRows::from_values(ScalarType::Int64, &cells);
            let x = Value::Array(ArrayClass::Dense, Arc::new(rows));
            let lines = ["math.add x i64:3", "math._sum @0", "math._max x", "math._min @0"];
            let lines = lines.map(str::to_owned);
            let found = Case::new(&[("x", &x)], &lines, &[1, 2, 3]).check().expect("nothing raises");
            let present = || values.iter().flatten().copied();
            let sum = present().fold(0_i64, |sum, value| sum.wrapping_add(value).wrapping_add(3));
            let greatest = present().max().expect("a value");
            let least = present().map(|value| value.wrapping_add(3)).min().expect("a value");
            let expected = [sum, greatest, least].map(|value| vec![Some(value as u64)]);
            assert_eq!(found, expected, "{count} rows");
        }
    }
}

/// Extremes of floats: the first of several zeros is the result, whatever lanes they stood in, and NaN wins; missing rows
/// are none of them. Lengths around groups, leaves and calls.
#[test]
fn extremes_keep_the_first_zero_and_nan() {
    let mut rng = Rng::with_seed(0x2a);
    for element in [ScalarType::Float64, ScalarType::Float32] {
        for count in (1..40).chain([63, 64, 65, 127, 128, 200, 4097, 66_000]) {
            for gaps in [usize::MAX, 2, 5] {
                let special = [0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
                let special = &special[..rng.usize(1..=special.len())];
                let sign = if rng.bool() { 1.0 } else { -1.0 };
                let every = rng.usize(1..20);
                let cells: Vec<Option<ScalarValue>> = (0..count)
                    .map(|row| {
                        let x = match rng.usize(..every) {
                            0 => *rng.choice(special).expect("some"),
                            _ => sign * f64::from(rng.i32(1..9)),
                        };
                        (row % gaps != gaps - 1).then(|| cell(element, x))
                    })
                    .collect();
                let rows = ArrayRows::from_values(element, &cells);
                let x = Value::Array(ArrayClass::Dense, Arc::new(rows));
                let lines = [
                    "math._max x",
                    "math._min x",
                    "math.neg x",
                    "math._max @2",
                    "math._min @2",
                    "math._sum @2",
                ];
                let lines = lines.map(str::to_owned);
                let mut case = Case::new(&[("x", &x)], &lines, &[0, 1, 3, 4, 5]);
                let found = case.check().expect("nothing raises");
                let present: Vec<f64> = cells
                    .iter()
                    .flatten()
                    .map(|cell| match cell {
                        ScalarValue::Float32(x) => f64::from(*x),
                        ScalarValue::Float64(x) => *x,
                        other => panic!("{other:?} is no float"),
                    })
                    .collect();
                let best = |is_better: fn(f64, f64) -> bool, negated: bool| {
                    let values = present.iter().map(|x| if negated { -x } else { *x });
                    let best = values.reduce(|best, x| {
                        if !best.is_nan() && (x.is_nan() || is_better(x, best)) { x } else { best }
                    });
                    vec![best.map(|best| bits(&cell(element, best)))]
                };
                let (greater, less) = (|x: f64, y: f64| x > y, |x: f64, y: f64| x < y);
                let expected =
                    [(greater as fn(f64, f64) -> bool, false), (less, false), (greater, true), (less, true)];
                let expected = expected.map(|(is_better, negated)| best(is_better, negated));
                assert_eq!(found[..4], expected, "{count} rows of {element}, {special:?}");
            }
        }
    }
}

/// Counts of what comparisons say, and whether one or all rows hold.
#[test]
fn counts_of_computed_masks() {
    let mut rng = Rng::with_seed(0x3b);
    for element in [ScalarType::Float64, ScalarType::Float32, ScalarType::Int64, ScalarType::Int32] {
        for count in (1..40).chain([63, 64, 65, 127, 200, 1025, 4097, 66_000, 131_072]) {
            for (gaps, limit) in
                [(usize::MAX, 500), (3, 500), (7, 2000), (usize::MAX, 2000), (usize::MAX, -1)]
            {
                let cells: Vec<Option<i32>> =
                    (0..count).map(|row| (row % gaps != gaps - 1).then(|| rng.i32(..1000).abs())).collect();
                let values: Vec<_> = cells.iter().map(|x| x.map(|x| cell(element, f64::from(x)))).collect();
                let x = Value::Array(ArrayClass::Dense, Arc::new(ArrayRows::from_values(element, &values)));
                let prefix = match element {
                    ScalarType::Float64 => "",
                    ScalarType::Float32 => "f32:",
                    ScalarType::Int64 => "i64:",
                    _ => "i32:",
                };
                let lines = [
                    format!("core.less x {prefix}{limit}"),
                    "array._count @0".to_owned(),
                    "core._any_row @0".to_owned(),
                    "core._all_rows @0".to_owned(),
                    "core.presence_and x @0".to_owned(),
                    "math._sum @4".to_owned(),
                ];
                let mut case = Case::new(&[("x", &x)], &lines, &[1, 5]);
                let found = case.check().expect("nothing raises");
                let holds = cells.iter().flatten().filter(|x| **x < limit).count();
                assert_eq!(found[0], [Some(holds as u64)], "{count} rows of {element}");
                let mut case = Case::new(&[("x", &x)], &lines[..4], &[1, 2, 3]);
                let found = case.check().expect("nothing raises");
                let unit = |holds: bool| vec![holds.then_some(1)];
                let expected = [vec![Some(holds as u64)], unit(holds > 0), unit(holds == count)];
                assert_eq!(found, expected, "{count} rows of {element} below {limit}");
            }
        }
    }
}

/// An array with axes of this shape.
fn elements(rng: &mut Rng, element: ScalarType, shape: &[usize]) -> Value {
    fn array<T: NdCell>(element: ScalarType, shape: &[usize], cell: impl FnMut() -> T) -> Value {
        let qtype = NdType::new(element, shape.len(), 0).expect("few axes");
        let cells: Vec<T> = std::iter::repeat_with(cell).take(shape.iter().product()).collect();
        Value::NdArray(Arc::new(NdRows::from_slice(qtype, shape, &cells).expect("the shape fits")))
    }
    match element {
        ScalarType::Float64 => array(element, shape, || rng.f64() * 6.0 - 3.0),
        ScalarType::Float32 => array(element, shape, || rng.f32() * 6.0 - 3.0),
        ScalarType::Int64 => array(element, shape, || rng.i64(..)),
        _ => array(element, shape, || rng.i32(..)),
    }
}

/// Sums over pairs, in 32 running sums for each 65,536 elements: of what is computed, and beside other folds. Lengths around
/// groups, eights of lanes, calls and chunks.
#[test]
fn sums_of_pairs_have_the_bits_of_passes() {
    let mut rng = Rng::with_seed(0x4c);
    let few = (1..70).map(|count| vec![count]);
    let many = [127, 128, 1000, 4096, 4097, 65_535, 65_536, 65_537, 70_008, 131_072, 140_003];
    let planes = [[3, 5], [8, 8], [40, 13], [7, 100], [300, 64], [11, 1001], [3, 65_544]];
    let shapes = few.chain(many.map(|count| vec![count])).chain(planes.map(|plane| plane.to_vec()));
    for shape in shapes {
        for element in [ScalarType::Float64, ScalarType::Float32, ScalarType::Int64, ScalarType::Int32] {
            let x = elements(&mut rng, element, &shape);
            let y = elements(&mut rng, element, &shape);
            let lines = [
                "math.multiply x y",
                "math.add @0 y",
                "nd.dot @1 x",
                "nd.squared_distance y @1",
                "nd.squared_distance @0 @1",
                "nd.dot x x",
            ];
            let lines = lines.map(str::to_owned);
            for read in [&[2][..], &[3], &[2, 3, 4, 5], &[5, 4]] {
                let count = read.iter().max().expect("some") + 1;
                Case::new(&[("x", &x), ("y", &y)], &lines[..count], read).check().expect("nothing raises");
            }
        }
    }
}

/// One operator alone runs as a strip.
#[test]
fn one_operator_over_axes() {
    let mut rng = Rng::with_seed(0x1a);
    for element in [ScalarType::Float64, ScalarType::Int32] {
        for shape in [&[400][..], &[7, 60], &[5, 3, 20]] {
            let [x, y] = [0; 2].map(|_| elements(&mut rng, element, shape));
            let mut case = Case::new(&[("x", &x), ("y", &y)], &["math.subtract x y".to_owned()], &[0]);
            let regions = case.bound.regions();
            assert_eq!((regions.len(), regions[0].strips.len()), (1, 1), "{shape:?}");
            case.check().expect("no error");
        }
    }
}

/// The same over rows, which may be missing or rare, and of what becomes one value.
#[test]
fn one_operator_over_rows() {
    let mut rng = Rng::with_seed(0x1b);
    let is_float = |element| matches!(element, ScalarType::Float64 | ScalarType::Float32);
    for element in [ScalarType::Float64, ScalarType::Float32, ScalarType::Int64, ScalarType::Int32] {
        let operators: &[(&str, usize)] = if is_float(element) { &OF_FLOATS } else { &OF_INTEGERS };
        let others = ["core.where", "core.presence_and", "core._to_int64", "core._to_int32"];
        let lines = operators.iter().filter(|(name, _)| !others.contains(name));
        let lines = lines.map(|(name, arity)| format!("{name} {}", ["x", "x y"][arity - 1]));
        let folds = FOLDS.iter().filter(|fold| is_float(element) || **fold != "math._mean");
        let folds = folds.map(|fold| format!("{fold} x"));
        let more = ["core.less x y", "core.presence_or x y"].map(str::to_owned);
        for line in lines.chain(folds).chain(more) {
            for count in [1usize, 8, 130, 1000, 2049, 5000] {
                for (rare, gap) in [(0, usize::MAX), (0, 3), (count.div_ceil(2), usize::MAX), (7, 64)] {
                    let is_rare = |row| rare > 0 && row % rare == rare - 1;
                    let x = column(&mut rng, element, count, is_rare, |row| row % gap != gap - 1);
                    let y = column(&mut rng, element, count, |_| false, |row| (row + 1) % gap != 0);
                    let mut case = Case::new(&[("x", &x), ("y", &y)], std::slice::from_ref(&line), &[0]);
                    if let Ok(found) = case.check() {
                        assert_eq!(found.len(), 1, "{line}");
                    }
                }
            }
        }
    }
}

/// Operands that have some of the axes of a result: by their types along any of them, in arrays of few elements, which are laid out, and
/// of many. Runs on one frame in turn, with other sizes.
#[test]
fn operands_with_some_axes() {
    /// Sizes of an array that repeats along its unit axes, in a result of these sizes.
    fn sizes_of(qtype: NdType, sizes: &[usize]) -> Vec<usize> {
        let first = sizes.len() - qtype.rank();
        (0..qtype.rank()).map(|axis| if qtype.is_unit(axis) { 1 } else { sizes[first + axis] }).collect()
    }
    /// The cell of an array that stands at a place of the result.
    fn cell_at(shape: &[usize], cells: &[i32], place: &[usize]) -> i32 {
        let of = &place[place.len() - shape.len()..];
        let index = shape.iter().zip(of).fold(0, |index, (size, at)| index * size + at % size);
        cells[index]
    }
    let mut rng = Rng::with_seed(0x2e);
    let mut checked = 0;
    for _ in 0..60 {
        let rank = rng.usize(1..4);
        let types: Vec<NdType> = (0..3)
            .map(|_| {
                let rank = if rng.bool() { rank } else { rng.usize(1..=rank) };
                let unit_in = if rng.bool() { 3 } else { 100 };
                let units: Vec<bool> = (0..rank).map(|_| rng.usize(..unit_in) == 0).collect();
                NdType::of_axes(ScalarType::Int32, units).expect("few axes")
            })
            .collect();
        let read: &[usize] = if rng.bool() { &[1] } else { &[0, 1] };
        let lines = ["math.multiply x y", "math.add @0 z"].map(str::to_owned);
        let mut case: Option<Case> = None;
        for _ in 0..4 {
            let most = if rng.u8(..4) == 0 { 30 } else { 9 };
            let mut sizes: Vec<usize> = (0..rank).map(|_| rng.usize(1..most)).collect();
            // Along axes that no array has, there is one element.
            for (axis, size) in sizes.iter_mut().enumerate() {
                let has = |t: &NdType| (axis + t.rank()).checked_sub(rank).is_some_and(|own| !t.is_unit(own));
                if !types.iter().any(has) {
                    *size = 1;
                }
            }
            let arrays: Vec<(Vec<usize>, Vec<i32>)> = types
                .iter()
                .map(|qtype| {
                    let shape = sizes_of(*qtype, &sizes);
                    let cells = std::iter::repeat_with(|| rng.i32(..)).take(shape.iter().product()).collect();
                    (shape, cells)
                })
                .collect();
            let array = |(qtype, (shape, cells)): (&NdType, &(Vec<usize>, Vec<i32>))| {
                let rows = NdRows::from_slice(*qtype, shape, cells).expect("the shape fits");
                Value::NdArray(Arc::new(rows))
            };
            let values: Vec<Value> = types.iter().zip(&arrays).map(array).collect();
            let named = ["x", "y", "z"].into_iter().zip(&values);
            let case =
                case.get_or_insert_with(|| Case::new(&named.clone().collect::<Vec<_>>(), &lines, read));
            for (name, value) in named {
                let slot = case.bound.input_slot(name).expect("an input");
                case.frame.write(slot, value).expect("a value of its type");
            }
            let found = case.check().expect("the shapes fit");
            let [x, y, z] = [0, 1, 2].map(|number| &arrays[number]);
            let result = found.last().expect("a result");
            let of_rank = types.iter().map(|t| t.rank()).max().expect("three");
            let sizes = &sizes[rank - of_rank..];
            assert_eq!(result.len(), sizes.iter().product::<usize>());
            for (index, cell) in result.iter().enumerate() {
                let mut rest = index;
                let mut place = vec![0; sizes.len()];
                for (at, size) in place.iter_mut().zip(sizes).rev() {
                    (*at, rest) = (rest % size, rest / size);
                }
                let [x, y, z] = [x, y, z].map(|(shape, cells)| cell_at(shape, cells, &place));
                let expected = x.wrapping_mul(y).wrapping_add(z);
                assert_eq!(*cell, Some(bits(&ScalarValue::Int32(expected))), "{types:?} {sizes:?} {place:?}");
            }
            checked += 1;
        }
    }
    assert_eq!(checked, 240);
}
