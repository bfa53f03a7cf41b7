//! N-dimensional programs against scalar ones: every element of the result is what the scalar program gives for the
//! elements of the inputs at its place. Inputs lie in memory in any order.

use crate::support;
use cembra::compile::{Options, compile};
use cembra::prepare::{Prepare, Source};
use cembra::registry::{Dialect, Registry};
use cembra::syntax::{Limits, parse_with};
use cembra::vm::machine::{BoundExpr, Profile, Room, RunOptions};
use cembra::vm::value::nd_type::ND_ELEMENTS;
use cembra::vm::value::{NdRows, NdType, NdView, QType, ScalarType, ScalarValue, Value};
use fastrand::Rng;
use std::sync::Arc;

const FIRST: u64 = 0x4d5e;
const PROGRAMS: u64 = 6_000;
const LEAVES: [&str; 3] = ["x", "y", "z"];

/// A random expression on the leaves.
fn expression(rng: &mut Rng, depth: u32) -> String {
    if depth == 0 || rng.u8(0..8) == 0 {
        return LEAVES[rng.usize(0..LEAVES.len())].to_owned();
    }
    let mut part = || expression(rng, depth - 1);
    let (a, b, c) = (part(), part(), part());
    let forms = [
        format!("({a} + {b})"),
        format!("({a} - {b})"),
        format!("({a} * {b})"),
        format!("({a} / {b})"),
        format!("({a} // {b})"),
        format!("({a} % {b})"),
        format!("math.minimum({a}, {b})"),
        format!("math.maximum({a}, {b})"),
        format!("(-{a})"),
        format!("math.abs({a})"),
        format!("math.sqrt({a})"),
        format!("math.exp({a})"),
        format!("core.to_int64({a})"),
        format!("core.to_float32({a})"),
        format!("bool.logical_not(bool.equal({a}, {b}))"),
        format!("nd.where(bool.less({a}, {b}), {c}, {a})"),
        format!("((({a} * {b} - 1.5) * {b} + 0.25) * {b})"),
        format!("(((0.5 * {a} + 2.0) * {a} - 1.0) * {a} + 0.75)"),
        format!("({a} / (0.5 * {b} + {c}))"),
        format!("(({a} * {b} + 1.5) / {c})"),
    ];
    forms[rng.usize(0..forms.len())].clone()
}

/// A random expression with running sums along the last axis, from either end.
fn with_running_sums(rng: &mut Rng) -> String {
    let (a, b, c) = (expression(rng, 2), expression(rng, 2), expression(rng, 2));
    let mut flags = || format!("reverse={}, in_groups={}", rng.bool(), rng.bool());
    let sum = format!("nd.cumsum(core.to_float64({a}), -1, {}) * {c}", flags());
    let second = format!("{c} - nd.cumsum(core.to_float32({sum} + {b}), -1, {})", flags());
    match rng.bool() {
        true => sum,
        false => second,
    }
}

/// Random expressions, of which some are reduced along the last axes, and one is kept.
fn with_reductions(rng: &mut Rng) -> String {
    let (a, b, c) = (expression(rng, 2), expression(rng, 2), expression(rng, 2));
    let mut reduced = |x: &str| {
        let operator = ["sum", "mean", "min", "max", "any", "all", "count", "prod"][rng.usize(0..8)];
        let axes = ["", ", -1", ", -1, keep=true", ", tuple(-2, -1)", ", 0", ", -2", ", -2, keep=true"]
            [rng.usize(0..7)];
        format!("nd.{operator}({x}{axes})")
    };
    let (first, second, third) =
        (reduced(&b), reduced(&format!("({b} * {c})")), reduced(&format!("({b} - {a})")));
    match rng.u8(0..5) {
        4 => format!("nd.squared_distance({a} * {b} + {c}, {b}) - nd.dot({c}, {c} + {a} * ({b}))"),
        3 => format!(
            "core.make_tuple(nd.dot({b}, math.abs({b})), nd.dot({a}, {a}), nd.squared_distance({a}, {b} - {a}), {second})"
        ),
        0 => format!("core.make_tuple({a}, {first}, {second}, {third})"),
        1 => format!("core.make_tuple({first}, {second})"),
        _ => format!("{a} - {second}"),
    }
}

fn bind(text: &str, types: &[(&str, QType)]) -> Option<BoundExpr> {
    let parsed = parse_with(text, &Registry::standard(), Dialect::Cembra, &Limits::default());
    let source = Source::new(parsed.unwrap_or_else(|e| panic!("{text}: {e}")), types.to_vec());
    let prepared = Prepare::standard().run(source).ok()?;
    let options = Options { check_slots: true, ..Options::default() };
    Some(compile(&prepared, &options).unwrap_or_else(|e| panic!("{e}\n{prepared}")))
}

/// The result, or the message of what it raises.
fn run(bound: &BoundExpr, values: &[(&str, Value)]) -> Result<Value, String> {
    let mut frame = bound.new_frame().expect("memory");
    let mut outcome = Ok(());
    // Twice: the second run finds the buffers of the first.
    for _ in 0..2 {
        for (name, value) in values {
            if let Ok(slot) = bound.input_slot(name) {
                frame.write(slot, value).expect("the input's type");
            }
        }
        outcome = bound.execute(&mut frame).map_err(|error| error.to_string());
    }
    outcome.map(|()| frame.read(bound.output_slot()).expect("written"))
}

fn scalar(rng: &mut Rng, element: ScalarType) -> ScalarValue {
    let specials = [0.0, -0.0, f64::NAN, f64::INFINITY, 0.5];
    let float = match rng.u8(0..6) {
        0 => specials[rng.usize(0..specials.len())],
        _ => f64::from(rng.i32(-100..100)) / 8.0,
    };
    match element {
        ScalarType::Boolean => ScalarValue::Boolean(rng.bool()),
        ScalarType::Int32 => ScalarValue::Int32(rng.i32(-20..20)),
        ScalarType::Int64 => ScalarValue::Int64(rng.i64(-20..20)),
        ScalarType::Float32 => ScalarValue::Float32(float as f32),
        _ => ScalarValue::Float64(float),
    }
}

/// An array of random elements, with random strides: axes in any order, forwards or backwards, with gaps or
/// none.
pub fn array(rng: &mut Rng, t: NdType, shape: &[usize]) -> NdRows {
    let size = t.element().size() as usize;
    let mut order: Vec<usize> = (0..shape.len()).collect();
    if rng.bool() {
        rng.shuffle(&mut order);
    }
    let (mut strides, mut next, gaps) = (vec![0isize; shape.len()], size, rng.bool());
    let mut start = rng.usize(0..9);
    for axis in order.into_iter().rev() {
        let step = next * if gaps { rng.usize(1..3) } else { 1 };
        let last = shape[axis].saturating_sub(1);
        strides[axis] = if rng.u8(0..4) == 0 { -(step as isize) } else { step as isize };
        start += if strides[axis] < 0 { last * step } else { 0 };
        next = step * shape[axis].max(1);
    }
    let mut bytes = vec![0u8; next + 16];
    let places: Vec<usize> =
        NdView::new(t.element(), &bytes, start, shape, &strides).expect("fits").offsets().collect();
    for at in places {
        let bits = scalar(rng, t.element()).plain_bits().expect("plain");
        bytes[at..at + size].copy_from_slice(&bits.to_le_bytes()[..size]);
    }
    NdRows::from_strided(t, &bytes, start, shape, &strides).expect("fits")
}

/// A leaf of a program whose result has this shape: a scalar, or an array without some first axes and with some
/// unit axes.
fn leaf(rng: &mut Rng, shape: &[usize]) -> Value {
    let element = ND_ELEMENTS[rng.usize(1..ND_ELEMENTS.len())];
    let shape = &shape[rng.usize(0..=shape.len() / 2)..];
    let units: Vec<bool> = shape.iter().map(|_| rng.u8(0..4) == 0).collect();
    match NdType::of_axes(element, units.iter().copied()).filter(|_| rng.u8(0..8) > 0) {
        None => Value::Scalar(scalar(rng, element)),
        Some(t) => {
            let sizes: Vec<usize> =
                shape.iter().zip(&units).map(|(size, unit)| if *unit { 1 } else { *size }).collect();
            Value::NdArray(Arc::new(array(rng, t, &sizes)))
        }
    }
}

/// The element of a leaf that stands at a place of the result; for a leaf that the program does not use, which may
/// have other axes, any scalar.
fn element_at(value: &Value, place: &[usize]) -> Value {
    let Value::NdArray(rows) = value else { return value.clone() };
    let place = &place[place.len().saturating_sub(rows.shape().len())..];
    let number =
        rows.shape().iter().zip(place).fold(0, |n, (size, at)| n * size + at.min(&size.saturating_sub(1)));
    let element = rows.view().scalars().nth(number);
    Value::Scalar(element.unwrap_or_else(|| ScalarValue::zero(rows.qtype().element())))
}

/// All places of a shape, the last axis fastest.
fn places(shape: &[usize]) -> Vec<Vec<usize>> {
    let count: usize = shape.iter().product();
    let place = |number: usize| {
        let mut rest = number;
        let mut place: Vec<usize> = shape.iter().rev().map(|size| (rest % size, rest /= size).0).collect();
        place.reverse();
        place
    };
    (0..count).map(place).collect()
}

fn same(a: &ScalarValue, b: &ScalarValue) -> bool {
    let nan = |v: &ScalarValue| v.as_f64().is_some_and(f64::is_nan);
    a == b || (nan(a) && nan(b) && a.scalar_type() == b.scalar_type())
}

#[test]
fn elements_agree_with_scalars() {
    let compared: u64 = (FIRST..FIRST + PROGRAMS).map(check).sum();
    assert!(compared > PROGRAMS / 3, "only {compared} programs were compared");
}

/// 1 for a program that could be compared.
fn check(number: u64) -> u64 {
    let mut rng = Rng::with_seed(number);
    let text = expression(&mut rng, 3);
    let sizes = [0, 1, 2, 3, 5, 33, 40];
    let shape: Vec<usize> = (0..rng.usize(1..4)).map(|_| sizes[rng.usize(0..sizes.len())]).collect();
    let shape: Vec<usize> =
        shape.iter().enumerate().map(|(axis, n)| if axis < 2 { *n } else { n % 5 }).collect();
    let leaves: Vec<(&str, Value)> = LEAVES.iter().map(|name| (*name, leaf(&mut rng, &shape))).collect();
    let types =
        |of: &dyn Fn(&Value) -> QType| leaves.iter().map(|(name, v)| (*name, of(v))).collect::<Vec<_>>();
    let Some(whole) = bind(&text, &types(&Value::qtype)) else { return 0 };
    let cell = |value: &Value| QType::Scalar(value.qtype().scalar_inside().expect("an element"));
    let single = bind(&text, &types(&cell)).expect("what arrays have a type for, scalars have");
    let Some(result) = whole.output_slot().qtype().nd() else { return 0 };
    let found = run(&whole, &leaves);
    let shape: Vec<usize> = shape[shape.len() - result.rank()..]
        .iter()
        .zip(result.units())
        .map(|(size, unit)| if unit { 1 } else { *size })
        .collect();
    let mut raised = false;
    let mut elements = match &found {
        Ok(Value::NdArray(rows)) => {
            assert_eq!(rows.shape(), shape, "program {number}: {text}");
            Some(rows.view().scalars())
        }
        Ok(other) => panic!("{other} is no array"),
        Err(_) => None,
    };
    for place in places(&shape) {
        let inputs: Vec<(&str, Value)> =
            leaves.iter().map(|(name, value)| (*name, element_at(value, &place))).collect();
        let expected = run(&single, &inputs);
        raised |= expected.is_err();
        if let (Some(elements), Ok(expected)) = (&mut elements, &expected) {
            let found = elements.next().expect("an element for each place");
            let wanted = expected.scalar().expect("a scalar");
            assert!(
                same(&found, wanted),
                "program {number}, place {place:?}: {text}\n{found:?}, expected {wanted:?}\n{leaves:?}"
            );
        }
    }
    // An array that is repeated is computed once, and a part of a program may have no element at all.
    let has_elements = !shape.contains(&0);
    assert!(!has_elements || found.is_err() == raised, "program {number}: {text}\n{found:?}\n{leaves:?}");
    1
}

/// Regions of all block and run lengths, on one thread and on three, against operators one by one.
#[test]
fn regions_agree_with_operators() {
    const SIZES: [usize; 15] = [0, 1, 2, 7, 47, 48, 49, 64, 96, 128, 255, 440, 513, 1025, 2100];
    let (mut compared, mut in_rooms) = (0, 0);
    for number in 0..PROGRAMS / 4 {
        let mut rng = Rng::with_seed(FIRST ^ number);
        let text = match rng.u8(0..4) {
            0 | 1 => with_reductions(&mut rng),
            2 => with_running_sums(&mut rng),
            _ => expression(&mut rng, 4),
        };
        let last = SIZES[rng.usize(0..SIZES.len())];
        let most = if rng.u8(0..50) == 0 { 150_000 } else { 3_000 };
        let outer = rng.usize(0..3).min(most / last.max(1));
        let mut shape: Vec<usize> = (0..outer).map(|_| rng.usize(1..4)).collect();
        shape.extend([rng.usize(0..20).max(most / last.max(1) / 20).min(900), last]);
        let values: Vec<(&str, Value)> = LEAVES.iter().map(|name| (*name, leaf(&mut rng, &shape))).collect();
        let what = || format!("program {number}, shape {shape:?}: {text}");
        let Some(in_room) = region_agrees(&text, &values, &what) else { continue };
        in_rooms += u64::from(in_room);
        compared += 1;
    }
    assert!(compared > PROGRAMS / 20, "only {compared} programs were compared");
    assert!(in_rooms > compared / 4, "only {in_rooms} of {compared} wrote to memory of the host");
}

#[test]
fn sums_that_are_computed_on_the_way_agree_over_chunks() {
    let mut rng = Rng::with_seed(FIRST);
    let of = |units: u8| NdType::new(ScalarType::Float64, 2, units).expect("a type");
    let mut array = |units: u8, shape: &[usize]| Value::NdArray(Arc::new(array(&mut rng, of(units), shape)));
    let text = "nd.squared_distance(x * y + s, y) + nd.dot(y, s * x + t) - nd.squared_distance(t * r + s, x)";
    for rows in [1, 7, 300] {
        let all = || [rows, 440];
        let values = [
            ("x", array(0, &all())),
            ("y", array(0, &all())),
            ("t", array(1, &[1, 440])),
            ("r", array(2, &[rows, 1])),
            ("s", Value::from(0.75)),
        ];
        assert!(region_agrees(text, &values, &|| format!("{rows} rows")).is_some());
    }
}

/// Compares a program in regions, on threads and on lent arrays with its operators one by one. `None` if it is no program,
/// has no regions, or raises everywhere; else whether the output has gone to memory of the host as well.
fn region_agrees(text: &str, values: &[(&str, Value)], what: &dyn Fn() -> String) -> Option<bool> {
    let types: Vec<(&str, QType)> = values.iter().map(|(name, value)| (*name, value.qtype())).collect();
    let bound = bind(text, &types).filter(|bound| !bound.regions().is_empty())?;
    let inputs = values.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    let mut profile = Profile::default();
    let fused = support::run(&bound, &inputs, RunOptions::new());
    let threaded = support::run(&bound, &inputs, RunOptions::new().threads(3));
    let stepped = support::run(&bound, &inputs, RunOptions::new().observer(&mut profile));
    let lent = run_lent(&bound, values);
    match (fused, threaded, stepped) {
        (Ok(fused), Ok(threaded), Ok(stepped)) => {
            assert!(same_array(&fused, &stepped), "{}\nfused {fused}\nstepped {stepped}", what());
            assert!(same_array(&fused, &threaded), "{}\nfused {fused}\nthreads {threaded}", what());
            let lent = lent.unwrap_or_else(|e| panic!("{}\nlent: {e}", what()));
            assert!(same_array(&fused, &lent), "{}\nfused {fused}\nlent {lent}", what());
            Some(agrees_in_room(&bound, values, &fused))
        }
        (Err(fused), Err(threaded), Err(_)) => {
            assert_eq!(fused.to_string(), threaded.to_string(), "{}", what());
            assert_eq!(lent.err(), Some(fused.to_string()), "{}", what());
            None
        }
        other => panic!("{}\n{other:?}", what()),
    }
}

/// True if the output is an array of FLOAT64; then it has gone to memory of the host as it went to a frame.
fn agrees_in_room(bound: &BoundExpr, values: &[(&str, Value)], expected: &Value) -> bool {
    let Value::NdArray(rows) = expected else { return false };
    if rows.qtype().element() != ScalarType::Float64 {
        return false;
    }
    let mut frame = bound.new_frame().expect("memory");
    for (name, value) in values {
        if let Ok(slot) = bound.input_slot(name) {
            frame.write(slot, value).expect("the input's type");
        }
    }
    let mut target = vec![1.25f64; rows.view().len()];
    let mut rooms = [Room::new(bound.output_slot(), &mut target)];
    bound.call(&mut frame).run_into(&mut rooms).expect("it runs");
    let found = target.into_iter().map(ScalarValue::Float64);
    assert!(rows.view().scalars().zip(found).all(|(wanted, found)| same(&wanted, &found)), "{expected}");
    true
}

/// Runs on arrays that are lent for the call.
fn run_lent(bound: &BoundExpr, values: &[(&str, Value)]) -> Result<Value, String> {
    let view = |(_, value): &'_ (&str, Value)| match value {
        Value::NdArray(rows) => Some(rows.clone()),
        _ => None,
    };
    let arrays: Vec<Option<Arc<NdRows>>> = values.iter().map(view).collect();
    let views: Vec<Option<NdView<'_>>> = arrays.iter().map(|rows| rows.as_ref().map(|r| r.view())).collect();
    let mut frame = bound.new_frame().expect("memory");
    let mut call = bound.call(&mut frame);
    for ((name, value), view) in values.iter().zip(&views) {
        let Ok(slot) = bound.input_slot(name) else { continue };
        call = match view {
            Some(view) => call.input(slot, view).expect("the input's type"),
            None => call.value(slot, value).expect("the input's type"),
        };
    }
    let outcome = call.run().map(|outputs| outputs.read(bound.output_slot()).expect("written"));
    let is_lent = |name: &str| values.iter().zip(&views).any(|((n, _), view)| *n == name && view.is_some());
    if bound.program().main().inputs.iter().any(|(name, _)| is_lent(name)) {
        // Nothing that was lent stays behind.
        let again = bound.execute(&mut frame).expect_err("an input is gone").to_string();
        assert!(again.contains("missing input"), "{again}");
    }
    outcome.map_err(|error| error.to_string())
}

fn same_array(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::NdArray(a), Value::NdArray(b)) => {
            a.shape() == b.shape() && a.view().scalars().zip(b.view().scalars()).all(|(a, b)| same(&a, &b))
        }
        (Value::Tuple(a), Value::Tuple(b)) => {
            a.fields().len() == b.fields().len()
                && a.fields().iter().zip(b.fields()).all(|(a, b)| same_array(a, b))
        }
        (Value::Scalar(a), Value::Scalar(b)) => same(a, b),
        (a, b) => a == b,
    }
}

/// Reductions of random arrays along random axes, against loops over places.
#[test]
fn reductions_agree_with_loops() {
    for number in 0..2_000 {
        let mut rng = Rng::with_seed(FIRST + number);
        let sizes = [0, 1, 2, 3, 9, 20];
        let shape: Vec<usize> = (0..rng.usize(1..4)).map(|_| sizes[rng.usize(0..sizes.len())]).collect();
        let rank = shape.len();
        let t = NdType::new(ScalarType::Int64, rank, 0).expect("a type");
        let x = array(&mut rng, t, &shape);
        let axes: Vec<usize> = (0..rank).filter(|_| rng.bool()).collect();
        let axes = if axes.is_empty() { vec![rng.usize(0..rank)] } else { axes };
        let list: Vec<String> = axes.iter().map(usize::to_string).collect();
        let text = format!("nd.sum(x, tuple({}), keep=true)", list.join(", "));
        let inputs = [("x", Value::NdArray(Arc::new(x.clone())))];
        let bound = bind(&text, &[("x", QType::NdArray(t))]).expect("well typed");
        let kept: Vec<usize> = shape
            .iter()
            .enumerate()
            .map(|(axis, size)| if axes.contains(&axis) { 1 } else { *size })
            .collect();
        let mut sums = vec![0i64; kept.iter().product()];
        for (place, value) in places(&shape).iter().zip(x.view().cells::<i64>()) {
            let number = kept.iter().zip(place).fold(0, |n, (size, at)| n * size + at.min(&(size - 1)));
            sums[number] += value;
        }
        let found = run(&bound, &inputs).expect("sums raise nothing");
        let Value::NdArray(rows) = &found else { panic!("{found} is no array") };
        assert_eq!(rows.shape(), kept, "{text}");
        assert!(rows.view().cells::<i64>().eq(sums), "{text} of {x:?}\n{found}");
    }
}

/// The same elements give the same bits in whatever order they lie.
#[test]
fn strides_do_not_change_sums() {
    let operators =
        ["nd.sum(x, 0)", "nd.mean(x, 1)", "nd.var(x)", "nd.cumsum(x, 0)", "nd.median(x, 1)", "nd.prod(x, 1)"];
    for number in 0..300 {
        let mut rng = Rng::with_seed(FIRST + number);
        let shape = [rng.usize(1..40), rng.usize(1..300)];
        let element = if rng.bool() { ScalarType::Float32 } else { ScalarType::Float64 };
        let t = NdType::new(element, 2, 0).expect("a type");
        let strided = array(&mut rng, t, &shape);
        let contiguous = NdRows::from_view(t, &strided.view()).expect("the same shape");
        let bound =
            bind(operators[rng.usize(0..operators.len())], &[("x", QType::NdArray(t))]).expect("well typed");
        let of = |rows: NdRows| run(&bound, &[("x", Value::NdArray(Arc::new(rows)))]);
        let (a, b) = (of(strided), of(contiguous));
        let bits = |value: &Result<Value, String>| match value {
            Ok(Value::NdArray(rows)) => rows.view().scalars().collect(),
            Ok(other) => vec![other.scalar().expect("a scalar").clone()],
            Err(error) => panic!("{error}"),
        };
        assert!(bits(&a).iter().zip(bits(&b)).all(|(a, b)| same(a, &b)), "{a:?}\n{b:?}");
    }
}
