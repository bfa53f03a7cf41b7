//! Kept runs: what they refuse, before and after they are bound, and that all else gives the results of a run.

use crate::draft::Draft;
use crate::{bound, qtype};
use cembra_vm::frame::Frame;
use cembra_vm::machine::{
    BoundExpr, Budget, CellsPlace, HostCells, KeptOperand, KeptRun, Positions, Room, RunOptions, Strips,
    SweepOrder,
};
use cembra_vm::value::{NdView, QType, ScalarValue, Value};

const ROWS: usize = 20;
const COLUMNS: usize = 24;
const CELLS: usize = ROWS * COLUMNS;

/// `z = (x + y) * (k + k)`, with `y` one level before in scans.
fn program(wide: &QType) -> BoundExpr {
    let mut d = Draft::new();
    let (x, y) = (d.input(0, wide.clone()), d.input(24, wide.clone()));
    let k = d.input(48, qtype("FLOAT64"));
    let twice = d.temporary(56, qtype("FLOAT64"));
    let (sum, z) = (d.temporary(64, wide.clone()), d.output(88, wide.clone()));
    d.run("math.add", &[k, k], twice);
    d.run("math.add", &[x, y], sum);
    d.run("math.multiply", &[sum, twice], z);
    bound(d.finish(&[("x", x), ("y", y), ("k", k)], z))
}

/// A frame with `k`, on which the program has been compiled to a strip.
fn warm(bound: &BoundExpr) -> Frame {
    let mut frame = bound.new_frame().expect("memory");
    frame
        .write(bound.input_slot("k").expect("an input"), &Value::Scalar(ScalarValue::Float64(0.25)))
        .expect("its type");
    let (x, mut z) = (vec![1.0; CELLS], vec![0.0; CELLS]);
    let view = NdView::from_slice(&x, &[ROWS, COLUMNS]).expect("as many cells");
    let views = [(0, view), (1, view)];
    let mut room = [Room::new(bound.output_slot(), &mut z)];
    bound.run_on(&mut frame, &views, &mut room, RunOptions::new().strips(Strips::Always)).expect("no error");
    assert_eq!(z, [1.0; CELLS]);
    frame
}

fn place(memory: usize, first: usize, steps: [isize; 2]) -> CellsPlace {
    CellsPlace { memory, first, steps: [steps[0], steps[1], 0, 0, 0, 0] }
}

/// Keeps the program for `x` and `z` in two memories and another operand.
fn keep(
    bound: &BoundExpr,
    order: SweepOrder,
    (x, y, z): (CellsPlace, KeptOperand, CellsPlace),
    memories: &[HostCells<'_>],
) -> Option<KeptRun> {
    let inputs = [(0, KeptOperand::Cells(x)), (1, y)];
    bound.keep((&[ROWS, COLUMNS], order), &inputs, &[(bound.output_slot(), z)], memories)
}

fn number(at: usize) -> f64 {
    (at * 7919 % 1009) as f64 - 500.0
}

const ROW: [isize; 2] = [COLUMNS as isize, 1];

#[test]
fn kept_runs_compute_what_a_run_computes() {
    let bound = program(&qtype("NDARRAY_FLOAT64_NN"));
    let mut frame = warm(&bound);
    let cells = |at: &CellsPlace, row: usize, column: usize| {
        (at.first as isize + row as isize * at.steps[0] + column as isize * at.steps[1]) as usize
    };
    let wide = COLUMNS as isize + 7;
    for (x, y, z) in [
        (place(0, 0, ROW), place(0, 0, ROW), place(1, 0, ROW)),
        (place(0, 3, [wide, 1]), place(0, 0, [0, 1]), place(1, 5, [wide, 1])),
        (place(0, 700, [-wide, 1]), place(0, 2, [1, 0]), place(1, 0, [wide, 1])),
        (place(0, 0, [3, 1]), place(0, 900, [0, 0]), place(1, 9, ROW)),
    ] {
        let mut made = vec![0.0; 1000];
        let from: Vec<f64> = (0..1000).map(number).collect();
        let memories = [HostCells::read(&from), HostCells::write(&mut made)];
        let mut kept =
            keep(&bound, SweepOrder::Any, (x, KeptOperand::Cells(y), z), &memories).expect("a strip");
        // Other memory each time, and another scalar.
        for shift in 0..3 {
            let k = f64::from(shift) - 0.75;
            let slot = bound.input_slot("k").expect("an input");
            frame.write(slot, &Value::Scalar(ScalarValue::Float64(k))).expect("its type");
            let from: Vec<f64> = (0..1000).map(|at| number(at + shift as usize)).collect();
            let (mut made, mut expected) = (vec![-7.0; 1000], vec![-7.0; 1000]);
            let mut memories = [HostCells::read(&from), HostCells::write(&mut made)];
            assert!(kept.run(&mut frame, &mut memories, &RunOptions::new()));
            for at in 0..CELLS {
                let [x, y, z] = [&x, &y, &z].map(|place| cells(place, at / COLUMNS, at % COLUMNS));
                expected[z] = (from[x] + from[y]) * (k + k);
            }
            assert_eq!(made, expected, "{x:?} {y:?} {z:?}");
        }
    }
}

#[test]
fn levels_hand_results_on() {
    let bound = program(&qtype("NDARRAY_FLOAT64_NN"));
    let mut frame = warm(&bound);
    let from: Vec<f64> = (0..CELLS).map(|at| number(at) / 512.0).collect();
    for (order, steps) in [
        (SweepOrder::Up(0), ROW),
        (SweepOrder::Down(0), ROW),
        (SweepOrder::Up(1), [1, ROWS as isize]),
        (SweepOrder::Down(1), [1, ROWS as isize]),
    ] {
        let (x, z) = (place(0, 0, steps), place(1, 0, steps));
        let mut made = vec![0.0; CELLS];
        let mut memories = [HostCells::read(&from), HostCells::write(&mut made)];
        let before = KeptOperand::Before(0, ScalarValue::Float64(3.0));
        let mut kept = keep(&bound, order, (x, before, z), &memories).expect("a strip");
        assert!(kept.run(&mut frame, &mut memories, &RunOptions::new()));
        let mut expected = vec![0.0; CELLS];
        let (SweepOrder::Up(axis) | SweepOrder::Down(axis)) = order else { unreachable!("levels") };
        let (levels, points) = if axis == 0 { (ROWS, COLUMNS) } else { (COLUMNS, ROWS) };
        for point in 0..points {
            let mut before = 3.0;
            for step in 0..levels {
                let level = if matches!(order, SweepOrder::Up(_)) { step } else { levels - 1 - step };
                let at = level * steps[axis] as usize + point * steps[1 - axis] as usize;
                before = (from[at] + before) * 0.5;
                expected[at] = before;
            }
        }
        assert_eq!(made, expected, "{order:?}");
    }
}

/// `x` is in rows, `y` at positions along the last axis.
#[test]
fn cells_at_positions_are_taken() {
    let bound = program(&qtype("NDARRAY_FLOAT64_NN"));
    let mut frame = warm(&bound);
    let from: Vec<f64> = (0..1000).map(number).collect();
    let list: Vec<u32> = (0..COLUMNS as u32 + 5).map(|at| at * 17 % 31).collect();
    let positions = Positions::new(list.clone().into());
    for (first, row) in [(0, 31), (960 - 19 * 31, 31), (3, 0), (700, -31)] {
        let (x, z) = (place(0, 0, ROW), place(1, 0, ROW));
        let y = KeptOperand::Taken(place(0, first, [row, 1]), positions.clone(), 5);
        let mut made = vec![0.0; CELLS];
        let mut memories = [HostCells::read(&from), HostCells::write(&mut made)];
        let mut kept = keep(&bound, SweepOrder::Any, (x, y, z), &memories).expect("a strip");
        assert!(kept.run(&mut frame, &mut memories, &RunOptions::new()));
        for at in 0..CELLS {
            let (i, j) = (at / COLUMNS, at % COLUMNS);
            let taken = first as isize + i as isize * row + list[5 + j] as isize;
            assert_eq!(made[at], (from[at] + from[taken as usize]) * 0.5, "row {i}, column {j} from {first}");
        }
    }
}

#[test]
fn positions_outside_are_refused() {
    let bound = program(&qtype("NDARRAY_FLOAT64_NN"));
    warm(&bound);
    let (from, mut made) = (vec![1.0; CELLS], vec![0.0; CELLS]);
    let list = |count: u32, last: u32| Positions::new((0..count).chain([last]).collect());
    let (any, count) = (SweepOrder::Any, COLUMNS as u32);
    let last = CELLS as u32 - 1;
    for (what, fits, order, at, positions, first) in [
        ("all cells", true, any, place(0, 0, [0, 1]), list(count, last), 1),
        ("a cell beyond", false, any, place(0, 0, [0, 1]), list(count, last + 1), 1),
        ("a cell beyond, which no element has", false, any, place(0, 0, [0, 1]), list(count, last + 1), 0),
        ("beyond in the last row", false, any, place(0, 0, ROW), list(count, count), 1),
        ("beyond from a cell on", false, any, place(0, 1, [0, 1]), list(count, last), 1),
        ("fewer positions than elements", false, any, place(0, 0, [0, 1]), list(count, last), 2),
        ("no positions", false, any, place(0, 0, [0, 1]), list(count, last), 99),
        ("cells that are apart", false, any, place(0, 0, [0, 2]), list(count, 3), 1),
        ("levels", false, SweepOrder::Up(0), place(0, 0, [0, 1]), list(count, last), 1),
        ("memory that is written", false, any, place(1, 0, [0, 1]), list(count, last), 1),
    ] {
        let memories = [HostCells::read(&from), HostCells::write(&mut made)];
        let y = KeptOperand::Taken(at, positions, first);
        let kept = keep(&bound, order, (place(0, 0, ROW), y, place(1, 0, ROW)), &memories);
        assert_eq!(kept.is_some(), fits, "{what}");
    }
}

#[test]
fn places_outside_and_shared_memory_are_refused() {
    let bound = program(&qtype("NDARRAY_FLOAT64_NN"));
    warm(&bound);
    let from = vec![1.0; CELLS];
    let ints = vec![1_i64; CELLS];
    let mut made = vec![0.0; CELLS];
    let (x, y) = (place(0, 0, ROW), KeptOperand::Cells(place(0, 0, ROW)));
    let before = |value| KeptOperand::Before(0, value);
    let one = ScalarValue::Float64(1.0);
    let good = place(1, 0, ROW);
    let any = SweepOrder::Any;
    let (outside, beyond) = (place(0, 1, ROW), KeptOperand::Cells(place(0, 0, [COLUMNS as isize, 2])));
    let cases = [
        ("it fits", true, any, x, y.clone(), good),
        ("an operand outside", false, any, outside, y.clone(), good),
        ("an operand beyond the end of rows", false, any, x, beyond, good),
        ("no such memory", false, any, place(9, 0, ROW), y.clone(), good),
        ("a result outside", false, any, x, y.clone(), place(1, 1, ROW)),
        ("points of a result that are one", false, any, x, y.clone(), place(1, 0, [0, 1])),
        ("points of a result that overlap", false, any, x, y.clone(), place(1, 0, [8, 1])),
        ("a result that goes down", false, any, x, y.clone(), place(1, CELLS - 1, [-(COLUMNS as isize), -1])),
        ("a result in memory that is read", false, any, x, y.clone(), place(0, 0, ROW)),
        ("an operand in memory that is written", false, any, place(1, 0, ROW), y.clone(), good),
        ("a step before without steps", false, any, x, before(one.clone()), good),
        ("along no axis", false, SweepOrder::Up(2), x, before(one.clone()), good),
        ("another type at first", false, SweepOrder::Up(0), x, before(ScalarValue::Int64(1)), good),
        ("before no result", false, SweepOrder::Up(0), x, KeptOperand::Before(1, one.clone()), good),
        ("levels", true, SweepOrder::Up(0), x, before(one), good),
        ("other elements", false, any, place(2, 0, ROW), y.clone(), good),
    ];
    for (what, fits, order, x, y, z) in cases {
        let memories = [HostCells::read(&from), HostCells::write(&mut made), HostCells::read(&ints)];
        assert_eq!(keep(&bound, order, (x, y, z), &memories).is_some(), fits, "{what}");
    }
    let memories = [HostCells::read(&from), HostCells::write(&mut made)];
    let inputs = [(0, KeptOperand::Cells(x)), (1, y)];
    let result = (bound.output_slot(), good);
    for (what, inputs, results) in [
        ("an operand is missing", &inputs[..1], &[result][..]),
        ("no result", &inputs, &[]),
        ("a result twice", &inputs, &[result, result]),
        ("an input as a result", &inputs, &[(bound.input_slot("x").expect("an input"), good)]),
    ] {
        assert!(bound.keep((&[ROWS, COLUMNS], any), inputs, results, &memories).is_none(), "{what}");
    }
    let shapes: [&[usize]; 4] = [&[CELLS], &[0, COLUMNS], &[], &[usize::MAX, usize::MAX]];
    for shape in shapes {
        assert!(bound.keep((shape, any), &inputs, &[result], &memories).is_none(), "{shape:?}");
    }
    // A unit axis of the type has one element along it.
    let bound = program(&qtype("NDARRAY_FLOAT64_N1"));
    assert!(
        bound.keep((&[ROWS, COLUMNS], any), &inputs, &[(bound.output_slot(), good)], &memories).is_none()
    );
}

#[test]
fn other_memory_and_limits_are_refused_by_a_run() {
    let bound = program(&qtype("NDARRAY_FLOAT64_NN"));
    let mut frame = warm(&bound);
    let (from, mut made) = (vec![1.0; CELLS], vec![0.0; CELLS]);
    let at = |memory| place(memory, 0, ROW);
    let memories = [HostCells::read(&from), HostCells::write(&mut made)];
    let operands = (at(0), KeptOperand::Cells(at(0)), at(1));
    let mut kept = keep(&bound, SweepOrder::Any, operands, &memories).expect("a strip");
    let mut made = vec![5.0; CELLS];
    let mut other = vec![5.0; CELLS + 1];
    let longer = vec![1.0; CELLS + 1];
    let ints = vec![1_i64; CELLS];
    let plain = RunOptions::new;
    let mut refuses = |memories: &mut [HostCells<'_>]| !kept.run(&mut frame, memories, &plain());
    assert!(refuses(&mut [HostCells::read(&longer), HostCells::write(&mut made)]));
    assert!(refuses(&mut [HostCells::read(&from[1..]), HostCells::write(&mut made)]));
    assert!(refuses(&mut [HostCells::read(&ints), HostCells::write(&mut made)]));
    assert!(refuses(&mut [HostCells::read(&from), HostCells::read(&from)]));
    assert!(refuses(&mut [HostCells::read(&from), HostCells::write(&mut other)]));
    assert!(refuses(&mut [HostCells::read(&from)]));
    assert!(refuses(&mut [HostCells::write(&mut made)]));
    assert!(refuses(&mut []));
    let cancelled = cembra_vm::machine::CancelToken::new();
    cancelled.cancel();
    let budget = Budget::new().cancel(&cancelled);
    let mut memories = [HostCells::read(&from), HostCells::write(&mut made)];
    for options in [
        plain().rows(2 * CELLS as u64 - 1),
        plain().fuel(2),
        plain().array_rows(CELLS as u64 - 1),
        plain().strips(Strips::Never),
        plain().budget(&budget),
    ] {
        assert!(!kept.run(&mut frame, &mut memories, &options), "{options:?}");
    }
    let mut trace = cembra_vm::machine::Trace::default();
    assert!(!kept.run(&mut frame, &mut memories, &plain().observer(&mut trace)));
    // Without the scalar, or on the frame of another program.
    assert!(!kept.run(&mut bound.new_frame().expect("memory"), &mut memories, &plain()));
    let strange = program(&qtype("NDARRAY_FLOAT64_N1"));
    assert!(!kept.run(&mut strange.new_frame().expect("memory"), &mut memories, &plain()));
    assert_eq!((made, other), (vec![5.0; CELLS], vec![5.0; CELLS + 1]));
    let mut made = vec![0.0; CELLS];
    let used = std::cell::Cell::default();
    let mut memories = [HostCells::read(&from), HostCells::write(&mut made)];
    let options = plain().rows(2 * CELLS as u64).fuel(3).used(&used);
    assert!(kept.run(&mut frame, &mut memories, &options));
    assert_eq!((used.get().instructions, used.get().rows), (3, 2 * CELLS as u64));
    assert_eq!(made, vec![1.0; CELLS]);
}
