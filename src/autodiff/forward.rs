//! Forward mode: the slopes of all nodes by one leaf, operands before users.

use crate::autodiff::along;
use crate::autodiff::axes::AxesOf;
use crate::autodiff::builder::{Slope, SlopeBuilder};
use crate::autodiff::error::AutodiffError;
use crate::autodiff::partials::Partials;
use crate::expr::graph::Copier;
use crate::expr::{Expr, Graph, Node, NodeId};
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
            Some(root) => Some(Expr::copied(&mut copier, &forward.builder.graph, root)?),
        };
        columns.push(column);
    }
    Ok(columns)
}

/// The nodes of an expression, and of the slopes so far.
struct Forward {
    builder: SlopeBuilder,
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
        let nodes = graph.len();
        Ok(Forward { builder: SlopeBuilder { graph, axes }, partials: Partials::default(), nodes, root })
    }

    fn slope_by(&mut self, leaf: &str) -> Result<Slope, AutodiffError> {
        let mut slopes: Vec<Slope> = Vec::with_capacity(self.nodes);
        for id in (0..self.nodes).map(NodeId::at) {
            let slope = match self.builder.graph.node(id) {
                Node::Leaf(name) if &**self.builder.graph.name(name) == leaf => {
                    Some(self.builder.number(1.0)?)
                }
                Node::Operator(operator, operands) => {
                    let given: Vec<Slope> = operands.iter().map(|o| slopes[o.index()]).collect();
                    let name = self.builder.graph.name(operator).clone();
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
        let operands = self.builder.graph.operands(id).to_vec();
        match &**name {
            "math.divide" => self.quotient(id, operands[1], slopes).map(Some),
            "math.maximum" => self.chosen("bool.greater_equal", &operands, slopes).map(Some),
            "math.minimum" => self.chosen("bool.less_equal", &operands, slopes).map(Some),
            "nd.where" | "core.where" => {
                let (yes, no) = (self.builder.or_zero(slopes[1])?, self.builder.or_zero(slopes[2])?);
                match slopes[1..] == [None, None] {
                    true => Ok(None),
                    false => self.builder.apply(name, &[operands[0], yes, no]).map(Some),
                }
            }
            _ if name.starts_with("annotation.") => Ok(slopes[0]),
            _ if has_steps_only(name) => Ok(None),
            _ if name.starts_with("nd.") => match slopes[0] {
                Some(slope) => along::slope(&mut self.builder, id, name, slope).map(Some),
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
            let partial = partial.at(&mut self.builder.graph, operands)?;
            let term = self.builder.product(partial, *slope)?;
            sum = match (sum, term) {
                (Some(sum), Some(term)) => Some(self.builder.apply("math.add", &[sum, term])?),
                (sum, term) => sum.or(term),
            };
        }
        Ok(sum)
    }

    /// `(x/y)' = (x' - (x/y) y') / y`, which reads the quotient that is there already.
    fn quotient(&mut self, quotient: NodeId, y: NodeId, slopes: &[Slope]) -> Result<NodeId, AutodiffError> {
        let by_divisor = match slopes[1] {
            None => None,
            Some(slope) => self.builder.product(quotient, slope)?,
        };
        let numerator = match (slopes[0], by_divisor) {
            (Some(x), Some(y)) => self.builder.apply("math.subtract", &[x, y])?,
            (Some(x), None) => x,
            (None, Some(y)) => self.builder.apply("math.neg", &[y])?,
            (None, None) => self.builder.number(0.0)?,
        };
        self.builder.apply("math.divide", &[numerator, y])
    }

    /// The slope of the first operand where a comparison says so, else that of the second.
    fn chosen(
        &mut self,
        comparison: &str,
        operands: &[NodeId],
        slopes: &[Slope],
    ) -> Result<NodeId, AutodiffError> {
        let first = self.builder.apply(comparison, operands)?;
        let (yes, no) = (self.builder.or_zero(slopes[0])?, self.builder.or_zero(slopes[1])?);
        self.builder.apply("nd.where", &[first, yes, no])
    }
}

/// True for operators whose values change in steps: truths, masks, whole numbers, sizes.
fn has_steps_only(name: &str) -> bool {
    let comparisons = ["core.equal", "core.not_equal", "core.less", "core.less_equal", "core.greater"];
    name.starts_with("bool.")
        || ["core.greater_equal", "nd.size", "nd.shape", "nd.count", "nd.any", "nd.all"].contains(&name)
        || comparisons.contains(&name)
}
