//! Loops over `prange`: the same as over `range`, whatever the number of threads; what runs serially says why.

use crate::function::interpret::is_close;
use crate::function::{Outcome, compiled, outcome};
use cembra::cli::function_value::{read_arguments, recorded};
use cembra::function::{FunctionModule, FunctionOptions, FunctionType, compile_function};
use cembra::vm::machine::RunOptions;
use fastrand::Rng;
use serde_json::{Value as Json, json};

/// A function with a loop over numbers.
fn function(range: &str, before: &[&str], body: &[&str], result: &str) -> String {
    let mut lines = vec!["from numba import prange".to_owned(), "def f(a, b, n, k):".to_owned()];
    lines.extend(before.iter().map(|line| format!("    {line}")));
    lines.push(format!("    for i in {range}:"));
    lines.extend(body.iter().map(|line| format!("        {line}")));
    lines.push(format!("    return {result}"));
    lines.join("\n") + "\n"
}

/// The reasons for which loops of a function run serially.
fn reasons(source: &str, args: &Json) -> Vec<String> {
    let values = read_arguments(args).expect("arguments");
    let function = compiled(source, "f", &values, &FunctionOptions::default()).expect("it compiles");
    function.warnings().iter().map(|warning| warning.message.clone()).collect()
}

/// Runs the function with `prange`, on one thread and on several, and the one with `range`; all must agree. Gives what
/// it gave.
#[track_caller]
fn check(range: &str, before: &[&str], body: &[&str], result: &str, args: &Json) -> Outcome {
    let options = FunctionOptions::default();
    let source = function(range, before, body, result);
    let serial = outcome(&source.replace("prange(", "range("), "f", args, &options);
    let pieces = outcome(&source, "f", args, &options);
    match (&pieces, &serial) {
        (Outcome::Returned { value, arrays }, Outcome::Returned { value: expected, arrays: after }) => {
            let agree = is_close(value, expected) && is_close(&json!(arrays), &json!(after));
            assert!(agree, "{value} {arrays:?}, serially {expected} {after:?}\n{source}\n{args}");
        }
        (Outcome::Raised(found), Outcome::Raised(expected)) => {
            assert_eq!((&found.class, found.line), (&expected.class, expected.line), "{source}\n{args}");
        }
        (found, expected) => panic!("{found:?}, serially {expected:?}\n{source}\n{args}"),
    }
    let values = read_arguments(args).expect("arguments");
    let function = compiled(&source, "f", &values, &options).expect("it compiles");
    let on = |threads: usize| {
        let called = function.call_with(&values, RunOptions::new().threads(threads));
        let called = called.map(|result| {
            let arrays: Vec<Json> = result.arrays.iter().map(|(_, array)| recorded(array)).collect();
            (recorded(&result.value), arrays)
        });
        called.map_err(|error| error.to_string())
    };
    let one = on(1);
    for threads in [2, 3, 8] {
        match (&one, on(threads)) {
            (Err(one), Err(other)) => assert_eq!(*one, other, "{threads} threads\n{source}"),
            (one, other) => assert_eq!(one.as_ref().ok(), other.as_ref().ok(), "{threads} threads\n{source}"),
        }
    }
    pieces
}

/// Arrays of numbers that are no round ones, and two integers.
fn arguments(len: usize, n: i64, k: i64) -> Json {
    let a: Vec<f64> = (0..len).map(|at| ((at * 37) % 101) as f64 * 0.37 - 11.3).collect();
    let b: Vec<f64> = (0..len).map(|at| ((at * 53) % 97) as f64 * 0.13 - 4.1).collect();
    json!([a, b, n, k])
}

#[test]
fn reductions_of_all_operators_agree_with_the_serial_loop() {
    for n in [0, 1, 2, 63, 64, 65, 1000] {
        let args = arguments(1001, n, 3);
        for (start, step) in [
            ("0", "s += i * k"),
            ("k", "s -= i"),
            ("1", "s *= 1 + (i == 5)"),
            ("-1", "s &= i | 7"),
            ("0", "s |= i & k"),
            ("k", "s ^= i"),
            ("k", "s = max(s, i % 17)"),
            ("k", "s = min(i - 20, s)"),
            ("0.0", "s += a[i]"),
            ("0.5", "s = s - a[i] * b[i]"),
            ("1.0", "s *= 1.0 + b[i] * 1e-3"),
            ("a[0]", "s = max(s, a[i])"),
            ("-0.0", "s = min(s, b[i])"),
            ("0", "s = i + s"),
        ] {
            let (before, body) = (format!("s = {start}"), [step]);
            check("prange(n)", &[&before], &body, "s", &args);
            assert_eq!(reasons(&function("prange(n)", &[&before], &body, "s"), &args), [""; 0], "{step}");
        }
    }
}

#[test]
fn reductions_on_branches_and_in_inner_loops_agree() {
    let args = arguments(200, 130, 3);
    let branches = ["if a[i] > 0.0:", "    s += a[i]", "    c += 1", "elif i % 7 == 0:", "    c -= 3"];
    check("prange(n)", &["s = 0.0", "c = 0"], &branches, "s, c", &args);
    let inner = ["for j in range(i % 5):", "    s += a[j] * b[i]", "t = i"];
    check("prange(n)", &["s = 0.0", "t = -1"], &inner, "s, t", &args);
    let both = ["for j in prange(k):", "    c += i * j"];
    check("prange(n)", &["c = 0"], &both, "c", &args);
    let scratch = ["w = np.zeros(4)", "for j in range(4):", "    w[j] = a[i] * j", "s += w[3]"];
    let source =
        function("prange(n)", &["s = 0.0"], &scratch, "s").replace("def f", "import numpy as np\ndef f");
    assert_eq!(reasons(&source, &args), [""; 0]);
}

#[test]
fn arrays_are_written_by_the_rounds_that_own_the_elements() {
    for (len, n) in [(0, 0), (1, 1), (70, 70), (300, 300)] {
        let args = arguments(len, n, 2);
        check("prange(len(a))", &[], &["a[i] = a[i] * 2.0 + b[i]"], "n", &args);
        check("prange(n)", &[], &["a[i] += 1.5", "b[i] = a[i]"], "len(b)", &args);
        check("prange(1, n)", &[], &["a[i - 1] = b[i] + i"], "0", &args);
        check("prange(n - 1, -1, -1)", &[], &["a[i] = b[i] * i"], "0", &args);
        check(
            "prange(0, n, 3)",
            &["c = 0"],
            &["if b[i] > 0.0:", "    a[i] = 0.5", "    c += 1"],
            "c, i",
            &args,
        );
        check("prange(n - 1)", &[], &["a[i + 1] = len(a) * b[i]"], "0", &args);
    }
}

#[test]
fn rows_and_columns_are_windows() {
    let rows = |body: &str, range: &str| {
        let source = function(range, &["m = len(a[0])"], &["for j in range(m):", body], "a[1, 2]");
        let matrix: Vec<Vec<f64>> =
            (0..90).map(|row| (0..7).map(|column| f64::from(row * 7 + column)).collect()).collect();
        let args = json!([matrix, vec![0.5; 90], 90, 7]);
        assert_eq!(reasons(&source, &args), [""; 0]);
        let body = ["for j in range(m):", body];
        check(range, &["m = len(a[0])"], &body, "a[1, 2]", &args)
    };
    rows("    a[i, j] = a[i, j] * b[i] + j", "prange(n)");
    rows("    a[i, j] = a[i, m - 1 - j] + 1.0", "prange(n - 1, -1, -1)");
    let whole = |body: &str| {
        let source = function("prange(n)", &[], &[body], "a[1, 2]");
        let matrix: Vec<Vec<f64>> =
            (0..90).map(|row| (0..7).map(|c| f64::from(row * 7 + c)).collect()).collect();
        let args = json!([matrix, vec![0.5; 7], 90, 7]);
        assert_eq!(reasons(&source, &args), [""; 0], "{body}");
        check("prange(n)", &[], &[body], "a[1, 2]", &args)
    };
    whole("a[i] = a[i] * b + i");
    whole("a[i, 1:] -= a[i, :-1]");
    whole("a[i] = b[::-1] + sum(a[i])");
    let columns = ["for j in range(n):", "    a[j, i] = a[j, i] - a[0, i] + b[j]"];
    let matrix: Vec<Vec<f64>> =
        (0..20).map(|row| (0..70).map(|c| f64::from(row * 70 + c)).collect()).collect();
    check("prange(k)", &[], &columns, "a[3, 4]", &json!([matrix, vec![0.25; 20], 20, 70]));
}

#[test]
fn rounds_outside_of_an_array_are_what_they_are_in_a_serial_loop() {
    let args = arguments(10, 12, 3);
    let raised = check("prange(n)", &[], &["a[i] = 1.0"], "0", &args);
    assert_eq!(raised.class(), Some("IndexError"));
    // Indices below zero count from the end.
    let counted = check("prange(k)", &[], &["a[i - 2] = i + 0.5"], "a[8]", &args);
    assert_eq!(counted.class(), None);
    let far = arguments(10, i64::MAX, 3);
    let raised = check("prange(n - 3, n)", &[], &["a[i + 5] = 1.0"], "0", &far);
    assert_eq!(raised.class(), Some("OverflowError"));
}

#[test]
fn the_first_round_that_raises_is_the_one_that_is_told() {
    let args = arguments(100, 100, 50);
    for body in ["s += 100 // (i - k)", "s += 100 // (i % 60 - k) + 1 // (i - 70)"] {
        assert_eq!(check("prange(n)", &["s = 0"], &[body], "s", &args).class(), Some("ZeroDivisionError"));
    }
    let raises = ["if i == k:", "    raise ValueError('no')", "s += i"];
    assert_eq!(check("prange(n)", &["s = 0"], &raises, "s", &args).class(), Some("ValueError"));
}

#[test]
fn private_values_are_those_of_the_last_round() {
    for n in [0, 1, 5, 200] {
        let args = arguments(201, n, 4);
        check("prange(n)", &["t = -1.0"], &["t = a[i] * 2.0"], "t", &args);
        let unbound = check("prange(n)", &[], &["t = a[i] * 2.0"], "t, i", &args);
        assert_eq!(unbound.class(), (n == 0).then_some("UnboundLocalError"));
    }
}

#[test]
fn many_rounds_run_on_threads_and_give_the_same() {
    let args = arguments(100_000, 100_000, 7);
    let body = ["a[i] = a[i] * b[i] + i % k", "s += a[i]", "c += i // k"];
    let Outcome::Returned { .. } = check("prange(n)", &["s = 0.0", "c = 0"], &body, "s, c", &args) else {
        panic!("it raises nothing");
    };
    let late = check("prange(n)", &["s = 0"], &["s += 1000 // (i - 99_000) + 1 // (i - 98_000)"], "s", &args);
    assert_eq!(late.class(), Some("ZeroDivisionError"));
}

#[test]
fn a_loop_that_cannot_be_split_says_why() {
    let args = arguments(30, 20, 3);
    for (before, body, reason) in [
        (&["s = 0"][..], &["if i == k:", "    break", "s += i"][..], "`break` or `return` leaves it"),
        (&["s = 1"], &["s = s // 2 + i"], "`s` has a value of the round before"),
        (&["s = 1"], &["s += i", "s *= 2"], "`s` is reduced by several operators"),
        (&["s = 0.0"], &["s = s * 0.5 + a[i]"], "`s` is reduced by several operators"),
        (&["s = 0"], &["if s < 5:", "    s += i"], "`s` has a value of the round before"),
        (&["s = 0.0"], &["if a[i] > s:", "    s = a[i]"], "`s` has a value of the round before"),
        (&["t = 0", "s = 0"], &["s += t", "t = i"], "`t` has a value of the round before"),
        (
            &["s = 0"],
            &["a[i] = a[i - 1]"],
            "elements of `a` that one round writes may be elements of another round",
        ),
        (
            &["s = 0"],
            &["a[i // 2] = 1.0"],
            "elements of `a` that one round writes may be elements of another round",
        ),
        (
            &["s = 0"],
            &["a[k] = a[i]"],
            "elements of `a` that one round writes may be elements of another round",
        ),
        (&["s = []"], &["s.append(i)"], "`s` is changed as a whole"),
        (
            &["s = 0"],
            &["a[i] = 1.0", "s += sum(a) > 0.0"],
            "elements of `a` that one round writes may be elements of another round",
        ),
    ] {
        let result = if before[0] == "s = []" { "len(s)" } else { "s" };
        check("prange(n)", before, body, result, &args);
        let found = reasons(&function("prange(n)", before, body, result), &args);
        assert_eq!(found, [format!("this prange loop runs serially: {reason}")], "{body:?}");
    }
}

#[test]
fn an_inner_loop_is_split_where_the_outer_one_is_not() {
    let body = ["t = 0", "for j in prange(i):", "    t += j", "s = s * 2 % 1001 + t"];
    let source = function("prange(n)", &["s = 1"], &body, "s");
    let args = arguments(3, 20, 1);
    assert_eq!(reasons(&source, &args).len(), 1);
    check("prange(n)", &["s = 1"], &body, "s", &args);
    let module = FunctionModule::parse(&source).expect("it parses");
    let list =
        FunctionType::of_qtype(&read_arguments(&args).expect("arguments")[0].qtype()).expect("an array");
    let types = [list.clone(), list, FunctionType::Int, FunctionType::Int];
    let function = compile_function(&module, "f", &types, &FunctionOptions::default()).expect("it compiles");
    let routines = function.bound().program().routines();
    assert_eq!(routines.iter().filter(|routine| routine.parallel.is_some()).count(), 1);
}

#[test]
fn fuel_is_the_same_on_any_number_of_threads() {
    let source = function("prange(n)", &["s = 0"], &["s += i * i % k"], "s");
    let args = arguments(2, 30_000, 7);
    let values = read_arguments(&args).expect("arguments");
    let function = compiled(&source, "f", &values, &FunctionOptions::default()).expect("it compiles");
    let run = |fuel: u64, threads: usize| {
        let called = function.call_with(&values, RunOptions::new().threads(threads).fuel(fuel));
        called.map(|result| result.value).map_err(|error| error.to_string())
    };
    let (mut enough, mut too_few) = (10_000_000, 0);
    while enough - too_few > 1 {
        let middle = (enough + too_few) / 2;
        match run(middle, 1) {
            Ok(_) => enough = middle,
            Err(_) => too_few = middle,
        }
    }
    for threads in [1, 2, 5] {
        assert!(run(enough, threads).is_ok(), "{threads} threads");
        assert_eq!(run(too_few, threads), run(too_few, 1), "{threads} threads");
        assert_eq!(run(enough / 2, threads), run(enough / 2, 1), "{threads} threads");
    }
}

/// Statements of random loops. Each line stands by itself.
const STATEMENTS: &[&[&str]] = &[
    &["s += a[i]"],
    &["c += i * k - 1"],
    &["p = b[i] * 0.5", "s -= p"],
    &["if a[i] > b[i]:", "    c += 1", "else:", "    m = max(m, a[i])"],
    &["for j in range(i % 4):", "    c ^= j + i"],
    &["a[i] = b[i] + a[i]"],
    &["b[i] = i * 0.25"],
    &["q = a[i]", "if q < 0.0:", "    q = -q", "m = max(m, q)"],
    &["if i % 3 == 0:", "    continue"],
    &["b[i + 1] = a[i]"],
    &["m = min(m, b[k])"],
    &["z = i + k"],
];

#[test]
fn random_loops_agree_with_serial_ones() {
    let mut random = Rng::with_seed(7);
    let mut split = 0;
    for _ in 0..150 {
        let mut pick = |below: usize| random.usize(..below);
        let count = 1 + pick(4);
        let body: Vec<&str> = (0..count).flat_map(|_| STATEMENTS[pick(STATEMENTS.len())]).copied().collect();
        let range = ["prange(n)", "prange(1, n)", "prange(n, 0, -2)", "prange(0, n, 3)"][pick(4)];
        let n = [0, 1, 5, 64, 150][pick(5)];
        let before = ["s = 0.5", "c = 3", "m = a[0]", "z = 0", "p = 0.0", "q = 0.0"];
        let args = arguments(152, n, 1 + pick(3) as i64);
        check(range, &before, &body, "s, c, m, z", &args);
        let source = function(range, &before, &body, "s, c, m, z");
        split += usize::from(reasons(&source, &args).is_empty());
    }
    assert!(split >= 50, "{split} loops of 150 were split");
}

#[test]
fn what_a_piece_raises_is_caught_outside_of_the_loop() {
    let caught = "from numba import prange\ndef g(n):\n    s = 0\n    for i in prange(n):\n        s += 10 // (i - 5)\n    return s\ndef f(n):\n    try:\n        return g(n)\n    except ZeroDivisionError:\n        return -n\n    finally:\n        n = 0\n";
    let options = FunctionOptions::default();
    for (n, expected) in [(3, "-9"), (6, "-6"), (200, "-200")] {
        let Outcome::Returned { value, .. } = outcome(caught, "f", &json!([n]), &options) else {
            panic!("it is caught")
        };
        assert_eq!(value["v"], expected);
    }
    // A handler around the rounds makes them depend on each other.
    let body = ["try:", "    s += 10 // (i - k)", "except ZeroDivisionError:", "    s -= 1"];
    let args = arguments(3, 20, 4);
    check("prange(n)", &["s = 0"], &body, "s", &args);
    let found = reasons(&function("prange(n)", &["s = 0"], &body, "s"), &args);
    assert_eq!(found, ["this prange loop runs serially: a `try` catches what it raises"]);
}

/// What two rounds might both have is written by one round after the other, whatever the number of threads.
#[test]
fn several_elements_of_a_round_are_proven_apart_or_written_serially() {
    let serial = |reason: &str| vec![format!("this prange loop runs serially: {reason}")];
    let may_be = serial("elements of `a` that one round writes may be elements of another round");
    let args = arguments(200, 60, 3);
    for (body, expected) in [
        (&["a[2 * i] = b[i]", "a[2 * i + 1] = b[i] + 1.0"][..], &may_be),
        (&["a[2 * i] = i", "a[2 * i + 2] = -i"], &may_be),
        (&["a[i] = i", "a[i + 1] = -i"], &may_be),
        (&["a[i : i + k] = b[i]"], &may_be),
        (&["a[k * i : k * i + k] = b[i]"], &may_be),
        (&["a[i:] = i"], &may_be),
        (&["for j in range(k):", "    a[3 * i + j] = b[j] * i"], &may_be),
        (&["for j in range(k):", "    a[i + j] += b[j] * i"], &may_be),
        (&["a[i] = b[i]", "t = a[2 * i]"], &may_be),
        (&["a[(i * 7) % 60] = i"], &may_be),
        (&["a[2 * i + 3] = b[i]", "a[2 * i + 3] += i"], &Vec::new()),
        (&["a[i * 5 - 7] = b[i] * a[i * 5 - 7]"], &Vec::new()),
        (&["a[3 - i * 2] = b[i]"], &may_be),
        (&["a[-4 * i - 1] = b[i]"], &Vec::new()),
        (&["a[k - i] = i"], &may_be),
        (&["a[i * i] = i if i < 14 else 0"], &may_be),
    ] {
        let body: Vec<&str> = body.to_vec();
        let limited = ["prange(n // 5)", "prange(12, -1, -1)", "prange(0, 13, 2)"];
        for range in limited {
            check(range, &["t = 0.0"], &body, "a[0], a[7]", &args);
            assert_eq!(&reasons(&function(range, &["t = 0.0"], &body, "t"), &args), expected, "{body:?}");
        }
    }
    let matrix: Vec<Vec<f64>> =
        (0..40).map(|row| (0..9).map(|column| f64::from(row * 9 + column)).collect()).collect();
    let args = json!([matrix, vec![0.5; 40], 20, 4]);
    for (body, expected) in [
        (
            &["for j in range(k):", "    a[i, j] = b[i] + j", "    a[i, j + k] = a[i, j] * 2.0"][..],
            Vec::new(),
        ),
        (&["a[i, 0] = 1.0", "a[i, 1:5] = b[i]", "a[i, 5:] = a[i, 0]"], Vec::new()),
        (&["a[i] = b[i]"], Vec::new()),
        (&["a[i][k] = b[i]", "r = a[i]", "r[0] = r[k] + 1.0"], Vec::new()),
        (&["a[2 * i, 0] = b[i]", "a[2 * i + 1, 0] = b[i]"], may_be.clone()),
        (&["a[i : i + 2, 0] = b[i]"], may_be.clone()),
        (&["for j in range(k):", "    a[j, i % 9] = b[i]"], may_be.clone()),
        (&["for j in range(k):", "    a[i + j, j] = b[i]"], may_be.clone()),
    ] {
        let body: Vec<&str> = body.to_vec();
        for range in ["prange(n)", "prange(n - 1, -1, -1)", "prange(0, n, 3)"] {
            check(range, &[], &body, "a[1, 2], a[5, 0]", &args);
            assert_eq!(reasons(&function(range, &[], &body, "n"), &args), expected, "{body:?}");
        }
    }
}

#[test]
fn a_test_for_none_in_a_round_changes_no_variable() {
    let body = ["if t is not None:", "    s += a[i] * t", "else:", "    s += a[i]"];
    for before in
        [&["s, t = 0.0, None", "if n > 1:", "    t = 2.0"][..], &["s, t = 0.0, k"], &["s, t = 0.0, None"]]
    {
        let args = arguments(500, 400, 3);
        check("prange(n)", before, &body, "s", &args);
        assert_eq!(
            reasons(&function("prange(n)", before, &body, "s"), &args),
            Vec::<String>::new(),
            "{before:?}"
        );
    }
}
