//! Calls of a library with values, as functions are called.

use cembra_vm::frame::FrameError;
use cembra_vm::library::{Argument, BoundaryError, Library, Raised};
use cembra_vm::machine::NdViewMut;
use cembra_vm::machine::error::RunError;
use cembra_vm::value::Value;
use std::sync::Arc;
use thiserror::Error;

/// What a call gave.
#[derive(Clone, Debug, PartialEq)]
pub struct NativeResult {
    /// The results, in the order of the signature.
    pub results: Vec<Value>,
    /// The arguments that are arrays as they are after the call, by position.
    pub arrays: Vec<(usize, Value)>,
}

/// A call that gave nothing.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NativeCallError {
    /// The library does not take the arguments.
    #[error(transparent)]
    Boundary(#[from] BoundaryError),
    /// The library raised.
    #[error(transparent)]
    Raised(#[from] Raised),
    /// The interpreter stopped.
    #[error(transparent)]
    Run(Box<RunError>),
    /// The interpreter has no memory for the program.
    #[error(transparent)]
    Frame(#[from] FrameError),
}

/// Calls a library with values. Arrays that it changes are copied first: the arguments stay as they are.
///
/// # Errors
/// Arguments that it does not take, and what it raises.
pub fn call_library(library: &Library, values: &[Value]) -> Result<NativeResult, NativeCallError> {
    let mut own: Vec<Value> = values.to_vec();
    let is_updated: Vec<bool> = library.signature().parameters.iter().map(|p| p.is_updated).collect();
    let mut arguments = Vec::with_capacity(own.len());
    for (position, value) in own.iter_mut().enumerate() {
        let is_updated = is_updated.get(position) == Some(&true);
        arguments.push(match (is_updated, value) {
            (true, Value::NdArray(rows)) => Argument::Update(NdViewMut::of_rows(Arc::make_mut(rows))),
            (_, value) => Argument::Value(value),
        });
    }
    let mut call = library.bind(arguments)?;
    call.run()?;
    let results = (0..library.signature().results.len()).map(|number| call.result(number)).collect();
    drop(call);
    let arrays = own.into_iter().enumerate().filter(|(_, value)| matches!(value, Value::NdArray(_)));
    Ok(NativeResult { results, arrays: arrays.collect() })
}
