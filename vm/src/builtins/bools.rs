//! `bool.*`: truth values with three-valued (Kleene) logic on optionals.
//!
//! `bool` comparisons give BOOLEAN and propagate a missing operand; their `core` namesakes give a
//! presence mask.

use crate::array::recipe::Recipe;
use crate::builtins::recipes;
use crate::builtins::strings::compare::compared_rows;
use crate::layout::access::{Bytes, Text};
use crate::operator::facts::{Facts, Linear};
use crate::operator::{Family, Overload};
use crate::strip::Comparison;
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

/// A comparison: of values in their order, and of floats as they compare.
macro_rules! comparison {
    ($name:ident, $order:ident, $meaning:literal, $ordering:ident, $operator:tt) => {
        Family::new($name, &["x", "y"], $meaning)
            .test(|x: (), y: ()| x.cmp(&y).$ordering())
            .cells(|l, x| recipes::compared(l, Comparison::$order, x))
            .test(|x: bool, y: bool| x.cmp(&y).$ordering())
            .test(|x: i32, y: i32| x.cmp(&y).$ordering())
            .test(|x: i64, y: i64| x.cmp(&y).$ordering())
            .test(|x: f32, y: f32| x $operator y)
            .test(|x: f64, y: f64| x $operator y)
            .over_rows(compared_rows!(Text, $operator, |holds: bool| holds))
            .general(&[TEXT, TEXT], BOOLEAN, |call| {
                let result = call.text(0) $operator call.text(1);
                call.set::<bool>(result);
                Ok(())
            })
            .over_rows(compared_rows!(Bytes, $operator, |holds: bool| holds))
            .general(&[BYTES, BYTES], BOOLEAN, |call| {
                let result = call.get::<Bytes>(0) $operator call.get::<Bytes>(1);
                call.set::<bool>(result);
                Ok(())
            })
    };
}

/// The rows of this namespace.
pub fn rows() -> Vec<Family> {
    vec![
        comparison!(EQUAL, Equal, "True if equal.", is_eq, ==),
        comparison!(NOT_EQUAL, NotEqual, "True if not equal.", is_ne, !=),
        comparison!(LESS, Less, "True if x is below y.", is_lt, <),
        comparison!(LESS_EQUAL, LessEqual, "True if x is not above y.", is_le, <=),
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
