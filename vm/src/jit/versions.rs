//! Versions: a counted loop is made twice, and before it is run it is seen which one does.
//!
//! ```text
//! jump<test> ──> test, once ──> choose: how often it turns    enough fuel?    all indices inside, all arrays known?
//!                                 │ yes                                         │ no
//!                                 v                                             v
//!                      turns without checks ── test ──> choose      turns with checks ──> choose, where an array has
//!                                 └──> behind the loop                          │          moved or a slice of fuel has ended
//!                                                                               └──> behind the loop
//! ```
//!
//! The copy without checks has nothing that changes where elements stand, so that this is computed before it, and its fuel is subtracted without
//! a question. Both leave the same values, stop at the same instruction, and use the same fuel.

use crate::jit::counted::TwiceLoop;
use crate::jit::emitter::Emitter;
use crate::program::affine::{AFFINE_RANGE, Affine, CounterStep};
use crate::program::counted::{CountedLoop, ElementAccess};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, Value, types};
use cranelift_frontend::Variable;
use hashbrown::HashSet;

/// Turns for which it pays to look at all indices beforehand.
const FEWEST: i64 = 3;

impl Emitter<'_, '_> {
    /// Goes to the turns without checks, if all that the fuel is enough for can be, or to those with checks. The counter has
    /// the value of `last` behind the last turn without checks.
    pub(super) fn choose_version(
        &mut self,
        twice: &TwiceLoop,
        last: Variable,
        [unchecked, checked]: [Block; 2],
    ) {
        let counted = &twice.counted;
        let (counter, end) = (self.scalar(counted.counter.owner), self.scalar(counted.end.value));
        let is_up = counted.is_up();
        let mut distance = match is_up {
            true => self.b.ins().isub(end, counter),
            false => self.b.ins().isub(counter, end),
        };
        if counted.end.is_inclusive {
            distance = self.b.ins().iadd_imm_s(distance, 1);
        }
        let mut holds = Vec::new();
        // By how much a turn comes nearer to the end.
        let step = match counted.counter.step {
            CounterStep::Literal(step) => self.b.ins().iconst(types::I64, step),
            CounterStep::Value(step) => {
                let step = self.scalar(step);
                let is_up = self.b.ins().icmp_imm_s(IntCC::SignedGreaterThan, step, 0);
                holds.extend([is_up, self.is_in_range(step)]);
                let one = self.b.ins().iconst(types::I64, 1);
                self.b.ins().select(is_up, step, one)
            }
        };
        let turns = match counted.counter.step {
            CounterStep::Literal(1 | -1) => distance,
            _ => {
                let nearer = if is_up { step } else { self.b.ins().ineg(step) };
                let before = self.b.ins().iadd_imm_s(distance, -1);
                let turns = self.b.ins().sdiv(before, nearer);
                self.b.ins().iadd_imm_s(turns, 1)
            }
        };
        let fuel = self.fuel.expect("a routine with jumps charges fuel");
        let left = self.b.use_var(fuel);
        let of_turn = self.b.ins().iconst(types::I64, twice.fuel);
        let paid = self.b.ins().sdiv(left, of_turn);
        let turns = self.b.ins().smin(turns, paid);
        let is_worth = self.b.ins().icmp_imm_s(IntCC::SignedGreaterThanOrEqual, turns, FEWEST);
        let more = self.b.create_block();
        self.b.ins().brif(is_worth, more, &[], checked, &[]);
        self.enter(more);
        let way = self.b.ins().imul(turns, step);
        let behind = self.b.ins().iadd(counter, way);
        self.b.def_var(last, behind);
        let ends = [counter, self.b.ins().isub(behind, step)];
        holds.extend([counter, end].map(|value| self.is_in_range(value)));
        self.all_inside(counted, ends, &mut holds);
        let all = holds.into_iter().reduce(|all, one| self.b.ins().band(all, one));
        self.b.ins().brif(all.expect("the counter is looked at"), unchecked, &[], checked, &[]);
    }

    /// What holds if all elements are inside of their arrays with the counter at both ends.
    fn all_inside(&mut self, counted: &CountedLoop, ends: [Value; 2], holds: &mut Vec<Value>) {
        let mut elements: Vec<_> = counted.elements.iter().collect();
        elements.sort_unstable_by_key(|(ip, _)| **ip);
        let (mut known, mut in_range, mut in_one_piece) = (HashSet::new(), HashSet::new(), HashSet::new());
        for (_, inside) in elements {
            let slot = self.routine.slot(inside.array).offset();
            let place = self.places.of[&slot].clone();
            let bound = match inside.access {
                ElementAccess::Read => place.readable,
                ElementAccess::Write => place.writable,
            };
            for (axis, index) in inside.indices.iter().enumerate() {
                if !known.insert((slot, axis, matches!(inside.access, ElementAccess::Read), index.clone())) {
                    continue;
                }
                let size = match axis {
                    0 => bound.expect("it was seen that the routine does this"),
                    _ => place.sizes[axis - 1],
                };
                let size = self.b.use_var(size);
                let fixed = self.fixed_part(index);
                for (value, _) in &index.values {
                    if in_range.insert(*value) {
                        let value = self.scalar(*value);
                        holds.push(self.is_in_range(value));
                    }
                }
                let ends = if index.scale == 0 { &ends[..1] } else { &ends[..] };
                for counter in ends {
                    let moved = self.b.ins().imul_imm_s(*counter, index.scale);
                    let index = self.b.ins().iadd(moved, fixed);
                    holds.push(self.b.ins().icmp(IntCC::UnsignedLessThan, index, size));
                }
            }
            let last = inside.indices.len() - 1;
            if inside.goes_along_last_axis() && in_one_piece.insert(slot) {
                let stride = self.b.use_var(place.strides[last]);
                let size = i64::from(inside.element.size());
                holds.push(self.b.ins().icmp_imm_s(IntCC::Equal, stride, size));
            }
        }
    }

    fn is_in_range(&mut self, value: Value) -> Value {
        let above = self.b.ins().iadd_imm_s(value, AFFINE_RANGE);
        self.b.ins().icmp_imm_u(IntCC::UnsignedLessThan, above, 2 * AFFINE_RANGE)
    }

    /// What a form is but for the counter.
    pub(super) fn fixed_part(&mut self, form: &Affine) -> Value {
        let constant = self.b.ins().iconst(types::I64, form.constant);
        form.values.iter().fold(constant, |sum, (value, factor)| {
            let value = self.scalar(*value);
            let product = self.b.ins().imul_imm_s(value, *factor);
            self.b.ins().iadd(sum, product)
        })
    }
}
