//! Native builds: operators in C beside the interpreter, the boundary of libraries, the cache, bad inputs, callers in C
//! and Python. Functions are compared by the laws of `function`.

mod arrays;
mod backends;
mod boundary;
mod cache;
mod chosen;
mod commands;
mod coverage;
mod decimals;
mod edges;
mod every_operator;
mod folders;
mod groups;
mod kept_sweeps;
mod lists;
mod loops;
mod opened;
mod operators;
mod pieces;
mod rows;
mod rust;
mod special_functions;
mod speculation;
mod stress;
mod sweeps;
mod variants;

use cembra::function::{CompiledFunction, FunctionModule, FunctionOptions, FunctionType, compile_function};
use cembra::native::{ArrayLayout, NativeCache, ProgramCall};
use cembra::vm::library::Library;
use cembra::vm::value::Value;
use std::sync::Arc;

/// The last function of a text, for values of these types.
fn compiled(source: &str, args: &[Value]) -> CompiledFunction {
    let module = FunctionModule::parse(source).expect("it is Python");
    let name = module.function_names().last().expect("a function");
    let types: Vec<FunctionType> = args
        .iter()
        .map(|value| FunctionType::of_qtype(&value.qtype()).expect("a type of functions"))
        .collect();
    compile_function(&module, name, &types, &FunctionOptions::default()).expect("it compiles")
}

/// The same as a program to be built.
fn function(source: &str, args: &[Value], layout: ArrayLayout) -> ProgramCall {
    let compiled = compiled(source, args);
    let program = Arc::new((**compiled.bound().program()).clone());
    ProgramCall::new(compiled.name(), program, layout).expect("a name")
}

/// A cache in a folder of its own.
fn fresh() -> (tempfile::TempDir, NativeCache) {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let cache = NativeCache::new(folder.path(), None).expect("cargo needs a C compiler to link");
    (folder, cache)
}

fn library(source: &str, args: &[Value], layout: ArrayLayout) -> Library {
    crate::function::native::cache().library(&function(source, args, layout)).expect("it has a form in C")
}
