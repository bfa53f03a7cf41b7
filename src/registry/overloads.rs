//! Overload choice: the closest overload of a machine operator for argument types.
//!
//! An overload fits if every argument casts to its parameter unasked. Exact types win; otherwise the
//! overload whose every parameter casts to that of all other fitting ones. Two equally close overloads
//! are an error.
//!
//! WEAK_FLOAT is stored as FLOAT64: an overload on FLOAT64 is also one on WEAK_FLOAT throughout, so
//! weak numbers stay weak among themselves.

use crate::registry::infer::{InferContext, Resolution, TypeError};
use cembra_vm::builtins::nd::shape::TO_ND;
use cembra_vm::operator::lifting::Each;
use cembra_vm::operator::{Family, Overload};
use cembra_vm::value::qtype::OPTIONAL_UNIT;
use cembra_vm::value::{QType, ScalarType};
use std::sync::Arc;

/// The closest overload of a family.
///
/// # Errors
/// None fits, or several are equally close.
pub fn choose(family: &Family, cx: &InferContext<'_>) -> Result<Resolution, TypeError> {
    // An overload of these very arrays comes before one of their rows.
    if let Some(exact) = candidates(family).find(|candidate| candidate.takes(cx.types, |a, b| a == b)) {
        return Ok(exact.resolution());
    }
    let has = |is_array: fn(&QType) -> bool| cx.types.iter().any(is_array);
    let (has_rows, has_axes) = (has(|t| t.array().is_some()), has(|t| t.nd().is_some()));
    match Each::of(cx.types).filter(|_| !(has_rows && has_axes)) {
        Some((each, single)) => choose_for_each(family, cx, each, &single),
        // Arrays of several families.
        None if has_rows || has_axes => Err(TypeError::NoCommonType { types: cx.types.to_vec() }),
        None => choose_for(family, cx, cx.types),
    }
}

/// The overload of the rows or elements of arrays; scalars beside them stay scalars. Elements are always there, so an
/// overload with rules for missing values is none of theirs.
fn choose_for_each(
    family: &Family,
    cx: &InferContext<'_>,
    each: Each,
    single: &[QType],
) -> Result<Resolution, TypeError> {
    let chosen = choose_for(family, cx, single)?;
    let optional = |qtype: &QType| qtype.is_optional() || qtype.scalar() == Some(ScalarType::Unit);
    if each == Each::Element && chosen.args.iter().chain([&chosen.result]).any(optional) {
        return Err(no_missing_values(cx));
    }
    let cast = |(given, single): (&QType, &QType)| given.with_scalar(single.scalar()?);
    let args: Option<Vec<QType>> = cx.types.iter().zip(&chosen.args).map(cast).collect();
    let result = chosen.result.scalar().and_then(|element| each.array_of(element, cx.types));
    args.zip(result).map(|(args, result)| Resolution { args, result }).ok_or_else(|| no_overload(cx))
}

/// The error of an operator that makes or takes a mask, with the name of the one that makes truth values.
pub(super) fn no_missing_values(cx: &InferContext<'_>) -> TypeError {
    let instead = cx.facts.truths().map(Arc::from);
    TypeError::NdPresence { operator: cx.operator.clone(), instead }
}

fn choose_for(family: &Family, cx: &InferContext<'_>, types: &[QType]) -> Result<Resolution, TypeError> {
    let mut fitting: Vec<Resolution> = Vec::new();
    for candidate in candidates(family) {
        if candidate.takes(types, |given, parameter| given == parameter) {
            return Ok(candidate.resolution());
        }
        if candidate.takes(types, |given, parameter| cx.dialect.casts(given, parameter)) {
            fitting.push(candidate.resolution());
        }
    }
    let closest = |c: &&Resolution| fitting.iter().all(|other| is_closer(cx, c, other));
    match fitting.iter().find(closest) {
        Some(choice) => Ok(choice.clone()),
        None if fitting.is_empty() => Err(explain(family, cx, types)),
        None => Err(ambiguous(cx, &fitting)),
    }
}

fn is_closer(cx: &InferContext<'_>, a: &Resolution, b: &Resolution) -> bool {
    a.args.iter().zip(&b.args).all(|(a, b)| cx.dialect.casts(a, b))
}

/// An overload as listed, or with FLOAT64 replaced by WEAK_FLOAT.
struct Candidate<'f> {
    overload: &'f Overload,
    is_weak: bool,
}

impl Candidate<'_> {
    /// True if there is a parameter for each type, and a relation holds between the two.
    fn takes(&self, types: &[QType], relation: impl Fn(&QType, &QType) -> bool) -> bool {
        let parameters = self.overload.args();
        parameters.len() == types.len()
            && types.iter().zip(parameters).all(|(given, parameter)| match self.is_weak {
                true => relation(given, &weaken(parameter)),
                false => relation(given, parameter),
            })
    }

    fn resolution(&self) -> Resolution {
        let (args, result) = (self.overload.args(), self.overload.result());
        match self.is_weak {
            true => Resolution { args: args.iter().map(weaken).collect(), result: weaken(result) },
            false => Resolution { args: args.to_vec(), result: result.clone() },
        }
    }
}

/// The listed overloads, and those on FLOAT64 once more on WEAK_FLOAT.
fn candidates(family: &Family) -> impl Iterator<Item = Candidate<'_>> {
    let listed = || family.overloads().iter().map(|overload| &**overload);
    let strong = listed().map(|overload| Candidate { overload, is_weak: false });
    strong.chain(listed().filter(has_weak_form).map(|overload| Candidate { overload, is_weak: true }))
}

fn is_double(qtype: &QType) -> bool {
    qtype.scalar() == Some(ScalarType::Float64)
}

/// True if all arguments are FLOAT64 or masks and one is FLOAT64.
fn has_weak_form(overload: &&Overload) -> bool {
    let args = overload.args();
    args.iter().all(|t| is_double(t) || *t == OPTIONAL_UNIT) && args.iter().any(is_double)
}

fn weaken(qtype: &QType) -> QType {
    let weak = is_double(qtype).then(|| qtype.with_scalar(ScalarType::WeakFloat)).flatten();
    weak.unwrap_or_else(|| qtype.clone())
}

fn ambiguous(cx: &InferContext<'_>, fitting: &[Resolution]) -> TypeError {
    let minimal = |c: &&Resolution| fitting.iter().all(|o| o == *c || !is_closer(cx, o, c));
    let printed = |c: &Resolution| {
        let args: Vec<String> = c.args.iter().map(QType::to_string).collect();
        format!("({}) -> {}", args.join(","), c.result)
    };
    TypeError::Ambiguous {
        operator: cx.operator.clone(),
        types: cx.types.to_vec(),
        candidates: fitting.iter().filter(minimal).map(printed).collect(),
    }
}

/// Why no overload fits: the first argument that no overload takes in its place, or else that the
/// arguments do not fit together.
fn explain(family: &Family, cx: &InferContext<'_>, types: &[QType]) -> TypeError {
    let arity = |o: &&Arc<Overload>| o.args().len() == cx.types.len();
    for (index, actual) in types.iter().enumerate() {
        let accepted: Vec<QType> =
            family.overloads().iter().filter(arity).map(|o| o.args()[index].clone()).collect();
        if !accepted.iter().any(|t| cx.dialect.casts(actual, t)) {
            return match kind(&accepted) {
                Some(expected) if takes_unless_missing(cx, actual, &accepted) => {
                    cx.expected(format!("{expected} without missing rows, such as {TO_ND} makes"), index)
                }
                Some(expected) => cx.expected(expected, index),
                None => no_overload(cx),
            };
        }
    }
    // A common type is missing only where the operator wants one type throughout.
    let uniform = |o: &Arc<Overload>| o.args().windows(2).all(|pair| pair[0].scalar() == pair[1].scalar());
    match cx.types.len() > 1 && family.overloads().iter().filter(arity).all(uniform) {
        true => TypeError::NoCommonType { types: cx.types.to_vec() },
        false => no_overload(cx),
    }
}

/// True for the row of an array, which may be missing, where a value that is there would do.
fn takes_unless_missing(cx: &InferContext<'_>, row: &QType, accepted: &[QType]) -> bool {
    let QType::Optional(scalar) = *row else { return false };
    let has_rows = cx.types.iter().any(|t| t.array().is_some());
    has_rows && accepted.iter().any(|t| cx.dialect.casts(&QType::Scalar(scalar), t))
}

fn no_overload(cx: &InferContext<'_>) -> TypeError {
    TypeError::NoOverload { operator: cx.operator.clone(), types: cx.types.to_vec() }
}

/// What a set of accepted types has in common, in the plural.
fn kind(accepted: &[QType]) -> Option<&'static str> {
    use ScalarType::{Boolean, Bytes, Text, Unit};
    let all = |test: fn(ScalarType) -> bool| accepted.iter().all(|t| t.scalar().is_some_and(test));
    type Test = fn(ScalarType) -> bool;
    let kinds: [(&'static str, Test); 8] = [
        ("units", |t| t == Unit),
        ("booleans", |t| t == Boolean),
        ("integers", ScalarType::is_integer),
        ("numerics", ScalarType::is_numeric),
        ("numerics or booleans", |t| t.is_numeric() || t == Boolean),
        ("texts or array of texts", |t| t == Text),
        ("texts or byte strings", |t| t == Text || t == Bytes),
        ("scalars", |_| true),
    ];
    match accepted.is_empty() {
        true => None,
        false => kinds.into_iter().find(|(_, test)| all(*test)).map(|(name, _)| name),
    }
}
