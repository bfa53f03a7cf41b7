//! Loops without checks: innermost loops whose indices are known to stay inside, if a test before the loop holds.
//!
//! ```text
//!     if (test) goto L9u;  goto L9;        before the loop; the test looks at the first index, the bound and the sizes
//! L4:  checked body   L9: condition
//! L4u: body           L9u: condition       the same, with a single way out: compilers make vectors of it
//! ```
//!
//! The counter of such a loop is written once in it, by a sum with what does not change, and the loop goes on while it is
//! below a bound that does not change. So it is never below its first value, nor at the bound or above it where the
//! body reads it: the sum is made behind all of that, and cannot wrap around if the test says so. Indices are the counter,
//! one sum or difference of it with a literal, or what does not change.
//!
//! A test that fails costs nothing but the checks: what the loop means is the same on both ways.

use crate::native::c::locals::Locals;
use crate::native::c::makes::changes_arrays;
use cembra_vm::operator::primitive::Primitive;
use cembra_vm::program::{Instruction, Routine, ValueId};
use cembra_vm::value::ScalarValue;
use cembra_vm::value::qtype::INT64;
use hashbrown::{HashMap, HashSet};

/// Literals beyond are not looked at, so that sums with them stay in range.
const LARGEST: i64 = 1 << 30;

/// A loop that is written twice.
#[derive(Debug)]
pub(super) struct Unchecked {
    /// The jump into the loop; the loop begins behind it.
    pub(super) entry: usize,
    /// Where that jump leads.
    pub(super) condition: usize,
    /// The jump back.
    pub(super) last: usize,
    /// When the body needs no checks.
    pub(super) test: String,
    /// The elements that need none then.
    pub(super) elements: HashSet<usize>,
}

/// Routines with more instructions are left as they are: looking for loops takes the square of their jumps.
const LONGEST: usize = 20_000;

/// The loops of a routine that gain by being written twice.
pub(super) fn unchecked(
    routine: &Routine,
    locals: &Locals<'_>,
    literals: &HashMap<ValueId, ScalarValue>,
) -> Vec<Unchecked> {
    let count = routine.body.instructions().len();
    let found = (0..if count > LONGEST { 0 } else { count })
        .filter_map(|last| Loop::find(routine, locals, literals, last)?.unchecked());
    found.collect()
}

/// An innermost loop with a counter.
struct Loop<'r> {
    routine: &'r Routine,
    locals: &'r Locals<'r>,
    literals: &'r HashMap<ValueId, ScalarValue>,
    first: usize,
    condition: usize,
    last: usize,
    /// Where owners are written in the loop. Arrays whose elements are written are not among them.
    writes: HashMap<ValueId, Vec<usize>>,
    counter: ValueId,
    bound: ValueId,
    step: ValueId,
    /// Where the counter is written.
    update: usize,
}

impl<'r> Loop<'r> {
    fn find(
        routine: &'r Routine,
        locals: &'r Locals<'r>,
        literals: &'r HashMap<ValueId, ScalarValue>,
        last: usize,
    ) -> Option<Loop<'r>> {
        let body = &routine.body;
        let instructions = body.instructions();
        let first = body.target(last).filter(|first| *first <= last && *first > 0)?;
        let Instruction::Jump { .. } = instructions[first - 1] else { return None };
        let condition = body.target(first - 1).filter(|at| (first..=last).contains(at))?;
        for ip in 0..instructions.len() {
            let inside = |ip: usize| (first..=last).contains(&ip);
            let Some(target) = body.target(ip) else { continue };
            let enters = inside(target) && !inside(ip) && ip != first - 1;
            let goes_back = inside(ip) && ip != last && target <= ip;
            if enters || goes_back {
                return None;
            }
        }
        let mut writes: HashMap<ValueId, Vec<usize>> = HashMap::new();
        for (ip, instruction) in (first..).zip(&instructions[first..=last]) {
            for value in body.writes(instruction) {
                if locals.array(*value).is_none() {
                    writes.entry(locals.owner(*value)).or_default().push(ip);
                }
            }
        }
        let (compared, goes_on_if) = match instructions[last] {
            Instruction::JumpIf { condition, .. } => (condition, true),
            Instruction::JumpIfNot { condition, .. } => (condition, false),
            _ => return None,
        };
        let [compare] = writes.get(&locals.owner(compared))?[..] else { return None };
        let (name, operands) = operator(routine, compare)?;
        let (counter, bound) = match (name, goes_on_if, operands) {
            ("core.less" | "bool.less", true, [counter, bound]) => (*counter, *bound),
            ("core.less_equal" | "bool.less_equal", false, [bound, counter]) => (*counter, *bound),
            _ => return None,
        };
        let integer = |value: ValueId| integer(routine, locals, value);
        let (counter, bound) = (integer(counter)?, integer(bound)?);
        let [update] = writes.get(&counter)?[..] else { return None };
        let (name, operands) = operator(routine, update)?;
        let step = match (name, operands) {
            ("math.add" | "python.add", [a, b]) if locals.owner(*a) == counter => integer(*b)?,
            ("math.add" | "python.add", [a, b]) if locals.owner(*b) == counter => integer(*a)?,
            _ => return None,
        };
        let is_kept = |value: &ValueId| !writes.contains_key(value);
        // On every way back the counter has been compared as it is: behind its sum, in the same round.
        let is_in_order = update < condition
            && condition <= compare
            && !is_jumped_over(routine, first, update, condition)
            && !is_jumped_over(routine, first, compare, last);
        (is_in_order && is_kept(&bound) && is_kept(&step)).then_some(Loop {
            routine,
            locals,
            literals,
            first,
            condition,
            last,
            writes,
            counter,
            bound,
            step,
            update,
        })
    }

    fn unchecked(self) -> Option<Unchecked> {
        let (mut tests, mut elements) = (Vec::new(), HashSet::new());
        let body = &self.routine.body;
        let changing = (self.first..=self.last).filter(|ip| changes_arrays(self.routine, *ip));
        let written = changing.flat_map(|ip| body.writes(&body.instructions()[ip]));
        let changed: HashSet<ValueId> = written.map(|value| self.locals.owner(*value)).collect();
        for ip in self.first..=self.last {
            let Instruction::Operator { operator, operands, .. } = self.routine.body.instructions()[ip]
            else {
                continue;
            };
            let operands = self.routine.body.list(operands);
            let indices = match self.routine.body.operators()[operator as usize].primitive() {
                Some(Primitive::Get(..)) => &operands[1..],
                Some(Primitive::Set(..)) => &operands[2..],
                _ => continue,
            };
            let array = self.locals.owner(operands[0]);
            if changed.contains(&array) {
                continue;
            }
            let of_axes = indices
                .iter()
                .enumerate()
                .map(|(axis, index)| self.inside(ip, *index, &format!("{array}_n{axis}")));
            if let Some(of_axes) = of_axes.collect::<Option<Vec<String>>>() {
                elements.insert(ip);
                for test in of_axes {
                    if !tests.contains(&test) {
                        tests.push(test);
                    }
                }
            }
        }
        let (step, bound) = (self.local(self.step), self.local(self.bound));
        tests.push(format!("{step} >= 0 && {bound} <= INT64_MAX - {step}"));
        (!elements.is_empty()).then(|| Unchecked {
            entry: self.first - 1,
            condition: self.condition,
            last: self.last,
            test: tests.join(" && "),
            elements,
        })
    }

    /// When an index is inside of an axis wherever the loop reads it.
    fn inside(&self, ip: usize, index: ValueId, size: &str) -> Option<String> {
        let owner = integer(self.routine, self.locals, index)?;
        let kept = |local: &str| format!("(uint64_t){local} < (uint64_t){size}");
        let Some(writes) = self.writes.get(&owner) else { return Some(kept(&self.local(owner))) };
        let away = match writes[..] {
            [_] if owner == self.counter => (ip < self.update).then_some(0)?,
            [at] if at < ip && at < self.update && !is_jumped_over(self.routine, self.first, at, ip) => {
                self.away(at)?
            }
            _ => return None,
        };
        let (counter, bound) = (self.local(self.counter), self.local(self.bound));
        Some(format!("{counter} >= {} && {bound} <= {size} - {away}", -away))
    }

    /// How far from the counter a sum or difference is.
    fn away(&self, at: usize) -> Option<i64> {
        let (name, operands) = operator(self.routine, at)?;
        let [a, b] = operands else { return None };
        let literal = |value: &ValueId| match self.literals.get(value) {
            Some(ScalarValue::Int64(x)) if (-LARGEST..=LARGEST).contains(x) => Some(*x),
            _ => None,
        };
        let is_counter = |value: &ValueId| self.locals.owner(*value) == self.counter;
        match name {
            "math.add" | "python.add" if is_counter(a) => literal(b),
            "math.add" | "python.add" if is_counter(b) => literal(a),
            "math.subtract" | "python.subtract" if is_counter(a) => literal(b).map(|x| -x),
            _ => None,
        }
    }

    fn local(&self, value: ValueId) -> String {
        self.locals.only(value)
    }
}

/// The owner of an INT64; `None` of one that is a part of a value, and has not its only local.
fn integer(routine: &Routine, locals: &Locals<'_>, value: ValueId) -> Option<ValueId> {
    let owner = locals.owner(value);
    (*routine.slot(owner).qtype() == INT64).then_some(owner)
}

/// The name of the operator of an instruction on INT64 values, and its operands.
fn operator(routine: &Routine, ip: usize) -> Option<(&str, &[ValueId])> {
    let Instruction::Operator { operator, operands, .. } = routine.body.instructions()[ip] else {
        return None;
    };
    let overload = &routine.body.operators()[operator as usize];
    let is_of_integers = overload.args().iter().all(|qtype| *qtype == INT64);
    is_of_integers.then(|| (&**overload.name(), routine.body.list(operands)))
}

/// True if a jump of the loop leads over an instruction to somewhere up to another.
fn is_jumped_over(routine: &Routine, first: usize, at: usize, until: usize) -> bool {
    let body = &routine.body;
    (first..at).any(|ip| body.target(ip).is_some_and(|target| target > at && target <= until))
}
