//! Counted loops with two versions: which of those that a [program has](crate::program::counted) are made twice, and their fuel.
//!
//! Before such a loop indices are compared with sizes for all turns at once ([`versions`](crate::jit::versions)).
//!
//! 1. Nothing in the loop changes where elements stand, but for elements that are written where they are.
//! 2. The test has operators without effects only, so that it may be done once more.
//! 3. An element is *inside* if each of its indices has a form. Each element that the loop writes is inside.

use crate::jit::emitter::Emitter;
use crate::jit::recipes;
use crate::jit::variables::is_all_leaves;
use crate::machine::parts;
use crate::operator::Kernel;
use crate::operator::primitive::Primitive;
use crate::program::affine::{Forms, IntegerOperation};
use crate::program::counted::{CountedLoop, ElementAccess, counted_loops, element_of};
use crate::program::written::Written;
use crate::program::{Instruction, ValueId};
use crate::value::ScalarType;
use hashbrown::{HashMap, HashSet};
use std::ops::RangeInclusive;
use std::rc::Rc;

/// Instructions of a loop, at most: its code is made twice.
const LONGEST: usize = 200;

/// A counted loop that is made twice.
pub(super) struct TwiceLoop {
    pub(super) counted: CountedLoop,
    /// Sums and products that cannot overflow where the loop runs without checks.
    pub(super) exact: HashMap<usize, IntegerOperation>,
    /// Fuel of a turn, at most.
    pub(super) fuel: i64,
}

/// The counted loops of a routine with elements that are inside, by the jump that leads into them.
pub(super) fn twice_loops(e: &Emitter<'_, '_>, written: &Written) -> HashMap<usize, Rc<TwiceLoop>> {
    let forms = Forms::new(e.routine, &e.owners, written);
    let all = counted_loops(&forms, LONGEST).into_iter();
    let found = all.filter_map(|counted| {
        let entry = *counted.within.start() - 1;
        Some((entry, Rc::new(twice_loop(e, &forms, counted)?)))
    });
    found.collect()
}

fn twice_loop(e: &Emitter<'_, '_>, forms: &Forms<'_>, mut counted: CountedLoop) -> Option<TwiceLoop> {
    let (within, back) = (&counted.within, *counted.within.end());
    let is_plain = |ip: usize| match e.parts.steps[ip] {
        parts::Step::InPlace => is_scalar(e, ip),
        parts::Step::Alone(_) => recipes::of_instruction(e, ip).is_some(),
        _ => false,
    };
    if !(counted.test..back).all(is_plain) || !within.clone().all(|ip| keeps_places(e, ip)) {
        return None;
    }
    counted.elements.retain(|_, inside| inside.element != ScalarType::Uint64);
    let writes =
        |ip: &usize| element_of(forms, *ip).is_some_and(|(_, _, access, _)| access == ElementAccess::Write);
    let mut written = within.clone().filter(writes);
    if counted.elements.is_empty() || !written.all(|ip| counted.elements.contains_key(&ip)) {
        return None;
    }
    let jumps = within.clone().filter(|ip| e.parts.steps[*ip] == parts::Step::Jump);
    let targets = jumps.filter_map(|ip| Some((ip, e.routine.body.target(ip)?)));
    let charged = targets.map(|(ip, target)| e.parts.fuel[target].max(e.parts.fuel[ip + 1]));
    let fuel = charged.map(i64::from).sum::<i64>().max(1);
    let exact = counted.exact(forms);
    Some(TwiceLoop { counted, exact, fuel })
}

fn is_scalar(e: &Emitter<'_, '_>, ip: usize) -> bool {
    let body = &e.routine.body;
    body.writes(&body.instructions()[ip]).iter().all(|value| is_all_leaves(e.routine.slot(*value).qtype()))
}

/// True if an instruction leaves elements where they stand.
fn keeps_places(e: &Emitter<'_, '_>, ip: usize) -> bool {
    let body = &e.routine.body;
    match e.parts.steps[ip] {
        parts::Step::Nothing | parts::Step::Jump => true,
        parts::Step::InPlace => is_scalar(e, ip),
        parts::Step::Call(_) | parts::Step::Region { .. } => false,
        parts::Step::Alone(_) => match body.instructions()[ip] {
            Instruction::Operator { operator, .. } => match body.operators()[operator as usize].kernel() {
                Kernel::Scalar(_) | Kernel::Assemble => is_scalar(e, ip),
                Kernel::Element(code) => {
                    matches!(
                        code.primitive,
                        Some(Primitive::Get(..) | Primitive::Set(..) | Primitive::Length)
                    )
                }
                _ => false,
            },
            _ => true,
        },
    }
}

/// The owners that one of the loops writes and that are read outside of it: the copies of the loop give them different definitions.
pub(super) fn read_outside(e: &Emitter<'_, '_>, loops: &HashMap<usize, Rc<TwiceLoop>>) -> HashSet<ValueId> {
    let body = &e.routine.body;
    let mut reads: HashMap<ValueId, RangeInclusive<usize>> = HashMap::new();
    let mut read = |value: ValueId, ip: usize| {
        let range = reads.entry(e.owner(value)).or_insert(ip..=ip);
        *range = *range.start()..=ip;
    };
    for (ip, instruction) in body.instructions().iter().enumerate() {
        body.reads(instruction).iter().for_each(|value| read(*value, ip));
    }
    e.routine.results().for_each(|value| read(value, body.instructions().len()));
    let of_loop = |twice: &Rc<TwiceLoop>| {
        let written = twice.counted.within.clone().flat_map(|ip| body.writes(&body.instructions()[ip]));
        let is_inside = |ip: &usize| twice.counted.within.contains(ip);
        let owners = written.map(|value| e.owner(*value)).filter(|owner| {
            let reads = reads.get(owner);
            reads.is_some_and(|reads| !is_inside(reads.start()) || !is_inside(reads.end()))
        });
        owners.collect::<Vec<_>>()
    };
    loops.values().flat_map(of_loop).collect()
}
