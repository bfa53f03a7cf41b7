//! Runs of a stage that are kept: a part of it on buffers that are laid out in one way, without a look at each read.
//!
//! ```text
//! step 0    u -> v      places of all reads and targets, bound        kept 0
//! step 1    v -> u      other strides: bound as well                  kept 1
//! step 2    u -> v      layouts compared, a few words each            kept 0 runs
//! ```
//!
//! Elements that lists choose along the last axis are read by the run itself, where it can; else they are taken before it.
//!
//! What is kept says where elements stand relative to the first cell of each buffer: a buffer may move, or be exchanged with
//! another one. Origins, shapes and types are compared by the plan, before all statements.

use crate::backend::field::lent::LentInput;
#[cfg(feature = "native")]
use crate::backend::field::limits::StageLimits;
#[cfg(feature = "native")]
use crate::backend::field::native_stage::NativeStage;
use crate::backend::field::results::{Part, Targets, is_full, is_shared};
use crate::backend::field::stage_data::{StageData, place};
use crate::expr::NodeId;
use crate::field::buffer::{BufferLayout, FieldBuffer};
use crate::field::cells::FieldCells;
use crate::field::error::FieldProblem;
use crate::field::part::PartPlace;
use crate::field::stage::{FieldStage, ReadOf, StageOutput, StageResult, StageSource};
use bumpalo::Bump;
use bumpalo::collections::Vec as BumpVec;
use cembra_vm::frame::Frame;
use cembra_vm::layout::TypedSlot;
#[cfg(feature = "native")]
use cembra_vm::library::{KeptSweep, SweepSource};
use cembra_vm::machine::{BoundExpr, CellsPlace, HostCells, KeptOperand, KeptRun, RunOptions, SweepOrder};
use cembra_vm::value::ScalarValue;
use cembra_vm::value::shape::PerAxis;

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
    /// True if runs take elements at positions along the last axis themselves.
    takes_inside: bool,
}

/// What runs a stage.
pub(super) enum Runner<'r> {
    /// The machine, within what options say.
    Machine(&'r BoundExpr, &'r mut Frame, RunOptions<'r>),
    /// A library, within limits.
    #[cfg(feature = "native")]
    Library(&'r mut NativeStage, StageLimits<'r>),
}

/// What is kept.
#[derive(Debug)]
enum KeptBody {
    Strip(Box<KeptRun>),
    #[cfg(feature = "native")]
    /// A sweep, and the calls that it counts as.
    Sweep(KeptSweep, usize),
}

/// A part of a stage, as it was bound.
#[derive(Debug)]
struct Kept {
    first: Vec<i64>,
    shape: Vec<usize>,
    /// True if targets are fields; else they have the axes of the box.
    is_to_fields: bool,
    /// Those of buffers that are read, then of targets.
    layouts: Vec<BufferLayout>,
    body: KeptBody,
}

/// A part of a stage, and the order of its levels.
#[derive(Clone, Copy)]
pub(super) struct KeptPart<'p> {
    pub part: Part<'p>,
    pub order: SweepOrder,
    /// What a scan hands on to its first level.
    pub init: &'p [ScalarValue],
    /// Calls that the part takes if it is not kept.
    pub calls: usize,
}

impl KeptRuns {
    /// None, yet. Nothing if runs of the stage cannot be kept: results are to be operations, each with a value of its own.
    pub fn new(stage: &FieldStage, lent: &[LentInput], slots: &[(NodeId, TypedSlot)]) -> Option<KeptRuns> {
        let takes_inside = true;
        let memories = memories_of(stage, lent, takes_inside);
        let slot = |(number, output): (usize, &StageOutput)| match output.result {
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
        Some(KeptRuns { memories, slots, kept: Vec::new(), next: 0, attempts: 0, takes_inside })
    }

    /// True if runs take elements at positions along the last axis themselves, as far as is known.
    pub fn takes_where_they_lie(&self) -> bool {
        self.takes_inside && self.attempts < MOST_ATTEMPTS
    }

    /// True if there are some.
    pub fn has_some(&self) -> bool {
        !self.kept.is_empty()
    }

    /// Runs what is kept for a part on buffers of these layouts. False if there is nothing, or it stopped.
    ///
    /// # Errors
    /// The budget is used up.
    pub fn run(
        &mut self,
        runner: Runner<'_>,
        (stage, lent): (&FieldStage, &mut [LentInput]),
        from: StageData<'_>,
        part: Part<'_>,
        into: &mut Targets<'_>,
        arena: &Bump,
    ) -> Result<bool, FieldProblem> {
        let read = read_buffers(&self.memories, from, arena);
        let found = self.position(part, &read, into);
        let Some(found) = found else { return Ok(false) };
        self.next = found + 1;
        for input in lent.iter_mut().filter(|input| is_taken(input, self.takes_inside)) {
            input.take(stage, from, part, arena);
        }
        let mut cells = cells_of(&self.memories, &read, stage, lent, part, into.buffers, arena);
        match (&mut self.kept[found].body, runner) {
            (KeptBody::Strip(run), Runner::Machine(_, frame, options)) => {
                Ok(run.run(frame, &mut cells, &options))
            }
            #[cfg(feature = "native")]
            (KeptBody::Sweep(sweep, calls), Runner::Library(library, limits)) => {
                for _ in 1..*calls {
                    limits.charge(0)?;
                }
                let points = part.shape.iter().product();
                library.run_kept(sweep, from.scalars, &mut cells, points, limits)
            }
            #[cfg(feature = "native")]
            _ => Ok(false),
        }
    }

    /// Keeps a run of a part on these buffers, which has just run, if that can be.
    pub fn keep(
        &mut self,
        runner: &Runner<'_>,
        (stage, lent): (&FieldStage, &[LentInput]),
        from: StageData<'_>,
        KeptPart { part, order, init, calls }: KeptPart<'_>,
        into: &mut Targets<'_>,
        arena: &Bump,
    ) {
        let is_ready = match runner {
            Runner::Machine(bound, ..) => bound.may_keep(),
            #[cfg(feature = "native")]
            Runner::Library(library, _) => library.has_sweep(),
        };
        if !is_ready || self.attempts >= MOST_ATTEMPTS {
            return;
        }
        let mut plane: PerAxis = part.shape.iter().copied().collect();
        if let SweepOrder::Up(axis) | SweepOrder::Down(axis) = order {
            plane[axis] = 1;
        }
        let level = Part { first: part.first, shape: &plane };
        let read = read_buffers(&self.memories, from, arena);
        if self.position(part, &read, into).is_some() {
            // It is there, and did not run this time: a budget, threads.
            return;
        }
        let layouts = read.iter().flatten().copied().chain(&*into.buffers).map(FieldBuffer::layout).collect();
        let is_to_fields = !into.destinations.is_empty();
        let place = |(number, buffer): (usize, &FieldBuffer)| {
            let place = part.place_in(buffer, into.destinations.get(number));
            cells_at(Some(self.memories.len() + number), &place)
        };
        let places: Vec<CellsPlace> = into.buffers.iter().enumerate().map(place).collect();
        let cells = cells_of(&self.memories, &read, stage, lent, part, into.buffers, arena);
        let results: Vec<_> = self.slots.iter().zip(places).collect();
        let body = match runner {
            _ if !self.slots.iter().all(|slot| is_full(slot, level)) => None,
            Runner::Machine(bound, ..) => {
                let operand = |(number, input): (usize, &LentInput)| {
                    let place = || self.place_of(stage, (number, input), from, part).map(KeptOperand::Cells);
                    let operand = match (&stage.inputs[input.number].source, &input.positions) {
                        (StageSource::Carry(carry), _) => {
                            Some(KeptOperand::Before(*carry, init[*carry].clone()))
                        }
                        (StageSource::Field(_), Some(positions)) if self.takes_inside => {
                            let first = first_position(stage, part);
                            let place = self.place_of(stage, (number, input), from, part)?;
                            Some(KeptOperand::Taken(place, positions.clone(), first))
                        }
                        _ => place(),
                    };
                    Some((input.bit, operand?))
                };
                let inputs: Option<Vec<_>> = lent.iter().enumerate().map(operand).collect();
                let keep = |inputs: Vec<_>| bound.keep((part.shape, order), &inputs, &results, &cells);
                inputs.and_then(keep).map(|run| KeptBody::Strip(Box::new(run.counted_as(calls as u64))))
            }
            #[cfg(feature = "native")]
            Runner::Library(library, _) => {
                let source = |number: usize| {
                    let input = &lent[number];
                    let place = || self.place_of(stage, (number, input), from, part);
                    match (&stage.inputs[input.number].source, &input.positions) {
                        (StageSource::Carry(carry), _) => {
                            Some(SweepSource::Before(*carry, init[*carry].clone()))
                        }
                        (StageSource::Field(_), Some(positions)) => {
                            Some(SweepSource::Taken(place()?, positions.clone(), first_position(stage, part)))
                        }
                        _ => place().map(SweepSource::Cells),
                    }
                };
                let sweep = library.keep((part.shape, order), source, &results, &cells);
                sweep.map(|sweep| KeptBody::Sweep(sweep, calls))
            }
        };
        let Some(body) = body else {
            self.attempts += 1;
            let has_positions = |input: &LentInput| input.positions.is_some();
            if self.takes_inside && matches!(runner, Runner::Machine(..)) && lent.iter().any(has_positions) {
                // Cells that do not stand one after the other, or truths: they are taken before runs.
                self.takes_inside = false;
                self.memories = memories_of(stage, lent, false);
                self.kept.clear();
            }
            return;
        };
        if self.kept.len() == MOST_KEPT {
            // Layouts of before, or more parts than are kept: then attempts end.
            self.attempts += 1;
            self.kept.clear();
        }
        let (first, shape) = (part.first.to_vec(), part.shape.to_vec());
        self.kept.push(Kept { first, shape, is_to_fields, layouts, body });
        self.next = self.kept.len();
    }

    /// The number of what is kept for a part on buffers of these layouts.
    fn position(&self, part: Part<'_>, read: &[Option<&FieldBuffer>], into: &Targets<'_>) -> Option<usize> {
        let layouts = || read.iter().flatten().copied().chain(&*into.buffers);
        let fits = |kept: &Kept| {
            kept.first.iter().eq(part.first)
                && kept.shape.iter().eq(part.shape)
                && kept.is_to_fields != into.destinations.is_empty()
                && kept.layouts.iter().zip(layouts()).all(|(layout, buffer)| buffer.has_layout(layout))
        };
        let count = self.kept.len();
        (0..count).map(|at| (self.next + at) % count).find(|at| fits(&self.kept[*at]))
    }

    /// Where the elements of a lent input stand.
    fn place_of(
        &self,
        stage: &FieldStage,
        (number, input): (usize, &LentInput),
        from: StageData<'_>,
        part: Part<'_>,
    ) -> Option<CellsPlace> {
        let memory = |of: MemoryOf| self.memories.iter().position(|other| *other == of);
        let lent = |sizes: &[usize]| cells_at(memory(MemoryOf::Lent(number)), &PartPlace::in_order(sizes));
        match &stage.inputs[input.number].source {
            StageSource::Field(read) if is_taken(input, self.takes_inside) => {
                Some(lent(&read.sizes(part.shape)))
            }
            StageSource::Field(read) => {
                let place = place(from.buffer(read), stage, read, part);
                Some(cells_at(memory(MemoryOf::Buffer(read.of)), &place))
            }
            StageSource::Mask { axis, .. } => {
                let size = |(other, size): (usize, &usize)| if other == *axis { *size } else { 1 };
                let sizes: PerAxis = part.shape.iter().enumerate().map(size).collect();
                Some(lent(&sizes))
            }
            StageSource::Carry(_) | StageSource::Scalar(_) => None,
        }
    }
}

/// What the inputs of a stage are read from, once each.
fn memories_of(stage: &FieldStage, lent: &[LentInput], takes_inside: bool) -> Vec<MemoryOf> {
    let mut memories = Vec::new();
    for (number, input) in lent.iter().enumerate() {
        let of = match &stage.inputs[input.number].source {
            StageSource::Field(read) if !is_taken(input, takes_inside) => MemoryOf::Buffer(read.of),
            StageSource::Field(_) | StageSource::Mask { .. } => MemoryOf::Lent(number),
            StageSource::Carry(_) | StageSource::Scalar(_) => continue,
        };
        if !memories.contains(&of) {
            memories.push(of);
        }
    }
    memories
}

/// True if elements of an input are taken by lists before the run.
fn is_taken(input: &LentInput, takes_inside: bool) -> bool {
    input.taken.is_some() && !(takes_inside && input.positions.is_some())
}

/// The number of the first position of a part in the list of a read along the last axis.
fn first_position(stage: &FieldStage, part: Part<'_>) -> usize {
    let last = part.shape.len() - 1;
    (part.first[last] - stage.first[last]) as usize
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
            (MemoryOf::Lent(number), _) => {
                match (&lent[number].taken, &stage.inputs[lent[number].number].source) {
                    (None, StageSource::Mask { axis, values }) => {
                        let from = (part.first[*axis] - stage.first[*axis]) as usize;
                        HostCells::read(&values[from..][..part.shape[*axis]])
                    }
                    (taken, _) => taken.as_ref().map_or(HostCells::read::<f64>(&[]), FieldCells::lend),
                }
            }
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
