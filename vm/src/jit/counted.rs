//! Counted loops: innermost loops of which it can be said beforehand how often they turn and which elements they touch.
//!
//! ```text
//!          jump<test>()                              the only way in
//! begin:   x1 = nd.get(a, i)                         a turn, which may have branches and ways out
//!          i = math.add(i, step)                     in each turn, once
//! test:    m = core.less_equal(end, i)               operators without effects
//!          jump_if_not<begin>(m)                     the only way back
//! ```
//!
//! Before such a loop indices are compared with sizes for all turns at once ([`versions`](crate::jit::versions)).
//!
//! 1. Nothing in the loop changes where elements stand, but for elements that are written where they are.
//! 2. An element is *inside* if each of its indices has a [form](crate::jit::affine). Each element that the loop writes is inside.

use crate::jit::affine::{Affine, Counter, Forms, Step, Sum};
use crate::jit::emitter::Emitter;
use crate::jit::loops::Written;
use crate::jit::places::Access;
use crate::jit::recipes::{self, Plain};
use crate::jit::variables::is_all_leaves;
use crate::machine::parts;
use crate::operator::Kernel;
use crate::operator::primitive::Primitive;
use crate::program::{Instruction, ValueId};
use crate::strip::Comparison;
use crate::value::ScalarType;
use hashbrown::{HashMap, HashSet};
use std::ops::RangeInclusive;
use std::rc::Rc;

/// Instructions of a loop, at most: its code is made twice.
const LONGEST: usize = 200;

/// An innermost loop whose turns are counted.
pub(super) struct CountedLoop {
    /// The instructions, from the begin to the jump back.
    pub(super) within: RangeInclusive<usize>,
    /// The first instruction of the test.
    pub(super) test: usize,
    pub(super) counter: Counter,
    pub(super) end: End,
    /// By instruction: an element that is inside.
    pub(super) elements: HashMap<usize, Inside>,
    /// Sums and products that cannot overflow where the loop runs without checks.
    pub(super) exact: HashMap<usize, Sum>,
    /// Fuel of a turn, at most.
    pub(super) fuel: i64,
}

/// Where a counter ends.
pub(super) struct End {
    /// The loop leaves it as it is.
    pub(super) value: ValueId,
    /// True if the counter may be equal to it.
    pub(super) is_inclusive: bool,
}

/// An element whose indices have forms.
pub(super) struct Inside {
    /// The array.
    pub(super) array: ValueId,
    pub(super) element: ScalarType,
    pub(super) access: Access,
    /// By axis.
    pub(super) indices: Vec<Affine>,
}

impl Inside {
    /// True if a turn goes along the last axis, whose elements have to stand one after the other.
    pub(super) fn is_in_one_piece(&self) -> bool {
        self.indices.last().is_some_and(|index| index.scale != 0)
    }
}

/// The counted loops of a routine with elements that are inside, by the jump that leads into them.
pub(super) fn counted_loops(e: &Emitter<'_, '_>, written: &Written) -> HashMap<usize, Rc<CountedLoop>> {
    let jumps = Jumps::of(e);
    let mut found = HashMap::new();
    // The jump back of an innermost loop comes before those of the loops around it.
    let mut behind = 0;
    for (jump, begin) in jumps.in_order.iter().copied().filter(|(jump, begin)| begin <= jump) {
        let is_innermost = begin >= behind;
        behind = jump + 1;
        let within = begin..=jump;
        if is_innermost && within.clone().count() <= LONGEST {
            let counted = counted_loop(e, written, within, &jumps);
            found.extend(counted.map(|counted| (begin - 1, Rc::new(counted))));
        }
    }
    found
}

/// All jumps, with where they lead.
struct Jumps {
    in_order: Vec<(usize, usize)>,
    by_target: Vec<(usize, usize)>,
}

impl Jumps {
    fn of(e: &Emitter<'_, '_>) -> Jumps {
        let jumps = (0..e.parts.steps.len()).filter(|ip| e.parts.steps[*ip] == parts::Step::Jump);
        let in_order: Vec<_> = jumps.filter_map(|ip| Some((ip, e.routine.body.target(ip)?))).collect();
        let mut by_target = in_order.clone();
        by_target.sort_by_key(|(_, target)| *target);
        Jumps { in_order, by_target }
    }

    /// Those that stand in a loop.
    fn inside<'j>(&'j self, within: &'j RangeInclusive<usize>) -> impl Iterator<Item = (usize, usize)> + 'j {
        let first = self.in_order.partition_point(|(jump, _)| jump < within.start());
        self.in_order[first..].iter().copied().take_while(|(jump, _)| jump <= within.end())
    }

    /// Those that lead into a loop or stand in it and lead back.
    fn to<'j>(&'j self, within: &'j RangeInclusive<usize>) -> impl Iterator<Item = (usize, usize)> + 'j {
        let first = self.by_target.partition_point(|(_, target)| target < within.start());
        self.by_target[first..].iter().copied().take_while(|(_, target)| target <= within.end())
    }
}

fn counted_loop(
    e: &Emitter<'_, '_>,
    written: &Written,
    within: RangeInclusive<usize>,
    jumps: &Jumps,
) -> Option<CountedLoop> {
    let (begin, back) = (*within.start(), *within.end());
    let test = enters_at(e, &within, jumps)?;
    let is_plain = |ip: usize| match e.parts.steps[ip] {
        parts::Step::InPlace => is_scalar(e, ip),
        parts::Step::Alone(_) => recipes::of_instruction(e, ip).is_some(),
        _ => false,
    };
    if !(test..back).all(is_plain) || !within.clone().all(|ip| keeps_places(e, ip)) {
        return None;
    }
    let forms = Forms { e, written, within: within.clone() };
    let (counter, end) = counting(&forms, test, back)?;
    // No turn leaves out the step.
    let is_over = |(jump, target): (usize, usize)| jump < counter.at && counter.at < target && target <= back;
    if jumps.inside(&within).any(is_over) {
        return None;
    }
    let charged = |(jump, target): (usize, usize)| e.parts.fuel[target].max(e.parts.fuel[jump + 1]);
    let fuel = jumps.inside(&within).map(charged).map(i64::from).sum::<i64>().max(1);
    let mut exact = HashMap::new();
    exact.insert(counter.at, forms.sum_or_product(counter.at)?);
    let mut elements = HashMap::new();
    for ip in begin..test {
        let Some((array, element, access, indices)) = element(e, ip) else { continue };
        let form = |value: &ValueId| forms.of(*value, ip, Some(&counter));
        let found: Option<Vec<_>> = indices.iter().map(form).collect();
        let Some(found) = found.filter(|_| element != ScalarType::Uint64) else {
            match access {
                Access::Read => continue,
                Access::Write => return None,
            }
        };
        let mut of_element = Vec::with_capacity(found.len());
        for (form, computed) in found {
            let sums = computed.into_iter().filter_map(|ip| Some((ip, forms.sum_or_product(ip)?)));
            exact.extend(sums);
            of_element.push(form);
        }
        elements.insert(ip, Inside { array, element, access, indices: of_element });
    }
    let counted = CountedLoop { within, test, counter, end, elements, exact, fuel };
    (!counted.elements.is_empty()).then_some(counted)
}

/// The test that the only way into a loop leads to, if jumps inside of the turn lead forward and the test has none.
fn enters_at(e: &Emitter<'_, '_>, within: &RangeInclusive<usize>, jumps: &Jumps) -> Option<usize> {
    let body = &e.routine.body;
    let (begin, back) = (*within.start(), *within.end());
    let before = begin.checked_sub(1)?;
    let is_way_in = matches!(body.instructions()[before], Instruction::Jump { .. })
        && e.parts.steps[before] == parts::Step::Jump;
    let test = body.target(before).filter(|test| is_way_in && begin < *test && *test <= back)?;
    let is_back =
        matches!(body.instructions()[back], Instruction::JumpIf { .. } | Instruction::JumpIfNot { .. });
    let leads_on = |(jump, target): (usize, usize)| {
        jump == back || jump < test && target > jump && (target <= test || target > back)
    };
    let is_known = |(jump, _): (usize, usize)| jump == before || within.contains(&jump);
    let fits = jumps.inside(within).all(leads_on) && jumps.to(within).all(is_known);
    (is_back && fits).then_some(test)
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

/// The element that an instruction reads or writes: the array, the type and the indices.
fn element<'r>(e: &Emitter<'r, '_>, ip: usize) -> Option<(ValueId, ScalarType, Access, &'r [ValueId])> {
    let body = &e.routine.body;
    let Instruction::Operator { operator, operands, .. } = body.instructions()[ip] else { return None };
    let Kernel::Element(code) = body.operators()[operator as usize].kernel() else { return None };
    let operands = body.list(operands);
    match code.primitive? {
        Primitive::Get(element, _) => Some((operands[0], element, Access::Read, &operands[1..])),
        Primitive::Set(element, _) => Some((operands[0], element, Access::Write, &operands[2..])),
        _ => None,
    }
}

/// The counter that the jump back depends on, and where it ends.
fn counting(forms: &Forms<'_, '_, '_>, test: usize, back: usize) -> Option<(Counter, End)> {
    let (e, body) = (forms.e, &forms.e.routine.body);
    let (condition, sense) = match body.instructions()[back] {
        Instruction::JumpIf { condition, .. } => (condition, true),
        Instruction::JumpIfNot { condition, .. } => (condition, false),
        _ => return None,
    };
    let is_condition = |ip: &usize| {
        let written = body.writes(&body.instructions()[*ip]);
        written.iter().any(|value| e.owner(*value) == e.owner(condition))
    };
    let compared = (test..back).rev().find(is_condition)?;
    let Instruction::Operator { operands, .. } = body.instructions()[compared] else { return None };
    let operands = body.list(operands);
    let Plain::Compare(comparison) = recipes::of_instruction(e, compared)?.plain(e, operands)? else {
        return None;
    };
    let [left, right] = *operands else { return None };
    // The counter on the left side.
    [(left, right, false), (right, left, true)].into_iter().find_map(|(counted, end, is_turned)| {
        let counter = counter(forms, counted, test)?;
        let is_left = e.literal(end).is_some() || !forms.written.within(e.owner(end), &forms.within);
        let goes_on = goes_on(comparison, is_turned, sense)?;
        let is_up = matches!(goes_on, Comparison::Less | Comparison::LessEqual);
        let fits = match counter.step {
            Step::Literal(step) => (step > 0) == is_up,
            Step::Value(_) => is_up,
        };
        let is_inclusive = matches!(goes_on, Comparison::LessEqual | Comparison::GreaterEqual);
        (fits && is_left).then_some((counter, End { value: end, is_inclusive }))
    })
}

/// How the counter compares with the end while the loop goes on.
fn goes_on(comparison: Comparison, is_turned: bool, sense: bool) -> Option<Comparison> {
    use Comparison::{Greater, GreaterEqual, Less, LessEqual};
    let turned = match comparison {
        Less if is_turned => Greater,
        LessEqual if is_turned => GreaterEqual,
        Greater if is_turned => Less,
        GreaterEqual if is_turned => LessEqual,
        Less | LessEqual | Greater | GreaterEqual => comparison,
        _ => return None,
    };
    Some(match turned {
        _ if sense => turned,
        Less => GreaterEqual,
        LessEqual => Greater,
        Greater => LessEqual,
        _ => Less,
    })
}

/// A value that the turn changes at one place, by adding a step.
fn counter(forms: &Forms<'_, '_, '_>, value: ValueId, test: usize) -> Option<Counter> {
    let (e, body) = (forms.e, &forms.e.routine.body);
    let owner = e.owner(value);
    let mut written = forms.written.within_loop(owner, &forms.within);
    let (at, None) = (written.next()?, written.next()) else { return None };
    let Instruction::Operator { operands, result, .. } = body.instructions()[at] else { return None };
    let [x, y] = *body.list(operands) else { return None };
    let sum = forms.sum_or_product(at)?;
    let is_same = |value: ValueId| e.owner(value) == owner && e.leaves(value).len() == 1;
    if at >= test || result != owner || !is_same(value) {
        return None;
    }
    let by = match sum {
        Sum::Plus if is_same(x) => y,
        Sum::Plus if is_same(y) => x,
        Sum::Minus if is_same(x) => y,
        _ => return None,
    };
    let (form, _) = forms.of(by, at, None)?;
    let step = match (form.scale, &form.values[..], sum) {
        (0, [], Sum::Plus) => Step::Literal(form.constant),
        (0, [], _) => Step::Literal(-form.constant),
        (0, [(value, 1)], Sum::Plus) if form.constant == 0 && *value == by => Step::Value(by),
        _ => return None,
    };
    let is_step = !matches!(step, Step::Literal(0));
    is_step.then_some(Counter { owner, at, step })
}

/// The owners that one of the loops writes and that are read outside of it: the copies of the loop give them different definitions.
pub(super) fn read_outside(
    e: &Emitter<'_, '_>,
    counted: &HashMap<usize, Rc<CountedLoop>>,
) -> HashSet<ValueId> {
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
    let of_loop = |counted: &Rc<CountedLoop>| {
        let written = counted.within.clone().flat_map(|ip| body.writes(&body.instructions()[ip]));
        let is_inside = |ip: &usize| counted.within.contains(ip);
        let owners = written.map(|value| e.owner(*value)).filter(|owner| {
            let reads = reads.get(owner);
            reads.is_some_and(|reads| !is_inside(reads.start()) || !is_inside(reads.end()))
        });
        owners.collect::<Vec<_>>()
    };
    counted.values().flat_map(of_loop).collect()
}
