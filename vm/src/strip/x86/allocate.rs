//! Allocation: registers for the virtual registers of a body, which is straight-line code.
//!
//! ```text
//! v5 = vmulpd v3, v4        next uses:  v1 at 7, v3 at 40, v4 never, v5 at 8
//!      register of v4       v4 is dead, so that v5 takes its register
//! v6 = vaddpd v5, v1        no register is free: v3 is wanted last of all and leaves
//! ```
//!
//! The value whose next use is furthest away leaves its register (Belady, "A study of replacement algorithms", 1966).
//! What has a home is loaded again from there; anything else is saved to a slot of the stack the first time it leaves.
//! An operand that is not in a register and is used once more at most is an operand in memory where the instruction can
//! have one. Masks are allocated alike, in a bank of their own.

use crate::strip::x86::inst::{Address, Arg, Bank, Home, Inst, LoopBody, MAX_ARGS, View, Virtual};

/// Registers that a body may use.
#[derive(Clone, Copy, Debug)]
pub struct RegisterBudget {
    /// Vector registers, from number 0 on.
    pub vectors: u8,
    /// The first of them, which a body does not get; constants follow.
    pub reserved: u8,
    /// Mask registers, from number 1 on.
    pub masks: u8,
}

/// Where an operand has come to stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperandPlace {
    /// A register with this number.
    Register(u8),
    /// The home of the operand.
    Home(Home),
    /// A slot of the stack.
    Slot(u32),
    /// Not a virtual register.
    Fixed,
}

/// What is done, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AllocatedStep {
    /// An instruction of the body, with the places of its operands and its mask.
    Run {
        /// Its position.
        inst: u32,
        /// Places of its operands.
        places: [OperandPlace; MAX_ARGS],
        /// The mask register, or 0.
        mask: u8,
    },
    /// A value comes from its home to a register.
    Load(Virtual, u8),
    /// A value goes from a register to a slot.
    Save(Virtual, u8, u32),
    /// A value comes from a slot to a register.
    Restore(Virtual, u32, u8),
    /// A value goes from one register to another: from, to.
    Copy(Virtual, u8, u8),
}

/// An allocated body.
#[derive(Clone, Debug, Default)]
pub struct Allocation {
    /// What is done.
    pub steps: Vec<AllocatedStep>,
    /// Slots of the stack, of the size of a vector register.
    pub slots: u32,
    /// Values that were saved.
    pub spills: usize,
    /// Vector registers that were used.
    pub used: usize,
}

/// A position beyond the last instruction.
const NEVER: u32 = u32::MAX;

struct Allocator<'b> {
    body: &'b LoopBody,
    /// Positions of uses: those of each virtual register in order, one register after the other.
    uses: Vec<u32>,
    /// Where those begin that are not past, and where they end.
    open: Vec<(u32, u32)>,
    /// The register of each virtual one.
    register: Vec<Option<u8>>,
    slot: Vec<Option<u32>>,
    vectors: Vec<Option<Virtual>>,
    masks: Vec<Option<Virtual>>,
    /// The registers below hold constants that stay.
    pinned: usize,
    free_slots: Vec<u32>,
    /// Operands of the instruction, whose registers must not leave.
    locked: Vec<Virtual>,
    /// Slots that are free from the next instruction on.
    freed_slots: Vec<u32>,
    done: Allocation,
}

/// Gives every virtual register of a body a place. `pinned` are constants that stand in the first vector registers from
/// before the body, in their order, and stay there.
pub fn allocate(body: &LoopBody, registers: RegisterBudget, pinned: &[Virtual]) -> Allocation {
    let (uses, open) = positions(body);
    let count = body.virtuals.len();
    let mut allocator = Allocator {
        body,
        uses,
        open,
        register: vec![None; count],
        slot: vec![None; count],
        vectors: vec![None; registers.vectors.into()],
        masks: vec![None; registers.masks.into()],
        pinned: usize::from(registers.reserved) + pinned.len(),
        free_slots: Vec::new(),
        freed_slots: Vec::new(),
        locked: Vec::new(),
        done: Allocation { used: usize::from(registers.reserved) + pinned.len(), ..Allocation::default() },
    };
    for (v, number) in pinned.iter().zip(registers.reserved..) {
        allocator.vectors[usize::from(number)] = Some(*v);
        allocator.register[v.index()] = Some(number);
    }
    for (position, inst) in body.insts.iter().enumerate() {
        allocator.step(position as u32, inst);
    }
    allocator.done
}

/// The positions of all uses, and for each virtual register where its own begin and end.
fn positions(body: &LoopBody) -> (Vec<u32>, Vec<(u32, u32)>) {
    let mut open = vec![(0, 0); body.virtuals.len()];
    body.insts.iter().flat_map(Inst::uses).for_each(|v| open[v.index()].1 += 1);
    let mut total = 0;
    for (begin, end) in &mut open {
        let count = *end;
        (*begin, *end) = (total, total);
        total += count;
    }
    let mut uses = vec![0; total as usize];
    for (position, inst) in body.insts.iter().enumerate() {
        for v in inst.uses() {
            let end = &mut open[v.index()].1;
            uses[*end as usize] = position as u32;
            *end += 1;
        }
    }
    (uses, open)
}

impl Allocator<'_> {
    fn step(&mut self, position: u32, inst: &Inst) {
        let mut places = [OperandPlace::Fixed; MAX_ARGS];
        let mut locked = std::mem::take(&mut self.locked);
        locked.clear();
        let all = |arg: Arg| match arg {
            Arg::Use(v, _) | Arg::UseOrMemory(v, ..) | Arg::Change(v, ..) => Some(v),
            _ => None,
        };
        // What stands in a register stays there while other operands are fetched.
        locked.extend(inst.args().filter_map(all).filter(|v| self.register[v.index()].is_some()));
        if let Some(mask) = inst.mask.and_then(|mask| mask.mask()) {
            locked.push(mask);
            self.fetch(mask, &locked);
        }
        for (place, arg) in places.iter_mut().zip(inst.args()) {
            match arg {
                Arg::Use(v, _) => {
                    locked.push(v);
                    *place = OperandPlace::Register(self.fetch(v, &locked));
                }
                Arg::UseOrMemory(v, view, broadcast) => {
                    *place = match self.in_memory(v, view, broadcast, position) {
                        Some(memory) => memory,
                        None => {
                            locked.push(v);
                            OperandPlace::Register(self.fetch(v, &locked))
                        }
                    };
                }
                _ => {}
            }
        }
        let mask = inst.mask.and_then(|mask| mask.mask());
        let mask = mask.map_or(0, |mask| self.register[mask.index()].expect("it was fetched"));
        // A register that is changed: that of the old value if it dies, else a copy.
        for (place, arg) in places.iter_mut().zip(inst.args()) {
            if let Arg::Change(old, new, view) = arg {
                *place = OperandPlace::Register(self.change(old, new, view, position, &locked));
            }
        }
        inst.uses().for_each(|v| self.pass(v, position));
        for (place, arg) in places.iter_mut().zip(inst.args()) {
            if let Arg::Def(v, view) = arg {
                // Operands that die have left their registers already.
                *place = OperandPlace::Register(self.take(v, view.bank(), &locked));
            }
        }
        self.done.steps.push(AllocatedStep::Run { inst: position, places, mask });
        self.locked = locked;
        if let Some(v) = inst.def().filter(|v| self.next_use(*v) == NEVER) {
            self.release(v);
        }
        self.free_slots.append(&mut self.freed_slots);
    }

    fn next_use(&self, v: Virtual) -> u32 {
        let (begin, end) = self.open[v.index()];
        if begin < end { self.uses[begin as usize] } else { NEVER }
    }

    /// The first use of a virtual register behind a position.
    fn use_after(&self, v: Virtual, position: u32) -> u32 {
        let (begin, end) = self.open[v.index()];
        let uses = &self.uses[begin as usize..end as usize];
        uses.iter().copied().find(|at| *at > position).unwrap_or(NEVER)
    }

    /// Uses up to a position are past; without others, the register and the slot are free.
    fn pass(&mut self, v: Virtual, position: u32) {
        while self.next_use(v) <= position {
            self.open[v.index()].0 += 1;
        }
        if self.next_use(v) == NEVER && !self.is_pinned(v) {
            self.release(v);
        }
    }

    fn is_pinned(&self, v: Virtual) -> bool {
        let number = self.register[v.index()].map_or(usize::MAX, usize::from);
        self.body.virtuals[v.index()].view != View::Mask && number < self.pinned
    }

    fn release(&mut self, v: Virtual) {
        if let Some(number) = self.register[v.index()].take() {
            *self.holder(v, number) = None;
        }
        // The instruction that is being allocated may read the slot.
        self.freed_slots.extend(self.slot[v.index()].take());
    }

    fn bank(&self, v: Virtual) -> Bank {
        self.body.virtuals[v.index()].view.bank()
    }

    fn holder(&mut self, v: Virtual, number: u8) -> &mut Option<Virtual> {
        match self.bank(v) {
            Bank::Vector => &mut self.vectors[usize::from(number)],
            Bank::Mask => &mut self.masks[usize::from(number) - 1],
        }
    }

    /// The place in memory of an operand, if that is better than a register.
    fn in_memory(&self, v: Virtual, view: View, broadcast: u8, position: u32) -> Option<OperandPlace> {
        if self.register[v.index()].is_some() {
            return None;
        }
        match self.body.virtuals[v.index()].home {
            Some(home) => {
                let is_constant = !matches!(home.address, Address::Column { .. });
                let is_last = self.use_after(v, position) == NEVER;
                let fits = match home.broadcast {
                    0 => home.view.bytes() >= view.bytes(),
                    lane => lane == broadcast,
                };
                (fits && (is_constant || is_last)).then_some(OperandPlace::Home(home))
            }
            None => {
                let slot = self.slot[v.index()].expect("a value that was defined");
                let is_last = self.use_after(v, position) == NEVER;
                (is_last && view.bank() == Bank::Vector).then_some(OperandPlace::Slot(slot))
            }
        }
    }

    /// The register of a value, which is fetched if it has none.
    fn fetch(&mut self, v: Virtual, locked: &[Virtual]) -> u8 {
        if let Some(number) = self.register[v.index()] {
            return number;
        }
        let number = self.take(v, self.bank(v), locked);
        let step = match self.body.virtuals[v.index()].home {
            Some(_) => AllocatedStep::Load(v, number),
            None => {
                AllocatedStep::Restore(v, self.slot[v.index()].expect("a value that was defined"), number)
            }
        };
        self.done.steps.push(step);
        number
    }

    /// The register of an operand that is changed.
    fn change(&mut self, old: Virtual, new: Virtual, view: View, position: u32, locked: &[Virtual]) -> u8 {
        let dies = self.use_after(old, position) == NEVER && !self.is_pinned(old);
        let others = locked.iter().filter(|v| **v == old).count();
        match self.register[old.index()] {
            // Not if it is another operand as well.
            Some(number) if dies && others <= 1 => {
                self.register[old.index()] = None;
                self.register[new.index()] = Some(number);
                *self.holder(new, number) = Some(new);
                number
            }
            held => {
                let mut locked = locked.to_vec();
                locked.push(old);
                let number = self.take(new, view.bank(), &locked);
                let step = match (held, self.body.virtuals[old.index()].home) {
                    (Some(from), _) => AllocatedStep::Copy(old, from, number),
                    (None, Some(_)) => AllocatedStep::Load(old, number),
                    (None, None) => {
                        let slot = self.slot[old.index()].expect("a value that was defined");
                        AllocatedStep::Restore(old, slot, number)
                    }
                };
                self.done.steps.push(step);
                number
            }
        }
    }

    /// A register for a value, whose holder leaves if need be.
    fn take(&mut self, v: Virtual, bank: Bank, locked: &[Virtual]) -> u8 {
        let number = self.free(bank).unwrap_or_else(|| self.evict(bank, locked));
        *self.holder(v, number) = Some(v);
        self.register[v.index()] = Some(number);
        if bank == Bank::Vector {
            self.done.used = self.done.used.max(usize::from(number) + 1);
        }
        number
    }

    fn free(&self, bank: Bank) -> Option<u8> {
        match bank {
            Bank::Vector => {
                let free = self.vectors[self.pinned..].iter().position(Option::is_none);
                free.map(|n| (self.pinned + n) as u8)
            }
            Bank::Mask => self.masks.iter().position(Option::is_none).map(|n| n as u8 + 1),
        }
    }

    /// Frees the register whose value is wanted last.
    fn evict(&mut self, bank: Bank, locked: &[Virtual]) -> u8 {
        let held = match bank {
            Bank::Vector => &self.vectors[self.pinned..],
            Bank::Mask => &self.masks[..],
        };
        let candidates = held.iter().flatten().filter(|v| !locked.contains(v));
        // Of two that are wanted at the same time, the one that need not be saved.
        let cost = |v: &&Virtual| {
            let is_kept = self.body.virtuals[v.index()].home.is_some() || self.slot[v.index()].is_some();
            (self.next_use(**v), is_kept)
        };
        let v =
            *candidates.max_by_key(cost).expect("an instruction has fewer operands than there are registers");
        let number = self.register[v.index()].take().expect("it holds the value");
        *self.holder(v, number) = None;
        if self.body.virtuals[v.index()].home.is_none() && self.slot[v.index()].is_none() {
            let slot = self.free_slots.pop().unwrap_or_else(|| {
                self.done.slots += 1;
                self.done.slots - 1
            });
            self.slot[v.index()] = Some(slot);
            self.done.spills += 1;
            self.done.steps.push(AllocatedStep::Save(v, number, slot));
        }
        number
    }
}
