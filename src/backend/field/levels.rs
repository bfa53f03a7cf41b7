//! The loop of a scan: one program for the planes of all levels, one after the other on one frame.
//!
//! ```text
//! plane of level 3  ──carry──>  program  ──room──>  plane of level 4
//! ```
//!
//! What is handed on is read where it was stored. Where all cells of a plane stand before all of the next one, that is the
//! target itself; else it is memory of the statement, which is stored at the end. A library goes over all levels at once.

use crate::backend::field::bound_stage::BoundStage;
use crate::backend::field::kept::KeptPart;
use crate::backend::field::limits::ours;
use crate::backend::field::results::{Part, Targets, is_full, is_shared};
use crate::backend::field::stage_data::{StageData, with_scalar};
use crate::expr::NodeId;
use crate::field::error::FieldProblem;
use crate::field::lower::ScanLevels;
use crate::field::part::CellsOfPart;
use crate::field::program::ScanDirection;
use crate::field::stage::{FieldStage, StageResult};
use bumpalo::Bump;
use bumpalo::collections::Vec as BumpVec;
use cembra_vm::layout::TypedSlot;
use cembra_vm::machine::SweepOrder;
use cembra_vm::value::shape::PerAxis;
use cembra_vm::value::{NdView, ScalarValue};

/// A box of a scan while its levels are computed.
pub(super) struct Levels<'l> {
    pub scan: &'l ScanLevels,
    /// The first point of the box, of which the one along the levels is set.
    pub first: &'l mut [i64],
    /// Points along each axis, 1 along the levels.
    pub shape: &'l [usize],
    pub arena: &'l mut Bump,
}

/// True if the planes of all levels can be read and written where they are.
pub(super) fn has_planes_apart(levels: &mut Levels<'_>, into: &mut Targets<'_>) -> bool {
    let axis = levels.scan.axis;
    if levels.scan.levels.len() < 2 {
        return true;
    }
    (0..into.buffers.len()).all(|number| {
        let [read, written] = [0, 1].map(|at| {
            levels.first[axis] = levels.scan.levels.first + at;
            let part = Part { first: levels.first, shape: levels.shape };
            part.place_in(&into.buffers[number], into.destinations.get(number))
        });
        into.buffers[number].view_beside(&read, &written).is_some()
    })
}

/// Computes all levels.
pub(super) fn run_levels(
    stage: &mut BoundStage,
    levels: Levels<'_>,
    into: &mut Targets<'_>,
    from: StageData<'_>,
) -> Result<(), FieldProblem> {
    let Levels { scan, first, shape, arena } = levels;
    let mut whole: PerAxis = shape.iter().copied().collect();
    whole[scan.axis] = scan.levels.len();
    first[scan.axis] = scan.levels.first;
    if stage.run_levels_kept(from, Part { first, shape: &whole }, into)? {
        return Ok(());
    }
    #[cfg(feature = "native")]
    if stage.is_native() {
        arena.reset();
        if sweep_levels(stage, scan, (&mut *first, shape, arena), into, from)? {
            let part = Part { first, shape: &whole };
            stage.keep_levels(
                from,
                KeptPart { part, order: order_of(scan), init: &scan.init, calls: 1 },
                into,
            );
            return Ok(());
        }
    }
    let step = if scan.direction == ScanDirection::Forward { 1 } else { -1 };
    for number in 0..scan.levels.len() as i64 {
        let level = match scan.direction {
            ScanDirection::Forward => scan.levels.first + number,
            ScanDirection::Backward => scan.levels.end - 1 - number,
        };
        arena.reset();
        let arena = &*arena;
        let places = |first: &[i64]| {
            let part = Part { first, shape };
            let place = |number: usize| part.place_in(&into.buffers[number], into.destinations.get(number));
            BumpVec::from_iter_in((0..into.buffers.len()).map(place), arena)
        };
        first[scan.axis] = level - if number > 0 { step } else { 0 };
        let read = places(first);
        first[scan.axis] = level;
        let written = places(first);
        let part = Part { first, shape };
        if number == 0 {
            let mut cells = BumpVec::with_capacity_in(written.len(), arena);
            for (buffer, place) in into.buffers.iter_mut().zip(&written) {
                cells.push(Some(CellsOfPart::of(buffer, place)));
            }
            with_first(&scan.init, shape, &BumpVec::new_in(arena), arena, &mut |carries| {
                run_level(stage, StageData { carries, ..from }, part, &mut cells)
            })?;
            continue;
        }
        let mut carries = BumpVec::with_capacity_in(written.len(), arena);
        let mut cells = BumpVec::with_capacity_in(written.len(), arena);
        for ((buffer, read), written) in into.buffers.iter_mut().zip(&read).zip(&written) {
            let beside = buffer.view_beside(read, written);
            let (view, target) = beside.ok_or_else(|| ours("planes of a scan that are not apart"))?;
            carries.push(view);
            cells.push(Some(target));
        }
        run_level(stage, StageData { carries: &carries, ..from }, part, &mut cells)?;
    }
    first[scan.axis] = scan.levels.first;
    let part = Part { first, shape: &whole };
    stage.keep_levels(from, KeptPart { part, order: order_of(scan), init: &scan.init, calls: 1 }, into);
    Ok(())
}

/// The order of levels.
fn order_of(scan: &ScanLevels) -> SweepOrder {
    match scan.direction {
        ScanDirection::Forward => SweepOrder::Up(scan.axis),
        ScanDirection::Backward => SweepOrder::Down(scan.axis),
    }
}

/// Computes a level and stores it.
fn run_level<'a>(
    stage: &mut BoundStage,
    from: StageData<'_>,
    part: Part<'_>,
    cells: &mut [Option<CellsOfPart<'a>>],
) -> Result<(), FieldProblem> {
    let is_native = stage.is_native();
    stage.run_plane(from, part, |stage, slots, give| {
        for (number, cells) in (0..stage.outputs.len()).zip(&mut *cells) {
            let Some(slot) = slot_of(stage, slots, number) else { continue };
            if is_full(slot, part)
                && !(is_native && is_shared(stage, number))
                && cells.as_ref().is_some_and(CellsOfPart::has_room)
                && let Some(room) = cells.take().and_then(|cells| cells.room(slot))
            {
                give(room);
            }
        }
    })?;
    for (output, cells) in stage.stage.outputs.iter().zip(cells) {
        if let Some(cells) = cells.take() {
            stage.with_result(&output.result, from, part, |values| cells.store(values))?;
        }
    }
    Ok(())
}

/// The slot of an output that an operation computes.
fn slot_of<'s>(stage: &FieldStage, slots: &'s [(NodeId, TypedSlot)], output: usize) -> Option<&'s TypedSlot> {
    let StageResult::Node(node) = stage.outputs[output].result else { return None };
    slots.iter().find(|(known, _)| *known == node).map(|(_, slot)| slot)
}

/// Computes all levels at once; false if no library does.
#[cfg(feature = "native")]
fn sweep_levels(
    stage: &mut BoundStage,
    scan: &ScanLevels,
    (first, shape, arena): (&mut [i64], &[usize], &Bump),
    into: &mut Targets<'_>,
    from: StageData<'_>,
) -> Result<bool, FieldProblem> {
    let mut whole: PerAxis = shape.iter().copied().collect();
    whole[scan.axis] = scan.levels.len();
    first[scan.axis] = scan.levels.first;
    let part = Part { first, shape: &whole };
    let order = order_of(scan);
    let Targets { buffers, destinations } = into;
    let mut is_swept = false;
    with_first(&scan.init, &[], &BumpVec::new_in(arena), arena, &mut |carries| {
        is_swept = stage.sweep_levels(StageData { carries, ..from }, part, order, |stage, slots, give| {
            for (number, buffer) in buffers.iter_mut().enumerate() {
                let place = part.place_in(buffer, destinations.get(number));
                if let Some(slot) = slot_of(stage, slots, number)
                    && is_full(slot, part)
                    && let Some(room) = buffer.room_at(slot, &place)
                {
                    give(room);
                }
            }
        })?;
        Ok(())
    })?;
    Ok(is_swept)
}

/// Calls a function with the values that the first level gets, each as a plane.
fn with_first<'v>(
    init: &[ScalarValue],
    shape: &[usize],
    planes: &BumpVec<'_, NdView<'v>>,
    arena: &Bump,
    each: &mut dyn FnMut(&[NdView<'_>]) -> Result<(), FieldProblem>,
) -> Result<(), FieldProblem> {
    let Some((first, rest)) = init.split_first() else { return each(planes) };
    with_scalar(first, |value| {
        let mut all = BumpVec::with_capacity_in(planes.len() + 1, arena);
        all.extend(planes.iter().copied());
        all.push(value.broadcast_to(shape).expect("a single value repeats"));
        with_first(rest, shape, &all, arena, each)
    })
}
