//! Calls of routines while a run goes on: whose frames are in use, and the cells that begin and end a call.
//!
//! ```text
//! stack     main ─> routine 1 ─> routine 2 ─> routine 1          the innermost runs
//! frames    of routine 1: [in use, in use, idle, idle]           taken and given back at the end of the row
//!           of routine 2: [in use]
//! ```
//!
//! A call stays in the chain of cells, as a jump does. The interpreter loop is asked only where there is no idle frame,
//! or too many calls are open, and in stepped code.

use crate::frame::Frame;
use crate::frame::frame::{ActiveCall, CallStack};
use crate::machine::error::RunErrorKind;
use crate::machine::options::RunLimits;
use crate::machine::routine_code::Code;
use crate::machine::transfer::RoutineCall;
use crate::operator::cell::{Cell, Registers, Stop, go, raise, stop};
use crate::operator::meter::Meter;
use crate::program::Program;
use crate::value::Fault;
use bumpalo::Bump;
use std::sync::Arc;

/// The calls of one run.
pub(super) struct Calls<'r> {
    program: &'r Program,
    codes: &'r [Code],
    meter: &'r Meter<'r>,
    /// That of the main frame, during the run.
    stack: CallStack,
    main: (*mut u8, *const Bump),
    most_calls: usize,
    most_bytes: u64,
    /// Bytes of the frames of open calls.
    bytes: u64,
    /// The routine running, its code, and the first byte of its frame.
    pub(super) routine: usize,
    code: *const Code,
    pub(super) base: *mut u8,
}

/// A call that has begun or ended: where to go on.
pub(super) struct Next {
    /// The cell to blame for the fuel.
    pub(super) blamed: *const Cell,
    pub(super) cell: *const Cell,
    pub(super) fuel: u32,
}

impl<'r> Calls<'r> {
    /// Those of a run that begins on the frame of the main routine, from which it takes the idle frames.
    #[inline]
    pub(super) fn new(
        program: &'r Program,
        codes: &'r [Code],
        frame: &mut Frame,
        limits: &RunLimits<'_>,
        meter: &'r Meter<'r>,
    ) -> Calls<'r> {
        let mut calls = Calls {
            program,
            codes,
            meter,
            stack: CallStack::default(),
            main: (frame.base(), frame.arena()),
            most_calls: limits.call_depth,
            most_bytes: limits.call_frame_bytes,
            bytes: 0,
            routine: 0,
            code: &raw const codes[0],
            base: frame.base(),
        };
        if codes.len() > 1 || !codes[0].calls.is_empty() {
            calls.stack = std::mem::take(frame.calls_mut());
            calls.keep_own_frames();
        }
        calls
    }

    /// Drops the frames of routines of another program with the same main layout.
    fn keep_own_frames(&mut self) {
        let routines = self.program.routines();
        if self.stack.frames.len() < routines.len() {
            self.stack.frames.resize_with(routines.len(), Default::default);
        }
        for (routine, kept) in routines.iter().zip(&mut self.stack.frames) {
            if kept.frames.first().is_some_and(|frame| !Arc::ptr_eq(frame.layout(), &routine.layout)) {
                kept.frames.clear();
            }
        }
    }

    /// Ends all calls that an error cut short, and gives the frames back.
    pub(super) fn end(&mut self, frame: &mut Frame) {
        while let Some(done) = self.stack.active.pop() {
            let callee = self.release(done);
            let call = self.go_back(done).1;
            // SAFETY: whatever stopped the run, the call had begun, and all handles are valid.
            unsafe { call.take_back(self.base, callee) };
        }
        if self.stack.frames.capacity() > 0 {
            *frame.calls_mut() = std::mem::take(&mut self.stack);
        }
    }

    /// Number of open calls.
    pub(super) fn depth(&self) -> usize {
        self.stack.active.len()
    }

    /// The frame of the innermost call; none if the main routine runs.
    pub(super) fn innermost(&self) -> Option<&Frame> {
        let call = self.stack.active.last()?;
        let kept = &self.stack.frames[call.routine as usize];
        Some(&kept.frames[kept.used - 1])
    }

    /// Begins the call of a cell of the routine running; `None` if [`Calls::make_room`] has to come first.
    ///
    /// # Errors
    /// An argument cannot be copied.
    ///
    /// # Safety
    /// The cell is a call of the running routine, whose frame nobody else accesses; the registers are those of the run.
    unsafe fn begin(&mut self, registers: *mut Registers, cell: *const Cell) -> Result<Option<Next>, Fault> {
        // SAFETY: the caller's promise.
        unsafe {
            let code = &self.codes[self.routine];
            let call = &code.calls[(*cell).args[0] as usize];
            let (callee, bytes) = (call.routine as usize, self.bytes + call.frame_bytes);
            let kept = &mut self.stack.frames[callee];
            let is_free = self.stack.active.len() < self.most_calls && bytes <= self.most_bytes;
            let Some(frame) = kept.frames.get(kept.used).filter(|_| is_free) else { return Ok(None) };
            let (base, arena) = (frame.base(), frame.arena() as *const Bump);
            call.enter(self.base, base, self.meter)?;
            kept.used += 1;
            self.bytes = bytes;
            let number = cell.offset_from(code.cells.as_ptr()) as u32;
            self.stack.active.push(ActiveCall { routine: call.routine, cell: number });
            let code = &self.codes[callee];
            (self.routine, self.code, self.base) = (callee, code, base);
            use_code(registers, code, arena);
            let first = code.cells.as_ptr();
            Ok(Some(Next { blamed: first, cell: first, fuel: code.entry_fuel }))
        }
    }

    /// Ends the innermost call; `None` if there is none.
    ///
    /// # Errors
    /// A result cannot be copied. The call has ended nevertheless.
    ///
    /// # Safety
    /// As [`Calls::begin`].
    unsafe fn finish(&mut self, registers: *mut Registers) -> Result<Option<Next>, Fault> {
        let Some(done) = self.stack.active.pop() else { return Ok(None) };
        let callee = self.release(done);
        let (cell, call, arena) = self.go_back(done);
        // SAFETY: the caller's promise. A call cell is never the last one.
        unsafe {
            use_code(registers, &self.codes[self.routine], arena);
            (*registers).at = cell;
            call.leave(self.base, callee, self.meter)?;
            Ok(Some(Next { blamed: cell, cell: cell.add(1), fuel: call.fuel }))
        }
    }

    /// The frame of a call that has ended becomes idle; gives its first byte, which stays for the moment.
    fn release(&mut self, done: ActiveCall) -> *mut u8 {
        let (routine, kept) = (done.routine as usize, &mut self.stack.frames[done.routine as usize]);
        kept.used -= 1;
        let frame = &mut kept.frames[kept.used];
        if self.codes[routine].uses_arena {
            frame.reset_arena();
        }
        frame.base()
    }

    /// Goes on with the caller of a call that has been taken off the stack; gives the cell of the call.
    fn go_back(&mut self, done: ActiveCall) -> (*const Cell, &'r RoutineCall, *const Bump) {
        self.bytes -= u64::from(self.codes[done.routine as usize].frame_bytes);
        let arena;
        (self.routine, self.base, arena) = match self.stack.active.last() {
            None => (0, self.main.0, self.main.1),
            Some(call) => {
                let kept = &self.stack.frames[call.routine as usize];
                let frame = &kept.frames[kept.used - 1];
                (call.routine as usize, frame.base(), frame.arena() as *const Bump)
            }
        };
        let code = &self.codes[self.routine];
        self.code = code;
        let cell = &code.cells[done.cell as usize..];
        // The pointer is into the whole array, as the chain goes on from it.
        (cell.as_ptr(), &code.calls[cell[0].args[0] as usize], arena)
    }

    /// Makes a frame for the call of a cell of the routine running, or says why there is none.
    ///
    /// # Errors
    /// Too many calls are open, or their frames too large; or there is no memory.
    #[cold]
    fn make_room(&mut self, call: &RoutineCall) -> Result<(), RunErrorKind> {
        if self.stack.active.len() >= self.most_calls {
            return Err(RunErrorKind::CallDepth { limit: self.most_calls });
        }
        let actual = self.bytes + call.frame_bytes;
        if actual > self.most_bytes {
            return Err(RunErrorKind::CallFrameBytes { actual, limit: self.most_bytes });
        }
        let layout = &self.program.routines()[call.routine as usize].layout;
        self.stack.frames[call.routine as usize].frames.push(Box::new(Frame::new(layout)?));
        Ok(())
    }

    /// [`Calls::begin`] for the interpreter loop, with a new frame where there is no idle one.
    ///
    /// # Errors
    /// As [`Calls::begin`] and [`Calls::make_room`].
    ///
    /// # Safety
    /// As [`Calls::begin`].
    pub(super) unsafe fn begin_slowly(
        &mut self,
        registers: *mut Registers,
        cell: *const Cell,
    ) -> Result<Next, RunErrorKind> {
        // SAFETY: the caller's promise.
        unsafe {
            if let Some(next) = self.begin(registers, cell)? {
                return Ok(next);
            }
            let codes = self.codes;
            self.make_room(&codes[self.routine].calls[(*cell).args[0] as usize])?;
            Ok(self.begin(registers, cell)?.expect("there is room now"))
        }
    }

    /// [`Calls::finish`] for the interpreter loop.
    ///
    /// # Errors
    /// As there.
    ///
    /// # Safety
    /// As [`Calls::begin`].
    pub(super) unsafe fn finish_slowly(&mut self, registers: *mut Registers) -> Result<Option<Next>, Fault> {
        // SAFETY: the caller's promise.
        unsafe { self.finish(registers) }
    }
}

/// Makes the registers those of a routine.
///
/// # Safety
/// The registers are valid for the run.
#[inline(always)]
pub(super) unsafe fn use_code(registers: *mut Registers, code: &Code, arena: *const Bump) {
    // SAFETY: the caller's promise.
    unsafe {
        (*registers).calls = code.general.as_ptr();
        (*registers).regions = code.regions.as_ptr().cast();
        (*registers).arena = arena;
    }
}

/// Begins the call of a routine, and goes on with its first cell.
///
/// # Safety
/// The contract of [`Run`](crate::operator::cell::Run); `registers.machine` are the calls of the run.
pub(super) unsafe fn call(
    cell: *const Cell,
    frame: *mut u8,
    registers: *mut Registers,
    float: f64,
    bits: u64,
) -> *const Cell {
    // SAFETY: the caller's promise; while a chain runs, nobody else uses the calls. The code of the running routine has
    // the call of the cell, and there are frames and code for every routine.
    unsafe {
        let calls = &mut *(*registers).machine.cast::<Calls<'_>>();
        let code = &*calls.code;
        let call = &*code.calls.as_ptr().add((*cell).args[0] as usize);
        let callee = call.routine as usize;
        let kept = &mut *calls.stack.frames.as_mut_ptr().add(callee);
        let active = &mut calls.stack.active;
        let (depth, bytes) = (active.len(), calls.bytes + call.frame_bytes);
        let is_ready = call.is_plain
            && kept.used < kept.frames.len()
            && depth < calls.most_calls
            && depth < active.capacity()
            && bytes <= calls.most_bytes;
        if !is_ready {
            return call_slowly(cell, frame, registers, float, bits);
        }
        let callee_frame: &Frame = &*kept.frames.as_ptr().add(kept.used);
        let base = callee_frame.base();
        call.enter_plain(calls.base, base);
        kept.used += 1;
        let number = cell.offset_from(code.cells.as_ptr()) as u32;
        active.as_mut_ptr().add(depth).write(ActiveCall { routine: call.routine, cell: number });
        active.set_len(depth + 1);
        let code = &*calls.codes.as_ptr().add(callee);
        (calls.bytes, calls.routine, calls.code, calls.base) = (bytes, callee, code, base);
        use_code(registers, code, callee_frame.arena());
        let first = code.cells.as_ptr();
        go(first, first, code.entry_fuel, base, registers, float, bits)
    }
}

/// The same for arguments that are not plain, and where there is no room yet.
///
/// # Safety
/// As [`call`].
#[inline(never)]
unsafe fn call_slowly(
    cell: *const Cell,
    _: *mut u8,
    registers: *mut Registers,
    float: f64,
    bits: u64,
) -> *const Cell {
    // SAFETY: as in `call`.
    unsafe {
        let calls = (*registers).machine.cast::<Calls<'_>>();
        match (*calls).begin(registers, cell) {
            Ok(Some(Next { blamed, cell, fuel })) => {
                go(blamed, cell, fuel, (*calls).base, registers, float, bits)
            }
            Ok(None) => stop(cell, registers, Stop::Call),
            Err(fault) => raise(cell, registers, fault),
        }
    }
}

/// Ends a routine, and goes on with the cell behind its call.
///
/// # Safety
/// As [`call`], or there are no calls.
pub(super) unsafe fn leave(
    cell: *const Cell,
    frame: *mut u8,
    registers: *mut Registers,
    float: f64,
    bits: u64,
) -> *const Cell {
    // SAFETY: as in `call`; a call in progress has a frame in use, and a cell of its caller's code, which is not the
    // last one.
    unsafe {
        let calls = (*registers).machine.cast::<Calls<'_>>();
        if calls.is_null() || (*calls).stack.active.is_empty() {
            return stop(cell, registers, Stop::Done);
        }
        let (calls, codes) = (&mut *calls, (*calls).codes.as_ptr());
        let active = &mut calls.stack.active;
        let depth = active.len() - 1;
        let done = *active.as_ptr().add(depth);
        let frames = calls.stack.frames.as_mut_ptr();
        let (routine, base, arena) = match depth {
            0 => (0, calls.main.0, calls.main.1),
            _ => {
                let caller = (*active.as_ptr().add(depth - 1)).routine as usize;
                let kept = &*frames.add(caller);
                // A routine that called itself has the frame before the last one.
                let own = usize::from(caller == done.routine as usize);
                let frame: &Frame = &*kept.frames.as_ptr().add(kept.used - 1 - own);
                (caller, frame.base(), frame.arena() as *const Bump)
            }
        };
        let code = &*codes.add(routine);
        let cell = code.cells.as_ptr().add(done.cell as usize);
        let call = &*code.calls.as_ptr().add((*cell).args[0] as usize);
        let callee = &*codes.add(done.routine as usize);
        if !call.is_plain || callee.uses_arena {
            return leave_slowly(cell, frame, registers, float, bits);
        }
        call.leave_plain(base, calls.base);
        active.set_len(depth);
        (*frames.add(done.routine as usize)).used -= 1;
        calls.bytes -= call.frame_bytes;
        (calls.routine, calls.code, calls.base) = (routine, code, base);
        use_code(registers, code, arena);
        go(cell, cell.add(1), call.fuel, base, registers, float, bits)
    }
}

/// The same for results that are not plain, and routines that use scratch memory.
///
/// # Safety
/// As [`leave`].
#[inline(never)]
unsafe fn leave_slowly(
    cell: *const Cell,
    _: *mut u8,
    registers: *mut Registers,
    float: f64,
    bits: u64,
) -> *const Cell {
    // SAFETY: as in `call`.
    unsafe {
        let calls = (*registers).machine.cast::<Calls<'_>>();
        match (*calls).finish(registers) {
            Ok(Some(Next { blamed, cell, fuel })) => {
                go(blamed, cell, fuel, (*calls).base, registers, float, bits)
            }
            Ok(None) => stop(cell, registers, Stop::Done),
            Err(fault) => raise((*registers).at, registers, fault),
        }
    }
}
