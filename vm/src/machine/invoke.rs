//! One operator on values: for literal folding, host calls and tests.

use crate::builtins::table;
use crate::frame::Frame;
use crate::layout::{FrameLayout, LayoutError};
use crate::machine::bound::BoundExpr;
use crate::machine::code::Style;
use crate::machine::error::{RunError, RunErrorKind};
use crate::machine::options::RunOptions;
use crate::operator::Overload;
use crate::program::instruction::Span;
use crate::program::program::ValueInfo;
use crate::program::{Body, Program, Routine, ValueId};
use crate::value::{Budget, Value};
use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use std::sync::Arc;
use thiserror::Error;

/// An operator could not be applied to values.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum InvokeError {
    /// The values are not of the overload's types.
    #[error("{overload} does not take these arguments")]
    Arguments {
        /// The overload.
        overload: String,
    },
    /// Arguments and result need too large a frame.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// The operator raised or panicked.
    #[error("{0}")]
    Run(RunErrorKind),
}

/// Applies an overload to values of its argument types.
///
/// # Errors
/// Wrong types, or what the operator raises.
pub fn invoke(overload: &Arc<Overload>, args: &[Value]) -> Result<Value, InvokeError> {
    Invoker::default().invoke(overload, args, &Budget::default())
}

/// Most programs that an [`Invoker`] keeps.
const MOST_BOUND: usize = 64;

/// Applies overloads to values, and keeps the program of each for the next call of the same overload.
#[derive(Clone, Debug, Default)]
pub struct Invoker {
    /// By the address of the overload, which the program keeps alive.
    bound: HashMap<usize, Arc<BoundExpr>>,
}

impl Invoker {
    /// Applies an overload to values of its argument types, within a budget.
    ///
    /// # Errors
    /// As [`invoke`], and what the run used up.
    pub fn invoke(
        &mut self,
        overload: &Arc<Overload>,
        args: &[Value],
        budget: &Budget,
    ) -> Result<Value, InvokeError> {
        if self.bound.len() >= MOST_BOUND {
            self.bound.clear();
        }
        let bound = match self.bound.entry(Arc::as_ptr(overload).addr()) {
            Entry::Occupied(entry) if fits(entry.get(), args) => entry.get().clone(),
            entry => {
                let bound = Arc::new(bind_types(overload, args, Style::Stepped)?);
                entry.insert(bound.clone());
                bound
            }
        };
        let mut frame = new_frame(&bound, args)?;
        let outcome = bound.execute_with(&mut frame, RunOptions::new().budget(budget));
        outcome.map_err(|RunError { kind, .. }| InvokeError::Run(kind))?;
        Ok(frame.read(bound.output_slot()).expect("a run that ends well has written its output"))
    }
}

/// True if the values are of the types that an overload was bound for.
fn fits(bound: &BoundExpr, args: &[Value]) -> bool {
    let main = bound.program().main();
    let types = main.values.iter().map(|value| value.slot.qtype());
    args.len() == main.inputs.len() && types.zip(args).all(|(qtype, value)| *qtype == value.qtype())
}

/// A frame with the arguments of a bound overload.
fn new_frame(bound: &BoundExpr, args: &[Value]) -> Result<Frame, InvokeError> {
    let mut frame = bound.new_frame().map_err(|e| InvokeError::Run(e.into()))?;
    for (slot, value) in bound.program().main().values.iter().zip(args) {
        frame.write(&slot.slot, value).expect("the slot has the value's type");
    }
    Ok(frame)
}

/// A program of one operator, and a frame with its arguments.
#[cfg(test)]
pub(super) fn bind(
    overload: &Arc<Overload>,
    args: &[Value],
    style: Style,
) -> Result<(BoundExpr, Frame), InvokeError> {
    let bound = bind_types(overload, args, style)?;
    let frame = new_frame(&bound, args)?;
    Ok((bound, frame))
}

/// A program of one operator on arguments of the types of these.
fn bind_types(overload: &Arc<Overload>, args: &[Value], style: Style) -> Result<BoundExpr, InvokeError> {
    let types: Vec<_> = args.iter().map(Value::qtype).collect();
    if !overload.accepts(types.iter()) {
        return Err(InvokeError::Arguments { overload: overload.to_string() });
    }
    let mut layout = FrameLayout::builder();
    let mut values = Vec::with_capacity(args.len() + 1);
    for qtype in types {
        let slot = layout.typed(qtype);
        layout.place_input(&slot);
        values.push(ValueInfo { slot, view_of: None });
    }
    let out = layout.typed(overload.result().clone());
    layout.place_output(&out);
    values.push(ValueInfo { slot: out.clone(), view_of: None });
    let inputs: Vec<ValueId> = (0..args.len() as u32).map(ValueId).collect();
    let output = ValueId(args.len() as u32);
    let mut body = Body::new();
    let mut operands = inputs.clone();
    if overload.updates() {
        // A copy is changed, and not the argument.
        let copy =
            table().overload("core._copy", &overload.args()[..1]).expect("values of all types are copied");
        let copy = body.add_operator(copy);
        body.push_operator(copy, &inputs[..1], output, Span::default());
        operands[0] = output;
    }
    let operator = body.add_operator(overload.clone());
    body.push_operator(operator, &operands, output, Span::default());
    let name = |i: usize| Arc::from(i.to_string());
    let routine = Routine::new(
        layout.build()?,
        values,
        inputs.iter().enumerate().map(|(i, v)| (name(i), *v)).collect(),
        output,
        body,
    );
    let bound = BoundExpr::with_style(Arc::new(Program::new(vec![routine])), style);
    Ok(bound.expect("one operator on slots of its own types passes the verifier"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::{QType, ScalarType, ScalarValue};

    #[test]
    fn kept_programs_serve_what_they_were_bound_for() {
        let scalar = |t| QType::Scalar(t);
        let float = |x| Value::Scalar(ScalarValue::Float64(x));
        let weak = |x| Value::Scalar(ScalarValue::WeakFloat(x));
        let types = [ScalarType::Float64, ScalarType::Float64].map(scalar);
        let add = table().overload("math.add", &types).expect("a standard operator");
        let mut invoker = Invoker::default();
        let mut sum = |a, b| invoker.invoke(&add, &[a, b], &Budget::default());
        for _ in 0..2 {
            assert_eq!(sum(float(1.0), float(2.0)), Ok(float(3.0)));
            assert_eq!(sum(weak(1.5), float(2.0)), Ok(float(3.5)));
            let arguments = Err(InvokeError::Arguments { overload: add.to_string() });
            assert_eq!(sum(float(1.0), Value::Scalar(ScalarValue::Int64(2))), arguments);
        }
        assert_eq!(invoker.invoke(&add, &[float(1.0)], &Budget::default()).ok(), None);
    }

    #[test]
    fn few_programs_are_kept() {
        let mut invoker = Invoker::default();
        for _ in 0..3 * MOST_BOUND {
            // The same overload from a table of its own has another address.
            let types = [QType::Scalar(ScalarType::Float64)];
            let overload = Arc::new(Overload::clone(&table().overload("math.neg", &types).expect("one")));
            let value = Value::Scalar(ScalarValue::Float64(1.0));
            invoker.invoke(&overload, &[value], &Budget::default()).expect("no limit");
            assert!(invoker.bound.len() <= MOST_BOUND);
        }
    }
}
