//! Types of methods of lists.

use super::arrays::type_of_attribute;
use super::calls::{is_integer, is_number, list_takes};
use super::rules::type_error;
use crate::function::error::FunctionProblem;
use crate::function::library::ListMethod;
use crate::function::types::FunctionType;

/// Type of what a method gives; the list comes first.
pub(super) fn type_of_method(
    method: ListMethod,
    args: &[FunctionType],
) -> Result<FunctionType, FunctionProblem> {
    let Some((FunctionType::Array(list), given)) = args.split_first() else {
        let of = args.first().unwrap_or(&FunctionType::None);
        return type_of_attribute(method.name(), of);
    };
    if !list.is_list {
        return type_of_attribute(method.name(), &args[0]);
    }
    match (method, given) {
        (ListMethod::PopAt, [place]) => is_integer(place).map(|()| list.loaded()),
        (ListMethod::Insert, [place, item]) => {
            is_integer(place)?;
            if !item.is_number() {
                return Err(FunctionProblem::Unsupported {
                    rule: "list-element",
                    message: format!("a list of {} in a list", item.python_name()),
                    hint: "lists hold numbers",
                });
            }
            list_takes(*list, item).map(|()| FunctionType::None)
        }
        (ListMethod::Index | ListMethod::Count, [item]) => is_number(item).map(|()| FunctionType::Int),
        (ListMethod::Remove, [item]) => is_number(item).map(|()| FunctionType::None),
        (ListMethod::Reverse | ListMethod::Clear | ListMethod::Sort, []) => Ok(FunctionType::None),
        _ => Err(type_error(format!("{}() takes another number of arguments", method.name()))),
    }
}
