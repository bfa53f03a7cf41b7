//! Rules of arithmetic: neutral elements, double negation, sums of four, products that are added, bounds on both sides of zero.

use crate::expr::NodeId;
use crate::prepare::optimize::{Rewriter, Rule, RuleClass};
use crate::registry::define::LowerError;
use cembra_vm::builtins::{core, math};
use cembra_vm::value::{ScalarType, ScalarValue, Value};

/// The rules of this file.
pub const RULES: &[Rule] = &[
    Rule {
        name: "multiply_one",
        class: RuleClass::Strict,
        meaning: "x * 1 -> x, 1 * x -> x",
        operators: &[math::MULTIPLY],
        apply: multiply_one,
    },
    Rule {
        name: "divide_one",
        class: RuleClass::Strict,
        meaning: "x / 1 -> x",
        operators: &[math::DIVIDE],
        apply: divide_one,
    },
    Rule {
        name: "divide_power_of_two",
        class: RuleClass::Strict,
        meaning: "x / 2^k -> x * 2^-k for arrays of floats",
        operators: &[math::DIVIDE],
        apply: divide_power_of_two,
    },
    Rule {
        name: "power_one",
        class: RuleClass::Strict,
        meaning: "x ** 1 -> x",
        operators: &[math::POW],
        apply: power_one,
    },
    Rule {
        name: "square",
        class: RuleClass::Strict,
        meaning: "x ** 2 -> x * x",
        operators: &[math::POW],
        apply: square,
    },
    Rule {
        name: "known_power",
        class: RuleClass::Strict,
        meaning: "x ** 3 -> math._cube(x), x ** 4 -> math._fourth(x), x ** 0.5 -> math._root(x) for arrays",
        operators: &[math::POW],
        apply: known_power,
    },
    Rule {
        name: "subtract_zero",
        class: RuleClass::Strict,
        meaning: "x - 0 -> x",
        operators: &[math::SUBTRACT],
        apply: subtract_zero,
    },
    Rule {
        name: "add_zero_integer",
        class: RuleClass::Strict,
        meaning: "x + 0 -> x, 0 + x -> x for integers",
        operators: &[math::ADD],
        apply: add_zero_integer,
    },
    Rule {
        name: "negate_twice",
        class: RuleClass::Strict,
        meaning: "-(-x) -> x",
        operators: &[math::NEG],
        apply: negate_twice,
    },
    Rule { name: "pos", class: RuleClass::Strict, meaning: "+x -> x", operators: &[math::POS], apply: pos },
    Rule {
        name: "bounds_around_zero",
        class: RuleClass::Strict,
        meaning: "(-c < x) & (x < c) -> math.abs(x) < c for arrays of floats, with <= as well",
        operators: &[core::PRESENCE_AND],
        apply: bounds_around_zero,
    },
    Rule {
        name: "add_zero_float",
        class: RuleClass::FastMath,
        meaning: "x + 0 -> x, 0 + x -> x for floats (wrong for -0.0)",
        operators: &[math::ADD],
        apply: add_zero_float,
    },
    Rule {
        name: "small_power",
        class: RuleClass::FastMath,
        meaning: "x ** -1 -> 1 / x (up to a unit in the last place)",
        operators: &[math::POW],
        apply: small_power,
    },
    Rule {
        name: "add4",
        class: RuleClass::FastMath,
        meaning: "a + b + c + d in any grouping -> math._add4(a, b, c, d), added from the left",
        operators: &[math::ADD],
        apply: add4,
    },
    Rule {
        name: "contract",
        class: RuleClass::Contract,
        meaning: "a * b + c -> math.fma(a, b, c) for floats; the same of c + a * b, a * b - c and c - a * b",
        operators: &[math::ADD, math::SUBTRACT],
        apply: contract,
    },
];

/// The number in a literal, present or scalar: 0 and 1 exactly, with `+0` told from `-0`.
fn number(value: &Value) -> Option<f64> {
    match value.scalar()? {
        ScalarValue::Int32(v) => Some(f64::from(*v)),
        ScalarValue::Int64(v) => (v.unsigned_abs() < 2).then_some(*v as f64),
        other => other.as_f64(),
    }
}

fn is_number(cx: &Rewriter<'_>, id: NodeId, wanted: f64) -> bool {
    cx.value(id).and_then(number).is_some_and(|v| v.to_bits() == wanted.to_bits())
}

/// True if dropping the literal keeps the type: an optional literal beside a scalar would not.
fn keeps_type(cx: &Rewriter<'_>, node: NodeId, kept: NodeId) -> bool {
    cx.draft().type_id(node) == cx.draft().type_id(kept)
}

fn drop_neutral(cx: &Rewriter<'_>, id: NodeId, neutral: f64) -> Option<NodeId> {
    let [x, y] = cx.operands(id)?;
    if is_number(cx, y, neutral) && keeps_type(cx, id, x) {
        return Some(x);
    }
    (is_number(cx, x, neutral) && keeps_type(cx, id, y)).then_some(y)
}

fn multiply_one(cx: &mut Rewriter<'_>, id: NodeId) -> Result<Option<NodeId>, LowerError> {
    Ok(drop_neutral(cx, id, 1.0))
}

fn divide_one(cx: &mut Rewriter<'_>, id: NodeId) -> Result<Option<NodeId>, LowerError> {
    let one = cx.operands(id).filter(|[x, y]| is_number(cx, *y, 1.0) && keeps_type(cx, id, *x));
    Ok(one.map(|[x, _]| x))
}

/// True for rows and n-dimensional arrays. Of scalars some rules would save less than they change in the recorded
/// programs.
fn is_array(cx: &Rewriter<'_>, id: NodeId) -> bool {
    let qtype = cx.draft().qtype_of(id);
    qtype.array().is_some() || qtype.nd().is_some()
}

/// Both are the exact quotient rounded once, if the inverse is exact and no subnormal.
fn divide_power_of_two(cx: &mut Rewriter<'_>, id: NodeId) -> Result<Option<NodeId>, LowerError> {
    let is_rows = cx.draft().qtype_of(id).array().is_some();
    let Some([x, y]) = cx.operands(id).filter(|_| is_rows) else { return Ok(None) };
    let inverse: Option<Value> = match cx.value(y) {
        Some(Value::Scalar(ScalarValue::Float64(v))) => {
            let exact = v.is_normal() && v.to_bits() << 12 == 0 && (1.0 / v).is_normal();
            exact.then(|| Value::from(1.0 / v))
        }
        Some(Value::Scalar(ScalarValue::Float32(v))) => {
            let exact = v.is_normal() && v.to_bits() << 9 == 0 && (1.0 / v).is_normal();
            exact.then(|| Value::from(1.0 / v))
        }
        _ => None,
    };
    let Some(inverse) = inverse else { return Ok(None) };
    let inverse = cx.literal(inverse)?;
    Ok(Some(cx.make(math::MULTIPLY, &[x, inverse], id)?))
}

/// The base, if the exponent is this number and the power has the type of the base.
fn base(cx: &Rewriter<'_>, id: NodeId, exponent: f64) -> Option<NodeId> {
    let [x, y] = cx.operands(id)?;
    (is_number(cx, y, exponent) && keeps_type(cx, id, x)).then_some(x)
}

fn power_one(cx: &mut Rewriter<'_>, id: NodeId) -> Result<Option<NodeId>, LowerError> {
    Ok(base(cx, id, 1.0))
}

/// The kernel says that a square is this product.
fn square(cx: &mut Rewriter<'_>, id: NodeId) -> Result<Option<NodeId>, LowerError> {
    let Some(x) = base(cx, id, 2.0) else { return Ok(None) };
    cx.make(math::MULTIPLY, &[x, x], id).map(Some)
}

/// The kernel of the power has the same functions.
fn known_power(cx: &mut Rewriter<'_>, id: NodeId) -> Result<Option<NodeId>, LowerError> {
    if !is_array(cx, id) {
        return Ok(None);
    }
    for (exponent, operator) in [(3.0, math::CUBE), (4.0, math::FOURTH), (0.5, math::ROOT)] {
        if let Some(x) = base(cx, id, exponent) {
            return cx.make(operator, &[x], id).map(Some);
        }
    }
    Ok(None)
}

fn small_power(cx: &mut Rewriter<'_>, id: NodeId) -> Result<Option<NodeId>, LowerError> {
    let Some(x) = base(cx, id, -1.0) else { return Ok(None) };
    let one = match cx.draft().qtype_of(id).scalar_inside() {
        Some(ScalarType::Float32) => Value::from(1.0f32),
        Some(ScalarType::Float64) => Value::from(1.0f64),
        _ => return Ok(None),
    };
    let one = cx.literal(one)?;
    cx.make(math::DIVIDE, &[one, x], id).map(Some)
}

fn subtract_zero(cx: &mut Rewriter<'_>, id: NodeId) -> Result<Option<NodeId>, LowerError> {
    // x - (+0) is x for every x, -0.0 included; x - (-0) is not.
    let zero = cx.operands(id).filter(|[x, y]| is_number(cx, *y, 0.0) && keeps_type(cx, id, *x));
    Ok(zero.map(|[x, _]| x))
}

fn is_float(cx: &Rewriter<'_>, id: NodeId) -> bool {
    cx.draft().qtype_of(id).scalar_inside().is_some_and(|t| t.is_float())
}

fn add_zero_integer(cx: &mut Rewriter<'_>, id: NodeId) -> Result<Option<NodeId>, LowerError> {
    Ok(if is_float(cx, id) { None } else { drop_neutral(cx, id, 0.0) })
}

fn add_zero_float(cx: &mut Rewriter<'_>, id: NodeId) -> Result<Option<NodeId>, LowerError> {
    if !is_float(cx, id) {
        return Ok(None);
    }
    Ok(drop_neutral(cx, id, 0.0).or_else(|| drop_neutral(cx, id, -0.0)))
}

fn negate_twice(cx: &mut Rewriter<'_>, id: NodeId) -> Result<Option<NodeId>, LowerError> {
    let inner = cx.operands(id).and_then(|[x]| cx.matches(x, math::NEG));
    Ok(inner.map(|[x]| x))
}

fn pos(cx: &mut Rewriter<'_>, id: NodeId) -> Result<Option<NodeId>, LowerError> {
    Ok(cx.operands(id).map(|[x]| x))
}

/// The two bounds may have others between them: `&` of masks is the same in any order.
fn bounds_around_zero(cx: &mut Rewriter<'_>, id: NodeId) -> Result<Option<NodeId>, LowerError> {
    let Some([left, right]) = cx.operands(id).filter(|_| is_array(cx, id)) else { return Ok(None) };
    if let Some(joined) = joined_bounds(cx, left, right)? {
        return Ok(Some(joined));
    }
    let Some([first, second]) = cx.matches(left, core::PRESENCE_AND) else { return Ok(None) };
    if let Some(joined) = joined_bounds(cx, second, right)? {
        return cx.make(core::PRESENCE_AND, &[first, joined], id).map(Some);
    }
    match joined_bounds(cx, first, right)? {
        Some(joined) => cx.make(core::PRESENCE_AND, &[joined, second], id).map(Some),
        None => Ok(None),
    }
}

/// A comparison of a size for two comparisons, if they say that a float is between a number and its negation.
fn joined_bounds(cx: &mut Rewriter<'_>, one: NodeId, other: NodeId) -> Result<Option<NodeId>, LowerError> {
    for comparison in [core::LESS, core::LESS_EQUAL] {
        let both = cx.matches::<2>(one, comparison).zip(cx.matches::<2>(other, comparison));
        let Some((one, other)) = both else { continue };
        for ([low, x], [same, high]) in [(one, other), (other, one)] {
            let are_opposite = |low: f64, high: f64| (-low).to_bits() == high.to_bits();
            let bounds = cx.value(low).and_then(number).zip(cx.value(high).and_then(number));
            if x == same && is_float(cx, x) && bounds.is_some_and(|(low, high)| are_opposite(low, high)) {
                let size = cx.make(math::ABS, &[x], x)?;
                return cx.make(comparison, &[size, high], x).map(Some);
            }
        }
    }
    Ok(None)
}

fn add4(cx: &mut Rewriter<'_>, id: NodeId) -> Result<Option<NodeId>, LowerError> {
    let Some([x, y]) = cx.operands(id) else { return Ok(None) };
    let add = |id: NodeId| cx.matches::<2>(id, math::ADD);
    let terms = match (add(x), add(y)) {
        (Some([a, b]), Some([c, d])) => Some([a, b, c, d]),
        (Some([ab, c]), None) => add(ab).map(|[a, b]| [a, b, c, y]),
        (None, Some([b, cd])) => add(cd).map(|[c, d]| [x, b, c, d]),
        (None, None) => None,
    };
    let Some(terms) = terms else { return Ok(None) };
    match cx.draft().qtype_of(id).is_optional() {
        true => Ok(None),
        false => Ok(Some(cx.make(math::ADD4, &terms, id)?)),
    }
}

fn contract(cx: &mut Rewriter<'_>, id: NodeId) -> Result<Option<NodeId>, LowerError> {
    let Some([x, y]) = cx.operands(id) else { return Ok(None) };
    let is_float =
        matches!(cx.draft().qtype_of(id).scalar_inside(), Some(ScalarType::Float32 | ScalarType::Float64));
    let is_difference = cx.matches::<2>(id, math::SUBTRACT).is_some();
    let product = |id: NodeId| cx.matches::<2>(id, math::MULTIPLY);
    let (a, b, c) = match (product(x), product(y)) {
        _ if !is_float => return Ok(None),
        (Some([a, b]), _) if is_difference => (a, b, cx.make(math::NEG, &[y], id)?),
        (Some([a, b]), _) => (a, b, y),
        (None, Some([a, b])) if is_difference => (cx.make(math::NEG, &[a], id)?, b, x),
        (None, Some([a, b])) => (a, b, x),
        (None, None) => return Ok(None),
    };
    Ok(Some(cx.make(math::FMA, &[a, b, c], id)?))
}
