//! Recorded calls: 530 calls of 304 functions, with what CPython and Numba gave.
//!
//! | agreement of the two | expected |
//! | --- | --- |
//! | `exact` | CPython's value and type, floats within 4 ulp; reductions of `prange` within 1e-12 |
//! | `value_equal_type_differs`, `close` | CPython's value |
//! | `both_raise_same`, `only_cpython_raises` | CPython's class of error |
//! | `differs` | CPython's value; or the class in [`RAISES`], and Numba's value with wrapping integers and numpy's errors |
//! | `numba_compile_error` | CPython's value or class, or a refusal with a rule and a line |
//!
//! Arrays after the call are compared too. Every call runs under all [laws](crate::function::laws), with both
//! sets of options.

use crate::function::{Outcome, outcome};
use crate::support::oracle;
use cembra::function::{FunctionOptions, Overflow};
use serde_json::Value as Json;
use std::collections::BTreeMap;

/// Calls that lead to something else, by function, or by function and number of the call; and why.
/// None of them may give a wrong value: they are refused, or raise.
const EXCLUDED: &[(&str, &str)] = &[
    ("mixed.complex_simple", "complex numbers are outside"),
    ("promote.int_then_complex", "complex numbers are outside"),
];

/// Calls of `differs` where Numba's value is not given with wrapping integers and numpy's errors; and why.
const EXCLUDED_NUMBA: &[(&str, &str)] =
    &[("mixed.typed_uint64_int64", "integers beyond 64 bits are refused as arguments")];

/// Functions whose calls in `differs` raise by default, and with what.
const RAISES: &[(&str, &str)] = &[
    ("arith_int.overflow_add", "OverflowError"),
    ("arith_int.overflow_mul", "OverflowError"),
    ("arith_int.neg_min", "OverflowError"),
    ("arith_int.abs_min", "OverflowError"),
    ("arith_int.pow_int_int", "OverflowError"),
    ("arith_int.pow_const_two", "OverflowError"),
    ("arith_int.shifts", "OverflowError"),
    ("arith_int.shift_large", "OverflowError"),
    ("arith_int.big_literal", "OverflowError"),
    ("arith_int.factorial_overflow", "OverflowError"),
    ("arith_int.pow_negative_exp", "ValueError"),
    ("arith_float.pow_float_neg_base_frac", "ValueError"),
    ("mixed.typed_uint64_int64", "TypeError"),
];

/// A recorded call.
struct Call<'c> {
    /// Name of the function.
    id: &'c str,
    number: usize,
    source: &'c str,
    entry: &'c str,
    run: &'c Json,
}

impl Call<'_> {
    fn name(&self) -> String {
        format!("{}#{}", self.id, self.number)
    }

    fn agreement(&self) -> &str {
        self.run["agreement"].as_str().expect("a text")
    }

    /// What a table says of the call.
    fn find<'t>(&self, table: &'t [(&str, &'t str)]) -> Option<&'t str> {
        let name = self.name();
        table.iter().find(|row| row.0 == self.id || row.0 == name).map(|row| row.1)
    }

    fn call(&self, options: &FunctionOptions) -> Outcome {
        outcome(self.source, self.entry, &self.run["args"], options)
    }
}

/// Calls `visit` with every recorded call.
fn each_call(cases: &Json, mut visit: impl FnMut(&Call<'_>)) {
    for case in cases.as_array().expect("a list of functions") {
        let text = |name: &str| case[name].as_str().expect("a text");
        for (number, run) in case["runs"].as_array().expect("a list of calls").iter().enumerate() {
            visit(&Call { id: text("id"), number, source: text("source"), entry: text("entry"), run });
        }
    }
}

#[test]
fn recorded_calls_give_what_cpython_gave() {
    let cases = oracle("numba_ir/cases.json");
    let (mut right, mut excluded, mut wrong) = (0, 0, Vec::new());
    let mut counts: BTreeMap<(String, &str), u32> = BTreeMap::new();
    let options = FunctionOptions::default();
    each_call(&cases, |call| {
        let found = call.call(&options);
        *counts.entry((call.agreement().to_owned(), ending(call, &found))).or_default() += 1;
        match (is_expected(call, &found), call.find(EXCLUDED)) {
            (true, None) => right += 1,
            (false, Some(_)) if is_harmless(&found) => excluded += 1,
            (true, Some(reason)) => wrong.push(format!("{} is met: not so that {reason}", call.name())),
            (false, _) => wrong.push(difference(call, &call.run["cpython"], &found)),
        }
    });
    assert!(wrong.is_empty(), "{} of 530 are wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!((right, excluded), (528, 2));
    let counts: Vec<(&str, &str, u32)> =
        counts.iter().map(|((agreement, ending), count)| (&**agreement, *ending, *count)).collect();
    assert_eq!(counts, ENDINGS);
}

/// How the calls end, by what CPython and Numba agree on: 411 of 413 values, 32 errors; of those where the two differ 8 values,
/// 23 errors and a refusal; 53 that Numba does not compile.
const ENDINGS: &[(&str, &str, u32)] = &[
    ("both_raise_same", "CPython's class", 19),
    ("close", "CPython's value", 1),
    ("differs", "CPython's value", 8),
    ("differs", "a refusal", 1),
    ("differs", "another class", 23),
    ("exact", "CPython's value", 399),
    ("exact", "a refusal", 2),
    ("numba_compile_error", "CPython's class", 28),
    ("numba_compile_error", "CPython's value", 13),
    ("numba_compile_error", "a refusal", 12),
    ("only_cpython_raises", "CPython's class", 13),
    ("value_equal_type_differs", "CPython's value", 11),
];

/// How a call ended, beside what CPython did.
fn ending(call: &Call<'_>, found: &Outcome) -> &'static str {
    let cpython = &call.run["cpython"];
    match found {
        Outcome::Returned { .. } if gives(cpython, found, tolerance(call)) => "CPython's value",
        Outcome::Returned { .. } => "another value",
        _ if cpython["outcome"] != "return" && found.class() == cpython["exc"].as_str() => "CPython's class",
        Outcome::Raised(_) => "another class",
        Outcome::Refused(_) => "a refusal",
    }
}

#[test]
fn wrapping_calls_give_what_numba_gave() {
    let cases = oracle("numba_ir/cases.json");
    let (mut right, mut wrong) = (0, Vec::new());
    let options =
        FunctionOptions { overflow: Overflow::Wrap, numpy_errors: true, ..FunctionOptions::default() };
    each_call(&cases, |call| {
        let found = call.call(&options);
        if call.agreement() != "differs" || call.find(RAISES).is_none() {
            return;
        }
        match (gives(&call.run["numba"], &found, tolerance(call)), call.find(EXCLUDED_NUMBA)) {
            (true, None) => right += 1,
            (false, Some(_)) if is_harmless(&found) => {}
            (true, Some(reason)) => wrong.push(format!("{} is met: not so that {reason}", call.name())),
            (false, _) => wrong.push(difference(call, &call.run["numba"], &found)),
        }
    });
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!(right, 23, "calls that give Numba's value");
}

/// Rows of tables that stand for nothing are found.
#[test]
fn tables_name_what_is_recorded() {
    let cases = oracle("numba_ir/cases.json");
    let mut names = Vec::new();
    each_call(&cases, |call| names.extend([call.id.to_owned(), call.name()]));
    assert_eq!(names.len(), 2 * 530);
    for (name, _) in EXCLUDED.iter().chain(EXCLUDED_NUMBA).chain(RAISES) {
        assert!(names.iter().any(|known| known == name), "there is no call {name}");
    }
}

fn is_expected(call: &Call<'_>, found: &Outcome) -> bool {
    let cpython = &call.run["cpython"];
    let as_cpython = || match cpython["outcome"].as_str() {
        Some("return") => gives(cpython, found, tolerance(call)),
        _ => found.class() == cpython["exc"].as_str(),
    };
    match call.agreement() {
        "exact" | "value_equal_type_differs" | "close" | "both_raise_same" | "only_cpython_raises" => {
            as_cpython()
        }
        "differs" => match call.find(RAISES) {
            Some(class) => found.class() == Some(class),
            None => as_cpython(),
        },
        "numba_compile_error" => as_cpython() || is_located_refusal(found),
        other => panic!("{}: no rule for {other}", call.name()),
    }
}

/// A refusal that says which rule, and where.
fn is_located_refusal(found: &Outcome) -> bool {
    match found {
        Outcome::Refused(complaint) => complaint.class != "SystemError" && complaint.line.is_some(),
        _ => false,
    }
}

/// No value.
fn is_harmless(found: &Outcome) -> bool {
    !matches!(found, Outcome::Returned { .. })
}

fn difference(call: &Call<'_>, expected: &Json, found: &Outcome) -> String {
    format!(
        "{} ({})\n  expected {expected}\n  found {found:?}\n{}",
        call.name(),
        call.agreement(),
        call.source
    )
}

/// How far values may be from recorded ones.
#[derive(Clone, Copy)]
pub struct Tolerance {
    /// Relative, besides 4 ulp.
    pub relative: f64,
    /// True if the types are the same; else `True`, `1` and `1.0` are one value.
    pub equal_types: bool,
}

fn tolerance(call: &Call<'_>) -> Tolerance {
    let relative = if call.id.starts_with("prange.") { 1e-12 } else { 0.0 };
    Tolerance { relative, equal_types: call.agreement() == "exact" }
}

/// True if the outcome is the recorded value and the recorded arrays.
pub fn gives(recorded: &Json, found: &Outcome, tolerance: Tolerance) -> bool {
    let Outcome::Returned { value, arrays } = found else { return false };
    let none = Vec::new();
    let expected = recorded["arrays_after"].as_array().unwrap_or(&none);
    same(&recorded["value"], value, tolerance)
        && (expected.is_empty() || expected.len() == arrays.len())
        && expected.iter().zip(arrays).all(|(expected, found)| same(expected, found, tolerance))
}

/// Equal values in the form of recorded calls.
fn same(expected: &Json, found: &Json, tolerance: Tolerance) -> bool {
    match (kind(expected), kind(found)) {
        ("array", "array") => {
            ["dtype", "shape"].iter().all(|key| expected[key] == found[key])
                && all_same(&expected["data"], &found["data"], |e, f| same_scalar(e, f, tolerance))
        }
        ("tuple", "tuple") => all_same(&expected["v"], &found["v"], |e, f| same(e, f, tolerance)),
        ("none", "none") => true,
        ("bool" | "int" | "float", "bool" | "int" | "float") => {
            let same_type = kind(expected) == kind(found) || !tolerance.equal_types;
            same_type && same_scalar(&expected["v"], &found["v"], tolerance)
        }
        _ => false,
    }
}

fn kind(value: &Json) -> &str {
    match value["t"].as_str().unwrap_or_default() {
        "list" => "tuple",
        "float32" | "float64" => "float",
        name if name.starts_with("int") || name.starts_with("uint") => "int",
        other => other,
    }
}

fn all_same(expected: &Json, found: &Json, same: impl Fn(&Json, &Json) -> bool) -> bool {
    match (expected.as_array(), found.as_array()) {
        (Some(e), Some(f)) => e.len() == f.len() && e.iter().zip(f).all(|(e, f)| same(e, f)),
        _ => false,
    }
}

fn same_scalar(expected: &Json, found: &Json, tolerance: Tolerance) -> bool {
    let text = |json: &Json| match json {
        Json::String(text) => text.clone(),
        Json::Bool(value) => u8::from(*value).to_string(),
        other => other.to_string(),
    };
    let (expected, found) = (text(expected), text(found));
    if expected == found {
        return true;
    }
    match (expected.parse::<f64>(), found.parse::<f64>()) {
        // Integers are equal or not, however near they are.
        _ if expected.parse::<i64>().is_ok() && found.parse::<i64>().is_ok() => false,
        (Ok(e), Ok(f)) if e.is_finite() && f.is_finite() => {
            let size = e.abs().max(f.abs());
            let ulp = f64::from_bits(size.to_bits() + 1) - size;
            (e - f).abs() <= (4.0 * ulp).max(tolerance.relative * size)
        }
        (Ok(e), Ok(f)) => e == f || (e.is_nan() && f.is_nan()),
        _ => false,
    }
}
