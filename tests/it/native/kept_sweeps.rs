//! Kept sweeps: they give what plain loops give on whatever memory is lent, and refuse places outside and memory that is not theirs.

use crate::native::arrays::sanitized;
use crate::native::sweeps::{PLANE, memory};
use cembra::vm::library::{KeptSweep, Positions, SweepSource};
use cembra::vm::machine::{BoundExpr, CellsPlace, HostCells, SweepOrder};
use cembra::vm::value::{ScalarValue, Value};

const SHAPE: [usize; 2] = [6, 9];

fn place(memory: usize, first: usize, steps: [isize; 2]) -> CellsPlace {
    CellsPlace { memory, first, steps: [steps[0], steps[1], 0, 0, 0, 0] }
}

/// Sources in the order of the program's inputs.
fn sources(bound: &BoundExpr, named: &[(&str, SweepSource)]) -> Vec<SweepSource> {
    let of = |name: &str| named.iter().find(|(known, _)| *known == name).expect("a source").1.clone();
    bound.program().main().inputs.iter().map(|(name, _)| of(name)).collect()
}

/// The number of the plain argument `k`.
fn number_of_k(bound: &BoundExpr) -> usize {
    bound.program().main().inputs.iter().position(|(name, _)| &**name == "k").expect("an input")
}

#[test]
fn steps_are_taken_in_order_on_any_memory() {
    let (_folder, cache) = sanitized();
    let (bound, mut memory) = memory(&cache, "x + k*s", &PLANE, &[]);
    let begin = SweepSource::Before(0, ScalarValue::Float64(3.0));
    for (order, axis) in
        [(SweepOrder::Up(0), 0), (SweepOrder::Down(0), 0), (SweepOrder::Up(1), 1), (SweepOrder::Down(1), 1)]
    {
        for steps in [[9, 1], [1, 6], [11, 1]] {
            let (x, out) = (place(0, 2, steps), place(1, 1, steps));
            let named = [("x", SweepSource::Cells(x)), ("s", begin.clone()), ("k", SweepSource::Plain)];
            let (from, mut to) = (vec![0.0; 80], vec![0.0; 80]);
            let memories = [HostCells::read(&from), HostCells::write(&mut to)];
            let kept = memory.keep_sweep((&SHAPE, order), &sources(&bound, &named), &[out], &memories);
            let kept = kept.expect("it fits");
            for k in [0.5, -2.0] {
                assert!(memory.write(number_of_k(&bound), &Value::Scalar(ScalarValue::Float64(k))));
                let from: Vec<f64> = (0..80).map(|at| f64::from(at * 37 % 19) * k).collect();
                let (mut to, mut expected) = (vec![-1.0; 80], vec![-1.0; 80]);
                let mut memories = [HostCells::read(&from), HostCells::write(&mut to)];
                assert!(memory.run_kept(&kept, &mut memories));
                for other in 0..SHAPE[1 - axis] {
                    let mut before = 3.0;
                    for number in 0..SHAPE[axis] {
                        let is_up = matches!(order, SweepOrder::Up(_));
                        let step = if is_up { number } else { SHAPE[axis] - 1 - number };
                        let at = step * steps[axis] as usize + other * steps[1 - axis] as usize;
                        before = from[2 + at] + k * before;
                        expected[1 + at] = before;
                    }
                }
                assert_eq!(to, expected, "{order:?} {steps:?}");
            }
        }
    }
}

#[test]
fn positions_choose_elements_of_any_memory() {
    let (_folder, cache) = sanitized();
    let types = [("e", "NDARRAY_FLOAT64_N"), ("w", "NDARRAY_FLOAT64_N")];
    let (bound, mut memory) = memory(&cache, "e - w", &types, &["e"]);
    let list: Vec<u32> = (0..45).map(|at| at * 7 % 5).collect();
    let positions = Positions::new(list.clone().into());
    let (from, w) = (vec![0.0; 12], vec![0.0; 40]);
    let mut to = vec![0.0; 40];
    let memories = [HostCells::read(&from), HostCells::read(&w), HostCells::write(&mut to)];
    let keep = |memory: &cembra::vm::library::CallMemory, first: usize, step: isize, begin: usize| {
        let e = SweepSource::Taken(place(0, begin, [step, 0]), positions.clone(), first);
        let named = [("e", e), ("w", SweepSource::Cells(place(1, 0, [1, 0])))];
        let results = [place(2, 0, [1, 0])];
        memory.keep_sweep((&[40], SweepOrder::Any), &sources(&bound, &named), &results, &memories)
    };
    for (first, step, begin) in [(6, 1, 0), (0, 3, 0), (0, 1, 8), (usize::MAX, 1, 0), (0, isize::MAX, 0)] {
        assert!(keep(&memory, first, step, begin).is_none(), "{first} {step} {begin}");
    }
    let kept: Vec<KeptSweep> =
        [(5, 2, 3), (0, -1, 4)].into_iter().filter_map(|(f, s, b)| keep(&memory, f, s, b)).collect();
    assert_eq!(kept.len(), 2);
    for (kept, (first, step, begin)) in kept.iter().zip([(5, 2_isize, 3_isize), (0, -1, 4)]) {
        let from: Vec<f64> = (0..12).map(|at| f64::from(1 << at)).collect();
        let w = vec![0.5; 40];
        let mut to = vec![0.0; 40];
        let mut memories = [HostCells::read(&from), HostCells::read(&w), HostCells::write(&mut to)];
        assert!(memory.run_kept(kept, &mut memories));
        let value = |at: &u32| from[(begin + *at as isize * step) as usize] - 0.5;
        assert_eq!(to, list[first..][..40].iter().map(value).collect::<Vec<f64>>());
    }
}

#[test]
fn places_and_memory_that_do_not_fit_are_refused() {
    let (_folder, cache) = sanitized();
    let (bound, mut memory) = memory(&cache, "x + k*s", &PLANE, &[]);
    let (from, ints) = (vec![1.0; 54], vec![1_i64; 54]);
    let mut to = vec![7.0; 54];
    let memories = [HostCells::read(&from), HostCells::write(&mut to), HostCells::read(&ints)];
    let row = [9, 1];
    let cells = |memory, first, steps| SweepSource::Cells(place(memory, first, steps));
    let (good, before) = (place(1, 0, row), SweepSource::Before(0, ScalarValue::Float64(0.0)));
    let keep = |order, x: SweepSource, s: SweepSource, k, out: CellsPlace| {
        let named = [("x", x), ("s", s), ("k", k)];
        memory.keep_sweep((&SHAPE, order), &sources(&bound, &named), &[out], &memories)
    };
    let (any, plain) = (SweepOrder::Any, SweepSource::Plain);
    let s = || cells(0, 0, [0, 0]);
    let kept = keep(any, cells(0, 0, row), s(), plain.clone(), good).expect("it fits");
    for (what, order, x, s, k, out) in [
        ("an operand outside", any, cells(0, 1, row), s(), plain.clone(), good),
        ("other elements", any, cells(2, 0, row), s(), plain.clone(), good),
        ("no such memory", any, cells(3, 0, row), s(), plain.clone(), good),
        ("memory that is written", any, cells(1, 0, row), s(), plain.clone(), good),
        ("a result in memory that is read", any, cells(0, 0, row), s(), plain.clone(), place(0, 0, row)),
        ("a result outside", any, cells(0, 0, row), s(), plain.clone(), place(1, 1, row)),
        ("elements that share memory", any, cells(0, 0, row), s(), plain.clone(), place(1, 0, [8, 1])),
        ("a plain value for an array", any, plain.clone(), s(), plain.clone(), good),
        ("an array for a plain value", any, cells(0, 0, row), s(), s(), good),
        ("a step before without steps", any, cells(0, 0, row), before.clone(), plain.clone(), good),
        ("no such axis", SweepOrder::Up(2), cells(0, 0, row), before.clone(), plain.clone(), good),
        (
            "another type at first",
            SweepOrder::Up(0),
            cells(0, 0, row),
            SweepSource::Before(0, ScalarValue::Int64(0)),
            plain.clone(),
            good,
        ),
        (
            "before no result",
            SweepOrder::Up(0),
            cells(0, 0, row),
            SweepSource::Before(1, ScalarValue::Float64(0.0)),
            plain.clone(),
            good,
        ),
    ] {
        assert!(keep(order, x, s, k, out).is_none(), "{what}");
    }
    let named = [("x", cells(0, 0, row)), ("s", before), ("k", plain)];
    let sources = sources(&bound, &named);
    for (shape, sources, results) in [
        (&SHAPE[..], &sources[1..], &[good][..]),
        (&SHAPE, &sources, &[]),
        (&SHAPE, &sources, &[good, good]),
        (&[], &sources, &[good]),
        (&[54], &sources, &[good]),
        (&[0, 9], &sources, &[good]),
    ] {
        assert!(memory.keep_sweep((shape, SweepOrder::Up(0)), sources, results, &memories).is_none());
    }
    let longer = vec![1.0; 55];
    let mut refuses = |memories: &mut [HostCells<'_>]| !memory.run_kept(&kept, memories);
    assert!(refuses(&mut [HostCells::read(&from), HostCells::write(&mut to)]));
    assert!(refuses(&mut [HostCells::read(&longer), HostCells::write(&mut to), HostCells::read(&ints)]));
    assert!(refuses(&mut [HostCells::read(&from), HostCells::read(&from), HostCells::read(&ints)]));
    assert!(refuses(&mut [HostCells::read(&ints), HostCells::write(&mut to), HostCells::read(&ints)]));
    let (other, mut strange) = crate::native::sweeps::memory(&cache, "x - k*s", &PLANE, &[]);
    assert!(!strange.write(9, &Value::Scalar(ScalarValue::Float64(0.0))));
    assert!(!strange.write(number_of_k(&other), &Value::Scalar(ScalarValue::Int64(0))));
    let mut memories = [HostCells::read(&from), HostCells::write(&mut to), HostCells::read(&ints)];
    assert!(!strange.run_kept(&kept, &mut memories), "the sweep of another library");
    assert_eq!(to, [7.0; 54]);
}
