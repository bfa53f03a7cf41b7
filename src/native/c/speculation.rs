//! Speculation: turns of a loop that are computed in stretches, before it is known whether one of them raises.
//!
//! ```text
//! L9_turns:  while (64 turns are left) {
//!                keep the locals that turns change
//!                for (64 turns) { body; rare |= what would raise or has a longer way; elements to be written go to a buffer }
//!                if (rare) { locals as before; go to L9_wait }
//!                write the elements
//!            }
//!            until = all turns; go to L9u
//! L9_wait:   until = some turns; go to L9u
//! L9u:       condition; if (i < until) one turn; else if (i < n) go to L9_turns
//! ```
//!
//! The body has no way out, so that compilers make vectors of it: what leaves the loop is rare as well. Nobody sees what was computed in vain:
//!
//! 1. Elements are written only once the stretch holds, each turn at a place of its own.
//! 2. What a turn reads is not what one before it has written: an array that is read and written is so at one place of the turn, and
//!    others share no memory with what is written, which is looked at before.
//! 3. Values that go from turn to turn are sums and the like: changed at one place, read at no other.
//!
//! 4. The test is a comparison: it may be left out in front of the first turn, and done twice behind the last.
//!
//! After a stretch that fails turns go one by one, twice as many after each, up to [`LONGEST_WAIT`], also where the loop is entered
//! again: data that is rare everywhere costs little more than without. A loop that may be left begins so. Turns one by one go up to a
//! bound of the counter, so that they cost what they cost without stretches.

use crate::native::c::forms::form;
use crate::native::c::locals::{CType, Locals, element_name, leaves};
use crate::native::c::rules::speculated_quotient;
use crate::native::c::special::special;
use cembra_vm::program::affine::{CounterStep, Forms};
use cembra_vm::program::cfg::Cfg;
use cembra_vm::program::counted::{AffineElement, CountedLoop, ElementAccess};
use cembra_vm::program::liveness::{Liveness, liveness};
use cembra_vm::program::{Instruction, ValueId};
use cembra_vm::value::ScalarType;
use cembra_vm::value::array::cell_size;
use std::cell::LazyCell;
use std::fmt::Write;

/// Turns of a stretch.
const TURNS: usize = 64;

/// Turns that a failed stretch makes the next one wait, at most.
const LONGEST_WAIT: usize = 4096;

/// Instructions of a turn, and elements that it writes, at most: the text is written once more, and becomes vectors.
const LONGEST: usize = 400;
const MOST_WRITES: usize = 16;

/// The statement of what is rare, or leaves the loop.
pub(super) const RARE: &str = "rare = 1;";

/// A loop whose turns may be computed in stretches.
#[derive(Debug)]
pub(super) struct Speculation {
    counter: String,
    /// True if a turn takes 1 away from it; else it adds 1.
    is_down: bool,
    /// The counter in the last turn.
    last: String,
    /// True while there are turns.
    goes_on: String,
    /// Instructions of a turn.
    pub(super) length: usize,
    pub(super) memory: Memory,
    /// The locals that a turn changes.
    changed: Vec<(String, CType)>,
    /// True if a turn may leave the loop.
    is_left: bool,
}

/// What a turn does with arrays.
#[derive(Debug, Default)]
pub(super) struct Memory {
    /// Elements that it writes, in their order.
    writes: Vec<WrittenElement>,
    /// Arrays that are written, and others that are read.
    pub(super) apart: Vec<(ValueId, ValueId)>,
    /// Bytes from what a turn writes to what the next one does, of arrays that are read and written, and those of an element.
    in_place: Vec<(String, usize)>,
}

/// An element that a turn writes.
#[derive(Debug)]
pub(super) struct WrittenElement {
    ip: usize,
    element: ScalarType,
    /// Where it stands, with the counter of the turn as `i`.
    place: String,
    /// True if not every turn writes it.
    is_chosen: bool,
}

/// How the turns of a loop can be computed in stretches; `None` if they cannot, or gain nothing. `exact` are sums that do not
/// overflow.
pub(super) fn speculation(
    forms: &Forms<'_>,
    locals: &Locals<'_>,
    counted: &CountedLoop,
    (last, goes_on): (&str, String),
    exact: impl Fn(usize) -> bool,
    live: &LazyCell<Live, impl FnOnce() -> Live>,
) -> Option<Speculation> {
    let body = &forms.routine.body;
    let turn = *counted.within.start()..*counted.within.end();
    let CounterStep::Literal(step @ (1 | -1)) = counted.counter.step else { return None };
    if turn.len() > LONGEST || !counted.elements.values().any(AffineElement::goes_along_last_axis) {
        return None;
    }
    let (mut has_rare, mut is_left) = (false, false);
    for ip in turn.clone() {
        let (operator, operands, result) = match body.instructions()[ip] {
            Instruction::Operator { operator, operands, result } => (operator, operands, result),
            Instruction::Jump { .. } | Instruction::JumpIf { .. } | Instruction::JumpIfNot { .. } => {
                is_left |= body.target(ip)? > counted.test;
                continue;
            }
            Instruction::Trap { .. } => {
                is_left = true;
                continue;
            }
            _ => return None,
        };
        if let Some(element) = counted.elements.get(&ip) {
            // One of UINT64 may be refused.
            if element.element == ScalarType::Uint64 {
                return None;
            }
            continue;
        }
        let overload = &body.operators()[operator as usize];
        let is_plain = |value: &ValueId| leaves(forms.routine.slot(*value).qtype()).is_some();
        if !body.list(operands).iter().all(is_plain) || !is_plain(&result) {
            return None;
        }
        let may_be_rare = match special(overload) {
            Some(special) if special.is_optional() => return None,
            Some(special) => special.may_be_rare(),
            None if exact(ip) || !overload.may_raise() => false,
            None => speculated_quotient(overload).is_some().then_some(true)?,
        };
        if may_be_rare && ip >= counted.test {
            return None;
        }
        has_rare |= may_be_rare;
    }
    let carried = live.carried(forms, counted);
    let fits = (has_rare || is_left)
        && is_repeatable(forms, counted, &carried)
        && carried.iter().all(|value| is_gathered(forms, counted, *value));
    let memory = memory(forms, locals, counted).filter(|_| fits)?;
    let length = turn.len();
    let mut changed: Vec<ValueId> =
        turn.flat_map(|ip| body.writes(&body.instructions()[ip])).map(|value| locals.owner(*value)).collect();
    changed.sort_unstable();
    changed.dedup();
    let changed = changed.into_iter().flat_map(|value| locals.all(value)).collect();
    let (counter, last) = (locals.only(counted.counter.owner), last.to_owned());
    Some(Speculation { counter, is_down: step < 0, last, goes_on, length, memory, changed, is_left })
}

/// Which values of a routine are read later.
pub(super) struct Live {
    cfg: Cfg,
    values: Liveness,
}

impl Live {
    pub(super) fn of(forms: &Forms<'_>) -> Live {
        let (routine, cfg) = (forms.routine, Cfg::new(&forms.routine.body));
        let owner = |value: ValueId| forms.owners.owner(value);
        let results: Vec<ValueId> = routine.results().map(owner).collect();
        let values = liveness(
            &routine.body,
            &cfg,
            routine.values.len(),
            |value| Some(owner(value)),
            &results,
            usize::MAX,
        );
        Live { cfg, values: values.expect("there is no limit") }
    }

    /// The values but the counter that a turn may read as the one before has left them, or leaves as they were.
    fn carried(&self, forms: &Forms<'_>, counted: &CountedLoop) -> Vec<ValueId> {
        let begin = *counted.within.start();
        let block = (0..self.cfg.len()).find(|block| self.cfg.block(*block).contains(&begin));
        let values = block.map_or(&[][..], |block| self.values.live_in(block)).iter().copied();
        let is_plain = |value: &ValueId| leaves(forms.routine.slot(*value).qtype()).is_some();
        values
            .filter(|value| forms.written.within(*value, &counted.within) && is_plain(value))
            .filter(|value| *value != counted.counter.owner)
            .collect()
    }
}

/// True if the test may be left out where a turn begins, and done twice: what it computes, no turn and no test reads.
fn is_repeatable(forms: &Forms<'_>, counted: &CountedLoop, carried: &[ValueId]) -> bool {
    let body = &forms.routine.body;
    let owner = |value: &ValueId| forms.owners.owner(*value);
    let test = || counted.test..*counted.within.end();
    test().all(|ip| {
        let mut written = body.writes(&body.instructions()[ip]).iter().map(owner);
        written.all(|value| {
            let reads =
                |at: usize| body.reads(&body.instructions()[at]).iter().any(|read| owner(read) == value);
            !carried.contains(&value) && !(counted.test..=ip).any(reads)
        })
    })
}

/// True if a turn changes a value by one operator on it, and reads it nowhere else.
fn is_gathered(forms: &Forms<'_>, counted: &CountedLoop, value: ValueId) -> bool {
    let body = &forms.routine.body;
    let is_it = |other: &ValueId| forms.owners.owner(*other) == value;
    let mut reads =
        counted.within.clone().filter(|ip| body.reads(&body.instructions()[*ip]).iter().any(is_it));
    let mut writes = forms.written.within_loop(value, &counted.within);
    let at = reads.next();
    at.is_some() && at == writes.next() && (reads.next(), writes.next()) == (None, None)
}

/// What a turn does with arrays; `None` if a turn may read what one before it has written.
fn memory(forms: &Forms<'_>, locals: &Locals<'_>, counted: &CountedLoop) -> Option<Memory> {
    let body = &forms.routine.body;
    let owner = |element: &AffineElement| locals.owner(element.array);
    let mut elements: Vec<(usize, &AffineElement)> =
        counted.elements.iter().map(|(ip, element)| (*ip, element)).collect();
    elements.sort_unstable_by_key(|(ip, _)| *ip);
    let Memory { mut writes, mut apart, mut in_place } = Memory::default();
    for (ip, element) in elements.iter().filter(|(_, element)| element.access == ElementAccess::Write) {
        let is_over = |target: usize| target > *ip && target <= counted.test;
        let leads_over = |jump: usize| body.target(jump).is_some_and(is_over);
        let has_own_place = element.indices.iter().any(|index| index.scale != 0);
        if !has_own_place || writes.len() == MOST_WRITES {
            return None;
        }
        let array = owner(element);
        let (mut place, mut distance) = (array.to_string(), "INT64_C(0)".to_owned());
        for (axis, index) in element.indices.iter().enumerate() {
            let _ = write!(place, " + ({}) * {array}_s{axis}", form(locals, index, "i"));
            let _ = write!(distance, " + INT64_C({}) * {array}_s{axis}", index.scale);
        }
        for (read, other) in elements.iter().filter(|(_, other)| other.access == ElementAccess::Read) {
            if owner(other) != owner(element) {
                apart.push((owner(element), owner(other)));
            } else if read > ip || other.indices != element.indices {
                return None;
            } else {
                in_place.push((distance.clone(), cell_size(element.element)));
            }
        }
        let is_chosen = (*counted.within.start()..*ip).any(leads_over);
        writes.push(WrittenElement { ip: *ip, element: element.element, place, is_chosen });
    }
    apart.sort_unstable();
    apart.dedup();
    in_place.dedup();
    Some(Memory { writes, apart, in_place })
}

impl Speculation {
    /// The label in front of the stretches.
    pub(super) fn label(condition: usize) -> String {
        format!("L{condition}_turns")
    }

    /// The locals that say up to where turns go one by one, how many more are to do so, and how many if a stretch fails.
    pub(super) fn declared(&self, condition: usize) -> String {
        let rest = if self.is_left { TURNS } else { 0 };
        format!("    int64_t until{condition} = 0, rest{condition} = {rest}, wait{condition} = {TURNS};\n")
    }

    /// Bytes of stack that it takes.
    pub(super) fn bytes(&self) -> usize {
        16 * (TURNS * self.memory.writes.len() + self.changed.len())
    }

    /// Goes into the loop where the test before it holds.
    pub(super) fn enter(condition: usize) -> String {
        let label = Speculation::label(condition);
        format!("{{ if (rest{condition} > 0) goto L{condition}_wait; goto {label}; }}")
    }

    /// The jump back of turns one by one.
    pub(super) fn back(&self, condition: usize, to: &str) -> String {
        let (counter, label) = (&self.counter, Speculation::label(condition));
        let compared = if self.is_down { ">" } else { "<" };
        format!(
            "if ({counter} {compared} until{condition}) goto {to}; else if ({}) goto {label};",
            self.goes_on
        )
    }

    /// The counter behind so many further turns.
    fn behind(&self, turns: &str) -> String {
        format!("{} {} {turns}", self.counter, if self.is_down { "-" } else { "+" })
    }

    /// The turns that are left.
    fn left(&self) -> String {
        let (near, far) =
            if self.is_down { (&self.last, &self.counter) } else { (&self.counter, &self.last) };
        format!("{far} - ({near}) + 1")
    }

    /// Has all turns that are left go one by one.
    fn one_by_one(&self, condition: usize) -> String {
        format!(
            "{{ until{condition} = {}; goto L{condition}u; }}",
            self.behind(&format!("({})", self.left()))
        )
    }

    /// What stands before the stretches; `overlap` holds where arrays share memory, behind its declarations.
    pub(super) fn before(&self, condition: usize, (declared, overlap): (&str, &str)) -> String {
        let all = self.one_by_one(condition);
        let mut text =
            format!("{}:;\n    if ({} < {TURNS}) {all}\n", Speculation::label(condition), self.left());
        for (distance, size) in &self.memory.in_place {
            let _ = writeln!(text, "    {{ int64_t d = {distance}; if (-{size} < d && d < {size}) {all} }}");
        }
        if !overlap.is_empty() {
            let _ = writeln!(text, "    {{ {declared}if ({overlap}) {all} }}");
        }
        text
    }

    /// What stands before the instructions of a turn.
    pub(super) fn opening(&self) -> String {
        let mut text = format!("    while ({} >= {TURNS}) {{\n    uint64_t rare = 0;\n", self.left());
        for (local, ctype) in &self.changed {
            let _ = writeln!(text, "    {} before_{local} = {local};", ctype.name());
        }
        for WrittenElement { ip, element, is_chosen, .. } in &self.memory.writes {
            let is = if *is_chosen { format!(" uint64_t are{ip}[{TURNS}];") } else { String::new() };
            let _ = writeln!(text, "    {} all{ip}[{TURNS}];{is}", element_name(*element));
        }
        let _ = writeln!(text, "    for (int64_t turn = 0; turn < {TURNS}; turn++) {{");
        for WrittenElement { ip, element, .. } in &self.memory.writes {
            let _ = writeln!(text, "    {} e{ip} = 0; uint64_t is{ip} = 0;", element_name(*element));
        }
        text
    }

    /// What stands behind them.
    pub(super) fn closing(&self, condition: usize) -> String {
        let (mut text, mut written, mut back) = (String::new(), String::new(), String::new());
        for WrittenElement { ip, place, is_chosen, .. } in &self.memory.writes {
            let is = if *is_chosen { format!("are{ip}[turn] = is{ip};") } else { format!("(void)is{ip};") };
            let _ = writeln!(text, "    all{ip}[turn] = e{ip}; {is}");
            let when = if *is_chosen { format!("if (are{ip}[turn]) ") } else { String::new() };
            let _ = writeln!(
                written,
                "    {when}{{ char *a = {place}; memcpy(a, &all{ip}[turn], sizeof all{ip}[turn]); }}"
            );
        }
        for (local, _) in &self.changed {
            let _ = write!(back, "{local} = before_{local}; ");
        }
        let (wait, rest) = (format!("wait{condition}"), format!("rest{condition}"));
        let _ = writeln!(
            text,
            "    }}\n    if (CEMBRA_RARE(rare)) {{ {back}{rest} = {wait}; if ({wait} < {LONGEST_WAIT}) {wait} *= 2; \
             goto L{condition}_wait; }}"
        );
        if !self.memory.writes.is_empty() {
            let i = format!("before_{}", self.behind("turn"));
            let _ = write!(
                text,
                "    for (int64_t turn = 0; turn < {TURNS}; turn++) {{\n    int64_t i = {i};\n{written}    }}\n"
            );
        }
        let _ = writeln!(text, "    {wait} = {TURNS};\n    }}\n    {}", self.one_by_one(condition));
        let until = self.behind("turns");
        text + &format!(
            "L{condition}_wait:;\n    {{ int64_t left = {}, turns = {rest} < left ? {rest} : left; {rest} -= turns; \
             until{condition} = {until}; goto L{condition}u; }}\n",
            self.left()
        )
    }
}
