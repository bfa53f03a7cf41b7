//! Products: what an expression is multiplied by all along its last axis.
//!
//! ```text
//! exp(-t/tau) · line(e)      exp(-t/tau) (T, 1)   times   line(e) (1, E)      T + E values instead of T · E
//! ```

use crate::autodiff::axes::AxesOf;
use crate::autodiff::error::AutodiffError;
use crate::expr::{Expr, Graph, Node, NodeId};
use cembra_vm::value::QType;

/// An expression over a last axis as a product: first what does not change along that axis, then the rest. `None` if
/// it is no such product. All leaves of the expression are given with their types.
///
/// # Errors
/// There are too many nodes.
pub fn split(expr: &Expr, leaves: &[(&str, QType)]) -> Result<Option<(Expr, Expr)>, AutodiffError> {
    let mut graph = expr.graph().clone();
    let mut axes = AxesOf::new(leaves);
    let mut is_constant = |graph: &Graph, id: NodeId| match axes.of(graph, id) {
        Some(axes) => axes.last() != Some(&true),
        None => false,
    };
    let (mut factors, mut rest) = (Vec::new(), expr.root());
    if is_constant(&graph, rest) {
        return Ok(None);
    }
    while let Node::Operator(operator, operands) = graph.node(rest) {
        let (&[x, y], "math.multiply") = (operands, &**graph.name(operator)) else { break };
        let (next, factor) = match (is_constant(&graph, x), is_constant(&graph, y)) {
            (true, _) => (y, x),
            (_, true) => (x, y),
            _ => break,
        };
        factors.push(factor);
        rest = next;
    }
    let Some((first, others)) = factors.split_first() else { return Ok(None) };
    let (mut factor, multiply) = (*first, graph.symbol("math.multiply"));
    for other in others {
        factor = graph.apply(multiply, &[factor, *other])?;
    }
    Ok(Some((Expr::new(&graph, factor)?, Expr::new(&graph, rest)?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::parse;
    use cembra_vm::value::qtype::FLOAT64;

    fn texts(text: &str) -> Option<[String; 2]> {
        let axis = |text: &str| text.parse::<QType>().expect("a type");
        let leaves = [("a", FLOAT64), ("e", axis("NDARRAY_FLOAT64_1N")), ("t", axis("NDARRAY_FLOAT64_N1"))];
        let found = split(&parse(text).expect("an expression"), &leaves).expect("few nodes");
        found.map(|(factor, rest)| [factor.to_string(), rest.to_string()])
    }

    #[test]
    fn factors_are_collected() {
        let pair = |factor: &str, rest: &str| Some([factor.to_owned(), rest.to_owned()]);
        assert_eq!(texts("math.exp(e * t) * t"), pair("t", "math.exp(e * t)"));
        assert_eq!(texts("a * (math.exp(e) * (t * a))"), pair("a * (t * a)", "math.exp(e)"));
        assert_eq!(texts("t * e"), pair("t", "e"));
        assert_eq!(texts("a * t"), None, "it does not change at all");
        assert_eq!(texts("e * (e + t)"), None);
        assert_eq!(texts("e + t"), None);
    }
}
