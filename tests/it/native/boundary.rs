//! The boundary of libraries: what does not fit is refused before anything runs.

use crate::native::{compiled, library};
use cembra::cli::function_value::read_arguments;
use cembra::function::run::FunctionCallError;
use cembra::native::{ArrayLayout, NativeCallError, call_library};
use cembra::vm::library::{Argument, BoundaryError, Digest, Library, LibraryError};
use cembra::vm::machine::NdViewMut;
use cembra::vm::machine::error::RunErrorKind;
use cembra::vm::value::{Budget, Category, NdView, ScalarValue, Value};
use serde_json::json;

const SCALE: &str = "def scale(a, x):\n    for i in range(a.shape[0]):\n        for j in range(a.shape[1]):\n            a[i, j] = a[i, j] * x\n    return a[0, 0]\n";

fn values(args: serde_json::Value) -> Vec<Value> {
    read_arguments(&args).expect("values")
}

fn array(rows: &[f64], shape: &[usize]) -> serde_json::Value {
    let data: Vec<String> = rows.iter().map(|x| format!("{x:?}")).collect();
    json!({ "t": "array", "dtype": "float64", "shape": shape, "order": "C", "data": data })
}

fn float(x: f64) -> serde_json::Value {
    json!({ "t": "float", "v": format!("{x:?}") })
}

fn scale(layout: ArrayLayout) -> Library {
    library(SCALE, &values(json!([array(&[1.0, 2.0], &[1, 2]), float(2.0)])), layout)
}

#[test]
fn a_bound_call_runs_again_and_again() {
    let library = scale(ArrayLayout::Contiguous);
    let (mut rows, factor) = ([1.0, -0.5, 3.0, 4.0], Value::Scalar(ScalarValue::Float64(2.0)));
    let lent = NdViewMut::from_slice(&mut rows, &[2, 2]).expect("four elements");
    let mut call = library.bind(vec![Argument::Update(lent), Argument::Value(&factor)]).expect("it fits");
    for expected in [2.0, 4.0, 8.0] {
        call.run().expect("no error");
        assert_eq!(call.result(0), Value::Scalar(ScalarValue::Float64(expected)));
    }
    drop(call);
    assert_eq!(rows, [8.0, -4.0, 24.0, 32.0]);
}

#[test]
fn a_function_may_give_nothing() {
    let source = "def fill(a, x):\n    for i in range(a.shape[0]):\n        a[i] = x\n";
    let args = values(json!([array(&[1.0, 2.0], &[2]), float(0.5)]));
    let result = call_library(&library(source, &args, ArrayLayout::Contiguous), &args).expect("no error");
    assert_eq!(result.results, [Value::Scalar(ScalarValue::Unit)]);
    assert_eq!(result.arrays, [(0, values(json!([array(&[0.5, 0.5], &[2])])).remove(0))]);
}

#[test]
fn arguments_that_do_not_fit_are_refused() {
    let library = scale(ArrayLayout::Contiguous);
    let factor = Value::Scalar(ScalarValue::Float64(2.0));
    let refused = |first: Argument<'_>, second: Argument<'_>| {
        library.bind(vec![first, second]).map(drop).expect_err("it does not fit").to_string()
    };
    let count = library.bind(vec![Argument::Value(&factor)]).expect_err("one is missing");
    assert_eq!(count, BoundaryError::Count { expected: 2, actual: 1 });
    let (mut flat, mut narrow) = ([1.0f64; 4], [1.0f32; 4]);
    let view = NdViewMut::from_slice(&mut flat, &[4]).expect("four elements");
    let text = refused(Argument::Update(view), Argument::Value(&factor));
    assert_eq!(text, "argument a: takes NDARRAY_FLOAT64_NN, got an array of FLOAT64 of shape [4]");
    let view = NdViewMut::from_slice(&mut narrow, &[2, 2]).expect("four elements");
    let text = refused(Argument::Update(view), Argument::Value(&factor));
    assert_eq!(text, "argument a: takes NDARRAY_FLOAT64_NN, got an array of FLOAT32 of shape [2, 2]");
    let view = NdView::from_slice(&flat, &[2, 2]).expect("four elements");
    let text = refused(Argument::Elements(view), Argument::Value(&factor));
    assert_eq!(text, "argument a: the library changes the array, lend it to be changed");
    let mut other = [1.0; 4];
    let view = NdViewMut::from_slice(&mut other, &[2, 2]).expect("four elements");
    let integer = Value::Scalar(ScalarValue::Int64(2));
    assert_eq!(
        refused(Argument::Update(view), Argument::Value(&integer)),
        "argument x: takes FLOAT64, got INT64"
    );
    assert_eq!(
        refused(Argument::Value(&factor), Argument::Value(&factor)),
        "argument a: takes NDARRAY_FLOAT64_NN, got FLOAT64"
    );
}

#[test]
fn layouts_are_those_of_the_build() {
    let source = "def corner(a):\n    return a[a.shape[0] - 1, 0]\n";
    let args = values(json!([array(&[1.0, 2.0], &[1, 2])]));
    let rows = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    let turned = NdView::from_slice(&rows, &[3, 2]).expect("six elements").select_axes([1, 0]);
    let strided = library(source, &args, ArrayLayout::Strided);
    let mut call = strided.bind(vec![Argument::Elements(turned)]).expect("any strides");
    call.run().expect("no error");
    assert_eq!(call.result(0), Value::Scalar(ScalarValue::Float64(2.0)));
    let contiguous = library(source, &args, ArrayLayout::Contiguous);
    let error = contiguous.bind(vec![Argument::Elements(turned)]).expect_err("it is turned");
    assert_eq!(
        error,
        BoundaryError::Layout { name: "a".to_owned(), shape: vec![2, 3], strides: vec![8, 16] }
    );
    // Nothing is there to be read: the strides do not matter, the error is that of the function.
    let nothing: [f64; 0] = [];
    let empty = NdView::from_slice(&nothing, &[0, 2]).expect("no elements");
    let mut call = contiguous.bind(vec![Argument::Elements(empty)]).expect("it fits");
    let raised = call.run().expect_err("there is no last row");
    assert_eq!((raised.category, raised.operands), (Category::IndexOutOfRange, [u64::MAX, 0, 0, 0]));
}

#[test]
fn errors_name_what_the_program_says() {
    let source = "def f(n):\n    if n > 2:\n        raise KeyError('too many')\n    return 10 // n\n";
    let one = |n: i64| values(json!([{ "t": "int", "v": n.to_string() }]));
    let library = library(source, &one(1), ArrayLayout::Strided);
    assert_eq!(
        call_library(&library, &one(2)).expect("no error").results,
        [Value::Scalar(ScalarValue::Int64(5))]
    );
    let raised = |n: i64| match call_library(&library, &one(n)) {
        Err(NativeCallError::Raised(raised)) => raised,
        other => panic!("{other:?}"),
    };
    assert_eq!(raised(0).category, Category::DivisionByZero);
    assert_eq!(raised(3).message.as_deref(), Some("KeyError: too many"));
    assert!(matches!(
        call_library(&library, &[]),
        Err(NativeCallError::Boundary(BoundaryError::Count { .. }))
    ));
}

#[test]
fn arrays_that_a_function_makes_are_results() {
    let sources = [
        "def f(a, n):\n    out = np.zeros(n)\n    for i in range(n):\n        out[i] = a[i % len(a)] + i\n    return out\n",
        "def f(a, n):\n    return a\n",
        "def f(a, n):\n    b = a.copy()\n    b[0] = n\n    return b\n",
        "def f(a, n):\n    grid = np.ones((n, 2), dtype=np.int16)\n    for k in range(n):\n        new = np.zeros((n, 2), dtype=np.int16)\n        new[k, 1] = grid[k, 0] + k\n        grid = new\n    return grid\n",
        "def f(a, n):\n    found = []\n    for i in range(n):\n        if i % 3 == 1:\n            found.append(i * i)\n    return found\n",
        "def pick(a, n):\n    return np.full(n, a[0])\n\ndef f(a, n):\n    if n == 0:\n        return a\n    return pick(a, n)\n",
        "def f(a, n):\n    return np.zeros((n, n - 5))\n",
        "def f(a, n):\n    return np.zeros((n - n, 1 << 30, 1 << 20))\n",
        "def f(a, n):\n    return np.zeros((1 << 30, 1 << 20, n - n))\n",
        "def f(a, n):\n    return np.zeros((n - n, 3, 0))\n",
        "def f(a, n):\n    out = np.zeros(n)\n    out[n - 9] = 1.0\n    return out\n",
    ];
    for source in sources {
        let source = format!("import numpy as np\n{source}");
        for n in [0i64, 1, 7, 40] {
            let args = values(json!([array(&[1.5, -2.5, 4.0], &[3]), { "t": "int", "v": n.to_string() }]));
            let interpreted = interpreted(&source, &args);
            for layout in [ArrayLayout::Strided, ArrayLayout::Contiguous] {
                let library = library(&source, &args, layout);
                match (call_library(&library, &args), &interpreted) {
                    (Ok(found), Ok(expected)) => assert_eq!(found.results[0], *expected, "{source}"),
                    (Err(NativeCallError::Raised(raised)), Err(category)) => {
                        assert_eq!(raised.category, *category, "{source}");
                    }
                    (found, expected) => panic!("{found:?}, expected {expected:?}\n{source}"),
                }
            }
        }
    }
}

/// What the interpreter gives, or the category of what it raises.
fn interpreted(source: &str, args: &[Value]) -> Result<Value, Category> {
    match compiled(source, args).call(args, &Budget::default()) {
        Ok(result) => Ok(result.value),
        Err(FunctionCallError::Run(error)) => match error.kind {
            RunErrorKind::Fault(fault) => Err(fault.category()),
            other => panic!("{other}"),
        },
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn a_bound_call_frees_what_it_was_given() {
    let source = "import numpy as np\ndef f(n):\n    return np.full(n, 2.5)\n";
    let n = Value::Scalar(ScalarValue::Int64(1000));
    let library = library(source, std::slice::from_ref(&n), ArrayLayout::Contiguous);
    let mut call = library.bind(vec![Argument::Value(&n)]).expect("it fits");
    assert!(matches!(call.result(0), Value::NdArray(rows) if rows.shape() == [0]));
    for _ in 0..100 {
        call.run().expect("no error");
    }
    assert!(matches!(call.result(0), Value::NdArray(rows) if rows.shape() == [1000]));
}

#[test]
fn calls_that_never_end_raise() {
    let source = "def down(n):\n    if n == 0:\n        return 0\n    return 1 + down(n + 1)\n";
    let args = values(json!([{ "t": "int", "v": "1" }]));
    let library = library(source, &args, ArrayLayout::Strided);
    match call_library(&library, &args) {
        Err(NativeCallError::Raised(raised)) => assert_eq!(raised.category, Category::Limit),
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_integer_that_was_a_float_has_no_negative_zero() {
    // gcc without trapping math takes the float for its own whole part, which is -0.0.
    let source = "def f(s, x):\n    s *= int(x)\n    return s\n";
    let args = values(json!([float(-15.5), float(-0.07)]));
    let library = library(source, &args, ArrayLayout::Strided);
    let found = call_library(&library, &args).expect("no error").results;
    assert_eq!(format!("{found:?}"), format!("{:?}", [Value::Scalar(ScalarValue::Float64(-0.0))]));
}

#[test]
fn a_library_of_other_types_is_refused() {
    let library = scale(ArrayLayout::Contiguous);
    let bytes = std::fs::read(library.path()).expect("the library");
    let open =
        |digest: Digest, entry: &str, signature| Library::open(library.path(), digest, entry, signature);
    let digest = Digest::of(&bytes);
    assert!(open(digest, "scale", library.signature()).is_ok());
    let mut other = library.signature().clone();
    other.parameters[0].is_contiguous = false;
    assert!(matches!(open(digest, "scale", &other), Err(LibraryError::Signature { .. })));
    assert!(matches!(open(digest, "other", library.signature()), Err(LibraryError::Symbol { .. })));
    let wrong = Digest { size: digest.size + 1, ..digest };
    assert!(matches!(open(wrong, "scale", library.signature()), Err(LibraryError::Digest { .. })));
}
