//! Types of calls of the library, whichever file has the rule.

use super::{Instance, calls, dictionaries, list_calls, lists, numpy_calls, rules};
use crate::function::error::FunctionProblem;
use crate::function::library::{LibraryFunction, LibraryKind};
use crate::function::types::FunctionType;
use crate::ssa::InstId;

/// Type of a call of the library; none as long as nobody knows what is put into a list or a dictionary.
pub(super) fn type_of_library(
    instance: &Instance,
    inst: InstId,
    function: LibraryFunction,
    args: &[FunctionType],
) -> Result<Option<FunctionType>, FunctionProblem> {
    use LibraryKind::{AddKey, ArrayFrom, Contains, DictGet, Element, IterationLength, ValueAt};
    let kind = function.kind();
    let least = match kind {
        Contains | AddKey | Element | ValueAt | DictGet => 2,
        ArrayFrom | IterationLength => 1,
        _ => 0,
    };
    if args.len() < least {
        return Err(rules::type_error(format!("{}() takes more arguments", function.name())));
    }
    match kind {
        LibraryKind::NewList | LibraryKind::Repeat => {
            let own = match args {
                [] => None,
                _ => Some(calls::type_of_builtin(function, args)?),
            };
            Ok(lists::type_of_list(instance, inst, own))
        }
        LibraryKind::NewDict | LibraryKind::NewSet => Ok(lists::type_of_dict(instance, inst, kind)),
        LibraryKind::List(method) => list_calls::type_of_method(method, args).map(Some),
        _ if dictionaries::has_rule(kind, args) => dictionaries::type_of_call(kind, args).map(Some),
        _ if numpy_calls::has_rule(kind) => numpy_calls::type_of_call(function, args).map(Some),
        _ => calls::type_of_builtin(function, args).map(Some),
    }
}
