//! The backend of Rust: functions on scalars with loops, calls, tuples and exceptions, by the boundary and the cache of C.

use crate::native::{fresh, function};
use cembra::function::run::FunctionCallError;
use cembra::native::{ArrayLayout, NativeCache, NativeCallError, ProgramCall, call_library};
use cembra::vm::library::Argument;
use cembra::vm::value::{Budget, Category, ScalarValue, Value};
use std::process::Command;

fn integer(x: i64) -> Value {
    Value::Scalar(ScalarValue::Int64(x))
}

fn float(x: f64) -> Value {
    Value::Scalar(ScalarValue::Float64(x))
}

const COLLATZ: &str = "\
def steps(n):
    count = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        count += 1
    return count

def longest(limit):
    best, at = 0, 1
    for n in range(1, limit):
        count = steps(n)
        if count > best:
            best, at = count, n
    return at, best
";

const ROOTS: &str = "\
def safe(a, b):
    try:
        return a // b
    except ZeroDivisionError:
        return -1

def root(x, n):
    y = x
    for i in range(n):
        if y < 0.0:
            raise ValueError('below zero')
        y = 0.5 * (y + x / y) + safe(i, i - 2) * 0.0
    return y
";

const DEEP: &str = "def down(n):\n    if n <= 0:\n        return 0\n    return 1 + down(n - 1)\n";

#[test]
fn functions_give_what_the_interpreter_gives() {
    let (folder, c) = fresh();
    let rust = NativeCache::rust(folder.path(), None).expect("cargo has a compiler");
    let calls = [
        (COLLATZ, vec![integer(300)]),
        (ROOTS, vec![float(2.0), integer(6)]),
        (ROOTS, vec![float(-2.0), integer(6)]),
        (ROOTS, vec![float(0.0), integer(2)]),
        (DEEP, vec![integer(200)]),
        (DEEP, vec![integer(1_000_000)]),
    ];
    let mut raised = Vec::new();
    for (source, args) in calls {
        let call = function(source, &args, ArrayLayout::Strided);
        let native = rust.library(&call).unwrap_or_else(|error| panic!("{error}\n{source}"));
        let found = call_library(&native, &args);
        let expected = crate::native::compiled(source, &args).call(&args, &Budget::default());
        match (&found, expected) {
            (Ok(found), Ok(expected)) => assert_eq!(found.results[0], expected.value, "{source}"),
            (Err(NativeCallError::Raised(error)), Err(FunctionCallError::Run(_))) => {
                raised.push(error.category)
            }
            (found, expected) => panic!("{found:?}, expected {expected:?}\n{source}"),
        }
        // C has the same key parts but for its steps, and a folder of its own.
        let of_c = call_library(&c.library(&call).expect("it has a form"), &args);
        match (found, of_c) {
            (Ok(found), Ok(of_c)) => assert_eq!(found, of_c),
            (Err(NativeCallError::Raised(found)), Err(NativeCallError::Raised(of_c))) => {
                assert_eq!((found.category, found.message), (of_c.category, of_c.message));
            }
            (found, of_c) => panic!("{found:?}, C gives {of_c:?}"),
        }
    }
    assert_eq!(raised, [Category::Raised, Category::DivisionByZero, Category::Limit]);
    let entries = cembra::native::cache::entries(folder.path());
    assert_eq!(entries.len(), 6, "three functions in two languages");
}

#[test]
fn a_library_is_found_again_and_bound() {
    let (folder, _) = fresh();
    let rust = NativeCache::rust(folder.path(), None).expect("cargo has a compiler");
    let call = function(COLLATZ, &[integer(5)], ArrayLayout::Strided);
    let first = rust.artifact(&call).expect("it has a form");
    assert_eq!(rust.artifact(&call).expect("it is there"), first);
    let library = rust.library(&call).expect("it loads");
    let ten = integer(10);
    let mut bound = library.bind([Argument::Value(&ten)]).expect("an integer");
    for _ in 0..2 {
        bound.run().expect("no error");
        assert_eq!(
            format!("{:?}", bound.result(0)),
            format!("{:?}", call_library(&library, &[integer(10)]).expect("no error").results[0])
        );
    }
}

#[test]
fn arrays_are_refused_by_name() {
    let (folder, _) = fresh();
    let rust = NativeCache::rust(folder.path(), None).expect("cargo has a compiler");
    let x = cembra::cli::function_value::read_arguments(&serde_json::json!([
        { "t": "array", "dtype": "float64", "shape": [1], "order": "C", "data": ["1.0"] }
    ]));
    let call = function("def f(x):\n    return x[0]\n", &x.expect("an array"), ArrayLayout::Strided);
    let error = rust.library(&call).expect_err("it has no form").to_string();
    assert!(error.contains("NDARRAY_FLOAT64_N"), "{error}");
    for name in ["python_add", "fn", "special_exp", "r7"] {
        let program = function(COLLATZ, &[integer(1)], ArrayLayout::Strided).program().clone();
        let call = ProgramCall::new(name, program, ArrayLayout::Strided).expect("a name in C");
        let error = rust.library(&call).expect_err("it is taken").to_string();
        assert!(error.contains("cannot name a function"), "{error}");
    }
}

#[test]
fn the_command_builds_libraries_of_rust() {
    let (folder, _) = fresh();
    let path = folder.path();
    std::fs::write(path.join("f.py"), COLLATZ).expect("it is written");
    let built = Command::new(env!("CARGO_BIN_EXE_cembra"))
        .args(["build", "f.py", "-o", "out", "--backend", "rust", "--name", "both"])
        .args(["-e", "longest(i64)", "-e", "steps(i64)"])
        .current_dir(path)
        .output()
        .expect("the command starts");
    let text = String::from_utf8_lossy(&built.stdout).into_owned() + &String::from_utf8_lossy(&built.stderr);
    assert!(built.status.success(), "{text}");
    assert_eq!(text, "out/longest.rs\nout/steps.rs\nout/_both.rs\nout/both.h\nout/both.py\nout/libboth.so\n");
    let out = path.join("out");
    let main = "#include \"both.h\"\nint main(void)\n{\n    longest_type1 found;\n    int64_t count;\n    \
                if (longest(30, &found, 0) != 0 || found._0 != 27 || found._1 != 111) return 1;\n    \
                return steps(6, &count, 0) == 0 && count == 8 ? 0 : 2;\n}\n";
    std::fs::write(out.join("main.c"), main).expect("it is written");
    let compiled =
        Command::new("cc").args(["-o", "main", "main.c", "libboth.so", "-Wall"]).current_dir(&out).output();
    let compiled = compiled.expect("cargo needs a C compiler to link");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let ran = Command::new(out.join("main")).env("LD_LIBRARY_PATH", &out).output().expect("it runs");
    assert!(ran.status.success(), "{:?}", ran.status);
}
