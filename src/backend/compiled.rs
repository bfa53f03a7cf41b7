//! Compiled: the expression of some nodes as a bound program with its frame.
//!
//! ```text
//! values of nodes ──lend──> inputs | frame | outputs ──copy──> arrays
//! ```
//!
//! The frame is kept from run to run. Arrays are lent to it for a run, so that regions read them where they lie: a run
//! on warm memory allocates nothing.

use crate::backend::error::EvalError;
use crate::backend::operators::registry;
use crate::compile::CompileError;
use crate::compile::binder::compile_nodes;
use crate::dag::array::Elements;
use crate::dag::cells::{Room, Texts, array_of, view_of};
use crate::dag::{Array, Element, Expression, NodeId, ValueType};
use bumpalo::Bump;
use bumpalo::collections::Vec as BumpVec;
use cembra_vm::frame::{Frame, FrameError};
use cembra_vm::layout::{NumberSlot, TypedSlot};
use cembra_vm::machine::{BindError, BoundExpr, CallError, RunOptions, Share, SharedBudget};
use cembra_vm::value::nd_view::NdCell;
use cembra_vm::value::{Exhausted, Fault};
use ndarray::ArrayViewD;
use std::sync::Arc;
use thiserror::Error;

/// Why there is no program, or it has no result.
#[derive(Debug, Error)]
pub enum ProgramError {
    /// The expression is refused, a limit of compilation is reached, or a constant part of it may raise.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// There is no memory for the frame.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// An input is refused, or an operator raises.
    #[error(transparent)]
    Call(#[from] CallError),
    /// A node that is computed apart has an error.
    #[error("a node that is computed apart has no value")]
    Apart,
    /// There is no room for the results.
    #[error(transparent)]
    Budget(#[from] Fault),
}

impl ProgramError {
    /// The error of the evaluation, if the budget is used up: the step backend would not come further.
    pub(crate) fn exhausted(&self) -> Option<EvalError> {
        let (category, problem) = match self {
            ProgramError::Call(CallError::Run(error)) if error.is_exhausted() => {
                (error.category(), error.to_string())
            }
            ProgramError::Budget(fault) => (fault.category(), fault.to_string()),
            _ => return None,
        };
        Some(EvalError::Exhausted { category, problem })
    }
}

/// A bound program with its frame.
#[derive(Debug)]
pub(crate) struct Compiled {
    bound: BoundExpr,
    frame: Frame,
    inputs: Vec<Input>,
    /// For each input.
    rooms: Vec<Room>,
    outputs: Vec<Output>,
    /// What one run lends.
    arena: Bump,
    texts: Texts,
    /// Number of texts in the program itself.
    own_texts: usize,
}

#[derive(Debug)]
struct Input {
    node: NodeId,
    of: ValueType,
    slot: TypedSlot,
    /// The slot of a single value.
    single: Option<NumberSlot>,
    /// The number of an input that is lent. One that is a result too is written: what is lent cannot be read after the
    /// run.
    lent: Option<u32>,
}

#[derive(Debug)]
struct Output {
    node: NodeId,
    of: ValueType,
    slot: TypedSlot,
}

impl Compiled {
    /// Compiles an expression, which has at least one output.
    pub fn new(expression: Expression) -> Result<Compiled, ProgramError> {
        let Expression { graph, inputs, outputs, texts } = expression;
        let roots: Vec<_> = outputs.iter().map(|(_, node, _)| *node).collect();
        let names = outputs[1..].iter().map(|(id, ..)| name(*id)).collect();
        let qtype = |of: &ValueType| of.qtype().expect("inputs have types of the machine");
        let leaves = inputs.iter().map(|(id, of)| (id.to_string().into(), qtype(of))).collect();
        let bound = compile_nodes(graph, &roots, names, leaves, registry())?;
        let output = |(index, (node, _, of)): (usize, &(NodeId, _, ValueType))| {
            let slot = match index {
                0 => bound.output_slot(),
                _ => bound.side_output_slot(&name(*node))?,
            };
            Ok(Output { node: *node, of: *of, slot: slot.clone() })
        };
        let outputs = outputs.iter().enumerate().map(output).collect::<Result<Vec<Output>, BindError>>();
        let outputs = outputs.map_err(CompileError::from)?;
        let input = |(node, of): &(NodeId, ValueType)| {
            let slot = bound.input_slot(&node.to_string())?.clone();
            let is_output = outputs.iter().any(|output| output.slot == slot);
            let lent = bound.input_number(&slot).filter(|_| !is_output);
            Ok(Input { node: *node, of: *of, single: bound.layout().number_slot(&slot), slot, lent })
        };
        let inputs = inputs.iter().map(input).collect::<Result<Vec<Input>, BindError>>();
        let inputs = inputs.map_err(CompileError::from)?;
        let rooms = inputs.iter().map(|_| Room::default()).collect();
        let own_texts = texts.count();
        let (frame, arena) = (bound.new_frame()?, Bump::new());
        Ok(Compiled { bound, frame, inputs, rooms, outputs, arena, texts, own_texts })
    }

    /// The program.
    pub fn bound(&self) -> &BoundExpr {
        &self.bound
    }

    /// Number of values that it reads.
    pub fn input_count(&self) -> usize {
        self.inputs.len()
    }

    /// True if the values of the inputs are of the types that the program was compiled for.
    pub fn fits<'v>(&self, value: impl Fn(NodeId) -> Option<&'v Array>) -> bool {
        let fits = |input: &Input| value(input.node).is_some_and(|array| ValueType::of(array) == input.of);
        self.inputs.iter().all(fits)
    }

    /// Runs on the values of the inputs, which fit, within a share of a budget if there is one.
    pub fn run<'v>(
        &mut self,
        threads: usize,
        share: Option<&Share<'_>>,
        value: impl Fn(NodeId) -> Option<&'v Array>,
    ) -> Result<(), ProgramError> {
        let Compiled { bound, frame, inputs, rooms, arena, texts, own_texts, .. } = self;
        texts.truncate(*own_texts);
        arena.reset();
        let mut views = BumpVec::with_capacity_in(inputs.len(), arena);
        for (input, room) in inputs.iter().zip(rooms) {
            let array = value(input.node).expect("the program was found to fit");
            match (input.single, input.lent) {
                (Some(slot), _) => set_number(frame, slot, array, texts),
                (None, Some(number)) => views.push((number, view_of(array, texts, room)?)),
                (None, None) => frame.write_nd(&input.slot, &view_of(array, texts, room)?)?,
            }
        }
        if share.is_none() && threads <= 1 && views.is_empty() {
            return Ok(bound.execute(frame).map_err(CallError::from)?);
        }
        let options = RunOptions::new().within(share).threads(threads);
        Ok(bound.run_on(frame, &views, &mut [], options)?)
    }

    /// The same within a budget, of whose bytes `alive` are used by other values.
    ///
    /// # Errors
    /// As of [`run`](Self::run), or fewer bytes are left after the run than copies of its results take.
    pub fn run_within<'v>(
        &mut self,
        budget: &SharedBudget,
        alive: u64,
        threads: usize,
        value: impl Fn(NodeId) -> Option<&'v Array>,
    ) -> Result<(), ProgramError> {
        self.run(threads, Some(&budget.share().beside(alive)), value)?;
        let (asked, limit) = (self.frame.alive(), budget.whole().bytes_alive);
        let alive = alive.saturating_add(asked);
        match alive.saturating_add(asked) > limit {
            true => Err(Fault::from(Exhausted::Bytes { asked, alive, limit }).into()),
            false => Ok(()),
        }
    }

    /// Gives back the memory of the values of earlier runs.
    pub fn forget_values(&mut self) -> Result<(), FrameError> {
        self.texts.truncate(self.own_texts);
        self.rooms.fill_with(Room::default);
        self.frame = self.bound.new_frame()?;
        Ok(())
    }

    /// The nodes whose values it gives.
    pub fn output_nodes(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.outputs.iter().map(|output| output.node)
    }

    /// The results of the last run.
    pub fn outputs(&self) -> impl Iterator<Item = (NodeId, Array)> + '_ {
        self.outputs.iter().map(|output| (output.node, self.read(output)))
    }

    /// The result of the last run for a node.
    pub fn value(&self, node: NodeId) -> Option<Array> {
        self.output(node).map(|output| self.read(output))
    }

    /// The result of the last run for a node, where it stands; nothing for single values, and for dtypes that the
    /// machine holds otherwise.
    pub fn view<T: Element + NdCell>(&self, node: NodeId) -> Option<ArrayViewD<'_, T>> {
        let has_axes = |output: &&Output| output.of.rank() > 0 && output.of.dtype == T::DTYPE;
        self.frame.nd_view(&self.output(node).filter(has_axes)?.slot).ok()?.to_ndarray()
    }

    fn read(&self, output: &Output) -> Array {
        let view = self.frame.nd_view(&output.slot).expect("a run has written all outputs");
        array_of(&view, output.of, &self.texts)
    }

    fn output(&self, node: NodeId) -> Option<&Output> {
        self.outputs.iter().find(|output| output.node == node)
    }
}

/// Writes a single value, as the machine holds it: a view of it would take longer than a small program.
fn set_number(frame: &mut Frame, slot: NumberSlot, array: &Array, texts: &mut Texts) {
    match array {
        Array::Bool(value) => frame.set_number(slot, first(value)),
        Array::Int8(value) => frame.set_number(slot, i32::from(first(value))),
        Array::Int32(value) => frame.set_number(slot, first(value)),
        Array::Int64(value) => frame.set_number(slot, first(value)),
        Array::Float16(value) => frame.set_number(slot, first(value).to_f32()),
        Array::Float32(value) => frame.set_number(slot, first(value)),
        Array::Float64(value) => frame.set_number(slot, first(value)),
        Array::Text(value) => frame.set_number(slot, texts.code(&value.table[first(&value.codes) as usize])),
    }
}

fn first<T: Copy>(elements: &Elements<T>) -> T {
    *elements.first().expect("without axes there is one element")
}

/// The name of a side output; names are sorted as numbers are.
fn name(id: NodeId) -> Arc<str> {
    format!("n{:07}", id.number()).into()
}
