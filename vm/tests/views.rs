//! Results that lie in an operand are read there by regions: with the values, errors and limits of arrays of their own.

#[path = "support/draft.rs"]
mod draft;
#[path = "support/writer.rs"]
mod writer;

use cembra_vm::machine::{RunOptions, Strips};
use cembra_vm::program::ValueId;
use cembra_vm::value::qtype::{FLOAT64, INT64};
use cembra_vm::value::{ArrayClass, ArrayRows, Axes, NdRows, NdType, NdView, ScalarType, ScalarValue, Value};
use fastrand::Rng;
use std::sync::Arc;
use writer::{Bound, Writer, rows};

/// Slices of x and y, a slice of a slice, and what becomes of them; slices are arrays of their own if they are outputs.
fn slices([x, y]: [&Value; 2], [first, second]: [i64; 2], size: i64, are_own: bool) -> Bound {
    let mut w = Writer::new();
    let [x, y] = [x, y].map(|value| w.input(value));
    let element = w.draft.slot(x).qtype().element().expect("rows");
    let [first, second, size, one, less] =
        [first, second, size, 1, size.wrapping_sub(1)].map(|number| w.int(number));
    let [a, b] = [(x, first), (y, second)].map(|(of, at)| w.run("array.slice", &[of, at, size], are_own));
    let c = w.run("array.slice", &[a, one, less], are_own);
    let mut outputs = match element {
        ScalarType::Boolean => {
            let same = w.run("core.equal", &[a, b], true);
            let counted = w.run("array._count", &[c], true);
            vec![same, counted]
        }
        _ => {
            let sum = w.run("math.add", &[a, b], false);
            let product = w.run("math.multiply", &[sum, a], true);
            let total = w.run("math._sum", &[product], true);
            let twice = w.run("math.add", &[c, c], true);
            let most = w.run("math._max", &[twice], true);
            vec![product, total, twice, most]
        }
    };
    if are_own {
        outputs.extend([a, b, c]);
    }
    w.bind(&outputs)
}

const ELEMENTS: [ScalarType; 5] =
    [ScalarType::Float64, ScalarType::Float32, ScalarType::Int64, ScalarType::Int32, ScalarType::Boolean];

#[test]
fn slices_have_the_rows_of_copies() {
    let mut rng = Rng::with_seed(0x51);
    let sizes = [1, 2, 7, 63, 64, 65, 128, 200, 1023, 1024, 1025, 9000, 70_000];
    for (number, size) in sizes.into_iter().enumerate() {
        for first in [0, 1, 7, 63, 64, 65, 100, 129] {
            let element = ELEMENTS[(number + first) % ELEMENTS.len()];
            let gaps = [None, Some(3), Some(64), Some(1)];
            let mut of = |offset: usize| {
                let gap = gaps[rng.usize(..gaps.len())];
                let count = offset + size + rng.usize(..70);
                let is_there = |row: usize| gap.is_none_or(|gap| !row.is_multiple_of(gap));
                rows(&mut rng.clone(), element, count, is_there)
            };
            let second = first / 2;
            let (x, y) = (of(first), of(second));
            rng.bool();
            let at = [first as i64, second as i64];
            let seen = slices([&x, &y], at, size as i64, false);
            let copied = slices([&x, &y], at, size as i64, true);
            assert_eq!((seen.through(), copied.through()), (vec![0, 1, 2], vec![]));
            let (found, expected) = (seen.by_all().expect("no error"), copied.by_all().expect("no error"));
            assert_eq!(found[..], expected[..found.len()], "{element} {first} {size}");
        }
    }
}

#[test]
fn slices_of_lent_rows() {
    let cells: Vec<f64> = (0..3000).map(f64::from).collect();
    let bitmap: Vec<u8> = (0..=255).cycle().take(500).map(|byte: u8| byte.wrapping_mul(37)).collect();
    let own = {
        let mut w = Writer::new();
        let x = w.input(&rows(&mut Rng::with_seed(1), ScalarType::Float64, 1, |_| true));
        let [first, second, all, fewer] = [1, 0, -1, 699].map(|number| w.int(number));
        let a = w.run("array.slice", &[x, first, all], false);
        let b = w.run("array.slice", &[x, second, fewer], false);
        let difference = w.run("math.subtract", &[a, b], true);
        let total = w.run("math._sum", &[difference], true);
        w.bind(&[difference, total])
    };
    assert_eq!(own.through(), [0, 1]);
    let bytes: &[u8] = bytemuck::cast_slice(&cells);
    for (start, step) in [(0, 8), (16, 24), (8 * 2999, -16)] {
        for missing in [None, Some(0), Some(13)] {
            let view = NdView::new(ScalarType::Float64, bytes, start, &[700], &[step]).expect("inside");
            let view = match missing {
                None => view,
                Some(offset) => view.with_validity(&bitmap, offset).expect("bits"),
            };
            let at = |row: usize| {
                let bit = missing.map(|offset| offset + row);
                let is_there = bit.is_none_or(|bit| bitmap[bit / 8] >> (bit % 8) & 1 == 1);
                is_there.then(|| cells[((start as isize + step * row as isize) / 8) as usize])
            };
            let expected: Vec<Option<f64>> =
                (0..699).map(|row| at(row + 1).zip(at(row)).map(|(a, b)| a - b)).collect();
            for strips in [Strips::Never, Strips::Always] {
                let mut frame = own.bound.new_frame().expect("memory");
                let slot = own.bound.input_slot("i0").expect("an input").clone();
                let call = own.bound.call(&mut frame).input(&slot, &view).expect("rows");
                let outputs = call.options(RunOptions::new().strips(strips)).run().expect("no error");
                let found = outputs.rows(own.bound.output_slot()).expect("rows");
                let found: Vec<Option<f64>> =
                    found.iter().map(|row| row.and_then(|row| row.as_f64())).collect();
                assert_eq!(found, expected, "{start} {step} {missing:?}");
            }
        }
    }
}

#[test]
fn slices_that_are_no_rows_of_the_array() {
    let x = rows(&mut Rng::with_seed(2), ScalarType::Float64, 10, |_| true);
    let outcome = |at: i64, size: i64| slices([&x, &x], [at, 0], size, false).by_all();
    for (at, size, message) in [
        (11, 0, "expected `offset` in [0, 10], but got 11"),
        (-1, 2, "expected `offset` in [0, 10], but got -1"),
        (3, 8, "expected `size` in [0, 7], but got 8"),
        (i64::MAX, i64::MIN, "expected `offset` in [0, 10], but got 9223372036854775807"),
    ] {
        let error = outcome(at, size).expect_err("an error");
        assert!(error.contains(message) && error.contains("array.slice"), "{error}");
    }
    // To the end, so that sizes differ: the addition says so.
    let error = outcome(3, -1).expect_err("an error");
    assert!(error.contains("(7, 10)") && error.contains("math.add"), "{error}");
    assert!(outcome(10, 0).expect_err("no row is left for the second slice").contains("array.slice"));
}

#[test]
fn views_of_what_changes_are_copies() {
    let value = rows(&mut Rng::with_seed(3), ScalarType::Float64, 100, |_| true);
    let mut w = Writer::new();
    let x = w.input(&value);
    let [zero, half, two] = [0, 50, 2].map(|number| w.int(number));
    let two_as_float = w.draft.next_literal(Value::from(2.0));
    let at = w.draft.next_temporary(INT64);
    let doubled = w.run("math.multiply", &[x, two_as_float], false);
    // Of an array whose place something else takes, by a number that changes.
    w.draft.run("core._copy", &[zero], at);
    let first = w.run("array.slice", &[doubled, at, half], false);
    w.draft.run("core._copy", &[half], at);
    let second = w.run("array.slice", &[x, at, half], false);
    w.draft.run("core._copy", &[two], at);
    w.draft.run("math.add", &[x, x], doubled);
    let sum = w.run("math.add", &[first, second], true);
    let last = w.run("math._sum", &[doubled], true);
    let bound = w.bind(&[sum, last]);
    assert!(bound.through().is_empty());
    let found = bound.by_all().expect("no error");
    let Value::Array(_, cells) = &value else { panic!("rows") };
    let cell = |row: usize| cells.get(row).and_then(|cell| cell.as_f64()).expect("a number");
    let expected: Vec<Option<ScalarValue>> =
        (0..50).map(|row| Some(ScalarValue::Float64(2.0 * cell(row) + cell(50 + row)))).collect();
    let expected = Arc::new(ArrayRows::from_values(ScalarType::Float64, &expected));
    assert_eq!(found[0], Value::Array(ArrayClass::Dense, expected));
    assert_eq!(found[1].qtype(), FLOAT64);
}

/// A view of an array that takes the place of the view's operand while the region is open, and one that a tuple holds.
#[test]
fn views_that_others_read_are_copies() {
    let value = rows(&mut Rng::with_seed(4), ScalarType::Float64, 100, |_| true);
    let mut w = Writer::new();
    let x = w.input(&value);
    let [one, rest] = [1, 99].map(|number| w.int(number));
    let a = w.run("array.slice", &[x, one, rest], false);
    let b = w.run("array.slice", &[x, one, rest], false);
    let sum = w.run("math.add", &[a, b], true);
    let ordered = w.run("array.unique", &[b], true);
    let bound = w.bind(&[sum, ordered]);
    assert_eq!(bound.through(), [0], "the second one is read by `array.unique`");
    assert!(bound.by_all().is_ok());
}

/// More views than are followed: slices of slices, and many that are read at the end.
#[test]
fn many_views() {
    let value = rows(&mut Rng::with_seed(6), ScalarType::Float64, 20_000, |row| row % 5 != 0);
    let by = |are_own: bool| {
        let mut w = Writer::new();
        let x = w.input(&value);
        let [one, all, few] = [1, -1, 100].map(|number| w.int(number));
        let mut last = x;
        let mut outputs = Vec::new();
        for _ in 0..30 {
            last = w.run("array.slice", &[last, one, all], are_own);
            outputs.extend(are_own.then_some(last));
        }
        let doubled = w.run("math.add", &[last, last], true);
        let parts: Vec<ValueId> = (0..200)
            .map(|number| {
                let at = w.int(number);
                w.run("array.slice", &[x, at, few], are_own)
            })
            .collect();
        let sums: Vec<ValueId> = parts.iter().map(|part| w.run("math.add", &[*part, *part], true)).collect();
        outputs.extend(parts.iter().filter(|_| are_own));
        outputs.splice(0..0, [doubled].into_iter().chain(sums));
        w.bind(&outputs)
    };
    let (seen, copied) = (by(false), by(true));
    let through = seen.through();
    assert!(through.len() < 30 + 200 && through.len() > 64 && copied.through().is_empty());
    let (found, expected) = (seen.by_all().expect("no error"), copied.by_all().expect("no error"));
    assert_eq!(found[..], expected[..found.len()]);
}

#[test]
fn axes_that_are_added() {
    let mut rng = Rng::with_seed(5);
    let matrix = |shape: &[usize], rng: &mut Rng| {
        let qtype = NdType::new(ScalarType::Float64, shape.len(), 0).expect("few axes");
        let cells: Vec<f64> = (0..shape.iter().product()).map(|_| f64::from(rng.i32(-9..9))).collect();
        Value::NdArray(Arc::new(NdRows::from_slice(qtype, shape, &cells).expect("a shape")))
    };
    for (outer, inner) in [(1, 1), (3, 5), (40, 300), (300, 3), (17, 129)] {
        let (x, w0) = (matrix(&[outer, inner], &mut rng), matrix(&[outer], &mut rng));
        let by = |are_own: bool| {
            let mut w = Writer::new();
            let (x, v) = (w.input(&x), w.input(&w0));
            let axes = w.draft.next_literal(Value::Axes(Axes::new([1]).expect("an axis")));
            let outer = w.draft.next_literal(Value::Axes(Axes::new([0]).expect("an axis")));
            let column = w.run("nd._expand_dims", &[v, axes], are_own);
            let again = w.run("nd._squeeze", &[column, axes], are_own);
            let product = w.run("math.multiply", &[x, column], false);
            let sums = w.run("nd._sum", &[product, outer], true);
            let twice = w.run("math.add", &[again, again], true);
            let mut outputs = vec![sums, twice];
            if are_own {
                outputs.extend([column, again]);
            }
            w.bind(&outputs)
        };
        let (seen, copied) = (by(false), by(true));
        assert_eq!((seen.through(), copied.through()), (vec![0, 1], vec![]));
        let (found, expected) = (seen.by_all().expect("no error"), copied.by_all().expect("no error"));
        assert_eq!(found[..], expected[..2]);
    }
}
