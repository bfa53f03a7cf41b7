//! Named results: the fields of a named tuple are columns of their own.
//!
//! ```text
//! speed = distance / time
//! namedtuple.make(speed=speed, energy=0.5 * mass * speed**2)      columns speed, energy
//! distance / time                                                 column  result
//! ```

use crate::expr::graph::Copier;
use crate::expr::{Expr, GraphError};
use crate::registry::derived::tuple;
use cembra_vm::value::ScalarValue;
use std::sync::Arc;

/// Name of the only result of an expression.
pub const RESULT: &str = "result";

/// The results of an expression, by name.
///
/// # Errors
/// Never for an expression within its own limit.
pub fn outputs(expr: &Expr) -> Result<Vec<(Arc<str>, Expr)>, GraphError> {
    let graph = expr.graph();
    let whole = || Ok(vec![(RESULT.into(), expr.clone())]);
    let Some(operator) = graph.operator(expr.root()) else { return whole() };
    let (tuple::MAKE, Some((names, values))) =
        (&**graph.name(operator), graph.operands(expr.root()).split_first())
    else {
        return whole();
    };
    let Some(ScalarValue::Text(names)) = graph.value(*names).and_then(|names| names.scalar()) else {
        return whole();
    };
    let mut copier = Copier::new();
    let names = names.split(',').map(|name| Arc::from(name.trim()));
    names.zip(values).map(|(name, value)| Ok((name, Expr::copied(&mut copier, graph, *value)?))).collect()
}
