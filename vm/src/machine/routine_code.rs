//! The code of a routine, as the machine runs it.

use crate::layout::slot::TypedSlot;
use crate::machine::tile::region::Region;
use crate::machine::transfer::RoutineCall;
use crate::operator::cell::Cell;
use crate::operator::general::GeneralCall;

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
    /// Instructions charged on entry.
    pub(super) entry_fuel: u32,
    /// Bytes of the frame.
    pub(super) frame_bytes: u32,
    /// True if it has general kernels or regions, which use scratch memory.
    pub(super) uses_arena: bool,
    /// True if it has neither general kernels nor regions nor calls, and changes no array.
    pub(super) is_scalar: bool,
}
