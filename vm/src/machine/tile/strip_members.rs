//! Which members strips take, in which order: what becomes one in a strip, and what gains there alone.

use crate::machine::tile::columns::{Columns, Source};
use crate::machine::tile::lowered::FoldInStrip;
use crate::machine::tile::member_recipes::{Lanes, MemberRecipe};
use crate::machine::tile::strip_order::{Item, order};
use crate::operator::Kernel;
use crate::value::{Axes, QType};
use crate::vector::first_stage::{FirstStage, SumOf};

/// What strips take in, and the order that members have then.
pub(super) struct FoldsAndOrder {
    /// By member.
    pub(super) fold_of: Vec<Option<FoldInStrip>>,
    pub(super) items: Vec<Item>,
    /// True if elements become one side by side: in the one strip of all members.
    pub(super) is_side_by_side: bool,
}

/// The same of a region; `takes_folds` says whether what becomes one may do so in strips.
pub(super) fn folds_and_order(
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

/// True if a fold gains in a strip of its own: that of rows, of which one call takes in what passes go over block by block, and where
/// some are missing, or of single precision, in two steps; of elements if they go to lanes in any order: the least or greatest, which
/// a pass takes twice as long for, and sums of integers.
pub(super) fn gains_as_fold(columns: &Columns<'_>, member: usize, goes_to_lanes: bool) -> bool {
    use FirstStage::{Greatest, Least, Sum};
    let Kernel::Fold { fold, .. } = columns.kernels[member] else { return false };
    let is_in_any_order =
        || matches!(fold.first, Some(Least | Greatest | Sum(SumOf::Integers | SumOf::Halves)));
    columns.qtype(columns.operands[member][0]).nd().is_none() || goes_to_lanes && is_in_any_order()
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

/// True if operands of a member repeat along axes that others have, so that elements stand in runs, from one of which to the next a
/// strip goes by itself.
pub(super) fn repeats(columns: &Columns<'_>, member: usize) -> bool {
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
