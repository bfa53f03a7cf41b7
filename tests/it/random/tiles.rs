//! Tile regions against operators one by one: the same bits whatever the size of blocks, the presence of
//! rows and the number of threads.
//!
//! An observed run executes instruction by instruction, each operator on whole arrays; it is the reference. Where a
//! program works row by row, the scalar program of a row is another. Rows are lent with gaps, backwards, at odd
//! addresses and behind bitmaps that begin at any bit; of a hundred programs one has 100,000 rows.
//!
//! `CEMBRA_RANDOM_PROGRAMS=80000` tries more programs than the usual run and says how many there were.

use crate::random::arrays;
use crate::random::generate::{self, Sample, sample};
use crate::support::run;
use cembra::compile::{Options, compile};
use cembra::prepare::{Prepare, Source};
use cembra::registry::Dialect;
use cembra::vm::machine::{BoundExpr, CallError, Profile, RunOptions};
use cembra::vm::value::{ArrayClass, ArrayRows, ArrayType, NdView, QType, ScalarType, ScalarValue, Value};
use fastrand::Rng;
use std::collections::HashMap;
use std::sync::Arc;

const FIRST: u64 = 0x711e;
/// Programs tried in the usual run.
const PROGRAMS: u64 = 2_000;
/// Rows of a large array that are compared with the scalar program.
const ROWS: usize = 96;
/// Around the words of presence and the ends of blocks of all sizes.
const SIZES: [usize; 18] =
    [0, 1, 2, 63, 64, 65, 127, 128, 129, 255, 257, 511, 512, 513, 1023, 1024, 1025, 2049];
/// More rows than one chunk has.
const LARGE: usize = 100_000;

/// Reductions and what is computed of them, on leaves `x`, `y` and `n`, which are arrays, `c`, an optional, and `d`.
const REDUCTIONS: &[&str] = &[
    "math.sum(x * y)",
    "math.sum(n * n) + math.sum(n)",
    "math.mean(x) + math.mean(x * x)",
    "(x - math.mean(x)) / math.sqrt(math.mean(x * x))",
    "array.count(x + y) + array.count(n)",
    "core.where(core.all(core.has(x)), 1.0, 2.0)",
    "core.where(core.any(x > y), x, y)",
    "core.make_tuple(x + y, math.sum(x + y), math.mean(y - x), array.count(x & (x > 0.5)))",
    "math.sum(core.to_float32(x) * 2.5)",
    "x / math.max(x) - math.min(y)",
    "math.sum(core.where(x > y, x, y)) - math.sum(core.where(x > y, y, x))",
    "math.cum_sum(x * y) * 2.0 + x",
    "math.cum_sum(x) / (array.cum_count(x) + 1) - math.cum_sum(y)",
    "math.cum_sum(core.to_float32(x)) * y + math.sum(x * math.cum_sum(x + y))",
    "core.make_tuple(math.cum_sum(core.to_int32(n)) * 3 + array.agg_index(x), array.cum_count(x > y) * n, math.cum_sum(n))",
    "math.cum_max(x) - x + math.cum_max(core.to_float32(y)) * math.cum_sum(x)",
    "core.make_tuple(math.cum_max(n) - n, math.cum_max(core.to_int32(n) | c), math.cum_max(x * y))",
    "math.exp(math.cum_sum(math.log(math.abs(x) + 1.0)) * -0.1) + math.mean(y)",
    "math.cum_sum(math.cum_sum(x) - y) + math.cum_sum(c + x) * math.max(y)",
    "n // (n | 1)",
    "math.sum(bitwise.count(n * 6364136223846793005)) + math.sum(bitwise.count(core.to_int32(n)) * 3)",
    "((1.5 * x - 0.5) * x + 2.0) * x + math.sum(y)",
    "(((x * y + 1.0) * y - 0.25) * y + 3.0) * y",
    "((x * y + c) * y - d) * y + math.sum((c * x + d) * x - c)",
    "(x - math.mean(x)) / math.std(x) + math.var(y, unbiased=false)",
    "math.sum((x - math.mean(x)) * (y - math.mean(y))) / math.sum((x - math.mean(x)) * (x - math.mean(x)))",
    "math.correlation(x, y) + math.covariance(y, c + x)",
    "x - 0.5 * core.to_float64(array.iota(core.shape_of(x))) + math.sum(n * array.iota(core.shape_of(x * y)))",
    "math.exp(y * 0.1) / math.sqrt(math.sum(x * x)) + math.cum_sum(y - math.mean(x))",
    "core.make_tuple(x - math.mean(x), y * 2.0, math.mean(y), (x + 1.0) / math.max(y), math.sum(x - math.min(y)), c)",
    "core.make_tuple(math.median(x), math.prod(y), math.argmax(x), math.argmin(n), math.cum_sum(n), math.cum_max(y))",
    "core.make_tuple(y / (x * 3.0 + y), (x * y + 2.0) / x, 1.0 / (0.25 * x + 1.0))",
];

fn bind(source: Source) -> Option<BoundExpr> {
    let prepared = Prepare::standard().run(source).ok()?;
    let options = Options { check_slots: true, ..Options::default() };
    Some(compile(&prepared, &options).unwrap_or_else(|e| panic!("{e}\n{prepared}")))
}

/// Rows of numbers as a host may have them: with gaps, backwards, at odd addresses, behind a bitmap that
/// begins at any bit.
struct Lent {
    element: ScalarType,
    bytes: Vec<u8>,
    start: usize,
    step: isize,
    len: usize,
    bitmap: Option<(Vec<u8>, usize)>,
}

impl Lent {
    fn new(rng: &mut Rng, rows: &ArrayRows) -> Option<Lent> {
        let (element, len) = (rows.element().storage(), rows.len());
        let size = match element {
            ScalarType::Int32 | ScalarType::Float32 => 4,
            ScalarType::Int64 | ScalarType::Float64 => 8,
            _ => return None,
        };
        let gap = size * rng.usize(0..2) + rng.usize(0..2) * rng.usize(0..3);
        let (shift, step) = (rng.usize(0..2) * rng.usize(0..9), size + gap);
        let backwards = rng.u8(0..4) == 0;
        let mut bytes = vec![0xAA; shift + len * step];
        let offset = rng.usize(0..70);
        let mut bitmap = vec![0x55; (offset + len).div_ceil(8)];
        for row in 0..len {
            let place = if backwards { len - 1 - row } else { row };
            let cell = &rows.bytes()[row * size..][..size];
            bytes[shift + place * step..][..size].copy_from_slice(cell);
            let (byte, bit) = ((offset + row) / 8, (offset + row) % 8);
            bitmap[byte] = bitmap[byte] & !(1 << bit) | u8::from(rows.is_present(row)) << bit;
        }
        let last = shift + len.saturating_sub(1) * step;
        let (start, step) = if backwards { (last, -(step as isize)) } else { (shift, step as isize) };
        let bitmap = (rows.presence().is_some() || rng.bool()).then_some((bitmap, offset));
        Some(Lent { element, bytes, start, step, len, bitmap })
    }

    fn view(&self) -> NdView<'_> {
        let view = NdView::new(self.element, &self.bytes, self.start, &[self.len], &[self.step]);
        let view = view.expect("the rows are there");
        match &self.bitmap {
            Some((bitmap, offset)) => view.with_validity(bitmap, *offset).expect("the bits are there"),
            None => view,
        }
    }
}

/// Runs on rows that are lent for the call, twice on one frame, the second time observed.
fn run_lent(bound: &BoundExpr, values: &HashMap<String, Value>, rng: &mut Rng) -> Result<Value, CallError> {
    let lent: HashMap<&str, Lent> = values
        .iter()
        .filter_map(|(name, value)| match value {
            Value::Array(_, rows) => Some((name.as_str(), Lent::new(rng, rows)?)),
            _ => None,
        })
        .collect();
    let mut frame = bound.new_frame().expect("memory");
    let mut results = Vec::new();
    for is_observed in [false, true] {
        let mut profile = Profile::default();
        let views: HashMap<&str, NdView<'_>> = lent.iter().map(|(name, lent)| (*name, lent.view())).collect();
        let mut call = bound.call(&mut frame);
        if is_observed {
            call = call.options(RunOptions::new().observer(&mut profile));
        }
        for (name, value) in values {
            let Ok(slot) = bound.input_slot(name) else { continue };
            call = match views.get(name.as_str()) {
                Some(view) => call.input(slot, view)?,
                None => call.value(slot, value)?,
            };
        }
        results.push(call.run()?.read(bound.output_slot())?);
        // Nothing that was lent stays behind.
        let is_lent = |name: &str| values.contains_key(name) && lent.contains_key(name);
        let inputs = bound.program().main().inputs.iter();
        if inputs.clone().any(|(name, _)| is_lent(name)) {
            assert!(matches!(bound.execute(&mut frame), Err(e) if e.to_string().contains("missing input")));
        }
    }
    assert!(same(&results[0], &results[1]), "one {}\nobserved {}", results[0], results[1]);
    Ok(results.swap_remove(0))
}

/// Rows drawn from a few values, all present, all missing, or at random.
fn column(rng: &mut Rng, qtype: ArrayType, size: usize, fewest: Option<()>) -> Value {
    let optional = QType::Optional(qtype.element);
    let types: HashMap<String, QType> = [("v".to_owned(), optional)].into();
    let pool: Vec<Option<ScalarValue>> =
        (0..40).map(|_| generate::inputs(rng, &types)["v"].scalar().cloned()).collect();
    let present: Vec<&Option<ScalarValue>> = pool.iter().filter(|v| v.is_some()).collect();
    let kind = rng.u8(if fewest.is_some() { 0..2 } else { 0..4 });
    let row = |rng: &mut Rng| match kind {
        0 | 1 if !present.is_empty() => present[rng.usize(0..present.len())].clone(),
        2 => None,
        _ => pool[rng.usize(0..pool.len())].clone(),
    };
    let rows: Vec<Option<ScalarValue>> = (0..size).map(|_| row(rng)).collect();
    Value::Array(qtype.class, Arc::new(ArrayRows::from_values(qtype.element, &rows)))
}

/// Compares the ways of running; gives the value, if there is one.
fn check(
    bound: &BoundExpr,
    values: &HashMap<String, Value>,
    rng: &mut Rng,
    what: &dyn Fn() -> String,
) -> Option<Value> {
    let lent = run_lent(bound, values, rng);
    let fused = run(bound, values, RunOptions::new());
    let threaded = run(bound, values, RunOptions::new().threads(3));
    let mut profile = Profile::default();
    let stepped = run(bound, values, RunOptions::new().observer(&mut profile));
    match (fused, &stepped, &threaded) {
        (Ok(fused), Ok(stepped), Ok(threaded)) => {
            let lent = lent.unwrap_or_else(|e| panic!("{}\nlent: {e}", what()));
            assert!(same(&fused, &lent), "{}\nfused {fused}\nlent {lent}", what());
            assert!(same(&fused, stepped), "{}\nfused {fused}\nstepped {stepped}", what());
            assert!(same(&fused, threaded), "{}\nfused {fused}\nthreads {threaded}", what());
            Some(fused)
        }
        (Err(fused), Err(_), Err(threaded)) => {
            assert_eq!(fused.to_string(), threaded.to_string(), "{}", what());
            assert_eq!(lent.err().map(|e| e.to_string()), Some(fused.to_string()), "{}", what());
            None
        }
        (fused, ..) => panic!("{}\nfused {fused:?}\nstepped {stepped:?}\nthreads {threaded:?}", what()),
    }
}

/// Bit for bit, but every NaN is the same.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Array(_, a), Value::Array(_, b)) => {
            let nan = |v: &ScalarValue| v.as_f64().is_some_and(f64::is_nan);
            a.len() == b.len()
                && a.iter().zip(b.iter()).all(|(a, b)| match (a, b) {
                    (Some(a), Some(b)) => a == b || nan(&a) && nan(&b),
                    (a, b) => a.is_none() && b.is_none(),
                })
        }
        (a, b) => a == b || a.to_string() == b.to_string(),
    }
}

/// Programs that were compared: with their operators, and of these with the scalar program of a row.
#[derive(Clone, Copy, Debug, Default)]
struct Compared {
    programs: u64,
    by_rows: u64,
}

#[test]
fn random_regions_give_what_their_operators_give() {
    let asked = std::env::var("CEMBRA_RANDOM_PROGRAMS").ok().and_then(|count| count.parse::<u64>().ok());
    let tried = asked.unwrap_or(PROGRAMS);
    let threads = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    let compared: Vec<Compared> = std::thread::scope(|scope| {
        let part = |thread| {
            move || (FIRST + thread..FIRST + tried).step_by(threads as usize).map(random).collect::<Vec<_>>()
        };
        let parts: Vec<_> = (0..threads).map(|thread| scope.spawn(part(thread))).collect();
        parts.into_iter().flat_map(|part| part.join().expect("all programs agree")).collect()
    });
    let programs: u64 = compared.iter().map(|c| c.programs).sum();
    let by_rows: u64 = compared.iter().map(|c| c.by_rows).sum();
    assert!(
        programs > tried / 4 && by_rows > tried / 5,
        "only {programs} programs were compared, {by_rows} by rows"
    );
    if asked.is_some() {
        println!("{tried} programs tried, {programs} compared, {by_rows} by rows");
    }
}

fn random(number: u64) -> Compared {
    let mut rng = Rng::with_seed(number);
    let sample = sample(&mut rng, 24);
    let mut types = sample.leaves.clone();
    let mut names: Vec<String> = types.keys().cloned().collect();
    names.sort();
    for name in &names {
        let qtype = types.get_mut(name).expect("a leaf");
        if let Some(element) = qtype.scalar().filter(|_| rng.u8(0..4) > 0) {
            *qtype = QType::Array(ArrayType { class: ArrayClass::Dense, element });
        }
    }
    let leaves: Vec<(&str, QType)> = names.iter().map(|n| (n.as_str(), types[n].clone())).collect();
    let source = Source::new(sample.expr.clone(), leaves).dialect(sample.dialect);
    let Some(bound) = bind(source).filter(|bound| !bound.regions().is_empty()) else {
        return Compared::default();
    };
    let size = match rng.u8(0..100) {
        0 => LARGE,
        _ => SIZES[rng.usize(0..SIZES.len())],
    };
    let mut values = generate::inputs(
        &mut rng,
        &types.iter().filter(|(_, t)| t.array().is_none()).map(|(n, t)| (n.clone(), t.clone())).collect(),
    );
    for name in &names {
        if let Some(array) = types[name].array() {
            values.insert(name.clone(), column(&mut rng, array, size, None));
        }
    }
    let what = || format!("program {number}, {size} rows: {}\n{}", sample.expr, names.len());
    match check(&bound, &values, &mut rng, &what) {
        Some(Value::Array(_, found)) if arrays::is_row_by_row(&sample.expr) => {
            assert_eq!(found.len(), size, "{}", what());
            Compared { programs: 1, by_rows: agree_with_rows(&sample, &types, &values, &found, &mut rng) }
        }
        value => Compared { programs: value.map_or(0, |_| 1), by_rows: 0 },
    }
}

/// Compares rows with the scalar program; 1 if there is one and it does not raise.
fn agree_with_rows(
    sample: &Sample,
    types: &HashMap<String, QType>,
    values: &HashMap<String, Value>,
    found: &ArrayRows,
    rng: &mut Rng,
) -> u64 {
    let row_types = arrays::row_types(types);
    let Some(of_rows) = arrays::bind(&sample.expr, &row_types, sample.dialect) else { return 0 };
    let size = found.len();
    let some = || rng.usize(0..size);
    let rows: Vec<usize> = match size {
        0..=ROWS => (0..size).collect(),
        _ => [0, size - 1].into_iter().chain(std::iter::repeat_with(some).take(ROWS)).collect(),
    };
    for row in rows {
        let one = |(name, value): (&String, &Value)| {
            let value = match value {
                Value::Array(_, rows) => row_of(rows, row, &row_types[name]),
                other => other.clone(),
            };
            (name.clone(), value)
        };
        let inputs: HashMap<String, Value> = values.iter().map(one).collect();
        // An assertion that does not hold raises for a row, and gives arrays a missing one.
        let Some(expected) = arrays::run(&of_rows, &inputs) else { return 0 };
        assert!(
            arrays::same(found.get(row).as_ref(), expected.scalar()),
            "row {row} of {size}:\n{}\n{inputs:?}\nfound {:?}\nexpected {expected:?}",
            sample.expr,
            found.get(row)
        );
    }
    1
}

fn row_of(rows: &ArrayRows, row: usize, qtype: &QType) -> Value {
    match (rows.get(row), qtype) {
        (Some(value), _) => Value::Present(value),
        (None, QType::Optional(element)) => Value::Missing(*element),
        (None, other) => unreachable!("rows are optional, not {other}"),
    }
}

#[test]
fn reductions_do_not_depend_on_blocks_or_threads() {
    let array = |element| QType::Array(ArrayType { class: ArrayClass::Dense, element });
    let leaves = [
        ("x", array(ScalarType::Float64)),
        ("y", array(ScalarType::Float64)),
        ("n", array(ScalarType::Int64)),
        ("c", QType::Optional(ScalarType::Float64)),
        ("d", QType::Scalar(ScalarType::Float64)),
    ];
    let mut rng = Rng::with_seed(FIRST);
    let mut compared = 0;
    for text in REDUCTIONS {
        let expr = cembra::syntax::parse(text).unwrap_or_else(|e| panic!("{text}: {e}"));
        let used = expr.leaves();
        let inputs = leaves.iter().filter(|(name, _)| used.iter().any(|u| **u == **name)).cloned();
        let bound =
            bind(Source::new(expr, inputs).dialect(Dialect::Cembra)).unwrap_or_else(|| panic!("{text}"));
        for size in SIZES.into_iter().chain([LARGE, 2 * LARGE]) {
            for fewest in [None, Some(())] {
                let values: HashMap<String, Value> = leaves
                    .iter()
                    .map(|(name, t)| {
                        let value = match t.array() {
                            Some(qtype) => column(&mut rng, qtype, size, fewest),
                            None if t.is_optional() => Value::from(rng.bool().then_some(0.5)),
                            None => Value::from(-1.5),
                        };
                        ((*name).to_owned(), value)
                    })
                    .collect();
                let value = check(&bound, &values, &mut rng, &|| format!("{text}, {size} rows"));
                compared += u64::from(value.is_some());
            }
        }
    }
    assert!(compared > 400, "only {compared}");
}
