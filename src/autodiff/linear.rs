//! Which leaves an expression is linear in, all of them at once.
//!
//! ```text
//! A * line(x0) + B * line(x1) + y0        linear in A, B and y0; x0 and x1 stand in a function
//! p * (A * line(x0))                      linear in p and in A, but not in both: one of them is chosen
//! ```
//!
//! Linear means of degree one or less with the other chosen leaves, whatever the rest is: the second derivatives
//! by chosen leaves are zero. The rules look at operators only, so a leaf that is linear by some identity of
//! arithmetic counts as one that is not.

use crate::expr::{Expr, Node, NodeId};
use crate::registry::Registry;
use cembra_vm::operator::facts::Linear;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

/// How an expression depends on a leaf.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dependence {
    /// Linearly, together with all other leaves of which this is said.
    Linear,
    /// Not at all.
    Absent,
    /// Through an operator that is not linear in what it stands in.
    Through(Arc<str>),
    /// Linearly, but multiplied by this linear leaf.
    Times(String),
}

impl fmt::Display for Dependence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Dependence::Linear => write!(f, "is linear"),
            Dependence::Absent => write!(f, "does not matter"),
            Dependence::Through(operator) => write!(f, "is in `{operator}`"),
            Dependence::Times(leaf) => write!(f, "is multiplied by `{leaf}`"),
        }
    }
}

/// How an expression depends on some leaves, in their order.
pub fn dependences(expr: &Expr, leaves: &[&str]) -> Vec<Dependence> {
    let graph = expr.graph();
    let found = vec![Dependence::Absent; leaves.len()];
    let mut walk = Walk { registry: Registry::standard(), found, ..Walk::default() };
    for id in graph.post_order(&[expr.root()]) {
        let leaves_below = match graph.node(id) {
            Node::Leaf(name) => {
                let place = leaves.iter().position(|leaf| **leaf == **graph.name(name));
                place.into_iter().collect()
            }
            Node::Operator(name, operands) => walk.apply(graph.name(name), operands),
            Node::Placeholder(_) | Node::Literal(_) => BTreeSet::new(),
        };
        if let (Node::Leaf(_), Some(leaf)) = (graph.node(id), leaves_below.first()) {
            walk.found[*leaf] = Dependence::Linear;
        }
        walk.below.insert(id, leaves_below);
    }
    walk.choose(leaves);
    walk.found
}

#[derive(Default)]
struct Walk {
    registry: Registry,
    /// The leaves that a node depends on, by their places.
    below: BTreeMap<NodeId, BTreeSet<usize>>,
    found: Vec<Dependence>,
    /// Leaves that are multiplied by each other, the smaller place first.
    products: BTreeSet<(usize, usize)>,
}

impl Walk {
    /// The leaves below an application.
    fn apply(&mut self, operator: &Arc<str>, operands: &[NodeId]) -> BTreeSet<usize> {
        let linear = self.registry.get(operator).map_or(Linear::No, |def| def.facts().linear());
        match linear {
            Linear::InEach => {
                for (place, right) in operands.iter().enumerate() {
                    operands[..place].iter().for_each(|left| self.multiply(operator, *left, *right));
                }
            }
            Linear::InAll | Linear::In(_) | Linear::No => {
                let others = operands.iter().enumerate().filter(|(place, _)| !linear.has(*place));
                let others: Vec<NodeId> = others.map(|(_, operand)| *operand).collect();
                self.lose(operator, &others);
            }
        }
        operands.iter().flat_map(|id| self.below[id].iter().copied()).collect()
    }

    /// The leaves of operands that an operator is not linear in.
    fn lose(&mut self, operator: &Arc<str>, operands: &[NodeId]) {
        for leaf in operands.iter().flat_map(|id| &self.below[id]) {
            if !matches!(self.found[*leaf], Dependence::Through(_)) {
                self.found[*leaf] = Dependence::Through(operator.clone());
            }
        }
    }

    fn multiply(&mut self, operator: &Arc<str>, left: NodeId, right: NodeId) {
        let squared: Vec<usize> = self.below[&left].intersection(&self.below[&right]).copied().collect();
        for leaf in squared {
            self.found[leaf] = Dependence::Through(operator.clone());
        }
        for (a, b) in self.below[&left].iter().flat_map(|a| self.below[&right].iter().map(move |b| (a, b))) {
            self.products.insert((*a.min(b), *a.max(b)));
        }
    }

    /// Of leaves that are multiplied by each other, leaves out those with the most partners first.
    fn choose(&mut self, leaves: &[&str]) {
        loop {
            let is_linear = |leaf: usize| self.found[leaf] == Dependence::Linear;
            let mut partners: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
            for (a, b) in self.products.iter().filter(|(a, b)| is_linear(*a) && is_linear(*b)) {
                partners.entry(*a).or_default().push(*b);
                partners.entry(*b).or_default().push(*a);
            }
            let Some((leaf, others)) = partners.iter().max_by_key(|(_, others)| others.len()) else { return };
            self.found[*leaf] = Dependence::Times(leaves[others[0]].to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::parse;

    fn texts(text: &str, leaves: &[&str]) -> Vec<String> {
        dependences(&parse(text).expect("an expression"), leaves).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn amplitudes_are_linear_and_widths_are_not() {
        let text = "a * math.exp(-x / f) + b * (1.0 - math.exp(x)) / f - c + nd.sum(d * x) / 3.0";
        let expected =
            ["is linear", "is linear", "is linear", "is linear", "is in `math.divide`", "does not matter"];
        assert_eq!(texts(text, &["a", "b", "c", "d", "f", "e"]), expected);
        assert_eq!(texts(text, &["x"]), ["is in `math.exp`"]);
        assert_eq!(texts("a * a", &["a"]), ["is in `math.multiply`"]);
        assert_eq!(texts("core.where(a < b, a, c)", &["a", "b", "c"])[2], "is linear");
        assert_eq!(texts("core.where(a < b, a, c)", &["a", "b", "c"])[0], "is in `core.less`");
    }

    #[test]
    fn of_a_product_the_leaf_with_more_partners_is_left_out() {
        let expected = ["is multiplied by `a`", "is linear", "is linear"];
        assert_eq!(texts("p * (a + b * 2.0)", &["p", "a", "b"]), expected);
        assert_eq!(texts("(a + b) * (c + b)", &["a", "b", "c"])[1], "is in `math.multiply`");
    }
}
