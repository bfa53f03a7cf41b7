//! Recipes of standard operators: what they compute of a row, for strips. Each says the same as the function beside it
//! in the operator's row.

use crate::array::recipe::{Recorded, both};
use crate::strip::{BinaryOp, Comparison, Lane, List, Op, RecordedFunction, ShiftOp, Term, UnaryOp};
use std::ops::RangeInclusive;

/// An operation of floats; integers are that already.
pub(super) fn rounded(list: &mut List, x: Term, op: UnaryOp) -> Option<Term> {
    Some(if list.lane(x).is_float() { list.unary(op, x) } else { x })
}

/// Number of bits set of an integer, as INT32: of pairs of bits, of fours and of bytes, which are added up.
pub(super) fn bits_set(list: &mut List, x: Term) -> Term {
    let lane = list.lane(x);
    let [of_two, of_four, of_eight] =
        [0x55, 0x33, 0x0F].map(|byte| list.literal(lane, u64::from_ne_bytes([byte; 8])));
    let upper = list.shift(ShiftOp::Right, x, 1);
    let upper = list.and(upper, of_two);
    let pairs = list.binary(BinaryOp::Sub, x, upper);
    let upper = list.shift(ShiftOp::Right, pairs, 2);
    let [lower, upper] = [pairs, upper].map(|pairs| list.and(pairs, of_four));
    let fours = list.binary(BinaryOp::Add, lower, upper);
    let upper = list.shift(ShiftOp::Right, fours, 4);
    let both = list.binary(BinaryOp::Add, fours, upper);
    let mut sum = list.and(both, of_eight);
    for bits in [8, 16, 32].into_iter().filter(|bits| usize::from(*bits) < 8 * lane.bytes()) {
        let upper = list.shift(ShiftOp::Right, sum, bits);
        sum = list.binary(BinaryOp::Add, sum, upper);
    }
    let last = list.literal(lane, 0x7F);
    let sum = list.and(sum, last);
    list.cast(sum, Lane::I32)
}

/// Quotient rounded down. Of integers none is rare for a literal above zero, else a zero divisor is, and what does not fit
/// [`quotient`]; of floats what does not fit [`float_quotient`].
pub(super) fn floor_div(list: &mut List, x: &[Term]) -> Option<RecordedFunction> {
    if let Some(divisor) = divisor(list, x) {
        return Some(RecordedFunction { value: list.floor_div(x[0], divisor), rare: None });
    }
    if let Some((quotient, rare)) = float_quotient(list, x) {
        return Some(RecordedFunction { value: list.unary(UnaryOp::Floor, quotient), rare: Some(rare) });
    }
    let (quotient, rare, [of_x, _]) = quotient(list, x)?;
    let lane = list.lane(of_x);
    let too_large = list.f64(TWO_TO_31);
    let is_too_large = list.compare(Comparison::GreaterEqual, quotient, too_large);
    let rare = if lane == Lane::I32 { list.or(rare, is_too_large) } else { rare };
    Some(RecordedFunction { value: list.cast(quotient, lane), rare: Some(rare) })
}

/// Remainder of that, with the sign of the divisor.
pub(super) fn floor_mod(list: &mut List, x: &[Term]) -> Option<RecordedFunction> {
    if let Some(divisor) = divisor(list, x) {
        return Some(RecordedFunction { value: list.floor_mod(x[0], divisor), rare: None });
    }
    if let Some((quotient, rare)) = float_quotient(list, x) {
        let (lane, [x, y]) = (list.lane(x[0]), [x[0], x[1]]);
        let floor = list.unary(UnaryOp::Floor, quotient);
        let product = list.binary(BinaryOp::Mul, floor, y);
        let rest = list.binary(BinaryOp::Sub, x, product);
        let zero = list.number(lane, 0);
        let is_none = list.compare(Comparison::Equal, quotient, zero);
        let rest = list.select(is_none, x, rest);
        return Some(RecordedFunction { value: with_sign_of(list, rest, y), rare: Some(rare) });
    }
    let (quotient, rare, operands) = quotient(list, x)?;
    let [x, y] = operands.map(|operand| list.cast(operand, Lane::F64));
    let product = list.binary(BinaryOp::Mul, quotient, y);
    let remainder = list.binary(BinaryOp::Sub, x, product);
    let lane = list.lane(operands[0]);
    Some(RecordedFunction { value: list.cast(remainder, lane), rare: Some(rare) })
}

/// What a division leaves that rounds toward zero, exactly: a quotient that rounds to the next integer leaves a number of
/// the other sign, to which the divisor is added. Rare are quotients without a rest in one fused operation.
pub(super) fn remainder(list: &mut List, x: &[Term]) -> Option<RecordedFunction> {
    let [x, y] = *x else { return None };
    let lane = list.lane(x);
    if !lane.is_float() || list.lane(y) != lane {
        return None;
    }
    let [x, y] = [x, y].map(|operand| list.cast(operand, Lane::F64));
    let quotient = list.binary(BinaryOp::Div, x, y);
    let (limit, infinity, zero) = (list.f64(TWO_TO_52), list.f64(f64::INFINITY), list.f64(0.0));
    let [of_quotient, of_y] = [quotient, y].map(|term| list.unary(UnaryOp::Abs, term));
    let [is_small, is_finite] = [(of_quotient, limit), (of_y, infinity)]
        .map(|(size, limit)| list.compare(Comparison::Less, size, limit));
    let is_usual = list.and(is_small, is_finite);
    let whole = list.unary(UnaryOp::Trunc, quotient);
    let minus = list.unary(UnaryOp::Neg, whole);
    let rest = list.fma(minus, y, x);
    let [is_below, is_negative] = [rest, x].map(|term| list.compare(Comparison::Less, term, zero));
    let [is_above, is_positive] = [rest, x].map(|term| list.compare(Comparison::Greater, term, zero));
    let too_low = list.and(is_below, is_positive);
    let too_high = list.and(is_above, is_negative);
    let is_over = list.or(too_low, too_high);
    let step = with_sign_of(list, y, x);
    let mended = list.binary(BinaryOp::Add, rest, step);
    let rest = list.select(is_over, mended, rest);
    let rest = with_sign_of(list, rest, x);
    let value = list.cast(rest, lane);
    Some(RecordedFunction { value, rare: Some(list.not(is_usual)) })
}

/// A magnitude with the sign of another number, which is not NaN.
fn with_sign_of(list: &mut List, magnitude: Term, sign: Term) -> Term {
    let lane = list.lane(magnitude);
    let bit = match lane {
        Lane::F64 => list.literal(Lane::I64, 1 << 63),
        _ => list.literal(Lane::I32, 1 << 31),
    };
    let [magnitude, sign] = [magnitude, sign].map(|term| list.bits(term));
    let magnitude = list.binary(BinaryOp::AndNot, magnitude, bit);
    let sign = list.and(sign, bit);
    let joined = list.or(magnitude, sign);
    list.bits(joined)
}

/// The quotient of two floats, and the rows that are rare: it is not finite, or rounds to zero.
fn float_quotient(list: &mut List, x: &[Term]) -> Option<(Term, Term)> {
    let [x, y] = *x else { return None };
    let lane = list.lane(x);
    if !lane.is_float() || list.lane(y) != lane {
        return None;
    }
    let quotient = list.binary(BinaryOp::Div, x, y);
    let (zero, infinity) = match lane {
        Lane::F64 => (list.f64(0.0), list.f64(f64::INFINITY)),
        _ => (list.f32(0.0), list.f32(f32::INFINITY)),
    };
    let size = list.unary(UnaryOp::Abs, quotient);
    let is_finite = list.compare(Comparison::Less, size, infinity);
    let is_infinite = list.not(is_finite);
    let is_none = list.compare(Comparison::Equal, quotient, zero);
    let is_some = list.compare(Comparison::NotEqual, x, zero);
    let is_lost = list.and(is_none, is_some);
    Some((quotient, list.or(is_infinite, is_lost)))
}

/// The quotient of two integers rounded down, as FLOAT64, where a quotient of FLOAT64 is that: of magnitudes n below 2^52,
/// it is at least 1/n from the next integer, if it is none. Then the rows where it is not that, and the operands.
fn quotient(list: &mut List, x: &[Term]) -> Option<(Term, Term, [Term; 2])> {
    let [x, y] = *x else { return None };
    let lane = list.lane(x);
    if !matches!(lane, Lane::I64 | Lane::I32) || list.lane(y) != lane {
        return None;
    }
    let zero = list.number(lane, 0);
    let mut rare = list.compare(Comparison::Equal, y, zero);
    let [of_x, of_y] = [x, y].map(|operand| list.cast(operand, Lane::F64));
    if lane == Lane::I64 {
        let limit = list.f64(TWO_TO_52);
        for operand in [of_x, of_y] {
            let size = list.unary(UnaryOp::Abs, operand);
            let is_large = list.compare(Comparison::GreaterEqual, size, limit);
            rare = list.or(rare, is_large);
        }
    }
    let quotient = list.binary(BinaryOp::Div, of_x, of_y);
    Some((list.unary(UnaryOp::Floor, quotient), rare, [x, y]))
}

const TWO_TO_31: f64 = 2_147_483_648.0;
const TWO_TO_52: f64 = 4_503_599_627_370_496.0;
const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;

/// A float truncated to INT64; what does not fit is rare.
pub(super) fn to_int64(list: &mut List, x: &[Term]) -> Option<RecordedFunction> {
    let [x] = *x else { return None };
    truncated(list, x, Lane::I64, TWO_TO_63)
}

/// The same to UINT64, or an INT64 that is not negative; rare is also what does not fit INT64.
pub(super) fn to_uint64(list: &mut List, x: &[Term]) -> Option<RecordedFunction> {
    let [number] = *x else { return None };
    if list.lane(number) == Lane::I64 {
        return of_unsigned(list, x, Lane::I64);
    }
    let to_int64 = truncated(list, number, Lane::I64, TWO_TO_63)?;
    let number = list.cast(number, Lane::F64);
    let zero = list.f64(0.0);
    let is_negative = list.compare(Comparison::Less, number, zero);
    let rare = to_int64.rare.map(|rare| list.or(rare, is_negative));
    Some(RecordedFunction { value: to_int64.value, rare })
}

/// A float truncated to INT32, or an INT64 as INT32; what does not fit is rare.
pub(super) fn to_int32(list: &mut List, x: &[Term]) -> Option<RecordedFunction> {
    let [x] = *x else { return None };
    if list.lane(x) != Lane::I64 {
        return truncated(list, x, Lane::I32, TWO_TO_31);
    }
    let value = list.cast(x, Lane::I32);
    let again = list.cast(value, Lane::I64);
    Some(RecordedFunction { value, rare: Some(list.compare(Comparison::NotEqual, again, x)) })
}

/// An INT64 in another lane; a number outside of a range is rare.
pub(super) fn within(
    list: &mut List,
    x: &[Term],
    range: RangeInclusive<i64>,
    lane: Lane,
) -> Option<RecordedFunction> {
    let [x] = *x else { return None };
    let rare = outside(list, x, range);
    Some(RecordedFunction { value: list.cast(x, lane), rare: Some(rare) })
}

/// An unsigned integer in another lane; one beyond INT64 is rare.
pub(super) fn of_unsigned(list: &mut List, x: &[Term], lane: Lane) -> Option<RecordedFunction> {
    let [x] = *x else { return None };
    let zero = list.i64(0);
    let rare = list.compare(Comparison::Less, x, zero);
    Some(RecordedFunction { value: list.cast(x, lane), rare: Some(rare) })
}

/// A float truncated to an integer type whose numbers are below `end`; rare is also what fits and is as far below zero.
fn truncated(list: &mut List, x: Term, lane: Lane, end: f64) -> Option<RecordedFunction> {
    if !list.lane(x).is_float() {
        return None;
    }
    let x = list.cast(x, Lane::F64);
    // First: where it does not fit can be told by the integer.
    let value = list.cast(x, lane);
    let (size, end) = (list.unary(UnaryOp::Abs, x), list.f64(end));
    let fits = list.compare(Comparison::Less, size, end);
    Some(RecordedFunction { value, rare: Some(list.not(fits)) })
}

/// The sum of two INT64; one that does not fit is rare.
pub(super) fn sum_that_fits(list: &mut List, x: &[Term]) -> Option<RecordedFunction> {
    let [x, y] = *x else { return None };
    if list.lane(x) != Lane::I64 {
        return None;
    }
    let value = list.binary(BinaryOp::Add, x, y);
    // It is below x just where y is below zero.
    let is_below = list.compare(Comparison::Less, value, x);
    Some(RecordedFunction { value, rare: Some(differs_from_sign(list, is_below, y)) })
}

/// The difference of two INT64; one that does not fit is rare.
pub(super) fn difference_that_fits(list: &mut List, x: &[Term]) -> Option<RecordedFunction> {
    let [x, y] = *x else { return None };
    let value = list.binary(BinaryOp::Sub, x, y);
    let is_above = list.compare(Comparison::Greater, value, x);
    Some(RecordedFunction { value, rare: Some(differs_from_sign(list, is_above, y)) })
}

/// Where a truth is not that of a number being below zero.
fn differs_from_sign(list: &mut List, truth: Term, y: Term) -> Term {
    if let Op::Literal(bits) = list.op(y) {
        return if (bits as i64) < 0 { list.not(truth) } else { truth };
    }
    let zero = list.i64(0);
    let is_negative = list.compare(Comparison::Less, y, zero);
    let (either, both) = (list.or(truth, is_negative), list.and(truth, is_negative));
    let not_both = list.not(both);
    list.and(either, not_both)
}

/// The product of two INT64. Rare is one with an operand that does not fit INT32, or, if the second is a literal, with a first that
/// is too large for it.
pub(super) fn product_that_fits(list: &mut List, x: &[Term]) -> Option<RecordedFunction> {
    let [x, y] = *x else { return None };
    let value = list.binary(BinaryOp::Mul, x, y);
    if let Op::Literal(bits) = list.op(y) {
        let most = i64::MAX.checked_div((bits as i64).checked_abs()?).unwrap_or(i64::MAX);
        let rare = outside(list, x, -most..=most);
        return Some(RecordedFunction { value, rare: Some(rare) });
    }
    let [of_x, of_y] = [x, y].map(|number| {
        let narrow = list.cast(number, Lane::I32);
        let again = list.cast(narrow, Lane::I64);
        list.compare(Comparison::NotEqual, again, number)
    });
    Some(RecordedFunction { value, rare: Some(list.or(of_x, of_y)) })
}

/// The opposite of an INT64; that of the smallest is rare.
pub(super) fn opposite_that_fits(list: &mut List, x: &[Term]) -> Option<RecordedFunction> {
    let [x] = *x else { return None };
    let value = list.unary(UnaryOp::Neg, x);
    let least = list.i64(i64::MIN);
    Some(RecordedFunction { value, rare: Some(list.compare(Comparison::Equal, x, least)) })
}

/// The absolute value of an INT64; that of the smallest is rare.
pub(super) fn size_that_fits(list: &mut List, x: &[Term]) -> Option<RecordedFunction> {
    let [x] = *x else { return None };
    let value = list.unary(UnaryOp::Abs, x);
    let least = list.i64(i64::MIN);
    Some(RecordedFunction { value, rare: Some(list.compare(Comparison::Equal, x, least)) })
}

/// An integer shifted by a literal, of which the low bits count.
pub(super) fn shifted(list: &mut List, x: &[Term], op: ShiftOp) -> Option<Term> {
    let [x, by] = *x else { return None };
    let Op::Literal(bits) = list.op(by) else { return None };
    Some(list.shift(op, x, (bits & 63) as u8))
}

/// Where an INT64 is outside of a range.
fn outside(list: &mut List, x: Term, range: RangeInclusive<i64>) -> Term {
    let (low, high) = (list.i64(*range.start()), list.i64(*range.end()));
    let is_below = list.compare(Comparison::Less, x, low);
    let is_above = list.compare(Comparison::Greater, x, high);
    list.or(is_below, is_above)
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

/// Present where the operand is, whatever its cells.
pub(super) fn presence(_: &mut List, x: &[Recorded]) -> Option<Recorded> {
    let [x] = *x else { return None };
    Some(Recorded { cells: None, ..x })
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
