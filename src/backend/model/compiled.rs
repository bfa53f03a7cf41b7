//! A model as programs: the spectrum, with its components, with its derivatives, with those that it is linear in; and
//! how far data are from it.
//!
//! The program of the spectrum is compiled at once, each of the others when it is first asked for: derivatives
//! cost several times the spectrum, and most commands need none.

use crate::autodiff::{self, Dependence, jacobian};
use crate::backend::model::error::{ModelCompileError, ModelRunError};
use crate::backend::model::part::Part;
use crate::backend::model::program::{Late, ModelFrame, Parts, Program, Squares, leaves};
use crate::compile::CompileError;
use crate::expr::Expr;
use crate::model::lower::{Lowered, lower};
use crate::model::schedule::Schedule;
use crate::prepare::Source;
use crate::prepare::fold::folded;
use cembra_vm::frame::FrameError;
use cembra_vm::machine::{BoundExpr, SharedBudget};
use cembra_vm::value::QType;

/// What a program computes beside the spectrum.
#[derive(Clone, Copy, Debug)]
enum Beside {
    Nothing,
    Curves,
    Columns,
    LinearColumns,
}

/// A compiled model. Nothing that is seen of it ever changes; share it between threads, one frame each.
#[derive(Debug)]
pub struct CompiledModel {
    lowered: Lowered,
    /// By what they compute beside the spectrum.
    programs: [Late<Program>; 4],
    squares: Late<Squares>,
    linear: Vec<usize>,
}

impl CompiledModel {
    /// Compiles a schedule.
    ///
    /// # Errors
    /// The model is beyond a limit of expressions or frames.
    pub fn new(schedule: &Schedule) -> Result<CompiledModel, ModelCompileError> {
        schedule.check_convolutions()?;
        let mut lowered = lower(schedule).map_err(CompileError::from)?;
        // Every program has the spectrum in it: what does not depend on theta is computed once for all of them.
        let spectrum = folded(Source::new(lowered.spectrum.clone(), leaves(&lowered)));
        lowered.spectrum = spectrum.map_err(CompileError::from)?;
        let found = dependences(&lowered);
        let linear = (0..found.len()).filter(|place| found[*place] == Dependence::Linear).collect();
        let model = CompiledModel { lowered, programs: Default::default(), squares: Late::default(), linear };
        model.program(Beside::Nothing)?;
        Ok(model)
    }

    fn program(&self, beside: Beside) -> Result<&Program, ModelCompileError> {
        self.programs[beside as usize].get(|| Program::new(&self.lowered, &self.parts(beside)?))
    }

    fn parts(&self, beside: Beside) -> Result<Vec<Option<Expr>>, ModelCompileError> {
        Ok(match beside {
            Beside::Nothing => Vec::new(),
            Beside::Curves => self.lowered.curves.iter().map(|(_, curve)| Some(curve.clone())).collect(),
            Beside::Columns => self.derivatives()?,
            Beside::LinearColumns => {
                let all = self.derivatives()?;
                self.linear.iter().map(|place| all[*place].clone()).collect()
            }
        })
    }

    /// Runs a program in its frame, which is made if there is none yet.
    fn run<'f>(
        &'f self,
        beside: Beside,
        theta: &[f64],
        frame: &'f mut ModelFrame,
    ) -> Result<Parts<'f>, ModelRunError> {
        let ModelFrame { frames, budget, .. } = frame;
        let share = budget.as_deref().map(SharedBudget::share);
        let frame = &mut frames[beside as usize];
        self.program(beside)?.run(theta, frame, share.as_ref())
    }

    fn derivatives(&self) -> Result<Vec<Option<Expr>>, ModelCompileError> {
        let leaves: Vec<(&str, QType)> = leaves(&self.lowered).collect();
        Ok(jacobian(&self.lowered.spectrum, &leaves)?)
    }

    /// Names of theta, in its order.
    pub fn theta_names(&self) -> &[String] {
        &self.lowered.theta
    }

    /// The initial theta.
    pub fn initial_theta(&self) -> &[f64] {
        &self.lowered.initial
    }

    /// Sizes of the axes of the spectrum: time and energy, or one of both.
    pub fn shape(&self) -> &[usize] {
        &self.lowered.shape
    }

    /// Names of the components, in the order of [`Curves::curve`].
    pub fn curve_names(&self) -> impl Iterator<Item = &str> {
        self.lowered.curves.iter().map(|(name, _)| name.as_str())
    }

    /// For each place of theta, where its name stands in a list.
    ///
    /// # Errors
    /// A name is not in the list.
    pub fn theta_indices(&self, names: &[&str]) -> Result<Vec<usize>, ModelRunError> {
        let index = |name: &String| {
            let found = names.iter().position(|n| n == name);
            let known = || names.iter().map(|n| (*n).to_owned()).collect();
            found.ok_or_else(|| ModelRunError::UnknownParameter { name: name.clone(), known: known() })
        };
        self.theta_names().iter().map(index).collect()
    }

    /// Theta from values by name, of which there may be more than theta has.
    ///
    /// # Errors
    /// A free parameter has no value.
    pub fn extract_theta(&self, values: &[(&str, f64)]) -> Result<Vec<f64>, ModelRunError> {
        let names: Vec<&str> = values.iter().map(|(name, _)| *name).collect();
        Ok(self.theta_indices(&names)?.into_iter().map(|index| values[index].1).collect())
    }

    /// The program of the spectrum, for dumps.
    pub fn bound(&self) -> &BoundExpr {
        self.program(Beside::Nothing).expect("it has been compiled").bound()
    }

    /// A frame, which serves any number of evaluations one after the other.
    ///
    /// # Errors
    /// There is no memory.
    pub fn new_frame(&self) -> Result<ModelFrame, FrameError> {
        let mut frame = ModelFrame::default();
        frame.frames[Beside::Nothing as usize] = Some(self.bound().new_frame()?);
        Ok(frame)
    }

    /// The spectrum at theta, row after row. On a warm frame nothing is allocated.
    ///
    /// # Errors
    /// Theta has another length, or the frame is not one of this model.
    pub fn evaluate<'f>(
        &'f self,
        theta: &[f64],
        frame: &'f mut ModelFrame,
    ) -> Result<&'f [f64], ModelRunError> {
        Ok(self.run(Beside::Nothing, theta, frame)?.spectrum)
    }

    /// The sum of the squares of the differences between data, a value for each of the spectrum, and the spectrum at
    /// theta, which is not laid out for it. On a warm frame nothing is allocated.
    ///
    /// # Errors
    /// As [`evaluate`](Self::evaluate); or the data have another size, or the sum cannot be compiled.
    pub fn evaluate_squares(
        &self,
        theta: &[f64],
        data: &[f64],
        frame: &mut ModelFrame,
    ) -> Result<f64, ModelRunError> {
        let squares = self.squares.get(|| Ok(Squares::new(&self.lowered)?))?;
        let share = frame.budget.as_deref().map(SharedBudget::share);
        squares.run(theta, data, &mut frame.squares, share.as_ref())
    }

    /// The spectrum and what each component adds to it.
    ///
    /// # Errors
    /// As [`evaluate`](Self::evaluate); or the components cannot be compiled.
    pub fn evaluate_curves<'f>(
        &'f self,
        theta: &[f64],
        frame: &'f mut ModelFrame,
    ) -> Result<Curves<'f>, ModelRunError> {
        let parts = self.run(Beside::Curves, theta, frame)?;
        Ok(Curves { spectrum: parts.spectrum, parts })
    }

    /// The spectrum and its derivatives by each free parameter.
    ///
    /// # Errors
    /// As [`evaluate`](Self::evaluate); or the derivatives cannot be compiled.
    pub fn evaluate_jacobian<'f>(
        &'f self,
        theta: &[f64],
        frame: &'f mut ModelFrame,
    ) -> Result<Jacobian<'f>, ModelRunError> {
        let parts = self.run(Beside::Columns, theta, frame)?;
        Ok(Jacobian { spectrum: parts.spectrum, parts, places: None })
    }

    /// The spectrum at theta; and its derivatives go to `columns`, parameter after parameter, each with a value for every
    /// time and energy. On a warm frame nothing is allocated.
    ///
    /// # Errors
    /// As [`evaluate_jacobian`](Self::evaluate_jacobian).
    ///
    /// # Panics
    /// There is not a place for each value of each column.
    pub fn evaluate_jacobian_into<'f>(
        &'f self,
        theta: &[f64],
        frame: &'f mut ModelFrame,
        columns: &mut [f64],
    ) -> Result<&'f [f64], ModelRunError> {
        frame.arena.reset();
        let ModelFrame { frames, arena, budget, .. } = frame;
        let share = budget.as_deref().map(SharedBudget::share);
        let frame = &mut frames[Beside::Columns as usize];
        let program = self.program(Beside::Columns)?;
        program.run_into(theta, frame, columns, arena, share.as_ref())
    }

    /// Places in theta of the parameters that the spectrum is linear in, all of them at once.
    pub fn linear(&self) -> &[usize] {
        &self.linear
    }

    /// The spectrum and its derivatives by the [`linear`](Self::linear) parameters only, which cost less than all.
    ///
    /// # Errors
    /// As [`evaluate_jacobian`](Self::evaluate_jacobian).
    pub fn evaluate_linear<'f>(
        &'f self,
        theta: &[f64],
        frame: &'f mut ModelFrame,
    ) -> Result<Jacobian<'f>, ModelRunError> {
        let parts = self.run(Beside::LinearColumns, theta, frame)?;
        Ok(Jacobian { spectrum: parts.spectrum, parts, places: Some(&self.linear) })
    }
}

/// How the spectrum depends on each parameter of theta.
pub(super) fn dependences(lowered: &Lowered) -> Vec<Dependence> {
    let names: Vec<&str> = lowered.theta.iter().map(String::as_str).collect();
    autodiff::dependences(&lowered.spectrum, &names)
}

/// A spectrum with its components.
#[derive(Clone, Copy, Debug)]
pub struct Curves<'f> {
    /// The spectrum, row after row.
    pub spectrum: &'f [f64],
    parts: Parts<'f>,
}

impl<'f> Curves<'f> {
    /// What a component adds, by its place in [`CompiledModel::curve_names`].
    ///
    /// # Panics
    /// There is no such component.
    pub fn curve(&self, index: usize) -> Part<'f> {
        self.parts.part(index)
    }
}

/// A spectrum with its derivatives.
#[derive(Clone, Copy, Debug)]
pub struct Jacobian<'f> {
    /// The spectrum, row after row.
    pub spectrum: &'f [f64],
    parts: Parts<'f>,
    /// The places in theta of the columns; all if there is no list.
    places: Option<&'f [usize]>,
}

impl<'f> Jacobian<'f> {
    /// Parameters with a derivative.
    pub fn columns(&self) -> usize {
        self.parts.count()
    }

    /// The derivative by a free parameter, by its place in theta.
    ///
    /// # Panics
    /// There is no such parameter, or not among those that were asked for.
    pub fn column(&self, index: usize) -> Part<'f> {
        let column = match self.places {
            None => index,
            Some(places) => {
                places.iter().position(|place| *place == index).expect("a parameter that was asked for")
            }
        };
        self.parts.part(column)
    }
}
