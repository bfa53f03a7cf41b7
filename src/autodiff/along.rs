//! Slopes of linear operators along axes.
//!
//! ```text
//! nd.sum(x, axis)    x  (T, E)    slope of x  (1, E), the same at all times
//!                    the sum over times needs it T times: it is repeated along the axes that are summed
//! ```

use crate::autodiff::builder::{Dynamic, SlopeBuilder};
use crate::autodiff::error::AutodiffError;
use crate::expr::NodeId;
use crate::registry::derived::nd;
use cembra_vm::operator::facts::{Along, AlongAxes};
use cembra_vm::value::Value;
use std::sync::Arc;

/// The slope of an operator that is linear in its first operand, which has a slope.
pub(super) fn slope(
    builder: &mut SlopeBuilder,
    id: NodeId,
    name: &Arc<str>,
    along: Along,
    slope: NodeId,
) -> Result<NodeId, AutodiffError> {
    let mut operands = builder.graph().operands(id).to_vec();
    let unknown = || AutodiffError::NotDifferentiable { operator: name.clone() };
    let (x, has) = (builder.axes(operands[0]), builder.axes(slope));
    let (x, has) = x.zip(has).ok_or_else(unknown)?;
    let all: Vec<usize> = (0..x.len()).collect();
    let named = |argument: usize, all: &[usize]| {
        let axes = builder.axes_argument(operands[argument], x.len(), all);
        axes.ok_or_else(|| AutodiffError::Axes { operator: name.clone() })
    };
    let repeated = match along.axes {
        AlongAxes::None => Vec::new(),
        AlongAxes::All => all,
        AlongAxes::Named(argument) => named(argument, &all)?,
        AlongAxes::Units(argument) => {
            // The slope may have more unit axes than `x`, so they are named.
            let units: Vec<usize> = all.into_iter().filter(|axis| !x[*axis]).collect();
            let fields: Vec<Value> =
                named(argument, &units)?.iter().map(|axis| Value::from(*axis as i64)).collect();
            operands[argument] = builder.literal(Value::tuple(fields).expect("a tuple of few numbers"))?;
            Vec::new()
        }
    };
    operands[0] = spread(builder, [slope, operands[0]], [&has, &x], &repeated)?;
    builder.apply(name, &operands)
}

/// The slope under as many axes as its node has, repeated along some of them.
fn spread(
    builder: &mut SlopeBuilder,
    [slope, node]: [NodeId; 2],
    [known, axes]: [&Dynamic; 2],
    repeated: &[usize],
) -> Result<NodeId, AutodiffError> {
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
    builder.apply(nd::BROADCAST_TO, &operands)
}

fn size(builder: &mut SlopeBuilder, node: NodeId, axis: usize) -> Result<NodeId, AutodiffError> {
    let axis = builder.literal(axis as i64)?;
    builder.apply(nd::SIZE, &[node, axis])
}
