//! The code of a routine, as the machine runs it.

use crate::layout::slot::TypedSlot;
use crate::machine::tile::region::Region;
use crate::machine::transfer::RoutineCall;
use crate::operator::cell::Cell;
use crate::operator::general::GeneralCall;
use crate::program::Routine;
use crate::value::Fault;

/// Threaded code of one routine.
#[derive(Debug)]
pub(super) struct Code {
    pub(super) cells: Vec<Cell>,
    /// Bound general kernels, by number.
    pub(super) general: Vec<GeneralCall>,
    /// Tile regions, by number.
    pub(super) regions: Vec<Region>,
    /// What is read as a whole by others than tile regions: inputs that are arrays are not lent there.
    pub(super) whole: Vec<TypedSlot>,
    /// Calls of routines, by number.
    pub(super) calls: Vec<RoutineCall>,
    /// Guards, by the instruction that they guard; of one instruction in the order in which they are asked.
    pub(super) guards: Vec<CodeGuard>,
    /// Instructions charged on entry.
    pub(super) entry_fuel: u32,
    /// Bytes of the frame.
    pub(super) frame_bytes: u32,
    /// True if it has general kernels or regions, which use scratch memory.
    pub(super) uses_arena: bool,
    /// True if it has neither general kernels nor regions nor calls nor guards, and changes no array.
    pub(super) is_scalar: bool,
    /// True if it is a region that may run alone, and cells of scalars behind it.
    pub(super) is_lone_region: bool,
}

/// A guard of an instruction.
#[derive(Clone, Copy, Debug)]
pub(super) struct CodeGuard {
    /// The instruction that may raise.
    pub(super) ip: u32,
    /// What it takes, by number.
    pub(super) catch: u32,
    /// The cell where it leads.
    pub(super) cell: u32,
    /// Instructions charged there. Those behind the one that raised, up to the next jump, have been charged too.
    pub(super) fuel: u32,
}

impl Code {
    /// The first guard of an instruction of the routine that takes something.
    pub(super) fn guard(&self, routine: &Routine, ip: u32, fault: &Fault) -> Option<CodeGuard> {
        let first = self.guards.partition_point(|guard| guard.ip < ip);
        let guards = self.guards[first..].iter().take_while(|guard| guard.ip == ip);
        guards.copied().find(|guard| routine.body.catches()[guard.catch as usize].takes(fault))
    }
}
