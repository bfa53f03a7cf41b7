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
//! two of them makes them one. Arrays of other axes than a region has do not join it: they are computed
//! before, once, and repeated in it. Running sums of one region all begin at the same end. What reductions give is
//! there when the region has run: nobody reads it inside. A reduction of what is in memory anyway runs by itself.

use crate::layout::TypedSlot;
use crate::operator::Kernel;
use crate::operator::scan::Direction;
use crate::program::{Body, Instruction, Routine, ValueId};
use crate::value::{NdType, QType, ScalarType};
use hashbrown::HashSet;

/// Members of one region; a longer one is cut, so that columns have numbers of 16 bits.
const MAX_MEMBERS: usize = 4096;

/// Regions that can grow at the same time, so that planning takes linear time.
const MAX_OPEN: usize = 64;

/// The regions of a routine.
#[derive(Debug, Default)]
pub(in crate::machine) struct Plan {
    /// The regions, by number.
    pub(in crate::machine) regions: Vec<Group>,
    /// The region that each instruction is a member of.
    pub(in crate::machine) region_of: Vec<Option<u32>>,
}

/// The members of a region.
#[derive(Debug)]
pub(in crate::machine) struct Group {
    /// Their instructions, in order.
    pub(in crate::machine) members: Vec<u32>,
    /// What they compute.
    pub(in crate::machine) extent: Extent,
    /// The direction of running sums among them.
    pub(in crate::machine) direction: Option<Direction>,
    /// Why there are no more.
    pub(in crate::machine) closed: Closed,
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
    pub(in crate::machine) fn read_whole(&self, routine: &Routine) -> Vec<TypedSlot> {
        let instructions = routine.body.instructions().iter().enumerate();
        let alone = instructions.filter(|(ip, _)| self.role(*ip) == Role::Alone);
        let read = alone.flat_map(|(_, instruction)| routine.body.reads(instruction)).copied();
        let slots = read.chain(routine.results()).map(|value| routine.slot(value));
        slots.filter(|slot| !slot.qtype().is_plain()).cloned().collect()
    }

    /// The region that runs in place of this instruction; `None` if it runs by itself, or is a member and
    /// not the last.
    pub(in crate::machine) fn role(&self, ip: usize) -> Role {
        match self.region_of.get(ip).copied().flatten() {
            None => Role::Alone,
            Some(region) if self.regions[region as usize].members.last() == Some(&(ip as u32)) => {
                Role::Runs(region)
            }
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
    let is_tiled =
        |kernel: &Kernel| kernel.block().is_some() || kernel.reduces() || matches!(kernel, Kernel::Scan(_));
    if !body.operators().iter().any(|operator| is_tiled(operator.kernel())) {
        return Plan::default();
    }
    let mut planner = Planner::new(routine);
    for (ip, instruction) in body.instructions().iter().enumerate() {
        if is_target[ip] {
            planner.close_all(Closed::End);
        }
        match instruction {
            Instruction::Operator { operator, operands, result }
                if is_tiled(body.operators()[*operator as usize].kernel()) =>
            {
                let kernel = body.operators()[*operator as usize].kernel();
                planner.member(ip as u32, kernel, body.list(*operands), *result);
            }
            Instruction::Operator { .. } => planner.between(ip as u32, instruction),
            _ => planner.close_all(Closed::End),
        }
    }
    planner.close_all(Closed::End);
    planner.plan
}

/// What members say about the order of rows.
#[derive(Clone, Copy, Debug, Default)]
struct Order {
    /// The direction of running sums.
    direction: Option<Direction>,
    /// True if rows have to be computed from the first one on: a member can raise, and the lowest row is reported, or
    /// it takes them in for a reduction.
    is_forward: bool,
}

impl Order {
    fn of(kernel: &Kernel) -> Order {
        match kernel {
            Kernel::Scan(scan) => Order { direction: Some(scan.direction), is_forward: false },
            _ => {
                let can_raise = kernel.block().is_some_and(|block| block.is_fallible);
                Order { direction: None, is_forward: can_raise || kernel.reduces() }
            }
        }
    }

    /// The order of both; none if they are at odds.
    fn with(self, other: Order) -> Option<Order> {
        let is_forward = self.is_forward || other.is_forward;
        let direction = self.direction.or(other.direction);
        let agree = other.direction.is_none_or(|other| Some(other) == direction);
        (agree && !(is_forward && direction == Some(Direction::Back)))
            .then_some(Order { direction, is_forward })
    }
}

/// A region that can still grow.
#[derive(Default)]
struct Open {
    members: Vec<u32>,
    extent: Extent,
    order: Order,
    /// Arrays that members read or write.
    arrays: HashSet<ValueId>,
    /// What members write.
    results: HashSet<ValueId>,
    /// What members read from the frame.
    external: Vec<TypedSlot>,
}

impl Open {
    fn reads_from_frame(&self, slot: &TypedSlot) -> bool {
        self.external.iter().any(|other| other.overlaps(slot))
    }

    fn merge(&mut self, other: Open) {
        self.members.extend(other.members);
        self.members.sort_unstable();
        self.arrays.extend(other.arrays);
        self.results.extend(other.results);
        self.external.extend(other.external);
    }
}

/// Walks over the instructions. What a member writes and only members read is never in the frame, so that
/// its slot may serve others while the region is open. What others read is still needed when the region is
/// closed, so that nobody else has its slot.
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
            let value = routine.same_bytes(*value);
            if !defined.insert(value) {
                redefined.insert(value);
            }
        }
        let region_of = vec![None; body.instructions().len()];
        let plan = Plan { regions: Vec::new(), region_of };
        Planner { routine, body, open: Vec::new(), redefined, plan }
    }

    fn member(&mut self, ip: u32, kernel: &Kernel, operands: &[ValueId], result: ValueId) {
        let result = self.routine.same_bytes(result);
        let slot = self.routine.slot(result);
        let extent_of = |value: &ValueId| Extent::of(self.routine.slot(*value).qtype());
        let extent = match kernel.reduces() {
            true => operands.iter().find_map(extent_of),
            false => extent_of(&result),
        };
        // The result takes the place of something that a delayed member reads.
        self.close_if(Closed::PlaceTaken(ip), |open| open.reads_from_frame(slot));
        let operands: Vec<ValueId> = operands.iter().map(|v| self.routine.same_bytes(*v)).collect();
        // A scalar or an array of fewer axes that an open region computes has to be there first, and so has what it
        // reduces.
        let is_array = |value: &ValueId| {
            let reduces = |open: &Open| open.results.contains(value) && !open.arrays.contains(value);
            extent_of(value) == extent && !self.open.iter().any(reduces)
        };
        let (arrays, others): (Vec<ValueId>, Vec<ValueId>) = operands.iter().copied().partition(is_array);
        self.close_readers(ip, &others);
        let order = Order::of(kernel);
        let mut region = Open { extent: extent.unwrap_or_default(), order, ..Open::default() };
        let mut index = 0;
        while index < self.open.len() {
            if !arrays.iter().any(|array| self.open[index].arrays.contains(array)) {
                index += 1;
                continue;
            }
            let joined = self.open.swap_remove(index);
            match region.order.with(joined.order) {
                None => self.close(joined, Closed::OtherOrder(ip)),
                Some(_) if region.members.len() + joined.members.len() >= MAX_MEMBERS => {
                    self.close(joined, Closed::Full);
                }
                Some(order) => {
                    region.order = order;
                    region.merge(joined);
                }
            }
        }
        let external = operands.iter().filter(|v| !region.results.contains(*v));
        region.external.extend(external.map(|v| self.routine.slot(*v).clone()));
        region.arrays.extend(arrays);
        if !kernel.reduces() {
            region.arrays.insert(result);
        }
        region.results.insert(result);
        region.members.push(ip);
        if self.open.len() >= MAX_OPEN {
            let first = self.open.remove(0);
            self.close(first, Closed::Full);
        }
        self.open.push(region);
        let is_last = self.redefined.contains(&result);
        self.close_if(Closed::End, |open| is_last && open.members.last() == Some(&ip));
    }

    /// The kernel of an instruction.
    fn kernel(&self, ip: u32) -> Option<&'r Kernel> {
        match &self.body.instructions()[ip as usize] {
            Instruction::Operator { operator, .. } => {
                Some(self.body.operators()[*operator as usize].kernel())
            }
            _ => None,
        }
    }

    /// An instruction that runs before the open regions, unless they have to run before it.
    fn between(&mut self, ip: u32, instruction: &'r Instruction) {
        let (body, routine) = (self.body, self.routine);
        self.close_readers(ip, body.reads(instruction));
        let writes: Vec<&TypedSlot> = body.writes(instruction).iter().map(|v| routine.slot(*v)).collect();
        self.close_if(Closed::PlaceTaken(ip), |open| writes.iter().any(|slot| open.reads_from_frame(slot)));
    }

    /// Closes the regions that compute one of these values, or what it is a part of.
    fn close_readers(&mut self, ip: u32, values: &[ValueId]) {
        let routine = self.routine;
        let owners: Vec<ValueId> = values.iter().map(|v| routine.owner(*v)).collect();
        self.close_if(Closed::ReadBy(ip), |open| {
            open.results.iter().any(|result| owners.contains(&routine.owner(*result)))
        });
    }

    fn close_all(&mut self, reason: Closed) {
        self.close_if(reason, |_| true);
    }

    fn close_if(&mut self, reason: Closed, condition: impl Fn(&Open) -> bool) {
        let mut index = 0;
        while index < self.open.len() {
            match condition(&self.open[index]) {
                true => {
                    let region = self.open.swap_remove(index);
                    self.close(region, reason);
                }
                false => index += 1,
            }
        }
    }

    fn close(&mut self, region: Open, reason: Closed) {
        let runs_by_itself = |ip: u32| matches!(self.kernel(ip), Some(Kernel::NdReduction(_)));
        if let [ip] = region.members[..]
            && runs_by_itself(ip)
        {
            return;
        }
        let number = self.plan.regions.len() as u32;
        for ip in &region.members {
            self.plan.region_of[*ip as usize] = Some(number);
        }
        let Open { members, extent, order: Order { direction, .. }, .. } = region;
        self.plan.regions.push(Group { members, extent, direction, closed: reason });
    }
}
