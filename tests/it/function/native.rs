//! Native code: a library of a function gives what the interpreter gives.
//!
//! `CEMBRA_NATIVE=N` compares every N-th function that a test calls, 1 all of them; so many by default that a run of the
//! tests does not take much longer. What has no form in C is left out, and counted by the tests of operators.

use crate::function::laws::Ran;
use cembra::cli::function_value::recorded;
use cembra::function::CompiledFunction;
use cembra::native::cache::NativeCache;
use cembra::native::{
    ArrayLayout, CompileC, Compiler, NativeBuild, NativeCallError, NativeError, ProgramCall, call_library,
};
use cembra::vm::machine::error::RunErrorKind;
use cembra::vm::value::{Category, Value};
use serde_json::Value as Json;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Every how many functions one is compared.
const USUAL: u64 = 40;

/// Every how many of these one is compared in Rust, too.
const USUAL_OF_RUST: u64 = 3;

/// Every how many of these one is compared with numbers as arguments, too.
const USUAL_OF_OPENED: u64 = 5;

/// How many calls there were.
static CALLS: AtomicU64 = AtomicU64::new(0);

/// The folder of this process among those for temporary files of tests.
fn root() -> PathBuf {
    static ROOT: OnceLock<PathBuf> = OnceLock::new();
    let made = ROOT.get_or_init(|| {
        let root = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("native");
        // What ended runs of the tests have left may be of another translator; others may run now.
        for left in std::fs::read_dir(&root).into_iter().flatten().flatten() {
            if !is_running(&left.file_name().to_string_lossy()) {
                let _ = std::fs::remove_dir_all(left.path());
            }
        }
        root.join(std::process::id().to_string())
    });
    made.clone()
}

/// True if another process with this number runs, or if the system does not tell.
fn is_running(process: &str) -> bool {
    let processes = Path::new("/proc");
    let is_other = *process != std::process::id().to_string();
    is_other && (!processes.join("self").exists() || processes.join(process).exists())
}

/// True if all functions are compared, and optimised as libraries of users are: then a build takes several times as long.
fn is_all() -> bool {
    std::env::var("CEMBRA_NATIVE").is_ok_and(|text| text == "1")
}

/// A cache of this process.
pub fn cache() -> &'static NativeCache {
    static CACHE: OnceLock<NativeCache> = OnceLock::new();
    CACHE.get_or_init(|| {
        let compile = CompileC::new(Compiler::find(None).expect("cargo needs a C compiler to link"), "");
        let compile = if is_all() { compile } else { compile.flag("-O1").flag("-ftree-vectorize") };
        NativeCache::of(NativeBuild::c(compile), root())
    })
}

/// The same of libraries made of Rust.
fn rust() -> &'static NativeCache {
    static CACHE: OnceLock<NativeCache> = OnceLock::new();
    CACHE.get_or_init(|| NativeCache::rust(root(), None).expect("cargo has a compiler"))
}

/// The same of libraries that stop the process where C leaves open what happens.
fn sanitized() -> &'static NativeCache {
    static CACHE: OnceLock<NativeCache> = OnceLock::new();
    CACHE.get_or_init(|| {
        let compiler = Compiler::find(None).expect("cargo needs a C compiler to link");
        let compile = SANITIZE.iter().fold(CompileC::new(compiler, ""), |compile, flag| compile.flag(*flag));
        let compile = if is_all() { compile } else { compile.flag("-O0") };
        NativeCache::of(NativeBuild::c(compile), root())
    })
}

/// Stops the process where C leaves open what happens, without a library for that.
pub const SANITIZE: [&str; 2] = ["-fsanitize=undefined", "-fsanitize-undefined-trap-on-error"];

/// Compares a call with that of a library, for some of the functions.
pub fn check(function: &CompiledFunction, first: &Ran, args: &[Value], source: &str) {
    let every = std::env::var("CEMBRA_NATIVE").ok().and_then(|text| text.parse().ok()).unwrap_or(USUAL);
    if every == 0 || !CALLS.fetch_add(1, Ordering::Relaxed).is_multiple_of(every) {
        return;
    }
    let program = function.bound().program().clone();
    let compared = CALLS.load(Ordering::Relaxed) / every;
    let (layout, cache) = match compared % 2 {
        0 => (ArrayLayout::Strided, sanitized()),
        _ => (ArrayLayout::Contiguous, cache()),
    };
    let call = ProgramCall::new("f", program, layout).expect("a name");
    if compared.is_multiple_of(USUAL_OF_RUST) {
        compare(rust(), &call, first, args, source);
    }
    compare(cache, &call, first, args, source);
    if let (true, Ok((opened, values))) = (compared.is_multiple_of(USUAL_OF_OPENED), call.opening(|_| true)) {
        compare(cache, &opened, first, &[args, &values].concat(), source);
    }
}

/// Compares a call with that of a library of a cache, if the function has a form in its language.
fn compare(cache: &NativeCache, call: &ProgramCall, first: &Ran, args: &[Value], source: &str) {
    let library = match cache.library(call) {
        Ok(library) => library,
        Err(NativeError::NotTranslated(_)) => return,
        Err(error) => panic!("{error}\n{source}"),
    };
    match (call_library(&library, args), first) {
        (Ok(result), Ok((value, arrays))) => {
            assert_eq!(recorded(&result.results[0]), *value, "native, expected the right value\n{source}");
            let after: Vec<Json> = result.arrays.iter().map(|(_, array)| recorded(array)).collect();
            assert_eq!(after, *arrays, "native, expected the right arrays\n{source}");
        }
        (Err(NativeCallError::Raised(raised)), Err(expected)) => {
            let category = match &expected.kind {
                RunErrorKind::Fault(fault) => fault.category(),
                RunErrorKind::CallDepth { .. } | RunErrorKind::CallFrameBytes { .. } => Category::Limit,
                other => panic!("the interpreter gives {other:?}, native code {raised}\n{source}"),
            };
            assert_eq!(raised.category, category, "native raises {raised}, expected {expected}\n{source}");
            if category == Category::Raised {
                let message = raised.message.as_deref();
                assert_eq!(message, Some(&*expected.kind.to_string()), "{source}");
            }
        }
        (native, first) => panic!("native code gives {native:?}, the interpreter {first:?}\n{source}"),
    }
}
