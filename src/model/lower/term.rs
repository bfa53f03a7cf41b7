//! Terms: nodes of the expression with what they depend on.
//!
//! ```text
//!           shape         depends on
//! theta     a scalar      nothing but theta
//! energies  (1, E)        energy
//! a trace   (T, 1)        time
//! a peak that moves (T, E)        both
//! a profile (P, 1, 1)     a point of the auxiliary axis
//! ```
//!
//! Every axis that a term does not depend on is a unit axis of its type or absent, so that what does not
//! change with time is computed once for all times. Types say so to the machine; [`Rates`] say it here, where
//! sums are put together.

use crate::expr::{ExprBuilder, ExprRef};
use crate::registry::derived::nd;
use cembra_vm::builtins::math;
use cembra_vm::builtins::nd::shape;
use cembra_vm::value::{NdRows, NdType, ScalarType, Value};
use std::ops::{Add, BitOr, Div, Mul, Neg, Sub};
use std::sync::Arc;

/// The axes that a term depends on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rates(u8);

impl Rates {
    /// None: a scalar.
    pub const NONE: Rates = Rates(0);
    /// The energy axis, the last one.
    pub const ENERGY: Rates = Rates(1);
    /// The time axis.
    pub const TIME: Rates = Rates(2);
    /// The axis of profiles, the first one.
    pub const AUX: Rates = Rates(4);

    /// True if these axes are among them.
    pub fn has(self, axes: Rates) -> bool {
        self.0 & axes.0 == axes.0
    }

    /// These axes and others.
    pub fn union(self, axes: Rates) -> Rates {
        Rates(self.0 | axes.0)
    }

    /// Without some axes.
    pub fn without(self, axes: Rates) -> Rates {
        Rates(self.0 & !axes.0)
    }
}

impl BitOr for Rates {
    type Output = Rates;

    fn bitor(self, other: Rates) -> Rates {
        self.union(other)
    }
}

/// A node with the axes it depends on.
#[derive(Clone, Copy, Debug)]
pub struct Term<'b> {
    /// The node.
    pub node: ExprRef<'b>,
    /// What it depends on.
    pub rates: Rates,
}

impl<'b> Term<'b> {
    /// A number.
    pub fn number(builder: &'b ExprBuilder, value: f64) -> Term<'b> {
        Term { node: builder.literal(value), rates: Rates::NONE }
    }

    /// The values of a literal array of this shape.
    ///
    /// # Panics
    /// There are not as many values as places.
    pub fn array(builder: &'b ExprBuilder, shape: &[usize], values: &[f64], rates: Rates) -> Term<'b> {
        Term { node: builder.literal(nd_value(ScalarType::Float64, shape, values, rates)), rates }
    }

    /// Where a literal array of this shape is true.
    pub fn mask(builder: &'b ExprBuilder, shape: &[usize], values: &[bool], rates: Rates) -> Term<'b> {
        Term { node: builder.literal(nd_value(ScalarType::Boolean, shape, values, rates)), rates }
    }

    /// A number beside this term.
    pub fn beside(self, value: f64) -> Term<'b> {
        Term::number(self.node.builder(), value)
    }

    /// An operator of one operand.
    pub fn apply(self, operator: &str) -> Term<'b> {
        Term { node: self.node.apply(operator), rates: self.rates }
    }

    /// An operator of two operands.
    pub fn with(self, operator: &str, other: Term<'b>) -> Term<'b> {
        let node = self.node.builder().call(operator, &[self.node, other.node]);
        Term { node, rates: self.rates.union(other.rates) }
    }

    /// This as a condition: one of two terms, element by element.
    pub fn select(self, yes: Term<'b>, no: Term<'b>) -> Term<'b> {
        let node = self.node.builder().call(shape::WHERE, &[self.node, yes.node, no.node]);
        Term { node, rates: self.rates | yes.rates | no.rates }
    }

    /// The square.
    pub fn square(self) -> Term<'b> {
        self * self
    }

    /// True if the other changes along all of its axes and more.
    pub fn has_fewer_axes(self, other: Term<'b>) -> bool {
        self.rates != other.rates && other.rates.has(self.rates)
    }

    /// 2 to this power, which takes less time than `e` to it.
    pub fn exp2(self) -> Term<'b> {
        self.apply(math::EXP2)
    }

    /// The larger one; NaN if either is.
    pub fn maximum(self, other: Term<'b>) -> Term<'b> {
        self.with(math::MAXIMUM, other)
    }

    /// An operator along one axis of this term, with a flag behind it.
    pub fn along(self, operator: &str, axis: i64, flag: bool) -> ExprRef<'b> {
        let builder = self.node.builder();
        builder.call(operator, &[self.node, builder.literal(axis), builder.literal(flag)])
    }

    /// The sums from each place of the last axis to its end.
    pub fn sum_to_end(self) -> Term<'b> {
        let builder = self.node.builder();
        let [axis, reverse, in_groups] =
            [builder.literal(-1i64), builder.literal(true), builder.literal(true)];
        Term { node: builder.call(nd::CUMSUM, &[self.node, axis, reverse, in_groups]), rates: self.rates }
    }

    /// The mean over the axis of profiles.
    pub fn mean_of_profile(self) -> Term<'b> {
        match self.rates.has(Rates::AUX) {
            false => self,
            true => Term { node: self.along(nd::MEAN, 0, false), rates: self.rates.without(Rates::AUX) },
        }
    }
}

/// A literal array: its unit axes are those that it does not depend on. Shapes are those of rank 2, time and
/// energy, or of rank 3 with the axis of profiles in front.
fn nd_value<T: cembra_vm::value::nd_view::NdCell>(
    element: ScalarType,
    shape: &[usize],
    values: &[T],
    rates: Rates,
) -> Value {
    let axes = [Rates::AUX, Rates::TIME, Rates::ENERGY];
    let units = axes[axes.len() - shape.len()..].iter().map(|axis| !rates.has(*axis));
    let qtype = NdType::of_axes(element, units).expect("two or three axes of an element");
    let rows = NdRows::from_slice(qtype, shape, values).expect("as many values as places");
    Value::NdArray(Arc::new(rows))
}

macro_rules! operators {
    ($($trait:ident $method:ident)*) => {$(
        impl<'b> $trait for Term<'b> {
            type Output = Term<'b>;

            fn $method(self, other: Term<'b>) -> Term<'b> {
                Term { node: self.node.$method(other.node), rates: self.rates.union(other.rates) }
            }
        }

        impl<'b> $trait<f64> for Term<'b> {
            type Output = Term<'b>;

            fn $method(self, other: f64) -> Term<'b> {
                Term { node: self.node.$method(other), rates: self.rates }
            }
        }

        impl<'b> $trait<Term<'b>> for f64 {
            type Output = Term<'b>;

            fn $method(self, other: Term<'b>) -> Term<'b> {
                Term { node: self.$method(other.node), rates: other.rates }
            }
        }
    )*};
}

operators! { Add add Sub sub Mul mul Div div }

impl<'b> Neg for Term<'b> {
    type Output = Term<'b>;

    fn neg(self) -> Term<'b> {
        Term { node: -self.node, rates: self.rates }
    }
}

/// The sum of some terms: those that depend on the same axes first, so that only sums of few axes meet sums
/// of many. `None` of no terms.
pub fn sum<'b>(terms: impl IntoIterator<Item = Term<'b>>) -> Option<Term<'b>> {
    let mut terms: Vec<Term<'b>> = terms.into_iter().collect();
    // The sort is stable: terms that depend on the same axes keep their order.
    terms.sort_by_key(|term| term.rates);
    let mut groups: Vec<Term<'b>> = Vec::new();
    for term in terms {
        match groups.last_mut().filter(|last| last.rates == term.rates) {
            Some(last) => *last = *last + term,
            None => groups.push(term),
        }
    }
    groups.into_iter().reduce(Add::add)
}
