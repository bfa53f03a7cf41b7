//! Written points: where fields that began without values have some by now.
//!
//! ```text
//! output t[I=0:8]        no data, no `fill`       has values nowhere
//! t[I=1:7] = u           statement 1              I 1:7
//! v[I=2:6] = t[I-1]      statement 2 reads I 1:5  has values
//! w[I=1:7] = t[I-1]      statement 3 reads I 0:6  nobody wrote I 0:1
//! ```
//!
//! 1. A field has values at all points, or at those of a few boxes. What is beyond [`MOST_BOXES`] boxes counts as unwritten,
//!    and reading there is a limit, so that a plan takes bounded time.
//! 2. Buffers carry their points with them, so that fields may be exchanged between two runs.

use crate::field::buffer::{FieldBuffer, FieldData};
use crate::field::error::FieldProblem;
use crate::field::expression::FieldId;
use crate::field::geometry::{PointRange, points_text};
use crate::field::program::FieldProgram;
use std::sync::Arc;

/// Boxes that the written points of a field may have.
const MOST_BOXES: usize = 256;

/// Boxes that one question may look at.
const MOST_STEPS: usize = 1 << 20;

/// A box of points, by axis of the field.
type Points = Vec<PointRange>;

/// Boxes of points that have values.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct WrittenPoints {
    boxes: Vec<Points>,
    /// True if a box was left out.
    is_cut_off: bool,
}

/// What is missing of the points that are needed.
enum Missing {
    /// These have no values.
    Points(Points),
    /// There are too many boxes to tell.
    Unknown,
}

fn meets(a: &[PointRange], b: &[PointRange]) -> bool {
    a.iter().zip(b).all(|(a, b)| a.first < b.end && b.first < a.end)
}

fn holds(outer: &[PointRange], inner: &[PointRange]) -> bool {
    outer.iter().zip(inner).all(|(outer, inner)| outer.first <= inner.first && inner.end <= outer.end)
}

/// Both boxes as one, if together they are one.
fn joined(a: &[PointRange], b: &[PointRange]) -> Option<Points> {
    let mut differ = (0..a.len()).filter(|axis| a[*axis] != b[*axis]);
    let axis = differ.next()?;
    if differ.next().is_some() || a[axis].first > b[axis].end || b[axis].first > a[axis].end {
        return None;
    }
    let mut both = a.to_vec();
    both[axis] = PointRange { first: a[axis].first.min(b[axis].first), end: a[axis].end.max(b[axis].end) };
    Some(both)
}

impl WrittenPoints {
    /// What is missing of a box; counts the boxes that it looks at.
    fn missing(&self, needed: &[PointRange], steps: &mut usize) -> Option<Missing> {
        let mut left = vec![needed.to_vec()];
        while let Some(mut part) = left.pop() {
            *steps += self.boxes.len() + 1;
            if *steps > MOST_STEPS {
                return Some(Missing::Unknown);
            }
            let Some(known) = self.boxes.iter().find(|known| meets(known, &part)) else {
                return Some(if self.is_cut_off { Missing::Unknown } else { Missing::Points(part) });
            };
            // What lies beside the known box along an axis is left to be found.
            for (axis, known) in known.iter().enumerate() {
                let PointRange { first, end } = part[axis];
                if first < known.first {
                    let mut before = part.clone();
                    before[axis].end = known.first;
                    left.push(before);
                }
                if known.end < end {
                    let mut behind = part.clone();
                    behind[axis].first = known.end;
                    left.push(behind);
                }
                part[axis] = PointRange { first: first.max(known.first), end: end.min(known.end) };
            }
        }
        None
    }

    /// Adds a box; false if nothing is new.
    fn add(&mut self, new: &[PointRange]) -> bool {
        if self.missing(new, &mut 0).is_none() {
            return false;
        }
        let mut new = new.to_vec();
        self.boxes.retain(|known| !holds(&new, known));
        while let Some((at, both)) =
            self.boxes.iter().enumerate().find_map(|(at, known)| Some((at, joined(known, &new)?)))
        {
            self.boxes.swap_remove(at);
            new = both;
            self.boxes.retain(|known| !holds(&new, known));
        }
        match self.boxes.len() < MOST_BOXES {
            true => self.boxes.push(new),
            false => self.is_cut_off = true,
        }
        true
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    fn points(ranges: &[(i64, i64)]) -> Points {
        ranges.iter().map(|(first, end)| PointRange { first: *first, end: *end }).collect()
    }

    /// Random boxes, compared with a set of points.
    #[test]
    fn boxes_are_sets_of_points() {
        let mut rng = fastrand::Rng::with_seed(3);
        for _ in 0..200 {
            let mut written = WrittenPoints::default();
            let mut set = [false; 100];
            let cells = |of: &Points| {
                let rows = of[0].first..of[0].end;
                let columns = of[1].first..of[1].end;
                rows.flat_map(move |row| columns.clone().map(move |column| (row * 10 + column) as usize))
            };
            for _ in 0..rng.usize(0..9) {
                let random = |rng: &mut fastrand::Rng| {
                    let first = rng.i64(0..10);
                    (first, rng.i64(first..10) + 1)
                };
                let [asked, new] = [(); 2].map(|()| points(&[random(&mut rng), random(&mut rng)]));
                match written.missing(&asked, &mut 0) {
                    None => assert!(cells(&asked).all(|cell| set[cell])),
                    Some(Missing::Points(part)) => {
                        assert!(holds(&asked, &part) && cells(&part).all(|cell| !set[cell]));
                    }
                    Some(Missing::Unknown) => unreachable!("there are few boxes"),
                }
                let is_new = cells(&new).any(|cell| !set[cell]);
                cells(&new).for_each(|cell| set[cell] = true);
                assert_eq!(written.add(&new), is_new);
            }
        }
    }

    /// Pieces that do not join end at a limit; nothing is said to be missing that may be there.
    #[test]
    fn too_many_boxes_are_a_limit() {
        let mut written = WrittenPoints::default();
        for at in 0..1000 {
            written.add(&points(&[(2 * at, 2 * at + 1)]));
        }
        assert!(written.boxes.len() == MOST_BOXES && written.missing(&points(&[(6, 7)]), &mut 0).is_none());
        assert!(matches!(written.missing(&points(&[(1998, 1999)]), &mut 0), Some(Missing::Unknown)));
    }
}
