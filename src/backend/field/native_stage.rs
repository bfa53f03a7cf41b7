//! The library of a stage: what the interpreter would compute, by code of a C compiler.
//!
//! ```text
//! buffers ──strided views──> arguments │ library ──rooms──> buffers
//!                            scalars   │         ──memory of the call──> results without a room
//! ```
//!
//! A library knows types and no sizes: plans for fields of other sizes find it in the cache.

use crate::backend::field::limits::{StageLimits, ours};
use crate::field::error::FieldProblem;
use crate::native::cache::NativeCache;
use crate::native::error::NativeError;
use crate::native::stage::{ArrayLayout, ProgramCall};
use cembra_vm::layout::TypedSlot;
use cembra_vm::library::{Argument, CallMemory};
use cembra_vm::machine::{BoundExpr, Room};
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
    /// Finds or builds the library. `argument` says where the input of a name comes from; `outputs` are slots, with the name
    /// of a side output for all but the first.
    ///
    /// # Errors
    /// The program has no form in C, or there is no library of it.
    pub fn new<'n>(
        cache: &NativeCache,
        bound: &BoundExpr,
        argument: impl Fn(&str) -> Option<ArgumentOf>,
        outputs: impl Iterator<Item = (Option<Arc<str>>, &'n TypedSlot)>,
    ) -> Result<NativeStage, NativeError> {
        let program = bound.program();
        let main = program.main();
        let call = ProgramCall::new("stage", program.clone(), ArrayLayout::Strided)?;
        let library = cache.library(&call)?;
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
        for (of, value) in &mut *arguments {
            if let ArgumentOf::Scalar(number) = *of {
                *value = Value::Scalar(scalars[number].clone());
            }
        }
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

/// A result in the memory of a call.
pub(super) enum NativeOutput<'m> {
    /// An array where it lies.
    Elements(NdView<'m>),
    /// A plain value.
    Plain(Value),
}
