//! Cells: one threaded instruction each, and the registers they share.
//!
//! ```text
//! cell ─run─> loads operands ─> computes ─> stores ─> calls the next cell's `run` (a tail call)
//!                 ^ frame or accumulator        └ or only leaves the result in an accumulator
//! ```
//!
//! A cell ends by calling the next one, so every operator has its own indirect call site and the
//! branch predictor learns programs of any length. The last floating-point result and the last
//! result of any other kind travel in two registers, the *accumulators*. Rust does not guarantee
//! tail calls, so a chain of cells has an end: code contains a pause every [`YIELD_INTERVAL`] cells, which
//! returns to the caller's loop, and a jump returns there when the *slice* of fuel that the loop gave out is used
//! up. A stretch of code has at least as much fuel as cells, so that a chain runs at most twice as many cells,
//! and stack use is bounded even where calls are not turned into jumps.
//!
//! Contract of a [`Run`] function:
//! 1. `cell` points into a cell array that ends with a cell that does not continue.
//! 2. `state.frame` is the base of a frame whose layout the cells were bound to.
//! 3. It touches only the bytes of its operands and result, and `state.registers`.
//! 4. It returns null after setting `stop` of the registers, or a cell to resume at.

use crate::array::meter::Meter;
use crate::layout::access::Accumulators;
use crate::operator::general::GeneralCall;
use crate::value::Fault;
use bumpalo::Bump;
#[cfg(feature = "jit")]
use std::any::Any;

/// Cells between two returns to the interpreter loop.
pub const YIELD_INTERVAL: usize = 64;

/// The code of a cell.
pub type Run = unsafe fn(*const Cell, State, Accumulators) -> *const Cell;

/// What the cells of a run work on: two addresses, which a call passes in two registers.
#[derive(Clone, Copy, Debug)]
pub struct State {
    /// Base of the frame of the routine.
    pub frame: *mut u8,
    /// What all cells of the run share.
    pub registers: *mut Registers,
}

/// One threaded instruction.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Cell {
    /// What the cell does.
    pub run: Run,
    /// Frame offset of the result.
    pub out: u32,
    /// Frame offsets of operands, or what else `run` needs.
    pub args: [u32; 4],
    /// The canonical instruction this cell stems from.
    pub ip: u32,
}

/// Why a chain of cells returned null.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The end of the program.
    Done,
    /// An operator raised `registers.fault`.
    Fault,
    /// A `call` instruction wants its routine run; its number is in the cell.
    Call,
    /// What compiled code asked for is done.
    Back,
}

/// When tile regions run as [strips](crate::strip).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strips {
    /// From when on a region has gone over so many rows that compiling it pays.
    #[default]
    Auto,
    /// Never: every operator is a pass over rows.
    Never,
    /// From the first row on, wherever there are strips: for tests.
    Always,
}

/// State shared by the cells of one run.
#[derive(Debug)]
pub struct Registers {
    /// The accumulators across a yield.
    pub held: Accumulators,
    /// Instructions of the slice that may still run; below 0 if a jump has found too few.
    pub fuel: i64,
    /// Instructions that may still run after the slice.
    pub reserve: i64,
    /// Why the last chain stopped.
    pub stop: Stop,
    /// The cell that stopped.
    pub at: *const Cell,
    /// The general kernel running: whom a panic is blamed on. Null while other cells run.
    pub running: *const Cell,
    /// What the operator at `at` raised.
    pub fault: Option<Fault>,
    /// Bound general kernels of the running routine.
    pub calls: *const GeneralCall,
    /// The calls of the run, which only their own cells know; null without calls.
    pub machine: *mut (),
    /// Tile regions of the running routine, which only their own cell knows.
    pub regions: *const (),
    /// Threads that a region may use.
    pub threads: usize,
    /// When a region runs as strips.
    pub strips: Strips,
    /// The instruction to blame where a cell stands for several.
    pub blamed: Option<u32>,
    /// Scratch memory of the running frame.
    pub arena: *const Bump,
    /// Memory of it for a tile region, which gives that back.
    pub region_arena: *mut Bump,
    /// What the run may still use; valid for the run.
    pub meter: *const Meter<'static>,
    /// What compiled code is told.
    #[cfg(feature = "jit")]
    pub native: NativeRegisters,
}

/// The registers of compiled code only.
#[cfg(feature = "jit")]
#[derive(Debug)]
pub struct NativeRegisters {
    /// The run, for calls and pauses; null if the code is run without one.
    pub run: *mut (),
    /// Not null if somebody watches the run.
    pub watch: *const (),
    /// What a function that keeps all registers returned.
    pub status: u32,
    /// What has panicked, until compiled code has returned.
    pub panic: Option<Box<dyn Any + Send>>,
}

impl Registers {
    /// Those at the start of a run: no routine is entered yet.
    #[inline]
    pub fn new(fuel: i64, threads: usize, strips: Strips, meter: *const Meter<'_>) -> Registers {
        Registers {
            held: Accumulators::default(),
            fuel: 0,
            reserve: fuel,
            stop: Stop::Done,
            at: std::ptr::null(),
            running: std::ptr::null(),
            fault: None,
            calls: std::ptr::null(),
            machine: std::ptr::null_mut(),
            regions: std::ptr::null(),
            threads,
            strips,
            blamed: None,
            arena: std::ptr::null(),
            region_arena: std::ptr::null_mut(),
            meter: meter.cast(),
            #[cfg(feature = "jit")]
            native: NativeRegisters {
                run: std::ptr::null_mut(),
                watch: std::ptr::null(),
                status: 0,
                panic: None,
            },
        }
    }

    /// Gives out the next slice of fuel; false if what was used up was more than there is.
    #[inline(always)]
    pub fn refill(&mut self) -> bool {
        let left = self.left();
        self.fuel = left.min(YIELD_INTERVAL as i64);
        self.reserve = left - self.fuel;
        left >= 0
    }

    /// Instructions that may still run.
    #[inline(always)]
    pub fn left(&self) -> i64 {
        self.reserve + self.fuel
    }

    /// The instruction whose general kernel is running. Scalar kernels leave no trace while they run.
    ///
    /// # Safety
    /// `running` is null or a cell of code that is still there.
    pub unsafe fn running_ip(&self) -> Option<u32> {
        // SAFETY: the caller's promise.
        unsafe { self.running.as_ref() }.map(|cell| cell.ip)
    }

    /// The instruction the last chain stopped at.
    ///
    /// # Safety
    /// `at` is null or a cell of code that is still there.
    pub unsafe fn stopped_ip(&self) -> u32 {
        // SAFETY: the caller's promise.
        let at = unsafe { self.at.as_ref() }.map_or(0, |cell| cell.ip);
        self.blamed.unwrap_or(at)
    }
}

/// Runs the cell after this one.
///
/// # Safety
/// The contract of [`Run`]; the current cell is not the last one.
#[inline(always)]
pub unsafe fn next(cell: *const Cell, state: State, held: Accumulators) -> *const Cell {
    // SAFETY: rule 1 of the contract: a cell that continues has a successor.
    unsafe {
        let next = cell.add(1);
        ((*next).run)(next, state, held)
    }
}

/// Charges fuel for the stretch that a jump leads to, and continues there.
///
/// # Safety
/// The contract of [`Run`]; `target` is a cell of the same array.
#[inline(always)]
pub unsafe fn go(
    cell: *const Cell,
    target: *const Cell,
    fuel: u32,
    state: State,
    held: Accumulators,
) -> *const Cell {
    // SAFETY: the caller's promise.
    unsafe {
        (*state.registers).fuel -= i64::from(fuel);
        if (*state.registers).fuel < 0 {
            return end_slice(cell, target, state.registers, held);
        }
        ((*target).run)(target, state, held)
    }
}

/// Returns to the interpreter loop, which looks for more fuel; `cell` is to blame if there is none.
///
/// # Safety
/// As [`go`].
#[cold]
#[inline(never)]
unsafe fn end_slice(
    cell: *const Cell,
    target: *const Cell,
    registers: *mut Registers,
    held: Accumulators,
) -> *const Cell {
    // SAFETY: the registers are valid for the run.
    unsafe {
        (*registers).at = cell;
        (*registers).held = held;
    }
    target
}

/// Returns to the interpreter loop, which resumes at `target`.
///
/// # Safety
/// `target` is a cell of the running array.
#[inline(always)]
pub unsafe fn resume_at(target: *const Cell, state: State, held: Accumulators) -> *const Cell {
    // SAFETY: the registers are valid for the run.
    unsafe {
        (*state.registers).held = held;
    }
    target
}

/// Stops with a fault.
///
/// # Safety
/// The contract of [`Run`].
#[cold]
#[inline(never)]
pub unsafe fn raise(cell: *const Cell, state: State, fault: impl Into<Fault>) -> *const Cell {
    // SAFETY: the registers are valid for the run.
    unsafe {
        (*state.registers).fault = Some(fault.into());
        stop(cell, state, Stop::Fault)
    }
}

/// Stops for a reason.
///
/// # Safety
/// The contract of [`Run`].
#[inline(always)]
pub unsafe fn stop(cell: *const Cell, state: State, reason: Stop) -> *const Cell {
    // SAFETY: the registers are valid for the run.
    unsafe {
        (*state.registers).stop = reason;
        (*state.registers).at = cell;
    }
    std::ptr::null()
}
