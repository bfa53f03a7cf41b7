//! Control-flow graph: basic blocks of a body and the jumps between them.
//!
//! ```text
//! B0: v4 = o0(v0, v1)           B0 ──> B1 ──> B3
//!     jump_if_not<+2>(v4)         └──> B2 ──┘
//! B1: v5 = …; jump<+1>
//! B2: v5 = …
//! B3: …
//! ```
//!
//! An instruction with guards ends its block: where its guards lead, control comes from the guard, and from the
//! instruction. What is alive there is alive across the instruction too.
//!
//! Blocks are numbered in instruction order. A jump to the end of the body is an edge to no block.

use crate::program::body::Body;
use crate::program::instruction::Instruction;
use petgraph::graph::{DiGraph, NodeIndex};
use std::ops::Range;

/// Basic blocks and their successors.
#[derive(Debug)]
pub struct Cfg {
    graph: DiGraph<Range<usize>, ()>,
}

impl Cfg {
    /// Splits a body into blocks.
    ///
    /// # Panics
    /// If a jump leaves the body; [`verify`](crate::program::verify) finds that first.
    pub fn new(body: &Body) -> Cfg {
        let starts = block_starts(body);
        let len = body.instructions().len();
        let mut graph = DiGraph::with_capacity(starts.len(), starts.len() * 2);
        let ends = starts.iter().skip(1).copied().chain(std::iter::once(len));
        for (start, end) in starts.iter().copied().zip(ends) {
            graph.add_node(start..end);
        }
        for index in 0..starts.len() {
            let block = NodeIndex::new(index);
            let last = graph[block].end - 1;
            let mut edge = |ip: usize| {
                if let Ok(to) = starts.binary_search(&ip) {
                    graph.update_edge(block, NodeIndex::new(to), ());
                }
            };
            if body.instructions()[last].offset().is_some() {
                edge(body.target(last).expect("jumps stay in the body"));
            }
            if body.instructions()[last].falls_through() {
                edge(last + 1);
            }
            body.guards(last).filter_map(|guard| body.target(guard)).for_each(edge);
        }
        Cfg { graph }
    }

    /// Number of blocks.
    pub fn len(&self) -> usize {
        self.graph.node_count()
    }

    /// True for an empty body.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Instructions of a block.
    pub fn block(&self, block: usize) -> Range<usize> {
        self.graph[NodeIndex::new(block)].clone()
    }

    /// Blocks that can follow.
    pub fn successors(&self, block: usize) -> impl Iterator<Item = usize> + '_ {
        self.graph.neighbors(NodeIndex::new(block)).map(NodeIndex::index)
    }

    /// Blocks that can precede.
    pub fn predecessors(&self, block: usize) -> impl Iterator<Item = usize> + '_ {
        self.graph.neighbors_directed(NodeIndex::new(block), petgraph::Incoming).map(NodeIndex::index)
    }

    /// The blocks as a graph, for drawing.
    pub fn graph(&self) -> &DiGraph<Range<usize>, ()> {
        &self.graph
    }
}

/// By instruction: true if some path from the first leads there.
pub fn reachable(body: &Body) -> Vec<bool> {
    let len = body.instructions().len();
    let mut is_reachable = vec![false; len];
    let mut work = vec![0];
    while let Some(ip) = work.pop() {
        if ip == len || std::mem::replace(&mut is_reachable[ip], true) {
            continue;
        }
        work.extend(body.target(ip));
        if body.instructions()[ip].falls_through() {
            work.push(ip + 1);
        }
    }
    is_reachable
}

/// First instructions of all blocks, ascending: the first instruction, jump targets, and whatever
/// follows a jump, a trap, a guard or an instruction with guards.
pub fn block_starts(body: &Body) -> Vec<usize> {
    let len = body.instructions().len();
    if len == 0 {
        return Vec::new();
    }
    let mut starts = vec![0];
    for (ip, instruction) in body.instructions().iter().enumerate() {
        let runs_on = matches!(instruction, Instruction::Operator { .. } | Instruction::Call { .. });
        if runs_on && body.guards(ip).next().is_none() {
            continue;
        }
        starts.push(ip + 1);
        starts.extend(body.target(ip));
    }
    starts.retain(|ip| *ip < len);
    starts.sort_unstable();
    starts.dedup();
    starts
}
