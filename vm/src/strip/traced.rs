//! Numbers that are terms of a list: what the functions of `vector::math` are recorded with.
//!
//! ```text
//! known 2.0 * known 3.0      known 6.0: no operation
//! known 2.0 * term t0        term t2, with t1 = 2.0, t2 = mul t1 t0
//! ```
//!
//! Whoever records takes the list into a cell, which all numbers of one recording share, and puts it back behind the last operation.

use crate::strip::list::List;
use crate::strip::op::{BinaryOp, Comparison, Lane, ShiftOp, Term, UnaryOp};
use crate::vector::math::real::{Real, Word};
use std::cell::RefCell;
use std::marker::PhantomData;
use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Shl, Shr, Sub};

/// A constant, or a term of some list.
#[derive(Clone, Copy)]
pub(super) enum Value<K> {
    Known(K),
    Computed(Term),
}

impl<K: Constant> Value<K> {
    pub(super) fn term(self, list: &mut List) -> Term {
        match self {
            Value::Known(constant) => constant.literal(list),
            Value::Computed(term) => term,
        }
    }
}

/// A constant, or a term of the list that is being recorded. Two words, which go from call to call in registers: functions
/// are hundreds of calls.
#[derive(Clone, Copy)]
pub(super) struct Traced<'l, K> {
    /// The list of a term; a constant has none.
    list: Option<&'l RefCell<List>>,
    /// The bits of the constant, or the number of the term.
    word: u64,
    constant: PhantomData<K>,
}

/// What a term can be that is known.
pub(super) trait Constant: Copy {
    fn literal(self, list: &mut List) -> Term;
    fn word(self) -> u64;
    fn of_word(word: u64) -> Self;
}

impl Constant for f64 {
    fn literal(self, list: &mut List) -> Term {
        list.f64(self)
    }

    fn word(self) -> u64 {
        self.to_bits()
    }

    fn of_word(word: u64) -> f64 {
        f64::from_bits(word)
    }
}

impl Constant for u64 {
    fn literal(self, list: &mut List) -> Term {
        list.literal(Lane::I64, self)
    }

    fn word(self) -> u64 {
        self
    }

    fn of_word(word: u64) -> u64 {
        word
    }
}

impl Constant for bool {
    fn literal(self, list: &mut List) -> Term {
        list.truth(self)
    }

    fn word(self) -> u64 {
        self.into()
    }

    fn of_word(word: u64) -> bool {
        word != 0
    }
}

impl<'l, K: Constant> Traced<'l, K> {
    fn known(constant: K) -> Traced<'l, K> {
        Traced { list: None, word: constant.word(), constant: PhantomData }
    }

    /// A term of a list.
    pub(super) fn computed(list: &'l RefCell<List>, term: Term) -> Traced<'l, K> {
        Traced { list: Some(list), word: term.0.into(), constant: PhantomData }
    }

    pub(super) fn value(self) -> Value<K> {
        match self.list {
            None => Value::Known(K::of_word(self.word)),
            Some(_) => Value::Computed(self.number()),
        }
    }

    /// The term, of what is one.
    fn number(self) -> Term {
        Term(self.word as u32)
    }

    /// An operation of one operand: on a constant, or on a term. A call, as functions have hundreds of them, each of which
    /// is recorded once a process at most.
    #[inline(never)]
    fn apply<R: Constant>(
        self,
        known: impl Fn(K) -> R,
        record: impl Fn(&mut List, Term) -> Term,
    ) -> Traced<'l, R> {
        match self.list {
            None => Traced::known(known(K::of_word(self.word))),
            Some(list) => Traced::computed(list, record(&mut list.borrow_mut(), self.number())),
        }
    }

    /// An operation of two operands: on constants, or on terms. A call, as `apply` is.
    #[inline(never)]
    fn join<R: Constant>(
        self,
        other: impl Into<Traced<'l, K>>,
        known: impl Fn(K, K) -> R,
        record: impl Fn(&mut List, Term, Term) -> Term,
    ) -> Traced<'l, R> {
        let other = other.into();
        let Some(list) = self.list.or(other.list) else {
            return Traced::known(known(K::of_word(self.word), K::of_word(other.word)));
        };
        let mut borrowed = list.borrow_mut();
        let (x, y) = (self.value().term(&mut borrowed), other.value().term(&mut borrowed));
        Traced::computed(list, record(&mut borrowed, x, y))
    }

    fn binary<R: Constant>(
        self,
        op: BinaryOp,
        other: impl Into<Traced<'l, K>>,
        known: impl Fn(K, K) -> R,
    ) -> Traced<'l, R> {
        self.join(other, known, |list, x, y| list.binary(op, x, y))
    }
}

/// A mask of the rows in which an INT64 is below zero: those with the sign bit.
pub(super) fn is_negative(list: &mut List, bits: Term) -> Term {
    let zero = list.i64(0);
    list.compare(Comparison::Less, bits, zero)
}

impl<K: Constant> From<K> for Traced<'_, K> {
    fn from(constant: K) -> Self {
        Traced::known(constant)
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
                self.$method(Traced::known(other))
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
        let Some(list) = self.list.or(factor.list).or(addend.list) else {
            let [a, b, c] = [self, factor, addend].map(|x| f64::of_word(x.word));
            return Traced::known(a.mul_add(b, c));
        };
        let mut borrowed = list.borrow_mut();
        let [a, b, c] = [self, factor, addend].map(|x| x.value().term(&mut borrowed));
        Traced::computed(list, borrowed.fma(a, b, c))
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
        let Some(list) = mask.list else { return if bool::of_word(mask.word) { yes } else { no } };
        let mut borrowed = list.borrow_mut();
        let (yes, no) = (yes.value().term(&mut borrowed), no.value().term(&mut borrowed));
        Traced::computed(list, borrowed.select(mask.number(), yes, no))
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
