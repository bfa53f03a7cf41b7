//! Cast insertion: every operator of the machine gets arguments of exactly its types.
//!
//! ```text
//! optional_int64_value + 1   ->   optional_int64_value + core.to_optional(core._to_int64(1))
//!                            ->   optional_int64_value + optional_int64{1}      (folded at once)
//! ```
//!
//! Post-condition: for every reachable operator node of the machine, the given types are those of an
//! overload.

use crate::expr::NodeId;
use crate::prepare::draft::Draft;
use crate::prepare::error::PrepareError;
use crate::registry::define::LowerError;
use cembra_vm::value::QType;

/// The step.
///
/// # Errors
/// An operator has no overload for the types its arguments are cast to, or the graph is full.
pub fn insert_casts(mut draft: Draft) -> Result<Draft, PrepareError> {
    draft.rewrite_operators(|draft, id| {
        let exact = cast_operands(draft, id)?;
        let node = draft.fold_exact(exact)?;
        check_overload(draft, node)?;
        Ok(node)
    })?;
    Ok(draft)
}

/// The node with its operands cast to the types of its signature.
///
/// # Errors
/// There is no cast, or the graph is full.
pub fn cast_operands(draft: &mut Draft, id: NodeId) -> Result<NodeId, LowerError> {
    let Some(signature) = draft.signature(id) else { return Ok(id) };
    if signature.is_exact() {
        return Ok(id);
    }
    let (operator, args) = (signature.operator, signature.args.clone());
    let span = draft.graph.span(id);
    let mut operands = draft.graph.operands(id).to_vec();
    for (operand, to) in operands.iter_mut().zip(args) {
        if draft.type_id(*operand) != to {
            let to: QType = draft.get_type(to).clone();
            *operand = draft.cast_node(*operand, &to, span)?;
        }
    }
    draft.apply(operator, &operands, span)
}

fn check_overload(draft: &mut Draft, id: NodeId) -> Result<(), PrepareError> {
    let Some(operator) = draft.graph.operator(id) else { return Ok(()) };
    let Some(signature) = draft.signature(id) else { return Ok(()) };
    let known = signature.overload.is_some();
    let types: Vec<QType> = match known {
        true => return Ok(()),
        false => signature.given.iter().map(|t| draft.get_type(*t).clone()).collect(),
    };
    let has_family = draft.definition(operator).is_ok_and(|def| def.family.is_some());
    match has_family {
        false => Ok(()),
        true => Err(PrepareError::NoOverload {
            operator: draft.graph.name(operator).clone(),
            types,
            span: draft.graph.span(id),
        }),
    }
}
