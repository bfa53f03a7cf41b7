//! Slopes of operators along axes.
//!
//! ```text
//! nd.sum(x, axis)    x  (T, E)    slope of x  (1, E), the same at all times
//!                    the sum over times needs it T times: it is repeated along the axes that are summed
//! ```

use crate::autodiff::axes::{Dynamic, axes_argument};
use crate::autodiff::error::AutodiffError;
use crate::autodiff::forward::Forward;
use crate::expr::NodeId;
use cembra_vm::value::Value;
use std::sync::Arc;

/// The slope of an operator of the room `nd` whose first operand has a slope.
pub(super) fn slope(
    forward: &mut Forward,
    id: NodeId,
    name: &Arc<str>,
    slope: NodeId,
) -> Result<NodeId, AutodiffError> {
    let operands = forward.graph.operands(id).to_vec();
    let not_differentiable = || AutodiffError::NotDifferentiable { operator: name.clone() };
    let x = forward.axes.of(&forward.graph, operands[0]).ok_or_else(not_differentiable)?;
    let listed = |forward: &Forward, place: usize| {
        axes_argument(&forward.graph, operands.get(place).copied(), x.len())
            .ok_or_else(|| AutodiffError::Axes { operator: name.clone() })
    };
    let all = || (0..x.len()).collect::<Vec<usize>>();
    let (repeated, mut rest) = match &**name {
        "nd.sum" | "nd.mean" | "nd.cumsum" => {
            (listed(forward, 1)?.unwrap_or_else(all), operands[1..].to_vec())
        }
        "nd.take" => (listed(forward, 2)?.unwrap_or_else(all), operands[1..].to_vec()),
        "nd.reshape" => (all(), operands[1..].to_vec()),
        "nd.transpose" => (Vec::new(), operands[1..].to_vec()),
        "nd.squeeze" => {
            let units = all().into_iter().filter(|axis| !x[*axis]);
            let axes = listed(forward, 1)?.unwrap_or_else(|| units.collect());
            (Vec::new(), vec![forward.literal(tuple(&axes))?])
        }
        "nd.max" | "nd.min" => return of_extreme(forward, name, &operands, slope),
        // Slopes have the axes that they depend on; the others are theirs by broadcasting.
        "nd.broadcast_to" => return Ok(slope),
        _ => return Err(not_differentiable()),
    };
    let spread = spread(forward, slope, operands[0], &x, &repeated)?;
    rest.insert(0, spread);
    forward.apply(name, &rest)
}

fn tuple(axes: &[usize]) -> Value {
    let fields: Vec<Value> = axes.iter().map(|axis| Value::from(*axis as i64)).collect();
    Value::tuple(fields).expect("a tuple of few numbers")
}

/// The slope under as many axes as its node has, repeated along some of them.
fn spread(
    forward: &mut Forward,
    slope: NodeId,
    node: NodeId,
    axes: &Dynamic,
    repeated: &[usize],
) -> Result<NodeId, AutodiffError> {
    let unknown = || AutodiffError::NotDifferentiable { operator: "a slope along axes".into() };
    let known = forward.axes.of(&forward.graph, slope).ok_or_else(unknown)?;
    let missing = axes.len() - known.len().min(axes.len());
    let has = |axis: usize| axis >= missing && known[axis - missing];
    let is_complete = repeated.iter().all(|axis| !axes[*axis] || has(*axis));
    if missing == 0 && is_complete {
        return Ok(slope);
    }
    let mut operands = vec![slope];
    for (axis, dynamic) in axes.iter().enumerate() {
        let size = match () {
            () if has(axis) => size(forward, slope, axis - missing)?,
            () if *dynamic && repeated.contains(&axis) => size(forward, node, axis)?,
            () => forward.literal(1i64)?,
        };
        operands.push(size);
    }
    forward.apply("nd.broadcast_to", &operands)
}

fn size(forward: &mut Forward, node: NodeId, axis: usize) -> Result<NodeId, AutodiffError> {
    let axis = forward.literal(axis as i64)?;
    forward.apply("nd.size", &[node, axis])
}

/// The mean slope of the elements that are the extreme one.
fn of_extreme(
    forward: &mut Forward,
    name: &str,
    operands: &[NodeId],
    slope: NodeId,
) -> Result<NodeId, AutodiffError> {
    let x = operands[0];
    let all = forward.literal(Value::Scalar(cembra_vm::value::ScalarValue::Unit))?;
    let axes = operands.get(1).copied().unwrap_or(all);
    let (yes, no) = (forward.literal(true)?, forward.literal(false)?);
    let keep = operands.get(2).copied().unwrap_or(no);
    let extreme = forward.apply(name, &[x, axes, yes])?;
    let is_extreme = forward.apply("bool.equal", &[x, extreme])?;
    let (one, zero) = (forward.number(1.0)?, forward.number(0.0)?);
    let count = forward.apply("nd.where", &[is_extreme, one, zero])?;
    let count = forward.apply("nd.sum", &[count, axes, keep])?;
    let slopes = forward.apply("nd.where", &[is_extreme, slope, zero])?;
    let sum = forward.apply("nd.sum", &[slopes, axes, keep])?;
    forward.apply("math.divide", &[sum, count])
}
