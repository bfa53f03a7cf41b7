//! Nodes as lines of numpy, and trees as numpy functions.
//!
//! ```text
//! n4 = np.exp(n1)
//! n6 = np.select([n4, n5], [n2, n3], n1)
//! n2 = np.sum(n1, axis=(0,), keepdims=True)
//! ```

use crate::dag::array::Array;
use crate::dag::array_text::{Detail, literal_text, shape_text, tuple_text};
use crate::dag::forest::Tree;
use crate::dag::graph::NodeData;
use crate::dag::kind::{Axis, AxisOp, Clause, Dims, Kind, NodeId};
use crate::dag::node::Node;
use crate::dag::number_text::{python_float, python_string};
use crate::dag::printing::{Spelling, arguments_text, definition, is_identifier, list};

/// The line that computes a node; nothing for those whose value [`input_line`] writes, and for those
/// that numpy does not know.
pub fn numpy_line(node: &NodeData, spelling: Spelling) -> Option<String> {
    let call = match &node.kind {
        Kind::Constant(_)
        | Kind::Placeholder { .. }
        | Kind::TimeseriesConstant(_)
        | Kind::TimeseriesPlaceholder => return None,
        Kind::VariantSelector { .. } if spelling != Spelling::Cembra => return None,
        Kind::VariantSelector { .. } => "np.asarray([])".to_owned(),
        Kind::Unary(op, operand) => format!("np.{}({operand})", op.numpy_name()),
        Kind::Binary(op, left, right) => format!("np.{}({left}, {right})", op.numpy_name()),
        Kind::Where { condition, then, otherwise } => {
            format!("np.where({condition}, {then}, {otherwise})")
        }
        Kind::MultiClauseWhere { clauses, default }
        | Kind::ExclusiveMultiClauseWhere { clauses, default, .. } => select(clauses, *default),
        Kind::Axis { op, node, axis } => axis_call(*op, *node, axis, spelling),
        Kind::FunctionCall { args, kwargs } => {
            format!("{}({})", function_name(&node.name, spelling), arguments_text(args, kwargs))
        }
    };
    Some(format!("{} = {call}", node.id))
}

/// The line that gives a node a value from outside: `n1 = np.asarray([1, 2, 3])`.
pub fn input_line(id: NodeId, value: &Array, detail: Detail, spelling: Spelling) -> String {
    let dtype = value.dtype();
    let shape = value.shape();
    let is_default = dtype.is_literal() || dtype.is_text();
    let literal = literal_text(value, detail);
    let call = match (spelling, value.is_empty(), is_default) {
        (Spelling::Cembra, true, _) => format!("np.empty({}, dtype='{dtype}')", shape_text(shape)),
        (Spelling::Cembra, false, false) => format!("np.asarray({literal}, dtype='{dtype}')"),
        _ => format!("np.asarray({literal})"),
    };
    format!("{id} = {call}")
}

/// A tree as a numpy function of the values of its inputs.
pub fn function_text(tree: &Tree, spelling: Spelling) -> String {
    let line = |node: &Node| numpy_line(&node.data(), spelling);
    definition(tree, "np.ndarray", |_| "np.ndarray".to_owned(), line)
}

/// The function as Python calls it; those whose names Python cannot write are looked up.
fn function_name(name: &str, spelling: Spelling) -> String {
    match spelling == Spelling::Cembra && !is_identifier(name) {
        true => format!("functions[{}]", python_string(name)),
        false => name.to_owned(),
    }
}

fn select(clauses: &[Clause], default: NodeId) -> String {
    let (conditions, values) = (clauses.iter().map(|clause| clause.0), clauses.iter().map(|clause| clause.1));
    format!("np.select({}, {}, {default})", list(conditions), list(values))
}

fn axis_call(op: AxisOp, node: NodeId, axis: &Axis, spelling: Spelling) -> String {
    let axes = tuple_text(axis.numbers());
    let keepdims = |dims| if dims == Dims::Keep { ", keepdims=True" } else { "" };
    match op {
        AxisOp::ExpandDims => format!("np.expand_dims({node}, axis={axes})"),
        AxisOp::Squeeze => format!("np.squeeze({node}, axis={axes})"),
        AxisOp::Reduce(reduction, dims) => {
            format!("np.{}({node}, axis={axes}{})", reduction.numpy_name(), keepdims(dims))
        }
        // The published engine prints these arguments in the wrong order.
        AxisOp::Quantile { q, dims } if spelling != Spelling::Cembra => {
            format!("np.quantile({}, {node}, axis={axes}{})", python_float(q), keepdims(dims))
        }
        AxisOp::Quantile { q, dims } => {
            format!("np.quantile({node}, {}, axis={axes}{})", python_float(q), keepdims(dims))
        }
    }
}
