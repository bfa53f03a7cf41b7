//! A host compiles a Python-like function and calls it in a loop.
//!
//! The function is compiled once for the types of its arguments. `call` takes values and gives values, with the
//! arrays that the function has changed. A host that calls a million times keeps a frame instead: names become
//! slots once, and a warm run of scalars allocates nothing.

use cembra::function::{
    ArrayOf, FunctionModule, FunctionOptions, FunctionType, compile_function, python_class,
};
use cembra::vm::machine::Budget;
use cembra::vm::value::nd_type::NdType;
use cembra::vm::value::{NdRows, ScalarType, Value};
use std::sync::Arc;

const SOURCE: &str = "
def smooth(a, rounds):
    moved = 0.0
    for r in range(rounds):
        for i in range(1, len(a) - 1):
            new = (a[i - 1] + a[i + 1]) / 2
            moved += abs(new - a[i])
            a[i] = new
    return moved

def steps(n):
    count = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        count += 1
    return count
";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let options = FunctionOptions::default();
    let module = FunctionModule::parse(SOURCE).map_err(|errors| errors[0].clone())?;

    // Values in, values out: the array that the function writes comes back.
    let floats = FunctionType::Array(ArrayOf::array(ScalarType::Float64, 1));
    let smooth = compile_function(&module, "smooth", &[floats, FunctionType::Int], &options)
        .map_err(|errors| errors[0].clone())?;
    let line = NdType::new(ScalarType::Float64, 1, 0).ok_or("arrays of floats have one axis")?;
    let mut array = Value::NdArray(Arc::new(NdRows::from_slice(line, &[5], &[0.0, 0.0, 0.0, 0.0, 8.0])?));
    for _ in 0..50 {
        let result = smooth.call(&[array, Value::from(1i64)], &Budget::default())?;
        (_, array) = result.arrays.into_iter().next().ok_or("the first argument is an array")?;
    }
    println!("{array}");

    // A frame of one's own: only what changes is written.
    let steps = compile_function(&module, "steps", &[FunctionType::Int], &options)
        .map_err(|errors| errors[0].clone())?;
    let bound = steps.bound();
    let (n, output) = (bound.input::<i64>("n")?, bound.output::<i64>()?);
    let mut frame = bound.new_frame()?;
    let mut longest = (0, 0);
    for start in 1..10_000 {
        frame.set(n, start);
        bound.execute(&mut frame)?;
        longest = longest.max((frame.get(output), start));
    }
    println!("{} needs {} steps", longest.1, longest.0);
    assert_eq!(longest, (261, 6171));

    // What a function raises has CPython's class and a place in the text.
    frame.set(n, i64::MAX);
    let error = bound.execute(&mut frame).expect_err("3 * n + 1 does not fit");
    let line = error.at.as_ref().map(|at| module.line(at.span));
    println!("{}: {error}, line {line:?}", python_class(&error));
    assert_eq!((python_class(&error).as_str(), line), ("OverflowError", Some(14)));
    Ok(())
}
