//! A schedule as one expression of the machine: steps become terms of rows, operations sums of products.

use crate::expr::{Expr, ExprBuilder, GraphError};
use crate::model::component::{Function, Role, Semantics};
use crate::model::kernel::support;
use crate::model::lower::addend::{Addend, gathered_by_axes, total};
use crate::model::lower::convolution::{at_first_time, convolve, convolve_sampled};
use crate::model::lower::term::{Rates, Term, sum};
use crate::model::lower::{formula, words};
use crate::model::schedule::plan::{Operation, Row, Schedule, Source, Step, Trace};
use crate::model::schedule::replay::initial_rows;
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
    let mut lowering = Lowering::new(&builder, schedule);
    schedule.steps.iter().for_each(|step| lowering.step(step));
    schedule.operations.iter().for_each(|operation| lowering.operation(operation));
    let curve = |(operation, addends): (&Operation, &Vec<Addend<'_>>)| {
        let curve = total(addends.iter().copied()).unwrap_or_else(|| Term::number(&builder, 0.0));
        Ok((operation.component().to_owned(), curve.node.build()?))
    };
    let (times, energies) = (schedule.time.len(), schedule.energy.len());
    let sizes = match schedule.domain {
        Domain::Energy1D => [1, energies],
        Domain::Time1D => [times, 1],
        Domain::EnergyTime2D => [times, energies],
    };
    Ok(Lowered {
        theta: schedule.theta_names().to_vec(),
        initial: schedule.theta().to_vec(),
        shape: match schedule.domain {
            Domain::Energy1D => vec![sizes[1]],
            Domain::Time1D => vec![sizes[0]],
            Domain::EnergyTime2D => sizes.to_vec(),
        },
        sizes,
        spectrum: lowering.spectrum(sizes).node.build()?,
        curves: schedule.operations.iter().zip(&lowering.curves).map(curve).collect::<Result<_, _>>()?,
    })
}

struct Lowering<'b, 's> {
    builder: &'b ExprBuilder,
    schedule: &'s Schedule,
    energy: Term<'b>,
    aux: Term<'b>,
    /// Rows that are filled so far; the others are NaN.
    rows: Vec<Term<'b>>,
    /// Curves of the operations so far.
    curves: Vec<Vec<Addend<'b>>>,
}

impl<'b, 's> Lowering<'b, 's> {
    fn new(builder: &'b ExprBuilder, schedule: &'s Schedule) -> Lowering<'b, 's> {
        let free = |name: &String| Term { node: builder.leaf(name), rates: Rates::NONE };
        let fixed = schedule.numbers[schedule.free..].iter().map(|number| Term::number(builder, *number));
        let mut rows: Vec<Term<'b>> = schedule.theta_names().iter().map(free).chain(fixed).collect();
        rows.resize(schedule.row_names.len(), Term::number(builder, f64::NAN));
        let axis = |shape: &[usize], values: &[f64], rates| Term::array(builder, shape, values, rates);
        Lowering {
            builder,
            schedule,
            energy: axis(&[1, schedule.energy.len()], &schedule.energy, Rates::ENERGY),
            aux: axis(&[schedule.aux.len(), 1, 1], &schedule.aux, Rates::AUX),
            rows,
            curves: Vec::new(),
        }
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
            Step::Expression { words, .. } => {
                words::evaluate(self.builder, words, |source| self.source(source))
            }
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
        let value = formula::time(trace.function, self.times(&trace.time), &parameters);
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

    /// The value of a parameter, on all points of the auxiliary axis if it has a profile.
    fn source(&self, source: Source) -> Term<'b> {
        match source {
            Source::Row(row) => self.rows[row],
            Source::Sample(index) => {
                let sample = &self.schedule.samples[index];
                let terms = sample.terms.iter().map(|(function, rows)| {
                    let parameters: Vec<Term<'b>> = rows.iter().map(|row| self.rows[*row]).collect();
                    formula::profile(*function, self.aux, &parameters)
                });
                let base = self.rows[sample.base];
                sum(terms).map_or(base, |added| base + added)
            }
            Source::SampleExpression(index) => {
                let words = &self.schedule.sample_expressions[index];
                words::evaluate(self.builder, words, |source| self.source(source))
            }
        }
    }

    fn operation(&mut self, operation: &Operation) {
        let parameters: Vec<Term<'b>> = operation.parameters.iter().map(|s| self.source(*s)).collect();
        let below: Vec<Addend<'b>> =
            operation.reads.iter().flat_map(|index| self.curves[*index].iter().copied()).collect();
        let curve = match (self.schedule.domain, operation.function.role()) {
            (Domain::Time1D, Role::Kernel) => vec![self.convolved(operation.function, &parameters, below)],
            (Domain::Time1D, _) => {
                let times = self.times(&self.schedule.time);
                vec![Addend::new(None, formula::time(operation.function, times, &parameters))]
            }
            (_, Role::SpectrumFed) => self.shirley(&parameters, &below),
            _ => vec![self.component(operation.function, &parameters)],
        };
        self.curves.push(curve);
    }

    /// A kernel of a dynamics model by itself, over what stands below it.
    fn convolved(&self, function: Function, parameters: &[Term<'b>], below: Vec<Addend<'b>>) -> Addend<'b> {
        let support = match self.schedule.semantics {
            Semantics::Current => Vec::new(),
            Semantics::V0_9 => {
                let rows = initial_rows(self.schedule);
                let operation = &self.schedule.operations[self.curves.len()];
                let initial = operation.parameters.iter().map(|source| match source {
                    Source::Row(row) => rows[*row][0],
                    _ => f64::NAN,
                });
                support(function, &self.schedule.time, &initial.collect::<Vec<f64>>())
            }
        };
        let trace = total(below).unwrap_or_else(|| self.number(0.0));
        Addend::new(None, self.convolution(function, &support, parameters, trace))
    }

    /// `p` times the running sums of what is below; of nothing, nothing.
    fn shirley(&self, parameters: &[Term<'b>], below: &[Addend<'b>]) -> Vec<Addend<'b>> {
        let p = parameters[0].mean_of_profile();
        match below {
            [] => vec![Addend::new(None, p * 0.0)],
            _ => {
                let energies = self.schedule.energy.len();
                gathered_by_axes(below).into_iter().map(|addend| addend.shirley(p, energies)).collect()
            }
        }
    }

    /// A peak or background: the mean over the auxiliary axis if a parameter has a profile.
    fn component(&self, function: Function, parameters: &[Term<'b>]) -> Addend<'b> {
        let (factor, shape) = formula::energy(function, self.schedule.semantics, self.energy, parameters);
        match factor {
            Some(factor) if factor.rates.has(Rates::AUX) => {
                Addend::new(None, (factor * shape).mean_of_profile())
            }
            factor => Addend::new(factor, shape.mean_of_profile()),
        }
    }

    /// The sum of the output, at so many times and energies.
    fn spectrum(&self, [times, energies]: [usize; 2]) -> Term<'b> {
        let chosen = self.schedule.output.iter().flat_map(|index| self.curves[*index].iter().copied());
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
