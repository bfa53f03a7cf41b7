//! Calls of routines while a run goes on: whose frames are in use.
//!
//! ```text
//! stack     main ─> routine 1 ─> routine 2 ─> routine 1          the innermost runs
//! frames    of routine 1: [in use, in use, idle, idle]           taken and given back at the end of the row
//!           of routine 2: [in use]
//! ```

use crate::array::meter::Meter;
use crate::frame::Frame;
use crate::frame::frame::{ActiveCall, CallStack, FrameBase};
use crate::frame::scratch::FrameScratch;
use crate::machine::error::RunErrorKind;
use crate::machine::options::RunLimits;
use crate::machine::routine_code::Code;
use crate::machine::transfer::RoutineCall;
use crate::operator::cell::{Cell, Registers};
use crate::program::Program;
use crate::value::Fault;
use std::sync::Arc;

/// The calls of one run.
pub(super) struct Calls<'r> {
    program: &'r Program,
    codes: &'r [Code],
    meter: &'r Meter<'r>,
    /// That of the main frame, during the run.
    stack: CallStack,
    main: (*mut u8, *const FrameScratch),
    most_calls: usize,
    most_bytes: u64,
    /// Bytes of the frames of open calls.
    bytes: u64,
    /// Open calls from which on another one takes longer: it is too deep, or the stack has to grow.
    ready: usize,
    /// The first byte of the frame of the routine running.
    pub(super) base: *mut u8,
    /// The routine that the run begins with.
    pub(super) first: u32,
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
            main: (frame.base(), frame.scratch()),
            most_calls: limits.call_depth,
            most_bytes: limits.call_frame_bytes,
            bytes: 0,
            ready: 0,
            base: frame.base(),
            first: 0,
        };
        if codes.len() > 1 || !codes[0].calls.is_empty() {
            calls.stack = std::mem::take(frame.calls_mut());
            calls.keep_own_frames();
            calls.ready = calls.most_calls.min(calls.stack.active.capacity());
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
                kept.clear();
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

    /// The open calls, the innermost first: the routine that calls, and the cell of the call.
    pub(super) fn callers(&self) -> impl Iterator<Item = (usize, *const Cell)> + '_ {
        let active = &self.stack.active;
        let caller = |depth: usize| depth.checked_sub(1).map_or(0, |depth| active[depth].routine as usize);
        (0..active.len()).rev().map(move |depth| (caller(depth), active[depth].cell.cast()))
    }

    /// Ends calls that a fault cut short, until so many are open; the caller goes on.
    pub(super) fn unwind(&mut self, registers: &mut Registers, depth: usize) {
        while self.stack.active.len() > depth
            && let Some(done) = self.stack.active.pop()
        {
            let callee = self.release(done);
            let (_, call, scratch) = self.go_back(done);
            // SAFETY: the call had begun, and all handles are valid; the registers are those of the run.
            unsafe {
                call.take_back(self.base, callee);
                use_code(registers, &self.codes[self.routine()], scratch);
            }
        }
    }

    /// The routine running.
    #[inline]
    pub(super) fn routine(&self) -> usize {
        self.stack.active.last().map_or(self.first, |call| call.routine) as usize
    }

    /// The innermost call, if one is open.
    #[inline(always)]
    pub(super) fn last(&self) -> Option<ActiveCall> {
        self.stack.active.last().copied()
    }

    /// Number of open calls.
    pub(super) fn depth(&self) -> usize {
        self.stack.active.len()
    }

    /// The call of a cell of the routine running.
    ///
    /// # Safety
    /// It is one.
    pub(super) unsafe fn call_of(&self, cell: *const Cell) -> &'r RoutineCall {
        let codes = self.codes;
        // SAFETY: the caller's promise.
        &codes[self.routine()].calls[unsafe { (*cell).args[0] } as usize]
    }

    /// Calls that may still be opened, and bytes that their frames may have.
    pub(super) fn room(&self) -> (usize, u64) {
        (self.most_calls.saturating_sub(self.depth() + 1), self.most_bytes.saturating_sub(self.bytes))
    }

    /// Bytes of the frames of open calls.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Takes an idle frame of a routine, or makes one, for work beside the stack.
    ///
    /// # Errors
    /// The frames of open calls would be too large; or there is no memory.
    pub(super) fn take_frame(&mut self, routine: u32) -> Result<Box<Frame>, RunErrorKind> {
        let kept = &mut self.stack.frames[routine as usize];
        let layout = &self.program.routines()[routine as usize].layout;
        let actual = self.bytes + u64::from(layout.size());
        if actual > self.most_bytes {
            return Err(RunErrorKind::CallFrameBytes { actual, limit: self.most_bytes });
        }
        match kept.take_idle() {
            Some(frame) => Ok(frame),
            None => Ok(Box::new(Frame::new(layout)?)),
        }
    }

    /// Takes a frame back, which is idle from here on.
    pub(super) fn keep_frame(&mut self, routine: u32, mut frame: Box<Frame>) {
        frame.reset_scratch();
        self.stack.frames[routine as usize].push(frame);
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
    pub(super) unsafe fn begin(
        &mut self,
        registers: *mut Registers,
        cell: *const Cell,
    ) -> Result<Option<Next>, Fault> {
        // SAFETY: the caller's promise.
        unsafe {
            let code = &self.codes[self.routine()];
            let call = &code.calls[(*cell).args[0] as usize];
            let (callee, bytes) = (call.routine as usize, self.bytes + call.frame_bytes);
            let kept = &mut self.stack.frames[callee];
            let is_free = self.stack.active.len() < self.most_calls && bytes <= self.most_bytes;
            let Some(frame) = kept.frames.get(kept.used).filter(|_| is_free) else { return Ok(None) };
            let (base, scratch) = (frame.base(), frame.scratch() as *const FrameScratch);
            call.enter(self.base, base, self.meter)?;
            kept.used += 1;
            self.bytes = bytes;
            let (cell, caller) = (cell.cast(), self.base);
            self.stack.active.push(ActiveCall { routine: call.routine, cell, caller });
            self.ready = self.most_calls.min(self.stack.active.capacity());
            let code = &self.codes[callee];
            self.base = base;
            use_code(registers, code, scratch);
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
    pub(super) unsafe fn finish(&mut self, registers: *mut Registers) -> Result<Option<Next>, Fault> {
        let Some(done) = self.stack.active.pop() else { return Ok(None) };
        let callee = self.release(done);
        let (cell, call, scratch) = self.go_back(done);
        // SAFETY: the caller's promise. A call cell is never the last one.
        unsafe {
            use_code(registers, &self.codes[self.routine()], scratch);
            (*registers).at = cell;
            call.leave(self.base, callee, self.meter)?;
            Ok(Some(Next { blamed: cell, cell: cell.add(1), fuel: call.fuel }))
        }
    }

    /// Begins the call of a linked cell where all is plain and there is room, and gives the frame of the routine called.
    ///
    /// # Safety
    /// As [`Calls::begin`]; `frame` is that of the running routine.
    #[inline(always)]
    pub(super) unsafe fn begin_plain(
        &mut self,
        call: &RoutineCall,
        cell: *const Cell,
        frame: *mut u8,
    ) -> Option<*mut u8> {
        // SAFETY: the caller's promise; there are frames for every routine, and room for one more call if it is ready.
        unsafe {
            let kept = &mut *self.stack.frames.as_mut_ptr().add(call.routine as usize);
            let active = &mut self.stack.active;
            let (depth, bytes) = (active.len(), self.bytes + call.frame_bytes);
            let has_room = kept.used < kept.bases.len() && depth < self.ready && bytes <= self.most_bytes;
            if !call.is_plain || !has_room {
                return None;
            }
            let FrameBase(base) = *kept.bases.as_ptr().add(kept.used);
            call.enter_plain(frame, base);
            kept.used += 1;
            let entry = ActiveCall { routine: call.routine, cell: cell.cast(), caller: frame };
            active.as_mut_ptr().add(depth).write(entry);
            active.set_len(depth + 1);
            (self.bytes, self.base) = (bytes, base);
            Some(base)
        }
    }

    /// Ends the innermost call where all is plain; false if it is not, and has not ended.
    ///
    /// # Safety
    /// As [`Calls::begin`]; `done` is the innermost call, `call` that of its cell, and `frame` that of the routine running.
    #[inline(always)]
    pub(super) unsafe fn finish_plain(
        &mut self,
        call: &RoutineCall,
        done: ActiveCall,
        frame: *mut u8,
    ) -> bool {
        // A callee may have called others that left the registers to it.
        if !call.is_plain || call.returns_to_arena {
            return false;
        }
        // SAFETY: the caller's promise; a call in progress has a frame in use.
        unsafe {
            call.leave_plain(done.caller, frame);
            self.stack.active.set_len(self.stack.active.len() - 1);
            (*self.stack.frames.as_mut_ptr().add(done.routine as usize)).used -= 1;
        }
        self.bytes -= call.frame_bytes;
        self.base = done.caller;
        true
    }

    /// The frame of a call that has ended becomes idle; gives its first byte, which stays for the moment.
    fn release(&mut self, done: ActiveCall) -> *mut u8 {
        let (routine, kept) = (done.routine as usize, &mut self.stack.frames[done.routine as usize]);
        kept.used -= 1;
        let frame = &mut kept.frames[kept.used];
        if self.codes[routine].uses_arena {
            frame.reset_scratch();
        }
        frame.base()
    }

    /// Goes on with the caller of a call that has been taken off the stack; gives the cell of the call.
    fn go_back(&mut self, done: ActiveCall) -> (*const Cell, &'r RoutineCall, *const FrameScratch) {
        self.bytes -= u64::from(self.codes[done.routine as usize].frame_bytes);
        self.base = done.caller;
        let scratch = match self.innermost() {
            None => self.main.1,
            Some(frame) => frame.scratch() as *const FrameScratch,
        };
        let cell = done.cell.cast::<Cell>();
        // SAFETY: it is a cell of the caller's code.
        let number = unsafe { (*cell).args[0] } as usize;
        let codes = self.codes;
        (cell, &codes[self.routine()].calls[number], scratch)
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
        self.stack.frames[call.routine as usize].push(Box::new(Frame::new(layout)?));
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
            self.make_room(&codes[self.routine()].calls[(*cell).args[0] as usize])?;
            Ok(self.begin(registers, cell)?.expect("there is room now"))
        }
    }
}

/// Makes the registers those of a routine.
///
/// # Safety
/// The registers are valid for the run.
#[inline(always)]
pub(super) unsafe fn use_code(registers: *mut Registers, code: &Code, scratch: *const FrameScratch) {
    // SAFETY: the caller's promise.
    unsafe {
        (*registers).calls = code.general.as_ptr();
        (*registers).regions = code.regions.as_ptr().cast();
        (*registers).arena = (*scratch).of_run();
        (*registers).region_arena = (*scratch).of_region();
    }
}
