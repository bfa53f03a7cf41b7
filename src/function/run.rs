//! Calls of a compiled function with values.

use crate::function::compiled::CompiledFunction;
use cembra_vm::frame::FrameError;
use cembra_vm::machine::error::{RunError, RunErrorKind};
use cembra_vm::machine::{Budget, RunOptions};
use cembra_vm::value::{Category, Value};
use thiserror::Error;

/// What a call gave.
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionResult {
    /// The result.
    pub value: Value,
    /// The arguments that are arrays as they are after the call, by position.
    pub arrays: Vec<(usize, Value)>,
}

/// A call that gave nothing.
#[derive(Clone, Debug, Error)]
pub enum FunctionCallError {
    /// An argument cannot be passed.
    #[error("argument {position}: {error}")]
    Argument {
        /// Its number, from 0.
        position: usize,
        /// What is wrong.
        error: FrameError,
    },
    /// More or fewer arguments than parameters without a default value.
    #[error("{name}() takes {expected} arguments but {actual} were given")]
    Count {
        /// The function.
        name: String,
        /// Arguments that it takes, those with defaults left out.
        expected: usize,
        /// Arguments given.
        actual: usize,
    },
    /// There is no memory for the frame or the result.
    #[error(transparent)]
    Frame(FrameError),
    /// The function raised.
    #[error(transparent)]
    Run(Box<RunError>),
}

impl CompiledFunction {
    /// Calls the function on a new frame.
    ///
    /// # Errors
    /// Arguments of other types, and whatever the function raises.
    pub fn call(&self, args: &[Value], budget: &Budget) -> Result<FunctionResult, FunctionCallError> {
        self.call_with(args, RunOptions::new().budget(budget))
    }

    /// Calls the function on a new frame, with options of the run: threads for loops over `prange`, a budget.
    ///
    /// # Errors
    /// As [`CompiledFunction::call`].
    pub fn call_with(
        &self,
        args: &[Value],
        options: RunOptions<'_>,
    ) -> Result<FunctionResult, FunctionCallError> {
        let expected = self.args().len() - self.defaults().len();
        if args.len() != expected {
            let (name, actual) = (self.name().to_owned(), args.len());
            return Err(FunctionCallError::Count { name, expected, actual });
        }
        let mut frame = self.bound.new_frame().map_err(FunctionCallError::Frame)?;
        let inputs = self.bound.program().main().inputs.clone();
        let slot = |position: usize| self.bound.program().main().slot(inputs[position].1).clone();
        for (position, value) in args.iter().chain(self.defaults()).enumerate().take(inputs.len()) {
            frame
                .write(&slot(position), value)
                .map_err(|error| FunctionCallError::Argument { position, error })?;
        }
        self.bound
            .execute_with(&mut frame, options)
            .map_err(|error| FunctionCallError::Run(Box::new(error)))?;
        let value = frame.read(self.bound.output_slot()).map_err(FunctionCallError::Frame)?;
        let mut arrays = Vec::new();
        for (position, arg) in args.iter().enumerate() {
            if let Value::NdArray(_) = arg {
                arrays.push((position, frame.read(&slot(position)).map_err(FunctionCallError::Frame)?));
            }
        }
        Ok(FunctionResult { value, arrays })
    }
}

/// CPython's class of an error that a run raised.
pub fn python_class(error: &RunError) -> String {
    let category = match &error.kind {
        RunErrorKind::Fault(fault) => fault.category(),
        RunErrorKind::CallDepth { .. } | RunErrorKind::CallFrameBytes { .. } => {
            return "RecursionError".to_owned();
        }
        _ => return "RuntimeError".to_owned(),
    };
    if category == Category::Raised {
        let message = error.kind.to_string();
        return message.split(':').next().unwrap_or_default().to_owned();
    }
    category_class(category).to_owned()
}

/// CPython's class of the faults of a category other than RAISED.
pub(crate) fn category_class(category: Category) -> &'static str {
    match category {
        Category::DivisionByZero => "ZeroDivisionError",
        Category::Overflow | Category::Cast => "OverflowError",
        Category::Domain => "ValueError",
        Category::Unbound => "UnboundLocalError",
        Category::IndexOutOfRange => "IndexError",
        Category::SizeMismatch => "ValueError",
        Category::Limit => "MemoryError",
        _ => "RuntimeError",
    }
}

/// The message of an error that a run raised, without the class of one that the function raised itself.
pub fn python_message(error: &RunError) -> String {
    let message = error.kind.to_string();
    match &error.kind {
        RunErrorKind::Fault(fault) if fault.category() == Category::Raised => {
            message.split_once(": ").map_or(String::new(), |(_, message)| message.to_owned())
        }
        _ => message,
    }
}
