//! Counted loops: innermost loops of which it can be said beforehand how often they turn and which elements they touch.
//!
//! ```text
//!          jump<test>()                              the only way in
//! begin:   x1 = nd.get(a, i)                         a turn, which may have branches and ways out
//!          i = math.add(i, step)                     in each turn, once
//! test:    m = core.less_equal(end, i)               straight
//!          jump_if_not<begin>(m)                     the only way back
//! ```
//!
//! Before such a loop the indices of elements, which are [affine forms](crate::program::affine), can be compared with sizes for all turns at
//! once: if they are inside with the counter of the first and of the last turn, they are inside in all. A tier that does so
//! makes the loop twice, and looks at
//!
//! 1. the counter, its end, a step that is a value, and the values of forms: all are in [`AFFINE_RANGE`](crate::program::affine::AFFINE_RANGE),
//!    and the step is above 0;
//! 2. the indices of the elements whose checks it leaves out.
//!
//! Then the sums and products that such indices are made of cannot overflow. Whether arrays stay where they are is for the tier to know.

use crate::operator::primitive::Primitive;
use crate::program::affine::{Affine, Counter, CounterStep, Forms, IntegerOperation};
use crate::program::cfg::reachable;
use crate::program::instruction::{Instruction, ValueId};
use crate::strip::Comparison;
use crate::value::ScalarType;
use hashbrown::HashMap;
use std::ops::RangeInclusive;

/// An innermost loop whose turns are counted.
#[derive(Debug)]
pub struct CountedLoop {
    /// The instructions, from the begin to the jump back. The instruction before them is the jump into the loop.
    pub within: RangeInclusive<usize>,
    /// The first instruction of the test.
    pub test: usize,
    /// The counter.
    pub counter: Counter,
    /// What the counter is compared with.
    pub end: CounterEnd,
    /// By instruction: an element that the turn reads or writes, all of whose indices have forms.
    pub elements: HashMap<usize, AffineElement>,
}

/// Where a counter ends.
#[derive(Clone, Copy, Debug)]
pub struct CounterEnd {
    /// The loop leaves it as it is.
    pub value: ValueId,
    /// True if the counter may be equal to it.
    pub is_inclusive: bool,
}

/// What is done with an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElementAccess {
    /// It is read.
    Read,
    /// It is written.
    Write,
}

/// An element whose indices have forms.
#[derive(Debug)]
pub struct AffineElement {
    /// The array.
    pub array: ValueId,
    /// What the array has.
    pub element: ScalarType,
    /// What is done with the element.
    pub access: ElementAccess,
    /// The indices, by axis.
    pub indices: Vec<Affine>,
    /// The instructions that compute them.
    pub computed: Vec<usize>,
}

impl AffineElement {
    /// True if a turn goes along the last axis.
    pub fn goes_along_last_axis(&self) -> bool {
        self.indices.last().is_some_and(|index| index.scale != 0)
    }
}

impl CountedLoop {
    /// True if the counter becomes larger.
    pub fn is_up(&self) -> bool {
        !matches!(self.counter.step, CounterStep::Literal(..0))
    }

    /// The sums and products that cannot overflow once a tier has looked at what the head of this file says.
    pub fn exact(&self, forms: &Forms<'_>) -> HashMap<usize, IntegerOperation> {
        let computed = self.elements.values().flat_map(|element| element.computed.iter().copied());
        let all = computed.chain([self.counter.at]);
        all.filter_map(|ip| Some((ip, forms.operation(ip)?))).collect()
    }
}

/// The counted loops of a routine, in order, of at most so many instructions each.
///
/// # Panics
/// If a jump leaves the body; [`verify`](crate::program::verify) finds that first.
pub fn counted_loops(forms: &Forms<'_>, longest: usize) -> Vec<CountedLoop> {
    let jumps = Jumps::of(forms);
    let mut found = Vec::new();
    // The jump back of an innermost loop comes before those of the loops around it.
    let mut behind = 0;
    for (jump, begin) in jumps.in_order.iter().copied().filter(|(jump, begin)| begin <= jump) {
        let is_innermost = begin >= behind;
        behind = jump + 1;
        let within = begin..=jump;
        if is_innermost && within.clone().count() <= longest {
            found.extend(counted_loop(forms, within, &jumps));
        }
    }
    found
}

/// The element that an instruction reads or writes: the array, the type and the indices.
pub fn element_of<'r>(
    forms: &Forms<'r>,
    ip: usize,
) -> Option<(ValueId, ScalarType, ElementAccess, &'r [ValueId])> {
    let (overload, operands) = forms.operator(ip)?;
    match overload.primitive()? {
        Primitive::Get(element, _) => Some((operands[0], element, ElementAccess::Read, &operands[1..])),
        Primitive::Set(element, _) => Some((operands[0], element, ElementAccess::Write, &operands[2..])),
        _ => None,
    }
}

/// All jumps, with where they lead; guards are among them.
struct Jumps {
    in_order: Vec<(usize, usize)>,
    by_target: Vec<(usize, usize)>,
}

impl Jumps {
    fn of(forms: &Forms<'_>) -> Jumps {
        let body = &forms.routine.body;
        let is_reachable = reachable(body);
        let jumps = (0..body.instructions().len()).filter(|ip| is_reachable[*ip]);
        let in_order: Vec<_> = jumps.filter_map(|ip| Some((ip, body.target(ip)?))).collect();
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

fn counted_loop(forms: &Forms<'_>, within: RangeInclusive<usize>, jumps: &Jumps) -> Option<CountedLoop> {
    let (begin, back) = (*within.start(), *within.end());
    let test = enters_at(forms, &within, jumps)?;
    let (counter, end) = counting(forms, &within, test)?;
    // No turn leaves out the step.
    let is_over = |(jump, target): (usize, usize)| jump < counter.at && counter.at < target && target <= back;
    if jumps.inside(&within).any(is_over) {
        return None;
    }
    let mut elements = HashMap::new();
    for ip in begin..test {
        let Some((array, element, access, indices)) = element_of(forms, ip) else { continue };
        let form = |value: &ValueId| forms.of(&within, *value, ip, Some(&counter));
        let Some(found) = indices.iter().map(form).collect::<Option<Vec<_>>>() else { continue };
        let (indices, computed): (Vec<Affine>, Vec<Vec<usize>>) = found.into_iter().unzip();
        elements.insert(ip, AffineElement { array, element, access, indices, computed: computed.concat() });
    }
    Some(CountedLoop { within, test, counter, end, elements })
}

/// The test that the only way into a loop leads to, if jumps inside of the turn lead forward and the test has none.
fn enters_at(forms: &Forms<'_>, within: &RangeInclusive<usize>, jumps: &Jumps) -> Option<usize> {
    let body = &forms.routine.body;
    let (begin, back) = (*within.start(), *within.end());
    let before = begin.checked_sub(1)?;
    let is_way_in = matches!(body.instructions()[before], Instruction::Jump { .. })
        && jumps.in_order.binary_search_by_key(&before, |(jump, _)| *jump).is_ok();
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

/// The counter that the jump back depends on, and where it ends.
fn counting(forms: &Forms<'_>, within: &RangeInclusive<usize>, test: usize) -> Option<(Counter, CounterEnd)> {
    let (body, back) = (&forms.routine.body, *within.end());
    let (condition, sense) = match body.instructions()[back] {
        Instruction::JumpIf { condition, .. } => (condition, true),
        Instruction::JumpIfNot { condition, .. } => (condition, false),
        _ => return None,
    };
    let owner = |value: ValueId| forms.owners.owner(value);
    let is_condition = |ip: &usize| {
        let written = body.writes(&body.instructions()[*ip]);
        written.iter().any(|value| owner(*value) == owner(condition))
    };
    let compared = (test..back).rev().find(is_condition)?;
    let comparison = forms.comparison(compared)?;
    let [left, right] = *forms.operator(compared)?.1 else { return None };
    // The counter on the left side.
    [(left, right, false), (right, left, true)].into_iter().find_map(|(counted, end, is_turned)| {
        let counter = counter(forms, within, counted, test)?;
        let is_left = forms.literal(end).is_some() || !forms.written.within(owner(end), within);
        let goes_on = goes_on(comparison, is_turned, sense)?;
        let is_up = matches!(goes_on, Comparison::Less | Comparison::LessEqual);
        let fits = match counter.step {
            CounterStep::Literal(step) => (step > 0) == is_up,
            CounterStep::Value(_) => is_up,
        };
        let is_inclusive = matches!(goes_on, Comparison::LessEqual | Comparison::GreaterEqual);
        (fits && is_left).then_some((counter, CounterEnd { value: end, is_inclusive }))
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
fn counter(
    forms: &Forms<'_>,
    within: &RangeInclusive<usize>,
    value: ValueId,
    test: usize,
) -> Option<Counter> {
    let owner = forms.owners.owner(value);
    let mut written = forms.written.within_loop(owner, within);
    let (at, None) = (written.next()?, written.next()) else { return None };
    let [x, y] = *forms.operator(at)?.1 else { return None };
    let operation = forms.operation(at)?;
    // A part of a value is no counter: it is not written alone.
    let is_whole = forms.routine.body.writes(&forms.routine.body.instructions()[at]) == [owner];
    if at >= test || !is_whole {
        return None;
    }
    let is_same = |value: ValueId| forms.owners.owner(value) == owner;
    let by = match operation {
        IntegerOperation::Plus if is_same(x) => y,
        IntegerOperation::Plus if is_same(y) => x,
        IntegerOperation::Minus if is_same(x) => y,
        _ => return None,
    };
    let (form, _) = forms.of(within, by, at, None)?;
    let step = match (form.scale, &form.values[..], operation) {
        (0, [], IntegerOperation::Plus) => CounterStep::Literal(form.constant),
        (0, [], _) => CounterStep::Literal(-form.constant),
        (0, [(value, 1)], IntegerOperation::Plus) if form.constant == 0 && *value == by => {
            CounterStep::Value(by)
        }
        _ => return None,
    };
    let is_step = !matches!(step, CounterStep::Literal(0));
    is_step.then_some(Counter { owner, at, step })
}
