//! Types of lists and of their methods.

use super::arrays::type_of_attribute;
use super::calls::{element_of, is_integer, is_number, joined, list_takes};
use super::rules::type_error;
use crate::function::error::FunctionProblem;
use crate::function::library::{LibraryKind, ListMethod};
use crate::function::types::{ArrayOf, FunctionType};
use cembra_vm::value::ScalarType;

/// True for the functions of this file, but for methods.
pub(super) fn has_rule(kind: LibraryKind) -> bool {
    matches!(kind, LibraryKind::Append | LibraryKind::Pop)
}

/// Type of `[a, b]` and of `[a] * n`, which have elements.
pub(super) fn type_of_new(kind: LibraryKind, args: &[FunctionType]) -> Result<FunctionType, FunctionProblem> {
    match (kind, args) {
        (LibraryKind::Repeat, [element, times]) => {
            is_number(element)?;
            is_integer(times)?;
            Ok(FunctionType::Array(ArrayOf::list(element_of(element))))
        }
        (LibraryKind::Repeat, _) => Err(type_error("a list is repeated an integer number of times")),
        _ => match args.iter().find(|arg| matches!(arg, FunctionType::Tuple(_) | FunctionType::Array(_))) {
            Some(element) => Err(no_element(element)),
            None => Ok(FunctionType::Array(ArrayOf::list(element_of(&joined(args, "list")?)))),
        },
    }
}

/// What lists do not hold.
fn no_element(of: &FunctionType) -> FunctionProblem {
    FunctionProblem::Unsupported {
        rule: "list-element",
        message: format!("a list of {}", of.python_name()),
        hint: "lists hold numbers: a list for each field, or a tuple of tuples that does not grow",
    }
}

/// Type of `list.append(item)` and `list.pop()`.
pub(super) fn type_of_call(
    kind: LibraryKind,
    args: &[FunctionType],
) -> Result<FunctionType, FunctionProblem> {
    let name = if kind == LibraryKind::Pop { "pop" } else { "append" };
    match (kind, args) {
        (LibraryKind::Pop, [FunctionType::Array(list)]) if list.is_list => Ok(list.loaded()),
        (LibraryKind::Append, [FunctionType::Array(list), item]) if list.is_list => takes_number(*list, item),
        (_, [other, ..]) => {
            let of = format!("'{}' object", other.python_name());
            Err(FunctionProblem::Attribute { of, name: name.to_owned() })
        }
        (_, []) => Err(type_error(format!("{name}() takes a list"))),
    }
}

/// Checks what is put into a list.
fn takes_number(list: ArrayOf, item: &FunctionType) -> Result<FunctionType, FunctionProblem> {
    if !item.is_number() {
        return Err(no_element(item));
    }
    list_takes(list, item).map(|()| FunctionType::None)
}

/// Type of what a method gives; the list comes first.
pub(super) fn type_of_method(
    method: ListMethod,
    args: &[FunctionType],
) -> Result<FunctionType, FunctionProblem> {
    let Some((FunctionType::Array(list), given)) = args.split_first() else {
        let of = args.first().unwrap_or(&FunctionType::None);
        return type_of_attribute(method.name(), of);
    };
    if !list.is_list || method == ListMethod::Fill {
        return match (method, given) {
            (ListMethod::Fill, [value]) if !list.is_list => is_number(value).map(|()| FunctionType::None),
            (ListMethod::Sort, []) if list.rank == 1 && list.element != ScalarType::Uint64 => {
                Ok(FunctionType::None)
            }
            _ => type_of_attribute(method.name(), &args[0]),
        };
    }
    match (method, given) {
        (ListMethod::PopAt, [place]) => is_integer(place).map(|()| list.loaded()),
        (ListMethod::Insert, [place, item]) => {
            is_integer(place)?;
            takes_number(*list, item)
        }
        (ListMethod::Index | ListMethod::Count, [item]) => is_number(item).map(|()| FunctionType::Int),
        (ListMethod::Remove, [item]) => is_number(item).map(|()| FunctionType::None),
        (ListMethod::Reverse | ListMethod::Clear | ListMethod::Sort, []) => Ok(FunctionType::None),
        _ => Err(type_error(format!("{}() takes another number of arguments", method.name()))),
    }
}
