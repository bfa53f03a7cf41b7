//! Sweeps: a library goes over elements where they stand, in steps along an axis, by positions; what does not fit is refused.

use crate::native::arrays::{compiled, sanitized};
use cembra::native::{ArrayLayout, NativeCache, ProgramCall};
use cembra::vm::library::{BoundaryError, CallMemory, Positions, SweepOperand, SweepOrder};
use cembra::vm::machine::{BoundExpr, Room};
use cembra::vm::value::{NdRows, NdView, QType, ScalarType, ScalarValue, Value};
use std::sync::Arc;

/// A value of a type, which decides nothing but this.
fn typed(name: &str) -> Value {
    match name.parse::<QType>().expect("a type") {
        QType::NdArray(array) => {
            let none = NdRows::from_scalars(array, &vec![0; array.rank()], &[]);
            Value::NdArray(Arc::new(none.expect("no elements")))
        }
        _ => Value::Scalar(ScalarValue::Float64(0.0)),
    }
}

pub fn memory(
    cache: &NativeCache,
    text: &str,
    types: &[(&str, &str)],
    taken: &[&str],
) -> (BoundExpr, CallMemory) {
    let inputs: Vec<(&str, Value)> = types.iter().map(|(name, qtype)| (*name, typed(qtype))).collect();
    let bound = compiled(text, &inputs);
    let mut call = ProgramCall::new("f", bound.program().clone(), ArrayLayout::Strided).expect("a name");
    for name in taken {
        call = call.taking(name).expect("an array");
    }
    let library = cache.library(&call).unwrap_or_else(|error| panic!("{error}"));
    let memory = library.call_memory().expect("memory");
    (bound, memory)
}

/// The operands of [`PLANE`].
type Operands<'o> = [(&'o str, SweepOperand<'o>); 3];

/// Runs a sweep with a room of these strides for the only result; operands are in the order of the names.
fn sweep(
    (bound, memory): &mut (BoundExpr, CallMemory),
    (shape, order): (&[usize], SweepOrder),
    operands: &[(&str, SweepOperand<'_>)],
    (out, start, sizes, strides): (&mut [f64], usize, &[usize], &[isize]),
) -> Result<(), BoundaryError> {
    let inputs = &bound.program().main().inputs;
    let of = |name: &str| operands.iter().find(|(known, _)| *known == name).expect("an operand").1;
    let all: Vec<SweepOperand<'_>> = inputs.iter().map(|(name, _)| of(name)).collect();
    let slot = bound.output_slot().clone();
    let mut room = Room::strided(&slot, out, start, sizes, strides).expect("a room");
    memory.sweep(shape, order, all.into_iter(), [(0, &mut room)])
}

pub const PLANE: [(&str, &str); 3] =
    [("x", "NDARRAY_FLOAT64_NN"), ("s", "NDARRAY_FLOAT64_NN"), ("k", "FLOAT64")];

fn view<'a>(cells: &'a [f64], shape: &[usize]) -> NdView<'a> {
    NdView::from_slice(cells, shape).expect("as many cells")
}

#[test]
fn elements_are_read_and_written_where_they_stand() {
    let (_folder, cache) = sanitized();
    let mut program = memory(&cache, "k*2.0*x - s", &PLANE, &[]);
    assert!(program.1.can_sweep());
    let k = Value::Scalar(ScalarValue::Float64(0.5));
    for (rows, columns) in [(1, 1), (3, 5), (4, 70), (70, 4), (0, 3)] {
        let x: Vec<f64> = (0..rows * columns).map(|at| at as f64 / 4.0).collect();
        let s = [0.25];
        // Columns of the result stand one behind the other, with a gap.
        let mut out = vec![-1.0; (rows + 1) * columns + 1];
        let (x_view, s_view) = (view(&x, &[rows, columns]), view(&s, &[1, 1]));
        let operands = [
            ("x", SweepOperand::Elements(&x_view)),
            ("s", SweepOperand::Elements(&s_view)),
            ("k", SweepOperand::Value(&k)),
        ];
        let room = (&mut out[..], 1, &[rows, columns][..], &[1, rows as isize + 1][..]);
        sweep(&mut program, (&[rows, columns], SweepOrder::Any), &operands, room).expect("it fits");
        for (at, found) in out.iter().enumerate() {
            let (row, column) = (at.wrapping_sub(1) % (rows + 1), at.wrapping_sub(1) / (rows + 1));
            let is_gap = at == 0 || row >= rows;
            let expected = if is_gap { -1.0 } else { x[row * columns + column] - 0.25 };
            assert_eq!(*found, expected, "{rows} x {columns}: {at}");
        }
    }
}

/// `s` at one step is an operand of the next one, whatever the axis, the direction and the strides.
#[test]
fn steps_are_taken_in_order() {
    let (_folder, cache) = sanitized();
    let mut program = memory(&cache, "x + k*s", &PLANE, &[]);
    let (k, begin) = (Value::Scalar(ScalarValue::Float64(0.5)), view(&[3.0], &[]));
    for (axis, is_up) in [(0, true), (0, false), (1, true), (1, false)] {
        for swapped in [false, true] {
            let sizes = [6, 9];
            let x: Vec<f64> = (0..54).map(|at| f64::from((at * 37) % 19)).collect();
            let strides: [isize; 2] = if swapped { [1, 6] } else { [9, 1] };
            let at = |row: usize, column: usize| row * strides[0] as usize + column * strides[1] as usize;
            let (mut out, mut expected) = (vec![0.0; 54], vec![0.0; 54]);
            for number in 0..sizes[axis] {
                let step = if is_up { number } else { sizes[axis] - 1 - number };
                for other in 0..sizes[1 - axis] {
                    let point = |step: usize| if axis == 0 { at(step, other) } else { at(other, step) };
                    let before = match number {
                        0 => 3.0,
                        _ => expected[point(if is_up { step - 1 } else { step + 1 })],
                    };
                    expected[point(step)] = x[point(step)] + 0.5 * before;
                }
            }
            let cells: Vec<u8> = x.iter().flat_map(|x| x.to_ne_bytes()).collect();
            let bytes = [strides[0] * 8, strides[1] * 8];
            let plane = NdView::new(ScalarType::Float64, &cells, 0, &sizes, &bytes).expect("inside");
            let operands = [
                ("x", SweepOperand::Elements(&plane)),
                ("s", SweepOperand::Before(0, &begin)),
                ("k", SweepOperand::Value(&k)),
            ];
            let order = if is_up { SweepOrder::Up(axis) } else { SweepOrder::Down(axis) };
            sweep(&mut program, (&sizes, order), &operands, (&mut out, 0, &sizes, &strides))
                .expect("it fits");
            assert_eq!(out, expected, "{axis} {is_up} {swapped}");
        }
    }
}

#[test]
fn positions_choose_elements() {
    let (_folder, cache) = sanitized();
    let types = [("e", "NDARRAY_FLOAT64_N"), ("w", "NDARRAY_FLOAT64_N")];
    let mut program = memory(&cache, "e - w", &types, &["e"]);
    let (e, w) = ([1.0, 2.0, 4.0, 8.0, 16.0], [0.5; 40]);
    let list: Vec<u32> = (0..45).map(|at| at * 7 % 5).collect();
    let positions = Positions::new(list.clone().into());
    let (from, short, w) = (view(&e, &[5]), view(&e[..4], &[4]), view(&w, &[40]));
    let w = SweepOperand::Elements(&w);
    let mut out = vec![0.0; 40];
    let taken = |from, first| [("e", SweepOperand::Taken(from, &positions, first)), ("w", w)];
    sweep(&mut program, (&[40], SweepOrder::Any), &taken(&from, 5), (&mut out, 0, &[40], &[1]))
        .expect("it fits");
    let expected: Vec<f64> = list[5..].iter().map(|at| e[*at as usize] - 0.5).collect();
    assert_eq!(out, expected);
    let mut refused = |operands: [(&str, SweepOperand<'_>); 2]| {
        let room = (&mut out[..], 0, &[40][..], &[1][..]);
        sweep(&mut program, (&[40], SweepOrder::Any), &operands, room)
            .expect_err("it does not fit")
            .to_string()
    };
    // A position beyond the array, too few positions, elements where positions have to be.
    let text = refused(taken(&short, 0));
    assert_eq!(text, "argument e: takes NDARRAY_FLOAT64_N over [40], got an array of FLOAT64 of shape [4]");
    refused(taken(&from, 6));
    refused(taken(&from, usize::MAX));
    refused([("e", w), ("w", w)]);
    let chosen = SweepOperand::Taken(&from, &positions, 0);
    refused([("e", chosen), ("w", chosen)]);
}

#[test]
fn what_does_not_fit_is_refused() {
    let (_folder, cache) = sanitized();
    let mut program = memory(&cache, "x + k*s", &PLANE, &[]);
    let (k, x, narrow) = (Value::Scalar(ScalarValue::Float64(0.5)), [1.0; 6], [1.0f32; 6]);
    let mut out = [7.0; 8];
    let (plane, turned, row, single) =
        (view(&x, &[2, 3]), view(&x, &[3, 2]), view(&x, &[6]), view(&[0.0], &[1, 1]));
    let narrow = NdView::from_slice(&narrow, &[2, 3]).expect("six elements");
    let x = |view| ("x", SweepOperand::Elements(view));
    let s = ("s", SweepOperand::Elements(&single));
    let k = ("k", SweepOperand::Value(&k));
    let before = ("s", SweepOperand::Before(0, &single));
    let several = ("s", SweepOperand::Before(0, &plane));
    let gaps = row.with_validity(&[0b0001_1111], 0).expect("six bits");
    let with_gaps = ("x", SweepOperand::Window(&gaps, 0, [3, 1, 0, 0, 0, 0]));
    let cases: [(&[usize], SweepOrder, Operands<'_>, &[usize]); 10] = [
        (&[2, 3], SweepOrder::Any, [with_gaps, s, k], &[2, 3]),
        (&[2, 3], SweepOrder::Any, [x(&turned), s, k], &[2, 3]),
        (&[2, 3], SweepOrder::Any, [x(&row), s, k], &[2, 3]),
        (&[2, 3], SweepOrder::Any, [x(&narrow), s, k], &[2, 3]),
        (&[2, 3], SweepOrder::Any, [x(&plane), s, ("k", s.1)], &[2, 3]),
        (&[2, 3], SweepOrder::Any, [x(&plane), before, k], &[2, 3]),
        (&[2, 3], SweepOrder::Any, [x(&plane), s, k], &[2, 2]),
        // The first step takes one value.
        (&[2, 3], SweepOrder::Up(0), [x(&plane), several, k], &[2, 3]),
        (&[2, 3], SweepOrder::Up(2), [x(&plane), before, k], &[2, 3]),
        (&[], SweepOrder::Any, [x(&plane), s, k], &[2, 3]),
    ];
    for (number, (shape, order, operands, sizes)) in cases.into_iter().enumerate() {
        let strides = [sizes[1] as isize, 1];
        let outcome = sweep(&mut program, (shape, order), &operands, (&mut out, 0, sizes, &strides));
        outcome.expect_err(&format!("case {number} does not fit"));
        assert_eq!(out, [7.0; 8], "{number}");
    }
    // No room, one too many, an operand missing.
    let operands = || [x(&plane).1, s.1, k.1].into_iter();
    let (_, memory) = &mut program;
    let none: [(usize, &mut Room<'_>); 0] = [];
    let error = memory.sweep(&[2, 3], SweepOrder::Any, operands(), none).expect_err("no room");
    assert_eq!(error, BoundaryError::Rooms { expected: 1, actual: 0 });
    let slot = program.0.output_slot().clone();
    let mut room = Room::strided(&slot, &mut out, 0, &[2, 3], &[3, 1]).expect("a room");
    program
        .1
        .sweep(&[2, 3], SweepOrder::Any, operands().skip(1), [(0, &mut room)])
        .expect_err("an operand is missing");
    program
        .1
        .sweep(&[2, 3], SweepOrder::Any, operands(), [(1, &mut room)])
        .expect_err("there is no such result");
}

/// Windows of cells in order: forward, backward, repeated, and beyond the cells.
#[test]
fn windows_stay_inside() {
    let (_folder, cache) = sanitized();
    let mut program = memory(&cache, "x + k*s", &PLANE, &[]);
    let (k, cells) = (Value::Scalar(ScalarValue::Float64(10.0)), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
    let cells = view(&cells, &[8]);
    let mut run = |first: usize, steps: [isize; 2]| {
        let mut out = [0.0; 6];
        let window = SweepOperand::Window(&cells, first, [steps[0], steps[1], 0, 0, 0, 0]);
        let operands =
            [("x", window), ("s", SweepOperand::Window(&cells, 1, [0; 6])), ("k", SweepOperand::Value(&k))];
        let room = (&mut out[..], 0, &[2, 3][..], &[3, 1][..]);
        let outcome = sweep(&mut program, (&[2, 3], SweepOrder::Any), &operands, room);
        (outcome.is_ok(), out.map(|x| if x > 0.0 { x - 20.0 } else { x }))
    };
    assert_eq!(run(0, [3, 1]), (true, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
    assert_eq!(run(7, [-1, -2]), (true, [8.0, 6.0, 4.0, 7.0, 5.0, 3.0]));
    assert_eq!(run(2, [0, 2]), (true, [3.0, 5.0, 7.0, 3.0, 5.0, 7.0]));
    for (first, steps) in
        [(3, [3, 1]), (4, [-1, -2]), (8, [0, 0]), (0, [isize::MAX, 1]), (0, [1, isize::MIN])]
    {
        assert_eq!(run(first, steps), (false, [0.0; 6]), "{first} {steps:?}");
    }
}

/// Programs that are no region of total operations on arrays with axes have no sweep, and are called as before.
#[test]
fn only_a_region_is_swept() {
    let (_folder, cache) = sanitized();
    let ints: [(&str, &str); 2] = [("x", "NDARRAY_INT64_N"), ("s", "NDARRAY_INT64_N")];
    let floats = [("x", "NDARRAY_FLOAT64_N"), ("s", "NDARRAY_FLOAT64_N")];
    let can = |text: &str, types: &[(&str, &str)]| memory(&cache, text, types, &[]).1.can_sweep();
    assert!(can("math.exp(x) + s*s", &floats));
    assert!(!can("x // s", &ints), "it may refuse an element");
    assert!(!can("nd.sum(x*s)", &floats), "a fold");
    let call = memory(&cache, "x + s", &floats, &[]).0;
    let contiguous = ProgramCall::new("f", call.program().clone(), ArrayLayout::Contiguous).expect("a name");
    let memory = cache.library(&contiguous).expect("it has a form in C").call_memory().expect("memory");
    assert!(!memory.can_sweep(), "elements of arguments stand one after the other");
    let refused =
        ProgramCall::new("f", call.program().clone(), ArrayLayout::Strided).expect("a name").taking("y");
    assert!(refused.expect_err("there is no y").to_string().contains("no such input"));
}
