//! A schedule played back step by step, one number at a time, with formulas of its own.
//!
//! It does what a schedule says in the order in which it says it, and allocates as it likes. Arithmetic is that of IEEE 754
//! throughout.

use crate::reference::shape;
use cembra::model::component::{Function, Role, Semantics};
use cembra::model::interpret::Spectrum;
use cembra::model::schedule::plan::{Operation, Schedule, Source, Step, Trace};
use cembra::model::tree::Domain;

/// Evaluates a schedule at some values of theta.
pub fn evaluate(schedule: &Schedule, theta: &[f64]) -> Spectrum {
    let rows = rows(schedule, theta);
    let mut curves: Vec<Vec<f64>> = Vec::new();
    for operation in &schedule.operations {
        curves.push(curve(schedule, operation, &rows, &curves));
    }
    let values = sum(&curves, &schedule.output, size(schedule));
    let shape = match schedule.domain {
        Domain::Energy1D => vec![schedule.energy.len()],
        Domain::Time1D => vec![schedule.time.len()],
        Domain::EnergyTime2D => vec![schedule.time.len(), schedule.energy.len()],
    };
    Spectrum { shape, values }
}

/// Numbers in a spectrum.
fn size(schedule: &Schedule) -> usize {
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
fn rows(schedule: &Schedule, theta: &[f64]) -> Vec<Vec<f64>> {
    assert_eq!(theta.len(), schedule.free);
    let width = width(schedule);
    let numbers = theta.iter().chain(&schedule.numbers[schedule.free..]);
    let mut rows: Vec<Vec<f64>> = numbers.map(|number| vec![*number; width]).collect();
    rows.resize(schedule.row_names.len(), vec![f64::NAN; width]);
    for step in &schedule.steps {
        rows[step.target()] = computed(schedule, step, &rows);
    }
    rows
}

fn computed(schedule: &Schedule, step: &Step, rows: &[Vec<f64>]) -> Vec<f64> {
    match step {
        Step::Expression { value, .. } => {
            let value = |at: usize| value.formula.evaluate(|name| read_row(value.sources[name], rows, at));
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
        Semantics::Current => shape::convolve(f, &schedule.time, p, trace),
        Semantics::V0_9 => shape::convolve_sampled(f, support, p, trace),
    }
}

fn read_row(source: Source, rows: &[Vec<f64>], at: usize) -> f64 {
    match source {
        Source::Row(row) => rows[row][at],
        Source::Sample(_) | Source::SampleExpression(_) => unreachable!("rows are filled before samples"),
    }
}

/// The sum of some curves.
fn sum(curves: &[Vec<f64>], chosen: &[usize], size: usize) -> Vec<f64> {
    let mut sum = vec![0.0; size];
    for curve in chosen.iter().map(|index| &curves[*index]) {
        sum.iter_mut().zip(curve).for_each(|(sum, value)| *sum += value);
    }
    sum
}

fn curve(schedule: &Schedule, operation: &Operation, rows: &[Vec<f64>], curves: &[Vec<f64>]) -> Vec<f64> {
    let below = sum(curves, &operation.reads, size(schedule));
    if schedule.domain == Domain::Time1D {
        return time_curve(schedule, operation, rows, &below);
    }
    let count = schedule.energy.len();
    let mut curve = Vec::with_capacity(below.len());
    for at in 0..width(schedule) {
        let below = &below[at * count..(at + 1) * count];
        if !operation.is_profiled {
            let parameters = parameters(schedule, operation, rows, at, None);
            curve.extend(component(schedule, operation, &parameters, below));
            continue;
        }
        let mut mean = vec![0.0; count];
        for point in 0..schedule.aux.len() {
            let parameters = parameters(schedule, operation, rows, at, Some(point));
            let sample = component(schedule, operation, &parameters, below);
            mean.iter_mut().zip(sample).for_each(|(sum, value)| *sum += value);
        }
        curve.extend(mean.iter().map(|value| *value / schedule.aux.len() as f64));
    }
    curve
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
        Role::Kernel => convolve(schedule, operation.function, &operation.support, &p, below),
        _ => schedule.time.iter().map(|t| shape::time(operation.function, *t, &p)).collect(),
    }
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
            let value = &schedule.sample_expressions[index];
            value.formula.evaluate(|name| read(schedule, value.sources[name], rows, at, point))
        }
        (_, None) => unreachable!("only means over the auxiliary axis read samples"),
    }
}
