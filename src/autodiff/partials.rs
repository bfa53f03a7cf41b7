//! Partial derivatives of operators that are applied element by element: the texts of their rows.

use crate::expr::{Expr, Graph, GraphError, Node, NodeId};
use crate::registry::Registry;
use std::collections::HashMap;
use std::sync::Arc;

/// The partial derivatives of operators, read once each.
#[derive(Debug, Default)]
pub struct Partials {
    by_operator: HashMap<Arc<str>, Option<Arc<[Partial]>>>,
}

/// A partial derivative: an expression of the operator's own parameters.
#[derive(Debug)]
pub struct Partial {
    expr: Expr,
    params: Vec<Arc<str>>,
}

impl Partials {
    /// The partial derivatives of an operator, one for each parameter; `None` if its row has none.
    pub fn of(&mut self, name: &Arc<str>) -> Option<Arc<[Partial]>> {
        self.by_operator.entry(name.clone()).or_insert_with(|| read(name)).clone()
    }
}

fn read(name: &str) -> Option<Arc<[Partial]>> {
    let registry = Registry::standard();
    let family = registry.get(name)?.family.clone().filter(|family| !family.partials().is_empty())?;
    let params: Vec<Arc<str>> = family.params().map(Arc::from).collect();
    let partial = |text: &&str| Partial {
        expr: crate::syntax::parse(text).expect("the derivatives of rows are expressions"),
        params: params.clone(),
    };
    Some(family.partials().iter().map(partial).collect())
}

impl Partial {
    /// The derivative at some operands.
    pub fn at(&self, graph: &mut Graph, operands: &[NodeId]) -> Result<NodeId, GraphError> {
        let source = self.expr.graph();
        let mut copies: Vec<NodeId> = Vec::with_capacity(source.len());
        for id in (0..source.len()).map(NodeId::at) {
            let copy = match source.node(id) {
                Node::Leaf(name) | Node::Placeholder(name) => {
                    let param = self.params.iter().position(|param| param == source.name(name));
                    operands[param.expect("derivatives name the parameters of their row")]
                }
                Node::Literal(literal) => graph.add_literal(literal.clone())?,
                Node::Operator(operator, args) => {
                    let args: Vec<NodeId> = args.iter().map(|arg| copies[arg.index()]).collect();
                    let operator = graph.symbol(source.name(operator));
                    graph.apply(operator, &args)?
                }
            };
            copies.push(copy);
        }
        Ok(copies[self.expr.root().index()])
    }
}
