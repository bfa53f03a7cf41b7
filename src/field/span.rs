//! Spans: the points along a dimension that a statement reads a field at, by bounds, before any size is known.
//!
//! ```text
//! v[I=1:n] = concat_where(I < 3, u[I-1], w)      u on 0 : min(n - 1, 2),  w on 3 : n
//! ```

use crate::field::expression::{FieldBound, IndexComparison, IndexCondition, IndexTerm};

/// Points along a dimension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldSpan {
    /// True if the points of the target, which nothing says, are bounds as well.
    pub of_all: bool,
    /// The first point is the greatest of these.
    pub first: Vec<FieldBound>,
    /// One past the last point is the least of these.
    pub end: Vec<FieldBound>,
}

/// The part of a dimension where a condition holds, or where it does not; larger if it is no range.
#[derive(Clone, Debug, Default)]
pub(super) struct ConditionPart {
    first: Vec<FieldBound>,
    end: Vec<FieldBound>,
    /// Points that are left out.
    without: Vec<FieldBound>,
}

impl ConditionPart {
    fn both(mut self, other: ConditionPart) -> ConditionPart {
        self.first.extend(other.first);
        self.end.extend(other.end);
        self.without.extend(other.without);
        self
    }

    /// The parts where a condition holds and where it does not.
    pub fn of(condition: &IndexCondition) -> [ConditionPart; 2] {
        let from = |bound: FieldBound| ConditionPart { first: vec![bound], ..ConditionPart::default() };
        let below = |bound: FieldBound| ConditionPart { end: vec![bound], ..ConditionPart::default() };
        let equal = |bound: &FieldBound| {
            let others = ConditionPart { without: vec![bound.clone()], ..ConditionPart::default() };
            [from(bound.clone()).both(below(bound.moved(1))), others]
        };
        let mut stack: Vec<[ConditionPart; 2]> = Vec::new();
        for term in &condition.terms {
            let parts = match term {
                IndexTerm::Compare(comparison, bound) => match comparison {
                    IndexComparison::Lt => [below(bound.clone()), from(bound.clone())],
                    IndexComparison::Le => [below(bound.moved(1)), from(bound.moved(1))],
                    IndexComparison::Gt => [from(bound.moved(1)), below(bound.moved(1))],
                    IndexComparison::Ge => [from(bound.clone()), below(bound.clone())],
                    IndexComparison::Eq => equal(bound),
                    IndexComparison::Ne => {
                        let [point, others] = equal(bound);
                        [others, point]
                    }
                },
                IndexTerm::And | IndexTerm::Or => {
                    let [right, left] = [(); 2].map(|()| stack.pop().unwrap_or_default());
                    let ([a, not_a], [b, not_b]) = (left, right);
                    match term {
                        IndexTerm::And => [a.both(b), ConditionPart::default()],
                        _ => [ConditionPart::default(), not_a.both(not_b)],
                    }
                }
            };
            stack.push(parts);
        }
        stack.pop().unwrap_or_default()
    }
}

/// Adds a bound to those of which the greatest counts, or by `sign` -1 the least.
fn narrow(bounds: &mut Vec<FieldBound>, new: &FieldBound, sign: i128) {
    let beyond = |other: &FieldBound| new.beyond(other).map(|by| sign * by);
    if bounds.iter().any(|known| beyond(known).is_some_and(|by| by <= 0)) {
        return;
    }
    bounds.retain(|known| beyond(known).is_none());
    bounds.push(new.clone());
}

impl FieldSpan {
    /// True if there is no point, whatever scalars are.
    fn is_empty(&self) -> bool {
        self.first.iter().any(|first| self.end.iter().any(|end| end.beyond(first).is_some_and(|by| by <= 0)))
    }

    /// The points in a part of the dimension; nothing if there are none.
    pub(super) fn within(&self, part: &ConditionPart) -> Option<FieldSpan> {
        let mut span = self.clone();
        part.first.iter().for_each(|bound| narrow(&mut span.first, bound, 1));
        part.end.iter().for_each(|bound| narrow(&mut span.end, bound, -1));
        for point in &part.without {
            let behind = point.moved(1);
            if !span.of_all && span.first.iter().any(|first| first.beyond(point) == Some(0)) {
                narrow(&mut span.first, &behind, 1);
            }
            if !span.of_all && span.end.iter().any(|end| end.beyond(&behind) == Some(0)) {
                narrow(&mut span.end, point, -1);
            }
        }
        (!span.is_empty()).then_some(span)
    }

    /// The points moved.
    pub(super) fn moved(&self, by: i64) -> FieldSpan {
        let moved = |bounds: &[FieldBound]| bounds.iter().map(|bound| bound.moved(by)).collect();
        FieldSpan { of_all: self.of_all, first: moved(&self.first), end: moved(&self.end) }
    }

    /// One span for both, with what lies between; nothing if bounds cannot be compared.
    pub(super) fn joined(&self, other: &FieldSpan) -> Option<FieldSpan> {
        let lower = |a: &[FieldBound], b: &[FieldBound]| {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| b.beyond(a).is_some_and(|by| by >= 0))
        };
        let one = |a: &Vec<FieldBound>, b: &Vec<FieldBound>, a_first: bool| match (lower(a, b), lower(b, a)) {
            (true, _) => Some(if a_first { a.clone() } else { b.clone() }),
            (_, true) => Some(if a_first { b.clone() } else { a.clone() }),
            _ => None,
        };
        if self.of_all != other.of_all {
            return None;
        }
        let (first, end) = (one(&self.first, &other.first, true)?, one(&self.end, &other.end, false)?);
        Some(FieldSpan { of_all: self.of_all, first, end })
    }
}
