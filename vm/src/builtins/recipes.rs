//! Recipes of standard operators: what they compute of a row, for strips. Each says the same as the function beside it
//! in the operator's row.

use crate::operator::recipe::{Recorded, both};
use crate::strip::{BinaryOp, Comparison, Lane, List, Op, Term, UnaryOp};

/// An operation of floats; integers are that already.
pub(super) fn rounded(list: &mut List, x: Term, op: UnaryOp) -> Option<Term> {
    Some(if list.lane(x).is_float() { list.unary(op, x) } else { x })
}

/// Quotient rounded down by a literal above zero.
pub(super) fn floor_div(list: &mut List, x: &[Term]) -> Option<Term> {
    let divisor = divisor(list, x)?;
    Some(list.floor_div(x[0], divisor))
}

/// Remainder of that, which is not negative.
pub(super) fn floor_mod(list: &mut List, x: &[Term]) -> Option<Term> {
    let divisor = divisor(list, x)?;
    Some(list.floor_mod(x[0], divisor))
}

/// A second operand that is an integer above zero, and known.
fn divisor(list: &List, x: &[Term]) -> Option<i64> {
    let [_, y] = *x else { return None };
    let Op::Literal(bits) = list.op(y) else { return None };
    let divisor = match list.lane(y) {
        Lane::I64 => bits as i64,
        Lane::I32 => i64::from(bits as i32),
        _ => return None,
    };
    (divisor > 0).then_some(divisor)
}

/// The nearest integer, halves away from zero; integers are that already.
pub(super) fn round(list: &mut List, x: &[Term]) -> Option<Term> {
    let [x] = *x else { return None };
    Some(if list.lane(x).is_float() { list.round(x) } else { x })
}

/// The truth of a comparison; of truths, false is below true.
fn truth(list: &mut List, comparison: Comparison, x: Term, y: Term) -> Term {
    if list.lane(x) != Lane::Mask {
        return list.compare(comparison, x, y);
    }
    match comparison {
        Comparison::Equal => {
            let differ = list.binary(BinaryOp::Xor, x, y);
            list.not(differ)
        }
        Comparison::Less => list.binary(BinaryOp::AndNot, y, x),
        Comparison::LessEqual => {
            let is_above = list.binary(BinaryOp::AndNot, x, y);
            list.not(is_above)
        }
        _ => list.binary(BinaryOp::Xor, x, y),
    }
}

/// A comparison that gives BOOLEAN.
pub(super) fn compared(list: &mut List, comparison: Comparison, x: &[Term]) -> Option<Term> {
    let [x, y] = *x else { return None };
    Some(truth(list, comparison, x, y))
}

/// A comparison that gives a mask.
pub(super) fn mask(list: &mut List, comparison: Comparison, x: &[Recorded]) -> Option<Recorded> {
    let [x, y] = *x else { return None };
    let truth = truth(list, comparison, x.cells?, y.cells?);
    let mask = Recorded::mask(truth).only(list, x.present);
    Some(mask.only(list, y.present))
}

/// A test of one float that gives a mask.
pub(super) fn test(list: &mut List, x: &[Recorded], test: fn(&mut List, Term) -> Term) -> Option<Recorded> {
    let [x] = *x else { return None };
    let truth = test(list, x.cells?);
    Some(Recorded::mask(truth).only(list, x.present))
}

/// True for an infinity.
pub(super) fn is_infinite(list: &mut List, x: Term) -> Term {
    let (size, infinity) = (list.unary(UnaryOp::Abs, x), infinity(list, x));
    list.compare(Comparison::Equal, size, infinity)
}

/// True for neither an infinity nor NaN.
pub(super) fn is_finite(list: &mut List, x: Term) -> Term {
    let (size, infinity) = (list.unary(UnaryOp::Abs, x), infinity(list, x));
    list.compare(Comparison::Less, size, infinity)
}

fn infinity(list: &mut List, x: Term) -> Term {
    match list.lane(x) {
        Lane::F64 => list.f64(f64::INFINITY),
        _ => list.f32(f32::INFINITY),
    }
}

/// The value itself.
pub(super) fn same(_: &mut List, x: &[Recorded]) -> Option<Recorded> {
    let [x] = *x else { return None };
    Some(x)
}

/// Present where the mask is not.
pub(super) fn presence_not(list: &mut List, x: &[Recorded]) -> Option<Recorded> {
    let [x] = *x else { return None };
    let truth = match x.present {
        Some(present) => list.not(present),
        None => list.truth(false),
    };
    Some(Recorded::mask(truth))
}

/// The first where the mask is present.
pub(super) fn presence_and(list: &mut List, x: &[Recorded]) -> Option<Recorded> {
    let [x, mask] = *x else { return None };
    Some(x.only(list, mask.present))
}

/// The first where it is present, else the second.
pub(super) fn presence_or(list: &mut List, x: &[Recorded]) -> Option<Recorded> {
    let [x, y] = *x else { return None };
    let Some(present) = x.present else { return Some(x) };
    let cells = match (x.cells, y.cells) {
        (Some(of_x), Some(of_y)) => Some(list.select(present, of_x, of_y)),
        _ => None,
    };
    Some(Recorded { cells, present: y.present.map(|of_y| list.or(present, of_y)) })
}

/// The first where it and the mask are present, else the third.
pub(super) fn presence_and_or(list: &mut List, x: &[Recorded]) -> Option<Recorded> {
    let [x, mask, y] = *x else { return None };
    let x = x.only(list, mask.present);
    presence_or(list, &[x, y])
}

/// The second where the mask is present, else the third.
pub(super) fn select(list: &mut List, x: &[Recorded]) -> Option<Recorded> {
    let [mask, x, y] = *x else { return None };
    let Some(mask) = mask.present else { return Some(x) };
    let cells = match (x.cells, y.cells) {
        (Some(of_x), Some(of_y)) => Some(list.select(mask, of_x, of_y)),
        _ => None,
    };
    let present = match (x.present, y.present) {
        (None, None) => None,
        (of_x, of_y) => {
            let of_x = both(list, Some(mask), of_x);
            let not = list.not(mask);
            let of_y = both(list, Some(not), of_y);
            of_x.zip(of_y).map(|(x, y)| list.or(x, y))
        }
    };
    Some(Recorded { cells, present })
}

/// The second operand where the first one is true, else the third.
pub(super) fn chosen(list: &mut List, x: &[Term]) -> Option<Term> {
    let [condition, x, y] = *x else { return None };
    Some(list.select(condition, x, y))
}

/// Conjunction after Kleene: false wins over missing.
pub(super) fn logical_and(list: &mut List, x: &[Recorded]) -> Option<Recorded> {
    kleene(list, x, false)
}

/// Disjunction after Kleene: true wins over missing.
pub(super) fn logical_or(list: &mut List, x: &[Recorded]) -> Option<Recorded> {
    kleene(list, x, true)
}

/// A result that one operand decides if it has the `winner`; else both have to be there.
fn kleene(list: &mut List, x: &[Recorded], winner: bool) -> Option<Recorded> {
    let [x, y] = *x else { return None };
    let wins = |list: &mut List, x: Recorded| {
        let cells = x.cells?;
        let has = if winner { cells } else { list.not(cells) };
        Some(both(list, Some(has), x.present).unwrap_or(has))
    };
    let (of_x, of_y) = (wins(list, x)?, wins(list, y)?);
    let won = list.or(of_x, of_y);
    let cells = if winner { won } else { list.not(won) };
    let present = both(list, x.present, y.present).map(|all| list.or(all, won));
    Some(Recorded { cells: Some(cells), present })
}
