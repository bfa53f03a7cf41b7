//! Builds a region from its members: steps, scratch places, the size of blocks.

use crate::machine::tile::choose::signature;
use crate::machine::tile::columns::Columns;
use crate::machine::tile::member_recipes::{self, Lanes, complete_if};
use crate::machine::tile::plan::{Extent, Group};
use crate::machine::tile::region::{
    Fold, Input, LONE_BLOCK, MAX_BLOCK, MIN_BLOCK, MIN_ELEMENTS, Member, Output, Place, Region, WholeInputs,
};
use crate::machine::tile::schedule::{Code, Step};
use crate::machine::tile::scratch::{Scratch, place_bytes};
use crate::machine::tile::strip_order::Item;
use crate::machine::tile::strip_plan::{self, last_readers};
use crate::machine::tile::views::Views;
use crate::operator::Kernel;
use crate::program::Routine;
use crate::program::program::Owners;
use crate::value::array::ROWS_OF_A_WORD;
use crate::vector::Level;

/// Bytes that the blocks of a region fill, unless it has so many that blocks would be short: three quarters of a
/// first-level cache of 32 KiB.
const WORKING_SET: usize = 24 << 10;

/// Builds the region of a group. `reads` counts the reachable readers of each value in the routine.
pub(in crate::machine) fn build(
    routine: &Routine,
    owners: &Owners,
    views: &Views,
    group: &Group,
    reads: &[u32],
) -> Region {
    let mut columns = Columns::new(routine);
    let same_bytes = |value| owners.same_bytes(value);
    group.members.iter().for_each(|member| columns.add_member(member, views, same_bytes));
    columns.put_fixed_last();
    // What has been overwritten meanwhile is not laid out: whoever reads the place means the other.
    let is_read_outside = |number: usize| {
        !group.members[number].is_overwritten
            && reads[columns.results[number].index()] > columns.own_reads[number]
    };
    let is_read_outside: Vec<bool> = columns.members().map(is_read_outside).collect();
    let is_read_outside = |number: usize| is_read_outside[number];
    let lanes = member_recipes::lanes(&columns);
    let is_array = |number: usize| columns.element(number).is_some();
    let outputs: Vec<usize> = columns.members().filter(|n| is_array(*n) && is_read_outside(*n)).collect();
    let items: Vec<Item> = columns.members().map(Item::Pass).collect();
    let last_reader = last_readers(&columns.operands, &items);
    let computed: Vec<Vec<usize>> = columns.members().map(|number| vec![number]).collect();
    let scratch = Scratch::assign(&computed, |number| {
        let is_scratch = is_array(number) && !is_read_outside(number);
        is_scratch.then(|| last_reader[number].unwrap_or(0))
    });
    let streams = columns.streams(group.extent) + outputs.len();
    let block_of = |scratch: &Scratch| block_rows(group.extent, streams + scratch.places);
    // A long block of chosen rows, which are laid out, would leave the first cache.
    let is_lone_fold = matches!(columns.kernels[..], [Kernel::Fold { .. }])
        && group.extent == Extent::Rows
        && !columns.inputs.iter().any(Input::is_chosen);
    let block = if is_lone_fold { LONE_BLOCK } else { block_of(&scratch) };
    let place = |number: usize| match scratch.place.get(&number) {
        Some(place) => Place::Scratch((place * place_bytes(block)) as u32),
        None if is_array(number) => Place::Output(position(&outputs, &number)),
        None => Place::Value,
    };
    let members: Box<[Member]> = columns
        .members()
        .map(|number| member(&columns, &lanes, number, group.members[number].ip, place(number)))
        .collect();
    let of_kind = |kind: fn(&Kernel) -> bool| -> Vec<usize> {
        columns.members().filter(|number| kind(columns.kernels[*number])).collect()
    };
    let folds = of_kind(|kernel| matches!(kernel, Kernel::Fold { .. }));
    let pass = |number: usize| step(&columns, number, &folds);
    let passes = scratch.schedule(columns.members().map(pass).collect(), &columns, block);
    let plan =
        |takes_folds: bool| strip_plan::plan(&columns, &lanes, takes_folds, is_read_outside, pass, block_of);
    let strips = plan(true);
    let wants_long_runs = strips.as_ref().is_some_and(|plan| plan.has_eights || plan.is_side_by_side);
    let is_of_axes = matches!(group.extent, Extent::Elements(_));
    let short = (is_of_axes && wants_long_runs).then(|| plan(false)).flatten();
    let fold = |number: &usize| match columns.kernels[*number] {
        Kernel::Fold { fold, axes, .. } => Fold {
            ip: group.members[*number].ip,
            kernel: *fold,
            axes: *axes,
            slot: is_read_outside(*number).then(|| routine.slot(columns.results[*number]).clone()),
        },
        other => unreachable!("{other:?} reduces nothing"),
    };
    let output = |number: &usize| Output {
        column: columns.of_member(*number) as u16,
        slot: routine.slot(columns.results[*number]).clone(),
        element: columns.element(*number).expect("an output is an array"),
    };
    let varying = columns.varying();
    let mut region = Region {
        extent: group.extent,
        varying,
        columns: columns.templates(),
        outputs: outputs.iter().map(output).collect(),
        moving: columns.moving(&outputs),
        complete: Box::default(),
        complete_signature: 0,
        in_order: WholeInputs::of(group.extent, (&columns.inputs, varying), !folds.is_empty()),
        passes,
        strips,
        short,
        scans: columns.scans().map(|(_, scan)| scan.start).collect(),
        direction: group.direction,
        folds: folds.iter().map(fold).collect(),
        closed: group.closed,
        inputs: columns.inputs.into(),
        members,
    };
    region.complete = region.plan_complete();
    region.complete_signature = signature(&region.columns[..varying]);
    region
}

/// Where an item stands in a sorted list that has it.
fn position<T: Ord>(list: &[T], item: &T) -> u16 {
    list.binary_search(item).expect("the list was made of such items") as u16
}

/// Rows of a block such that this many of 8 bytes a row fit the working set: whole words of presence.
fn block_rows(extent: Extent, streams: usize) -> usize {
    let rows = WORKING_SET / (8 * streams.max(1));
    let fewest = match extent {
        Extent::Rows => MIN_BLOCK,
        Extent::Elements(_) => MIN_ELEMENTS,
    };
    (rows - rows % ROWS_OF_A_WORD).clamp(fewest, MAX_BLOCK)
}

fn member(columns: &Columns<'_>, lanes: &Lanes, number: usize, ip: u32, place: Place) -> Member {
    let operands = &columns.operands[number];
    let is_lifted = columns.is_lifted(number);
    let complete_if = if is_lifted { 0 } else { complete_if(columns, lanes, number) };
    Member { ip, args: columns.args(operands), arity: operands.len() as u8, is_lifted, complete_if, place }
}

/// The pass of a member.
fn step(columns: &Columns<'_>, number: usize, folds: &[usize]) -> Step {
    let code = match columns.kernels[number] {
        Kernel::Scan { scan, .. } => Code::Scan(scan.block, columns.carry_of(number) as u16),
        Kernel::Fold { .. } => Code::Fold(position(folds, &number)),
        _ => {
            let kernel = columns.block_kernel(number).expect("a member over rows");
            Code::Rows { run: kernel.run(Level::best()), is_lifted: kernel.is_lifted }
        }
    };
    let operands = &columns.operands[number];
    Step { args: columns.args(operands), arity: operands.len() as u8, member: number as u16, code }
}
