//! Out of SSA: phis become registers that several instructions write, and copies on edges.
//!
//! ```text
//! s.1 = phi [s.0, s.3]      s.0, s.1, s.3 in one register r, if they are never alive together
//!                           else a copy at the end of the predecessor
//! a.1, b.1 = b.0, a.0       copies on one edge happen at once: t = a; a = b; b = t
//! ```
//!
//! 1. Critical edges are split, so that a copy for one way is not made on another (the lost copy problem).
//! 2. A phi takes an operand into its register unless two values of the register would be alive at once. Values that
//!    are pinned (literals, inputs) stay alone.
//! 3. What is left are copies at the ends of predecessors, put in an order in which no source is overwritten
//!    before it is read; a cycle goes through a spare register (the swap problem).

use crate::ssa::flow::{Flow, InstId, SsaOperation, Tail};
use crate::ssa::live::live_out_values;
use fixedbitset::FixedBitSet;
use hashbrown::{HashMap, HashSet};

/// A copy at the end of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EdgeCopy {
    /// A register takes a value.
    Copy {
        /// A value that stands for its register.
        to: InstId,
        /// A value that stands for its register, or a literal.
        from: InstId,
    },
    /// The spare register takes a value; it is of the type of that value.
    Save {
        /// A value that stands for its register.
        from: InstId,
    },
    /// A register takes what the spare one for another holds.
    Restore {
        /// A value that stands for its register.
        to: InstId,
        /// The value whose register was saved.
        saved: InstId,
    },
}

/// How values share registers, and the copies that are left.
#[derive(Clone, Debug)]
pub struct Destructed {
    /// The value that stands for the register of each value.
    pub register: Vec<InstId>,
    /// Copies at the end of each block, in order.
    pub copies: Vec<Vec<EdgeCopy>>,
}

/// Most pairs of values that are alive at once: some thousands of variables that one loop carries.
pub const MOST_PAIRS: usize = 16_000_000;

/// Finds registers and copies; splits critical edges of the flow. `is_pinned` values keep to themselves, and those that
/// stay clear of their operands take no register of one, even if it is read last there. Nothing if more than
/// [`MOST_PAIRS`] pairs of values are alive at once.
pub fn destruct<O: SsaOperation>(
    flow: &mut Flow<O>,
    is_pinned: impl Fn(&Flow<O>, InstId) -> bool,
    stays_clear: impl Fn(&Flow<O>, InstId) -> bool,
) -> Option<Destructed> {
    split_critical_edges(flow);
    let mut marked = FixedBitSet::with_capacity(flow.insts.len());
    for block in flow.block_ids() {
        for phi in flow.phis(block) {
            marked.insert(phi.index());
            let free = flow.inst(phi).args.iter().filter(|arg| !is_pinned(flow, **arg));
            free.for_each(|arg| marked.insert(arg.index()));
        }
    }
    let mut classes = Classes::new(interference(flow, &marked, stays_clear)?);
    for block in flow.block_ids() {
        for phi in flow.phis(block) {
            for arg in flow.inst(phi).args.iter().filter(|arg| marked.contains(arg.index())) {
                classes.join(phi, *arg);
            }
        }
    }
    let register: Vec<InstId> = (0..flow.insts.len() as u32).map(|v| classes.root(InstId(v))).collect();
    let mut copies = vec![Vec::new(); flow.blocks.len()];
    for block in flow.block_ids() {
        for (position, from) in flow.block(block).predecessors.iter().enumerate() {
            let pairs = flow.phis(block).filter_map(|phi| {
                let value = flow.inst(phi).args[position];
                let (to, source) = (register[phi.index()], register[value.index()]);
                (to != source).then_some((to, source))
            });
            copies[from.index()].extend(in_sequence(pairs.collect()));
        }
    }
    Some(Destructed { register, copies })
}

/// A block of its own on every edge that leaves a branch and enters a block with phis and several predecessors.
fn split_critical_edges<O: SsaOperation>(flow: &mut Flow<O>) {
    for block in flow.block_ids() {
        let (Tail::Branch { then, orelse, .. } | Tail::Guard { then, orelse, .. }) = flow.block(block).tail
        else {
            continue;
        };
        for to in [then, orelse] {
            let target = flow.block(to);
            if target.predecessors.len() > 1 && flow.phis(to).next().is_some() {
                let depth = flow.block(block).depth.min(target.depth);
                let middle = flow.add_block(depth);
                flow.blocks[middle.index()].tail = Tail::Jump(to);
                flow.blocks[middle.index()].tail_span = flow.block(block).tail_span;
                flow.blocks[middle.index()].predecessors = vec![block];
                flow.blocks[block.index()].tail.redirect(to, middle);
                let known = &mut flow.blocks[to.index()].predecessors;
                let position = known.iter().position(|from| *from == block).expect("the edge is known");
                known[position] = middle;
            }
        }
    }
}

/// By value, the marked values that are alive at once with it; nothing if there are too many.
///
/// Of two values one is defined where the other is alive, and only one: each pair is met once.
fn interference<O: SsaOperation>(
    flow: &Flow<O>,
    marked: &FixedBitSet,
    stays_clear: impl Fn(&Flow<O>, InstId) -> bool,
) -> Option<Vec<Vec<InstId>>> {
    let live_out = live_out_values(flow, marked);
    let mut neighbours: Vec<Vec<InstId>> = vec![Vec::new(); flow.insts.len()];
    let (mut alive, mut pairs) = (AliveValues::new(flow.insts.len()), 0);
    for block in flow.block_ids() {
        alive.clear();
        live_out[block.index()].iter().for_each(|value| alive.insert(*value));
        let rows = flow.block(block);
        rows.tail.operand().filter(|v| marked.contains(v.index())).into_iter().for_each(|v| alive.insert(v));
        let mut meet = |value: InstId, alive: &AliveValues| {
            pairs += alive.values.len();
            if pairs > MOST_PAIRS {
                return false;
            }
            neighbours[value.index()].extend_from_slice(&alive.values);
            alive.values.iter().for_each(|other| neighbours[other.index()].push(value));
            true
        };
        let phis: Vec<InstId> = flow.phis(block).collect();
        for inst in rows.insts[phis.len()..].iter().rev() {
            alive.remove(*inst);
            let args = flow.inst(*inst).args.iter().filter(|arg| marked.contains(arg.index()));
            let is_marked = marked.contains(inst.index());
            let is_clear = is_marked && stays_clear(flow, *inst);
            if is_clear {
                args.clone().for_each(|arg| alive.insert(*arg));
            }
            if is_marked && !meet(*inst, &alive) {
                return None;
            }
            args.for_each(|arg| alive.insert(*arg));
        }
        // Phis are written at once, so that each meets the others.
        phis.iter().for_each(|phi| alive.remove(*phi));
        for phi in phis {
            if !meet(phi, &alive) {
                return None;
            }
            alive.insert(phi);
        }
    }
    Some(neighbours)
}

/// Values that are alive: a list, and the place of each in it.
struct AliveValues {
    values: Vec<InstId>,
    place: Vec<u32>,
}

impl AliveValues {
    const NOWHERE: u32 = u32::MAX;

    fn new(count: usize) -> AliveValues {
        AliveValues { values: Vec::new(), place: vec![AliveValues::NOWHERE; count] }
    }

    fn clear(&mut self) {
        self.values.drain(..).for_each(|value| self.place[value.index()] = AliveValues::NOWHERE);
    }

    fn insert(&mut self, value: InstId) {
        let place = &mut self.place[value.index()];
        if *place == AliveValues::NOWHERE {
            *place = self.values.len() as u32;
            self.values.push(value);
        }
    }

    fn remove(&mut self, value: InstId) {
        let place = std::mem::replace(&mut self.place[value.index()], AliveValues::NOWHERE);
        if place != AliveValues::NOWHERE {
            self.values.swap_remove(place as usize);
            if let Some(moved) = self.values.get(place as usize) {
                self.place[moved.index()] = place;
            }
        }
    }
}

/// Classes of values that share a register.
struct Classes {
    root: Vec<InstId>,
    members: Vec<Vec<InstId>>,
    /// Values that are alive with a value.
    neighbours: Vec<Vec<InstId>>,
}

impl Classes {
    fn new(neighbours: Vec<Vec<InstId>>) -> Classes {
        let root: Vec<InstId> = (0..neighbours.len() as u32).map(InstId).collect();
        let members = root.iter().map(|value| vec![*value]).collect();
        Classes { root, members, neighbours }
    }

    fn root(&self, value: InstId) -> InstId {
        self.root[value.index()]
    }

    /// Joins the classes of two values unless members of both are alive at once.
    fn join(&mut self, a: InstId, b: InstId) {
        let (a, b) = (self.root(a), self.root(b));
        let is_larger = self.members[a.index()].len() >= self.members[b.index()].len();
        let (large, small) = if is_larger { (a, b) } else { (b, a) };
        let meets = |value: &InstId| self.neighbours[value.index()].iter().any(|n| self.root(*n) == large);
        if a == b || self.members[small.index()].iter().any(meets) {
            return;
        }
        let moved = std::mem::take(&mut self.members[small.index()]);
        moved.iter().for_each(|value| self.root[value.index()] = large);
        self.members[large.index()].extend(moved);
    }
}

/// Copies that happen at once, one after the other: first those into registers that no other one reads.
fn in_sequence(pairs: Vec<(InstId, InstId)>) -> Vec<EdgeCopy> {
    let mut out = Vec::with_capacity(pairs.len());
    let mut source: HashMap<InstId, InstId> = pairs.iter().copied().collect();
    // How many copies that are left read a register.
    let mut readers: HashMap<InstId, usize> = HashMap::new();
    pairs.iter().for_each(|(_, from)| *readers.entry(*from).or_insert(0) += 1);
    // Registers whose value was saved, and stands in a spare register now.
    let mut saved: HashSet<InstId> = HashSet::new();
    let registers = pairs.iter().map(|(to, _)| *to);
    let mut free: Vec<InstId> = registers.clone().rev().filter(|to| !readers.contains_key(to)).collect();
    let mut rest = registers;
    loop {
        while let Some(to) = free.pop() {
            let from = source.remove(&to).expect("a register is written once");
            if saved.contains(&from) {
                out.push(EdgeCopy::Restore { to, saved: from });
                continue;
            }
            out.push(EdgeCopy::Copy { to, from });
            let left = readers.get_mut(&from).expect("it was counted");
            *left -= 1;
            if *left == 0 && source.contains_key(&from) {
                free.push(from);
            }
        }
        // What is left are cycles.
        let Some(to) = rest.find(|to| source.contains_key(to)) else { break };
        out.push(EdgeCopy::Save { from: to });
        saved.insert(to);
        free.push(to);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_swap_goes_through_a_spare_register() {
        let [a, b, c] = [0, 1, 2].map(InstId);
        assert_eq!(
            in_sequence(vec![(a, b), (b, a), (c, a)]),
            [
                EdgeCopy::Copy { to: c, from: a },
                EdgeCopy::Save { from: a },
                EdgeCopy::Copy { to: a, from: b },
                EdgeCopy::Restore { to: b, saved: a },
            ]
        );
        assert_eq!(
            in_sequence(vec![(a, b), (b, c)]),
            [EdgeCopy::Copy { to: a, from: b }, EdgeCopy::Copy { to: b, from: c },]
        );
    }
}
