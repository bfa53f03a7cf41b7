//! The array workloads for `arrays.py`: answers each line `workload engine rows times` with the processor
//! nanoseconds that so many evaluations took.
//!
//! The inputs stay in the frame and the outputs keep their buffers. *native* is one fused loop of the same
//! operations, *blocked* the same by hand in blocks of 512 rows, with the instructions of the machine and the same
//! special functions over rows: what a region can come close to.

use cembra::compile::{Options, compile};
use cembra::prepare::{Prepare, Source};
use cembra::vm::frame::Frame;
use cembra::vm::machine::{BoundExpr, RunOptions};
use cembra::vm::value::{ArrayClass, ArrayRows, ArrayType, QType, ScalarType, ScalarValue, Value};
use cembra::vm::vector::Level;
use cembra::vm::vector::math::double;
use cpu_time::ProcessTime;
use std::collections::HashMap;
use std::hint::black_box;
use std::io::{BufRead, Write};
use std::sync::Arc;
use std::time::Instant;

/// Name, text, columns with their ranges, and the fused loop.
struct Workload {
    name: &'static str,
    text: &'static str,
    columns: &'static [(&'static str, f64, f64)],
    scalars: &'static [(&'static str, f64)],
    native: Loop,
    blocked: Loop,
}

type Loop = fn(&[Vec<f64>], &mut [Vec<f64>]);

const BLOCK: usize = 512;

/// A loop over blocks, compiled for the best instructions that there are.
macro_rules! blocked {
    ($name:ident, |$inputs:ident, $outputs:ident, $range:ident| $body:block) => {
        fn $name(inputs: &[Vec<f64>], outputs: &mut [Vec<f64>]) {
            #[inline(always)]
            fn each($inputs: &[Vec<f64>], $outputs: &mut [Vec<f64>]) {
                let rows = $inputs[0].len();
                for first in (0..rows).step_by(BLOCK) {
                    let $range = first..rows.min(first + BLOCK);
                    $body
                }
            }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma,avx512f,avx512dq,avx512bw,avx512vl")]
            fn wide(inputs: &[Vec<f64>], outputs: &mut [Vec<f64>]) {
                each(inputs, outputs);
            }
            #[cfg(target_arch = "x86_64")]
            if Level::best() == Level::Avx512 {
                // SAFETY: the machine has the instructions.
                return unsafe { wide(inputs, outputs) };
            }
            each(inputs, outputs);
        }
    };
}

blocked!(axpby, |inputs, outputs, range| {
    let (x, y) = (&inputs[0][range.clone()], &inputs[1][range.clone()]);
    for ((o, x), y) in outputs[0][range].iter_mut().zip(x).zip(y) {
        *o = 2.5 * x + -1.25 * y;
    }
});

blocked!(quad, |inputs, outputs, range| {
    let (first, second) = outputs.split_at_mut(1);
    let (a, b, c) = (&inputs[0][range.clone()], &inputs[1][range.clone()], &inputs[2][range.clone()]);
    let outputs = first[0][range.clone()].iter_mut().zip(&mut second[0][range]);
    for ((first, second), ((a, b), c)) in outputs.zip(a.iter().zip(b).zip(c)) {
        let d = b * b - 4.0 * a * c;
        let r = d.sqrt();
        *first = if d >= 0.0 { (-b + r) / 2.0 / a } else { f64::NAN };
        *second = if d >= 0.0 { (-b - r) / 2.0 / a } else { f64::NAN };
    }
});

blocked!(glp, |inputs, outputs, range| {
    let (a, x0, f, m) = black_box((20.0, 0.4, 0.35, 0.3));
    let mut places = [[0.0; BLOCK]; 3];
    let [u, exponents, powers] = places.each_mut().map(|place| &mut place[..range.len()]);
    for ((u, exponent), x) in u.iter_mut().zip(&mut *exponents).zip(&inputs[0][range.clone()]) {
        let v = (x - x0) / f;
        *u = v * v;
        *exponent = -4.0 * std::f64::consts::LN_2 * (1.0 - m) * *u;
    }
    double::exp_into(exponents, powers);
    for ((o, u), power) in outputs[0][range].iter_mut().zip(u).zip(powers) {
        *o = a * *power / (1.0 + 4.0 * m * *u);
    }
});

blocked!(bs, |inputs, outputs, range| {
    let (s, x, t) = (&inputs[0][range.clone()], &inputs[1][range.clone()], &inputs[2][range.clone()]);
    let (first, second) = outputs.split_at_mut(1);
    let (first, second) = (&mut first[0][range.clone()], &mut second[0][range.clone()]);
    let mut places = [[0.0; BLOCK]; 8];
    let [of_ln, ln, d1, d2, of_exp, tail1, tail2, discount] =
        places.each_mut().map(|place| &mut place[..range.len()]);
    let rows = range.len();
    for i in 0..rows {
        of_ln[i] = s[i] / x[i];
        of_exp[i] = -0.05 * t[i];
    }
    double::ln_into(of_ln, ln);
    double::exp_into(of_exp, discount);
    for i in 0..rows {
        let root = 0.2 * t[i].sqrt();
        d1[i] = (ln[i] + 0.07 * t[i]) / root;
        d2[i] = d1[i] - root;
        of_ln[i] = -0.5 * d1[i] * d1[i];
        of_exp[i] = -0.5 * d2[i] * d2[i];
    }
    double::exp_into(of_ln, tail1);
    double::exp_into(of_exp, tail2);
    let cdf = |d: f64, power: f64| {
        let k = 1.0 / (1.0 + 0.2316419 * d.abs());
        let p = (((1.330274429 * k - 1.821255978) * k + 1.781477937) * k - 0.356563782) * k + 0.31938153;
        let tail = 0.3989422804014327 * power * (p * k);
        if d >= 0.0 { 1.0 - tail } else { tail }
    };
    for i in 0..rows {
        let (n1, n2) = (cdf(d1[i], tail1[i]), cdf(d2[i], tail2[i]));
        let e = x[i] * discount[i];
        first[i] = s[i] * n1 - e * n2;
        second[i] = e * (1.0 - n2) - s[i] * (1.0 - n1);
    }
});

const WORKLOADS: &[Workload] = &[
    Workload {
        name: "axpby",
        text: "2.5*x + -1.25*y",
        columns: &[("x", -1.0, 1.0), ("y", -1.0, 1.0)],
        scalars: &[],
        blocked: axpby,
        native: |x, out| {
            let (x, y) = (&x[0], &x[1]);
            for ((o, x), y) in out[0].iter_mut().zip(x).zip(y) {
                *o = 2.5 * x + -1.25 * y;
            }
        },
    },
    Workload {
        name: "quad",
        text: "d = b*b - 4.0*a*c\nr = math.sqrt(d)\nok = d >= 0.0\n\
               core.make_tuple(core.where(ok, (-b + r) / 2.0 / a, float64(nan)), \
               core.where(ok, (-b - r) / 2.0 / a, float64(nan)))",
        columns: &[("a", 0.5, 1.5), ("b", -3.0, 5.0), ("c", -1.0, 1.4)],
        scalars: &[],
        blocked: quad,
        native: |x, out| {
            let (first, second) = out.split_at_mut(1);
            for i in 0..first[0].len() {
                let (a, b, c) = (x[0][i], x[1][i], x[2][i]);
                let d = b * b - 4.0 * a * c;
                let r = d.sqrt();
                first[0][i] = if d >= 0.0 { (-b + r) / 2.0 / a } else { f64::NAN };
                second[0][i] = if d >= 0.0 { (-b - r) / 2.0 / a } else { f64::NAN };
            }
        },
    },
    Workload {
        name: "glp",
        text: "v = (x - x0) / F\nu = v*v\n\
               A * math.exp(-4.0 * 0.6931471805599453 * (1.0 - m) * u) / (1.0 + 4.0 * m * u)",
        columns: &[("x", -1.0, 1.0)],
        scalars: &[("A", 20.0), ("x0", 0.4), ("F", 0.35), ("m", 0.3)],
        blocked: glp,
        native: |x, out| {
            let (a, x0, f, m) = black_box((20.0, 0.4, 0.35, 0.3));
            for (o, x) in out[0].iter_mut().zip(&x[0]) {
                let v = (x - x0) / f;
                let u = v * v;
                *o = a * double::exp(-4.0 * std::f64::consts::LN_2 * (1.0 - m) * u) / (1.0 + 4.0 * m * u);
            }
        },
    },
    Workload {
        name: "bs",
        text: "root = 0.2 * math.sqrt(t)\n\
               d1 = (math.log(s / x) + 0.07 * t) / root\n\
               d2 = d1 - root\n\
               k1 = 1.0 / (1.0 + 0.2316419 * math.abs(d1))\n\
               k2 = 1.0 / (1.0 + 0.2316419 * math.abs(d2))\n\
               p1 = ((((1.330274429*k1 - 1.821255978)*k1 + 1.781477937)*k1 - 0.356563782)*k1 + 0.31938153)*k1\n\
               p2 = ((((1.330274429*k2 - 1.821255978)*k2 + 1.781477937)*k2 - 0.356563782)*k2 + 0.31938153)*k2\n\
               t1 = 0.3989422804014327 * math.exp(-0.5*d1*d1) * p1\n\
               t2 = 0.3989422804014327 * math.exp(-0.5*d2*d2) * p2\n\
               n1 = core.where(d1 >= 0.0, 1.0 - t1, t1)\n\
               n2 = core.where(d2 >= 0.0, 1.0 - t2, t2)\n\
               e = x * math.exp(-0.05 * t)\n\
               core.make_tuple(s*n1 - e*n2, e*(1.0 - n2) - s*(1.0 - n1))",
        columns: &[("s", 10.0, 50.0), ("x", 10.0, 50.0), ("t", 0.2, 2.0)],
        scalars: &[],
        blocked: bs,
        native: |x, out| {
            let cdf = |d: f64| {
                let k = 1.0 / (1.0 + 0.2316419 * d.abs());
                let p =
                    (((1.330274429 * k - 1.821255978) * k + 1.781477937) * k - 0.356563782) * k + 0.31938153;
                let tail = 0.3989422804014327 * double::exp(-0.5 * d * d) * (p * k);
                if d >= 0.0 { 1.0 - tail } else { tail }
            };
            let (first, second) = out.split_at_mut(1);
            for i in 0..first[0].len() {
                let (s, x, t) = (x[0][i], x[1][i], x[2][i]);
                let root = 0.2 * t.sqrt();
                let d1 = (double::ln(s / x) + 0.07 * t) / root;
                let (n1, n2) = (cdf(d1), cdf(d1 - root));
                let e = x * double::exp(-0.05 * t);
                first[0][i] = s * n1 - e * n2;
                second[0][i] = e * (1.0 - n2) - s * (1.0 - n1);
            }
        },
    },
];

struct Ready {
    bound: BoundExpr,
    frame: Frame,
}

fn main() {
    let mut ready: HashMap<(String, usize), Ready> = HashMap::new();
    let mut native: HashMap<(String, usize), (Vec<Vec<f64>>, Vec<Vec<f64>>)> = HashMap::new();
    for line in std::io::stdin().lock().lines() {
        let line = line.expect("a line");
        let words: Vec<&str> = line.split(' ').collect();
        let [name, engine, rows, times] = words[..] else { panic!("workload engine rows times") };
        let (rows, times): (usize, usize) = (rows.parse().expect("rows"), times.parse().expect("times"));
        let workload = WORKLOADS.iter().find(|w| w.name == name).expect("a workload");
        let key = (name.to_owned(), rows);
        let elapsed = match engine {
            "cembra" => {
                let Ready { bound, frame } = ready.entry(key).or_insert_with(|| prepare(workload, rows));
                let start = ProcessTime::now();
                for _ in 0..times {
                    bound.execute(black_box(frame)).expect("no row raises");
                }
                start.elapsed()
            }
            // Wall time: it is what threads save.
            "wall1" | "wall2" => {
                let Ready { bound, frame } = ready.entry(key).or_insert_with(|| prepare(workload, rows));
                let threads = if engine == "wall1" { 1 } else { 2 };
                let start = Instant::now();
                for _ in 0..times {
                    let options = RunOptions::new().threads(threads);
                    bound.execute_with(black_box(frame), options).expect("no row raises");
                }
                start.elapsed()
            }
            "native" | "blocked" => {
                let run = if engine == "native" { workload.native } else { workload.blocked };
                let (inputs, outputs) =
                    native.entry(key).or_insert_with(|| (columns(workload, rows), vec![vec![0.0; rows]; 2]));
                let start = ProcessTime::now();
                for _ in 0..times {
                    run(black_box(inputs), black_box(outputs));
                }
                start.elapsed()
            }
            other => panic!("no engine is called {other}"),
        };
        println!("{}", elapsed.as_nanos());
        std::io::stdout().flush().expect("a reader");
    }
}

fn prepare(workload: &Workload, rows: usize) -> Ready {
    let expr = cembra::syntax::parse(workload.text).expect("valid text");
    let array = QType::Array(ArrayType { class: ArrayClass::Dense, element: ScalarType::Float64 });
    let inputs = workload.columns.iter().map(|(name, ..)| (*name, array.clone()));
    let scalars = workload.scalars.iter().map(|(name, _)| (*name, QType::Scalar(ScalarType::Float64)));
    let prepared = Prepare::standard().run(Source::new(expr, inputs.chain(scalars))).expect("types");
    let bound = compile(&prepared, &Options::default()).expect("a program");
    let mut frame = bound.new_frame().expect("memory");
    for ((name, ..), column) in workload.columns.iter().zip(columns(workload, rows)) {
        let cells: Vec<_> = column.into_iter().map(|v| Some(ScalarValue::Float64(v))).collect();
        let value =
            Value::Array(ArrayClass::Dense, Arc::new(ArrayRows::from_values(ScalarType::Float64, &cells)));
        frame.write(bound.input_slot(name).expect("an input"), &value).expect("its type");
    }
    for (name, value) in workload.scalars {
        frame.write(bound.input_slot(name).expect("an input"), &Value::from(*value)).expect("its type");
    }
    Ready { bound, frame }
}

fn columns(workload: &Workload, rows: usize) -> Vec<Vec<f64>> {
    let mut state = 12345u64;
    let mut uniform = move |low: f64, high: f64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        low + (high - low) * (state >> 11) as f64 / (1u64 << 53) as f64
    };
    workload.columns.iter().map(|(_, low, high)| (0..rows).map(|_| uniform(*low, *high)).collect()).collect()
}
