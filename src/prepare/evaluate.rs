//! Evaluation of one exact node whose operands are literals.
//!
//! It applies the very operator a program would run, so the bits are the same. A node that raises is
//! not an error here: it may stand in a branch that is never taken. It stays, with its fault noted; the
//! last step decides whether some evaluation must reach it. Operators of the host are not called at
//! compile time, and sequences are not computed, because they may be large. [`FoldLimits`] bound what is computed and
//! kept; a node beyond them stays as well, and is computed by every run.

use crate::expr::NodeId;
use crate::prepare::draft::Draft;
use crate::prepare::fold_limits::FoldLimits;
use crate::registry::define::LowerError;
use crate::registry::derived::{cast, presence, tuple};
use cembra_vm::machine::RunErrorKind;
use cembra_vm::machine::invoke::{InvokeError, Invoker};
use cembra_vm::operator::Effects;
use cembra_vm::value::{Budget, Fault, QType, ScalarValue, Value};

impl Draft {
    /// Drops the programs that folding has kept.
    pub(super) fn end_folding(&mut self) {
        self.invoker = Invoker::default();
    }

    /// Evaluates an exact operator node of literals, if folding is on. A node that raises stays, with
    /// its fault noted.
    ///
    /// # Errors
    /// The graph is full.
    pub fn fold_exact(&mut self, id: NodeId) -> Result<NodeId, LowerError> {
        if !self.folding || self.fault(id).is_some() {
            return Ok(id);
        }
        let operands = self.graph.operands(id);
        if !operands.iter().all(|o| self.graph.literal(*o).is_some()) {
            return Ok(id);
        }
        match evaluate(self, id) {
            Some(Ok(value)) => Ok(self.value_node(value)?),
            Some(Err(fault)) => {
                self.set_fault(id, fault);
                Ok(id)
            }
            None => Ok(id),
        }
    }
}

/// Evaluates an exact operator node of literals: its value, the fault it raises, or nothing if it must
/// not or cannot be evaluated now.
fn evaluate(draft: &mut Draft, id: NodeId) -> Option<Result<Value, Fault>> {
    let operands = draft.graph.operands(id);
    let operator = draft.graph.name(draft.graph.operator(id)?);
    let signature = draft.signature(id)?;
    let result = draft.get_type(signature.result);
    match &**operator {
        cast::UPCAST | cast::DOWNCAST => {
            return Some(Ok(retyped(draft.graph.value(operands[1])?, result)));
        }
        tuple::GET_NTH => {
            return nth(draft.graph.value(operands[0])?, draft.graph.value(operands[1])?).map(Ok);
        }
        presence::HAS_OPTIONAL => {
            let present = !matches!(draft.graph.value(operands[0])?, Value::Missing(_));
            return Some(Ok(Value::presence(present)));
        }
        _ => {}
    }
    let (overload, result_type) = (signature.overload.clone()?, signature.result);
    if overload.effects() == Effects::Host || matches!(result, QType::Sequence(_)) {
        return None;
    }
    let args: Option<Vec<Value>> = operands.iter().map(|o| draft.graph.value(*o).cloned()).collect();
    let (args, FoldLimits { rows, bytes_alive, .. }) = (args?, draft.fold_limits);
    let budget = Budget::new().rows(rows).bytes_alive(bytes_alive);
    match draft.invoker.invoke(&overload, &args, &budget) {
        Ok(value) => {
            let folded = retyped(&value, draft.get_type(result_type));
            draft.fold_limits.take(&args, &value).then_some(Ok(folded))
        }
        Err(InvokeError::Run(RunErrorKind::Fault(Fault::Exhausted(_)))) => None,
        Err(InvokeError::Run(RunErrorKind::Fault(fault))) => Some(Err(fault)),
        Err(_) => None,
    }
}

/// The same bits as a value of another type of equal storage.
fn retyped(value: &Value, qtype: &QType) -> Value {
    use cembra_vm::value::ScalarType::{Float64, WeakFloat};
    let scalar = |v: &ScalarValue| match (v, qtype.scalar()) {
        (ScalarValue::Float64(x), Some(WeakFloat)) => ScalarValue::WeakFloat(*x),
        (ScalarValue::WeakFloat(x), Some(Float64)) => ScalarValue::Float64(*x),
        _ => v.clone(),
    };
    match (value, qtype) {
        (Value::Scalar(v), _) => Value::Scalar(scalar(v)),
        (Value::Present(v), _) => Value::Present(scalar(v)),
        (Value::Missing(_), QType::Optional(t)) => Value::Missing(*t),
        (Value::Tuple(fields), QType::Tuple(t)) => {
            let fields: Vec<Value> =
                fields.fields().iter().zip(t.fields()).map(|(v, q)| retyped(v, q)).collect();
            Value::of_tuple_type(t.clone(), fields)
        }
        _ => value.clone(),
    }
}

fn nth(tuple: &Value, index: &Value) -> Option<Value> {
    let index = usize::try_from(index.scalar()?.as_i64()?).ok()?;
    match tuple {
        Value::Tuple(t) => t.fields().get(index).cloned(),
        _ => None,
    }
}
