//! Natural loops: the blocks that lead back to a header which dominates them.
//!
//! ```text
//! preheader ──> header ──> … ──> latch       a latch jumps back to the header
//!                 ^                │          the preheader is the only other way into the loop, and leads nowhere else
//!                 └────────────────┘
//! ```

use crate::ssa::dominators::Dominators;
use crate::ssa::flow::{BlockId, Flow, SsaOperation, Tail};
use crate::ssa::live::BlockMarks;

/// A loop. Loops of one header are one.
#[derive(Clone, Debug)]
pub struct NaturalLoop {
    /// Where every round begins.
    pub header: BlockId,
    /// The only block that enters the loop, if that is all it does.
    pub preheader: Option<BlockId>,
    /// Blocks that lead back to the header.
    pub latches: Vec<BlockId>,
    /// All its blocks, the header first.
    pub blocks: Vec<BlockId>,
}

/// Finds the loops of a flow; inner ones come before those around them. The work is the number of blocks times the
/// depth of loops.
pub fn natural_loops<O: SsaOperation>(flow: &Flow<O>, dominators: &Dominators) -> Vec<NaturalLoop> {
    let mut inside = BlockMarks::new(flow.blocks.len());
    // An inner header stands below those of the loops around it.
    let headers = dominators.preorder().iter().rev();
    headers.filter_map(|header| natural_loop(flow, dominators, *header, &mut inside)).collect()
}

fn natural_loop<O: SsaOperation>(
    flow: &Flow<O>,
    dominators: &Dominators,
    header: BlockId,
    inside: &mut BlockMarks,
) -> Option<NaturalLoop> {
    let predecessors = &flow.block(header).predecessors;
    let (latches, entries): (Vec<BlockId>, Vec<BlockId>) =
        predecessors.iter().partition(|from| dominators.dominates(header, **from));
    if latches.is_empty() {
        return None;
    }
    let preheader = match entries[..] {
        [entry] if flow.block(entry).tail == Tail::Jump(header) => Some(entry),
        _ => None,
    };
    inside.clear();
    inside.insert(header);
    let mut blocks = vec![header];
    let mut work = latches.clone();
    while let Some(block) = work.pop() {
        if inside.insert(block) {
            blocks.push(block);
            work.extend(&flow.block(block).predecessors);
        }
    }
    Some(NaturalLoop { header, preheader, latches, blocks })
}
