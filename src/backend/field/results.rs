//! Results: where the values of a stage go.

use crate::field::buffer::FieldBuffer;
use crate::field::error::FieldProblem;
use crate::field::expression::FieldId;
use crate::field::program::{FieldProgram, FieldStatement};
use crate::field::stage::{FieldStage, StageOutput};
use cembra_vm::value::{NdView, ScalarType, ScalarValue};

/// The part of a field that a result of a stage is for.
#[derive(Clone, Debug)]
pub(super) struct Destination {
    pub field: FieldId,
    pub dtype: ScalarType,
    /// The first point along each axis of the field.
    first: Vec<i64>,
    /// The axis of the box for each axis of the field; nothing for a local dimension.
    order: Vec<Option<usize>>,
    /// The box.
    pub box_first: Vec<i64>,
    pub box_shape: Vec<usize>,
}

impl Destination {
    /// Where an output of a stage goes.
    pub fn new(
        program: &FieldProgram,
        statement: &FieldStatement,
        stage: &FieldStage,
        output: &StageOutput,
    ) -> Destination {
        let field = statement.targets[output.target].field;
        let declared = &program.fields[field.0];
        let local = program.local_of(declared.dim_set());
        let axes = program.in_order(match local {
            Some(local) => declared.dim_set().without(local),
            None => declared.dim_set(),
        });
        let order: Vec<Option<usize>> =
            declared.dims.iter().map(|dim| axes.iter().position(|axis| axis == dim)).collect();
        let first = order.iter().map(|axis| axis.map_or(output.local.unwrap_or(0), |axis| stage.first[axis]));
        Destination {
            field,
            dtype: declared.dtype,
            first: first.collect(),
            order,
            box_first: stage.first.clone(),
            box_shape: stage.shape.clone(),
        }
    }

    /// The same for a scan over so many levels.
    pub fn over_levels(mut self, axis: usize, levels: usize) -> Destination {
        self.box_shape[axis] = levels;
        self
    }

    /// Writes an array with the axes of the box to the field.
    pub fn store(&self, buffer: &mut FieldBuffer, values: &NdView<'_>) {
        let whole = values.broadcast_to(&self.box_shape).expect("a result has the axes of its box");
        let axis = |axis: &Option<usize>| axis.map_or((1, 0), |a| (whole.shape()[a], whole.strides()[a]));
        let (shape, strides): (Vec<usize>, Vec<isize>) = self.order.iter().map(axis).unzip();
        let view = NdView::new(whole.element(), whole.bytes(), whole.start(), &shape, &strides);
        buffer.store(&self.first, &view.expect("the same elements in another order"));
    }

    /// Memory for the values of the box.
    ///
    /// # Errors
    /// There is none.
    pub fn room(&self) -> Result<FieldBuffer, FieldProblem> {
        FieldBuffer::filled(&ScalarValue::zero(self.dtype), &self.box_first, &self.box_shape)
    }
}

/// Keeps an array with the axes of a box in a buffer of these axes, from a point on.
pub(super) fn keep(room: &mut FieldBuffer, first: &[i64], shape: &[usize], values: &NdView<'_>) {
    room.store(first, &values.broadcast_to(shape).expect("a result has the axes of its box"));
}
