//! Ranges: what integers can be, and what therefore cannot raise.
//!
//! ```text
//! for i in range(1, n - 1):     i is at least 1, and below n - 1: below the greatest integer
//!     … a[i - 1] + a[i + 1]     neither i - 1 nor i + 1 overflows
//! for i in range(len(a)): a[i]  0 <= i < length of a: inside
//! ```
//!
//! One walk down the dominator tree. A comparison narrows its operands where its branch alone leads. A phi of a loop has
//! its first value as one bound, if every round adds to it (or takes away) and cannot wrap around: because the
//! addition is checked, or because the loop ends before the greatest integer.
//!
//! Afterwards an operator whose result provably fits is the one that wraps around, which may be computed anywhere; an
//! operator that provably raises nothing *here*, as a read inside of an array, is noted with the block where that begins
//! to hold.

use super::interval::Interval;
use super::{int_literal, lengths_stay, operator};
use crate::function::low::{LowFunction, LowOp};
use crate::ssa::{BlockId, Dominators, InstId, SsaOp, Tail};
use cembra_vm::value::ScalarType;
use cembra_vm::value::qtype::{BOOLEAN, INT32, INT64};
use cembra_vm::value::{QType, ScalarValue, Value};
use hashbrown::HashMap;

/// Most comparisons that are looked at for an index, the nearest first.
const MOST_COMPARISONS: usize = 64;

/// By instruction that cannot raise, where that begins to hold: a block that dominates it.
pub(super) type Proofs = HashMap<InstId, BlockId>;

/// Finds what cannot raise.
pub(super) fn prove(function: &mut LowFunction) -> Proofs {
    let (dominators, lengths_stay) = (Dominators::new(&function.flow), lengths_stay(&function.flow));
    let count = function.flow.insts.len();
    let mut place = vec![usize::MAX; function.flow.blocks.len()];
    let order = function.flow.reverse_postorder();
    order.iter().enumerate().for_each(|(at, block)| place[block.index()] = at);
    let mut home = vec![BlockId(0); count];
    for block in function.flow.block_ids() {
        function.flow.block(block).insts.iter().for_each(|inst| home[inst.index()] = block);
    }
    let mut ranges = Ranges {
        function,
        dominators,
        lengths_stay,
        home,
        of: vec![Interval::ALL; count],
        since: vec![BlockId(0); count],
        narrowed: Vec::new(),
        below: Vec::new(),
        proofs: Proofs::new(),
    };
    let mut work = vec![Visit::Enter(BlockId(0))];
    while let Some(visit) = work.pop() {
        match visit {
            Visit::Enter(block) => {
                work.push(Visit::Leave(ranges.narrowed.len(), ranges.below.len()));
                ranges.block(block);
                // Blocks where ways meet come after those ways.
                let mut children = ranges.dominators.children(block).to_vec();
                children.sort_unstable_by_key(|child| std::cmp::Reverse(place[child.index()]));
                work.extend(children.into_iter().map(Visit::Enter));
            }
            Visit::Leave(narrowed, below) => ranges.leave(narrowed, below),
        }
    }
    ranges.proofs
}

enum Visit {
    Enter(BlockId),
    /// Takes back what the block knew: lengths of the lists before it.
    Leave(usize, usize),
}

struct Ranges<'f> {
    function: &'f mut LowFunction,
    dominators: Dominators,
    lengths_stay: bool,
    /// The block of each instruction.
    home: Vec<BlockId>,
    /// What each value can be, where the walk is.
    of: Vec<Interval>,
    /// Where each value was narrowed last; the entry if never.
    since: Vec<BlockId>,
    /// What values could be before they were narrowed, and since when.
    narrowed: Vec<(InstId, Interval, BlockId)>,
    /// Pairs of which the first is below the second, and since when.
    below: Vec<(InstId, InstId, BlockId)>,
    proofs: Proofs,
}

/// What is known of a result.
struct Known {
    range: Interval,
    /// True if the operator cannot raise here.
    is_total: bool,
}

impl Known {
    fn range(range: Interval) -> Known {
        Known { range, is_total: false }
    }
}

impl Ranges<'_> {
    fn block(&mut self, block: BlockId) {
        if let [from] = self.function.flow.block(block).predecessors[..] {
            self.narrow(from, block);
        }
        for inst in self.function.flow.block(block).insts.clone() {
            let known = self.result(inst, block);
            self.of[inst.index()] = known.range;
            if known.is_total {
                self.note(inst);
            }
        }
    }

    /// Notes that an operator cannot raise.
    fn note(&mut self, inst: InstId) {
        let proof = self.proof(inst);
        let SsaOp::Do(LowOp::Operator(name, raises)) = &mut self.function.flow.insts[inst.index()].op else {
            return;
        };
        match wrapping(name) {
            Some(other) => *name = other,
            None if *raises => drop(self.proofs.insert(inst, proof)),
            None => {}
        }
        *raises = false;
    }

    /// Where what is known of the operands begins to hold: operands that were narrowed, and indices below a length.
    fn proof(&self, inst: InstId) -> BlockId {
        let args = &self.function.flow.inst(inst).args;
        let narrowed = args.iter().map(|arg| self.since[arg.index()]);
        let compared =
            args.iter().filter_map(|arg| self.nearest(|less, _| less == *arg)).map(|found| found.2);
        narrowed.chain(compared).max_by_key(|block| self.dominators.position(*block)).unwrap_or(BlockId(0))
    }

    /// The nearest comparison of a kind.
    fn nearest(&self, wanted: impl Fn(InstId, InstId) -> bool) -> Option<(InstId, InstId, BlockId)> {
        let near = self.below.iter().rev().take(MOST_COMPARISONS);
        near.copied().find(|(less, more, _)| wanted(*less, *more))
    }

    fn leave(&mut self, narrowed: usize, below: usize) {
        for (value, range, since) in self.narrowed.drain(narrowed..).rev() {
            self.of[value.index()] = range;
            self.since[value.index()] = since;
        }
        self.below.truncate(below);
    }

    /// Takes in what the branch at the end of a block says about this way out of it.
    fn narrow(&mut self, from: BlockId, to: BlockId) {
        let flow = &self.function.flow;
        let Tail::Branch { condition, then, orelse } = flow.block(from).tail else { return };
        let Some(name) = operator(flow, condition).filter(|_| then != orelse) else { return };
        let [x, y] = flow.inst(condition).args[..] else { return };
        let are_integers = [x, y].iter().all(|value| self.function.types[value.index()] == Some(INT64));
        match (name, then == to) {
            _ if !are_integers => {}
            ("bool.less", true) => self.order(x, y, 1, to),
            ("bool.less", false) => self.order(y, x, 0, to),
            ("bool.less_equal", true) => self.order(x, y, 0, to),
            ("bool.less_equal", false) => self.order(y, x, 1, to),
            ("bool.equal", true) | ("bool.not_equal", false) => {
                self.order(x, y, 0, to);
                self.order(y, x, 0, to);
            }
            _ => {}
        }
    }

    /// The first is at most the second, less a distance of 0 or 1.
    fn order(&mut self, less: InstId, more: InstId, distance: i64, at: BlockId) {
        let high = self.of[more.index()].high.saturating_sub(distance);
        let low = self.of[less.index()].low.saturating_add(distance);
        self.set(less, Interval { low: i64::MIN, high }, at);
        self.set(more, Interval { low, high: i64::MAX }, at);
        if distance == 1 {
            self.below.push((less, more, at));
        }
    }

    fn set(&mut self, value: InstId, known: Interval, at: BlockId) {
        let before = self.of[value.index()];
        let narrower = before.meet(known);
        if narrower != before {
            self.narrowed.push((value, before, self.since[value.index()]));
            (self.of[value.index()], self.since[value.index()]) = (narrower, at);
        }
    }

    /// What an instruction gives.
    fn result(&self, inst: InstId, block: BlockId) -> Known {
        let row = self.function.flow.inst(inst);
        let is_integer = self.function.types[inst.index()] == Some(INT64);
        let of = |position: usize| self.of[row.args[position].index()];
        let name = match &row.op {
            SsaOp::Phi if is_integer => return Known::range(self.phi(inst, block)),
            SsaOp::Do(LowOp::Literal(Value::Scalar(ScalarValue::Int64(value)))) => {
                return Known::range(Interval::one(*value));
            }
            SsaOp::Do(LowOp::Operator(name, _)) => *name,
            _ => return Known::range(Interval::ALL),
        };
        if name == "nd.get" {
            return Known { range: self.element(inst), is_total: self.is_inside(inst) };
        }
        if !is_integer {
            return Known::range(Interval::ALL);
        }
        let fitting = |range: Option<Interval>| Known {
            range: range.unwrap_or(Interval::ALL),
            is_total: range.is_some(),
        };
        match name {
            "python.add" | "math.add" => fitting(of(0).combine(of(1), |x, y| x + y)),
            "python.subtract" | "math.subtract" => fitting(of(0).combine(of(1), |x, y| x - y)),
            "python.multiply" | "math.multiply" => fitting(of(0).combine(of(1), |x, y| x * y)),
            "python.neg" | "math.neg" => fitting(Interval::one(0).combine(of(0), |x, y| x - y)),
            "python.floordiv" => {
                let is_total = !(of(1).has(0) || of(1).has(-1) && of(0).has(i64::MIN));
                // By a positive divisor; the extremes are at the ends of both.
                let quotient = |x: i128, y: i128| x.div_euclid(y);
                let range = (of(1).low > 0).then(|| of(0).combine(of(1), quotient)).flatten();
                Known { range: range.unwrap_or(Interval::ALL), is_total }
            }
            "python.mod" if of(1).low > 0 => {
                Known { range: Interval { low: 0, high: of(1).high - 1 }, is_total: true }
            }
            "python.mod" => Known { range: Interval::ALL, is_total: !of(1).has(0) },
            "python.wrapping_shift_right" if (0..64).contains(&of(1).low) && of(1).low == of(1).high => {
                Known::range(Interval { low: of(0).low >> of(1).low, high: of(0).high >> of(1).low })
            }
            "bitwise.bitwise_and" if of(1).low >= 0 => Known::range(Interval { low: 0, high: of(1).high }),
            "core._to_int64" => Known::range(match &self.function.types[row.args[0].index()] {
                Some(of) if *of == BOOLEAN => Interval { low: 0, high: 1 },
                Some(of) if *of == INT32 => INT32_RANGE,
                _ => Interval::ALL,
            }),
            "nd.length" => Known::range(Interval { low: 0, high: i64::MAX >> 1 }),
            _ => Known::range(Interval::ALL),
        }
    }

    /// What an element of its type can be.
    fn element(&self, inst: InstId) -> Interval {
        let array = self.function.flow.inst(inst).args[0];
        let Some(QType::NdArray(array)) = &self.function.types[array.index()] else { return Interval::ALL };
        let bits = |bits: u32| Interval { low: 0, high: (1 << bits) - 1 };
        match array.element() {
            ScalarType::Uint8 => bits(8),
            ScalarType::Uint16 => bits(16),
            ScalarType::Uint32 => bits(32),
            ScalarType::Int8 => Interval { low: i64::from(i8::MIN), high: i64::from(i8::MAX) },
            ScalarType::Int16 => Interval { low: i64::from(i16::MIN), high: i64::from(i16::MAX) },
            _ => Interval::ALL,
        }
    }

    /// True if every index is at least 0 and below the length of its axis. The element of 64 bits without sign may be
    /// beyond INT64.
    fn is_inside(&self, inst: InstId) -> bool {
        let flow = &self.function.flow;
        let [array, indices @ ..] = &flow.inst(inst).args[..] else { return false };
        let is_readable = match &self.function.types[array.index()] {
            Some(QType::NdArray(of)) => of.element() != ScalarType::Uint64,
            _ => false,
        };
        let is_length = |value: InstId, axis: usize| {
            let args = &flow.inst(value).args;
            operator(flow, value) == Some("nd.length")
                && args[0] == *array
                && int_literal(flow, args[1]) == Some(axis as i64)
        };
        let is_below = |index: InstId, axis: usize| {
            self.nearest(|less, more| less == index && is_length(more, axis)).is_some()
        };
        let mut axes = indices.iter().enumerate();
        self.lengths_stay
            && is_readable
            && axes.all(|(axis, index)| self.of[index.index()].low >= 0 && is_below(*index, axis))
    }

    fn phi(&self, phi: InstId, block: BlockId) -> Interval {
        let flow = &self.function.flow;
        let ways = flow.inst(phi).args.iter().zip(&flow.block(block).predecessors);
        let (rounds, entries): (Vec<_>, Vec<_>) =
            ways.partition(|(_, from)| self.dominators.dominates(block, **from));
        let first = entries.iter().map(|(arg, _)| self.of[arg.index()]).reduce(Interval::union);
        let Some(first) = first else { return Interval::ALL };
        let mut range = first;
        for (arg, _) in rounds {
            match self.step(*arg, phi, block) {
                _ if *arg == phi => {}
                Some(1..) => range.high = i64::MAX,
                Some(_) => range.low = i64::MIN,
                None => return Interval::ALL,
            }
        }
        range
    }

    /// What a round adds to a phi, if it cannot wrap around.
    fn step(&self, next: InstId, phi: InstId, header: BlockId) -> Option<i64> {
        let flow = &self.function.flow;
        let name = operator(flow, next)?;
        let (x, y) = match flow.inst(next).args[..] {
            [x, y] => (x, y),
            _ => return None,
        };
        let literal = |value: InstId| int_literal(flow, value);
        let (is_checked, added) = match (name, x == phi, y == phi) {
            ("python.add", true, _) => (true, literal(y)?),
            ("python.add", _, true) => (true, literal(x)?),
            ("python.subtract", true, _) => (true, literal(y)?.checked_neg()?),
            ("math.add", true, _) => (false, literal(y)?),
            ("math.add", _, true) => (false, literal(x)?),
            ("math.subtract", true, _) => (false, literal(y)?.checked_neg()?),
            _ => return None,
        };
        let ends_before = || match flow.block(header).tail {
            Tail::Branch { condition, then, .. } if operator(flow, condition) == Some("bool.less") => {
                let bounded = if added == 1 { 0 } else { 1 };
                flow.block(then).predecessors.len() == 1
                    && added.abs() == 1
                    && flow.inst(condition).args[bounded] == phi
                    && self.dominators.dominates(then, self.home[next.index()])
            }
            _ => false,
        };
        (is_checked || ends_before()).then_some(added)
    }
}

/// The integers of an INT32.
const INT32_RANGE: Interval = Interval { low: i32::MIN as i64, high: i32::MAX as i64 };

/// The operator that wraps around where another raises.
fn wrapping(name: &str) -> Option<&'static str> {
    match name {
        "python.add" => Some("math.add"),
        "python.subtract" => Some("math.subtract"),
        "python.multiply" => Some("math.multiply"),
        "python.neg" => Some("math.neg"),
        _ => None,
    }
}
