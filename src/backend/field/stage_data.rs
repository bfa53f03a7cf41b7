//! What a stage reads: windows of buffers, elements that lists choose, truth values along an axis.
//!
//! ```text
//! r0: u on I 0:4      part I 2:4 of the stage's box      the cells of u from point 1 on
//! ```

use crate::backend::field::limits::{StageLimits, ours};
use crate::backend::field::results::Part;
use crate::field::buffer::{FieldBuffer, FieldData};
use crate::field::cells::FieldCells;
use crate::field::error::FieldProblem;
use crate::field::part::{PartPlace, TakenAxis};
use crate::field::program::FieldProgram;
use crate::field::stage::{AxisRead, FieldRead, FieldStage, ReadOf};
use bumpalo::Bump;
use bumpalo::collections::Vec as BumpVec;
use cembra_vm::value::shape::PerAxis;
use cembra_vm::value::{NdView, ScalarValue};

/// What a stage reads besides its program: the data, what is kept, and the state of a scan.
#[derive(Clone, Copy)]
pub(super) struct StageData<'d> {
    pub program: &'d FieldProgram,
    pub data: &'d FieldData,
    pub scalars: &'d [ScalarValue],
    /// The temporaries that come before.
    pub temporaries: &'d [FieldBuffer],
    /// What a scan hands on, by number.
    pub carries: &'d [NdView<'d>],
    pub limits: StageLimits<'d>,
}

impl<'d> StageData<'d> {
    /// What is read.
    pub fn buffer(&self, read: &FieldRead) -> &'d FieldBuffer {
        self.buffer_of(read.of)
    }

    /// The buffer of a field or a temporary.
    pub fn buffer_of(&self, of: ReadOf) -> &'d FieldBuffer {
        match of {
            ReadOf::Field(field) => &self.data.fields[&*self.program.fields[field.0].name],
            ReadOf::Temporary(number) => &self.temporaries[number],
        }
    }

    /// The elements that a list along the last axis chooses from.
    #[cfg(feature = "native")]
    pub fn chosen_from(&self, stage: &FieldStage, read: &FieldRead, part: Part<'_>) -> NdView<'d> {
        let (buffer, mut shape) = (self.buffer(read), part.shape.iter().copied().collect::<PerAxis>());
        if let (Some(AxisRead::Taken { place, .. }), Some(size)) = (read.axes.last(), shape.last_mut()) {
            *size = buffer.shape()[*place];
        }
        buffer.view_at(&place(buffer, stage, read, Part { first: part.first, shape: &shape }))
    }

    /// The elements that a read without lists has.
    pub fn view(&self, stage: &FieldStage, read: &FieldRead, part: Part<'_>) -> NdView<'d> {
        let buffer = self.buffer(read);
        buffer.view_at(&place(buffer, stage, read, part))
    }

    /// Calls a function for the elements that a read has.
    pub fn with_read<R>(
        &self,
        stage: &FieldStage,
        read: &FieldRead,
        part: Part<'_>,
        each: impl FnOnce(&NdView<'_>) -> R,
    ) -> Result<R, FieldProblem> {
        if read.lists.is_empty() {
            return Ok(each(&self.view(stage, read, part)));
        }
        let mut cells = FieldCells::filled(&ScalarValue::zero(self.buffer(read).cells().dtype()), 0)?;
        self.take(stage, read, part, &Bump::new(), &mut cells);
        Ok(each(&cells.view_as(&read.sizes(part.shape))))
    }

    /// The elements that lists choose, one after the other.
    pub fn take(
        &self,
        stage: &FieldStage,
        read: &FieldRead,
        part: Part<'_>,
        arena: &Bump,
        to: &mut FieldCells,
    ) {
        let mut taken = BumpVec::new_in(arena);
        for (axis, of) in read.axes.iter().enumerate() {
            if let AxisRead::Taken { place, list } = *of {
                let from = (part.first[axis] - stage.first[axis]) as usize;
                taken.push(TakenAxis { axis, place, positions: &read.lists[list][from..] });
            }
        }
        let buffer = self.buffer(read);
        buffer.take_into(&place(buffer, stage, read, part), &taken, to);
    }
}

/// Where the elements of a part stand; lists choose others from the first one on.
pub(super) fn place(buffer: &FieldBuffer, stage: &FieldStage, read: &FieldRead, part: Part<'_>) -> PartPlace {
    let axis = |(axis, of): (usize, &AxisRead)| match *of {
        AxisRead::Absent => None,
        AxisRead::Window { place, first } => {
            Some((place, first + part.first[axis] - stage.first[axis], part.shape[axis]))
        }
        AxisRead::Taken { place, .. } => Some((place, buffer.origin()[place], part.shape[axis])),
    };
    buffer.place(read.axes.iter().enumerate().map(axis), &read.fixed)
}

/// Truth values along an axis of the box.
pub(super) fn mask<'v>(
    stage: &FieldStage,
    part: Part<'_>,
    axis: usize,
    values: &'v [bool],
) -> Result<NdView<'v>, FieldProblem> {
    let mut shape: PerAxis = part.shape.iter().map(|_| 1).collect();
    shape[axis] = part.shape[axis];
    let from = (part.first[axis] - stage.first[axis]) as usize;
    NdView::from_slice(&values[from..][..part.shape[axis]], &shape).map_err(ours)
}

/// Calls a function for a scalar as an array without axes.
pub(super) fn with_scalar<R>(value: &ScalarValue, each: impl FnOnce(&NdView<'_>) -> R) -> R {
    fn one<T: cembra_vm::value::nd_view::NdCell, R>(value: T, each: impl FnOnce(&NdView<'_>) -> R) -> R {
        each(&NdView::from_slice(&[value], &[]).expect("one element"))
    }
    match *value {
        ScalarValue::Boolean(value) => one(value, each),
        ScalarValue::Int32(value) => one(value, each),
        ScalarValue::Int64(value) => one(value, each),
        ScalarValue::Float32(value) => one(value, each),
        ScalarValue::Float64(value) => one(value, each),
        _ => unreachable!("cells have one of five types"),
    }
}
