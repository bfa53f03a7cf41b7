//! Loops without checks: [counted loops](cembra_vm::program::counted) whose indices are known to stay inside, if a test before the loop holds.
//!
//! ```text
//!     { test, goto L9u; }  goto L9;        before the loop; the test looks at the counter in the first and the last turn
//! L4:  checked body   L9: condition
//! L4u: body           L9u: condition       the same, with a single way out: compilers make vectors of it
//! ```
//!
//! Where turns may still raise, they are computed in stretches as well, see [`speculation`](crate::native::c::speculation).
//!
//! A test that fails costs nothing but the checks: what the loop means is the same on both ways. Sums that lead to indices have
//! no check in the copy either, because they cannot overflow there.

use crate::native::c::forms::form;
use crate::native::c::locals::Locals;
use crate::native::c::makes::changes_arrays;
use crate::native::c::speculation::{Live, Speculation, speculation};
use cembra_vm::program::affine::{CounterStep, Forms, IntegerOperation};
use cembra_vm::program::counted::{CountedLoop, counted_loops};
use cembra_vm::program::written::Written;
use cembra_vm::program::{Routine, ValueId};
use hashbrown::{HashMap, HashSet};
use std::cell::LazyCell;

/// A loop that is written twice.
#[derive(Debug)]
pub(super) struct Unchecked {
    /// The jump into the loop; the loop begins behind it.
    pub(super) entry: usize,
    /// Where that jump leads.
    pub(super) condition: usize,
    /// The jump back.
    pub(super) last: usize,
    /// When the body needs no checks, as a number of the first and one of the last turn that are declared in front of the second condition.
    pub(super) test: Test,
    /// The elements that need none then.
    pub(super) elements: HashSet<usize>,
    /// The sums and products that cannot overflow then.
    pub(super) exact: HashMap<usize, IntegerOperation>,
    /// How turns are computed in stretches, if they are.
    pub(super) speculation: Option<Speculation>,
}

/// What is asked before a loop.
#[derive(Debug)]
pub(super) struct Test {
    /// The loop turns, and nothing overflows in what follows.
    turns: String,
    /// There is a turn more.
    goes_on: String,
    /// The counter in the last turn.
    last: String,
    /// All elements are inside.
    inside: String,
}

impl Test {
    /// Statements that run another one if it holds.
    pub(super) fn statements(&self, then: &str) -> String {
        format!("if ({}) {{ int64_t last = {}; if ({}) {then} }}", self.turns, self.last, self.inside)
    }
}

/// Instructions of a loop, at most: its text is written twice.
const LONGEST: usize = 20_000;

/// Instructions of all loops of a routine whose turns are computed in stretches, at most.
const MOST_IN_STRETCHES: usize = 4_000;

/// The loops of a routine that gain by being written twice. Turns are computed in stretches if the routine `speculates`.
pub(super) fn unchecked(routine: &Routine, locals: &Locals<'_>, speculates: bool) -> Vec<Unchecked> {
    let written = Written::of(routine, locals.owners());
    let forms = Forms::new(routine, locals.owners(), &written);
    let live = LazyCell::new(|| Live::of(&forms));
    let loops = counted_loops(&forms, LONGEST).into_iter();
    let mut found: Vec<Unchecked> =
        loops.filter_map(|counted| without_checks(&forms, locals, counted, &live)).collect();
    let mut rest = if speculates { MOST_IN_STRETCHES } else { 0 };
    for again in &mut found {
        again.speculation = again.speculation.take().filter(|of| of.length <= rest);
        rest -= again.speculation.as_ref().map_or(0, |of| of.length);
    }
    found
}

fn without_checks(
    forms: &Forms<'_>,
    locals: &Locals<'_>,
    mut counted: CountedLoop,
    live: &LazyCell<Live, impl FnOnce() -> Live>,
) -> Option<Unchecked> {
    let body = &forms.routine.body;
    let changing = counted.within.clone().filter(|ip| changes_arrays(forms.routine, *ip));
    let written = changing.flat_map(|ip| body.writes(&body.instructions()[ip]));
    let changed: HashSet<ValueId> = written.map(|value| locals.owner(*value)).collect();
    counted.elements.retain(|_, element| !changed.contains(&locals.owner(element.array)));
    (!counted.elements.is_empty()).then(|| {
        let (exact, test) = (counted.exact(forms), test(locals, &counted));
        let turns = (&*test.last, test.goes_on.clone());
        let speculation = speculation(forms, locals, &counted, turns, |ip| exact.contains_key(&ip), live);
        Unchecked {
            entry: counted.within.start() - 1,
            condition: counted.test,
            last: *counted.within.end(),
            test,
            elements: counted.elements.keys().copied().collect(),
            speculation,
            exact,
        }
    })
}

/// What has to hold before a loop so that its elements are inside in all turns.
fn test(locals: &Locals<'_>, counted: &CountedLoop) -> Test {
    let (counter, end) = (locals.only(counted.counter.owner), locals.only(counted.end.value));
    let (near, far) = if counted.is_up() { (&counter, &end) } else { (&end, &counter) };
    let compared = if counted.end.is_inclusive { "<=" } else { "<" };
    let goes_on = format!("{near} {compared} {far}");
    let mut turns = vec![goes_on.clone(), in_range(&counter), in_range(&end)];
    let step = match counted.counter.step {
        CounterStep::Literal(step) => step.to_string(),
        CounterStep::Value(step) => {
            let step = locals.only(step);
            turns.extend([format!("{step} > 0"), in_range(&step)]);
            step
        }
    };
    let distance =
        if counted.end.is_inclusive { String::new() } else { format!(" - {}", direction(counted)) };
    let last = match counted.counter.step {
        CounterStep::Literal(1 | -1) => format!("{end}{distance}"),
        _ => format!("{counter} + ({end}{distance} - {counter}) / {step} * {step}"),
    };
    let mut elements: Vec<_> = counted.elements.iter().collect();
    elements.sort_unstable_by_key(|(ip, _)| **ip);
    let mut inside: Vec<String> = Vec::new();
    let ask = |to: &mut Vec<String>, text: String| {
        if !to.contains(&text) {
            to.push(text);
        }
    };
    for (_, element) in elements {
        let array = locals.owner(element.array);
        for (axis, index) in element.indices.iter().enumerate() {
            index.values.iter().for_each(|(value, _)| ask(&mut turns, in_range(&locals.only(*value))));
            let ends = [&*counter, "last"];
            let ends = if index.scale == 0 { &ends[..1] } else { &ends[..] };
            for end in ends {
                let at = form(locals, index, end);
                ask(&mut inside, format!("(uint64_t)({at}) < (uint64_t){array}_n{axis}"));
            }
        }
    }
    Test { turns: turns.join(" && "), goes_on, last, inside: inside.join(" && ") }
}

/// 1 or -1: how far from its end a counter stays that may not be equal to it.
fn direction(counted: &CountedLoop) -> i64 {
    if counted.is_up() { 1 } else { -1 }
}

fn in_range(local: &str) -> String {
    format!("CEMBRA_IS_NEAR({local})")
}
