//! Known: which nodes have their values at the point that the walk has reached.
//!
//! ```text
//! trail:   x   y  | branch:  p   q  | forced:  r
//!                 └ forgotten at the end of the branch, in one cut
//! ```
//!
//! 1. A node that is emitted is known until the branch or forced node it was emitted in ends.
//! 2. A lazy node that is delayed can be forced until the branch it was delayed in ends. Forced inside
//!    another forced node it stays known after that: its note says that it has its value, or has it
//!    computed.

use crate::expr::NodeId;
use cembra_vm::program::ValueId;
use hashbrown::HashMap;

/// A lazy node in a region: its value, and the mask that says whether it has been computed.
#[derive(Clone, Copy, Debug)]
pub struct Delayed {
    /// Where the value will be.
    pub value: ValueId,
    /// Present once it is there.
    pub known: ValueId,
}

/// What to forget at the end of a branch.
#[derive(Clone, Copy, Debug)]
enum Trail {
    Emitted(NodeId),
    Forced(NodeId),
    Delayed(NodeId),
}

/// A point to go back to.
#[derive(Clone, Copy, Debug)]
pub struct Mark(usize);

/// Values of nodes, and how to forget them.
#[derive(Debug)]
pub struct Known {
    of_node: Vec<Option<ValueId>>,
    delayed: HashMap<NodeId, Delayed>,
    trail: Vec<Trail>,
}

impl Known {
    /// Nothing is known of this many nodes.
    pub fn new(nodes: usize) -> Known {
        Known { of_node: vec![None; nodes], delayed: HashMap::new(), trail: Vec::new() }
    }

    /// The value of a node that has one.
    pub fn value(&self, id: NodeId) -> Option<ValueId> {
        self.of_node[id.index()]
    }

    /// A literal or leaf has its value everywhere.
    pub fn set(&mut self, id: NodeId, value: ValueId) {
        self.of_node[id.index()] = Some(value);
    }

    /// The node has its value from here on.
    pub fn emitted(&mut self, id: NodeId, value: ValueId) {
        self.set(id, value);
        self.trail.push(Trail::Emitted(id));
    }

    /// The lazy node, if it waits to be forced.
    pub fn delayed(&self, id: NodeId) -> Option<Delayed> {
        self.delayed.get(&id).copied()
    }

    /// The lazy node can be forced from here on.
    pub fn delay(&mut self, id: NodeId, delayed: Delayed) {
        self.delayed.insert(id, delayed);
        self.trail.push(Trail::Delayed(id));
    }

    /// Where a branch or forced node begins.
    pub fn mark(&self) -> Mark {
        Mark(self.trail.len())
    }

    /// The end of a branch: forgets what became known since the mark.
    pub fn end_branch(&mut self, mark: Mark) {
        self.forget(mark, false);
    }

    /// The end of a forced node, which has its value from here on. Forgets what became known since the
    /// mark, except other forced nodes.
    pub fn end_forced(&mut self, id: NodeId, mark: Mark) {
        self.forget(mark, true);
        self.of_node[id.index()] = self.delayed(id).map(|delayed| delayed.value);
        self.trail.push(Trail::Forced(id));
    }

    fn forget(&mut self, Mark(began): Mark, keep_forced: bool) {
        let mut kept = began;
        for at in began..self.trail.len() {
            match self.trail[at] {
                Trail::Forced(_) if keep_forced => {
                    self.trail[kept] = self.trail[at];
                    kept += 1;
                }
                Trail::Emitted(id) | Trail::Forced(id) => self.of_node[id.index()] = None,
                Trail::Delayed(id) => {
                    self.delayed.remove(&id);
                }
            }
        }
        self.trail.truncate(kept);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_are_forgotten_and_forced_nodes_stay_known() {
        let mut known = Known::new(4);
        let [x, y, lazy, other] = [0, 1, 2, 3].map(NodeId::at);
        known.emitted(x, ValueId(10));
        known.delay(lazy, Delayed { value: ValueId(12), known: ValueId(13) });
        let branch = known.mark();
        known.delay(other, Delayed { value: ValueId(14), known: ValueId(15) });
        let (outer, inner) = (known.mark(), known.mark());
        known.emitted(y, ValueId(11));
        known.end_forced(other, inner);
        assert_eq!((known.value(y), known.value(other)), (None, Some(ValueId(14))));
        known.end_forced(lazy, outer);
        assert_eq!((known.value(other), known.value(lazy)), (Some(ValueId(14)), Some(ValueId(12))));
        known.end_branch(branch);
        assert_eq!((known.value(lazy), known.value(other)), (None, None));
        assert!(known.delayed(lazy).is_some() && known.delayed(other).is_none());
        assert_eq!(known.value(x), Some(ValueId(10)));
    }
}
