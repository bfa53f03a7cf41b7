//! Curves as sums of products: a trace, which changes with time, times a shape.
//!
//! ```text
//! spectrum = shape_0 + A(t) shape_1 + B(t) shape_2 + …        shapes are (1, E) unless they move
//! ```
//!
//! Products are kept apart as long as what is done to them is linear: a Shirley background is a running sum of
//! shapes, with the same traces. So only the last sum walks all times and energies.

use crate::expr::NodeId;
use crate::model::formula::build::Built;
use crate::model::lower::term::{Rates, Term, sum};

/// A trace, if there is one, times a shape.
#[derive(Clone, Copy, Debug)]
pub struct Addend<'b> {
    trace: Option<Term<'b>>,
    shape: Term<'b>,
}

impl<'b> Addend<'b> {
    /// A factor times a shape, kept apart if only the factor changes with time.
    pub fn new(factor: Option<Term<'b>>, shape: Term<'b>) -> Addend<'b> {
        match factor {
            None => Addend { trace: None, shape },
            Some(factor) if factor.rates == Rates::TIME && !shape.rates.has(Rates::TIME) => {
                Addend { trace: Some(factor), shape }
            }
            Some(factor) => Addend { trace: None, shape: factor * shape },
        }
    }

    /// What tells traces apart.
    fn trace_id(&self) -> Option<NodeId> {
        self.trace.map(|term| term.node.id())
    }

    /// What a function of a spectrum makes of this, in which it is linear; the axis has so many energies.
    pub fn fed(self, energies: usize, function: impl Fn(Term<'b>) -> Built<'b>) -> Addend<'b> {
        let Built { factor, rest: shape } = function(spread(self.shape, energies));
        match (self.trace, factor) {
            (None, factor) => Addend::new(factor, shape),
            (Some(trace), None) => Addend { trace: Some(trace), shape },
            (Some(trace), Some(p)) if p.rates == Rates::TIME => Addend { trace: Some(p * trace), shape },
            (Some(trace), Some(p)) => Addend { trace: Some(trace), shape: p * shape },
        }
    }
}

/// A shape at all energies.
fn spread(shape: Term<'_>, energies: usize) -> Term<'_> {
    let ones = || Term::array(shape.node.builder(), &[1, energies], &vec![1.0; energies], Rates::ENERGY);
    if shape.rates.has(Rates::ENERGY) { shape } else { shape * ones() }
}

/// The sum of some products; what has one trace is added before it is multiplied. `None` of none.
pub fn total<'b>(addends: impl IntoIterator<Item = Addend<'b>>) -> Option<Term<'b>> {
    let products = gathered(addends, Addend::trace_id).into_iter();
    sum(products.map(|Addend { trace, shape }| trace.map_or(shape, |trace| trace * shape)))
}

/// One product for all that have the same trace and axes, so that what is done to each is done once.
pub fn gathered_by_axes<'b>(addends: &[Addend<'b>]) -> Vec<Addend<'b>> {
    gathered(addends.iter().copied(), |addend| (addend.trace_id(), addend.shape.rates))
}

/// The sums of the shapes that have one key and so one trace, in the order of first ones.
fn gathered<'b, K: PartialEq>(
    addends: impl IntoIterator<Item = Addend<'b>>,
    key: impl Fn(&Addend<'b>) -> K,
) -> Vec<Addend<'b>> {
    let mut groups: Vec<(K, Option<Term<'b>>, Vec<Term<'b>>)> = Vec::new();
    for addend in addends {
        let key = key(&addend);
        match groups.iter_mut().find(|(known, ..)| *known == key) {
            Some((.., shapes)) => shapes.push(addend.shape),
            None => groups.push((key, addend.trace, vec![addend.shape])),
        }
    }
    let sum_of = |(_, trace, shapes)| Some(Addend { trace, shape: sum(shapes)? });
    groups.into_iter().filter_map(sum_of).collect()
}
