//! Views at the extremes: whatever is accepted lies inside the buffer, and stays there.

use crate::draft::Draft;
use crate::{bound, qtype};
use cembra_vm::machine::BoundExpr;
use cembra_vm::value::array::MAX_ROWS;
use cembra_vm::value::{ArrayRows, NdRows, NdType, NdView, ScalarType, ScalarValue};

const ENDS: [usize; 13] = [
    0,
    1,
    2,
    3,
    5,
    40,
    1 << 20,
    MAX_ROWS + 1,
    1 << 61,
    isize::MAX as usize,
    isize::MAX as usize + 1,
    usize::MAX - 1,
    usize::MAX,
];

const STEPS: [isize; 11] = [0, 1, -1, 2, -2, 8, -8, 1 << 61, isize::MAX, isize::MIN, isize::MIN + 1];

/// A program that reads its input in a region, in place.
fn doubled(name: &str) -> BoundExpr {
    let mut d = Draft::new();
    let (x, out) = (d.input(0, qtype(name)), d.output(24, qtype(name)));
    d.run("math.add", &[x, x], out);
    bound(d.finish(&[("x", x)], out))
}

/// Reads all rows of a view by a region and by themselves.
fn read_rows(bound: &BoundExpr, view: NdView<'_>) {
    let mut frame = bound.new_frame().expect("memory");
    let slot = bound.input_slot("x").expect("an input").clone();
    let outputs = bound.call(&mut frame).input(&slot, &view).expect("its type").run().expect("no error");
    let rows = outputs.rows(bound.output_slot()).expect("written");
    assert_eq!(rows.len(), view.len());
    let far = view.len().saturating_sub(100);
    for row in (0..view.len().min(100)).chain(far..view.len()) {
        let doubled = view.row(row).and_then(|value| value.as_f64()).map(|value| 2.0 * value);
        assert_eq!(rows.get(row).and_then(|value| value.as_f64()), doubled, "row {row}");
    }
}

#[test]
fn rows_lie_inside() {
    let bound = doubled("DENSE_ARRAY_FLOAT64");
    let cells: Vec<f64> = (0..40).map(f64::from).collect();
    let bytes: &[u8] = bytemuck::cast_slice(&cells);
    let mut accepted = 0;
    for (start, len) in ENDS.iter().flat_map(|start| ENDS.map(|len| (*start, len))) {
        for step in STEPS {
            let views = [
                NdView::strided(&cells, start, step, len),
                NdView::new(ScalarType::Float64, bytes, start, &[len], &[step]),
            ];
            // A hundred million rows of one cell are fine, and take their time.
            for view in views.into_iter().flatten().filter(|view| view.len() <= 1 << 20) {
                accepted += 1;
                read_rows(&bound, view);
                let bits = [0xA5; 1 << 10];
                if let Ok(view) = view.with_validity(&bits, start) {
                    read_rows(&bound, view);
                }
            }
        }
    }
    assert!(accepted > 100, "{accepted}");
    for len in [MAX_ROWS + 1, 1 << 61, usize::MAX] {
        assert!(NdView::strided(&cells, 0, 0, len).is_err(), "{len} rows of one cell");
    }
}

/// Reads all elements of a view by a region and by themselves.
fn read_elements(view: &NdView<'_>) {
    let inside = view.offsets().all(|at| at + size_of::<f64>() <= view.bytes().len());
    assert!(inside, "{view:?}");
    let Some(t) = NdType::new(ScalarType::Float64, view.rank(), 0) else { return };
    let bound = doubled(&t.to_string());
    let mut frame = bound.new_frame().expect("memory");
    let slot = bound.input_slot("x").expect("an input").clone();
    let outputs = bound.call(&mut frame).input(&slot, view).expect("its type").run().expect("no error");
    let doubled = outputs.elements(bound.output_slot()).expect("written");
    assert!(doubled.cells::<f64>().eq(view.cells::<f64>().map(|cell| 2.0 * cell)), "{view:?}");
    assert_eq!(NdRows::from_view(t, view).map(|rows| rows.view().len()), Ok(view.len()));
}

#[test]
fn elements_lie_inside() {
    let cells: Vec<f64> = (0..40).map(f64::from).collect();
    let bytes: &[u8] = bytemuck::cast_slice(&cells);
    let sizes = [0, 1, 2, 5, 1 << 61, usize::MAX];
    let steps = [0, 8, -8, 16, isize::MAX, isize::MIN];
    let mut accepted = 0;
    for start in [0, 8, 312, 320, 1 << 20, usize::MAX] {
        for (n, m) in sizes.iter().flat_map(|n| sizes.map(|m| (*n, m))) {
            for (s, t) in steps.iter().flat_map(|s| steps.map(|t| (*s, t))) {
                let Ok(view) = NdView::new(ScalarType::Float64, bytes, start, &[n, m], &[s, t]) else {
                    continue;
                };
                accepted += 1;
                for view in [view, view.select_axes([1, 0]), view.select_axes([0]), view.select_axes([1])] {
                    read_elements(&view);
                }
                let wide = [3, n, m];
                view.broadcast_to(&wide).iter().for_each(read_elements);
            }
        }
    }
    assert!(accepted > 100, "{accepted}");
}

#[test]
fn axes_of_an_empty_array_have_zeros() {
    let cells = [7.0f64; 40];
    let bytes = bytemuck::cast_slice(&cells);
    let view =
        NdView::new(ScalarType::Float64, bytes, 1 << 20, &[0, 5, 8], &[0, 64, 8]).expect("no elements");
    let kept = view.select_axes([1, 2]);
    assert_eq!(kept.shape(), [5, 8]);
    assert!(kept.cells::<f64>().all(|cell| cell == 0.0));
    read_elements(&kept);
    let nothing = NdView::new(ScalarType::Float64, &[], 0, &[5, 0], &[8, 8]).expect("no elements");
    read_elements(&nothing.select_axes([0]));
}

#[test]
#[should_panic(expected = "axis 0 is chosen twice")]
fn an_axis_is_chosen_once() {
    let cells = [1.0f64; 40];
    let view = NdView::from_slice(&cells, &[40]).expect("fits");
    read_elements(&view.select_axes([0, 0]));
}

#[test]
fn broadcasts_are_arrays() {
    let one = NdView::from_slice(&[1.0f64], &[1, 1]).expect("fits");
    for shape in [&[1 << 20, 1 << 20][..], &[1 << 32, 1 << 32], &[usize::MAX, 2], &[1; 7]] {
        assert!(one.broadcast_to(shape).is_none(), "{shape:?}");
    }
    read_elements(&one.broadcast_to(&[3, 1 << 10]).expect("fits"));
}

#[test]
#[should_panic(expected = "memory")]
fn rows_that_cannot_be_addressed_are_none() {
    ArrayRows::new(ScalarType::Float64).resize(ScalarType::Float64, (1 << 61) + 1);
}

/// After a panic an array has the rows that there is room for.
#[test]
fn a_panic_leaves_an_array_whole() {
    for len in [(1 << 61) + 1, 1 << 60] {
        let mut rows = ArrayRows::from_values(ScalarType::Int32, &[Some(ScalarValue::Int32(1))]);
        let grow = std::panic::AssertUnwindSafe(|| rows.resize(ScalarType::Float64, len));
        std::panic::catch_unwind(grow).expect_err("too many rows");
        assert!(rows.len() * size_of::<f64>() <= rows.bytes().len());
    }
}

#[test]
fn strings_and_truths_have_rows_at_once() {
    let empty = |element, value: ScalarValue| {
        let mut rows =
            ArrayRows::from_values(ScalarType::Float64, &vec![Some(ScalarValue::Float64(-1.5)); 9]);
        rows.resize(element, 5);
        assert_eq!(rows.iter().collect::<Vec<_>>(), vec![Some(value); 5]);
        rows
    };
    empty(ScalarType::Text, ScalarValue::Text("".into()));
    empty(ScalarType::Boolean, ScalarValue::Boolean(false));
    let mut rows = empty(ScalarType::Bytes, ScalarValue::Bytes([][..].into()));
    rows.set_missing(3);
    rows.push_raw(true, b"x");
    assert_eq!((rows.get(3), rows.get(5)), (None, Some(ScalarValue::Bytes(b"x"[..].into()))));
}
