//! Forward mode: the slopes of all nodes by one leaf or joint, operands before users.

use crate::autodiff::along;
use crate::autodiff::builder::{Slope, SlopeBuilder};
use crate::autodiff::differential::{Part, value};
use crate::autodiff::error::AutodiffError;
use crate::autodiff::joints::joints;
use crate::autodiff::rules::{Formula, Rule, Rules};
use crate::expr::graph::Copier;
use crate::expr::{Expr, NodeId, Symbol};
use crate::registry::Registry;
use cembra_vm::value::QType;
use std::sync::Arc;

/// The derivatives of an expression of standard operators: see [`jacobian_with`].
///
/// # Errors
/// As [`jacobian_with`].
pub fn jacobian(expr: &Expr, leaves: &[(&str, QType)]) -> Result<Vec<Option<Expr>>, AutodiffError> {
    jacobian_with(expr, leaves, &Registry::standard())
}

/// The derivatives of an expression by FLOAT64 leaves, in the order given; `None` where it is zero because the
/// expression does not depend on the leaf. All leaves of the expression are given with their types. Operators are those
/// of the registry, whose rows say their slopes.
///
/// # Errors
/// An operator that depends on a leaf has no derivatives, a leaf is not given, or there are too many nodes.
pub fn jacobian_with(
    expr: &Expr,
    leaves: &[(&str, QType)],
    registry: &Registry,
) -> Result<Vec<Option<Expr>>, AutodiffError> {
    let mut builder = SlopeBuilder::new(leaves, registry, expr.graph().limit());
    builder.import(expr)?;
    let mut forward = Forward { builder, rules: Rules::default() };
    let slopes = forward.slopes(leaves)?;
    let (graph, mut copier) = (forward.builder.graph(), Copier::new());
    let mut column = |root: NodeId| Ok(Expr::copied(&mut copier, graph, root)?);
    slopes.into_iter().map(|slope| slope.map(&mut column).transpose()).collect()
}

/// The nodes of an expression, and of the slopes so far.
struct Forward {
    builder: SlopeBuilder,
    rules: Rules,
}

impl Forward {
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
        slopes[by.index()] = Some(self.builder.literal(1.0)?);
        for id in (by.index() + 1..self.builder.nodes).map(NodeId::at) {
            let Some(operator) = self.builder.graph().operator(id) else { continue };
            let operands = self.builder.graph().operands(id);
            let given: Vec<Slope> = operands.iter().map(|o| slopes[o.index()]).collect();
            if given.iter().all(Option::is_none) {
                continue;
            }
            let slope = self.slope(id, operator, &given)?;
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
    fn slope(&mut self, id: NodeId, operator: Symbol, slopes: &[Slope]) -> Result<Slope, AutodiffError> {
        let builder = &mut self.builder;
        if builder.has_steps_only(id) {
            return Ok(None);
        }
        let def = builder.definition(operator)?;
        match (self.rules.of(operator, &def, builder.registry())?, slopes) {
            (Rule::Partials(partials), _) => self.chain(id, &def.name, &partials, slopes),
            (Rule::Differential(formula), _) => match value(builder, &formula, id, &def.name, slopes)? {
                Part::Slope(slope) => Ok(slope),
                Part::Plain(_) => Err(AutodiffError::slope(&def.name, "is no slope")),
            },
            (Rule::Along(along), [Some(slope), others @ ..]) if others.iter().all(Option::is_none) => {
                along::slope(builder, id, &def.name, along, *slope).map(Some)
            }
            _ => Err(AutodiffError::NotDifferentiable { operator: def.name.clone() }),
        }
    }

    /// The chain rule.
    fn chain(
        &mut self,
        id: NodeId,
        name: &Arc<str>,
        partials: &[Formula],
        slopes: &[Slope],
    ) -> Result<Slope, AutodiffError> {
        let mut sum: Slope = None;
        for (index, slope) in slopes.iter().enumerate() {
            let Some(slope) = slope else { continue };
            let not_differentiable = || AutodiffError::NotDifferentiable { operator: name.clone() };
            let formula = partials.get(index).ok_or_else(not_differentiable)?;
            let Part::Plain(partial) = value(&mut self.builder, formula, id, name, slopes)? else {
                return Err(AutodiffError::slope(name, "a partial derivative names a slope"));
            };
            let term = self.builder.product(partial, *slope)?;
            sum = self.builder.sum(sum, term)?;
        }
        Ok(sum)
    }
}
