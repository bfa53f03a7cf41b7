//! Types of functions of numpy that take arrays, and of those that make one like another.

use super::calls::{array, is_integer, is_number, joined, short_name, whole_array};
use super::rules::type_error;
use crate::function::error::FunctionProblem;
use crate::function::library::{LibraryFunction, LibraryKind};
use crate::function::types::FunctionType;
use cembra_vm::value::ScalarType;

/// Type of the result.
pub(super) fn type_of_call(
    function: LibraryFunction,
    args: &[FunctionType],
) -> Result<FunctionType, FunctionProblem> {
    use FunctionType::{Array, Float, Int};
    let name = short_name(function);
    let one_axis = || FunctionProblem::Unsupported {
        rule: "array-expression",
        message: format!("{name}() of an array with several axes"),
        hint: "loops over the elements",
    };
    match (function.kind(), args) {
        (LibraryKind::Where, args) if args.iter().any(|of| matches!(of, Array(_))) => Err(whole_array()),
        (LibraryKind::Where, [condition, x, y]) => {
            [condition, x, y].into_iter().try_for_each(is_number)?;
            joined(&args[1..], name)
        }
        (LibraryKind::FullLike, [Array(like), value]) => {
            is_number(value)?;
            array(function.dtype.unwrap_or(like.element), like.rank)
        }
        (LibraryKind::Eye, [_] | [_, _]) => {
            args.iter().try_for_each(is_integer)?;
            array(function.dtype.unwrap_or(ScalarType::Float64), 2)
        }
        (LibraryKind::Dot, [Array(x), Array(y)]) => match x.rank == 1 && y.rank == 1 {
            true if x.loaded() == Float || y.loaded() == Float => Ok(Float),
            true => Ok(Int),
            false => Err(one_axis()),
        },
        (LibraryKind::Mean, [Array(_)]) => Ok(Float),
        (LibraryKind::Product, [Array(of)]) => Ok(if of.loaded() == Float { Float } else { Int }),
        // Sums of unsigned integers and of FLOAT32 are of these types in numpy.
        (LibraryKind::CumulativeSum, [Array(of)]) if has_wide_sums(of.element) => match of.rank {
            1 => array(if of.loaded() == Float { ScalarType::Float64 } else { ScalarType::Int64 }, 1),
            _ => Err(one_axis()),
        },
        (LibraryKind::ArgMin | LibraryKind::ArgMax, [Array(of)]) if of.rank == 1 => Ok(Int),
        (LibraryKind::ArgMin | LibraryKind::ArgMax, [Array(_)]) => Err(one_axis()),
        (LibraryKind::Where, _) => Err(type_error("where() takes a condition and two numbers")),
        (_, args) => {
            let given = args.len();
            Err(type_error(format!("{name}() takes an array, and is given {given} arguments of other types")))
        }
    }
}

/// True if numpy sums such elements as FLOAT64 or INT64.
fn has_wide_sums(element: ScalarType) -> bool {
    use ScalarType::{Boolean, Float64, Int8, Int16, Int32, Int64};
    matches!(element, Boolean | Int8 | Int16 | Int32 | Int64 | Float64)
}
