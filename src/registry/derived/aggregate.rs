//! Aggregations of arrays. Those that need fractions cast integers first, as dividing does: to FLOAT32 in
//! the published dialect, to FLOAT64 in ours.

use crate::expr::Literal;
use crate::registry::define::{Lowered, OperatorDef};
use crate::registry::dialect::Dialect;
use crate::registry::infer::{InferContext, Resolution, TypeError};
use cembra_vm::value::qtype::{BOOLEAN, OPTIONAL_UNIT};
use cembra_vm::value::{QType, ScalarType, Value};

/// The definitions of this file.
pub fn definitions() -> Vec<OperatorDef> {
    let numbers = ["math.sum", "math.prod", "math.min", "math.max", "math.median", "math.argmin", "math.argmax"];
    let reals = ["math.mean", "math.skew", "math.kurtosis"];
    let numbers = numbers.into_iter().map(|name| aggregation(name, |_, element| element));
    let reals = reals.into_iter().map(|name| aggregation(name, real));
    let spreads = ["math.var", "math.std"].into_iter().map(spread);
    numbers.chain(reals).chain(spreads).chain([quantifier("core.all", "core._all_rows"), quantifier("core.any", "core._any_row")]).collect()
}

/// The float that a fraction of these numbers is.
fn real(dialect: Dialect, element: ScalarType) -> ScalarType {
    match (element.is_integer(), dialect) {
        (true, Dialect::Arolla) => ScalarType::Float32,
        (true, Dialect::Cembra) => ScalarType::Float64,
        (false, _) => element,
    }
}

type CastRows = fn(Dialect, ScalarType) -> ScalarType;
