//! Special functions whose value at rare operands is computed apart: C and Rust give the bits of the machine at negative numbers, poles,
//! large angles and points far below the real axis, one by one and in loops over elements.

use crate::native::arrays::{compare, compiled, library, sanitized};
use crate::native::fresh;
use crate::native::operators::program_of;
use cembra::native::{
    ArrayLayout, CompileC, CompileRust, Compiler, ProgramCall, ProgramSource, Rust, TranslateToC,
    TranslateToRust, rust::root_of,
};
use cembra::vm::builtins::table;
use cembra::vm::library::{Argument, Digest, Library};
use cembra::vm::machine::error::RunErrorKind;
use cembra::vm::machine::invoke::{InvokeError, invoke};
use cembra::vm::operator::Overload;
use cembra::vm::value::{NdRows, NdType, QType, ScalarType, ScalarValue, Value};
use cembra::workflow::Step;
use fastrand::Rng;
use std::path::Path;
use std::sync::Arc;

/// The operators on plain values that are compared.
const NAMES: [&str; 15] = [
    "math.lgamma",
    "math.faddeeva_real",
    "math.faddeeva_imag",
    "math.faddeeva_slope_real",
    "math.faddeeva_slope_imag",
    "math.trig.sin",
    "math.trig.cos",
    "math.trig.tan",
    "python.lgamma",
    "python.gamma",
    "python.sin",
    "python.tan",
    "python.log",
    "python.exp",
    "python.pow",
];
/// Points at which each is compared, besides pairs of [`EDGES`].
const POINTS: usize = 4000;

/// Where something changes.
const EDGES: [f64; 38] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    -1.5,
    2.0,
    -2.0,
    23.0,
    24.0,
    -170.0,
    171.5,
    171.7,
    -171.5,
    -183.5,
    -184.5,
    -185.5,
    -1e15 - 0.5,
    1e-20,
    -1e-20,
    -1e-21,
    5e-324,
    -5e-324,
    f64::MIN_POSITIVE,
    -1e-310,
    f64::MAX,
    f64::MIN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
    2_097_152.0,
    -2_097_152.5,
    1e22,
    -1e22,
    27.9,
    -28.5,
    134_217_728.0,
];

fn number(rng: &mut Rng) -> f64 {
    match rng.u8(..9) {
        0 => f64::from_bits(rng.u64(..)),
        1 => rng.f64() * 2.0 - 1.0,
        2 => -rng.f64() * 200.0,
        // Close to a pole.
        3 => -f64::from(rng.u8(..60)) * (1.0 + (rng.f64() - 0.5) * 1e-13),
        4 => rng.f64() * 60.0 - 30.0,
        5 => -(rng.f64() * 600.0 - 300.0).exp(),
        6 => (rng.f64() * 1400.0 - 700.0).exp(),
        7 => f64::from(rng.i8(..)),
        _ => EDGES[rng.usize(..EDGES.len())],
    }
}

/// A point; often below the real axis and close to a diagonal, where the Faddeeva function has an angle of any size.
fn point(rng: &mut Rng) -> [f64; 2] {
    if rng.bool() {
        return [number(rng), number(rng)];
    }
    let size = (rng.f64() * 340.0).exp2();
    let x = if rng.bool() { size } else { -size };
    // What is left of y² - x² is below 800 or so.
    [x, -(size + (rng.f64() * 1600.0 - 800.0) / (2.0 * size))]
}

/// Arguments of an operator on floats.
fn choices(overload: &Overload, rng: &mut Rng) -> Vec<Vec<Value>> {
    let as_arguments = |numbers: &[f64]| -> Vec<Value> {
        let value = |(qtype, x): (&QType, f64)| match qtype {
            QType::Scalar(ScalarType::Float32) => Value::Scalar(ScalarValue::Float32(x as f32)),
            _ => Value::Scalar(ScalarValue::Float64(x)),
        };
        overload.args().iter().zip(numbers.iter().copied()).map(value).collect()
    };
    let edges: Vec<Vec<Value>> = match overload.args().len() {
        1 => EDGES.iter().map(|x| as_arguments(&[*x])).collect(),
        _ => EDGES.iter().flat_map(|x| EDGES.map(|y| as_arguments(&[*x, y]))).collect(),
    };
    edges.into_iter().chain((0..POINTS).map(|_| as_arguments(&point(rng)))).collect()
}

fn overloads() -> Vec<Arc<Overload>> {
    let is_plain = |overload: &Arc<Overload>| {
        let mut types = overload.args().iter().chain([overload.result()]);
        types.all(|of| matches!(of, QType::Scalar(ScalarType::Float64 | ScalarType::Float32)))
    };
    let table = table();
    let families = table.families().filter(|family| NAMES.contains(&&**family.name()));
    let found: Vec<_> =
        families.flat_map(|family| family.overloads().iter().filter(|o| is_plain(o)).cloned()).collect();
    // Four functions have an overload of FLOAT32.
    assert_eq!(found.len(), NAMES.len() + 4);
    found
}

/// The sources of all operators in a language, which are functions of one library.
fn sources<L>(
    translate: &impl Step<ProgramCall, Out = ProgramSource<L>, Err = cembra::native::NotTranslated>,
) -> Vec<(Arc<Overload>, ProgramSource<L>)> {
    let source = |(number, overload): (usize, Arc<Overload>)| {
        let program = Arc::new(program_of(&overload));
        let call = ProgramCall::new(format!("f{number}"), program, ArrayLayout::Strided).expect("a name");
        let source = translate.run(call).unwrap_or_else(|error| panic!("{overload}: {error}"));
        (overload, source)
    };
    overloads().into_iter().enumerate().map(source).collect()
}

/// Compares the functions of a library with the operators.
fn agree<L>(path: &Path, sources: &[(Arc<Overload>, ProgramSource<L>)]) {
    let digest = Digest::of(&std::fs::read(path).expect("the library"));
    for (overload, source) in sources {
        let library = Library::open(path, digest, &source.entry, &source.signature).expect("it loads");
        let rng = &mut Rng::with_seed(22);
        let mut values = 0;
        for args in choices(overload, rng) {
            let mut call = library.bind(args.iter().map(Argument::Value)).expect("the types of the operator");
            match (invoke(overload, &args), call.run()) {
                // As text: any NaN is one value, the zeros are two.
                (Ok(expected), Ok(())) => {
                    let found = format!("{:?}", call.result(0));
                    assert_eq!(found, format!("{expected:?}"), "{overload} of {args:?}");
                    values += 1;
                }
                (Err(InvokeError::Run(RunErrorKind::Fault(fault))), Err(raised)) => {
                    assert_eq!(raised.category, fault.category(), "{overload} of {args:?}: {fault}");
                }
                (expected, found) => panic!("{overload} of {args:?}: {expected:?}, native code {found:?}"),
            }
        }
        assert!(values > POINTS / 4, "{overload} has {values} values");
    }
}

#[test]
fn rare_operands_in_c() {
    let sources = sources(&TranslateToC::default());
    let (folder, _) = fresh();
    let compiler = Compiler::find(None).expect("cargo needs a C compiler to link");
    let files = sources.iter().map(|(_, source)| {
        let file = std::path::PathBuf::from(format!("{}.c", source.entry));
        std::fs::write(folder.path().join(&file), &source.text).expect("it is written");
        file
    });
    let compile = CompileC::new(compiler, folder.path()).flag("-O1");
    let files: Vec<_> = files.collect();
    compile.link(&files, Path::new("liball.so"), &["m".to_owned()]).expect("it compiles");
    agree(&folder.path().join("liball.so"), &sources);
}

#[test]
fn rare_operands_in_rust() {
    let sources = sources(&TranslateToRust);
    let (folder, _) = fresh();
    let compiler = Compiler::find_for::<Rust>(None).expect("cargo has a compiler");
    for (_, source) in &sources {
        let path = folder.path().join(format!("{}.rs", source.entry));
        std::fs::write(path, &source.text).expect("it is written");
    }
    let root = root_of(sources.iter().map(|(_, source)| source.entry.as_str()));
    std::fs::write(folder.path().join("all.rs"), root).expect("it is written");
    let compile = CompileRust::new(compiler, folder.path()).flag("-Copt-level=1");
    compile.link(&["all.rs".into()], Path::new("liball.so"), &[]).expect("it compiles");
    agree(&folder.path().join("liball.so"), &sources);
}

/// Elements of which all are usual, some are rare, and all are.
fn array(qtype: &str, rng: &mut Rng, count: usize, of: fn(&mut Rng) -> f64) -> Value {
    let qtype = NdType::from_name(qtype).expect("a type");
    let cell = |x: f64| match qtype.element() {
        ScalarType::Float32 => ScalarValue::Float32(x as f32),
        _ => ScalarValue::Float64(x),
    };
    let cells: Vec<ScalarValue> = (0..count).map(|_| cell(of(rng))).collect();
    Value::NdArray(Arc::new(NdRows::from_scalars(qtype, &[count], &cells).expect("the shape of the type")))
}

#[test]
fn rare_elements_in_loops() {
    const COUNT: usize = 1500;
    let (_folder, cache) = sanitized();
    let rng = &mut Rng::with_seed(23);
    let usual = |rng: &mut Rng| rng.f64() * 40.0;
    let some = |rng: &mut Rng| if rng.u8(..200) == 0 { number(rng) } else { rng.f64() * 40.0 };
    let kinds: [fn(&mut Rng) -> f64; 3] = [usual, some, number];
    for qtype in ["NDARRAY_FLOAT64_N", "NDARRAY_FLOAT32_N"] {
        let text = "math.lgamma(x) * 0.5 + x";
        let bound = compiled(text, &[("x", array(qtype, rng, 1, usual))]);
        let native = library(&cache, &bound, ArrayLayout::Strided);
        for kind in kinds {
            let inputs = [("x", array(qtype, rng, COUNT, kind))];
            compare(text, &bound, &native, &inputs).expect("no error");
        }
    }
    let below = |rng: &mut Rng| -(rng.f64() * 340.0).exp2();
    for part in ["real", "imag", "slope_real", "slope_imag"] {
        let text = format!("math.faddeeva_{part}(x, y) + x");
        let one = || array("NDARRAY_FLOAT64_N", &mut Rng::with_seed(1), 1, usual);
        let bound = compiled(&text, &[("x", one()), ("y", one())]);
        let native = library(&cache, &bound, ArrayLayout::Strided);
        for kind in kinds {
            let inputs = [
                ("x", array("NDARRAY_FLOAT64_N", rng, COUNT, kind)),
                ("y", array("NDARRAY_FLOAT64_N", rng, COUNT, kind)),
            ];
            compare(&text, &bound, &native, &inputs).expect("no error");
        }
        // On a diagonal, where every angle is large.
        let x = array("NDARRAY_FLOAT64_N", &mut Rng::with_seed(7), COUNT, below);
        compare(&text, &bound, &native, &[("x", x.clone()), ("y", x)]).expect("no error");
    }
}
