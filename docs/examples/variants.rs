//! Backends by name, one of the host's own among them; variants of a function, which threads build while others run.
//!
//! `cargo run --release --example variants`

use cembra::function::{FunctionModule, FunctionOptions, FunctionType, compile_function};
use cembra::native::variants::Variants;
use cembra::native::{ArrayLayout, Backends, CompileC, Compiler, NativeBuild, NativeCache, ProgramCall};
use cembra::vm::value::{ScalarValue, Value};
use std::error::Error;
use std::path::Path;
use std::sync::Arc;

const SOURCE: &str = "
def power(x, n):
    y = 1.0
    for i in range(n):
        y *= x
    return y
";

fn power() -> Result<ProgramCall, Box<dyn Error>> {
    let module = FunctionModule::parse(SOURCE).map_err(|errors| errors[0].clone())?;
    let types = [FunctionType::Float, FunctionType::Int];
    let power = compile_function(&module, "power", &types, &FunctionOptions::default());
    let power = power.map_err(|errors| errors[0].clone())?;
    let program = Arc::new((**power.bound().program()).clone());
    Ok(ProgramCall::new("power", program, ArrayLayout::Contiguous)?)
}

fn float(x: f64) -> Value {
    Value::Scalar(ScalarValue::Float64(x))
}

fn int(n: i64) -> Value {
    Value::Scalar(ScalarValue::Int64(n))
}

/// The name of a backend, and what its program gave.
type Named = (String, Vec<Value>);

/// 1.5 to the power of 4 by each backend. Where one cannot make the program, the interpreter runs it, and the reason is there.
pub fn by_name(folder: &Path) -> Result<Vec<Named>, Box<dyn Error>> {
    let steps = NativeBuild::c(CompileC::new(Compiler::find(None)?, folder).flag("-g"));
    let backends = Backends::standard(folder).with("debugged", NativeCache::of(steps, folder));
    let call = power()?;
    let mut all = Vec::new();
    for name in backends.names() {
        let (program, reason) = backends.compiled_or_interpreted(name, &call)?;
        if let Some(reason) = reason {
            println!("{name}: the interpreter runs it: {reason}");
        }
        all.push((name.to_owned(), program.call(&[float(1.5), int(4)])?.results));
    }
    Ok(all)
}

/// The powers of 1.5, each by a library that knows its exponent. Two threads build ahead; who needs a variant that is not
/// there yet waits for it, or builds it.
pub fn by_exponent(
    folder: &Path,
    exponents: std::ops::Range<i64>,
) -> Result<Vec<Vec<Value>>, Box<dyn Error>> {
    let call = power()?;
    let calls: Result<Vec<_>, _> = exponents.map(|n| call.clone().fixing("n", int(n))).collect();
    let report =
        |call: &ProgramCall, error: &_| eprintln!("a variant that nobody has called, {call:?}: {error}");
    let variants = Variants::begin(NativeCache::new(folder, None)?, calls?, 2, report)?;
    let mut all = Vec::new();
    for number in 0..variants.calls().len() {
        let library = variants.library(number)?;
        all.push(cembra::native::call_library(&library, &[float(1.5)])?.results);
    }
    Ok(all)
}

/// Prints the results of both.
pub fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    for (name, results) in by_name(folder.path())? {
        println!("{name:12} {results:?}");
    }
    for (n, results) in by_exponent(folder.path(), 0..5)?.iter().enumerate() {
        println!("n = {n}        {results:?}");
    }
    Ok(())
}
