//! Literals as arguments: programs that differ in them alone are one library, which gives what each of the programs gives.

use crate::native::{arrays, compiled, fresh, function};
use cembra::native::cache::entries;
use cembra::native::{ArrayLayout, Backends, NotTranslated, ProgramCall, call_library};
use cembra::vm::value::{NdRows, NdType, ScalarValue, Value};
use std::sync::Arc;

fn float(x: f64) -> Value {
    Value::Scalar(ScalarValue::Float64(x))
}

fn int(n: i64) -> Value {
    Value::Scalar(ScalarValue::Int64(n))
}

fn rows(cells: &[f64]) -> Value {
    let qtype = NdType::from_name("NDARRAY_FLOAT64_N").expect("a type");
    Value::NdArray(Arc::new(NdRows::from_slice(qtype, &[cells.len()], cells).expect("rows")))
}

fn is_float(value: &Value) -> bool {
    matches!(value, Value::Scalar(ScalarValue::Float64(_)))
}

/// The program of a text with literals as arguments, and what they are.
fn opened(source: &str, args: &[Value], which: impl Fn(&Value) -> bool) -> (ProgramCall, Vec<Value>) {
    function(source, args, ArrayLayout::Strided).opening(which).expect("nobody calls it without them")
}

/// What a program gives as it is.
fn expected(source: &str, args: &[Value]) -> Vec<Value> {
    let call = function(source, args, ArrayLayout::Strided);
    Backends::standard("")
        .compiled("interpreter", &call)
        .expect("it binds")
        .call(args)
        .expect("a result")
        .results
}

#[test]
fn numbers_that_differ_need_no_other_build() {
    let (root, cache) = fresh();
    let args = [rows(&[0.5, -1.25, 3.0]), float(0.75)];
    let inputs = [("x", args[0].clone()), ("y", args[1].clone())];
    let mut folders = Vec::new();
    for (a, b) in [("2.5", "0.125"), ("1.25", "3.5"), ("1e300", "0.1")] {
        let bound = arrays::compiled(&format!("x*{a} + math.exp(y*{b})"), &inputs);
        let closed = ProgramCall::new("f", bound.program().clone(), ArrayLayout::Strided).expect("a name");
        let (call, values) = closed.opening(is_float).expect("nobody calls it");
        let numbers = [a, b].map(|text| float(text.parse().expect("a number")));
        assert!(values.len() == 2 && numbers.iter().all(|number| values.contains(number)), "{values:?}");
        let names: Vec<String> = call.signature().parameters.into_iter().map(|p| p.name).collect();
        assert_eq!(names, ["x", "y", "literal_0", "literal_1"]);
        let all = [&args[..], &values].concat();
        let backends = Backends::standard(root.path());
        let call_of = |name: &str, call: &ProgramCall, args: &[Value]| {
            backends.compiled(name, call).expect("it is made").call(args).expect("a result").results
        };
        let right = call_of("interpreter", &closed, &args);
        assert_eq!(call_of("interpreter", &call, &all), right);
        assert_eq!(call_of("c", &call, &all), right);
        folders.push(cache.artifact(&call).expect("a build").folder().to_owned());
    }
    assert!(folders.windows(2).all(|pair| pair[0] == pair[1]), "{folders:?}");
    assert_eq!(entries(root.path()).len(), 1);
}

#[test]
fn the_caller_chooses_which() {
    let (root, cache) = fresh();
    let source = "def f(n, x):\n    s = 0.5\n    for i in range(n):\n        s = s * 1.5 + x * (i % 3)\n    return s\n";
    let args = [int(9), float(2.0)];
    let right = expected(source, &args);
    // Floats alone; all of them: then loops and divisors are known when it is called.
    for (which, at_least) in [(is_float as fn(&Value) -> bool, 2), (|_: &Value| true, 3)] {
        let (call, values) = opened(source, &args, which);
        assert!(values.len() >= at_least, "{values:?}");
        let library = cache.library(&call).expect("a library");
        let found = call_library(&library, &[&args[..], &values].concat()).expect("no error");
        assert_eq!(found.results, right);
        // What is fixed again is a constant as it was.
        let fixed = values
            .iter()
            .enumerate()
            .try_fold(call, |call, (number, value)| call.fixing(&format!("literal_{number}"), value.clone()));
        let library = cache.library(&fixed.expect("inputs")).expect("a library");
        assert_eq!(call_library(&library, &args).expect("no error").results, right);
    }
    assert_eq!(entries(root.path()).len(), 4);
    // Another integer is another program while integers are not arguments.
    let other = source.replace("% 3", "% 4");
    let key = |source: &str| {
        cache.artifact(&opened(source, &args, is_float).0).expect("a build").folder().to_owned()
    };
    assert_ne!(key(source), key(&other));
    // A divisor that became an argument may be zero.
    let (call, mut values) = opened(source, &args, |value| *value == int(3));
    assert_eq!(values, [int(3)]);
    values[0] = int(0);
    let library = cache.library(&call).expect("a library");
    let raised = call_library(&library, &[&args[..], &values].concat()).expect_err("it divides by zero");
    assert!(raised.to_string().contains("zero"), "{raised}");
}

#[test]
fn what_has_no_literals_or_calls_itself_stays() {
    let (call, values) = opened("def f(x):\n    return x\n", &[float(1.0)], |_| true);
    assert!(values.is_empty() && call.signature().parameters.len() == 1);
    let fib =
        compiled("def f(n):\n    if n < 2:\n        return n\n    return f(n - 1) + f(n - 2)\n", &[int(5)]);
    let program = Arc::new((**fib.bound().program()).clone());
    let call = ProgramCall::new("f", program, ArrayLayout::Strided).expect("a name");
    match call.opening(|_| true) {
        // The function calls a routine of its own, whose literals stay.
        Ok((opened, values)) => assert_eq!(opened.signature().parameters.len(), 1 + values.len()),
        Err(error) => assert_eq!(error, NotTranslated::Opened),
    }
}
