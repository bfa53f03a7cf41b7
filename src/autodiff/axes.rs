//! Axes of nodes: which axes a value has, and which of them are unit axes, without its type.
//!
//! Slopes have fewer axes than their nodes, so operators along axes need to know both. The rules are those of the
//! types (see [`NdType`](cembra_vm::value::NdType)), for the operators that derivatives meet.

use crate::expr::{Graph, Literal, Node, NodeId};
use cembra_vm::value::broadcast::common_axes;
use cembra_vm::value::{QType, ScalarValue, Value};
use std::collections::HashMap;
use std::sync::Arc;

/// For each axis whether it is dynamic; unit axes are not. A scalar has no axes.
pub type Dynamic = Vec<bool>;

/// Axes of the nodes of a graph that grows.
#[derive(Debug)]
pub struct AxesOf {
    leaves: HashMap<Arc<str>, Dynamic>,
    /// By node; `None` if no rule says.
    known: Vec<Option<Dynamic>>,
}

impl AxesOf {
    /// Nothing but the types of leaves is known.
    pub fn new(leaves: &[(&str, QType)]) -> AxesOf {
        let leaves = leaves.iter().map(|(name, qtype)| ((*name).into(), dynamic(qtype))).collect();
        AxesOf { leaves, known: Vec::new() }
    }

    /// True if the leaf has a type.
    pub fn has_leaf(&self, name: &str) -> bool {
        self.leaves.contains_key(name)
    }

    /// The axes of a node; `None` if no rule says.
    pub fn of(&mut self, graph: &Graph, id: NodeId) -> Option<Dynamic> {
        // Operands have smaller numbers, so nothing recurses.
        for next in self.known.len()..=id.index() {
            let axes = self.rule(graph, NodeId::at(next));
            self.known.push(axes);
        }
        self.known[id.index()].clone()
    }

    fn rule(&self, graph: &Graph, id: NodeId) -> Option<Dynamic> {
        match graph.node(id) {
            Node::Leaf(name) => self.leaves.get(graph.name(name)).cloned(),
            Node::Placeholder(_) => None,
            Node::Literal(literal) => literal.value().map(|value| dynamic(&value.qtype())),
            Node::Operator(operator, operands) => self.operator(graph, graph.name(operator), operands),
        }
    }

    fn operator(&self, graph: &Graph, name: &str, operands: &[NodeId]) -> Option<Dynamic> {
        let known = |id: &NodeId| self.known[id.index()].clone();
        let x = || operands.first().and_then(known);
        let listed = |rank: usize| axes_argument(graph, operands.get(1).copied(), rank);
        match name {
            "nd.sum" | "nd.mean" | "nd.min" | "nd.max" | "nd.prod" => {
                let x = x()?;
                let axes = listed(x.len())?.unwrap_or_else(|| (0..x.len()).collect());
                let keep = operands.get(2).is_some_and(|keep| is_true(graph, *keep));
                Some(without(&x, &axes, keep))
            }
            "nd.cumsum" => x(),
            "nd.dot" | "nd.squared_distance" => Some(Dynamic::default()),
            "nd.squeeze" => {
                let x = x()?;
                let units = (0..x.len()).filter(|axis| !x[*axis]);
                let axes = listed(x.len())?.unwrap_or_else(|| units.collect());
                Some(without(&x, &axes, false))
            }
            "nd.transpose" => {
                let x = x()?;
                let axes = listed(x.len())?.unwrap_or_else(|| (0..x.len()).rev().collect());
                axes.into_iter().map(|axis| x.get(axis).copied()).collect()
            }
            "nd.take" => {
                let (mut x, indices) = (x()?, known(operands.get(1)?)?);
                let axis = *axes_argument(graph, operands.get(2).copied(), x.len())??.first()?;
                x.splice(axis..=axis, indices);
                Some(x)
            }
            "nd.broadcast_to" | "nd.reshape" => {
                Some(operands[1..].iter().map(|size| !is_one(graph, *size)).collect())
            }
            "nd.size" => Some(Vec::new()),
            _ if is_elementwise(name) => broadcast(operands.iter().map(known).collect::<Option<Vec<_>>>()?),
            _ => None,
        }
    }
}

/// True for operators that are applied element by element.
pub fn is_elementwise(name: &str) -> bool {
    ["math.", "bool.", "bitwise.", "core.", "annotation."].iter().any(|space| name.starts_with(space))
        || name == "nd.where"
}

fn dynamic(qtype: &QType) -> Dynamic {
    qtype.nd().map_or_else(Vec::new, |t| t.units().map(|unit| !unit).collect())
}

/// Axes of values that are broadcast together, aligned from the last one.
fn broadcast(all: Vec<Dynamic>) -> Option<Dynamic> {
    let units = common_axes(all.iter().map(|axes| (axes.len(), |axis: usize| !axes[axis])));
    (!all.is_empty()).then(|| units.map(|unit| !unit).collect())
}

fn without(x: &Dynamic, axes: &[usize], keep: bool) -> Dynamic {
    let left = |axis: &usize| keep || !axes.contains(axis);
    (0..x.len()).filter(left).map(|axis| x[axis] && !axes.contains(&axis)).collect()
}

/// The axes that a literal names, of so many; `Some(None)` if it names none in particular, `None` if it is no
/// such literal.
#[allow(clippy::option_option)] // "all" is an answer of its own.
pub fn axes_argument(graph: &Graph, argument: Option<NodeId>, rank: usize) -> Option<Option<Vec<usize>>> {
    let Some(argument) = argument else { return Some(None) };
    let place = |value: &ScalarValue| {
        let axis = value.as_i64()?;
        usize::try_from(if axis < 0 { axis + rank as i64 } else { axis }).ok().filter(|axis| *axis < rank)
    };
    match graph.literal(argument).and_then(Literal::value)? {
        Value::Scalar(ScalarValue::Unit) => Some(None),
        Value::Scalar(value) => Some(Some(vec![place(value)?])),
        Value::Tuple(tuple) => {
            let axes: Option<Vec<usize>> = tuple.fields().iter().map(|f| place(f.scalar()?)).collect();
            Some(Some(axes?))
        }
        _ => None,
    }
}

/// True for the literal `true`.
pub fn is_true(graph: &Graph, id: NodeId) -> bool {
    matches!(graph.value(id), Some(Value::Scalar(ScalarValue::Boolean(true))))
}

fn is_one(graph: &Graph, id: NodeId) -> bool {
    graph.value(id).and_then(|value| value.scalar()?.as_i64()) == Some(1)
}
