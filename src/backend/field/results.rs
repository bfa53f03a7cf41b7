//! Results: where the values of a stage go.

use crate::field::buffer::FieldBuffer;
use crate::field::element::held_as;
use crate::field::error::FieldProblem;
use crate::field::expression::FieldId;
use crate::field::part::PartPlace;
use crate::field::program::{FieldProgram, FieldStatement};
use crate::field::stage::{FieldStage, StageOutput, StageResult};
use cembra_vm::layout::TypedSlot;
use cembra_vm::value::{ScalarType, ScalarValue};

/// The field that a result of a stage is for.
#[derive(Clone, Debug)]
pub(super) struct Destination {
    pub field: FieldId,
    /// The type of its cells.
    pub dtype: ScalarType,
    /// The axis of the field for each axis of the box.
    axes: Vec<usize>,
    /// The axis of the field's local dimension, and the point.
    fixed: Vec<(usize, i64)>,
}

impl Destination {
    /// Where an output of a stage goes.
    pub fn new(program: &FieldProgram, statement: &FieldStatement, output: &StageOutput) -> Destination {
        let field = statement.targets[output.target].field;
        let declared = &program.fields[field.0];
        let local = program.local_of(declared.dim_set());
        let axis =
            |dim| declared.dims.iter().position(|other| *other == dim).expect("a dimension of the field");
        let dims = program.in_order(match local {
            Some(local) => declared.dim_set().without(local),
            None => declared.dim_set(),
        });
        Destination {
            field,
            dtype: held_as(declared.dtype),
            axes: dims.into_iter().map(axis).collect(),
            fixed: local.map(|local| (axis(local), output.local.unwrap_or(0))).into_iter().collect(),
        }
    }

    /// Where a box stands in the buffer of the field.
    pub fn place(&self, buffer: &FieldBuffer, part: Part<'_>) -> PartPlace {
        let axes = self.axes.iter().zip(part.first).zip(part.shape);
        buffer.place(axes.map(|((axis, first), size)| Some((*axis, *first, *size))), &self.fixed)
    }

    /// Memory for the values of a box, with its axes.
    ///
    /// # Errors
    /// There is none.
    pub fn room(&self, stage: &FieldStage) -> Result<FieldBuffer, FieldProblem> {
        FieldBuffer::filled(&ScalarValue::zero(self.dtype), &stage.first, &stage.shape)
    }
}

/// Where results go while a stage or its levels run, by number of the output; buffers without destinations have the axes
/// of the box.
pub(super) struct Targets<'t> {
    pub buffers: &'t mut [FieldBuffer],
    pub destinations: &'t [Destination],
}

/// Some of the points of a box.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part<'p> {
    /// The first point along each axis.
    pub first: &'p [i64],
    /// Points along each axis.
    pub shape: &'p [usize],
}

impl Part<'_> {
    /// Where the points stand in the buffer of a destination. Without one, the buffer has the axes of the box, and one point
    /// along axes that it does not vary along.
    pub fn place_in(self, buffer: &FieldBuffer, destination: Option<&Destination>) -> PartPlace {
        if let Some(destination) = destination {
            return destination.place(buffer, self);
        }
        let axes = self.first.iter().zip(self.shape).zip(buffer.shape()).enumerate();
        buffer.place(axes.map(|(axis, ((first, size), _))| Some((axis, *first, *size))), &[])
    }
}

/// True if a result in this slot has all points of a part.
pub(super) fn is_full(slot: &TypedSlot, part: Part<'_>) -> bool {
    slot.qtype().nd().is_some_and(|qtype| {
        qtype.rank() == part.shape.len()
            && qtype.units().zip(part.shape).all(|(is_unit, size)| !is_unit || *size == 1)
    })
}

/// True if an output has the value of another one: the interpreter gives it to two rooms, a library to one.
pub(super) fn is_shared(stage: &FieldStage, number: usize) -> bool {
    let same = |(other, output): (usize, &StageOutput)| {
        let results = (&output.result, &stage.outputs[number].result);
        other != number && matches!(results, (StageResult::Node(one), StageResult::Node(two)) if one == two)
    };
    stage.outputs.iter().enumerate().any(same)
}
