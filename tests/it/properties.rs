//! Properties of any input: texts never panic, literals print and read back, damaged programs are
//! refused or sound.

use cembra::expr::ExprBuilder;
use cembra::registry::{Dialect, Registry};
use cembra::syntax::{Limits, parse_with};
use cembra::vm::builtins;
use cembra::vm::machine::{BoundExpr, RunOptions};
use cembra::vm::program::text;
use cembra::vm::value::{ScalarValue, Value};
use proptest::prelude::*;
use std::sync::Arc;

fn parses_or_says_where(source: &str) -> Result<(), TestCaseError> {
    for dialect in [Dialect::Cembra, Dialect::Arolla] {
        match parse_with(source, &Registry::standard(), dialect, &Limits::default()) {
            Ok(expr) => {
                let printed = expr.to_string();
                let again = parse_with(&printed, &Registry::standard(), dialect, &Limits::default());
                prop_assert_eq!(again.map_err(|e| TestCaseError::fail(format!("{printed}: {e}")))?, expr);
            }
            Err(error) => {
                let (start, end) = (error.span.start as usize, error.span.end as usize);
                prop_assert!(start <= end && end <= source.len(), "{error} at {:?}", error.span);
                prop_assert!(source.is_char_boundary(start) && source.is_char_boundary(end));
            }
        }
    }
    Ok(())
}

/// Texts of words that the language knows, in any order.
fn words() -> impl Strategy<Value = String> {
    let words = [
        "x",
        "y",
        "L.",
        "M.",
        "P.",
        "math.add",
        "core.where",
        "arolla.",
        "(",
        ")",
        "(",
        ")",
        ",",
        ",",
        "=",
        "==",
        "+",
        "-",
        "*",
        "**",
        "/",
        "//",
        "%",
        "&",
        "|",
        "~",
        "<",
        ">=",
        "1",
        "2.5",
        "1e999",
        "'t'",
        "b'\\x00'",
        "\"",
        "\n",
        "#",
        "[",
        "]",
        "true",
        "NA",
        "unit",
        "int64(1)",
        "FLOAT32",
        "…",
        "0x1f",
        "99999999999999999999",
        " ",
    ];
    proptest::collection::vec(proptest::sample::select(words.to_vec()), 0..24).prop_map(|w| w.concat())
}

fn reads_back(value: Value) -> Result<(), TestCaseError> {
    let b = ExprBuilder::new();
    let expr = b.literal(value.clone()).build().expect("room");
    for dialect in [Dialect::Cembra, Dialect::Arolla] {
        let parsed = parse_with(&expr.to_string(), &Registry::standard(), dialect, &Limits::default());
        let parsed = parsed.map_err(|e| TestCaseError::fail(format!("{expr}: {e}")))?;
        prop_assert_eq!(&parsed, &expr);
    }
    reads_back_from_a_program(value)
}

fn reads_back_from_a_program(value: Value) -> Result<(), TestCaseError> {
    let stored = text::parse_value(&text::print_value(&value), &value.qtype());
    prop_assert_eq!(stored.map_err(|e| TestCaseError::fail(e.to_string()))?, value);
    Ok(())
}

const PROGRAM: &str = "core.where(x < y, math.sqrt(y - x) + 1.0, x * y) + core.to_float64(strings.length(t))";

fn program() -> Arc<cembra::vm::program::Program> {
    use cembra::vm::value::qtype::{FLOAT64, TEXT};
    let expr = crate::support::parse(PROGRAM, Dialect::Cembra);
    let inputs = [("x", FLOAT64), ("y", FLOAT64), ("t", TEXT)];
    let source = cembra::prepare::Source::new(expr, inputs);
    crate::support::bind(source, &cembra::prepare::Prepare::standard(), Default::default()).program().clone()
}

/// The stored text with its hash made right again, as a careful attacker would.
fn with_right_hash(damaged: &str) -> String {
    match text::parse(damaged, &builtins::table()) {
        Err(text::ProgramTextError::Hash { stated, actual }) => {
            damaged.replacen(&stated.to_string(), &actual.to_string(), 1)
        }
        _ => damaged.to_string(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_text_parses_or_says_where_it_does_not(source in "\\PC{0,60}") {
        parses_or_says_where(&source)?;
    }

    #[test]
    fn any_words_parse_or_say_where_they_do_not(source in words()) {
        parses_or_says_where(&source)?;
    }

    #[test]
    fn literals_read_back(
        bits in any::<u64>(), small in any::<u32>(), text in "(?s).{0,12}", bytes in any::<Vec<u8>>(),
    ) {
        reads_back(Value::from(bits as i64))?;
        reads_back(Value::from(small as i32))?;
        reads_back(Value::Scalar(ScalarValue::Text(text.as_str().into())))?;
        reads_back(Value::Scalar(ScalarValue::Bytes(bytes.as_slice().into())))?;
        let (double, float) = (f64::from_bits(bits), f32::from_bits(small));
        reads_back_from_a_program(Value::from(double))?;
        reads_back_from_a_program(Value::from(float))?;
        if !double.is_nan() {
            reads_back(Value::from(double))?;
            reads_back(Value::Scalar(ScalarValue::WeakFloat(double)))?;
            reads_back(Value::Present(ScalarValue::Float64(double)))?;
        }
        if !float.is_nan() {
            reads_back(Value::from(float))?;
        }
    }

    /// One or two pieces of a stored program are swapped, doubled or cut; what still loads must run.
    #[test]
    fn damaged_programs_are_refused_or_sound(
        cuts in proptest::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0..4), 1..3),
    ) {
        let mut damaged = text::print(&program());
        for (from, to, kind) in cuts {
            let words: Vec<&str> = damaged.split_inclusive([' ', '\n']).collect();
            let (from, to) = (from.index(words.len()), to.index(words.len()));
            let mut words = words.clone();
            match kind {
                0 => words.swap(from, to),
                1 => words.insert(from, words[to]),
                2 => { words.remove(from); }
                _ => words[from] = words[to],
            }
            damaged = words.concat();
        }
        if let Ok(program) = text::parse(&with_right_hash(&damaged), &builtins::table()) {
            let bound = BoundExpr::new(Arc::new(program)).expect("verified");
            let mut frame = bound.new_frame().expect("memory");
            for (name, value) in [("x", Value::from(1.0)), ("y", Value::from(2.0)), ("t", Value::from("t"))] {
                if let Ok(slot) = bound.input_slot(name) {
                    let _ = frame.write(slot, &value);
                }
            }
            let _ = bound.execute_with(&mut frame, RunOptions::new().fuel(10_000));
        }
    }
}
