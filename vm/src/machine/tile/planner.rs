//! Groups the instructions of a routine into regions.
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
//!
//! A region runs late, where its last member stood, so what matters is bytes and not values. For every instruction,
//! member or not, and whatever values it names:
//!
//! 1. Before it writes a byte that an open region reads from the frame, the region is closed.
//! 2. Before it reads a byte of a result that an open region has yet to lay out, the region is closed, unless the
//!    instruction joins the region and reads the result as a whole, row by row.
//! 3. Where it overwrites such a result, all bytes of it, the region does not lay it out: whoever reads the place from
//!    now on means what is written there now. If it overwrites only some, the region is closed before.
//! 4. Instructions that no path reaches do none of this.

use crate::array::scan::Direction;
use crate::layout::TypedSlot;
use crate::machine::tile::plan::{Closed, Extent, Group, Plan, Planned};
use crate::machine::tile::strip_members::is_side_by_side;
use crate::machine::tile::uses::{Pending, RegionKey, Uses};
use crate::machine::tile::views::Views;
use crate::operator::Kernel;
use crate::program::{Body, Instruction, Routine, ValueId};
use std::collections::BTreeSet;

/// Members of one region; a longer one is cut, so that columns have numbers of 16 bits.
const MAX_MEMBERS: usize = 4096;

/// Regions that can grow at the same time, so that planning takes linear time.
const MAX_OPEN: usize = 64;

/// Groups the reachable instructions of a routine.
pub(in crate::machine) fn plan(routine: &Routine, is_target: &[bool], is_reachable: &[bool]) -> Plan {
    let body = &routine.body;
    if !body.operators().iter().any(|operator| operator.kernel().goes_over_rows()) {
        return Plan::default();
    }
    let views = Views::new(routine, is_target, is_reachable);
    let mut planner = Planner::new(routine, views);
    for (ip, instruction) in body.instructions().iter().enumerate() {
        if is_target[ip] {
            planner.close_all(Closed::End);
        }
        if !is_reachable[ip] {
            continue;
        }
        match instruction {
            Instruction::Operator { operator, operands, result }
                if body.operators()[*operator as usize].kernel().goes_over_rows() =>
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
            Kernel::Scan { scan, .. } => Order { direction: Some(scan.direction), is_forward: false },
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
    members: Vec<Planned>,
    extent: Extent,
    order: Order,
    /// First bytes of what it reads from the frame, with the number under which they are known.
    reads: Vec<(u32, RegionKey)>,
}

impl Open {
    fn merge(&mut self, mut other: Open) {
        if self.members.len() < other.members.len() {
            std::mem::swap(self, &mut other);
        }
        self.members.append(&mut other.members);
        self.reads.append(&mut other.reads);
    }
}

/// Walks over the instructions.
struct Planner<'r> {
    routine: &'r Routine,
    body: &'r Body,
    /// By number; none once it is closed or has become a part of another.
    regions: Vec<Option<Open>>,
    /// By number: the region that it has become a part of, or itself.
    part_of: Vec<RegionKey>,
    /// The numbers of regions that can still grow.
    open: BTreeSet<RegionKey>,
    uses: Uses,
    /// By instruction: true if the result of a member has been overwritten while its region was open.
    is_overwritten: Vec<bool>,
    plan: Plan,
}

impl<'r> Planner<'r> {
    fn new(routine: &'r Routine, views: Views) -> Planner<'r> {
        let len = routine.body.instructions().len();
        Planner {
            routine,
            body: &routine.body,
            regions: Vec::new(),
            part_of: Vec::new(),
            open: BTreeSet::new(),
            uses: Uses::default(),
            is_overwritten: vec![false; len],
            plan: Plan { regions: Vec::new(), region_of: vec![None; len], views },
        }
    }

    fn member(&mut self, ip: u32, kernel: &Kernel, operands: &[ValueId], result: ValueId) {
        let routine = self.routine;
        let slot = routine.slot(result);
        let operands: Vec<&TypedSlot> = operands.iter().map(|value| routine.slot(*value)).collect();
        let extent = match kernel.reduces() {
            true => operands.iter().find_map(|operand| Extent::of(operand.qtype())),
            false => Extent::of(slot.qtype()),
        };
        let extent = extent.unwrap_or_default();
        self.make_way(ip, slot);
        for operand in &operands {
            self.close_writers(ip, operand, Some(extent));
        }
        let order = Order::of(kernel);
        let region = self.join(ip, order, extent, &operands);
        let sources = operands.iter().map(|operand| {
            let pending = self.uses.result_in(operand)?;
            (find(&mut self.part_of, pending.region) == region).then_some(pending.ip)
        });
        let sources: Box<[Option<u32>]> = sources.collect();
        for (operand, _) in operands.iter().zip(&sources).filter(|(_, source)| source.is_none()) {
            let is_shared = Extent::of(operand.qtype()) == Some(extent);
            self.uses.add_read(region, operand, is_shared);
            self.region(region).reads.push((operand.offset(), region));
        }
        self.see_through(ip, sources.len(), region);
        self.overwrite(slot);
        self.uses.add_result(Pending { slot: slot.clone(), region, ip, has_rows: !kernel.reduces() });
        self.region(region).members.push(Planned { ip, sources, is_overwritten: false });
    }

    /// What views among the operands are of is read when the region runs.
    fn see_through(&mut self, ip: u32, operands: usize, region: RegionKey) {
        let (body, routine) = (self.body, self.routine);
        let views = &self.plan.views;
        let seen = (0..operands).flat_map(|operand| views.of(ip, operand));
        let read = seen.flat_map(|view| body.reads(&body.instructions()[*view as usize]));
        let read: Vec<&TypedSlot> = read.map(|value| routine.slot(*value)).collect();
        for slot in read {
            self.uses.add_read(region, slot, false);
            self.region(region).reads.push((slot.offset(), region));
        }
    }

    /// An instruction that runs before the open regions, unless they have to run before it.
    fn between(&mut self, ip: u32, instruction: &'r Instruction) {
        let (body, routine) = (self.body, self.routine);
        for value in body.reads(instruction) {
            self.close_writers(ip, routine.slot(*value), None);
        }
        for value in body.writes(instruction) {
            self.make_way(ip, routine.slot(*value));
            self.overwrite(routine.slot(*value));
        }
    }

    /// Closes the regions that have to run before the instruction writes a slot (rules 1 and 3).
    fn make_way(&mut self, ip: u32, slot: &TypedSlot) {
        for region in self.uses.readers(slot) {
            self.close(region, Closed::PlaceTaken(ip));
        }
        for pending in self.uses.results(slot) {
            if !slot.contains(&pending.slot) {
                self.close(pending.region, Closed::PlaceTaken(ip));
            }
        }
    }

    /// The results in a slot are not laid out any more (rule 3).
    fn overwrite(&mut self, slot: &TypedSlot) {
        for pending in self.uses.results(slot) {
            self.is_overwritten[pending.ip as usize] = true;
            self.uses.remove_result(pending.ip, pending.slot.offset());
        }
    }

    /// Closes the regions that have to run before the instruction reads a slot: those that compute it, unless it is
    /// an operand that a member of this extent reads inside (rule 2).
    fn close_writers(&mut self, ip: u32, slot: &TypedSlot, inside: Option<Extent>) {
        for pending in self.uses.results(slot) {
            let is_whole = self.uses.result_in(slot).is_some_and(|found| found.ip == pending.ip);
            let has_extent = inside.is_some() && Extent::of(slot.qtype()) == inside;
            if !(is_whole && has_extent && pending.has_rows) {
                self.close(pending.region, Closed::ReadBy(ip));
            }
        }
    }

    /// The region of a member: those that compute or share an operand, as one, or a new one.
    fn join(&mut self, ip: u32, mut order: Order, extent: Extent, operands: &[&TypedSlot]) -> RegionKey {
        let mut joined = BTreeSet::new();
        for operand in operands.iter().filter(|operand| Extent::of(operand.qtype()) == Some(extent)) {
            let computing = self.uses.result_in(operand).map(|pending| pending.region);
            let regions = self.uses.sharers(operand).into_iter().chain(computing);
            joined.extend(regions.map(|region| find(&mut self.part_of, region)));
        }
        let (mut into, mut members) = (None, 0);
        for key in joined {
            let region = self.region(key);
            let (size, both) = (region.members.len(), order.with(region.order));
            match both {
                None => self.close(key, Closed::OtherOrder(ip)),
                Some(_) if members + size >= MAX_MEMBERS => self.close(key, Closed::Full),
                Some(both) => {
                    (order, members) = (both, members + size);
                    into = Some(into.map_or(key, |into| self.merge(into, key)));
                }
            }
        }
        let region = into.unwrap_or_else(|| self.begin(extent));
        self.region(region).order = order;
        region
    }

    fn begin(&mut self, extent: Extent) -> RegionKey {
        if self.open.len() >= MAX_OPEN
            && let Some(first) = self.open.first().copied()
        {
            self.close(first, Closed::Full);
        }
        let key = self.regions.len() as RegionKey;
        self.regions.push(Some(Open { extent, ..Open::default() }));
        self.part_of.push(key);
        self.open.insert(key);
        key
    }

    /// Makes two open regions one, under the number of the first.
    fn merge(&mut self, into: RegionKey, other: RegionKey) -> RegionKey {
        let part = self.regions[other as usize].take();
        self.open.remove(&other);
        self.part_of[other as usize] = into;
        self.region(into).merge(part.expect("the region is open"));
        into
    }

    /// An open region.
    fn region(&mut self, key: RegionKey) -> &mut Open {
        self.regions[key as usize].as_mut().expect("the region is open")
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

    /// True if a reduction over axes is as fast without a region: elements of each run stand together.
    fn stays_alone(&self, ip: u32) -> bool {
        let body = self.body;
        let operand = body.reads(&body.instructions()[ip as usize]).first();
        let qtype = operand.map(|operand| self.routine.slot(*operand).qtype());
        self.kernel(ip)
            .zip(qtype)
            .is_some_and(|(kernel, qtype)| kernel.reduces() && !is_side_by_side(kernel, qtype))
    }

    fn close_all(&mut self, reason: Closed) {
        while let Some(region) = self.open.first().copied() {
            self.close(region, reason);
        }
    }

    /// Closes the region that has this number or that with this number has become a part of, unless it is closed.
    fn close(&mut self, key: RegionKey, reason: Closed) {
        let key = find(&mut self.part_of, key);
        let Some(mut region) = self.regions[key as usize].take() else { return };
        self.open.remove(&key);
        for (offset, known_as) in &region.reads {
            self.uses.remove_read(*known_as, *offset);
        }
        region.members.sort_unstable_by_key(|member| member.ip);
        for member in &mut region.members {
            let Instruction::Operator { result, .. } = self.body.instructions()[member.ip as usize] else {
                unreachable!("a member is an operator")
            };
            self.uses.remove_result(member.ip, self.routine.slot(result).offset());
            member.is_overwritten = self.is_overwritten[member.ip as usize];
        }
        if let [Planned { ip, sources, .. }] = &region.members[..]
            && matches!(region.extent, Extent::Elements(_))
            && (0..sources.len()).all(|operand| self.plan.views.of(*ip, operand).is_empty())
            && self.stays_alone(*ip)
        {
            return;
        }
        let number = self.plan.regions.len() as u32;
        for member in &region.members {
            self.plan.region_of[member.ip as usize] = Some(number);
        }
        let Open { members, extent, order: Order { direction, .. }, .. } = region;
        self.plan.regions.push(Group { members, extent, direction, closed: reason });
    }
}

/// The number of the region that a region has become a part of, or its own.
fn find(part_of: &mut [RegionKey], key: RegionKey) -> RegionKey {
    let mut key = key;
    while part_of[key as usize] != key {
        // Every other step is cut out, so that ways stay short.
        part_of[key as usize] = part_of[part_of[key as usize] as usize];
        key = part_of[key as usize];
    }
    key
}
