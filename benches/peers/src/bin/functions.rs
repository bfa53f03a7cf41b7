//! Functions with loops for `functions.py`. A line `kernel tier N` is answered with the processor nanoseconds of N calls on
//! one frame, whose arrays are changed in place; a line `kernel tier compile` with those of compiling the kernel from its
//! text. The tier is `interpreter` or `jit`. With the argument `wrap` integers do not raise.

use cembra::function::options::Overflow;
use cembra::function::{FunctionModule, FunctionOptions, FunctionType, compile_function};
use cembra::vm::frame::Frame;
use cembra::vm::jit::{self, NotCompiled};
use cembra::vm::machine::BoundExpr;
use cembra::vm::value::nd_type::NdType;
use cembra::vm::value::{NdRows, ScalarType, ScalarValue, Value};
use cpu_time::ProcessTime;
use std::io::{BufRead, Write};
use std::sync::Arc;

const SOURCE: &str = include_str!("../../functions/kernels.py");

/// Position, velocity in astronomical units a year, and mass of the sun and four planets.
const BODIES: [[f64; 7]; 5] = [
    [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 39.47841760435743],
    [
        4.84143144246472090,
        -1.16032004402742839,
        -0.103622044471123109,
        0.606326392995832,
        2.81198684491626016,
        -0.02521836165988763,
        0.03769367487038949,
    ],
    [
        8.34336671824457987,
        4.12479856412430479,
        -0.403523417114321381,
        -1.01077434617879236,
        1.82566237123041186,
        0.008415761376584154,
        0.011286326131968767,
    ],
    [
        12.8943695621391310,
        -15.1111514016986312,
        -0.223307578892655734,
        1.08279100644153536,
        0.868713018169608219,
        -0.010832637401363636,
        0.0017237240570597112,
    ],
    [
        15.3796971148509165,
        -25.9193146099879641,
        0.179258772950371181,
        0.979090732243897976,
        0.594698998647676060,
        -0.034755955550781037,
        0.0020336868699246304,
    ],
];

fn int(value: i64) -> Value {
    Value::Scalar(ScalarValue::Int64(value))
}

fn float(value: f64) -> Value {
    Value::Scalar(ScalarValue::Float64(value))
}

fn floats(shape: &[usize], value: impl Fn(usize) -> f64) -> Value {
    let qtype = NdType::new(ScalarType::Float64, shape.len(), 0).expect("a type");
    let values: Vec<f64> = (0..shape.iter().product()).map(value).collect();
    Value::NdArray(Arc::new(NdRows::from_slice(qtype, shape, &values).expect("it fits")))
}

fn ints(shape: &[usize]) -> Value {
    let qtype = NdType::new(ScalarType::Int64, shape.len(), 0).expect("a type");
    let values = vec![0i64; shape.iter().product()];
    Value::NdArray(Arc::new(NdRows::from_slice(qtype, shape, &values).expect("it fits")))
}

/// 0, 1, 2 … up to 999, and again.
fn numbers(shape: &[usize]) -> Value {
    let qtype = NdType::new(ScalarType::Int64, shape.len(), 0).expect("a type");
    let values: Vec<i64> = (0..shape.iter().product::<usize>() as i64).map(|i| i % 1000).collect();
    Value::NdArray(Arc::new(NdRows::from_slice(qtype, shape, &values).expect("it fits")))
}

fn arguments(kernel: &str) -> Vec<Value> {
    let ramp = |i: usize| (i % 1000) as f64 * 0.001 + 0.5;
    let plate = |i: usize| match (i % 512, i / 512) {
        (0, _) => 0.5,
        (_, 0) => 1.0,
        _ => 0.0,
    };
    let wave = |i: usize| (i % 777) as f64 * 0.002 - 0.3;
    let (hundred, million) = ([100_000], [1_000_000]);
    match kernel {
        "mandelbrot" => vec![int(500), int(200), ints(&[500, 500])],
        "nbody" => vec![
            floats(&[5, 3], |i| BODIES[i / 3][i % 3]),
            floats(&[5, 3], |i| BODIES[i / 3][3 + i % 3]),
            floats(&[5], |i| BODIES[i][6]),
            int(10_000),
            float(0.001),
        ],
        "array_sum" => vec![floats(&million, ramp)],
        "dot" => vec![floats(&million, ramp), floats(&million, wave)],
        "matmul" => vec![
            floats(&[256, 256], |p| (p % 17) as f64 * 0.25),
            floats(&[256, 256], |p| (p % 13) as f64 * 0.5 - 1.0),
            floats(&[256, 256], |_| 0.0),
        ],
        "collatz" => vec![int(300_000)],
        "sieve" => vec![int(2_000_000), ints(&[2_000_000])],
        "monte_carlo_pi" => vec![int(5_000_000), int(12_345)],
        "fib" => vec![int(30)],
        "jacobi" => vec![floats(&[512, 512], plate), floats(&[512, 512], plate), int(50)],
        "black_scholes" => vec![
            floats(&million, |j| 10.0 + (j % 91) as f64),
            floats(&million, |j| 15.0 + (j % 71) as f64),
            floats(&million, |j| 0.25 + (j % 10) as f64 * 0.5),
            float(0.02),
            float(0.3),
            floats(&million, |_| 0.0),
            floats(&million, |_| 0.0),
        ],
        "logistic" => vec![float(3.9), float(0.5), int(10_000_000)],
        "gauss_sum" => {
            let parameters = [1.0, -1.0, 0.5, 2.0, 0.5, 0.8, 0.7, 2.5, 0.3, 0.1, 0.02];
            let x = |i: usize| -5.0 + 10.0 * i as f64 / 999.0;
            vec![floats(&[1000], x), floats(&[11], |i| parameters[i]), floats(&[1000], |i| x(i).sin())]
        }
        "axpb" => vec![floats(&hundred, ramp), float(1.5), floats(&hundred, wave)],
        "quadratic" | "clamped" | "bell" | "standardised" => vec![floats(&hundred, ramp)],
        "lengths" | "mean_square" | "chosen" => vec![floats(&hundred, ramp), floats(&hundred, wave)],
        "index_sums" => vec![numbers(&hundred), numbers(&hundred)],
        "relaxed" => vec![floats(&hundred, ramp), int(20)],
        "accumulated" => vec![floats(&hundred, ramp), floats(&hundred, wave), int(20)],
        "scaled_columns" => vec![floats(&[1000, 100], ramp), floats(&[100], ramp)],
        "spread" => vec![floats(&[10_000, 3], ramp), floats(&[3], wave)],
        "diffused" => vec![floats(&hundred, ramp), int(20)],
        other => panic!("no kernel `{other}`"),
    }
}

fn compiled(kernel: &str, arguments: &[Value]) -> BoundExpr {
    let module = FunctionModule::parse(SOURCE).expect("the kernels parse");
    let types: Vec<FunctionType> =
        arguments.iter().map(|value| FunctionType::of_qtype(&value.qtype()).expect("a type")).collect();
    let overflow = if std::env::args().any(|arg| arg == "wrap") { Overflow::Wrap } else { Overflow::Raise };
    let options = FunctionOptions { overflow, ..FunctionOptions::default() };
    compile_function(&module, kernel, &types, &options).expect("it compiles").into_bound()
}

fn frame(bound: &BoundExpr, arguments: &[Value]) -> Frame {
    let mut frame = bound.new_frame().expect("memory");
    let main = bound.program().main();
    for ((_, input), value) in main.inputs.iter().zip(arguments) {
        frame.write(&main.slot(*input).clone(), value).expect("it fits");
    }
    frame
}

fn main() {
    for line in std::io::stdin().lock().lines() {
        let line = line.expect("a line");
        let words: Vec<&str> = line.split(' ').collect();
        let [kernel, tier, times] = words[..] else { panic!("kernel tier times") };
        let arguments = arguments(kernel);
        let start = ProcessTime::now();
        let bound = compiled(kernel, &arguments);
        if tier == "jit" {
            match jit::compile(&bound) {
                // Only operators on whole arrays: regions have machine code of their own.
                Ok(()) | Err(NotCompiled::NothingToGain) => {}
                Err(error) => panic!("{error}"),
            }
        }
        let compilation = start.elapsed();
        if times == "compile" {
            println!("{}", compilation.as_nanos());
        } else {
            let mut frame = frame(&bound, &arguments);
            // Arrays of the host are copied before the first write.
            bound.execute(&mut frame).expect("it runs");
            let start = ProcessTime::now();
            for _ in 0..times.parse::<usize>().expect("times") {
                bound.execute(&mut frame).expect("it runs");
            }
            println!("{}", start.elapsed().as_nanos());
        }
        std::io::stdout().flush().expect("a reader");
    }
}
