//! Passes: what they must not change, and instructions that they save.

use crate::function::{Outcome, compiled, outcome};
use cembra::cli::function_value::read_arguments;
use cembra::function::{FunctionModule, FunctionOptions, FunctionType, compile_function};
use cembra::vm::machine::RunOptions;
use cembra::vm::machine::Used;
use serde_json::{Value as Json, json};
use std::cell::Cell;

/// The result as a text, or the class of error.
fn result(source: &str, args: Json) -> String {
    match outcome(source, "f", &args, &FunctionOptions::default()) {
        Outcome::Returned { value, .. } => {
            value["v"].as_str().map_or_else(|| value.to_string(), str::to_owned)
        }
        Outcome::Raised(complaint) | Outcome::Refused(complaint) => complaint.class,
    }
}

/// The instructions of a run.
fn instructions(source: &str, args: Json) -> u64 {
    let values = read_arguments(&args).expect("arguments");
    let function = compiled(source, "f", &values, &FunctionOptions::default()).expect("it compiles");
    let bound = function.bound();
    let mut frame = bound.new_frame().expect("there is memory");
    for ((_, value), arg) in bound.program().main().inputs.iter().zip(&values) {
        frame.write(bound.program().main().slot(*value), arg).expect("it is of the type");
    }
    let used = Cell::new(Used::default());
    bound.execute_with(&mut frame, RunOptions::new().used(&used)).expect("it runs");
    used.get().instructions
}

/// Instructions that one round more takes, of a loop with as many rounds as the argument.
#[track_caller]
fn check_round(source: &str, expected: u64) {
    let [more, less] = [101, 100].map(|rounds| instructions(source, json!([rounds])));
    assert_eq!(more - less, expected, "{source}");
}

#[test]
fn a_loop_without_a_round_computes_nothing_that_raises() {
    let divided =
        "def f(n, d):\n    s = 0\n    for i in range(n):\n        s += 7 // d + 7 % d\n    return s\n";
    assert_eq!(result(divided, json!([0, 0])), "0");
    assert_eq!(result(divided, json!([1, 0])), "ZeroDivisionError");
    let index = "def f(a, n, k):\n    s = 0.0\n    for i in range(n):\n        s += a[k]\n    return s\n";
    assert_eq!(result(index, json!([[1.5], 0, 9])), "0.0");
    assert_eq!(result(index, json!([[1.5], 1, 9])), "IndexError");
    let sum = "def f(n, k):\n    s = 0\n    for i in range(n):\n        s = k + 1\n    return s\n";
    assert_eq!(result(sum, json!([0, i64::MAX])), "0");
    assert_eq!(result(sum, json!([1, i64::MAX])), "OverflowError");
}

#[test]
fn what_a_test_proves_stays_behind_the_test() {
    let guarded = "def f(a, n, k):\n    s = 0.0\n    for i in range(n):\n        if k >= 0 and k < len(a):\n            s += a[k]\n    return s\n";
    assert_eq!(result(guarded, json!([[1.5, 2.5], 3, 1])), "7.5");
    assert_eq!(result(guarded, json!([[1.5, 2.5], 3, 2])), "0.0");
    assert_eq!(result(guarded, json!([[1.5, 2.5], 3, -1])), "0.0");
    let divisor = "def f(n, d):\n    s = 0\n    for i in range(n):\n        if d > 0:\n            s += 100 % d + 100 // d\n    return s\n";
    assert_eq!(result(divisor, json!([2, 7])), "32");
    assert_eq!(result(divisor, json!([2, 0])), "0");
    let one = "def f(a, n):\n    s = 0.0\n    i = 0\n    while i < len(a):\n        j = 0\n        while i < len(a) and j < n:\n            s += a[i]\n            j += 1\n        i += 1\n    return s\n";
    assert_eq!(result(one, json!([[1.5, 2.5], 3])), "12.0");
}

#[test]
fn bounds_are_not_believed_where_they_wrap_around() {
    let up = "def f(i, n):\n    k = 0\n    while k < n:\n        i += 1\n        k += 1\n        if i < 0:\n            return 1\n    return i\n";
    assert_eq!(result(up, json!([i64::MAX - 1, 5])), "OverflowError");
    let last = "def f(n):\n    s = 0\n    for i in range(n - 2, n):\n        s = i + 1\n    return s\n";
    assert_eq!(result(last, json!([i64::MAX])), i64::MAX.to_string());
    let beyond = "def f(n):\n    s = 0\n    for i in range(n - 2, n):\n        s = i + 2\n    return s\n";
    assert_eq!(result(beyond, json!([i64::MAX])), "OverflowError");
    let down = "def f(n):\n    s = 0\n    for i in range(n + 2, n, -1):\n        s = i - 2\n    return s\n";
    assert_eq!(result(down, json!([i64::MIN])), "OverflowError");
    assert_eq!(result(down, json!([-9])), "-10");
}

#[test]
fn reads_stay_between_the_writes_around_them() {
    let twice = "def f(a):\n    x = a[0]\n    a[0] = 5.0\n    return x * 10.0 + a[0]\n";
    assert_eq!(result(twice, json!([[1.5]])), "20.0");
    let joined =
        "def f(a, n):\n    x = a[0]\n    if n > 0:\n        a[0] = x + 1.0\n    return x * 10.0 + a[0]\n";
    assert_eq!(result(joined, json!([[1.5], 1])), "17.5");
    assert_eq!(result(joined, json!([[1.5], 0])), "16.5");
    let rounds = "def f(a):\n    s = 0.0\n    for i in range(len(a)):\n        for j in range(2):\n            s += a[i]\n            a[i] = s\n    return s\n";
    assert_eq!(result(rounds, json!([[1.0, 2.0]])), "8.0");
    let lists = "def f(n):\n    a = [0]\n    s = 0\n    while len(a) < n:\n        s += len(a)\n        a.append(s)\n        s += len(a)\n    return s\n";
    assert_eq!(result(lists, json!([3])), "8");
}

#[test]
fn what_does_not_change_is_computed_once() {
    // Sum, next number, comparison, jump.
    check_round("def f(n):\n    s = 0\n    for i in range(n):\n        s += i\n    return s\n", 4);
    check_round(
        "def f(n):\n    s = 0\n    for i in range(n):\n        s += i & (n // 2 - 2 * 3)\n    return s\n",
        5,
    );
    let rows = "import numpy as np\ndef f(n):\n    a = np.ones((3, n + 2))\n    s = 0.0\n    for i in range(1, 2):\n        for j in range(1, n - 1):\n            s += a[i - 1, j] + a[i + 1, j]\n    return s\n";
    // Two reads, two sums, and the loop.
    check_round(rows, 7);
    let shared =
        "def f(n):\n    s = 0\n    for i in range(n):\n        s += (i ^ n) * 2 - (i ^ n)\n    return s\n";
    check_round(shared, 7);
    let outer = "import numpy as np\ndef f(n):\n    m = np.ones(3)\n    v = np.zeros(n)\n    s = 0.0\n    for i in range(len(m)):\n        for j in range(n):\n            v[j] = m[i]\n    return v[n - 1]\n";
    // The array that is written might be the one that is read: three rounds with a read, a write, and the loop.
    check_round(outer, 3 * 5);
}

#[test]
fn parameters_are_different_arrays() {
    let source = "def f(m, v, n):\n    for i in range(len(m)):\n        for j in range(n):\n            v[j] = m[i]\n    return v[0]\n";
    let room = vec![0.0; 200];
    let [more, less] = [101, 100].map(|rounds| instructions(source, json!([[1.0], room, rounds])));
    // A write, and the loop: the read is outside of it.
    assert_eq!(more - less, 4);
}

#[test]
fn a_function_that_calls_itself_calls_less_often() {
    let fib = "def f(n):\n    if n < 2:\n        return n\n    return f(n - 1) + f(n - 2)\n";
    assert_eq!(result(fib, json!([20])), "6765");
    let module = FunctionModule::parse(fib).expect("it is a module");
    let function = compile_function(&module, "f", &[FunctionType::Int], &FunctionOptions::default());
    let bound = function.expect("it compiles").into_bound();
    let mut frame = bound.new_frame().expect("there is memory");
    let twelve = &read_arguments(&json!([12])).expect("a list of one")[0];
    frame.write(bound.input_slot("n").expect("a parameter"), twelve).expect("it is an integer");
    // 12 calls inside of each other are few calls of a body that holds several.
    bound.execute_with(&mut frame, RunOptions::new().call_depth(6)).expect("it runs");
    let raised = "def f(n):\n    if n == 0:\n        return 1 // n\n    return f(n - 1) + 1\n";
    assert_eq!(result(raised, json!([9])), "ZeroDivisionError");
}

#[test]
fn branches_on_literals_are_gone() {
    let source = "def f(n):\n    s = 0\n    if 2 * 3 == 6:\n        s = 1\n    else:\n        s = n // 0\n    while 1 > 2:\n        s += 1\n    return s\n";
    assert_eq!(result(source, json!([4])), "1");
    assert!(instructions(source, json!([4])) <= 2, "the literal is the result");
}

/// Loops of a few rounds inside of another one; one of nine rounds, and one that may be left, stay loops.
#[test]
fn short_loops_are_their_rounds() {
    let inner = |range: &str, body: &str| {
        format!(
            "def f(n):\n    s = 0\n    j = 7\n    for i in range(n):\n        for j in {range}:\n            {body}\n    return s * 1000 + j\n"
        )
    };
    // A product and a sum a round, those of the loop around them, and `j`.
    check_round(&inner("range(1, 4)", "s += i * j"), 3 * 2 + 4);
    check_round(&inner("range(9)", "s += i * j"), 9 * 7 + 7);
    check_round(&inner("range(2)", "for k in range(2):\n                s += i ^ k"), 2 + 4 + 4);
    for (range, body, expected) in [
        ("range(3)", "s += i * j", 10 * 3 * 1000 + 2),
        ("range(5, -1, -2)", "s += j", 45 * 1000 + 1),
        ("range(0)", "s += 1", 7),
        ("range(8)", "s += 1\n            if s & 1:\n                s += j", 0),
        ("range(4)", "if j == i:\n                break\n            s += 1", 10 * 1000 + 3),
        (
            "range(3)",
            "if j == 1:\n                continue\n            s += 1\n        else:\n            s += 100",
            510 * 1000 + 2,
        ),
        ("range(3)", "for k in range(j):\n                s += k + 1", 20 * 1000 + 2),
    ] {
        let source = inner(range, body);
        let expected = match expected {
            0 => {
                let add = |s: i64, j: i64| s + 1 + if (s + 1) & 1 == 1 { j } else { 0 };
                (0..5 * 8).fold(0, |s, round| add(s, round % 8)) * 1000 + 7
            }
            other => other,
        };
        assert_eq!(result(&source, json!([5])), expected.to_string(), "{source}");
    }
    let arrays = "def f(a, n):\n    for i in range(n):\n        for j in range(3):\n            a[j] = a[j] * 2.0 + a[(j + 1) % 3]\n    return a[0]\n";
    let (mut a, n) = ([1.0, 2.0, 3.0], 4);
    for j in (0..n).flat_map(|_| 0..3) {
        a[j] = a[j] * 2.0 + a[(j + 1) % 3];
    }
    assert_eq!(result(arrays, json!([[1.0, 2.0, 3.0], n])), format!("{:?}", a[0]));
    let raises = "def f(a, n):\n    s = 0.0\n    for i in range(n):\n        for j in range(3):\n            s += a[i + j]\n    return s\n";
    assert_eq!(result(raises, json!([[1.0, 2.0, 4.0], 1])), "7.0");
    assert_eq!(result(raises, json!([[1.0, 2.0, 4.0], 2])), "IndexError");
}

#[test]
fn arrays_change_names_in_a_loop() {
    let steps = "def f(u, v, n):
    for t in range(n):
        for i in range(1, len(u) - 1):
            v[i] = 0.5 * (u[i - 1] + u[i + 1])
        u, v = v, u
    return u[1] * 100.0 + v[1]
";
    let outcomes = [(0, "0.0"), (1, "50.0"), (2, "150.5"), (3, "164.0")];
    for (rounds, expected) in outcomes {
        assert_eq!(result(steps, json!([[1.0, 0.0, 0.0, 4.0], [1.0, 0.0, 0.0, 4.0], rounds])), expected);
    }
    let three = "def f(a, b, c, n):
    x = 0.0
    y = 1.0
    for t in range(n):
        a[0] += 1.0
        b[0] *= 2.0
        x, y = y, x + c[0]
        a, b, c = b, c, a
    return x * 1000.0 + y + a[0] * 0.5
";
    let outcomes = [(0, "1.5"), (1, "1005.0"), (2, "3006.0"), (7, "21039.0")];
    for (rounds, expected) in outcomes {
        assert_eq!(result(three, json!([[1.0], [2.0], [3.0], rounds])), expected, "{rounds}");
    }
}
