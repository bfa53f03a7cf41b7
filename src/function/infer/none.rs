//! None: ways that the types of what is compared with it rule out, and operands that must not be it.
//!
//! ```text
//! y is None       y: none → always    y: a number → never    y: optional(number) → not known
//! y + 1.0         y: optional(float) → z = notnone y "unsupported operand type(s) for +: …";  z + 1.0
//! ```
//!
//! A way that is never taken leads to no types: `if y is None: y = 1.0` makes a float of what is None or a float. When all
//! types are known, ways that no type allows are gone from the flow, and so are the blocks behind them.

use super::Instance;
use super::library::wants_numbers;
use super::rules::{is_order, sign_of, sign_of_compare, sign_of_unary};
use crate::function::op::{FunctionOp, none_test};
use crate::function::types::FunctionType;
use crate::python::UnaryOp;
use crate::ssa::{BlockId, Flow, InstId, SsaOp, Tail, remove_known_ways};
use hashbrown::HashMap;
use std::sync::Arc;

/// The ways behind a condition that control may take.
enum Ways {
    All,
    /// That of a condition that is always true, or always false.
    One(bool),
    /// What is compared has no type yet.
    NotKnown,
}

fn ways(flow: &Flow<FunctionOp>, types: &[Option<FunctionType>], condition: InstId) -> Ways {
    let Some((value, is_none)) = none_test(flow, condition) else { return Ways::All };
    match &types[value.index()] {
        None => Ways::NotKnown,
        Some(FunctionType::Optional(_)) => Ways::All,
        Some(of) => Ways::One((*of == FunctionType::None) == is_none),
    }
}

/// True if control may go from one block to another, as far as its types say.
fn leads(instance: &Instance, from: BlockId, to: BlockId) -> bool {
    let flow = &instance.function.flow;
    let Tail::Branch { condition, then, orelse } = flow.block(from).tail else { return true };
    match ways(flow, &instance.types, condition) {
        Ways::All => true,
        Ways::One(truth) => to == if truth { then } else { orelse },
        Ways::NotKnown => false,
    }
}

/// Notes where control may go on behind a block that it comes to; true if it came to none of them before.
pub(super) fn go_on(instance: &mut Instance, block: BlockId) -> bool {
    let mut is_new = false;
    for to in instance.function.flow.block(block).tail.successors() {
        if !instance.reached[to.index()] && leads(instance, block, to) {
            instance.reached[to.index()] = true;
            is_new = true;
        }
    }
    is_new
}

/// The operands of a phi that control may come with.
pub(super) fn operands_of_phi(instance: &Instance, block: BlockId, phi: InstId) -> Vec<InstId> {
    let flow = &instance.function.flow;
    let args = flow.block(block).predecessors.iter().zip(&flow.inst(phi).args);
    let comes = |from: BlockId| instance.reached[from.index()] && leads(instance, from, block);
    args.filter(|(from, _)| comes(**from)).map(|(_, arg)| *arg).collect()
}

/// Takes the ways out of the flow that its types do not allow, and puts a test before each operand that must not be None.
pub(super) fn settle_none(instance: &mut Instance) {
    let flow = &instance.function.flow;
    let loses_a_way = |block: BlockId| match flow.block(block).tail {
        Tail::Branch { condition, .. } => !matches!(ways(flow, &instance.types, condition), Ways::All),
        _ => false,
    };
    if flow.block_ids().any(loses_a_way) {
        let mut function = (*instance.function).clone();
        let types = &instance.types;
        remove_known_ways(&mut function.flow, |flow, condition| match ways(flow, types, condition) {
            Ways::One(truth) => Some(truth),
            Ways::All | Ways::NotKnown => None,
        });
        instance.function = Arc::new(function);
        instance.untyped = instance.function.clone();
    }
    if instance.types.iter().flatten().any(|of| matches!(of, FunctionType::Optional(_))) {
        test_operands(instance);
    }
}

fn test_operands(instance: &mut Instance) {
    let mut function = (*instance.function).clone();
    let flow = &mut function.flow;
    for block in flow.block_ids() {
        // What was tested in this block is known for the rest of it.
        let mut tested: HashMap<InstId, InstId> = HashMap::new();
        let mut insts = Vec::with_capacity(flow.block(block).insts.len());
        for inst in std::mem::take(&mut flow.blocks[block.index()].insts) {
            for place in 0..flow.inst(inst).args.len() {
                let arg = flow.inst(inst).args[place];
                let Some(FunctionType::Optional(of)) = instance.types[arg.index()].clone() else { continue };
                let Some(message) = message_of_none(instance, flow, inst, place) else { continue };
                let number = *tested.entry(arg).or_insert_with(|| {
                    let op = SsaOp::Do(FunctionOp::NotNone(Some(message.into())));
                    insts.push(flow.add_inst(op, vec![arg], flow.inst(inst).span));
                    instance.types.push(Some(*of));
                    insts[insts.len() - 1]
                });
                flow.insts[inst.index()].args[place] = number;
            }
            insts.push(inst);
        }
        flow.blocks[block.index()].insts = insts;
    }
    instance.function = Arc::new(function);
}

/// What an operation says where an operand is None, as CPython has it; none if it takes None.
fn message_of_none(
    instance: &Instance,
    flow: &Flow<FunctionOp>,
    inst: InstId,
    place: usize,
) -> Option<String> {
    let args = &flow.inst(inst).args;
    let name = |at: usize| match place == at {
        true => "NoneType",
        false => instance.types[args[at].index()].as_ref().map_or("", |of| of.without_none().python_name()),
    };
    Some(match flow.operation(inst)? {
        FunctionOp::Unary(UnaryOp::Not) => return None,
        FunctionOp::Unary(op) => format!("bad operand type for unary {}: 'NoneType'", sign_of_unary(*op)),
        FunctionOp::Binary(op) | FunctionOp::InPlace(op) => {
            format!("unsupported operand type(s) for {}: '{}' and '{}'", sign_of(*op), name(0), name(1))
        }
        FunctionOp::Compare(op) if is_order(*op) => {
            let sign = sign_of_compare(*op);
            format!("'{sign}' not supported between instances of '{}' and '{}'", name(0), name(1))
        }
        FunctionOp::RangeBound => "'NoneType' object cannot be interpreted as an integer".to_owned(),
        FunctionOp::LibraryFunction(function) if wants_numbers(function.kind()) => {
            "must be real number, not NoneType".to_owned()
        }
        _ => return None,
    })
}
