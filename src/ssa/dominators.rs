//! Dominators and dominance frontiers.
//!
//! A block dominates another if every path from the entry to that one goes through it. The frontier of a block
//! are the blocks where its dominance ends: where phis for its definitions belong.

use crate::ssa::flow::{BlockId, Flow, SsaOperation};
use petgraph::algo::dominators::simple_fast;
use petgraph::graph::{DiGraph, NodeIndex};

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
        let mut graph = DiGraph::<(), ()>::with_capacity(flow.blocks.len(), flow.blocks.len() * 2);
        for _ in &flow.blocks {
            graph.add_node(());
        }
        for block in flow.block_ids() {
            for to in flow.block(block).tail.successors() {
                graph.update_edge(NodeIndex::new(block.index()), NodeIndex::new(to.index()), ());
            }
        }
        let found = simple_fast(&graph, NodeIndex::new(0));
        let parent_of = |block: BlockId| {
            let parent = found.immediate_dominator(NodeIndex::new(block.index()))?;
            Some(BlockId(parent.index() as u32))
        };
        let parent: Vec<Option<BlockId>> = flow.block_ids().map(parent_of).collect();
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
                    if frontiers[runner.index()].last() != Some(&block) {
                        frontiers[runner.index()].push(block);
                    }
                    at = self.parent(runner);
                }
            }
        }
        frontiers
    }
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
