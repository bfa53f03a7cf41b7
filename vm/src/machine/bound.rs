//! BoundExpr: a verified program with its code, ready to run on frames of its layout.

use crate::array::meter::{Meter, Watch};
use crate::frame::frame::WrittenBits;
use crate::frame::{Frame, FrameError, FramePool};
use crate::layout::{FrameLayout, Slot, SlotType, TypedSlot};
use crate::machine::call_cells::link;
use crate::machine::code::Style;
use crate::machine::error::{Location, RunError, RunErrorKind};
#[cfg(feature = "jit")]
use crate::machine::native::run_scalars_compiled;
use crate::machine::observer::Observer;
use crate::machine::options::{RunLimits, RunOptions, RunWatch};
use crate::machine::routine_code::Code;
use crate::machine::run::{Halt, Run, run_cells, run_directly, run_scalars};
#[cfg(feature = "jit")]
use crate::machine::tier::Tiers;
use crate::machine::tile::report::RegionReport;
use crate::operator::cell::Registers;
use crate::program::verify::{VerifyError, verify};
use crate::program::{Program, Routine, ValueId};
use crate::value::QType;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};
use thiserror::Error;

/// A program cannot be bound, or a slot of it not be used as asked.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BindError {
    /// The program breaks a rule of the verifier.
    #[error(transparent)]
    Verify(#[from] VerifyError),
    /// There is no input or output of this name.
    #[error("the expression has no {role} `{name}`; it has {}", list(known))]
    UnknownName {
        /// `input` or `side output`.
        role: &'static str,
        /// The name asked for.
        name: String,
        /// The names there are.
        known: Vec<Arc<str>>,
    },
    /// The input or output is of another type.
    #[error("`{name}` is {actual}, not {asked}")]
    Type {
        /// The name, or `output`.
        name: String,
        /// Its type.
        actual: QType,
        /// The type asked for.
        asked: QType,
    },
}

fn list(names: &[Arc<str>]) -> String {
    match names {
        [] => "none".to_owned(),
        names => names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", "),
    }
}

/// A program bound to its layout. Immutable; share it between threads, one frame each.
#[derive(Debug)]
pub struct BoundExpr {
    program: Arc<Program>,
    pub(super) codes: Vec<Code>,
    /// Made when a run is first observed.
    stepped: OnceLock<Vec<Code>>,
    required: WrittenBits,
    produced: WrittenBits,
    /// Inputs whose bytes results may take.
    overridden: WrittenBits,
    /// Positions of the inputs, by name.
    by_name: Box<[u32]>,
    #[cfg(feature = "jit")]
    pub(super) tiers: Tiers,
}

// SAFETY: cells hold function pointers and numbers; the pointers between cells and calls are made
// anew for each run. General kernels are `Send + Sync`. Nothing changes after construction but what
// is behind locks.
unsafe impl Send for BoundExpr {}
// SAFETY: as above.
unsafe impl Sync for BoundExpr {}

impl BoundExpr {
    /// Verifies and binds a program.
    ///
    /// # Errors
    /// [`BindError::Verify`] with the first rule the program breaks.
    pub fn new(program: Arc<Program>) -> Result<BoundExpr, BindError> {
        BoundExpr::with_style(program, Style::Fused)
    }

    /// The same in a style: stepped code is sooner made, for what runs once.
    pub(super) fn with_style(program: Arc<Program>, style: Style) -> Result<BoundExpr, BindError> {
        verify(&program)?;
        let mut codes: Vec<Code> = program.routines().iter().map(|r| Code::new(&program, r, style)).collect();
        read_whole_through_calls(&mut codes);
        link(&mut codes);
        let main = program.main();
        let bits = main.layout.inputs().len() + main.layout.outputs().len();
        let bit = |value: ValueId| main.layout.bit_of(main.slot(value)).checked_sub(1);
        let required = WrittenBits::mask(bits, main.inputs.iter().filter_map(|(_, v)| bit(*v)));
        let inputs = main.layout.inputs().len() as u32;
        let produced = WrittenBits::mask(bits, main.results().filter_map(bit).filter(|b| *b >= inputs));
        let overridden = WrittenBits::mask(bits, overridden_inputs(main).into_iter());
        let mut by_name: Box<[u32]> = (0..main.inputs.len() as u32).collect();
        by_name.sort_by_key(|index| &main.inputs[*index as usize].0);
        Ok(BoundExpr {
            codes,
            stepped: OnceLock::new(),
            required,
            produced,
            overridden,
            by_name,
            #[cfg(feature = "jit")]
            tiers: Tiers::default(),
            program,
        })
    }

    /// The tile regions that operators on arrays run in.
    pub fn regions(&self) -> Vec<RegionReport> {
        let of_routine = |(routine, code): (usize, &Code)| {
            code.regions.iter().map(move |region| RegionReport::new(routine, region)).collect::<Vec<_>>()
        };
        self.codes.iter().enumerate().flat_map(of_routine).collect()
    }

    /// The program.
    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// The layout of the frames it runs on.
    pub fn layout(&self) -> &Arc<FrameLayout> {
        &self.program.main().layout
    }

    /// A new frame.
    ///
    /// # Errors
    /// [`FrameError::OutOfMemory`].
    pub fn new_frame(&self) -> Result<Frame, FrameError> {
        Frame::new(self.layout())
    }

    /// A pool of frames for calls from several threads.
    pub fn new_pool(&self) -> FramePool {
        FramePool::new(self.layout())
    }

    /// Slot of an input whose type is known at compile time.
    ///
    /// # Errors
    /// No input of this name, or it has another type.
    pub fn input<T: SlotType>(&self, name: &str) -> Result<Slot<T>, BindError> {
        self.typed(name, self.input_slot(name)?)
    }

    /// Slot of an input.
    ///
    /// # Errors
    /// No input of this name.
    pub fn input_slot(&self, name: &str) -> Result<&TypedSlot, BindError> {
        let main = self.program.main();
        let at = self.by_name.partition_point(|index| &*main.inputs[*index as usize].0 < name);
        let found = self.by_name.get(at).map(|index| &main.inputs[*index as usize]);
        let (_, value) =
            found.filter(|(n, _)| &**n == name).ok_or_else(|| unknown("input", name, &main.inputs))?;
        Ok(main.slot(*value))
    }

    /// Slot of the output.
    ///
    /// # Errors
    /// The output has another type.
    pub fn output<T: SlotType>(&self) -> Result<Slot<T>, BindError> {
        self.typed("output", self.output_slot())
    }

    /// Slot of the output.
    pub fn output_slot(&self) -> &TypedSlot {
        let main = self.program.main();
        main.slot(main.output)
    }

    /// Slot of a side output whose type is known at compile time.
    ///
    /// # Errors
    /// No side output of this name, or it has another type.
    pub fn side_output<T: SlotType>(&self, name: &str) -> Result<Slot<T>, BindError> {
        self.typed(name, self.side_output_slot(name)?)
    }

    /// Slot of a side output.
    ///
    /// # Errors
    /// No side output of this name.
    pub fn side_output_slot(&self, name: &str) -> Result<&TypedSlot, BindError> {
        let main = self.program.main();
        let found = main.side_outputs.iter().find(|(n, _)| &**n == name);
        let (_, value) = found.ok_or_else(|| unknown("side output", name, &main.side_outputs))?;
        Ok(main.slot(*value))
    }

    fn typed<T: SlotType>(&self, name: &str, slot: &TypedSlot) -> Result<Slot<T>, BindError> {
        self.layout().slot(slot).ok_or_else(|| BindError::Type {
            name: name.to_owned(),
            actual: slot.qtype().clone(),
            asked: T::qtype(),
        })
    }

    /// Evaluates on a frame. Inputs keep their values unless the program may override them.
    ///
    /// # Errors
    /// A missing input, a frame of another layout, or whatever an operator raises. Outputs then count
    /// as not written.
    #[inline]
    pub fn execute(&self, frame: &mut Frame) -> Result<(), RunError> {
        #[cfg(feature = "jit")]
        if let Some(entry) = self.compiled_alone() {
            return self.run_scalars(frame, |frame| run_scalars_compiled(entry, frame));
        }
        if self.has_tiers() {
            return self.run(frame, &RunLimits::DEFAULT, None, None, &self.codes);
        }
        let code = &self.codes[0];
        match code.is_scalar {
            true => self.run_scalars(frame, |frame| run_scalars(code, frame)),
            false if code.is_lone_region => self.run_lone_region(code, frame),
            false if code.calls.is_empty() && code.guards.is_empty() => self.run_directly(frame),
            false => self.run(frame, &RunLimits::DEFAULT, None, None, &self.codes),
        }
    }

    /// Runs a region and what there is behind it on a frame, if that is as simple as most times.
    fn run_lone_region(&self, code: &Code, frame: &mut Frame) -> Result<(), RunError> {
        self.check_frame(frame).map_err(RunError::before_start)?;
        let run = AssertUnwindSafe(|| {
            // SAFETY: the program is verified, and the frame is of its layout, with all inputs; such code has a region that may run alone.
            let is_run = unsafe { code.regions[0].run_alone(frame) };
            let behind = &code.cells[1..];
            is_run && (behind.len() == 1 || run_cells(behind, frame))
        });
        match catch_unwind(run) {
            Ok(true) => {
                self.mark_written(frame);
                Ok(())
            }
            Ok(false) => self.run_directly(frame),
            Err(payload) => {
                let halt = panicked(frame, &*payload, 0, None);
                Err(self.fail(frame, halt))
            }
        }
    }

    /// [`run_directly`] on a frame.
    fn run_directly(&self, frame: &mut Frame) -> Result<(), RunError> {
        self.check_frame(frame).map_err(RunError::before_start)?;
        let limits = &RunLimits::DEFAULT;
        let meter = Meter::new(&limits.meter, frame.alive());
        let mut registers = Registers::new(limits.fuel as i64, limits.threads, limits.strips, &meter);
        let run = AssertUnwindSafe(|| run_directly(&self.codes[0], frame, &mut registers));
        let outcome = catch_unwind(run);
        frame.set_alive(meter.alive());
        let halt = match outcome {
            Ok(Ok(())) => {
                self.mark_written(frame);
                frame.reset_scratch();
                return Ok(());
            }
            Ok(Err(halt)) => *halt,
            // SAFETY: what runs is a cell of the code.
            Err(payload) => panicked(frame, &*payload, 0, unsafe { registers.running_ip() }),
        };
        Err(self.fail(frame, halt))
    }

    /// Runs code of scalar cells on a frame.
    #[inline(always)]
    fn run_scalars(
        &self,
        frame: &mut Frame,
        run: impl FnOnce(&Frame) -> Result<(), Box<Halt>>,
    ) -> Result<(), RunError> {
        self.check_frame(frame).map_err(RunError::before_start)?;
        let halt = match catch_unwind(AssertUnwindSafe(|| run(frame))) {
            Ok(Ok(())) => {
                self.mark_written(frame);
                return Ok(());
            }
            Ok(Err(halt)) => *halt,
            Err(payload) => panicked(frame, &*payload, 0, None),
        };
        Err(self.fail(frame, halt))
    }

    /// Evaluates with fuel, cancellation or an observer.
    ///
    /// # Errors
    /// As [`BoundExpr::execute`], and out of fuel or cancelled.
    pub fn execute_with(&self, frame: &mut Frame, options: RunOptions<'_>) -> Result<(), RunError> {
        let codes = match options.observer {
            Some(_) => self.stepped.get_or_init(|| {
                self.program.routines().iter().map(|r| Code::new(&self.program, r, Style::Stepped)).collect()
            }),
            None => &self.codes,
        };
        let watch = options.limits.watch();
        let outcome = self.run(frame, &options.limits, watch.as_ref(), options.observer, codes);
        match options.share {
            Some(share) => outcome.map_err(|error| share.failure(error)),
            None => outcome,
        }
    }

    fn run<'o>(
        &self,
        frame: &mut Frame,
        limits: &RunLimits<'o>,
        watch: Option<&RunWatch<'o>>,
        observer: Option<&'o mut dyn Observer>,
        codes: &[Code],
    ) -> Result<(), RunError> {
        self.check_frame(frame).map_err(RunError::before_start)?;
        let watched = watch.map(|watch| watch as &dyn Watch);
        let meter = Meter::new(&limits.meter, frame.alive()).watched(watched);
        let mut run = Run::new(&self.program, codes, frame, limits, observer, &meter, watch);
        let outcome = catch_unwind(AssertUnwindSafe(|| self.run_tier(&mut run)));
        let halt = match outcome {
            Ok(Ok(())) => {
                run.end();
                frame.set_alive(meter.alive());
                self.mark_written(frame);
                frame.reset_scratch();
                return Ok(());
            }
            Ok(Err(halt)) => {
                run.end();
                *halt
            }
            Err(payload) => {
                let (routine, ip) = (run.routine(), run.running_ip());
                run.end();
                panicked(frame, &*payload, routine, ip)
            }
        };
        frame.set_alive(meter.alive());
        Err(self.fail(frame, halt))
    }

    /// True if an instruction that is in no tile region reads the input, or a result is a part of it.
    pub(super) fn reads_whole(&self, input: &TypedSlot) -> bool {
        self.codes[0].whole.iter().any(|slot| slot.overlaps(input))
    }

    #[inline]
    pub(super) fn check_layout(&self, frame: &Frame) -> Result<(), RunErrorKind> {
        let layout = self.layout();
        match Arc::ptr_eq(frame.layout(), layout) || frame.layout().id() == layout.id() {
            true => Ok(()),
            false => Err(RunErrorKind::ForeignFrame { expected: layout.id(), actual: frame.layout().id() }),
        }
    }

    #[inline]
    fn check_frame(&self, frame: &Frame) -> Result<(), RunErrorKind> {
        let is_of_layout = Arc::ptr_eq(frame.layout(), self.layout());
        match is_of_layout && !frame.is_poisoned() && frame.written().has(&self.required) {
            true => Ok(()),
            false => self.look_closer(frame),
        }
    }

    /// Says what is wrong with a frame, if anything is.
    #[cold]
    fn look_closer(&self, frame: &Frame) -> Result<(), RunErrorKind> {
        self.check_layout(frame)?;
        if frame.is_poisoned() {
            return Err(RunErrorKind::PoisonedFrame);
        }
        match frame.written().first_missing(&self.required) {
            None => Ok(()),
            Some(bit) => Err(RunErrorKind::MissingInput { name: self.input_name(bit) }),
        }
    }

    #[inline]
    fn mark_written(&self, frame: &mut Frame) {
        frame.written_mut().clear(&self.overridden);
        frame.written_mut().set_all(&self.produced);
    }

    #[cold]
    fn fail(&self, frame: &mut Frame, halt: Halt) -> RunError {
        frame.written_mut().clear(&self.overridden);
        frame.written_mut().clear(&self.produced);
        frame.reset_scratch();
        let at = halt.ip.map(|ip| Location::of(&self.program, halt.routine, ip));
        RunError { kind: halt.kind, at }
    }

    #[cold]
    fn input_name(&self, bit: u32) -> Arc<str> {
        let main = self.program.main();
        let named = main.inputs.iter().find(|(_, v)| main.layout.bit_of(main.slot(*v)) == bit + 1);
        named.map_or_else(|| "?".into(), |(name, _)| name.clone())
    }
}

impl AsRef<BoundExpr> for BoundExpr {
    fn as_ref(&self) -> &BoundExpr {
        self
    }
}

/// Adds to what each routine reads as a whole what it passes to routines that do.
fn read_whole_through_calls(codes: &mut [Code]) {
    let mut changed = codes.iter().any(|code| !code.calls.is_empty());
    while std::mem::take(&mut changed) {
        for caller in 0..codes.len() {
            let reads = |whole: &[TypedSlot], slot: &TypedSlot| whole.iter().any(|read| read.overlaps(slot));
            let code = &codes[caller];
            let passed =
                code.calls.iter().flat_map(|call| call.passed.iter().map(|pair| (call.routine, pair)));
            let more = passed.filter(|(routine, (operand, input))| {
                reads(&codes[*routine as usize].whole, input) && !reads(&code.whole, operand)
            });
            let more: Vec<TypedSlot> = more.map(|(_, (operand, _))| operand.clone()).collect();
            changed |= !more.is_empty();
            codes[caller].whole.extend(more);
        }
    }
}

fn unknown(role: &'static str, name: &str, known: &[(Arc<str>, ValueId)]) -> BindError {
    BindError::UnknownName {
        role,
        name: name.to_owned(),
        known: known.iter().map(|(n, _)| n.clone()).collect(),
    }
}

/// Written-bits of the inputs that share a byte with a result.
fn overridden_inputs(main: &Routine) -> Vec<u32> {
    if !main.overrides_inputs {
        return Vec::new();
    }
    let written = main.body.instructions().iter().flat_map(|i| main.body.writes(i)).map(|v| main.slot(*v));
    let mut written: Vec<(u64, u64)> = written.map(|s| (u64::from(s.offset()), s.end())).collect();
    written.sort_unstable();
    // Ranges that do not touch, so that their ends ascend as well.
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for (start, end) in written {
        match ranges.last_mut().filter(|last| start <= last.1) {
            Some(last) => last.1 = last.1.max(end),
            None => ranges.push((start, end)),
        }
    }
    let is_overridden = |slot: &TypedSlot| {
        let next = ranges.partition_point(|(_, end)| *end <= u64::from(slot.offset()));
        ranges.get(next).is_some_and(|(start, _)| *start < slot.end())
    };
    let inputs = main.layout.inputs().iter().zip(0..);
    inputs.filter(|(slot, _)| is_overridden(slot)).map(|(_, bit)| bit).collect()
}

/// The end of a run in which an operator panicked: nobody knows what the frame holds now.
#[cold]
fn panicked(frame: &mut Frame, payload: &(dyn Any + Send), routine: usize, ip: Option<u32>) -> Halt {
    frame.poison();
    Halt { kind: RunErrorKind::Panic { message: panic_message(payload) }, routine, ip }
}

fn panic_message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|s| (*s).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}
