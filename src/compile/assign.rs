//! Slot assignment: every value of an emission gets bytes while it is alive.
//!
//! The instructions are walked in order, block by block. At the start of a block exactly the values
//! that are live there hold their bytes; inside a block a value gives its bytes back at its last read.
//! Branches that exclude each other share, because what is live in one is not in the other.
//!
//! Rules:
//! 1. A value has one slot, chosen at its first definition; later definitions write the same slot.
//! 2. The result of an operator that reads before it writes may take the bytes of operands that die
//!    there; any other result is placed while its operands still hold theirs.
//! 3. A result with several definitions (that of a `where`) and the operands of those of the second
//!    kind stay clear of each other, whichever is placed first. In functions ([`Emission::redefines`]) it stays
//!    clear of whatever is alive where one of its definitions stands: its slot may have been given to others meanwhile.
//!    So does a value that is alive in a block before its definition, which stands behind it in a loop. Where more than
//!    200 such values are alive at once, each gets bytes of its own instead: pairs of them would be too many.
//! 4. Values in fields of a tuple hold the tuple's slot together, from the first of them on.
//! 5. Side outputs live to the end; literals, the output and (normally) inputs are pinned.
//! 6. With [`SlotReuse::Distinct`] nothing gives its bytes back before the end.
//! 7. A scalar operand of an operator over arrays keeps its bytes to the end, and so does one that repeats along axes of
//!    the result: the operator runs later, with the rest of its tile region, and another value in the place of the operand
//!    would cut the region in two. So do views and what they are of, which would need a copy.
//!    For the same reason an array that is a reduction of another gets bytes that nobody had before it.
//!    Arrays that stay inside of a region (`inner.rs`) have no rows in memory, but handles: they take places of each
//!    other and of no array that has rows, which the region may read.
//! 8. A side output takes no byte of an input that may be overridden: who reads it after the run must
//!    not read what counts as an unwritten input.

use crate::compile::emission::{Emission, Role};
use crate::compile::error::CompileError;
use crate::compile::inner::inner_arrays;
use crate::compile::redefined::{alive_at_definitions, definitions, is_crowded, redefined_values};
use crate::compile::slots::SlotArena;
use cembra_vm::layout::TypedSlot;
use cembra_vm::program::cfg::Cfg;
use cembra_vm::program::liveness::{Liveness, liveness};
use cembra_vm::program::{Instruction, ValueId};
use cembra_vm::value::QType;
use std::collections::HashMap;

/// Whether temporaries take the bytes of others that are no longer needed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SlotReuse {
    /// They do: the frame is small.
    #[default]
    Recycled,
    /// They do not: an instruction never overwrites what an earlier one reads, so that tile regions can take it
    /// in whatever stands before it. Arrays inside of regions have no rows, and cost a handle each.
    Distinct,
}

/// Slots of all values of an emission.
pub struct Assignment {
    /// Slot by value.
    pub slots: Vec<TypedSlot>,
}

/// Values that are alive where blocks begin and end, of all blocks together: compiling takes time and memory for each.
pub const MOST_ALIVE: usize = 1 << 27;

/// Assigns slots in an arena; temporaries are given back at the end. `pinned` are the slots of inputs
/// (unless they may be overridden) and of the output.
///
/// # Errors
/// More values are alive between blocks than [`MOST_ALIVE`].
pub fn assign(
    emission: &Emission,
    arena: &mut SlotArena,
    pinned: &[Option<TypedSlot>],
    overriding: bool,
    reuse: SlotReuse,
) -> Result<Assignment, CompileError> {
    let mut walk = Walk::new(emission, arena, pinned, overriding, reuse)?;
    walk.run();
    Ok(walk.finish())
}

struct Walk<'e> {
    emission: &'e Emission,
    arena: &'e mut SlotArena,
    /// Value that holds the bytes, by value: itself, the tuple it lies in, the owner of a view.
    holder: Vec<ValueId>,
    /// True for values that get and give back bytes.
    is_alive_for_a_while: Vec<bool>,
    /// True for holders of side outputs.
    is_side_output: Vec<bool>,
    slots: Vec<Option<TypedSlot>>,
    /// Live values of each holder.
    holders: Vec<u32>,
    /// Live values.
    alive: Vec<bool>,
    cfg: Cfg,
    live: Liveness,
    /// Literals in the order the walk meets them.
    literals: Vec<(usize, ValueId)>,
    next_literal: usize,
    /// Rule 3: holders whose bytes a holder must not share.
    clear_of: HashMap<ValueId, Vec<ValueId>>,
    /// True for holders that get bytes which nobody had before, and keep them (rule 3).
    has_own_bytes: Vec<bool>,
    /// True for holders of reductions (rule 7).
    is_reduction: Vec<bool>,
    /// True for arrays that stay inside of a region (rule 7).
    is_inner: Vec<bool>,
    /// True for holders whose slots are given back at the end only (rules 6 and 7).
    is_kept: Vec<bool>,
    /// Their slots.
    kept: Vec<TypedSlot>,
}

impl<'e> Walk<'e> {
    fn new(
        emission: &'e Emission,
        arena: &'e mut SlotArena,
        pinned: &[Option<TypedSlot>],
        overriding: bool,
        reuse: SlotReuse,
    ) -> Result<Walk<'e>, CompileError> {
        let count = emission.values.len();
        let mut slots = vec![None; count];
        slots[..pinned.len()].clone_from_slice(pinned);
        let holder: Vec<ValueId> = (0..count as u32).map(|v| emission.holder(ValueId(v))).collect();
        let temporary = |v: ValueId| match emission.values[v.index()].role {
            Role::Temporary | Role::Field(..) => true,
            // An array that is an input is the host's; a result has no buffer to keep there.
            Role::Input(_) => overriding && emission.values[v.index()].qtype.array().is_none(),
            _ => false,
        };
        let is_alive_for_a_while: Vec<bool> = (0..count as u32).map(|v| temporary(ValueId(v))).collect();
        let owner = |v: ValueId| {
            let owner = emission.owner(v);
            is_alive_for_a_while[owner.index()].then_some(owner)
        };
        let mut is_side_output = vec![false; count];
        emission.side_outputs.iter().for_each(|v| is_side_output[holder[v.index()].index()] = true);
        let cfg = Cfg::new(&emission.body);
        let at_end: Vec<ValueId> = emission.side_outputs.iter().filter_map(|v| owner(*v)).collect();
        let live = liveness(&emission.body, &cfg, count, owner, &at_end, MOST_ALIVE)
            .ok_or(CompileError::TooManyAlive { limit: MOST_ALIVE })?;
        let literals = (0..count as u32).map(ValueId).filter_map(|v| match emission.values[v.index()].role {
            Role::Literal(_, at) => Some((at, v)),
            _ => None,
        });
        let mut is_kept = match reuse {
            SlotReuse::Recycled => operands_of_rows(emission, &holder),
            SlotReuse::Distinct => vec![true; count],
        };
        let redefined = redefined_values(emission, &cfg, &live);
        let mut has_own_bytes = vec![false; count];
        if is_crowded(&cfg, &live, &redefined) {
            for holder in
                redefined.iter().zip(&holder).filter(|(is, _)| **is).map(|(_, holder)| holder.index())
            {
                (has_own_bytes[holder], is_kept[holder]) = (true, true);
            }
        }
        // What has bytes of its own is clear of everything.
        let shares: Vec<bool> =
            redefined.iter().zip(&holder).map(|(is, at)| *is && !has_own_bytes[at.index()]).collect();
        Ok(Walk {
            literals: literals.collect(),
            is_reduction: reductions(emission, &holder),
            is_inner: inner_arrays(emission, &cfg, &live),
            clear_of: values_to_keep_clear(emission, &cfg, &live, &owner, &shares),
            has_own_bytes,
            emission,
            arena,
            holder,
            is_alive_for_a_while,
            is_side_output,
            slots,
            holders: vec![0; count],
            alive: vec![false; count],
            cfg,
            live,
            next_literal: 0,
            is_kept,
            kept: Vec::new(),
        })
    }

    fn run(&mut self) {
        for input in &self.emission.inputs {
            // An input that may be overridden holds its bytes from before the first instruction.
            if self.is_alive_for_a_while[input.index()] {
                self.holders[input.index()] = 1;
                self.alive[input.index()] = true;
            }
        }
        let mut active: Vec<ValueId> = self.emission.inputs.clone();
        // Where a value is read last, plus one: 0 is nowhere yet, MAX is in a later block.
        let mut last_read = vec![0; self.emission.values.len()];
        for block in 0..self.cfg.len() {
            self.enter(block, &mut active);
            let range = self.cfg.block(block);
            let body = &self.emission.body;
            for ip in range.clone() {
                for value in body.reads(&body.instructions()[ip]) {
                    last_read[self.emission.owner(*value).index()] = ip + 1;
                }
            }
            for value in self.live.live_out(block) {
                last_read[value.index()] = usize::MAX;
            }
            for ip in range {
                self.place_literals(ip);
                self.instruction(ip, &last_read, &mut active);
            }
        }
        self.place_literals(usize::MAX);
        active.into_iter().for_each(|value| self.end(value));
    }

    /// Exactly the values live into the block hold their bytes.
    fn enter(&mut self, block: usize, active: &mut Vec<ValueId>) {
        if block == 0 {
            // Inputs that nobody reads are free at once.
            let live: Vec<ValueId> = self.live.live_in(0).to_vec();
            let single = self.cfg.len() == 1;
            active.retain(|v| single || live.binary_search(v).is_ok() || !self.alive[v.index()]);
            return;
        }
        let live = self.live.live_in(block).to_vec();
        let mut wanted = std::mem::take(active);
        wanted.retain(|v| self.alive[v.index()]);
        for value in &wanted {
            if live.binary_search(value).is_err() {
                self.end(*value);
            }
        }
        for value in live {
            self.begin(value);
            active.push(value);
        }
    }

    fn instruction(&mut self, ip: usize, last_read: &[usize], active: &mut Vec<ValueId>) {
        let emission = self.emission;
        let instruction = &emission.body.instructions()[ip];
        let mut dying: Vec<ValueId> =
            emission.body.reads(instruction).iter().map(|v| emission.owner(*v)).collect();
        dying.retain(|v| last_read[v.index()] == ip + 1);
        let first_reads = match instruction {
            Instruction::Operator { operator, .. } => {
                emission.body.operators()[*operator as usize].reads_before_writing()
            }
            _ => false,
        };
        if first_reads {
            dying.iter().for_each(|v| self.end(*v));
        }
        for result in emission.body.writes(instruction) {
            self.begin(*result);
            active.push(*result);
        }
        if !first_reads {
            dying.iter().for_each(|v| self.end(*v));
        }
        // A result that nobody reads gives its bytes back at once.
        for result in emission.body.writes(instruction) {
            if last_read[result.index()] <= ip {
                self.end(*result);
            }
        }
    }

    fn place_literals(&mut self, ip: usize) {
        while let Some((_, value)) = self.literals.get(self.next_literal).filter(|(at, _)| *at <= ip) {
            let slot = self.arena.pin(&self.emission.values[value.index()].qtype);
            self.slots[value.index()] = Some(slot);
            self.next_literal += 1;
        }
    }

    /// The value holds its bytes from here on.
    fn begin(&mut self, value: ValueId) {
        if !self.is_alive_for_a_while[value.index()] || self.alive[value.index()] {
            return;
        }
        self.alive[value.index()] = true;
        let holder = self.holder[value.index()];
        self.holders[holder.index()] += 1;
        if self.holders[holder.index()] > 1 || !self.is_alive_for_a_while[holder.index()] {
            return;
        }
        match &self.slots[holder.index()] {
            Some(slot) => self.arena.reserve(slot),
            None => {
                let slot = self.choose(holder);
                self.slots[holder.index()] = Some(slot);
            }
        }
    }

    fn choose(&mut self, holder: ValueId) -> TypedSlot {
        let qtype = &self.emission.values[holder.index()].qtype;
        let is_reduction = self.is_reduction[holder.index()] && !qtype.is_plain();
        if is_reduction || self.has_own_bytes[holder.index()] {
            return self.arena.pin(qtype);
        }
        if self.is_inner[holder.index()] {
            return self.arena.allocate_inner(qtype);
        }
        let others = self.clear_of.get(&holder).map_or(&[][..], Vec::as_slice);
        let inputs = if self.is_side_output[holder.index()] { &self.emission.inputs[..] } else { &[] };
        let avoided = others.iter().chain(inputs).filter_map(|v| self.slots[v.index()].clone());
        let avoided: Vec<TypedSlot> = avoided.collect();
        self.arena.allocate_clear_of(qtype, &avoided)
    }

    /// The value gives its bytes back.
    fn end(&mut self, value: ValueId) {
        if !self.alive[value.index()] {
            return;
        }
        self.alive[value.index()] = false;
        let holder = self.holder[value.index()];
        self.holders[holder.index()] -= 1;
        if self.holders[holder.index()] == 0
            && self.is_alive_for_a_while[holder.index()]
            && let Some(slot) = &self.slots[holder.index()]
        {
            match self.is_kept[holder.index()] {
                false if self.is_inner[holder.index()] => self.arena.release_inner(slot),
                false => self.arena.release(slot),
                true => self.kept.push(slot.clone()),
            }
        }
    }

    /// Slots of all values; views and fields follow from their holders.
    fn finish(mut self) -> Assignment {
        let mut kept = std::mem::take(&mut self.kept);
        // A value may have begun and ended in several blocks.
        kept.sort_by_key(TypedSlot::offset);
        kept.dedup();
        kept.iter().for_each(|slot| self.arena.release(slot));
        for index in 0..self.slots.len() {
            let value = ValueId(index as u32);
            if self.slots[index].is_none() && self.holder[index] == value {
                // Never written: it stands behind a trap. Any place will do.
                let slot = self.arena.pin(&self.emission.values[index].qtype);
                self.slots[index] = Some(slot);
            }
        }
        let slots = (0..self.slots.len() as u32).map(|v| self.slot(ValueId(v))).collect();
        Assignment { slots }
    }

    fn slot(&self, value: ValueId) -> TypedSlot {
        let mut offset = 0;
        let mut at = value;
        loop {
            let row = &self.emission.values[at.index()];
            match row.role {
                Role::View(of, inside) => {
                    offset += inside;
                    at = of;
                }
                Role::Field(tuple, field) => {
                    let tuple_type = self.emission.values[tuple.index()].qtype.tuple();
                    offset += tuple_type.map_or(0, |t| t.offset(field));
                    at = tuple;
                }
                _ => break,
            }
        }
        let base = self.slots[at.index()].as_ref().map_or(0, TypedSlot::offset);
        TypedSlot::new(base + offset, self.emission.values[value.index()].qtype.clone())
    }
}

/// Rule 7: by value, whether it holds a scalar that an operator over arrays reads, or elements that repeat for one.
fn operands_of_rows(emission: &Emission, holder: &[ValueId]) -> Vec<bool> {
    let qtype = |value: &ValueId| &emission.values[value.index()].qtype;
    let is_array = |value: &ValueId| matches!(qtype(value), QType::Array(_) | QType::NdArray(_));
    let axes = |value: &ValueId| qtype(value).nd().map(|t| t.units().filter(|is_unit| !is_unit).count());
    let mut is_operand = vec![false; emission.values.len()];
    for instruction in emission.body.instructions() {
        let (operands, results) = (emission.body.reads(instruction), emission.body.writes(instruction));
        let is_over_arrays = operands.iter().chain(results).any(is_array);
        let operator = match instruction {
            Instruction::Operator { operator, .. } => Some(&emission.body.operators()[*operator as usize]),
            _ => None,
        };
        let by_element = operator.is_some_and(|operator| operator.row_effects().is_some());
        let of_result = results.iter().filter(|_| by_element).find_map(axes);
        if operator.is_some_and(|operator| operator.is_view()) {
            operands.iter().chain(results).for_each(|v| is_operand[holder[v.index()].index()] = true);
        }
        let is_kept = |value: &&ValueId| match is_array(value) {
            false => is_over_arrays,
            true => axes(value) < of_result && axes(value).is_some(),
        };
        for value in operands.iter().filter(is_kept) {
            is_operand[holder[value.index()].index()] = true;
        }
    }
    is_operand
}

/// Rule 7: by value, whether it holds what an operator makes of more elements.
fn reductions(emission: &Emission, holder: &[ValueId]) -> Vec<bool> {
    let mut is_reduction = vec![false; emission.values.len()];
    for instruction in emission.body.instructions() {
        if let Instruction::Operator { operator, result, .. } = instruction {
            let reduces = emission.body.operators()[*operator as usize].reduces();
            is_reduction[holder[result.index()].index()] |= reduces;
        }
    }
    is_reduction
}

/// Rule 3, both ways. A result with one definition needs no entry: it is placed while its operands
/// hold their bytes.
fn values_to_keep_clear(
    emission: &Emission,
    cfg: &Cfg,
    live: &Liveness,
    owner: &impl Fn(ValueId) -> Option<ValueId>,
    shares: &[bool],
) -> HashMap<ValueId, Vec<ValueId>> {
    let body = &emission.body;
    let definitions = definitions(emission);
    let mut clear_of: HashMap<ValueId, Vec<ValueId>> = HashMap::new();
    for instruction in body.instructions() {
        if let Instruction::Operator { operator, operands, result } = instruction
            && definitions[result.index()] > 1
            && !body.operators()[*operator as usize].reads_before_writing()
        {
            let result = emission.holder(*result);
            for operand in body.list(*operands).iter().map(|v| emission.holder(*v)) {
                clear_of.entry(operand).or_default().push(result);
                clear_of.entry(result).or_default().push(operand);
            }
        }
    }
    for (a, b) in alive_at_definitions(emission, cfg, live, owner, shares) {
        let (a, b) = (emission.holder(a), emission.holder(b));
        if a != b {
            clear_of.entry(a).or_default().push(b);
            clear_of.entry(b).or_default().push(a);
        }
    }
    clear_of
}
