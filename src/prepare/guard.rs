//! Guards: a node that may raise is evaluated only if some branch that needs it is taken.
//!
//! ```text
//! where(c, x // y, 0) + where(d, x // y, 1)
//! ```
//!
//! `x // y` is one node with uses in two branches, so it belongs to the region around both. Evaluated
//! there it would raise although neither branch is taken. The guard makes it conditional on the masks
//! that lead to its uses, and gives everybody else a zero that nobody reads:
//!
//! ```text
//! g = where(c | d, x // y, 0);   where(c, g, 0) + where(d, g, 1)
//! ```
//!
//! A node needs no guard if evaluating its region implies needing it: it is used there directly, or in
//! both branches of one `where`. Total operators need none either; they run early, unobserved.
//!
//! The masks may contain nodes that raise and are now needed in more places; the pass repeats until
//! there is nothing to guard. Each round moves outward by a region, so rounds are bounded by the depth
//! of nesting.

use crate::expr::NodeId;
use crate::prepare::branches::{RegionId, Regions};
use crate::prepare::draft::Draft;
use crate::prepare::error::PrepareError;
use crate::registry::define::LowerError;
use cembra_vm::value::{ScalarType, Value};
use std::collections::{HashMap, HashSet};

/// Guards all nodes that need it; gives the final regions.
///
/// # Errors
/// The graph is full.
pub fn guard(mut draft: Draft) -> Result<(Draft, Regions), PrepareError> {
    let mut forced = HashSet::new();
    loop {
        let regions = Regions::new(&draft);
        let unsafe_nodes = match regions.is_empty() {
            true => Vec::new(),
            false => speculative(&draft, &regions, &forced),
        };
        if unsafe_nodes.is_empty() {
            return Ok((draft, regions));
        }
        forced = insert_guards(&mut draft, &regions, &unsafe_nodes, &forced)?;
    }
}

/// True if evaluating the node in vain could be noticed.
pub fn may_raise(draft: &Draft, id: NodeId) -> bool {
    let Some(operator) = draft.graph.operator(id) else { return false };
    if draft.fault(id).is_some() {
        return true;
    }
    match draft.signature(id).and_then(|s| s.overload.as_ref()) {
        Some(overload) => !overload.effects.is_total(),
        None => draft.packed(operator).is_some_and(|packed| !packed.is_total()),
    }
}

/// Nodes that may raise and that their region does not always need. `forced` nodes, guards and their
/// masks, count as needed: they run whenever their region does, and what they guard does not.
fn speculative(draft: &Draft, regions: &Regions, forced: &HashSet<NodeId>) -> Vec<NodeId> {
    let reached = draft.reachable();
    let mut always = vec![false; reached.len()];
    // Regions in which a node is needed whenever they run, gathered from its users.
    let mut needed_in: Vec<Vec<RegionId>> = vec![Vec::new(); reached.len()];
    let mut found = Vec::new();
    needed_in[draft.root.index()].push(RegionId::ROOT);
    for index in (0..reached.len()).rev().filter(|i| reached[*i]) {
        let id = NodeId::at(index);
        let Some(here) = regions.of(id) else { continue };
        let needed = std::mem::take(&mut needed_in[index]);
        always[index] = forced.contains(&id) || is_always(regions, &always, here, needed);
        if !always[index] {
            if may_raise(draft, id) {
                found.push(id);
            }
            continue;
        }
        for (position, operand) in draft.graph.operands(id).iter().enumerate() {
            let region = match (regions.branches(id), position) {
                (Some((yes, _)), 1) => yes,
                (Some((_, no)), 2) => no,
                _ => here,
            };
            needed_in[operand.index()].push(region);
        }
    }
    found
}

/// True if the regions that need a node cover its own: one of them is it, or both branches of a
/// `where` that itself is always needed there.
fn is_always(regions: &Regions, always: &[bool], here: RegionId, needed: Vec<RegionId>) -> bool {
    if needed.contains(&here) {
        return true;
    }
    let mut seen: HashSet<u32> = HashSet::new();
    let mut work = needed;
    while let Some(region) = work.pop() {
        if region == here {
            return true;
        }
        if regions.depth(region) <= regions.depth(here) || !seen.insert(region.0) {
            continue;
        }
        let row = regions.get(region);
        let sibling = regions.branches(row.owner).map(|(yes, no)| if row.taken { no } else { yes });
        let both = sibling.is_some_and(|s| seen.contains(&s.0));
        if both && always[row.owner.index()] {
            work.push(row.parent);
        }
    }
    false
}

/// Replaces each node by `where(mask of its uses, node, zero)`; gives all guards and masks so far.
fn insert_guards(
    draft: &mut Draft,
    regions: &Regions,
    nodes: &[NodeId],
    forced: &HashSet<NodeId>,
) -> Result<HashSet<NodeId>, PrepareError> {
    let wanted: HashSet<NodeId> = nodes.iter().copied().collect();
    let demand = Demand::new(draft, regions);
    let mut builder = Masks {
        regions,
        demand: &demand,
        of_node: HashMap::new(),
        of_region: HashMap::new(),
        made: forced.clone(),
    };
    // The masks refer to nodes as they were; rewriting then replaces guarded nodes inside them too,
    // except under their own guard.
    let mut guards: HashMap<NodeId, NodeId> = HashMap::new();
    for id in nodes {
        let mask = builder.of_node(draft, *id).map_err(|error| located(draft, *id, error))?;
        guards.insert(*id, mask);
    }
    let made = builder.made;
    replace(draft, &wanted, &guards, &made)
}

fn located(draft: &Draft, id: NodeId, error: LowerError) -> PrepareError {
    let operator =
        draft.graph.operator(id).map_or_else(|| "core.where".into(), |op| draft.graph.name(op).clone());
    PrepareError::of_node(draft.graph.span(id), &operator, error)
}

/// Rewrites the draft with the guarded nodes in place. Guards are made before the root in number
/// order, so the masks are mapped like every other node.
fn replace(
    draft: &mut Draft,
    wanted: &HashSet<NodeId>,
    guards: &HashMap<NodeId, NodeId>,
    made: &HashSet<NodeId>,
) -> Result<HashSet<NodeId>, PrepareError> {
    let mut forced = HashSet::new();
    let zeros: HashMap<NodeId, NodeId> = wanted
        .iter()
        .map(|id| {
            let zero = Value::zero(&draft.qtype_of(*id).clone());
            Ok((*id, draft.value_node(zero)?))
        })
        .collect::<Result<_, PrepareError>>()?;
    let mut map: HashMap<NodeId, NodeId> = HashMap::new();
    let mut stack: Vec<(NodeId, bool)> = vec![(draft.root, false)];
    while let Some((id, expanded)) = stack.pop() {
        if map.contains_key(&id) {
            continue;
        }
        let guard = guards.get(&id).copied();
        if !expanded {
            stack.push((id, true));
            stack.extend(draft.graph.operands(id).iter().map(|o| (*o, false)));
            stack.extend(guard.map(|g| (g, false)));
            continue;
        }
        let mut node = rebuild(draft, id, &map)?;
        if made.contains(&id) {
            forced.insert(node);
        }
        if let Some(mask) = guard {
            let span = draft.graph.span(id);
            let operands = [map[&mask], node, zeros[&id]];
            node = draft.exact("core.where", &operands, span).map_err(|error| located(draft, id, error))?;
            forced.insert(node);
        }
        map.insert(id, node);
    }
    draft.root = map[&draft.root];
    Ok(forced)
}

fn rebuild(draft: &mut Draft, id: NodeId, map: &HashMap<NodeId, NodeId>) -> Result<NodeId, PrepareError> {
    let Some(operator) = draft.graph.operator(id) else { return Ok(id) };
    let operands: Vec<NodeId> = draft.graph.operands(id).iter().map(|o| map[o]).collect();
    if draft.graph.operands(id) == operands {
        return Ok(id);
    }
    let span = draft.graph.span(id);
    draft.apply(operator, &operands, span).map_err(|error| located(draft, id, error))
}

/// A use of a node by another: plainly, or as a branch of a `where`.
#[derive(Clone, Copy, Debug)]
enum Use {
    Plain(NodeId),
    Branch(RegionId),
}

/// All uses of all nodes.
struct Demand {
    uses: Vec<Vec<Use>>,
    root: NodeId,
}

impl Demand {
    fn new(draft: &Draft, regions: &Regions) -> Demand {
        let reached = draft.reachable();
        let mut uses = vec![Vec::new(); reached.len()];
        for index in (0..reached.len()).filter(|i| reached[*i]) {
            let id = NodeId::at(index);
            for (position, operand) in draft.graph.operands(id).iter().enumerate() {
                uses[operand.index()].push(match (regions.branches(id), position) {
                    (Some((yes, _)), 1) => Use::Branch(yes),
                    (Some((_, no)), 2) => Use::Branch(no),
                    _ => Use::Plain(id),
                });
            }
        }
        Demand { uses, root: draft.root }
    }
}

/// Masks that say when a node is needed, or a region runs; `None` means always.
struct Masks<'r> {
    regions: &'r Regions,
    demand: &'r Demand,
    of_node: HashMap<NodeId, Option<NodeId>>,
    of_region: HashMap<u32, Option<NodeId>>,
    /// Nodes made for masks.
    made: HashSet<NodeId>,
}

/// What a mask waits for.
#[derive(Clone, Copy)]
enum Task {
    Node(NodeId),
    Region(RegionId),
}

impl Masks<'_> {
    /// The mask of a node that is not always needed.
    fn of_node(&mut self, draft: &mut Draft, id: NodeId) -> Result<NodeId, LowerError> {
        let mut stack = vec![Task::Node(id)];
        while let Some(task) = stack.last().copied() {
            match self.waits_for(task) {
                Some(first) => stack.push(first),
                None => {
                    stack.pop();
                    self.finish(draft, task)?;
                }
            }
        }
        match self.of_node[&id] {
            Some(mask) => Ok(mask),
            None => Ok(draft.value_node(Value::presence(true))?),
        }
    }

    /// A mask that must be known first.
    fn waits_for(&self, task: Task) -> Option<Task> {
        let unknown_node = |n: NodeId| (!self.of_node.contains_key(&n)).then_some(Task::Node(n));
        let unknown_region = |r: RegionId| (!self.of_region.contains_key(&r.0)).then_some(Task::Region(r));
        match task {
            Task::Node(id) if id == self.demand.root => None,
            Task::Node(id) => self.demand.uses[id.index()].iter().find_map(|u| match u {
                Use::Plain(user) => unknown_node(*user),
                Use::Branch(region) => unknown_region(*region),
            }),
            Task::Region(RegionId::ROOT) => None,
            Task::Region(region) => unknown_node(self.regions.get(region).owner),
        }
    }

    fn finish(&mut self, draft: &mut Draft, task: Task) -> Result<(), LowerError> {
        match task {
            Task::Node(id) => {
                let mask = self.any_use(draft, id)?;
                self.made.extend(mask);
                self.of_node.insert(id, mask);
            }
            Task::Region(region) => {
                let mask = self.region_runs(draft, region)?;
                self.made.extend(mask);
                self.of_region.insert(region.0, mask);
            }
        }
        Ok(())
    }

    /// The node is needed if one of its users is, or a branch that uses it runs.
    fn any_use(&self, draft: &mut Draft, id: NodeId) -> Result<Option<NodeId>, LowerError> {
        if id == self.demand.root {
            return Ok(None);
        }
        let mut any: Option<NodeId> = None;
        for use_ in &self.demand.uses[id.index()] {
            let mask = match use_ {
                Use::Plain(user) => self.of_node[user],
                Use::Branch(region) => self.of_region[&region.0],
            };
            let Some(mask) = mask else { return Ok(None) };
            any = Some(match any {
                Some(other) if other != mask => {
                    draft.exact("core.presence_or", &[other, mask], draft.graph.span(id))?
                }
                _ => mask,
            });
        }
        Ok(any)
    }

    /// A branch runs if its `where` is needed and the condition says so. The condition is evaluated
    /// only if the `where` is needed.
    fn region_runs(&self, draft: &mut Draft, region: RegionId) -> Result<Option<NodeId>, LowerError> {
        if region == RegionId::ROOT {
            return Ok(None);
        }
        let row = self.regions.get(region);
        let span = draft.graph.span(row.owner);
        let condition = draft.graph.operands(row.owner)[0];
        let taken = match row.taken {
            true => condition,
            false => draft.exact("core.presence_not", &[condition], span)?,
        };
        match self.of_node[&row.owner] {
            None => Ok(Some(taken)),
            Some(outer) => {
                let missing = draft.value_node(Value::Missing(ScalarType::Unit))?;
                Ok(Some(draft.exact("core.where", &[outer, taken, missing], span)?))
            }
        }
    }
}
