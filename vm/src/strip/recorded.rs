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
//! real axis, close to the diagonals, of the Faddeeva function.

use crate::strip::list::List;
use crate::strip::op::{BinaryOp, Comparison, Lane, ShiftOp, Term, UnaryOp};
use crate::vector::math::dispatch::{Binary, Unary};
use crate::vector::math::domain::Domain;
use crate::vector::math::functions::{BinaryVisitor, UnaryVisitor};
use crate::vector::math::real::{Real, Word};
use crate::vector::math::{BinaryKind, UnaryKind};
use std::cell::RefCell;
use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Shl, Shr, Sub};

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
    let found = kind.visit(FastAtOne(Traced::Computed(&cell, x)));
    let found = found.map(|(value, is_fast)| (value.value(), is_fast));
    *list = cell.into_inner();
    let (value, is_fast) = found?;
    Some(RecordedFunction { value: value.term(list), rare: Some(list.not(is_fast)) })
}

/// Adds to a list where a domain has a number: a mask, true of NaN.
///
/// # Panics
/// The operand is no float.
pub fn record_domain(domain: Domain, list: &mut List, x: Term) -> Term {
    assert!(list.lane(x).is_float(), "a domain of {:?}", list.lane(x));
    let x = list.cast(x, Lane::F64);
    let cell = RefCell::new(std::mem::take(list));
    let mask = domain.contains(Traced::Computed(&cell, x)).value();
    *list = cell.into_inner();
    mask.term(list)
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
    let (value, rarity) = function(operands.map(|x| Traced::Computed(&cell, x)));
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

/// Records the fast path of a function at one operand, if there is one, and whether the operand takes it.
struct FastAtOne<'l>(Traced<'l, f64>);

impl<'l> UnaryVisitor for FastAtOne<'l> {
    type Output = Option<(Traced<'l, f64>, Term)>;

    fn visit<F: Unary>(self) -> Self::Output {
        match F::is_fast(self.0) {
            Traced::Known(_) => None,
            Traced::Computed(_, is_fast) => Some((F::fast(self.0), is_fast)),
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

/// A constant, or a term of some list.
#[derive(Clone, Copy)]
enum Value<K> {
    Known(K),
    Computed(Term),
}

impl<K: Constant> Value<K> {
    fn term(self, list: &mut List) -> Term {
        match self {
            Value::Known(constant) => constant.literal(list),
            Value::Computed(term) => term,
        }
    }
}

/// A constant, or a term of the list that is being recorded.
#[derive(Clone, Copy)]
enum Traced<'l, K> {
    Known(K),
    Computed(&'l RefCell<List>, Term),
}

/// What a term can be that is known.
trait Constant: Copy {
    fn literal(self, list: &mut List) -> Term;
}

impl Constant for f64 {
    fn literal(self, list: &mut List) -> Term {
        list.f64(self)
    }
}

impl Constant for u64 {
    fn literal(self, list: &mut List) -> Term {
        list.literal(Lane::I64, self)
    }
}

impl Constant for bool {
    fn literal(self, list: &mut List) -> Term {
        list.truth(self)
    }
}

impl<'l, K: Constant> Traced<'l, K> {
    fn value(self) -> Value<K> {
        match self {
            Traced::Known(constant) => Value::Known(constant),
            Traced::Computed(_, term) => Value::Computed(term),
        }
    }

    fn list(self) -> Option<&'l RefCell<List>> {
        match self {
            Traced::Known(_) => None,
            Traced::Computed(list, _) => Some(list),
        }
    }

    /// An operation of one operand: on a constant, or on a term. A call, as functions have hundreds of them, each of which
    /// is recorded once a process at most.
    #[inline(never)]
    fn apply<R>(self, known: impl Fn(K) -> R, record: impl Fn(&mut List, Term) -> Term) -> Traced<'l, R> {
        match self {
            Traced::Known(x) => Traced::Known(known(x)),
            Traced::Computed(list, x) => Traced::Computed(list, record(&mut list.borrow_mut(), x)),
        }
    }

    /// An operation of two operands: on constants, or on terms. A call, as `apply` is.
    #[inline(never)]
    fn join<R>(
        self,
        other: impl Into<Traced<'l, K>>,
        known: impl Fn(K, K) -> R,
        record: impl Fn(&mut List, Term, Term) -> Term,
    ) -> Traced<'l, R> {
        let other = other.into();
        let Some(list) = self.list().or(other.list()) else {
            let (Traced::Known(x), Traced::Known(y)) = (self, other) else {
                unreachable!("terms have lists")
            };
            return Traced::Known(known(x, y));
        };
        let mut borrowed = list.borrow_mut();
        let (x, y) = (self.value().term(&mut borrowed), other.value().term(&mut borrowed));
        Traced::Computed(list, record(&mut borrowed, x, y))
    }

    fn binary<R>(
        self,
        op: BinaryOp,
        other: impl Into<Traced<'l, K>>,
        known: impl Fn(K, K) -> R,
    ) -> Traced<'l, R> {
        self.join(other, known, |list, x, y| list.binary(op, x, y))
    }
}

/// A mask of the rows in which an INT64 is below zero: those with the sign bit.
fn is_negative(list: &mut List, bits: Term) -> Term {
    let zero = list.i64(0);
    list.compare(Comparison::Less, bits, zero)
}

impl<K> From<K> for Traced<'_, K> {
    fn from(constant: K) -> Self {
        Traced::Known(constant)
    }
}

macro_rules! operators {
    ($type:ty: $($operator:ident $method:ident $op:ident;)*) => {$(
        impl<'l> $operator for Traced<'l, $type> {
            type Output = Traced<'l, $type>;

            fn $method(self, other: Traced<'l, $type>) -> Traced<'l, $type> {
                self.binary(BinaryOp::$op, other, |x, y| x.$method(y))
            }
        }
    )*};
}

macro_rules! operators_with_constants {
    ($type:ty: $($operator:ident $method:ident;)*) => {$(
        impl<'l> $operator<$type> for Traced<'l, $type> {
            type Output = Traced<'l, $type>;

            fn $method(self, other: $type) -> Traced<'l, $type> {
                self.$method(Traced::Known(other))
            }
        }
    )*};
}

operators! { f64:
    Add add Add;
    Sub sub Sub;
    Mul mul Mul;
    Div div Div;
}

operators_with_constants! { f64:
    Add add;
    Sub sub;
    Mul mul;
    Div div;
}

operators! { u64:
    BitAnd bitand And;
    BitOr bitor Or;
    BitXor bitxor Xor;
}

operators_with_constants! { u64:
    BitAnd bitand;
    BitOr bitor;
}

operators! { bool:
    BitAnd bitand And;
    BitOr bitor Or;
    BitXor bitxor Xor;
}

impl<'l> Not for Traced<'l, bool> {
    type Output = Traced<'l, bool>;

    fn not(self) -> Traced<'l, bool> {
        self.apply(|x| !x, List::not)
    }
}

impl<'l> Neg for Traced<'l, f64> {
    type Output = Traced<'l, f64>;

    fn neg(self) -> Traced<'l, f64> {
        self.apply(|x| -x, |list, x| list.unary(UnaryOp::Neg, x))
    }
}

impl<'l> Shl<u8> for Traced<'l, u64> {
    type Output = Traced<'l, u64>;

    fn shl(self, by: u8) -> Traced<'l, u64> {
        self.apply(|x| x << by, |list, x| list.shift(ShiftOp::Left, x, by))
    }
}

impl<'l> Shr<u8> for Traced<'l, u64> {
    type Output = Traced<'l, u64>;

    fn shr(self, by: u8) -> Traced<'l, u64> {
        self.apply(|x| x >> by, |list, x| list.shift(ShiftOp::Right, x, by))
    }
}

impl<'l> Word for Traced<'l, u64> {
    fn wrapping_add(self, other: impl Into<Self>) -> Self {
        self.binary(BinaryOp::Add, other, u64::wrapping_add)
    }

    fn wrapping_sub(self, other: impl Into<Self>) -> Self {
        self.binary(BinaryOp::Sub, other, u64::wrapping_sub)
    }
}

impl<'l> Traced<'l, f64> {
    fn compare(
        self,
        comparison: Comparison,
        other: impl Into<Self>,
        known: impl Fn(&f64, &f64) -> bool,
    ) -> Traced<'l, bool> {
        self.join(other, |x, y| known(&x, &y), |list, x, y| list.compare(comparison, x, y))
    }
}

impl<'l> Real for Traced<'l, f64> {
    type Mask = Traced<'l, bool>;
    type Bits = Traced<'l, u64>;

    fn fma(self, factor: impl Into<Self>, addend: impl Into<Self>) -> Self {
        let (factor, addend) = (factor.into(), addend.into());
        let list = self.list().or(factor.list()).or(addend.list());
        let (a, b, c) = (self.value(), factor.value(), addend.value());
        if let (Value::Known(a), Value::Known(b), Value::Known(c)) = (a, b, c) {
            return Traced::Known(a.mul_add(b, c));
        }
        let list = list.expect("a term has a list");
        let mut borrowed = list.borrow_mut();
        let [a, b, c] = [a, b, c].map(|x| x.term(&mut borrowed));
        Traced::Computed(list, borrowed.fma(a, b, c))
    }

    fn abs(self) -> Self {
        self.apply(f64::abs, |list, x| list.unary(UnaryOp::Abs, x))
    }

    fn sqrt(self) -> Self {
        self.apply(f64::sqrt, |list, x| list.unary(UnaryOp::Sqrt, x))
    }

    fn floor(self) -> Self {
        self.apply(f64::floor, |list, x| list.unary(UnaryOp::Floor, x))
    }

    fn trunc(self) -> Self {
        self.apply(f64::trunc, |list, x| list.unary(UnaryOp::Trunc, x))
    }

    fn copysign(self, sign: Self) -> Self {
        self.join(sign, f64::copysign, List::copysign)
    }

    fn select(mask: Self::Mask, yes: impl Into<Self>, no: impl Into<Self>) -> Self {
        let (yes, no) = (yes.into(), no.into());
        match mask {
            Traced::Known(mask) => {
                if mask {
                    yes
                } else {
                    no
                }
            }
            Traced::Computed(list, mask) => {
                let mut borrowed = list.borrow_mut();
                let (yes, no) = (yes.value().term(&mut borrowed), no.value().term(&mut borrowed));
                Traced::Computed(list, borrowed.select(mask, yes, no))
            }
        }
    }

    fn eq(self, other: impl Into<Self>) -> Self::Mask {
        self.compare(Comparison::Equal, other, PartialEq::eq)
    }

    fn ne(self, other: impl Into<Self>) -> Self::Mask {
        self.compare(Comparison::NotEqual, other, PartialEq::ne)
    }

    fn lt(self, other: impl Into<Self>) -> Self::Mask {
        self.compare(Comparison::Less, other, PartialOrd::lt)
    }

    fn gt(self, other: impl Into<Self>) -> Self::Mask {
        self.compare(Comparison::Greater, other, PartialOrd::gt)
    }

    fn le(self, other: impl Into<Self>) -> Self::Mask {
        self.compare(Comparison::LessEqual, other, PartialOrd::le)
    }

    fn ge(self, other: impl Into<Self>) -> Self::Mask {
        self.compare(Comparison::GreaterEqual, other, PartialOrd::ge)
    }

    fn is_nan(self) -> Self::Mask {
        self.apply(f64::is_nan, |list, x| list.compare(Comparison::Unordered, x, x))
    }

    fn is_sign_negative(self) -> Self::Mask {
        self.to_bits().apply(|x| x >> 63 == 1, is_negative)
    }

    fn to_bits(self) -> Self::Bits {
        self.apply(f64::to_bits, List::bits)
    }

    fn from_bits(bits: Self::Bits) -> Self {
        bits.apply(f64::from_bits, List::bits)
    }

    fn is_odd(bits: Self::Bits) -> Self::Mask {
        (bits << 63).apply(|x| x >> 63 == 1, is_negative)
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
