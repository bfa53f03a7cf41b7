//! Products: what an expression is multiplied by all along its last axis.
//!
//! ```text
//! exp(-t/tau) · line(e)      exp(-t/tau) (T, 1)   times   line(e) (1, E)      T + E values instead of T · E
//! ```

use crate::autodiff::builder::SlopeBuilder;
use crate::autodiff::error::AutodiffError;
use crate::expr::graph::{Copier, DEFAULT_NODE_LIMIT};
use crate::expr::{Expr, Graph, Node, NodeId};
use crate::registry::Registry;
use cembra_vm::builtins::math;
use cembra_vm::value::QType;

/// What finds products in expressions that share nodes.
#[derive(Debug)]
pub struct Products {
    builder: SlopeBuilder,
    copier: Copier,
}

impl Products {
    /// Of expressions whose leaves have these types.
    pub fn new(leaves: &[(&str, QType)]) -> Products {
        let builder = SlopeBuilder::new(leaves, &Registry::standard(), DEFAULT_NODE_LIMIT);
        Products { builder, copier: Copier::new() }
    }

    /// An expression over a last axis as a product: first what does not change along that axis, then the rest. `None` if
    /// it is no such product.
    ///
    /// # Errors
    /// A leaf has no type, or there are too many nodes.
    pub fn split(&mut self, expr: &Expr) -> Result<Option<(Expr, Expr)>, AutodiffError> {
        if factors(expr.graph(), expr.root()).is_none() {
            return Ok(None);
        }
        let builder = &mut self.builder;
        let mut rest = builder.import(expr)?;
        let is_constant = |builder: &mut SlopeBuilder, id: NodeId| match builder.axes(id) {
            Some(axes) => axes.last() != Some(&true),
            None => false,
        };
        if is_constant(builder, rest) {
            return Ok(None);
        }
        let mut product = None;
        while let Some([x, y]) = factors(builder.graph(), rest) {
            let (next, factor) = match (is_constant(builder, x), is_constant(builder, y)) {
                (true, _) => (y, x),
                (_, true) => (x, y),
                _ => break,
            };
            product = Some(match product {
                Some(product) => builder.apply(math::MULTIPLY, &[product, factor])?,
                None => factor,
            });
            rest = next;
        }
        let Some(product) = product else { return Ok(None) };
        let mut copied = |root| Expr::copied(&mut self.copier, builder.graph(), root);
        Ok(Some((copied(product)?, copied(rest)?)))
    }
}

/// The operands of a product.
fn factors(graph: &Graph, id: NodeId) -> Option<[NodeId; 2]> {
    match graph.node(id) {
        Node::Operator(operator, &[x, y]) if **graph.name(operator) == *math::MULTIPLY => Some([x, y]),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::parse;
    use cembra_vm::value::qtype::FLOAT64;

    fn texts(text: &str) -> Option<[String; 2]> {
        let axis = |text: &str| text.parse::<QType>().expect("a type");
        let leaves = [("a", FLOAT64), ("e", axis("NDARRAY_FLOAT64_1N")), ("t", axis("NDARRAY_FLOAT64_N1"))];
        let found = Products::new(&leaves).split(&parse(text).expect("an expression")).expect("few nodes");
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
