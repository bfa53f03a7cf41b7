//! Which programs work row by row, so that batches of rows can be computed one after the other.
//!
//! | a node | is |
//! | --- | --- |
//! | a scalar that no column goes into | constant |
//! | a column; an operator of scalars or a function applied to rows, other operands constant | rows |
//! | an array among the inputs; a total operator of such arrays and constants | fixed: the same in every batch; good for a scalar made of it alone, which is constant |
//! | the shape of rows | shape: good only for a constant in every row of it |
//! | whether any row needs a value | need: good only for the jump over the value, which is constant to the rows that need it |
//! | anything else: aggregations, scans, edges, `array.*`, literal arrays | refused |
//!
//! An operator works row by row if its overload for arrays is the one that the machine makes of its
//! overload for scalars. What is not known to work row by row is refused.

use crate::columns::error::ColumnsError;
use crate::expr::{Expr, Node, NodeId};
use crate::prepare::Prepared;
use crate::prepare::draft::ROOT_OPERATOR;
use crate::prepare::emitter::RowErrors;
use crate::registry::Registry;
use cembra_vm::builtins::{aggregate, array, core};
use cembra_vm::operator::{Effects, Overload};
use cembra_vm::program::instruction::Span;
use cembra_vm::value::Value;
use cembra_vm::value::qtype::OPTIONAL_UNIT;
use std::collections::HashSet;
use std::sync::Arc;

/// What a node is to the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rate {
    Constant,
    Rows,
    /// Rows that are no rows of the files. Errors would name them, so that no operator of them may raise.
    Fixed,
    Shape,
    Need,
}

/// An operator without rows that may raise, and runs only if a row needs it. It raises for no row in particular.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WholeFault {
    /// The operator as the expression has it.
    pub operator: Arc<str>,
    /// Where it stands.
    pub span: Span,
}

/// How a program that works row by row raises.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowWise {
    /// The first operator that may raise for all rows at once.
    pub whole: Option<WholeFault>,
    /// True if an operator may raise for a row without naming it.
    pub is_unnamed: bool,
    /// True if the program reads an array among the inputs.
    pub reads_fixed_rows: bool,
}

/// Checks that every operator works row by row, and that of the arrays among the inputs, which are no columns, only scalars
/// are used.
///
/// # Errors
/// The first operator that does not, or the first such array that is used otherwise, as it stands in the expressions.
pub fn check(
    prepared: &Prepared,
    registry: &Registry,
    exprs: &[&Expr],
    inputs: &[(Arc<str>, Value)],
) -> Result<RowWise, ColumnsError> {
    let graph = prepared.graph();
    let mut rates: Vec<Rate> = vec![Rate::Constant; graph.len()];
    let needs = needs(prepared);
    let mut found = RowWise::default();
    for id in graph.post_order(&[prepared.root()]) {
        let rate = match array_input(prepared, id, inputs) {
            Some(_) => {
                found.reads_fixed_rows = true;
                Some(Rate::Fixed)
            }
            None => rate(prepared, registry, id, &rates),
        };
        rates[id.index()] = match rate {
            Some(rate) if rate != Rate::Fixed || id != prepared.root() => rate,
            None if needs.contains(&id) && is_need(prepared, id, &rates) => Rate::Need,
            _ => {
                return Err(refused(prepared, fixed_leaf(prepared, id, &rates).unwrap_or(id), exprs, inputs));
            }
        };
        found.is_unnamed |= row_errors(prepared, id) == Some(RowErrors::Unnamed);
        if let Some(value) = prepared.draft().jumped_over(id) {
            found.whole = found.whole.or_else(|| Some(whole_fault(prepared, value, exprs)));
        }
    }
    Ok(found)
}

/// The name of a leaf that is an array and not a column.
fn array_input<'p>(prepared: &'p Prepared, id: NodeId, inputs: &[(Arc<str>, Value)]) -> Option<&'p str> {
    let Node::Leaf(name) = prepared.graph().node(id) else { return None };
    prepared.qtype(id).array()?;
    let name = prepared.graph().name(name);
    inputs.iter().any(|(input, _)| input == name).then_some(name)
}

/// An array among the inputs that goes into a node, if one does.
fn fixed_leaf(prepared: &Prepared, mut id: NodeId, rates: &[Rate]) -> Option<NodeId> {
    let operands = |id: NodeId| prepared.graph().operands(id).iter();
    id = *operands(id).find(|operand| rates[operand.index()] == Rate::Fixed)?;
    while let Some(operand) = operands(id).find(|operand| rates[operand.index()] == Rate::Fixed) {
        id = *operand;
    }
    Some(id)
}

/// What errors of a packed operator say of rows, if it works row by row.
fn row_errors(prepared: &Prepared, id: NodeId) -> Option<RowErrors> {
    let packed = prepared.packed(id)?;
    let types = prepared.graph().operands(id).iter().map(|operand| prepared.qtype(*operand).storage());
    packed.compile.row_errors(&types.collect::<Vec<_>>())
}

/// Scalars that say whether any row needs the value of a jump, and what they are made of.
fn needs(prepared: &Prepared) -> HashSet<NodeId> {
    let graph = prepared.graph();
    let mut open: Vec<NodeId> = prepared.draft().row_jumps().map(|id| graph.operands(id)[0]).collect();
    let mut needs = HashSet::new();
    while let Some(id) = open.pop() {
        if *prepared.qtype(id) == OPTIONAL_UNIT && needs.insert(id) {
            open.extend(graph.operands(id));
        }
    }
    needs
}

/// True if a scalar of [`needs`] says no more of the rows than whether there is one.
fn is_need(prepared: &Prepared, id: NodeId, rates: &[Rate]) -> bool {
    let graph = prepared.graph();
    let mut operands = graph.operands(id).iter().map(|operand| rates[operand.index()]);
    let is_any = graph.operator(id).is_some_and(|operator| **graph.name(operator) == *aggregate::ANY_ROW);
    match is_any {
        true => operands.all(|rate| rate == Rate::Rows),
        false => operands.all(|rate| matches!(rate, Rate::Need | Rate::Constant)),
    }
}

fn whole_fault(prepared: &Prepared, id: NodeId, exprs: &[&Expr]) -> WholeFault {
    let (graph, span) = (prepared.graph(), prepared.graph().span(id));
    let lowered = || graph.operator(id).map_or_else(|| core::WHERE.into(), |op| graph.name(op).clone());
    WholeFault { operator: written(exprs, span).unwrap_or_else(lowered), span }
}

/// The error for a node, in the words of the expressions.
fn refused(prepared: &Prepared, id: NodeId, exprs: &[&Expr], inputs: &[(Arc<str>, Value)]) -> ColumnsError {
    let graph = prepared.graph();
    let span = graph.span(id);
    let what = match graph.operator(id) {
        Some(lowered) => {
            let operator = written(exprs, span).unwrap_or_else(|| graph.name(lowered).clone());
            format!("`{operator}` does not work row by row")
        }
        None => match array_input(prepared, id, inputs) {
            Some(name) => format!("input `{name}` has rows of its own"),
            None => "an array of the expression has rows of its own".to_owned(),
        },
    };
    ColumnsError::NotRowWise { what, span }
}

/// The operator that stands at a place of the expressions; preparation makes others of it.
fn written(exprs: &[&Expr], span: Span) -> Option<Arc<str>> {
    exprs.iter().filter(|_| !span.is_unknown()).find_map(|expr| {
        let graph = expr.graph();
        let mut nodes = (0..graph.len()).map(NodeId::at).filter(|id| graph.span(*id) == span);
        nodes.find_map(|id| Some(graph.name(graph.operator(id)?).clone()))
    })
}

/// What a node is; none if it is refused.
fn rate(prepared: &Prepared, registry: &Registry, id: NodeId, rates: &[Rate]) -> Option<Rate> {
    let graph = prepared.graph();
    let is_array = prepared.qtype(id).array().is_some();
    let operator = match graph.node(id) {
        Node::Leaf(_) if is_array => return Some(Rate::Rows),
        Node::Operator(operator, _) => graph.name(operator),
        _ => return (!is_array).then_some(Rate::Constant),
    };
    let operands: Vec<Rate> = graph.operands(id).iter().map(|operand| rates[operand.index()]).collect();
    match (&**operator, &operands[..]) {
        (ROOT_OPERATOR, operands) => (!operands.contains(&Rate::Fixed)).then_some(Rate::Constant),
        (_, operands) if operands.contains(&Rate::Fixed) => {
            let is_alone = operands.iter().all(|rate| matches!(rate, Rate::Fixed | Rate::Constant));
            let rate = if is_array { Rate::Fixed } else { Rate::Constant };
            (is_alone && is_total(prepared, id)).then_some(rate)
        }
        (array::SHAPE_OF, [Rate::Rows]) => Some(Rate::Shape),
        (array::CONST, [Rate::Shape, Rate::Constant]) => Some(Rate::Rows),
        (array::OF_SHAPE, [Rate::Shape, Rate::Rows]) => Some(Rate::Rows),
        (core::HAS_ARRAY, [Rate::Rows]) => Some(Rate::Rows),
        // Rows that do not need the value do not look at what stands for it.
        (core::WHERE, [Rate::Need, Rate::Constant, Rate::Constant]) => {
            prepared.draft().jumped_over(id).map(|_| Rate::Constant)
        }
        (_, operands) if operands.iter().all(|rate| *rate == Rate::Constant) => {
            (!is_array).then_some(Rate::Constant)
        }
        (_, operands) if operands.contains(&Rate::Shape) || operands.contains(&Rate::Need) => None,
        _ if row_errors(prepared, id).is_some() => Some(Rate::Rows),
        _ => {
            let overload = prepared.signature(id)?.overload.as_deref()?;
            is_of_rows(overload, registry).then_some(Rate::Rows)
        }
    }
}

/// True for an operator that raises for no row.
fn is_total(prepared: &Prepared, id: NodeId) -> bool {
    let exact = || prepared.signature(id)?.overload.as_deref().map(Overload::effects);
    let effects = prepared.packed(id).map(|packed| packed.compile.effects()).or_else(exact);
    effects == Some(Effects::Total)
}

/// True if an overload of arrays is made of one of scalars.
fn is_of_rows(overload: &Overload, registry: &Registry) -> bool {
    let find = || {
        let family = registry.get(overload.name())?.family.as_ref()?;
        if family.overloads().iter().any(|listed| listed.accepts(overload.args().iter())) {
            return None;
        }
        let (_, rows) = family.single(overload.args())?;
        (rows.result().scalar()? == overload.result().array()?.element).then_some(())
    };
    find().is_some()
}
