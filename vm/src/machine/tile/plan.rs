//! Which instructions make a region: the result of [planning](crate::machine::tile::planner).

use crate::array::scan::Direction;
use crate::layout::TypedSlot;
use crate::machine::tile::views::Views;
use crate::program::{Instruction, Routine};
use crate::value::{NdType, QType, ScalarType};

/// The regions of a routine.
#[derive(Debug, Default)]
pub(in crate::machine) struct Plan {
    /// The regions, by number.
    pub(in crate::machine) regions: Vec<Group>,
    /// The region that each instruction is a member of.
    pub(in crate::machine) region_of: Vec<Option<u32>>,
    /// What regions see through.
    pub(in crate::machine) views: Views,
}

/// The members of a region.
#[derive(Debug)]
pub(in crate::machine) struct Group {
    /// The members, in the order of their instructions.
    pub(in crate::machine) members: Vec<Planned>,
    /// What they compute.
    pub(in crate::machine) extent: Extent,
    /// The direction of running sums among them.
    pub(in crate::machine) direction: Option<Direction>,
    /// Why there are no more.
    pub(in crate::machine) closed: Closed,
}

/// A member of a region.
#[derive(Debug)]
pub(in crate::machine) struct Planned {
    /// Its instruction.
    pub(in crate::machine) ip: u32,
    /// By operand: the member that computes it; none if it stands in the frame when the region runs.
    pub(in crate::machine) sources: Box<[Option<u32>]>,
    /// True if another instruction has overwritten the result by the time the region runs: it is not laid out.
    pub(in crate::machine) is_overwritten: bool,
}

/// What the members of a region compute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Extent {
    /// Rows of arrays.
    #[default]
    Rows,
    /// Elements of arrays with these axes, those of fewer axes repeated. The type of elements does not count.
    Elements(NdType),
}

impl Extent {
    /// The extent of an array; `None` of anything else.
    pub(super) fn of(qtype: &QType) -> Option<Extent> {
        match qtype {
            QType::Array(_) => Some(Extent::Rows),
            QType::NdArray(t) => t.with_element(ScalarType::Boolean).map(Extent::Elements),
            _ => None,
        }
    }
}

/// Why a region takes no more members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closed {
    /// The program ends here, or its ways join or part.
    End,
    /// This instruction needs a result as a whole.
    ReadBy(u32),
    /// The result of this instruction takes the place of an operand.
    PlaceTaken(u32),
    /// This instruction has to go through rows in another order.
    OtherOrder(u32),
    /// It has as many members as a region can have, or as many regions are open as can be.
    Full,
}

impl Plan {
    /// The arrays that are read other than by regions: by an instruction that runs by itself, or as a result.
    pub(in crate::machine) fn read_whole(&self, routine: &Routine, is_reachable: &[bool]) -> Vec<TypedSlot> {
        let instructions = routine.body.instructions().iter().enumerate();
        let alone = instructions.filter(|(ip, _)| is_reachable[*ip] && self.role(*ip) == Role::Alone);
        let body = &routine.body;
        let read = alone.flat_map(|(_, instruction)| {
            let not_whole = match instruction {
                Instruction::Operator { operator, .. } => {
                    usize::from(body.operators()[*operator as usize].reads_lent())
                }
                // The code of a call knows which of its arguments are copied.
                Instruction::Call { .. } => usize::MAX,
                _ => 0,
            };
            body.reads(instruction).iter().skip(not_whole).copied()
        });
        let slots = read.chain(routine.results()).map(|value| routine.slot(value));
        slots.filter(|slot| !slot.qtype().is_plain()).cloned().collect()
    }

    /// The region that runs in place of this instruction; `None` if it runs by itself, or is a member and
    /// not the last.
    pub(in crate::machine) fn role(&self, ip: usize) -> Role {
        match self.region_of.get(ip).copied().flatten() {
            None if self.views.are_through(ip) => Role::Member,
            None => Role::Alone,
            Some(region) if self.regions[region as usize].last() == Some(ip as u32) => Role::Runs(region),
            Some(_) => Role::Member,
        }
    }
}

impl Group {
    /// The instruction that the region runs in place of.
    fn last(&self) -> Option<u32> {
        self.members.last().map(|member| member.ip)
    }
}

/// What becomes of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::machine) enum Role {
    /// It is no member of a region.
    Alone,
    /// It runs with a later member, or nothing has to run.
    Member,
    /// The region with this number runs here.
    Runs(u32),
}
