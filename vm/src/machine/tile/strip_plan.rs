//! Plans strips: recipes of members, steps, and what strips leave in memory for others.

use crate::array::block::{BlockKernel, MAX_OPERANDS};
use crate::array::recipe::{Recipe, Recorded};
use crate::machine::tile::columns::{Columns, Source};
use crate::machine::tile::lowered::{FoldInStrip, Lowered};
use crate::machine::tile::rare::{Again, Frequency};
use crate::machine::tile::region::Input;
use crate::machine::tile::schedule::{Code, Step};
use crate::machine::tile::scratch::Scratch;
use crate::machine::tile::strip_order::{Item, order};
use crate::machine::tile::strips::{Group, Recording, StripPlan};
use crate::operator::Kernel;
use crate::operator::cell::Strips;
use crate::strip::{BinaryOp, Lane, List, Op, UnaryOp};
use crate::value::{Axes, QType, ScalarType};
use crate::vector::Level;
use crate::vector::first_stage::FirstStage;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};

/// Inputs of a region that runs as strips: two bits of a signature each.
const MAX_INPUTS: usize = 32;

/// Additions that a division takes as long as.
const LONG: u32 = 8;

/// Most operations of a special function in a strip: longer ones gain nothing in registers, and stay passes.
const LONGEST_FUNCTION: usize = 80;

/// Most operations of special functions in the strips of a region, four exponentials or two sines: with 16 registers, a loop
/// with more is slower than passes.
const MOST_OF_FUNCTIONS: usize = 128;

/// Passes over rows that one takes as long as which looks at each row by itself.
const SLOW_PASS: usize = 4;

/// The plan of a region. There is none if no two members would run in one strip, unless passes over one have to look at
/// every row for what can raise, or go from run to run; or if strips would leave as many steps as there are members.
/// `is_read_outside` says what is laid out, `pass` gives the pass of a member, `block_of` the rows of a block with so much
/// scratch memory; `takes_folds` whether what becomes one may do so in strips.
pub(super) fn plan(
    columns: &Columns<'_>,
    lanes: Vec<Option<Option<Lane>>>,
    takes_folds: bool,
    is_read_outside: impl Fn(usize) -> bool,
    pass: impl Fn(usize) -> Step,
    block_of: impl Fn(&Scratch) -> usize,
) -> Option<StripPlan> {
    let recipe_of_row = |member| columns.block_kernel(member).and_then(BlockKernel::recipe_or_function);
    let is_slow = |member| matches!(recipe_of_row(member), Some(Recipe::Rare(_)));
    let can_gain = columns.members().len() > 1
        || columns.members().any(|member| {
            is_slow(member)
                || is_extreme(columns, member)
                || goes_by_runs(columns, member)
                || is_side_by_side(columns.kernels[member], columns.qtype(columns.operands[member][0]))
        });
    if !can_gain || Level::best() == Level::Baseline || columns.inputs.len() > MAX_INPUTS {
        return None;
    }
    let mut trial = Lowered::default();
    let recipe_of = |member: usize| recipe(columns, &lanes, member, &mut trial);
    let mut recipes: Vec<Option<MemberRecipe>> = columns.members().map(recipe_of).collect();
    keep_few_functions(&mut recipes);
    let can_fire = |member: &usize| recipes[*member].is_some_and(|recipe| recipe.can_fire);
    let operands = &columns.operands;
    let passes = columns.members().len();
    let FoldsAndOrder { fold_of, mut items, is_side_by_side } =
        folds_and_order(columns, &lanes, &recipes, takes_folds, &is_read_outside);
    let is_scan = |member: usize| matches!(columns.kernels[member], Kernel::Scan { .. });
    let has_whole_runs =
        !columns.members().any(|member| is_scan(member) || fold_of[member].is_some() || can_fire(&member));
    let (mut slow, mut folds_alone, mut of_runs) = (0, 0, 0);
    for item in &mut items {
        let Item::Pass(member) = *item else { continue };
        let is_slow = is_slow(member) && recipes[member].is_some();
        let is_fold = (is_side_by_side || is_extreme(columns, member)) && fold_of[member].is_some();
        let gains_runs = has_whole_runs && goes_by_runs(columns, member) && recipes[member].is_some();
        if is_slow || is_fold || gains_runs {
            *item = Item::Strip { members: vec![member], stored: vec![member] };
            slow += usize::from(is_slow);
            folds_alone += usize::from(is_fold);
            of_runs += usize::from(gains_runs);
        }
    }
    let saved = SLOW_PASS * slow
        + folds_alone
        + of_runs
        + match items[..] {
            // A strip alone saves the loop over blocks as well.
            [Item::Strip { .. }] => passes.saturating_sub(1).max(1),
            _ => passes.saturating_sub(items.len()),
        };
    if saved == 0 || !items.iter().any(|item| matches!(item, Item::Strip { .. })) {
        return None;
    }
    let by_passes = (has_whole_runs || is_side_by_side).then(|| {
        let passes = items.iter().filter(|item| matches!(item, Item::Pass(_))).flat_map(Item::members);
        let read = passes.flat_map(|member| &operands[*member]);
        read.filter(|source| matches!(source, Source::Input(_)))
            .map(|source| columns.index(*source) as u16)
            .collect()
    });
    let last_reader = last_readers(operands, &items);
    let stored: Vec<Vec<usize>> = items.iter().map(|item| item.stored().to_vec()).collect();
    let scratch = Scratch::assign(&stored, |member| {
        let is_scratch = columns.element(member).is_some() && !is_read_outside(member);
        is_scratch.then(|| last_reader[member].unwrap_or(0))
    });
    let column = |member: &usize| columns.of_member(*member) as u16;
    let block = block_of(&scratch);
    let again = |members: &[usize], stored: &[usize]| {
        let passes: Vec<Item> = members.iter().map(|member| Item::Pass(*member)).collect();
        let last_reader = last_readers(operands, &passes);
        let each: Vec<Vec<usize>> = members.iter().map(|member| vec![*member]).collect();
        let scratch = Scratch::assign(&each, |member| {
            (!stored.contains(&member)).then(|| last_reader[member].unwrap_or(0))
        });
        let steps = members.iter().map(|member| pass(*member)).collect();
        Arc::new(Again::new(scratch.schedule(steps, columns, block)))
    };
    let mut groups = Vec::new();
    let steps = items.iter().map(|item| match item {
        Item::Pass(member) => pass(*member),
        Item::Strip { members, stored } => {
            let recording = |member: &usize| Recording {
                recipe: recipes[*member].expect("a member of a strip has a recipe").recipe,
                is_lifted: columns.block_kernel(*member).is_some_and(|kernel| kernel.is_lifted),
                args: columns.operands[*member].iter().map(|arg| columns.index(*arg) as u16).collect(),
                column: column(member),
            };
            let (folds, computed): (Vec<usize>, Vec<usize>) =
                members.iter().partition(|member| fold_of[**member].is_some());
            groups.push(Group {
                members: computed.iter().map(recording).collect(),
                results: stored.iter().filter(|member| fold_of[**member].is_none()).map(column).collect(),
                folds: folds.iter().filter_map(|member| fold_of[*member]).collect(),
                again: members.iter().any(can_fire).then(|| again(members, stored)),
            });
            let code = Code::Strip((groups.len() - 1) as u16);
            Step { args: [0; MAX_OPERANDS], arity: 0, member: members[0] as u16, code }
        }
    });
    let mut schedule = scratch.schedule(steps.collect(), columns, block);
    let folds = || groups.iter().flat_map(|group: &Group| &group.folds);
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
        by_passes,
        has_eights,
        has_folds,
        is_side_by_side,
        open: Frequency::default(),
        can_fire,
        groups: groups.into(),
        lanes: lanes.into_iter().map(Option::flatten).collect(),
        literals: columns.inputs.iter().map(Input::literal).collect(),
        saved: saved as u64,
        of_functions: recipes.iter().flatten().map(|recipe| recipe.of_function as u64).sum(),
        auto: Strips::Auto.of_process(),
        seen: AtomicU64::new(0),
        variants: OnceLock::new(),
    })
}

/// What strips take in, and the order that members have then.
struct FoldsAndOrder {
    /// By member.
    fold_of: Vec<Option<FoldInStrip>>,
    items: Vec<Item>,
    /// True if elements become one side by side: in the one strip of all members.
    is_side_by_side: bool,
}

fn folds_and_order(
    columns: &Columns<'_>,
    lanes: &Lanes,
    recipes: &[Option<MemberRecipe>],
    takes_folds: bool,
    is_read_outside: impl Fn(usize) -> bool,
) -> FoldsAndOrder {
    let folds_by =
        |side_by_side: bool| folds(columns, lanes, side_by_side, |member| recipes[member].is_some());
    let ordered = |fold_of: &[Option<FoldInStrip>]| {
        let is_fallible = |member: usize| match (fold_of[member], recipes[member]) {
            (Some(_), _) => false,
            (None, Some(recipe)) => recipe.can_raise,
            (None, None) => columns.block_kernel(member).is_none_or(|kernel| kernel.is_fallible),
        };
        let cost = |member: usize| match fold_of[member] {
            Some(_) => Some(1),
            None => recipes[member].map(|recipe| recipe.cost),
        };
        let costs: Vec<Option<u32>> = columns.members().map(cost).collect();
        let is_kept = |member| is_read_outside(member) || fold_of[member].is_some();
        order(&columns.operands, &costs, is_fallible, is_kept)
    };
    let mut fold_of = match takes_folds {
        true => folds_by(true),
        false => columns.members().map(|_| None).collect(),
    };
    let mut items = ordered(&fold_of);
    let can_fire = |member: &usize| recipes[*member].is_some_and(|recipe| recipe.can_fire);
    let is_beside = |fold: &Option<FoldInStrip>| fold.as_ref().is_some_and(|fold| fold.is_side_by_side);
    let has_any = fold_of.iter().any(is_beside);
    let are_all = || {
        let is_other = |member: usize| columns.kernels[member].reduces() && !is_beside(&fold_of[member]);
        !columns.members().any(|member| is_other(member) || can_fire(&member))
    };
    let is_side_by_side = has_any && items.len() == 1 && are_all();
    if has_any && !is_side_by_side {
        fold_of = folds_by(false);
        items = ordered(&fold_of);
    }
    // What a strip has taken in cannot be taken back if it fires.
    while let Some(members) = items.iter().map(Item::members).find(|members| {
        members.iter().any(can_fire) && members.iter().any(|member| fold_of[*member].is_some())
    }) {
        members.iter().for_each(|member| fold_of[*member] = None);
        items = ordered(&fold_of);
    }
    FoldsAndOrder { fold_of, items, is_side_by_side }
}

/// By member: how a strip takes it in, if it is a fold that one can: what goes to lanes if there is one run, and sums of
/// leaves of what stands together in memory, or if it `takes_side_by_side` runs of one kind that stand so. `is_recorded` says which
/// members have a recipe.
fn folds(
    columns: &Columns<'_>,
    lanes: &Lanes,
    takes_side_by_side: bool,
    is_recorded: impl Fn(usize) -> bool,
) -> Vec<Option<FoldInStrip>> {
    let mut axes = None;
    let mut number = 0;
    let mut fold = |member: usize| {
        let Kernel::Fold { fold: kernel, axes: along, .. } = columns.kernels[member] else { return None };
        number += 1;
        let (fold, operands) = (number - 1, &columns.operands[member]);
        let source = operands[0];
        let arg = columns.index(source);
        // The second operand of any other reduction names its axes.
        let other = kernel.pairs.and(operands.get(1)).map(|source| columns.index(*source));
        let first = kernel.first;
        let [is_one_run, has_last_axes] = runs_of(columns.qtype(source), *along);
        let is_side_by_side = !is_one_run && !has_last_axes;
        let merge = kernel.take_lanes.filter(|_| is_one_run);
        let has_cells =
            [Some(arg), other].into_iter().flatten().all(|arg| matches!(lanes[arg], Some(Some(_))));
        let mut has_axes_of_others = || axes.get_or_insert(along) == &along;
        let fits = match (first, merge) {
            _ if is_side_by_side => {
                takes_side_by_side && has_cells && kernel.side_by_side.is_some() && has_axes_of_others()
            }
            // Words of presence in memory are counted faster than rows in registers.
            (None, _) => {
                let is_computed = matches!(source, Source::Member(member) if is_recorded(member));
                !kernel.has_parts() && is_computed && lanes[arg].is_some()
            }
            (Some(_), Some(_)) => has_cells,
            (Some(FirstStage::Spread(_)), None) => has_cells && is_one_run,
            // All sums of leaves in strips have the same leaves.
            (Some(FirstStage::Sum(_)), None) => {
                has_cells && has_last_axes && kernel.pairs.is_none() && has_axes_of_others()
            }
            (Some(_), None) => false,
        };
        let counts = kernel.counts.then(|| columns.of_counts(fold) as u16);
        let column = columns.of_member(member) as u16;
        let (arg, other, fold) = (arg as u16, other.map(|other| other as u16), fold as u16);
        let (pairs, spread) = (kernel.pairs, kernel.take_spread);
        fits.then_some(FoldInStrip {
            arg,
            other,
            fold,
            column,
            first,
            pairs,
            merge,
            spread,
            counts,
            is_side_by_side,
        })
    };
    let mut folds: Vec<Option<FoldInStrip>> = columns.members().map(&mut fold).collect();
    // Where sums of several runs begin and end, those of pairs may not.
    let is_of_runs = |member: usize| match columns.kernels[member] {
        Kernel::Fold { axes, .. } => !runs_of(columns.qtype(columns.operands[member][0]), *axes)[0],
        _ => false,
    };
    if columns.members().any(|member| folds[member].is_some() && is_of_runs(member)) {
        folds
            .iter_mut()
            .filter(|fold| fold.as_ref().is_some_and(FoldInStrip::is_spread))
            .for_each(|fold| *fold = None);
    }
    folds
}

/// True if a member is a fold that keeps the least or greatest, which a pass takes twice as long for as a strip.
fn is_extreme(columns: &Columns<'_>, member: usize) -> bool {
    match columns.kernels[member] {
        Kernel::Fold { fold, .. } => matches!(fold.first, Some(FirstStage::Least | FirstStage::Greatest)),
        _ => false,
    }
}

/// True if elements become one side by side, which a pass goes over row by row.
pub(super) fn is_side_by_side(kernel: &Kernel, operand: &QType) -> bool {
    match kernel {
        Kernel::Fold { fold, axes, .. } => {
            fold.side_by_side.is_some() && runs_of(operand, *axes) == [false; 2]
        }
        _ => false,
    }
}

/// True if elements of a member may stand in runs, from one of which to the next a strip goes by itself: operands repeat along
/// axes that others have, or it is the only one, and has axes that memory of a host may have apart.
fn goes_by_runs(columns: &Columns<'_>, member: usize) -> bool {
    let axes =
        |source: &Source| columns.qtype(*source).nd().map(|t| t.units().filter(|is_unit| !is_unit).count());
    let is_alone = columns.members().len() == 1;
    repeats(columns, member)
        || is_alone && columns.operands[member].iter().filter_map(axes).any(|axes| axes > 1)
}

/// True if operands of a member repeat along axes that others have.
fn repeats(columns: &Columns<'_>, member: usize) -> bool {
    let axes = |source: &Source| match columns.qtype(*source) {
        QType::NdArray(t) => Some(t.units().collect::<Vec<_>>()),
        _ => None,
    };
    let mut all = columns.operands[member].iter().filter_map(axes);
    all.next().is_some_and(|first| all.any(|other| other != first))
}

/// What types tell of rows or elements that become one along axes: whether there is one run of them, and whether those of a
/// run stand together.
fn runs_of(qtype: &QType, axes: Axes) -> [bool; 2] {
    let QType::NdArray(t) = qtype else { return [true; 2] };
    let kept = (0..t.rank()).filter(|axis| !axes.contains(*axis) && !t.is_unit(*axis)).max();
    let first = axes.iter().filter(|axis| !t.is_unit(*axis)).min();
    [kept.is_none(), kept < first]
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

/// By column: the type of its cells, the inner `None` that of masks.
pub(super) type Lanes = [Option<Option<Lane>>];

/// The types of the cells of all columns.
pub(super) fn lanes(columns: &Columns<'_>) -> Vec<Option<Option<Lane>>> {
    let inputs = (0..columns.inputs.len()).map(|number| columns.input_element(number));
    let results = columns.members().map(|number| columns.element(number));
    inputs.chain(results).map(|element| element.and_then(lane)).collect()
}

/// A recipe that is for the operands of a member.
#[derive(Clone, Copy)]
struct MemberRecipe {
    recipe: Recipe,
    /// In additions.
    cost: u32,
    /// How many operations a special function takes.
    of_function: usize,
    /// Rows can be rare.
    can_fire: bool,
    /// Rows can raise.
    can_raise: bool,
}

/// The recipe of a member, if it has one that is for its operands.
fn recipe(columns: &Columns<'_>, lanes: &Lanes, member: usize, trial: &mut Lowered) -> Option<MemberRecipe> {
    let kernel = columns.block_kernel(member)?;
    let recipe = kernel.recipe_or_function()?;
    let result = lanes[columns.of_member(member)]?;
    let recorded = record(columns, lanes, member, trial, |_| true)?;
    let of_function = match recipe {
        Recipe::Function(_) => trial.list.terms().filter(|(_, op, _)| op.operands().next().is_some()).count(),
        _ => 0,
    };
    let is_of_type = recorded.cells.map(|cells| trial.list.lane(cells)) == result;
    let can_fire = trial.can_fire();
    let can_raise = can_fire && kernel.is_fallible;
    is_of_type.then(|| MemberRecipe { recipe, cost: cost(&trial.list), of_function, can_fire, can_raise })
}

/// Leaves out functions that are too long, or would make too many operations.
fn keep_few_functions(recipes: &mut [Option<MemberRecipe>]) {
    let mut operations = 0;
    for place in recipes {
        let Some(MemberRecipe { of_function, .. }) = *place else { continue };
        if of_function > LONGEST_FUNCTION || operations + of_function > MOST_OF_FUNCTIONS {
            *place = None;
        } else {
            operations += of_function;
        }
    }
}

/// For a member that says itself which rows are present: by which of its operands miss no row, a bit each, a bit that is
/// set if its result misses none then.
pub(super) fn complete_if(columns: &Columns<'_>, lanes: &Lanes, member: usize) -> u16 {
    let patterns = 0..1u16 << columns.operands[member].len().min(4);
    let mut trial = Lowered::default();
    let is_complete = |pattern: &u16| {
        let recorded = record(columns, lanes, member, &mut trial, |operand| pattern >> operand & 1 == 0);
        recorded.is_some_and(|recorded| recorded.cells.is_some() && recorded.present.is_none())
    };
    patterns.filter(is_complete).fold(0, |bits, pattern| bits | 1 << pattern)
}

/// What a member computes, recorded alone in `trial`, by which of its operands may miss rows.
fn record(
    columns: &Columns<'_>,
    lanes: &Lanes,
    member: usize,
    trial: &mut Lowered,
    may_miss: impl Fn(usize) -> bool,
) -> Option<Recorded> {
    let kernel = columns.block_kernel(member)?;
    let recipe = kernel.recipe_or_function()?;
    trial.clear();
    let mut operands = [Recorded::default(); MAX_OPERANDS];
    let sources = &columns.operands[member];
    for (operand, (source, recorded)) in sources.iter().zip(operands.get_mut(..sources.len())?).enumerate() {
        let column = columns.index(*source);
        let input = match *source {
            Source::Input(number) => Some(&columns.inputs[number]),
            Source::Member(_) => None,
        };
        let is_one = input.is_some_and(|input| !input.is_array());
        let literal = input.and_then(Input::literal);
        *recorded = trial.read(column as u16, lanes[column]?, is_one, may_miss(operand), literal);
    }
    trial.record(recipe, &operands[..sources.len()], kernel.is_lifted)
}

/// The cost of a list, in additions: of presence it has what would be there if each operand missed rows.
fn cost(list: &List) -> u32 {
    let cost = |op: Op| match op {
        Op::Column(_) | Op::Presence(_) | Op::Scalar(_) | Op::Literal(_) => 0,
        Op::Binary(BinaryOp::Div, ..) | Op::Unary(UnaryOp::Sqrt, _) => LONG,
        Op::Binary(BinaryOp::And, x, _) if list.lane(x) == Lane::Mask => 0,
        _ => 1,
    };
    list.terms().map(|(_, op, _)| cost(op)).sum()
}

/// The type of cells; the inner `None` is that of masks, which have none.
#[expect(clippy::option_option, reason = "no type, or a type without cells")]
fn lane(element: ScalarType) -> Option<Option<Lane>> {
    match element {
        ScalarType::Unit => Some(None),
        element => Lane::of(element).map(Some),
    }
}
