//! The user functions that program files can name.
//!
//! | name | arguments | result |
//! | --- | --- | --- |
//! | `add`, `mul` | x, y | x + y, x * y |
//! | `identity` | x | x |
//! | `divide5` | x | x / 5 |
//! | `sum_kwargs` | any keywords | their sum, in the order of the keywords |
//! | `scale2` | k0=, k1= | k0 + k1 |
//! | `scale3` | k0, k1, k2=, k3=, scaled2= | k0 + (k1 + (k2 + (k3 + scaled2))) |
//! | `affine` | x, scale=, shift= | x * scale + shift |

use crate::backend::elementwise::binary;
use crate::backend::{Arguments, Function, UserFunctionError};
use crate::dag::Array;
use crate::dag::kind::BinaryOp;

/// The function of a name.
pub fn named(name: &str) -> Option<Function> {
    let body = match name {
        "add" => add,
        "mul" => mul,
        "identity" => identity,
        "divide5" => divide5,
        "sum_kwargs" => sum_kwargs,
        "scale2" => scale2,
        "scale3" => scale3,
        "affine" => affine,
        _ => return None,
    };
    Some(Function::new(body))
}

type Outcome = Result<Array, UserFunctionError>;

fn plus(left: &Array, right: &Array) -> Outcome {
    Ok(binary(BinaryOp::Add, left, right)?)
}

fn times(left: &Array, right: &Array) -> Outcome {
    Ok(binary(BinaryOp::Multiply, left, right)?)
}

fn add(arguments: &Arguments<'_>) -> Outcome {
    let [x, y] = arguments.exactly()?;
    plus(x, y)
}

fn mul(arguments: &Arguments<'_>) -> Outcome {
    let [x, y] = arguments.exactly()?;
    times(x, y)
}

fn identity(arguments: &Arguments<'_>) -> Outcome {
    let [x] = arguments.exactly()?;
    Ok(x.clone())
}

fn divide5(arguments: &Arguments<'_>) -> Outcome {
    let [x] = arguments.exactly()?;
    Ok(binary(BinaryOp::Divide, x, &Array::from(5_i64))?)
}

fn sum_kwargs(arguments: &Arguments<'_>) -> Outcome {
    arguments.first::<0>()?;
    let mut keyword = arguments.keyword().to_vec();
    keyword.sort_by_key(|(name, _)| *name);
    keyword.into_iter().try_fold(Array::from(0_i64), |sum, (_, value)| plus(&sum, value))
}

fn scale2(arguments: &Arguments<'_>) -> Outcome {
    arguments.expect_keywords(&["k0", "k1"])?;
    arguments.first::<0>()?;
    plus(arguments.get("k0")?, arguments.get("k1")?)
}

fn scale3(arguments: &Arguments<'_>) -> Outcome {
    arguments.expect_keywords(&["k2", "k3", "scaled2"])?;
    let [k0, k1] = arguments.first()?;
    let sum = plus(arguments.get("k3")?, arguments.get("scaled2")?)?;
    plus(k0, &plus(k1, &plus(arguments.get("k2")?, &sum)?)?)
}

fn affine(arguments: &Arguments<'_>) -> Outcome {
    arguments.expect_keywords(&["scale", "shift"])?;
    let [x] = arguments.first()?;
    plus(&times(x, arguments.get("scale")?)?, arguments.get("shift")?)
}
