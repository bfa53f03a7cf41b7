//! `bool.*`: truth values with three-valued (Kleene) logic on optionals.
//!
//! `bool` comparisons give BOOLEAN and propagate a missing operand; their `core` namesakes give a
//! presence mask.

use crate::builtins::recipes;
use crate::layout::access::Bytes;
use crate::operator::facts::{Facts, Linear};
use crate::operator::recipe::Recipe;
use crate::operator::{Family, Overload};
use crate::strip::{Comparison, List, Term};
use crate::value::qtype::{BOOLEAN, BYTES, TEXT};
use crate::value::{QType, ScalarType};

/// Name of `bool.equal`.
pub const EQUAL: &str = "bool.equal";
/// Name of `bool.less`.
pub const LESS: &str = "bool.less";
/// Name of `bool.less_equal`.
pub const LESS_EQUAL: &str = "bool.less_equal";
/// Name of `bool.logical_and`.
pub const LOGICAL_AND: &str = "bool.logical_and";
/// Name of `bool.logical_if`.
pub const LOGICAL_IF: &str = "bool.logical_if";
/// Name of `bool.logical_not`.
pub const LOGICAL_NOT: &str = "bool.logical_not";
/// Name of `bool.logical_or`.
pub const LOGICAL_OR: &str = "bool.logical_or";
/// Name of `bool.not_equal`.
pub const NOT_EQUAL: &str = "bool.not_equal";

/// The rows of this namespace.
pub fn rows() -> Vec<Family> {
    vec![
        comparison(
            EQUAL,
            |l, x| recipes::compared(l, Comparison::Equal, x),
            "True if equal.",
            |o| o.is_eq(),
            |l, r| l == r,
            |l, r| l == r,
        ),
        comparison(
            NOT_EQUAL,
            |l, x| recipes::compared(l, Comparison::NotEqual, x),
            "True if not equal.",
            |o| o.is_ne(),
            |l, r| l != r,
            |l, r| l != r,
        ),
        comparison(
            LESS,
            |l, x| recipes::compared(l, Comparison::Less, x),
            "True if x is below y.",
            |o| o.is_lt(),
            |l, r| l < r,
            |l, r| l < r,
        ),
        comparison(
            LESS_EQUAL,
            |l, x| recipes::compared(l, Comparison::LessEqual, x),
            "True if x is not above y.",
            |o| o.is_le(),
            |l, r| l <= r,
            |l, r| l <= r,
        ),
        Family::new(LOGICAL_NOT, &["x"], "True becomes false and false true.")
            .cells(|l, x| Some(l.not(x[0])))
            .unary(|x: bool| !x),
        Family::new(
            LOGICAL_AND,
            &["x", "y"],
            "True if both are; false if one is, even if the other is missing.",
        )
        .recipe(Recipe::Own(recipes::logical_and))
        .exact_binary(|x: bool, y: bool| x & y)
        .exact_binary(|x: Option<bool>, y: Option<bool>| match (x, y) {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (Some(true), Some(true)) => Some(true),
            _ => None,
        }),
        Family::new(
            LOGICAL_OR,
            &["x", "y"],
            "False if both are; true if one is, even if the other is missing.",
        )
        .recipe(Recipe::Own(recipes::logical_or))
        .exact_binary(|x: bool, y: bool| x | y)
        .exact_binary(|x: Option<bool>, y: Option<bool>| match (x, y) {
            (Some(true), _) | (_, Some(true)) => Some(true),
            (Some(false), Some(false)) => Some(false),
            _ => None,
        }),
        Family::new(
            LOGICAL_IF,
            &["condition", "true_value", "false_value", "missing_value"],
            "One of three values by a condition that may be missing. All three are evaluated.",
        )
        .with_facts(Facts::pointwise().with_linear(Linear::In(&[1, 2, 3])))
        .on_demand(logical_if),
    ]
}

/// A comparison row; the three functions say the same for an ordering, FLOAT32 and FLOAT64.
fn comparison(
    name: &str,
    cells: fn(&mut List, &[Term]) -> Option<Term>,
    meaning: &str,
    ordering: impl Fn(std::cmp::Ordering) -> bool + Copy + Send + Sync + 'static,
    f32s: impl Fn(f32, f32) -> bool + Copy + Send + Sync + 'static,
    f64s: impl Fn(f64, f64) -> bool + Copy + Send + Sync + 'static,
) -> Family {
    Family::new(name, &["x", "y"], meaning)
        .test(move |x: (), y: ()| ordering(x.cmp(&y)))
        .cells(cells)
        .test(move |x: bool, y: bool| ordering(x.cmp(&y)))
        .test(move |x: i32, y: i32| ordering(x.cmp(&y)))
        .test(move |x: i64, y: i64| ordering(x.cmp(&y)))
        .test(f32s)
        .test(f64s)
        .general(&[TEXT, TEXT], BOOLEAN, move |call| {
            let result = ordering(call.text(0).cmp(call.text(1)));
            call.set::<bool>(result);
            Ok(())
        })
        .general(&[BYTES, BYTES], BOOLEAN, move |call| {
            let result = ordering(call.get::<Bytes>(0).cmp(call.get::<Bytes>(1)));
            call.set::<bool>(result);
            Ok(())
        })
}

/// `logical_if(OPTIONAL_BOOLEAN or BOOLEAN, T, T, T) -> T` for any type T.
fn logical_if(family: &Family, args: &[QType]) -> Option<Overload> {
    let [condition, value, second, third] = args else { return None };
    let boolean = condition.scalar() == Some(ScalarType::Boolean);
    if !boolean || second != value || third != value {
        return None;
    }
    Some(family.make_general(args, value.clone(), |call| {
        let condition = match call.qtype(0).is_optional() {
            true => call.get::<Option<bool>>(0),
            false => Some(call.get::<bool>(0)),
        };
        call.copy(match condition {
            Some(true) => 1,
            Some(false) => 2,
            None => 3,
        })
    }))
}
