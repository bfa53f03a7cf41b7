//! Forward mode: the slopes of all nodes by one leaf or joint, operands before users.

use crate::autodiff::along;
use crate::autodiff::axes::AxesOf;
use crate::autodiff::builder::{Slope, SlopeBuilder};
use crate::autodiff::error::AutodiffError;
use crate::autodiff::joints::joints;
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
    let slopes = forward.slopes(leaves)?;
    let (graph, mut copier) = (&forward.builder.graph, Copier::new());
    let mut column = |root: NodeId| Ok(Expr::copied(&mut copier, graph, root)?);
    slopes.into_iter().map(|slope| slope.map(&mut column).transpose()).collect()
}

/// The nodes of an expression, and of the slopes so far.
struct Forward {
    builder: SlopeBuilder,
    partials: Partials,
    /// How many leaves there are slopes by.
    leaves: usize,
}

impl Forward {
    fn new(expr: &Expr, leaves: &[(&str, QType)]) -> Result<Forward, AutodiffError> {
        let axes = AxesOf::new(leaves);
        let mut graph = Graph::with_limit(expr.graph().limit());
        expr.graph().copy_into(&mut graph, &[expr.root()])?;
        if let Some(name) = expr.leaves().into_iter().find(|name| !axes.has_leaf(name)) {
            return Err(AutodiffError::Leaf { name });
        }
        let nodes = graph.len();
        let builder = SlopeBuilder { graph, axes, nodes };
        Ok(Forward { builder, partials: Partials::default(), leaves: leaves.len() })
    }

    /// The slopes of the root by leaves.
    fn slopes(&mut self, leaves: &[(&str, QType)]) -> Result<Vec<Slope>, AutodiffError> {
        let leaves: Vec<Option<NodeId>> = leaves.iter().map(|(name, _)| self.builder.leaf(name)).collect();
        let joints = joints(&mut self.builder, &leaves);
        let mut targets = joints.clone();
        targets.push(NodeId::at(self.builder.nodes - 1));
        let by_leaves: Vec<Vec<Slope>> = leaves
            .iter()
            .map(|leaf| leaf.map_or_else(|| Ok(vec![None; targets.len()]), |leaf| self.walk(leaf, &targets)))
            .collect::<Result<_, _>>()?;
        let by_joints: Vec<Vec<Slope>> =
            joints.iter().map(|joint| self.walk(*joint, &targets)).collect::<Result<_, _>>()?;
        by_leaves.into_iter().map(|direct| self.through(direct, &by_joints)).collect()
    }

    /// The slope of the last target by a leaf, from the slopes of all targets that do not go through joints, which
    /// are the other targets, and the slopes of the targets by those.
    fn through(&mut self, mut slopes: Vec<Slope>, by_joints: &[Vec<Slope>]) -> Result<Slope, AutodiffError> {
        for target in 0..slopes.len() {
            for joint in 0..target {
                let (Some(slope), Some(of_joint)) = (by_joints[joint][target], slopes[joint]) else {
                    continue;
                };
                // As it is: what stands in the slopes by several leaves is computed once.
                let term = self.builder.times(slope, of_joint)?;
                slopes[target] = self.builder.sum(slopes[target], term)?;
            }
        }
        Ok(slopes.pop().expect("the root is a target"))
    }

    /// The slopes of targets by a node, not through other targets.
    fn walk(&mut self, by: NodeId, targets: &[NodeId]) -> Result<Vec<Slope>, AutodiffError> {
        let mut slopes: Vec<Slope> = vec![None; self.builder.nodes];
        let mut found = vec![None; targets.len()];
        slopes[by.index()] = Some(self.builder.number(1.0)?);
        for id in (by.index() + 1..self.builder.nodes).map(NodeId::at) {
            let Node::Operator(operator, operands) = self.builder.graph.node(id) else { continue };
            let given: Vec<Slope> = operands.iter().map(|o| slopes[o.index()]).collect();
            if given.iter().all(Option::is_none) {
                continue;
            }
            let name = self.builder.graph.name(operator).clone();
            let slope = self.slope(id, &name, &given)?;
            match targets.binary_search(&id) {
                Ok(target) => found[target] = slope,
                Err(_) => slopes[id.index()] = slope,
            }
        }
        if by == targets[targets.len() - 1] {
            found[targets.len() - 1] = slopes[by.index()];
        }
        Ok(found)
    }

    /// The slope of a node whose operands have these, of which not all are zero.
    fn slope(&mut self, id: NodeId, name: &Arc<str>, slopes: &[Slope]) -> Result<Slope, AutodiffError> {
        let operands = self.builder.graph.operands(id).to_vec();
        match &**name {
            "math.divide" => self.quotient(id, operands[1], slopes),
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
            "nd.dot" => along::of_dot(&mut self.builder, &operands, slopes).map(Some),
            "nd.squared_distance" => {
                along::of_squared_distance(&mut self.builder, &operands, slopes).map(Some)
            }
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
            sum = self.builder.sum(sum, term)?;
        }
        Ok(sum)
    }

    /// `(x/y)' = (x' - (x/y) y') / y`, which reads the quotient that is there already. Slopes by several leaves share
    /// one over an array y: a division takes as long as three multiplications.
    fn quotient(&mut self, quotient: NodeId, y: NodeId, slopes: &[Slope]) -> Result<Slope, AutodiffError> {
        let by_divisor = match slopes[1] {
            None => None,
            Some(slope) => self.builder.product(quotient, slope)?,
        };
        let numerator = match (slopes[0], by_divisor) {
            (Some(x), Some(y)) => self.builder.difference(x, y)?,
            (Some(x), None) => Some(x),
            (None, Some(y)) => Some(self.builder.apply("math.neg", &[y])?),
            (None, None) => None,
        };
        let Some(numerator) = numerator else { return Ok(None) };
        if self.leaves < 2 || !self.builder.is_array(y) {
            return self.builder.apply("math.divide", &[numerator, y]).map(Some);
        }
        let one = self.builder.number(1.0)?;
        let reciprocal = self.builder.apply("math.divide", &[one, y])?;
        self.builder.product(numerator, reciprocal)
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
