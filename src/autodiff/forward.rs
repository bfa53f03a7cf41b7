//! Forward mode: the slopes of all nodes by one leaf, operands before users.

use crate::autodiff::along;
use crate::autodiff::axes::AxesOf;
use crate::autodiff::error::AutodiffError;
use crate::autodiff::partials::Partials;
use crate::expr::graph::Copier;
use crate::expr::{Expr, Graph, Literal, Node, NodeId};
use cembra_vm::value::QType;
use std::sync::Arc;

/// The derivatives of an expression by FLOAT64 leaves, in the order given; `None` where it is zero because the
/// expression does not depend on the leaf. All leaves of the expression are given with their types.
///
/// # Errors
/// An operator that depends on a leaf has no derivatives, a leaf is not given, or there are too many nodes.
pub fn jacobian(expr: &Expr, leaves: &[(&str, QType)]) -> Result<Vec<Option<Expr>>, AutodiffError> {
    let mut forward = Forward::new(expr, leaves)?;
    let mut copier = Copier::new();
    let mut columns = Vec::with_capacity(leaves.len());
    for (name, _) in leaves {
        let column = match forward.slope_by(name)? {
            None => None,
            Some(root) => Some(Expr::copied(&mut copier, &forward.graph, root)?),
        };
        columns.push(column);
    }
    Ok(columns)
}

/// A slope; `None` is zero.
pub(super) type Slope = Option<NodeId>;

/// The nodes of an expression, and of the slopes so far.
pub(super) struct Forward {
    pub(super) graph: Graph,
    pub(super) axes: AxesOf,
    partials: Partials,
    /// The nodes of the expression itself, operands first.
    nodes: usize,
    root: NodeId,
}

impl Forward {
    fn new(expr: &Expr, leaves: &[(&str, QType)]) -> Result<Forward, AutodiffError> {
        let axes = AxesOf::new(leaves);
        let mut graph = Graph::with_limit(expr.graph().limit());
        let root = expr.graph().copy_into(&mut graph, &[expr.root()])?[0];
        if let Some(name) = expr.leaves().into_iter().find(|name| !axes.has_leaf(name)) {
            return Err(AutodiffError::Leaf { name });
        }
        Ok(Forward { nodes: graph.len(), graph, axes, partials: Partials::default(), root })
    }

    fn slope_by(&mut self, leaf: &str) -> Result<Slope, AutodiffError> {
        let mut slopes: Vec<Slope> = Vec::with_capacity(self.nodes);
        for id in (0..self.nodes).map(NodeId::at) {
            let slope = match self.graph.node(id) {
                Node::Leaf(name) if &**self.graph.name(name) == leaf => Some(self.number(1.0)?),
                Node::Operator(operator, operands) => {
                    let given: Vec<Slope> = operands.iter().map(|o| slopes[o.index()]).collect();
                    let name = self.graph.name(operator).clone();
                    match given.iter().all(Option::is_none) {
                        true => None,
                        false => self.slope(id, &name, &given)?,
                    }
                }
                _ => None,
            };
            slopes.push(slope);
        }
        Ok(slopes[self.root.index()])
    }

    /// The slope of a node whose operands have these, of which not all are zero.
    fn slope(&mut self, id: NodeId, name: &Arc<str>, slopes: &[Slope]) -> Result<Slope, AutodiffError> {
        let operands = self.graph.operands(id).to_vec();
        match &**name {
            "math.divide" => self.quotient(id, operands[1], slopes).map(Some),
            "math.maximum" => self.chosen("bool.greater_equal", &operands, slopes).map(Some),
            "math.minimum" => self.chosen("bool.less_equal", &operands, slopes).map(Some),
            "nd.where" | "core.where" => {
                let (yes, no) = (self.or_zero(slopes[1])?, self.or_zero(slopes[2])?);
                match slopes[1..] == [None, None] {
                    true => Ok(None),
                    false => self.apply(name, &[operands[0], yes, no]).map(Some),
                }
            }
            _ if name.starts_with("annotation.") => Ok(slopes[0]),
            _ if has_steps_only(name) => Ok(None),
            _ if name.starts_with("nd.") => match slopes[0] {
                Some(slope) => along::slope(self, id, name, slope).map(Some),
                None => Err(AutodiffError::NotDifferentiable { operator: name.clone() }),
            },
            _ => self.chain(name, &operands, slopes),
        }
    }

    /// The chain rule with the partial derivatives of the operator's row.
    fn chain(
        &mut self,
        name: &Arc<str>,
        operands: &[NodeId],
        slopes: &[Slope],
    ) -> Result<Slope, AutodiffError> {
        let not_differentiable = || AutodiffError::NotDifferentiable { operator: name.clone() };
        let partials = self.partials.of(name).ok_or_else(not_differentiable)?;
        let mut sum: Slope = None;
        for (index, slope) in slopes.iter().enumerate() {
            let Some(slope) = slope else { continue };
            let partial = partials.get(index).ok_or_else(not_differentiable)?;
            let partial = partial.at(&mut self.graph, operands)?;
            let term = self.product(partial, *slope)?;
            sum = match (sum, term) {
                (Some(sum), Some(term)) => Some(self.apply("math.add", &[sum, term])?),
                (sum, term) => sum.or(term),
            };
        }
        Ok(sum)
    }

    /// `(x/y)' = (x' - (x/y) y') / y`, which reads the quotient that is there already.
    fn quotient(&mut self, quotient: NodeId, y: NodeId, slopes: &[Slope]) -> Result<NodeId, AutodiffError> {
        let by_divisor = match slopes[1] {
            None => None,
            Some(slope) => self.product(quotient, slope)?,
        };
        let numerator = match (slopes[0], by_divisor) {
            (Some(x), Some(y)) => self.apply("math.subtract", &[x, y])?,
            (Some(x), None) => x,
            (None, Some(y)) => self.apply("math.neg", &[y])?,
            (None, None) => self.number(0.0)?,
        };
        self.apply("math.divide", &[numerator, y])
    }

    /// The slope of the first operand where a comparison says so, else that of the second.
    fn chosen(
        &mut self,
        comparison: &str,
        operands: &[NodeId],
        slopes: &[Slope],
    ) -> Result<NodeId, AutodiffError> {
        let first = self.apply(comparison, operands)?;
        let (yes, no) = (self.or_zero(slopes[0])?, self.or_zero(slopes[1])?);
        self.apply("nd.where", &[first, yes, no])
    }

    /// A product without factors of one; `None` if a factor is zero.
    pub(super) fn product(&mut self, x: NodeId, y: NodeId) -> Result<Slope, AutodiffError> {
        match (self.literal_number(x), self.literal_number(y)) {
            (Some(0.0), _) | (_, Some(0.0)) => Ok(None),
            (Some(1.0), _) => Ok(Some(y)),
            (_, Some(1.0)) => Ok(Some(x)),
            (Some(-1.0), _) => self.apply("math.neg", &[y]).map(Some),
            (_, Some(-1.0)) => self.apply("math.neg", &[x]).map(Some),
            _ => self.apply("math.multiply", &[x, y]).map(Some),
        }
    }

    fn literal_number(&self, id: NodeId) -> Option<f64> {
        self.graph.value(id).and_then(|value| value.scalar()?.as_f64())
    }

    fn or_zero(&mut self, slope: Slope) -> Result<NodeId, AutodiffError> {
        slope.map_or_else(|| self.number(0.0), Ok)
    }

    pub(super) fn number(&mut self, value: f64) -> Result<NodeId, AutodiffError> {
        Ok(self.graph.add_literal(value)?)
    }

    pub(super) fn literal(&mut self, literal: impl Into<Literal>) -> Result<NodeId, AutodiffError> {
        Ok(self.graph.add_literal(literal)?)
    }

    pub(super) fn apply(&mut self, name: &str, operands: &[NodeId]) -> Result<NodeId, AutodiffError> {
        let operator = self.graph.symbol(name);
        Ok(self.graph.apply(operator, operands)?)
    }
}

/// True for operators whose values change in steps: truths, masks, whole numbers, sizes.
fn has_steps_only(name: &str) -> bool {
    let comparisons = ["core.equal", "core.not_equal", "core.less", "core.less_equal", "core.greater"];
    name.starts_with("bool.")
        || ["core.greater_equal", "nd.size", "nd.shape", "nd.count", "nd.any", "nd.all"].contains(&name)
        || comparisons.contains(&name)
}
