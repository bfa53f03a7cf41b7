//! Types of parts: fields of tuples, elements, rows and slices of arrays, attributes.

use super::calls::list_takes;
use super::dictionaries;
use super::rules::type_error;
use crate::function::constant::Constant;
use crate::function::error::FunctionProblem;
use crate::function::op::IndexPart;
use crate::function::types::{ArrayOf, FunctionType};

fn unsupported(rule: &'static str, message: impl Into<String>, hint: &'static str) -> FunctionProblem {
    FunctionProblem::Unsupported { rule, message: message.into(), hint }
}

/// Type of `value[…]`.
pub(super) fn type_of_item(
    parts: &[IndexPart],
    args: &[FunctionType],
    constant: impl Fn(usize) -> Option<Constant>,
) -> Result<FunctionType, FunctionProblem> {
    match &args[0] {
        FunctionType::Tuple(fields) => match (parts, &args[1..]) {
            ([IndexPart::At], [index]) if index.is_integer() => field(fields, constant(1)),
            ([IndexPart::At], [index]) => {
                let name = index.python_name();
                Err(type_error(format!("tuple indices must be integers or slices, not {name}")))
            }
            _ => Err(unsupported("tuple-slice", "tuples are not sliced", "name the fields")),
        },
        FunctionType::Array(array) => indexed(*array, parts, &args[1..]),
        FunctionType::Dict(dict) => dictionaries::type_of_value(*dict, parts, &args[1..]),
        of if of.is_text() => Err(dictionaries::text_parts()),
        other => Err(type_error(format!("'{}' object is not subscriptable", other.python_name()))),
    }
}

/// Type of a field: one place if it is known, else what holds all fields.
fn field(fields: &[FunctionType], index: Option<Constant>) -> Result<FunctionType, FunctionProblem> {
    let out_of_range = || FunctionProblem::Index { message: "tuple index out of range".to_owned() };
    let known = match index {
        Some(Constant::Int(index)) => Some(index),
        Some(Constant::Bool(index)) => Some(i64::from(index)),
        _ => None,
    };
    if let Some(index) = known {
        let place = if index < 0 { index + fields.len() as i64 } else { index };
        let found = usize::try_from(place).ok().and_then(|place| fields.get(place));
        return found.cloned().ok_or_else(out_of_range);
    }
    // An empty tuple has no element: the index raises when it is reached.
    let Some((first, rest)) = fields.split_first() else { return Ok(FunctionType::Int) };
    let joined = rest.iter().try_fold(first.clone(), |joined, next| joined.join(next));
    joined.filter(FunctionType::holds_numbers).ok_or_else(|| {
        unsupported(
            "tuple-index",
            "an index that is not known needs fields of one type",
            "index with a constant",
        )
    })
}

/// Type of an array with some places given.
fn indexed(
    array: ArrayOf,
    parts: &[IndexPart],
    indices: &[FunctionType],
) -> Result<FunctionType, FunctionProblem> {
    let no_index = |what: &str| type_error(format!("list indices must be integers or slices, not {what}"));
    if array.is_list && parts.len() > 1 {
        return Err(no_index("tuple"));
    }
    if parts.len() > array.rank {
        let message = format!(
            "too many indices for array: array is {}-dimensional, but {} were indexed",
            array.rank,
            parts.len()
        );
        return Err(FunctionProblem::Index { message });
    }
    if let Some(wrong) = indices.iter().find(|index| !index.is_integer()) {
        return Err(match wrong {
            _ if array.is_list => no_index(wrong.python_name()),
            FunctionType::Float | FunctionType::None | FunctionType::Text => FunctionProblem::Index {
                message:
                    "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or \
                          boolean arrays are valid indices"
                        .to_owned(),
            },
            _ => unsupported(
                "array-index",
                format!("an array is not indexed by {}", wrong.python_name()),
                "index with integers",
            ),
        });
    }
    if indices.contains(&FunctionType::Bool) {
        return Err(unsupported("bool-index", "a truth value as index makes a new axis", "write int(flag)"));
    }
    let gone = parts.iter().filter(|part| **part == IndexPart::At).count();
    Ok(array.indexed(gone))
}

/// Checks `value[…] = item`.
pub(super) fn type_of_store(
    parts: &[IndexPart],
    args: &[FunctionType],
) -> Result<FunctionType, FunctionProblem> {
    let (place, item) = (&args[0], &args[1]);
    match place {
        FunctionType::Array(array) => {
            let target = indexed(*array, parts, &args[2..])?;
            match (&target, item) {
                (FunctionType::Array(_), FunctionType::Array(_)) if array.is_list => Err(unsupported(
                    "array-store",
                    "a part of a list is not replaced",
                    "a loop over the elements, or a new list",
                )),
                (FunctionType::Array(_), _) if array.is_list => {
                    Err(type_error("can only assign an iterable"))
                }
                (FunctionType::Array(place), FunctionType::Array(item)) => match item.rank <= place.rank {
                    true => Ok(FunctionType::None),
                    false => Err(unsupported(
                        "array-store",
                        format!(
                            "an array of {} axes is not assigned to a part with {}",
                            item.rank, place.rank
                        ),
                        "name the row, as in a[i]",
                    )),
                },
                (_, item) if item.is_number() && array.is_list => {
                    list_takes(*array, item).map(|()| FunctionType::None)
                }
                (_, item) if item.is_number() => Ok(FunctionType::None),
                (FunctionType::Array(_), _) => Err(type_error(format!(
                    "a number or an array is assigned here, not {}",
                    item.python_name()
                ))),
                (_, FunctionType::Array(_)) => Err(FunctionProblem::Value {
                    message: "setting an array element with a sequence.".to_owned(),
                }),
                _ => Err(type_error(format!(
                    "float() argument must be a string or a real number, not '{}'",
                    item.python_name()
                ))),
            }
        }
        FunctionType::Dict(dict) => dictionaries::type_of_store(*dict, parts, args),
        other => {
            let name = other.python_name();
            Err(type_error(format!("'{name}' object does not support item assignment")))
        }
    }
}

/// Methods of Python's lists.
const LIST_METHODS: &[&str] =
    &["append", "clear", "copy", "count", "extend", "index", "insert", "pop", "remove", "reverse", "sort"];

/// Attributes and methods of numpy's arrays that functions lack.
const ARRAY_ATTRIBUTES: &[&str] = &[
    "T",
    "all",
    "any",
    "argmax",
    "argmin",
    "argsort",
    "astype",
    "base",
    "byteswap",
    "choose",
    "clip",
    "compress",
    "conj",
    "conjugate",
    "copy",
    "ctypes",
    "cumprod",
    "cumsum",
    "data",
    "device",
    "diagonal",
    "dot",
    "dtype",
    "dump",
    "dumps",
    "fill",
    "flags",
    "flat",
    "flatten",
    "getfield",
    "imag",
    "item",
    "itemsize",
    "mT",
    "max",
    "mean",
    "min",
    "nbytes",
    "nonzero",
    "partition",
    "prod",
    "put",
    "ravel",
    "real",
    "repeat",
    "reshape",
    "resize",
    "round",
    "searchsorted",
    "setfield",
    "setflags",
    "sort",
    "squeeze",
    "std",
    "strides",
    "sum",
    "swapaxes",
    "take",
    "tobytes",
    "tofile",
    "tolist",
    "trace",
    "transpose",
    "var",
    "view",
];

/// Type of `value.name`.
pub(super) fn type_of_attribute(name: &str, of: &FunctionType) -> Result<FunctionType, FunctionProblem> {
    match (of, name) {
        (FunctionType::Array(array), "shape") if !array.is_list => {
            Ok(FunctionType::tuple(std::iter::repeat_n(FunctionType::Int, array.rank)))
        }
        (FunctionType::Array(array), "ndim" | "size") if !array.is_list => Ok(FunctionType::Int),
        (FunctionType::Float | FunctionType::Int | FunctionType::Bool, "real") => {
            Ok(if *of == FunctionType::Float { FunctionType::Float } else { FunctionType::Int })
        }
        (FunctionType::Dict(_), _) => {
            let message = format!("`{name}` of a {}", of.python_name());
            Err(unsupported("dictionary-method", message, "[], in, len, get, items, keys, values, add"))
        }
        (FunctionType::Array(array), _) if array.is_list && LIST_METHODS.contains(&name) => Err(unsupported(
            "list-method",
            format!("`{name}` of a list"),
            "append, pop, copy, indices, loops",
        )),
        (FunctionType::Array(array), _) if !array.is_list && ARRAY_ATTRIBUTES.contains(&name) => {
            let message = format!("`{name}` of an array, with these arguments or at all");
            Err(unsupported("array-method", message, "a loop over the elements"))
        }
        _ => {
            let of = match of {
                FunctionType::Array(array) if !array.is_list => "'numpy.ndarray' object".to_owned(),
                other => format!("'{}' object", other.python_name()),
            };
            Err(FunctionProblem::Attribute { of, name: name.to_owned() })
        }
    }
}
