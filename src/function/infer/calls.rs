//! Types of calls of functions of numbers, and what the rules of all calls are made of.

use super::rules::type_error;
use crate::function::error::FunctionProblem;
use crate::function::library::LibraryFunction;
use crate::function::signature::{Gives, Signature};
use crate::function::types::{ArrayOf, FunctionType, MAX_AXES};
use cembra_vm::value::ScalarType;

/// The name of a function, without its module.
pub(super) fn short_name(function: LibraryFunction) -> &'static str {
    function.name().rsplit('.').next().unwrap_or_default()
}

/// Checks the number of arguments.
pub(super) fn count(
    name: &str,
    args: &[FunctionType],
    least: usize,
    most: usize,
) -> Result<(), FunctionProblem> {
    match (least..=most).contains(&args.len()) {
        true => Ok(()),
        false => {
            Err(type_error(format!("{name}() takes {least} to {most} arguments ({} given)", args.len())))
        }
    }
}

/// Type of a function of numbers.
pub(super) fn type_by_signature(
    builtin: LibraryFunction,
    signature: Signature,
    args: &[FunctionType],
) -> Result<FunctionType, FunctionProblem> {
    let Signature { least, most, integers, gives } = signature;
    let name = short_name(builtin);
    count(name, args, least, most)?;
    let is_whole_array = |of: &FunctionType| matches!(of, FunctionType::Array(_));
    if builtin.plain && args.iter().any(is_whole_array) {
        return Err(whole_array());
    }
    args.iter().try_for_each(if integers { is_integer } else { is_number })?;
    Ok(match gives {
        Gives::Float => FunctionType::Float,
        Gives::Int => FunctionType::Int,
        Gives::Bool => FunctionType::Bool,
        Gives::Char => FunctionType::Char,
        Gives::Joined => joined(args, name)?,
        Gives::JoinedNumber if args.contains(&FunctionType::Float) => FunctionType::Float,
        Gives::JoinedNumber => FunctionType::Int,
    })
}

/// A function of numpy that is asked for the results of all elements.
pub(super) fn whole_array() -> FunctionProblem {
    FunctionProblem::Unsupported {
        rule: "array-expression",
        message: "a function of numbers is not applied to a whole array".to_owned(),
        hint: "write a loop over the elements",
    }
}

/// Checks that an argument is a number.
pub(super) fn is_number(of: &FunctionType) -> Result<(), FunctionProblem> {
    match of {
        of if of.is_number() => Ok(()),
        of => Err(type_error(format!("must be real number, not {}", of.python_name()))),
    }
}

/// Checks that an argument is an integer.
pub(super) fn is_integer(of: &FunctionType) -> Result<(), FunctionProblem> {
    match of.is_integer() {
        true => Ok(()),
        false => {
            Err(type_error(format!("'{}' object cannot be interpreted as an integer", of.python_name())))
        }
    }
}

/// The type that holds all of them.
pub(super) fn joined(types: &[FunctionType], name: &str) -> Result<FunctionType, FunctionProblem> {
    let (first, rest) = types
        .split_first()
        .ok_or_else(|| FunctionProblem::Value { message: format!("{name}() arg is an empty sequence") })?;
    let joined = rest.iter().try_fold(first.clone(), |joined, next| joined.join(next));
    joined.filter(FunctionType::is_number).ok_or_else(|| type_error(format!("{name}() takes numbers")))
}

/// Number of axes that sizes give: one operand each, or a tuple.
pub(super) fn sizes(args: &[FunctionType]) -> Result<usize, FunctionProblem> {
    let sizes = match args {
        [FunctionType::Tuple(fields)] => &**fields,
        args => args,
    };
    match sizes.iter().find(|size| !size.is_integer()) {
        Some(wrong) => {
            let name = wrong.python_name();
            Err(type_error(format!("'{name}' object cannot be interpreted as an integer")))
        }
        None => Ok(sizes.len()),
    }
}

pub(super) fn array(element: ScalarType, rank: usize) -> Result<FunctionType, FunctionProblem> {
    let array = ArrayOf::array(element, rank);
    match array.nd_type() {
        Some(_) => Ok(FunctionType::Array(array)),
        None => Err(FunctionProblem::Unsupported {
            rule: "array-type",
            message: format!("there are no arrays of {element} with {rank} axes"),
            hint: "arrays have 1 to 6 axes of float64, float32, int8 to int64, uint8 to uint64 or bool",
        }),
    }
    .inspect(|_| debug_assert!(rank <= MAX_AXES))
}

pub(super) fn element_of(value: &FunctionType) -> ScalarType {
    value.element().unwrap_or(ScalarType::Float64)
}

/// Checks that a number becomes an element of a list without loss.
pub(super) fn list_takes(list: ArrayOf, item: &FunctionType) -> Result<(), FunctionProblem> {
    match item.join(&list.loaded()) {
        Some(joined) if joined == list.loaded() => Ok(()),
        _ => Err(FunctionProblem::Unsupported {
            rule: "list-element",
            message: format!("a list of {} takes no {}", list.loaded(), item.python_name()),
            hint: "begin the list with an element of the wider type, such as 0.0",
        }),
    }
}
