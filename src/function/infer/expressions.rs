//! Types of expressions of whole arrays: operators, comparisons, and functions of numbers on every element.
//!
//! ```text
//! x: float64 (n)    x * 2       float64 (n)    each element as a number of a function: float, int, bool
//! m: int64 (n, k)   m / m[0]    float64 (n, k)      shapes as numpy joins them
//! ```
//!
//! Elements are FLOAT64, INT64 and BOOLEAN: what numbers of a function are. Of other elements numpy and the compilers of
//! Python functions disagree about the type beside a number, and they are converted by `astype` before.

use super::calls::array;
use super::rules::{self, is_order, sign_of, sign_of_compare, sign_of_unary};
use crate::function::constant::Constant;
use crate::function::error::FunctionProblem;
use crate::function::op::FunctionOp;
use crate::function::types::{ArrayOf, FunctionType};
use crate::python::{BinaryOp, CompareOp, UnaryOp};
use cembra_vm::value::ScalarType;

fn refused(what: &str, hint: &'static str) -> FunctionProblem {
    FunctionProblem::Unsupported {
        rule: "array-expression",
        message: format!("{what} in an expression of whole arrays"),
        hint,
    }
}

/// The number that an operand has for each element, and its axes.
fn element_and_rank(what: &str, of: &FunctionType) -> Result<(FunctionType, usize), FunctionProblem> {
    match of {
        FunctionType::Array(ArrayOf { is_list: true, .. }) => {
            Err(refused(&format!("{what} of a list"), "np.array(l), or a loop over the elements"))
        }
        FunctionType::Array(array) => match array.element {
            ScalarType::Float64 | ScalarType::Int64 | ScalarType::Boolean => Ok((array.loaded(), array.rank)),
            other => Err(refused(
                &format!("{what} of elements of {}", other.name().to_ascii_lowercase()),
                "a.astype(np.float64) or a.astype(np.int64) before",
            )),
        },
        of if of.is_number() => Ok((of.clone(), 0)),
        of => Err(refused(&format!("{what} of {}", of.python_name()), "a loop over the elements")),
    }
}

/// The array of results that are these numbers.
fn array_of(element: &FunctionType, rank: usize) -> Result<FunctionType, FunctionProblem> {
    array(element.element().unwrap_or(ScalarType::Float64), rank)
}

/// Type of what an operation on the elements of some operands, of which one is an array, gives for all of them.
pub(super) fn of_elements(
    what: &str,
    args: &[&FunctionType],
    of_numbers: impl FnOnce(&[FunctionType]) -> Result<FunctionType, FunctionProblem>,
) -> Result<FunctionType, FunctionProblem> {
    let (mut numbers, mut most) = (Vec::new(), 0);
    for arg in args {
        let (number, rank) = element_and_rank(what, arg)?;
        numbers.push(number);
        most = most.max(rank);
    }
    array_of(&of_numbers(&numbers)?, most)
}

/// Type of the result of an operation, on arrays or on anything else.
pub(super) fn type_of(
    op: &FunctionOp,
    args: &[FunctionType],
    last: Option<&Constant>,
) -> Result<FunctionType, FunctionProblem> {
    // What may be None equals nothing else, and is an error in any other operation: a test is put before that.
    let may_be_none = matches!(op, FunctionOp::Compare(op) if !is_order(*op));
    let operand = |of| if may_be_none { of } else { FunctionType::without_none(of) };
    let operands: Vec<&FunctionType> = args.iter().map(operand).collect();
    if !operands.iter().any(|of| matches!(of, FunctionType::Array(of) if !of.is_list)) {
        return rules::type_of(op, args, last);
    }
    match (op, &operands[..]) {
        (FunctionOp::Unary(op), [x]) if *op != UnaryOp::Not => unary(*op, x),
        (FunctionOp::InPlace(op), [FunctionType::Array(x), y]) if !x.is_list => in_place(*op, *x, y),
        (FunctionOp::Binary(op) | FunctionOp::InPlace(op), _) => {
            let what = format!("`{}`", sign_of(*op));
            of_elements(&what, &operands, |numbers| number_of(*op, &what, numbers))
        }
        (FunctionOp::Compare(op), _) if !matches!(op, CompareOp::Is | CompareOp::IsNot) => {
            let what = format!("`{}`", sign_of_compare(*op));
            of_elements(&what, &operands, |_| Ok(FunctionType::Bool))
        }
        _ => rules::type_of(op, args, last),
    }
}

/// The number that an operator gives for elements. Truths are no numbers to calculate with: numpy has rules of its own for them.
fn number_of(op: BinaryOp, what: &str, numbers: &[FunctionType]) -> Result<FunctionType, FunctionProblem> {
    let is_of_bits = matches!(op, BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor);
    if op == BinaryOp::MatMul {
        return Err(refused(what, "np.dot(x, y) of one axis, or loops"));
    }
    if !is_of_bits && numbers.iter().all(|of| *of == FunctionType::Bool) {
        return Err(refused(&format!("{what} of truths"), "a.astype(np.int64) before"));
    }
    rules::type_of(&FunctionOp::Binary(op), numbers, None)
}

/// `x op= y`: the array stays what it is.
pub(super) fn in_place(op: BinaryOp, x: ArrayOf, y: &FunctionType) -> Result<FunctionType, FunctionProblem> {
    let (what, of) = (format!("`{}=`", sign_of(op)), FunctionType::Array(x));
    let (number, rank) = element_and_rank(&what, y)?;
    let (element, _) = element_and_rank(&what, &of)?;
    if rank > x.rank {
        return Err(FunctionProblem::Value {
            message: format!("an array of {rank} axes does not fit in place into one of {}", x.rank),
        });
    }
    match number_of(op, &what, &[element.clone(), number])? {
        found if found == element => Ok(of),
        found => Err(FunctionProblem::Unsupported {
            rule: "array-expression",
            message: format!(
                "{what} gives a {}, which elements of {} do not hold",
                found.python_name(),
                x.element.name().to_ascii_lowercase()
            ),
            hint: "a = a * x, a new array",
        }),
    }
}

/// `-x`, `+x`, `~x`.
fn unary(op: UnaryOp, x: &FunctionType) -> Result<FunctionType, FunctionProblem> {
    let what = format!("unary `{}`", sign_of_unary(op));
    of_elements(&what, &[x], |numbers| match (&numbers[0], op) {
        // Of truths the opposite.
        (FunctionType::Bool, UnaryOp::Invert) => Ok(FunctionType::Bool),
        (FunctionType::Bool, _) => Err(refused(&format!("{what} of truths"), "a.astype(np.int64) before")),
        (number, _) => rules::type_of(&FunctionOp::Unary(op), std::slice::from_ref(number), None),
    })
}
