//! Element-wise operations with numpy's rules: the machine computes, and errors are told as numpy would.
//!
//! ```text
//! operands ──types──> program, or an error ──shapes──> one shape, or an error ──flat──> elements ──> the shape again
//! ```
//!
//! [`ToExpr`](crate::dag::ToExpr) says which operators have the meaning of an operation. Texts that are put in order,
//! joined or chosen from beside numbers have none on the machine: they are put in order by the places of their tables, and
//! joined here, and the numbers become texts.

use crate::backend::broadcast::{shape_of, spread};
use crate::backend::compiled::ProgramError;
use crate::backend::error::OpError;
use crate::backend::one_node::{FIRST, OneNode, SECOND, THIRD};
use crate::dag::array::{Elements, TextArray, same_type};
use crate::dag::kind::{BinaryOp, Kind, NodeId, UnaryOp};
use crate::dag::to_text::to_text;
use crate::dag::{Array, DType, ValueType};
use cembra_vm::machine::CallError;
use ndarray::IxDyn;
use std::borrow::Cow;
use std::sync::Arc;

/// A function of each element.
///
/// # Errors
/// It is not defined for the type.
pub fn unary(op: UnaryOp, operand: &Array) -> Result<Array, OpError> {
    compute(op.numpy_name(), Kind::Unary(op, FIRST), &[operand], &[operand])
}

/// A function of each pair of elements.
///
/// # Errors
/// It is not defined for the types, the shapes do not broadcast, or an integer has a negative power.
pub fn binary(op: BinaryOp, left: &Array, right: &Array) -> Result<Array, OpError> {
    use BinaryOp::{Add, Greater, GreaterEqual, Less, LessEqual};
    match (op, left, right) {
        (Add, Array::Text(left), Array::Text(right)) => concatenate(left, right),
        (Less | LessEqual | Greater | GreaterEqual, Array::Text(left), Array::Text(right)) => {
            let [left, right] = places(left, right);
            binary(op, &left, &right)
        }
        _ => {
            let operands = [left, right];
            compute(op.numpy_name(), Kind::Binary(op, FIRST, SECOND), &operands, &operands)
        }
    }
}

/// `then` where the condition is true, else `otherwise`.
///
/// # Errors
/// The shapes do not broadcast.
pub fn where_(condition: &Array, then: &Array, otherwise: &Array) -> Result<Array, OpError> {
    let kind = Kind::Where { condition: FIRST, then: SECOND, otherwise: THIRD };
    let alike = alike(&[then, otherwise]);
    compute("where", kind, &[condition, &alike[0], &alike[1]], &[then, otherwise])
}

/// The value of the first clause that holds, else the default.
///
/// # Errors
/// A condition is no truth value, there are no clauses, or the shapes do not broadcast.
pub fn select(conditions: &[&Array], values: &[&Array], default: &Array) -> Result<Array, OpError> {
    if conditions.is_empty() {
        return Err(OpError::NoClauses);
    }
    if let Some(clause) = conditions.iter().position(|condition| condition.dtype() != DType::Bool) {
        return Err(OpError::ConditionNotBool { clause, dtype: conditions[clause].dtype() });
    }
    // Conditions are numbered before values: errors name shapes in this order.
    let count = conditions.len() as u32;
    let clauses = (1..=count).map(|number| (NodeId(number), NodeId(count + number))).collect();
    let kind = Kind::MultiClauseWhere { clauses, default: NodeId(2 * count + 1) };
    let chosen: Vec<&Array> = values.iter().copied().chain([default]).collect();
    let alike = alike(&chosen);
    let chosen: Vec<&Array> = alike.iter().map(|value| &**value).collect();
    let operands: Vec<&Array> = conditions.iter().copied().chain(chosen.iter().copied()).collect();
    compute("select", kind, &operands, &chosen)
}

/// What is chosen from: if one of them is of texts, all are.
fn alike<'a>(values: &[&'a Array]) -> Vec<Cow<'a, Array>> {
    let has_texts = values.iter().any(|value| value.dtype().is_text());
    let value = |value: &&'a Array| match has_texts && !value.dtype().is_text() {
        true => Cow::Owned(to_text(value)),
        false => Cow::Borrowed(*value),
    };
    values.iter().map(value).collect()
}

/// The result of an operation on operands that broadcast; `named` are those whose types an error names.
fn compute(
    operation: &'static str,
    kind: Kind,
    operands: &[&Array],
    named: &[&Array],
) -> Result<Array, OpError> {
    let is_power = matches!(kind, Kind::Binary(BinaryOp::Power, ..));
    let flat =
        |array: &&Array| ValueType::of_axes(array.dtype(), (!array.shape().is_empty()).then_some(false));
    let program = OneNode::find(kind, operands.iter().map(flat).collect())?;
    let dtypes = || named.iter().map(|array| array.dtype()).collect();
    let program = program.ok_or_else(|| OpError::NotDefined { operation, dtypes: dtypes() })?;
    let shape = shape_of(operands)?;
    let flat: Vec<Array> = operands.iter().map(|array| flattened(array, &shape)).collect();
    let result = program.run(&flat).map_err(|error| match error {
        ProgramError::Call(CallError::Run(error)) if is_power && !error.is_exhausted() => {
            OpError::NegativePower
        }
        error => error.into(),
    })?;
    Ok(reshaped(&result, &shape))
}

/// The elements of an array in a shape it broadcasts to, along one axis; a single value stays one.
fn flattened(array: &Array, shape: &[usize]) -> Array {
    match array.shape() {
        [] => array.clone(),
        own if own == shape => reshaped(array, &[array.len()]),
        _ => {
            let whole = same_type!(array, elements => spread(elements, shape).to_owned().into_shared());
            reshaped(&whole, &[whole.len()])
        }
    }
}

/// The elements in another shape, in row-major order.
pub(super) fn reshaped(array: &Array, shape: &[usize]) -> Array {
    fn elements<T: Clone>(elements: &Elements<T>, shape: &[usize]) -> Elements<T> {
        let in_order = elements.as_standard_layout().into_owned().into_shared();
        in_order.into_shape_with_order(IxDyn(shape)).expect("the shape has as many places")
    }
    same_type!(array, of_array => elements(of_array, shape))
}

/// The places of texts among all texts of both tables, in order.
fn places(left: &TextArray, right: &TextArray) -> [Array; 2] {
    let mut all: Vec<&Arc<str>> = left.table.iter().chain(right.table.iter()).collect();
    all.sort_unstable();
    all.dedup();
    [left, right].map(|texts| {
        let place = |text: &Arc<str>| all.partition_point(|other| *other < text) as i64;
        let places: Vec<i64> = texts.table.iter().map(place).collect();
        Array::Int64(texts.codes.mapv(|code| places[code as usize]).into_shared())
    })
}

/// Each pair of texts as one.
fn concatenate(left: &TextArray, right: &TextArray) -> Result<Array, OpError> {
    let shape = shape_of(&[&Array::Text(left.clone()), &Array::Text(right.clone())])?;
    let pairs = spread(&left.codes, &shape).into_iter().zip(spread(&right.codes, &shape));
    let joined: Vec<String> = pairs.map(|(l, r)| format!("{}{}", left.text(*l), right.text(*r))).collect();
    // A result without axes is a scalar of numpy's, which is as wide as its text.
    let width = if shape.is_empty() { 0 } else { left.width + right.width };
    let texts = TextArray::new(&joined, &shape, width);
    Ok(Array::Text(texts.expect("there is a text for each pair of the shape")))
}
