//! Scalar programs on the interpreter and as machine code, beside a Rust function of the same operations in the same order,
//! which `rustc` compiles at the beginning.
//!
//! ```text
//! cargo run --release --bin tapes
//! ```
//!
//! Each row is a median of nine, taken in turns: nanoseconds a run, and the ratios of interpreter and machine code to Rust.

#[path = "../../../workloads/mod.rs"]
#[allow(dead_code, unreachable_pub, missing_docs, reason = "benches share it")]
mod workloads;

use cembra::vm::jit;
use cpu_time::ProcessTime;
use libloading::{Library, Symbol};
use std::error::Error;
use std::fmt::Write as _;
use std::hint::black_box;
use std::process::Command;
use std::time::Duration;
use workloads::{RANDOM_POINT, Ready, Step, Tape};

const ROUNDS: usize = 9;

/// Inputs, and the value of the last step.
type Native = unsafe extern "C" fn(*const f64) -> f64;

/// The tape as a Rust function, a step a line.
fn source(name: &str, tape: &Tape) -> String {
    let mut text =
        format!("#[unsafe(no_mangle)]\npub unsafe extern \"C\" fn {name}(inputs: *const f64) -> f64 {{\n");
    for (number, step) in tape.steps.iter().enumerate() {
        let value = match step {
            Step::Input(input) => format!("unsafe {{ *inputs.add({input}) }}"),
            Step::Constant(value) => format!("{value:?}f64"),
            Step::Add(a, b) => format!("v{a} + v{b}"),
            Step::Sub(a, b) => format!("v{a} - v{b}"),
            Step::Mul(a, b) => format!("v{a} * v{b}"),
            Step::Div(a, b) => format!("v{a} / v{b}"),
            Step::Min(a, b) => format!("minimum(v{a}, v{b})"),
            Step::Max(a, b) => format!("maximum(v{a}, v{b})"),
            Step::Neg(a) => format!("-v{a}"),
            Step::Sqrt(a) => format!("v{a}.sqrt()"),
            Step::IfNotNegative(c, yes, no) => format!("if v{c} >= 0.0 {{ v{yes} }} else {{ v{no} }}"),
        };
        writeln!(text, "    let v{number}: f64 = {value};").expect("memory");
    }
    writeln!(text, "    v{}\n}}", tape.steps.len() - 1).expect("memory");
    text
}

/// NaN if one operand is, as the operators of Cembra have it.
const HELPERS: &str = "
#[inline(always)]
fn minimum(a: f64, b: f64) -> f64 { if a.is_nan() || a < b { a } else { b } }
#[inline(always)]
fn maximum(a: f64, b: f64) -> f64 { if a.is_nan() || a > b { a } else { b } }
";

fn library(tapes: &[(&str, Tape)]) -> Result<Library, Box<dyn Error>> {
    let folder = std::env::temp_dir().join(format!("cembra-tapes-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let (text, library) = (folder.join("tapes.rs"), folder.join("libtapes.so"));
    let functions: String = tapes.iter().map(|(name, tape)| source(name, tape)).collect();
    std::fs::write(&text, HELPERS.to_owned() + &functions)?;
    let done = Command::new("rustc")
        .args(["--edition=2024", "--crate-type=cdylib", "-Copt-level=3", "-Ctarget-cpu=native", "-o"])
        .args([&library, &text])
        .status()?;
    assert!(done.success(), "rustc compiles the tapes");
    // SAFETY: it is the library made here, which does nothing when it is loaded.
    let loaded = unsafe { Library::new(&library)? };
    std::fs::remove_dir_all(&folder)?;
    Ok(loaded)
}

/// Nanoseconds a run, of enough runs for 20 ms.
fn nanoseconds(mut run: impl FnMut()) -> f64 {
    let mut runs = 16u32;
    loop {
        let start = ProcessTime::now();
        (0..runs).for_each(|_| run());
        let elapsed = start.elapsed();
        if elapsed > Duration::from_millis(20) {
            return elapsed.as_nanos() as f64 / f64::from(runs);
        }
        runs *= 2;
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() -> Result<(), Box<dyn Error>> {
    let tapes = [
        ("quadroot", workloads::quadroot()),
        ("chain100", workloads::chain(100)),
        ("chain1000", workloads::chain(1000)),
        ("wide1000", workloads::wide(1000)),
        ("random1000", workloads::random(1000)),
    ];
    let library = library(&tapes)?;
    println!(
        "{:12} {:>12} {:>12} {:>12} {:>12} {:>8} {:>8} {:>10}",
        "program", "Rust ns", "interpreter", "jit", "compile µs", "i/Rust", "jit/Rust", "jit/interp."
    );
    for (name, tape) in &tapes {
        let point: Vec<f64> = match *name {
            "quadroot" => vec![1.0, -3.5, 2.25],
            _ => RANDOM_POINT[..tape.inputs.len()].to_vec(),
        };
        // SAFETY: `source` writes functions of this type.
        let native: Symbol<'_, Native> = unsafe { library.get(name.as_bytes())? };
        let mut interpreted = Ready::checked(tape, std::slice::from_ref(&point));
        let mut compiled = Ready::checked(tape, std::slice::from_ref(&point));
        let start = ProcessTime::now();
        jit::compile(&compiled.bound)?;
        let compilation = start.elapsed();
        // SAFETY: it reads as many inputs as the tape has.
        let value = unsafe { native(point.as_ptr()) };
        assert!(workloads::same(compiled.evaluate(&point), value), "{name}: compiled code and Rust agree");
        let (mut of_rust, mut of_cells, mut of_code) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            // SAFETY: as above.
            of_rust.push(nanoseconds(|| _ = black_box(unsafe { native(black_box(point.as_ptr())) })));
            of_cells.push(nanoseconds(|| {
                interpreted.bound.execute(black_box(&mut interpreted.frame)).expect("nothing fails")
            }));
            of_code.push(nanoseconds(|| {
                compiled.bound.execute(black_box(&mut compiled.frame)).expect("nothing fails")
            }));
        }
        let (rust, cells, code) = (median(of_rust), median(of_cells), median(of_code));
        println!(
            "{name:12} {rust:12.1} {cells:12.1} {code:12.1} {:12.0} {:8.2} {:8.2} {:10.2}",
            compilation.as_micros(),
            cells / rust,
            code / rust,
            code / cells
        );
    }
    Ok(())
}
