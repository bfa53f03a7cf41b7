//! Types of calls of the library, whichever file has the rule.

use super::{
    Instance, arrays, builtins, calls, dictionaries, expressions, list_calls, lists, new_arrays, numpy_calls,
    rules,
};
use crate::function::error::FunctionProblem;
use crate::function::library::{LibraryFunction, LibraryKind};
use crate::function::op::IndexPart;
use crate::function::types::FunctionType;
use crate::ssa::InstId;

/// Type of a call of the library; none as long as nobody knows what is put into a list or a dictionary.
pub(super) fn type_of_library(
    instance: &Instance,
    inst: InstId,
    function: LibraryFunction,
    args: &[FunctionType],
) -> Result<Option<FunctionType>, FunctionProblem> {
    let of_any = |args: &[FunctionType]| type_of_any(instance, inst, function, args);
    match wants_numbers(function.kind()) || function.kind() == LibraryKind::ToBool {
        true => of_any(&args.iter().map(|of| of.without_none().clone()).collect::<Vec<_>>()),
        false => of_any(args),
    }
}

/// True for functions of numbers that raise `TypeError` where an argument is None.
pub(super) fn wants_numbers(kind: LibraryKind) -> bool {
    use LibraryKind::{Abs, DivMod, Max, Min, Pow, Round, ToBool};
    matches!(kind, Abs | DivMod | Max | Min | Pow | Round) || kind != ToBool && kind.signature().is_some()
}

fn type_of_any(
    instance: &Instance,
    inst: InstId,
    function: LibraryFunction,
    args: &[FunctionType],
) -> Result<Option<FunctionType>, FunctionProblem> {
    let kind = function.kind();
    if args.len() < least_arguments(kind) {
        return Err(rules::type_error(format!("{}() takes more arguments", function.name())));
    }
    let is_array = |of: &FunctionType| matches!(of, FunctionType::Array(array) if !array.is_list);
    if function.is_of_elements() && args.iter().any(is_array) {
        let (name, args) = (calls::short_name(function), args.iter().collect::<Vec<_>>());
        let of_numbers = |numbers: &[FunctionType]| type_of_call(function, numbers);
        return expressions::of_elements(&format!("{name}()"), &args, of_numbers).map(Some);
    }
    match kind {
        LibraryKind::NewList | LibraryKind::Repeat => {
            let own = match args {
                [] => None,
                _ => Some(list_calls::type_of_new(kind, args)?),
            };
            Ok(lists::type_of_list(instance, inst, own))
        }
        LibraryKind::NewDict | LibraryKind::NewSet => Ok(lists::type_of_dict(instance, inst, kind)),
        _ => type_of_call(function, args).map(Some),
    }
}

/// What the rule of a function relies on.
fn least_arguments(kind: LibraryKind) -> usize {
    use LibraryKind::{AddKey, ArrayFrom, Contains, DictGet, Element, IterationLength, ValueAt};
    match kind {
        Contains | AddKey | Element | ValueAt | DictGet => 2,
        ArrayFrom | IterationLength => 1,
        _ => 0,
    }
}

/// Type of a call that its arguments say all about.
fn type_of_call(function: LibraryFunction, args: &[FunctionType]) -> Result<FunctionType, FunctionProblem> {
    use LibraryKind::{Max, Min, ToBool, ToFloat, ToInt};
    let kind = function.kind();
    if let LibraryKind::List(method) = kind {
        return list_calls::type_of_method(method, args);
    }
    if dictionaries::has_rule(kind, args) {
        return dictionaries::type_of_call(kind, args);
    }
    let takes_numbers = matches!(kind, ToInt | ToFloat | ToBool | Min | Max);
    if takes_numbers && args.iter().any(FunctionType::is_text) {
        return Err(builtins::text_argument(calls::short_name(function)));
    }
    if let Some(signature) = kind.signature() {
        return calls::type_by_signature(function, signature, args);
    }
    match kind {
        // An element by its number; dictionaries have been looked at above.
        LibraryKind::Element => arrays::type_of_item(&[IndexPart::At], args, |_| None),
        _ if list_calls::has_rule(kind) => list_calls::type_of_call(kind, args),
        _ if new_arrays::has_rule(kind) => new_arrays::type_of_call(function, args),
        _ if builtins::has_rule(kind) => builtins::type_of_call(function, args),
        _ => numpy_calls::type_of_call(function, args),
    }
}
