//! Rules of truth values: negated comparisons, and truth values that only make masks.

use crate::expr::NodeId;
use crate::prepare::optimize::{Rewriter, Rule, RuleClass};
use crate::registry::define::LowerError;
use cembra_vm::value::qtype::BOOLEAN;
use cembra_vm::value::{ScalarValue, Value};

/// The rules of this file.
pub const RULES: &[Rule] = &[
    Rule {
        name: "logical_not_twice",
        class: RuleClass::Strict,
        meaning: "not not x -> x",
        operators: &["bool.logical_not"],
        apply: logical_not_twice,
    },
    Rule {
        name: "not_equal",
        class: RuleClass::Strict,
        meaning: "not (x == y) -> x != y, not (x != y) -> x == y",
        operators: &["bool.logical_not"],
        apply: not_equal,
    },
    Rule {
        name: "not_less",
        class: RuleClass::FastMath,
        meaning: "not (x < y) -> y <= x, not (x <= y) -> y < x (wrong for NaN)",
        operators: &["bool.logical_not"],
        apply: not_less,
    },
    Rule {
        name: "mask_of_comparison",
        class: RuleClass::Strict,
        meaning: "core.equal(bool.less(x, y), true) -> core.less(x, y), and for the other comparisons",
        operators: &["core.equal"],
        apply: mask_of_comparison,
    },
    Rule {
        name: "mask_of_not",
        class: RuleClass::Strict,
        meaning: "core.equal(not x, true) -> core.equal(x, false) and the other way round",
        operators: &["core.equal"],
        apply: mask_of_not,
    },
    Rule {
        name: "mask_of_and_or",
        class: RuleClass::Strict,
        meaning: "core.equal(x and y, true) -> core.equal(x, true) & core.equal(y, true); or with |",
        operators: &["core.equal"],
        apply: mask_of_and_or,
    },
    Rule {
        name: "if_to_where",
        class: RuleClass::Strict,
        meaning: "logical_if(x, t, f, m) -> where(core.equal(x, true), t, f) if x is never missing",
        operators: &["bool.logical_if"],
        apply: if_to_where,
    },
];

type Rewritten = Result<Option<NodeId>, LowerError>;

fn logical_not_twice(cx: &mut Rewriter<'_>, id: NodeId) -> Rewritten {
    let inner = cx.operands(id).and_then(|[x]| cx.matches(x, "bool.logical_not"));
    Ok(inner.map(|[x]| x))
}

fn not_equal(cx: &mut Rewriter<'_>, id: NodeId) -> Rewritten {
    negated(cx, id, &[("bool.equal", "bool.not_equal", false), ("bool.not_equal", "bool.equal", false)])
}

fn not_less(cx: &mut Rewriter<'_>, id: NodeId) -> Rewritten {
    negated(cx, id, &[("bool.less", "bool.less_equal", true), ("bool.less_equal", "bool.less", true)])
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
        ("bool.equal", "core.equal"),
        ("bool.not_equal", "core.not_equal"),
        ("bool.less", "core.less"),
        ("bool.less_equal", "core.less_equal"),
    ];
    for (comparison, mask) in comparisons {
        if let Some([a, b]) = cx.matches::<2>(x, comparison) {
            return Ok(Some(cx.make(mask, &[a, b], id)?));
        }
    }
    Ok(None)
}

/// A truth value as a literal of the same form, scalar or optional, as another literal.
fn truth_like(cx: &mut Rewriter<'_>, like: NodeId, value: bool) -> Result<NodeId, LowerError> {
    match cx.draft().qtype_of(like).is_optional() {
        true => cx.literal(Value::from(Some(value))),
        false => cx.literal(value),
    }
}

fn mask_of_not(cx: &mut Rewriter<'_>, id: NodeId) -> Rewritten {
    let Some((x, literal, expected)) = compared_to_truth(cx, id) else { return Ok(None) };
    let Some([inner]) = cx.matches(x, "bool.logical_not") else { return Ok(None) };
    let opposite = truth_like(cx, literal, !expected)?;
    Ok(Some(cx.make("core.equal", &[inner, opposite], id)?))
}

fn mask_of_and_or(cx: &mut Rewriter<'_>, id: NodeId) -> Rewritten {
    let Some((x, literal, true)) = compared_to_truth(cx, id) else { return Ok(None) };
    let connectives = [("bool.logical_and", "core.presence_and"), ("bool.logical_or", "core.presence_or")];
    for (connective, mask) in connectives {
        if let Some([a, b]) = cx.matches::<2>(x, connective) {
            let a = cx.make("core.equal", &[a, literal], id)?;
            let b = cx.make("core.equal", &[b, literal], id)?;
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
    let mask = cx.make("core.equal", &[x, truth], id)?;
    Ok(Some(cx.make("core.where", &[mask, yes, no], id)?))
}
