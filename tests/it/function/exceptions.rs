//! `try`: what CPython gave for functions of a table and for random ones (`record_exceptions.py` in `tests/oracles/numba_ir/`
//! says how), what is refused, what is never caught.

use crate::function::found::check;
use crate::function::oracle::{Tolerance, gives};
use crate::function::random::is_never_bound;
use crate::function::{Outcome, compiled, outcome};
use crate::support::oracle;
use cembra::cli::function_value::read_arguments;
use cembra::function::check::check_function;
use cembra::function::{FunctionModule, FunctionOptions};
use cembra::vm::machine::Used;
use cembra::vm::machine::{RunOptions, error::RunErrorKind};
use cembra::vm::program::text;
use serde_json::json;
use std::cell::Cell;

#[test]
fn recorded_functions_with_try_give_what_cpython_gave() {
    let cases = oracle("numba_ir/exceptions.json");
    let (mut right, mut unbound, mut wrong) = (0, 0, Vec::new());
    // A variable that is an integer on one path and a float on another is a float.
    let tolerance = Tolerance { relative: 0.0, equal_types: false };
    for case in cases.as_array().expect("a list of functions") {
        let source = case["source"].as_str().expect("a text");
        for run in case["runs"].as_array().expect("a list of calls") {
            let (found, cpython) =
                (outcome(source, "f", &run["args"], &FunctionOptions::default()), &run["cpython"]);
            let agree = match cpython["outcome"].as_str() {
                Some("return") => gives(cpython, &found, tolerance),
                _ => matches!(found, Outcome::Raised(_)) && found.class() == cpython["exc"].as_str(),
            };
            match agree {
                true => right += 1,
                false if is_never_bound(&found) => unbound += 1,
                false => {
                    let (id, args) = (&case["id"], &run["args"]);
                    wrong.push(format!("{id} {args}\n  expected {cpython}\n  found {found:?}\n{source}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} calls are wrong:\n{}", wrong.len(), wrong.join("\n"));
    eprintln!("{right} calls are right, {unbound} read what is never bound");
    assert!(right >= 450 && unbound < 60, "{right} {unbound}");
}

#[test]
fn what_is_not_caught_is_refused_with_a_rule() {
    let refused = |body: &str, rule: &str| {
        let source = format!("def f(n):\n    {}\n", body.replace('\n', "\n    "));
        check(&source, json!([1]), json!(rule));
    };
    refused("try:\n    n = 1 // n\nexcept MyError:\n    n = 2\nreturn n", "except-class");
    refused("try:\n    n = 1 // n\nexcept n:\n    n = 2\nreturn n", "except-class");
    refused("ValueError = 3\ntry:\n    n = 1 // n\nexcept ValueError:\n    n = 2\nreturn n", "except-class");
    refused("try:\n    n = 1 // n\nexcept (OSError, 3):\n    n = 2\nreturn n", "except-class");
    refused("try:\n    raise SystemExit(3)\nexcept Exception:\n    n = 2\nreturn n", "raise-class");
    refused("try:\n    raise MyError(3)\nexcept Exception:\n    n = 2\nreturn n", "raise-class");
    refused("try:\n    n = 1 // n\nexcept OSError as e:\n    return e\nreturn n", "exception-value");
    refused("try:\n    n = 1 // n\nexcept OSError as e:\n    e = 1\nreturn n", "exception-value");
    refused("try:\n    n = 1 // n\nexcept OSError as e:\n    print(e)\nreturn n", "library");
    refused("try:\n    n = 1 // n\nfinally:\n    raise\nreturn n", "raise-again");
    refused("try:\n    n = 1 // n\nexcept OSError:\n    pass\nraise", "raise-again");
    let called = "def g():\n    raise\ndef f(n):\n    try:\n        n = 1 // n\n    except OSError:\n        g()\n    return n\n";
    check(called, json!([1]), json!("raise-again"));
    let generator = "def g(n):\n    try:\n        yield n\n    finally:\n        n = 1\ndef f(n):\n    t = 0\n    for x in g(n):\n        t += x\n    return t\n";
    check(generator, json!([1]), json!("try-yield"));
}

#[test]
fn limits_are_never_caught() {
    let source = "def g(n):\n    return g(n + 1) + 1 if n >= 0 else 0\ndef f(n):\n    t = 0\n    try:\n        if n == 0:\n            t = g(0)\n        for i in range(10 ** 9):\n            t += 1\n    except:\n        return -1\n    finally:\n        t = 5\n    return t\n";
    let args = read_arguments(&json!([0])).expect("arguments");
    let function = compiled(source, "f", &args, &FunctionOptions::default()).expect("it compiles");
    let bound = function.bound();
    let mut frame = bound.new_frame().expect("memory");
    let slot = bound.program().main().slot(bound.program().main().inputs[0].1).clone();
    for (arg, kind) in [(0i64, "call-depth"), (1, "out of fuel")] {
        frame.write(&slot, &arg.into()).expect("an integer");
        let error = bound.execute_with(&mut frame, RunOptions::new().fuel(100_000)).expect_err("a limit");
        assert!(error.to_string().contains(kind), "{error}");
        assert!(!matches!(error.kind, RunErrorKind::Fault(_)), "{error:?}");
    }
}

#[test]
fn a_fault_in_a_deep_call_gives_all_frames_back() {
    let source = "def g(n, a):\n    a[n] = 1.0 + n\n    if n == 0:\n        return 1 // n\n    return g(n - 1, a) + 1\ndef f(n, a):\n    t = 0\n    for i in range(3):\n        try:\n            t += g(n + i, a)\n        except ZeroDivisionError:\n            t += 100\n        except IndexError:\n            t += 1000\n    return t\n";
    check(source, json!([2, [0.0, 0.0, 0.0, 0.0]]), json!(1200));
    let args = read_arguments(&json!([900])).expect("arguments");
    let deep = "def g(n):\n    if n == 0:\n        return 1 // n\n    return g(n - 1) + 1\ndef f(n):\n    t = 0\n    for i in range(5):\n        try:\n            t += g(n)\n        except ZeroDivisionError:\n            t += 1\n    return t\n";
    let function = compiled(deep, "f", &args, &FunctionOptions::default()).expect("it compiles");
    let result = function.call(&args, &Default::default()).expect("caught");
    assert_eq!(result.value, 5i64.into());
}

#[test]
fn what_is_raised_again_keeps_its_place_and_message() {
    let source = "def f(n):\n    try:\n        return [1, 2][n] // (n - 1)\n    except (IndexError, ArithmeticError):\n        n += 1\n        raise\n    finally:\n        n = 3\n";
    for (arg, class, message) in
        [(5, "IndexError", "index 5 is out of range"), (1, "ZeroDivisionError", "division by zero")]
    {
        let Outcome::Raised(found) = outcome(source, "f", &json!([arg]), &FunctionOptions::default()) else {
            panic!("it raises")
        };
        assert_eq!((&*found.class, found.line), (class, Some(3)));
        assert!(found.message.contains(message) || class == "IndexError", "{}", found.message);
    }
}

#[test]
fn code_that_cannot_raise_is_not_guarded() {
    let guards = |source: &str| {
        let args = read_arguments(&json!([5, [1.0, 2.0]])).expect("arguments");
        let function = compiled(source, "f", &args, &FunctionOptions::default()).expect("it compiles");
        text::print(function.bound().program()).matches("guard<").count()
    };
    let total = "def f(n, a):\n    t = 0.0\n    try:\n        for i in range(len(a)):\n            t += a[i] * 2.0\n        x = n & 7\n        t += x + 1\n    except Exception:\n        t = -1.0\n    return t\n";
    assert_eq!(guards(&total.replace("t += a[i] * 2.0", "t += i")), 0);
    let raising = "def f(n, a):\n    try:\n        n = 10 // n\n        n = 7 // n\n    except ArithmeticError:\n        n = 0\n    return n\n";
    assert_eq!(guards(raising), 2);
    let other = "def f(n, a):\n    try:\n        pass\n    finally:\n        n = 10 // n\n    return n\n";
    assert_eq!(guards(other), 0);
}

#[test]
fn a_run_needs_as_much_fuel_observed_as_not() {
    let source = "def f(n):\n    t = 0\n    for i in range(n):\n        try:\n            t += 100 // (i % 3)\n            t += i * 2 + 1\n        except ZeroDivisionError:\n            t -= 1\n    return t\n";
    let args = read_arguments(&json!([50])).expect("arguments");
    let function = compiled(source, "f", &args, &FunctionOptions::default()).expect("it compiles");
    let bound = function.bound();
    let mut frame = bound.new_frame().expect("memory");
    let slot = bound.program().main().slot(bound.program().main().inputs[0].1).clone();
    struct Silent;
    impl cembra::vm::machine::observer::Observer for Silent {}
    let mut counts = Vec::new();
    for is_observed in [false, true] {
        let (used, mut observer) = (Cell::new(Used::default()), Silent);
        frame.write(&slot, &args[0]).expect("an integer");
        let options = RunOptions::new().used(&used);
        let options = if is_observed { options.observer(&mut observer) } else { options };
        bound.execute_with(&mut frame, options).expect("a value");
        counts.push(used.get().instructions);
    }
    assert_eq!(counts[0], counts[1]);
}

#[test]
fn checks_know_handlers() {
    let warnings = |source: &str| {
        let module = FunctionModule::parse(source).expect("it parses");
        let findings = check_function(&module, "f");
        assert!(findings.errors.is_empty(), "{:?}", findings.errors);
        findings.warnings.into_iter().map(|it| it.message).collect::<Vec<_>>()
    };
    let unbound = "def f(n):\n    try:\n        x = 10 // n\n    except ZeroDivisionError:\n        pass\n    return x\n";
    assert_eq!(warnings(unbound), ["local variable 'x' might be referenced before assignment"]);
    let unused = "def f(n):\n    try:\n        x = 10 // n\n    except ZeroDivisionError as e:\n        return 0\n    return 1\n";
    assert_eq!(warnings(unused), ["Unused variable 'x'"]);
    let behind = "def f(n):\n    try:\n        return 10 // n\n    except ZeroDivisionError:\n        raise\n        n = 2\n    return 1\n";
    assert_eq!(warnings(behind), ["Unreachable code", "Unreachable code"]);
}
