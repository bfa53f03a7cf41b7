//! Which instructions make a region.
//!
//! ```text
//! ip 0  v2 = multiply(x, y)      opens a region {x, y, v2}
//! ip 1  s1 = sqrt(s0)            scalar: neither reads nor writes what the region has
//! ip 2  v3 = add(v2, s1)         shares v2: joins; the region runs here
//! ip 3  v4 = sort(v3)            reads v3: the region is closed before
//! ```
//!
//! One pass over each basic block. Several regions can be open at once; an operator that reads arrays of
//! two of them makes them one.

use crate::layout::TypedSlot;
use crate::machine::code::same_bytes;
use crate::operator::Kernel;
use crate::program::{Body, Instruction, Routine, ValueId};
use hashbrown::HashSet;

/// Members of one region; a longer one is cut.
const MAX_MEMBERS: usize = 4096;

/// The regions of a routine.
#[derive(Debug, Default)]
pub(in crate::machine) struct Plan {
    /// Members of each region, in the order of instructions.
    pub(in crate::machine) regions: Vec<Vec<u32>>,
    /// The region that each instruction is a member of.
    pub(in crate::machine) region_of: Vec<Option<u32>>,
}

impl Plan {
    /// The region that runs in place of this instruction; `None` if it runs by itself, or is a member and
    /// not the last.
    pub(in crate::machine) fn role(&self, ip: usize) -> Role {
        match self.region_of.get(ip).copied().flatten() {
            None => Role::Alone,
            Some(region) if self.regions[region as usize].last() == Some(&(ip as u32)) => Role::Runs(region),
            Some(_) => Role::Member,
        }
    }
}

/// What becomes of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::machine) enum Role {
    /// It is no member of a region.
    Alone,
    /// It runs with a later member.
    Member,
    /// The region with this number runs here.
    Runs(u32),
}

/// Groups the instructions of a routine.
pub(in crate::machine) fn plan(routine: &Routine, is_target: &[bool]) -> Plan {
    let body = &routine.body;
    let is_tiled = |operator: &Kernel| matches!(operator, Kernel::Pointwise(_));
    if !body.operators().iter().any(|operator| is_tiled(operator.kernel())) {
        return Plan::default();
    }
    let mut planner = Planner::new(routine);
    for (ip, instruction) in body.instructions().iter().enumerate() {
        if is_target[ip] {
            planner.close_all();
        }
        match instruction {
            Instruction::Operator { operator, operands, result }
                if is_tiled(body.operators()[*operator as usize].kernel()) =>
            {
                planner.member(ip as u32, body.list(*operands), *result);
            }
            Instruction::Operator { .. } => planner.between(instruction),
            _ => planner.close_all(),
        }
    }
    planner.close_all();
    planner.plan
}

/// A region that can still grow.
#[derive(Default)]
struct Open {
    members: Vec<u32>,
    /// Arrays that members read or write.
    arrays: HashSet<ValueId>,
    /// What members read from the frame.
    external: Vec<TypedSlot>,
    /// What members write.
    results: Vec<TypedSlot>,
}

impl Open {
    fn reads_from_frame(&self, slot: &TypedSlot) -> bool {
        self.external.iter().any(|other| other.overlaps(slot))
    }

    fn writes(&self, slot: &TypedSlot) -> bool {
        self.results.iter().any(|other| other.overlaps(slot))
    }

    fn merge(&mut self, other: Open) {
        self.members.extend(other.members);
        self.members.sort_unstable();
        self.arrays.extend(other.arrays);
        self.external.extend(other.external);
        self.results.extend(other.results);
    }
}

struct Planner<'r> {
    routine: &'r Routine,
    body: &'r Body,
    open: Vec<Open>,
    /// Values that more than one instruction defines.
    redefined: HashSet<ValueId>,
    plan: Plan,
}

impl<'r> Planner<'r> {
    fn new(routine: &'r Routine) -> Planner<'r> {
        let body = &routine.body;
        let (mut defined, mut redefined) = (HashSet::new(), HashSet::new());
        for value in body.instructions().iter().flat_map(|i| body.writes(i)) {
            let value = same_bytes(routine, *value);
            if !defined.insert(value) {
                redefined.insert(value);
            }
        }
        let region_of = vec![None; body.instructions().len()];
        let plan = Plan { regions: Vec::new(), region_of };
        Planner { routine, body, open: Vec::new(), redefined, plan }
    }

    fn member(&mut self, ip: u32, operands: &[ValueId], result: ValueId) {
        let result = same_bytes(self.routine, result);
        let slot = self.routine.slot(result);
        // The result takes the place of something that a delayed member reads, or has been given.
        self.close_if(|open| open.reads_from_frame(slot) || open.writes(slot) && !open.arrays.is_empty());
        let is_array = |value: &ValueId| self.routine.slot(*value).qtype().array().is_some();
        let operands: Vec<ValueId> = operands.iter().map(|v| same_bytes(self.routine, *v)).collect();
        let arrays: Vec<ValueId> = operands.iter().copied().filter(is_array).collect();
        let mut region = Open::default();
        let mut index = 0;
        while index < self.open.len() {
            match arrays.iter().any(|array| self.open[index].arrays.contains(array)) {
                true => region.merge(self.open.swap_remove(index)),
                false => index += 1,
            }
        }
        let inside: HashSet<u32> = region.results.iter().map(TypedSlot::offset).collect();
        let external =
            operands.iter().map(|v| self.routine.slot(*v)).filter(|s| !inside.contains(&s.offset()));
        region.external.extend(external.cloned());
        region.arrays.extend(arrays);
        region.arrays.insert(result);
        region.results.push(slot.clone());
        region.members.push(ip);
        self.open.push(region);
        let is_full = |open: &Open| open.members.len() >= MAX_MEMBERS;
        let is_last = self.redefined.contains(&result);
        self.close_if(|open| is_full(open) || is_last && open.members.last() == Some(&ip));
    }

    /// An instruction that runs before the open regions, unless they have to run before it.
    fn between(&mut self, instruction: &'r Instruction) {
        let (body, routine) = (self.body, self.routine);
        let slots = |values: &'r [ValueId]| values.iter().map(|v| routine.slot(*v));
        let reads: Vec<&TypedSlot> = slots(body.reads(instruction)).collect();
        let writes: Vec<TypedSlot> =
            body.writes(instruction).iter().map(|v| routine.slot(*v).clone()).collect();
        self.close_if(|open| {
            reads.iter().any(|slot| open.writes(slot))
                || writes.iter().any(|slot| open.reads_from_frame(slot) || open.writes(slot))
        });
    }

    fn close_all(&mut self) {
        self.close_if(|_| true);
    }

    fn close_if(&mut self, condition: impl Fn(&Open) -> bool) {
        let mut index = 0;
        while index < self.open.len() {
            match condition(&self.open[index]) {
                true => {
                    let region = self.open.swap_remove(index);
                    self.close(region);
                }
                false => index += 1,
            }
        }
    }

    fn close(&mut self, region: Open) {
        let number = self.plan.regions.len() as u32;
        for ip in &region.members {
            self.plan.region_of[*ip as usize] = Some(number);
        }
        self.plan.regions.push(region.members);
    }
}
