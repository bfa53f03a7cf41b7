//! Steps of folds: how the rows of a group go to lanes.
//!
//! ```text
//! L = vaddpd L, x                               a sum
//! t = vminpd x, L    k = x is NaN    L = t, x where k      the least; what was there wins ties, NaN stays
//! ```
//!
//! The rest of rows goes to lanes under its mask, but for a sum of leaves, which adds them in turn.

use crate::strip::op::{Lane, LaneFold};
use crate::strip::x86::arithmetic::UNORDERED;
use crate::strip::x86::codes::{self, Codes, code};
use crate::strip::x86::folds::{EIGHTS, FoldPlan, Lanes, RowOrder};
use crate::strip::x86::group_shape::Parts;
use crate::strip::x86::inst::{Address, Arg, Inst, View, Virtual, WriteMask};
use crate::strip::x86::lower::{Lower, RowCount};

/// In the place of a result that is not named yet.
const RESULT: Arg = Arg::Immediate(0);

impl Lower<'_> {
    /// Takes the rows of a group, one of several, into the lanes of a fold.
    pub fn take_in(&mut self, fold: &FoldPlan, copy: usize, value: Parts) {
        let view = self.target.view(fold.lane);
        let first = if let RowOrder::Spread = fold.order { copy % EIGHTS * value.len() } else { 0 };
        for (part, lanes) in fold.lanes[first..][..value.len()].iter().enumerate() {
            let value = value.part(part);
            if let (RowOrder::Leaves { rest, .. }, RowCount::Rest) = (fold.order, self.extent) {
                // They are added in turn.
                let place = Address::Stack(rest + (part * view.bytes()) as u32);
                self.store_lanes(fold.lane, place, value);
                continue;
            }
            match *lanes {
                Lanes::Register(number) => {
                    let register = Arg::General(view.register(number));
                    let step = self.step(fold, register, value, part);
                    self.push_to(register, step);
                }
                Lanes::Stack(offset) => {
                    let place = Address::Stack(offset);
                    let load = code(&codes::LOAD, self.target.form(fold.lane));
                    let old = self.def(load, view, [Arg::Memory(place)]);
                    let step = self.step(fold, Arg::Use(old, view), value, part);
                    let next = self.body.fresh(view);
                    // Lanes behind the rest stay what they were.
                    if let Some(WriteMask::Rest) = step.mask {
                        let store = code(&codes::STORE, self.target.form(fold.lane));
                        let store = Inst::new(store, [Arg::Memory(place), step.args[1].expect("an operand")]);
                        self.body.push(store.masked(WriteMask::Rest));
                    } else {
                        self.push_to(Arg::Def(next, view), step);
                        self.store_lanes(fold.lane, place, next);
                    }
                }
            }
        }
    }

    /// What comes of several groups, taken in by pairs.
    pub fn best_of(&mut self, fold: &FoldPlan, mut values: Vec<Parts>) -> Parts {
        let view = self.target.view(fold.lane);
        while values.len() > 1 {
            let pairs = values.chunks(2).map(|pair| match *pair {
                [first, second] => Parts::new(first.len(), |part| {
                    let step = self.step_of_group(fold, Arg::Use(first.part(part), view), second.part(part));
                    let best = self.body.fresh(view);
                    self.push_to(Arg::Def(best, view), step);
                    best
                }),
                _ => pair[0],
            });
            values = pairs.collect();
        }
        values[0]
    }

    /// Moves the lanes of a spread sum on behind the groups of an iteration.
    pub fn move_on(&mut self, fold: &FoldPlan) {
        let RowCount::Groups(groups) = self.extent else { return };
        let count = groups % EIGHTS * self.target.parts(fold.lane);
        if !matches!(fold.order, RowOrder::Spread) || count == 0 {
            return;
        }
        let (form, view) = (self.target.form(fold.lane), self.target.view(fold.lane));
        let load = code(&codes::LOAD, form);
        let place = |lanes: Lanes| match lanes {
            Lanes::Register(number) => Arg::General(view.register(number)),
            Lanes::Stack(offset) => Arg::Memory(Address::Stack(offset)),
        };
        let (head, tail) = fold.lanes.split_at(count);
        let kept: Vec<Virtual> = head.iter().map(|lanes| self.def(load, view, [place(*lanes)])).collect();
        for (to, from) in fold.lanes.iter().zip(tail) {
            match (*to, *from) {
                (Lanes::Register(number), from) => {
                    self.body.push(Inst::new(load, [Arg::General(view.register(number)), place(from)]));
                }
                (Lanes::Stack(offset), from) => {
                    let lanes = self.def(load, view, [place(from)]);
                    self.store_lanes(fold.lane, Address::Stack(offset), lanes);
                }
            }
        }
        for (to, lanes) in fold.lanes[tail.len()..].iter().zip(kept) {
            match *to {
                Lanes::Register(number) => {
                    let to = Arg::General(view.register(number));
                    self.body.push(Inst::new(load, [to, Arg::Use(lanes, view)]));
                }
                Lanes::Stack(offset) => self.store_lanes(fold.lane, Address::Stack(offset), lanes),
            }
        }
    }

    fn store_lanes(&mut self, lane: Lane, place: Address, value: Virtual) {
        let (form, view) = (self.target.form(lane), self.target.view(lane));
        self.body.push(Inst::new(code(&codes::STORE, form), [Arg::Memory(place), Arg::Use(value, view)]));
    }

    fn push_to(&mut self, result: Arg, mut step: Inst) {
        step.args[0] = Some(result);
        self.body.push(step);
    }

    /// The last instruction of a step, whose result is still to be named.
    fn step(&mut self, fold: &FoldPlan, old: Arg, value: Virtual, part: usize) -> Inst {
        let step = self.step_of_group(fold, old, value);
        if self.extent != RowCount::Rest {
            return step;
        }
        let (form, view) = (self.target.form(fold.lane), self.target.view(fold.lane));
        let next = self.body.fresh(view);
        self.push_to(Arg::Def(next, view), step);
        let next = Arg::Use(next, view);
        if self.target.is_512 {
            return Inst::new(code(&codes::LOAD, form), [RESULT, next]).masked(WriteMask::Rest);
        }
        let rest = self.rest_lanes(fold.lane, part);
        Inst::new(code(&codes::BLEND_LANES, form), [RESULT, old, next, Arg::Use(rest, view)])
    }

    fn step_of_group(&mut self, fold: &FoldPlan, old: Arg, value: Virtual) -> Inst {
        let lane = fold.lane;
        let (form, view) = (self.target.form(lane), self.target.view(lane));
        let operand = Arg::UseOrMemory(value, view, self.target.broadcast(lane));
        let is_float = lane.is_float();
        let simple = |codes: &Codes| Inst::new(code(codes, form), [RESULT, old, operand]);
        let is_least = match fold.order {
            RowOrder::Leaves { .. } | RowOrder::Spread if is_float => return simple(&codes::ADD_FLOAT),
            RowOrder::Leaves { .. } | RowOrder::Spread | RowOrder::Any(LaneFold::Sum) => {
                return simple(&codes::ADD_INT);
            }
            RowOrder::Any(best) => best == LaneFold::Least,
            RowOrder::InTurn => unreachable!("a running result has no such lanes"),
        };
        if !is_float && !self.lacks_int64(lane) {
            return simple(if is_least { &codes::MIN_INT } else { &codes::MAX_INT });
        }
        let value = Arg::Use(value, view);
        if !is_float {
            let (x, y) = if is_least { (old, value) } else { (value, old) };
            let is_better = self.def(code(&codes::GREATER_INT, form), view, [x, y]);
            return Inst::new(
                code(&codes::BLEND_LANES, form),
                [RESULT, old, value, Arg::Use(is_better, view)],
            );
        }
        // The instruction gives its second operand, what was there, on ties and if one is NaN: a row that is NaN is left
        // to see to.
        let codes = if is_least { &codes::MIN_FLOAT } else { &codes::MAX_FLOAT };
        let best = self.def(code(codes, form), view, [value, old]);
        self.with_nan(lane, value, best)
    }

    /// A row where it is NaN, else the best so far.
    fn with_nan(&mut self, lane: Lane, value: Arg, best: Virtual) -> Inst {
        let (form, view) = (self.target.form(lane), self.target.view(lane));
        let Arg::Use(row, _) = value else { unreachable!("a row stands in a register") };
        let of_mask = if self.target.is_512 { View::Mask } else { view };
        let mask = match self.unordered.get(&row) {
            Some(mask) => *mask,
            None => {
                let compare = code(&codes::COMPARE_FLOAT, form);
                let mask = self.def(compare, of_mask, [value, value, Arg::Immediate(UNORDERED)]);
                self.unordered.insert(row, mask);
                mask
            }
        };
        let best = Arg::Use(best, view);
        match self.target.is_512 {
            true => {
                Inst::new(code(&codes::BLEND, form), [RESULT, best, value]).masked(WriteMask::Merge(mask))
            }
            false => {
                Inst::new(code(&codes::BLEND_LANES, form), [RESULT, best, value, Arg::Use(mask, of_mask)])
            }
        }
    }
}
