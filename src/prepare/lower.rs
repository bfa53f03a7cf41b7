//! Lowering: every operator becomes operators of the machine, or one of the few that the compiler
//! handles itself.
//!
//! ```text
//! core.cast(x, INT64)  ->  core._to_int64(x), or x if it is INT64 already
//! x > y                ->  y < x
//! ```
//!
//! Lowering keeps the type. Annotations stay; the next step strips them.
//!
//! Post-condition: every reachable operator is the machine's, a compiler built-in, an annotation, or
//! one that an extension transforms.

use crate::expr::NodeId;
use crate::prepare::draft::{Draft, ROOT_OPERATOR};
use crate::prepare::error::PrepareError;
use crate::registry::derived::{cast, presence, tuple};

/// Operators that the compiler handles without an operator of the machine: views and the root.
pub const BUILTINS: [&str; 5] =
    [ROOT_OPERATOR, tuple::GET_NTH, presence::HAS_OPTIONAL, cast::UPCAST, cast::DOWNCAST];

/// The step.
///
/// # Errors
/// A lowering rule fails, or the graph is full.
pub fn lower_operators(mut draft: Draft) -> Result<Draft, PrepareError> {
    draft.rewrite_operators(|draft, id| Ok(draft.lower_node(id)?))?;
    Ok(draft)
}

/// Strips annotations: the node becomes its first operand.
///
/// Post-condition: no reachable operator is an annotation.
///
/// # Errors
/// The graph is full.
pub fn strip_annotations(mut draft: Draft) -> Result<Draft, PrepareError> {
    let reached = draft.reachable();
    let is_annotation = |index: usize| reached[index] && draft.is_annotation(NodeId::at(index));
    if !(0..reached.len()).any(is_annotation) {
        return Ok(draft);
    }
    draft.rewrite_operators(|draft, id| {
        Ok(if draft.is_annotation(id) { draft.graph.operands(id)[0] } else { id })
    })?;
    Ok(draft)
}

/// True if an operator is as low as it gets.
pub fn is_lowest(draft: &Draft, id: NodeId) -> bool {
    let Some(operator) = draft.graph.operator(id) else { return true };
    let name = draft.graph.name(operator);
    BUILTINS.contains(&&**name) || draft.find_definition(operator).is_ok_and(|def| def.family.is_some())
}
