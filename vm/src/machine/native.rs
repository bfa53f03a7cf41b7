//! Native: what a run does for compiled code, which calls it from outside of Rust.
//!
//! ```text
//! compiled code ── run_cells(run, frame, cell) ──> the cell of one instruction, then `back`
//!       │      ── locate(run, frame, slot) ────────> finds out where the elements of an array stand
//!       │      ── call(run, frame, cell) ───────> begins the call, runs the routine, ends the call
//!       │      ── go_on(run, at, next) ─────────> looks at the watch, gives out the next slice of fuel
//!       └── 0: go on    1: return 1 at once, the run has stopped
//! ```
//!
//! 1. No panic leaves a function that compiled code calls. It is kept, and goes on where the code has returned.
//! 2. Fuel is charged, and blamed, as cells do it. Without a watch a slice is all the fuel there is.
//! 3. Compiled routines call each other on the stack of the thread, as far as [`STACK_BYTES`] reach; what is called
//!    beyond that is interpreted, so that any depth of calls is safe.
//! 4. Wherever compiled code calls, operands that the cell reads stand in the frame, and so does its result afterwards.

use crate::array::meter::Watch;
use crate::frame::Frame;
use crate::frame::frame::ActiveCall;
use crate::layout::access::Accumulators;
use crate::layout::nd_handle::NdHandle;
use crate::machine::call_cells::linked;
use crate::machine::error::RunErrorKind;
use crate::machine::options::RunLimits;
use crate::machine::run::{Halt, Run, stopped};
use crate::machine::tier::{CompiledTier, Entry, NativeRun};
use crate::operator::cell::{Cell, NativeRegisters, Registers, State, Stop};
use crate::value::Fault;
use std::mem::{ManuallyDrop, offset_of};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// What compiled code returns at the end of a routine.
pub(crate) const DONE: u32 = 0;
/// What compiled code returns when the run has stopped.
pub(crate) const STOPPED: u32 = 1;

/// Where compiled code finds the fuel of the slice, in the registers.
pub(crate) const FUEL: usize = offset_of!(Registers, fuel);
/// Where it finds a pointer that is null if nobody watches the run.
pub(crate) const WATCH: usize = offset_of!(Registers, native) + offset_of!(NativeRegisters, watch);

/// Where functions that keep all registers leave what they return.
pub(crate) const STATUS: usize = offset_of!(Registers, native) + offset_of!(NativeRegisters, status);

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
        let (base, run) = (self.calls.base, &raw mut *self);
        // SAFETY: nobody else uses the run while its code runs; the tier was made for this program, and the frame has the
        // layout of its main routine.
        unsafe {
            (*run).registers.native.run = run.cast();
            (*run).registers.native.watch =
                (*run).watch.map_or(std::ptr::null(), |watch| (&raw const *watch).cast());
            match entry((&raw mut (*run).registers).cast(), base) {
                DONE => Ok(()),
                _ => Err((*run).why_stopped()),
            }
        }
    }

    /// Why compiled code has stopped; a panic goes on here.
    #[cold]
    fn why_stopped(&mut self) -> Box<Halt> {
        if let Some(payload) = self.registers.native.panic.take() {
            resume_unwind(payload);
        }
        match self.native.halt.take() {
            Some(halt) => halt,
            None => {
                let fault = self.registers.fault.take().expect("compiled code stops for a reason");
                self.halt(fault.into())
            }
        }
    }

    /// Gives out the next slice of fuel; false if more was used up than there is.
    fn give_out(&mut self) -> bool {
        match self.watch.is_some() {
            true => self.registers.refill(),
            false => give_out_all(&mut self.registers),
        }
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

/// Runs compiled code of scalar cells only, without limits: it needs nothing of what [`Run`] keeps.
///
/// The code is that of the main routine, whose layout the frame has.
#[inline]
pub(super) fn run_scalars_compiled(entry: Entry, frame: &Frame) -> Result<(), Box<Halt>> {
    let limits = &RunLimits::DEFAULT;
    let registers = Registers::new(limits.fuel as i64, limits.threads, limits.strips, std::ptr::null());
    // A run that comes to its end leaves nothing to drop.
    let mut registers = ManuallyDrop::new(registers);
    give_out_all(&mut registers);
    // SAFETY: the frame is that of the code; it calls no routine, and its cells are scalar ones.
    match unsafe { entry((&raw mut *registers).cast(), frame.base()) } {
        DONE => Ok(()),
        _ => Err(why_stopped(ManuallyDrop::into_inner(registers))),
    }
}

#[cold]
fn why_stopped(mut registers: Registers) -> Box<Halt> {
    if let Some(payload) = registers.native.panic.take() {
        resume_unwind(payload);
    }
    // SAFETY: `at` is a cell of the code.
    stopped(unsafe { registers.stopped_ip() }, registers.fault.take())
}

/// Gives out all the fuel there is; false if more was used up.
fn give_out_all(registers: &mut Registers) -> bool {
    let left = registers.left();
    (registers.fuel, registers.reserve) = (left, 0);
    left >= 0
}

/// The run behind a pointer of compiled code, with lifetimes that end with the call.
type AnyRun<'r> = *mut Run<'r, 'r>;

/// The run of compiled code; null if it is run without one.
///
/// # Safety
/// The pointer is the one that the code was called with.
unsafe fn run_of<'r>(native: *mut NativeRun) -> AnyRun<'r> {
    // SAFETY: the caller's promise: it points to registers.
    unsafe { (*native.cast::<Registers>()).native.run.cast() }
}

/// What a function called by compiled code returns; keeps what has panicked.
///
/// # Safety
/// As [`run_of`].
unsafe fn guarded(native: *mut NativeRun, work: impl FnOnce() -> u32) -> u32 {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|payload| {
        // SAFETY: the caller's promise; the work is over.
        unsafe { (*native.cast::<Registers>()).native.panic = Some(payload) };
        STOPPED
    })
}

/// The same for what a run does; keeps why it has stopped.
///
/// # Safety
/// As [`run_of`]; the code is run with a run.
unsafe fn guarded_run(native: *mut NativeRun, work: impl FnOnce() -> Result<(), Box<Halt>>) -> u32 {
    let work = || match work() {
        Ok(()) => DONE,
        Err(halt) => {
            // SAFETY: the caller's promise; the work is over.
            unsafe { (*run_of(native)).native.halt = Some(halt) };
            STOPPED
        }
    };
    // SAFETY: the caller's promise.
    unsafe { guarded(native, work) }
}

/// Runs the cell of one operator, region or trap.
///
/// # Safety
/// Called by compiled code with its run, the frame of the routine running, and a cell made for it, before a `back`.
pub(crate) unsafe extern "C" fn run_cells(native: *mut NativeRun, frame: *mut u8, cell: *const Cell) -> u32 {
    let registers: *mut Registers = native.cast();
    // SAFETY: the caller's promise; nobody else uses the registers meanwhile. A fault stays in them.
    let work = || unsafe {
        ((*cell).run)(cell, State { frame, registers }, Accumulators::default());
        match (*registers).stop {
            Stop::Fault => STOPPED,
            _ => DONE,
        }
    };
    // SAFETY: the caller's promise.
    unsafe { guarded(native, work) }
}

/// Finds out where the elements of an array stand.
///
/// # Safety
/// As [`run_cells`]; at the offset the frame has the handle of an n-dimensional array.
pub(crate) unsafe extern "C" fn locate(native: *mut NativeRun, frame: *mut u8, offset: usize) -> u32 {
    // SAFETY: the caller's promise; nobody else uses the frame meanwhile.
    let work = || unsafe {
        (*frame.add(offset).cast::<NdHandle>()).locate();
        DONE
    };
    // SAFETY: the caller's promise.
    unsafe { guarded(native, work) }
}

/// Calls a routine.
///
/// # Safety
/// As [`run_cells`], with the cell of a call.
pub(crate) unsafe extern "C" fn call(native: *mut NativeRun, frame: *mut u8, cell: *const Cell) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { guarded_run(native, || call_routine(native, frame, cell)) }
}

/// # Safety
/// As [`call`].
unsafe fn call_routine(native: *mut NativeRun, frame: *mut u8, cell: *const Cell) -> Result<(), Box<Halt>> {
    // SAFETY: the caller's promise: the cell is linked, and a `back` stands behind it. While the routine called runs,
    // nobody here uses the run.
    unsafe {
        let run = run_of(native);
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
                return Err((*run).why_stopped());
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
            return Err((*run).why_stopped());
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

/// Ends a slice of fuel, or a long stretch of instructions: `at` is to blame if there is no more, `next` if the run has
/// to stop.
///
/// # Safety
/// As [`run_cells`].
pub(crate) unsafe extern "C" fn go_on(native: *mut NativeRun, at: u32, next: u32) -> u32 {
    // SAFETY: the caller's promise.
    unsafe {
        let (registers, run) = (native.cast::<Registers>(), run_of(native));
        if !run.is_null() {
            return guarded_run(native, || (*run).pause(at, next));
        }
        if give_out_all(&mut *registers) {
            return DONE;
        }
        (*registers).blamed = Some(at);
        STOPPED
    }
}
