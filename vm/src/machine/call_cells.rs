//! The cells that begin and end a call, and what links them to the code that they call.
//!
//! A call stays in the chain of cells, as a jump does. The interpreter loop is asked only where there is no idle frame,
//! or too many calls are open, and in stepped code.
//!
//! A call of plain values leaves the registers to the callee as they are: it has no general kernels and no regions, which
//! would read them. A caller that has some gets its own back.

use crate::layout::access::Accumulators;
use crate::machine::calls::{Calls, Next};
use crate::machine::routine_code::Code;
use crate::machine::transfer::RoutineCall;
use crate::operator::cell::{Cell, State, Stop, go, raise, stop};

/// Makes calls and code known to each other, so that a call of plain values looks nothing up: the cell has the address of
/// its call, and the call that of the routine's first cell. Nothing of that moves from here on.
pub(super) fn link(codes: &mut [Code]) {
    let uses_arena: Vec<bool> = codes.iter().map(|code| code.uses_arena).collect();
    let entries: Vec<_> = codes.iter().map(|code| (code.cells.as_ptr(), code.entry_fuel)).collect();
    for code in codes {
        for call in &mut code.calls {
            let callee = call.routine as usize;
            (call.entry, call.entry_fuel) = entries[callee];
            call.is_plain &= !uses_arena[callee];
            call.returns_to_arena = code.uses_arena;
            let cell = &mut code.cells[call.cell as usize];
            let address = (&raw const *call).expose_provenance() as u64;
            (cell.args[1], cell.args[2]) = (address as u32, (address >> 32) as u32);
        }
    }
}

/// The call of a linked cell.
///
/// # Safety
/// It is a cell with the code [`call`].
#[inline(always)]
pub(super) unsafe fn linked<'r>(cell: *const Cell) -> &'r RoutineCall {
    // SAFETY: [`link`] put the address there, of a call that stays with the code.
    unsafe {
        let [_, low, high, _] = (*cell).args;
        let address = u64::from(high) << 32 | u64::from(low);
        &*std::ptr::with_exposed_provenance::<RoutineCall>(address as usize)
    }
}

/// Begins the call of a routine, and goes on with its first cell.
///
/// # Safety
/// The contract of [`Run`](crate::operator::cell::Run); `registers.machine` are the calls of the run, and the code is linked.
pub(super) unsafe fn call(cell: *const Cell, state: State, held: Accumulators) -> *const Cell {
    // SAFETY: the caller's promise; while a chain runs, nobody else uses the calls. There are frames for every routine.
    unsafe {
        let calls = &mut *(*state.registers).machine.cast::<Calls<'_>>();
        let call = linked(cell);
        let Some(base) = calls.begin_plain(call, cell, state.frame) else {
            return call_slowly(cell, state, held);
        };
        // The registers stay those of the caller: the callee has neither general kernels nor regions.
        go(call.entry, call.entry, call.entry_fuel, State { frame: base, ..state }, held)
    }
}

/// The same for arguments that are not plain, and where there is no room yet.
///
/// # Safety
/// As [`call`].
#[inline(never)]
unsafe fn call_slowly(cell: *const Cell, state: State, held: Accumulators) -> *const Cell {
    // SAFETY: as in `call`.
    unsafe {
        let calls = (*state.registers).machine.cast::<Calls<'_>>();
        match (*calls).begin(state.registers, cell) {
            Ok(Some(Next { blamed, cell, fuel })) => {
                go(blamed, cell, fuel, State { frame: (*calls).base, ..state }, held)
            }
            Ok(None) => stop(cell, state, Stop::Call),
            Err(fault) => raise(cell, state, fault),
        }
    }
}

/// Ends a routine, and goes on with the cell behind its call.
///
/// # Safety
/// As [`call`], or there are no calls.
pub(super) unsafe fn leave(cell: *const Cell, state: State, held: Accumulators) -> *const Cell {
    // SAFETY: as in `call`; a call in progress has a frame in use, and a cell of its caller's code, which is not the
    // last one.
    unsafe {
        let calls = (*state.registers).machine.cast::<Calls<'_>>().as_mut();
        let Some((calls, done)) = calls.and_then(|calls| calls.last().map(|done| (calls, done))) else {
            return stop(cell, state, Stop::Done);
        };
        let calling = done.cell.cast::<Cell>();
        let call = linked(calling);
        if !calls.finish_plain(call, done, state.frame) {
            return leave_slowly(cell, state, held);
        }
        go(calling, calling.add(1), call.fuel, State { frame: done.caller, ..state }, held)
    }
}

/// The same for results that are not plain, and routines that use scratch memory.
///
/// # Safety
/// As [`leave`].
#[inline(never)]
unsafe fn leave_slowly(cell: *const Cell, state: State, held: Accumulators) -> *const Cell {
    // SAFETY: as in `call`.
    unsafe {
        let calls = (*state.registers).machine.cast::<Calls<'_>>();
        match (*calls).finish(state.registers) {
            Ok(Some(Next { blamed, cell, fuel })) => {
                go(blamed, cell, fuel, State { frame: (*calls).base, ..state }, held)
            }
            Ok(None) => stop(cell, state, Stop::Done),
            Err(fault) => raise((*state.registers).at, state, fault),
        }
    }
}
