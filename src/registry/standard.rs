//! Definitions read off the rows of the machine's operators: parameters and meaning as they stand,
//! types by the closest overload.

use crate::registry::define::OperatorDef;
use crate::registry::infer::{InferContext, Resolution, TypeError};
use crate::registry::overloads;
use cembra_vm::operator::Family;
use cembra_vm::value::ScalarType;
use std::sync::Arc;

/// The expression operator of a family.
pub fn definition(family: &Arc<Family>) -> OperatorDef {
    let params: Vec<&str> = family.params().collect();
    let row = family.clone();
    let mut def = OperatorDef::new(family.name(), &params, family.meaning(), move |cx| from_row(&row, cx));
    def.family = Some(family.clone());
    def
}

/// The closest listed overload; for rows that make overloads on demand, the one for exactly these
/// types. Such rows know stored types only: among weak operands a FLOAT64 result is weak too.
pub fn from_row(family: &Family, cx: &InferContext<'_>) -> Result<Resolution, TypeError> {
    if family.is_generic()
        && let Some(overload) = family.overload(cx.types)
    {
        let any = |scalar| cx.types.iter().any(|t| t.element() == Some(scalar));
        let weak = any(ScalarType::WeakFloat) && !any(ScalarType::Float64);
        let result = overload.result();
        return cx.unchanged(match (weak, result.element(), result.with_scalar(ScalarType::WeakFloat)) {
            (true, Some(ScalarType::Float64), Some(weak)) => weak,
            _ => result.clone(),
        });
    }
    overloads::choose(family, cx)
}
