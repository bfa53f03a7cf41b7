//! Rules of presence: masks, defaults, and conditions known at compile time.

use crate::expr::NodeId;
use crate::prepare::optimize::{Rewriter, Rule, RuleClass};
use crate::registry::define::LowerError;
use crate::registry::derived::presence;
use cembra_vm::builtins::core;
use cembra_vm::value::{QType, ScalarType, Value};

/// The rules of this file. Masks are named m, n.
pub const RULES: &[Rule] = &[
    Rule {
        name: "has_known",
        class: RuleClass::Strict,
        meaning: "has(to_optional(x)) -> present; has(x & m) -> m for a scalar x, has(x) & m else",
        operators: &[presence::HAS_OPTIONAL],
        apply: has_known,
    },
    Rule {
        name: "has_inward",
        class: RuleClass::Strict,
        meaning: "has(x | y) -> has(x) | has(y), has(where(m, x, y)) -> where(m, has(x), has(y))",
        operators: &[presence::HAS_OPTIONAL],
        apply: has_inward,
    },
    Rule {
        name: "not_twice",
        class: RuleClass::Strict,
        meaning: "~~m -> m",
        operators: &[core::PRESENCE_NOT],
        apply: not_twice,
    },
    Rule {
        name: "and_known",
        class: RuleClass::Strict,
        meaning: "x & present -> x, x & missing -> missing, m & m -> m",
        operators: &[core::PRESENCE_AND],
        apply: and_known,
    },
    Rule {
        name: "and_of_optional",
        class: RuleClass::Strict,
        meaning: "to_optional(x) & m -> x & m",
        operators: &[core::PRESENCE_AND],
        apply: and_of_optional,
    },
    Rule {
        name: "or_known",
        class: RuleClass::Strict,
        meaning: "to_optional(x) | y -> x, missing | y -> y, m | present -> present, m | m -> m",
        operators: &[core::PRESENCE_OR],
        apply: or_known,
    },
    Rule {
        name: "or_of_ands",
        class: RuleClass::Strict,
        meaning: "(m & n) | (m & k) -> m & (n | k) for masks",
        operators: &[core::PRESENCE_OR],
        apply: or_of_ands,
    },
    Rule {
        name: "or_to_where",
        class: RuleClass::Strict,
        meaning: "(x & m) | (y & ~m) -> where(m, x, y)",
        operators: &[core::PRESENCE_OR],
        apply: or_to_where,
    },
    Rule {
        name: "and_or",
        class: RuleClass::Strict,
        meaning: "(x & m) | y -> _presence_and_or(x, m, y)",
        operators: &[core::PRESENCE_OR],
        apply: and_or,
    },
    Rule {
        name: "value_of_optional",
        class: RuleClass::Strict,
        meaning: "get_optional_value(to_optional(x)) -> x",
        operators: &[core::GET_OPTIONAL_VALUE],
        apply: value_of_optional,
    },
    Rule {
        name: "where_known",
        class: RuleClass::Strict,
        meaning: "where(present, x, y) -> x, where(missing, x, y) -> y, where(m, x, x) -> x",
        operators: &[core::WHERE],
        apply: where_known,
    },
];

type Rewritten = Result<Option<NodeId>, LowerError>;

/// Present or missing, if the mask is a literal.
fn known(cx: &Rewriter<'_>, id: NodeId) -> Option<bool> {
    match cx.value(id)? {
        Value::Present(_) => Some(true),
        Value::Missing(_) => Some(false),
        _ => None,
    }
}

fn is_mask(cx: &Rewriter<'_>, id: NodeId) -> bool {
    *cx.draft().qtype_of(id) == QType::Optional(ScalarType::Unit)
}

/// The scalar inside `to_optional(x)`.
fn made_optional(cx: &Rewriter<'_>, id: NodeId) -> Option<NodeId> {
    cx.matches(id, core::TO_OPTIONAL_SCALAR).map(|[x]| x)
}

fn has(cx: &mut Rewriter<'_>, id: NodeId) -> Result<NodeId, LowerError> {
    match is_mask(cx, id) {
        true => Ok(id),
        false => cx.make(presence::HAS_OPTIONAL, &[id], id),
    }
}

fn has_known(cx: &mut Rewriter<'_>, id: NodeId) -> Rewritten {
    let Some([x]) = cx.operands(id) else { return Ok(None) };
    if made_optional(cx, x).is_some() {
        return Ok(Some(cx.literal(Value::presence(true))?));
    }
    let Some([value, mask]) = cx.matches(x, core::PRESENCE_AND) else { return Ok(None) };
    if !cx.draft().qtype_of(value).is_optional() {
        return Ok(Some(mask));
    }
    let present = has(cx, value)?;
    Ok(Some(cx.make(core::PRESENCE_AND, &[present, mask], id)?))
}

fn has_inward(cx: &mut Rewriter<'_>, id: NodeId) -> Rewritten {
    let Some([x]) = cx.operands(id) else { return Ok(None) };
    if let Some([a, b]) = cx.matches(x, core::PRESENCE_OR) {
        let (a, b) = (has(cx, a)?, has(cx, b)?);
        return Ok(Some(cx.make(core::PRESENCE_OR, &[a, b], id)?));
    }
    if let Some([mask, a, b]) = cx.matches(x, core::WHERE) {
        let (a, b) = (has(cx, a)?, has(cx, b)?);
        return Ok(Some(cx.make(core::WHERE, &[mask, a, b], id)?));
    }
    Ok(None)
}

fn not_twice(cx: &mut Rewriter<'_>, id: NodeId) -> Rewritten {
    let inner = cx.operands(id).and_then(|[x]| cx.matches(x, core::PRESENCE_NOT));
    Ok(inner.map(|[m]| m))
}

fn and_known(cx: &mut Rewriter<'_>, id: NodeId) -> Rewritten {
    let Some([x, mask]) = cx.operands(id) else { return Ok(None) };
    if x == mask {
        return Ok(Some(x));
    }
    if is_mask(cx, x) && known(cx, x) == Some(true) {
        return Ok(Some(mask));
    }
    match known(cx, mask) {
        Some(true) => Ok(Some(cx.optional(x)?)),
        Some(false) => match cx.draft().qtype_of(id).scalar() {
            Some(scalar) => Ok(Some(cx.literal(Value::Missing(scalar))?)),
            None => Ok(None),
        },
        None => Ok(None),
    }
}

fn and_of_optional(cx: &mut Rewriter<'_>, id: NodeId) -> Rewritten {
    let Some([x, mask]) = cx.operands(id) else { return Ok(None) };
    match made_optional(cx, x) {
        Some(scalar) => Ok(Some(cx.make(core::PRESENCE_AND, &[scalar, mask], id)?)),
        None => Ok(None),
    }
}

fn or_known(cx: &mut Rewriter<'_>, id: NodeId) -> Rewritten {
    let Some([x, y]) = cx.operands(id) else { return Ok(None) };
    if x == y {
        return Ok(Some(x));
    }
    if let Some(scalar) = made_optional(cx, x) {
        let wanted = cx.draft().qtype_of(id).is_optional();
        return Ok(Some(if wanted { x } else { scalar }));
    }
    match known(cx, x) {
        Some(false) => return Ok(Some(y)),
        Some(true) if cx.draft().type_id(x) == cx.draft().type_id(id) => return Ok(Some(x)),
        _ => {}
    }
    let always = is_mask(cx, y) && known(cx, y) == Some(true);
    let never = known(cx, y) == Some(false);
    Ok(match (always, never) {
        (true, _) => Some(y),
        (_, true) => Some(x),
        _ => None,
    })
}

fn or_of_ands(cx: &mut Rewriter<'_>, id: NodeId) -> Rewritten {
    let Some([x, y]) = cx.operands(id) else { return Ok(None) };
    let pair = cx.matches(x, core::PRESENCE_AND).zip(cx.matches(y, core::PRESENCE_AND));
    let Some(([a, b], [c, d])) = pair else { return Ok(None) };
    if ![a, b, c, d].iter().all(|m| is_mask(cx, *m)) {
        return Ok(None);
    }
    let shared = match () {
        () if a == c => Some((a, b, d)),
        () if a == d => Some((a, b, c)),
        () if b == c => Some((b, a, d)),
        () if b == d => Some((b, a, c)),
        () => None,
    };
    let Some((common, left, right)) = shared else { return Ok(None) };
    let either = cx.make(core::PRESENCE_OR, &[left, right], id)?;
    Ok(Some(cx.make(core::PRESENCE_AND, &[common, either], id)?))
}

fn or_to_where(cx: &mut Rewriter<'_>, id: NodeId) -> Rewritten {
    let Some([left, right]) = cx.operands(id) else { return Ok(None) };
    let pair = cx.matches(left, core::PRESENCE_AND).zip(cx.matches(right, core::PRESENCE_AND));
    let Some(([x, mask], [y, other])) = pair else { return Ok(None) };
    let negated = |a: NodeId, b: NodeId| cx.matches(a, core::PRESENCE_NOT).is_some_and(|[m]| m == b);
    let scalars = !cx.draft().qtype_of(x).is_optional() && !cx.draft().qtype_of(y).is_optional();
    // Masks have simpler rules of their own, and a missing x would have to fall through to y.
    if !scalars || !(negated(other, mask) || negated(mask, other)) {
        return Ok(None);
    }
    let chosen = cx.make(core::WHERE, &[mask, x, y], id)?;
    Ok(Some(cx.optional(chosen)?))
}

fn and_or(cx: &mut Rewriter<'_>, id: NodeId) -> Rewritten {
    let Some([left, y]) = cx.operands(id) else { return Ok(None) };
    let Some([x, mask]) = cx.matches(left, core::PRESENCE_AND) else { return Ok(None) };
    if is_mask(cx, x) {
        return Ok(None);
    }
    Ok(Some(cx.make(core::PRESENCE_AND_OR, &[x, mask, y], id)?))
}

fn value_of_optional(cx: &mut Rewriter<'_>, id: NodeId) -> Rewritten {
    Ok(cx.operands(id).and_then(|[x]| made_optional(cx, x)))
}

fn where_known(cx: &mut Rewriter<'_>, id: NodeId) -> Rewritten {
    let Some([mask, yes, no]) = cx.operands(id) else { return Ok(None) };
    if yes == no {
        return Ok(Some(yes));
    }
    Ok(known(cx, mask).map(|present| if present { yes } else { no }))
}
