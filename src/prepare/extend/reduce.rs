//! `seq.reduce`: the worked example of an extension.
//!
//! Prepare half: the operator literal becomes an expression of its own, `op(accumulator, element)`,
//! prepared with casts, folding and all, and packed into the node. Compile half: a loop that evaluates
//! it for each element.
//!
//! ```text
//!           result = initial; size = seq.size(seq); i = 0
//! again:    more = i < size
//!           jump_if_not(more) done
//!           element = seq.at(seq, i)
//!           next = op(result, element)
//!           result = next
//!           i = i + 1
//!           jump again
//! done:
//! ```

use crate::expr::{Expr, Graph, Literal, NodeId};
use crate::prepare::draft::Draft;
use crate::prepare::emitter::{CompileOperator, Emitter};
use crate::prepare::error::PrepareError;
use crate::prepare::extend::{Extension, PackedNode};
use crate::prepare::join::Source;
use crate::prepare::prepared::{Packed, Prepared};
use crate::registry::OperatorDef;
use crate::registry::derived::sequence;
use cembra_vm::builtins::{core, math, seq};
use cembra_vm::program::ValueId;
use cembra_vm::value::qtype::{INT64, OPTIONAL_UNIT};
use cembra_vm::value::{QType, Value};
use std::sync::Arc;

/// The prepare half.
#[derive(Clone)]
pub struct Reduce {
    prepare: Arc<PrepareBody>,
}

/// Prepares the expression that a reduction repeats.
type PrepareBody = dyn Fn(Source) -> Result<Prepared, PrepareError> + Send + Sync;

impl Reduce {
    /// Reductions whose bodies are prepared by this function.
    pub fn new(prepare: impl Fn(Source) -> Result<Prepared, PrepareError> + Send + Sync + 'static) -> Reduce {
        Reduce { prepare: Arc::new(prepare) }
    }
}

impl Extension for Reduce {
    fn name(&self) -> &str {
        "reduce"
    }

    fn operator(&self) -> &str {
        sequence::REDUCE
    }

    fn transform(&self, draft: &mut Draft, id: NodeId) -> Result<Option<PackedNode>, PrepareError> {
        let [op, seq, initial] = *draft.graph.operands(id) else { return Ok(None) };
        let Some(Literal::Operator(op)) = draft.graph.literal(op) else { return Ok(None) };
        let QType::Sequence(element) = *draft.qtype_of(seq) else { return Ok(None) };
        let (element, result) = (QType::Scalar(element), draft.qtype_of(initial).clone());
        let body = (self.prepare)(body(draft, op, result.clone(), element.clone())?)?;
        // The packed body is made for these types, so they are part of the name.
        let operator = OperatorDef::new(
            &format!("packed_seq_reduce[{op}({result},{element})]"),
            &["seq", "initial"],
            "A reduction whose operator is packed into it.",
            |cx| cx.unchanged(cx.types[1].clone()),
        );
        let packed = Packed { compile: Arc::new(PackedReduce { element, result }), bodies: vec![body] };
        Ok(Some(PackedNode { operator, operands: vec![seq, initial], packed }))
    }
}

/// `op(accumulator, element)`, to be prepared.
fn body(draft: &Draft, op: &str, accumulator: QType, element: QType) -> Result<Source, PrepareError> {
    let mut graph = Graph::new();
    let leaves = [graph.leaf("accumulator")?, graph.leaf("element")?];
    let operator = graph.symbol(op);
    let root = graph.apply(operator, &leaves)?;
    Ok(Source {
        expr: Expr::new(&graph, root)?,
        inputs: vec![("accumulator".into(), accumulator), ("element".into(), element)],
        side_outputs: Vec::new(),
        registry: draft.registry.clone(),
        dialect: draft.dialect,
        node_limit: draft.graph.limit(),
    })
}

/// Number of the body among those packed into the operator.
const BODY: usize = 0;

/// The compile half.
#[derive(Debug)]
struct PackedReduce {
    element: QType,
    result: QType,
}

impl CompileOperator for PackedReduce {
    fn emit(
        &self,
        emitter: &mut dyn Emitter,
        operands: &[ValueId],
        result: ValueId,
    ) -> Result<(), PrepareError> {
        let [seq, initial] = operands else { return Ok(()) };
        let (zero, one) = (emitter.literal(Value::from(0i64)), emitter.literal(Value::from(1i64)));
        let (size, i) = (emitter.temporary(INT64), emitter.temporary(INT64));
        let (accumulator, next) =
            (emitter.temporary(self.result.clone()), emitter.temporary(self.result.clone()));
        let (more, element) = (emitter.temporary(OPTIONAL_UNIT), emitter.temporary(self.element.clone()));
        emitter.operator(core::COPY, &[*initial], accumulator)?;
        emitter.operator(seq::SIZE, &[*seq], size)?;
        emitter.operator(core::COPY, &[zero], i)?;
        let again = emitter.here();
        emitter.operator(core::LESS, &[i, size], more)?;
        let done = emitter.jump_if_not(more);
        emitter.operator(seq::AT, &[*seq, i], element)?;
        emitter.inline(BODY, &[accumulator, element], next)?;
        emitter.operator(core::COPY, &[next], accumulator)?;
        emitter.operator(math::ADD, &[i, one], i)?;
        emitter.jump_back(again);
        emitter.land(done);
        emitter.operator(core::COPY, &[accumulator], result)
    }
}
