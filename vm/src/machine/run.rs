//! The interpreter loop: starts chains of cells, resumes them, calls routines, turns stops into
//! errors.
//!
//! A fault goes to the first guard that takes it, of the instruction that raised, or of the calls that are open.
//!
//! A chain returns to the loop at every pause, and at a jump or call when its slice of fuel is used up. There the
//! loop gives out the next slice, looks at the cancel token and, in stepped code, tells the observer. Called
//! routines do not nest the loop (`machine/calls.rs`).
//!
//! Code without calls that runs without limits needs none of this: [`run_directly`], and [`run_scalars`] of scalar cells
//! only.

use crate::array::meter::{Meter, Watch};
use crate::frame::Frame;
use crate::machine::calls::{Calls, Next, use_code};
use crate::machine::caught::Caught;
use crate::machine::error::RunErrorKind;
use crate::machine::observer::{Observer, Step};
use crate::machine::options::{RunLimits, RunWatch};
use crate::machine::routine_code::Code;
use crate::machine::shared::Used;
#[cfg(feature = "jit")]
use crate::machine::tier::Entry;
use crate::operator::cell::{Cell, Registers, State, Stop};
use crate::program::Program;
use crate::value::{Exhausted, Fault};
use std::mem::ManuallyDrop;

/// Runs code of scalar cells only, without limits: it needs nothing of what [`Run`] keeps.
///
/// The code is that of a routine whose layout the frame has.
#[inline]
pub(super) fn run_scalars(code: &Code, frame: &Frame) -> Result<(), Box<Halt>> {
    debug_assert!(code.is_scalar);
    let limits = &RunLimits::DEFAULT;
    // Nothing goes over rows.
    let meter = std::ptr::null();
    let registers = Registers::new(limits.fuel as i64, limits.threads, limits.strips, meter);
    // A run that comes to its end leaves nothing to drop.
    let mut registers = ManuallyDrop::new(registers);
    let outcome = run_chains(code, frame, &mut registers);
    if outcome.is_err() {
        drop(ManuallyDrop::into_inner(registers));
    }
    outcome
}

/// Runs code that calls no routine, without limits, on fresh registers with a meter: it needs nothing of what [`Run`] keeps.
///
/// The code is that of a routine whose layout the frame has.
#[inline]
pub(super) fn run_directly(code: &Code, frame: &Frame, registers: &mut Registers) -> Result<(), Box<Halt>> {
    debug_assert!(code.calls.is_empty());
    // SAFETY: the registers are those of this run.
    unsafe { use_code(registers, code, frame.scratch()) };
    run_chains(code, frame, registers)
}

/// Runs some cells of scalars, the last of which ends the run; false if one of them raises.
///
/// The cells are of code of the routine whose layout the frame has.
pub(super) fn run_cells(cells: &[Cell], frame: &mut Frame) -> bool {
    let limits = &RunLimits::DEFAULT;
    // Nothing goes over rows.
    let meter = std::ptr::null();
    let mut registers = Registers::new(limits.fuel as i64, limits.threads, limits.strips, meter);
    run_chain_of(cells, frame, &mut registers).is_ok()
}

/// Runs all chains of code without calls: the registers have what its cells read.
#[inline(always)]
fn run_chains(code: &Code, frame: &Frame, registers: &mut Registers) -> Result<(), Box<Halt>> {
    run_chain_of(&code.cells, frame, registers)
}

/// Runs all chains of cells without calls.
#[inline(always)]
fn run_chain_of(cells: &[Cell], frame: &Frame, registers: &mut Registers) -> Result<(), Box<Halt>> {
    let base = frame.base();
    let mut cell = cells.as_ptr();
    while !cell.is_null() {
        if !registers.refill() {
            // SAFETY: `at` is a cell of the code.
            return Err(stopped(unsafe { registers.stopped_ip() }, None));
        }
        // SAFETY: `cell` is a cell of the code, whose slots the verifier checked against the frame's
        // layout. Scalar cells read neither general kernels nor regions, and neither arena nor meter; the registers
        // have those of other code.
        cell = unsafe { ((*cell).run)(cell, State { frame: base, registers }, registers.held) };
    }
    match registers.stop {
        Stop::Done => Ok(()),
        // SAFETY: `at` is a cell of the code.
        _ => Err(stopped(unsafe { registers.stopped_ip() }, registers.fault.take())),
    }
}

#[cold]
pub(super) fn stopped(ip: u32, fault: Option<Fault>) -> Box<Halt> {
    let kind = fault.map_or(RunErrorKind::OutOfFuel { fuel: RunLimits::DEFAULT.fuel }, RunErrorKind::from);
    Box::new(Halt { kind, routine: 0, ip: Some(ip) })
}

/// Where a run stopped, and why.
pub(super) struct Halt {
    pub(super) kind: RunErrorKind,
    pub(super) routine: usize,
    /// `None` if it is not known which instruction panicked.
    pub(super) ip: Option<u32>,
}

/// What a run of compiled code keeps.
#[cfg(feature = "jit")]
#[derive(Default)]
pub(super) struct Native<'r> {
    /// The code of routines, by number.
    pub(super) entries: &'r [Option<Entry>],
    /// An address on the stack below all compiled code.
    pub(super) stack: usize,
    /// Why the run has stopped, if not for a fault in the registers.
    pub(super) halt: Option<Box<Halt>>,
}

/// One run of a program on a frame.
pub(super) struct Run<'r, 'o> {
    pub(super) program: &'r Program,
    pub(super) codes: &'r [Code],
    frame: &'r mut Frame,
    pub(super) limits: &'r RunLimits<'o>,
    pub(super) meter: &'r Meter<'r>,
    pub(super) watch: Option<&'r RunWatch<'o>>,
    /// Pauses until the clock is looked at.
    until_clock: u32,
    pub(super) observer: Option<&'o mut dyn Observer>,
    /// Calls that are open.
    pub(super) calls: Calls<'r>,
    /// Calls that are open around this run, which is a part of another one.
    pub(super) outer_depth: usize,
    /// The stepped instruction that has started and not been reported as done.
    open_step: Option<u32>,
    /// Faults that guards have kept.
    kept: Vec<Caught>,
    pub(super) registers: Registers,
    /// What compiled code needs.
    #[cfg(feature = "jit")]
    pub(super) native: Native<'r>,
}

/// Pauses between two looks at the clock.
const CLOCK_INTERVAL: u32 = 16;

impl<'r, 'o> Run<'r, 'o> {
    /// Prepares a run. The frame has the layout of the program's main routine, and `codes` are the
    /// code of the program's routines.
    pub(super) fn new(
        program: &'r Program,
        codes: &'r [Code],
        frame: &'r mut Frame,
        limits: &'r RunLimits<'o>,
        observer: Option<&'o mut dyn Observer>,
        meter: &'r Meter<'r>,
        watch: Option<&'r RunWatch<'o>>,
    ) -> Run<'r, 'o> {
        let registers = Registers::new(limits.fuel as i64, limits.threads, limits.strips, meter);
        let calls = Calls::new(program, codes, frame, limits, meter);
        Run {
            program,
            codes,
            frame,
            limits,
            meter,
            watch,
            until_clock: CLOCK_INTERVAL,
            observer,
            calls,
            outer_depth: 0,
            open_step: None,
            kept: Vec::new(),
            registers,
            #[cfg(feature = "jit")]
            native: Default::default(),
        }
    }

    /// The same run of another routine than the main one, whose layout the frame has; so many calls are open around it.
    pub(super) fn of_routine(mut self, routine: u32, outer_depth: usize) -> Run<'r, 'o> {
        self.calls.first = routine;
        self.outer_depth = outer_depth;
        self
    }

    /// Notes what has been used up, for whoever wants to know.
    #[inline]
    fn note_used(&self) {
        if let Some(used) = self.limits.used {
            let instructions = self.limits.fuel.saturating_sub(self.registers.left().max(0) as u64);
            used.set(Used { instructions, rows: self.meter.rows_used() });
        }
    }

    /// Runs to the end.
    #[inline]
    pub(super) fn run(&mut self) -> Result<(), Box<Halt>> {
        if let Some(Err(stop)) = self.watch.map(Watch::ask) {
            return Err(self.halt(Fault::from(stop).into()));
        }
        let cell = self.enter()?;
        self.run_from(cell)
    }

    /// Runs from a cell of the running routine to the end, or to where compiled code goes on.
    #[inline]
    pub(super) fn run_from(&mut self, mut cell: *const Cell) -> Result<(), Box<Halt>> {
        loop {
            if !self.registers.refill() {
                return Err(self.halt(RunErrorKind::OutOfFuel { fuel: self.limits.fuel }));
            }
            // SAFETY: `cell` is a cell of the running routine's code, whose slots the verifier checked
            // against the layout of the frame at `base`; the registers were set for this routine.
            cell = unsafe {
                let held = self.registers.held;
                self.registers.machine = (&raw mut self.calls).cast();
                ((*cell).run)(cell, State { frame: self.calls.base, registers: &mut self.registers }, held)
            };
            if !cell.is_null() {
                self.paused(self.routine(), cell)?;
                continue;
            }
            match self.registers.stop {
                Stop::Done => match self.leave()? {
                    Some(next) => cell = next,
                    None => return Ok(()),
                },
                Stop::Call => cell = self.call()?,
                Stop::Back => return Ok(()),
                Stop::Fault => {
                    let fault = self.registers.fault.take().expect("a faulting cell leaves its fault");
                    cell = self.catch(fault)?;
                }
            }
        }
    }

    /// True if somebody watches every instruction.
    #[cfg(feature = "jit")]
    pub(super) fn is_observed(&self) -> bool {
        self.observer.is_some()
    }

    /// Number of the routine running.
    pub(super) fn routine(&self) -> usize {
        self.calls.routine()
    }

    /// The instruction whose general kernel is running. Scalar kernels leave no trace while they run.
    pub(super) fn running_ip(&self) -> Option<u32> {
        // SAFETY: `running` is null or a cell of this run's code.
        unsafe { self.registers.running_ip() }
    }

    /// The instruction the last chain stopped at.
    fn ip(&self) -> u32 {
        // SAFETY: `at` is null or a cell of this run's code.
        unsafe { self.registers.stopped_ip() }
    }

    /// Boxed, so that outcomes fit a register: only failures pay.
    #[cold]
    pub(super) fn halt(&mut self, kind: RunErrorKind) -> Box<Halt> {
        Box::new(Halt { kind, routine: self.routine(), ip: Some(self.ip()) })
    }

    /// The cell where a guard of an open routine leads that takes the fault.
    #[cold]
    fn catch(&mut self, fault: Fault) -> Result<*const Cell, Box<Halt>> {
        let (routine, ip, depth) = (self.routine(), self.ip(), self.calls.depth());
        let raised = Caught { fault, routine, ip, depth, number: 0 };
        self.catch_raised(raised.again(self.program, &self.kept))
    }

    /// The same for what a piece of a call raised: a run of its own, which has looked at its own guards.
    #[cold]
    fn catch_from_piece(&mut self, halt: Halt) -> Result<*const Cell, Box<Halt>> {
        match halt {
            Halt { kind: RunErrorKind::Fault(fault), routine, ip: Some(ip) } => {
                self.catch_raised(Caught { fault, routine, ip, depth: self.calls.depth(), number: 0 })
            }
            halt => Err(Box::new(halt)),
        }
    }

    fn catch_raised(&mut self, raised: Caught) -> Result<*const Cell, Box<Halt>> {
        let depth = self.calls.depth();
        // The place of each open routine: of the innermost the instruction that raised, of the others their calls.
        // SAFETY: they are cells of the code.
        let callers = self.calls.callers().map(|(routine, cell)| (routine, unsafe { (*cell).ip }));
        let innermost = std::iter::once((self.routine(), self.ip()));
        let found = innermost.chain(callers).zip((0..=depth).rev()).find_map(|((routine, ip), depth)| {
            let guard = self.codes[routine].guard(&self.program.routines()[routine], ip, &raised.fault)?;
            Some((routine, guard, depth))
        });
        let Some((routine, guard, depth)) = found else {
            let Caught { fault, routine, ip, .. } = raised;
            return Err(Box::new(Halt { kind: fault.into(), routine, ip: Some(ip) }));
        };
        self.calls.unwind(&mut self.registers, depth);
        self.kept.retain(|kept| kept.depth <= depth);
        if let Some(number) = self.program.routines()[routine].body.catches()[guard.catch as usize].keep {
            self.kept.retain(|kept| (kept.depth, kept.number) != (depth, number));
            self.kept.push(Caught { depth, number, ..raised });
        }
        self.registers.blamed = None;
        self.open_step = None;
        let cell = &raw const self.codes[routine].cells[guard.cell as usize];
        self.go_on(Next { blamed: self.registers.at, cell, fuel: guard.fuel })
    }

    /// The first cell of the main routine, its fuel charged.
    pub(super) fn enter(&mut self) -> Result<*const Cell, Box<Halt>> {
        let (code, scratch) = (&self.codes[self.routine()], self.frame.scratch());
        // SAFETY: the registers are our own.
        unsafe { use_code(&mut self.registers, code, scratch) };
        let first = code.cells.as_ptr();
        self.go_on(Next { blamed: first, cell: first, fuel: code.entry_fuel })
    }

    fn charge(&mut self, fuel: u32) -> Result<(), Box<Halt>> {
        self.registers.reserve -= i64::from(fuel);
        match self.registers.left() < 0 {
            true => Err(self.halt(RunErrorKind::OutOfFuel { fuel: self.limits.fuel })),
            false => Ok(()),
        }
    }

    /// At a pause or the end of a slice, about to resume at `cell`.
    fn paused(&mut self, routine: usize, cell: *const Cell) -> Result<(), Box<Halt>> {
        if self.observer.is_some() {
            // SAFETY: a chain resumes at a cell of its own array.
            self.step(routine, unsafe { (*cell).ip });
        }
        match self.watch {
            None => Ok(()),
            Some(watch) => self.ask(watch, cell),
        }
    }

    /// Looks at the token, and now and then at the clock, which takes longer than 64 instructions do.
    fn ask(&mut self, watch: &RunWatch<'_>, cell: *const Cell) -> Result<(), Box<Halt>> {
        self.ask_in_time(watch).map_err(|stop| {
            self.registers.at = cell;
            self.halt(Fault::from(stop).into())
        })
    }

    /// [`Run::ask`], which does not say where.
    #[inline]
    pub(super) fn ask_in_time(&mut self, watch: &RunWatch<'_>) -> Result<(), Exhausted> {
        self.until_clock -= 1;
        if self.until_clock > 0 && !watch.is_cancelled() {
            return Ok(());
        }
        self.until_clock = CLOCK_INTERVAL;
        watch.ask()
    }

    /// Reports the instruction that has finished and the one about to start.
    fn step(&mut self, routine: usize, ip: u32) {
        // A slice can end at a jump, and resumes at its target's pause, which reports the same start once more.
        if self.open_step == Some(ip) {
            return;
        }
        self.close_step(routine);
        let last = self.program.routines()[routine].body.instructions().len();
        if (ip as usize) < last {
            self.observe(routine, ip, |observer, step| observer.before(step));
            self.open_step = Some(ip);
        }
    }

    fn close_step(&mut self, routine: usize) {
        if let Some(ip) = self.open_step.take() {
            self.observe(routine, ip, |observer, step| observer.after(step));
        }
    }

    fn observe(&mut self, routine: usize, ip: u32, tell: impl Fn(&mut dyn Observer, &Step<'_>)) {
        let Some(observer) = self.observer.as_deref_mut() else { return };
        let (depth, frame) =
            (self.outer_depth + self.calls.depth(), self.calls.innermost().unwrap_or(self.frame));
        tell(observer, &Step { program: self.program, routine, ip: ip as usize, depth, frame });
    }

    /// Starts the call instruction that stopped the chain; gives the callee's first cell.
    fn call(&mut self) -> Result<*const Cell, Box<Halt>> {
        let cell = self.registers.at;
        // SAFETY: the stop came from a call cell of the routine running, which is not its last cell.
        let (call, behind) = unsafe { (self.calls.call_of(cell), cell.add(1)) };
        if let Some(parallel) = &call.parallel {
            return match self.in_pieces(parallel) {
                Ok(()) => self.go_on(Next { blamed: cell, cell: behind, fuel: call.fuel }),
                Err(halt) => self.catch_from_piece(*halt),
            };
        }
        // SAFETY: the stop came from a call cell of the routine running.
        match unsafe { self.calls.begin_slowly(&mut self.registers, self.registers.at) } {
            Ok(next) => {
                self.open_step = None;
                self.go_on(next)
            }
            Err(error) => Err(self.halt(error)),
        }
    }

    /// Ends the routine running; gives the cell its caller resumes at, or `None` for the main routine.
    fn leave(&mut self) -> Result<Option<*const Cell>, Box<Halt>> {
        if self.observer.is_some() {
            self.close_step(self.routine());
        }
        // SAFETY: the routine running has come to its end.
        match unsafe { self.calls.finish(&mut self.registers) } {
            Ok(None) => Ok(None),
            Ok(Some(next)) => {
                // SAFETY: the cell to blame is that of the call.
                self.open_step = self.observer.is_some().then(|| unsafe { (*next.blamed).ip });
                self.go_on(next).map(Some)
            }
            Err(fault) => Err(self.halt(fault.into())),
        }
    }

    fn go_on(&mut self, next: Next) -> Result<*const Cell, Box<Halt>> {
        self.registers.at = next.blamed;
        self.charge(next.fuel)?;
        Ok(next.cell)
    }

    /// Ends what an error cut short; the frame is as it was before, with its idle frames.
    pub(super) fn end(&mut self) {
        self.note_used();
        self.calls.end(self.frame);
    }
}
