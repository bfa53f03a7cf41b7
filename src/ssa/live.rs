//! Liveness over blocks: of variables before SSA, of values after it.
//!
//! Each variable or value is followed by itself: from every block that reads it before writing it, backwards to the blocks
//! that write it. The work is proportional to the result, however many there are. An operand of a phi is
//! read at the end of the predecessor it belongs to. What a handler reads is alive in the whole guarded block, where
//! control may leave it.

use crate::ssa::flow::{BlockId, Flow, InstId, SsaOp, SsaOperation, Tail, VarId};
use fixedbitset::FixedBitSet;

/// Blocks that read variables before they write them, and blocks that write them, by variable.
#[derive(Clone, Debug)]
pub struct VariableUses {
    /// Blocks with a read that none of their writes comes before.
    pub readers: Vec<Vec<BlockId>>,
    /// Blocks with a write.
    pub writers: Vec<Vec<BlockId>>,
}

impl VariableUses {
    /// Finds them.
    pub fn new<O: SsaOperation>(flow: &Flow<O>) -> VariableUses {
        let mut uses = VariableUses {
            readers: vec![Vec::new(); flow.variables],
            writers: vec![Vec::new(); flow.variables],
        };
        for block in flow.block_ids() {
            for inst in &flow.block(block).insts {
                match flow.inst(*inst).op {
                    SsaOp::Read(variable) => {
                        let is_written = uses.writers[variable.index()].last() == Some(&block);
                        let readers = &mut uses.readers[variable.index()];
                        if !is_written && readers.last() != Some(&block) {
                            readers.push(block);
                        }
                    }
                    SsaOp::Write(variable) => {
                        let writers = &mut uses.writers[variable.index()];
                        if writers.last() != Some(&block) {
                            writers.push(block);
                        }
                    }
                    _ => {}
                }
            }
        }
        uses
    }
}

/// Marks of blocks that are taken back by counting on.
#[derive(Clone, Debug)]
pub struct BlockMarks {
    marks: Vec<u32>,
    now: u32,
}

impl BlockMarks {
    /// No marks on so many blocks.
    pub fn new(blocks: usize) -> BlockMarks {
        BlockMarks { marks: vec![0; blocks], now: 0 }
    }

    /// Takes all marks back.
    pub fn clear(&mut self) {
        self.now += 1;
    }

    /// Marks a block; true if it was not.
    pub fn insert(&mut self, block: BlockId) -> bool {
        std::mem::replace(&mut self.marks[block.index()], self.now) != self.now
    }

    /// True of a marked block.
    pub fn contains(&self, block: BlockId) -> bool {
        self.marks[block.index()] == self.now
    }
}

/// Marks the blocks where a variable is read later, before it is written.
pub fn mark_live_in<O: SsaOperation>(
    flow: &Flow<O>,
    uses: &VariableUses,
    variable: VarId,
    live_in: &mut BlockMarks,
) {
    live_in.clear();
    let writers = &uses.writers[variable.index()];
    let mut work: Vec<BlockId> = uses.readers[variable.index()].clone();
    for block in &work {
        live_in.insert(*block);
    }
    while let Some(block) = work.pop() {
        for before in &flow.block(block).predecessors {
            if writers.binary_search(before).is_err() && live_in.insert(*before) {
                work.push(*before);
            }
        }
    }
}

/// By block, the marked values that are read after its end, ascending; operands of phis behind it are among them.
pub fn live_out_values<O: SsaOperation>(flow: &Flow<O>, marked: &FixedBitSet) -> Vec<Vec<InstId>> {
    let mut defined_in = vec![BlockId(u32::MAX); flow.insts.len()];
    for block in flow.block_ids() {
        flow.block(block).insts.iter().for_each(|inst| defined_in[inst.index()] = block);
    }
    // Blocks that read a value of another block, and blocks at whose end a phi reads it.
    let mut readers: Vec<Vec<BlockId>> = vec![Vec::new(); flow.insts.len()];
    let mut at_end: Vec<Vec<BlockId>> = vec![Vec::new(); flow.insts.len()];
    for block in flow.block_ids() {
        let rows = flow.block(block);
        let mut read = |value: InstId| {
            let is_other = marked.contains(value.index()) && defined_in[value.index()] != block;
            if is_other && readers[value.index()].last() != Some(&block) {
                readers[value.index()].push(block);
            }
        };
        for inst in &rows.insts {
            if flow.is_phi(*inst) {
                for (operand, from) in flow.inst(*inst).args.iter().zip(&rows.predecessors) {
                    if marked.contains(operand.index()) {
                        at_end[operand.index()].push(*from);
                    }
                }
            } else {
                flow.inst(*inst).args.iter().for_each(|arg| read(*arg));
            }
        }
        rows.tail.operand().into_iter().for_each(&mut read);
    }
    let guarded = guarded_blocks(flow);
    let mut live_out: Vec<Vec<InstId>> = vec![Vec::new(); flow.blocks.len()];
    let (mut ends, mut starts) = (BlockMarks::new(flow.blocks.len()), BlockMarks::new(flow.blocks.len()));
    for value in marked.ones().map(|index| InstId(index as u32)) {
        ends.clear();
        starts.clear();
        let mut work = std::mem::take(&mut readers[value.index()]);
        for block in &work {
            starts.insert(*block);
        }
        let mut leave = |block: BlockId, work: &mut Vec<BlockId>| {
            if ends.insert(block) {
                live_out[block.index()].push(value);
                if defined_in[value.index()] != block && starts.insert(block) {
                    work.push(block);
                }
            }
        };
        at_end[value.index()].iter().for_each(|block| leave(*block, &mut work));
        while let Some(block) = work.pop() {
            let before = flow.block(block).predecessors.iter();
            before.chain(&guarded[block.index()]).for_each(|before| leave(*before, &mut work));
        }
    }
    live_out
}

/// By handler, the blocks that are guarded by it.
fn guarded_blocks<O: SsaOperation>(flow: &Flow<O>) -> Vec<Vec<BlockId>> {
    let mut guarded = vec![Vec::new(); flow.blocks.len()];
    for block in flow.block_ids() {
        for guard in flow.guards(block) {
            if let Tail::Guard { orelse, .. } = flow.block(guard).tail {
                guarded[orelse.index()].push(block);
            }
        }
    }
    guarded
}
