//! The plain interpreter: for each time, for each component, for each parameter.
//!
//! This is how the published system evaluates without lowering, kept as the reference that every other
//! way is compared with. Components combine from the last one in the file upwards: each adds its value,
//! a spectrum-fed background reads what has been accumulated so far, a kernel convolves it.
//!
//! ```text
//! Offset    4th: + y0
//! Shirley   3rd: + p · sums of what is there
//! GLP_01    2nd: + peak
//! GLP_02    1st:   peak
//! ```

use crate::model::component::{Role, Semantics};
use crate::model::error::ModelErrorKind;
use crate::model::kernel;
use crate::model::tree::{Component, Domain, Dynamics, Model, Parameter, ParameterId};
use cembra_vm::array::meter::Meter;
use cembra_vm::value::Fault;
use cembra_vm::value::budget::Account;

/// A spectrum: one row a time, or one row at all.
#[derive(Clone, Debug, PartialEq)]
pub struct Spectrum {
    /// Times and energies, or one of both.
    pub shape: Vec<usize>,
    /// Row after row.
    pub values: Vec<f64>,
}

/// A component's own curve.
#[derive(Clone, Debug, PartialEq)]
pub struct ComponentCurve {
    /// Name of the component.
    pub name: String,
    /// Its contribution, in the shape of the spectrum.
    pub values: Vec<f64>,
}

/// Evaluates a model at some values of its free parameters, which stand in the order of
/// [`Model::theta_names`].
///
/// # Errors
/// Theta has another length.
pub fn evaluate(model: &Model, theta: &[f64]) -> Result<Spectrum, ModelErrorKind> {
    evaluate_within(model, theta, &Meter::of_default())
}

/// The same within a budget: each component is charged for the points that it is computed at.
///
/// # Errors
/// Theta has another length, or the budget is used up.
pub fn evaluate_within(model: &Model, theta: &[f64], meter: &Meter<'_>) -> Result<Spectrum, ModelErrorKind> {
    let shape = shape_of(model);
    let mut values = meter.vec(shape.iter().product())?;
    let interpreter = Interpreter::new(model, theta, meter)?;
    interpreter.each_row(|row| row.total.iter().for_each(|value| values.push(*value)))?;
    Ok(Spectrum { shape, values: values.into_alive() })
}

/// The contribution of each component, in the order of the file; their sum is the spectrum.
///
/// # Errors
/// Theta has another length.
pub fn component_curves(model: &Model, theta: &[f64]) -> Result<Vec<ComponentCurve>, ModelErrorKind> {
    component_curves_within(model, theta, &Meter::of_default())
}

/// The same within a budget.
///
/// # Errors
/// As of [`evaluate_within`].
pub fn component_curves_within(
    model: &Model,
    theta: &[f64],
    meter: &Meter<'_>,
) -> Result<Vec<ComponentCurve>, ModelErrorKind> {
    let size = shape_of(model).iter().product();
    let mut curves = model.components.iter().map(|_| meter.vec(size)).collect::<Result<Vec<_>, _>>()?;
    Interpreter::new(model, theta, meter)?.each_row(|row| {
        for (curve, part) in curves.iter_mut().zip(&row.parts) {
            part.iter().for_each(|value| curve.push(*value));
        }
    })?;
    let named = model.components.iter().zip(curves);
    Ok(named
        .map(|(c, values)| ComponentCurve { name: c.name.clone(), values: values.into_alive() })
        .collect())
}

/// Sizes of the axes of a spectrum.
pub fn shape_of(model: &Model) -> Vec<usize> {
    match model.domain {
        Domain::Energy1D => vec![model.energy.len()],
        Domain::Time1D => vec![model.time.len()],
        Domain::EnergyTime2D => vec![model.time.len(), model.energy.len()],
    }
}

/// The spectrum at one time and what each component adds to it.
struct Row {
    total: Vec<f64>,
    parts: Vec<Vec<f64>>,
}

struct Interpreter<'m> {
    model: &'m Model,
    /// One value a parameter, without what is attached.
    base: Vec<f64>,
    /// What dynamics add to a parameter, by time.
    traces: Vec<Option<Vec<f64>>>,
    /// What the evaluation may use up.
    meter: &'m Meter<'m>,
}

impl<'m> Interpreter<'m> {
    fn new(model: &'m Model, theta: &[f64], meter: &'m Meter<'m>) -> Result<Interpreter<'m>, ModelErrorKind> {
        let base = model.base_values(theta)?;
        let mut interpreter = Interpreter { model, base, traces: Vec::new(), meter };
        let trace = |p: &Parameter| p.dynamics.as_ref().map(|d| interpreter.trace(d)).transpose();
        interpreter.traces = model.parameters.iter().map(trace).collect::<Result<_, _>>()?;
        Ok(interpreter)
    }

    /// Computes one row after the other. Only one is kept.
    fn each_row(&self, mut each: impl FnMut(Row)) -> Result<(), ModelErrorKind> {
        let model = self.model;
        // What a row holds: its sum, its parts, and what the part that is computed needs.
        let bytes = (self.points() * size_of::<f64>()) as u64 * (model.components.len() as u64 + 3);
        self.meter.charge(bytes).map_err(Fault::from)?;
        match model.domain {
            Domain::EnergyTime2D => {
                for time in 0..model.time.len() {
                    each(self.row(Some(time))?);
                }
            }
            Domain::Energy1D | Domain::Time1D => each(self.row(None)?),
        }
        self.meter.give_back(bytes);
        Ok(())
    }

    /// Points of a row.
    fn points(&self) -> usize {
        if self.model.domain == Domain::Time1D { self.model.time.len() } else { self.model.energy.len() }
    }

    /// Charges the points that a component is about to be computed at.
    fn charge(&self, component: &Component, points: usize) -> Result<(), ModelErrorKind> {
        let failed = |fault: Fault| ModelErrorKind::exhausted(fault.category(), &fault, &component.name);
        self.meter.rows(points).map_err(failed)
    }

    fn arguments(&self, component: &Component, values: &[f64]) -> Vec<f64> {
        component.arguments.iter().map(|id| values[id.0]).collect()
    }

    /// What all components of a parameter's dynamics add to it.
    fn trace(&self, dynamics: &Dynamics) -> Result<Vec<f64>, ModelErrorKind> {
        let mut sum = vec![0.0; self.model.time.len()];
        for component in dynamics.components.iter().rev() {
            self.accumulate_time(component, Some(dynamics), &mut sum)?;
        }
        Ok(sum)
    }

    /// Adds a function of time to what is accumulated, or convolves that.
    fn accumulate_time(
        &self,
        component: &Component,
        dynamics: Option<&Dynamics>,
        sum: &mut Vec<f64>,
    ) -> Result<(), ModelErrorKind> {
        self.charge(component, sum.len())?;
        let arguments = self.arguments(component, &self.base);
        match component.function.role() {
            Role::Kernel => *sum = self.convolve(component, &arguments, sum)?,
            Role::Placeholder => {}
            _ => {
                let subcycles =
                    dynamics.and_then(|d| d.subcycles.as_ref()).filter(|_| component.subcycle > 0);
                let times = subcycles.map_or(&self.model.time, |s| &s.time_norm);
                let values = self.along(component, times, &arguments)?;
                for (index, (sum, value)) in sum.iter_mut().zip(values).enumerate() {
                    if subcycles.is_none_or(|s| s.active[index] == component.subcycle) {
                        *sum += value;
                    }
                }
            }
        }
        Ok(())
    }

    /// What a component computes at the points of its axis.
    fn along(
        &self,
        component: &Component,
        points: &[f64],
        arguments: &[f64],
    ) -> Result<Vec<f64>, ModelErrorKind> {
        let formula = component.function.formula(self.model.semantics);
        Ok(formula.evaluate_along(points, arguments)?)
    }

    fn convolve(
        &self,
        component: &Component,
        arguments: &[f64],
        trace: &[f64],
    ) -> Result<Vec<f64>, ModelErrorKind> {
        let (function, axis) = (component.function, &self.model.time);
        Ok(match self.model.semantics {
            Semantics::Current => kernel::convolve(function, axis, arguments, trace)?,
            Semantics::V0_9 => {
                let support = kernel::support(function, axis, &initial_arguments(self.model, component));
                kernel::convolve_sampled(function, &support, arguments, trace)?
            }
        })
    }

    /// The spectrum at one time, or all of a dynamics model by itself.
    fn row(&self, time: Option<usize>) -> Result<Row, ModelErrorKind> {
        let mut total = vec![0.0; self.points()];
        let mut parts = Vec::new();
        for component in self.model.components.iter().rev() {
            if self.model.domain == Domain::Time1D {
                let before = total.clone();
                self.accumulate_time(component, None, &mut total)?;
                parts.push(total.iter().zip(before).map(|(after, before)| after - before).collect());
            } else {
                let part = self.part(component, time, &total)?;
                total.iter_mut().zip(&part).for_each(|(sum, value)| *sum += value);
                parts.push(part);
            }
        }
        parts.reverse();
        Ok(Row { total, parts })
    }

    /// What a component adds, given what the components below it have made: the mean over the points of
    /// the auxiliary axis if one of its parameters has a profile.
    fn part(
        &self,
        component: &Component,
        time: Option<usize>,
        below: &[f64],
    ) -> Result<Vec<f64>, ModelErrorKind> {
        if !component.parameters.iter().any(|id| self.model.is_profiled(*id)) {
            return self.curve(component, &self.values(time, None)?, below);
        }
        let mut mean = vec![0.0; below.len()];
        for point in 0..self.model.aux.len() {
            let curve = self.curve(component, &self.values(time, Some(point))?, below)?;
            mean.iter_mut().zip(curve).for_each(|(sum, value)| *sum += value);
        }
        let count = self.model.aux.len() as f64;
        mean.iter_mut().for_each(|value| *value /= count);
        Ok(mean)
    }

    fn curve(
        &self,
        component: &Component,
        values: &[f64],
        below: &[f64],
    ) -> Result<Vec<f64>, ModelErrorKind> {
        self.charge(component, below.len())?;
        let arguments = self.arguments(component, values);
        match component.function.role() {
            Role::SpectrumFed => self.along(component, below, &arguments),
            _ => self.along(component, &self.model.energy, &arguments),
        }
    }

    /// The values of all parameters at one time and one point of the auxiliary axis.
    fn values(&self, time: Option<usize>, point: Option<usize>) -> Result<Vec<f64>, ModelErrorKind> {
        let mut values = self.base.clone();
        for (value, trace) in values.iter_mut().zip(&self.traces) {
            if let (Some(trace), Some(time)) = (trace, time) {
                *value += trace[time];
            }
        }
        // Parameters of profiles may be expressions of each other, so they come before what uses them.
        self.model.evaluate_expressions(&mut values);
        if let Some(point) = point {
            let z = self.model.aux[point];
            let profiled = self.model.parameters.iter().enumerate();
            for (index, profile) in profiled.filter_map(|(i, p)| p.profile.as_ref().map(|p| (i, p))) {
                let mut sum = 0.0;
                for component in &profile.components {
                    sum += self.along(component, &[z], &self.arguments(component, &values))?[0];
                }
                values[index] += sum;
            }
            self.model.evaluate_expressions(&mut values);
        }
        Ok(values)
    }
}

/// The initial values of a component's parameters.
pub fn initial_arguments(model: &Model, component: &Component) -> Vec<f64> {
    let values = model.base_values(&model.theta()).expect("theta is the model's own");
    component.arguments.iter().map(|id: &ParameterId| values[id.0]).collect()
}
