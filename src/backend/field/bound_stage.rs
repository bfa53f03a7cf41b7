//! A stage as a bound program with its frame.
//!
//! ```text
//! buffers ──strided views──> inputs | frame | results ──copied──> buffers
//! ```
//!
//! Views are lent for a run, so that tile regions read shifted cells where they lie.

use crate::compile::{Options, compile};
use crate::expr::NodeId;
use crate::field::buffer::{FieldBuffer, FieldData};
use crate::field::error::FieldProblem;
use crate::field::program::FieldProgram;
use crate::field::stage::{AxisRead, FieldRead, FieldStage, StageResult, StageSource};
use crate::prepare::Prepare;
use crate::prepare::join::joined;
use crate::registry::{Dialect, Registry};
use cembra_vm::frame::Frame;
use cembra_vm::layout::TypedSlot;
use cembra_vm::layout::builder::MAX_FRAME_LIMIT;
use cembra_vm::machine::{BoundExpr, CallError};
use cembra_vm::value::{Category, NdView, ScalarValue, Value};
use std::sync::{Arc, LazyLock};

static REGISTRY: LazyLock<Registry> = LazyLock::new(Registry::standard);

/// What a stage reads besides its program: the data, and the state of a scan.
#[derive(Clone, Copy)]
pub(super) struct StageData<'d> {
    pub program: &'d FieldProgram,
    pub data: &'d FieldData,
    pub scalars: &'d [ScalarValue],
    /// In a scan the axis of its levels, and how far the level is from the one that the stage was lowered for.
    pub level: Option<(usize, i64)>,
    /// What a scan hands on, by number.
    pub carries: &'d [NdView<'d>],
}

impl<'d> StageData<'d> {
    /// The elements that a read has.
    pub fn view(&self, stage: &FieldStage, read: &FieldRead) -> NdView<'d> {
        let buffer: &'d FieldBuffer = &self.data.fields[&*self.program.fields[read.field.0].name];
        let axis = |(axis, of): (usize, &AxisRead)| match *of {
            AxisRead::Absent => None,
            AxisRead::Window { place, first } => {
                let moved = self.level.map_or(0, |(level, by)| if level == axis { by } else { 0 });
                Some((place, first + moved, stage.shape[axis]))
            }
            AxisRead::Whole { place } => Some((place, buffer.origin()[place], buffer.shape()[place])),
        };
        buffer.axes(read.axes.iter().enumerate().map(axis), &read.fixed)
    }
}

/// A stage that can run.
#[derive(Debug)]
pub(super) struct BoundStage {
    pub stage: FieldStage,
    /// Nothing if no result needs an operation.
    program: Option<StageProgram>,
}

#[derive(Debug)]
struct StageProgram {
    bound: BoundExpr,
    frame: Frame,
    /// The slot of each input of the stage; nothing if no operation reads it.
    inputs: Vec<Option<TypedSlot>>,
    /// The slots of nodes that are results.
    outputs: Vec<(NodeId, TypedSlot)>,
}

impl BoundStage {
    /// Compiles a stage.
    pub fn new(stage: FieldStage) -> Result<BoundStage, FieldProblem> {
        let mut roots: Vec<NodeId> = Vec::new();
        for output in &stage.outputs {
            if let StageResult::Node(node) = output.result
                && !roots.contains(&node)
            {
                roots.push(node);
            }
        }
        let program = if roots.is_empty() { None } else { Some(StageProgram::new(&stage, &roots)?) };
        Ok(BoundStage { stage, program })
    }

    /// Computes the results, which stay in the frame.
    pub fn run(&mut self, from: StageData<'_>) -> Result<(), FieldProblem> {
        match &mut self.program {
            Some(program) => program.run(&self.stage, from),
            None => Ok(()),
        }
    }

    /// Calls a function for a result of the last run, as an array with the axes of the box; axes that it does not
    /// vary along may have size 1.
    pub fn with_result<R>(
        &self,
        result: &StageResult,
        from: StageData<'_>,
        each: impl FnOnce(&NdView<'_>) -> R,
    ) -> Result<R, FieldProblem> {
        match result {
            StageResult::Read(read) => Ok(each(&from.view(&self.stage, read))),
            StageResult::Carry(number) => Ok(each(&from.carries[*number])),
            StageResult::Scalar(id) => Ok(with_scalar(&from.scalars[id.0], each)),
            StageResult::Literal(value) => Ok(with_scalar(value, each)),
            StageResult::Node(node) => {
                let program = self.program.as_ref().expect("an operation is computed by a program");
                let (_, slot) =
                    program.outputs.iter().find(|(known, _)| known == node).expect("all roots have slots");
                match slot.qtype().nd() {
                    Some(_) => Ok(each(&program.frame.nd_view(slot).map_err(ours)?)),
                    None => match program.frame.read(slot).map_err(ours)? {
                        Value::Scalar(value) => Ok(with_scalar(&value, each)),
                        other => Err(ours(format!("a result {other:?}"))),
                    },
                }
            }
        }
    }
}

/// An error that no program should meet.
fn ours(error: impl ToString) -> FieldProblem {
    FieldProblem::Run { category: Category::InvalidProgram, what: error.to_string() }
}

/// Calls a function for a scalar as an array without axes.
pub(super) fn with_scalar<R>(value: &ScalarValue, each: impl FnOnce(&NdView<'_>) -> R) -> R {
    fn one<T: cembra_vm::value::nd_view::Cell, R>(value: T, each: impl FnOnce(&NdView<'_>) -> R) -> R {
        each(&NdView::from_slice(&[value], &[]).expect("one element"))
    }
    match *value {
        ScalarValue::Boolean(value) => one(value, each),
        ScalarValue::Int32(value) => one(value, each),
        ScalarValue::Int64(value) => one(value, each),
        ScalarValue::Float32(value) => one(value, each),
        ScalarValue::Float64(value) => one(value, each),
        _ => unreachable!("fields have elements of five types"),
    }
}

/// The name of a side output; names are sorted as numbers are.
fn output_name(number: usize) -> Arc<str> {
    format!("o{number:07}").into()
}

impl StageProgram {
    fn new(stage: &FieldStage, roots: &[NodeId]) -> Result<StageProgram, FieldProblem> {
        let limit = |what: String| FieldProblem::Limit { limit: "field-operations", what };
        let names: Vec<Arc<str>> = (1..roots.len()).map(output_name).collect();
        let registry = REGISTRY.clone();
        let draft = joined(stage.graph.clone(), roots, names, registry, Dialect::default());
        let mut draft = draft.map_err(|error| limit(error.to_string()))?;
        draft.inputs = stage.inputs.iter().map(|input| (input.name.clone(), input.qtype.clone())).collect();
        let prepared = Prepare::standard().run_joined(draft).map_err(|error| limit(error.to_string()))?;
        let options = Options { frame_limit: MAX_FRAME_LIMIT, ..Options::default() };
        let bound = compile(&prepared, &options).map_err(|error| limit(error.to_string()))?;
        let inputs = stage.inputs.iter().map(|input| bound.input_slot(&input.name).ok().cloned()).collect();
        let slot = |(number, node): (usize, &NodeId)| match number {
            0 => Ok((*node, bound.output_slot().clone())),
            _ => Ok((*node, bound.side_output_slot(&output_name(number)).map_err(ours)?.clone())),
        };
        let outputs = roots.iter().enumerate().map(slot).collect::<Result<_, FieldProblem>>()?;
        let frame = bound.new_frame().map_err(|error| limit(error.to_string()))?;
        Ok(StageProgram { bound, frame, inputs, outputs })
    }

    fn run(&mut self, stage: &FieldStage, from: StageData<'_>) -> Result<(), FieldProblem> {
        let mut views = Vec::with_capacity(self.inputs.len());
        for (input, slot) in stage.inputs.iter().zip(&self.inputs) {
            let Some(slot) = slot else { continue };
            let view = match &input.source {
                StageSource::Scalar(id) => {
                    let value = Value::Scalar(from.scalars[id.0].clone());
                    self.frame.write(slot, &value).map_err(ours)?;
                    continue;
                }
                StageSource::Field(read) => from.view(stage, read),
                StageSource::Carry(number) => from.carries[*number],
                StageSource::Places(places) => NdView::from_slice(places, &[places.len()]).map_err(ours)?,
                StageSource::Mask { axis, values } => {
                    let mut shape = vec![1; stage.shape.len()];
                    shape[*axis] = values.len();
                    NdView::from_slice(values, &shape).map_err(ours)?
                }
            };
            // What is lent cannot be read after the run; an input may be a result if operations cancel out.
            match self.outputs.iter().any(|(_, output)| output == slot) {
                true => self.frame.write_nd(slot, &view).map_err(ours)?,
                false => views.push((slot, view)),
            }
        }
        let mut call = self.bound.call(&mut self.frame);
        for (slot, view) in &views {
            call = call.input(slot, view).map_err(ours)?;
        }
        match call.run() {
            Ok(_) => Ok(()),
            Err(CallError::Run(error)) => {
                Err(FieldProblem::Run { category: error.category(), what: error.kind.to_string() })
            }
            Err(error) => Err(ours(error)),
        }
    }
}
