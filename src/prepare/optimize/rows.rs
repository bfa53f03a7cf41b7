//! Rules of rows: what goes over rows block by block stays in a region with what reads it.

use crate::expr::NodeId;
use crate::prepare::optimize::{Rewriter, Rule, RuleClass};
use crate::registry::define::LowerError;
use cembra_vm::builtins::{array, core, scan};
use cembra_vm::value::Value;

/// The rules of this file.
pub const RULES: &[Rule] = &[Rule {
    name: "iota_of_rows",
    class: RuleClass::Strict,
    meaning: "iota(shape_of(x)) -> _agg_index(has(x) | present) if rows of x are numbers or masks",
    operators: &[array::IOTA],
    apply: iota_of_rows,
}];

/// Numbers of rows are counted where rows are, without an array of them.
fn iota_of_rows(cx: &mut Rewriter<'_>, id: NodeId) -> Result<Option<NodeId>, LowerError> {
    let Some([shape]) = cx.operands(id) else { return Ok(None) };
    let Some([rows]) = cx.matches(shape, array::SHAPE_OF) else { return Ok(None) };
    let element = cx.draft().qtype_of(rows).element();
    if !element.is_some_and(|element| element.is_plain()) {
        return Ok(None);
    }
    let (has, present) = (cx.make(core::HAS_ARRAY, &[rows], id)?, cx.literal(Value::presence(true))?);
    let all = cx.make(core::PRESENCE_OR, &[has, present], id)?;
    Ok(Some(cx.make(scan::ROW_OF_GROUP, &[all], id)?))
}
