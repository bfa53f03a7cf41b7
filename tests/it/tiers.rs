//! `--tier`: what a tier makes of a program, from the command line, and the same without the feature `jit`.

use std::path::Path;
use std::process::{Command, Output};

const SOURCE: &str = "\
def climb(n):
    s = 0
    for i in range(n):
        s += i * i
    return s

def counted(a, n):
    if n == 0:
        return a
    a[0] += 1
    return counted(a, n - 1)

def handed_on(a):
    return counted(a, 3)

def caught(a, i):
    try:
        return a[i]
    except IndexError:
        return -1.0
";

fn cembra(args: &[&str]) -> Output {
    // Another process removes it when this one has ended.
    let caches = Path::new(env!("CARGO_TARGET_TMPDIR")).join("native");
    cembra_with_cache(args, &caches.join(std::process::id().to_string()))
}

fn cembra_with_cache(args: &[&str], cache: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cembra"))
        .args(args)
        .env_remove("CEMBRA_TIER")
        .env("CEMBRA_CACHE_DIR", cache)
        .output()
        .expect("the command starts")
}

fn shown(args: &[&str]) -> String {
    let output = cembra(args);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// Runs something with the path of the functions.
fn with_source<R>(run: impl FnOnce(&str) -> R) -> R {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("f.py");
    std::fs::write(&path, SOURCE).expect("it is written");
    run(path.to_str().expect("UTF-8"))
}

#[test]
fn stages_are_timed_on_every_tier() {
    let text = shown(&["explain", "x * x + 1.0", "-i", "x=2.0", "--tier", "interpreter"]);
    assert!(text.starts_with("runs as: interpreter\n"), "{text}");
    assert!(text.contains("math.multiply"), "{text}");
    let last = text.lines().last().expect("a line");
    assert!(last.starts_with("stages: read "), "{last}");
    assert!(["prepare ", "compile "].iter().all(|stage| last.contains(stage)), "{last}");
    let refused = cembra(&["explain", "x", "-i", "x=1", "--tier", "jit", "--stage", "layout"]);
    assert_eq!(refused.status.code(), Some(2));
}

/// The stages that have times, in order.
fn timed_stages(text: &str) -> Vec<&str> {
    let last = text.lines().last().expect("a line").strip_prefix("stages: ").expect("the stages");
    last.split(", ").map(|stage| stage.rsplit_once(' ').expect("a time").0).collect()
}

#[test]
fn stages_of_a_native_build_are_timed() {
    let folder = tempfile::tempdir().expect("a folder");
    for (backend, compiler) in [("c", "C compiler"), ("rust", "Rust compiler")] {
        let explain = ["explain", "x * x + 1.0", "-i", "x=2.0", "--tier", "native", "--backend", backend];
        let shown = || {
            let output = cembra_with_cache(&explain, folder.path());
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8(output.stdout).expect("UTF-8")
        };
        let first = ["read", "prepare", "compile", "find compiler"];
        let missed = ["cache miss", "translate", "bind", compiler, "publish", "load"];
        assert_eq!(timed_stages(&shown()), [&first[..], &missed].concat());
        assert_eq!(timed_stages(&shown()), [&first[..], &["cache hit", "load"]].concat());
    }
    // What is not built is not timed, and the text is there nevertheless.
    let mut command = Command::new(env!("CARGO_BIN_EXE_cembra"));
    command.args(["explain", "x * x + 1.0", "-i", "x=2.0", "--tier", "native"]);
    command.env("CEMBRA_CC", "no-such-compiler").env("CEMBRA_CACHE_DIR", folder.path());
    let text = String::from_utf8(command.output().expect("it starts").stdout).expect("UTF-8");
    assert!(text.starts_with("the interpreter runs it: no C compiler: no-such-compiler"), "{text}");
    assert!(text.contains("static cembra_f64 r0("), "{text}");
    assert_eq!(timed_stages(&text), ["read", "prepare", "compile"]);
}

#[test]
fn native_code_is_shown_in_the_language_of_a_backend() {
    let explain = |expr: &str, input: &str, more: &[&str]| {
        shown(&[&["explain", expr, "-i", input, "--tier", "native"], more].concat())
    };
    let c = explain("x * x + 1.0", "x=2.0", &[]);
    assert!(c.starts_with("runs as: C\n") && c.contains("static cembra_f64 r0("), "{c}");
    let rust = explain("x * x + 1.0", "x=2.0", &["--backend", "rust"]);
    assert!(rust.starts_with("runs as: Rust\n") && rust.contains("fn r0(run"), "{rust}");
    assert!(rust.contains("        /* 0: ") && timed_stages(&rust).contains(&"load"), "{rust}");
    let json = explain("x * x", "x=2.0", &["--backend", "rust", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!((&json["runs"], &json["c"]), (&"Rust".into(), &serde_json::Value::Null));
    assert!(json["rust"].as_str().expect("the source").contains("fn r0("), "{json}");
    let refused = explain("math.sum(x)", "x:DENSE_ARRAY_FLOAT64=[1.0, 2.0]", &["--backend", "rust"]);
    assert!(refused.starts_with("the interpreter runs it: argument x has the type DENSE_ARRAY"), "{refused}");
    for more in [&["--backend", "rust"][..], &["--tier", "jit", "--backend", "rust"]] {
        let output = cembra(&[&["explain", "x", "-i", "x=1"], more].concat());
        assert_eq!(output.status.code(), Some(2), "{more:?}");
    }
}

#[test]
#[cfg(not(feature = "jit"))]
fn without_the_feature_the_interpreter_runs() {
    let reason = "built without the feature `jit`";
    let text = shown(&["explain", "x * x", "-i", "x=2.0", "--tier", "jit"]);
    assert!(text.starts_with(&format!("the interpreter runs it: {reason}\n")), "{text}");
    with_source(|path| {
        let output = cembra(&["function", "run", path, "climb", "--args", "[4]", "--tier", "jit"]);
        assert_eq!(output.stdout, b"14\n");
        assert!(String::from_utf8_lossy(&output.stderr).contains(reason));
    });
}

#[test]
#[cfg(feature = "jit")]
fn machine_code_stands_beside_its_instructions() {
    let text = shown(&["explain", "x * x + 1.0", "-i", "x=2.0", "--tier", "jit"]);
    assert!(text.starts_with("runs as: machine code\n\nroutine 0: "), "{text}");
    let line = |text: &str| text.lines().position(|line| line.contains(" = math.multiply("));
    let multiply = line(&text).expect("the instruction is shown");
    assert!(text.lines().nth(multiply + 1).expect("its code").starts_with("    0"), "{text}");
    assert!(text.lines().last().expect("a line").contains("machine code "), "{text}");
    if cfg!(target_arch = "x86_64") {
        assert_eq!(
            text.lines().nth(multiply + 1).expect("its code").split_whitespace().nth(1),
            Some("vmulsd")
        );
        let code: Vec<&str> = text.lines().filter(|line| line.starts_with("    0")).collect();
        assert!(code.last().expect("code").contains("ret"), "{text}");
    }
    let json: serde_json::Value =
        serde_json::from_str(&shown(&["explain", "x * x", "-i", "x=2.0", "--tier", "jit", "--json"]))
            .expect("JSON");
    assert_eq!(json["runs"], "machine code");
    assert!(json["microseconds"]["machine code"].as_f64().expect("a number") > 0.0);
}

#[test]
#[cfg(feature = "jit")]
fn functions_run_as_machine_code_or_say_why_not() {
    with_source(|path| {
        let run = |name: &str, args: &str| {
            cembra(&["function", "run", path, name, "--args", args, "--tier", "jit"])
        };
        let output = run("climb", "[4]");
        assert_eq!((&output.stdout[..], &output.stderr[..]), (&b"14\n"[..], &b""[..]));
        // The main routine has nothing but a call.
        assert_eq!(run("handed_on", "[[0, 1]]").stdout, b"[3,1]\n");
        let output = run("caught", "[[1.5], 3]");
        assert_eq!(output.stdout, b"-1.0\n");
        let note = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(note.contains("the interpreter runs it: the main routine catches errors"), "{note}");
        let dump = |name: &str, args: &str| {
            shown(&["function", "dump", path, name, "--args", args, "--stage", "machine-code"])
        };
        assert!(dump("climb", "[4]").starts_with("routine 0: "));
        assert!(dump("caught", "[[1.5], 3]").starts_with("the interpreter runs it: "));
    });
}

#[test]
#[cfg(feature = "jit")]
fn functions_are_compiled_when_they_have_run_often() {
    use cembra::function::{FunctionModule, FunctionOptions, FunctionType, compile_function};
    use cembra::vm::jit::compile_when_hot;
    use cembra::vm::machine::Budget;
    use cembra::vm::value::Value;
    use std::sync::{Arc, mpsc};
    let module = FunctionModule::parse(SOURCE).expect("it parses");
    let types = [FunctionType::of_qtype(&Value::from(1i64).qtype()).expect("a type")];
    let function =
        compile_function(&module, "climb", &types, &FunctionOptions::default()).expect("it compiles");
    let function = Arc::new(function);
    if function.bound().compiled_tier().is_some() {
        return; // CEMBRA_TIER=jit: every program of this process is compiled.
    }
    let (sender, jobs) = mpsc::channel();
    compile_when_hot(&function, 5, move |job| sender.send(job).expect("somebody waits"))
        .expect("nobody asked before");
    let call = || function.call(&[Value::from(4i64)], &Budget::default()).expect("nothing is raised").value;
    for run in 1..=5 {
        assert!(jobs.try_recv().is_err(), "before run {run}");
        assert_eq!(call(), Value::from(14i64));
    }
    jobs.try_recv().expect("it has run five times").run().expect("it is compiled");
    assert!(function.bound().compiled_tier().is_some());
    assert_eq!(call(), Value::from(14i64));
}
