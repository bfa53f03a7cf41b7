//! Points: ranges along axes, and the boxes of points that have values.

use crate::field::dimension::DimensionId;
use crate::field::expression::FieldId;
use crate::field::program::FieldProgram;

/// Points along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PointRange {
    /// The first point.
    pub first: i64,
    /// One past the last point.
    pub end: i64,
}

impl PointRange {
    /// Number of points.
    pub fn len(self) -> usize {
        usize::try_from(self.end - self.first).unwrap_or(0)
    }

    /// True without points.
    pub fn is_empty(self) -> bool {
        self.end <= self.first
    }
}

/// Points of a field as messages show them: a range along each dimension.
pub(crate) fn points_text(program: &FieldProgram, field: FieldId, points: &[PointRange]) -> String {
    let range = |(dim, range): (&DimensionId, &PointRange)| {
        format!("{} {}:{}", program.dim_name(*dim), range.first, range.end)
    };
    let ranges: Vec<String> = program.fields[field.0].dims.iter().zip(points).map(range).collect();
    ranges.join(", ")
}

/// Boxes that the written points of a field may have.
const MOST_BOXES: usize = 256;

/// Boxes that one question may look at.
const MOST_STEPS: usize = 1 << 20;

/// A box of points, by axis of the field.
pub(super) type Points = Vec<PointRange>;

/// Boxes of points that have values.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct WrittenPoints {
    boxes: Vec<Points>,
    /// True if a box was left out.
    is_cut_off: bool,
}

/// What is missing of the points that are needed.
pub(super) enum Missing {
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
    pub(super) fn missing(&self, needed: &[PointRange], steps: &mut usize) -> Option<Missing> {
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
    pub(super) fn add(&mut self, new: &[PointRange]) -> bool {
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
