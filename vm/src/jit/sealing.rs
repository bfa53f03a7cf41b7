//! Sealing: when the compiler is told that all jumps to a block have been made.
//!
//! ```text
//!         jump ──────────┐                 the way into a loop, to what decides whether to begin
//! begin:  …         <──┐ │
//! test:   …         <──┼─┘                 sealed after `begin`, whose only way in it is
//!         jump if … ───┘                   `begin` is sealed here
//! ```
//!
//! Where a block is sealed, the compiler looks which variables have different values on the ways there; only these become
//! parameters of the block. Of a parameter nothing can be computed outside of the loop. Two mistakes make all variables
//! parameters: to seal all blocks at the end, and to seal the test of a loop before its begin, when it is not yet known
//! that what the loop does not change comes back as it was.

use cranelift_codegen::ir::Block;
use hashbrown::HashMap;
use std::ops::RangeInclusive;

/// Which blocks are not sealed yet.
#[derive(Default)]
pub(super) struct Sealing {
    /// By instruction that jumps lead to: the first and the last of them.
    jumps: HashMap<usize, RangeInclusive<usize>>,
    /// Begins of loops that go on.
    open: Vec<usize>,
    /// Blocks that are sealed after the begin of a loop.
    waiting: Vec<(usize, Block)>,
}

impl Sealing {
    /// Notes a jump; all of them are noted in order, before the first block.
    pub(super) fn note(&mut self, jump: usize, target: usize) {
        let first = self.jumps.get(&target).map_or(jump, |jumps| *jumps.start());
        self.jumps.insert(target, first..=jump);
    }

    /// True if a block that begins with an instruction is sealed at once.
    pub(super) fn begin(&mut self, ip: usize, block: Block) -> bool {
        let Some(jumps) = self.jumps.get(&ip) else { return true };
        if *jumps.end() >= ip {
            self.open.push(ip);
            return false;
        }
        // The outermost loop that goes on and that a jump from before it leads into.
        let around = self.open.iter().find(|begin| *jumps.start() < **begin);
        around.is_none_or(|begin| {
            self.waiting.push((*begin, block));
            false
        })
    }

    /// The instructions of the innermost loop that goes on.
    pub(super) fn inner(&self) -> Option<RangeInclusive<usize>> {
        self.open.last().map(|begin| *begin..=*self.jumps[begin].end())
    }

    /// The blocks that are sealed behind a jump to a block, in order.
    pub(super) fn behind(&mut self, jump: usize, target: usize, block: Block) -> Vec<Block> {
        if target > jump || *self.jumps[&target].end() != jump {
            return Vec::new();
        }
        self.open.retain(|begin| *begin != target);
        let waiting = self.waiting.extract_if(.., |(begin, _)| *begin == target);
        [block].into_iter().chain(waiting.map(|(_, block)| block)).collect()
    }
}
