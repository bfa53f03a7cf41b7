//! Types of new arrays: of functions that fill, count, copy, or take their elements.

use super::calls::{array, count, element_of, is_integer, is_number, joined, short_name, sizes};
use super::rules::type_error;
use crate::function::error::FunctionProblem;
use crate::function::library::{LibraryFunction, LibraryKind};
use crate::function::types::{FunctionType, MAX_AXES};
use cembra_vm::value::ScalarType;

/// True for the functions of this file.
pub(super) fn has_rule(kind: LibraryKind) -> bool {
    use LibraryKind::{Arange, ArrayFrom, ArrayOf, Copy, Filled, FilledAs, FilledLike, Full, Linspace};
    matches!(
        kind,
        Filled(_) | FilledAs(_) | FilledLike(_) | Full | Arange | Linspace | ArrayOf | ArrayFrom | Copy
    )
}

/// Type of the result.
pub(super) fn type_of_call(
    function: LibraryFunction,
    args: &[FunctionType],
) -> Result<FunctionType, FunctionProblem> {
    use FunctionType::Array;
    let (name, dtype) = (short_name(function), function.dtype);
    match (function.kind(), args) {
        (LibraryKind::Filled(_), _) => array(dtype.unwrap_or(ScalarType::Float64), sizes(args)?),
        (LibraryKind::FilledAs(_), [Array(like), of_axes @ ..]) if !like.is_list => {
            array(like.element, sizes(of_axes)?)
        }
        (LibraryKind::FilledAs(_), [other, ..]) => {
            let of = format!("'{}' object", other.python_name());
            Err(FunctionProblem::Attribute { of, name: "dtype".to_owned() })
        }
        (LibraryKind::Full, [value, of_axes @ ..]) => {
            is_number(value)?;
            array(dtype.unwrap_or(element_of(value)), sizes(of_axes)?)
        }
        (LibraryKind::Arange, _) => type_of_arange(dtype, args),
        (LibraryKind::Linspace, _) => type_of_linspace(args),
        (LibraryKind::ArrayOf, []) => Err(type_error("array() missing required argument 'object' (pos 0)")),
        (LibraryKind::ArrayOf, _) => array_of_fields(dtype, args, name),
        (LibraryKind::ArrayFrom, [of, ..])
            if function.name() == "_astype" && !matches!(of, Array(array) if !array.is_list) =>
        {
            let of = format!("'{}' object", of.python_name());
            Err(FunctionProblem::Attribute { of, name: "astype".to_owned() })
        }
        (LibraryKind::ArrayFrom, [Array(known), ..]) => array(dtype.unwrap_or(known.element), known.rank),
        (LibraryKind::ArrayFrom, [FunctionType::Tuple(fields), ..]) => array_of_fields(dtype, fields, name),
        (LibraryKind::ArrayFrom, [other, ..]) => Err(FunctionProblem::Unsupported {
            rule: "array-type",
            message: format!("an array of one {} has no axes", other.python_name()),
            hint: "np.array([x]) has one axis",
        }),
        (LibraryKind::FilledLike(_), [Array(known)]) => array(dtype.unwrap_or(known.element), known.rank),
        (LibraryKind::Copy, [Array(known)]) => Ok(Array(*known)),
        _ => Err(type_error(format!("{name}() takes an array"))),
    }
}

fn type_of_arange(dtype: Option<ScalarType>, args: &[FunctionType]) -> Result<FunctionType, FunctionProblem> {
    count("arange", args, 1, 3)?;
    args.iter().try_for_each(is_number)?;
    let has_float = args.contains(&FunctionType::Float);
    match dtype {
        Some(dtype) if has_float && !dtype.is_float() => Err(FunctionProblem::Unsupported {
            rule: "dtype",
            message: format!("arange() of floats as {dtype}"),
            hint: "give integers, or leave the dtype out",
        }),
        Some(dtype) => array(dtype, 1),
        None => array(if has_float { ScalarType::Float64 } else { ScalarType::Int64 }, 1),
    }
}

fn type_of_linspace(args: &[FunctionType]) -> Result<FunctionType, FunctionProblem> {
    count("linspace", args, 2, 3)?;
    args[..2].iter().try_for_each(is_number)?;
    args[2..].iter().try_for_each(is_integer)?;
    array(ScalarType::Float64, 1)
}

/// The array of some values: numbers, or tuples of as many fields each.
fn array_of_fields(
    dtype: Option<ScalarType>,
    fields: &[FunctionType],
    name: &str,
) -> Result<FunctionType, FunctionProblem> {
    let (mut rows, mut rank) = (fields.to_vec(), 1);
    while let Some(FunctionType::Tuple(first)) = rows.first() {
        let length = first.len();
        let mut next = Vec::new();
        for row in &rows {
            match row {
                FunctionType::Tuple(row) if row.len() == length => next.extend(row.iter().cloned()),
                _ => {
                    return Err(FunctionProblem::Value {
                        message: "setting an array element with a sequence. The requested array has an \
                                  inhomogeneous shape"
                            .to_owned(),
                    });
                }
            }
        }
        if rank == MAX_AXES {
            return array(dtype.unwrap_or(ScalarType::Float64), MAX_AXES + 1);
        }
        (rows, rank) = (next, rank + 1);
    }
    if rows.is_empty() {
        return Err(FunctionProblem::Unsupported {
            rule: "empty-array",
            message: "an array of nothing".to_owned(),
            hint: "np.zeros(0)",
        });
    }
    if rows.iter().any(|row| matches!(row, FunctionType::Array(_))) {
        return Err(FunctionProblem::Unsupported {
            rule: "array-type",
            message: "an array is not made of arrays and lists that are values".to_owned(),
            hint: "np.zeros((n, m)), and a loop over the elements",
        });
    }
    let element = joined(&rows, name)?;
    array(dtype.unwrap_or(element_of(&element)), rank)
}
