//! Literal folding: an operator whose operands are all literals becomes its value.
//!
//! This step folds what the expression says; [`evaluate`](crate::prepare::evaluate) is what it does to one
//! node. Later steps evaluate what they make themselves.

use crate::expr::Expr;
use crate::prepare::cast::cast_operands;
use crate::prepare::draft::Draft;
use crate::prepare::error::PrepareError;
use crate::prepare::join::{Source, join};
use crate::prepare::populate::populate_types;

/// The step: every operator node of literals is lowered, cast and evaluated on the spot.
///
/// Post-condition: no reachable operator node has only literal operands, unless it raises, is not the
/// machine's, or must not be evaluated.
///
/// # Errors
/// Lowering or casting fails, or the graph is full.
pub fn fold_literals(mut draft: Draft) -> Result<Draft, PrepareError> {
    draft.rewrite_operators(|draft, id| {
        let operands = draft.graph.operands(id);
        if operands.is_empty() || !operands.iter().all(|o| draft.graph.literal(*o).is_some()) {
            return Ok(id);
        }
        let lower = draft.lower_node(id)?;
        let exact = cast_operands(draft, lower)?;
        let folded = draft.fold_exact(exact)?;
        Ok(if draft.graph.literal(folded).is_some() { folded } else { id })
    })?;
    Ok(draft)
}

/// The main expression with its literals folded, for one that is prepared several times: with its derivatives, say, and
/// alone.
///
/// # Errors
/// As preparation up to the folding of literals.
pub fn folded(source: Source) -> Result<Expr, PrepareError> {
    let mut draft = populate_types(join(source)?)?;
    draft.folding = true;
    let draft = fold_literals(draft)?;
    Ok(Expr::new(&draft.graph, draft.outputs()[0])?)
}
