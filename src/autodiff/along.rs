//! Slopes of operators along axes.
//!
//! ```text
//! nd.sum(x, axis)    x  (T, E)    slope of x  (1, E), the same at all times
//!                    the sum over times needs it T times: it is repeated along the axes that are summed
//! ```

use crate::autodiff::axes::{Dynamic, axes_argument};
use crate::autodiff::builder::{Slope, SlopeBuilder};
use crate::autodiff::error::AutodiffError;
use crate::expr::NodeId;
use cembra_vm::value::Value;
use std::sync::Arc;

/// The slope of an operator of the room `nd` whose first operand has a slope.
pub(super) fn slope(
    builder: &mut SlopeBuilder,
    id: NodeId,
    name: &Arc<str>,
    slope: NodeId,
) -> Result<NodeId, AutodiffError> {
    let operands = builder.graph.operands(id).to_vec();
    let not_differentiable = || AutodiffError::NotDifferentiable { operator: name.clone() };
    let x = builder.axes.of(&builder.graph, operands[0]).ok_or_else(not_differentiable)?;
    let listed = |builder: &SlopeBuilder, place: usize| {
        axes_argument(&builder.graph, operands.get(place).copied(), x.len())
            .ok_or_else(|| AutodiffError::Axes { operator: name.clone() })
    };
    let all = || (0..x.len()).collect::<Vec<usize>>();
    let (repeated, mut rest) = match &**name {
        "nd.sum" | "nd.mean" | "nd.cumsum" => {
            (listed(builder, 1)?.unwrap_or_else(all), operands[1..].to_vec())
        }
        "nd.take" => (listed(builder, 2)?.unwrap_or_else(all), operands[1..].to_vec()),
        "nd.reshape" => (all(), operands[1..].to_vec()),
        "nd.transpose" => (Vec::new(), operands[1..].to_vec()),
        "nd.squeeze" => {
            let units = all().into_iter().filter(|axis| !x[*axis]);
            let axes = listed(builder, 1)?.unwrap_or_else(|| units.collect());
            (Vec::new(), vec![builder.literal(tuple(&axes))?])
        }
        "nd.max" | "nd.min" => return of_extreme(builder, name, &operands, slope),
        // Slopes have the axes that they depend on; the others are theirs by broadcasting.
        "nd.broadcast_to" => return Ok(slope),
        _ => return Err(not_differentiable()),
    };
    let spread = spread(builder, slope, operands[0], &x, &repeated)?;
    rest.insert(0, spread);
    builder.apply(name, &rest)
}

/// The slope of an inner product: the sum of what each operand's slope gives with the other operand.
///
/// # Errors
/// There are too many nodes.
pub(super) fn of_dot(
    builder: &mut SlopeBuilder,
    operands: &[NodeId],
    slopes: &[Slope],
) -> Result<NodeId, AutodiffError> {
    // The other operand has all axes, so that the products have them.
    of_pairs(builder, "nd.dot", slopes, [operands[1], operands[0]])
}

/// The slope of a squared distance: twice the sum of what each operand's slope gives with its difference from the other
/// operand.
///
/// # Errors
/// There are too many nodes.
pub(super) fn of_squared_distance(
    builder: &mut SlopeBuilder,
    operands: &[NodeId],
    slopes: &[Slope],
) -> Result<NodeId, AutodiffError> {
    let [x, y] = [operands[0], operands[1]];
    let differences = [builder.apply("math.subtract", &[x, y])?, builder.apply("math.subtract", &[y, x])?];
    let half = of_pairs(builder, "nd.squared_distance", slopes, differences)?;
    builder.apply("math.add", &[half, half])
}

fn of_pairs(
    builder: &mut SlopeBuilder,
    name: &str,
    slopes: &[Slope],
    factors: [NodeId; 2],
) -> Result<NodeId, AutodiffError> {
    let mut sum = None;
    for (slope, factor) in slopes.iter().zip(factors) {
        let term = slope.map(|slope| builder.apply("math.multiply", &[slope, factor])).transpose()?;
        sum = builder.sum(sum, term)?;
    }
    let sum = sum.ok_or_else(|| AutodiffError::NotDifferentiable { operator: name.into() })?;
    builder.apply("nd.sum", &[sum])
}

fn tuple(axes: &[usize]) -> Value {
    let fields: Vec<Value> = axes.iter().map(|axis| Value::from(*axis as i64)).collect();
    Value::tuple(fields).expect("a tuple of few numbers")
}

/// The slope under as many axes as its node has, repeated along some of them.
fn spread(
    builder: &mut SlopeBuilder,
    slope: NodeId,
    node: NodeId,
    axes: &Dynamic,
    repeated: &[usize],
) -> Result<NodeId, AutodiffError> {
    let unknown = || AutodiffError::NotDifferentiable { operator: "a slope along axes".into() };
    let known = builder.axes.of(&builder.graph, slope).ok_or_else(unknown)?;
    let missing = axes.len() - known.len().min(axes.len());
    let has = |axis: usize| axis >= missing && known[axis - missing];
    let is_complete = repeated.iter().all(|axis| !axes[*axis] || has(*axis));
    if missing == 0 && is_complete {
        return Ok(slope);
    }
    let mut operands = vec![slope];
    for (axis, dynamic) in axes.iter().enumerate() {
        let size = match () {
            () if has(axis) => size(builder, slope, axis - missing)?,
            () if *dynamic && repeated.contains(&axis) => size(builder, node, axis)?,
            () => builder.literal(1i64)?,
        };
        operands.push(size);
    }
    builder.apply("nd.broadcast_to", &operands)
}

fn size(builder: &mut SlopeBuilder, node: NodeId, axis: usize) -> Result<NodeId, AutodiffError> {
    let axis = builder.literal(axis as i64)?;
    builder.apply("nd.size", &[node, axis])
}

/// The mean slope of the elements that are the extreme one.
fn of_extreme(
    builder: &mut SlopeBuilder,
    name: &str,
    operands: &[NodeId],
    slope: NodeId,
) -> Result<NodeId, AutodiffError> {
    let x = operands[0];
    let all = builder.literal(Value::Scalar(cembra_vm::value::ScalarValue::Unit))?;
    let axes = operands.get(1).copied().unwrap_or(all);
    let (yes, no) = (builder.literal(true)?, builder.literal(false)?);
    let keep = operands.get(2).copied().unwrap_or(no);
    let extreme = builder.apply(name, &[x, axes, yes])?;
    let is_extreme = builder.apply("bool.equal", &[x, extreme])?;
    let (one, zero) = (builder.number(1.0)?, builder.number(0.0)?);
    let count = builder.apply("nd.where", &[is_extreme, one, zero])?;
    let count = builder.apply("nd.sum", &[count, axes, keep])?;
    let slopes = builder.apply("nd.where", &[is_extreme, slope, zero])?;
    let sum = builder.apply("nd.sum", &[slopes, axes, keep])?;
    builder.apply("math.divide", &[sum, count])
}
