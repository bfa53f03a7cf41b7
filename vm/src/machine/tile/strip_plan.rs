//! Plans strips: steps of members, and what strips leave in memory for others.

use crate::array::block::{BlockKernel, MAX_OPERANDS};
use crate::array::recipe::Recipe;
use crate::machine::tile::columns::{Columns, Source};
use crate::machine::tile::lowered::{FoldInStrip, WORDS};
use crate::machine::tile::member_recipes::{Lanes, MemberRecipe, recipes};
use crate::machine::tile::rare::{Again, Frequency};
use crate::machine::tile::region::Input;
use crate::machine::tile::schedule::{Code, Step};
use crate::machine::tile::scratch::Scratch;
use crate::machine::tile::strip_members::{FoldsAndOrder, folds_and_order, gains_as_fold, repeats};
use crate::machine::tile::strip_order::{Item, split};
use crate::machine::tile::strips::{Group, Recording, StripPlan};
use crate::operator::Kernel;
use crate::operator::cell::Strips;
use crate::vector::Level;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};

/// Columns of a region that runs as strips: lists of strips have numbers for their words.
const MAX_COLUMNS: usize = u16::MAX as usize / WORDS;

/// Passes over rows that one takes as long as which looks at each row by itself.
const SLOW_PASS: usize = 4;

/// The plan of a region. There is none if no two members would run in one strip and none gains in one of its own, or if strips would
/// leave as many steps as there are members.
/// `is_read_outside` says what is laid out, `pass` gives the pass of a member, `block_of` the rows of a block with so much
/// scratch memory; `takes_folds` whether what becomes one may do so in strips.
pub(super) fn plan(
    columns: &Columns<'_>,
    lanes: &Lanes,
    takes_folds: bool,
    is_read_outside: impl Fn(usize) -> bool,
    pass: impl Fn(usize) -> Step,
    block_of: impl Fn(&Scratch) -> usize,
) -> Option<StripPlan> {
    if Level::best() == Level::Baseline || columns.count() > MAX_COLUMNS {
        return None;
    }
    let recipes = recipes(columns, lanes);
    let FoldsAndOrder { fold_of, mut items, is_side_by_side } =
        folds_and_order(columns, lanes, &recipes, takes_folds, &is_read_outside);
    let members = Members { columns, recipes, fold_of, is_side_by_side };
    if !is_side_by_side {
        items = split(items, &columns.operands, |member| members.cost(member));
    }
    let saved = members.put_alone(&mut items) + saved_by_strips(&items, columns.members().len());
    if saved == 0 || !items.iter().any(|item| matches!(item, Item::Strip { .. })) {
        return None;
    }
    let scratch = {
        let last_reader = last_readers(&columns.operands, &items);
        let stored: Vec<Vec<usize>> = items.iter().map(|item| item.stored().to_vec()).collect();
        Scratch::assign(&stored, |member| {
            let is_scratch = columns.element(member).is_some() && !is_read_outside(member);
            is_scratch.then(|| last_reader[member].unwrap_or(0))
        })
    };
    let block = block_of(&scratch);
    let mut groups: Vec<Group> = Vec::new();
    let steps = items.iter().map(|item| match item {
        Item::Pass(member) => pass(*member),
        Item::Strip { members: of_strip, stored } => {
            let can_fire = of_strip.iter().any(|member| members.can_fire(*member));
            let again = can_fire.then(|| members.again(of_strip, stored, &pass, block));
            groups.push(members.group(of_strip, stored, again));
            let code = Code::Strip((groups.len() - 1) as u16);
            Step { args: [0; MAX_OPERANDS], arity: 0, member: of_strip[0] as u16, code }
        }
    });
    let mut schedule = scratch.schedule(steps.collect(), columns, block);
    let folds = || groups.iter().flat_map(|group| &group.folds);
    let has_folds = folds().next().is_some();
    let has_eights = !is_side_by_side && folds().any(|fold| fold.first.is_some() && fold.merge.is_none());
    let can_fire = groups.iter().any(|group| group.again.is_some());
    if has_folds {
        schedule.at_once = 0;
    } else if can_fire {
        schedule.at_once = block;
    }
    Some(StripPlan {
        schedule,
        by_passes: members.read_by_passes(&items),
        has_eights,
        has_folds,
        is_side_by_side,
        open: Frequency::default(),
        can_fire,
        groups: groups.into(),
        lanes: lanes.iter().copied().map(Option::flatten).collect(),
        literals: columns.inputs.iter().map(Input::literal).collect(),
        values: columns.inputs.iter().map(|input| !input.is_array()).collect(),
        saved: saved as u64,
        of_functions: members.recipes.iter().flatten().map(|recipe| recipe.of_function as u64).sum(),
        auto: Strips::Auto.of_process(),
        seen: AtomicU64::new(0),
        variants: OnceLock::new(),
    })
}

/// True if passes over a member look at each row for what can raise.
fn is_slow(columns: &Columns<'_>, member: usize) -> bool {
    let recipe = columns.block_kernel(member).and_then(BlockKernel::recipe_or_function);
    matches!(recipe, Some(Recipe::Rare(_)))
}

/// Passes that strips save by taking several members each.
fn saved_by_strips(items: &[Item], passes: usize) -> usize {
    match items {
        // A strip alone saves the loop over blocks as well.
        [Item::Strip { .. }] => passes.saturating_sub(1).max(1),
        _ => passes.saturating_sub(items.len()),
    }
}

/// The members of a region, and what strips can do with them.
struct Members<'c, 'r> {
    columns: &'c Columns<'r>,
    recipes: Vec<Option<MemberRecipe>>,
    /// How strips take them in, if they do.
    fold_of: Vec<Option<FoldInStrip>>,
    /// True if elements become one side by side: in the one strip of all members.
    is_side_by_side: bool,
}

impl Members<'_, '_> {
    /// Of a member of a strip, in additions.
    fn cost(&self, member: usize) -> u32 {
        self.recipes[member].map_or(1, |recipe| recipe.cost)
    }

    fn can_fire(&self, member: usize) -> bool {
        self.recipes[member].is_some_and(|recipe| recipe.can_fire)
    }

    /// True if strips can take several runs of elements a call: they take in no fold and cannot fire, and no running sum is
    /// carried.
    fn have_whole_runs(&self) -> bool {
        let is_scan = |member: usize| matches!(self.columns.kernels[member], Kernel::Scan { .. });
        let stops = |member| is_scan(member) || self.fold_of[member].is_some() || self.can_fire(member);
        !self.columns.members().any(stops)
    }

    /// Makes strips of single members that gain there: the only one of a region, of which a strip takes as many rows at a time as there
    /// are, unless it is a running result, which waits for the row before in either way; the passes that this saves.
    fn put_alone(&self, items: &mut [Item]) -> usize {
        let is_alone = self.columns.members().len() == 1;
        let (mut saved, have_whole_runs) = (0, self.have_whole_runs());
        for item in items {
            let Item::Pass(member) = *item else { continue };
            let has_recipe = self.recipes[member].is_some();
            let is_slow = is_slow(self.columns, member) && has_recipe;
            let is_fold = self.fold_of[member].as_ref().is_some_and(|fold| {
                self.is_side_by_side || gains_as_fold(self.columns, member, fold.merge.is_some())
            });
            let is_only_one = is_alone && !matches!(self.columns.kernels[member], Kernel::Scan { .. });
            let is_in_runs = have_whole_runs && repeats(self.columns, member);
            let gains = has_recipe && (is_only_one || is_in_runs);
            if is_slow || is_fold || gains {
                *item = Item::Strip { members: vec![member], stored: vec![member] };
                saved += SLOW_PASS * usize::from(is_slow) + usize::from(is_fold) + usize::from(gains);
            }
        }
        saved
    }

    /// The inputs that passes among the items read, if strips take several runs a call.
    fn read_by_passes(&self, items: &[Item]) -> Option<Box<[u16]>> {
        (self.have_whole_runs() || self.is_side_by_side).then(|| {
            let passes = items.iter().filter(|item| matches!(item, Item::Pass(_))).flat_map(Item::members);
            let read = passes.flat_map(|member| &self.columns.operands[*member]);
            read.filter(|source| matches!(source, Source::Input(_)))
                .map(|source| self.columns.index(*source) as u16)
                .collect()
        })
    }

    /// Members of a strip as passes, for blocks in which it fires.
    fn again(
        &self,
        members: &[usize],
        stored: &[usize],
        pass: impl Fn(usize) -> Step,
        block: usize,
    ) -> Arc<Again> {
        let passes: Vec<Item> = members.iter().map(|member| Item::Pass(*member)).collect();
        let last_reader = last_readers(&self.columns.operands, &passes);
        let each: Vec<Vec<usize>> = members.iter().map(|member| vec![*member]).collect();
        let scratch = Scratch::assign(&each, |member| {
            (!stored.contains(&member)).then(|| last_reader[member].unwrap_or(0))
        });
        let steps = members.iter().map(|member| pass(*member)).collect();
        Arc::new(Again::new(scratch.schedule(steps, self.columns, block)))
    }

    /// The group of a strip.
    fn group(&self, members: &[usize], stored: &[usize], again: Option<Arc<Again>>) -> Group {
        let columns = self.columns;
        let column = |member: &usize| columns.of_member(*member) as u16;
        let recording = |member: &usize| Recording {
            recorder: self.recipes[*member].expect("a member of a strip has a recipe").recorder,
            is_lifted: columns.is_lifted(*member),
            args: columns.operands[*member].iter().map(|arg| columns.index(*arg) as u16).collect(),
            column: column(member),
        };
        let is_fold = |member: &&usize| self.fold_of[**member].is_some();
        Group {
            members: members.iter().filter(|member| !is_fold(member)).map(recording).collect(),
            results: stored.iter().filter(|member| !is_fold(member)).map(column).collect(),
            folds: members.iter().filter_map(|member| self.fold_of[*member]).collect(),
            again,
        }
    }
}

/// By member: the last item that reads it from memory.
pub(super) fn last_readers(operands: &[Vec<Source>], items: &[Item]) -> Vec<Option<usize>> {
    let mut last = vec![None; operands.len()];
    let mut computed_by = vec![None; last.len()];
    for (number, item) in items.iter().enumerate() {
        for member in item.members() {
            computed_by[*member] = Some(number);
            for source in &operands[*member] {
                if let Source::Member(read) = source
                    && computed_by[*read] != Some(number)
                {
                    last[*read] = Some(number);
                }
            }
        }
    }
    last
}
