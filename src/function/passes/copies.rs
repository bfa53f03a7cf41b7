//! Copies: the body of a loop several times, one after the other, each for a round of its own.
//!
//! ```text
//! header ──> body ──> header' ──> body' ──> header        two rounds
//!   └────────────────────┴──> exit
//! ```
//!
//! 1. The loop has one entry, one latch, and its header alone leaves it.
//! 2. What the header computes and others read behind the loop is a phi there, of all copies.
//! 3. Copies stand behind all other blocks.

use crate::function::low::LowFunction;
use crate::ssa::{BlockId, Inst, InstId, NaturalLoop, SsaOp, Tail};
use cembra_vm::program::instruction::Span;
use hashbrown::{HashMap, HashSet};

/// A loop that is to be copied.
pub(super) struct Copies {
    pub natural: NaturalLoop,
    entry: BlockId,
    latch: BlockId,
    /// The block behind the loop.
    exit: BlockId,
    /// Phis of the header that are known, with what they are in each round.
    pub given: Vec<(InstId, Vec<InstId>)>,
    /// How often the body is to be there.
    pub rounds: usize,
}

impl Copies {
    /// One round, if the loop can be copied.
    pub fn of(function: &LowFunction, natural: NaturalLoop) -> Option<Copies> {
        let flow = &function.flow;
        let (entry, latch) = (natural.preheader?, *natural.latches.first()?);
        let inside: HashSet<BlockId> = natural.blocks.iter().copied().collect();
        let leaves = |block: &BlockId| flow.block(*block).tail.successors().find(|to| !inside.contains(to));
        let mut exits = natural.blocks.iter().filter_map(|block| Some((*block, leaves(block)?)));
        let (from, exit) = exits.next()?;
        let is_handler = matches!(flow.block(from).tail, Tail::Guard { .. });
        let is_left_once = exits.next().is_none() && from == natural.header && !is_handler;
        let fits =
            natural.latches.len() == 1 && is_left_once && flow.block(exit).predecessors == [natural.header];
        fits.then_some(Copies { natural, entry, latch, exit, given: Vec::new(), rounds: 1 })
    }

    /// What a phi of the header is in the first round, and what it becomes after one.
    pub fn first_and_next(&self, function: &LowFunction, phi: InstId) -> [InstId; 2] {
        let flow = &function.flow;
        let from = &flow.block(self.natural.header).predecessors;
        let at =
            |block: BlockId| from.iter().position(|from| *from == block).expect("it leads to the header");
        [self.entry, self.latch].map(|block| flow.inst(phi).args[at(block)])
    }

    /// True if a block is behind the loop.
    pub fn is_exit(&self, block: BlockId) -> bool {
        block == self.exit
    }

    /// Instructions of all copies.
    pub fn size(&self, function: &LowFunction) -> usize {
        let insts = self.natural.blocks.iter().map(|block| function.flow.block(*block).insts.len());
        insts.sum::<usize>() * self.rounds
    }

    /// Makes the copies; gives the header of each round.
    pub(super) fn make(&self, function: &mut LowFunction) -> Vec<BlockId> {
        let (rounds, old) = (self.rounds, function.flow.blocks.len());
        let mut values: Vec<HashMap<InstId, InstId>> = vec![self.given(0)];
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
        let header = self.natural.header;
        blocks.iter().map(|copies| copies.get(&header).copied().unwrap_or(header)).collect()
    }

    /// The phis that are known in a round.
    fn given(&self, round: usize) -> HashMap<InstId, InstId> {
        self.given.iter().map(|(phi, rounds)| (*phi, rounds[round])).collect()
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
        let mut copies = self.given(round);
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
        let (last, given) = (blocks.len() - 1, self.given(0));
        let value = |of: InstId| given.get(&of).copied().unwrap_or(of);
        flow.blocks[header.index()].insts.retain(|inst| !given.contains_key(inst));
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
