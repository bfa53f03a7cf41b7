//! Types of dictionaries and sets: keys are integers or floats, values numbers.

use super::calls::list_takes;
use super::rules::type_error;
use crate::function::error::FunctionProblem;
use crate::function::library::LibraryKind;
use crate::function::op::IndexPart;
use crate::function::types::{DictOf, FunctionType};
use cembra_vm::value::ScalarType;

fn unsupported(rule: &'static str, message: impl Into<String>, hint: &'static str) -> FunctionProblem {
    FunctionProblem::Unsupported { rule, message: message.into(), hint }
}

/// True for calls of the library whose types this file knows: those of dictionaries, and of others with one.
pub(super) fn has_rule(kind: LibraryKind, args: &[FunctionType]) -> bool {
    use LibraryKind::{AddKey, DictGet, IterationLength, ValueAt};
    matches!(kind, AddKey | DictGet | IterationLength | ValueAt)
        || matches!(args.first(), Some(FunctionType::Dict(_)))
}

/// Type of the result of such a call.
pub(super) fn type_of_call(
    kind: LibraryKind,
    args: &[FunctionType],
) -> Result<FunctionType, FunctionProblem> {
    use FunctionType::{Array, Bool, Dict, Int, Tuple};
    let missing = |name: &str| {
        let of = format!("'{}' object", args[0].python_name());
        FunctionProblem::Attribute { of, name: name.to_owned() }
    };
    match (kind, &args[0]) {
        (LibraryKind::IterationLength, Dict(DictOf { value: None, .. })) => Err(unsupported(
            "set-order",
            "a set has no order that is the same everywhere",
            "a dictionary keeps the order in which keys came in",
        )),
        (LibraryKind::IterationLength, Dict(_) | Tuple(_) | Array(_)) => Ok(Int),
        (LibraryKind::IterationLength, of) if of.is_text() => Err(text_parts()),
        (LibraryKind::IterationLength, of) => {
            Err(type_error(format!("'{}' object is not iterable", of.python_name())))
        }
        (LibraryKind::Element, Dict(dict)) => Ok(dict.keys().loaded()),
        (LibraryKind::ValueAt, Dict(DictOf { value: Some(_), .. })) => Ok(loaded_value(&args[0])),
        (LibraryKind::ValueAt, _) => Err(missing("values")),
        (LibraryKind::AddKey, Dict(dict @ DictOf { value: None, .. })) => {
            check_new_key(*dict, &args[1]).map(|()| FunctionType::None)
        }
        (LibraryKind::AddKey, _) => Err(missing("add")),
        (LibraryKind::DictGet, Dict(dict @ DictOf { value: Some(_), .. })) => {
            check_key(*dict, &args[1])?;
            let default = args.get(2).unwrap_or(&FunctionType::None);
            let joined = loaded_value(&args[0]).join(default);
            joined.ok_or_else(|| {
                let name = default.python_name();
                unsupported("dict-value", format!("a number or {name} from a dictionary"), "give a number")
            })
        }
        (LibraryKind::DictGet, _) => Err(missing("get")),
        (LibraryKind::Len, _) if args.len() == 1 => Ok(Int),
        (LibraryKind::ToBool, _) if args.len() == 1 => Ok(Bool),
        (LibraryKind::Contains, Dict(dict)) => check_key(*dict, &args[1]).map(|()| Bool),
        (LibraryKind::Min | LibraryKind::Max, Dict(dict)) if args.len() == 1 => Ok(dict.keys().loaded()),
        // Integers have the same sum in every order.
        (LibraryKind::Sum, Dict(dict)) if args.len() == 1 && dict.key == ScalarType::Int64 => Ok(Int),
        (_, of) => {
            let message = format!("a {} is no argument here", of.python_name());
            Err(unsupported("dictionary", message, "loop over it, or make a list: list(d)"))
        }
    }
}

/// Type of a value that has been found.
fn loaded_value(dict: &FunctionType) -> FunctionType {
    match dict {
        FunctionType::Dict(dict) => dict.values().map_or(FunctionType::None, |values| values.loaded()),
        _ => FunctionType::None,
    }
}

/// Type of `dict[key]`.
pub(super) fn type_of_value(
    dict: DictOf,
    parts: &[IndexPart],
    indices: &[FunctionType],
) -> Result<FunctionType, FunctionProblem> {
    if dict.value.is_none() {
        return Err(type_error("'set' object is not subscriptable"));
    }
    check_key(dict, one_key(parts, indices)?)?;
    Ok(loaded_value(&FunctionType::Dict(dict)))
}

/// Checks `dict[key] = value`.
pub(super) fn type_of_store(
    dict: DictOf,
    parts: &[IndexPart],
    args: &[FunctionType],
) -> Result<FunctionType, FunctionProblem> {
    let Some(values) = dict.values() else {
        return Err(type_error("'set' object does not support item assignment"));
    };
    check_new_key(dict, one_key(parts, &args[2..])?)?;
    if !args[1].is_number() {
        let message = format!("a {} as a value of a dictionary", args[1].python_name());
        return Err(unsupported("dict-value", message, "values are numbers"));
    }
    list_takes(values, &args[1]).map(|()| FunctionType::None)
}

fn one_key<'a>(
    parts: &[IndexPart],
    indices: &'a [FunctionType],
) -> Result<&'a FunctionType, FunctionProblem> {
    match (parts, indices) {
        ([IndexPart::At], [key]) => Ok(key),
        ([IndexPart::At, ..], _) => Err(unsupported("dict-key", "a tuple as a key", KEYS)),
        _ => Err(type_error("unhashable type: 'slice'")),
    }
}

const KEYS: &str = "the keys of one dictionary or set are all ints or all floats";

/// Checks a key that is looked for: equal to keys of the same type, truth values to integers.
fn check_key(dict: DictOf, key: &FunctionType) -> Result<(), FunctionProblem> {
    match (dict.key, key) {
        (ScalarType::Float64, FunctionType::Float) => Ok(()),
        (ScalarType::Int64, FunctionType::Int | FunctionType::Bool) => Ok(()),
        (_, FunctionType::Array(_) | FunctionType::Dict(_)) => {
            Err(type_error(format!("unhashable type: '{}'", key.python_name())))
        }
        _ => {
            let of = FunctionType::Dict(dict);
            Err(unsupported("dict-key", format!("a key of type {} in a {of}", key.python_name()), KEYS))
        }
    }
}

/// Checks a key that is put in, and may be read again.
fn check_new_key(dict: DictOf, key: &FunctionType) -> Result<(), FunctionProblem> {
    match key {
        FunctionType::Bool => Err(unsupported("dict-key", "a truth value as a key", "write int(flag)")),
        _ => check_key(dict, key),
    }
}

/// Parts of texts.
pub(super) fn text_parts() -> FunctionProblem {
    unsupported("text", "texts have no parts here", "compare characters: ord(c), chr(n)")
}
