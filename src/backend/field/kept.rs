//! Runs of a stage that are kept: a part of it on buffers that are laid out in one way, without a look at each read.
//!
//! ```text
//! step 0    u -> v      places of all reads and targets, bound        kept 0
//! step 1    v -> u      other strides: bound as well                  kept 1
//! step 2    u -> v      layouts compared, a few words each            kept 0 runs
//! ```
//!
//! What is kept says where elements stand relative to the first cell of each buffer: a buffer may move, or be exchanged with
//! another one. Origins, shapes and types are compared by the plan, before all statements.

use crate::backend::field::lent::LentInput;
use crate::backend::field::results::{Part, Targets, is_full, is_shared};
use crate::backend::field::stage_data::{StageData, place};
use crate::expr::NodeId;
use crate::field::buffer::{BufferLayout, FieldBuffer, FieldCells};
use crate::field::part::PartPlace;
use crate::field::stage::{FieldStage, ReadOf, StageResult, StageSource};
use bumpalo::Bump;
use bumpalo::collections::Vec as BumpVec;
use cembra_vm::frame::Frame;
use cembra_vm::layout::TypedSlot;
use cembra_vm::machine::{BoundExpr, CellsPlace, HostCells, KeptOperand, KeptRun, RunOptions, SweepOrder};
use cembra_vm::value::ScalarValue;

/// Runs of a stage that are kept at most: its bands, on a few layouts.
const MOST_KEPT: usize = 32;

/// Times that a part is bound in vain: then its elements do not stand in runs, or its operations are no strip.
const MOST_ATTEMPTS: usize = 16;

/// What a stage reads, once each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MemoryOf {
    Buffer(ReadOf),
    /// Elements that lists choose, or truth values along an axis: those of the lent input of this number.
    Lent(usize),
}

/// The runs of a stage that are kept.
#[derive(Debug)]
pub(super) struct KeptRuns {
    /// What is read; targets come behind.
    memories: Vec<MemoryOf>,
    /// The slots of outputs.
    slots: Vec<TypedSlot>,
    kept: Vec<Kept>,
    /// The one that comes next, if parts and layouts come again in the same order.
    next: usize,
    attempts: usize,
}

/// A part of a stage, as it was bound.
#[derive(Debug)]
struct Kept {
    first: Vec<i64>,
    shape: Vec<usize>,
    /// Those of buffers that are read, then of targets.
    layouts: Vec<BufferLayout>,
    run: KeptRun,
}

/// A part of a stage, and the order of its levels.
#[derive(Clone, Copy)]
pub(super) struct KeptPart<'p> {
    pub part: Part<'p>,
    pub order: SweepOrder,
    /// What a scan hands on to its first level.
    pub init: &'p [ScalarValue],
}

impl KeptRuns {
    /// None, yet. Nothing if runs of the stage cannot be kept: results are to be operations, each with a value of its own.
    pub fn new(stage: &FieldStage, lent: &[LentInput], slots: &[(NodeId, TypedSlot)]) -> Option<KeptRuns> {
        let mut memories = Vec::new();
        for (number, input) in lent.iter().enumerate() {
            let of = match &stage.inputs[input.number].source {
                StageSource::Field(read) if input.taken.is_none() => MemoryOf::Buffer(read.of),
                StageSource::Field(_) | StageSource::Mask { .. } => MemoryOf::Lent(number),
                StageSource::Carry(_) | StageSource::Scalar(_) => continue,
            };
            if !memories.contains(&of) {
                memories.push(of);
            }
        }
        let slot = |(number, output): (usize, &crate::field::stage::StageOutput)| match output.result {
            StageResult::Node(node) if !is_shared(stage, number) => {
                slots.iter().find(|(known, _)| *known == node).map(|(_, slot)| slot.clone())
            }
            _ => None,
        };
        let slots = stage.outputs.iter().enumerate().map(slot).collect::<Option<Vec<_>>>()?;
        // An input that is a result stays in the frame.
        let is_input = |slot: &TypedSlot| lent.iter().any(|input| input.slot == *slot);
        if slots.iter().any(is_input) {
            return None;
        }
        Some(KeptRuns { memories, slots, kept: Vec::new(), next: 0, attempts: 0 })
    }

    /// True if there are some.
    pub fn has_some(&self) -> bool {
        !self.kept.is_empty()
    }

    /// Runs what is kept for a part on buffers of these layouts. False if there is nothing, or it stopped.
    #[expect(clippy::too_many_arguments, reason = "the fields of a program, borrowed apart")]
    pub fn run(
        &mut self,
        frame: &mut Frame,
        stage: &FieldStage,
        lent: &mut [LentInput],
        from: StageData<'_>,
        part: Part<'_>,
        buffers: &mut [FieldBuffer],
        options: &RunOptions<'_>,
        arena: &Bump,
    ) -> bool {
        let read = read_buffers(&self.memories, from, arena);
        let layouts = || read.iter().flatten().copied().chain(&*buffers);
        let fits = |kept: &Kept| {
            kept.first == part.first
                && kept.shape == part.shape
                && kept.layouts.iter().zip(layouts()).all(|(layout, buffer)| buffer.has_layout(layout))
        };
        let count = self.kept.len();
        let found = (0..count).map(|at| (self.next + at) % count).find(|at| fits(&self.kept[*at]));
        let Some(found) = found else { return false };
        self.next = found + 1;
        lent.iter_mut().for_each(|input| input.take(stage, from, part, arena));
        let mut cells = cells_of(&self.memories, &read, stage, lent, part, buffers, arena);
        self.kept[found].run.run(frame, &mut cells, options)
    }

    /// Keeps a run of a part on these buffers, which has just run, if that can be.
    #[expect(clippy::too_many_arguments, reason = "the fields of a program, borrowed apart")]
    pub fn keep(
        &mut self,
        bound: &BoundExpr,
        stage: &FieldStage,
        lent: &[LentInput],
        from: StageData<'_>,
        KeptPart { part, order, init }: KeptPart<'_>,
        into: &mut Targets<'_>,
        arena: &Bump,
    ) {
        let plane = |axis: usize| match order {
            SweepOrder::Up(steps) | SweepOrder::Down(steps) if steps == axis => 1,
            _ => part.shape[axis],
        };
        let plane: Vec<usize> = (0..part.shape.len()).map(plane).collect();
        let level = Part { first: part.first, shape: &plane };
        let is_ready = self.attempts < MOST_ATTEMPTS && bound.may_keep();
        if !is_ready || !self.slots.iter().all(|slot| is_full(slot, level)) {
            return;
        }
        let mut inputs = Vec::new();
        for (number, input) in lent.iter().enumerate() {
            let memory = |of: MemoryOf| self.memories.iter().position(|other| *other == of);
            let operand = match &stage.inputs[input.number].source {
                StageSource::Carry(number) => KeptOperand::Before(*number, init[*number].clone()),
                StageSource::Field(read) if input.taken.is_none() => {
                    let place = place(from.buffer(read), stage, read, part);
                    KeptOperand::Cells(cells_at(memory(MemoryOf::Buffer(read.of)), &place))
                }
                StageSource::Field(read) => {
                    let place = PartPlace::in_order(&read.sizes(part.shape));
                    KeptOperand::Cells(cells_at(memory(MemoryOf::Lent(number)), &place))
                }
                StageSource::Mask { axis, .. } => {
                    let size = |(other, size): (usize, &usize)| if other == *axis { *size } else { 1 };
                    let sizes: Vec<usize> = part.shape.iter().enumerate().map(size).collect();
                    KeptOperand::Cells(cells_at(memory(MemoryOf::Lent(number)), &PartPlace::in_order(&sizes)))
                }
                StageSource::Scalar(_) => continue,
            };
            inputs.push((input.bit, operand));
        }
        let mut results = Vec::new();
        for (number, (slot, buffer)) in self.slots.iter().zip(&*into.buffers).enumerate() {
            let place = part.place_in(buffer, into.destinations.get(number));
            results.push((slot, cells_at(Some(self.memories.len() + number), &place)));
        }
        let read = read_buffers(&self.memories, from, arena);
        let layouts = read.iter().flatten().copied().chain(&*into.buffers).map(FieldBuffer::layout).collect();
        let cells = cells_of(&self.memories, &read, stage, lent, part, into.buffers, arena);
        let Some(run) = bound.keep((part.shape, order), &inputs, &results, &cells) else {
            self.attempts += 1;
            return;
        };
        let kept = Kept { first: part.first.to_vec(), shape: part.shape.to_vec(), layouts, run };
        match self.kept.len() < MOST_KEPT {
            true => self.kept.push(kept),
            false => self.kept[self.next % MOST_KEPT] = kept,
        }
        self.next = (self.next + 1) % MOST_KEPT;
    }
}

/// The buffers that are read; nothing where memory is none.
fn read_buffers<'b>(
    memories: &[MemoryOf],
    from: StageData<'b>,
    arena: &'b Bump,
) -> BumpVec<'b, Option<&'b FieldBuffer>> {
    let buffer = |of: &MemoryOf| match *of {
        MemoryOf::Buffer(of) => Some(from.buffer_of(of)),
        MemoryOf::Lent(_) => None,
    };
    BumpVec::from_iter_in(memories.iter().map(buffer), arena)
}

/// The cells of all memories.
fn cells_of<'m>(
    memories: &[MemoryOf],
    read: &[Option<&'m FieldBuffer>],
    stage: &'m FieldStage,
    lent: &'m [LentInput],
    part: Part<'_>,
    buffers: &'m mut [FieldBuffer],
    arena: &'m Bump,
) -> BumpVec<'m, HostCells<'m>> {
    let mut all = BumpVec::with_capacity_in(memories.len() + buffers.len(), arena);
    for (of, buffer) in memories.iter().zip(read) {
        all.push(match (*of, buffer) {
            (MemoryOf::Buffer(_), Some(buffer)) => buffer.cells().lend(),
            (MemoryOf::Lent(number), _) => match (&lent[number].taken, &stage.inputs[lent[number].number].source) {
                (None, StageSource::Mask { axis, values }) => {
                    let from = (part.first[*axis] - stage.first[*axis]) as usize;
                    HostCells::read(&values[from..][..part.shape[*axis]])
                }
                (taken, _) => taken.as_ref().map_or(HostCells::read::<f64>(&[]), FieldCells::lend),
            },
            (MemoryOf::Buffer(_), None) => HostCells::read::<f64>(&[]),
        });
    }
    all.extend(buffers.iter_mut().map(FieldBuffer::lend_mut));
    all
}

/// A place in the memory of a number.
fn cells_at(memory: Option<usize>, place: &PartPlace) -> CellsPlace {
    let (first, steps) = place.window();
    CellsPlace { memory: memory.unwrap_or(usize::MAX), first, steps }
}
