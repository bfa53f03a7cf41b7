//! The interpreter loop: starts chains of cells, resumes them, calls routines, turns stops into
//! errors.
//!
//! A chain returns to the loop at every pause and call, and at a jump when its slice of fuel is used up. There the
//! loop gives out the next slice, looks at the cancel token and, in stepped code, tells the observer. Called routines do not nest the loop: their
//! frames lie on the call stack of the main frame, which keeps idle ones for the next call.
//!
//! Code of scalar cells only that runs without limits needs none of this: [`run_scalars`].

use crate::frame::Frame;
use crate::frame::frame::{ActiveCall, CallStack};
use crate::machine::code::{Code, RoutineCall};
use crate::machine::error::RunErrorKind;
use crate::machine::observer::{Observer, Step};
use crate::machine::options::{RunLimits, RunWatch, Used};
use crate::operator::cell::{Cell, Registers, Stop};
use crate::operator::copy::move_value;
use crate::operator::meter::{Meter, Watch};
use crate::program::Program;
use crate::value::Fault;
use bumpalo::Bump;
use std::sync::Arc;

/// Runs code of scalar cells only, without limits: it needs nothing of what [`Run`] keeps.
///
/// The code is that of a routine whose layout the frame has.
#[inline]
pub(super) fn run_scalars(code: &Code, frame: &Frame) -> Result<(), Box<Halt>> {
    debug_assert!(code.is_scalar);
    let limits = &RunLimits::DEFAULT;
    // Nothing goes over rows.
    let meter = std::ptr::null();
    let mut registers = Registers::new(limits.fuel as i64, limits.threads, limits.strips, meter);
    let base = frame.base();
    let mut cell = code.cells.as_ptr();
    while !cell.is_null() {
        if !registers.refill() {
            // SAFETY: `at` is a cell of the code.
            return Err(scalars_stopped(unsafe { registers.stopped_ip() }, None));
        }
        // SAFETY: `cell` is a cell of the code, whose slots the verifier checked against the frame's
        // layout. Scalar cells read neither calls nor regions, and neither arena nor meter.
        cell = unsafe { ((*cell).run)(cell, base, &mut registers, registers.float, registers.bits) };
    }
    match registers.stop {
        Stop::Done => Ok(()),
        // SAFETY: `at` is a cell of the code.
        _ => Err(scalars_stopped(unsafe { registers.stopped_ip() }, registers.fault.take())),
    }
}

#[cold]
fn scalars_stopped(ip: u32, fault: Option<Fault>) -> Box<Halt> {
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

/// One run of a program on a frame.
pub(super) struct Run<'r, 'o> {
    program: &'r Program,
    codes: &'r [Code],
    frame: &'r mut Frame,
    limits: &'r RunLimits<'o>,
    meter: &'r Meter<'r>,
    watch: Option<&'r RunWatch<'o>>,
    /// Pauses until the clock is looked at.
    until_clock: u32,
    observer: Option<&'o mut dyn Observer>,
    /// Bytes of the frames of open calls.
    call_frame_bytes: u64,
    /// The stepped instruction that has started and not been reported as done.
    open_step: Option<u32>,
    pub(super) registers: Registers,
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
        Run {
            program,
            codes,
            frame,
            limits,
            meter,
            watch,
            until_clock: CLOCK_INTERVAL,
            observer,
            call_frame_bytes: 0,
            open_step: None,
            registers,
        }
    }

    /// Notes what has been used up, for whoever wants to know.
    #[inline]
    pub(super) fn note_used(&self) {
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
        let mut cell = self.enter(0)?;
        let mut routine = 0;
        let mut base = self.use_frame();
        loop {
            if !self.registers.refill() {
                return Err(self.halt(RunErrorKind::OutOfFuel { fuel: self.limits.fuel }));
            }
            // SAFETY: `cell` is a cell of the running routine's code, whose slots the verifier checked
            // against the layout of the frame at `base`; the registers were set for this routine.
            cell = unsafe {
                ((*cell).run)(cell, base, &mut self.registers, self.registers.float, self.registers.bits)
            };
            if !cell.is_null() {
                self.paused(routine, cell)?;
                continue;
            }
            match self.registers.stop {
                Stop::Done => {
                    if self.is_at_end() {
                        return Ok(());
                    }
                    match self.leave(routine)? {
                        Some(next) => cell = next,
                        None => return Ok(()),
                    }
                }
                Stop::Call => cell = self.call(routine)?,
                Stop::Fault => {
                    let fault = self.registers.fault.take().expect("a faulting cell leaves its fault");
                    return Err(self.halt(fault.into()));
                }
            }
            // Another routine runs now.
            routine = self.routine();
            base = self.use_frame();
        }
    }

    /// True if the main routine has ended and nobody has to be told.
    fn is_at_end(&mut self) -> bool {
        self.observer.is_none() && self.frame.calls_mut().active.is_empty()
    }

    /// Goes on with the frame of the routine that runs now; gives its first byte.
    fn use_frame(&mut self) -> *mut u8 {
        let current = self.current_frame();
        let (base, arena) = (current.base(), current.arena() as *const Bump);
        self.registers.arena = arena;
        base
    }

    /// Number of the routine running.
    pub(super) fn routine(&mut self) -> usize {
        self.frame.calls_mut().active.last().map_or(0, |call| call.routine as usize)
    }

    /// The instruction whose general kernel is running. Scalar kernels leave no trace while they run.
    pub(super) fn running_ip(&self) -> Option<u32> {
        // SAFETY: `running` is null or a cell of this run's code.
        unsafe { self.registers.running.as_ref() }.map(|cell| cell.ip)
    }

    /// The instruction the last chain stopped at.
    fn ip(&self) -> u32 {
        // SAFETY: `at` is null or a cell of this run's code.
        unsafe { self.registers.stopped_ip() }
    }

    /// Boxed, so that outcomes fit a register: only failures pay.
    #[cold]
    fn halt(&mut self, kind: RunErrorKind) -> Box<Halt> {
        Box::new(Halt { kind, routine: self.routine(), ip: Some(self.ip()) })
    }

    /// The first cell of a routine, its fuel charged.
    fn enter(&mut self, routine: usize) -> Result<*const Cell, Box<Halt>> {
        let code = &self.codes[routine];
        self.use_code(code);
        self.registers.at = code.cells.as_ptr();
        self.charge(code.entry_fuel)?;
        Ok(code.cells.as_ptr())
    }

    fn use_code(&mut self, code: &Code) {
        self.registers.calls = code.general.as_ptr();
        self.registers.regions = code.regions.as_ptr().cast();
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
        self.until_clock -= 1;
        if self.until_clock > 0 && !watch.is_cancelled() {
            return Ok(());
        }
        self.until_clock = CLOCK_INTERVAL;
        watch.ask().map_err(|stop| {
            self.registers.at = cell;
            self.halt(Fault::from(stop).into())
        })
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
        let depth = self.frame.calls_mut().active.len();
        let frame = match self.frame.calls_mut().active.last_mut() {
            Some(call) => &call.frame,
            None => &*self.frame,
        };
        tell(observer, &Step { program: self.program, routine, ip: ip as usize, depth, frame });
    }

    fn current_frame(&mut self) -> &Frame {
        if self.frame.calls_mut().active.is_empty() {
            return self.frame;
        }
        let active = &self.frame.calls_mut().active;
        &active[active.len() - 1].frame
    }

    /// Starts the call instruction that stopped the chain; gives the callee's first cell.
    fn call(&mut self, caller: usize) -> Result<*const Cell, Box<Halt>> {
        let codes = self.codes;
        // SAFETY: the stop came from a call cell of the caller's code.
        let number = unsafe { (*self.registers.at).args[0] };
        let call: &RoutineCall = &codes[caller].calls[number as usize];
        let cell = self.cell_number(caller, self.registers.at);
        let callee = call.routine as usize;
        if self.frame.calls_mut().active.len() >= self.limits.call_depth {
            return Err(self.halt(RunErrorKind::CallDepth { limit: self.limits.call_depth }));
        }
        let actual = self.call_frame_bytes + u64::from(self.program.routines()[callee].layout.size());
        if actual > self.limits.call_frame_bytes {
            return Err(
                self.halt(RunErrorKind::CallFrameBytes { actual, limit: self.limits.call_frame_bytes })
            );
        }
        let frame = match self.take_frame(callee) {
            Ok(frame) => frame,
            Err(error) => return Err(self.halt(error)),
        };
        let source = self.current_frame().base();
        for (from, to) in &call.arguments {
            // SAFETY: both slots were verified to have this type in their frames, which are distinct.
            let moved = unsafe {
                move_value(source, from.offset(), frame.base(), to.offset(), from.qtype(), self.meter)
            };
            moved.map_err(|fault| self.halt(fault.into()))?;
        }
        self.open_step = None;
        self.call_frame_bytes = actual;
        self.frame.calls_mut().active.push(ActiveCall { frame, routine: callee as u32, cell });
        self.enter(callee)
    }

    /// Ends the routine running; gives the cell its caller resumes at, or `None` for the main routine.
    fn leave(&mut self, routine: usize) -> Result<Option<*const Cell>, Box<Halt>> {
        if self.observer.is_some() {
            self.close_step(routine);
        }
        let Some(done) = self.frame.calls_mut().active.pop() else { return Ok(None) };
        self.call_frame_bytes -= u64::from(done.frame.layout().size());
        let (codes, caller) = (self.codes, self.routine());
        let cells = &codes[caller].cells;
        let number = done.cell as usize;
        let cell = &cells[number];
        let call = &codes[caller].calls[cell.args[0] as usize];
        let target = self.current_frame().base();
        for (from, to) in &call.results {
            // SAFETY: as in `call`.
            let moved = unsafe {
                move_value(done.frame.base(), from.offset(), target, to.offset(), from.qtype(), self.meter)
            };
            moved.map_err(|fault| self.halt(fault.into()))?;
        }
        self.open_step = self.observer.is_some().then_some(cell.ip);
        give_back(self.frame.calls_mut(), done);
        self.use_code(&codes[caller]);
        self.registers.at = &raw const *cell;
        self.charge(call.fuel)?;
        // SAFETY: a call cell is never the last one. The pointer is into the whole array, as the chain
        // goes on from it.
        Ok(Some(unsafe { cells.as_ptr().add(number + 1) }))
    }

    fn cell_number(&self, routine: usize, cell: *const Cell) -> u32 {
        // SAFETY: `cell` is a cell of the routine's code.
        unsafe { cell.offset_from(self.codes[routine].cells.as_ptr()) as u32 }
    }

    fn take_frame(&mut self, routine: usize) -> Result<Frame, RunErrorKind> {
        let idle = &mut self.frame.calls_mut().idle;
        if idle.len() <= routine {
            idle.resize_with(routine + 1, Vec::new);
        }
        // Another program of the same main layout may have left frames of its own routines here.
        let layout = &self.program.routines()[routine].layout;
        match idle[routine].pop().filter(|frame| Arc::ptr_eq(frame.layout(), layout)) {
            Some(frame) => Ok(frame),
            None => Ok(Frame::new(layout)?),
        }
    }
}

/// Keeps the frames of calls that an error cut short.
pub(super) fn unwind(calls: &mut CallStack) {
    while let Some(call) = calls.active.pop() {
        give_back(calls, call);
    }
}

fn give_back(calls: &mut CallStack, mut call: ActiveCall) {
    call.frame.reset_arena();
    if let Some(idle) = calls.idle.get_mut(call.routine as usize) {
        idle.push(call.frame);
    }
}
