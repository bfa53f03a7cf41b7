//! A model as three programs in one layout: the spectrum, with its components, with its derivatives.

use crate::autodiff::jacobian;
use crate::backend::model::error::{ModelCompileError, ModelRunError};
use crate::backend::model::part::{Part, PartSlot};
use crate::compile::{Binder, Options};
use crate::expr::Expr;
use crate::model::lower::{Lowered, lower};
use crate::model::schedule::Schedule;
use crate::prepare::{Prepare, Prepared, Source};
use cembra_vm::frame::{Frame, FrameError, FramePool};
use cembra_vm::layout::Slot;
use cembra_vm::machine::BoundExpr;
use cembra_vm::value::qtype::FLOAT64;
use std::sync::Arc;

/// A compiled model. Immutable; share it between threads, one frame each.
#[derive(Debug)]
pub struct CompiledModel {
    lowered: Lowered,
    theta: Vec<Slot<f64>>,
    spectrum: BoundExpr,
    with_curves: BoundExpr,
    curves: Vec<PartSlot>,
    with_columns: BoundExpr,
    columns: Vec<PartSlot>,
}

impl CompiledModel {
    /// Compiles a schedule.
    ///
    /// # Errors
    /// The model is beyond a limit of expressions or frames.
    pub fn new(schedule: &Schedule) -> Result<CompiledModel, ModelCompileError> {
        let lowered = lower(schedule)?;
        let leaves: Vec<(&str, _)> = lowered.theta.iter().map(|name| (name.as_str(), FLOAT64)).collect();
        let derivatives = jacobian(&lowered.spectrum, &leaves)?;
        let curves: Vec<(Arc<str>, Expr)> =
            numbered(lowered.curves.iter().map(|(_, curve)| Some(curve.clone())));
        let columns = numbered(derivatives.iter().cloned());
        let mut binder = Binder::new(Options::default());
        binder.add(&prepare(&lowered, Vec::new())?)?;
        binder.add(&prepare(&lowered, curves)?)?;
        binder.add(&prepare(&lowered, columns)?)?;
        let [spectrum, with_curves, with_columns] =
            <[BoundExpr; 3]>::try_from(binder.build()?).expect("three programs were added");
        let theta = lowered.theta.iter().map(|name| spectrum.input::<f64>(name)).collect::<Result<_, _>>()?;
        let part = |bound: &BoundExpr, index: usize| PartSlot::side_output(bound, &part_name(index));
        let curves = (0..lowered.curves.len()).map(|i| part(&with_curves, i)).collect::<Result<_, _>>()?;
        let column = |(index, column): (usize, &Option<Expr>)| match column {
            None => Ok(PartSlot::Zero),
            Some(_) => part(&with_columns, index),
        };
        let columns = derivatives.iter().enumerate().map(column).collect::<Result<_, _>>()?;
        Ok(CompiledModel { lowered, theta, spectrum, with_curves, curves, with_columns, columns })
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
        &self.spectrum
    }

    /// The program of the spectrum with its derivatives, for dumps.
    pub fn bound_jacobian(&self) -> &BoundExpr {
        &self.with_columns
    }

    /// A frame, which serves any number of evaluations one after the other.
    ///
    /// # Errors
    /// There is no memory.
    pub fn new_frame(&self) -> Result<Frame, FrameError> {
        self.spectrum.new_frame()
    }

    /// A pool of frames for several threads.
    pub fn new_pool(&self) -> FramePool {
        self.spectrum.new_pool()
    }

    /// The spectrum at theta, row after row. On a warm frame nothing is allocated.
    ///
    /// # Errors
    /// Theta has another length, or the frame is not one of this model.
    pub fn evaluate<'f>(&self, theta: &[f64], frame: &'f mut Frame) -> Result<&'f [f64], ModelRunError> {
        self.run(&self.spectrum, theta, frame)?;
        output(&self.spectrum, frame)
    }

    /// The spectrum and what each component adds to it.
    ///
    /// # Errors
    /// As [`evaluate`](Self::evaluate).
    pub fn evaluate_curves<'f>(
        &'f self,
        theta: &[f64],
        frame: &'f mut Frame,
    ) -> Result<Curves<'f>, ModelRunError> {
        self.run(&self.with_curves, theta, frame)?;
        Ok(Curves { spectrum: output(&self.with_curves, frame)?, parts: self.parts(&self.curves, frame) })
    }

    /// The spectrum and its derivatives by each free parameter.
    ///
    /// # Errors
    /// As [`evaluate`](Self::evaluate).
    pub fn evaluate_jacobian<'f>(
        &'f self,
        theta: &[f64],
        frame: &'f mut Frame,
    ) -> Result<Jacobian<'f>, ModelRunError> {
        self.run(&self.with_columns, theta, frame)?;
        Ok(Jacobian { spectrum: output(&self.with_columns, frame)?, parts: self.parts(&self.columns, frame) })
    }

    fn parts<'f>(&self, slots: &'f [PartSlot], frame: &'f Frame) -> Parts<'f> {
        let shape = match *self.shape() {
            [times, energies] => [times, energies],
            [points] => [1, points],
            _ => unreachable!("spectra have one axis or two"),
        };
        Parts { slots, frame, shape }
    }

    fn run(&self, program: &BoundExpr, theta: &[f64], frame: &mut Frame) -> Result<(), ModelRunError> {
        if theta.len() != self.theta.len() {
            return Err(ModelRunError::ThetaLength { expected: self.theta.len(), actual: theta.len() });
        }
        for (slot, value) in self.theta.iter().zip(theta) {
            frame.set(*slot, *value);
        }
        Ok(program.execute(frame)?)
    }
}

/// The spectrum that a program has left in a frame.
fn output<'f>(program: &BoundExpr, frame: &'f Frame) -> Result<&'f [f64], ModelRunError> {
    let view = frame.nd_view(program.output_slot())?;
    Ok(view.as_slice().expect("results of operators are contiguous"))
}

/// Names of side outputs; expressions that are not there are left out.
fn numbered(parts: impl Iterator<Item = Option<Expr>>) -> Vec<(Arc<str>, Expr)> {
    parts.enumerate().filter_map(|(index, part)| Some((part_name(index).into(), part?))).collect()
}

fn part_name(index: usize) -> String {
    format!("part {index}")
}

fn prepare(lowered: &Lowered, parts: Vec<(Arc<str>, Expr)>) -> Result<Prepared, ModelCompileError> {
    let inputs = lowered.theta.iter().map(|name| (name.as_str(), FLOAT64));
    let mut source = Source::new(lowered.spectrum.clone(), inputs);
    source.side_outputs = parts;
    Ok(Prepare::standard().run(source)?)
}

/// Results beside the spectrum.
#[derive(Clone, Copy, Debug)]
struct Parts<'f> {
    slots: &'f [PartSlot],
    frame: &'f Frame,
    shape: [usize; 2],
}

impl<'f> Parts<'f> {
    fn part(&self, index: usize) -> Part<'f> {
        self.slots[index].read(self.frame, self.shape).expect("the run has written all results")
    }
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
}

impl<'f> Jacobian<'f> {
    /// Free parameters.
    pub fn columns(&self) -> usize {
        self.parts.slots.len()
    }

    /// The derivative by a free parameter, by its place in theta.
    ///
    /// # Panics
    /// There is no such parameter.
    pub fn column(&self, index: usize) -> Part<'f> {
        self.parts.part(index)
    }

    /// Writes the columns one after the other, each with a value for every time and energy.
    ///
    /// # Panics
    /// The target has another length.
    pub fn copy_to(&self, target: &mut [f64]) {
        let size = self.spectrum.len();
        assert_eq!(target.len(), size * self.columns(), "a place for each value of each column");
        for (index, column) in target.chunks_exact_mut(size.max(1)).enumerate() {
            self.column(index).copy_to(column);
        }
    }
}
