//! Lists that shrink and are put in order, and dictionaries: native code gives the values of the interpreter, and raises with its messages.

use crate::native::arrays::shown;
use crate::native::{compiled, library};
use cembra::function::run::FunctionCallError;
use cembra::native::{ArrayLayout, NativeCallError, call_library};
use cembra::vm::machine::error::RunErrorKind;
use cembra::vm::value::{Budget, Category, NdRows, NdType, ScalarValue, Value};
use fastrand::Rng;
use std::sync::Arc;

const SORTED: &str = "\
def f(a, cut):
    found = [x for x in a]
    found.sort()
    for i in range(cut):
        found.pop()
    return found
";

const COUNTED: &str = "\
def f(a, key):
    counts = {}
    for x in a:
        counts[x] = counts.get(x, 0) + 1
    total = 0
    for x in counts:
        total = total * 31 + counts[x]
    return total + counts[key] * len(counts)
";

const CHANGED: &str = "\
def f(a, key):
    counts = {}
    for x in a:
        counts[x] = 1
    for x in counts:
        counts[x + key] = 2
    return len(counts)
";

const CAUGHT: &str = "\
def f(a, key):
    counts = {}
    for x in a:
        counts[x] = 1
    try:
        return counts[key]
    except KeyError:
        try:
            return counts[key + 1]
        except KeyError:
            pass
        raise
";

fn list(element: &str, cells: &[ScalarValue]) -> Value {
    let qtype = NdType::from_name(&format!("NDARRAY_{element}_N")).expect("a type");
    Value::NdArray(Arc::new(NdRows::from_scalars(qtype, &[cells.len()], cells).expect("its shape")))
}

/// Compares calls of a function; gives how many raise.
fn check(source: &str, calls: &[[Value; 2]]) -> usize {
    let function = compiled(source, &calls[0]);
    let native = library(source, &calls[0], ArrayLayout::Strided);
    let mut raised = 0;
    for args in calls {
        match (function.call(args, &Budget::default()), call_library(&native, args)) {
            (Ok(expected), Ok(found)) => {
                assert_eq!(shown(&found.results[0]), shown(&expected.value), "{args:?}");
            }
            (Err(FunctionCallError::Run(error)), Err(NativeCallError::Raised(found))) => {
                raised += 1;
                let RunErrorKind::Fault(fault) = &error.kind else { panic!("{error}") };
                assert_eq!(found.category, fault.category(), "{args:?}: {found}");
                if found.category == Category::Raised {
                    assert_eq!(found.message.as_deref(), Some(&*error.kind.to_string()), "{args:?}");
                }
            }
            (expected, found) => panic!("{args:?}: {expected:?}, native code {found:?}\n{source}"),
        }
    }
    raised
}

#[test]
fn lists_are_sorted_and_shrink() {
    let mut rng = Rng::with_seed(81);
    let float = |rng: &mut Rng| {
        ScalarValue::Float64(match rng.u8(..6) {
            0 => [0.0, -0.0, f64::NAN, f64::INFINITY, -f64::INFINITY][rng.usize(..5)],
            _ => f64::from(rng.i8(-9..9)) / 2.0,
        })
    };
    let mut calls = Vec::new();
    for count in [0, 1, 2, 3, 17, 300] {
        let cells: Vec<ScalarValue> = (0..count).map(|_| float(&mut rng)).collect();
        let cut = rng.i64(0..=count as i64);
        calls.push([list("FLOAT64", &cells), Value::from(cut)]);
        calls.push([list("FLOAT64", &cells), Value::from(count as i64 + 1)]);
    }
    assert_eq!(check(SORTED, &calls), 6);
    let integers = calls.iter().map(|[list_of_floats, cut]| {
        let count = list_of_floats.rows();
        let cells: Vec<ScalarValue> = (0..count).map(|_| ScalarValue::Int64(rng.i64(-5..5))).collect();
        [list("INT64", &cells), cut.clone()]
    });
    let integers: Vec<[Value; 2]> = integers.collect();
    assert_eq!(check(SORTED, &integers), 6);
}

#[test]
fn dictionaries_find_their_keys() {
    let mut rng = Rng::with_seed(82);
    let mut of = |is_float: bool| {
        let mut calls = Vec::new();
        for count in [0, 1, 5, 40, 900] {
            let key = |rng: &mut Rng| match is_float {
                true => ScalarValue::Float64(
                    [0.0, -0.0, 0.1, 1e16, 1e-5, -2.5e-310, 123456.75, f64::INFINITY][rng.usize(..8)]
                        * f64::from(rng.u8(1..4)),
                ),
                false => ScalarValue::Int64(if rng.bool() { rng.i64(-9..9) } else { rng.i64(..) >> 3 }),
            };
            let cells: Vec<ScalarValue> = (0..count).map(|_| key(&mut rng)).collect();
            for _ in 0..6 {
                let name = if is_float { "FLOAT64" } else { "INT64" };
                calls.push([list(name, &cells), Value::Scalar(key(&mut rng))]);
            }
        }
        calls
    };
    let (integers, mut floats) = (of(false), of(true));
    // The keys of a literal without any are integers.
    let of_floats = |source: &str| source.replace("{}", "{1.5: 1}");
    for source in [COUNTED, CHANGED, CAUGHT] {
        assert!(check(source, &integers) > 3, "{source}");
        assert!(check(&of_floats(source), &floats) > 1, "{source}");
    }
    floats.push([floats[0][0].clone(), Value::Scalar(ScalarValue::Float64(f64::NAN))]);
    assert!(check(&of_floats(COUNTED), &floats) > 1);
}
