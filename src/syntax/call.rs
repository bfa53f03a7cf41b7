//! Arguments: positional and keyword arguments in the order of an operator's parameters.

use crate::expr::{GraphError, Literal, NodeId};
use crate::registry::OperatorDef;
use crate::registry::define::ParamKind;
use crate::registry::registry::nearest;
use crate::syntax::error::{SyntaxError, SyntaxErrorKind};
use cembra_vm::program::instruction::Span;
use std::sync::Arc;

/// An argument as written.
#[derive(Clone, Debug)]
pub struct Argument {
    /// The keyword, if there is one.
    pub keyword: Option<Keyword>,
    /// The value.
    pub node: NodeId,
    /// Where it stands.
    pub span: Span,
}

/// The keyword of an argument.
#[derive(Clone, Debug)]
pub struct Keyword {
    /// The parameter it names.
    pub name: Arc<str>,
    /// Where it stands.
    pub span: Span,
}

/// The operands of a call, defaults included.
///
/// # Errors
/// Arguments that the operator does not take, or does not get.
pub fn operands(
    def: &OperatorDef,
    arguments: &[Argument],
    call: Span,
    literal: &mut dyn FnMut(Literal) -> Result<NodeId, GraphError>,
) -> Result<Vec<NodeId>, SyntaxError> {
    let names = def.params.iter().position(|p| p.kind == ParamKind::Names);
    if let Some(position) = names.filter(|n| arguments.iter().filter(|a| a.keyword.is_none()).count() <= *n) {
        return named_values(def, position, arguments, call, literal);
    }
    let positional = arguments.iter().take_while(|a| a.keyword.is_none()).count();
    let mut slots: Vec<Option<NodeId>> = arguments[..positional].iter().map(|a| Some(a.node)).collect();
    for argument in &arguments[positional..] {
        let Some(keyword) = &argument.keyword else {
            return Err(SyntaxError::new(SyntaxErrorKind::PositionalAfterKeyword, argument.span));
        };
        let position = parameter(def, keyword)?;
        if slots.len() <= position {
            slots.resize(position + 1, None);
        }
        if slots[position].replace(argument.node).is_some() {
            return Err(duplicate(def, keyword));
        }
    }
    let given = slots.len();
    let mut operands = Vec::with_capacity(given);
    for (position, slot) in slots.into_iter().enumerate() {
        let node = match (slot, def.params.get(position).map(|p| &p.kind)) {
            (Some(node), _) => node,
            (None, Some(ParamKind::Default(default))) => {
                literal(default.clone()).map_err(|e| SyntaxError::new(e, call))?
            }
            (None, _) => return Err(SyntaxError::new(def.arity_error(positional), call)),
        };
        operands.push(node);
    }
    for default in def.complete(given).map_err(|e| SyntaxError::new(e, call))? {
        operands.push(literal(default).map_err(|e| SyntaxError::new(e, call))?);
    }
    Ok(operands)
}

fn parameter(def: &OperatorDef, keyword: &Keyword) -> Result<usize, SyntaxError> {
    let named = |p: &&crate::registry::Param| p.kind != ParamKind::Variadic;
    let found = def.params.iter().filter(named).position(|p| p.name == keyword.name);
    found.ok_or_else(|| {
        let near = nearest(&keyword.name, def.params.iter().filter(named).map(|p| p.name.clone()));
        let (operator, name) = (def.name.clone(), keyword.name.clone());
        SyntaxError::new(SyntaxErrorKind::UnknownParameter { operator, name, near }, keyword.span)
    })
}

fn duplicate(def: &OperatorDef, keyword: &Keyword) -> SyntaxError {
    let (operator, name) = (def.name.clone(), keyword.name.clone());
    SyntaxError::new(SyntaxErrorKind::DuplicateArgument { operator, name }, keyword.span)
}

/// `f(x, a=1, b=2)` where the names themselves are an argument: `f(x, 'a,b', 1, 2)`.
fn named_values(
    def: &OperatorDef,
    position: usize,
    arguments: &[Argument],
    call: Span,
    literal: &mut dyn FnMut(Literal) -> Result<NodeId, GraphError>,
) -> Result<Vec<NodeId>, SyntaxError> {
    let (positional, keywords): (Vec<&Argument>, Vec<&Argument>) =
        arguments.iter().partition(|a| a.keyword.is_none());
    if positional.len() < position {
        return Err(SyntaxError::new(def.arity_error(positional.len()), call));
    }
    let mut names: Vec<&str> = Vec::new();
    for keyword in keywords.iter().filter_map(|a| a.keyword.as_ref()) {
        if names.contains(&&*keyword.name) {
            return Err(duplicate(def, keyword));
        }
        names.push(&keyword.name);
    }
    let mut operands: Vec<NodeId> = positional.iter().map(|a| a.node).collect();
    operands.push(literal(Literal::from(names.join(","))).map_err(|e| SyntaxError::new(e, call))?);
    operands.extend(keywords.iter().map(|a| a.node));
    Ok(operands)
}
