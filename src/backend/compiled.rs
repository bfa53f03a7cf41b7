//! Compiled: the expression of some nodes as a bound program with its frame.
//!
//! ```text
//! values of nodes ──write──> inputs | frame | outputs ──read──> arrays
//! ```
//!
//! The frame is kept from run to run. An input that is the very array of the last run is not written again: the
//! program never overwrites inputs, and an array that we hold too cannot change.

use crate::backend::operators::registry;
use crate::compile::{CompileError, Options, compile};
use crate::dag::cells::{Cells, Texts, array_of, each_cell};
use crate::dag::{Array, Expression, NodeId, ValueType};
use crate::expr::GraphError;
use crate::prepare::join::joined;
use crate::prepare::{Prepare, PrepareError};
use crate::registry::Dialect;
use cembra_vm::frame::{Frame, FrameError};
use cembra_vm::layout::builder::MAX_FRAME_LIMIT;
use cembra_vm::layout::{Slot, TypedSlot};
use cembra_vm::machine::{BindError, BoundExpr, RunError, RunOptions};
use cembra_vm::value::{NdView, QType, ScalarType};
use std::sync::Arc;
use thiserror::Error;

/// Inputs with fewer elements are written each time.
const REMEMBERED: usize = 64;

/// Why there is no program, or it has no result.
#[derive(Debug, Error)]
pub(crate) enum ProgramError {
    #[error(transparent)]
    Prepare(#[from] PrepareError),
    #[error(transparent)]
    Compile(#[from] CompileError),
    #[error(transparent)]
    Bind(#[from] BindError),
    #[error(transparent)]
    Frame(#[from] FrameError),
    #[error(transparent)]
    Run(#[from] RunError),
    #[error(transparent)]
    Full(#[from] GraphError),
    #[error("a node that is computed apart has no value")]
    Apart,
}

/// A bound program with its frame.
#[derive(Debug)]
pub(crate) struct Compiled {
    bound: BoundExpr,
    frame: Frame,
    inputs: Vec<Input>,
    outputs: Vec<Output>,
    texts: Texts,
    /// Number of texts in the program itself.
    own_texts: usize,
}

#[derive(Debug)]
struct Input {
    node: NodeId,
    of: ValueType,
    place: Place,
    /// What was written last, if it is worth remembering.
    last: Option<Array>,
}

#[derive(Debug)]
struct Output {
    node: NodeId,
    of: ValueType,
    place: Place,
}

/// Where a value stands in the frame.
#[derive(Debug)]
enum Place {
    Bool(Slot<bool>),
    Int32(Slot<i32>),
    Int64(Slot<i64>),
    Float32(Slot<f32>),
    Float64(Slot<f64>),
    NdArray(TypedSlot),
}

impl Compiled {
    /// Compiles an expression, which has at least one output.
    pub fn new(expression: Expression) -> Result<Compiled, ProgramError> {
        let Expression { graph, inputs, outputs, texts } = expression;
        let roots: Vec<_> = outputs.iter().map(|(_, node, _)| *node).collect();
        let names = outputs[1..].iter().map(|(id, ..)| name(*id)).collect();
        let mut draft = joined(graph, &roots, names, registry(), Dialect::default())?;
        let qtype = |of: &ValueType| of.qtype().expect("inputs have types of the machine");
        draft.inputs = inputs.iter().map(|(id, of)| (id.to_string().into(), qtype(of))).collect();
        let prepared = Prepare::standard().run_joined(draft, &mut |_, _| {})?;
        let bound = compile(&prepared, &Options { frame_limit: MAX_FRAME_LIMIT, ..Options::default() })?;
        let (inputs, outputs) = (input_places(&bound, &inputs)?, output_places(&bound, &outputs)?);
        let own_texts = texts.count();
        Ok(Compiled { frame: bound.new_frame()?, bound, inputs, outputs, texts, own_texts })
    }

    /// The program.
    pub fn bound(&self) -> &BoundExpr {
        &self.bound
    }

    /// True if the values of the inputs are of the types that the program was compiled for.
    pub fn fits<'v>(&self, value: impl Fn(NodeId) -> Option<&'v Array>) -> bool {
        let fits = |input: &Input| value(input.node).is_some_and(|array| ValueType::of(array) == input.of);
        self.inputs.iter().all(fits)
    }

    /// Runs on the values of the inputs, which fit.
    pub fn run<'v>(
        &mut self,
        threads: usize,
        value: impl Fn(NodeId) -> Option<&'v Array>,
    ) -> Result<(), ProgramError> {
        self.texts.truncate(self.own_texts);
        for input in &mut self.inputs {
            let array = value(input.node).expect("the program was found to fit");
            if !input.last.as_ref().is_some_and(|last| is_same(last, array)) {
                write(&mut self.frame, &input.place, array, &mut self.texts)?;
                let is_remembered = array.len() >= REMEMBERED && !array.dtype().is_text();
                input.last = is_remembered.then(|| array.clone());
            }
        }
        Ok(self.bound.execute_with(&mut self.frame, RunOptions::new().threads(threads))?)
    }

    /// The nodes whose values it gives.
    pub fn output_nodes(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.outputs.iter().map(|output| output.node)
    }

    /// The results of the last run.
    pub fn outputs(&self) -> impl Iterator<Item = (NodeId, Array)> + '_ {
        let read = |output: &Output| (output.node, read(&self.frame, output, &self.texts));
        self.outputs.iter().map(read)
    }

    /// The result of the last run for a node, where it stands.
    pub fn view(&self, node: NodeId) -> Option<NdView<'_>> {
        let output = self.outputs.iter().find(|output| output.node == node)?;
        match &output.place {
            Place::NdArray(slot) => self.frame.nd_view(slot).ok(),
            _ => None,
        }
    }
}

/// The name of a side output; names are sorted as numbers are.
fn name(id: NodeId) -> Arc<str> {
    format!("n{:07}", id.number()).into()
}

/// The slot that a function finds for a type, by its type on the machine.
macro_rules! place {
    ($of:expr, $typed:expr, $nd:expr) => {
        match $of.qtype() {
            Some(QType::NdArray(_)) => Place::NdArray($nd.clone()),
            _ => match $of.element() {
                ScalarType::Boolean => Place::Bool($typed),
                ScalarType::Int32 => Place::Int32($typed),
                ScalarType::Int64 => Place::Int64($typed),
                ScalarType::Float32 => Place::Float32($typed),
                _ => Place::Float64($typed),
            },
        }
    };
}

fn input_places(bound: &BoundExpr, inputs: &[(NodeId, ValueType)]) -> Result<Vec<Input>, BindError> {
    let input = |(node, of): &(NodeId, ValueType)| {
        let name = node.to_string();
        let place = place!(of, bound.input(&name)?, bound.input_slot(&name)?);
        Ok(Input { node: *node, of: *of, place, last: None })
    };
    inputs.iter().map(input).collect()
}

fn output_places(
    bound: &BoundExpr,
    outputs: &[(NodeId, crate::expr::NodeId, ValueType)],
) -> Result<Vec<Output>, BindError> {
    let output = |(index, (node, _, of)): (usize, &(NodeId, crate::expr::NodeId, ValueType))| {
        let name = name(*node);
        let place = match index {
            0 => place!(of, bound.output()?, bound.output_slot()),
            _ => place!(of, bound.side_output(&name)?, bound.side_output_slot(&name)?),
        };
        Ok(Output { node: *node, of: *of, place })
    };
    outputs.iter().enumerate().map(output).collect()
}

fn write(frame: &mut Frame, place: &Place, array: &Array, texts: &mut Texts) -> Result<(), FrameError> {
    let cells = Cells::of(array, texts);
    match (place, &cells) {
        (Place::Bool(slot), Cells::Bool(cells)) => frame.set(*slot, cells[0]),
        (Place::Int32(slot), Cells::Int32(cells)) => frame.set(*slot, cells[0]),
        (Place::Int64(slot), Cells::Int64(cells)) => frame.set(*slot, cells[0]),
        (Place::Float32(slot), Cells::Float32(cells)) => frame.set(*slot, cells[0]),
        (Place::Float64(slot), Cells::Float64(cells)) => frame.set(*slot, cells[0]),
        (Place::NdArray(slot), cells) => {
            let view = each_cell!(cells, slice => NdView::from_slice(slice.as_ref(), array.shape()));
            frame.write_nd(slot, &view.expect("an array has as many elements as its shape says"))?;
        }
        _ => unreachable!("the slot was made for the type of the array"),
    }
    Ok(())
}

fn read(frame: &Frame, output: &Output, texts: &Texts) -> Array {
    let single = |view: Result<NdView<'_>, _>| array_of(&view.expect("one element"), output.of, texts);
    match &output.place {
        Place::Bool(slot) => single(NdView::from_slice(&[frame.get(*slot)], &[])),
        Place::Int32(slot) => single(NdView::from_slice(&[frame.get(*slot)], &[])),
        Place::Int64(slot) => single(NdView::from_slice(&[frame.get(*slot)], &[])),
        Place::Float32(slot) => single(NdView::from_slice(&[frame.get(*slot)], &[])),
        Place::Float64(slot) => single(NdView::from_slice(&[frame.get(*slot)], &[])),
        Place::NdArray(slot) => {
            let view = frame.nd_view(slot).expect("a run has written all outputs");
            array_of(&view, output.of, texts)
        }
    }
}

/// True if both are the same elements in memory.
fn is_same(left: &Array, right: &Array) -> bool {
    macro_rules! same {
        ($($variant:ident)*) => {
            match (left, right) {
                $((Array::$variant(l), Array::$variant(r)) => {
                    l.as_ptr() == r.as_ptr() && l.shape() == r.shape() && l.strides() == r.strides()
                })*
                _ => false,
            }
        };
    }
    same!(Bool Int8 Int32 Int64 Float16 Float32 Float64)
}
