//! numpy's operations a second time: what a node of a graph means, written in loops over elements of its own type.
//!
//! ```text
//! kind, values of the operands  ──reference::numpy::value──>  value, or the error of the operation
//! ```
//!
//! It shares with the product the arrays, the rules of promotion and the special functions. User functions have no meaning
//! here.

mod elementwise;
mod promote;
mod reduce;
mod select;

use cembra::backend::OpError;
use cembra::dag::array::Elements;
use cembra::dag::kind::{AxisOp, Kind};
use cembra::dag::{Array, NodeId, TextArray};
use ndarray::{ArrayViewD, IxDyn, Zip};

/// The value of a node that computes something; nothing for leaves, user functions and what only moves axes.
pub fn value(kind: &Kind, operand: &dyn Fn(NodeId) -> Array) -> Option<Result<Array, OpError>> {
    Some(match kind {
        Kind::Unary(op, node) => elementwise::unary(*op, &operand(*node)),
        Kind::Binary(op, left, right) => elementwise::binary(*op, &operand(*left), &operand(*right)),
        Kind::Where { condition, then, otherwise } => {
            select::where_(&operand(*condition), &operand(*then), &operand(*otherwise))
        }
        Kind::MultiClauseWhere { clauses, default } => {
            let clauses: Vec<[Array; 2]> = clauses.iter().map(|(c, v)| [operand(*c), operand(*v)]).collect();
            let conditions: Vec<&Array> = clauses.iter().map(|[condition, _]| condition).collect();
            let values: Vec<&Array> = clauses.iter().map(|[_, value]| value).collect();
            select::select(&conditions, &values, &operand(*default))
        }
        Kind::Axis { op: AxisOp::Reduce(reduction, dims), node, axis } => {
            reduce::reduce(*reduction, *dims, &operand(*node), axis)
        }
        Kind::Axis { op: AxisOp::Quantile { q, dims }, node, axis } => {
            reduce::quantile(*q, *dims, &operand(*node), axis.numbers())
        }
        _ => return None,
    })
}

/// The texts of an array.
fn texts_of(array: &Array, texts: &TextArray) -> Elements<String> {
    let texts = texts.texts().map(str::to_owned).collect();
    ndarray::ArrayD::from_shape_vec(array.shape(), texts).expect("as many texts as places").into_shared()
}

/// The shape to which all broadcast.
fn common_shape(shapes: &[&[usize]]) -> Result<Vec<usize>, OpError> {
    let rank = shapes.iter().map(|shape| shape.len()).max().unwrap_or(0);
    let mut common = vec![1; rank];
    for axis in (1..=rank).rev() {
        let sizes = shapes.iter().filter(|shape| shape.len() >= axis).map(|shape| shape[shape.len() - axis]);
        for size in sizes.filter(|size| *size != 1) {
            let place = &mut common[rank - axis];
            if *place != 1 && *place != size {
                let shapes = shapes.iter().map(|shape| shape.to_vec()).collect();
                return Err(OpError::Broadcast { shapes, axis: -(axis as isize), left: *place, right: size });
            }
            *place = size;
        }
    }
    Ok(common)
}

fn shape_of(arrays: &[&Array]) -> Result<Vec<usize>, OpError> {
    common_shape(&arrays.iter().map(|array| array.shape()).collect::<Vec<_>>())
}

/// A function of each pair of elements.
fn zip<A: Clone, B: Clone, R: Clone>(
    left: &Elements<A>,
    right: &Elements<B>,
    function: impl Fn(A, B) -> R,
) -> Result<Elements<R>, OpError> {
    let shape = common_shape(&[left.shape(), right.shape()])?;
    let (left, right) = (spread(left, &shape), spread(right, &shape));
    Ok(Zip::from(left).and(right).map_collect(|l, r| function(l.clone(), r.clone())).into_shared())
}

fn spread<'a, T: Clone>(elements: &'a Elements<T>, shape: &[usize]) -> ArrayViewD<'a, T> {
    elements.broadcast(IxDyn(shape)).expect("the shape is the common one")
}

/// Axes from 0, in the order given.
fn resolve(axes: &[isize], rank: usize) -> Result<Vec<usize>, OpError> {
    let mut resolved = Vec::new();
    for &axis in axes {
        let from_start = if axis < 0 { axis + rank as isize } else { axis };
        if !(0..rank as isize).contains(&from_start) {
            return Err(OpError::AxisOutOfBounds { axis, rank });
        }
        if resolved.contains(&(from_start as usize)) {
            return Err(OpError::RepeatedAxis { axis: from_start as usize });
        }
        resolved.push(from_start as usize);
    }
    Ok(resolved)
}
