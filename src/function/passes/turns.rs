//! Turns: loops of a few rounds inside of others, one round after the other.
//!
//! ```text
//! for i in range(n):                        for i in range(n):
//!     for p in range(3):                        y += w[0] * x[i]
//!         y += w[p] * x[i]                      y += w[1] * x[i]
//!                                               y += w[2] * x[i]
//! ```
//!
//! Afterwards the loop around it is an innermost one, with literals as indices: compilers count its turns, and make vectors of it.
//!
//! 1. How many rounds there are follows from literals, by the operators of the machine.
//! 2. A function that catches errors stays as it is.

use super::copies::Copies;
use super::{constants, is_array, literal};
use crate::function::low::{LowFunction, LowOp};
use crate::ssa::{BlockId, Dominators, InstId, NaturalLoop, SsaOp, Tail, natural_loops};
use cembra_vm::machine::invoke::Invoker;
use cembra_vm::operator::OperatorTable;
use cembra_vm::program::instruction::Span;
use cembra_vm::value::qtype::BOOLEAN;
use cembra_vm::value::{ScalarValue, Value};
use hashbrown::HashMap;

/// Most rounds of a loop that becomes its rounds.
const MOST_ROUNDS: usize = 8;
/// Most instructions of all rounds.
const MOST_INSTRUCTIONS: usize = 160;
/// Most loops that become theirs.
const MOST_LOOPS: usize = 32;
/// Operators between the phis of a header and its condition, at most.
const DEEPEST: usize = 4;

/// Makes loops their rounds, inner ones first.
pub(super) fn unroll(function: &mut LowFunction, table: &OperatorTable) {
    if function.flow.has_guards() {
        return;
    }
    for _ in 0..MOST_LOOPS {
        let dominators = Dominators::new(&function.flow);
        let loops = natural_loops(&function.flow, &dominators);
        let inner = inner_loops(&loops);
        let mut inner = loops.into_iter().zip(inner).filter(|(_, is_inner)| *is_inner);
        let Some(copies) = inner.find_map(|(natural, _)| short(function, natural, table)) else { break };
        unrolled(function, &copies);
        constants::fold(function, table);
    }
}

/// Which loops are in another one, and have none in them.
fn inner_loops(loops: &[NaturalLoop]) -> Vec<bool> {
    let numbers: HashMap<BlockId, usize> =
        loops.iter().enumerate().map(|(number, natural)| (natural.header, number)).collect();
    let (mut is_inside, mut has_inside) = (vec![false; loops.len()], vec![false; loops.len()]);
    for (number, natural) in loops.iter().enumerate() {
        let headers = natural.blocks.iter().filter_map(|block| numbers.get(block));
        for inside in headers.filter(|inside| **inside != number) {
            (is_inside[*inside], has_inside[number]) = (true, true);
        }
    }
    is_inside.into_iter().zip(has_inside).map(|(is_inside, has_inside)| is_inside && !has_inside).collect()
}

/// The rounds of a loop, with the one that leaves it, if they are few.
fn short(function: &LowFunction, natural: NaturalLoop, table: &OperatorTable) -> Option<Copies> {
    let flow = &function.flow;
    let header = natural.header;
    let is_piece = |inst: &InstId| matches!(flow.operation(*inst), Some(LowOp::Pieces(_)));
    if natural.blocks.iter().any(|block| flow.block(*block).insts.iter().any(is_piece)) {
        return None;
    }
    let mut copies = Copies::of(function, natural)?;
    let Tail::Branch { condition, then, .. } = flow.block(header).tail else { return None };
    let leaves_if = copies.is_exit(then);
    let mut known = Known { function, table, invoker: Invoker::default(), values: HashMap::new() };
    for (phi, [first, _]) in flow.phis(header).map(|phi| (phi, copies.first_and_next(function, phi))) {
        if is_array(function, phi) {
            return None;
        }
        known.values.extend(literal(flow, first).map(|value| (phi, value.clone())));
    }
    for round in 0..=MOST_ROUNDS {
        let Value::Scalar(ScalarValue::Boolean(truth)) = known.value(condition, DEEPEST)? else {
            return None;
        };
        if truth == leaves_if {
            copies.rounds = round + 1;
            return (round > 0 && copies.size(function) <= MOST_INSTRUCTIONS).then_some(copies);
        }
        let phis: Vec<InstId> = known.values.keys().copied().collect();
        let next = |known: &mut Known<'_>, phi: InstId| {
            let [_, next] = copies.first_and_next(function, phi);
            Some((phi, known.value(next, DEEPEST)?))
        };
        known.values = phis.into_iter().filter_map(|phi| next(&mut known, phi)).collect();
    }
    None
}

/// What is known of a round.
struct Known<'f> {
    function: &'f LowFunction,
    table: &'f OperatorTable,
    invoker: Invoker,
    /// By phi of the header.
    values: HashMap<InstId, Value>,
}

impl Known<'_> {
    fn value(&mut self, of: InstId, depth: usize) -> Option<Value> {
        let flow = &self.function.flow;
        if let Some(value) = self.values.get(&of).or_else(|| literal(flow, of)) {
            return Some(value.clone());
        }
        let depth = depth.checked_sub(1)?;
        let args =
            flow.inst(of).args.iter().map(|arg| self.value(*arg, depth)).collect::<Option<Vec<_>>>()?;
        constants::computed(self.function, of, &args, self.table, &mut self.invoker)
    }
}

/// Makes the rounds; the last header leaves.
fn unrolled(function: &mut LowFunction, copies: &Copies) {
    let first = function.flow.blocks.len();
    let headers = copies.make(function);
    let truths = [false, true].map(|truth| {
        let op = SsaOp::Do(LowOp::Literal(Value::Scalar(ScalarValue::Boolean(truth))));
        let literal = function.flow.add_inst(op, Vec::new(), Span::default());
        function.types.push(Some(BOOLEAN));
        function.flow.blocks[0].insts.insert(0, literal);
        literal
    });
    let own = copies.natural.blocks.iter().map(|block| block.index());
    for block in own.chain(first..function.flow.blocks.len()) {
        function.flow.blocks[block].depth -= 1;
    }
    for (round, header) in headers.iter().enumerate() {
        let is_last = round + 1 == headers.len();
        if let Tail::Branch { condition, then, .. } = &mut function.flow.blocks[header.index()].tail {
            *condition = truths[usize::from(is_last == copies.is_exit(*then))];
        }
    }
}
