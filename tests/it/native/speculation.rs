//! Turns of loops in stretches: whatever stands among the elements, and wherever, a library gives what the interpreter gives: results,
//! arrays, errors and where they were raised, with the arrays as they were then.
//!
//! `CEMBRA_SPECULATION=N` tries N random loops.

use crate::function::native::{SANITIZE, cache};
use crate::native::{compiled, fresh, function};
use cembra::cli::function_value::recorded;
use cembra::native::{ArrayLayout, CompileC, Compiler, NativeBuild, NativeCache, TranslateToC};
use cembra::vm::library::{Argument, Library};
use cembra::vm::machine::NdViewMut;
use cembra::vm::machine::error::RunErrorKind;
use cembra::vm::value::{NdRows, NdType, ScalarType, ScalarValue, Value};
use cembra::workflow::Step;
use fastrand::Rng;
use serde_json::Value as Json;
use std::process::Command;
use std::sync::Arc;

/// What a call gave, or what it raised and where, and its arrays afterwards.
type Found = (Result<Json, (String, usize)>, Vec<Json>);

fn int(x: i64) -> Value {
    Value::Scalar(ScalarValue::Int64(x))
}

fn float(x: f64) -> Value {
    Value::Scalar(ScalarValue::Float64(x))
}

fn array(elements: &[f64]) -> Value {
    let rows = NdType::new(ScalarType::Float64, 1, 0).expect("a type");
    Value::NdArray(Arc::new(NdRows::from_slice(rows, &[elements.len()], elements).expect("elements")))
}

fn interpreted(source: &str, args: &[Value]) -> Found {
    let function = compiled(source, args);
    let bound = function.bound();
    let mut frame = bound.new_frame().expect("memory");
    let main = bound.program().main();
    for ((_, value), arg) in main.inputs.iter().zip(args) {
        frame.write(main.slot(*value), arg).expect("its type");
    }
    let result = match bound.execute(&mut frame) {
        Ok(()) => Ok(recorded(&frame.read(bound.output_slot()).expect("a result"))),
        Err(error) => match &error.kind {
            RunErrorKind::Fault(fault) => Err((
                format!("{:?}", fault.category()),
                error.at.as_ref().map_or(usize::MAX, |at| at.ip as usize),
            )),
            other => panic!("{other}\n{source}"),
        },
    };
    let arrays = main.inputs.iter().zip(args).filter(|(_, arg)| matches!(arg, Value::NdArray(_)));
    let read = |(_, value): &(Arc<str>, _)| recorded(&frame.read(main.slot(*value)).expect("an array"));
    (result, arrays.map(|(input, _)| read(input)).collect())
}

fn by_library(library: &Library, args: &[Value]) -> Found {
    let mut own = args.to_vec();
    let parameters = &library.signature().parameters;
    let arguments =
        own.iter_mut().zip(parameters).map(|(value, parameter)| match (parameter.is_updated, value) {
            (true, Value::NdArray(rows)) => Argument::Update(NdViewMut::of_rows(Arc::make_mut(rows))),
            (_, value) => Argument::Value(value),
        });
    let mut call = library.bind(arguments.collect::<Vec<_>>()).expect("its types");
    let result = match call.run() {
        Ok(()) => Ok(recorded(&call.result(0))),
        Err(raised) => Err((format!("{:?}", raised.category), raised.instruction)),
    };
    drop(call);
    (result, own.iter().filter(|value| matches!(value, Value::NdArray(_))).map(recorded).collect())
}

fn is_speculated(source: &str, args: &[Value]) -> bool {
    let call = function(source, args, ArrayLayout::Strided);
    TranslateToC::default().run(call).expect("it has a form in C").text.contains("_turns:;")
}

/// A cache of libraries that stop where C leaves open what happens, and that are made without a warning.
fn warned() -> (tempfile::TempDir, NativeCache) {
    let (folder, _) = fresh();
    let compile = CompileC::new(Compiler::find(None).expect("cargo needs a C compiler to link"), "");
    let flags = SANITIZE.into_iter().chain(["-O0", "-Wall", "-Wextra", "-Werror"]);
    let compile = flags.fold(compile, |compile, flag| compile.flag(flag));
    let cache = NativeCache::of(NativeBuild::c(compile), folder.path());
    (folder, cache)
}

/// Compares calls for all of some arguments.
fn compare(source: &str, all: &[Vec<Value>]) {
    let (_folder, sanitized) = warned();
    for (layout, cache) in [(ArrayLayout::Strided, &sanitized), (ArrayLayout::Contiguous, cache())] {
        let library = cache.library(&function(source, &all[0], layout)).expect("it has a form in C");
        for (number, args) in all.iter().enumerate() {
            assert_eq!(by_library(&library, args), interpreted(source, args), "call {number}\n{source}");
        }
    }
}

/// Elements for which nothing is rare.
fn usual(rng: &mut Rng, count: usize) -> Vec<f64> {
    (0..count).map(|_| 0.25 + 4.0 * rng.f64()).collect()
}

const GAUSS: &str = "def f(x, y, n, w):
    chi = 0.0
    for i in range(n):
        d = (x[i] - 1.5) / w
        z = 2.0 * math.exp(-0.5 * d * d) / x[i]
        y[i] = z
        chi += z * z
    return chi
";

/// A zero divisor, an exponential that overflows, one that vanishes, NaN: at the begin, on both sides of the borders of stretches, and
/// behind the last one.
#[test]
fn what_is_rare_may_stand_anywhere() {
    let source = format!("import math\n{GAUSS}");
    let mut rng = Rng::with_seed(1);
    let mut all = Vec::new();
    for size in [0, 1, 63, 64, 65, 128, 200, 700] {
        let x = usual(&mut rng, size);
        let mut push = |x: &[f64], w: f64| {
            all.push(vec![array(x), array(&vec![7.0; size]), int(size as i64), float(w)]);
        };
        push(&x, 0.5);
        push(&x, 0.0);
        for at in [0, 1, 62, 63, 64, 65, 127, 128, 191, 192, 699].into_iter().filter(|at| *at < size) {
            for rare in [0.0, f64::NAN, 1e6, f64::INFINITY] {
                let mut x = x.clone();
                x[at] = rare;
                push(&x, 0.5);
                x[size - 1] = 0.0;
                push(&x, 0.5);
            }
        }
        push(&vec![1e6; size], 0.5);
    }
    assert!(is_speculated(&source, &all[0]));
    compare(&source, &all);
}

/// A loop over `i` with such a body, with calls for a zero in several places.
fn around(body: &str, rng: &mut Rng) -> (String, Vec<Vec<Value>>) {
    let source =
        format!("def f(x, y, n):\n    s = 0.0\n    for i in range(n):\n        {body}\n    return s\n");
    let mut all = Vec::new();
    for at in [None, Some(5), Some(64), Some(70), Some(190)] {
        let mut x = usual(rng, 201);
        at.into_iter().for_each(|at: usize| x[at] = 0.0);
        all.push(vec![array(&x), array(&usual(rng, 201)), int(200)]);
    }
    (source, all)
}

/// Elements that some turns write, loops that are left, and loops whose turns depend on the ones before, which go turn by turn.
#[test]
fn turns_in_stretches_are_those_that_do_not_need_each_other() {
    let in_stretches = [
        "if x[i] > 1.0:\n            y[i] = 1.0 / x[i]",
        "if x[i] < 1.0:\n            continue\n        y[i] = 1.0 / x[i]",
        "if x[i] == 0.0:\n            break\n        s += x[i]",
        "if x[i] == 0.0:\n            return 7.0\n        y[i] = x[i] * 2.0",
        "if x[i] == 0.0:\n            raise ValueError('zero')\n        y[i] = x[i] * 2.0",
        "y[i] = 1.0\n        if x[i] == 0.0:\n            raise ValueError('zero')\n        y[i + 1] = x[i]",
    ];
    let one_by_one = [
        "x[i + 1] = 1.0 / x[i]",
        "s = 1.0 / (x[i] + s)",
        "y[0] = 1.0 / x[i]",
        "y[i] = 1.0 / x[i]\n        s += y[i]",
        "s += 1.0 / x[i]\n        y[i] = s",
        "x[i] = 1.0 / x[i]\n        if x[i] > 2.0:\n            x[i] = 2.0",
    ];
    let mut rng = Rng::with_seed(2);
    for (body, expected) in
        in_stretches.map(|body| (body, true)).into_iter().chain(one_by_one.map(|body| (body, false)))
    {
        let (source, all) = around(body, &mut rng);
        assert_eq!(is_speculated(&source, &all[0]), expected, "{source}");
        compare(&source, &all);
    }
}

/// Loops whose test changes a value: it is done before the first turn, and behind the last one.
#[test]
fn tests_that_compute_more_than_a_comparison_are_not_left_out() {
    let sources = [
        "def f(x, y, n):
    s = 0.0
    v = 100.0
    i = 0
    while True:
        s = s + v
        if i < n:
            v = 1.0 / x[i]
            i += 1
        else:
            break
    return s
",
        "import math
def f(x, y, n):
    s = 0.0
    i = 0
    while True:
        s = s + 1.0
        if i < n:
            y[i] = math.sin(x[i])
            i += 1
        else:
            break
    return s
",
        "import math
def f(x, y, n):
    best = 0.0
    cur = 50.0
    i = 0
    while True:
        best = max(best, cur)
        if i < n:
            cur = math.sqrt(x[i])
            i += 1
        else:
            return best
",
        "def f(x, y, n):
    s = 0
    t = 1
    i = 0
    while True:
        s ^= t
        if i < n:
            if x[i] < 0.0:
                break
            i += 1
        else:
            break
    return s
",
        "def f(x, y, n):
    i = 0
    s = 0.0
    while i * 2 + 1 < n * 2:
        s += 1.0 / x[i]
        i += 1
    return s
",
    ];
    let mut rng = Rng::with_seed(6);
    for source in sources {
        let mut all = Vec::new();
        for size in [1, 63, 64, 65, 128, 200, 1000] {
            let mut x = usual(&mut rng, size);
            let args = |x: &[f64]| vec![array(x), array(&vec![7.0; size]), int(size as i64)];
            all.push(args(&x));
            x[size / 7] = 1e300;
            all.push(args(&x));
        }
        compare(source, &all);
    }
}

const ONE_PLACE: &str = r"
int main(void)
{
    double x[1000], y[1] = { 0.0 }, result = 0.0;
    for (int i = 0; i < 1000; i++) x[i] = 1.0;
    cembra_array a = { x, { 1000 }, { 8 } }, b = { y, { 1000 }, { 0 } };
    cembra_error error;
    return f(&a, &b, 1000, &result, &error) == 0 && result == 1000.0 ? 0 : 1;
}
";

/// All elements of an array in one place: each turn changes what the one before has written.
#[test]
fn elements_that_share_memory_are_changed_turn_by_turn() {
    let source =
        "def f(x, y, n):\n    for i in range(n):\n        y[i] = y[i] + 1.0 / x[i]\n    return y[0]\n";
    let args = [array(&[1.0; 1000]), array(&[0.0; 1000]), int(1000)];
    assert!(is_speculated(source, &args));
    let call = function(source, &args, ArrayLayout::Strided);
    let text = TranslateToC::default().run(call).expect("it has a form in C").text;
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let (file, program) = (folder.path().join("f.c"), folder.path().join("f"));
    std::fs::write(&file, text + ONE_PLACE).expect("a file");
    let compiler = Compiler::find(None).expect("cargo needs a C compiler to link");
    let arguments = ["-O3".as_ref(), file.as_os_str(), "-o".as_ref(), program.as_os_str(), "-lm".as_ref()];
    let compiled = Command::new(&compiler.path).args(arguments).status();
    assert!(compiled.expect("a compiler").success());
    assert!(Command::new(program).status().expect("a program").success(), "each turn adds 1");
}

/// A function that calls itself has no stretches: their buffers would take its stack.
#[test]
fn recursion_goes_as_deep_as_before() {
    let source = "def f(x, y, n):
    s = 0.0
    for i in range(len(x)):
        y[i] = 1.0 / x[i]
        s += y[i - 1]
    if n == 0:
        return s
    return f(x, y, n - 1)
";
    let args = vec![array(&[1.0; 70]), array(&[2.0; 70]), int(900)];
    assert!(!is_speculated(source, &args));
    compare(source, &[args]);
}

/// Two names of one array: what is written may be what is read.
#[test]
fn arrays_that_share_memory_are_not_read_ahead() {
    let source = "def g(x, y, n):
    for i in range(1, n):
        y[i] = 1.0 / x[i - 1]
    return y[n - 1]

def f(x, n):
    return g(x, x, n)
";
    let mut rng = Rng::with_seed(3);
    let all: Vec<Vec<Value>> =
        [2, 64, 65, 300].map(|n| vec![array(&usual(&mut rng, n)), int(n as i64)]).to_vec();
    compare(source, &all);
}

/// A random expression of floats.
fn expression(rng: &mut Rng, names: &[&str], depth: usize) -> String {
    let of = |rng: &mut Rng| expression(rng, names, depth.saturating_sub(1));
    if depth == 0 {
        return match rng.usize(..5) {
            0 => format!("{}.5", rng.i32(-3..4)),
            _ => rng.choice(names).expect("names").to_string(),
        };
    }
    match rng.usize(..14) {
        0..3 => format!("({} / {})", of(rng), of(rng)),
        3 => format!("math.exp({})", of(rng)),
        4 => format!("math.log({})", of(rng)),
        5 => format!("math.sqrt({})", of(rng)),
        6 => format!("math.sin({})", of(rng)),
        7 => format!("({} ** {})", of(rng), of(rng)),
        8 => format!("abs({})", of(rng)),
        9 => {
            format!("math.{}({})", ["tan", "atan", "cosh", "log1p", "expm1", "erf"][rng.usize(..6)], of(rng))
        }
        10 => format!("({} if {} > {} else {})", of(rng), of(rng), of(rng), of(rng)),
        _ => format!("({} {} {})", of(rng), ["+", "-", "*"][rng.usize(..3)], of(rng)),
    }
}

/// A random loop over elements of `a` and `b`, which writes `c` and changes `a`.
fn random_loop(rng: &mut Rng) -> String {
    let range = [
        "range(n)",
        "range(2, n)",
        "range(0, n, 3)",
        "range(n - 1, -1, -1)",
        "range(n - 1, 1, -2)",
        "range(0, n, k)",
    ][rng.usize(..6)];
    let mut names = vec!["a[i]", "b[i]", "b[i + 1]", "s", "p"];
    let mut text =
        format!("import math\ndef f(a, b, c, n, k, s):\n    t = 0.5\n    p = 1.5\n    for i in {range}:\n");
    for local in ["u", "v", "w"] {
        let value = expression(rng, &names, 3);
        text += &format!("        {local} = {value}\n");
        names.push(local);
        if rng.bool() {
            let (condition, value) = (expression(rng, &names, 1), expression(rng, &names, 2));
            text += &format!("        if {condition} > {local}:\n            {local} = {value}\n");
        }
    }
    if rng.usize(..3) == 0 {
        let leave = ["continue", "break", "return 3.5", "raise ValueError('left')"][rng.usize(..4)];
        text += &format!("        if {} > 3.0:\n            {leave}\n", expression(rng, &names, 1));
    }
    let chosen = if rng.usize(..3) == 0 {
        format!("if {} > 1.0:\n            ", expression(rng, &names, 1))
    } else {
        String::new()
    };
    text += &format!("        {chosen}c[i] = {}\n", expression(rng, &names, 2));
    if rng.bool() {
        text += &format!("        t {}= {}\n", ["+", "-"][rng.usize(..2)], expression(rng, &names, 2));
    }
    if rng.bool() {
        text += &format!("        a[i] = {}\n", expression(rng, &names, 1));
    }
    if rng.usize(..4) == 0 {
        text += "        p = w\n";
    }
    text + "    return t + p\n"
}

#[test]
fn random_loops_agree() {
    let count = std::env::var("CEMBRA_SPECULATION").ok().and_then(|text| text.parse().ok()).unwrap_or(24);
    let mut rng = Rng::with_seed(4);
    let mut speculated = 0;
    for _ in 0..count {
        let source = random_loop(&mut rng);
        let mut all = Vec::new();
        for size in [3usize, 70, 150, 400] {
            for rare in 0..6 {
                let [mut a, mut b, c] =
                    [usual(&mut rng, size), usual(&mut rng, size + 1), usual(&mut rng, size)];
                for _ in 0..rare {
                    let special =
                        [0.0, -0.0, -1.0, f64::NAN, f64::INFINITY, 1e300, -1e300, 800.0, -760.0, 5e-324];
                    let (at, special) = (rng.usize(..size), special[rng.usize(..special.len())]);
                    *(if rng.bool() { &mut a[at] } else { &mut b[at] }) = special;
                }
                let numbers = [int(size as i64), int(rng.i64(1..4)), float(rng.f64())];
                all.push([vec![array(&a), array(&b), array(&c)], numbers.to_vec()].concat());
            }
        }
        speculated += usize::from(is_speculated(&source, &all[0]));
        compare(&source, &all);
    }
    // Loops with steps have a counter besides `i`, and one in four hands `p` on.
    assert!(4 * speculated > count, "{speculated} of {count} loops are computed in stretches");
}
