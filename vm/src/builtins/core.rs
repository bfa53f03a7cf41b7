//! `core.*`: copies, presence, comparison to masks, selection, tuples.
//!
//! A *mask* is an OPTIONAL_UNIT: present or missing. Comparisons give masks, `presence_and` applies
//! one to a value, `presence_or` replaces a missing value. Operators that accept any type make their
//! overloads on demand: scalar code for plain types, a general kernel for texts, tuples and sequences.

use crate::array::block_select;
use crate::array::recipe::Recipe;
use crate::builtins::nd::shape;
use crate::builtins::strings::compare::compared_rows;
use crate::builtins::{bools, recipes};
use crate::layout::SlotType;
use crate::layout::access::{Bytes, Text};
use crate::operator::facts::{Facts, Linear};
use crate::operator::fusible::{Fusible, Order};
use crate::operator::scalar::{self, Typed};
use crate::operator::{Family, Kernel, KernelCall, Overload};
use crate::strip::Comparison;
use crate::value::qtype::{OPTIONAL_UNIT, TEXT};
use crate::value::tuple::TupleType;
use crate::value::{Fault, QType, ScalarType};

/// Name of `core._copy`.
pub const COPY: &str = "core._copy";
/// Name of `core.equal`.
pub const EQUAL: &str = "core.equal";
/// Name of `core.get_optional_value`.
pub const GET_OPTIONAL_VALUE: &str = "core.get_optional_value";
/// Name of `core.has._array`.
pub const HAS_ARRAY: &str = "core.has._array";
/// Name of `core.less`.
pub const LESS: &str = "core.less";
/// Name of `core.less_equal`.
pub const LESS_EQUAL: &str = "core.less_equal";
/// Name of `core.make_tuple`.
pub const MAKE_TUPLE: &str = "core.make_tuple";
/// Name of `core.not_equal`.
pub const NOT_EQUAL: &str = "core.not_equal";
/// Name of `core.presence_and`.
pub const PRESENCE_AND: &str = "core.presence_and";
/// Name of `core._presence_and_or`.
pub const PRESENCE_AND_OR: &str = "core._presence_and_or";
/// Name of `core.presence_not`.
pub const PRESENCE_NOT: &str = "core.presence_not";
/// Name of `core.presence_or`.
pub const PRESENCE_OR: &str = "core.presence_or";
/// Name of `core.to_optional._scalar`.
pub const TO_OPTIONAL_SCALAR: &str = "core.to_optional._scalar";
/// Name of `core.where`.
pub const WHERE: &str = "core.where";

/// Adds the comparison of two texts or bytes, present or optional; a missing operand gives a missing
/// mask.
macro_rules! string_comparison {
    ($row:expr, $string:ident, $operator:tt) => {{
        let (scalar, optional) = ($string::qtype(), <Option<$string>>::qtype());
        let row = $row.over_rows(compared_rows!($string, $operator, |holds: bool| holds.then_some(())));
        row.exact_general(&[scalar.clone(), scalar], OPTIONAL_UNIT, move |call| {
            let present = call.get::<$string>(0) $operator call.get::<$string>(1);
            call.set::<Option<()>>(present.then_some(()));
            Ok(())
        })
        .exact_general(&[optional.clone(), optional], OPTIONAL_UNIT, move |call| {
            let operands = call.get::<Option<$string>>(0).zip(call.get::<Option<$string>>(1));
            let mask = operands.filter(|(x, y)| x $operator y).map(|_| ());
            call.set::<Option<()>>(mask);
            Ok(())
        })
    }};
}

/// A comparison: of values in their order, and of floats as they compare.
macro_rules! comparison {
    ($name:ident, $order:ident, $truths:expr, $meaning:literal, $ordering:ident, $operator:tt) => {{
        let row = Family::new($name, &["x", "y"], $meaning)
            .predicate(|x: (), y: ()| x.cmp(&y).$ordering())
            .recipe(Recipe::Own(|l, x| recipes::mask(l, Comparison::$order, x)))
            .predicate(|x: bool, y: bool| x.cmp(&y).$ordering())
            .predicate(|x: i32, y: i32| x.cmp(&y).$ordering())
            .fusible(Fusible::IntegerOrder(Order::$order))
            .predicate(|x: i64, y: i64| x.cmp(&y).$ordering())
            .predicate(|x: f32, y: f32| x $operator y)
            .fusible(Fusible::FloatOrder(Order::$order))
            .predicate(|x: f64, y: f64| x $operator y);
        let row = string_comparison!(row, Text, $operator);
        string_comparison!(row, Bytes, $operator).truths($truths)
    }};
}

/// The rows of this namespace.
pub fn rows() -> Vec<Family> {
    vec![
        Family::new(COPY, &["x"], "The value itself, in another slot.")
            .recipe(Recipe::Own(recipes::same))
            .narrow()
            .on_demand(copy),
        Family::new(TO_OPTIONAL_SCALAR, &["x"], "The value as a present optional.")
            .recipe(Recipe::Own(recipes::same))
            .on_demand(to_optional),
        Family::new(GET_OPTIONAL_VALUE, &["x"], "The value of an optional. Raises if it is missing.")
            .raises()
            .on_demand(get_optional_value),
        Family::new(HAS_ARRAY, &["x"], "The rows of the array that are present, as masks.")
            .recipe(Recipe::Own(recipes::presence))
            .on_demand(rows_present),
        Family::new(PRESENCE_NOT, &["x"], "Present if the mask is missing, and missing if it is present.")
            .recipe(Recipe::Own(recipes::presence_not))
            .exact_unary(|x: Option<()>| if x.is_none() { Some(()) } else { None }),
        Family::new(PRESENCE_AND, &["x", "y"], "x where the mask y is present, else missing.")
            .recipe(Recipe::Own(recipes::presence_and))
            .over_rows(|call| choose_strings(call, Some(1), 0, None, |mask, _| mask))
            .on_demand(presence_and),
        Family::new(PRESENCE_OR, &["x", "y"], "x if it is present, else y.")
            .recipe(Recipe::Own(recipes::presence_or))
            .over_rows(|call| choose_strings(call, None, 0, Some(1), |_, first| first))
            .on_demand(presence_or),
        Family::new(
            PRESENCE_AND_OR,
            &["a", "c", "b"],
            "a if it is present and the mask c is, else b; made by the optimizer from (a & c) | b.",
        )
        .recipe(Recipe::Own(recipes::presence_and_or))
        .over_rows(|call| choose_strings(call, Some(1), 0, Some(2), |mask, first| mask & first))
        .on_demand(presence_and_or),
        comparison!(EQUAL, Equal, bools::EQUAL, "Present if equal; NaN equals nothing.", is_eq, ==),
        comparison!(NOT_EQUAL, NotEqual, bools::NOT_EQUAL, "Present if not equal.", is_ne, !=),
        comparison!(LESS, Less, bools::LESS, "Present if x is below y.", is_lt, <),
        comparison!(LESS_EQUAL, LessEqual, bools::LESS_EQUAL, "Present if x is not above y.", is_le, <=),
        Family::new(
            WHERE,
            &["condition", "true_branch", "false_branch"],
            "true_branch if the mask is present, else false_branch; this form has evaluated both.",
        )
        .recipe(Recipe::Own(recipes::select))
        .over_rows(|call| choose_strings(call, Some(0), 1, Some(2), |mask, _| mask))
        .with_facts(Facts::pointwise().with_linear(Linear::In(&[1, 2])).with_truths(shape::WHERE))
        .on_demand(select),
        Family::new(MAKE_TUPLE, &["*fields"], "A tuple of the values.").narrow().on_demand(make_tuple),
        Family::new(
            "core.with_assertion",
            &["value", "condition", "message"],
            "The value. Raises the message if the mask is missing.",
        )
        .raises()
        .harmless_with(1, 1)
        .on_demand(with_assertion),
    ]
}

/// Rows of texts or bytes, chosen as [`KernelCall::choose_strings`] says.
fn choose_strings(
    call: &mut KernelCall<'_>,
    mask: Option<usize>,
    first: usize,
    other: Option<usize>,
    takes_first: fn(u64, u64) -> u64,
) -> Result<(), Fault> {
    match call.result_type().element() {
        Some(ScalarType::Text) => call.choose_strings::<Text>(mask, first, other, takes_first),
        _ => call.choose_strings::<Bytes>(mask, first, other, takes_first),
    }
}

/// Evaluates `$body` with `$t` as the Rust type of a plain scalar; `None` for TEXT, BYTES and what no value is.
macro_rules! for_plain {
    ($scalar:expr, $t:ident => $body:expr) => {
        match $scalar {
            ScalarType::Unit => plain_arm!((), $t => $body),
            ScalarType::Boolean => plain_arm!(bool, $t => $body),
            ScalarType::Int32 => plain_arm!(i32, $t => $body),
            ScalarType::Int64 => plain_arm!(i64, $t => $body),
            ScalarType::Float32 => plain_arm!(f32, $t => $body),
            ScalarType::Float64 | ScalarType::WeakFloat => plain_arm!(f64, $t => $body),
            _ => None,
        }
    };
}

macro_rules! plain_arm {
    ($rust:ty, $t:ident => $body:expr) => {{
        type $t = $rust;
        Some($body)
    }};
}

/// An overload with scalar code where there is some, else with a general kernel.
fn either(
    family: &Family,
    code: Option<Typed>,
    args: &[QType],
    result: QType,
    general: impl Fn(&mut KernelCall<'_>) -> Result<(), Fault> + Send + Sync + 'static,
) -> Overload {
    match code {
        Some((args, result, kernel)) => family.make(args, result, Kernel::Scalar(kernel)),
        None => family.make_general(args, result, general),
    }
}

fn copy(family: &Family, args: &[QType]) -> Option<Overload> {
    let [x] = args else { return None };
    let code = match x {
        QType::Scalar(t) => for_plain!(t, T => scalar::unary(|x: T| x)),
        QType::Optional(t) => for_plain!(t, T => scalar::unary(|x: Option<T>| x)),
        _ => None,
    };
    Some(either(family, code, args, x.clone(), |call| call.copy(0)))
}

fn to_optional(family: &Family, args: &[QType]) -> Option<Overload> {
    let [QType::Scalar(t)] = args else { return None };
    let code = for_plain!(t, T => scalar::unary(|x: T| Some(x)));
    Some(either(family, code, args, QType::Optional(*t), |call| call.copy_as_present(0)))
}

/// Of an optional, whose code goes over rows, or of an array of texts.
fn rows_present(family: &Family, args: &[QType]) -> Option<Overload> {
    if let [QType::Optional(t)] = args {
        let (args, result, kernel) = for_plain!(t, T => scalar::unary(|x: Option<T>| x.map(|_| ())))?;
        return Some(family.make(args, result, Kernel::Scalar(kernel)));
    }
    let [QType::Array(t)] = args else { return None };
    if !matches!(t.element, ScalarType::Text | ScalarType::Bytes) {
        return None;
    }
    Some(family.make_general(args, QType::Array(t.of(ScalarType::Unit)), |call| {
        let rows = call.array(0);
        let mut out = call.rows_out(ScalarType::Unit, rows.len())?;
        if let Some(words) = rows.presence() {
            out.presence_mut()?.copy_from_slice(words);
        }
        Ok(())
    }))
}

fn get_optional_value(family: &Family, args: &[QType]) -> Option<Overload> {
    const MISSING: Fault = Fault::MissingValue { operator: GET_OPTIONAL_VALUE };
    let [QType::Optional(t)] = args else { return None };
    let code = for_plain!(t, T => scalar::unary(|x: Option<T>| x.ok_or(MISSING)));
    let scalar = *t;
    Some(either(family, code, args, QType::Scalar(scalar), move |call| {
        match scalar {
            ScalarType::Text => {
                let text = call.get::<Option<Text>>(0).ok_or(MISSING)?;
                call.set::<Text>(text);
            }
            _ => {
                let bytes = call.get::<Option<Bytes>>(0).ok_or(MISSING)?;
                call.set::<Bytes>(bytes);
            }
        }
        Ok(())
    }))
}

fn presence_and(family: &Family, args: &[QType]) -> Option<Overload> {
    let [x, mask] = args else { return None };
    if *mask != OPTIONAL_UNIT {
        return None;
    }
    let code = match x {
        QType::Scalar(t) => for_plain!(t, T => scalar::binary(|x: T, m: Option<()>| m.map(|()| x))),
        QType::Optional(t) => {
            for_plain!(t, T => scalar::binary(|x: Option<T>, m: Option<()>| if m.is_some() { x } else { None }))
        }
        _ => return None,
    };
    Some(either(family, code, args, x.to_optional()?, |call| {
        match (call.get::<Option<()>>(1).is_some() && call.is_present(0), call.qtype(0).is_optional()) {
            (false, _) => call.set_missing(),
            (true, true) => call.copy(0)?,
            (true, false) => call.copy_as_present(0)?,
        }
        Ok(())
    }))
}

fn presence_or(family: &Family, args: &[QType]) -> Option<Overload> {
    let [QType::Optional(t), y] = args else { return None };
    if y.scalar() != Some(*t) {
        return None;
    }
    let code = match y {
        QType::Scalar(_) => for_plain!(t, T => scalar::binary(|x: Option<T>, y: T| x.unwrap_or(y))),
        _ => for_plain!(t, T => scalar::binary(|x: Option<T>, y: Option<T>| x.or(y))),
    };
    Some(either(family, code, args, y.clone(), |call| {
        let chosen = if call.is_present(0) { 0 } else { 1 };
        copy_present(call, chosen)
    }))
}

fn presence_and_or(family: &Family, args: &[QType]) -> Option<Overload> {
    let [a, mask, b] = args else { return None };
    let t = a.scalar()?;
    if *mask != OPTIONAL_UNIT || b.scalar() != Some(t) {
        return None;
    }
    type M = Option<()>;
    let code = match (a, b) {
        (QType::Scalar(_), QType::Scalar(_)) => {
            for_plain!(t, T => scalar::ternary(|a: T, m: M, b: T| if m.is_some() { a } else { b }))
        }
        (QType::Scalar(_), QType::Optional(_)) => {
            for_plain!(t, T => scalar::ternary(|a: T, m: M, b: Option<T>| if m.is_some() { Some(a) } else { b }))
        }
        (QType::Optional(_), QType::Scalar(_)) => {
            for_plain!(t, T => scalar::ternary(|a: Option<T>, m: M, b: T| m.and(a).unwrap_or(b)))
        }
        _ => for_plain!(t, T => scalar::ternary(|a: Option<T>, m: M, b: Option<T>| m.and(a).or(b))),
    };
    Some(either(family, code, args, b.clone(), |call| {
        let chosen = if call.get::<Option<()>>(1).is_some() && call.is_present(0) { 0 } else { 2 };
        copy_present(call, chosen)
    }))
}

/// Copies an argument whose type may be the optional or the scalar form of the result's.
fn copy_present(call: &mut KernelCall<'_>, index: usize) -> Result<(), Fault> {
    match (call.qtype(index).is_optional(), call.result_type().is_optional()) {
        (false, true) => call.copy_as_present(index),
        (true, false) => call.copy_value_behind(index),
        _ => call.copy(index),
    }
}

fn select(family: &Family, args: &[QType]) -> Option<Overload> {
    let [condition, yes, no] = args else { return None };
    if *condition != OPTIONAL_UNIT || yes != no {
        return None;
    }
    type M = Option<()>;
    let code = match yes {
        QType::Scalar(t) => {
            let rows = block_select::select(*t);
            for_plain!(t, T => scalar::ternary_over(|m: M, a: T, b: T| if m.is_some() { a } else { b }, rows))
        }
        QType::Optional(t) => {
            let rows = block_select::select(*t);
            for_plain!(t, T => scalar::ternary_over(
                |m: M, a: Option<T>, b: Option<T>| if m.is_some() { a } else { b }, rows))
        }
        _ => None,
    };
    Some(either(family, code, args, yes.clone(), |call| {
        let chosen = if call.get::<Option<()>>(0).is_some() { 1 } else { 2 };
        call.copy(chosen)
    }))
}

fn make_tuple(family: &Family, args: &[QType]) -> Option<Overload> {
    let tuple = TupleType::new(args).ok()?;
    Some(family.make(args, QType::Tuple(tuple), Kernel::Assemble))
}

fn with_assertion(family: &Family, args: &[QType]) -> Option<Overload> {
    let [value, condition, message] = args else { return None };
    if *condition != OPTIONAL_UNIT || *message != TEXT {
        return None;
    }
    Some(family.make_general(args, value.clone(), |call| match call.get::<Option<()>>(1) {
        Some(()) => call.copy(0),
        None => Err(Fault::Assertion { message: call.text(2).to_owned() }),
    }))
}
