//! Choosing: both short sides of a branch are computed, and the condition chooses.
//!
//! ```text
//! jump_if_not<+2>(c)          left = fuel - (c ? fuel of one side : of the other)
//! x = x >> 1                  left < 0 ──> the branch as it stands, which knows where the fuel ends
//! jump<+2>                    x = c ? x >> 1 : 3 * x + 1
//! x = 3 * x + 1               fuel = left, and on behind both sides
//! ```
//!
//! A branch that depends on data is guessed wrong half of the time, which takes longer than a few operations on integers.
//!
//! 1. A side has nothing but operators with a recipe, on integers and truths, and copies. None of them has an effect.
//! 2. The branch stays in the code, for the end of a slice of fuel: it stops and goes on at the same instructions.

use crate::jit::emitter::{Emitter, Instructed};
use crate::jit::primitives;
use crate::jit::recipes::{self, Recording};
use crate::jit::variables::Leaf;
use crate::machine::parts::Step;
use crate::program::{Instruction, ValueId};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, Value, types};
use std::ops::Range;

/// Cycles that one operation after the other of a side takes at most, about.
const LONGEST_SIDE: u64 = 6;

/// The two sides of a branch, either of which may have no instruction.
pub(super) struct Sides {
    /// Of a condition that holds, and of one that does not.
    sides: [Side; 2],
    /// Where both go on.
    pub(super) join: usize,
}

struct Side {
    instructions: Range<usize>,
    /// What is charged on this way before it goes on.
    fuel: u32,
}

impl Sides {
    /// Where the sides begin that have instructions.
    pub(super) fn begins(&self) -> impl Iterator<Item = usize> + '_ {
        let sides = self.sides.iter().map(|side| &side.instructions);
        sides.filter(|side| !side.is_empty()).map(|side| side.start)
    }
}

/// The sides of the branch at an instruction, if they are short and meet behind it; `begins` says where a block begins.
pub(super) fn sides(e: &Emitter<'_, '_>, ip: usize, begins: impl Fn(usize) -> bool) -> Option<Sides> {
    let body = &e.routine.body;
    let holds = match body.instructions()[ip] {
        Instruction::JumpIf { .. } => true,
        Instruction::JumpIfNot { .. } => false,
        _ => return None,
    };
    let (next, target) = (ip + 1, body.target(ip)?);
    let is_short = |side: &Range<usize>| {
        let one_block = side.is_empty() || side.clone().skip(1).all(|ip| !begins(ip));
        let cycles = side.clone().try_fold(0, |sum, ip| Some(sum + cycles(e, ip)?));
        one_block && cycles.is_some_and(|cycles| cycles <= LONGEST_SIDE)
    };
    let last = target.checked_sub(1).filter(|last| *last >= next)?;
    let (near, far, join) = match body.instructions()[last] {
        Instruction::Jump { .. } if e.parts.steps[last] == Step::Jump => {
            let join = body.target(last).filter(|join| *join > target)?;
            (next..last, target..join, join)
        }
        _ => (next..target, target..target, target),
    };
    if !is_short(&near) || !is_short(&far) {
        return None;
    }
    let fuel = &e.parts.fuel;
    let near_fuel = fuel[next] + if join == target { 0 } else { fuel[join] };
    let near = Side { instructions: near, fuel: near_fuel };
    let far = Side { instructions: far, fuel: fuel[target] };
    Some(Sides { sides: if holds { [far, near] } else { [near, far] }, join })
}

/// The cycles that an instruction of a side takes; none if it cannot be in one.
fn cycles(e: &Emitter<'_, '_>, ip: usize) -> Option<u64> {
    let body = &e.routine.body;
    let instruction = &body.instructions()[ip];
    let are_integers = body.writes(instruction).iter().all(|result| {
        let leaves = e.leaves(*result);
        !leaves.is_empty() && leaves.iter().all(|leaf| leaf.variable.is_int())
    });
    if !are_integers {
        return None;
    }
    match e.parts.steps[ip] {
        Step::InPlace => Some(0),
        Step::Alone(_) if is_shift(e, ip) => Some(1),
        Step::Alone(_) => recipes::of_instruction(e, ip)
            .filter(Recording::has_no_floats)
            .map(|recording| recording.latency()),
        _ => None,
    }
}

/// True of a shift that takes all operands.
fn is_shift(e: &Emitter<'_, '_>, ip: usize) -> bool {
    let body = &e.routine.body;
    let Instruction::Operator { operator, .. } = body.instructions()[ip] else { return false };
    let overload = &body.operators()[operator as usize];
    primitives::is_wrapping_shift(overload)
}

/// Computes both sides and goes to the block where they meet; afterwards the branch itself is to be made, for the end of
/// the fuel.
pub(super) fn emit(e: &mut Emitter<'_, '_>, sides: &Sides, condition: ValueId, join: Block) {
    let fuel = e.fuel.expect("a routine with jumps charges fuel");
    let written = written(e, sides);
    let before = values(e, &written);
    let condition = e.scalar(condition);
    let [holds, fails] = [0, 1].map(|number| {
        sides.sides[number].instructions.clone().for_each(|ip| compute(e, ip));
        let computed = values(e, &written);
        define(e, &written, &before);
        computed
    });
    let charged = sides.sides.each_ref().map(|side| e.b.ins().iconst(types::I64, i64::from(side.fuel)));
    let left = e.b.use_var(fuel);
    let charged = e.b.ins().select(condition, charged[0], charged[1]);
    let left = e.b.ins().isub(left, charged);
    let chosen: Vec<Value> =
        holds.iter().zip(&fails).map(|(yes, no)| e.b.ins().select(condition, *yes, *no)).collect();
    let is_over = e.b.ins().icmp_imm_s(IntCC::SignedLessThan, left, 0);
    let (over, on) = (e.cold_block(), e.next_block());
    e.b.ins().brif(is_over, over, &[], on, &[]);
    e.enter(on);
    define(e, &written, &chosen);
    e.b.def_var(fuel, left);
    e.b.ins().jump(join, &[]);
    e.enter(over);
    define(e, &written, &before);
}

fn compute(e: &mut Emitter<'_, '_>, ip: usize) {
    let body = &e.routine.body;
    let instruction = &body.instructions()[ip];
    let (operands, results) = (body.reads(instruction), body.writes(instruction));
    match (recipes::of_instruction(e, ip), instruction) {
        (Some(recording), _) => recipes::emit(e, &recording, operands, results[0]),
        (None, Instruction::Operator { operator, .. }) if is_shift(e, ip) => {
            let overload = &body.operators()[*operator as usize];
            // The cell is for operands that are refused.
            let instructed = Instructed { cell: 0, operands, results };
            primitives::emit(e, overload.primitive(), overload, instructed);
        }
        _ => e.assign(operands, results[0]),
    }
}

/// The leaves that the sides give values, and that have others elsewhere.
fn written(e: &Emitter<'_, '_>, sides: &Sides) -> Vec<(ValueId, Leaf)> {
    let body = &e.routine.body;
    let instructions = sides.sides.iter().flat_map(|side| side.instructions.clone());
    let results = instructions.flat_map(|ip| body.writes(&body.instructions()[ip])).copied();
    let mut written: Vec<(ValueId, Leaf)> = Vec::new();
    for result in results.filter(|result| !e.is_defined_once(*result)) {
        for leaf in e.leaves(result) {
            let is_there = |(value, other): &(ValueId, Leaf)| {
                e.owner(*value) == e.owner(result) && other.offset == leaf.offset
            };
            if !written.iter().any(is_there) {
                written.push((result, leaf));
            }
        }
    }
    written
}

fn values(e: &mut Emitter<'_, '_>, leaves: &[(ValueId, Leaf)]) -> Vec<Value> {
    leaves.iter().map(|(value, leaf)| e.leaf(*value, *leaf)).collect()
}

fn define(e: &mut Emitter<'_, '_>, leaves: &[(ValueId, Leaf)], to: &[Value]) {
    leaves.iter().zip(to).for_each(|((value, leaf), to)| e.define(*value, *leaf, *to));
}
