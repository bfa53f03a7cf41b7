//! Lazy nodes: shared work that may raise waits until a branch needs it.
//!
//! ```text
//! where(c, x // y, 0) + where(d, x // y, 1)
//! ```
//!
//! `x // y` is one node with uses in two branches, so it belongs to the region around both. Evaluated
//! there it would raise although neither branch is taken. It is *lazy* instead: its region only notes
//! that it has no value yet, and each branch that needs it evaluates it unless an earlier one has.
//!
//! A node need not be lazy if its region always needs it: it is used there directly, or in both
//! branches of one `where`. Work that cannot raise need not be either; it runs early, unobserved.
//!
//! 1. A node is lazy if its region does not always need it, and its evaluation may raise: by itself, by
//!    evaluating a lazy operand, or in a branch.
//! 2. Nodes that are not lazy have lazy operands only where their own region always runs them.

use crate::expr::NodeId;
use crate::prepare::branches::{RegionId, Regions};
use crate::prepare::draft::Draft;
use crate::prepare::prepared::PackedOperators;
use std::collections::HashSet;

/// The lazy nodes of a draft, by node.
pub fn lazy_nodes(draft: &Draft, packed: &PackedOperators, regions: &Regions) -> Vec<bool> {
    let reached = draft.reachable();
    let mut lazy = vec![false; reached.len()];
    if regions.is_empty() {
        return lazy;
    }
    let always = always_needed(draft, regions, &reached);
    // Regions in which something that may raise runs.
    let mut raising = vec![false; regions.len()];
    for index in (0..reached.len()).filter(|i| reached[*i]) {
        let id = NodeId::at(index);
        let Some(here) = regions.of(id) else { continue };
        let in_branch = |(yes, no): (RegionId, RegionId)| raising[yes.index()] || raising[no.index()];
        let raises = may_raise(draft, packed, id)
            || draft.graph.operands(id).iter().any(|o| lazy[o.index()])
            || regions.branches(id).is_some_and(in_branch);
        if raises && always[index] {
            raising[here.index()] = true;
        }
        lazy[index] = raises && !always[index];
    }
    lazy
}

/// True if evaluating the node itself in vain could be noticed.
fn may_raise(draft: &Draft, packed: &PackedOperators, id: NodeId) -> bool {
    let Some(operator) = draft.graph.operator(id) else { return false };
    if draft.fault(id).is_some() {
        return true;
    }
    match draft.signature(id).and_then(|s| s.overload.as_ref()) {
        Some(overload) => !overload.effects().is_total(),
        None => packed.get(&operator).is_some_and(|packed| !packed.compile.effects().is_total()),
    }
}

/// By node: whether its region, whenever it runs, needs its value.
fn always_needed(draft: &Draft, regions: &Regions, reached: &[bool]) -> Vec<bool> {
    let mut always = vec![false; reached.len()];
    // Regions that need a node whenever they run, gathered from its users.
    let mut needed_in: Vec<Vec<RegionId>> = vec![Vec::new(); reached.len()];
    needed_in[draft.root.index()].push(RegionId::ROOT);
    for index in (0..reached.len()).rev().filter(|i| reached[*i]) {
        let id = NodeId::at(index);
        let Some(here) = regions.of(id) else { continue };
        let needed = std::mem::take(&mut needed_in[index]);
        always[index] = covers(regions, &always, here, needed);
        for (position, operand) in draft.graph.operands(id).iter().enumerate() {
            match (regions.branches(id), position) {
                (Some((yes, _)), 1) => needed_in[operand.index()].push(yes),
                (Some((_, no)), 2) => needed_in[operand.index()].push(no),
                _ if always[index] => needed_in[operand.index()].push(here),
                _ => {}
            }
        }
    }
    always
}

/// True if the regions that need a node cover its own: one of them is it, or both branches of a
/// `where` that itself is always needed there.
fn covers(regions: &Regions, always: &[bool], here: RegionId, needed: Vec<RegionId>) -> bool {
    if needed.contains(&here) {
        return true;
    }
    let mut seen: HashSet<RegionId> = HashSet::new();
    let mut work = needed;
    while let Some(region) = work.pop() {
        if region == here {
            return true;
        }
        if regions.depth(region) <= regions.depth(here) || !seen.insert(region) {
            continue;
        }
        let row = regions.get(region);
        let sibling = regions.branches(row.owner).map(|(yes, no)| if row.taken { no } else { yes });
        if sibling.is_some_and(|s| seen.contains(&s)) && always[row.owner.index()] {
            work.push(row.parent);
        }
    }
    false
}
