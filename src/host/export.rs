//! Exports: side outputs that an expression asks for by annotation.
//!
//! `annotation.export(x, 'name')` has the value of `x` and makes `x` a side output;
//! `annotation.export_value(x, 'name', y)` has the value of `x` and makes `y` one. A side output is an expression of its own, as
//! Arolla has it: it does not know of branches around the annotation.

use crate::expr::graph::Copier;
use crate::expr::{Expr, GraphError, NodeId};
use crate::registry::derived::annotation;
use cembra_vm::value::ScalarValue;
use std::sync::Arc;

/// The side outputs that annotations of an expression ask for.
///
/// # Errors
/// Never for an expression within its own limit.
pub fn side_outputs(expr: &Expr) -> Result<Vec<(Arc<str>, Expr)>, GraphError> {
    let graph = expr.graph();
    let mut copier = Copier::new();
    let mut found = Vec::new();
    for id in graph.post_order(&[expr.root()]) {
        let Some(operator) = graph.operator(id) else { continue };
        let operands = graph.operands(id);
        let exported: Option<NodeId> = match &**graph.name(operator) {
            annotation::EXPORT => operands.first().copied(),
            annotation::EXPORT_VALUE => operands.get(2).copied(),
            _ => None,
        };
        let tag = operands.get(1).and_then(|tag| match graph.value(*tag)?.scalar()? {
            ScalarValue::Text(tag) => Some(tag.clone()),
            _ => None,
        });
        if let (Some(exported), Some(tag)) = (exported, tag) {
            found.push((tag, Expr::copied(&mut copier, graph, exported)?));
        }
    }
    Ok(found)
}
