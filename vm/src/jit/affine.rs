//! Affine forms: integers of a loop as a multiple of its counter and values that the loop leaves as they are.
//!
//! ```text
//! for i in range(n):             i is the counter, k is left as it is
//!     x[2*i + k - 1]             2 i + 1 k - 1
//! ```
//!
//! Factors are small, and values are compared with [`RANGE`] before the loop: nothing overflows on the way to an index, so that sums
//! and products need no check of their own.

use crate::jit::emitter::Emitter;
use crate::jit::loops::Written;
use crate::jit::recipes::{self, Plain};
use crate::operator::primitive::Primitive;
use crate::program::{Instruction, ValueId};
use crate::strip::BinaryOp;
use crate::value::ScalarValue;
use crate::value::qtype::INT64;
use std::ops::RangeInclusive;

/// Values of forms are at least -`RANGE` and below `RANGE`.
pub(super) const RANGE: i64 = 1 << 40;

/// Factors are below this, and above its negative.
const MOST: i64 = 1 << 12;

/// Values of a form, at most.
const MOST_VALUES: usize = 4;

/// Instructions from an index back to the counter, at most.
const DEEPEST: usize = 8;

/// `scale` times the counter, as it is where the turn begins, + the values by their factors + a constant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Affine {
    pub(super) scale: i64,
    pub(super) values: Vec<(ValueId, i64)>,
    pub(super) constant: i64,
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
        self.values.retain(|(_, factor)| *factor != 0);
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
            && (-RANGE..RANGE).contains(&self.constant)
    }
}

/// The counter of a loop: the one value that a turn adds the same to.
pub(super) struct Counter {
    pub(super) owner: ValueId,
    /// The instruction that adds the step.
    pub(super) at: usize,
    pub(super) step: Step,
}

/// What a turn adds to the counter.
#[derive(Clone, Copy)]
pub(super) enum Step {
    /// A number that is not 0.
    Literal(i64),
    /// A value that the loop leaves as it is, and that is above 0 where the loop runs without checks.
    Value(ValueId),
}

/// A loop in which forms are looked for.
pub(super) struct Forms<'l, 'r, 'f> {
    pub(super) e: &'l Emitter<'r, 'f>,
    pub(super) written: &'l Written,
    pub(super) within: RangeInclusive<usize>,
}

impl Forms<'_, '_, '_> {
    /// The form of a value where an instruction reads it, and the instructions that compute it.
    pub(super) fn of(
        &self,
        value: ValueId,
        read: usize,
        counter: Option<&Counter>,
    ) -> Option<(Affine, Vec<usize>)> {
        let mut computed = Vec::new();
        let form = self.find(value, read, counter, &mut computed, DEEPEST)?;
        Some((form, computed))
    }

    fn find(
        &self,
        value: ValueId,
        read: usize,
        counter: Option<&Counter>,
        computed: &mut Vec<usize>,
        depth: usize,
    ) -> Option<Affine> {
        if *self.e.routine.slot(value).qtype() != INT64 {
            return None;
        }
        if let Some(ScalarValue::Int64(literal)) = self.e.literal(value) {
            return Some(Affine::constant(*literal)).filter(Affine::is_small);
        }
        let owner = self.e.owner(value);
        if let Some(counter) = counter.filter(|counter| counter.owner == owner) {
            let constant = match counter.step {
                _ if read <= counter.at => 0,
                Step::Literal(step) => step,
                Step::Value(_) => return None,
            };
            return Some(Affine { scale: 1, constant, ..Affine::default() });
        }
        if !self.written.within(owner, &self.within) {
            return Some(Affine { values: vec![(value, 1)], ..Affine::default() });
        }
        if !self.e.is_defined_once(value) || depth == 0 {
            return None;
        }
        let at = self.written.only(owner).filter(|at| *at < read)?;
        let body = &self.e.routine.body;
        let operands = body.reads(&body.instructions()[at]);
        let mut of = |number: usize| self.find(operands[number], at, counter, computed, depth - 1);
        let form = match self.sum_or_product(at)? {
            Sum::Plus => of(0)?.plus(of(1)?),
            Sum::Minus => of(0)?.plus(of(1)?.times(-1)),
            Sum::Times => match (of(0)?, of(1)?) {
                (form, Affine { scale: 0, values, constant }) if values.is_empty() => form.times(constant),
                (Affine { scale: 0, values, constant }, form) if values.is_empty() => form.times(constant),
                _ => return None,
            },
        };
        computed.push(at);
        Some(form).filter(Affine::is_small)
    }

    /// What an instruction computes of integers.
    pub(super) fn sum_or_product(&self, at: usize) -> Option<Sum> {
        let body = &self.e.routine.body;
        let Instruction::Operator { operator, operands, .. } = body.instructions()[at] else { return None };
        let overload = &body.operators()[operator as usize];
        match overload.primitive() {
            Some(Primitive::CheckedAdd) => return Some(Sum::Plus),
            Some(Primitive::CheckedSubtract) => return Some(Sum::Minus),
            Some(Primitive::CheckedMultiply) => return Some(Sum::Times),
            Some(_) => return None,
            None => {}
        }
        match recipes::of_instruction(self.e, at)?.plain(self.e, body.list(operands))? {
            Plain::Binary(BinaryOp::Add) => Some(Sum::Plus),
            Plain::Binary(BinaryOp::Sub) => Some(Sum::Minus),
            Plain::Binary(BinaryOp::Mul) => Some(Sum::Times),
            _ => None,
        }
    }
}

/// An operation that keeps forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sum {
    Plus,
    Minus,
    Times,
}
