//! Raising: which operators may raise where no row needs them, and how they are kept from it.
//!
//! An operator on whole arrays, a slice, may raise and has rows that nobody can count beforehand: nothing can stand for
//! it. What uses it and has a default, a sum, is jumped over with it.

use crate::expr::NodeId;
use crate::prepare::draft::Draft;
use crate::prepare::lower::BUILTINS;
use crate::prepare::rows::needs::RowNeeds;
use cembra_vm::value::QType;

/// How an operator may raise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Raising {
    /// Each row by itself.
    ByRow,
    /// As a whole.
    Whole,
}

/// By node: how it may raise, or what it uses and is jumped over with.
pub fn raising_nodes(draft: &Draft, needs: &RowNeeds, reached: &[bool]) -> Vec<Option<Raising>> {
    let of_node = |index: usize| raising(draft, NodeId::at(index)).filter(|_| reached[index]);
    let mut raising: Vec<Option<Raising>> = (0..reached.len()).map(of_node).collect();
    pass_on(draft, needs, &mut raising);
    raising
}

fn raising(draft: &Draft, id: NodeId) -> Option<Raising> {
    let operator = draft.graph.operator(id)?;
    let signature = draft.signature(id)?;
    let rows = draft.qtype_of(id);
    match &signature.overload {
        // What an extension makes of an operator is not known yet.
        None => (!BUILTINS.contains(&&**draft.graph.name(operator))).then_some(Raising::Whole),
        Some(overload) => match overload.row_effects() {
            Some(effects) if !effects.is_total() && (rows.array().is_some() || rows.nd().is_some()) => {
                Some(Raising::ByRow)
            }
            // Arrays of different sizes: the choice would raise for them as well.
            Some(_) => None,
            None => (overload.may_raise() || draft.fault(id).is_some()).then_some(Raising::Whole),
        },
    }
}

/// True if something can stand for a value that is jumped over: a zero, or rows as many as the mask has.
fn has_default(draft: &Draft, needs: &RowNeeds, id: NodeId) -> bool {
    match draft.qtype_of(id) {
        QType::Array(_) => needs.is_by_row(needs.of(id)),
        qtype => qtype.nd().is_none(),
    }
}

/// Has what uses an operator without a default, and has one itself, jumped over: `sum(slice(x, 2, 9))` as a whole.
fn pass_on(draft: &Draft, needs: &RowNeeds, raising: &mut [Option<Raising>]) {
    // By node: true if evaluating it may raise, and no jump of its own or of an operand keeps it from running.
    let mut passes = vec![false; raising.len()];
    for index in 0..raising.len() {
        let id = NodeId::at(index);
        if draft.graph.operator(id).is_none() || needs.jumps(needs.of(id)) {
            continue;
        }
        let uses = draft.graph.operands(id).iter().any(|operand| passes[operand.index()]);
        let may_raise = uses || raising[index] == Some(Raising::Whole);
        match has_default(draft, needs, id) {
            true if uses && raising[index].is_none() => raising[index] = Some(Raising::Whole),
            true => passes[index] = uses && raising[index] == Some(Raising::ByRow),
            false => passes[index] = may_raise,
        }
    }
}
