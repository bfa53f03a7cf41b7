//! A function becomes a library on the fly: built once, found again, called on arrays of the host; the times of the stages.
//!
//! `cargo run --release --example native`

use cembra::function::{ArrayOf, FunctionModule, FunctionOptions, FunctionType, compile_function};
use cembra::native::{
    ArrayLayout, BuildObserver, CompileC, Compiler, NativeBuild, NativeCache, ProgramCall, TranslateToC,
};
use cembra::vm::library::Argument;
use cembra::vm::machine::NdViewMut;
use cembra::vm::value::{ScalarType, ScalarValue, Value};
use cembra::workflow::{Artifact, Step};
use std::cell::Cell;
use std::sync::Arc;
use std::time::Instant;

const SOURCE: &str = "
def smooth(u, v, steps):
    n, m = u.shape
    for t in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                v[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                u[i, j] = v[i, j]
    return u[n // 2, m // 2]
";

/// Prints how long each stage of a build takes.
struct Times(Cell<Instant>);

impl Times {
    fn start() -> Times {
        Times(Cell::new(Instant::now()))
    }
}

impl BuildObserver for Times {
    fn ended(&self, stage: &'static str, _: &dyn Artifact) {
        println!("  {stage:10} {:>10.1?}", self.0.replace(Instant::now()).elapsed());
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let start = Instant::now();
    let module = FunctionModule::parse(SOURCE).map_err(|errors| errors[0].clone())?;
    let plate = FunctionType::Array(ArrayOf::array(ScalarType::Float64, 2));
    let types = [plate.clone(), plate, FunctionType::Int];
    let smooth = compile_function(&module, "smooth", &types, &FunctionOptions::default())
        .map_err(|errors| errors[0].clone())?;
    println!("program      {:>10.1?}", start.elapsed());

    let folder = tempfile::tempdir()?;
    let cache = NativeCache::new(folder.path(), None)?;
    let program = Arc::new((**smooth.bound().program()).clone());
    let call = ProgramCall::new("smooth", program, ArrayLayout::Contiguous)?;
    for what in ["built", "found"] {
        let start = Instant::now();
        cache.library_observed(&call, &Times::start())?;
        println!("{what}        {:>10.1?}", start.elapsed());
    }

    let library = cache.library(&call)?;
    let (mut u, mut v) = (vec![0.0; 64 * 64], vec![0.0; 64 * 64]);
    u[..64].fill(1.0);
    v[..64].fill(1.0);
    let steps = Value::Scalar(ScalarValue::Int64(100));
    let shape = [64, 64];
    let mut bound = library.bind(vec![
        Argument::Update(NdViewMut::from_slice(&mut u, &shape)?),
        Argument::Update(NdViewMut::from_slice(&mut v, &shape)?),
        Argument::Value(&steps),
    ])?;
    let start = Instant::now();
    bound.run()?;
    println!("100 steps    {:>10.1?}, centre {:?}", start.elapsed(), bound.result(0));
    drop(bound);
    // Warm below the upper edge, colder further down, cold at the lower edge.
    assert!(u[64 + 32] > u[2 * 64 + 32] && u[2 * 64 + 32] > 0.0 && u[63 * 64 + 32] == 0.0);

    // The first step replaced by one that adds a line of its own.
    let signed = |call: ProgramCall| {
        let mut source = TranslateToC::default().run(call)?;
        source.text.insert_str(0, "/* built by the example */\n");
        Ok::<_, cembra::native::NotTranslated>(source)
    };
    let build = NativeBuild::c(CompileC::new(Compiler::find(None)?, folder.path()));
    let artifact = build.with_translate(cembra::workflow::step("translate and sign", signed)).run(call)?;
    let text = std::fs::read_to_string(artifact.folder().join("smooth.c"))?;
    assert!(text.starts_with("/* built by the example */"));
    Ok(())
}
