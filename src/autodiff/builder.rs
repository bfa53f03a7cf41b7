//! Nodes of slopes, added to the graph of the expression whose slopes they are.

use crate::autodiff::axes::AxesOf;
use crate::autodiff::error::AutodiffError;
use crate::expr::{Graph, Literal, Node, NodeId};

/// A slope; `None` is zero.
pub(super) type Slope = Option<NodeId>;

/// The nodes of an expression and of the slopes so far, with their axes.
#[derive(Debug)]
pub(super) struct SlopeBuilder {
    pub(super) graph: Graph,
    pub(super) axes: AxesOf,
    /// How many nodes the expression has, operands first, the root last; all others are of slopes.
    pub(super) nodes: usize,
}

impl SlopeBuilder {
    /// The leaf of that name, if there is one.
    pub(super) fn leaf(&self, name: &str) -> Option<NodeId> {
        (0..self.graph.len()).map(NodeId::at).find(|id| match self.graph.node(*id) {
            Node::Leaf(leaf) => &**self.graph.name(leaf) == name,
            _ => false,
        })
    }

    /// A product of two as they are, without factors of one; `None` if a factor is zero.
    pub(super) fn times(&mut self, x: NodeId, y: NodeId) -> Result<Slope, AutodiffError> {
        match (self.literal_number(x), self.literal_number(y)) {
            (Some(0.0), _) | (_, Some(0.0)) => Ok(None),
            (Some(1.0), _) => Ok(Some(y)),
            (_, Some(1.0)) => Ok(Some(x)),
            (Some(-1.0), _) => self.apply("math.neg", &[y]).map(Some),
            (_, Some(-1.0)) => self.apply("math.neg", &[x]).map(Some),
            _ => self.apply("math.multiply", &[x, y]).map(Some),
        }
    }

    /// True unless the node is known to have one element.
    pub(super) fn is_array(&mut self, id: NodeId) -> bool {
        self.axes.of(&self.graph, id).is_none_or(|axes| axes.contains(&true))
    }

    /// The number that a literal is.
    pub(super) fn literal_number(&self, id: NodeId) -> Option<f64> {
        self.graph.value(id).and_then(|value| value.scalar()?.as_f64())
    }

    /// The slope as a node.
    pub(super) fn or_zero(&mut self, slope: Slope) -> Result<NodeId, AutodiffError> {
        slope.map_or_else(|| self.number(0.0), Ok)
    }

    /// A FLOAT64 literal.
    pub(super) fn number(&mut self, value: f64) -> Result<NodeId, AutodiffError> {
        Ok(self.graph.add_literal(value)?)
    }

    /// Any literal.
    pub(super) fn literal(&mut self, literal: impl Into<Literal>) -> Result<NodeId, AutodiffError> {
        Ok(self.graph.add_literal(literal)?)
    }

    /// An operator.
    pub(super) fn apply(&mut self, name: &str, operands: &[NodeId]) -> Result<NodeId, AutodiffError> {
        let operator = self.graph.symbol(name);
        Ok(self.graph.apply(operator, operands)?)
    }
}
