//! Formulas as programs of the machine, for one number at a time or for all points of an axis.

use crate::compile::binder::compile_source;
use crate::compile::{CompileError, Options};
use crate::expr::{Expr, ExprBuilder};
use crate::model::formula::build::build;
use crate::model::lower::term::{Rates, Term};
use crate::prepare::Source;
use cembra_vm::frame::FramePool;
use cembra_vm::layout::{Slot, TypedSlot};
use cembra_vm::machine::{BoundExpr, CallError};
use cembra_vm::value::qtype::FLOAT64;
use cembra_vm::value::{NdError, NdType, NdView, QType, ScalarType};
use thiserror::Error;

/// A formula that cannot be computed: there is no memory, or a limit is too low.
#[derive(Clone, Debug, PartialEq, Error)]
#[allow(missing_docs)] // Each is the error of the step it is named after.
pub enum FormulaError {
    #[error(transparent)]
    Compile(#[from] CompileError),
    #[error(transparent)]
    Axis(#[from] NdError),
    #[error(transparent)]
    Call(#[from] CallError),
}

/// A formula as a program.
#[derive(Debug)]
pub(super) struct Program {
    bound: BoundExpr,
    /// Where the axis is lent to, if the formula is one of an axis.
    axis: Option<TypedSlot>,
    numbers: Vec<Slot<f64>>,
    /// Frames of numbers; those with arrays are not kept.
    frames: FramePool,
}

impl Program {
    /// Compiles a formula of these names; the first one stands for an axis if `has_axis`.
    pub(super) fn new(expr: &Expr, names: &[String], has_axis: bool) -> Result<Program, CompileError> {
        let builder = ExprBuilder::new();
        let leaf = |name: &str| {
            let known = names.iter().any(|known| known == name);
            known.then(|| Term { node: builder.leaf(name), rates: Rates::NONE })
        };
        let value = build(expr, &builder, leaf).whole().node.build()?;
        let array = QType::NdArray(NdType::new(ScalarType::Float64, 1, 0).expect("one axis"));
        let (axis, numbers) = names.split_at(usize::from(has_axis));
        let axes = axis.iter().map(|name| (name.as_str(), array.clone()));
        let leaves = axes.chain(numbers.iter().map(|name| (name.as_str(), FLOAT64)));
        let bound = compile_source(Source::new(value, leaves), &Options::default())?;
        let axis = axis.first().map(|name| bound.input_slot(name).cloned()).transpose()?;
        let numbers = numbers.iter().map(|name| bound.input::<f64>(name)).collect::<Result<_, _>>()?;
        Ok(Program { axis, numbers, frames: bound.new_pool(), bound })
    }

    /// The value of a formula without an axis.
    pub(super) fn value(&self, values: impl Iterator<Item = f64>) -> Result<f64, FormulaError> {
        let mut frame = self.frames.take().map_err(CallError::from)?;
        self.numbers.iter().zip(values).for_each(|(slot, value)| frame.set(*slot, value));
        self.bound.execute(&mut frame).map_err(CallError::from)?;
        Ok(frame.get(self.bound.output::<f64>().map_err(CompileError::from)?))
    }

    /// The values at the points of an axis.
    pub(super) fn values(&self, points: &[f64], values: &[f64]) -> Result<Vec<f64>, FormulaError> {
        let mut frame = self.bound.new_frame().map_err(CallError::from)?;
        self.numbers.iter().zip(values).for_each(|(slot, value)| frame.set(*slot, *value));
        let view = NdView::from_slice(points, &[points.len()])?;
        let call = self.bound.call(&mut frame);
        let call = match &self.axis {
            Some(axis) => call.input(axis, &view)?,
            None => call,
        };
        let outputs = call.run()?;
        let view = outputs.elements(self.bound.output_slot()).map_err(CallError::from)?;
        let values: &[f64] = view.as_slice().expect("results are contiguous");
        Ok(if view.rank() == 0 { values.repeat(points.len()) } else { values.to_vec() })
    }
}

/// The values of expressions without leaves: one number each, or the elements of an array.
pub(crate) fn values_of(expressions: &[Expr]) -> Result<Vec<Vec<f64>>, FormulaError> {
    let name = |index: usize| index.to_string();
    let none: [(&str, QType); 0] = [];
    let mut source = Source::new(expressions[0].clone(), none);
    let named = expressions.iter().enumerate().map(|(index, expr)| (name(index).into(), expr.clone()));
    source.side_outputs.extend(named);
    let bound = compile_source(source, &Options::default())?;
    let mut frame = bound.new_frame().map_err(CallError::from)?;
    bound.execute(&mut frame).map_err(CallError::from)?;
    let value = |index| {
        let slot = bound.side_output_slot(&name(index)).map_err(CompileError::from)?;
        let view = frame.nd_view(slot).map_err(CallError::from)?;
        Ok(view.as_slice().expect("results are contiguous").to_vec())
    };
    (0..expressions.len()).map(value).collect()
}
