//! Formulas of rows at operands: partial derivatives as they are written, differentials term by term.
//!
//! ```text
//! (d_x - result * d_y) / y     with d_y = 0:   d_x / y
//! ```
//!
//! A term of a differential is a plain node or a slope. Sums, products and quotients of slopes keep their factors and drop
//! zeros; any other operator of slopes is linear in them, and zero where all of them are.

use crate::autodiff::builder::{Slope, SlopeBuilder};
use crate::autodiff::error::AutodiffError;
use crate::autodiff::rules::{Formula, Term};
use crate::expr::NodeId;
use cembra_vm::builtins::math;
use std::sync::Arc;

/// A term of a formula at operands.
#[derive(Clone, Copy, Debug)]
pub(super) enum Part {
    Plain(NodeId),
    Slope(Slope),
}

/// The value of a formula in the row of a node's operator, whose operands have these slopes.
///
/// # Errors
/// The formula is not linear in slopes, an operand has a slope that the operator has no derivative by, or there are too
/// many nodes.
pub(super) fn value(
    builder: &mut SlopeBuilder,
    formula: &Formula,
    id: NodeId,
    name: &Arc<str>,
    slopes: &[Slope],
) -> Result<Part, AutodiffError> {
    let operands = builder.graph().operands(id).to_vec();
    let mut parts: Vec<Part> = Vec::with_capacity(formula.0.len());
    for term in &formula.0 {
        let part = match term {
            Term::Operand(place) | Term::Constant(place) | Term::Slope(place) if *place >= slopes.len() => {
                return Err(AutodiffError::slope(name, "names an argument that is not there"));
            }
            Term::Constant(place) if slopes[*place].is_some() => {
                return Err(AutodiffError::NotDifferentiable { operator: name.clone() });
            }
            Term::Operand(place) | Term::Constant(place) => Part::Plain(operands[*place]),
            Term::Slope(place) => Part::Slope(slopes[*place]),
            Term::Result => Part::Plain(id),
            Term::Literal(literal) => Part::Plain(builder.literal(literal.clone())?),
            Term::Apply(operator, places) => {
                let args: Vec<Part> = places.iter().map(|place| parts[*place]).collect();
                apply(builder, operator, &args, name)?
            }
        };
        parts.push(part);
    }
    Ok(*parts.last().expect("an expression has a root"))
}

fn apply(
    builder: &mut SlopeBuilder,
    operator: &Arc<str>,
    args: &[Part],
    name: &Arc<str>,
) -> Result<Part, AutodiffError> {
    use Part::{Plain, Slope};
    let slope = match (&**operator, args) {
        (_, args) if args.iter().all(|arg| matches!(arg, Plain(_))) => {
            let operands = nodes(builder, args)?;
            return builder.apply(operator, &operands).map(Plain);
        }
        (math::ADD, [Slope(x), Slope(y)]) => builder.sum(*x, *y)?,
        (math::SUBTRACT, [Slope(x), Slope(y)]) => builder.difference(*x, *y)?,
        (math::MULTIPLY, [Slope(Some(x)), Plain(y)] | [Plain(x), Slope(Some(y))]) => {
            builder.product(*x, *y)?
        }
        (math::MULTIPLY, [Slope(None), Plain(_)] | [Plain(_), Slope(None)]) => None,
        (math::DIVIDE, [Slope(Some(x)), Plain(y)]) => builder.quotient(*x, *y)?,
        _ => linear(builder, operator, args, name)?,
    };
    Ok(Slope(slope))
}

/// An operator of slopes and plain values that is linear in the slopes.
fn linear(
    builder: &mut SlopeBuilder,
    operator: &Arc<str>,
    args: &[Part],
    name: &Arc<str>,
) -> Result<Slope, AutodiffError> {
    let def = builder.registry().find(operator).map_err(|error| AutodiffError::slope(name, error))?;
    let linear = def.facts().linear();
    let fits = |(place, arg): (usize, &Part)| match arg {
        Part::Slope(_) => linear.has(place),
        // A plain value where the operator is linear would add to the slope.
        Part::Plain(node) => !linear.has(place) || builder.literal_number(*node) == Some(0.0),
    };
    if !args.iter().enumerate().all(fits) {
        return Err(AutodiffError::slope(name, "is not linear in slopes"));
    }
    if args.iter().all(|arg| matches!(arg, Part::Plain(_) | Part::Slope(None))) {
        return Ok(None);
    }
    let operands = nodes(builder, args)?;
    builder.apply(operator, &operands).map(Some)
}

fn nodes(builder: &mut SlopeBuilder, args: &[Part]) -> Result<Vec<NodeId>, AutodiffError> {
    let node = |arg: &Part| match arg {
        Part::Plain(node) => Ok(*node),
        Part::Slope(slope) => builder.or_zero(*slope),
    };
    args.iter().map(node).collect()
}
