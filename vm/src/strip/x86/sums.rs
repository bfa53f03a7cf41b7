//! Sums: the first stage of a sum, one part for each leaf of rows.
//!
//! ```text
//! rows of a leaf    0 … 7 | 8 … 15 | …  | 120 … 127 | the rest
//! eight lanes       -0 + row 0 + row 8 + …            joined: ((0+1) + (2+3)) + ((4+5) + (6+7)), then the rest in turn
//! ```
//!
//! That is the order of `vector/fold.rs`. The lanes begin at -0, which any number can be added to without changing a bit;
//! so the part of a leaf may be -0 where the fold has 0, and a sum that adds 0 at its end, as all do, is the same.
//!
//! A leaf that goes on from the call before begins with the lanes it had then. Lanes stand in the first vector registers for the whole leaf, or in the stack frame if there are too few.

use crate::strip::list::List;
use crate::strip::op::{Lane, Sink};
use crate::strip::x86::constants::Constants;
use crate::strip::x86::group_shape::GroupShape;
use crate::strip::x86::inst::Home;

/// Most registers with lanes of sums.
const MOST_REGISTERS: usize = 8;

/// Registers below this hold lanes and constants where there are sums: those above are free between bodies.
pub const STANDING: usize = 14;

/// Where the lanes of a register full stand.
#[derive(Clone, Copy, Debug)]
pub enum Lanes {
    Register(u8),
    Stack(u32),
}

/// A sum.
#[derive(Clone, Debug)]
pub struct SumPlan {
    /// The column of its parts.
    pub column: u16,
    pub lane: Lane,
    pub lanes: Vec<Lanes>,
    /// What the lanes begin with.
    pub start: Home,
    /// Rows of the rest in the stack frame.
    pub rest: u32,
}

/// All sums of a list.
#[derive(Clone, Debug)]
pub struct SumsPlan {
    pub sums: Vec<SumPlan>,
    /// The column of ends of leaves.
    pub ends: u16,
    /// Vector registers with lanes, from number 0 on.
    pub registers: u8,
    /// Where the stack frame has the end of all rows, the number of the leaf, and the rows of its rest.
    pub frame: u32,
}

/// Where the sums of a list stand; `None` if it has none.
pub fn plan(list: &List, target: GroupShape, room: usize, constants: &mut Constants) -> Option<SumsPlan> {
    let ends = list.leaf_ends()?;
    let mut plan = SumsPlan { sums: Vec::new(), ends, registers: 0, frame: constants.reserve(64) };
    for sink in list.sinks() {
        let Sink::Sum(column, term) = *sink else { continue };
        let lane = list.lane(term);
        let lanes =
            (0..target.parts(lane)).map(|_| match usize::from(plan.registers) < room.min(MOST_REGISTERS) {
                true => {
                    plan.registers += 1;
                    Lanes::Register(plan.registers - 1)
                }
                false => Lanes::Stack(constants.reserve(64)),
            });
        let lanes = lanes.collect();
        let start = constants.literal(lane, if lane.is_float() { 1 << (8 * lane.bytes() - 1) } else { 0 });
        plan.sums.push(SumPlan { column, lane, lanes, start, rest: constants.reserve(64) });
    }
    Some(plan)
}
