//! Dominators and dominance frontiers.
//!
//! A block dominates another if every path from the entry to that one goes through it. The frontier of a block
//! are the blocks where its dominance ends: where phis for its definitions belong.
//!
//! The algorithm is that of Cooper, Harvey and Kennedy (2001), with the predecessors of a block taken from the deepest on:
//! where a thousand ways meet, as behind the operands of a long `and`, each is compared with its neighbour. With
//! any other order (petgraph's has none) the work is quadratic.

use crate::ssa::flow::{BlockId, Flow, SsaOperation};

/// The dominator tree of a flow whose blocks are all reachable.
#[derive(Clone, Debug)]
pub struct Dominators {
    /// Immediate dominator, none of the entry.
    parent: Vec<Option<BlockId>>,
    children: Vec<Vec<BlockId>>,
    /// First and last number of the blocks below, in a preorder of the tree.
    range: Vec<(u32, u32)>,
    preorder: Vec<BlockId>,
}

impl Dominators {
    /// Finds the dominators.
    pub fn new<O: SsaOperation>(flow: &Flow<O>) -> Dominators {
        let parent = immediate_dominators(flow);
        let mut children = vec![Vec::new(); parent.len()];
        for block in flow.block_ids() {
            if let Some(parent) = parent[block.index()] {
                children[parent.index()].push(block);
            }
        }
        let (preorder, range) = number(&children);
        Dominators { parent, children, range, preorder }
    }

    /// The immediate dominator; none of the entry.
    pub fn parent(&self, block: BlockId) -> Option<BlockId> {
        self.parent[block.index()]
    }

    /// Blocks that a block dominates immediately.
    pub fn children(&self, block: BlockId) -> &[BlockId] {
        &self.children[block.index()]
    }

    /// Blocks, each before those it dominates.
    pub fn preorder(&self) -> &[BlockId] {
        &self.preorder
    }

    /// Place of a block in [`Dominators::preorder`].
    pub fn position(&self, block: BlockId) -> u32 {
        self.range[block.index()].0
    }

    /// True if `above` is on every path from the entry to `below`, or is the same block.
    pub fn dominates(&self, above: BlockId, below: BlockId) -> bool {
        let (first, last) = self.range[above.index()];
        (first..=last).contains(&self.range[below.index()].0)
    }

    /// The dominance frontier of every block.
    pub fn frontiers<O: SsaOperation>(&self, flow: &Flow<O>) -> Vec<Vec<BlockId>> {
        let mut frontiers: Vec<Vec<BlockId>> = vec![Vec::new(); flow.blocks.len()];
        for block in flow.block_ids().filter(|block| flow.block(*block).predecessors.len() > 1) {
            for predecessor in &flow.block(block).predecessors {
                let mut at = Some(*predecessor);
                while let Some(runner) = at.filter(|runner| Some(*runner) != self.parent(block)) {
                    // Where another predecessor has come by, it went on to the same end.
                    if frontiers[runner.index()].last() == Some(&block) {
                        break;
                    }
                    frontiers[runner.index()].push(block);
                    at = self.parent(runner);
                }
            }
        }
        frontiers
    }
}

/// The immediate dominator of each block, none of the entry and of blocks that cannot be reached.
fn immediate_dominators<O: SsaOperation>(flow: &Flow<O>) -> Vec<Option<BlockId>> {
    let order = flow.reverse_postorder();
    let mut place = vec![usize::MAX; flow.blocks.len()];
    order.iter().enumerate().for_each(|(at, block)| place[block.index()] = at);
    // By place in the order; a block's predecessors from the last on.
    let predecessors: Vec<Vec<usize>> = order
        .iter()
        .map(|block| {
            let from = flow.block(*block).predecessors.iter().map(|from| place[from.index()]);
            let mut from: Vec<usize> = from.filter(|at| *at != usize::MAX).collect();
            from.sort_unstable_by_key(|at| std::cmp::Reverse(*at));
            from
        })
        .collect();
    let mut parent: Vec<Option<usize>> = vec![None; order.len()];
    parent[0] = Some(0);
    loop {
        let mut changed = false;
        for at in 1..order.len() {
            let known = predecessors[at].iter().copied().filter(|from| parent[*from].is_some());
            let above = known.reduce(|a, b| common_dominator(&parent, a, b));
            changed |= std::mem::replace(&mut parent[at], above) != above;
        }
        if !changed {
            break;
        }
    }
    let mut found = vec![None; flow.blocks.len()];
    for at in 1..order.len() {
        found[order[at].index()] = parent[at].map(|above| order[above]);
    }
    found
}

/// The nearest block that dominates both, by places in the order.
fn common_dominator(parent: &[Option<usize>], mut a: usize, mut b: usize) -> usize {
    while a != b {
        let above = |at: usize| parent[at].expect("what comes before is known");
        match a > b {
            true => a = above(a),
            false => b = above(b),
        }
    }
    a
}

/// A preorder of the tree, and the range of numbers of each subtree.
fn number(children: &[Vec<BlockId>]) -> (Vec<BlockId>, Vec<(u32, u32)>) {
    let (mut preorder, mut range) = (Vec::new(), vec![(0, 0); children.len()]);
    let mut stack = vec![(BlockId(0), 0)];
    while let Some((block, next)) = stack.last_mut() {
        if *next == 0 {
            range[block.index()].0 = preorder.len() as u32;
            preorder.push(*block);
        }
        match children[block.index()].get(*next) {
            Some(child) => {
                *next += 1;
                stack.push((*child, 0));
                continue;
            }
            None => range[block.index()].1 = preorder.len() as u32 - 1,
        }
        stack.pop();
    }
    (preorder, range)
}
