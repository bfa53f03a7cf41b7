//! The library of a stage: what the interpreter would compute, by code of a C compiler.
//!
//! ```text
//! buffers ──strided views──> arguments │ library ──rooms──> buffers
//!                            scalars   │         ──memory of the call──> results without a room
//! ```
//!
//! A library knows types and no sizes: plans for fields of other sizes find it in the cache.
//!
//! Where all results have rooms and the library has a sweep, it goes over the elements at once: without a comparison of its own, along
//! the levels of a scan, and with elements that lists choose. Else the library is called.

use crate::backend::field::limits::{StageLimits, ours};
use crate::field::error::FieldProblem;
use crate::native::error::NativeError;
use crate::native::stage::ProgramCall;
use cembra_vm::layout::TypedSlot;
use cembra_vm::library::{Argument, CallMemory, KeptSweep, Library, SweepOperand, SweepSource};
use cembra_vm::machine::{CellsPlace, HostCells, Positions, Room, SweepOrder};
use cembra_vm::value::shape::Strides;
use cembra_vm::value::{NdView, ScalarValue, Value};
use std::sync::Arc;

/// Where an argument comes from.
#[derive(Clone, Copy, Debug)]
pub(super) enum ArgumentOf {
    /// A view that is lent, by its number among these.
    View(usize),
    /// A scalar of the run, by its number in the program of fields.
    Scalar(usize),
}

/// A view that is lent.
#[derive(Clone, Copy, Debug)]
pub(super) enum LentView<'a> {
    /// Its elements; axes of size 1 repeat.
    Elements(&'a NdView<'a>),
    /// Those of a buffer from a cell on, by cells from one to the next along each axis.
    Window(&'a NdView<'a>, usize, Strides),
    /// Those at positions along the last axis, from a number on.
    Taken(&'a NdView<'a>, &'a Positions, usize),
    /// The plane of the level before, of the result that has this slot; at the first level the only element of a view.
    Before(&'a TypedSlot, &'a NdView<'a>),
}

/// The library of a stage, with the memory of its calls.
#[derive(Debug)]
pub(super) struct NativeStage {
    memory: CallMemory,
    /// In the order of the library, with the values of scalars.
    arguments: Vec<(ArgumentOf, Value)>,
    /// For each output the number of the library's result, the slot, and whether the run has a room for it.
    results: Vec<(usize, TypedSlot, bool)>,
    /// Operators, each of which counts as one row an element.
    operators: usize,
    /// True if the library has computed the last run.
    has_results: bool,
}

impl NativeStage {
    /// Makes memory for calls of the library. `argument` says where the input of a name comes from; `outputs` are slots, with
    /// the name of a side output for all but the first.
    ///
    /// # Errors
    /// There is no memory.
    pub fn new<'n>(
        library: &Library,
        call: &ProgramCall,
        argument: impl Fn(&str) -> Option<ArgumentOf>,
        outputs: impl Iterator<Item = (Option<Arc<str>>, &'n TypedSlot)>,
    ) -> Result<NativeStage, NativeError> {
        let main = call.program().main();
        let inputs = main.inputs.iter();
        let argument = |(name, _): &(Arc<str>, _)| argument(name).expect("an input of the stage");
        let unset = Value::Scalar(ScalarValue::Unit);
        let arguments = inputs.map(|input| (argument(input), unset.clone())).collect();
        let number = |name: &Arc<str>| main.side_outputs.iter().position(|(side, _)| side == name);
        let result = |name: Option<Arc<str>>| {
            name.map_or(0, |name| 1 + number(&name).expect("an output of the stage"))
        };
        let results = outputs.map(|(name, slot)| (result(name), slot.clone(), false)).collect();
        let memory = library.call_memory().map_err(|error| NativeError::file("memory", error))?;
        let operators = main.body.instructions().len();
        Ok(NativeStage { memory, arguments, results, operators, has_results: false })
    }

    /// True if the library can go over elements at once, into these rooms.
    pub fn can_sweep(&self, rooms: &[Room<'_>]) -> bool {
        let has_room = |slot: &TypedSlot| rooms.iter().filter(|room| room.slot() == slot).count() == 1;
        self.memory.can_sweep()
            && rooms.len() == self.results.len()
            && self.results.iter().all(|(_, slot, _)| has_room(slot))
    }

    /// Goes over the elements of a box.
    ///
    /// # Errors
    /// The budget is used up.
    pub fn sweep(
        &mut self,
        (shape, order): (&[usize], SweepOrder),
        views: &[LentView<'_>],
        scalars: &[ScalarValue],
        rooms: &mut [Room<'_>],
        limits: StageLimits<'_>,
    ) -> Result<(), FieldProblem> {
        let NativeStage { memory, arguments, results, operators, has_results } = self;
        *has_results = false;
        let points: usize = shape.iter().product();
        limits.charge(points.saturating_mul(*operators))?;
        set_scalars(arguments, scalars);
        let number = |slot: &TypedSlot| results.iter().find(|(_, known, _)| known == slot).map(|of| of.0);
        let all = arguments.iter().map(|(of, value)| match *of {
            ArgumentOf::Scalar(_) => SweepOperand::Value(value),
            ArgumentOf::View(view) => match views[view] {
                LentView::Elements(view) => SweepOperand::Elements(view),
                LentView::Window(cells, first, steps) => SweepOperand::Window(cells, first, steps),
                LentView::Taken(view, positions, from) => SweepOperand::Taken(view, positions, from),
                LentView::Before(slot, first) => {
                    SweepOperand::Before(number(slot).unwrap_or(usize::MAX), first)
                }
            },
        });
        let rooms = rooms.iter_mut().map(|room| (number(room.slot()).unwrap_or(usize::MAX), room));
        memory.sweep(shape, order, all, rooms).map_err(ours)
    }

    /// True if the library has a sweep.
    pub fn has_sweep(&self) -> bool {
        self.memory.can_sweep()
    }

    /// Keeps a sweep: the function says where the lent view of a number stands, with a result before by the number of its slot.
    pub fn keep(
        &self,
        sweep: (&[usize], SweepOrder),
        source: impl Fn(usize) -> Option<SweepSource>,
        rooms: &[(&TypedSlot, CellsPlace)],
        memories: &[HostCells<'_>],
    ) -> Option<KeptSweep> {
        let number =
            |slot: &TypedSlot| self.results.iter().find(|(_, known, _)| known == slot).map(|of| of.0);
        let source = |(of, _): &(ArgumentOf, Value)| match *of {
            ArgumentOf::Scalar(_) => Some(SweepSource::Plain),
            ArgumentOf::View(view) => match source(view)? {
                SweepSource::Before(room, value) => {
                    Some(SweepSource::Before(number(rooms.get(room)?.0)?, value))
                }
                other => Some(other),
            },
        };
        let sources = self.arguments.iter().map(source).collect::<Option<Vec<_>>>()?;
        let mut numbered: Vec<(usize, CellsPlace)> =
            rooms.iter().map(|(slot, place)| Some((number(slot)?, *place))).collect::<Option<_>>()?;
        numbered.sort_by_key(|(number, _)| *number);
        let is_each = numbered.iter().enumerate().all(|(at, (number, _))| at == *number);
        let results: Vec<CellsPlace> = numbered.into_iter().map(|(_, place)| place).collect();
        is_each.then(|| self.memory.keep_sweep(sweep, &sources, &results, memories))?
    }

    /// Goes over so many points by a sweep that is kept; false if that is for other memory.
    ///
    /// # Errors
    /// The budget is used up.
    pub fn run_kept(
        &mut self,
        kept: &KeptSweep,
        scalars: &[ScalarValue],
        memories: &mut [HostCells<'_>],
        points: usize,
        limits: StageLimits<'_>,
    ) -> Result<bool, FieldProblem> {
        let NativeStage { memory, arguments, operators, has_results, .. } = self;
        *has_results = false;
        limits.charge(points.saturating_mul(*operators))?;
        set_scalars(arguments, scalars);
        let plain = |(_, (of, _)): &(usize, &(ArgumentOf, Value))| matches!(of, ArgumentOf::Scalar(_));
        let mut plain = arguments.iter().enumerate().filter(plain);
        Ok(plain.all(|(number, (_, value))| memory.write(number, value)) && memory.run_kept(kept, memories))
    }

    /// Computes all results: into rooms, or into memory of the call. False if the library refuses a value: the interpreter
    /// refuses it, too, and knows more about it.
    ///
    /// # Errors
    /// The budget is used up.
    pub fn run(
        &mut self,
        views: &[NdView<'_>],
        scalars: &[ScalarValue],
        rooms: &mut [Room<'_>],
        points: usize,
        limits: StageLimits<'_>,
    ) -> Result<bool, FieldProblem> {
        let NativeStage { memory, arguments, results, operators, has_results } = self;
        *has_results = false;
        limits.charge(points.saturating_mul(*operators))?;
        set_scalars(arguments, scalars);
        let all = arguments.iter().map(|(of, value)| match *of {
            ArgumentOf::View(view) => Argument::Elements(views[view]),
            ArgumentOf::Scalar(_) => Argument::Value(value),
        });
        let mut call = memory.bind(all).map_err(ours)?;
        results.iter_mut().for_each(|(.., has_room)| *has_room = false);
        for room in rooms {
            // Outputs that are one value have one slot.
            let is_of_room =
                |(_, slot, has_room): &&mut (usize, TypedSlot, bool)| slot == room.slot() && !*has_room;
            let (number, _, has_room) =
                results.iter_mut().find(is_of_room).ok_or_else(|| ours("a room for no output"))?;
            *has_room = true;
            call.lend_room(*number, room).map_err(ours)?;
        }
        *has_results = call.run().is_ok();
        Ok(*has_results)
    }

    /// True if the library has computed the last run.
    pub fn has_results(&self) -> bool {
        self.has_results
    }

    /// The result of the last run for an output without a room.
    pub fn output(&self, output: usize) -> NativeOutput<'_> {
        let number = self.results[output].0;
        match self.memory.elements(number) {
            Some(view) => NativeOutput::Elements(view),
            None => NativeOutput::Plain(self.memory.result(number)),
        }
    }
}

/// Takes the scalars of a run.
fn set_scalars(arguments: &mut [(ArgumentOf, Value)], scalars: &[ScalarValue]) {
    for (of, value) in arguments {
        if let ArgumentOf::Scalar(number) = *of {
            *value = Value::Scalar(scalars[number].clone());
        }
    }
}

/// A result in the memory of a call.
pub(super) enum NativeOutput<'m> {
    /// An array where it lies.
    Elements(NdView<'m>),
    /// A plain value.
    Plain(Value),
}
