//! The machine against the reference: with and without optimizer and folding, on fresh and dirty
//! frames, with and without the bytes of inputs for results.

use crate::random::generate::{Sample, inputs, sample};
use crate::reference::{Inputs, Typed, lazy, strict};
use cembra::compile::{Options, compile};
use cembra::expr::{Expr, NodeId};
use cembra::prepare::{Prepare, Source};
use cembra::vm::frame::Frame;
use cembra::vm::machine::BoundExpr;
use cembra::vm::value::fault::Category;
use cembra::vm::value::{ScalarValue, Value};
use fastrand::Rng;

/// The first program; a failure prints the number of its program.
const FIRST: u64 = 0x00ce_b2a0;
const PROGRAMS: u64 = 60_000;
/// Looks at other programs: `CEMBRA_FIRST_PROGRAM=7000000 cargo test --test it random`.
const FIRST_VARIABLE: &str = "CEMBRA_FIRST_PROGRAM";
/// Looks at fewer or more of them, where each takes longer.
const PROGRAMS_VARIABLE: &str = "CEMBRA_PROGRAMS";
const OPERATORS: usize = 24;

/// A way to compile.
#[derive(Clone, Copy, Debug)]
struct Tier {
    optimizer: bool,
    folding: bool,
    overriding: bool,
    /// Runs machine code where there is some.
    #[cfg(feature = "jit")]
    is_compiled: bool,
}

impl Tier {
    const fn new(optimizer: bool, folding: bool, overriding: bool) -> Tier {
        Tier {
            optimizer,
            folding,
            overriding,
            #[cfg(feature = "jit")]
            is_compiled: false,
        }
    }
}

const TIERS: [Tier; 3] =
    [Tier::new(true, true, false), Tier::new(false, true, true), Tier::new(false, false, false)];

#[test]
fn the_machine_agrees_with_the_reference() {
    let threads = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    let number = |name, usual| std::env::var(name).map_or(usual, |n| n.parse().expect("a number"));
    let (first, programs) = (number(FIRST_VARIABLE, FIRST), number(PROGRAMS_VARIABLE, PROGRAMS));
    std::thread::scope(|scope| {
        for thread in 0..threads {
            scope.spawn(move || {
                let numbers = (first + thread..first + programs).step_by(threads as usize);
                numbers.for_each(|number| check_program(number, &TIERS));
            });
        }
    });
}

/// Machine code: a sample, since a compiler takes longer than ten runs of the interpreter.
#[cfg(feature = "jit")]
mod machine_code {
    use super::*;
    use cembra::compile::tier::run_as_machine_code;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// Programs in plain `cargo test`; `CEMBRA_COMPILED_PROGRAMS` looks at fewer or more.
    const SAMPLE: u64 = 1_500;

    static COMPILED: AtomicU64 = AtomicU64::new(0);

    #[test]
    fn machine_code_agrees_with_the_reference() {
        let sample = std::env::var("CEMBRA_COMPILED_PROGRAMS");
        let sample = sample.map_or(SAMPLE, |n| n.parse().expect("a number"));
        let tiers = TIERS.map(|tier| Tier { is_compiled: true, ..tier });
        // Others than the interpreter runs.
        let first = FIRST + PROGRAMS;
        std::thread::scope(|scope| {
            for thread in 0..2 {
                let numbers = (first + thread..first + sample).step_by(2);
                scope.spawn(move || numbers.for_each(|number| check_program(number, &tiers)));
            }
        });
        let compiled = COMPILED.load(Ordering::Relaxed);
        assert!(compiled > sample, "{compiled} of {} are compiled", 3 * sample);
    }

    pub(super) fn compile_if_asked(bound: &BoundExpr, tier: Tier) {
        if tier.is_compiled && run_as_machine_code(bound).is_ok() {
            COMPILED.fetch_add(1, Ordering::Relaxed);
        }
    }
}

fn check_program(number: u64, tiers: &[Tier]) {
    let mut rng = Rng::with_seed(number);
    let sample = sample(&mut rng, OPERATORS);
    let values = [inputs(&mut rng, &sample.leaves), inputs(&mut rng, &sample.leaves)];
    if let Err(message) = check(&sample, &sample.expr, &values, tiers) {
        let (expr, message) = smallest(&sample, &values, tiers, message);
        panic!("program {number}, {:?}\n{expr}\nwith {values:?}\n{message}", sample.dialect);
    }
}

/// The first subexpression that fails too, and why.
fn smallest(sample: &Sample, values: &[Inputs; 2], tiers: &[Tier], message: String) -> (Expr, String) {
    for node in (0..sample.expr.node_count()).map(NodeId::at) {
        let Ok(part) = Expr::new(sample.expr.graph(), node) else { continue };
        if sample.expr.graph().operator(node).is_some()
            && let Err(message) = check(sample, &part, values, tiers)
        {
            return (part, message);
        }
    }
    (sample.expr.clone(), message)
}

fn check(sample: &Sample, expr: &Expr, values: &[Inputs; 2], tiers: &[Tier]) -> Result<(), String> {
    let Some(typed) = Typed::new(expr, &sample.leaves, sample.dialect) else {
        // A part of a reduction, which has no value of its own.
        return Ok(());
    };
    for tier in tiers {
        check_tier(&typed, *tier, values).map_err(|message| format!("{tier:?}: {message}"))?;
    }
    Ok(())
}

fn check_tier(typed: &Typed<'_>, tier: Tier, values: &[Inputs; 2]) -> Result<(), String> {
    let bound = match bind(typed, tier, &values[0]) {
        Ok(bound) => bound,
        // A constant error: both inputs must fail with it.
        Err(category) => {
            return values.iter().try_for_each(|v| agrees(typed, tier, v, &Err(category)));
        }
    };
    let mut frame = bound.new_frame().map_err(|e| e.to_string())?;
    let mut result = Ok(());
    for inputs in [&values[0], &values[1], &values[0], &values[0]] {
        let outcome = run(&bound, &mut frame, inputs);
        result = result.and_then(|()| agrees(typed, tier, inputs, &outcome));
    }
    result
}

fn bind(typed: &Typed<'_>, tier: Tier, inputs: &Inputs) -> Result<BoundExpr, Category> {
    let mut prepare =
        if tier.optimizer { Prepare::standard() } else { Prepare::standard().without_optimizer() };
    if !tier.folding {
        prepare = prepare.without_folding();
    }
    let types = typed.expr.leaves().into_iter().map(|name| {
        let qtype = inputs[&*name].qtype();
        (name, qtype)
    });
    let source = Source::new(typed.expr.clone(), types.collect::<Vec<_>>()).dialect(typed.dialect);
    let prepared = prepare.checked().run(source).map_err(|e| e.category())?;
    let options =
        Options { allow_overriding_input_slots: tier.overriding, check_slots: true, ..Options::default() };
    let bound = compile(&prepared, &options).unwrap_or_else(|e| panic!("{e}\n{prepared}"));
    assert_eq!(*typed.qtype(typed.expr.root()), *prepared.qtype(prepared.outputs()[0]), "type of {prepared}");
    #[cfg(feature = "jit")]
    machine_code::compile_if_asked(&bound, tier);
    Ok(bound)
}

fn run(bound: &BoundExpr, frame: &mut Frame, inputs: &Inputs) -> Result<Value, Category> {
    for (name, value) in inputs {
        if let Ok(slot) = bound.input_slot(name) {
            frame.write(slot, value).expect("the value has the input's type");
        }
    }
    bound.execute(frame).map_err(|e| e.category())?;
    Ok(frame.read(bound.output_slot()).expect("the output is written"))
}

/// Compares what the machine did with both readings of the reference.
fn agrees(
    typed: &Typed<'_>,
    tier: Tier,
    inputs: &Inputs,
    outcome: &Result<Value, Category>,
) -> Result<(), String> {
    let expected = strict::evaluate(typed, inputs);
    let right = match (&expected, outcome) {
        (Ok(expected), Ok(value)) => same(expected, value),
        (Err(errors), Err(error)) if errors.contains(error) => true,
        (Err(_), _) if tier.optimizer => match (lazy::evaluate(typed, inputs), outcome) {
            ((Some(expected), _), Ok(value)) => same(&expected, value),
            ((_, errors), Err(error)) => errors.contains(error),
            _ => false,
        },
        _ => false,
    };
    match right {
        true => Ok(()),
        false => Err(format!("expected {expected:?}\n     got {outcome:?}\n    with {inputs:?}")),
    }
}

/// Bit for bit, except that every NaN is the same and that weak floats are stored as FLOAT64.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Scalar(a), Value::Scalar(b)) | (Value::Present(a), Value::Present(b)) => same_scalar(a, b),
        (Value::Tuple(a), Value::Tuple(b)) => {
            a.fields().len() == b.fields().len() && a.fields().iter().zip(b.fields()).all(|(a, b)| same(a, b))
        }
        (Value::Missing(a), Value::Missing(b)) => a.storage() == b.storage(),
        _ => a == b,
    }
}

fn same_scalar(a: &ScalarValue, b: &ScalarValue) -> bool {
    let is_nan = |v: &ScalarValue| v.as_f64().is_some_and(f64::is_nan);
    let storage = a.scalar_type().storage() == b.scalar_type().storage();
    storage
        && (a == b || (is_nan(a) && is_nan(b)) || a.plain_bits().is_some_and(|x| b.plain_bits() == Some(x)))
}
