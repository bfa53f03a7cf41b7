//! Joining: the main expression and the side outputs become one graph under the root operator.
//!
//! ```text
//! x * y + z,  side outputs prod: x * y, neg: -z   ->   internal.root(x * y + z, -z, x * y)
//!                                                        names:        main,   neg, prod
//! ```
//!
//! Side outputs are sorted by name. What they share with the main expression is one node.
//!
//! Post-condition: with side outputs the root is the root operator, and nothing else is.

use crate::expr::graph::DEFAULT_NODE_LIMIT;
use crate::expr::{Expr, Graph, NodeId};
use crate::prepare::draft::{Draft, ROOT_OPERATOR};
use crate::prepare::error::PrepareError;
use crate::registry::{Dialect, OperatorDef, Registry};
use cembra_vm::value::QType;
use std::sync::Arc;

/// What a preparation starts from.
#[derive(Clone, Debug)]
pub struct Source {
    /// The main expression.
    pub expr: Expr,
    /// Types of the leaves, in the order their slots shall have.
    pub inputs: Vec<(Arc<str>, QType)>,
    /// Further expressions whose values a host wants, by name.
    pub side_outputs: Vec<(Arc<str>, Expr)>,
    /// The operators.
    pub registry: Registry,
    /// The casting lattice.
    pub dialect: Dialect,
    /// Distinct nodes the expression may have.
    pub node_limit: usize,
}

impl Source {
    /// An expression with these inputs, the standard operators and the default dialect.
    pub fn new<N: Into<Arc<str>>>(expr: Expr, inputs: impl IntoIterator<Item = (N, QType)>) -> Source {
        Source {
            expr,
            inputs: inputs.into_iter().map(|(name, qtype)| (name.into(), qtype)).collect(),
            side_outputs: Vec::new(),
            registry: Registry::standard(),
            dialect: Dialect::default(),
            node_limit: DEFAULT_NODE_LIMIT,
        }
    }

    /// Sets the dialect.
    pub fn dialect(mut self, dialect: Dialect) -> Source {
        self.dialect = dialect;
        self
    }

    /// Sets the operators.
    pub fn registry(mut self, registry: Registry) -> Source {
        self.registry = registry;
        self
    }

    /// Adds a side output.
    pub fn side_output(mut self, name: &str, expr: Expr) -> Source {
        self.side_outputs.push((name.into(), expr));
        self
    }
}

/// The step.
///
/// # Errors
/// Two inputs or side outputs have one name, or the graph is full.
pub fn join(source: Source) -> Result<Draft, PrepareError> {
    let mut side_outputs = source.side_outputs;
    side_outputs.sort_by(|a, b| a.0.cmp(&b.0));
    check_distinct("side output", side_outputs.iter().map(|s| &s.0))?;
    let mut input_names: Vec<&Arc<str>> = source.inputs.iter().map(|i| &i.0).collect();
    input_names.sort();
    check_distinct("input", input_names.into_iter())?;
    let mut graph = Graph::with_limit(source.node_limit);
    let copy = |graph: &mut Graph, expr: &Expr| -> Result<NodeId, PrepareError> {
        Ok(expr.graph().copy_into(graph, &[expr.root()])?[0])
    };
    let main = copy(&mut graph, &source.expr)?;
    let mut outputs = vec![main];
    for (_, expr) in &side_outputs {
        outputs.push(copy(&mut graph, expr)?);
    }
    let names = side_outputs.into_iter().map(|s| s.0).collect();
    let mut draft = joined(graph, &outputs, names, source.registry, source.dialect)?;
    draft.inputs = source.inputs;
    Ok(draft)
}

/// A graph whose nodes are the outputs: the main output and the side outputs, whose names are sorted.
///
/// # Errors
/// The graph is full.
///
/// # Panics
/// There is no output, or there are not as many names as side outputs.
pub fn joined(
    mut graph: Graph,
    outputs: &[NodeId],
    side_outputs: Vec<Arc<str>>,
    registry: Registry,
    dialect: Dialect,
) -> Result<Draft, PrepareError> {
    assert_eq!(outputs.len(), side_outputs.len() + 1, "a main output, and a name for every other one");
    let operator = graph.symbol(ROOT_OPERATOR);
    let root = if side_outputs.is_empty() { outputs[0] } else { graph.apply(operator, outputs)? };
    let mut draft = Draft::new(graph, root, registry, dialect);
    let def = OperatorDef::new(ROOT_OPERATOR, &["*outputs"], "Main output and side outputs.", |cx| {
        cx.unchanged(cx.types[0].clone())
    });
    draft.set_definition(operator, Arc::new(def));
    draft.side_outputs = side_outputs;
    Ok(draft)
}

fn check_distinct<'n>(
    role: &'static str,
    sorted: impl Iterator<Item = &'n Arc<str>>,
) -> Result<(), PrepareError> {
    let mut last: Option<&Arc<str>> = None;
    for name in sorted {
        if last == Some(name) {
            return Err(PrepareError::Duplicate { role, name: name.clone() });
        }
        last = Some(name);
    }
    Ok(())
}
