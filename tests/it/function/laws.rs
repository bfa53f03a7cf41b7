//! Laws of compiled functions, on every call that a test makes.
//!
//! 1. A second run on the same frame gives what the first gave: loop state is written by the run, not kept.
//! 2. An observed run, which steps through unfused code, gives the same.
//! 3. The stored text of the program reads back, prints the same, and gives the same.
//! 4. With the fuel that a run used up it ends in the same way; with one instruction less it runs out of fuel.
//! 5. A native library of it gives the same, where it is made ([`native`]).

use crate::function::{Outcome, native, raised};
use cembra::cli::function_value::recorded;
use cembra::function::CompiledFunction;
use cembra::function::run::FunctionCallError;
use cembra::vm::builtins;
use cembra::vm::frame::Frame;
use cembra::vm::machine::Used;
use cembra::vm::machine::error::RunErrorKind;
use cembra::vm::machine::observer::Observer;
use cembra::vm::machine::{BoundExpr, RunError, RunOptions};
use cembra::vm::program::text;
use cembra::vm::value::{Budget, Value};
use serde_json::Value as Json;
use std::cell::Cell;
use std::sync::Arc;

/// Result and arrays after the call.
pub type Ran = Result<(Json, Vec<Json>), RunError>;

/// Watches, and notes nothing.
struct Silent;

impl Observer for Silent {}

/// Calls a function; checks the laws on the way.
pub fn check(function: &CompiledFunction, source: &str, args: &[Value]) -> Outcome {
    let bound = function.bound();
    if args.len() < bound.program().main().inputs.len() {
        // Default values are filled in by the call alone.
        return called(function, source, args);
    }
    let mut frame = bound.new_frame().expect("there is memory for a frame");
    let used = Cell::new(Used::default());
    let first = run(bound, &mut frame, args, RunOptions::new().used(&used));
    let instructions = used.get().instructions;
    same("the second run on a frame", &first, &run(bound, &mut frame, args, RunOptions::new()), source);
    let observed = run(bound, &mut frame, args, RunOptions::new().observer(&mut Silent));
    same("an observed run", &first, &observed, source);

    let read = stored_and_read(bound, source);
    let mut other = read.new_frame().expect("there is memory for a frame");
    same("the stored program", &first, &run(&read, &mut other, args, RunOptions::new()), source);
    let enough = run(bound, &mut frame, args, RunOptions::new().fuel(instructions));
    same("a run with just enough fuel", &first, &enough, source);
    if first.is_ok() && instructions > 0 {
        let less = run(bound, &mut frame, args, RunOptions::new().fuel(instructions - 1));
        let is_out = less.as_ref().is_err_and(|error| matches!(error.kind, RunErrorKind::OutOfFuel { .. }));
        assert!(
            is_out,
            "{} instructions suffice, {instructions} were used: {less:?}\n{source}",
            instructions - 1
        );
    }
    called_like(function, &first, args, source);
    native::check(function, &first, args, source);
    match first {
        Ok((value, arrays)) => Outcome::Returned { value, arrays },
        Err(error) => raised(&error, source),
    }
}

/// The program after its text.
fn stored_and_read(bound: &BoundExpr, source: &str) -> BoundExpr {
    let stored = text::print(bound.program());
    let read = text::parse(&stored, &builtins::table());
    let read = read.unwrap_or_else(|error| panic!("{error}\n{stored}\n{source}"));
    assert_eq!(text::print(&read), stored, "the text that was read prints differently\n{source}");
    BoundExpr::new(Arc::new(read)).unwrap_or_else(|e| panic!("{e}\n{source}"))
}

/// Calls a function twice as hosts do.
fn called(function: &CompiledFunction, source: &str, args: &[Value]) -> Outcome {
    let call = || match function.call(args, &Budget::default()) {
        Ok(result) => {
            let arrays = result.arrays.iter().map(|(_, array)| recorded(array)).collect();
            Outcome::Returned { value: recorded(&result.value), arrays }
        }
        Err(FunctionCallError::Run(error)) => raised(&error, source),
        Err(other) => panic!("{other}\n{source}"),
    };
    assert_eq!(call(), call(), "{source}");
    call()
}

/// The call that hosts use gives what a run on a frame gives.
fn called_like(function: &CompiledFunction, first: &Ran, args: &[Value], source: &str) {
    match (function.call(args, &Budget::default()), first) {
        (Ok(result), Ok((value, arrays))) => {
            assert_eq!(recorded(&result.value), *value, "{source}");
            let after: Vec<Json> = result.arrays.iter().map(|(_, array)| recorded(array)).collect();
            assert_eq!(after, *arrays, "{source}");
        }
        (Err(error), Err(expected)) => assert_eq!(error.to_string(), expected.to_string(), "{source}"),
        (call, _) => panic!("a call gives {call:?}, a run {first:?}\n{source}"),
    }
}

fn run(bound: &BoundExpr, frame: &mut Frame, args: &[Value], options: RunOptions<'_>) -> Ran {
    let main = bound.program().main();
    assert_eq!(main.inputs.len(), args.len(), "a compiled function has an input for each argument");
    let slots = || main.inputs.iter().map(|(_, value)| main.slot(*value));
    for (slot, value) in slots().zip(args) {
        frame.write(slot, value).expect("the type that the function was compiled for");
    }
    bound.execute_with(frame, options)?;
    let value = frame.read(bound.output_slot()).expect("a run writes its result");
    let is_array = |value: &Value| matches!(value, Value::NdArray(_));
    let after = slots().zip(args).filter(|(_, value)| is_array(value));
    let arrays = after.map(|(slot, _)| recorded(&frame.read(slot).expect("an argument stays readable")));
    Ok((recorded(&value), arrays.collect()))
}

fn same(what: &str, first: &Ran, other: &Ran, source: &str) {
    let agree = match (first, other) {
        (Ok(first), Ok(other)) => first == other,
        (Err(first), Err(other)) => first.kind == other.kind,
        _ => false,
    };
    assert!(agree, "{what} gives {other:?}, the first run gave {first:?}\n{source}");
}
