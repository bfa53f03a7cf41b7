//! What a schedule gives at its initial theta: the rows of parameters, and what constant operations add.
//!
//! It is the lowering itself, with numbers in place of the free parameters, run once.

use crate::compile::CompileError;
use crate::expr::{Expr, ExprBuilder};
use crate::model::error::ModelErrorKind;
use crate::model::formula::{FormulaError, values_of};
use crate::model::lower::lower::{Lowering, sizes};
use crate::model::schedule::plan::{Operation, Schedule};

/// Values at the initial theta.
#[derive(Clone, Debug)]
pub struct InitialValues {
    /// Each row: one value, or one a time.
    pub rows: Vec<Vec<f64>>,
    /// The sum of the constant operations, in the shape of the spectrum.
    pub constant: Vec<f64>,
    /// The same of those among them that are peaks.
    pub constant_peaks: Vec<f64>,
}

/// Evaluates a schedule at its initial theta.
///
/// # Errors
/// A convolution is too large for a program, the expressions are beyond a limit, or there is no memory.
pub fn initial_values(schedule: &Schedule) -> Result<InitialValues, ModelErrorKind> {
    schedule.check_convolutions()?;
    let builder = ExprBuilder::new();
    let lowering = Lowering::of(&builder, schedule, |_, value| builder.literal(value));
    let sum = |wanted: fn(&Operation) -> bool| {
        let all = schedule.operations.iter().enumerate();
        let chosen: Vec<usize> = all.filter(|(_, o)| o.is_constant && wanted(o)).map(|(i, _)| i).collect();
        lowering.sum_of(&chosen, sizes(schedule)).node.build()
    };
    let sums = [sum(|_| true), sum(|operation| operation.is_peak)];
    let rows = lowering.rows.iter().map(|row| row.node.build());
    let expressions: Result<Vec<Expr>, _> = sums.into_iter().chain(rows).collect();
    let expressions = expressions.map_err(CompileError::from).map_err(FormulaError::from)?;
    let mut values = values_of(&expressions)?.into_iter();
    let mut next = || values.next().unwrap_or_default();
    Ok(InitialValues { constant: next(), constant_peaks: next(), rows: values.collect() })
}
