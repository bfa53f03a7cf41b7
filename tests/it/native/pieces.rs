//! Loops over `prange` in C: one piece after the other, with the bits of the machine's pieces.

use crate::native::arrays::sanitized;
use crate::native::{compiled, function};
use cembra::function::run::FunctionCallError;
use cembra::native::{ArrayLayout, NativeCallError, call_library};
use cembra::vm::machine::error::RunErrorKind;
use cembra::vm::value::budget::Budget;
use cembra::vm::value::{NdRows, NdType, ScalarType, Value};
use std::sync::Arc;

/// Loops that run in pieces; each function takes two arrays and two numbers.
const LOOPS: [&str; 6] = [
    // A sum of floats, whose bits depend on the pieces.
    "def f(a, b, n, k):
    s = 0.5
    for i in prange(n):
        s += a[i] * 0.1 + b[i]
    return s
",
    // Several results, the last value of a private one among them.
    "def f(a, b, n, k):
    s = 0.0
    m = -1.0e9
    c = 0
    t = 0.0
    for i in prange(n):
        t = a[i] * b[n - 1 - i]
        s += t
        m = max(m, t)
        if t > 1.0:
            c += 1
    return s * 3.0 + m + c + t
",
    // An array that changes, with neighbours of another one.
    "def f(a, b, n, k):
    for i in prange(1, n - 1):
        b[i] = 0.25 * (a[i - 1] + 2.0 * a[i] + a[i + 1])
    return b[n // 2]
",
    // Every other element, from the end.
    "def f(a, b, n, k):
    for i in prange(n - 1, -1, -2):
        b[i] = a[n - 1 - i] + k
    return b[n - 1]
",
    // Rounds that raise.
    "def f(a, b, n, k):
    s = 0
    for i in prange(n):
        s += 7 // (i - k)
    return s
",
    // A sum of integers that overflows for many rounds.
    "def f(a, b, n, k):
    s = 0
    for i in prange(n):
        s += (i + k) * 10000000000000000
    return s
",
];

fn elements(count: usize, of: impl Fn(usize) -> f64) -> Value {
    let cells: Vec<f64> = (0..count).map(of).collect();
    let qtype = NdType::new(ScalarType::Float64, 1, 0).expect("a type");
    Value::NdArray(Arc::new(NdRows::from_slice(qtype, &[count], &cells).expect("elements")))
}

#[test]
fn pieces_have_the_bits_of_the_machine() {
    let (_folder, cache) = sanitized();
    let args = |n: i64, k: i64| {
        let count = n.max(3) as usize;
        let a = elements(count, |x| (x as f64 * 0.7).sin() * 3.0);
        let b = elements(count, |x| 1.0 / (1.0 + x as f64));
        [a, b, Value::from(n), Value::from(k)]
    };
    for source in LOOPS {
        let source = format!("from numba import prange\n{source}");
        let interpreted = compiled(&source, &args(5, 1));
        let program = interpreted.bound().program();
        assert!(program.routines().iter().any(|routine| routine.parallel.is_some()), "{source}");
        for layout in [ArrayLayout::Contiguous, ArrayLayout::Strided] {
            let library = cache.library(&function(&source, &args(5, 1), layout)).expect("it has a form in C");
            for (n, k) in
                [(0, 1), (1, 3), (2, 1), (5, 2), (63, -1), (64, 70), (65, -4), (130, 129), (1000, -1)]
            {
                let expected = interpreted.call(&args(n, k), &Budget::default());
                match (call_library(&library, &args(n, k)), expected) {
                    (Ok(found), Ok(expected)) => {
                        assert_eq!(found.results, [expected.value], "{n} rounds, k = {k}\n{source}");
                        assert_eq!(found.arrays, expected.arrays, "{n} rounds, k = {k}\n{source}");
                    }
                    (Err(NativeCallError::Raised(found)), Err(FunctionCallError::Run(expected))) => {
                        let RunErrorKind::Fault(fault) = &expected.kind else { panic!("{expected}") };
                        assert_eq!(found.category, fault.category(), "{n} rounds, k = {k}\n{source}");
                    }
                    (found, expected) => panic!("{n}, {k}: {found:?}, expected {expected:?}\n{source}"),
                }
            }
        }
    }
}
