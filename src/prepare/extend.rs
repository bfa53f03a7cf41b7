//! Compiler extensions: a node transformation here, a compile function later.
//!
//! The transformation *packs* what should not become slots into a new operator; the compile half
//! ([`CompileOperator`](crate::prepare::emitter::CompileOperator)) turns the packed operator into
//! instructions. The worked example is `seq.reduce` ([`reduce`]): the operator it applies is a literal of
//! the expression, but no value of the program.
//!
//! ```text
//! seq.reduce(math.add, seq, initial)  ->  packed_seq_reduce[math.add(INT64,INT64)](seq, initial)  ->  a loop
//! ```
//!
//! Post-condition: no reachable operator has an extension that still transforms it; every packed
//! operator has its compile half.

use crate::expr::{NodeId, Symbol};
use crate::prepare::draft::{Draft, Failure};
use crate::prepare::error::PrepareError;
use crate::prepare::prepared::{Packed, PackedOperators};
use crate::registry::OperatorDef;
use std::sync::Arc;

pub mod reduce;

/// The prepare half of an extension.
pub trait Extension: Send + Sync {
    /// Name for dumps.
    fn name(&self) -> &str;

    /// The operator it transforms.
    fn operator(&self) -> &str;

    /// What shall stand in the place of a node, if the extension wants to transform this one.
    ///
    /// # Errors
    /// The node cannot be packed.
    fn transform(&self, draft: &mut Draft, id: NodeId) -> Result<Option<PackedNode>, PrepareError>;
}

/// A node over a packed operator.
#[derive(Debug)]
pub struct PackedNode {
    /// The operator, for this draft only. Its name says all that is packed into it: operators of the same
    /// name are one.
    pub operator: OperatorDef,
    /// Its operands, typed.
    pub operands: Vec<NodeId>,
    /// How it is compiled.
    pub packed: Packed,
}

/// A draft whose extensions have run.
#[derive(Clone, Debug)]
pub struct Extended {
    /// The expression.
    pub draft: Draft,
    /// How its packed operators are compiled.
    pub packed: PackedOperators,
}

impl From<Draft> for Extended {
    /// Nothing is packed.
    fn from(draft: Draft) -> Extended {
        Extended { draft, packed: PackedOperators::new() }
    }
}

/// The step.
///
/// # Errors
/// A transformation fails, or the graph is full.
pub fn extend(mut draft: Draft, extensions: &[Arc<dyn Extension>]) -> Result<Extended, PrepareError> {
    let wanted: Vec<_> = extensions
        .iter()
        .filter_map(|e| draft.graph.find_symbol(e.operator()).map(|symbol| (symbol, e.clone())))
        .collect();
    if wanted.is_empty() {
        return Ok(draft.into());
    }
    let mut packed = PackedOperators::new();
    draft.rewrite_operators(|draft, id| {
        let Some(node) = transform(draft, id, &wanted)? else { return Ok(id) };
        let operator = draft.graph.symbol(&node.operator.name);
        draft.set_definition(operator, Arc::new(node.operator));
        packed.insert(operator, node.packed);
        draft.apply(operator, &node.operands, draft.graph.span(id)).map_err(Failure::from)
    })?;
    Ok(Extended { draft, packed })
}

/// What the first extension that wants to makes of a node.
fn transform(
    draft: &mut Draft,
    id: NodeId,
    wanted: &[(Symbol, Arc<dyn Extension>)],
) -> Result<Option<PackedNode>, PrepareError> {
    let Some(operator) = draft.graph.operator(id) else { return Ok(None) };
    for (_, extension) in wanted.iter().filter(|(symbol, _)| *symbol == operator) {
        if let Some(node) = extension.transform(draft, id)? {
            return Ok(Some(node));
        }
    }
    Ok(None)
}
