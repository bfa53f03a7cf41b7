//! Folds: the first stage of what makes one value of rows, in lanes.
//!
//! ```text
//! sum of leaves     rows of a leaf    0 … 7 | 8 … 15 | …  | 120 … 127 | the rest
//!                   eight lanes       -0 + row 0 + row 8 + …            ((0+1) + (2+3)) + ((4+5) + (6+7)), then the rest in turn
//!
//! in any order      rows of a call    0 … 7 | 8 … 15 | …  | the rest, under its mask
//!                   lanes             start · row 0 · row 8 · …         who calls joins them
//!
//! spread sum        rows of a call    0 … 7 | 8 … 15 | 16 … 23 | 24 … 31 | 32 … 39 | …
//!                   32 lanes            a   |   b    |    c    |    d    |   a     |        four eights, in turn
//! ```
//!
//! The first order is that of `vector/fold.rs`. The lanes begin at -0, which any number can be added to without changing a bit;
//! so the part of a leaf may be -0 where the fold has 0, and a sum that adds 0 at its end, as all do, is the same. A leaf that
//! goes on from the call before begins with the lanes it had then.
//!
//! A [running result](crate::strip::x86::running) is among them: it has one lane.
//!
//! The eights of a spread sum move on by as many as an iteration has groups: the next group goes to the first one.
//!
//! Lanes stand in the first vector registers for the whole call, or in the stack frame if there are too few.

use crate::strip::list::List;
use crate::strip::op::{Lane, LaneFold, Sink};
use crate::strip::x86::constants::Constants;
use crate::strip::x86::group_shape::GroupShape;
use crate::strip::x86::inst::Home;

/// Most registers with lanes.
const MOST_REGISTERS: usize = 8;

/// Registers below this hold lanes and constants where there are folds: those above are free between bodies.
pub const STANDING: usize = 14;

/// Where the lanes of a register full stand.
#[derive(Clone, Copy, Debug)]
pub enum Lanes {
    Register(u8),
    Stack(u32),
}

/// A fold.
#[derive(Clone, Debug)]
pub struct FoldPlan {
    /// The column of its lanes.
    pub column: u16,
    pub lane: Lane,
    pub lanes: Vec<Lanes>,
    pub order: RowOrder,
}

impl FoldPlan {
    /// True if lanes are ready many cycles after they were read, so that groups of an iteration should not wait for each other.
    pub fn is_slow(&self) -> bool {
        self.lane.is_float() && matches!(self.order, RowOrder::Any(_))
    }
}

/// In which order rows are taken in.
#[derive(Clone, Copy, Debug)]
pub enum RowOrder {
    /// The sum of each leaf.
    Leaves {
        /// What the lanes begin with.
        start: Home,
        /// Rows of the rest in the stack frame.
        rest: u32,
    },
    /// Any.
    Any(LaneFold),
    /// Each row to the lane of its number.
    Spread,
    /// One after the other, in a running result.
    InTurn,
}

/// Eights of lanes of a spread sum.
pub const EIGHTS: usize = 4;

/// All folds of a list.
#[derive(Clone, Debug)]
pub struct FoldsPlan {
    pub folds: Vec<FoldPlan>,
    /// The column of ends of leaves, if there are sums of leaves.
    pub ends: Option<u16>,
    /// Vector registers with lanes, from number 0 on.
    pub registers: u8,
    /// Where the stack frame has the end of all rows, the number of the leaf, and the rows of its rest.
    pub frame: u32,
}

/// Where the folds of a list stand, those of sinks in their order, then running results; `None` if it has none.
pub fn plan(list: &List, target: GroupShape, room: usize, constants: &mut Constants) -> Option<FoldsPlan> {
    if !list.has_carries() {
        return None;
    }
    let (ends, frame) = (list.leaf_ends(), constants.reserve(64));
    let mut plan = FoldsPlan { folds: Vec::new(), ends, registers: 0, frame };
    for sink in list.sinks() {
        let lane = list.lane(sink.term());
        let (column, order) = match *sink {
            Sink::Sum(column, _) => {
                let zero = if lane.is_float() { 1 << (8 * lane.bytes() - 1) } else { 0 };
                let start = constants.literal(lane, zero);
                (column, RowOrder::Leaves { start, rest: constants.reserve(64) })
            }
            Sink::Lanes(fold, column, _) => (column, RowOrder::Any(fold)),
            Sink::Spread(column, _) => (column, RowOrder::Spread),
            _ => continue,
        };
        let eights = if matches!(order, RowOrder::Spread) { EIGHTS } else { 1 };
        let lanes = (0..eights * target.parts(lane)).map(|_| plan.place(room, constants)).collect();
        plan.folds.push(FoldPlan { column, lane, lanes, order });
    }
    for (column, _, lane) in list.running_results() {
        let lanes = vec![plan.place(room, constants)];
        plan.folds.push(FoldPlan { column, lane, lanes, order: RowOrder::InTurn });
    }
    Some(plan)
}

impl FoldsPlan {
    /// A place for lanes.
    fn place(&mut self, room: usize, constants: &mut Constants) -> Lanes {
        match usize::from(self.registers) < room.min(MOST_REGISTERS) {
            true => {
                self.registers += 1;
                Lanes::Register(self.registers - 1)
            }
            false => Lanes::Stack(constants.reserve(64)),
        }
    }
}
