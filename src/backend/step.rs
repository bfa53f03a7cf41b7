//! The step backend: evaluates one node after the other, and shows it.
//!
//! # Semantics
//! One for nodes and trees alike:
//!
//! 1. Wanted are the roots. A node that has a value, set or computed, is not evaluated, nor is what only
//!    such nodes need.
//! 2. Needed placeholders and constants get their values first: a placeholder its default. One without
//!    default is an error.
//! 3. Then the needed nodes, in the order of the body.
//!
//! The result is the value of the body's last node.

use crate::backend::axes::{expand_dims, squeeze};
use crate::backend::elementwise::{binary, unary};
use crate::backend::error::{EvalError, OpError};
use crate::backend::function::Arguments;
use crate::backend::reduce::{quantile, reduce};
use crate::backend::select::{select, where_};
use crate::backend::state::{State, place};
use crate::backend::trace;
use crate::dag::graph::NodeData;
use crate::dag::ir::{Body, compile_nodes};
use crate::dag::kind::{AxisOp, Clause, Kind};
use crate::dag::printing::Spelling;
use crate::dag::{Array, Dag, Node, NodeId, Plan};
use std::sync::Arc;
use std::time::Instant;

/// Evaluates what the roots of a linear order need; see the [semantics](self).
///
/// # Errors
/// The first that occurs; values computed before stay in the state.
pub fn evaluate_nodes(state: &mut State, plan: &Plan) -> Result<Option<Array>, EvalError> {
    evaluate_dag(state, &compile_nodes(plan))
}

/// Evaluates what the roots need; see the [semantics](self).
///
/// # Errors
/// The first that occurs; values computed before stay in the state.
pub fn evaluate_dag(state: &mut State, dag: &Dag) -> Result<Option<Array>, EvalError> {
    trace::announce(state);
    let Some(root) = dag.roots.last() else { return Ok(None) };
    dag.roots.iter().try_for_each(|root| state.check_graph(root))?;
    let needed = Needed::new(state, dag);
    for leaf in dag.placeholders.iter().chain(&dag.constants).filter(|leaf| needed.contains(leaf)) {
        evaluate(state, leaf, None)?;
    }
    match &dag.body {
        Body::Nodes(nodes) => {
            trace::dump_nodes(state, nodes);
            for node in nodes.iter().filter(|node| needed.contains(node)) {
                evaluate(state, node, None)?;
            }
        }
        Body::Trees(trees) => {
            for tree in trees {
                trace::dump_tree(state, tree);
                for node in tree.body().iter().filter(|node| needed.contains(node)) {
                    evaluate(state, node, Some(tree.root().id()))?;
                }
            }
        }
    }
    let last = dag.body_nodes().next_back().unwrap_or(root);
    state.get_node_value(last).cloned().map(Some)
}

/// Nodes that have to be evaluated, by id.
struct Needed(Vec<bool>);

impl Needed {
    fn new(state: &State, dag: &Dag) -> Needed {
        let mut needed = vec![false; state.graph().largest_id() as usize];
        for root in &dag.roots {
            needed[root.id().index()] = true;
        }
        // Users stand behind their operands, so that backwards each node is known before its operands.
        for node in dag.body_nodes().rev() {
            if needed[node.id().index()] && state.value(node.id()).is_none() {
                for operand in node.data().kind.operands() {
                    needed[operand.index()] = true;
                }
            }
        }
        Needed(needed)
    }

    fn contains(&self, node: &Node) -> bool {
        self.0[node.id().index()]
    }
}

/// Evaluates a node whose operands have values, unless it has one itself.
pub(crate) fn evaluate(state: &mut State, node: &Node, tree: Option<NodeId>) -> Result<(), EvalError> {
    state.check_graph(node)?;
    if state.value(node.id()).is_some() {
        return Ok(());
    }
    let data = node.data();
    trace::before(state, &data);
    let start = state.profile.is_some().then(Instant::now);
    let value = compute(state, &data)?;
    let time = start.map(|start| start.elapsed());
    if let (Some(profile), Some(time)) = (&mut state.profile, time) {
        profile.record(&data, tree, time, value.byte_size());
    }
    trace::after(state, &data, &value);
    state.store(node.id(), value);
    Ok(())
}

/// The value of a node.
fn compute(state: &State, data: &NodeData) -> Result<Array, EvalError> {
    let is_missing =
        |is_timeseries| EvalError::PlaceholderValueNotProvided { node: place(data), is_timeseries };
    let result = match &data.kind {
        Kind::Constant(value) => Ok(Array::from(value)),
        Kind::TimeseriesConstant(values) => Ok(values.clone()),
        Kind::Placeholder { default: Some(default) } => Ok(Array::from(default)),
        Kind::Placeholder { default: None } => return Err(is_missing(false)),
        Kind::TimeseriesPlaceholder => return Err(is_missing(true)),
        Kind::Unary(op, node) => unary(*op, operand(state, *node)?),
        Kind::Binary(op, left, right) => binary(*op, operand(state, *left)?, operand(state, *right)?),
        Kind::Where { condition, then, otherwise } => {
            let (then, otherwise) = (operand(state, *then)?, operand(state, *otherwise)?);
            where_(operand(state, *condition)?, then, otherwise)
        }
        Kind::MultiClauseWhere { clauses, default }
        | Kind::ExclusiveMultiClauseWhere { clauses, default, .. } => {
            choose(state, clauses, operand(state, *default)?)?
        }
        Kind::VariantSelector { .. } => Ok(Array::vector::<f64>([])),
        Kind::Axis { op: AxisOp::Squeeze, .. } if state.spelling != Spelling::Cembra => {
            return Err(EvalError::Unsupported { node: place(data), operation: "squeeze" });
        }
        Kind::Axis { op, node, axis } => on_axes(*op, operand(state, *node)?, axis.numbers()),
        Kind::FunctionCall { args, kwargs } => return call(state, data, args, kwargs),
    };
    result.map_err(|error| EvalError::Operation { node: place(data), error })
}

/// The value of a node that another one reads.
fn operand(state: &State, id: NodeId) -> Result<&Array, EvalError> {
    state.value(id).ok_or_else(|| match state.graph().data(id) {
        Some(data) => EvalError::NodeValueNotFound { node: place(&data) },
        None => crate::dag::DagError::NoSuchNode { id }.into(),
    })
}

fn choose(state: &State, clauses: &[Clause], default: &Array) -> Result<Result<Array, OpError>, EvalError> {
    let conditions = clauses.iter().map(|(c, _)| operand(state, *c)).collect::<Result<Vec<_>, _>>()?;
    let values = clauses.iter().map(|(_, v)| operand(state, *v)).collect::<Result<Vec<_>, _>>()?;
    Ok(select(&conditions, &values, default))
}

fn on_axes(op: AxisOp, array: &Array, axes: &[isize]) -> Result<Array, OpError> {
    match op {
        AxisOp::ExpandDims => expand_dims(array, axes),
        AxisOp::Squeeze => squeeze(array, axes),
        AxisOp::Reduce(reduction, dims) => reduce(reduction, dims, array, axes),
        AxisOp::Quantile { q, dims } => quantile(q, dims, array, axes),
    }
}

fn call(
    state: &State,
    data: &NodeData,
    args: &[NodeId],
    kwargs: &[(Arc<str>, NodeId)],
) -> Result<Array, EvalError> {
    let function = state.functions.get(&data.name);
    let function = function.ok_or_else(|| EvalError::FunctionNotFound { node: place(data) })?;
    let positional = args.iter().map(|id| operand(state, *id)).collect::<Result<_, _>>()?;
    let keyword = kwargs.iter().map(|(key, id)| Ok((&**key, operand(state, *id)?)));
    let arguments = Arguments::new(positional, keyword.collect::<Result<_, EvalError>>()?);
    function.call(&arguments).map_err(|error| EvalError::Function { node: place(data), error })
}
