//! Affine forms: integers of a loop as a multiple of its counter and values that the loop leaves as they are.
//!
//! ```text
//! for i in range(n):             i is the counter, k is left as it is
//!     x[2*i + k - 1]             2 i + 1 k - 1
//! ```
//!
//! Factors are small, and values are compared with [`AFFINE_RANGE`] before the loop: nothing overflows on the way to an index, so that sums
//! and products need no check of their own.

use crate::array::recipe::Recorded;
use crate::operator::primitive::Primitive;
use crate::operator::{Kernel, Overload};
use crate::program::instruction::{Instruction, ValueId};
use crate::program::program::{Owners, Routine};
use crate::program::written::Written;
use crate::strip::{BinaryOp, Comparison, Lane, List, Op, Term};
use crate::value::qtype::INT64;
use crate::value::{ScalarValue, Value};
use hashbrown::HashMap;
use std::ops::RangeInclusive;

/// Values of forms are at least -`AFFINE_RANGE` and below `AFFINE_RANGE`.
pub const AFFINE_RANGE: i64 = 1 << 40;

/// Factors are below this, and above its negative.
const MOST: i64 = 1 << 12;

/// Values of a form, at most.
const MOST_VALUES: usize = 4;

/// Instructions from an index back to the counter, at most.
const DEEPEST: usize = 8;

/// `scale` times the counter, as it is where the turn begins, + the values by their factors + a constant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Affine {
    /// The factor of the counter.
    pub scale: i64,
    /// Values with their factors. One with the factor 0 had another one on the way to the form: it has to be in range as well.
    pub values: Vec<(ValueId, i64)>,
    /// The constant.
    pub constant: i64,
}

impl Affine {
    fn constant(constant: i64) -> Affine {
        Affine { constant, ..Affine::default() }
    }

    fn plus(mut self, other: Affine) -> Affine {
        self.scale += other.scale;
        self.constant = self.constant.saturating_add(other.constant);
        for (value, factor) in other.values {
            match self.values.iter_mut().find(|(known, _)| *known == value) {
                Some((_, known)) => *known += factor,
                None => self.values.push((value, factor)),
            }
        }
        self
    }

    fn times(mut self, factor: i64) -> Affine {
        self.scale = self.scale.saturating_mul(factor);
        self.constant = self.constant.saturating_mul(factor);
        self.values.iter_mut().for_each(|(_, known)| *known = known.saturating_mul(factor));
        self
    }

    /// True if neither factors nor the constant are large.
    fn is_small(&self) -> bool {
        let is_factor = |factor: i64| -MOST < factor && factor < MOST;
        self.values.len() <= MOST_VALUES
            && is_factor(self.scale)
            && self.values.iter().all(|(_, factor)| is_factor(*factor))
            && (-AFFINE_RANGE..AFFINE_RANGE).contains(&self.constant)
    }
}

/// The counter of a loop: the one value that a turn adds the same to.
#[derive(Clone, Copy, Debug)]
pub struct Counter {
    /// The value.
    pub owner: ValueId,
    /// The instruction that adds the step.
    pub at: usize,
    /// What it adds.
    pub step: CounterStep,
}

/// What a turn adds to the counter.
#[derive(Clone, Copy, Debug)]
pub enum CounterStep {
    /// A number that is not 0.
    Literal(i64),
    /// A value that the loop leaves as it is, and that is above 0 where the loop runs without checks.
    Value(ValueId),
}

/// An operation on two INT64 that keeps forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntegerOperation {
    /// A sum.
    Plus,
    /// A difference.
    Minus,
    /// A product.
    Times,
}

/// What loops of a routine are made of: its literals, and where it writes values.
#[derive(Debug)]
pub struct Forms<'r> {
    /// The routine.
    pub routine: &'r Routine,
    /// Whose bytes its values have.
    pub owners: &'r Owners,
    /// Where it writes them.
    pub written: &'r Written,
    literals: HashMap<ValueId, i64>,
}

impl<'r> Forms<'r> {
    /// Those of a routine.
    pub fn new(routine: &'r Routine, owners: &'r Owners, written: &'r Written) -> Forms<'r> {
        let literals = routine.literals.iter().filter_map(|(value, literal)| match literal {
            Value::Scalar(ScalarValue::Int64(literal)) => Some((owners.same_bytes(*value), *literal)),
            _ => None,
        });
        Forms { routine, owners, written, literals: literals.collect() }
    }

    /// An INT64 that is a literal.
    pub fn literal(&self, value: ValueId) -> Option<i64> {
        self.literals.get(&self.owners.same_bytes(value)).copied()
    }

    /// The form of a value where an instruction of a loop reads it, and the instructions that compute it. Jumps of the loop lead forward,
    /// but for the one back.
    pub fn of(
        &self,
        within: &RangeInclusive<usize>,
        value: ValueId,
        read: usize,
        counter: Option<&Counter>,
    ) -> Option<(Affine, Vec<usize>)> {
        let mut search = Search { forms: self, within, counter, computed: Vec::new() };
        let form = search.find(value, read, DEEPEST)?;
        Some((form, search.computed))
    }

    /// The operator of an instruction and its operands.
    pub(super) fn operator(&self, ip: usize) -> Option<(&'r Overload, &'r [ValueId])> {
        let body = &self.routine.body;
        let Instruction::Operator { operator, operands, .. } = body.instructions()[ip] else { return None };
        Some((&body.operators()[operator as usize], body.list(operands)))
    }

    /// What an instruction computes of two INT64.
    pub fn operation(&self, ip: usize) -> Option<IntegerOperation> {
        let (overload, _) = self.operator(ip)?;
        match overload.primitive() {
            Some(Primitive::CheckedAdd) => return Some(IntegerOperation::Plus),
            Some(Primitive::CheckedSubtract) => return Some(IntegerOperation::Minus),
            Some(Primitive::CheckedMultiply) => return Some(IntegerOperation::Times),
            _ => {}
        }
        match single_operation(overload)? {
            Op::Binary(BinaryOp::Add, ..) => Some(IntegerOperation::Plus),
            Op::Binary(BinaryOp::Sub, ..) => Some(IntegerOperation::Minus),
            Op::Binary(BinaryOp::Mul, ..) => Some(IntegerOperation::Times),
            _ => None,
        }
    }

    /// How an instruction compares two INT64.
    pub(super) fn comparison(&self, ip: usize) -> Option<Comparison> {
        match single_operation(self.operator(ip)?.0)? {
            Op::Compare(comparison, ..) => Some(comparison),
            _ => None,
        }
    }
}

/// The operation of an operator on two INT64 whose recipe is that one, on both in their order.
fn single_operation(overload: &Overload) -> Option<Op> {
    let is_known = matches!(overload.kernel(), Kernel::Scalar(_)) && overload.primitive().is_none();
    if !is_known || overload.args().len() != 2 || overload.args().iter().any(|qtype| *qtype != INT64) {
        return None;
    }
    let mut list = List::new();
    let operands = [0, 1].map(|number| {
        let cells = Some(list.column(number, Lane::I64));
        Recorded { cells, present: None }
    });
    let recorded = overload.record(&mut list, &operands)?;
    let op = list.op(recorded.cells.or(recorded.present)?);
    let is_operand = |term: Term, number: u16| list.op(term) == Op::Column(number);
    match op {
        Op::Binary(_, x, y) | Op::Compare(_, x, y) => (is_operand(x, 0) && is_operand(y, 1)).then_some(op),
        _ => None,
    }
}

/// The search for one form.
struct Search<'s, 'r> {
    forms: &'s Forms<'r>,
    within: &'s RangeInclusive<usize>,
    counter: Option<&'s Counter>,
    computed: Vec<usize>,
}

impl Search<'_, '_> {
    fn find(&mut self, value: ValueId, read: usize, depth: usize) -> Option<Affine> {
        let forms = self.forms;
        if *forms.routine.slot(value).qtype() != INT64 {
            return None;
        }
        if let Some(literal) = forms.literal(value) {
            return Some(Affine::constant(literal)).filter(Affine::is_small);
        }
        let owner = forms.owners.owner(value);
        if let Some(counter) = self.counter.filter(|counter| counter.owner == owner) {
            let constant = match counter.step {
                _ if read <= counter.at => 0,
                CounterStep::Literal(step) => step,
                CounterStep::Value(_) => return None,
            };
            return Some(Affine { scale: 1, constant, ..Affine::default() });
        }
        let mut writes = forms.written.within_loop(owner, self.within);
        let at = match (writes.next(), writes.next()) {
            (None, _) => return Some(Affine { values: vec![(value, 1)], ..Affine::default() }),
            (Some(at), None) if depth > 0 && at < read && !self.is_jumped_over(at, read) => at,
            _ => return None,
        };
        let (_, operands) = forms.operator(at)?;
        let mut of = |number: usize| self.find(*operands.get(number)?, at, depth - 1);
        let form = match forms.operation(at)? {
            IntegerOperation::Plus => of(0)?.plus(of(1)?),
            IntegerOperation::Minus => of(0)?.plus(of(1)?.times(-1)),
            IntegerOperation::Times => match (of(0)?, of(1)?) {
                (form, Affine { scale: 0, values, constant }) if values.is_empty() => form.times(constant),
                (Affine { scale: 0, values, constant }, form) if values.is_empty() => form.times(constant),
                _ => return None,
            },
        };
        self.computed.push(at);
        Some(form).filter(Affine::is_small)
    }

    /// True if a turn may come to an instruction without one before it.
    fn is_jumped_over(&self, at: usize, read: usize) -> bool {
        let body = &self.forms.routine.body;
        let leads_between = |ip: usize| body.target(ip).is_some_and(|target| target > at && target <= read);
        (*self.within.start()..at).any(leads_between)
    }
}
