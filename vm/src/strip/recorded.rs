//! Special functions as operations of a list: the text of `vector::math`, over terms in place of numbers.
//!
//! ```text
//! list.column(0, F64)        t0 = column 0
//! record_unary(Exp, …)       t2 = gt t0 t1, t3 = select t2 t1 t0, …            t40 = mul t38 t39, the value
//! record_unary(Sin, …)       t5 = sub 2^21 |t0|, …   t6 = lt t5 0, where rare  t60 = bits …, the value elsewhere
//! ```
//!
//! 1. A value has the bits of `double` or `single`, wherever the arguments are not rare; any NaN is one value.
//! 2. Arguments of FLOAT32 are widened, and the result is rounded once, as there.
//! 3. What is known while a function is recorded becomes no operation: constants of constants, choices by a literal.
//!
//! Every function of `vector::math` can be recorded, because none has branches but for rare arguments. These are angles
//! above 2^21, infinities and NaN of sine, cosine and tangent, negative numbers of `lgamma`, and points far below the
//! real axis, close to the diagonals, of the Faddeeva function. [`record_rare_unary`] records the value of those of `lgamma`,
//! [`record_rare_binary`] that of the Faddeeva function, given sines and cosines of its [angles](record_rare_angles).

use crate::strip::list::List;
use crate::strip::op::{Lane, Term};
use crate::strip::traced::{Traced, Value, is_negative};
use crate::vector::math::dispatch::{Binary, Unary};
use crate::vector::math::domain::Domain;
use crate::vector::math::functions::{BinaryVisitor, UnaryVisitor};
use crate::vector::math::{BinaryKind, UnaryKind};
use std::cell::RefCell;

/// A special function in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordedFunction {
    /// The value, of the type of the arguments.
    pub value: Term,
    /// A mask of the rows for which the value does not hold; `None` if it always does.
    pub rare: Option<Term>,
}

/// Adds a function of one number to a list.
///
/// # Panics
/// The operand is no float.
pub fn record_unary(kind: UnaryKind, list: &mut List, x: Term) -> RecordedFunction {
    let lane = list.lane(x);
    recorded(list, [x], lane, |[x]| kind.visit(AtOne(x)))
}

/// Adds a function of two numbers to a list.
///
/// # Panics
/// The operands are not floats of one type.
pub fn record_binary(kind: BinaryKind, list: &mut List, x: Term, y: Term) -> RecordedFunction {
    let lane = list.lane(x);
    recorded(list, [x, y], lane, |[x, y]| kind.visit(AtTwo(x, y)))
}

/// Adds the [fast path](Unary::fast) of a function to a list, for one number behind a branch: an argument that does not take
/// the path is rare. `None`, and nothing is added, if the function has none.
///
/// # Panics
/// The operand is no FLOAT64.
pub fn record_fast(kind: UnaryKind, list: &mut List, x: Term) -> Option<RecordedFunction> {
    assert_eq!(list.lane(x), Lane::F64, "the operand of a fast path");
    let cell = RefCell::new(std::mem::take(list));
    let found = kind.visit(FastAtOne(Traced::computed(&cell, x)));
    let found = found.map(|(value, is_fast)| (value.value(), is_fast));
    *list = cell.into_inner();
    let (value, is_fast) = found?;
    Some(RecordedFunction { value: value.term(list), rare: Some(list.not(is_fast)) })
}

/// Adds the value of [rare](RecordedFunction::rare) arguments of a function of one number to a list. `None`, and nothing is
/// added, if no argument is rare, or the value has branches.
///
/// # Panics
/// The operand is no float.
pub fn record_rare_unary(kind: UnaryKind, list: &mut List, x: Term) -> Option<Term> {
    let lane = list.lane(x);
    let [value] = traced(list, [x], lane, |[x]| Some([kind.visit(RareAtOne(x))?]))?;
    Some(list.cast(value, lane))
}

/// Adds two angles to a list, of any size: those whose cosines and sines [`record_rare_binary`] takes. `None`, and nothing is
/// added, if the value of rare arguments is not made of these.
///
/// # Panics
/// The operands are no FLOAT64.
pub fn record_rare_angles(kind: BinaryKind, list: &mut List, x: Term, y: Term) -> Option<[Term; 2]> {
    traced(list, [x, y], Lane::F64, |[x, y]| kind.visit(AnglesAtTwo(x, y)))
}

/// Adds the value of [rare](RecordedFunction::rare) arguments of a function of two numbers to a list, given cosine and sine of the
/// first of its [angles](record_rare_angles), then of the second. It means nothing of a function without such angles.
///
/// # Panics
/// The operands are no FLOAT64.
pub fn record_rare_binary(kind: BinaryKind, list: &mut List, [x, y]: [Term; 2], turns: [Term; 4]) -> Term {
    let [a, b, c, d] = turns;
    let value = traced(list, [x, y, a, b, c, d], Lane::F64, |[x, y, a, b, c, d]| {
        Some([kind.visit(RareAtTwo([x, y], [(a, b), (c, d)]))])
    });
    let [value] = value.expect("there is one value");
    value
}

/// Adds to a list where a domain has a number: a mask, true of NaN.
///
/// # Panics
/// The operand is no float.
pub fn record_domain(domain: Domain, list: &mut List, x: Term) -> Term {
    assert!(list.lane(x).is_float(), "a domain of {:?}", list.lane(x));
    let x = list.cast(x, Lane::F64);
    let cell = RefCell::new(std::mem::take(list));
    let mask = domain.contains(Traced::computed(&cell, x)).value();
    *list = cell.into_inner();
    mask.term(list)
}

/// Numbers made of operands as FLOAT64.
fn traced<const COUNT: usize, const RESULTS: usize>(
    list: &mut List,
    operands: [Term; COUNT],
    lane: Lane,
    function: impl for<'l> FnOnce([Traced<'l, f64>; COUNT]) -> Option<[Traced<'l, f64>; RESULTS]>,
) -> Option<[Term; RESULTS]> {
    assert!(lane.is_float() && operands.iter().all(|x| list.lane(*x) == lane), "a function of {lane:?}");
    let operands = operands.map(|x| list.cast(x, Lane::F64));
    let cell = RefCell::new(std::mem::take(list));
    let found = function(operands.map(|x| Traced::computed(&cell, x)));
    let found = found.map(|found| found.map(Traced::value));
    *list = cell.into_inner();
    found.map(|found| found.map(|value| value.term(list)))
}

/// Value and rarity, both of the operands as FLOAT64.
fn recorded<const COUNT: usize>(
    list: &mut List,
    operands: [Term; COUNT],
    lane: Lane,
    function: impl for<'l> FnOnce([Traced<'l, f64>; COUNT]) -> (Traced<'l, f64>, Traced<'l, u64>),
) -> RecordedFunction {
    assert!(lane.is_float() && operands.iter().all(|x| list.lane(*x) == lane), "a function of {lane:?}");
    let operands = operands.map(|x| list.cast(x, Lane::F64));
    let cell = RefCell::new(std::mem::take(list));
    let (value, rarity) = function(operands.map(|x| Traced::computed(&cell, x)));
    let (value, rarity) = (value.value(), rarity.value());
    *list = cell.into_inner();
    let value = value.term(list);
    let rare = match rarity {
        Value::Known(bits) => (bits >> 63 == 1).then(|| list.truth(true)),
        Value::Computed(bits) => Some(is_negative(list, bits)),
    };
    RecordedFunction { value: list.cast(value, lane), rare }
}

/// Records a function at one operand.
struct AtOne<'l>(Traced<'l, f64>);

impl<'l> UnaryVisitor for AtOne<'l> {
    type Output = (Traced<'l, f64>, Traced<'l, u64>);

    fn visit<F: Unary>(self) -> Self::Output {
        (F::lane(self.0), F::rarity(self.0))
    }
}

/// Records a function at one rare operand.
struct RareAtOne<'l>(Traced<'l, f64>);

impl<'l> UnaryVisitor for RareAtOne<'l> {
    type Output = Option<Traced<'l, f64>>;

    fn visit<F: Unary>(self) -> Self::Output {
        F::RARE_IN_LANES.then(|| F::rare_lane(self.0))
    }
}

/// Records the fast path of a function at one operand, if there is one, and whether the operand takes it.
struct FastAtOne<'l>(Traced<'l, f64>);

impl<'l> UnaryVisitor for FastAtOne<'l> {
    type Output = Option<(Traced<'l, f64>, Term)>;

    fn visit<F: Unary>(self) -> Self::Output {
        match F::is_fast(self.0).value() {
            Value::Known(_) => None,
            Value::Computed(is_fast) => Some((F::fast(self.0), is_fast)),
        }
    }
}

/// Records a function at two operands.
struct AtTwo<'l>(Traced<'l, f64>, Traced<'l, f64>);

impl<'l> BinaryVisitor for AtTwo<'l> {
    type Output = (Traced<'l, f64>, Traced<'l, u64>);

    fn visit<F: Binary>(self) -> Self::Output {
        (F::lane(self.0, self.1), F::rarity(self.0, self.1))
    }
}

/// Records the angles of two rare operands.
struct AnglesAtTwo<'l>(Traced<'l, f64>, Traced<'l, f64>);

impl<'l> BinaryVisitor for AnglesAtTwo<'l> {
    type Output = Option<[Traced<'l, f64>; 2]>;

    fn visit<F: Binary>(self) -> Self::Output {
        F::rare_angles(self.0, self.1)
    }
}

/// Records a function at two rare operands, given cosine and sine of two angles.
struct RareAtTwo<'l>([Traced<'l, f64>; 2], [(Traced<'l, f64>, Traced<'l, f64>); 2]);

impl<'l> BinaryVisitor for RareAtTwo<'l> {
    type Output = Traced<'l, f64>;

    fn visit<F: Binary>(self) -> Self::Output {
        let ([x, y], turns) = (self.0, self.1);
        F::rare_lane(x, y, turns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strip::op::Op;

    #[test]
    fn constants_become_no_operations() {
        let mut list = List::new();
        let x = list.f64(2.0);
        let recorded = record_unary(UnaryKind::Sqrt, &mut list, x);
        assert_eq!(recorded.rare, None);
        // Every operation has an operand that is not a literal.
        let mut list = List::new();
        let (x, y) = (list.column(0, Lane::F64), list.column(1, Lane::F64));
        for kind in UnaryKind::ALL {
            record_unary(*kind, &mut list, x);
        }
        for kind in BinaryKind::ALL {
            record_binary(*kind, &mut list, x, y);
        }
        let is_literal = |term: Term| matches!(list.op(term), Op::Literal(_));
        for (term, op, _) in list.terms() {
            let operands: Vec<Term> = op.operands().collect();
            assert!(operands.is_empty() || !operands.iter().all(|x| is_literal(*x)), "{term} = {op:?}");
        }
    }

    #[test]
    fn only_some_functions_have_rare_arguments() {
        let mut list = List::new();
        let (x, y) = (list.column(0, Lane::F32), list.column(1, Lane::F32));
        let of_one = UnaryKind::ALL.iter().filter(|kind| record_unary(**kind, &mut list, x).rare.is_some());
        let rare: Vec<&str> = of_one.map(|kind| kind.name()).collect();
        assert_eq!(rare, ["sin", "cos", "tan", "lgamma"]);
        let of_two =
            BinaryKind::ALL.iter().filter(|kind| record_binary(**kind, &mut list, x, y).rare.is_none());
        let always: Vec<&str> = of_two.map(|kind| kind.name()).collect();
        assert_eq!(always, ["pow", "hypot", "atan2"]);
    }
}
