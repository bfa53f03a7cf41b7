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
use crate::prepare::error::PrepareError;
use crate::prepare::extend::{CompileOperator, Emitter, Extension};
use crate::prepare::join::Source;
use crate::prepare::pipeline::Prepare;
use crate::prepare::prepared::Prepared;
use crate::registry::OperatorDef;
use cembra_vm::program::ValueId;
use cembra_vm::value::qtype::{INT64, OPTIONAL_UNIT};
use cembra_vm::value::{QType, Value};
use std::sync::Arc;

/// The prepare half.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reduce;

impl Extension for Reduce {
    fn name(&self) -> &str {
        "reduce"
    }

    fn operator(&self) -> &str {
        "seq.reduce"
    }

    fn transform(&self, draft: &mut Draft, id: NodeId) -> Result<Option<NodeId>, PrepareError> {
        let [op, seq, initial] = *draft.graph.operands(id) else { return Ok(None) };
        let Some(Literal::Operator(op)) = draft.graph.literal(op).cloned() else { return Ok(None) };
        let QType::Sequence(element) = *draft.qtype_of(seq) else { return Ok(None) };
        let result = draft.qtype_of(initial).clone();
        let body = body(draft, &op, result.clone(), QType::Scalar(element))?;
        let span = draft.graph.span(id);
        // The packed body is made for these types, so they are part of the name.
        let operator = draft.graph.symbol(&format!("packed_seq_reduce[{op}({result},{element})]"));
        let def = OperatorDef::new(
            draft.graph.name(operator),
            &["seq", "initial"],
            "A reduction whose operator is packed into it.",
            move |cx| cx.unchanged(cx.types[1].clone()),
        );
        draft.set_definition(operator, Arc::new(def));
        draft.pack(operator, Arc::new(PackedReduce { body, element: QType::Scalar(element), result }));
        let packed = draft.apply(operator, &[seq, initial], span);
        packed.map(Some).map_err(|error| PrepareError::of_node(span, draft.graph.name(operator), error))
    }
}

/// `op(accumulator, element)` as a prepared expression.
fn body(draft: &Draft, op: &str, accumulator: QType, element: QType) -> Result<Prepared, PrepareError> {
    let mut graph = Graph::new();
    let leaves = [graph.leaf("accumulator")?, graph.leaf("element")?];
    let operator = graph.symbol(op);
    let root = graph.apply(operator, &leaves)?;
    let source = Source {
        expr: Expr::new(&graph, root)?,
        inputs: vec![("accumulator".into(), accumulator), ("element".into(), element)],
        side_outputs: Vec::new(),
        registry: draft.registry.clone(),
        dialect: draft.dialect,
        node_limit: draft.graph.limit(),
    };
    Prepare::standard().run(source)
}

/// The compile half.
#[derive(Debug)]
struct PackedReduce {
    body: Prepared,
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
        emitter.operator("core._copy", &[*initial], accumulator)?;
        emitter.operator("seq.size", &[*seq], size)?;
        emitter.operator("core._copy", &[zero], i)?;
        let again = emitter.here();
        emitter.operator("core.less", &[i, size], more)?;
        let done = emitter.jump_if_not(more);
        emitter.operator("seq.at", &[*seq, i], element)?;
        emitter.inline(&self.body, &[accumulator, element], next)?;
        emitter.operator("core._copy", &[next], accumulator)?;
        emitter.operator("math.add", &[i, one], i)?;
        emitter.jump_back(again);
        emitter.land(done);
        emitter.operator("core._copy", &[accumulator], result)
    }
}
