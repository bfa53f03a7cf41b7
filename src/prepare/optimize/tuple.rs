//! Rules of tuples and views: a tuple that is only taken apart is not built.

use crate::expr::NodeId;
use crate::prepare::optimize::{Rewriter, Rule, RuleClass};
use crate::registry::define::LowerError;
use crate::registry::derived::{cast, tuple};
use cembra_vm::builtins::core;

/// The rules of this file.
pub const RULES: &[Rule] = &[
    Rule {
        name: "field_of_tuple",
        class: RuleClass::Strict,
        meaning: "get_nth(make_tuple(x0, x1, …), n) -> xn",
        operators: &[tuple::GET_NTH],
        apply: field_of_tuple,
    },
    Rule {
        name: "retype_twice",
        class: RuleClass::Strict,
        meaning: "downcast(A, upcast(B, x)) -> x if x is A, upcast and downcast alike",
        operators: &[cast::UPCAST, cast::DOWNCAST],
        apply: retype_twice,
    },
];

fn field_of_tuple(cx: &mut Rewriter<'_>, id: NodeId) -> Result<Option<NodeId>, LowerError> {
    let Some([mut tuple, index]) = cx.operands(id) else { return Ok(None) };
    // Field names do not matter here.
    while let Some([_, inner]) = cx.matches(tuple, cast::DOWNCAST) {
        tuple = inner;
    }
    if !cx.draft().is_operator(tuple, core::MAKE_TUPLE) {
        return Ok(None);
    }
    let index = cx.value(index).and_then(|v| v.scalar()?.as_i64()).and_then(|n| usize::try_from(n).ok());
    let field = index.and_then(|n| cx.draft().graph.operands(tuple).get(n).copied());
    Ok(field.filter(|f| cx.draft().type_id(*f) == cx.draft().type_id(id)))
}

fn retype_twice(cx: &mut Rewriter<'_>, id: NodeId) -> Result<Option<NodeId>, LowerError> {
    let Some([_, inner]) = cx.operands(id) else { return Ok(None) };
    let outer = [cast::UPCAST, cast::DOWNCAST];
    let original = outer.iter().find_map(|name| cx.matches(inner, name)).map(|[_, x]: [NodeId; 2]| x);
    Ok(original.filter(|x| cx.draft().type_id(*x) == cx.draft().type_id(id)))
}
