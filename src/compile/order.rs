//! Order of evaluation: operands that need much memory for a while, and leave little, come first.
//!
//! The rule of Sethi and Ullman, in bytes: a subexpression that peaks at `p` bytes and leaves a result
//! of `s` is best evaluated before others in the order of falling `p - s`, because its peak is then on
//! top of the fewest waiting results. For trees this is optimal; shared nodes count as if each user
//! computed them, which only makes the estimate larger.
//!
//! ```text
//! max(e0, max(e1, max(e2, e3)))    left to right: 4 results wait; inner first: 2
//! ```

use crate::expr::NodeId;
use crate::prepare::Prepared;
use crate::prepare::branches::RegionId;

/// Bytes a node needs at its peak, by node; 0 for leaves and literals.
#[derive(Debug)]
pub struct Needs {
    peak: Vec<u32>,
    size: Vec<u32>,
    /// The node whose operands counted this one last, plus one; so that an operand counts once.
    counted: Vec<u32>,
}

impl Needs {
    /// Estimates every reachable node, operands before users.
    pub fn new(prepared: &Prepared, reached: &[bool], dependencies: &[Vec<NodeId>]) -> Needs {
        let zeros = || vec![0; reached.len()];
        let mut needs = Needs { peak: zeros(), size: zeros(), counted: zeros() };
        let mut operands = Vec::new();
        for index in (0..reached.len()).filter(|i| reached[*i]) {
            let id = NodeId::at(index);
            if prepared.regions().of(id).is_none() {
                continue;
            }
            let view =
                prepared.signature(id).is_none_or(|s| s.overload.is_none()) && prepared.packed(id).is_none();
            needs.size[index] = if view { 0 } else { prepared.qtype(id).size() };
            operands.clear();
            let branches = prepared.regions().short_circuit(id);
            match branches {
                None => operands.extend_from_slice(prepared.graph().operands(id)),
                Some(_) => operands.push(prepared.graph().operands(id)[0]),
            }
            operands.extend_from_slice(dependencies.get(index).map_or(&[][..], Vec::as_slice));
            needs.sort(&mut operands);
            let (peak, held) = needs.sequence(&operands, index as u32 + 1);
            let inside = branches.map_or(0, |both| needs.branch_peak(prepared, id, both));
            let result = needs.size[index];
            needs.peak[index] = peak.max(held + inside).max(held.max(result));
        }
        needs
    }

    /// Sorts operands into the order of evaluation; equal ones stay from left to right.
    pub fn sort(&self, operands: &mut [NodeId]) {
        match operands {
            [] | [_] => {}
            [a, b] => {
                if self.rank(*b) > self.rank(*a) {
                    std::mem::swap(a, b);
                }
            }
            many => many.sort_by_key(|o| std::cmp::Reverse(self.rank(*o))),
        }
    }

    /// How far a node's peak exceeds what it leaves.
    pub fn rank(&self, id: NodeId) -> u32 {
        self.peak[id.index()] - self.size[id.index()].min(self.peak[id.index()])
    }

    /// Peak and what is held at the end when these are evaluated in a row. The stamp is another one
    /// for each sequence.
    fn sequence(&mut self, operands: &[NodeId], stamp: u32) -> (u32, u32) {
        let (mut peak, mut held) = (0u32, 0u32);
        for operand in operands {
            if std::mem::replace(&mut self.counted[operand.index()], stamp) == stamp {
                continue;
            }
            peak = peak.max(held.saturating_add(self.peak[operand.index()]));
            held = held.saturating_add(self.size[operand.index()]);
        }
        (peak, held)
    }

    /// Peak of the more demanding branch, as far as it is computed inside.
    fn branch_peak(&self, prepared: &Prepared, id: NodeId, both: (RegionId, RegionId)) -> u32 {
        let operands = prepared.graph().operands(id);
        let inside = |operand: NodeId, region: RegionId| {
            let own = prepared.regions().of(operand) == Some(region);
            if own { self.peak[operand.index()] } else { 0 }
        };
        inside(operands[1], both.0).max(inside(operands[2], both.1))
    }
}

/// For each `where`, the nodes outside its branches that its branches need.
pub fn dependencies(prepared: &Prepared, reached: &[bool]) -> Vec<Vec<NodeId>> {
    let regions = prepared.regions();
    if regions.is_empty() {
        return Vec::new();
    }
    let mut dependencies: Vec<Vec<NodeId>> = vec![Vec::new(); reached.len()];
    let mut depend = |inner: RegionId, operand: NodeId| {
        let Some(outer) = regions.of(operand) else { return };
        if outer != inner {
            let branch = regions.ancestor_at(inner, regions.depth(outer) + 1);
            let list = &mut dependencies[regions.get(branch).owner.index()];
            if list.last() != Some(&operand) {
                list.push(operand);
            }
        }
    };
    for id in (0..reached.len()).filter(|i| reached[*i]).map(NodeId::at) {
        let Some(here) = regions.of(id) else { continue };
        for (position, operand) in prepared.graph().operands(id).iter().enumerate() {
            let region = match (regions.short_circuit(id), position) {
                (Some((yes, _)), 1) => yes,
                (Some((_, no)), 2) => no,
                _ => here,
            };
            depend(region, *operand);
        }
    }
    for list in &mut dependencies {
        list.sort_unstable();
        list.dedup();
    }
    dependencies
}
