//! Backends by name: the same values and errors by each, and the interpreter where another one cannot.

use crate::native::function;
use cembra::native::{
    ArrayLayout, Backends, CompiledProgram, Interpreter, NativeCache, NativeCallError, NativeError,
};
use cembra::vm::library::BoundaryError;
use cembra::vm::value::{Category, NdRows, NdType, ScalarValue, Value};
use std::path::Path;
use std::sync::Arc;

fn int(n: i64) -> Value {
    Value::Scalar(ScalarValue::Int64(n))
}

fn rows(cells: &[f64]) -> Value {
    let qtype = NdType::from_name("NDARRAY_FLOAT64_N").expect("a type");
    Value::NdArray(Arc::new(NdRows::from_slice(qtype, &[cells.len()], cells).expect("rows")))
}

fn backends(root: &Path) -> Backends {
    Backends::standard(root)
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder")
}

#[test]
fn every_backend_gives_the_same() {
    let (folder, args) = (folder(), [int(17), int(5)]);
    let source = "def f(n, m):\n    return n // m, n % m\n";
    let call = function(source, &args, ArrayLayout::Strided);
    let backends = backends(folder.path());
    assert_eq!(backends.names().collect::<Vec<_>>(), ["interpreter", "c", "rust"]);
    let all: Vec<CompiledProgram> =
        backends.names().map(|name| backends.compiled(name, &call).expect("it is made")).collect();
    assert!(matches!(all[0], CompiledProgram::Interpreted(_)));
    let expected = all[0].call(&args).expect("a result");
    for compiled in &all {
        assert_eq!(compiled.signature(), all[0].signature());
        assert_eq!(compiled.call(&args).expect("a result"), expected);
        let count = compiled.call(&args[..1]).expect_err("one is missing");
        assert_eq!(count, NativeCallError::Boundary(BoundaryError::Count { expected: 2, actual: 1 }));
        let float = Value::Scalar(ScalarValue::Float64(1.0));
        let error = compiled.call(&[int(1), float]).expect_err("another type");
        assert!(matches!(error, NativeCallError::Boundary(BoundaryError::Type { .. })), "{error}");
        let error = compiled.call(&[int(1), int(0)]).expect_err("it raises");
        let category = match &error {
            NativeCallError::Raised(raised) => raised.category,
            NativeCallError::Run(error) => error.category(),
            other => panic!("{other}"),
        };
        assert_eq!(category, Category::DivisionByZero);
    }
}

#[test]
fn the_interpreter_knows_fixed_inputs_and_arrays() {
    let folder = folder();
    let args = [rows(&[1.0, 2.0, 3.0]), int(0), int(0)];
    let source = "def f(a, i, x):\n    a[i] = a[i] * x\n    return a[i]\n";
    let call = function(source, &args, ArrayLayout::Strided);
    let fixed = call.fixing("i", int(1)).expect("an input");
    let backends = backends(folder.path());
    let values = [args[0].clone(), int(10)];
    let expected = backends.compiled("c", &fixed).expect("a library").call(&values).expect("a result");
    let found = backends.compiled("interpreter", &fixed).expect("a program").call(&values).expect("a result");
    assert_eq!(found, expected);
    assert_eq!(found.results, [Value::Scalar(ScalarValue::Float64(20.0))]);
    assert_ne!(found.arrays[0].1, values[0]);
}

#[test]
fn a_host_adds_its_own_and_allows_the_interpreter() {
    let folder = folder();
    let call = function("def f(n):\n    return n * 2\n", &[int(1)], ArrayLayout::Strided);
    let failing = folder.path().join("failing");
    std::fs::write(
        &failing,
        "#!/bin/sh\ncase \"$*\" in *.so*) echo so not >&2; exit 1;; esac\nexec cc \"$@\"\n",
    )
    .expect("it is written");
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&failing, executable).expect("it can run");
    let own = NativeCache::new(folder.path(), Some(&failing)).expect("it answers");
    let backends = backends(folder.path()).with("own", own).with("rust", Interpreter);
    assert_eq!(backends.names().collect::<Vec<_>>(), ["interpreter", "c", "own", "rust"]);
    assert!(matches!(backends.compiled("rust", &call), Ok(CompiledProgram::Interpreted(_))));
    let error = backends.compiled("own", &call).expect_err("it fails");
    assert!(matches!(&error, NativeError::Compiler { log, .. } if log == "so not\n"), "{error}");
    let (compiled, reason) = backends.compiled_or_interpreted("own", &call).expect("the interpreter");
    assert!(matches!(compiled, CompiledProgram::Interpreted(_)));
    assert_eq!(reason.expect("a reason").to_string(), error.to_string());
    assert_eq!(compiled.call(&[int(21)]).expect("a result").results, [int(42)]);
    let (compiled, reason) = backends.compiled_or_interpreted("c", &call).expect("a library");
    assert!(matches!(compiled, CompiledProgram::Library(_)) && reason.is_none());
    for unknown in [
        backends.compiled("fortran", &call).map(drop),
        backends.compiled_or_interpreted("fortran", &call).map(drop),
    ] {
        let error = unknown.expect_err("there is none").to_string();
        assert_eq!(error, "there is no backend fortran: there are interpreter, c, own, rust");
    }
}

#[path = "../../../docs/examples/variants.rs"]
mod example;

#[test]
fn the_example_gives_powers() {
    let folder = folder();
    let float = |x: f64| vec![Value::Scalar(ScalarValue::Float64(x))];
    let by_name = example::by_name(folder.path()).expect("values");
    let names: Vec<&str> = by_name.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["interpreter", "c", "rust", "debugged"]);
    assert!(by_name.iter().all(|(_, results)| *results == float(1.5_f64.powi(4))), "{by_name:?}");
    let expected: Vec<_> = (0..4).map(|n| float(1.5_f64.powi(n))).collect();
    assert_eq!(example::by_exponent(folder.path(), 0..4).expect("values"), expected);
    example::main().expect("it prints");
}

#[test]
fn functions_run_by_a_backend_of_this_name() {
    let folder = folder();
    std::fs::write(folder.path().join("f.py"), "def f(n):\n    return n * 2\n").expect("it is written");
    let run = |more: &[&str], compiler: &str| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_cembra"));
        command.args(["function", "run", "f.py", "f", "--args", "[21]"]).args(more);
        command.current_dir(folder.path()).env("CEMBRA_CACHE_DIR", folder.path().join("cache"));
        let output = command.env("CEMBRA_RUSTC", compiler).output().expect("the command starts");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
        (text(output.stdout), text(output.stderr))
    };
    let rust = ["--tier", "native", "--backend", "rust", "--dump-stages", "stages"];
    assert_eq!(run(&rust, "rustc"), ("42\n".to_owned(), String::new()));
    let stages = folder.path().join("stages");
    let source = std::fs::read_to_string(stages.join("08-translate.txt")).expect("it is written");
    assert!(source.contains("extern \"C\" fn f"), "{source}");
    let (found, note) = run(&[&rust[..4], &["--cache", "process"]].concat(), "no-such-compiler");
    assert!(found == "42\n" && note.starts_with("note: the interpreter runs it: "), "{note}");
    let (found, error) = run(&rust[2..4], "rustc");
    assert!(found.is_empty() && error.contains("--backend needs --tier native"), "{error}");
}
