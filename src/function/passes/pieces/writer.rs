//! Writes instructions of the stage `low`, one behind the other.

use crate::function::low::{LowFunction, LowOp};
use crate::ssa::{BlockId, InstId, SsaOp, Tail};
use cembra_vm::program::instruction::Span;
use cembra_vm::value::qtype::BOOLEAN;
use cembra_vm::value::tuple::TupleType;
use cembra_vm::value::{QType, ScalarType, ScalarValue, Value};

/// Appends to a block of a function.
pub(super) struct LowWriter<'f> {
    pub(super) function: &'f mut LowFunction,
    pub(super) block: BlockId,
    pub(super) span: Span,
}

impl LowWriter<'_> {
    pub(super) fn push(&mut self, op: LowOp, args: Vec<InstId>, of: QType) -> InstId {
        self.function.types.push(Some(of));
        self.function.flow.push(self.block, SsaOp::Do(op), args, self.span)
    }

    pub(super) fn total(&mut self, name: &'static str, args: Vec<InstId>, of: QType) -> InstId {
        self.push(LowOp::Operator(name, false), args, of)
    }

    pub(super) fn literal(&mut self, value: Value) -> InstId {
        let of = value.qtype();
        self.push(LowOp::Literal(value), vec![], of)
    }

    pub(super) fn int(&mut self, value: i64) -> InstId {
        self.literal(Value::from(value))
    }

    /// True if all of some truth values are; none of none.
    pub(super) fn all(&mut self, truths: Vec<InstId>) -> Option<InstId> {
        truths.into_iter().reduce(|a, b| self.total("bool.logical_and", vec![a, b], BOOLEAN))
    }

    /// The values of a result.
    pub(super) fn parts(&mut self, whole: InstId, places: &[(u32, QType)]) -> Vec<InstId> {
        match places {
            [_] => vec![whole],
            _ => places.iter().map(|(at, of)| self.push(LowOp::Part(*at), vec![whole], of.clone())).collect(),
        }
    }

    /// Ends the function with values as its result.
    pub(super) fn finish(&mut self, results: Vec<InstId>) {
        let of = self.function.result.clone();
        let whole = match results[..] {
            [] => self.literal(Value::Scalar(ScalarValue::Unit)),
            [one] => one,
            _ => self.total("core.make_tuple", results, of),
        };
        let (block, span) = (&mut self.function.flow.blocks[self.block.index()], self.span);
        (block.tail, block.tail_span) = (Tail::Return(whole), span);
    }
}

/// The type of a result of values of these types; none of too many.
pub(super) fn result_type(types: Vec<QType>) -> Option<QType> {
    Some(match &types[..] {
        [] => QType::Scalar(ScalarType::Unit),
        [one] => one.clone(),
        _ => QType::Tuple(TupleType::new(types).ok()?),
    })
}

/// Offsets and types of the values of a result.
pub(super) fn result_places(result: &QType) -> Vec<(u32, QType)> {
    match (result, result.tuple()) {
        (QType::Scalar(ScalarType::Unit), _) => Vec::new(),
        (_, Some(tuple)) => {
            tuple.fields().iter().enumerate().map(|(at, of)| (tuple.offset(at), of.clone())).collect()
        }
        _ => vec![(0, result.clone())],
    }
}
