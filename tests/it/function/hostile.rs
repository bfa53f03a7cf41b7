//! Bad inputs of functions: each is refused or raises where it is, within fuel, time and memory.

use crate::function::{Outcome, compiled, outcome};
use crate::hostile::mutate::mutated;
use crate::hostile::{count, seed};
use crate::support::oracle;
use cembra::cli::function_value::{large_integer, read_arguments};
use cembra::function::check::check_function;
use cembra::function::run::{FunctionCallError, python_class};
use cembra::function::{CompiledFunction, FunctionModule, FunctionOptions, Overflow};
use cembra::vm::machine::error::RunErrorKind;
use cembra::vm::value::{Budget, CancelToken, Exhausted, Fault, Value};
use fastrand::Rng;
use serde_json::{Value as Json, json};
use std::fmt::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// What a call leads to: `class@line`, the rule behind it where it was refused; the value else.
fn call(source: &str, args: Json) -> String {
    let line = |line: Option<u32>| line.map_or_else(|| "?".to_owned(), |line| line.to_string());
    match outcome(source, "f", &args, &FunctionOptions::default()) {
        Outcome::Returned { value, .. } => value["v"].to_string(),
        Outcome::Raised(complaint) => format!("{}@{}", complaint.class, line(complaint.line)),
        Outcome::Refused(complaint) => {
            format!("{}@{} {}", complaint.class, line(complaint.line), complaint.rule.unwrap_or_default())
        }
    }
}

fn function(source: &str, args: &Json) -> (CompiledFunction, Vec<Value>) {
    let values = read_arguments(args).expect("arguments");
    let function = compiled(source, "f", &values, &FunctionOptions::default());
    (function.unwrap_or_else(|refusal| panic!("{refusal:?}\n{source}")), values)
}

/// The error of a call within a budget.
fn error(source: &str, args: Json, budget: &Budget) -> RunErrorKind {
    let (function, values) = function(source, &args);
    match function.call(&values, budget) {
        Err(FunctionCallError::Run(error)) => error.kind,
        other => panic!("{other:?}\n{source}"),
    }
}

#[test]
fn arguments_of_the_wrong_number_type_or_rank_are_refused() {
    let two = "def f(a, b):\n    return a + b\n";
    assert_eq!(call(two, json!([1, 2])), "\"3\"");
    assert!(call(two, json!([1])).starts_with("TypeError@"));
    assert!(call(two, json!([1, 2, 3])).starts_with("TypeError@"));
    assert_eq!(call(two, json!([1, null])), "TypeError@2 type");
    assert_eq!(call(two, json!([1, {"tuple": [1]}])), "TypeError@2 type");
    let element = "def f(a):\n    s = 0.0\n    return s + a[1, 0]\n";
    assert_eq!(call(element, json!([[[1, 2], [3, 4]]])), "\"3.0\"");
    assert_eq!(call(element, json!([[1, 2]])), "IndexError@3 index");
    assert_eq!(call(element, json!([1.5])), "TypeError@3 type");
    assert!(call("def f(x):\n    return x\n", json!([["a"]])).starts_with("TypeError@?"));
    assert!(call("def f(x):\n    return x\n", json!([u64::MAX])).starts_with("TypeError@?"));
    assert_eq!(call("def g(x):\n    return x\n", json!([1])), "NameError@? no-function");
    for (text, large) in [
        ("[9223372036854775807, -9223372036854775808, 1e20, 99999999999999999999.0]", None),
        ("[1, [9223372036854775808]]", Some("9223372036854775808")),
        ("[-99999999999999999999]", Some("-99999999999999999999")),
        (r#"[{"t": "int", "v": "99999999999999999999"}, "\"9999999999999999999"]"#, None),
    ] {
        assert_eq!(large_integer(text).as_deref(), large, "{text}");
    }
}

#[test]
fn a_compiled_function_takes_its_types_only() {
    let (function, values) = function("def f(a, n):\n    return a[n]\n", &json!([[1.5, 2.5], 1]));
    let budget = Budget::default();
    assert!(function.call(&values, &budget).is_ok());
    for (wrong, position) in [(json!([[1, 2], 1]), 0), (json!([[[1.5]], 1]), 0), (json!([[1.5], 1.5]), 1)] {
        let wrong = read_arguments(&wrong).expect("arguments");
        match function.call(&wrong, &budget) {
            Err(FunctionCallError::Argument { position: at, .. }) => assert_eq!(at, position),
            other => panic!("{other:?}"),
        }
    }
    for given in [&values[..1], &[&values[..], &values[1..]].concat()] {
        match function.call(given, &budget) {
            Err(FunctionCallError::Count { expected: 2, actual, .. }) => assert_eq!(actual, given.len()),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn loops_without_end_are_stopped() {
    let endless = [
        "def f(n):\n    while True:\n        n = n ^ 1\n    return n\n",
        "def f(n):\n    while n == n:\n        pass\n    return n\n",
        "def f(n):\n    for i in range(9000000000000000000):\n        for j in range(i, 9000000000000000000):\n            n ^= j\n    return n\n",
        "def g(n):\n    while n > 0:\n        n += 1\n        n -= 1\n    return n\ndef f(n):\n    return g(n)\n",
        "def f(n):\n    while True:\n        if n > 0:\n            continue\n        n = 1\n    return n\n",
    ];
    for source in endless {
        let budget = Budget { instructions: Some(10_000), ..Budget::default() };
        assert_eq!(error(source, json!([1]), &budget), RunErrorKind::OutOfFuel { fuel: 10_000 }, "{source}");
        let time = Duration::from_millis(20);
        let (start, budget) = (Instant::now(), Budget { time: Some(time), ..Budget::default() });
        let kind = error(source, json!([1]), &budget);
        let is_time = matches!(kind, RunErrorKind::Fault(Fault::Exhausted(Exhausted::Time { .. })));
        assert!(is_time, "{kind}\n{source}");
        assert!(start.elapsed() < Duration::from_secs(20), "{:?}\n{source}", start.elapsed());
        let cancel = CancelToken::new();
        cancel.cancel();
        let budget = Budget { cancel: Some(cancel), ..Budget::default() };
        assert_eq!(error(source, json!([1]), &budget), RunErrorKind::Cancelled, "{source}");
    }
}

#[test]
fn recursion_without_end_is_an_error() {
    let runaway = "RecursionError@2 runaway-recursion";
    assert_eq!(call("def f(n):\n    return f(n)\n", json!([1])), runaway);
    let mutual = "def f(n):\n    return g(n) + 1\ndef g(n):\n    return f(n) * 2\n";
    assert!(call(mutual, json!([1])).ends_with(" runaway-recursion"), "{}", call(mutual, json!([1])));
    let deep = "def f(n):\n    if n < 0:\n        return 0\n    return f(n + 1) + 1\n";
    assert_eq!(call(deep, json!([1])), "RecursionError@4");
    assert_eq!(call(deep, json!([-1])), "\"0\"");
    let depth = "def f(n):\n    if n == 0:\n        return 0\n    return f(n - 1) + 1\n";
    assert_eq!(call(depth, json!([900])), "\"900\"");
    assert_eq!(call(depth, json!([1_000_000])), "RecursionError@4");
}

#[test]
fn huge_allocations_are_refused_before_memory_is_taken() {
    let zeros = "import numpy as np\ndef f(n):\n    a = np.zeros(n)\n    a[0] = 1.5\n    return a[0]\n";
    assert_eq!(call(zeros, json!([3])), "\"1.5\"");
    assert_eq!(call(zeros, json!([1_000_000_000_000i64])), "MemoryError@3");
    assert_eq!(call(zeros, json!([i64::MAX])), "MemoryError@3");
    let square = "import numpy as np\ndef f(n):\n    a = np.ones((n, n))\n    return a[0, 0]\n";
    assert_eq!(call(square, json!([10_000_000])), "MemoryError@3");
    assert_eq!(call(square, json!([i64::MAX])), "MemoryError@3");
    let in_loop = "import numpy as np\ndef f(n):\n    s = 0.0\n    for i in range(n):\n        a = np.ones(1000000)\n        s += a[i]\n    return s\n";
    assert_eq!(call(in_loop, json!([10])), "\"10.0\"");
    let budget = Budget { bytes_alive: 1 << 20, ..Budget::default() };
    for (source, args) in [(zeros, json!([1 << 20])), (in_loop, json!([1]))] {
        let (function, values) = function(source, &args);
        match function.call(&values, &budget) {
            Err(FunctionCallError::Run(error)) => assert_eq!(python_class(&error), "MemoryError", "{error}"),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn deep_nesting_has_a_limit_and_never_overflows_the_stack() {
    let brackets = |n: usize| format!("def f(x):\n    return {}x{}\n", "(-".repeat(n), ")".repeat(n));
    assert_eq!(call(&brackets(200), json!([3])), "\"3\"");
    assert_eq!(call(&brackets(100_000), json!([3])), "SyntaxError@2 limit");
    let unary = |n: usize| format!("def f(x):\n    return {}x\n", "-".repeat(n));
    assert_eq!(call(&unary(300), json!([3])), "\"3\"");
    assert_eq!(call(&unary(600), json!([3])), "NotImplementedError@2 limit");
    let calls = |n: usize| format!("def f(x):\n    return {}x{}\n", "abs(".repeat(n), ")".repeat(n));
    assert_eq!(call(&calls(200), json!([-3])), "\"3\"");
    let blocks = |n: usize| {
        let mut text = "def f(x):\n".to_owned();
        for depth in 1..=n {
            writeln!(text, "{}if x > {depth}:", " ".repeat(depth)).expect("text takes any text");
        }
        writeln!(text, "{}x = 0\n return x", " ".repeat(n + 1)).expect("text takes any text");
        text
    };
    assert_eq!(call(&blocks(90), json!([91])), "\"0\"");
    assert_eq!(call(&blocks(90), json!([90])), "\"90\"");
    assert!(call(&blocks(5000), json!([90])).ends_with(" limit"));
    let loops = |n: usize| {
        let mut text = "def f(x):\n".to_owned();
        for depth in 1..=n {
            writeln!(text, "{}for i{depth} in range(1):", " ".repeat(depth)).expect("text takes any text");
        }
        writeln!(text, "{}x += i{n} + 1\n return x", " ".repeat(n + 1)).expect("text takes any text");
        text
    };
    assert_eq!(call(&loops(90), json!([1])), "\"2\"");
    let ternary = format!("def f(x):\n    return {}x\n", "1 if x < 0 else ".repeat(100));
    assert_eq!(call(&ternary, json!([3])), "\"3\"");
}

#[test]
fn long_functions_compile() {
    let sum = format!("def f(x):\n    return {}x\n", "x + ".repeat(99_999));
    assert_eq!(call(&sum, json!([1])), "\"100000\"");
    let lines = |n: usize| {
        let mut text = "def f(x):\n    s = 0\n    t = 1.5\n".to_owned();
        for line in 0..n / 4 {
            let block = format!(
                "    if x > {line}:\n        s += x % {}\n    t = t + s\n    u{line} = t\n",
                line % 7 + 1
            );
            text.push_str(&block);
        }
        text + "    return s\n"
    };
    for n in [1_000, 4_000] {
        let (source, start) = (lines(n), Instant::now());
        let values = read_arguments(&json!([5])).expect("arguments");
        let function = compiled(&source, "f", &values, &FunctionOptions::default()).expect("it compiles");
        eprintln!("{n} lines: {:?}", start.elapsed());
        assert!(function.call(&values, &Budget::default()).is_ok());
    }
    let many: String = (0..2_000).map(|at| format!("def g{at}(x):\n    return x + {at}\n")).collect();
    let chain = format!(
        "{many}def f(x):\n    return {}\n",
        (0..2_000).map(|at| format!("g{at}(x)")).collect::<Vec<_>>().join(" + ")
    );
    assert_eq!(call(&chain, json!([0])), "\"1999000\"");
}

/// Words that sources consist of.
const TOKENS: &[&str] = &[
    " ",
    "\n",
    "    ",
    "\t",
    "(",
    ")",
    "[",
    "]",
    ":",
    ",",
    "=",
    "+=",
    "//",
    "%",
    "**",
    "<<",
    "==",
    "<",
    "not ",
    "and ",
    "or ",
    "if ",
    "else",
    "for i in ",
    "while ",
    "range(",
    "return ",
    "def f(",
    "lambda: ",
    "a",
    "n",
    "x",
    "i",
    "0",
    "-1",
    "2.5",
    "1e400",
    "9223372036854775807",
    "True",
    "None",
    "f(",
    "a[",
    "a.shape",
    "np.zeros(",
    "len(",
    "break",
    "continue",
    "\"",
    "#",
    "del x",
    "x := ",
    "raise ValueError(\"a\")",
    "assert ",
    "\u{e9}",
    "\0",
];

/// Sources of the recorded calls, mutated: parsed, checked, compiled and run within a budget.
#[test]
fn mutated_sources_are_compiled_or_refused() {
    let cases = oracle("numba_ir/cases.json");
    let cases = cases.as_array().expect("a list of functions");
    let sources: Vec<Vec<u8>> =
        cases.iter().map(|case| case["source"].as_str().expect("a text").as_bytes().to_vec()).collect();
    let (seed, mut compiled) = (seed(), 0);
    for number in 0..count(6_000) {
        let mut random = Rng::with_seed(seed ^ (number << 20));
        let at = random.usize(..cases.len());
        let source = match number % 3 {
            0 => String::from_utf8_lossy(&mutated(&mut random, &sources[at], &sources, TOKENS)).into_owned(),
            _ => with_other_words(&mut random, &String::from_utf8_lossy(&sources[at])),
        };
        let runs = cases[at]["runs"].as_array().expect("a list of calls");
        let args = &runs[random.usize(..runs.len())]["args"];
        let wraps = random.bool();
        let start = Instant::now();
        let result = catch_unwind(AssertUnwindSafe(|| survives(&source, args, wraps)));
        let place = || format!("seed {seed}, source {number}, arguments {args}\n{source}");
        match result {
            Ok(is_compiled) => compiled += u32::from(is_compiled),
            Err(_) => panic!("{}", place()),
        }
        assert!(start.elapsed() < Duration::from_secs(10), "{:?}, {}", start.elapsed(), place());
    }
    eprintln!("{compiled} mutated sources still compile");
}

/// A source with one to three words or lines replaced, removed, doubled or moved.
fn with_other_words(random: &mut Rng, source: &str) -> String {
    let mut lines: Vec<Vec<String>> = source.lines().map(words).collect();
    for _ in 0..random.usize(1..4) {
        let at = random.usize(..lines.len());
        let other = random.usize(..lines.len());
        let taken = lines[other].get(random.usize(..lines[other].len().max(1))).cloned();
        let token = TOKENS[random.usize(..TOKENS.len())].to_owned();
        let place = random.usize(..lines[at].len().max(1));
        match (random.usize(..8), lines[at].get_mut(place)) {
            (0..4, Some(word)) => *word = taken.unwrap_or(token),
            (4, Some(word)) => *word = token,
            (5, Some(_)) => drop(lines[at].remove(place)),
            (6, _) => lines.swap(at, other),
            _ => {
                let line = lines[other].clone();
                lines.insert(at, line);
            }
        }
    }
    lines.iter().map(|line| line.concat() + "\n").collect()
}

/// Words, numbers, signs and spaces of a line.
fn words(line: &str) -> Vec<String> {
    let kind = |c: char| if c.is_alphanumeric() || c == '_' || c == '.' { 0 } else { 1 + u8::from(c == ' ') };
    let mut words: Vec<String> = Vec::new();
    for c in line.chars() {
        match words.last_mut() {
            Some(word) if kind(c) != 1 && word.ends_with(|last| kind(last) == kind(c)) => word.push(c),
            _ => words.push(c.to_string()),
        }
    }
    words
}

/// True if a source compiles. It is run, whatever comes of it.
fn survives(source: &str, args: &Json, wraps: bool) -> bool {
    let Ok(module) = FunctionModule::parse(source) else { return false };
    for name in module.function_names() {
        check_function(&module, name);
    }
    let Ok(values) = read_arguments(args) else { return false };
    let options = FunctionOptions {
        overflow: if wraps { Overflow::Wrap } else { Overflow::Raise },
        numpy_errors: wraps,
        ..FunctionOptions::default()
    };
    let function = match compiled(source, "f", &values, &options) {
        Ok(function) => function,
        Err(Outcome::Refused(complaint)) => {
            assert!(complaint.class != "SystemError", "{complaint:?}");
            return false;
        }
        Err(other) => unreachable!("nothing ran: {other:?}"),
    };
    let budget = Budget {
        instructions: Some(200_000),
        bytes_alive: 64 << 20,
        time: Some(Duration::from_secs(2)),
        ..Budget::default()
    };
    if let Err(FunctionCallError::Run(error)) = function.call(&values, &budget) {
        assert!(!matches!(error.kind, RunErrorKind::Panic { .. }), "{error}");
    }
    true
}
