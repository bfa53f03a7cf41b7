//! Finds the loops that are marked by a round.
//!
//! ```text
//! preheader ──> header: k = phi [0, k + 1]; k < count ? body : exit
//!                 ^     body: r = round(k) …  latch ──┘
//! ```

use super::Serial;
use crate::function::low::{LowFunction, LowOp};
use crate::function::passes::int_literal;
use crate::ssa::{BlockId, Dominators, InstId, NaturalLoop, Tail, natural_loops};
use cembra_vm::program::instruction::Span;
use hashbrown::HashSet;

/// A loop whose rounds are numbered from 0.
pub(super) struct Rounds {
    pub(super) natural: NaturalLoop,
    /// Its blocks, and those in which it ends with an error.
    pub(super) inside: HashSet<BlockId>,
    pub(super) preheader: BlockId,
    /// Where control goes on behind the loop.
    pub(super) exit: BlockId,
    /// The marked number of a round.
    pub(super) round: InstId,
    /// The same number in the header.
    pub(super) counter: InstId,
    /// The condition in the header that there is another round.
    pub(super) condition: InstId,
    /// How many rounds there are.
    pub(super) count: InstId,
    pub(super) span: Span,
}

/// The first marked loop that no other marked loop is around.
pub(super) fn outermost(function: &LowFunction) -> Option<Result<Rounds, Serial>> {
    let flow = &function.flow;
    let is_round = |inst: &InstId| matches!(flow.operation(*inst), Some(LowOp::Round));
    let marked = flow.block_ids().flat_map(|block| {
        let rounds = flow.block(block).insts.iter().filter(|inst| is_round(inst));
        rounds.map(move |round| (block, *round))
    });
    let marked: Vec<(BlockId, InstId)> = marked.collect();
    let (first, round) = *marked.first()?;
    let loops = natural_loops(flow, &Dominators::new(flow));
    // Inner loops come first: the first one around a mark is its own.
    let own = |block: BlockId| loops.iter().position(|natural| natural.blocks.contains(&block));
    let outer = marked.iter().filter_map(|(block, round)| Some((own(*block)?, *round)));
    match outer.max_by_key(|(number, round)| (loops[*number].blocks.len(), std::cmp::Reverse(*round))) {
        Some((number, round)) => Some(shape(function, loops[number].clone(), round)),
        None => {
            let span = flow.block(first).tail_span;
            Some(Err(Serial { round, span, reason: None }))
        }
    }
}

/// Checks the form of a loop.
fn shape(function: &LowFunction, natural: NaturalLoop, round: InstId) -> Result<Rounds, Serial> {
    let flow = &function.flow;
    let span = flow.inst(round).span;
    let serial = |reason: &str| Serial { round, span, reason: Some(reason.to_owned()) };
    let other = || serial("it has not the form of a loop over numbers");
    let header = natural.header;
    let mut inside: HashSet<BlockId> = natural.blocks.iter().copied().collect();
    let Tail::Branch { condition, orelse: exit, .. } = flow.block(header).tail else { return Err(other()) };
    for block in &natural.blocks {
        if matches!(flow.block(*block).tail, Tail::Guard { .. }) {
            return Err(serial("a `try` catches what it raises"));
        }
        for to in flow.block(*block).tail.successors() {
            let is_error = matches!(flow.block(to).tail, Tail::Fail(_));
            if (*block, to) == (header, exit) || inside.contains(&to) {
                continue;
            }
            let is_own = flow.block(to).predecessors.iter().all(|from| natural.blocks.contains(from));
            match is_error && is_own {
                true => drop(inside.insert(to)),
                false => return Err(serial("`break` or `return` leaves it")),
            }
        }
    }
    let (Some(preheader), [latch]) = (natural.preheader, &natural.latches[..]) else { return Err(other()) };
    let (latch, counter) = (*latch, flow.inst(round).args[0]);
    let is_next = |next: InstId| {
        let args = &flow.inst(next).args;
        flow.operation(next) == Some(&LowOp::Operator("math.add", false))
            && args[0] == counter
            && int_literal(flow, args[1]) == Some(1)
    };
    let is_counter = flow.is_phi(counter)
        && flow.block(header).insts.contains(&counter)
        && flow.block(header).predecessors.len() == 2
        && flow.block(header).predecessors.iter().zip(&flow.inst(counter).args).all(|(from, value)| {
            if *from == latch { is_next(*value) } else { int_literal(flow, *value) == Some(0) }
        });
    let is_test = flow.operation(condition) == Some(&LowOp::Operator("bool.less", false))
        && flow.inst(condition).args[0] == counter
        && flow.block(exit).predecessors == [header];
    if !is_counter || !is_test {
        return Err(other());
    }
    let count = flow.inst(condition).args[1];
    Ok(Rounds { natural, inside, preheader, exit, round, counter, condition, count, span })
}
