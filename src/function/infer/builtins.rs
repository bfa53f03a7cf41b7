//! Types of the functions that Python has without an import.

use super::calls::{count, is_integer, is_number, joined, short_name};
use super::rules::type_error;
use crate::function::error::FunctionProblem;
use crate::function::library::{LibraryFunction, LibraryKind};
use crate::function::types::FunctionType;

/// True for the functions of this file.
pub(super) fn has_rule(kind: LibraryKind) -> bool {
    use LibraryKind::{Abs, All, Any, Contains, DivMod, Len, Max, Min, Ord, Pow, Round, Sum};
    matches!(kind, Ord | Abs | Min | Max | Len | Round | Pow | DivMod | Sum | Any | All | Contains)
}

/// Type of the result.
pub(super) fn type_of_call(
    function: LibraryFunction,
    args: &[FunctionType],
) -> Result<FunctionType, FunctionProblem> {
    let name = short_name(function);
    match function.kind() {
        LibraryKind::Ord => type_of_ord(args),
        LibraryKind::Abs => type_of_abs(args),
        LibraryKind::Min | LibraryKind::Max => type_of_extreme(name, args),
        LibraryKind::Len => type_of_len(args),
        LibraryKind::Round => type_of_round(args),
        LibraryKind::Pow => type_of_pow(args),
        LibraryKind::DivMod => type_of_divmod(args),
        LibraryKind::Sum => type_of_sum(function, args),
        LibraryKind::Contains => type_of_contains(name, args),
        _ => type_of_any(name, args),
    }
}

/// A text where there must be numbers.
pub(super) fn text_argument(name: &str) -> FunctionProblem {
    FunctionProblem::Unsupported {
        rule: "text",
        message: format!("{name}() of a text"),
        hint: "texts are compared, and characters are numbers: ord(c), chr(n)",
    }
}

fn not_iterable(of: &FunctionType) -> FunctionProblem {
    type_error(format!("'{}' object is not iterable", of.python_name()))
}

fn type_of_ord(args: &[FunctionType]) -> Result<FunctionType, FunctionProblem> {
    match args {
        [FunctionType::Char] => Ok(FunctionType::Int),
        [FunctionType::Text] => Err(type_error("ord() expected a character, but a longer text was found")),
        [other] => {
            let name = other.python_name();
            Err(type_error(format!("ord() expected string of length 1, but {name} found")))
        }
        _ => Err(type_error(format!("ord() takes exactly one argument ({} given)", args.len()))),
    }
}

fn type_of_abs(args: &[FunctionType]) -> Result<FunctionType, FunctionProblem> {
    count("abs", args, 1, 1)?;
    match &args[0] {
        FunctionType::Bool | FunctionType::Int => Ok(FunctionType::Int),
        FunctionType::Float => Ok(FunctionType::Float),
        other => Err(type_error(format!("bad operand type for abs(): '{}'", other.python_name()))),
    }
}

/// `min` and `max`.
fn type_of_extreme(name: &str, args: &[FunctionType]) -> Result<FunctionType, FunctionProblem> {
    match args {
        [FunctionType::Array(array)] => Ok(array.loaded()),
        [FunctionType::Tuple(fields)] => joined(fields, name),
        [other] => Err(not_iterable(other)),
        [] => Err(type_error(format!("{name} expected at least 1 argument, got 0"))),
        _ => joined(args, name),
    }
}

fn type_of_len(args: &[FunctionType]) -> Result<FunctionType, FunctionProblem> {
    use FunctionType::{Array, Char, Text, Tuple};
    count("len", args, 1, 1)?;
    match &args[0] {
        Tuple(_) | Array(_) | Text | Char => Ok(FunctionType::Int),
        other => Err(type_error(format!("object of type '{}' has no len()", other.python_name()))),
    }
}

fn type_of_round(args: &[FunctionType]) -> Result<FunctionType, FunctionProblem> {
    count("round", args, 1, 2)?;
    is_number(&args[0])?;
    let Some(digits) = args.get(1) else { return Ok(FunctionType::Int) };
    is_integer(digits)?;
    Ok(number_of(&args[..1]))
}

fn type_of_pow(args: &[FunctionType]) -> Result<FunctionType, FunctionProblem> {
    count("pow", args, 2, 3)?;
    args[..2].iter().try_for_each(is_number)?;
    if args.len() == 3 {
        args.iter().try_for_each(is_integer)?;
    }
    Ok(number_of(args))
}

fn type_of_divmod(args: &[FunctionType]) -> Result<FunctionType, FunctionProblem> {
    count("divmod", args, 2, 2)?;
    args.iter().try_for_each(is_number)?;
    let part = number_of(args);
    Ok(FunctionType::tuple([part.clone(), part]))
}

/// A float, if there is one among some numbers, else an integer.
fn number_of(args: &[FunctionType]) -> FunctionType {
    if args.contains(&FunctionType::Float) { FunctionType::Float } else { FunctionType::Int }
}

fn type_of_sum(function: LibraryFunction, args: &[FunctionType]) -> Result<FunctionType, FunctionProblem> {
    let name = short_name(function);
    match args {
        [FunctionType::Array(array)] => Ok(number_of(&[array.loaded()])),
        [FunctionType::Tuple(fields)] if fields.is_empty() => Ok(FunctionType::Int),
        [FunctionType::Tuple(fields)] => joined(fields, name).map(|sum| number_of(&[sum])),
        [_] => Err(type_error("sum() takes a tuple or an array")),
        _ if function.name() != "sum" => {
            Err(type_error(format!("{name}() takes one argument here ({} arguments given)", args.len())))
        }
        [] => Err(type_error("sum() takes at least 1 argument (0 given)")),
        [_, _] => Err(type_error(
            "sum() takes a start without `*`, behind a generator expression a name or a constant",
        )),
        _ => Err(FunctionProblem::too_many_for_sum(args.len())),
    }
}

/// `any` and `all`.
fn type_of_any(name: &str, args: &[FunctionType]) -> Result<FunctionType, FunctionProblem> {
    match args {
        [FunctionType::Array(_) | FunctionType::Tuple(_)] => Ok(FunctionType::Bool),
        [other] => Err(not_iterable(other)),
        _ => Err(type_error(format!("{name}() takes exactly one argument ({} given)", args.len()))),
    }
}

/// `args[1] in args[0]`.
fn type_of_contains(name: &str, args: &[FunctionType]) -> Result<FunctionType, FunctionProblem> {
    match &args[0] {
        FunctionType::Array(_) | FunctionType::Tuple(_) if args[1].is_text() => Err(text_argument(name)),
        FunctionType::Array(_) | FunctionType::Tuple(_) => is_number(&args[1]).map(|()| FunctionType::Bool),
        of if of.is_text() && args[1].is_text() => Ok(FunctionType::Bool),
        of if of.is_text() => {
            let name = args[1].python_name();
            Err(type_error(format!("'in <string>' requires string as left operand, not {name}")))
        }
        other => Err(type_error(format!("argument of type '{}' is not iterable", other.python_name()))),
    }
}
