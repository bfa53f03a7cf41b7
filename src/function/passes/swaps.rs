//! Swaps: arrays that change names in every round of a loop.
//!
//! ```text
//! for t in range(n):              round 0, 2, …: step(u, v)
//!     step(u, v)                  round 1, 3, …: step(v, u)
//!     u, v = v, u
//! ```
//!
//! An array is in one handle, and a name in a register. Where the names of a loop only exchange their arrays, the body is
//! there once for each order of them, one after the other: then every name is one array, and may be written.
//!
//! 1. The loop has one entry, one latch, and its header alone leaves it.
//! 2. What the header computes and others read behind the loop is a phi there, of all copies.
//!
//! Afterwards no phi of such a loop is over arrays that it exchanges.

use super::is_array;
use crate::function::low::LowFunction;
use crate::ssa::{BlockId, Dominators, Inst, InstId, NaturalLoop, SsaOp, Tail, natural_loops};
use cembra_vm::program::instruction::Span;
use hashbrown::{HashMap, HashSet};

/// Most orders of names.
const MOST_ORDERS: usize = 6;
/// Most instructions of all copies of a loop.
const MOST_INSTRUCTIONS: usize = 20_000;
/// Most loops that are copied.
const MOST_LOOPS: usize = 16;

/// Copies the bodies of loops that exchange arrays.
pub(super) fn unroll(function: &mut LowFunction) {
    for _ in 0..MOST_LOOPS {
        let dominators = Dominators::new(&function.flow);
        let loops = natural_loops(&function.flow, &dominators);
        let Some(swap) = loops.into_iter().find_map(|natural| Swap::find(function, natural)) else { break };
        swap.unroll(function);
    }
}

/// A loop whose names of arrays change places.
struct Swap {
    natural: NaturalLoop,
    latch: BlockId,
    /// The block behind the loop.
    exit: BlockId,
    /// Phis over arrays, and the array of each in every round until they are in order again.
    arrays: Vec<(InstId, Vec<InstId>)>,
}

impl Swap {
    fn find(function: &LowFunction, natural: NaturalLoop) -> Option<Swap> {
        let flow = &function.flow;
        let (entry, latch) = (natural.preheader?, *natural.latches.first()?);
        let names: Vec<InstId> = flow.phis(natural.header).filter(|phi| is_array(function, *phi)).collect();
        if names.is_empty() || natural.latches.len() != 1 {
            return None;
        }
        let inside: HashSet<BlockId> = natural.blocks.iter().copied().collect();
        let leaves = |block: &BlockId| flow.block(*block).tail.successors().find(|to| !inside.contains(to));
        let mut exits = natural.blocks.iter().filter_map(|block| Some((*block, leaves(block)?)));
        let (from, exit) = exits.next()?;
        let is_handler = matches!(flow.block(from).tail, Tail::Guard { .. });
        let is_left_once = exits.next().is_none() && from == natural.header && !is_handler;
        if !is_left_once || flow.block(exit).predecessors != [natural.header] {
            return None;
        }
        let at =
            |block: BlockId| flow.block(natural.header).predecessors.iter().position(|from| *from == block);
        let (first, again) = (at(entry)?, at(latch)?);
        let arg = |phi: InstId, position: usize| flow.inst(phi).args[position];
        // Where the array of each name goes to comes from one name, and none is lost.
        let next: HashMap<InstId, InstId> = names.iter().map(|phi| (*phi, arg(*phi, again))).collect();
        let reached: HashSet<InstId> = next.values().copied().collect();
        if reached.len() != names.len() || !names.iter().all(|phi| reached.contains(phi)) {
            return None;
        }
        let mut arrays: Vec<(InstId, Vec<InstId>)> = names.iter().map(|phi| (*phi, Vec::new())).collect();
        let mut now = names.clone();
        loop {
            for ((_, rounds), name) in arrays.iter_mut().zip(&now) {
                rounds.push(arg(*name, first));
            }
            now.iter_mut().for_each(|name| *name = next[name]);
            if now == names {
                break;
            }
            if arrays[0].1.len() == MOST_ORDERS {
                return None;
            }
        }
        let size: usize = natural.blocks.iter().map(|block| flow.block(*block).insts.len()).sum();
        (size * arrays[0].1.len() <= MOST_INSTRUCTIONS).then_some(Swap { natural, latch, exit, arrays })
    }

    fn unroll(&self, function: &mut LowFunction) {
        let (rounds, old) = (self.arrays[0].1.len(), function.flow.blocks.len());
        let mut values: Vec<HashMap<InstId, InstId>> = vec![self.names(0)];
        let mut blocks: Vec<HashMap<BlockId, BlockId>> = vec![HashMap::new()];
        for round in 1..rounds {
            blocks.push(self.copied_blocks(function));
            let copied = self.copied_insts(function, &values[round - 1], round);
            values.push(copied);
        }
        let behind = self.values_behind(function);
        for (round, values) in values.iter().enumerate().skip(1) {
            self.copy(function, values, &blocks, round);
        }
        self.close(function, &values, &blocks);
        for value in behind {
            self.join(function, value, &values, old);
        }
    }

    /// The arrays of the names in a round.
    fn names(&self, round: usize) -> HashMap<InstId, InstId> {
        self.arrays.iter().map(|(phi, rounds)| (*phi, rounds[round])).collect()
    }

    fn copied_blocks(&self, function: &mut LowFunction) -> HashMap<BlockId, BlockId> {
        let flow = &mut function.flow;
        let copies = self.natural.blocks.iter().map(|block| {
            let depth = flow.block(*block).depth;
            (*block, flow.add_block(depth))
        });
        copies.collect()
    }

    /// New instructions for those of the loop; a phi of the header is what the round before gave it.
    fn copied_insts(
        &self,
        function: &mut LowFunction,
        before: &HashMap<InstId, InstId>,
        round: usize,
    ) -> HashMap<InstId, InstId> {
        let mut copies = self.names(round);
        let header = self.natural.header;
        let again = self.position_of_latch(function);
        for phi in function.flow.phis(header).collect::<Vec<_>>() {
            let last = function.flow.inst(phi).args[again];
            copies.entry(phi).or_insert_with(|| before.get(&last).copied().unwrap_or(last));
        }
        for block in &self.natural.blocks {
            for inst in function.flow.block(*block).insts.clone() {
                if !copies.contains_key(&inst) {
                    let Inst { op, span, name, .. } = function.flow.inst(inst).clone();
                    let copy = function.flow.add_inst(op, Vec::new(), span);
                    function.flow.insts[copy.index()].name = name;
                    function.types.push(function.types[inst.index()].clone());
                    copies.insert(inst, copy);
                }
            }
        }
        copies
    }

    fn position_of_latch(&self, function: &LowFunction) -> usize {
        let from = &function.flow.block(self.natural.header).predecessors;
        from.iter().position(|from| *from == self.latch).expect("the latch leads to the header")
    }

    /// Values of the loop that are read behind it.
    fn values_behind(&self, function: &LowFunction) -> Vec<InstId> {
        let flow = &function.flow;
        let header = &flow.block(self.natural.header).insts;
        let own: HashSet<InstId> = header.iter().copied().collect();
        let inside: HashSet<BlockId> = self.natural.blocks.iter().copied().collect();
        let mut read: HashSet<InstId> = HashSet::new();
        for block in flow.block_ids().filter(|block| !inside.contains(block)) {
            let rows = flow.block(block);
            let args = rows.insts.iter().flat_map(|inst| &flow.inst(*inst).args);
            read.extend(args.chain(&rows.tail.operand()).filter(|value| own.contains(*value)));
        }
        header.iter().copied().filter(|value| read.contains(value)).collect()
    }

    /// Fills the blocks of a round.
    fn copy(
        &self,
        function: &mut LowFunction,
        values: &HashMap<InstId, InstId>,
        blocks: &[HashMap<BlockId, BlockId>],
        round: usize,
    ) {
        let flow = &mut function.flow;
        let value = |of: InstId| values.get(&of).copied().unwrap_or(of);
        let next = blocks.get(round + 1);
        for block in &self.natural.blocks {
            let rows = flow.block(*block).clone();
            let is_header = *block == self.natural.header;
            let mut insts = Vec::with_capacity(rows.insts.len());
            for inst in &rows.insts {
                if is_header && flow.is_phi(*inst) {
                    continue;
                }
                let args = flow.inst(*inst).args.iter().map(|arg| value(*arg)).collect();
                let copy = value(*inst);
                flow.insts[copy.index()].args = args;
                insts.push(copy);
            }
            let target = |to: BlockId| match to == self.natural.header {
                true => next.map_or(to, |next| next[&to]),
                false => blocks[round].get(&to).copied().unwrap_or(to),
            };
            let tail = match rows.tail {
                Tail::Jump(to) => Tail::Jump(target(to)),
                Tail::Branch { condition, then, orelse } => {
                    Tail::Branch { condition: value(condition), then: target(then), orelse: target(orelse) }
                }
                Tail::Guard { catch, then, orelse } => {
                    Tail::Guard { catch, then: target(then), orelse: target(orelse) }
                }
                other => other,
            };
            let before = blocks[round - 1].get(&self.latch).copied().unwrap_or(self.latch);
            let predecessors = match is_header {
                true => vec![before],
                false => rows.predecessors.iter().map(|from| blocks[round][from]).collect(),
            };
            let copy = &mut flow.blocks[blocks[round][block].index()];
            (copy.insts, copy.tail, copy.tail_span) = (insts, tail, rows.tail_span);
            copy.predecessors = predecessors;
        }
    }

    /// Makes the loop itself the first round, and the last round lead to it.
    fn close(
        &self,
        function: &mut LowFunction,
        values: &[HashMap<InstId, InstId>],
        blocks: &[HashMap<BlockId, BlockId>],
    ) {
        let again = self.position_of_latch(function);
        let (flow, header) = (&mut function.flow, self.natural.header);
        let (last, names) = (blocks.len() - 1, self.names(0));
        let value = |of: InstId| names.get(&of).copied().unwrap_or(of);
        flow.blocks[header.index()].insts.retain(|inst| !names.contains_key(inst));
        for block in &self.natural.blocks {
            for inst in flow.block(*block).insts.clone() {
                flow.insts[inst.index()].args.iter_mut().for_each(|arg| *arg = value(*arg));
            }
            if let Some(operand) = flow.blocks[block.index()].tail.operand_mut() {
                *operand = value(*operand);
            }
        }
        flow.blocks[self.latch.index()].tail.redirect(header, blocks[1][&header]);
        flow.blocks[header.index()].predecessors[again] = blocks[last][&self.latch];
        for phi in flow.phis(header).collect::<Vec<_>>() {
            let arg = &mut flow.insts[phi.index()].args[again];
            *arg = values[last].get(arg).copied().unwrap_or(*arg);
        }
        let headers = blocks[1..].iter().map(|copies| copies[&header]);
        flow.blocks[self.exit.index()].predecessors.extend(headers);
        for phi in flow.phis(self.exit).collect::<Vec<_>>() {
            let of = flow.inst(phi).args[0];
            let args = values.iter().map(|copies| copies.get(&of).copied().unwrap_or(of));
            flow.insts[phi.index()].args = args.collect();
        }
    }

    /// A phi behind the loop for a value of it, for readers in the blocks that are no copies: those of lower numbers.
    fn join(
        &self,
        function: &mut LowFunction,
        value: InstId,
        values: &[HashMap<InstId, InstId>],
        copies: usize,
    ) {
        let args = values.iter().map(|copies| copies.get(&value).copied().unwrap_or(value)).collect();
        let phi = function.flow.add_inst(SsaOp::Phi, args, Span::default());
        function.flow.insts[phi.index()].name = function.flow.inst(value).name;
        function.types.push(function.types[value.index()].clone());
        let inside: HashSet<BlockId> = self.natural.blocks.iter().copied().collect();
        let flow = &mut function.flow;
        for block in flow.block_ids().take(copies).filter(|block| !inside.contains(block)) {
            for inst in flow.block(block).insts.clone() {
                // Phis at the exit have an operand for each copy already.
                if block == self.exit && flow.is_phi(inst) {
                    continue;
                }
                let args = flow.insts[inst.index()].args.iter_mut();
                args.filter(|arg| **arg == value).for_each(|arg| *arg = phi);
            }
            if let Some(operand) = flow.blocks[block.index()].tail.operand_mut().filter(|of| **of == value) {
                *operand = phi;
            }
        }
        flow.blocks[self.exit.index()].insts.insert(0, phi);
    }
}
