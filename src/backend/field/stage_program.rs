//! The program of a stage, bound and with its frame.
//!
//! ```text
//! buffers ──strided views──> inputs | program ──rooms──> buffers            nothing is copied
//!         ──taken by lists─> inputs |         ──frame──> results ──copied──> buffers
//! ```
//!
//! Views are lent for a run, so that tile regions read shifted cells where they lie. A run allocates nothing once buffers have
//! grown to their size. On the native tier a library takes the same views and rooms; what it refuses, the interpreter runs
//! again, which says what is wrong.

use crate::backend::field::kept::{KeptPart, KeptRuns, Runner};
#[cfg(feature = "native")]
use crate::backend::field::lent::sweep_views;
use crate::backend::field::lent::{LentInput, positions_along_last};
use crate::backend::field::limits::{StageLimits, ours};
#[cfg(feature = "native")]
use crate::backend::field::native_stage::{ArgumentOf, NativeOutput, NativeStage};
use crate::backend::field::results::{Part, Targets};
use crate::backend::field::stage_data::{StageData, mask, with_scalar};
#[cfg(feature = "native")]
use crate::backend::field::tier::Telling;
use crate::backend::field::tier::{FieldTier, ProgramText, StageLibraries, StageNews};
use crate::compile::binder::compile_nodes;
use crate::compile::error::CompileError;
use crate::compile::tier::run_as_machine_code;
use crate::expr::NodeId;
use crate::field::cells::FieldCells;
use crate::field::dimension::DimensionId;
use crate::field::error::FieldProblem;
use crate::field::program::FieldProgram;
use crate::field::stage::{FieldStage, StageSource};
#[cfg(feature = "native")]
use crate::field::stage::{StageOutput, StageResult};
#[cfg(feature = "native")]
use crate::native::stage::{ArrayLayout, ProgramCall};
use crate::prepare::error::PrepareError;
use crate::registry::Registry;
use bumpalo::Bump;
use bumpalo::collections::Vec as BumpVec;
use cembra_vm::frame::Frame;
use cembra_vm::layout::TypedSlot;
#[cfg(feature = "native")]
use cembra_vm::machine::SweepOrder;
use cembra_vm::machine::{BoundExpr, CallError, Observer, Room, RunErrorKind, RunOptions, Share};
use cembra_vm::value::{Fault, NdView, ScalarValue, Value};
#[cfg(feature = "native")]
use std::cell::RefCell;
use std::sync::{Arc, LazyLock};

/// Reads of a stage that is built: the time of a C compiler grows with the square of their number, 10 seconds for 64.
#[cfg(feature = "native")]
const MOST_NATIVE_READS: usize = 32;

static REGISTRY: LazyLock<Registry> = LazyLock::new(Registry::standard);

/// The name of a side output; names are sorted as numbers are.
fn output_name(number: usize) -> Arc<str> {
    format!("o{number:07}").into()
}

/// A stage's program, and the frame it runs on.
#[derive(Debug)]
pub(super) struct StageProgram {
    bound: BoundExpr,
    frame: Frame,
    /// The inputs that operations read, but for scalars.
    lent: Vec<LentInput>,
    /// Scalars by their number in the stage, with what the frame has.
    scalars: Vec<(usize, TypedSlot, Option<ScalarValue>)>,
    /// The slots of nodes that are results.
    outputs: Vec<(NodeId, TypedSlot)>,
    /// Runs that are bound to where buffers have their points.
    kept: Option<KeptRuns>,
    /// Has one operator run after the other, on the tier of this name.
    stepper: Option<Stepper>,
    /// The library, on the native tier.
    #[cfg(feature = "native")]
    native: Option<NativeStage>,
    arena: Bump,
}

/// Looks at nothing: a run that is observed goes step by step.
#[derive(Debug)]
struct Stepper;

impl Observer for Stepper {}

impl StageProgram {
    /// Compiles the operations that results need.
    pub fn new(stage: &FieldStage, roots: &[NodeId]) -> Result<StageProgram, FieldProblem> {
        let limit = |what: String| FieldProblem::Limit { limit: "field-operations", what };
        let names: Vec<Arc<str>> = (1..roots.len()).map(output_name).collect();
        let inputs = stage.inputs.iter().map(|input| (input.name.clone(), input.qtype.clone())).collect();
        let bound = compile_nodes(stage.graph.clone(), roots, names, inputs, REGISTRY.clone());
        let bound = bound.map_err(|error| match error {
            CompileError::Prepare(PrepareError::Constant { fault, .. }) => {
                FieldProblem::Run { category: fault.category(), what: stage.fault_text(&fault) }
            }
            error => limit(error.to_string()),
        })?;
        let slot = |(number, node): (usize, &NodeId)| match number {
            0 => Ok((*node, bound.output_slot().clone())),
            _ => Ok((*node, bound.side_output_slot(&output_name(number)).map_err(ours)?.clone())),
        };
        let outputs: Vec<_> = roots.iter().enumerate().map(slot).collect::<Result<_, FieldProblem>>()?;
        let frame = bound.new_frame().map_err(|error| limit(error.to_string()))?;
        let (mut lent, mut scalars) = (Vec::new(), Vec::new());
        for (number, input) in stage.inputs.iter().enumerate() {
            let Ok(slot) = bound.input_slot(&input.name) else { continue };
            if let StageSource::Scalar(_) = input.source {
                scalars.push((number, slot.clone(), None));
                continue;
            }
            let bit = bound.input_number(slot).expect("the slot is one of an input");
            let taken = match (&input.source, input.qtype.nd()) {
                (StageSource::Field(read), Some(qtype)) if !read.lists.is_empty() => {
                    Some(FieldCells::filled(&ScalarValue::zero(qtype.element()), 0)?)
                }
                _ => None,
            };
            lent.push(LentInput {
                number,
                slot: slot.clone(),
                bit,
                taken,
                positions: positions_along_last(&input.source),
            });
        }
        let kept = KeptRuns::new(stage, &lent, &outputs);
        Ok(StageProgram {
            bound,
            frame,
            lent,
            scalars,
            outputs,
            kept,
            stepper: None,
            #[cfg(feature = "native")]
            native: None,
            arena: Bump::new(),
        })
    }

    /// Has a tier run the program from now on; tells what is made of it.
    ///
    /// # Errors
    /// Why the interpreter goes on running it.
    #[cfg_attr(not(feature = "native"), expect(unused_variables, reason = "no tier has libraries"))]
    pub fn run_on(
        &mut self,
        stage: &FieldStage,
        tier: &FieldTier,
        libraries: &StageLibraries,
        tell: &mut dyn FnMut(StageNews<'_>),
    ) -> Result<(), String> {
        tell(StageNews::Ended("program", &ProgramText(self.bound.program())));
        #[cfg(feature = "native")]
        {
            self.native = None;
        }
        self.kept = KeptRuns::new(stage, &self.lent, &self.outputs);
        self.stepper = None;
        match tier {
            FieldTier::Interpreter => Ok(()),
            FieldTier::Steps => {
                (self.stepper, self.kept) = (Some(Stepper), None);
                Ok(())
            }
            FieldTier::Jit => run_as_machine_code(&self.bound),
            #[cfg(feature = "native")]
            FieldTier::Native(cache) => {
                let call = self.native_call(stage)?;
                let StageProgram { lent, outputs, .. } = self;
                let argument = |name: &str| {
                    let number = stage.inputs.iter().position(|input| &*input.name == name)?;
                    match stage.inputs[number].source {
                        StageSource::Scalar(id) => Some(ArgumentOf::Scalar(id.0)),
                        _ => lent.iter().position(|input| input.number == number).map(ArgumentOf::View),
                    }
                };
                let name = |number: usize| (number > 0).then(|| output_name(number));
                let outputs = outputs.iter().enumerate().map(|(number, (_, slot))| (name(number), slot));
                let library = libraries.library(cache, &call, &Telling(RefCell::new(tell)));
                let native = library.and_then(|library| NativeStage::new(&library, &call, argument, outputs));
                self.native = Some(native.map_err(|error| error.to_string())?);
                self.kept = KeptRuns::new(stage, &self.lent, &self.outputs);
                Ok(())
            }
        }
    }

    /// What a library of the stage is made of.
    ///
    /// # Errors
    /// Why there is none.
    #[cfg(feature = "native")]
    pub fn native_call(&self, stage: &FieldStage) -> Result<ProgramCall, String> {
        let StageProgram { bound, lent, .. } = self;
        if lent.len() > MOST_NATIVE_READS {
            return Err(format!(
                "it has {} reads, of which a C compiler would make a library for seconds; at most {MOST_NATIVE_READS} are built",
                lent.len()
            ));
        }
        let is_taken = |name: &str| {
            lent.iter().any(|of| of.positions.is_some() && *stage.inputs[of.number].name == *name)
        };
        let program = bound.program();
        let taken = program.main().inputs.iter().filter(|(name, _)| is_taken(name));
        let call = ProgramCall::new("stage", program.clone(), ArrayLayout::Strided);
        let call =
            call.and_then(|call| taken.into_iter().try_fold(call, |call, (name, _)| call.taking(name)));
        call.map_err(|error| error.to_string())
    }

    /// The program.
    pub fn bound(&self) -> &BoundExpr {
        &self.bound
    }

    /// True if a library runs the program.
    pub fn is_native(&self) -> bool {
        #[cfg(feature = "native")]
        {
            self.native.is_some()
        }
        #[cfg(not(feature = "native"))]
        {
            false
        }
    }

    /// True if no operator may raise, whatever the values are.
    pub fn is_total(&self) -> bool {
        let operators = self.bound.program().main().body.operators();
        operators.iter().all(|of| of.row_effects().unwrap_or(of.effects()).is_total())
    }

    /// Where the result of a node stands in the frame.
    pub fn output(&self, node: NodeId) -> &TypedSlot {
        let mut outputs = self.outputs.iter();
        &outputs.find(|(known, _)| *known == node).expect("all roots have slots").1
    }

    /// Computes a part. Rooms take results; others stay in the frame. Gives the rooms' slots to the function that
    /// makes them.
    pub fn run<'r>(
        &'r mut self,
        stage: &FieldStage,
        from: StageData<'_>,
        part: Part<'_>,
        rooms: impl FnOnce(&'r [(NodeId, TypedSlot)], &mut dyn FnMut(Room<'r>)),
    ) -> Result<(), FieldProblem> {
        let StageProgram { bound, frame, lent, scalars, outputs, stepper, arena, .. } = self;
        arena.reset();
        let arena = &*arena;
        let mut all = BumpVec::with_capacity_in(outputs.len(), arena);
        rooms(outputs, &mut |room| all.push(room));
        #[cfg(feature = "native")]
        if let Some(native) = self.native.as_mut().filter(|native| native.can_sweep(&all)) {
            for input in lent.iter_mut().filter(|input| input.positions.is_none()) {
                input.take(stage, from, part, arena);
            }
            let views = sweep_views(stage, from, part, lent, &[], arena)?;
            return native.sweep((part.shape, SweepOrder::Any), &views, from.scalars, &mut all, from.limits);
        }
        lent.iter_mut().for_each(|input| input.take(stage, from, part, arena));
        let mut views = BumpVec::with_capacity_in(lent.len(), arena);
        for LentInput { number, taken, .. } in &*lent {
            views.push(match (&stage.inputs[*number].source, taken) {
                (StageSource::Field(read), None) => from.view(stage, read, part),
                (StageSource::Field(read), Some(cells)) => cells.view_as(&read.sizes(part.shape)),
                (StageSource::Carry(number), _) => from.carries[*number],
                (StageSource::Mask { axis, values }, _) => mask(stage, part, *axis, values)?,
                (StageSource::Scalar(_), _) => unreachable!("scalars are written"),
            });
        }
        #[cfg(feature = "native")]
        if let Some(native) = &mut self.native {
            let points = part.shape.iter().product();
            if native.run(&views, from.scalars, &mut all, points, from.limits)? {
                return Ok(());
            }
        }
        write_scalars(scalars, frame, stage, from)?;
        let mut inputs = BumpVec::with_capacity_in(lent.len(), arena);
        for (LentInput { slot, bit, .. }, view) in lent.iter().zip(&views) {
            // What is lent cannot be read after the run; an input may be a result if operations cancel out.
            match outputs.iter().any(|(_, output)| output == slot) {
                true => frame.write_nd(slot, view).map_err(ours)?,
                false => inputs.push((*bit, *view)),
            }
        }
        let share = from.limits.share();
        let options = options_of(from.limits, share.as_ref());
        let options = match stepper {
            Some(stepper) => options.observer(stepper),
            None => options,
        };
        match bound.run_on(frame, &inputs, &mut all, options) {
            Ok(()) => Ok(()),
            Err(CallError::Run(error)) => {
                let what = located(&error.kind, from.program, stage, part);
                Err(FieldProblem::Run { category: error.category(), what })
            }
            Err(error) => Err(ours(error)),
        }
    }

    /// True if kept runs take all elements that lists choose where they lie.
    pub fn takes_where_they_lie(&self) -> bool {
        let is_inside = |input: &LentInput| input.taken.is_none() || input.positions.is_some();
        self.kept.as_ref().is_some_and(KeptRuns::takes_where_they_lie) && self.lent.iter().all(is_inside)
    }

    /// Computes a part and stores it by a run that is kept for buffers like these; false if there is none, or it stopped: then
    /// [`StageProgram::run`] is the way.
    pub fn run_kept(
        &mut self,
        stage: &FieldStage,
        from: StageData<'_>,
        part: Part<'_>,
        into: &mut Targets<'_>,
    ) -> Result<bool, FieldProblem> {
        let StageProgram { bound, frame, lent, scalars, kept, arena, .. } = self;
        let Some(kept) = kept.as_mut().filter(|kept| kept.has_some()) else { return Ok(false) };
        arena.reset();
        #[cfg(feature = "native")]
        if let Some(native) = &mut self.native {
            let runner = Runner::Library(native, from.limits);
            return kept.run(runner, (stage, lent), from, part, into, arena);
        }
        write_scalars(scalars, frame, stage, from)?;
        let share = from.limits.share();
        let options = options_of(from.limits, share.as_ref());
        kept.run(Runner::Machine(bound, frame, options), (stage, lent), from, part, into, arena)
    }

    /// Keeps the run of a part that was just computed for the next time, if that can be.
    pub fn keep(
        &mut self,
        stage: &FieldStage,
        from: StageData<'_>,
        part: KeptPart<'_>,
        into: &mut Targets<'_>,
    ) {
        let StageProgram { bound, frame, lent, kept: Some(kept), arena, .. } = self else { return };
        arena.reset();
        #[cfg(feature = "native")]
        if let Some(native) = &mut self.native {
            let runner = Runner::Library(native, from.limits);
            return kept.keep(&runner, (stage, lent), from, part, into, arena);
        }
        let runner = Runner::Machine(bound, frame, options_of(from.limits, None));
        kept.keep(&runner, (stage, lent), from, part, into, arena);
    }

    /// Goes over all levels of a scan at once, if a library does; what is handed on has the values of the first level. False if it
    /// does not: nothing was written then.
    #[cfg(feature = "native")]
    pub fn sweep_levels<'r>(
        &'r mut self,
        stage: &FieldStage,
        from: StageData<'_>,
        part: Part<'_>,
        order: SweepOrder,
        rooms: impl FnOnce(&'r [(NodeId, TypedSlot)], &mut dyn FnMut(Room<'r>)),
    ) -> Result<bool, FieldProblem> {
        let StageProgram { lent, outputs, arena, native: Some(native), .. } = self else { return Ok(false) };
        let slot = |output: &StageOutput| match output.result {
            StageResult::Node(node) => outputs.iter().find(|(known, _)| *known == node).map(|(_, slot)| slot),
            _ => None,
        };
        arena.reset();
        let mut carried = BumpVec::with_capacity_in(stage.outputs.len(), arena);
        for output in &stage.outputs {
            let Some(slot) = slot(output) else { return Ok(false) };
            carried.push(slot);
        }
        let mut all = BumpVec::with_capacity_in(outputs.len(), arena);
        rooms(outputs, &mut |room| all.push(room));
        if !native.can_sweep(&all) || lent.iter().any(|input| input.taken.is_some()) {
            return Ok(false);
        }
        let views = sweep_views(stage, from, part, lent, &carried, arena)?;
        native.sweep((part.shape, order), &views, from.scalars, &mut all, from.limits)?;
        Ok(true)
    }

    /// Calls a function for a result of the last run that has no room.
    pub fn with_output<R>(
        &self,
        node: NodeId,
        each: impl FnOnce(&NdView<'_>) -> R,
    ) -> Result<R, FieldProblem> {
        #[cfg(feature = "native")]
        if let Some(native) = self.native.as_ref().filter(|native| native.has_results()) {
            let number = self.outputs.iter().position(|(known, _)| *known == node);
            return match native.output(number.expect("all roots have slots")) {
                NativeOutput::Elements(view) => Ok(each(&view)),
                NativeOutput::Plain(Value::Scalar(value)) => Ok(with_scalar(&value, each)),
                NativeOutput::Plain(other) => Err(ours(format!("a result {other:?}"))),
            };
        }
        let slot = self.output(node);
        match slot.qtype().nd() {
            Some(_) => Ok(each(&self.frame.nd_view(slot).map_err(ours)?)),
            None => match self.frame.read(slot).map_err(ours)? {
                Value::Scalar(value) => Ok(with_scalar(&value, each)),
                other => Err(ours(format!("a result {other:?}"))),
            },
        }
    }
}

/// How the machine runs a stage within limits.
fn options_of<'o>(limits: StageLimits<'_>, share: Option<&'o Share<'o>>) -> RunOptions<'o> {
    RunOptions::new().within(share).threads(limits.threads).strips(limits.strips)
}

/// Writes the scalars of a run that the frame does not have yet.
fn write_scalars(
    scalars: &mut [(usize, TypedSlot, Option<ScalarValue>)],
    frame: &mut Frame,
    stage: &FieldStage,
    from: StageData<'_>,
) -> Result<(), FieldProblem> {
    for (number, slot, written) in scalars {
        let StageSource::Scalar(id) = stage.inputs[*number].source else { unreachable!("a scalar") };
        let value = &from.scalars[id.0];
        if written.as_ref() != Some(value) {
            frame.write(slot, &Value::Scalar(value.clone())).map_err(ours)?;
            *written = Some(value.clone());
        }
    }
    Ok(())
}

/// What was raised in a part, with the point where.
fn located(kind: &RunErrorKind, program: &FieldProgram, stage: &FieldStage, part: Part<'_>) -> String {
    match kind {
        RunErrorKind::Fault(Fault::Element { index, fault }) if index.len() == stage.axes.len() => {
            let points = stage.axes.iter().zip(part.first).zip(index);
            let point = |((dim, first), index): ((&DimensionId, &i64), &u64)| {
                format!("{} = {}", program.dim_name(*dim), first + *index as i64)
            };
            let fault = stage.fault_text(fault);
            format!("{fault}, at {}", points.map(point).collect::<Vec<_>>().join(", "))
        }
        RunErrorKind::Fault(fault) => stage.fault_text(fault),
        other => other.to_string(),
    }
}
