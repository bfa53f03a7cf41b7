//! Native libraries beside the interpreter: workloads on arrays of 100,000 elements in memory of the host, calls on few, and
//! builds. Both sides in turn; medians, and their ratio.
//!
//! `cargo bench --bench native`

use cembra::compile::{Options, compile};
use cembra::function::{
    ArrayOf, CompiledFunction, FunctionModule, FunctionOptions, FunctionType, compile_function,
};
use cembra::native::{ArrayLayout, NativeCache, ProgramCall};
use cembra::prepare::{Prepare, Source};
use cembra::registry::{Dialect, Registry};
use cembra::syntax::{Limits, parse_with};
use cembra::vm::library::Argument;
use cembra::vm::machine::room::Room;
use cembra::vm::machine::{BoundExpr, NdViewMut};
use cembra::vm::value::{NdType, NdView, QType, ScalarType};
use std::sync::Arc;
use std::time::Instant;

const ROWS: usize = 100_000;
/// The name, the text and its leaves.
const WORKS: [(&str, &str, &[&str]); 9] = [
    ("axpby", "2.5*x - 1.25*y", &["x", "y"]),
    (
        "quad",
        "d = y*y - 4.0*a*x\nnd.where(bool.greater_equal(d, 0.0), (-y + math.sqrt(d)) / (2.0*a), float64(nan))",
        &["x", "y", "a"],
    ),
    ("glp", "math.exp(-4.0*0.7*(x - 0.4)*(x - 0.4)) * (0.3 + 0.7*y)", &["x", "y"]),
    (
        "bands",
        "nd.where(bool.less(x, 0.1), 0.1*x, nd.where(bool.less(x, 0.25), 0.15*x - 0.5, \
         nd.where(bool.less(x, 0.5), 0.2*x - 1.75, 0.3*x - 8.0)))",
        &["x"],
    ),
    ("clamp", "math.maximum(-1.0, math.minimum(1.0, x)) - math.abs(x)", &["x"]),
    ("sigmoid", "1.0 / (1.0 + math.exp(-x))", &["x"]),
    ("sum", "nd.sum(x)", &["x"]),
    ("dot", "nd.sum(x*y)", &["x", "y"]),
    ("cosine", "nd.sum(x*y) / math.sqrt(nd.sum(x*x) * nd.sum(y*y))", &["x", "y"]),
];

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Nanoseconds of a call, of so many.
fn time(calls: u32, mut call: impl FnMut()) -> f64 {
    let begin = Instant::now();
    (0..calls).for_each(|_| call());
    begin.elapsed().as_secs_f64() * 1e9 / f64::from(calls)
}

/// The medians of nine rounds in turn.
fn in_turn(calls: u32, mut one: impl FnMut(), mut other: impl FnMut()) -> (f64, f64) {
    // Strips are compiled when a region has gone over many rows.
    time(calls, &mut one);
    time(calls, &mut other);
    let mut times = (Vec::new(), Vec::new());
    for _ in 0..9 {
        times.0.push(time(calls, &mut one));
        times.1.push(time(calls, &mut other));
    }
    (median(&mut times.0), median(&mut times.1))
}

fn bound(text: &str, leaves: &[&str]) -> BoundExpr {
    let rows = QType::NdArray(NdType::new(ScalarType::Float64, 1, 0).expect("a type"));
    let expr =
        parse_with(text, &Registry::standard(), Dialect::Cembra, &Limits::default()).expect("valid text");
    let source = Source::new(expr, leaves.iter().map(|leaf| (*leaf, rows.clone())));
    let prepared = Prepare::standard().run(source).expect("types that fit");
    compile(&prepared, &Options::default()).expect("a program")
}

fn arrays(cache: &NativeCache) {
    println!("{:<10} {:>14} {:>14} {:>8}", "workload", "native ns/row", "strips ns/row", "ratio");
    let mut product = 1.0;
    for (name, text, leaves) in WORKS {
        let bound = bound(text, leaves);
        let call = ProgramCall::new("f", bound.program().clone(), ArrayLayout::Contiguous).expect("a name");
        let library = cache.library(&call).expect("it has a form in C");
        let column = |number: usize| -> Vec<f64> {
            (0..ROWS).map(|row| ((row * 37 + number * 11) % 1009) as f64 / 1009.0 + 0.001).collect()
        };
        let columns: Vec<Vec<f64>> = (0..leaves.len()).map(column).collect();
        let view = |column: usize| NdView::from_slice(&columns[column], &[ROWS]).expect("rows");
        let of_input = |name: &str| leaves.iter().position(|leaf| *leaf == name).expect("a leaf");
        let order: Vec<usize> =
            bound.program().main().inputs.iter().map(|(name, _)| of_input(name)).collect();
        let is_array = bound.output_slot().qtype().nd().is_some();
        let (mut by_native, mut by_strips) = (vec![0.0f64; ROWS], vec![0.0f64; ROWS]);
        let mut memory = library.call_memory().expect("memory");
        let mut frame = bound.new_frame().expect("memory");
        let native = || {
            let arguments: Vec<Argument<'_>> =
                order.iter().map(|column| Argument::Elements(view(*column))).collect();
            let mut call = memory.bind(arguments).expect("the types of the program");
            if is_array {
                let lent = NdViewMut::from_slice(&mut by_native, &[ROWS]).expect("rows");
                call.lend(0, lent).expect("an array");
            }
            call.run().expect("no error");
        };
        let views: Vec<NdView<'_>> = (0..leaves.len()).map(view).collect();
        let strips = || {
            let mut call = bound.call(&mut frame);
            for (name, _) in &bound.program().main().inputs {
                let slot = bound.input_slot(name).expect("an input");
                call = call.input(slot, &views[of_input(name)]).expect("an array");
            }
            match is_array {
                true => {
                    let mut rooms = [Room::new(bound.output_slot(), &mut by_strips)];
                    call.run_into(&mut rooms).expect("no error");
                }
                false => drop(call.run().expect("no error")),
            }
        };
        let (native, strips) = in_turn(100, native, strips);
        assert!(
            !is_array || by_native.iter().zip(&by_strips).all(|(x, y)| x.to_bits() == y.to_bits()),
            "{name}"
        );
        product *= native / strips;
        let row = ROWS as f64;
        println!("{name:<10} {:>14.3} {:>14.3} {:>8.2}", native / row, strips / row, native / strips);
    }
    println!("geometric mean {:.2}", f64::powf(product, 1.0 / WORKS.len() as f64));
}

const LAPLACIAN: &str = "
def laplacian(u, v):
    n, m = u.shape
    for i in range(1, n - 1):
        for j in range(1, m - 1):
            v[i, j] = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4.0 * u[i, j]
";

fn laplacian() -> CompiledFunction {
    let module = FunctionModule::parse(LAPLACIAN).expect("it is Python");
    let plate = FunctionType::Array(ArrayOf::array(ScalarType::Float64, 2));
    let types = [plate.clone(), plate];
    compile_function(&module, "laplacian", &types, &FunctionOptions::default()).expect("it compiles")
}

fn calls(cache: &NativeCache) {
    let compiled = laplacian();
    let program = Arc::new((**compiled.bound().program()).clone());
    let call = ProgramCall::new("laplacian", program, ArrayLayout::Contiguous).expect("a name");
    let library = cache.library(&call).expect("it has a form in C");
    let (u, mut v) = ([0.5; 16], [0.0; 16]);
    let mut again = [0.0; 16];
    let mut memory = library.call_memory().expect("memory");
    fn arguments<'a>(u: &'a [f64], v: &'a mut [f64]) -> [Argument<'a>; 2] {
        let u = NdView::from_slice(u, &[4, 4]).expect("16 elements");
        [Argument::Elements(u), Argument::Update(NdViewMut::from_slice(v, &[4, 4]).expect("16 elements"))]
    }
    let (checked, bound) = in_turn(
        20_000,
        || memory.bind(arguments(&u, &mut v)).expect("it fits").run().expect("no error"),
        || library.bind(arguments(&u, &mut again)).expect("it fits").run().expect("no error"),
    );
    println!("checked call on 4 x 4: {checked:.0} ns in memory that is used again, {bound:.0} ns in its own");
    let mut call = library.bind(arguments(&u, &mut v)).expect("it fits");
    let mut times: Vec<f64> = (0..9).map(|_| time(100_000, || call.run().expect("no error"))).collect();
    println!("bound call on 4 x 4: {:.0} ns", median(&mut times));
}

/// Processor seconds of this process and of those it has waited for.
fn processor_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("Linux tells");
    // Behind the name, in hundredths of a second: own time, that of the system, and both of children.
    let behind = stat.rsplit_once(')').expect("a name").1;
    let ticks: f64 =
        behind.split_whitespace().skip(11).take(4).map(|n| n.parse::<f64>().expect("a number")).sum();
    ticks / 100.0
}

/// From the text of a function to the first result of its library.
fn first_result(cache: impl FnOnce() -> NativeCache) {
    let cache = cache();
    let compiled = laplacian();
    let program = Arc::new((**compiled.bound().program()).clone());
    let call = ProgramCall::new("laplacian", program, ArrayLayout::Contiguous).expect("a name");
    let library = cache.library(&call).expect("it has a form in C");
    let (u, mut v) = ([0.5; 16], [0.0; 16]);
    let arguments = [
        Argument::Elements(NdView::from_slice(&u, &[4, 4]).expect("16 elements")),
        Argument::Update(NdViewMut::from_slice(&mut v, &[4, 4]).expect("16 elements")),
    ];
    library.bind(arguments).expect("it fits").run().expect("no error");
}

fn builds() {
    let (mut cold, mut found, mut known) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..9 {
        let folder = tempfile::tempdir().expect("a folder");
        let open = || NativeCache::new(folder.path(), None).expect("a compiler");
        // Ten builds, as processor time is counted in hundredths of a second.
        let begin = processor_seconds();
        for number in 0..10 {
            let folder = folder.path().join(number.to_string());
            first_result(|| NativeCache::new(folder, None).expect("a compiler"));
        }
        cold.push((processor_seconds() - begin) / 10.0);
        first_result(open);
        found.push(time(20, || first_result(open)) / 1e6);
        let cache = open();
        known.push(time(20, || first_result(|| cache.clone())) / 1e6);
    }
    println!("cold build to the first result: {:.3} processor seconds", median(&mut cold));
    println!("from a warm cache: {:.2} ms with opening it, {:.2} ms", median(&mut found), median(&mut known));
}

fn main() {
    let folder = tempfile::tempdir().expect("a folder");
    let cache = NativeCache::new(folder.path(), None).expect("a compiler");
    arrays(&cache);
    calls(&cache);
    builds();
}
