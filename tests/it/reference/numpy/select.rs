//! Choosing between arrays: `where` and the clauses of a multi-clause where. Numbers beside texts become texts.

use super::promote::{cast, truth, with_type};
use super::{common_shape, spread, texts_of};
use cembra::backend::OpError;
use cembra::dag::array::{Element, Elements, TextArray};
use cembra::dag::array_text::{Detail, value_text};
use cembra::dag::promotion::promote;
use cembra::dag::{Array, DType};
use ndarray::Zip;

/// `then` where the condition is true, else `otherwise`.
///
/// # Errors
/// The shapes do not broadcast.
pub fn where_(condition: &Array, then: &Array, otherwise: &Array) -> Result<Array, OpError> {
    choose(&[truth(condition)], &[then], otherwise)
}

/// The value of the first clause that holds, else the default.
///
/// # Errors
/// A condition is no truth value, there are no clauses, or the shapes do not broadcast.
pub fn select(conditions: &[&Array], values: &[&Array], default: &Array) -> Result<Array, OpError> {
    if conditions.is_empty() {
        return Err(OpError::NoClauses);
    }
    let condition = |(clause, condition): (usize, &&Array)| match condition {
        Array::Bool(elements) => Ok(elements.clone()),
        other => Err(OpError::ConditionNotBool { clause, dtype: other.dtype() }),
    };
    let conditions = conditions.iter().enumerate().map(condition).collect::<Result<Vec<_>, _>>()?;
    choose(&conditions, values, default)
}

fn choose(conditions: &[Elements<bool>], values: &[&Array], default: &Array) -> Result<Array, OpError> {
    let dtypes = || values.iter().map(|v| v.dtype()).chain([default.dtype()]);
    let promoted = values.iter().try_fold(default.dtype(), |dtype, v| promote(dtype, v.dtype()));
    let dtype = promoted.unwrap_or_else(|| DType::Text(dtypes().map(width).max().unwrap_or(1)));
    let conditions_first = conditions.iter().map(|c| c.shape());
    let shapes: Vec<&[usize]> =
        conditions_first.chain(values.iter().map(|v| v.shape())).chain([default.shape()]).collect();
    let shape = common_shape(&shapes)?;
    with_type!(
        dtype,
        T => {
            let values: Vec<_> = values.iter().map(|value| cast::<T>(value)).collect();
            Ok(T::wrap(overlay(conditions, &values, &cast::<T>(default), &shape)))
        },
        text => Ok(choose_texts(conditions, values, default, &shape, dtype))
    )
}

/// The default, and over it the values of the clauses from the last to the first.
fn overlay<T: Clone>(
    conditions: &[Elements<bool>],
    values: &[Elements<T>],
    default: &Elements<T>,
    shape: &[usize],
) -> Elements<T> {
    let mut chosen = spread(default, shape).to_owned();
    for (condition, value) in conditions.iter().zip(values).rev() {
        let over = |chosen: &mut T, holds: &bool, value: &T| {
            if *holds {
                *chosen = value.clone();
            }
        };
        Zip::from(&mut chosen).and(spread(condition, shape)).and(spread(value, shape)).for_each(over);
    }
    chosen.into_shared()
}

fn choose_texts(
    conditions: &[Elements<bool>],
    values: &[&Array],
    default: &Array,
    shape: &[usize],
    dtype: DType,
) -> Array {
    let texts = |array: &Array| match array {
        Array::Text(texts) => texts_of(array, texts),
        // A single value of numpy prints as it is written.
        numbers => {
            let alone = each_alone(numbers).iter().map(|v| value_text(v, Detail::Full)).collect();
            Elements::from_shape_vec(numbers.shape(), alone).expect("there is a text for each number")
        }
    };
    let values: Vec<_> = values.iter().map(|value| texts(value)).collect();
    let chosen = overlay(conditions, &values, &texts(default), shape);
    let chosen: Vec<&String> = chosen.iter().collect();
    let DType::Text(width) = dtype else { unreachable!("texts have a type of texts") };
    Array::Text(TextArray::new(&chosen, shape, width).expect("there is a text for each place of the shape"))
}

/// The characters of the longest text of a type.
fn width(dtype: DType) -> usize {
    match dtype {
        DType::Bool => "False".len(),
        DType::Int8 => i8::MIN.to_string().len(),
        DType::Int32 => i32::MIN.to_string().len(),
        // As many as the longest number of 64 bits without a sign has, and one for the sign.
        DType::Int64 => u64::MAX.to_string().len() + 1,
        DType::Float16 | DType::Float32 | DType::Float64 => 32,
        DType::Text(width) => width,
    }
}

/// Each element as an array without axes.
fn each_alone(array: &Array) -> Vec<Array> {
    with_type!(
        array.dtype(),
        T => cast::<T>(array).iter().map(|v| Array::from(*v)).collect(),
        text => unreachable!("texts are texts")
    )
}
