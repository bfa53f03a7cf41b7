//! Type population: leaves get their types from the inputs, operators from their type rules.
//!
//! All missing inputs are one error; otherwise all type errors that do not follow from another are
//! reported together. Arguments left out get their defaults here.
//!
//! Post-condition: every reachable node has a type; there are no placeholders.

use crate::expr::print::print_graph;
use crate::expr::{Literal, Node, NodeId};
use crate::prepare::draft::{Draft, literal_type};
use crate::prepare::error::{GivenInputs, MissingInput, NodeError, PrepareError};
use crate::registry::Dialect;
use crate::registry::define::{LowerError, OperatorDef};
use crate::registry::derived::annotation;
use crate::registry::infer::{TypeError, not_a_value};
use cembra_vm::program::instruction::Span;
use cembra_vm::value::{NdType, QType, ScalarType};
use std::collections::{HashMap, HashSet};
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
                        let operator = draft.graph.name(operator).clone();
                        let (span, argument) = culprit(draft, id, operands, &operator, &error);
                        let error = match argument {
                            Some(argument) => error.about(written(draft, argument)),
                            None => error,
                        };
                        let written = written(draft, id).unwrap_or_default();
                        errors.push(NodeError { span, operator, error, written });
                        Ok(id)
                    }
                };
            }
        }
        Ok(id)
    })?;
    if let Some(literal @ (Literal::Type(_) | Literal::Operator(_))) = draft.graph.literal(draft.root) {
        let message = format!("expected a value as the result, got {}", not_a_value(literal));
        let (span, error) = (draft.graph.span(draft.root), TypeError::Names { message });
        errors.push(NodeError { span, operator: "the result".into(), error, written: "".into() });
    }
    errors.truncate(MOST_ERRORS);
    match errors.is_empty() {
        true => Ok(draft),
        false => Err(PrepareError::Types { errors }),
    }
}

/// An operator that looks at no literal takes values only.
fn check_values(draft: &Draft, def: &OperatorDef, operands: &[NodeId]) -> Result<(), TypeError> {
    for (index, operand) in operands.iter().enumerate() {
        if let Some(literal @ (Literal::Type(_) | Literal::Operator(_))) = draft.graph.literal(*operand) {
            let param = def.param_names(operands.len())[index].clone();
            return Err(TypeError::Expected {
                expected: "a value".into(),
                param,
                actual: not_a_value(literal),
            });
        }
    }
    Ok(())
}

/// The symbols of logic are about presence, which truth values do not say: `false | true` would be false.
fn check_symbol(draft: &Draft, operator: &Arc<str>, operands: &[NodeId]) -> Result<(), TypeError> {
    let element = |id: &NodeId| {
        let qtype = draft.qtype_of(*id);
        qtype.nd().map(NdType::element).or(qtype.element())
    };
    let is_truth = |id: &NodeId| element(id) == Some(ScalarType::Boolean);
    match draft.dialect == Dialect::Cembra && operands.iter().any(is_truth) {
        true => Err(TypeError::truths(operator)),
        false => Ok(()),
    }
}

/// Where the argument stood that an error is about; the node itself if it is about none, or if the
/// argument first stood somewhere else. And which operand it is.
fn culprit(
    draft: &Draft,
    id: NodeId,
    operands: &[NodeId],
    operator: &str,
    error: &TypeError,
) -> (Span, Option<NodeId>) {
    let node = draft.graph.span(id);
    let (TypeError::Expected { param, actual, .. }
    | TypeError::ExpectedLiteral { param, actual, .. }
    | TypeError::Pattern { param, actual, .. }) = error
    else {
        return (node, None);
    };
    let Ok(def) = draft.registry.find(operator) else { return (node, None) };
    let names = def.param_names(operands.len());
    let given = |operand: NodeId| match draft.graph.literal(operand) {
        Some(literal) if matches!(error, TypeError::ExpectedLiteral { .. } | TypeError::Pattern { .. }) => {
            literal.to_string()
        }
        Some(literal @ (Literal::Type(_) | Literal::Operator(_))) => not_a_value(literal),
        _ => draft.qtype_of(operand).to_string(),
    };
    let about = |i: &usize| names[*i] == *param && *actual == given(operands[*i]);
    let all = 0..operands.len();
    let index = all.clone().find(about).or_else(|| all.clone().find(|i| names[*i] == *param));
    let argument = index.map(|i| draft.graph.operands(id).get(i).copied().unwrap_or(operands[i]));
    let span = argument.map(|argument| draft.graph.span(argument));
    let span = span.filter(|s| !s.is_unknown() && node.start <= s.start && s.end <= node.end);
    (span.unwrap_or(node), argument)
}

/// Most nodes, and most characters, of what an error repeats.
const MOST_WRITTEN: (usize, usize) = (40, 80);

/// A node as it is written; `None` if that is long.
fn written(draft: &Draft, id: NodeId) -> Option<Arc<str>> {
    // Depth first, and no further than what is short.
    let (mut open, mut count) = (vec![id], 0);
    while let Some(node) = open.pop() {
        count += 1;
        if count > MOST_WRITTEN.0 {
            return None;
        }
        open.extend(draft.graph.operands(node));
    }
    let text = print_graph(&draft.graph, id);
    let is_short = text.chars().count() <= MOST_WRITTEN.1 && !text.contains('\n');
    is_short.then(|| text.trim().into())
}

/// The node over its mapped operands with defaults filled in, typed.
fn complete(draft: &mut Draft, id: NodeId, operands: &[NodeId]) -> Result<NodeId, LowerError> {
    let Some(operator) = draft.graph.operator(id) else { return Ok(id) };
    let def = draft.definition(operator)?;
    if !def.reads_literals {
        check_values(draft, &def, operands)?;
    }
    if draft.graph.is_by_symbol(id) {
        check_symbol(draft, &def.name, operands)?;
    }
    let defaults = def.complete(operands.len())?;
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
    let leaves: HashSet<&Arc<str>> = nodes()
        .filter_map(|id| match draft.graph.node(id) {
            Node::Leaf(name) => Some(draft.graph.name(name)),
            _ => None,
        })
        .collect();
    for id in nodes() {
        match draft.graph.node(id) {
            Node::Leaf(name) if !types.contains_key(draft.graph.name(name)) => {
                let unused = |name: &Arc<str>| !leaves.contains(name);
                let given = draft.inputs.iter().map(|i| i.0.clone()).filter(unused);
                let name = draft.graph.name(name).clone();
                MissingInput::note(&mut missing, name, draft.graph.span(id), given);
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
        false => {
            let given = GivenInputs::new(draft.inputs.iter().map(|input| input.0.clone()));
            Err(PrepareError::MissingInputs { inputs: missing, given })
        }
    }
}

/// Adds leaves that only an annotation gives a type to the inputs, in the order the walk meets them.
fn declare_annotated(draft: &mut Draft, types: &HashMap<Arc<str>, QType>) {
    if types.len() == draft.inputs.len() {
        return;
    }
    let mut declared: HashSet<Arc<str>> = draft.inputs.iter().map(|i| i.0.clone()).collect();
    for id in draft.graph.post_order(&[draft.root]) {
        let Node::Leaf(name) = draft.graph.node(id) else { continue };
        let name = draft.graph.name(name);
        if declared.insert(name.clone()) {
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
    if !draft.is_operator(id, annotation::QTYPE) {
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
                operator: annotation::QTYPE.into(),
                error: TypeError::Names { message },
                written: "".into(),
            };
            Err(PrepareError::Types { errors: vec![error] })
        }
        _ => {
            types.insert(name, declared.clone());
            Ok(())
        }
    }
}
