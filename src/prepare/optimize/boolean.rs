//! Rules of truth values: negated comparisons, and truth values that only make masks.

use crate::expr::NodeId;
use crate::prepare::optimize::{Rewriter, Rule, RuleClass};
use crate::registry::define::LowerError;
use cembra_vm::builtins::{bools, core};
use cembra_vm::value::qtype::BOOLEAN;
use cembra_vm::value::{ScalarValue, Value};

/// The rules of this file.
pub const RULES: &[Rule] = &[
    Rule {
        name: "logical_not_twice",
        class: RuleClass::Strict,
        meaning: "not not x -> x",
        operators: &[bools::LOGICAL_NOT],
        apply: logical_not_twice,
    },
    Rule {
        name: "not_equal",
        class: RuleClass::Strict,
        meaning: "not (x == y) -> x != y, not (x != y) -> x == y",
        operators: &[bools::LOGICAL_NOT],
        apply: not_equal,
    },
    Rule {
        name: "not_less",
        class: RuleClass::FastMath,
        meaning: "not (x < y) -> y <= x, not (x <= y) -> y < x (wrong for NaN)",
        operators: &[bools::LOGICAL_NOT],
        apply: not_less,
    },
    Rule {
        name: "mask_of_comparison",
        class: RuleClass::Strict,
        meaning: "core.equal(bool.less(x, y), true) -> core.less(x, y), and for the other comparisons",
        operators: &[core::EQUAL],
        apply: mask_of_comparison,
    },
    Rule {
        name: "mask_of_not",
        class: RuleClass::Strict,
        meaning: "core.equal(not x, true) -> core.equal(x, false) and the other way round",
        operators: &[core::EQUAL],
        apply: mask_of_not,
    },
    Rule {
        name: "mask_of_and_or",
        class: RuleClass::Strict,
        meaning: "core.equal(x and y, true) -> core.equal(x, true) & core.equal(y, true); or with |",
        operators: &[core::EQUAL],
        apply: mask_of_and_or,
    },
    Rule {
        name: "if_to_where",
        class: RuleClass::Strict,
        meaning: "logical_if(x, t, f, m) -> where(core.equal(x, true), t, f) if x is never missing",
        operators: &[bools::LOGICAL_IF],
        apply: if_to_where,
    },
];

type Rewritten = Result<Option<NodeId>, LowerError>;

fn logical_not_twice(cx: &mut Rewriter<'_>, id: NodeId) -> Rewritten {
    let inner = cx.operands(id).and_then(|[x]| cx.matches(x, bools::LOGICAL_NOT));
    Ok(inner.map(|[x]| x))
}

fn not_equal(cx: &mut Rewriter<'_>, id: NodeId) -> Rewritten {
    negated(cx, id, &[(bools::EQUAL, bools::NOT_EQUAL, false), (bools::NOT_EQUAL, bools::EQUAL, false)])
}

fn not_less(cx: &mut Rewriter<'_>, id: NodeId) -> Rewritten {
    negated(cx, id, &[(bools::LESS, bools::LESS_EQUAL, true), (bools::LESS_EQUAL, bools::LESS, true)])
}

/// Replaces the negation of a comparison by its opposite, operands exchanged where the row says so.
fn negated(cx: &mut Rewriter<'_>, id: NodeId, opposites: &[(&str, &str, bool)]) -> Rewritten {
    let Some([x]) = cx.operands(id) else { return Ok(None) };
    for (comparison, opposite, exchange) in opposites {
        if let Some([a, b]) = cx.matches(x, comparison) {
            let operands = if *exchange { [b, a] } else { [a, b] };
            return Ok(Some(cx.make(opposite, &operands, id)?));
        }
    }
    Ok(None)
}

/// The truth value in a literal, scalar or present.
fn truth(cx: &Rewriter<'_>, id: NodeId) -> Option<bool> {
    match cx.value(id)?.scalar()? {
        ScalarValue::Boolean(v) => Some(*v),
        _ => None,
    }
}

/// Operands of `core.equal(x, literal)`, the literal second.
fn compared_to_truth(cx: &Rewriter<'_>, id: NodeId) -> Option<(NodeId, NodeId, bool)> {
    let [x, y] = cx.operands(id)?;
    let second = truth(cx, y).map(|t| (x, y, t));
    second.or_else(|| truth(cx, x).map(|t| (y, x, t)))
}

fn mask_of_comparison(cx: &mut Rewriter<'_>, id: NodeId) -> Rewritten {
    let Some((x, _, true)) = compared_to_truth(cx, id) else { return Ok(None) };
    let comparisons = [
        (bools::EQUAL, core::EQUAL),
        (bools::NOT_EQUAL, core::NOT_EQUAL),
        (bools::LESS, core::LESS),
        (bools::LESS_EQUAL, core::LESS_EQUAL),
    ];
    for (comparison, mask) in comparisons {
        if let Some([a, b]) = cx.matches::<2>(x, comparison) {
            return Ok(Some(cx.make(mask, &[a, b], id)?));
        }
    }
    Ok(None)
}

/// A truth value as a literal of the same form, scalar or optional, as another value; rows are compared with a scalar.
fn truth_like(cx: &mut Rewriter<'_>, like: NodeId, value: bool) -> Result<NodeId, LowerError> {
    match cx.draft().qtype_of(like).is_optional() {
        true => cx.literal(Value::from(Some(value))),
        false => cx.literal(value),
    }
}

fn mask_of_not(cx: &mut Rewriter<'_>, id: NodeId) -> Rewritten {
    let Some((x, literal, expected)) = compared_to_truth(cx, id) else { return Ok(None) };
    let Some([inner]) = cx.matches(x, bools::LOGICAL_NOT) else { return Ok(None) };
    let opposite = truth_like(cx, literal, !expected)?;
    Ok(Some(cx.make(core::EQUAL, &[inner, opposite], id)?))
}

fn mask_of_and_or(cx: &mut Rewriter<'_>, id: NodeId) -> Rewritten {
    let Some((x, _, true)) = compared_to_truth(cx, id) else { return Ok(None) };
    let connectives = [(bools::LOGICAL_AND, core::PRESENCE_AND), (bools::LOGICAL_OR, core::PRESENCE_OR)];
    for (connective, mask) in connectives {
        if let Some([a, b]) = cx.matches::<2>(x, connective) {
            // Rows may be joined with a single value, which may be missing: each is compared with a literal of its own form.
            let [x, y] = [truth_like(cx, a, true)?, truth_like(cx, b, true)?];
            let a = cx.make(core::EQUAL, &[a, x], id)?;
            let b = cx.make(core::EQUAL, &[b, y], id)?;
            return Ok(Some(cx.make(mask, &[a, b], id)?));
        }
    }
    Ok(None)
}

fn if_to_where(cx: &mut Rewriter<'_>, id: NodeId) -> Rewritten {
    let Some([x, yes, no, _]) = cx.operands(id) else { return Ok(None) };
    if *cx.draft().qtype_of(x) != BOOLEAN {
        return Ok(None);
    }
    let truth = cx.literal(true)?;
    let mask = cx.make(core::EQUAL, &[x, truth], id)?;
    Ok(Some(cx.make(core::WHERE, &[mask, yes, no], id)?))
}
