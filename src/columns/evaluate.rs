//! Evaluation of a batch: a program on arrays, and what becomes of rows that fail.
//!
//! An operator that raises names the lowest row it raises for; the others of that row or of lower ones
//! may raise too. So the batch is computed again in shorter stretches:
//!
//! ```text
//! rows      0 ─────────────────────────────────── n
//! attempt   [────────────────x───────────────────]   row x raises
//! attempts  [───────][──────][x][───────][─────────]   at most half as long after a failure,
//!                                                      twice as long after a success
//! ```
//!
//! Where an operator raises without naming the row, halves are tried until one row is left.
//!
//! A stretch that begins with the row that raises passes over it. The work for a batch is bounded by the
//! number of rows that fail times their logarithm, and by a run for each row.

use crate::columns::error::{ColumnsError, Problem};
use cembra_vm::frame::Frame;
use cembra_vm::layout::TypedSlot;
use cembra_vm::machine::{self, BoundExpr, RunError, RunErrorKind, SharedBudget};
use cembra_vm::value::{ArrayClass, ArrayRows, Budget, Fault, ScalarType, ScalarValue, Value};
use std::ops::Range;
use std::sync::Arc;

/// What happens to a row that cannot be read or computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnError {
    /// The run ends, and nothing is written.
    #[default]
    Fail,
    /// All results of the row are missing.
    Null,
    /// The row is left out.
    Skip,
}

/// What a program makes of a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// A row for each row, by that row alone. A scalar result stands in every row.
    #[default]
    EachRow,
    /// The same, but an error may name no row.
    EachRowUnnamed,
    /// Any rows. Without an array among the results there is one row of scalars.
    AllRows,
}

/// A program with a frame, and its columns.
#[derive(Debug)]
pub struct Evaluator {
    bound: BoundExpr,
    frame: Frame,
    inputs: Vec<TypedSlot>,
    outputs: Vec<TypedSlot>,
    /// Types of the results.
    elements: Vec<ScalarType>,
    scope: Scope,
    /// Of all batches.
    budget: SharedBudget,
}

/// What a batch gives.
#[derive(Debug, Default)]
pub struct Results {
    /// An array per result.
    pub columns: Vec<ArrayRows>,
    /// Rows that failed, in order.
    pub failed: Vec<(usize, Problem)>,
}

/// The first row of an attempt that fails, and how.
type Failure = (usize, RunError);

impl Evaluator {
    /// A program whose columns are these inputs and outputs. Results are of the types of `elements`.
    ///
    /// # Errors
    /// The program lacks one of them, or the frame cannot be made.
    pub fn new(
        bound: BoundExpr,
        inputs: &[Arc<str>],
        outputs: Vec<TypedSlot>,
        elements: Vec<ScalarType>,
        constants: &[(Arc<str>, Value)],
        scope: Scope,
    ) -> Result<Evaluator, ColumnsError> {
        let mut frame = bound.new_frame()?;
        for (name, value) in constants {
            if let Ok(slot) = bound.input_slot(name) {
                frame.write(slot, value)?;
            }
        }
        let inputs = inputs.iter().map(|name| bound.input_slot(name).cloned()).collect::<Result<_, _>>()?;
        let budget = SharedBudget::default();
        Ok(Evaluator { bound, frame, inputs, outputs, elements, scope, budget })
    }

    /// The same within a budget.
    pub fn within(self, budget: Budget) -> Evaluator {
        Evaluator { budget: SharedBudget::new(budget), ..self }
    }

    /// Computes a batch of `count` rows, of which some are known to be bad.
    ///
    /// # Errors
    /// A row fails and `on_error` says that the run fails: the lowest one, as the only failed row of the
    /// results. Or the program fails for no row in particular.
    pub fn batch(
        &mut self,
        columns: &mut [ArrayRows],
        count: usize,
        bad: &[(usize, Problem)],
        on_error: OnError,
    ) -> Result<Results, ColumnsError> {
        if bad.is_empty() {
            match self.attempt(columns, count)? {
                Ok(columns) => return Ok(Results { columns, failed: Vec::new() }),
                Err((row, error)) if on_error == OnError::Fail => {
                    return self.lowest(columns, (row, Problem::Raised(Box::new(error))));
                }
                Err(_) => {}
            }
        }
        match (on_error, bad.first()) {
            (OnError::Fail, Some(first)) => self.lowest(columns, first.clone()),
            _ => self.stretches(columns, count, bad, on_error),
        }
    }

    /// The lowest row that fails, where this row does.
    fn lowest(
        &mut self,
        columns: &[ArrayRows],
        mut known: (usize, Problem),
    ) -> Result<Results, ColumnsError> {
        // Other rows may only be left away if the program does not look at them.
        while known.0 > 0 && self.scope != Scope::AllRows {
            match self.attempt(&mut slices(columns, 0..known.0), known.0)? {
                Ok(_) => break,
                Err((row, error)) => known = (row, Problem::Raised(Box::new(error))),
            }
        }
        Ok(Results { columns: Vec::new(), failed: vec![known] })
    }

    /// All rows that do not fail, and what stands for those that do.
    fn stretches(
        &mut self,
        columns: &[ArrayRows],
        count: usize,
        bad: &[(usize, Problem)],
        on_error: OnError,
    ) -> Result<Results, ColumnsError> {
        let columns_out = self.elements.iter().map(|element| ArrayRows::new(*element)).collect();
        let mut results = Results { columns: columns_out, failed: Vec::new() };
        let (mut row, mut length, mut bad) = (0, count.max(1), bad.iter().peekable());
        while row < count {
            if let Some((_, problem)) = bad.next_if(|(at, _)| *at == row) {
                results.fail(row, problem.clone(), on_error);
                row += 1;
                continue;
            }
            let end = bad.peek().map_or(count, |(at, _)| *at).min(row.saturating_add(length));
            match self.attempt(&mut slices(columns, row..end), end - row)? {
                Ok(part) => {
                    results.append(&part);
                    row = end;
                    length = length.saturating_mul(2);
                }
                Err((0, error)) => {
                    results.fail(row, Problem::Raised(Box::new(error)), on_error);
                    row += 1;
                    length = (length / 2).max(1);
                }
                Err((good, _)) => length = good.min(length / 2).max(1),
            }
        }
        Ok(results)
    }

    /// Runs the program on `count` rows; the columns are back in their place afterwards.
    fn attempt(
        &mut self,
        columns: &mut [ArrayRows],
        count: usize,
    ) -> Result<Result<Vec<ArrayRows>, Failure>, ColumnsError> {
        if let Err(error) = self.run(columns)? {
            return self.failure(columns, count, error).map(Err);
        }
        let values = self.outputs.iter().map(|slot| self.frame.read(slot));
        let values: Vec<Value> = values.collect::<Result<_, _>>()?;
        let length = |value: &Value| match value {
            Value::Array(_, rows) => Some(rows.len()),
            _ => None,
        };
        let rows = self.common_length(values.iter().filter_map(length).collect(), count)?;
        let results = values.into_iter().zip(&self.elements);
        Ok(Ok(results.map(|(value, element)| result(value, *element, rows)).collect()))
    }

    /// The row that an error is for.
    fn failure(
        &mut self,
        columns: &[ArrayRows],
        count: usize,
        error: RunError,
    ) -> Result<Failure, ColumnsError> {
        match &error.kind {
            RunErrorKind::Fault(Fault::Row { row, .. }) => {
                Ok((usize::try_from(*row).unwrap_or(usize::MAX), error))
            }
            RunErrorKind::Fault(_)
                if self.scope == Scope::EachRowUnnamed && count > 0 && !error.is_exhausted() =>
            {
                self.search(columns, count, error)
            }
            _ => Err(self.failure_of_no_row(columns, error)?),
        }
    }

    /// An error that is none of a single row.
    fn failure_of_no_row(
        &mut self,
        columns: &[ArrayRows],
        error: RunError,
    ) -> Result<ColumnsError, ColumnsError> {
        let error = Box::new(error);
        match self.scope != Scope::AllRows && self.fails_without_rows(columns)? {
            true => Ok(ColumnsError::EveryRow(error)),
            false => Ok(ColumnsError::Run(error)),
        }
    }

    /// True if a part of the program that reads no column raises.
    fn fails_without_rows(&mut self, columns: &[ArrayRows]) -> Result<bool, ColumnsError> {
        let outcome = self.run(&mut slices(columns, 0..0))?;
        Ok(outcome.is_err_and(|error| matches!(error.kind, RunErrorKind::Fault(_)) && !error.is_exhausted()))
    }

    /// The first row that fails, where the error names none: the first half that fails has it.
    fn search(
        &mut self,
        columns: &[ArrayRows],
        count: usize,
        error: RunError,
    ) -> Result<Failure, ColumnsError> {
        let half = count / 2;
        if count == 1 {
            return match self.fails_without_rows(columns)? {
                true => Err(ColumnsError::EveryRow(Box::new(error))),
                false => Ok((0, error)),
            };
        }
        if let Err(failure) = self.attempt(&mut slices(columns, 0..half), half)? {
            return Ok(failure);
        }
        match self.attempt(&mut slices(columns, half..count), count - half)? {
            Err((row, error)) => Ok((half + row, error)),
            Ok(_) => Err(ColumnsError::Run(Box::new(error))),
        }
    }

    /// Rows of the results, of which some are arrays of these lengths.
    fn common_length(&self, lengths: Vec<usize>, count: usize) -> Result<usize, ColumnsError> {
        let scalars = if self.scope == Scope::AllRows { 1 } else { count };
        let first = lengths.first().copied().unwrap_or(scalars);
        match lengths.iter().find(|length| **length != first) {
            None => Ok(first),
            Some(other) => Err(ColumnsError::OutputLengths { first, other: *other }),
        }
    }

    /// Runs the program on what the batches before it have left.
    fn execute(&mut self) -> Result<(), RunError> {
        let share = self.budget.share();
        self.bound.execute_with(&mut self.frame, machine::RunOptions::new().within(Some(&share)))
    }

    fn run(&mut self, columns: &mut [ArrayRows]) -> Result<Result<(), RunError>, ColumnsError> {
        let take = |rows: &mut ArrayRows| {
            let empty = ArrayRows::new(rows.element());
            Arc::new(std::mem::replace(rows, empty))
        };
        let shared: Vec<Arc<ArrayRows>> = columns.iter_mut().map(take).collect();
        for (slot, rows) in self.inputs.iter().zip(&shared) {
            self.frame.write(slot, &Value::Array(ArrayClass::Dense, rows.clone()))?;
        }
        let outcome = self.execute();
        // An output may be an input itself: it keeps its rows until it is read.
        let is_output = |slot: &TypedSlot| self.outputs.contains(slot);
        for ((slot, rows), column) in self.inputs.iter().zip(shared).zip(columns) {
            if !is_output(slot) {
                let empty = Arc::new(ArrayRows::new(rows.element()));
                self.frame.write(slot, &Value::Array(ArrayClass::Dense, empty))?;
            }
            *column = Arc::unwrap_or_clone(rows);
        }
        Ok(outcome)
    }
}

/// Rows of each column by themselves.
fn slices(columns: &[ArrayRows], range: Range<usize>) -> Vec<ArrayRows> {
    let slice = |rows: &ArrayRows| {
        let mut part = ArrayRows::new(rows.element());
        range.clone().for_each(|row| part.push_row_of(rows, row));
        part
    };
    columns.iter().map(slice).collect()
}

/// A result as a column: masks become truth values, and a scalar stands in every row.
fn result(value: Value, element: ScalarType, count: usize) -> ArrayRows {
    match value {
        Value::Array(_, rows) if rows.element() == ScalarType::Unit => truth_values(&rows),
        Value::Array(_, rows) if rows.element() == element => Arc::unwrap_or_clone(rows),
        Value::Array(_, rows) => rows.retyped(element),
        scalar => {
            let mut rows = ArrayRows::new(element);
            let cell = match scalar.scalar() {
                Some(ScalarValue::WeakFloat(value)) => Some(ScalarValue::Float64(*value)),
                Some(ScalarValue::Unit) => Some(ScalarValue::Boolean(true)),
                // A mask is a truth value, present or missing.
                None if element == ScalarType::Boolean && scalar == Value::presence(false) => {
                    Some(ScalarValue::Boolean(false))
                }
                other => other.cloned(),
            };
            (0..count).for_each(|_| rows.push(cell.as_ref()));
            rows
        }
    }
}

fn truth_values(mask: &ArrayRows) -> ArrayRows {
    let mut rows = ArrayRows::new(ScalarType::Boolean);
    (0..mask.len()).for_each(|row| rows.push_raw(true, &[u8::from(mask.is_present(row))]));
    rows
}

impl Results {
    fn append(&mut self, part: &[ArrayRows]) {
        for (all, part) in self.columns.iter_mut().zip(part) {
            (0..part.len()).for_each(|row| all.push_row_of(part, row));
        }
    }

    fn fail(&mut self, row: usize, problem: Problem, on_error: OnError) {
        self.failed.push((row, problem));
        if on_error == OnError::Null {
            self.columns.iter_mut().for_each(ArrayRows::push_missing);
        }
    }
}
