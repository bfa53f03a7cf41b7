//! Special functions as lists: against the functions themselves, by the reference and as strips.

use crate::columns::{Inputs, is_same};
use crate::reference::{self, Rows};
use cembra_vm::strip::{
    Lane, List, Op, Options, RecordedFunction, Sink, Term, compile, load, record_binary, record_fast,
    record_rare_angles, record_rare_binary, record_rare_unary, record_unary,
};
use cembra_vm::vector::Level;
use cembra_vm::vector::math::{BinaryFunction, BinaryKind, UnaryFunction, UnaryKind, double, single};
use fastrand::Rng;

const ROWS: usize = 1600;

/// Where cases of functions meet, and what has no place in a range.
const SPECIAL: [f64; 26] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    1.5,
    2.0,
    8.0,
    -3.0,
    1e-8,
    1e-310,
    -5e-324,
    f64::MIN_POSITIVE,
    f64::MAX,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
    2_097_152.0,
    2_097_152.5,
    -1e22,
    709.9,
    -745.2,
    28.5,
    1e300,
    -1e-300,
];

/// Every pair of special numbers, then numbers of all sizes.
fn arguments(seed: u64) -> [Vec<f64>; 2] {
    let mut rng = Rng::with_seed(seed);
    let mut number = || match rng.u8(..5) {
        0 => f64::from_bits(rng.u64(..)),
        1 => rng.f64() * 2.0 - 1.0,
        2 => rng.f64() * 40.0 - 20.0,
        3 => rng.f64() * 4.0 - 1.0,
        _ => rng.f64() * 1600.0 - 800.0,
    };
    let pairs = SPECIAL.iter().flat_map(|x| SPECIAL.iter().map(move |y| [*x, *y]));
    let mut rows: Vec<[f64; 2]> = pairs.collect();
    rows.resize_with(ROWS, || [number(), number()]);
    [0, 1].map(|operand| rows.iter().map(|row| row[operand]).collect())
}

/// A list of a function of two columns: its value, and where that does not hold.
struct Listed {
    list: List,
    recorded: RecordedFunction,
}

impl Listed {
    fn new(lane: Lane, record: impl Fn(&mut List, [Term; 2]) -> RecordedFunction) -> Listed {
        let mut list = List::new();
        let operands = [0, 1].map(|number| list.column(number, lane));
        let mut recorded = record(&mut list, operands);
        let rare = recorded.rare.unwrap_or_else(|| list.truth(false));
        recorded.rare = Some(rare);
        list.store(2, recorded.value);
        list.store(3, rare);
        Listed { list, recorded }
    }
}

/// Compares rows of results with those of the function, where they are not rare.
fn compare(what: &str, lane: Lane, expected: &[u64], row: impl Fn(usize) -> (u64, bool)) -> usize {
    let mut rare = 0;
    for (number, expected) in expected.iter().enumerate() {
        let (bits, is_rare) = row(number);
        rare += usize::from(is_rare);
        assert!(is_rare || is_same(lane, bits, *expected), "{what} row {number}: {bits:x}, not {expected:x}");
    }
    rare
}

/// A list by the reference, and as a strip of each level, with registers for all and with few.
fn check(name: &str, lane: Lane, listed: &Listed, columns: [Vec<u8>; 2], expected: &[u64]) -> usize {
    let Listed { list, recorded } = listed;
    let inputs = Inputs { columns: columns.to_vec(), scalars: Vec::new() };
    let rows: Vec<(u64, bool)> = (0..expected.len())
        .map(|row| {
            let terms = reference::terms(list, &inputs, row);
            let rare = recorded.rare.expect("a mask");
            (terms[recorded.value.index()], terms[rare.index()] != 0)
        })
        .collect();
    let rare = compare(name, lane, expected, |row| rows[row]);
    for level in Level::available().iter().copied().filter(|level| *level != Level::Baseline) {
        for registers in [32, 8] {
            let what = format!("{name} on {}, {registers} registers", level.name());
            let code = compile(list, level, Options { registers, ..Options::default() });
            let code = code.unwrap_or_else(|error| panic!("{what}: {error}"));
            let strip = load(&[code]).expect("executable memory").remove(0);
            let mut found = Inputs { columns: columns.to_vec(), scalars: Vec::new() };
            found.columns.extend([vec![0; expected.len() * lane.bytes()], vec![0; expected.len()]]);
            let pointers: Vec<*mut u8> = found.columns.iter_mut().map(|bytes| bytes.as_mut_ptr()).collect();
            // SAFETY: the machine has the level, and the columns have the rows.
            unsafe { strip.run(pointers.as_ptr(), 0, expected.len(), std::ptr::null()) };
            let row = |row| (found.row(2, lane, row), found.row(3, Lane::Mask, row) != 0);
            assert_eq!(compare(&what, lane, expected, row), rare, "{what}: rare rows");
        }
    }
    rare
}

fn bytes_of_double(x: &[f64]) -> Vec<u8> {
    x.iter().flat_map(|x| x.to_le_bytes()).collect()
}

fn bytes_of_single(x: &[f64]) -> Vec<u8> {
    x.iter().flat_map(|x| (*x as f32).to_le_bytes()).collect()
}

/// Operations of a list, columns and literals apart.
fn operations(list: &List) -> usize {
    list.terms().filter(|(_, op, _)| !matches!(op, Op::Column(_) | Op::Literal(_))).count()
}

fn unary_of_double(function: &UnaryFunction<f64>) -> (Listed, usize) {
    let listed = Listed::new(Lane::F64, |list, [x, _]| record_unary(function.kind, list, x));
    let columns = arguments(1);
    let expected: Vec<u64> = columns[0].iter().map(|x| (function.one)(*x).to_bits()).collect();
    let rare = check(function.name, Lane::F64, &listed, columns.map(|x| bytes_of_double(&x)), &expected);
    (listed, rare)
}

fn binary_of_double(function: &BinaryFunction<f64>) -> (Listed, usize) {
    let listed = Listed::new(Lane::F64, |list, [x, y]| record_binary(function.kind, list, x, y));
    let columns = arguments(2);
    let [x, y] = &columns;
    let expected: Vec<u64> = x.iter().zip(y).map(|(x, y)| (function.one)(*x, *y).to_bits()).collect();
    let rare = check(function.name, Lane::F64, &listed, columns.map(|x| bytes_of_double(&x)), &expected);
    (listed, rare)
}

#[test]
fn functions_of_doubles() {
    for function in double::unary_functions() {
        assert_eq!(function.name, function.kind.name());
        let (listed, rare) = unary_of_double(&function);
        println!("{}: {} operations, {rare} rare", function.name, operations(&listed.list));
        // Most arguments are not rare.
        assert!(rare < ROWS / 2 + ROWS / 4, "{}: {rare} rare rows", function.name);
    }
    for function in double::binary_functions().iter().chain(&double::plane_functions()) {
        assert_eq!(function.name, function.kind.name());
        let (listed, rare) = binary_of_double(function);
        println!("{}: {} operations, {rare} rare", function.name, operations(&listed.list));
        assert!(rare < ROWS / 8, "{}: {rare} rare rows", function.name);
    }
}

#[test]
fn functions_of_singles() {
    for function in single::unary_functions() {
        let listed = Listed::new(Lane::F32, |list, [x, _]| record_unary(function.kind, list, x));
        let columns = arguments(3);
        let expected: Vec<u64> =
            columns[0].iter().map(|x| (function.one)(*x as f32).to_bits().into()).collect();
        check(function.name, Lane::F32, &listed, columns.map(|x| bytes_of_single(&x)), &expected);
    }
    for function in single::binary_functions() {
        let listed = Listed::new(Lane::F32, |list, [x, y]| record_binary(function.kind, list, x, y));
        let columns = arguments(4);
        let pairs = columns[0].iter().zip(&columns[1]);
        let expected: Vec<u64> =
            pairs.map(|(x, y)| (function.one)(*x as f32, *y as f32).to_bits().into()).collect();
        check(function.name, Lane::F32, &listed, columns.map(|x| bytes_of_single(&x)), &expected);
    }
}

#[test]
fn fast_paths_of_doubles() {
    let mut names = Vec::new();
    for function in double::unary_functions() {
        let mut list = List::new();
        let x = list.column(0, Lane::F64);
        let before = list.terms().len();
        let Some(recorded) = record_fast(function.kind, &mut list, x) else {
            assert_eq!(list.terms().len(), before, "{} has no fast path", function.name);
            continue;
        };
        let columns = arguments(5);
        let expected: Vec<u64> = columns[0].iter().map(|x| (function.one)(*x).to_bits()).collect();
        let inputs = Inputs { columns: vec![bytes_of_double(&columns[0])], scalars: Vec::new() };
        let rare = compare(function.name, Lane::F64, &expected, |row| {
            let terms = reference::terms(&list, &inputs, row);
            (terms[recorded.value.index()], terms[recorded.rare.expect("a mask").index()] != 0)
        });
        assert!(0 < rare && rare < ROWS, "{}: {rare} do not take the path", function.name);
        assert!(operations(&list) < operations(&unary_of_double(&function).0.list), "{}", function.name);
        names.push(function.name);
    }
    assert_eq!(names, ["exp", "ln"]);
}

/// What is recorded for rare arguments gives the value there.
#[test]
fn rare_values_of_doubles() {
    let mut names = Vec::new();
    for function in double::unary_functions() {
        let mut list = List::new();
        let x = list.column(0, Lane::F64);
        let before = list.terms().len();
        let Some(value) = record_rare_unary(function.kind, &mut list, x) else {
            assert_eq!(list.terms().len(), before, "{} has no such value", function.name);
            continue;
        };
        let rare = record_unary(function.kind, &mut list, x).rare.expect("a mask");
        let [columns, _] = arguments(6);
        let inputs = Inputs { columns: vec![bytes_of_double(&columns)], scalars: Vec::new() };
        let expected: Vec<u64> = columns.iter().map(|x| (function.one)(*x).to_bits()).collect();
        let usual = compare(function.name, Lane::F64, &expected, |row| {
            let terms = reference::terms(&list, &inputs, row);
            (terms[value.index()], terms[rare.index()] == 0)
        });
        assert!(usual < ROWS - ROWS / 4, "{}: {usual} of {ROWS} are usual", function.name);
        names.push(function.name);
    }
    for function in double::plane_functions() {
        let mut list = List::new();
        let [x, y] = [0, 1].map(|number| list.column(number, Lane::F64));
        let angles = record_rare_angles(function.kind, &mut list, x, y).expect("two angles");
        let rare = record_binary(function.kind, &mut list, x, y).rare.expect("a mask");
        let mut of_turns = List::new();
        let [x, y, turns @ ..] = [0, 1, 2, 3, 4, 5].map(|number| of_turns.column(number, Lane::F64));
        let value = record_rare_binary(function.kind, &mut of_turns, [x, y], turns);
        // Below the real axis, close to a diagonal.
        let rng = &mut Rng::with_seed(8);
        for _ in 0..ROWS {
            let size = (rng.f64() * 400.0 + 11.0).exp2();
            let point = [if rng.bool() { size } else { -size }, (rng.f64() * 400.0 - 200.0) / size - size];
            let columns = point.map(|x| bytes_of_double(&[x])).to_vec();
            let terms = reference::terms(&list, &Inputs { columns: columns.clone(), scalars: Vec::new() }, 0);
            assert!(terms[rare.index()] != 0, "{} of {point:?} is not rare", function.name);
            let angles = angles.map(|angle| f64::from_bits(terms[angle.index()]));
            let turns = angles.iter().flat_map(|angle| [double::cos(*angle), double::sin(*angle)]);
            let columns = columns.into_iter().chain(turns.map(|turn| bytes_of_double(&[turn]))).collect();
            let found =
                reference::terms(&of_turns, &Inputs { columns, scalars: Vec::new() }, 0)[value.index()];
            let expected = (function.one)(point[0], point[1]).to_bits();
            assert!(is_same(Lane::F64, found, expected), "{} of {point:?}: {found:x}", function.name);
        }
        names.push(function.name);
    }
    let of_faddeeva = ["faddeeva_real", "faddeeva_imag", "faddeeva_slope_real", "faddeeva_slope_imag"];
    assert_eq!(names, [&["lgamma"][..], &of_faddeeva].concat());
    let (mut list, kind) = (List::new(), BinaryKind::Pow);
    let x = list.column(0, Lane::F64);
    assert_eq!(record_rare_angles(kind, &mut list, x, x), None);
}

/// A function inside of others: the terms of the list stay what they were.
#[test]
fn functions_join_a_list() {
    let mut list = List::new();
    let (x, y) = (list.column(0, Lane::F64), list.column(1, Lane::F64));
    let half = list.f64(0.5);
    let before = list.terms().len();
    let exp = record_unary(UnaryKind::Exp, &mut list, x).value;
    let again = record_unary(UnaryKind::Exp, &mut list, x).value;
    assert_eq!(exp, again);
    assert_eq!(list.terms().take(before).map(|(term, ..)| term).collect::<Vec<_>>(), [x, y, half]);
    let power = record_binary(BinaryKind::Pow, &mut list, exp, half).value;
    list.store(2, power);
    let columns = arguments(5);
    let inputs =
        Inputs { columns: columns.iter().map(|x| bytes_of_double(x)).collect(), scalars: Vec::new() };
    for (row, x) in columns[0].iter().enumerate() {
        let terms = reference::terms(&list, &inputs, row);
        let expected = double::pow(double::exp(*x), 0.5).to_bits();
        let [Sink::Rows(2, term)] = list.sinks() else { panic!("one sink") };
        assert!(is_same(Lane::F64, terms[term.index()], expected), "{x}");
    }
}
