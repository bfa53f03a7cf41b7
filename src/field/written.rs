//! Written points: where fields that began without values have some by now.
//!
//! ```text
//! output t[I=0:8]        no data, no `fill`       has values nowhere
//! t[I=1:7] = u           statement 1              I 1:7
//! v[I=2:6] = t[I-1]      statement 2 reads I 1:5  has values
//! w[I=1:7] = t[I-1]      statement 3 reads I 0:6  nobody wrote I 0:1
//! ```
//!
//! 1. A field has values at all points, or at those of a few boxes. What is beyond a few hundred boxes counts as
//!    unwritten, and reading there is a limit, so that a plan takes bounded time.
//! 2. Buffers carry their points with them, so that fields may be exchanged between two runs.

use crate::field::buffer::{FieldBuffer, FieldData};
use crate::field::error::FieldProblem;
use crate::field::expression::FieldId;
use crate::field::points::{Missing, PointRange, Points, WrittenPoints, points_text};
use crate::field::program::FieldProgram;
use std::sync::Arc;

impl FieldBuffer {
    /// The buffer as one that has values nowhere yet.
    pub(super) fn without_values(mut self) -> FieldBuffer {
        self.written = (!self.shape.contains(&0)).then(Arc::default);
        self
    }

    /// Notes that a box has values now.
    pub(super) fn note_written(&mut self, points: &[PointRange]) {
        let all = self.points();
        if let Some(written) = &mut self.written
            && Arc::make_mut(written).add(points)
            && written.missing(&all, &mut 0).is_none()
        {
            self.written = None;
        }
    }

    /// All points.
    fn points(&self) -> Points {
        let range = |(first, size): (&i64, &usize)| PointRange { first: *first, end: first + *size as i64 };
        self.origin.iter().zip(&self.shape).map(range).collect()
    }
}

/// Where the fields of a program have values; nothing stands for all points.
#[derive(Clone, Debug, PartialEq)]
pub struct WrittenFields(Vec<Option<Arc<WrittenPoints>>>);

impl WrittenFields {
    /// Those of data, which has all fields.
    pub fn of(program: &FieldProgram, data: &FieldData) -> WrittenFields {
        let of = |name: &str| data.fields.get(name).and_then(|buffer| buffer.written.clone());
        WrittenFields(program.fields.iter().map(|field| of(&field.name)).collect())
    }

    /// True if a field of the data has points without values.
    pub(crate) fn are_some_missing(data: &FieldData) -> bool {
        data.fields.values().any(|buffer| buffer.written.is_some())
    }

    /// True if these are the points of the data.
    pub(crate) fn are_those_of(&self, program: &FieldProgram, data: &FieldData) -> bool {
        program.fields.iter().zip(&self.0).all(|(field, known)| {
            let written = data.fields.get(&*field.name).and_then(|buffer| buffer.written.as_ref());
            match (known, written) {
                (Some(known), Some(written)) => Arc::ptr_eq(known, written) || known == written,
                (known, written) => known.is_none() && written.is_none(),
            }
        })
    }

    /// Tells the buffers of the data that these are their points.
    pub(crate) fn give_to(&self, program: &FieldProgram, data: &mut FieldData) {
        for (field, written) in program.fields.iter().zip(&self.0) {
            if let Some(buffer) = data.fields.get_mut(&*field.name) {
                buffer.written.clone_from(written);
            }
        }
    }

    /// True if some points of the field have no values.
    pub(super) fn is_part(&self, field: FieldId) -> bool {
        self.0[field.0].is_some()
    }

    /// Notes that a statement writes a box of a field that has these points.
    pub(super) fn note(&mut self, field: FieldId, points: &[PointRange], all: &[PointRange]) {
        if let Some(written) = &mut self.0[field.0]
            && Arc::make_mut(written).add(points)
            && written.missing(all, &mut 0).is_none()
        {
            self.0[field.0] = None;
        }
    }

    /// Checks that a field has values at all points of ranges along each of its axes.
    ///
    /// # Errors
    /// It has not, or there are too many boxes to tell.
    pub(super) fn check(
        &self,
        program: &FieldProgram,
        field: FieldId,
        ranges: &[Vec<PointRange>],
    ) -> Result<(), FieldProblem> {
        let Some(written) = &self.0[field.0] else { return Ok(()) };
        let mut index = vec![0; ranges.len()];
        let mut steps = 0;
        loop {
            let part: Points = ranges.iter().zip(&index).map(|(ranges, at)| ranges[*at]).collect();
            match written.missing(&part, &mut steps) {
                None => {}
                Some(Missing::Points(points)) => return Err(unwritten(program, field, &points)),
                Some(Missing::Unknown) => {
                    let name = &program.fields[field.0].name;
                    let what = format!("`{name}` is written in too many pieces: give it data, or `fill`");
                    return Err(FieldProblem::Limit { limit: "field-pieces", what });
                }
            }
            let Some(axis) = (0..ranges.len()).rev().find(|axis| index[*axis] + 1 < ranges[*axis].len())
            else {
                return Ok(());
            };
            index[axis] += 1;
            index[axis + 1..].fill(0);
        }
    }
}

fn unwritten(program: &FieldProgram, field: FieldId, points: &[PointRange]) -> FieldProblem {
    let name = program.fields[field.0].name.to_string();
    FieldProblem::Unwritten { field: name, points: points_text(program, field, points) }
}
