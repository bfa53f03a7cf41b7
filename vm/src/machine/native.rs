//! Native: what a run does for compiled code, which calls it from outside of Rust.
//!
//! ```text
//! compiled code ── run_cells(run, frame, cell) ──> the cell of one instruction, then `back`
//!       │      ── call(run, frame, cell) ───────> begins the call, runs the routine, ends the call
//!       │      ── go_on(run, at, next) ─────────> looks at the watch, gives out the next slice of fuel
//!       └── 0: go on    1: return 1 at once, the run has stopped
//! ```
//!
//! 1. No panic leaves a function of this file. It is kept, and goes on where compiled code has returned.
//! 2. Fuel is charged, and blamed, as cells do it. Without a watch a slice is all the fuel there is.
//! 3. Compiled routines call each other on the stack of the thread, as far as [`STACK_BYTES`] reach; what is called
//!    beyond that is interpreted, so that any depth of calls is safe.
//! 4. Wherever compiled code calls, operands that the cell reads stand in the frame, and so does its result afterwards.

use crate::frame::frame::ActiveCall;
use crate::machine::call_cells::linked;
use crate::machine::error::RunErrorKind;
use crate::machine::run::{Halt, Run};
use crate::machine::tier::{CompiledTier, Entry, NativeRun};
use crate::operator::cell::{Cell, Registers, Stop};
use crate::operator::meter::Watch;
use crate::value::Fault;
use std::mem::offset_of;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// What compiled code returns at the end of a routine.
pub(crate) const DONE: u32 = 0;
/// What compiled code returns when the run has stopped.
pub(crate) const STOPPED: u32 = 1;

/// Where compiled code finds the fuel of the slice, in a run.
pub(crate) const FUEL: usize = offset_of!(Run<'static, 'static>, registers) + offset_of!(Registers, fuel);
/// Where it finds a pointer that is null if nobody watches the run.
pub(crate) const WATCH: usize = offset_of!(Run<'static, 'static>, watch);

/// Stack that compiled routines may use before others are interpreted.
const STACK_BYTES: usize = 256 << 10;

impl<'r> Run<'r, '_> {
    /// Runs to the end by compiled code, where there is some for the main routine.
    pub(super) fn run_compiled(&mut self, tier: &'r dyn CompiledTier) -> Result<(), Box<Halt>> {
        let entries = tier.entries();
        let Some(entry) = entries.get(self.routine()).copied().flatten() else { return self.run() };
        if let Some(Err(stop)) = self.watch.map(Watch::ask) {
            return Err(self.halt(Fault::from(stop).into()));
        }
        self.enter()?;
        self.give_out();
        (self.native.entries, self.native.stack) = (entries, (&raw const entries).addr());
        let (base, run) = (self.calls.base, (&raw mut *self).cast::<NativeRun>());
        // SAFETY: the tier was made for this program, and the frame has the layout of its main routine.
        let status = unsafe { entry(run, base) };
        if status == DONE {
            return Ok(());
        }
        if let Some(payload) = self.native.panic.take() {
            resume_unwind(payload);
        }
        Err(self.native.halt.take().expect("compiled code stops for a reason"))
    }

    /// Gives out the next slice of fuel; false if more was used up than there is.
    fn give_out(&mut self) -> bool {
        if self.watch.is_some() {
            return self.registers.refill();
        }
        let left = self.registers.left();
        (self.registers.fuel, self.registers.reserve) = (left, 0);
        left >= 0
    }

    /// Charges fuel behind the instruction `at`; `next` is where the run goes on.
    #[inline]
    fn spend(&mut self, fuel: u32, at: u32, next: u32) -> Result<(), Box<Halt>> {
        self.registers.fuel -= i64::from(fuel);
        match self.registers.fuel < 0 {
            true => self.pause(at, next),
            false => Ok(()),
        }
    }

    /// At the end of a slice.
    #[cold]
    fn pause(&mut self, at: u32, next: u32) -> Result<(), Box<Halt>> {
        if let Some(Err(stop)) = self.watch.map(|watch| self.ask_in_time(watch)) {
            return Err(self.halt_at(next, Fault::from(stop).into()));
        }
        match self.give_out() {
            true => Ok(()),
            false => Err(self.halt_at(at, RunErrorKind::OutOfFuel { fuel: self.limits.fuel })),
        }
    }

    #[cold]
    fn halt_at(&mut self, ip: u32, kind: RunErrorKind) -> Box<Halt> {
        self.registers.blamed = Some(ip);
        self.halt(kind)
    }
}

/// The run behind a pointer of compiled code, with lifetimes that end with the call.
type AnyRun<'r> = *mut Run<'r, 'r>;

/// What a function called by compiled code returns; keeps why the run has stopped.
///
/// # Safety
/// The run is that of the compiled code which calls.
unsafe fn guarded(run: *mut NativeRun, work: impl FnOnce() -> Result<(), Box<Halt>>) -> u32 {
    let outcome = catch_unwind(AssertUnwindSafe(work));
    let Ok(Ok(())) = outcome else {
        // SAFETY: the caller's promise; the work is over.
        let native = unsafe { &mut (*run.cast::<Run<'_, '_>>()).native };
        match outcome {
            Ok(outcome) => native.halt = outcome.err(),
            Err(payload) => native.panic = Some(payload),
        }
        return STOPPED;
    };
    DONE
}

/// Runs the cell of one operator, region or trap.
///
/// # Safety
/// Called by compiled code with its run, the frame of the routine running, and a cell made for it, before a `back`.
pub(crate) unsafe extern "C" fn run_cells(run: *mut NativeRun, frame: *mut u8, cell: *const Cell) -> u32 {
    let work = || {
        let run: AnyRun<'_> = run.cast();
        // SAFETY: the caller's promise; nobody else uses the registers meanwhile.
        unsafe {
            ((*cell).run)(cell, frame, &raw mut (*run).registers, 0.0, 0);
            match (*run).registers.stop {
                Stop::Fault => {
                    let fault = (*run).registers.fault.take().expect("a faulting cell leaves its fault");
                    Err((*run).halt(fault.into()))
                }
                _ => Ok(()),
            }
        }
    };
    // SAFETY: the caller's promise.
    unsafe { guarded(run, work) }
}

/// Calls a routine.
///
/// # Safety
/// As [`run_cells`], with the cell of a call.
pub(crate) unsafe extern "C" fn call(run: *mut NativeRun, frame: *mut u8, cell: *const Cell) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { guarded(run, || call_routine(run, frame, cell)) }
}

/// # Safety
/// As [`call`].
unsafe fn call_routine(native: *mut NativeRun, frame: *mut u8, cell: *const Cell) -> Result<(), Box<Halt>> {
    let run: AnyRun<'_> = native.cast();
    // SAFETY: the caller's promise: the cell is linked, and a `back` stands behind it. While the routine called runs,
    // nobody here uses the run.
    unsafe {
        let call = linked(cell);
        let used = (*run).native.stack.abs_diff((&raw const call).addr());
        let entries: &[Option<Entry>] = (*run).native.entries;
        let entry = entries.get(call.routine as usize).copied().flatten();
        let Some(entry) = entry.filter(|_| used < STACK_BYTES && call.parallel.is_none()) else {
            return (*run).run_from(cell);
        };
        if let Some(base) = (*run).calls.begin_plain(call, cell, frame) {
            let first = (*call.entry).ip;
            (*run).spend(call.entry_fuel, first, first)?;
            if entry(native, base) != DONE {
                return Err(stopped_below(run));
            }
            let done = ActiveCall { routine: call.routine, cell: cell.cast(), caller: frame };
            if (*run).calls.finish_plain(call, done, base) {
                return (*run).spend(call.fuel, (*cell).ip, (*cell.add(1)).ip);
            }
            return finish_call(run, cell);
        }
        (*run).registers.at = cell;
        let registers = &raw mut (*run).registers;
        let next = match (*run).calls.begin_slowly(registers, cell) {
            Ok(next) => next,
            Err(error) => return Err((*run).halt(error)),
        };
        let first = (*next.cell).ip;
        (*run).spend(next.fuel, first, first)?;
        if entry(native, (*run).calls.base) != DONE {
            return Err(stopped_below(run));
        }
        finish_call(run, cell)
    }
}

/// Ends a call of any kind.
///
/// # Safety
/// As [`call`]; the routine called has come to its end.
unsafe fn finish_call(run: AnyRun<'_>, cell: *const Cell) -> Result<(), Box<Halt>> {
    // SAFETY: the caller's promise.
    unsafe {
        let registers = &raw mut (*run).registers;
        let next = match (*run).calls.finish(registers) {
            Ok(next) => next.expect("the call had begun"),
            Err(fault) => return Err((*run).halt(fault.into())),
        };
        (*run).spend(next.fuel, (*cell).ip, (*next.cell).ip)
    }
}

/// Why compiled code called has stopped: it stays so for its caller.
///
/// # Safety
/// The run is valid, and stopped.
#[cold]
unsafe fn stopped_below(run: AnyRun<'_>) -> Box<Halt> {
    // SAFETY: the caller's promise.
    let native = unsafe { &mut (*run).native };
    match native.panic.take() {
        Some(payload) => resume_unwind(payload),
        None => native.halt.take().expect("compiled code stops for a reason"),
    }
}

/// Ends a slice of fuel, or a long stretch of instructions: `at` is to blame if there is no more, `next` if the run has
/// to stop.
///
/// # Safety
/// Called by compiled code with its run.
pub(crate) unsafe extern "C" fn go_on(run: *mut NativeRun, at: u32, next: u32) -> u32 {
    let work = || {
        let run: AnyRun<'_> = run.cast();
        // SAFETY: the caller's promise.
        unsafe { (*run).pause(at, next) }
    };
    // SAFETY: the caller's promise.
    unsafe { guarded(run, work) }
}
