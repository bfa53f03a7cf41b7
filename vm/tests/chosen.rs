//! Rows that numbers or an edge choose are read by regions from the array, with the values and errors of a copy.

#[path = "support/draft.rs"]
mod draft;
#[path = "support/writer.rs"]
mod writer;

use cembra_vm::machine::{RunOptions, Strips};
use cembra_vm::program::ValueId;
use cembra_vm::value::{ArrayClass, ArrayRows, NdView, ScalarType, ScalarValue, Value};
use fastrand::Rng;
use std::sync::Arc;
use writer::{Bound, Writer, rows};

const ELEMENTS: [ScalarType; 5] =
    [ScalarType::Float64, ScalarType::Float32, ScalarType::Int64, ScalarType::Int32, ScalarType::Boolean];

fn int64_rows(numbers: impl Iterator<Item = Option<i64>>) -> Value {
    let rows: Vec<_> = numbers.map(|number| number.map(ScalarValue::Int64)).collect();
    Value::Array(ArrayClass::Dense, Arc::new(ArrayRows::from_values(ScalarType::Int64, &rows)))
}

/// How rows are chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
enum By {
    Numbers,
    Mapping,
    Sizes,
}

/// Chosen rows of x and of a slice of x, and what becomes of them; they are arrays of their own if they are outputs.
fn chosen([x, by]: [&Value; 2], how: By, parents: i64, are_own: bool) -> Bound {
    let mut w = Writer::new();
    let [x, by] = [x, by].map(|value| w.input(value));
    let element = w.draft.slot(x).qtype().element().expect("rows");
    let [zero, parents] = [0, parents].map(|number| w.int(number));
    let part = w.run("array.slice", &[x, zero, parents], are_own);
    let choose = |w: &mut Writer, of: ValueId| match how {
        By::Numbers => w.run("array.take", &[of, by], are_own),
        By::Mapping => {
            let edge = w.run("edge.from_mapping", &[by, parents], false);
            w.run("array._expand", &[of, edge], are_own)
        }
        By::Sizes => {
            let edge = w.run("edge.from_sizes", &[by], false);
            w.run("array._expand", &[of, edge], are_own)
        }
    };
    let (a, b) = (choose(&mut w, part), choose(&mut w, part));
    let mut outputs = match element {
        ScalarType::Boolean => {
            let same = w.run("core.equal", &[a, b], true);
            vec![w.run("array._count", &[same], true), same]
        }
        _ => {
            let sum = w.run("math.add", &[a, b], false);
            let product = w.run("math.multiply", &[sum, sum], true);
            vec![product, w.run("math._sum", &[product], true), w.run("math._max", &[product], true)]
        }
    };
    if are_own {
        outputs.extend([part, a, b]);
    }
    w.bind(&outputs)
}

#[test]
fn chosen_rows_are_those_of_copies() {
    let mut rng = Rng::with_seed(0x6A);
    let sizes = [0, 1, 7, 63, 64, 65, 200, 1023, 1025, 9000, 70_000];
    for (number, size) in sizes.into_iter().enumerate() {
        for (how, parents) in
            [By::Numbers, By::Mapping, By::Sizes].into_iter().zip([3, 70, 5000]).cycle().take(6)
        {
            let element = ELEMENTS[(number + rng.usize(..ELEMENTS.len())) % ELEMENTS.len()];
            let gaps = [None, Some(3), Some(64), Some(1)];
            let gap = gaps[rng.usize(..gaps.len())];
            let is_there = |row: usize| gap.is_none_or(|gap| !row.is_multiple_of(gap));
            let x = rows(&mut rng, element, parents + 10, is_there);
            let miss = [0.0, 0.1, 1.0][rng.usize(..3)];
            let by = match how {
                By::Sizes => {
                    let ends = (0..parents).map(|group| size * group / parents).chain([size]);
                    let ends: Vec<usize> = ends.collect();
                    int64_rows(ends.windows(2).map(|pair| Some((pair[1] - pair[0]) as i64)))
                }
                _ => int64_rows((0..size).map(|_| (rng.f64() >= miss).then(|| rng.i64(0..parents as i64)))),
            };
            let [seen, copied] = [false, true].map(|are_own| chosen([&x, &by], how, parents as i64, are_own));
            assert!(copied.through().is_empty());
            assert_eq!(seen.through().len(), 3, "{how:?}");
            let (found, expected) = (seen.by_all().expect("no error"), copied.by_all().expect("no error"));
            assert_eq!(found[..], expected[..found.len()], "{element} {how:?} {size} of {parents}");
        }
    }
}

#[test]
fn numbers_and_rows_that_are_lent() {
    let cells: Vec<f64> = (0..3000).map(f64::from).collect();
    let numbers: Vec<i64> = (0..3000).map(|i| i * 7 % 100).collect();
    let bitmap: Vec<u8> = (0..=255).cycle().take(500).map(|byte: u8| byte.wrapping_mul(37)).collect();
    let own = {
        let mut w = Writer::new();
        let x = w.input(&rows(&mut Rng::with_seed(1), ScalarType::Float64, 1, |_| true));
        let by = w.input(&int64_rows(std::iter::once(Some(0))));
        let a = w.run("array.take", &[x, by], false);
        let twice = w.run("math.add", &[a, a], true);
        w.bind(&[twice])
    };
    assert_eq!(own.through(), [0]);
    let lend = |bytes, start: usize, step: isize, len: usize, offset: Option<usize>, element| {
        let view = NdView::new(element, bytes, start, &[len], &[step]).expect("inside");
        match offset {
            None => view,
            Some(offset) => view.with_validity(&bitmap, offset).expect("bits"),
        }
    };
    let (of_cells, of_numbers) = (bytemuck::cast_slice(&cells), bytemuck::cast_slice(&numbers));
    for (start, step) in [(0, 8), (16, 24), (8 * 2999, -16)] {
        for [missing_row, missing_number] in
            [[None, None], [Some(13), None], [None, Some(5)], [Some(1), Some(0)]]
        {
            let x = lend(of_cells, start, step, 100, missing_row, ScalarType::Float64);
            let by = lend(of_numbers, start, step, 900, missing_number, ScalarType::Int64);
            let row = |view: &NdView<'_>, row: usize| view.row(row);
            let number = |place: usize| row(&by, place).and_then(|number| number.as_i64());
            let expected: Vec<Option<f64>> = (0..900)
                .map(|place| number(place).and_then(|number| row(&x, number as usize)))
                .map(|cell| cell.and_then(|cell| cell.as_f64()).map(|cell| cell + cell))
                .collect();
            for strips in [Strips::Never, Strips::Always] {
                let mut frame = own.bound.new_frame().expect("memory");
                let [i0, i1] = ["i0", "i1"].map(|name| own.bound.input_slot(name).expect("an input").clone());
                let call =
                    own.bound.call(&mut frame).input(&i0, &x).expect("rows").input(&i1, &by).expect("rows");
                let outputs = call.options(RunOptions::new().strips(strips)).run().expect("no error");
                let found = outputs.rows(own.bound.output_slot()).expect("rows");
                let found: Vec<Option<f64>> =
                    found.iter().map(|row| row.and_then(|row| row.as_f64())).collect();
                assert_eq!(found, expected, "{start} {step} {missing_row:?} {missing_number:?}");
            }
        }
    }
}

#[test]
fn numbers_of_no_row() {
    let x = rows(&mut Rng::with_seed(2), ScalarType::Float64, 20, |_| true);
    for (numbers, parents, wrong) in [
        (vec![3, 10, -1], 10, "array index 10 out of range [0, 10)"),
        (vec![0; 3000], 0, "array index 0 out of range [0, 0)"),
    ] {
        let by = int64_rows(numbers.into_iter().map(Some));
        let error = chosen([&x, &by], By::Numbers, parents, false).by_all().expect_err("an error");
        assert!(error.contains(wrong) && error.contains("array.take"), "{error}");
    }
    // None is wrong where no number stands, even without rows.
    let by = int64_rows((0..100).map(|_| None));
    assert!(chosen([&x, &by], By::Numbers, 0, false).by_all().is_ok());
    let sizes = int64_rows([Some(2), Some(5)].into_iter());
    let error = chosen([&x, &sizes], By::Sizes, 3, false).by_all().expect_err("an error");
    assert!(error.contains("(3, 2)") && error.contains("array._expand"), "{error}");
}

/// What several instructions read, what is a view itself, and what nobody goes over row by row.
#[test]
fn rows_that_are_chosen_once() {
    let mut rng = Rng::with_seed(3);
    let x = rows(&mut rng, ScalarType::Float64, 50, |_| true);
    let by = int64_rows((0..500).map(|_| Some(rng.i64(0..50))));
    let mut w = Writer::new();
    let [x, by] = [&x, &by].map(|value| w.input(value));
    let [one, all] = [1, -1].map(|number| w.int(number));
    let twice_read = w.run("array.take", &[x, by], false);
    let sum = w.run("math._sum", &[twice_read], true);
    let less = w.run("math.subtract", &[twice_read, sum], true);
    let of_a_view = w.run("array.take", &[x, by], false);
    let rest = w.run("array.slice", &[of_a_view, one, all], false);
    let squares = w.run("math.multiply", &[rest, rest], true);
    let of_chosen = w.run("array.take", &[x, by], false);
    let again = w.run("array.take", &[of_chosen, by], false);
    let doubled = w.run("math.add", &[again, again], true);
    let sorted = w.run("array.take", &[x, by], false);
    let unique = w.run("array.unique", &[sorted], true);
    let bound = w.bind(&[less, squares, doubled, unique]);
    // The slice, and the last choice of two.
    assert_eq!(bound.through(), [4, 7]);
    bound.by_all().expect("no error");
}
