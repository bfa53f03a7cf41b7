//! Checker: proves that an allocated body computes what the body says.
//!
//! It runs the steps on symbols: every register and slot holds the number of a virtual register, or nothing. It shares no
//! code with the allocator, and runs in tests and debug builds on every body that is compiled.
//!
//! 1. Instructions run in their order, each once.
//! 2. Every operand stands where the instruction reads it: in the register, the slot, or its own home.
//! 3. Registers of constants are never written.
//! 4. No column is read after one has been written.

use crate::strip::x86::allocate::{AllocatedStep, Allocation, OperandPlace};
use crate::strip::x86::inst::{Address, Arg, Bank, Home, Inst, LoopBody, View, Virtual};
use hashbrown::HashMap;

/// Something that holds a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Location {
    Vector(u8),
    Mask(u8),
    Slot(u32),
}

struct Checker<'b> {
    body: &'b LoopBody,
    held: HashMap<Location, Virtual>,
    pinned: u8,
    next: u32,
    has_written: bool,
}

/// What is wrong with the allocation of a body; `pinned` constants stand in the registers from a number on, and those
/// below are not for bodies.
pub fn check(
    body: &LoopBody,
    allocation: &Allocation,
    reserved: u8,
    pinned: &[Virtual],
) -> Result<(), String> {
    let held = (reserved..).map(Location::Vector).zip(pinned.iter().copied()).collect();
    let mut checker =
        Checker { body, held, pinned: reserved + pinned.len() as u8, next: 0, has_written: false };
    for step in &allocation.steps {
        checker.step(step).map_err(|error| format!("{step:?}: {error}"))?;
    }
    match checker.next as usize == body.insts.len() {
        true => Ok(()),
        false => Err(format!("{} of {} instructions", checker.next, body.insts.len())),
    }
}

impl Checker<'_> {
    fn step(&mut self, step: &AllocatedStep) -> Result<(), String> {
        match *step {
            AllocatedStep::Run { inst, places, mask } => {
                if inst != self.next {
                    return Err(format!("instruction {} is next", self.next));
                }
                self.next += 1;
                self.run(&self.body.insts[inst as usize], &places, mask)
            }
            AllocatedStep::Load(v, register) => {
                let home = self.body.virtuals[v.index()].home.ok_or("it has no home")?;
                self.read(home.address)?;
                self.write(self.register(v, register), v)
            }
            AllocatedStep::Save(v, register, slot) => {
                self.holds(self.register(v, register), v)?;
                self.write(Location::Slot(slot), v)
            }
            AllocatedStep::Restore(v, slot, register) => {
                self.holds(Location::Slot(slot), v)?;
                self.write(self.register(v, register), v)
            }
            AllocatedStep::Copy(v, from, to) => {
                self.holds(self.register(v, from), v)?;
                self.write(self.register(v, to), v)
            }
        }
    }

    fn run(&mut self, inst: &Inst, places: &[OperandPlace], mask: u8) -> Result<(), String> {
        match inst.mask.and_then(|mask| mask.mask()) {
            Some(v) => self.holds(Location::Mask(mask), v)?,
            None if mask != 0 => return Err("it has no mask".to_owned()),
            None => {}
        }
        for (number, (arg, place)) in inst.args().zip(places).enumerate() {
            match arg {
                Arg::Use(v, view) | Arg::Change(v, _, view) => match *place {
                    OperandPlace::Register(register) => self.holds(of_view(view, register), v)?,
                    other => return Err(format!("operand {number} stands in {other:?}")),
                },
                Arg::UseOrMemory(v, view, broadcast) => self.operand(v, view, broadcast, *place)?,
                Arg::Memory(Address::Column { .. } | Address::Presence { .. }) if number == 0 => {
                    self.has_written = true;
                }
                Arg::Memory(address) => self.read(address)?,
                Arg::Def(..) | Arg::General(_) | Arg::Immediate(_) => {}
            }
        }
        for (arg, place) in inst.args().zip(places) {
            if let Arg::Def(v, view) | Arg::Change(_, v, view) = arg {
                let OperandPlace::Register(register) = *place else {
                    return Err(format!("a result in {place:?}"));
                };
                self.write(of_view(view, register), v)?;
            }
        }
        Ok(())
    }

    fn operand(&mut self, v: Virtual, view: View, broadcast: u8, place: OperandPlace) -> Result<(), String> {
        match place {
            OperandPlace::Register(register) => self.holds(of_view(view, register), v),
            OperandPlace::Slot(slot) => self.holds(Location::Slot(slot), v),
            OperandPlace::Home(home) => {
                let fits = match home.broadcast {
                    0 => home.view.bytes() >= view.bytes(),
                    lane => lane == broadcast,
                };
                let own: Option<Home> = self.body.virtuals[v.index()].home;
                match own == Some(home) && fits {
                    true => self.read(home.address),
                    false => Err(format!("{v:?} is not at {home:?}")),
                }
            }
            OperandPlace::Fixed => Err(format!("{v:?} has no place")),
        }
    }

    fn register(&self, v: Virtual, number: u8) -> Location {
        of_view(self.body.virtuals[v.index()].view, number)
    }

    fn read(&self, address: Address) -> Result<(), String> {
        let is_column =
            matches!(address, Address::Column { .. } | Address::Taken { .. } | Address::Presence { .. });
        if is_column && self.has_written { Err("a column is read late".to_owned()) } else { Ok(()) }
    }

    fn holds(&self, location: Location, v: Virtual) -> Result<(), String> {
        match self.held.get(&location) {
            Some(held) if *held == v => Ok(()),
            held => Err(format!("{location:?} holds {held:?}, not {v:?}")),
        }
    }

    fn write(&mut self, location: Location, v: Virtual) -> Result<(), String> {
        if matches!(location, Location::Vector(number) if number < self.pinned) {
            return Err(format!("{location:?} belongs to a constant"));
        }
        self.held.insert(location, v);
        Ok(())
    }
}

fn of_view(view: View, number: u8) -> Location {
    match view.bank() {
        Bank::Vector => Location::Vector(number),
        Bank::Mask => Location::Mask(number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strip::x86::allocate::{RegisterBudget, allocate};
    use crate::strip::x86::codes;

    /// A sum of products: `x0 * x0 + x1 * x1 + …`, the products first.
    fn body(count: u16) -> LoopBody {
        let mut body = LoopBody::default();
        let add = codes::ADD_FLOAT[0];
        let columns: Vec<Virtual> = (0..count)
            .map(|number| {
                let address = Address::Column { number, row_bytes: 8, offset: 0 };
                body.at_home(Home { address, load: codes::LOAD[0], view: View::Ymm, broadcast: 0 })
            })
            .collect();
        let mut terms: Vec<Virtual> = Vec::new();
        for x in columns {
            let square = body.fresh(View::Ymm);
            let args =
                [Arg::Def(square, View::Ymm), Arg::Use(x, View::Ymm), Arg::UseOrMemory(x, View::Ymm, 0)];
            body.push(Inst::new(codes::MUL_FLOAT[0], args));
            terms.push(square);
        }
        while let Some(y) = terms.pop() {
            let Some(x) = terms.pop() else { break };
            let sum = body.fresh(View::Ymm);
            let args = [Arg::Def(sum, View::Ymm), Arg::Use(x, View::Ymm), Arg::UseOrMemory(y, View::Ymm, 0)];
            body.push(Inst::new(add, args));
            terms.insert(0, sum);
        }
        body
    }

    #[test]
    fn what_the_allocator_gives_is_right_with_few_registers() {
        for count in [1, 5, 12, 40] {
            for vectors in [4, 5, 7, 16] {
                let body = body(count);
                let allocation = allocate(&body, RegisterBudget { vectors, reserved: 0, masks: 7 }, &[]);
                assert_eq!(check(&body, &allocation, 0, &[]), Ok(()), "{count} columns, {vectors} registers");
                assert_eq!(allocation.spills == 0, usize::from(count) < usize::from(vectors) + 1);
            }
        }
    }

    /// Every change of one register, slot or order is found.
    #[test]
    fn what_is_wrong_is_found() {
        let body = body(12);
        let right = allocate(&body, RegisterBudget { vectors: 5, reserved: 0, masks: 7 }, &[]);
        assert!(right.spills > 0);
        let mut found = 0;
        for index in 0..right.steps.len() {
            let mut wrong = right.clone();
            match &mut wrong.steps[index] {
                AllocatedStep::Run { places, .. } => {
                    match places.iter_mut().rev().find(|p| **p != OperandPlace::Fixed) {
                        Some(OperandPlace::Register(register)) => *register = (*register + 1) % 5,
                        Some(OperandPlace::Slot(slot)) => *slot += 1,
                        _ => continue,
                    }
                }
                AllocatedStep::Load(_, register)
                | AllocatedStep::Save(_, register, _)
                | AllocatedStep::Copy(_, _, register) => {
                    *register = (*register + 1) % 5;
                }
                AllocatedStep::Restore(_, slot, _) => *slot += 1,
            }
            assert!(
                check(&body, &wrong, 0, &[]).is_err(),
                "{:?} for {:?}",
                wrong.steps[index],
                right.steps[index]
            );
            found += 1;
        }
        assert!(found > 20, "{found} changes");
        let mut wrong = right;
        wrong.steps.swap(0, 1);
        assert!(check(&body, &wrong, 0, &[]).is_err());
    }
}
