//! Programs of a model: the spectrum with parts beside it, each program with a layout of its own.

use crate::autodiff::split;
use crate::backend::model::error::{ModelCompileError, ModelRunError};
use crate::backend::model::part::{Part, PartSlot, ResultSlot};
use crate::compile::{Binder, Options, SlotReuse};
use crate::expr::Expr;
use crate::model::lower::Lowered;
use crate::prepare::{Prepare, Source};
use cembra_vm::frame::{Frame, FrameError};
use cembra_vm::layout::Slot;
use cembra_vm::machine::{BindError, BoundExpr};
use cembra_vm::value::QType;
use cembra_vm::value::qtype::FLOAT64;
use std::sync::OnceLock;

/// The spectrum and some parts that broadcast to it.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) bound: BoundExpr,
    theta: Vec<Slot<f64>>,
    parts: Vec<PartSlot>,
}

impl Program {
    /// Compiles the spectrum of a model with parts; those that are not there are zero everywhere.
    pub(super) fn new(lowered: &Lowered, parts: &[Option<Expr>]) -> Result<Program, ModelCompileError> {
        let leaves: Vec<(&str, QType)> = lowered.theta.iter().map(|name| (name.as_str(), FLOAT64)).collect();
        let mut source = Source::new(lowered.spectrum.clone(), leaves.iter().cloned());
        let mut is_product = Vec::with_capacity(parts.len());
        for (index, part) in parts.iter().enumerate() {
            let Some(part) = part else {
                is_product.push(false);
                continue;
            };
            let product = split(part, &leaves)?;
            is_product.push(product.is_some());
            let (factor, values) = product.map_or((None, part.clone()), |(f, values)| (Some(f), values));
            let named = factor.map(|factor| (factor_name(index).into(), factor));
            source.side_outputs.extend(named);
            source.side_outputs.push((part_name(index).into(), values));
        }
        let mut binder = Binder::new(Options { slot_reuse: SlotReuse::Distinct, ..Options::default() });
        binder.add(&Prepare::standard().run(source)?)?;
        let bound = binder.build()?.swap_remove(0);
        let theta = lowered.theta.iter().map(|name| bound.input::<f64>(name)).collect::<Result<_, _>>()?;
        let result = |name: String| ResultSlot::side_output(&bound, &name);
        let part = |(index, part): (usize, &Option<Expr>)| match part {
            None => Ok(PartSlot::Zero),
            Some(_) if is_product[index] => {
                Ok(PartSlot::Product(result(factor_name(index))?, result(part_name(index))?))
            }
            Some(_) => result(part_name(index)).map(PartSlot::Values),
        };
        let parts = parts.iter().enumerate().map(part).collect::<Result<_, BindError>>()?;
        Ok(Program { bound, theta, parts })
    }

    /// Evaluates at theta, in a frame that is made if there is none yet.
    pub(super) fn run<'f>(
        &'f self,
        theta: &[f64],
        frame: &'f mut Option<Frame>,
        sizes: [usize; 2],
    ) -> Result<Parts<'f>, ModelRunError> {
        if theta.len() != self.theta.len() {
            return Err(ModelRunError::ThetaLength { expected: self.theta.len(), actual: theta.len() });
        }
        let frame = match frame {
            Some(frame) => frame,
            None => frame.insert(self.bound.new_frame()?),
        };
        for (slot, value) in self.theta.iter().zip(theta) {
            frame.set(*slot, *value);
        }
        self.bound.execute(frame)?;
        let view = frame.nd_view(self.bound.output_slot())?;
        let spectrum = view.as_slice().expect("results of operators are contiguous");
        Ok(Parts { spectrum, slots: &self.parts, frame, sizes })
    }
}

fn factor_name(index: usize) -> String {
    format!("factor {index}")
}

fn part_name(index: usize) -> String {
    format!("part {index}")
}

/// A program that is compiled when it is first asked for, once for all threads.
#[derive(Debug, Default)]
pub(super) struct Late(OnceLock<Result<Program, ModelCompileError>>);

impl Late {
    /// The program; `compile` runs unless it has run before.
    pub(super) fn get(
        &self,
        compile: impl FnOnce() -> Result<Program, ModelCompileError>,
    ) -> Result<&Program, ModelCompileError> {
        self.0.get_or_init(compile).as_ref().map_err(Clone::clone)
    }
}

/// The memory of evaluations of one model, one after the other: a frame for each of its programs, made when the
/// program first runs.
#[derive(Debug, Default)]
pub struct ModelFrame {
    pub(super) spectrum: Option<Frame>,
    pub(super) curves: Option<Frame>,
    pub(super) columns: Option<Frame>,
    pub(super) linear_columns: Option<Frame>,
}

impl ModelFrame {
    /// Memory for the spectrum alone; the rest comes when it is needed.
    pub(super) fn new(spectrum: &Program) -> Result<ModelFrame, FrameError> {
        Ok(ModelFrame { spectrum: Some(spectrum.bound.new_frame()?), ..ModelFrame::default() })
    }
}

/// Results of a program.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parts<'f> {
    pub(super) spectrum: &'f [f64],
    slots: &'f [PartSlot],
    frame: &'f Frame,
    sizes: [usize; 2],
}

impl<'f> Parts<'f> {
    pub(super) fn count(&self) -> usize {
        self.slots.len()
    }

    pub(super) fn part(&self, index: usize) -> Part<'f> {
        self.slots[index].read(self.frame, self.sizes).expect("the run has written all results")
    }
}
