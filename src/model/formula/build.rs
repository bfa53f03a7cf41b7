//! Formulas as terms: nodes of the expression of a model, with the axes that they depend on.
//!
//! ```text
//! A * exp2(-4 * ((x - x0) / F)**2)       A: the factor, apart from the rest
//!          -4 * (1 / F²) * (x - x0)²     the square of a quotient, whose divisor has fewer axes
//! ```
//!
//! A factor in front is kept apart: what it multiplies is computed once for all times, however the factor changes.
//! Along energies, the square of a distance in widths is its square times one over that of the width, and a Gaussian line is a
//! power of 2: both take less time, and differ from the formula as written by a few roundings. Widths below 1e-150 count as
//! that: such a line has one energy.
//!
//! Both sides of a choice are computed and one is taken, element by element. So a formula gives the side that is not taken an
//! argument with a finite slope, if its own might have none: then derivatives are finite wherever those of the formula are.

use crate::expr::{Expr, ExprBuilder, Graph, Literal, Node, NodeId};
use crate::model::formula::words::Word;
use crate::model::lower::term::{Rates, Term};
use crate::registry::derived::nd;
use cembra_vm::builtins::nd::shape;
use cembra_vm::builtins::{bools, math};
use cembra_vm::value::{ScalarValue, Value};
use std::f64::consts::LOG2_E;

/// A formula in terms of others.
pub(crate) struct Built<'b> {
    /// What stands in front of a product, if it is a name.
    pub(crate) factor: Option<Term<'b>>,
    /// The rest.
    pub(crate) rest: Term<'b>,
}

impl<'b> Built<'b> {
    /// The value.
    pub(crate) fn whole(self) -> Term<'b> {
        self.factor.map_or(self.rest, |factor| factor * self.rest)
    }
}

/// Builds a formula that has been checked; `read` gives the terms of its names.
pub(crate) fn build<'b>(
    expr: &Expr,
    builder: &'b ExprBuilder,
    read: impl Fn(&str) -> Option<Term<'b>>,
) -> Built<'b> {
    let graph = expr.graph();
    let mut made = Made { graph, builder, terms: Vec::with_capacity(graph.len()) };
    for id in (0..graph.len()).map(NodeId::at) {
        let partial = match graph.node(id) {
            Node::Leaf(name) => made.named(graph.name(name), &read),
            Node::Literal(literal) => Partial::Whole(made.number(number(literal).unwrap_or(f64::NAN))),
            Node::Operator(name, operands) => made.operator(graph.name(name), operands),
            Node::Placeholder(_) => unreachable!("a checked formula has none"),
        };
        made.terms.push(partial);
    }
    match graph.node(expr.root()) {
        Node::Operator(name, [factor, rest])
            if **graph.name(name) == *math::MULTIPLY && matches!(graph.node(*factor), Node::Leaf(_)) =>
        {
            Built { factor: Some(made.term(*factor)), rest: made.term(*rest) }
        }
        _ => Built { factor: None, rest: made.term(expr.root()) },
    }
}

/// The value of a constant that has a name.
pub(crate) fn constant(name: &str) -> Option<f64> {
    match name {
        "pi" => Some(std::f64::consts::PI),
        "e" => Some(std::f64::consts::E),
        _ => None,
    }
}

/// True for a truth value.
pub(crate) fn is_truth(literal: &Literal) -> bool {
    matches!(literal, Literal::Value(Value::Scalar(ScalarValue::Boolean(_))))
}

/// The number in a literal; truth values count as 1 and 0.
pub(crate) fn number(literal: &Literal) -> Option<f64> {
    match literal {
        Literal::Value(Value::Scalar(ScalarValue::Boolean(truth))) => Some(f64::from(u8::from(*truth))),
        Literal::Value(Value::Scalar(value)) => value.as_f64(),
        _ => None,
    }
}

/// A node so far.
#[derive(Clone, Copy)]
enum Partial<'b> {
    Whole(Term<'b>),
    /// A factor, if there is one, times the square of a distance in widths.
    Square {
        factor: Option<Term<'b>>,
        distance: Term<'b>,
        width: Term<'b>,
    },
}

struct Made<'g, 'b> {
    graph: &'g Graph,
    builder: &'b ExprBuilder,
    terms: Vec<Partial<'b>>,
}

impl<'b> Made<'_, 'b> {
    fn number(&self, value: f64) -> Term<'b> {
        Term::number(self.builder, value)
    }

    fn named(&self, name: &str, read: &impl Fn(&str) -> Option<Term<'b>>) -> Partial<'b> {
        let constant = || self.number(constant(name).unwrap_or(f64::NAN));
        Partial::Whole(read(name).unwrap_or_else(constant))
    }

    fn term(&self, id: NodeId) -> Term<'b> {
        resolved(self.terms[id.index()])
    }

    fn operator(&self, name: &str, operands: &[NodeId]) -> Partial<'b> {
        let word = Word::parsed(name, operands.len()).expect("a checked formula has words alone");
        let partial = |at: usize| self.terms[operands[at].index()];
        let scaled = |by: Term<'b>, partial: Partial<'b>| match partial {
            Partial::Square { factor, distance, width } => {
                Some(Partial::Square { factor: Some(factor.map_or(by, |f| by * f)), distance, width })
            }
            Partial::Whole(_) => None,
        };
        let special = match (word.operator, operands) {
            (math::POW, [base, exponent]) if self.is_two(*exponent) => Some(self.squared(*base)),
            (math::MULTIPLY, [by, _]) => scaled(self.term(*by), partial(1)),
            (math::EXP, [power]) if self.term(*power).rates.has(Rates::ENERGY) => {
                let power = scaled(self.number(LOG2_E), partial(0));
                power.map(|power| Partial::Whole(resolved(power).exp2()))
            }
            _ => None,
        };
        let terms = || operands.iter().map(|id| self.term(*id)).collect::<Vec<Term<'b>>>();
        special.unwrap_or_else(|| Partial::Whole(applied(word, &terms())))
    }

    fn is_two(&self, id: NodeId) -> bool {
        self.graph.literal(id).and_then(number) == Some(2.0)
    }

    fn squared(&self, base: NodeId) -> Partial<'b> {
        match self.graph.node(base) {
            Node::Operator(name, [distance, width]) if **self.graph.name(name) == *math::DIVIDE => {
                Partial::Square { factor: None, distance: self.term(*distance), width: self.term(*width) }
            }
            _ => Partial::Whole(self.term(base).square()),
        }
    }
}

/// The term that a node is after all.
fn resolved(partial: Partial<'_>) -> Term<'_> {
    match partial {
        Partial::Whole(term) => term,
        Partial::Square { factor, distance, width } => square(factor, distance, width),
    }
}

/// The square of a quotient times a factor: one multiplication for each energy, where factor and divisor have fewer axes.
fn square<'b>(factor: Option<Term<'b>>, distance: Term<'b>, width: Term<'b>) -> Term<'b> {
    let by = |square: Term<'b>| factor.map_or(square, |factor| factor * square);
    match distance.rates.has(Rates::ENERGY) && width.has_fewer_axes(distance) {
        true => by(over_square(width)) * distance.square(),
        false => by((distance / width).square()),
    }
}

/// Smallest square of a width. One over it has room for the factors of the formulas.
const SMALLEST_SQUARE: f64 = 1e-300;

/// One over the square of a width, which is finite for a tiny width: infinity times a distance of zero would be NaN at the
/// centre of the line. That of zero is infinite, as in the formula.
fn over_square(width: Term<'_>) -> Term<'_> {
    let zero = width.beside(0.0);
    let square = width.square().maximum(width.beside(SMALLEST_SQUARE));
    1.0 / width.with(bools::EQUAL, zero).select(zero, square)
}

/// A word of some terms. Floor division and remainder of the machine raise for a zero divisor, those of formulas give NaN:
/// the divisor is replaced there.
fn applied<'b>(word: &Word, terms: &[Term<'b>]) -> Term<'b> {
    match (word.operator, terms) {
        (math::POS, [x]) => *x,
        (operator @ (math::FLOORDIV | math::MOD), [x, y]) => {
            let is_zero = y.with(bools::EQUAL, y.beside(0.0));
            let whole = x.with(operator, is_zero.select(y.beside(1.0), *y));
            is_zero.select(y.beside(f64::NAN), whole)
        }
        (shape::WHERE, [condition, yes, no]) => condition.select(*yes, *no),
        (nd::MAX, [x]) => Term { node: x.along(nd::MAX, -1, true), rates: x.rates.without(Rates::ENERGY) },
        (nd::CUMSUM, [x]) => x.sum_to_end(),
        (operator, [x]) => x.apply(operator),
        (operator, [x, y]) => x.with(operator, *y),
        _ => unreachable!("{word:?} has other operands"),
    }
}
