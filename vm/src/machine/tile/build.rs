//! Builds a region from its members: steps, scratch places, the size of blocks.

use crate::machine::tile::columns::Columns;
use crate::machine::tile::draft::{Draft, Drafts, Pass};
use crate::machine::tile::plan::{Extent, Group};
use crate::machine::tile::region::{
    Fold, LONE_BLOCK, MAX_BLOCK, MIN_BLOCK, MIN_ELEMENTS, Member, Output, Place, Region,
};
use crate::machine::tile::schedule::{Code, Step};
use crate::machine::tile::scratch::{Scratch, place_bytes};
use crate::machine::tile::strip_plan::{self, Lanes, complete_if};
use crate::operator::Kernel;
use crate::operator::reduction::ReductionKernel;
use crate::program::Routine;
use crate::program::program::Owners;
use crate::value::array::ROWS_OF_A_WORD;
use crate::vector::Level;

/// Bytes that the blocks of a region fill, unless it has so many that blocks would be short: three quarters of a
/// first-level cache of 32 KiB.
const WORKING_SET: usize = 24 << 10;

/// Builds the region of a group. `reads` counts the reachable readers of each value in the routine.
pub(in crate::machine) fn build(routine: &Routine, owners: &Owners, group: &Group, reads: &[u32]) -> Region {
    let mut columns = Columns::new(routine);
    group.members.iter().for_each(|member| columns.add_member(member, |value| owners.same_bytes(value)));
    let inside = columns.reads_inside();
    let is_array = |number: usize| columns.element(number).is_some();
    // What has been overwritten meanwhile is not laid out: whoever reads the place means the other.
    let is_read_outside = |number: usize| {
        !group.members[number].is_overwritten
            && reads[columns.results[number].index()] > columns.own_reads[number]
    };
    let outputs: Vec<usize> = columns.members().filter(|n| is_array(*n) && is_read_outside(*n)).collect();
    let reads_of = |number: usize| (!is_read_outside(number)).then(|| inside[columns.of_member(number)]);
    let drafts = Drafts::new(&columns, reads_of);
    let last_reader = drafts.last_readers(&columns);
    let computed: Vec<Vec<usize>> = drafts.steps.iter().map(|draft| vec![draft.member]).collect();
    let scratch = Scratch::assign(&computed, |number| {
        let is_scratch = is_array(number) && !is_read_outside(number);
        is_scratch.then(|| last_reader[columns.of_member(number)])
    });
    let streams = columns.streams(group.extent) + outputs.len();
    let block_of = |scratch: &Scratch| block_rows(group.extent, streams + scratch.places);
    let is_lone_fold = matches!(columns.kernels[..], [Kernel::Reduction(_)]) && group.extent == Extent::Rows;
    let block = if is_lone_fold { LONE_BLOCK } else { block_of(&scratch) };
    let place = |number: usize| match scratch.place.get(&number) {
        Some(place) => Place::Scratch((place * place_bytes(block)) as u32),
        None if drafts.is_fused[number] => Place::Registers,
        None if is_array(number) => Place::Output(position(&outputs, &number)),
        None => Place::Value,
    };
    let lanes = strip_plan::lanes(&columns);
    let members: Box<[Member]> = columns
        .members()
        .map(|number| member(&columns, &lanes, number, group.members[number].ip, place(number)))
        .collect();
    let of_kind = |kind: fn(&Kernel) -> bool| -> Vec<usize> {
        columns.members().filter(|number| kind(columns.kernels[*number])).collect()
    };
    let scans = of_kind(|kernel| matches!(kernel, Kernel::Scan(_)));
    let folds = of_kind(|kernel| matches!(kernel, Kernel::Reduction(_)));
    let numbers = [&scans, &folds].map(Vec::as_slice);
    let passes = drafts.steps.iter().map(|draft| step(&columns, draft, numbers)).collect();
    let passes = scratch.schedule(passes, &columns, block);
    // Folds of pairs are in no strip: what they compute on the way stays there.
    let folds_of_sums: Vec<&Draft> =
        drafts.steps.iter().filter(|draft| matches!(draft.pass, Pass::FoldOfSum)).collect();
    let own_step = |number: usize| match folds_of_sums.iter().find(|draft| draft.member == number) {
        Some(draft) => step(&columns, draft, numbers),
        None => step(&columns, &Draft::own(&columns, number), numbers),
    };
    let strips =
        strip_plan::plan(&columns, passes.steps.len(), &folds_of_sums, is_read_outside, own_step, block_of);
    let fold = |number: &usize| match columns.kernels[*number] {
        Kernel::Reduction(ReductionKernel { fold, axes, .. }) => Fold {
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
    let mut region = Region {
        extent: group.extent,
        columns: columns.templates(),
        outputs: outputs.iter().map(output).collect(),
        moving: columns.moving(&outputs),
        complete: Box::default(),
        passes,
        strips,
        scans: scans.len(),
        direction: group.direction,
        folds: folds.iter().map(fold).collect(),
        closed: group.closed,
        inputs: columns.inputs.into(),
        members,
    };
    region.complete = region.plan_complete();
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
    let is_lifted = columns.block_kernel(number).is_none_or(|kernel| kernel.is_lifted);
    let complete_if = if is_lifted { 0 } else { complete_if(columns, lanes, number) };
    Member { ip, args: columns.args(operands), arity: operands.len() as u8, is_lifted, complete_if, place }
}

/// The code of a draft; its number is that among the running sums or folds.
fn step(columns: &Columns<'_>, draft: &Draft, [scans, folds]: [&[usize]; 2]) -> Step {
    let code = match (draft.pass, columns.block_kernel(draft.member)) {
        (Pass::Joined(run) | Pass::Sum(run), _) => Code::Rows { run, is_lifted: true },
        (Pass::Polynomial(polynomial), _) => Code::Polynomial(polynomial),
        (Pass::FoldOfSum, _) => Code::FoldOfSum(position(folds, &draft.member)),
        (Pass::Own, Some(kernel)) => {
            Code::Rows { run: kernel.run(Level::best()), is_lifted: kernel.is_lifted }
        }
        (Pass::Own, None) => match columns.kernels[draft.member] {
            Kernel::Scan(scan) => Code::Scan(scan.block, position(scans, &draft.member)),
            _ => Code::Fold(position(folds, &draft.member)),
        },
    };
    let args = columns.args(&draft.sources);
    Step { args, arity: draft.sources.len() as u8, member: draft.member as u16, code }
}
