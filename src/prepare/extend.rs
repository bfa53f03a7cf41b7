//! Compiler extensions: a node transformation here, a compile function later.
//!
//! The transformation *packs* what should not become slots into a new operator; the compile half turns
//! the packed operator into instructions. The worked example is `seq.reduce` ([`reduce`]): the
//! operator it applies is a literal of the expression, but no value of the program.
//!
//! ```text
//! seq.reduce(math.add, seq, initial)  ->  packed_seq_reduce[math.add(INT64,INT64)](seq, initial)  ->  a loop
//! ```
//!
//! Post-condition: no reachable operator has an extension that still transforms it; every packed
//! operator has its compile half.

use crate::expr::NodeId;
use crate::prepare::draft::Draft;
use crate::prepare::error::PrepareError;
use crate::prepare::prepared::Prepared;
use cembra_vm::program::ValueId;
use cembra_vm::value::{QType, Value};
use std::fmt;
use std::sync::Arc;

pub mod reduce;

/// The prepare half of an extension.
pub trait Extension: Send + Sync {
    /// Name for dumps.
    fn name(&self) -> &str;

    /// The operator it transforms.
    fn operator(&self) -> &str;

    /// The packed node, if the extension wants to transform this one.
    ///
    /// # Errors
    /// The node cannot be packed.
    fn transform(&self, draft: &mut Draft, id: NodeId) -> Result<Option<NodeId>, PrepareError>;
}

/// The compile half of an extension: emits the instructions of one packed operator.
pub trait CompileOperator: Send + Sync + fmt::Debug {
    /// Emits instructions that compute `result` from `operands`.
    ///
    /// # Errors
    /// The operator needs something that the machine does not have.
    fn emit(
        &self,
        emitter: &mut dyn Emitter,
        operands: &[ValueId],
        result: ValueId,
    ) -> Result<(), PrepareError>;

    /// True if evaluation cannot raise.
    fn is_total(&self) -> bool {
        false
    }
}

/// What a compile half can emit.
pub trait Emitter {
    /// Type of a value.
    fn qtype(&self, value: ValueId) -> QType;

    /// A new temporary.
    fn temporary(&mut self, qtype: QType) -> ValueId;

    /// A literal.
    fn literal(&mut self, value: Value) -> ValueId;

    /// `result = operator(operands)` for exact types.
    ///
    /// # Errors
    /// The machine has no such operator.
    fn operator(&mut self, name: &str, operands: &[ValueId], result: ValueId) -> Result<(), PrepareError>;

    /// The instructions of a prepared expression, its leaves bound in the order of its inputs.
    ///
    /// # Errors
    /// As in compiling the expression.
    fn inline(&mut self, body: &Prepared, leaves: &[ValueId], result: ValueId) -> Result<(), PrepareError>;

    /// The position of the next instruction.
    fn here(&self) -> usize;

    /// A forward jump taken if the mask is missing; [`Emitter::land`] sets its target.
    fn jump_if_not(&mut self, condition: ValueId) -> usize;

    /// Makes a forward jump lead to the next instruction.
    fn land(&mut self, jump: usize);

    /// A jump to an earlier position.
    fn jump_back(&mut self, target: usize);
}

/// The step.
///
/// # Errors
/// A transformation fails, or the graph is full.
pub fn extend(mut draft: Draft, extensions: &[Arc<dyn Extension>]) -> Result<Draft, PrepareError> {
    let wanted: Vec<_> = extensions
        .iter()
        .filter_map(|e| draft.graph.find_symbol(e.operator()).map(|symbol| (symbol, e.clone())))
        .collect();
    if wanted.is_empty() {
        return Ok(draft);
    }
    draft.rewrite_operators(|draft, id| {
        let Some(operator) = draft.graph.operator(id) else { return Ok(id) };
        for (_, extension) in wanted.iter().filter(|(symbol, _)| *symbol == operator) {
            if let Some(packed) = extension.transform(draft, id)? {
                return Ok(packed);
            }
        }
        Ok(id)
    })?;
    Ok(draft)
}
