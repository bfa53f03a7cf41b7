//! A schedule as one expression of the machine: steps become terms of rows, operations sums of products.

use crate::expr::{Expr, ExprBuilder, ExprRef, GraphError};
use crate::model::component::{Function, Role, Semantics};
use crate::model::formula::build::Built;
use crate::model::lower::addend::{Addend, gathered_by_axes, total};
use crate::model::lower::convolution::{at_first_time, convolve, convolve_sampled};
use crate::model::lower::term::{Rates, Term, sum};
use crate::model::schedule::plan::{Expression, Operation, Row, Schedule, Source, Step, Trace};
use crate::model::tree::Domain;
use crate::registry::derived::nd;

/// A model as expressions over its free parameters, which are FLOAT64 leaves by name.
#[derive(Clone, Debug)]
pub struct Lowered {
    /// Names of the leaves, in the order of theta.
    pub theta: Vec<String>,
    /// Their initial values.
    pub initial: Vec<f64>,
    /// Times and energies of the spectrum, or one of both.
    pub shape: Vec<usize>,
    /// Times and energies; 1 for an axis that the spectrum has not.
    pub sizes: [usize; 2],
    /// The spectrum: an array of two axes, time and energy, of these sizes.
    pub spectrum: Expr,
    /// What each component adds to it, by name: a scalar or an array that broadcasts to the spectrum.
    pub curves: Vec<(String, Expr)>,
}

/// Lowers a schedule.
///
/// # Errors
/// The expression would have too many nodes.
pub fn lower(schedule: &Schedule) -> Result<Lowered, GraphError> {
    let builder = ExprBuilder::new();
    let lowering = Lowering::of(&builder, schedule, |name, _| builder.leaf(name));
    let curve = |(operation, addends): (&Operation, &Vec<Addend<'_>>)| {
        let curve = total(addends.iter().copied()).unwrap_or_else(|| Term::number(&builder, 0.0));
        Ok((operation.component().to_owned(), curve.node.build()?))
    };
    let sizes = sizes(schedule);
    Ok(Lowered {
        theta: schedule.theta_names().to_vec(),
        initial: schedule.theta().to_vec(),
        shape: match schedule.domain {
            Domain::Energy1D => vec![sizes[1]],
            Domain::Time1D => vec![sizes[0]],
            Domain::EnergyTime2D => sizes.to_vec(),
        },
        sizes,
        spectrum: lowering.sum_of(&schedule.output, sizes).node.build()?,
        curves: schedule.operations.iter().zip(&lowering.curves).map(curve).collect::<Result<_, _>>()?,
    })
}

/// Times and energies; 1 for an axis that the spectrum has not.
pub(super) fn sizes(schedule: &Schedule) -> [usize; 2] {
    let (times, energies) = (schedule.time.len(), schedule.energy.len());
    match schedule.domain {
        Domain::Energy1D => [1, energies],
        Domain::Time1D => [times, 1],
        Domain::EnergyTime2D => [times, energies],
    }
}

/// Rows and curves of a schedule, as terms.
pub(super) struct Lowering<'b, 's> {
    builder: &'b ExprBuilder,
    schedule: &'s Schedule,
    energy: Term<'b>,
    aux: Term<'b>,
    /// Rows that are filled so far; the others are NaN.
    pub(super) rows: Vec<Term<'b>>,
    /// Curves of the operations so far.
    curves: Vec<Vec<Addend<'b>>>,
}

impl<'b, 's> Lowering<'b, 's> {
    /// All steps and operations; `theta` makes nodes of the names and initial values of free parameters.
    pub(super) fn of(
        builder: &'b ExprBuilder,
        schedule: &'s Schedule,
        theta: impl Fn(&str, f64) -> ExprRef<'b>,
    ) -> Lowering<'b, 's> {
        let named = schedule.theta_names().iter().zip(schedule.theta());
        let free = named.map(|(name, value)| Term { node: theta(name, *value), rates: Rates::NONE });
        let fixed = schedule.numbers[schedule.free..].iter().map(|number| Term::number(builder, *number));
        let mut rows: Vec<Term<'b>> = free.chain(fixed).collect();
        rows.resize(schedule.row_names.len(), Term::number(builder, f64::NAN));
        let axis = |shape: &[usize], values: &[f64], rates| Term::array(builder, shape, values, rates);
        let mut lowering = Lowering {
            builder,
            schedule,
            energy: axis(&[1, schedule.energy.len()], &schedule.energy, Rates::ENERGY),
            aux: axis(&[schedule.aux.len(), 1, 1], &schedule.aux, Rates::AUX),
            rows,
            curves: Vec::new(),
        };
        schedule.steps.iter().for_each(|step| lowering.step(step));
        schedule.operations.iter().for_each(|operation| lowering.operation(operation));
        lowering
    }

    fn number(&self, value: f64) -> Term<'b> {
        Term::number(self.builder, value)
    }

    /// An axis of as many points as there are times.
    fn times(&self, times: &[f64]) -> Term<'b> {
        Term::array(self.builder, &[times.len(), 1], times, Rates::TIME)
    }

    /// Parameters of a trace or kernel, which do not change with time.
    fn parameters(&self, rows: &[Row]) -> Vec<Term<'b>> {
        rows.iter().map(|row| at_first_time(self.rows[*row])).collect()
    }

    fn step(&mut self, step: &Step) {
        self.rows[step.target()] = match step {
            Step::Expression { value, .. } => self.expression(value),
            Step::Group { base, traces, .. } => {
                let added = sum(traces.iter().map(|trace| self.trace(trace)));
                added.map_or(self.rows[*base], |added| self.rows[*base] + added)
            }
            Step::Convolution { target, function, parameters, support } => {
                self.convolution(*function, support, &self.parameters(parameters), self.rows[*target])
            }
        };
    }

    fn trace(&self, trace: &Trace) -> Term<'b> {
        let parameters = self.parameters(&trace.parameters);
        let value = self.formula(trace.function, self.times(&trace.time), &parameters).whole();
        if trace.mask.iter().all(|factor| *factor == 1.0) {
            return value;
        }
        let active: Vec<bool> = trace.mask.iter().map(|factor| *factor != 0.0).collect();
        let scaled = match trace.mask.iter().all(|factor| [0.0, 1.0].contains(factor)) {
            true => value,
            false => self.times(&trace.mask) * value,
        };
        Term::mask(self.builder, &[active.len(), 1], &active, Rates::TIME).select(scaled, self.number(0.0))
    }

    fn convolution(&self, f: Function, support: &[f64], p: &[Term<'b>], trace: Term<'b>) -> Term<'b> {
        let times = &self.schedule.time;
        match self.schedule.semantics {
            Semantics::Current => convolve(f, times, p, trace),
            Semantics::V0_9 => convolve_sampled(f, support, times.len(), p, trace),
        }
    }

    /// What a function computes along an axis.
    fn formula(&self, function: Function, axis: Term<'b>, parameters: &[Term<'b>]) -> Built<'b> {
        function.formula(self.schedule.semantics).along(axis, parameters)
    }

    fn expression(&self, value: &Expression) -> Term<'b> {
        let terms: Vec<Term<'b>> = value.sources.iter().map(|source| self.source(*source)).collect();
        value.formula.build(self.builder, &terms).whole()
    }

    /// The value of a parameter, on all points of the auxiliary axis if it has a profile.
    fn source(&self, source: Source) -> Term<'b> {
        match source {
            Source::Row(row) => self.rows[row],
            Source::Sample(index) => {
                let sample = &self.schedule.samples[index];
                let terms = sample.terms.iter().map(|(function, rows)| {
                    let parameters: Vec<Term<'b>> = rows.iter().map(|row| self.rows[*row]).collect();
                    self.formula(*function, self.aux, &parameters).whole()
                });
                let base = self.rows[sample.base];
                sum(terms).map_or(base, |added| base + added)
            }
            Source::SampleExpression(index) => self.expression(&self.schedule.sample_expressions[index]),
        }
    }

    fn operation(&mut self, operation: &Operation) {
        let parameters: Vec<Term<'b>> = operation.parameters.iter().map(|s| self.source(*s)).collect();
        let below: Vec<Addend<'b>> =
            operation.reads.iter().flat_map(|index| self.curves[*index].iter().copied()).collect();
        let curve = match (self.schedule.domain, operation.function.role()) {
            (Domain::Time1D, Role::Kernel) => {
                let trace = total(below).unwrap_or_else(|| self.number(0.0));
                let convolved = self.convolution(operation.function, &operation.support, &parameters, trace);
                vec![Addend::new(None, convolved)]
            }
            (Domain::Time1D, _) => {
                let times = self.times(&self.schedule.time);
                vec![Addend::new(None, self.formula(operation.function, times, &parameters).whole())]
            }
            (_, Role::SpectrumFed) => self.fed(operation.function, &parameters, &below),
            _ => vec![self.component(operation.function, &parameters)],
        };
        self.curves.push(curve);
    }

    /// A function of the spectrum that is below; of nothing, nothing.
    fn fed(&self, function: Function, parameters: &[Term<'b>], below: &[Addend<'b>]) -> Vec<Addend<'b>> {
        let means: Vec<Term<'b>> = parameters.iter().map(|parameter| parameter.mean_of_profile()).collect();
        let energies = self.schedule.energy.len();
        let fed = |addend: Addend<'b>| addend.fed(energies, |shape| self.formula(function, shape, &means));
        match below {
            [] => vec![Addend::new(None, means[0] * 0.0)],
            _ => gathered_by_axes(below).into_iter().map(fed).collect(),
        }
    }

    /// A peak or background: the mean over the auxiliary axis if a parameter has a profile.
    fn component(&self, function: Function, parameters: &[Term<'b>]) -> Addend<'b> {
        let Built { factor, rest: shape } = self.formula(function, self.energy, parameters);
        match factor {
            Some(factor) if factor.rates.has(Rates::AUX) => {
                Addend::new(None, (factor * shape).mean_of_profile())
            }
            factor => Addend::new(factor, shape.mean_of_profile()),
        }
    }

    /// The sum of some operations, at so many times and energies.
    pub(super) fn sum_of(&self, operations: &[usize], [times, energies]: [usize; 2]) -> Term<'b> {
        let chosen = operations.iter().flat_map(|index| self.curves[*index].iter().copied());
        let spectrum = total(chosen).unwrap_or_else(|| self.number(0.0));
        let rates = match self.schedule.domain {
            Domain::Energy1D => Rates::ENERGY,
            Domain::Time1D => Rates::TIME,
            Domain::EnergyTime2D => Rates::TIME | Rates::ENERGY,
        };
        if spectrum.rates == rates {
            return spectrum;
        }
        let size = |size: usize| self.builder.literal(size as i64);
        let node = self.builder.call(nd::BROADCAST_TO, &[spectrum.node, size(times), size(energies)]);
        Term { node, rates }
    }
}
