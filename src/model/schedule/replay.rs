//! A schedule played back step by step: the evaluator that other evaluators of schedules are checked with.
//!
//! It does what a schedule says in the order in which it says it, one number at a time, and allocates as
//! it likes. Arithmetic is that of IEEE 754 throughout.

use crate::model::component::{Function, Role, Semantics};
use crate::model::error::ModelErrorKind;
use crate::model::interpret::{ComponentCurve, Spectrum};
use crate::model::schedule::plan::{Operation, Schedule, Source, Step, Trace, Word};
use crate::model::tree::Domain;
use crate::model::{kernel, shape};
use cembra_vm::operator::meter::Meter;
use cembra_vm::value::Fault;
use cembra_vm::value::budget::Account;

/// Evaluates a schedule at some values of theta.
///
/// # Errors
/// Theta has another length.
pub fn evaluate(schedule: &Schedule, theta: &[f64]) -> Result<Spectrum, ModelErrorKind> {
    evaluate_within(schedule, theta, &Meter::of_default())
}

/// The same within a budget: each operation is charged for the points that it is computed at.
///
/// # Errors
/// Theta has another length, or the budget is used up.
pub fn evaluate_within(
    schedule: &Schedule,
    theta: &[f64],
    meter: &Meter<'_>,
) -> Result<Spectrum, ModelErrorKind> {
    let curves = curves_within(schedule, theta, meter)?;
    let values = sum(&curves, &schedule.output, size(schedule));
    let shape = match schedule.domain {
        Domain::Energy1D => vec![schedule.energy.len()],
        Domain::Time1D => vec![schedule.time.len()],
        Domain::EnergyTime2D => vec![schedule.time.len(), schedule.energy.len()],
    };
    Ok(Spectrum { shape, values })
}

/// What each operation adds, by the name of its component, within a budget.
///
/// # Errors
/// As of [`evaluate_within`].
pub fn component_curves_within(
    schedule: &Schedule,
    theta: &[f64],
    meter: &Meter<'_>,
) -> Result<Vec<ComponentCurve>, ModelErrorKind> {
    let named = |(operation, values): (&Operation, Vec<f64>)| ComponentCurve {
        name: operation.component().to_owned(),
        values,
    };
    Ok(schedule.operations.iter().zip(curves_within(schedule, theta, meter)?).map(named).collect())
}

/// The curves of all operations, which are alive together with their rows and two sums.
fn curves_within(
    schedule: &Schedule,
    theta: &[f64],
    meter: &Meter<'_>,
) -> Result<Vec<Vec<f64>>, ModelErrorKind> {
    let numbers = (schedule.operations.len() + 2).saturating_mul(size(schedule));
    let rows = schedule.row_names.len().saturating_mul(width(schedule));
    let bytes = (numbers.saturating_add(rows) as u64).saturating_mul(size_of::<f64>() as u64);
    meter.charge(bytes).map_err(Fault::from)?;
    let rows = self::rows(schedule, theta)?;
    let curves = curves(schedule, &rows, |_| true, meter)?;
    meter.give_back(bytes);
    Ok(curves)
}

/// Numbers in a spectrum.
pub fn size(schedule: &Schedule) -> usize {
    match schedule.domain {
        Domain::Energy1D => schedule.energy.len(),
        Domain::Time1D => schedule.time.len(),
        Domain::EnergyTime2D => schedule.time.len() * schedule.energy.len(),
    }
}

/// How many values a row has: one a time, or one.
fn width(schedule: &Schedule) -> usize {
    if schedule.domain == Domain::EnergyTime2D { schedule.time.len() } else { 1 }
}

/// All rows of parameters.
///
/// # Errors
/// Theta has another length.
pub fn rows(schedule: &Schedule, theta: &[f64]) -> Result<Vec<Vec<f64>>, ModelErrorKind> {
    if theta.len() != schedule.free {
        return Err(ModelErrorKind::ThetaLength { expected: schedule.free, actual: theta.len() });
    }
    let width = width(schedule);
    let numbers = theta.iter().chain(&schedule.numbers[schedule.free..]);
    let mut rows: Vec<Vec<f64>> = numbers.map(|number| vec![*number; width]).collect();
    rows.resize(schedule.row_names.len(), vec![f64::NAN; width]);
    for step in &schedule.steps {
        rows[step.target()] = computed(schedule, step, &rows);
    }
    Ok(rows)
}

fn computed(schedule: &Schedule, step: &Step, rows: &[Vec<f64>]) -> Vec<f64> {
    match step {
        Step::Expression { words, .. } => {
            let value = |at: usize| evaluate_words(words, |source| read_row(source, rows, at));
            (0..width(schedule)).map(value).collect()
        }
        Step::Group { base, traces, .. } => {
            let value = |at: usize| rows[*base][at] + traces.iter().map(|t| traced(t, rows, at)).sum::<f64>();
            (0..width(schedule)).map(value).collect()
        }
        Step::Convolution { target, function, parameters, support } => {
            let parameters: Vec<f64> = parameters.iter().map(|row| rows[*row][0]).collect();
            convolve(schedule, *function, support, &parameters, &rows[*target])
        }
    }
}

fn traced(trace: &Trace, rows: &[Vec<f64>], at: usize) -> f64 {
    if trace.mask[at] == 0.0 {
        return 0.0;
    }
    let parameters: Vec<f64> = trace.parameters.iter().map(|row| rows[*row][0]).collect();
    trace.mask[at] * shape::time(trace.function, trace.time[at], &parameters)
}

fn convolve(schedule: &Schedule, f: Function, support: &[f64], p: &[f64], trace: &[f64]) -> Vec<f64> {
    match schedule.semantics {
        Semantics::Current => kernel::convolve(f, &schedule.time, p, trace),
        Semantics::V0_9 => kernel::convolve_sampled(f, support, p, trace),
    }
}

fn read_row(source: Source, rows: &[Vec<f64>], at: usize) -> f64 {
    match source {
        Source::Row(row) => rows[row][at],
        Source::Sample(_) | Source::SampleExpression(_) => unreachable!("rows are filled before samples"),
    }
}

/// The value of a postfix form.
fn evaluate_words(words: &[Word], read: impl Fn(Source) -> f64) -> f64 {
    let mut stack: Vec<f64> = Vec::new();
    for word in words {
        let value = match *word {
            Word::Constant(number) => number,
            Word::Read(source) => read(source),
            Word::Apply(operation) => {
                let y = stack.pop().expect("operands come first");
                let x = if operation.arity() == 1 { y } else { stack.pop().expect("operands come first") };
                operation.apply(x, y)
            }
        };
        stack.push(value);
    }
    stack.pop().expect("an expression has a value")
}

/// The curves of the operations that are wanted; the others stay empty.
///
/// # Errors
/// The budget is used up.
pub fn curves(
    schedule: &Schedule,
    rows: &[Vec<f64>],
    wanted: impl Fn(&Operation) -> bool,
    meter: &Meter<'_>,
) -> Result<Vec<Vec<f64>>, ModelErrorKind> {
    let mut curves: Vec<Vec<f64>> = Vec::new();
    for operation in &schedule.operations {
        let curve = match wanted(operation) {
            true => curve(schedule, operation, rows, &curves, meter)?,
            false => Vec::new(),
        };
        curves.push(curve);
    }
    Ok(curves)
}

/// The sum of some curves.
pub fn sum(curves: &[Vec<f64>], chosen: &[usize], size: usize) -> Vec<f64> {
    let mut sum = vec![0.0; size];
    for curve in chosen.iter().map(|index| &curves[*index]) {
        sum.iter_mut().zip(curve).for_each(|(sum, value)| *sum += value);
    }
    sum
}

fn curve(
    schedule: &Schedule,
    operation: &Operation,
    rows: &[Vec<f64>],
    curves: &[Vec<f64>],
    meter: &Meter<'_>,
) -> Result<Vec<f64>, ModelErrorKind> {
    let charge = |points: usize| {
        let failed =
            |fault: Fault| ModelErrorKind::exhausted(fault.category(), &fault, operation.component());
        meter.rows(points).map_err(failed)
    };
    let below = sum(curves, &operation.reads, size(schedule));
    if schedule.domain == Domain::Time1D {
        charge(below.len())?;
        return Ok(time_curve(schedule, operation, rows, &below));
    }
    let count = schedule.energy.len();
    let mut curve = Vec::with_capacity(below.len());
    for at in 0..width(schedule) {
        let below = &below[at * count..(at + 1) * count];
        if !operation.is_profiled {
            charge(count)?;
            let parameters = parameters(schedule, operation, rows, at, None);
            curve.extend(component(schedule, operation, &parameters, below));
            continue;
        }
        let mut mean = vec![0.0; count];
        for point in 0..schedule.aux.len() {
            charge(count)?;
            let parameters = parameters(schedule, operation, rows, at, Some(point));
            let sample = component(schedule, operation, &parameters, below);
            mean.iter_mut().zip(sample).for_each(|(sum, value)| *sum += value);
        }
        curve.extend(mean.iter().map(|value| *value / schedule.aux.len() as f64));
    }
    Ok(curve)
}

fn component(schedule: &Schedule, operation: &Operation, p: &[f64], below: &[f64]) -> Vec<f64> {
    match operation.function {
        Function::Shirley => shape::shirley(p[0], below),
        function => shape::on_axis(function, schedule.semantics, &schedule.energy, p),
    }
}

fn time_curve(schedule: &Schedule, operation: &Operation, rows: &[Vec<f64>], below: &[f64]) -> Vec<f64> {
    let p = parameters(schedule, operation, rows, 0, None);
    match operation.function.role() {
        Role::Kernel => {
            let support = match schedule.semantics {
                Semantics::Current => Vec::new(),
                Semantics::V0_9 => {
                    let initial = parameters(schedule, operation, &initial_rows(schedule), 0, None);
                    kernel::support(operation.function, &schedule.time, &initial)
                }
            };
            convolve(schedule, operation.function, &support, &p, below)
        }
        _ => schedule.time.iter().map(|t| shape::time(operation.function, *t, &p)).collect(),
    }
}

/// Rows at the initial theta.
pub fn initial_rows(schedule: &Schedule) -> Vec<Vec<f64>> {
    rows(schedule, schedule.theta()).expect("theta is the schedule's own")
}

/// The parameters of an operation at one time and one point of the auxiliary axis.
fn parameters(
    schedule: &Schedule,
    operation: &Operation,
    rows: &[Vec<f64>],
    at: usize,
    point: Option<usize>,
) -> Vec<f64> {
    operation.parameters.iter().map(|source| read(schedule, *source, rows, at, point)).collect()
}

fn read(schedule: &Schedule, source: Source, rows: &[Vec<f64>], at: usize, point: Option<usize>) -> f64 {
    match (source, point) {
        (Source::Row(row), _) => rows[row][at],
        (Source::Sample(index), Some(point)) => {
            let sample = &schedule.samples[index];
            let term = |(function, parameters): &(Function, Vec<usize>)| {
                let parameters: Vec<f64> = parameters.iter().map(|row| rows[*row][at]).collect();
                shape::profile(*function, schedule.aux[point], &parameters)
            };
            rows[sample.base][at] + sample.terms.iter().map(term).sum::<f64>()
        }
        (Source::SampleExpression(index), Some(_)) => {
            let words = &schedule.sample_expressions[index];
            evaluate_words(words, |source| read(schedule, source, rows, at, point))
        }
        (_, None) => unreachable!("only means over the auxiliary axis read samples"),
    }
}
