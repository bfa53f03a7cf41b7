//! Joints: values of few axes through which several leaves act on a result of more axes.
//!
//! ```text
//! x0 ──┐
//! A ───┤ trace (T, 1) ──> line (T, E)       ∂line/∂tau (T, E) = ∂line/∂trace (T, E) · ∂trace/∂tau (T, 1)
//! tau ─┘
//! ```
//!
//! The slope by a joint is computed once for all leaves below it, and theirs are products with slopes of its few
//! axes. So each element of the result may depend on no other element of the joint than its own: above it, operators
//! are applied element by element, or along axes that it does not have.
//!
//! Joints are used where they make fewer slopes of many axes than there are leaves; leaves that meet in some joint are
//! decided on together.

use crate::autodiff::builder::{Dynamic, SlopeBuilder};
use crate::expr::NodeId;
use cembra_vm::operator::facts::{AlongAxes, Class, Places as Kept};
use cembra_vm::value::Value;
use petgraph::unionfind::UnionFind;
use std::collections::BTreeSet;

/// Places of axes counted from the last one, a bit each.
type Places = u64;

const ALL: Places = Places::MAX;

/// What a node depends on: leaves by their places, or a joint that stands for all below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Source {
    Leaf(usize),
    /// By its place among the candidates.
    Joint(usize),
}

/// A node that can be a joint.
struct Candidate {
    node: NodeId,
    /// Places of the leaves below.
    leaves: BTreeSet<usize>,
}

/// The joints between some leaves and the root of the expression, operands first.
pub(super) fn joints(builder: &mut SlopeBuilder, leaves: &[Option<NodeId>]) -> Vec<NodeId> {
    let nodes = builder.nodes;
    let axes: Vec<Option<Dynamic>> = (0..nodes).map(|index| builder.axes(NodeId::at(index))).collect();
    let is_narrow = narrow(builder, &axes);
    let mut candidates: Vec<Candidate> = Vec::new();
    let mut sources: Vec<BTreeSet<Source>> = Vec::with_capacity(nodes);
    for id in (0..nodes).map(NodeId::at) {
        let below: BTreeSet<Source> = match leaves.iter().position(|leaf| *leaf == Some(id)) {
            Some(place) => BTreeSet::from([Source::Leaf(place)]),
            // A condition has the slope zero, whatever it depends on.
            None if builder.has_steps_only(id) => BTreeSet::new(),
            None => {
                let operands = builder.graph().operands(id).iter();
                operands.flat_map(|operand| sources[operand.index()].iter().copied()).collect()
            }
        };
        if is_narrow[id.index()] && below.len() > 1 {
            let leaves = below.iter().flat_map(|source| match source {
                Source::Leaf(place) => BTreeSet::from([*place]),
                Source::Joint(place) => candidates[*place].leaves.clone(),
            });
            candidates.push(Candidate { node: id, leaves: leaves.collect() });
            sources.push(BTreeSet::from([Source::Joint(candidates.len() - 1)]));
        } else {
            sources.push(below);
        }
    }
    match sources.last() {
        Some(seen) if !candidates.is_empty() => worthwhile(&candidates, seen, leaves.len()),
        _ => Vec::new(),
    }
}

/// For each node, whether something of more axes reads it and each element of the last node depends on no other
/// element of it than its own.
fn narrow(builder: &mut SlopeBuilder, axes: &[Option<Dynamic>]) -> Vec<bool> {
    let mut mixed: Vec<Places> = vec![0; axes.len()];
    let mut is_widened = vec![false; axes.len()];
    for user in (0..axes.len()).rev() {
        let id = NodeId::at(user);
        let by_user = mixed[user] | mixes(builder, id, axes);
        for operand in builder.graph().operands(id) {
            let (narrow, wide) = (places(axes[operand.index()].as_ref()), places(axes[user].as_ref()));
            mixed[operand.index()] |= by_user;
            is_widened[operand.index()] |= wide & !narrow != 0;
        }
    }
    let is_narrow = |node: usize| {
        axes[node].is_some() && is_widened[node] && places(axes[node].as_ref()) & mixed[node] == 0
    };
    (0..axes.len()).map(is_narrow).collect()
}

/// Dynamic axes; all that can be, if nothing is known.
fn places(axes: Option<&Dynamic>) -> Places {
    let Some(axes) = axes else { return ALL };
    axes.iter().rev().enumerate().filter(|(_, dynamic)| **dynamic).map(|(place, _)| 1 << place).sum()
}

/// Axes along which elements of an operator's first operand meet, or change their places.
fn mixes(builder: &mut SlopeBuilder, id: NodeId, axes: &[Option<Dynamic>]) -> Places {
    let Some(operator) = builder.graph().operator(id) else { return 0 };
    // What changes in steps has no slope, whatever meets.
    if builder.has_steps_only(id) {
        return 0;
    }
    let along = match builder.definition(operator).map(|def| def.facts().class()) {
        Ok(Class::Pointwise) => return 0,
        Ok(Class::Along(along)) => along,
        Ok(Class::Pairs | Class::Unknown) | Err(_) => return ALL,
    };
    let operands = builder.graph().operands(id);
    let is_true = |keep: NodeId| builder.graph().value(keep) == Some(&Value::from(true));
    let is_kept = match along.places {
        Kept::Kept => true,
        Kept::KeptIf(argument) => is_true(operands[argument]),
        Kept::Moved => false,
    };
    let (AlongAxes::Named(argument), true, Some(x)) = (along.axes, is_kept, &axes[operands[0].index()])
    else {
        return ALL;
    };
    let all: Vec<usize> = (0..x.len()).collect();
    let along = builder.axes_argument(operands[argument], x.len(), &all);
    along.map_or(ALL, |along| along.into_iter().map(|axis| 1 << (x.len() - 1 - axis)).sum())
}

/// The candidates that save slopes, where the result depends on leaves and joints like this.
fn worthwhile(candidates: &[Candidate], seen: &BTreeSet<Source>, leaves: usize) -> Vec<NodeId> {
    let mut meet = UnionFind::new(leaves);
    let mut first = vec![0; candidates.len()];
    for (candidate, first) in candidates.iter().zip(&mut first) {
        *first = *candidate.leaves.first().expect("a candidate has leaves below");
        candidate.leaves.iter().for_each(|leaf| {
            meet.union(*first, *leaf);
        });
    }
    let mut with: Vec<usize> = vec![0; leaves];
    for source in seen {
        let leaf = match source {
            Source::Leaf(place) => *place,
            Source::Joint(place) => first[*place],
        };
        with[meet.find(leaf)] += 1;
    }
    let mut without: Vec<usize> = vec![0; leaves];
    (0..leaves).for_each(|leaf| without[meet.find(leaf)] += 1);
    let saves = |leaf: &usize| with[meet.find(*leaf)] < without[meet.find(*leaf)];
    candidates
        .iter()
        .zip(&first)
        .filter(|(_, leaf)| saves(leaf))
        .map(|(candidate, _)| candidate.node)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::Registry;
    use crate::syntax::parse;
    use cembra_vm::value::QType;
    use cembra_vm::value::qtype::FLOAT64;

    /// The joints of an expression of the scalars a, b and c, a line e and a column t.
    fn texts(text: &str) -> Vec<String> {
        let axis = |text: &str| text.parse::<QType>().expect("a type");
        let scalars = ["a", "b", "c"].map(|name| (name, FLOAT64));
        let arrays = [("e", axis("NDARRAY_FLOAT64_1N")), ("t", axis("NDARRAY_FLOAT64_N1"))];
        let types: Vec<(&str, QType)> = scalars.into_iter().chain(arrays).collect();
        let expr = parse(text).expect("an expression");
        let mut builder = SlopeBuilder::new(&types, &Registry::standard(), expr.graph().limit());
        builder.import(&expr).expect("it has types");
        let leaves = ["a", "b", "c"].map(|name| builder.leaf(name));
        let found = joints(&mut builder, &leaves);
        let text = |id| crate::expr::Expr::new(builder.graph(), id).expect("a node").to_string();
        found.into_iter().map(text).collect()
    }

    #[test]
    fn a_trace_is_a_joint_where_times_do_not_meet() {
        let trace = "a * math.exp(-t / b)";
        assert_eq!(texts(&format!("math.exp(e - {trace})")), [trace]);
        assert_eq!(texts(&format!("nd.cumsum(e * ({trace}), 1)")), [trace]);
        assert_eq!(texts(&format!("nd.sum(e * ({trace}), 1, keep=true)")), [trace]);
        assert!(texts(&format!("nd.cumsum(e * ({trace}), 0)")).is_empty());
        assert!(texts(&format!("nd.sum(e * ({trace}), 1)")).is_empty(), "it moves axes");
    }

    #[test]
    fn joints_are_fewer_than_the_leaves_that_meet_in_them() {
        assert_eq!(texts("math.exp(e - (a + b * t)) * (c * t)"), ["a + b * t"]);
        assert!(texts("math.exp(e - (a + b * t)) * (a * t + b)").is_empty(), "two of two");
        assert!(texts("math.exp(e - a * b) * b").is_empty(), "one and a leaf of two");
        assert_eq!(
            texts("math.exp(e - (a + b * t)) * (a * t + b * c)").len(),
            3,
            "two of many axes for three"
        );
    }
}
