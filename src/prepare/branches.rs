//! Short-circuit `where`: which nodes belong to which branch.
//!
//! A *region* is a stretch of the program that runs together: the whole program, or one branch of one
//! `core.where`. Regions form a tree. A node belongs to the innermost region that encloses all its
//! uses: their nearest common ancestor.
//!
//! ```text
//! where(c, exp(log(x)), log(x) * y)        region 0: c, log(x), where
//!                                            region 1 (true):  exp
//!                                            region 2 (false): multiply
//! ```
//!
//! Users have larger numbers than operands, so one pass from high to low sees every use of a node
//! before the node. Nearest common ancestors climb by parent and jump pointers in O(log n).
//!
//! Only `where` on a scalar mask branches; if neither branch has anything to skip, a node of its own or
//! a lazy one ([`lazy`](crate::prepare::lazy)), the `where` stays an eager operator. Leaves and literals
//! belong to no region.

use crate::expr::NodeId;
use crate::prepare::draft::Draft;
use cembra_vm::builtins::core;
use cembra_vm::value::qtype::OPTIONAL_UNIT;
use std::collections::HashSet;

/// Number of a region; 0 is the whole program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RegionId(pub(crate) u32);

impl RegionId {
    /// The whole program.
    pub const ROOT: RegionId = RegionId(0);

    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// A region.
#[derive(Clone, Copy, Debug)]
pub struct Region {
    /// The region around it; itself for the root.
    pub parent: RegionId,
    /// The `core.where` node whose branch it is; meaningless for the root.
    pub owner: NodeId,
    /// True for the branch taken if the mask is present.
    pub taken: bool,
    depth: u32,
    jump: RegionId,
}

/// Regions, and the region of each node.
#[derive(Clone, Debug)]
pub struct Regions {
    regions: Vec<Region>,
    /// Region by node; `NOWHERE` for leaves, literals and unreachable nodes.
    of_node: Vec<RegionId>,
    /// Operator nodes by region.
    sizes: Vec<u32>,
    /// True and false region by `where` node.
    branches: Vec<Option<(RegionId, RegionId)>>,
    /// Lazy nodes, by node; empty if nobody has said so.
    lazy: Vec<bool>,
    /// `where` nodes with a lazy branch.
    skips_lazy: HashSet<NodeId>,
}

/// True for a `where` that takes one branch for everything: it has one mask, and branches of its own
/// type. Others choose row by row.
fn has_one_condition(draft: &Draft, id: NodeId) -> bool {
    let [condition, yes, no] = *draft.graph.operands(id) else { return false };
    let is_whole = |branch: NodeId| draft.qtype_of(branch) == draft.qtype_of(id);
    *draft.qtype_of(condition) == OPTIONAL_UNIT && is_whole(yes) && is_whole(no)
}

const NOWHERE: RegionId = RegionId(u32::MAX);

impl Regions {
    /// Places the nodes of a draft.
    pub fn new(draft: &Draft) -> Regions {
        let reached = draft.reachable();
        let root =
            Region { parent: RegionId::ROOT, owner: draft.root, taken: true, depth: 0, jump: RegionId::ROOT };
        let mut regions = Regions {
            regions: vec![root],
            of_node: vec![NOWHERE; reached.len()],
            sizes: vec![0],
            branches: Vec::new(),
            lazy: Vec::new(),
            skips_lazy: HashSet::new(),
        };
        let select = draft.graph.find_symbol(core::WHERE);
        regions.of_node[draft.root.index()] = RegionId::ROOT;
        for index in (0..reached.len()).rev().filter(|i| reached[*i]) {
            let id = NodeId::at(index);
            let Some(operator) = draft.graph.operator(id) else {
                regions.of_node[index] = NOWHERE;
                continue;
            };
            let here = regions.of_node[index];
            regions.sizes[here.index()] += 1;
            if Some(operator) == select && has_one_condition(draft, id) {
                regions.split(draft, id, here);
            } else {
                draft.graph.operands(id).iter().for_each(|o| regions.use_in(*o, here));
            }
        }
        regions
    }

    /// Says which nodes are lazy.
    pub fn set_lazy(&mut self, draft: &Draft, lazy: Vec<bool>) {
        let owners = self.regions[1..].iter().map(|r| r.owner);
        let branch = |id: NodeId| draft.graph.operands(id)[1..].iter().any(|o| lazy[o.index()]);
        self.skips_lazy = owners.filter(|id| branch(*id)).collect();
        self.lazy = lazy;
    }

    /// True for a node that waits until a branch needs it.
    pub fn is_lazy(&self, id: NodeId) -> bool {
        self.lazy.get(id.index()).copied().unwrap_or_default()
    }

    /// Opens both branches of a `where`.
    fn split(&mut self, draft: &Draft, id: NodeId, here: RegionId) {
        let [condition, yes, no] = *draft.graph.operands(id) else { return };
        self.use_in(condition, here);
        let branches = (self.open(id, here, true), self.open(id, here, false));
        self.use_in(yes, branches.0);
        self.use_in(no, branches.1);
        if self.branches.len() <= id.index() {
            self.branches.resize(id.index() + 1, None);
        }
        self.branches[id.index()] = Some(branches);
    }

    fn open(&mut self, owner: NodeId, parent: RegionId, taken: bool) -> RegionId {
        let above = self.regions[parent.index()];
        let far = self.regions[above.jump.index()];
        // Jump pointers of a skew-binary counter: every ancestor is O(log depth) steps away.
        let jump = if above.depth - far.depth == far.depth - self.regions[far.jump.index()].depth {
            far.jump
        } else {
            parent
        };
        self.regions.push(Region { parent, owner, taken, depth: above.depth + 1, jump });
        self.sizes.push(0);
        RegionId(self.regions.len() as u32 - 1)
    }

    fn use_in(&mut self, id: NodeId, region: RegionId) {
        let known = self.of_node[id.index()];
        self.of_node[id.index()] = if known == NOWHERE { region } else { self.common(known, region) };
    }

    /// The innermost region around both.
    pub fn common(&self, a: RegionId, b: RegionId) -> RegionId {
        let (mut a, mut b) = match self.depth(a) >= self.depth(b) {
            true => (self.ancestor_at(a, self.depth(b)), b),
            false => (a, self.ancestor_at(b, self.depth(a))),
        };
        while a != b {
            let (x, y) = (self.regions[a.index()], self.regions[b.index()]);
            (a, b) = if x.jump == y.jump { (x.parent, y.parent) } else { (x.jump, y.jump) };
        }
        a
    }

    /// The region around this one at a depth not below the root's.
    pub fn ancestor_at(&self, region: RegionId, depth: u32) -> RegionId {
        let mut region = region;
        while self.depth(region) > depth {
            let row = self.regions[region.index()];
            region = if self.depth(row.jump) >= depth { row.jump } else { row.parent };
        }
        region
    }

    /// Regions around a region.
    pub fn depth(&self, region: RegionId) -> u32 {
        self.regions[region.index()].depth
    }

    /// A region's row.
    pub fn get(&self, region: RegionId) -> Region {
        self.regions[region.index()]
    }

    /// Number of regions.
    pub fn len(&self) -> usize {
        self.regions.len()
    }

    /// True if nothing branches.
    pub fn is_empty(&self) -> bool {
        self.regions.len() == 1
    }

    /// Region of an operator node; `None` for leaves, literals and unreachable nodes.
    pub fn of(&self, id: NodeId) -> Option<RegionId> {
        self.of_node.get(id.index()).copied().filter(|r| *r != NOWHERE)
    }

    /// Both branches of a `where`, true first, empty or not.
    pub fn branches(&self, id: NodeId) -> Option<(RegionId, RegionId)> {
        self.branches.get(id.index()).copied().flatten()
    }

    /// Both branches of a `where` that has something to skip.
    pub fn short_circuit(&self, id: NodeId) -> Option<(RegionId, RegionId)> {
        let both = self.branches(id)?;
        let own = self.sizes[both.0.index()] > 0 || self.sizes[both.1.index()] > 0;
        (own || self.skips_lazy.contains(&id)).then_some(both)
    }

    /// Operator nodes that belong to a region itself.
    pub fn size(&self, region: RegionId) -> usize {
        self.sizes[region.index()] as usize
    }
}
