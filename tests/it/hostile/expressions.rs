//! Generated expressions: operators of the language, signs, sizes beyond reason. Each is a value or an error, within a
//! budget of two seconds and 512 MiB.
//!
//! Half of them are made of texts and mostly refused; half have types (`random::generate`), so that nearly all run.
//!
//! `CEMBRA_HOSTILE=1000000 cargo test --release --test it -- hostile::expressions --nocapture` is the long run.

use crate::hostile::operators::{ARGUMENTS, evaluate, leaves, names};
use crate::random::generate::{inputs, sample};
use allocation_counter::measure;
use cembra::compile::{Options, compile};
use cembra::prepare::{Prepare, Source};
use cembra::registry::Registry;
use cembra::vm::machine::{Budget, RunOptions};
use cembra::vm::value::Value;
use fastrand::Rng;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What runs are given.
const GIVEN: (Duration, u64) = (Duration::from_secs(2), 512 << 20);

/// What an expression may take from its text to its value.
const MOST: (Duration, u64) = (Duration::from_secs(5), 1 << 30);

const SIGNS: &[&str] = &["+", "-", "*", "/", "//", "%", "**", "&", "|", "<", "<=", ">", ">=", "==", "!="];

/// Sizes, places and numbers at the ends of their types.
const SIZES: &[&str] = &[
    "1000000000000",
    "100000000",
    "3000000",
    "9223372036854775807",
    "-9223372036854775807",
    "2147483647",
    "65537",
    "1e308",
    "-1e308",
    "5e-324",
    "0.5",
    "'%999999999d'",
    "'{:>99999999}'",
    "array.make_dense_array_shape(1000000000000)",
    "array.iota(array.make_dense_array_shape(1000000000))",
    "array.iota(array.make_dense_array_shape(200000))",
    "array.slice(array.iota(array.make_dense_array_shape(70000)), 5, 66000)",
    "edge.from_sizes(i)",
    "edge.group_by(i)",
    "nd.reshape(q, 3, 1)",
    "seq.range(0, 100000000000)",
    "seq.range(0, 1000)",
];

/// Writes expressions.
struct Writer<'a> {
    random: Rng,
    names: &'a [String],
}

impl Writer<'_> {
    fn one_of<'t>(&mut self, texts: &[&'t str]) -> &'t str {
        texts[self.random.usize(..texts.len())]
    }

    fn write(&mut self, depth: usize, out: &mut String) {
        match self.random.usize(..10) {
            _ if depth == 0 => out.push_str(self.one_of(ARGUMENTS)),
            0 | 1 => {
                out.push('(');
                self.write(depth - 1, out);
                let sign = self.one_of(SIGNS);
                out.push_str(&format!(" {sign} "));
                self.write(depth - 1, out);
                out.push(')');
            }
            2 => out.push_str(self.one_of(SIZES)),
            3 => {
                let sign = self.one_of(&["-", "~"]);
                out.push_str(sign);
                self.write(depth - 1, out);
            }
            4..=7 => {
                out.push_str(&self.names[self.random.usize(..self.names.len())]);
                out.push('(');
                for number in 0..self.random.usize(1..4) {
                    out.push_str(if number > 0 { ", " } else { "" });
                    self.write(depth - 1, out);
                }
                out.push(')');
            }
            _ => out.push_str(self.one_of(ARGUMENTS)),
        }
    }
}

/// True if a generated expression with types has a value.
fn has_value(random: &mut Rng, registry: &Registry, budget: &Budget) -> Result<Value, String> {
    let sample = sample(random, 40);
    let values = inputs(random, &sample.leaves);
    let said = |e: &dyn std::fmt::Display| e.to_string();
    let source = Source::new(sample.expr, sample.leaves.iter().map(|(name, t)| (&**name, t.clone())))
        .registry(registry.clone())
        .dialect(sample.dialect);
    let prepared = Prepare::standard().run(source).map_err(|e| said(&e))?;
    let bound = compile(&prepared, &Options::default()).map_err(|e| said(&e))?;
    let mut frame = bound.new_frame().map_err(|e| said(&e))?;
    for (name, value) in &values {
        if let Ok(slot) = bound.input_slot(name) {
            frame.write(slot, value).map_err(|e| said(&e))?;
        }
    }
    bound.execute_with(&mut frame, RunOptions::new().budget(budget)).map_err(|e| said(&e))?;
    frame.read(bound.output_slot()).map_err(|e| said(&e))
}

#[test]
fn generated_expressions_stay_within_their_budget() {
    let registry = Registry::standard();
    let (leaves, names): (Vec<(Arc<str>, Value)>, _) = (leaves(), names(&registry));
    let budget = Budget::new().time(GIVEN.0).bytes_alive(GIVEN.1);
    let (seed, count) = (crate::hostile::seed(), crate::hostile::count(4_000));
    let (mut values, mut longest, mut largest) = (0, Duration::ZERO, 0);
    for case in 0..count {
        let mut writer = Writer { random: Rng::with_seed(seed ^ (case << 20)), names: &names };
        let mut text = String::new();
        let start = Instant::now();
        let mut outcome = Ok(Err(String::new()));
        let used = measure(|| {
            outcome = catch_unwind(AssertUnwindSafe(|| match case % 2 {
                0 => {
                    writer.write(4, &mut text);
                    evaluate(&text, &registry, &leaves, &budget)
                }
                _ => has_value(&mut writer.random, &registry, &budget),
            }));
        });
        let took = start.elapsed();
        let at = || format!("seed {seed}, case {case}: {text}");
        match outcome {
            Ok(Ok(_)) => values += 1,
            Ok(Err(error)) => {
                assert!(!error.contains("panic"), "{}: {error}", at());
            }
            Err(_) => panic!("{} panics", at()),
        }
        assert!(took <= MOST.0, "{} takes {took:?}", at());
        assert!(used.bytes_max <= MOST.1, "{} takes {} bytes", at(), used.bytes_max);
        (longest, largest) = (longest.max(took), largest.max(used.bytes_max));
    }
    println!("{values} of {count} expressions have values; at most {longest:?}, {largest} bytes");
    assert!(values > count / 4, "only {values} of {count}");
}
