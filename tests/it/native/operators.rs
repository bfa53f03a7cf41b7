//! Operators on plain values: C and Rust give the bits of the machine, and refuse what it refuses.
//!
//! `CEMBRA_NATIVE=1` compares all that have a form in C, not some.

use crate::function::native::SANITIZE;
use crate::native::fresh;
use cembra::native::{
    ArrayLayout, CompileC, CompileRust, Compiler, NotTranslated, ProgramCall, ProgramSource, Rust,
    TranslateToC, TranslateToRust, rust::root_of,
};
use cembra::vm::builtins::table;
use cembra::vm::layout::FrameLayout;
use cembra::vm::library::{Argument, Digest, Library};
use cembra::vm::machine::error::RunErrorKind;
use cembra::vm::machine::invoke::{InvokeError, invoke};
use cembra::vm::operator::Overload;
use cembra::vm::program::instruction::Span;
use cembra::vm::program::program::ValueInfo;
use cembra::vm::program::{Body, Program, Routine, ValueId};
use cembra::vm::value::{QType, ScalarType, ScalarValue, Value};
use cembra::workflow::Step;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Operators on plain values that have a form in C.
const TRANSLATED: usize = 551;
/// The same with a form in Rust.
const TRANSLATED_TO_RUST: usize = 550;
/// Families besides those of Python that have rules of their own.
const KEPT_BY_HAND: [&str; 21] = [
    "math.floordiv",
    "math.mod",
    "math.fmod",
    "core._to_int32",
    "core._to_int64",
    "core._to_int8",
    "core._to_int16",
    "core._to_uint8",
    "core._to_uint16",
    "core._to_uint32",
    "core._to_uint64",
    "unsigned.to_int64",
    "unsigned.to_float64",
    "unsigned.to_float32",
    "unsigned.floordiv",
    "unsigned.mod",
    "bitwise.count",
    "math.sigmoid",
    "math.log_sigmoid",
    "math.logit",
    "math.symlog1p",
];
/// Sources of one library.
const TOGETHER: usize = 40;
/// Calls of one operator.
const CALLS: usize = 400;

fn is_plain(qtype: &QType) -> bool {
    let scalar = match qtype {
        QType::Scalar(scalar) | QType::Optional(scalar) => *scalar,
        _ => return false,
    };
    values(scalar).is_some()
}

/// Numbers of a type at which something changes.
fn values(scalar: ScalarType) -> Option<Vec<ScalarValue>> {
    const INTEGERS: [i64; 13] =
        [0, 1, -1, 2, 3, -7, 63, 64, 1 << 53, (1 << 53) + 1, i64::MAX, i64::MIN, i64::MIN + 1];
    const FLOATS: [f64; 17] = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        0.3,
        -0.07,
        2.5,
        -3.5,
        1e-310,
        1e300,
        -9.223372036854775e18,
        9.3e18,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        4503599627370497.5,
    ];
    Some(match scalar {
        ScalarType::Boolean => [false, true].map(ScalarValue::Boolean).into(),
        ScalarType::Int32 => {
            INTEGERS.map(|x| ScalarValue::Int32(x.clamp(i32::MIN.into(), i32::MAX.into()) as i32)).into()
        }
        ScalarType::Int64 => INTEGERS.map(ScalarValue::Int64).into(),
        ScalarType::Float32 => FLOATS.map(|x| ScalarValue::Float32(x as f32)).into(),
        ScalarType::Float64 => FLOATS.map(ScalarValue::Float64).into(),
        ScalarType::Unit => vec![ScalarValue::Unit],
        _ => return None,
    })
}

/// Values of a type, missing ones included.
fn arguments(qtype: &QType) -> Vec<Value> {
    match qtype {
        QType::Scalar(scalar) => values(*scalar).unwrap_or_default().into_iter().map(Value::Scalar).collect(),
        QType::Optional(scalar) => {
            let present = values(*scalar).unwrap_or_default().into_iter().map(Value::Present);
            std::iter::once(Value::Missing(*scalar)).chain(present).collect()
        }
        _ => Vec::new(),
    }
}

/// A program of one operator.
pub(super) fn program_of(overload: &Arc<Overload>) -> Program {
    let mut layout = FrameLayout::builder();
    let mut values = Vec::new();
    for qtype in overload.args() {
        let slot = layout.typed(qtype.clone());
        layout.place_input(&slot);
        values.push(ValueInfo { slot, view_of: None });
    }
    let out = layout.typed(overload.result().clone());
    layout.place_output(&out);
    values.push(ValueInfo { slot: out, view_of: None });
    let inputs: Vec<ValueId> = (0..overload.args().len() as u32).map(ValueId).collect();
    let output = ValueId(inputs.len() as u32);
    let mut body = Body::new();
    let operator = body.add_operator(overload.clone());
    body.push_operator(operator, &inputs, output, Span::default());
    let routine = Routine {
        layout: layout.build().expect("few values"),
        inputs: inputs.iter().map(|value| (value.to_string().into(), *value)).collect(),
        output,
        side_outputs: Vec::new(),
        literals: Vec::new(),
        overrides_inputs: false,
        updated_inputs: Vec::new(),
        parallel: None,
        values,
        body,
    };
    Program::new(vec![routine])
}

/// The operators on plain values that have a form in a language, with their sources.
fn translated<L>(
    translate: &impl Step<ProgramCall, Out = ProgramSource<L>, Err = NotTranslated>,
) -> Vec<(Arc<Overload>, ProgramSource<L>)> {
    let table = table();
    let overloads = table.families().flat_map(|family| family.overloads().iter().cloned());
    let plain = overloads.filter(|overload| overload.args().iter().chain([overload.result()]).all(is_plain));
    let mut all = Vec::new();
    for overload in plain {
        let name = format!("f{}", all.len());
        let call =
            ProgramCall::new(name, Arc::new(program_of(&overload)), ArrayLayout::Strided).expect("a name");
        match translate.run(call) {
            Ok(source) => all.push((overload, source)),
            Err(NotTranslated::Operator { operator, .. }) => assert_eq!(operator, overload.to_string()),
            Err(other) => panic!("{overload}: {other}"),
        }
    }
    all
}

/// Some choices of arguments, all of them if they are not too many.
fn choices(overload: &Overload) -> Vec<Vec<Value>> {
    let of_each: Vec<Vec<Value>> = overload.args().iter().map(arguments).collect();
    let all: usize = of_each.iter().map(Vec::len).product();
    let step = (all / CALLS).max(1) | 1;
    let choice = |number: usize| {
        let mut rest = number;
        let pick = |values: &Vec<Value>| {
            let value = values[rest % values.len()].clone();
            rest /= values.len();
            value
        };
        of_each.iter().map(pick).collect()
    };
    (0..all).step_by(step).map(choice).collect()
}

fn compare(overload: &Arc<Overload>, library: &Library) {
    compare_by(overload, library, |found, expected| format!("{found:?}") == format!("{expected:?}"));
}

/// Compares results by a rule of their own; errors are the same.
fn compare_by(overload: &Arc<Overload>, library: &Library, agree: fn(&Value, &Value) -> bool) {
    for args in choices(overload) {
        let mut call = library.bind(args.iter().map(Argument::Value)).expect("the types of the operator");
        match (invoke(overload, &args), call.run()) {
            // As text: any NaN is one value, the zeros are two.
            (Ok(expected), Ok(())) => {
                let found = call.result(0);
                assert!(
                    agree(&found, &expected),
                    "{overload} of {args:?}: {expected:?}, native code {found:?}"
                );
            }
            (Err(InvokeError::Run(RunErrorKind::Fault(fault))), Err(raised)) => {
                assert_eq!(raised.category, fault.category(), "{overload} of {args:?}: {fault}");
            }
            (expected, found) => panic!("{overload} of {args:?}: {expected:?}, native code {found:?}"),
        }
    }
}

/// All operators, or one of some; those with rules of their own are text kept by hand.
fn chosen<L>(
    all: &[(Arc<Overload>, ProgramSource<L>)],
    one_of: usize,
) -> Vec<&(Arc<Overload>, ProgramSource<L>)> {
    let is_all = std::env::var("CEMBRA_NATIVE").is_ok_and(|text| text == "1");
    let is_chosen = |n: usize, overload: &Overload| {
        let is_by_hand = overload.name().starts_with("python.") || KEPT_BY_HAND.contains(&&**overload.name());
        is_all || n.is_multiple_of(one_of) || is_by_hand
    };
    let numbered = all.iter().enumerate();
    numbered.filter(|(n, (overload, _))| is_chosen(*n, overload)).map(|(_, chosen)| chosen).collect()
}

#[test]
fn operators_in_rust_give_what_the_machine_gives() {
    let all = translated(&TranslateToRust);
    assert_eq!(all.len(), TRANSLATED_TO_RUST);
    let compiler = Compiler::find_for::<Rust>(None).expect("cargo has a compiler");
    for (number, part) in chosen(&all, 20).chunks(2 * TOGETHER).enumerate() {
        let (folder, _) = fresh();
        for (_, source) in part {
            let path = folder.path().join(format!("{}.rs", source.entry));
            std::fs::write(path, &source.text).expect("it is written");
        }
        let root = root_of(part.iter().map(|(_, source)| source.entry.as_str()));
        std::fs::write(folder.path().join("part.rs"), root).expect("it is written");
        let file = format!("libpart{number}.so");
        let compile = CompileRust::new(compiler.clone(), folder.path()).flag("-Copt-level=1");
        compile.link(&["part.rs".into()], Path::new(&file), &[]).expect("it compiles");
        let path = folder.path().join(file);
        let digest = Digest::of(&std::fs::read(&path).expect("the library"));
        for (overload, source) in part {
            let library = Library::open(&path, digest, &source.entry, &source.signature).expect("it loads");
            compare(overload, &library);
        }
    }
}

#[test]
fn operators_in_c_give_what_the_machine_gives() {
    let all = translated(&TranslateToC::default());
    assert_eq!(all.len(), TRANSLATED);
    let chosen = chosen(&all, 14);
    let compiler = Compiler::find(None).expect("cargo needs a C compiler to link");
    for (number, part) in chosen.chunks(TOGETHER).enumerate() {
        let (folder, _) = fresh();
        let files = part.iter().map(|(_, source)| {
            std::fs::write(folder.path().join(format!("{}.c", source.entry)), &source.text)
                .expect("it is written");
            PathBuf::from(format!("{}.c", source.entry))
        });
        let file = format!("libpart{number}.so");
        let compile =
            SANITIZE.iter().fold(CompileC::new(compiler.clone(), folder.path()), |c, flag| c.flag(*flag));
        let compile = compile.flag("-O0");
        compile.link(&files.collect::<Vec<_>>(), Path::new(&file), &["m".to_owned()]).expect("it compiles");
        let path = folder.path().join(file);
        let digest = Digest::of(&std::fs::read(&path).expect("the library"));
        for (overload, source) in part {
            let library = Library::open(&path, digest, &source.entry, &source.signature).expect("it loads");
            compare(overload, &library);
        }
    }
}

/// The distance of two floats, counted in floats; nothing if one is no float.
fn units_between(found: &Value, expected: &Value) -> Option<u64> {
    let place = |value: &Value| match value {
        Value::Scalar(ScalarValue::Float64(x)) | Value::Present(ScalarValue::Float64(x)) => {
            let bits = (x.to_bits() & !(1 << 63)) as i64;
            Some(if x.is_sign_negative() { -bits } else { bits })
        }
        Value::Scalar(ScalarValue::Float32(x)) | Value::Present(ScalarValue::Float32(x)) => {
            let bits = i64::from(x.to_bits() & !(1 << 31));
            Some(if x.is_sign_negative() { -bits } else { bits })
        }
        _ => None,
    };
    Some(place(found)?.abs_diff(place(expected)?))
}

/// Where a product and a sum may be rounded once, an operator is another one by a unit of the last place at most, and refuses
/// what it refuses.
#[test]
fn operators_that_are_contracted_are_off_by_a_unit_at_most() {
    let all = translated(&TranslateToC::default());
    let compiler = Compiler::find(None).expect("cargo needs a C compiler to link");
    let is_of_floats = |overload: &Overload| {
        let mut types = overload.args().iter().chain([overload.result()]);
        types.any(|of| of.to_string().contains("FLOAT"))
    };
    let chosen: Vec<_> = chosen(&all, 6).into_iter().filter(|(overload, _)| is_of_floats(overload)).collect();
    for (number, part) in chosen.chunks(TOGETHER).enumerate() {
        let (folder, _) = fresh();
        let files = part.iter().map(|(_, source)| {
            let file = PathBuf::from(format!("{}.c", source.entry));
            std::fs::write(folder.path().join(&file), &source.text).expect("it is written");
            file
        });
        let file = format!("libpart{number}.so");
        let compile = CompileC::new(compiler.clone(), folder.path()).contracting().flag("-O1");
        assert!(compile.flags().contains(&"-ffp-contract=fast".to_owned()));
        compile.link(&files.collect::<Vec<_>>(), Path::new(&file), &["m".to_owned()]).expect("it compiles");
        let path = folder.path().join(file);
        let digest = Digest::of(&std::fs::read(&path).expect("the library"));
        for (overload, source) in part {
            let library = Library::open(&path, digest, &source.entry, &source.signature).expect("it loads");
            compare_by(overload, &library, |found, expected| {
                format!("{found:?}") == format!("{expected:?}")
                    || units_between(found, expected).is_some_and(|units| units <= 1)
            });
        }
    }
}
