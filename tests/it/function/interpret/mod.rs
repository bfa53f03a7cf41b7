//! Interpreters of the stages: what a call means by `norm`, `ussa`, `tssa` and `low`, without registers, slots and jumps.
//!
//! ```text
//! norm: the statements of the tree, without blocks and phis
//! flow ──walk──> block by block; phis at once, from the values at the end of the predecessor
//!   ussa: Python's values, whatever they are      tssa: the same, cast to the types of their phis, lists and results
//!   low: operators of the machine one by one; arrays, copies and control are the interpreter's own
//! ```
//!
//! They agree with the machine on values, arrays after the call and the class of an error. A copy that was lost between
//! two registers, or two that were swapped, is a difference.

mod cells;
mod dictionaries;
mod generators;
mod library;
mod lists;
mod low;
mod norm;
mod norm_library;
mod norm_values;
mod python;

use crate::function::{Complaint, Outcome};
use cembra::function::build::RaisedFailure;
use cembra::function::compile::{FunctionStages, optimized};
use cembra::function::run::python_class;
use cembra::function::stage::{canonical_instances, untyped_functions};
use cembra::function::{FunctionOptions, Overflow};
use cembra::ssa::{BlockId, Flow, InstId, SsaOp, SsaOperation, Tail};
use cembra::vm::machine::RunError;
use cembra::vm::machine::error::RunErrorKind;
use cembra::vm::program::Catch;
use cembra::vm::value::{Category, Fault, Value};
use serde_json::Value as Json;
use std::collections::HashMap;

/// Instructions of a call, those of its calls among them.
const MAX_STEPS: u64 = 200_000;
/// Calls inside of each other.
const MAX_CALLS: usize = 1_000;

/// Why the interpreter of `norm` passes over a call; it knows everything else.
const PASSED_OVER: [(&str, &str); 6] = [
    ("steps", "the call has more than 200,000 steps"),
    (
        "depth",
        "more than 1,000 calls are open at once: the stages count calls that are built in place differently",
    ),
    ("memory", "an array has more than 2^20 elements"),
    (CAUGHT_LIMIT, "a handler for MemoryError or RecursionError takes what is raised, and no limit"),
    ("half of a surrogate pair", "the character is no text of its own"),
    (
        "array expression",
        "programs with operators on whole arrays are recorded beside Numba; the stage `low` has their loops",
    ),
];
/// See [`PASSED_OVER`].
const CAUGHT_LIMIT: &str = "limits are not caught, errors of these classes are";

/// Why a call gave no value.
#[derive(Clone, Debug, PartialEq)]
pub enum Stop {
    /// It raised an error of CPython's class.
    Raised(String),
    /// It takes longer, or more memory, than a test has; or it uses what the interpreter lacks.
    Unknown(&'static str),
}

/// A value, or why there is none.
type Step<T> = Result<T, Stop>;

fn raise<T>(class: &str) -> Step<T> {
    Err(Stop::Raised(class.to_owned()))
}

/// What the instructions of a stage do.
trait Evaluate<O> {
    /// Its values.
    type Value: Clone;

    /// The value of an operation.
    fn operation(&mut self, inst: InstId, op: &O, args: &[Self::Value]) -> Step<Self::Value>;
    /// A value of a phi.
    fn phi(&mut self, inst: InstId, value: Self::Value) -> Self::Value;
    /// What undefined values are.
    fn undefined(&self) -> Self::Value;
    /// A condition.
    fn holds(&self, value: &Self::Value) -> bool;
    /// What a tail raises.
    fn failure(&self, number: u32) -> &RaisedFailure;
    /// Counts a step; false if there were too many.
    fn step(&mut self) -> bool;
}

/// Runs a function in SSA.
fn walk<O: SsaOperation, E: Evaluate<O>>(flow: &Flow<O>, evaluator: &mut E) -> Step<E::Value> {
    let mut values: Vec<Option<E::Value>> = vec![None; flow.insts.len()];
    let (mut block, mut from) = (BlockId(0), BlockId(0));
    let mut kept: HashMap<u32, String> = HashMap::new();
    loop {
        let rows = flow.block(block);
        let mut raised = None;
        let read = |values: &[Option<E::Value>], value: InstId| {
            values[value.index()]
                .clone()
                .unwrap_or_else(|| panic!("{value} is read in {block} and has no value"))
        };
        let phis: Vec<InstId> = flow.phis(block).collect();
        if !phis.is_empty() {
            let way =
                rows.predecessors.iter().position(|known| *known == from).expect("a way that was taken");
            let new: Vec<E::Value> =
                phis.iter().map(|phi| read(&values, flow.inst(*phi).args[way])).collect();
            for (phi, value) in phis.iter().zip(new) {
                values[phi.index()] = Some(evaluator.phi(*phi, value));
            }
        }
        for inst in &rows.insts[phis.len()..] {
            if !evaluator.step() {
                return Err(Stop::Unknown("steps"));
            }
            let row = flow.inst(*inst);
            values[inst.index()] = Some(match &row.op {
                SsaOp::Do(op) => {
                    let args: Vec<E::Value> = row.args.iter().map(|arg| read(&values, *arg)).collect();
                    match evaluator.operation(*inst, op, &args) {
                        Ok(value) => value,
                        Err(Stop::Raised(class)) => {
                            raised = Some(class);
                            break;
                        }
                        Err(stop) => return Err(stop),
                    }
                }
                SsaOp::Undef => evaluator.undefined(),
                _ => panic!("{inst} stands behind the phis"),
            });
        }
        if !evaluator.step() {
            return Err(Stop::Unknown("steps"));
        }
        match &rows.tail {
            _ if raised.is_some() => {}
            Tail::Fail(number) => {
                let RaisedFailure { category, message } = evaluator.failure(*number);
                raised = Some(class_of(*category, message));
            }
            Tail::Again(number) => raised = Some(kept[number].clone()),
            _ => {}
        }
        if let Some(class) = raised {
            let takes = |guard: &BlockId| match &flow.block(*guard).tail {
                Tail::Guard { catch, .. } => takes(catch, &class),
                _ => false,
            };
            let Some(guard) = flow.guards(block).find(takes) else { return raise(&class) };
            if let Tail::Guard { catch, orelse, .. } = &flow.block(guard).tail {
                catch.keep.into_iter().for_each(|number| drop(kept.insert(number, class.clone())));
                (from, block) = (guard, *orelse);
            }
            continue;
        }
        from = block;
        block = match &rows.tail {
            Tail::Jump(to) => *to,
            Tail::Branch { condition, then, orelse } => match evaluator.holds(&read(&values, *condition)) {
                true => *then,
                false => *orelse,
            },
            Tail::Return(value) => return Ok(read(&values, *value)),
            Tail::Guard { then, .. } => *then,
            Tail::Fail(_) | Tail::Again(_) => unreachable!("it has raised"),
            Tail::Open => panic!("{block} has no end"),
        };
    }
}

/// True if a guard takes an error of a class.
fn takes(catch: &Catch, class: &str) -> bool {
    let is_class = |category: &Category| match category {
        // Calls that are open at once are limited, and not caught.
        Category::Raised => class != "RecursionError",
        category => class_of(*category, "") == class,
    };
    catch.categories.iter().any(is_class) || catch.classes.iter().any(|known| &**known == class)
}

/// CPython's class of a failure.
fn class_of(category: Category, message: &str) -> String {
    let fault = match category {
        Category::Raised => return message.split(':').next().unwrap_or_default().to_owned(),
        category => Fault::Trap { category, message: message.into() },
    };
    python_class(&RunError { kind: RunErrorKind::Fault(fault), at: None })
}

/// Bytes of a stack for interpreters: expressions and calls are inside of each other, with large frames where nothing is optimised.
const STACK: usize = 2 << 30;

fn on_a_large_stack<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK);
        let run = thread.spawn_scoped(scope, work).expect("there is a thread");
        run.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Checks that the interpreters of all stages give what the machine gave.
pub fn check(
    stages: &FunctionStages,
    options: &FunctionOptions,
    args: &[Value],
    outcome: &Outcome,
    source: &str,
) {
    on_a_large_stack(|| check_stages(stages, options, args, outcome, source));
}

fn check_stages(
    stages: &FunctionStages,
    options: &FunctionOptions,
    args: &[Value],
    outcome: &Outcome,
    source: &str,
) {
    let agree = |stage: &str, found: Step<(Json, Vec<Json>)>, same: &dyn Fn(&Json, &Json) -> bool| match (
        found, outcome,
    ) {
        (Err(Stop::Unknown(what)), _) => {
            let is_named = stage != "norm" || PASSED_OVER.iter().any(|(reason, _)| *reason == what);
            assert!(is_named, "{stage} lacks {what}\n{source}");
        }
        (Ok((value, arrays)), Outcome::Returned { value: expected, arrays: after }) => {
            let agree =
                same(&value, expected) && same(&Json::from(arrays.clone()), &Json::from(after.clone()));
            assert!(agree, "{stage} gives {value} {arrays:?}, the machine {expected} {after:?}\n{source}");
        }
        (Err(Stop::Raised(class)), Outcome::Raised(Complaint { class: expected, .. })) => {
            assert_eq!(class, *expected, "{stage}\n{source}");
        }
        (found, outcome) => panic!("{stage} gives {found:?}, the machine {outcome:?}\n{source}"),
    };
    // The machine adds floats up by pieces.
    let sums_in_pieces = source.contains("prange(");
    let same: &dyn Fn(&Json, &Json) -> bool = if sums_in_pieces { &is_close } else { &is_same };
    let typed = canonical_instances(&stages.instances);
    if options.overflow == Overflow::Raise && !options.numpy_errors {
        let entry = &stages.instances[0].function.name;
        agree("norm", norm::call(source, entry, args), if sums_in_pieces { &is_close } else { &is_equal });
        let untyped = untyped_functions(&stages.instances);
        agree(
            "ussa",
            python::call_untyped(&untyped, args),
            if sums_in_pieces { &is_close } else { &is_equal },
        );
        agree("tssa", python::call_typed(&typed, args), same);
    }
    agree("low", low::call(&stages.low, args), same);
    let (after, _) = optimized(&stages.low).unwrap_or_else(|error| panic!("{error}\n{source}"));
    agree("passes", low::call(&after, args), same);
}

fn is_same(a: &Json, b: &Json) -> bool {
    a == b
}

/// Equal as Python compares: an integer may be a float of the same value.
fn is_equal(a: &Json, b: &Json) -> bool {
    match (a, b) {
        (Json::Array(a), Json::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_equal(a, b))
        }
        (Json::Object(a), Json::Object(b)) if a.contains_key("data") || b.contains_key("data") => {
            // An array without elements has no type that is known at run time.
            a.get("shape") == b.get("shape")
                && is_equal(a.get("data").unwrap_or(&Json::Null), b.get("data").unwrap_or(&Json::Null))
        }
        (Json::Object(a), Json::Object(b)) => {
            is_equal(a.get("v").unwrap_or(&Json::Null), b.get("v").unwrap_or(&Json::Null))
        }
        (a, b) => {
            a == b || number(a).is_some_and(|x| number(b).is_some_and(|y| x == y || x.is_nan() && y.is_nan()))
        }
    }
}

/// True if numbers differ by rounding at most.
pub fn is_close(a: &Json, b: &Json) -> bool {
    match (a, b) {
        (Json::Array(a), Json::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_close(a, b))
        }
        (Json::Object(a), Json::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| is_close(a, b)))
        }
        (Json::String(a), Json::String(b)) => match (a.parse::<f64>(), b.parse::<f64>()) {
            (Ok(x), Ok(y)) => a == b || (x - y).abs() <= 1e-12 * x.abs().max(y.abs()),
            _ => a == b,
        },
        _ => a == b,
    }
}

fn number(json: &Json) -> Option<f64> {
    match json {
        Json::Bool(value) => Some(f64::from(u8::from(*value))),
        Json::String(text) => match text.as_str() {
            "True" => Some(1.0),
            "False" => Some(0.0),
            text => text.parse().ok(),
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::function::compiled;
    use crate::function::stages::stages_of;
    use crate::support::oracle;
    use cembra::cli::function_value::read_arguments;
    use serde_json::json;
    use std::collections::BTreeMap;

    const SWAP: &str =
        "def f(n):\n    a = 0\n    b = 1\n    for i in range(n):\n        a, b = b, a + b\n    return a\n";

    #[test]
    fn a_lost_copy_is_a_difference() {
        let args = read_arguments(&json!([10])).expect("arguments");
        let mut stages = stages_of(SWAP, "f", &args, &FunctionOptions::default());
        let value = |stages: &FunctionStages| low::call(&stages.low, &args).expect("a value").0["v"].clone();
        assert_eq!(value(&stages), "55");
        // The phi of `b` takes what `a` takes: as if the copy between their registers had been lost.
        let flow = &mut stages.low[0].flow;
        let head = flow.block_ids().find(|block| flow.phis(*block).count() >= 2).expect("a loop");
        let phis: Vec<InstId> = flow.phis(head).collect();
        flow.insts[phis[1].index()].args = flow.inst(phis[0]).args.clone();
        assert_ne!(value(&stages), "55");
    }

    /// How many calls of a file are interpreted, and how many are passed over for what.
    type Interpreted = (&'static str, u32, &'static [(&'static str, u32)]);

    /// Recorded calls that compile.
    const INTERPRETED: [Interpreted; 6] = [
        ("cases", 486, &[("steps", 1)]),
        ("random", 1500, &[]),
        ("features", 365, &[]),
        ("exceptions", 512, &[]),
        ("library", 578, &[]),
        ("none", 619, &[]),
    ];

    #[test]
    fn recorded_calls_are_interpreted_by_their_statements() {
        let mut counts = Vec::new();
        for (name, ..) in INTERPRETED {
            let (mut known, mut lacking) = (0, BTreeMap::<&str, u32>::new());
            for case in oracle(&format!("numba_ir/{name}.json")).as_array().expect("a list of functions") {
                let source = case["source"].as_str().expect("a text");
                for run in case["runs"].as_array().expect("a list of calls") {
                    let Ok(args) = read_arguments(&run["args"]) else { continue };
                    if compiled(source, "f", &args, &FunctionOptions::default()).is_err() {
                        continue;
                    }
                    match norm::call(source, "f", &args) {
                        Err(Stop::Unknown(what)) => *lacking.entry(what).or_default() += 1,
                        _ => known += 1,
                    }
                }
            }
            counts.push((name, known, lacking.into_iter().collect::<Vec<_>>()));
        }
        let expected = INTERPRETED.map(|(name, known, passed_over)| (name, known, passed_over.to_vec()));
        assert_eq!(counts, expected);
        let is_named = |what: &str| PASSED_OVER.iter().any(|(reason, _)| *reason == what);
        let passed_over = counts.iter().flat_map(|(_, _, lacking)| lacking);
        assert!(passed_over.clone().all(|(what, _)| is_named(what)), "{counts:?}");
    }

    #[test]
    fn calls_of_tests_are_interpreted_and_not_passed_over() {
        let args = read_arguments(&json!([10])).expect("arguments");
        let stages = stages_of(SWAP, "f", &args, &FunctionOptions::default());
        let typed = canonical_instances(&stages.instances);
        let expected = Ok((json!({ "t": "int", "v": "55" }), Vec::new()));
        assert_eq!(norm::call(SWAP, "f", &args), expected);
        assert_eq!(python::call_untyped(&untyped_functions(&stages.instances), &args), expected);
        assert_eq!(python::call_typed(&typed, &args), expected);
        assert_eq!(low::call(&stages.low, &args), expected);
    }
}
