//! Types of calls of the library.

use super::rules::type_error;
use crate::function::error::FunctionProblem;
use crate::function::library::{LibraryFunction, LibraryKind};
use crate::function::signature::{Gives, Signature};
use crate::function::types::{ArrayOf, FunctionType, MAX_AXES};
use cembra_vm::value::ScalarType;

/// Type of the result of a function of the library.
pub(super) fn type_of_builtin(
    builtin: LibraryFunction,
    args: &[FunctionType],
) -> Result<FunctionType, FunctionProblem> {
    use FunctionType::{Array, Bool, Float, Int, Tuple};
    let name = builtin.name().rsplit('.').next().unwrap_or_default();
    let count = |least: usize, most: usize| match (least..=most).contains(&args.len()) {
        true => Ok(()),
        false => {
            Err(type_error(format!("{name}() takes {least} to {most} arguments ({} given)", args.len())))
        }
    };
    let missing = || type_error(format!("{name}() takes more arguments ({} given)", args.len()));
    let number = |index: usize| is_number(args.get(index).ok_or_else(missing)?);
    let integer = |index: usize| is_integer(args.get(index).ok_or_else(missing)?);
    let text = || FunctionProblem::Unsupported {
        rule: "text",
        message: format!("{name}() of a text"),
        hint: "texts are compared, and characters are numbers: ord(c), chr(n)",
    };
    let refuses_texts = matches!(
        builtin.kind(),
        LibraryKind::ToInt | LibraryKind::ToFloat | LibraryKind::ToBool | LibraryKind::Min | LibraryKind::Max
    );
    if refuses_texts && args.iter().any(FunctionType::is_text) {
        return Err(text());
    }
    if let Some(signature) = builtin.kind().signature() {
        return type_by_signature(builtin, signature, args);
    }
    match builtin.kind() {
        LibraryKind::Ord => match args {
            [FunctionType::Char] => Ok(Int),
            [FunctionType::Text] => {
                Err(type_error("ord() expected a character, but a longer text was found"))
            }
            [other] => {
                let name = other.python_name();
                Err(type_error(format!("ord() expected string of length 1, but {name} found")))
            }
            _ => Err(type_error(format!("ord() takes exactly one argument ({} given)", args.len()))),
        },
        LibraryKind::Abs => {
            count(1, 1)?;
            match &args[0] {
                Bool | Int => Ok(Int),
                Float => Ok(Float),
                other => Err(type_error(format!("bad operand type for abs(): '{}'", other.python_name()))),
            }
        }
        LibraryKind::Min | LibraryKind::Max => match args {
            [Array(array)] => Ok(array.loaded()),
            [Tuple(fields)] => joined(fields, name),
            [other] => Err(type_error(format!("'{}' object is not iterable", other.python_name()))),
            [] => Err(type_error(format!("{name} expected at least 1 argument, got 0"))),
            _ => joined(args, name),
        },
        LibraryKind::Len => {
            count(1, 1)?;
            match &args[0] {
                Tuple(_) | Array(_) | FunctionType::Text | FunctionType::Char => Ok(Int),
                other => Err(type_error(format!("object of type '{}' has no len()", other.python_name()))),
            }
        }
        LibraryKind::Round => {
            count(1, 2)?;
            number(0)?;
            if args.len() == 1 {
                return Ok(Int);
            }
            integer(1)?;
            Ok(if args[0] == Float { Float } else { Int })
        }
        LibraryKind::Pow => {
            count(2, 3)?;
            (0..2).try_for_each(number)?;
            if args.len() == 3 {
                (0..3).try_for_each(integer)?;
                return Ok(Int);
            }
            Ok(if args.contains(&Float) { Float } else { Int })
        }
        LibraryKind::DivMod => {
            count(2, 2)?;
            (0..2).try_for_each(number)?;
            let part = if args.contains(&Float) { Float } else { Int };
            Ok(FunctionType::tuple([part.clone(), part]))
        }
        LibraryKind::Sum => match args {
            [Array(array)] => Ok(if array.loaded() == Float { Float } else { Int }),
            [Tuple(fields)] if fields.is_empty() => Ok(Int),
            [Tuple(fields)] => joined(fields, name).map(|sum| if sum == Bool { Int } else { sum }),
            _ => Err(type_error("sum() takes a tuple or an array")),
        },
        LibraryKind::Any | LibraryKind::All => match args {
            [Array(_) | Tuple(_)] => Ok(Bool),
            [other] => Err(type_error(format!("'{}' object is not iterable", other.python_name()))),
            _ => Err(type_error(format!("{name}() takes exactly one argument ({} given)", args.len()))),
        },
        LibraryKind::NewDict
        | LibraryKind::NewSet
        | LibraryKind::AddKey
        | LibraryKind::DictGet
        | LibraryKind::Element
        | LibraryKind::ValueAt
        | LibraryKind::IterationLength
        | LibraryKind::List(_)
        | LibraryKind::Where
        | LibraryKind::FullLike
        | LibraryKind::Eye
        | LibraryKind::Dot
        | LibraryKind::Mean
        | LibraryKind::Product
        | LibraryKind::ArgMin
        | LibraryKind::ArgMax => unreachable!("other files have the rules of these"),
        LibraryKind::Float { .. }
        | LibraryKind::Rounded(_)
        | LibraryKind::IsNan
        | LibraryKind::IsInf
        | LibraryKind::IsFinite
        | LibraryKind::Greater
        | LibraryKind::Less
        | LibraryKind::ToInt
        | LibraryKind::ToFloat
        | LibraryKind::ToBool
        | LibraryKind::Log
        | LibraryKind::Gcd
        | LibraryKind::Isqrt
        | LibraryKind::Chr
        | LibraryKind::CounterProduct
        | LibraryKind::Sign
        | LibraryKind::Square
        | LibraryKind::Power
        | LibraryKind::Narrow(_) => unreachable!("these have a signature"),
        LibraryKind::Filled(_) => {
            let sizes = sizes(args)?;
            array(builtin.dtype.unwrap_or(ScalarType::Float64), sizes)
        }
        LibraryKind::Full => {
            number(0)?;
            let element = builtin.dtype.unwrap_or(element_of(&args[0]));
            array(element, sizes(&args[1..])?)
        }
        LibraryKind::Arange => {
            count(1, 3)?;
            (0..args.len()).try_for_each(number)?;
            let has_float = args.contains(&Float);
            let element = if has_float { ScalarType::Float64 } else { ScalarType::Int64 };
            match builtin.dtype {
                Some(dtype) if has_float && !dtype.is_float() => Err(FunctionProblem::Unsupported {
                    rule: "dtype",
                    message: format!("arange() of floats as {dtype}"),
                    hint: "give integers, or leave the dtype out",
                }),
                dtype => array(dtype.unwrap_or(element), 1),
            }
        }
        LibraryKind::ArrayOf => match args {
            [] => Err(type_error("array() missing required argument 'object' (pos 0)")),
            _ => array_of_fields(builtin.dtype, args, name),
        },
        LibraryKind::ArrayFrom => match &args[0] {
            Array(known) => array(builtin.dtype.unwrap_or(known.element), known.rank),
            Tuple(fields) => array_of_fields(builtin.dtype, fields, name),
            other => Err(FunctionProblem::Unsupported {
                rule: "array-type",
                message: format!("an array of one {} has no axes", other.python_name()),
                hint: "np.array([x]) has one axis",
            }),
        },
        LibraryKind::NewList => match args {
            // What is appended decides: see `type_of_empty_list`.
            [] => Err(type_error("an empty list has no type")),
            _ => Ok(Array(ArrayOf::list(element_of(&joined(args, "list")?)))),
        },
        LibraryKind::Pop => match args {
            [Array(list)] if list.is_list => Ok(list.loaded()),
            [other, ..] => {
                let of = format!("'{}' object", other.python_name());
                Err(FunctionProblem::Attribute { of, name: "pop".to_owned() })
            }
            [] => Err(type_error("pop() takes a list")),
        },
        LibraryKind::Repeat => {
            number(0)?;
            integer(1)?;
            Ok(Array(ArrayOf::list(element_of(&args[0]))))
        }
        LibraryKind::Contains => match args.first().ok_or_else(missing)? {
            Array(_) | Tuple(_) if args[1].is_text() => Err(text()),
            Array(_) | Tuple(_) => {
                number(1)?;
                Ok(Bool)
            }
            of if of.is_text() && args[1].is_text() => Ok(Bool),
            of if of.is_text() => {
                let name = args[1].python_name();
                Err(type_error(format!("'in <string>' requires string as left operand, not {name}")))
            }
            other => Err(type_error(format!("argument of type '{}' is not iterable", other.python_name()))),
        },
        LibraryKind::FilledLike(_) => match args {
            [Array(known)] => array(builtin.dtype.unwrap_or(known.element), known.rank),
            _ => Err(type_error(format!("{name}() takes an array"))),
        },
        LibraryKind::Linspace => {
            count(2, 3)?;
            (0..2).try_for_each(number)?;
            if args.len() == 3 {
                integer(2)?;
            }
            array(ScalarType::Float64, 1)
        }
        LibraryKind::Append => match args {
            [Array(list), item] if list.is_list && item.is_number() => {
                list_takes(*list, item).map(|()| FunctionType::None)
            }
            [Array(list), item] if list.is_list => Err(FunctionProblem::Unsupported {
                rule: "list-element",
                message: format!("a list of {} in a list", item.python_name()),
                hint: "lists hold numbers",
            }),
            [other, ..] => {
                let of = format!("'{}' object", other.python_name());
                Err(FunctionProblem::Attribute { of, name: "append".to_owned() })
            }
            [] => Err(type_error("append() takes one argument")),
        },
        LibraryKind::Copy => match args {
            [Array(known)] => Ok(Array(*known)),
            _ => Err(type_error("copy() takes an array")),
        },
    }
}

/// Type of a function of numbers.
fn type_by_signature(
    builtin: LibraryFunction,
    signature: Signature,
    args: &[FunctionType],
) -> Result<FunctionType, FunctionProblem> {
    let Signature { least, most, integers, gives } = signature;
    let name = builtin.name().rsplit('.').next().unwrap_or_default();
    if !(least..=most).contains(&args.len()) {
        let given = args.len();
        return Err(type_error(format!("{name}() takes {least} to {most} arguments ({given} given)")));
    }
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
            hint: "arrays have 1 to 6 axes of float64, float32, int64, int32 or bool",
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
