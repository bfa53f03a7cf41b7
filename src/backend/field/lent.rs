//! Inputs that a run lends to the program of a stage.

use crate::backend::field::results::Part;
use crate::backend::field::stage_data::StageData;
#[cfg(feature = "native")]
use crate::backend::field::{
    native_stage::LentView,
    stage_data::{mask, place},
};
use crate::field::cells::FieldCells;
use crate::field::stage::{AxisRead, FieldRead, FieldStage, StageSource};
#[cfg(feature = "native")]
use crate::field::{buffer::FieldBuffer, error::FieldProblem, stage::ReadOf};
use bumpalo::Bump;
#[cfg(feature = "native")]
use bumpalo::collections::Vec as BumpVec;
use cembra_vm::layout::TypedSlot;
use cembra_vm::machine::Positions;
#[cfg(feature = "native")]
use cembra_vm::value::NdView;

/// An input that a run lends.
#[derive(Debug)]
pub(super) struct LentInput {
    /// Its number in the stage.
    pub number: usize,
    pub slot: TypedSlot,
    /// Its number in the layout.
    pub bit: u32,
    /// The memory for elements that lists choose.
    pub taken: Option<FieldCells>,
    /// What a library and kept runs take instead of these: positions along the last axis of the box.
    pub positions: Option<Positions>,
}

impl LentInput {
    /// Takes the elements that lists choose, if they do.
    pub fn take(&mut self, stage: &FieldStage, from: StageData<'_>, part: Part<'_>, arena: &Bump) {
        if let (StageSource::Field(read), Some(cells)) = (&stage.inputs[self.number].source, &mut self.taken)
        {
            from.take(stage, read, part, arena, cells);
        }
    }
}

/// The list of a read that has one, along the last axis of the box.
pub(super) fn positions_along_last(source: &StageSource) -> Option<Positions> {
    match source {
        StageSource::Field(FieldRead { axes, lists, .. }) => {
            let is_taken = |axis: &&AxisRead| matches!(axis, AxisRead::Taken { .. });
            let is_last =
                axes.last().as_ref().is_some_and(is_taken) && axes.iter().filter(is_taken).count() == 1;
            lists.first().filter(|_| is_last && lists.len() == 1).map(|list| Positions::new(list.clone()))
        }
        _ => None,
    }
}

/// What a library that sweeps reads. With the slots of what is handed on, it reads this at the level before, and what is there at
/// the first one.
#[cfg(feature = "native")]
pub(super) fn sweep_views<'a>(
    stage: &'a FieldStage,
    from: StageData<'a>,
    part: Part<'_>,
    lent: &'a [LentInput],
    carried: &[&'a TypedSlot],
    arena: &'a Bump,
) -> Result<BumpVec<'a, LentView<'a>>, FieldProblem> {
    let mut views = BumpVec::with_capacity_in(lent.len(), arena);
    // Most reads are of the buffer of the read before.
    let mut last: Option<(ReadOf, &FieldBuffer, &NdView<'_>)> = None;
    for LentInput { number, taken, positions, .. } in lent {
        views.push(match (&stage.inputs[*number].source, taken, positions) {
            (StageSource::Field(read), Some(_), Some(positions)) => {
                let last = part.shape.len() - 1;
                let first = (part.first[last] - stage.first[last]) as usize;
                LentView::Taken(arena.alloc(from.chosen_from(stage, read, part)), positions, first)
            }
            (StageSource::Field(read), Some(cells), None) => {
                LentView::Elements(arena.alloc(cells.view_as(&read.sizes(part.shape))))
            }
            (StageSource::Field(read), None, _) => {
                let (buffer, cells) = match last {
                    Some((of, buffer, cells)) if of == read.of => (buffer, cells),
                    _ => {
                        let buffer = from.buffer(read);
                        (buffer, &*arena.alloc(buffer.cells().view()))
                    }
                };
                last = Some((read.of, buffer, cells));
                let (first, steps) = place(buffer, stage, read, part).window();
                LentView::Window(cells, first, steps)
            }
            (StageSource::Carry(number), ..) => match carried.get(*number) {
                Some(slot) => LentView::Before(slot, &from.carries[*number]),
                None => LentView::Elements(&from.carries[*number]),
            },
            (StageSource::Mask { axis, values }, ..) => {
                LentView::Elements(arena.alloc(mask(stage, part, *axis, values)?))
            }
            (StageSource::Scalar(_), ..) => unreachable!("scalars are written"),
        });
    }
    Ok(views)
}
