//! The reference evaluator: what an expression means, without frames, programs, folding or an order.
//!
//! It shares with the product only the values, the expression graph and the special functions of
//! [`cembra::vm::vector`], whose bits define what `exp` is. Types, casts, presence and arithmetic are
//! written a second time, in the slowest and plainest way.
//!
//! An expression has two readings:
//!
//! - *strict* ([`strict`]): every operand that the types do not make needless is evaluated, of a `where`
//!   only the branch taken. The result is a value or the set of errors of which a run may show any.
//! - *lazy* ([`lazy`]): an error spoils only what depends on it. An optimizer may drop the evaluation of
//!   a value nobody needs, so where the strict reading fails it may still give the lazy value.
//!
//! Models of spectra have a reference of their own: schedules are played back ([`replay`]) with formulas written by hand
//! ([`shape`]). So have graphs of array operations: numpy's operations in plain loops ([`numpy`]).

pub mod lazy;
pub mod numpy;
pub mod replay;
pub mod scalar;
pub mod shape;
pub mod strict;
pub mod types;

use cembra::expr::{Expr, Literal, Node, NodeId};
use cembra::registry::Dialect;
use cembra::vm::value::{QType, Value};
use std::collections::HashMap;

/// Values of the leaves by name.
pub type Inputs = HashMap<String, Value>;

/// An expression whose nodes have types.
pub struct Typed<'e> {
    pub expr: &'e Expr,
    pub dialect: Dialect,
    /// Type and casts of operands, by node.
    rows: Vec<types::Typing>,
}

impl<'e> Typed<'e> {
    /// Types of all nodes; `None` if an operator does not take its operands.
    pub fn new(expr: &'e Expr, leaves: &HashMap<String, QType>, dialect: Dialect) -> Option<Typed<'e>> {
        let graph = expr.graph();
        let mut rows: Vec<types::Typing> = Vec::new();
        for id in (0..graph.len()).map(NodeId::at) {
            rows.push(match graph.node(id) {
                Node::Leaf(name) => types::Typing::of(leaves.get(&**graph.name(name))?.clone()),
                Node::Placeholder(_) => return None,
                Node::Literal(Literal::Value(value)) => types::Typing::of(value.qtype()),
                Node::Literal(_) => types::Typing::of(cembra::vm::value::qtype::UNIT),
                Node::Operator(operator, operands) => {
                    let types: Vec<QType> = operands.iter().map(|o| rows[o.index()].result.clone()).collect();
                    let literals: Vec<Option<&Literal>> =
                        operands.iter().map(|o| graph.literal(*o)).collect();
                    types::typing(graph.name(operator), &types, &literals, dialect)?
                }
            });
        }
        Some(Typed { expr, dialect, rows })
    }

    /// Type of a node.
    pub fn qtype(&self, id: NodeId) -> &QType {
        &self.rows[id.index()].result
    }

    /// The types the operands of a node are cast to.
    fn casts(&self, id: NodeId) -> &[QType] {
        &self.rows[id.index()].args
    }

    fn operator(&self, id: NodeId) -> &str {
        let graph = self.expr.graph();
        graph.operator(id).map_or("", |symbol| graph.name(symbol))
    }
}
