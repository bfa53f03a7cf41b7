//! Type population: leaves get their types from the inputs, operators from their type rules.
//!
//! All missing inputs are one error; otherwise all type errors that do not follow from another are
//! reported together. Arguments left out get their defaults here.
//!
//! Post-condition: every reachable node has a type; there are no placeholders.

use crate::expr::{Literal, Node, NodeId};
use crate::prepare::draft::{Draft, literal_type};
use crate::prepare::error::{MissingInput, NodeError, PrepareError};
use crate::registry::define::LowerError;
use crate::registry::infer::TypeError;
use cembra_vm::value::QType;
use std::collections::HashMap;
use std::sync::Arc;

/// Type errors reported at once.
const MOST_ERRORS: usize = 30;

/// The step.
///
/// # Errors
/// Placeholders, leaves without a type, or arguments that do not fit their operators.
pub fn populate_types(mut draft: Draft) -> Result<Draft, PrepareError> {
    let leaves = leaf_types(&draft)?;
    declare_annotated(&mut draft, &leaves);
    let mut errors: Vec<NodeError> = Vec::new();
    draft.rewrite(|draft, id, operands| {
        match draft.graph.node(id) {
            Node::Leaf(name) => {
                let qtype = leaves[draft.graph.name(name)].clone();
                let number = draft.intern_type(&qtype);
                draft.set_type(id, number);
            }
            Node::Literal(literal) => {
                let qtype = literal_type(literal);
                let number = draft.intern_type(&qtype);
                draft.set_type(id, number);
            }
            Node::Placeholder(_) => {}
            Node::Operator(operator, _) => {
                // A node over an untyped operand stays untyped; the operand's error says why.
                if !operands.iter().all(|o| draft.type_id(*o).is_known()) {
                    return Ok(id);
                }
                return match complete(draft, id, operands) {
                    Ok(node) => Ok(node),
                    Err(LowerError::Graph(error)) => Err(PrepareError::Graph(error)),
                    Err(LowerError::Type(error)) => {
                        let (span, operator) = (draft.graph.span(id), draft.graph.name(operator).clone());
                        errors.push(NodeError { span, operator, error });
                        Ok(id)
                    }
                };
            }
        }
        Ok(id)
    })?;
    errors.truncate(MOST_ERRORS);
    match errors.is_empty() {
        true => Ok(draft),
        false => Err(PrepareError::Types { errors }),
    }
}

/// The node over its mapped operands with defaults filled in, typed.
fn complete(draft: &mut Draft, id: NodeId, operands: &[NodeId]) -> Result<NodeId, LowerError> {
    let Some(operator) = draft.graph.operator(id) else { return Ok(id) };
    let defaults = draft.definition(operator)?.complete(operands.len())?;
    if defaults.is_empty() && draft.graph.operands(id) == operands {
        draft.type_operator(id)?;
        return Ok(id);
    }
    let mut all = operands.to_vec();
    for literal in defaults {
        all.push(draft.literal_node(literal)?);
    }
    draft.apply(operator, &all, draft.graph.span(id))
}

/// Types of all reachable leaves, from inputs or from annotations on the leaf itself.
fn leaf_types(draft: &Draft) -> Result<HashMap<Arc<str>, QType>, PrepareError> {
    let reached = draft.reachable();
    let mut types: HashMap<Arc<str>, QType> = draft.inputs.iter().cloned().collect();
    let mut missing: Vec<MissingInput> = Vec::new();
    let mut placeholders: Vec<(Arc<str>, NodeId)> = Vec::new();
    let nodes = || (0..reached.len()).filter(|i| reached[*i]).map(NodeId::at);
    for id in nodes() {
        annotated_leaf(draft, id, &mut types)?;
    }
    for id in nodes() {
        match draft.graph.node(id) {
            Node::Leaf(name) if !types.contains_key(draft.graph.name(name)) => {
                let given = draft.inputs.iter().map(|i| i.0.clone());
                missing.push(MissingInput::new(draft.graph.name(name).clone(), draft.graph.span(id), given));
            }
            Node::Placeholder(name) => placeholders.push((draft.graph.name(name).clone(), id)),
            _ => {}
        }
    }
    if let Some((_, first)) = placeholders.first() {
        let span = draft.graph.span(*first);
        return Err(PrepareError::Placeholders {
            names: placeholders.into_iter().map(|p| p.0).collect(),
            span,
        });
    }
    match missing.is_empty() {
        true => Ok(types),
        false => Err(PrepareError::MissingInputs { inputs: missing }),
    }
}

/// Adds leaves that only an annotation gives a type to the inputs, in the order the walk meets them.
fn declare_annotated(draft: &mut Draft, types: &HashMap<Arc<str>, QType>) {
    if types.len() == draft.inputs.len() {
        return;
    }
    for id in draft.graph.post_order(&[draft.root]) {
        let Node::Leaf(name) = draft.graph.node(id) else { continue };
        let name = draft.graph.name(name);
        if !draft.inputs.iter().any(|i| i.0 == *name) {
            draft.inputs.push((name.clone(), types[name].clone()));
        }
    }
}

/// Takes the type of a leaf from `annotation.qtype(leaf, TYPE)`.
fn annotated_leaf(
    draft: &Draft,
    id: NodeId,
    types: &mut HashMap<Arc<str>, QType>,
) -> Result<(), PrepareError> {
    let [value, declared] = draft.graph.operands(id) else { return Ok(()) };
    if !draft.is_operator(id, "annotation.qtype") {
        return Ok(());
    }
    let (Node::Leaf(name), Some(Literal::Type(declared))) =
        (draft.graph.node(*value), draft.graph.literal(*declared))
    else {
        return Ok(());
    };
    let name = draft.graph.name(name).clone();
    match types.get(&name) {
        Some(known) if known != declared => {
            let message = format!(
                "inconsistent annotation.qtype: the input `{name}` is {known}, the annotation says {declared}"
            );
            let error = NodeError {
                span: draft.graph.span(id),
                operator: "annotation.qtype".into(),
                error: TypeError::Names { message },
            };
            Err(PrepareError::Types { errors: vec![error] })
        }
        _ => {
            types.insert(name, declared.clone());
            Ok(())
        }
    }
}
