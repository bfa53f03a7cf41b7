//! Evaluators: what computes the spectrum of a model at some theta, again and again.
//!
//! Who asks for spectra through [`Evaluator`] does not know how they are computed. An evaluator that knows
//! derivatives gives them; for one that does not, a fit takes differences.
//!
//! ```text
//! theta ──> Evaluator ──> spectrum (time after time)      ──> residuals
//!                    └──> derivatives (parameter after parameter), or none
//! ```

use crate::autodiff::Dependence;
use crate::backend::model::compiled::{self, CompiledModel, Jacobian};
use crate::backend::model::error::ModelRunError;
use crate::backend::model::part::Part;
use crate::backend::model::program::ModelFrame;
use crate::model::error::ModelErrorKind;
use crate::model::graph::from_model::graph_of;
use crate::model::interpret::{self, ComponentCurve};
use crate::model::lower::lower;
use crate::model::schedule::{self, Schedule};
use crate::model::tree::Model;
use cembra_vm::array::meter::Meter;
use cembra_vm::machine::SharedBudget;
use cembra_vm::value::Category;
use std::sync::Arc;

/// How far two evaluators may differ, absolute and relative.
pub const TOLERANCE: f64 = 1e-10;

/// Computes spectra of one model.
pub trait Evaluator: Send {
    /// The spectrum at theta, in the order of [`Model::theta_names`]; time after time.
    ///
    /// # Errors
    /// Theta has another length than the model's, or the evaluator cannot compute.
    fn evaluate(&mut self, theta: &[f64]) -> Result<&[f64], ModelErrorKind>;

    /// The sum of the squares of the differences between data, a value for each of the spectrum, and the spectrum at
    /// theta; none if the evaluator would have to lay the spectrum out for it.
    ///
    /// # Errors
    /// As of [`evaluate`](Evaluator::evaluate); or the data have another size, or there is no program of the sum.
    fn squares(&mut self, theta: &[f64], data: &[f64]) -> Option<Result<f64, ModelErrorKind>> {
        let _ = (theta, data);
        None
    }

    /// The spectrum with its derivatives by the wanted parameters of theta at least; none if the evaluator does
    /// not know them.
    ///
    /// # Errors
    /// As of [`evaluate`](Evaluator::evaluate); or there is no program of the derivatives.
    fn linearize(&mut self, theta: &[f64], wanted: &[usize]) -> Linearization<'_> {
        let _ = (theta, wanted);
        None
    }

    /// What each component adds to the spectrum, a value for every time and energy; in the order of the model.
    ///
    /// # Errors
    /// As of [`evaluate`](Evaluator::evaluate).
    fn components(&mut self, theta: &[f64]) -> Result<Vec<ComponentCurve>, ModelErrorKind>;

    /// Why the interpreter stands in for the machine; empty if it does not.
    fn fallback_reasons(&self) -> &[String] {
        &[]
    }
}

/// A spectrum with its derivatives, of an evaluator that knows them.
pub type Linearization<'e> = Option<Result<Linearized<'e>, ModelErrorKind>>;

/// A spectrum with its derivatives.
#[derive(Clone, Copy, Debug)]
pub struct Linearized<'e> {
    jacobian: Jacobian<'e>,
    /// For each parameter of theta its column.
    columns: &'e [usize],
}

impl Linearized<'_> {
    /// The spectrum, time after time.
    pub fn spectrum(&self) -> &[f64] {
        self.jacobian.spectrum
    }

    /// The derivative by a parameter, by its place in theta.
    ///
    /// # Panics
    /// There is no such parameter.
    pub fn derivative(&self, place: usize) -> Part<'_> {
        self.jacobian.column(self.columns[place])
    }
}

/// Which evaluator computes spectra.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EvaluatorKind {
    /// The component loop of the published system.
    Interpreter,
    /// The schedule as a program of the machine, with exact derivatives; the interpreter if the model does
    /// not compile.
    #[default]
    Compiled,
    /// Compiled and interpreter; an error where they differ by more than [`TOLERANCE`].
    Compare,
}

impl EvaluatorKind {
    /// An evaluator of a model, which has the limits of [`Budget::default`](cembra_vm::value::Budget) each time.
    pub fn open(self, model: &Model) -> Box<dyn Evaluator + '_> {
        self.open_within(model, None)
    }

    /// An evaluator of a model whose evaluations use up a budget together, with others that share it.
    pub fn open_within(self, model: &Model, budget: Option<Arc<SharedBudget>>) -> Box<dyn Evaluator + '_> {
        let interpreter = |reasons| {
            let budget = budget.clone().unwrap_or_default();
            Interpreter { model, reasons, spectrum: Vec::new(), budget }
        };
        if self == EvaluatorKind::Interpreter {
            return Box::new(interpreter(Vec::new()));
        }
        match Machine::new(model, budget.clone()) {
            Err(reasons) => Box::new(interpreter(reasons)),
            Ok(checked) if self == EvaluatorKind::Compare => {
                Box::new(Comparison { reference: interpreter(Vec::new()), checked })
            }
            Ok(machine) => Box::new(machine),
        }
    }

    /// The name in results.
    pub fn name(self) -> &'static str {
        match self {
            EvaluatorKind::Interpreter => "interpreter",
            EvaluatorKind::Compiled => "compiled",
            EvaluatorKind::Compare => "compare",
        }
    }
}

/// The plain interpreter.
struct Interpreter<'m> {
    model: &'m Model,
    /// Why it stands in for the machine.
    reasons: Vec<String>,
    spectrum: Vec<f64>,
    budget: Arc<SharedBudget>,
}

impl Evaluator for Interpreter<'_> {
    fn evaluate(&mut self, theta: &[f64]) -> Result<&[f64], ModelErrorKind> {
        let evaluate = |meter: &Meter<'_>| interpret::evaluate_within(self.model, theta, meter);
        self.spectrum = self.budget.share().metered(evaluate)?.values;
        Ok(&self.spectrum)
    }

    fn components(&mut self, theta: &[f64]) -> Result<Vec<ComponentCurve>, ModelErrorKind> {
        let curves = |meter: &Meter<'_>| interpret::component_curves_within(self.model, theta, meter);
        self.budget.share().metered(curves)
    }

    fn fallback_reasons(&self) -> &[String] {
        &self.reasons
    }
}

/// The schedule of a model, and for each of its parameters the place in theta; or the reasons why there is none.
fn scheduled(model: &Model) -> Result<(Schedule, Vec<usize>), Vec<String>> {
    let graph = graph_of(model).map_err(|error| vec![error.to_string()])?;
    let schedule = schedule::schedule(&graph)
        .map_err(|reasons| reasons.iter().map(ToString::to_string).collect::<Vec<String>>())?;
    let names = model.theta_names();
    let place = |name: &String| {
        names.iter().position(|n| n == name).expect("a schedule has the parameters of its model")
    };
    let places = schedule.theta_names().iter().map(place).collect();
    Ok((schedule, places))
}

/// How the spectrum of a model depends on each of its free parameters.
///
/// # Errors
/// The reasons why the model has no schedule.
pub fn dependences(model: &Model) -> Result<Vec<Dependence>, Vec<String>> {
    let (schedule, places) = scheduled(model)?;
    let mut ordered = vec![Dependence::Absent; places.len()];
    let lowered = lower(&schedule).map_err(|error| vec![error.to_string()])?;
    let found = compiled::dependences(&lowered);
    places.iter().zip(found).for_each(|(place, dependence)| ordered[*place] = dependence);
    Ok(ordered)
}

/// Puts theta in the order of a schedule.
fn reorder(places: &[usize], theta: &[f64], ordered: &mut Vec<f64>) -> Result<(), ModelErrorKind> {
    if theta.len() != places.len() {
        return Err(ModelErrorKind::ThetaLength { expected: places.len(), actual: theta.len() });
    }
    ordered.clear();
    ordered.extend(places.iter().map(|place| theta[*place]));
    Ok(())
}

/// Curves in the order of the components of a model.
fn in_order(model: &Model, mut curves: Vec<ComponentCurve>) -> Vec<ComponentCurve> {
    let place = |curve: &ComponentCurve| model.components.iter().position(|c| c.name == curve.name);
    curves.sort_by_key(place);
    curves
}

/// The schedule as a program of the machine, with a frame of its own.
struct Machine<'m> {
    model: &'m Model,
    compiled: CompiledModel,
    frame: ModelFrame,
    places: Vec<usize>,
    /// In the order of the program; kept, so that evaluations allocate nothing.
    theta: Vec<f64>,
    /// The inverse of `places`.
    columns: Vec<usize>,
}

impl<'m> Machine<'m> {
    /// The program of a model, or the reasons why there is none.
    fn new(model: &'m Model, budget: Option<Arc<SharedBudget>>) -> Result<Machine<'m>, Vec<String>> {
        let (schedule, places) = scheduled(model)?;
        let compiled = CompiledModel::new(&schedule).map_err(|error| vec![error.to_string()])?;
        let mut frame = compiled.new_frame().map_err(|error| vec![error.to_string()])?;
        if let Some(budget) = budget {
            frame = frame.within(budget);
        }
        let mut columns = vec![0; places.len()];
        places.iter().enumerate().for_each(|(column, place)| columns[*place] = column);
        Ok(Machine { model, compiled, frame, places, theta: Vec::new(), columns })
    }
}

fn failure(error: ModelRunError) -> ModelErrorKind {
    match error.run_error().filter(|run| run.is_exhausted() || run.category() == Category::Limit) {
        Some(run) => ModelErrorKind::Exhausted { category: run.category(), problem: run.to_string() },
        None => ModelErrorKind::Run { problem: error.to_string() },
    }
}

impl Evaluator for Machine<'_> {
    fn evaluate(&mut self, theta: &[f64]) -> Result<&[f64], ModelErrorKind> {
        reorder(&self.places, theta, &mut self.theta)?;
        self.compiled.evaluate(&self.theta, &mut self.frame).map_err(failure)
    }

    fn squares(&mut self, theta: &[f64], data: &[f64]) -> Option<Result<f64, ModelErrorKind>> {
        let ordered = reorder(&self.places, theta, &mut self.theta);
        let squares =
            |()| self.compiled.evaluate_squares(&self.theta, data, &mut self.frame).map_err(failure);
        Some(ordered.and_then(squares))
    }

    fn components(&mut self, theta: &[f64]) -> Result<Vec<ComponentCurve>, ModelErrorKind> {
        reorder(&self.places, theta, &mut self.theta)?;
        let curves = self.compiled.evaluate_curves(&self.theta, &mut self.frame).map_err(failure)?;
        let curve = |(index, name): (usize, &str)| {
            let mut values = vec![0.0; curves.spectrum.len()];
            curves.curve(index).copy_to(&mut values);
            ComponentCurve { name: name.to_owned(), values }
        };
        Ok(in_order(self.model, self.compiled.curve_names().enumerate().map(curve).collect()))
    }

    fn linearize(&mut self, theta: &[f64], wanted: &[usize]) -> Linearization<'_> {
        let ordered = reorder(&self.places, theta, &mut self.theta);
        Some(ordered.and_then(|()| {
            let linear = self.compiled.linear();
            let jacobian = match wanted.iter().all(|place| linear.contains(&self.columns[*place])) {
                true => self.compiled.evaluate_linear(&self.theta, &mut self.frame),
                false => self.compiled.evaluate_jacobian(&self.theta, &mut self.frame),
            };
            let jacobian = jacobian.map_err(failure)?;
            Ok(Linearized { jacobian, columns: &self.columns })
        }))
    }
}

/// Two evaluators, the second checked by the first.
struct Comparison<A, B> {
    reference: A,
    checked: B,
}

impl<A: Evaluator, B: Evaluator> Evaluator for Comparison<A, B> {
    fn evaluate(&mut self, theta: &[f64]) -> Result<&[f64], ModelErrorKind> {
        let expected = self.reference.evaluate(theta)?;
        let actual = self.checked.evaluate(theta)?;
        check(expected, actual)?;
        Ok(actual)
    }

    fn linearize(&mut self, theta: &[f64], wanted: &[usize]) -> Linearization<'_> {
        let expected = match self.reference.evaluate(theta) {
            Ok(expected) => expected,
            Err(error) => return Some(Err(error)),
        };
        let linearized = self.checked.linearize(theta, wanted)?;
        Some(linearized.and_then(|found| check(expected, found.spectrum()).map(|()| found)))
    }

    fn components(&mut self, theta: &[f64]) -> Result<Vec<ComponentCurve>, ModelErrorKind> {
        let expected = self.reference.components(theta)?;
        let actual = self.checked.components(theta)?;
        expected.iter().zip(&actual).try_for_each(|(e, a)| check(&e.values, &a.values))?;
        Ok(actual)
    }
}

/// Fails at the first place where two spectra differ by more than [`TOLERANCE`]; NaN agrees with NaN.
fn check(expected: &[f64], actual: &[f64]) -> Result<(), ModelErrorKind> {
    let is_close = |(e, a): (&f64, &f64)| {
        e == a || (e.is_nan() && a.is_nan()) || (e - a).abs() <= TOLERANCE + TOLERANCE * e.abs()
    };
    match expected.iter().zip(actual).position(|pair| !is_close(pair)) {
        None => Ok(()),
        Some(index) => Err(ModelErrorKind::EvaluatorsDiffer {
            index,
            interpreter: expected[index],
            compiled: actual[index],
        }),
    }
}
