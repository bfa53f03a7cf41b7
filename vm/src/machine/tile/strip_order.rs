//! Order of a region with strips: which members run together in registers, and in which order with the passes of others.
//!
//! ```text
//! x2 = x * x    g = a * x2    e = exp(g)    q = 1 + x2    r = e / q
//!
//! strip  x2 g    →  g        what passes read
//! pass   e
//! strip  x2 q r  →  r        x2 again: sooner done than stored and read
//! ```
//!
//! A strip has the level of what it reads from other strips, and the next one of passes; a pass that of what it reads.
//!
//! 1. A member runs at the first level where something needs it. Where more than one level does, members of few
//!    operations are computed again, others are stored.
//! 2. What passes read, and what is read outside of the region, is stored.
//! 3. Members of a level that share registers run in one strip. It runs as soon as what it reads is there, so that this
//!    is still in the cache; all that is ready at the same time runs in one strip.
//! 4. What can raise runs in the order of members: passes, and strips with such members, of which a level has one.
//! 5. A strip whose code would leave the first cache becomes several, which leave what others read in memory.

use crate::machine::tile::columns::Source;
use hashbrown::{HashMap, HashSet};
use petgraph::unionfind::UnionFind;

/// Operations, those on the way to it included, that are computed again rather than stored and read.
const MOST_REPEATED: u32 = 3;

/// Most operations of a strip, in additions: their code, for two vectors of rows, fills a first cache of 32 KiB.
const MOST_OPERATIONS: u32 = 512;

/// What runs for a block.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Item {
    /// A member as a pass.
    Pass(usize),
    /// Members, in their order, some of which are stored.
    Strip { members: Vec<usize>, stored: Vec<usize> },
}

impl Item {
    fn strip(computed: &[(usize, Computed)]) -> Item {
        match computed {
            // What runs alone is read by passes or outside.
            [(_, one)] => Item::Pass(one.member),
            _ => Item::Strip {
                members: computed.iter().map(|(_, computed)| computed.member).collect(),
                stored: computed
                    .iter()
                    .filter(|(_, computed)| computed.is_stored)
                    .map(|(_, computed)| computed.member)
                    .collect(),
            },
        }
    }

    /// What it computes.
    pub(super) fn members(&self) -> &[usize] {
        match self {
            Item::Pass(member) => std::slice::from_ref(member),
            Item::Strip { members, .. } => members,
        }
    }

    /// What it leaves in memory.
    pub(super) fn stored(&self) -> &[usize] {
        match self {
            Item::Pass(member) => std::slice::from_ref(member),
            Item::Strip { stored, .. } => stored,
        }
    }
}

/// A member of a strip.
#[derive(Clone, Copy, Debug)]
struct Computed {
    member: usize,
    is_stored: bool,
}

/// Where a member with a recipe is needed.
#[derive(Clone, Debug, Default)]
struct Needs {
    /// The first level that reads it from memory.
    in_memory: Option<usize>,
    /// Levels of strips that read it.
    in_registers: Vec<usize>,
}

/// The members of a region, which have these operands, in the order in which they run. `costs` has the operations of
/// members with recipes, `is_fallible` says which members can raise, `is_read_outside` what is stored in any case.
pub(super) fn order(
    operands: &[Vec<Source>],
    costs: &[Option<u32>],
    is_fallible: impl Fn(usize) -> bool,
    is_read_outside: impl Fn(usize) -> bool,
) -> Vec<Item> {
    let levels = levels(operands, costs, &is_fallible);
    let mut passes: Vec<Vec<usize>> = vec![Vec::new(); levels.iter().max().map_or(0, |last| last + 1)];
    for member in (0..costs.len()).filter(|member| costs[*member].is_none()) {
        passes[levels[member]].push(member);
    }
    let strips = strips(operands, costs, &levels, &is_fallible, is_read_outside);
    let mut items = Vec::new();
    let mut before: Vec<usize> = Vec::new();
    for (strips, passes) in strips.into_iter().zip(passes) {
        // Passes of the level before, and what is ready after each of them.
        let ready = ready(operands, &strips, &before, &is_fallible);
        let mut strips: Vec<(usize, Computed)> = ready.into_iter().zip(strips).collect();
        strips.sort_by_key(|(ready, computed)| (*ready, computed.member));
        let mut strips = strips.chunk_by(|a, b| a.0 == b.0).peekable();
        for number in 0..before.len().max(1) {
            items.extend(before.get(number).map(|pass| Item::Pass(*pass)));
            items.extend(strips.next_if(|strip| strip[0].0 == number).map(Item::strip));
        }
        before = passes;
    }
    items.extend(before.into_iter().map(Item::Pass));
    items
}

/// The items, with several in place of a long strip, in the order of its members.
pub(super) fn split(items: Vec<Item>, operands: &[Vec<Source>], cost: impl Fn(usize) -> u32) -> Vec<Item> {
    let split = |item| match item {
        Item::Strip { members, stored } => split_strip(members, stored, operands, &cost),
        pass => vec![pass],
    };
    items.into_iter().flat_map(split).collect()
}

fn split_strip(
    members: Vec<usize>,
    stored: Vec<usize>,
    operands: &[Vec<Source>],
    cost: impl Fn(usize) -> u32,
) -> Vec<Item> {
    let total: u32 = members.iter().map(|member| cost(*member)).sum();
    let parts = total.div_ceil(MOST_OPERATIONS).max(1);
    if parts == 1 {
        return vec![Item::Strip { members, stored }];
    }
    let mut before = 0;
    let part_of: HashMap<usize, u32> = members
        .iter()
        .map(|member| {
            let part = before / total.div_ceil(parts);
            before += cost(*member);
            (*member, part)
        })
        .collect();
    let read_later = members.iter().flat_map(|reader| {
        members_read(operands, *reader)
            .filter(|read| part_of.get(read).is_some_and(|part| *part < part_of[reader]))
    });
    let stored: HashSet<usize> = stored.into_iter().chain(read_later).collect();
    members
        .chunk_by(|a, b| part_of[a] == part_of[b])
        .map(|part| Item::Strip {
            members: part.to_vec(),
            stored: part.iter().copied().filter(|member| stored.contains(member)).collect(),
        })
        .collect()
}

/// By level: the members that strips compute.
fn strips(
    operands: &[Vec<Source>],
    costs: &[Option<u32>],
    levels: &[usize],
    is_fallible: impl Fn(usize) -> bool,
    is_read_outside: impl Fn(usize) -> bool,
) -> Vec<Vec<Computed>> {
    let repeated = repeated_operations(operands, costs);
    let mut needs = vec![Needs::default(); costs.len()];
    let mut strips: Vec<Vec<Computed>> = vec![Vec::new(); levels.iter().max().map_or(0, |last| last + 1)];
    // Readers come before what they read.
    for (member, level) in levels.iter().copied().enumerate().rev() {
        if costs[member].is_none() {
            for read in members_read(operands, member) {
                let first = &mut needs[read].in_memory;
                *first = Some(first.map_or(level, |first| first.min(level)));
            }
            continue;
        }
        let Needs { mut in_memory, mut in_registers } = std::mem::take(&mut needs[member]);
        if is_read_outside(member) {
            in_memory = Some(level);
        }
        if is_fallible(member) {
            // It raises before what can raise later, and even if nobody reads it.
            in_registers.push(level);
        }
        in_registers.sort_unstable();
        in_registers.dedup();
        let is_long = repeated[member] > MOST_REPEATED || is_fallible(member);
        let is_stored = in_memory.is_some() || in_registers.len() > 1 && is_long;
        if is_stored {
            let first = in_registers.first().copied().into_iter().chain(in_memory).min();
            in_registers = first.into_iter().collect();
        }
        for level in in_registers {
            strips[level].push(Computed { member, is_stored });
            members_read(operands, member).for_each(|read| needs[read].in_registers.push(level));
        }
    }
    strips
}

/// After which of the passes, by position, each member of a level can run together with those that it shares registers
/// with, and what can raise with all that can.
fn ready(
    operands: &[Vec<Source>],
    strips: &[Computed],
    passes: &[usize],
    is_fallible: impl Fn(usize) -> bool,
) -> Vec<usize> {
    let position: HashMap<usize, usize> =
        strips.iter().enumerate().map(|(position, computed)| (computed.member, position)).collect();
    let of_pass: HashMap<usize, usize> =
        passes.iter().enumerate().map(|(position, pass)| (*pass, position)).collect();
    let mut joined = UnionFind::new(strips.len());
    for (reader, computed) in strips.iter().enumerate() {
        for read in members_read(operands, computed.member).filter_map(|read| position.get(&read)) {
            joined.union(reader, *read);
        }
    }
    let fallible: Vec<usize> =
        (0..strips.len()).filter(|reader| is_fallible(strips[*reader].member)).collect();
    fallible.iter().for_each(|reader| {
        joined.union(fallible[0], *reader);
    });
    let joined = joined.into_labeling();
    let mut ready = vec![0; strips.len()];
    if let Some(first) = fallible.first() {
        let last = passes.iter().rposition(|pass| is_fallible(*pass));
        ready[joined[*first]] = last.unwrap_or(0);
    }
    for (reader, computed) in strips.iter().enumerate() {
        for pass in members_read(operands, computed.member).filter_map(|read| of_pass.get(&read)) {
            ready[joined[reader]] = ready[joined[reader]].max(*pass);
        }
    }
    joined.iter().map(|representative| ready[*representative]).collect()
}

fn members_read(operands: &[Vec<Source>], member: usize) -> impl Iterator<Item = usize> + '_ {
    operands[member].iter().filter_map(|source| match source {
        Source::Member(read) => Some(*read),
        Source::Input(_) => None,
    })
}

/// The first level at which each member can run.
fn levels(
    operands: &[Vec<Source>],
    costs: &[Option<u32>],
    is_fallible: impl Fn(usize) -> bool,
) -> Vec<usize> {
    let mut levels: Vec<usize> = Vec::with_capacity(costs.len());
    // Of the next pass that can raise, and of the next member of a strip.
    let (mut of_passes, mut of_strips) = (0, 0);
    for member in 0..costs.len() {
        let is_pass = costs[member].is_none();
        let level = members_read(operands, member)
            .map(|read| levels[read] + usize::from(!is_pass && costs[read].is_none()));
        let mut level = level.max().unwrap_or(0);
        if is_fallible(member) {
            level = level.max(if is_pass { of_passes } else { of_strips });
            // Strips of a level run between the passes of the level before, and before those of their own.
            of_passes = of_passes.max(level);
            of_strips = of_strips.max(level + usize::from(is_pass));
        }
        levels.push(level);
    }
    levels
}

/// Operations that computing a member again takes, if nothing on the way to it is in memory but results of passes.
fn repeated_operations(operands: &[Vec<Source>], costs: &[Option<u32>]) -> Vec<u32> {
    let mut repeated: Vec<u32> = Vec::with_capacity(costs.len());
    for (member, cost) in costs.iter().enumerate() {
        let total = cost.map(|cost| {
            members_read(operands, member).map(|read| repeated[read]).fold(cost, u32::saturating_add)
        });
        repeated.push(total.unwrap_or(0));
    }
    repeated
}

#[cfg(test)]
mod tests {
    use super::*;

    const INPUT: Source = Source::Input(0);

    fn reads<const N: usize>(members: [usize; N]) -> Vec<Source> {
        members.map(Source::Member).to_vec()
    }

    fn strip<const M: usize, const S: usize>(members: [usize; M], stored: [usize; S]) -> Item {
        Item::Strip { members: members.to_vec(), stored: stored.to_vec() }
    }

    #[test]
    fn members_run_where_they_are_needed() {
        // x2 = x * x, g = a * x2, e = exp(g), q = 1 + x2, r = e / q
        let operands = [vec![INPUT; 2], reads([0]), reads([1]), reads([0]), reads([2, 3])];
        let costs = [Some(1), Some(1), None, Some(1), Some(8)];
        let items = order(&operands, &costs, |_| false, |member| member == 4);
        assert_eq!(items, [strip([0, 1], [1]), Item::Pass(2), strip([0, 3, 4], [4])]);
        // What takes longer is stored.
        let costs = [Some(8), Some(1), None, Some(1), Some(8)];
        let items = order(&operands, &costs, |_| false, |member| member == 4);
        assert_eq!(items, [strip([0, 1], [0, 1]), Item::Pass(2), strip([3, 4], [4])]);
    }

    #[test]
    fn strips_run_as_soon_as_what_they_read_is_there() {
        // Two passes over inputs, and after each of them two operations; a sum of both results.
        let operands =
            [vec![INPUT], vec![INPUT], reads([0]), reads([2]), reads([1]), reads([4]), reads([3, 5])];
        let costs = [None, None, Some(1), Some(1), Some(1), Some(1), None];
        let items = order(&operands, &costs, |_| false, |_| false);
        assert_eq!(
            items,
            [Item::Pass(0), strip([2, 3], [3]), Item::Pass(1), strip([4, 5], [5]), Item::Pass(6)]
        );
        // Those that share registers wait for each other.
        let costs = [None, None, Some(1), Some(1), Some(1), Some(1), Some(1)];
        let items = order(&operands, &costs, |_| false, |member| member == 6);
        assert_eq!(items, [Item::Pass(0), Item::Pass(1), strip([2, 3, 4, 5, 6], [6])]);
    }

    #[test]
    fn long_strips_become_several() {
        // A chain of five members, of which the first is read by the last as well, and the second outside.
        let operands = [vec![INPUT], reads([0]), reads([1]), reads([2]), reads([0, 3])];
        let whole = || vec![strip([0, 1, 2, 3, 4], [1, 4]), Item::Pass(5)];
        assert_eq!(split(whole(), &operands, |_| MOST_OPERATIONS / 5), whole());
        let items = split(whole(), &operands, |_| MOST_OPERATIONS / 2);
        assert_eq!(items, [strip([0, 1], [0, 1]), strip([2, 3], [3]), strip([4], [4]), Item::Pass(5)]);
    }

    #[test]
    fn passes_that_can_raise_stay_in_order() {
        // The first one reads a strip of the second level, the second one inputs.
        let operands = [vec![INPUT], reads([0]), reads([1]), vec![INPUT]];
        let costs = [None, Some(1), None, None];
        let items = order(&operands, &costs, |member| member > 1, |member| member > 1);
        assert_eq!(items, [Item::Pass(0), Item::Pass(1), Item::Pass(2), Item::Pass(3)]);
    }

    #[test]
    fn what_can_raise_keeps_the_order_of_members() {
        // A pass, a member of a strip that nobody reads, and a pass.
        let operands = [vec![INPUT], vec![INPUT], reads([1]), vec![INPUT], reads([3])];
        let costs = [None, Some(1), Some(1), None, Some(1)];
        let is_fallible = |member: usize| matches!(member, 0 | 2 | 3);
        let items = order(&operands, &costs, is_fallible, |member| member == 4);
        assert_eq!(items, [Item::Pass(0), strip([1, 2], []), Item::Pass(3), Item::Pass(4)]);
        // What another level reads is stored and not raised twice.
        let operands = [vec![INPUT], vec![INPUT], reads([0, 1]), vec![INPUT], reads([0, 3])];
        let costs = [Some(1), Some(1), Some(1), None, Some(1)];
        let is_fallible = |member: usize| matches!(member, 0 | 1 | 3);
        let items = order(&operands, &costs, is_fallible, |member| matches!(member, 2 | 4));
        assert_eq!(items, [strip([0, 1, 2], [0, 2]), Item::Pass(3), Item::Pass(4)]);
    }
}
