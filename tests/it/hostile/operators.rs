//! Every operator with arguments of every kind and of any number: an error or a value, and no panic.

use cembra::compile::{Options, compile};
use cembra::prepare::{Prepare, Source};
use cembra::registry::registry::is_public;
use cembra::registry::{Dialect, Registry};
use cembra::syntax::{Limits, parse_with};
use cembra::vm::machine::{Budget, RunOptions};
use cembra::vm::value::Value;
use fastrand::Rng;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Texts of arguments: numbers, texts, types, operators, missing values, leaves of arrays.
pub const ARGUMENTS: &[&str] = &[
    "1",
    "0",
    "-1",
    "2",
    "7",
    "int64{3}",
    "1.5",
    "-0.0",
    "float32{2.5}",
    "float64{nan}",
    "true",
    "'ab'",
    "b'ab'",
    "unit",
    "INT64",
    "FLOAT32",
    "TEXT",
    "math.add",
    "core.map",
    "math.sum",
    "strings.join",
    "optional_int64{NA}",
    "optional_float32{2}",
    "core.make_tuple(1, 'a')",
    "core.make_tuple()",
    "namedtuple.make('a', 1)",
    "x",
    "i",
    "t",
    "m",
    "b",
    "q",
    "z",
    "u",
];

/// Leaves by name, type and value.
const LEAVES: &[(&str, &str, &str)] = &[
    ("x", "DENSE_ARRAY_FLOAT64", "[1, missing, 2.5]"),
    ("i", "DENSE_ARRAY_INT64", "[0, 1, 2]"),
    ("t", "DENSE_ARRAY_TEXT", "['a', 'bc', missing]"),
    ("b", "DENSE_ARRAY_BOOLEAN", "[true, false, true]"),
    ("m", "NDARRAY_FLOAT64_NN", "[2, 2] [1, 2, 3, 4]"),
    ("q", "NDARRAY_INT64_N", "[3] [1, 2, 3]"),
    ("z", "DENSE_ARRAY_INT32", "[]"),
    ("u", "NDARRAY_FLOAT64_1N", "[1, 2] [5, 6]"),
];

pub fn leaves() -> Vec<(Arc<str>, Value)> {
    let read = |(name, qtype, text): &(&str, &str, &str)| {
        let qtype = qtype.parse().unwrap_or_else(|e| panic!("{qtype}: {e}"));
        let value = cembra::vm::program::text::parse_value(text, &qtype);
        (Arc::from(*name), value.unwrap_or_else(|e| panic!("{text}: {e}")))
    };
    LEAVES.iter().map(read).collect()
}

/// Reads a text, and runs it on leaves within a budget.
pub fn evaluate(
    text: &str,
    registry: &Registry,
    leaves: &[(Arc<str>, Value)],
    budget: &Budget,
) -> Result<Value, String> {
    let said = |e: &dyn std::fmt::Display| e.to_string();
    let expr = parse_with(text, registry, Dialect::Cembra, &Limits::default()).map_err(|e| said(&e))?;
    let source = Source {
        expr,
        inputs: leaves.iter().map(|(name, value)| (name.clone(), value.qtype())).collect(),
        side_outputs: Vec::new(),
        registry: registry.clone(),
        dialect: Dialect::Cembra,
        node_limit: 10_000,
    };
    let prepared = Prepare::standard().run(source).map_err(|e| said(&e))?;
    let bound = compile(&prepared, &Options::default()).map_err(|e| said(&e))?;
    let mut frame = bound.new_frame().map_err(|e| said(&e))?;
    for (name, value) in leaves {
        if let Ok(slot) = bound.input_slot(name) {
            frame.write(slot, value).map_err(|e| said(&e))?;
        }
    }
    bound.execute_with(&mut frame, RunOptions::new().budget(budget)).map_err(|e| said(&e))?;
    frame.read(bound.output_slot()).map_err(|e| said(&e))
}

/// The operators that expressions may name.
pub fn names(registry: &Registry) -> Vec<String> {
    registry.definitions().map(|def| def.name.to_string()).filter(|name| is_public(name)).collect()
}

/// A call of an operator; arguments are calls themselves now and then.
fn call(random: &mut Rng, names: &[String], depth: usize) -> String {
    let name = &names[random.usize(..names.len())];
    let arguments: Vec<String> = (0..random.usize(..5))
        .map(|_| match random.usize(..6) {
            0 if depth > 0 => call(random, names, depth - 1),
            _ => ARGUMENTS[random.usize(..ARGUMENTS.len())].to_owned(),
        })
        .collect();
    format!("{name}({})", arguments.join(", "))
}

#[test]
fn operators_take_any_arguments() {
    let registry = Registry::standard();
    let leaves = leaves();
    let names = names(&registry);
    assert!(names.len() > 200, "the operators are gone");
    let budget = Budget::new().instructions(100_000);
    let check = |text: &str| -> bool {
        let outcome = catch_unwind(AssertUnwindSafe(|| evaluate(text, &registry, &leaves, &budget)));
        match outcome {
            Ok(Err(error)) => {
                assert!(!error.contains("panicked") && !error.contains("operator panic"), "{text}: {error}");
                false
            }
            Ok(Ok(_)) => true,
            Err(_) => panic!("{text}"),
        }
    };
    // Every operator with few arguments of each kind, then calls at random.
    let mut values = 0;
    for name in &names {
        values += usize::from(check(&format!("{name}()")));
        for argument in ARGUMENTS {
            values += usize::from(check(&format!("{name}({argument})")));
        }
    }
    let count = crate::hostile::count(20_000);
    let seed = crate::hostile::seed();
    let mut random = Rng::with_seed(seed);
    for case in 0..count {
        let text = call(&mut random, &names, 2);
        let outcome = catch_unwind(AssertUnwindSafe(|| check(&text)));
        values += usize::from(outcome.unwrap_or_else(|_| panic!("seed {seed}, case {case}: {text}")));
    }
    assert!(values > 500, "too few calls have values: {values}");
}
