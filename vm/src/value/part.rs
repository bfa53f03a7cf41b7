//! Parts of arrays: places along each axis, found among its sizes before anything is read or written.

use crate::value::fault::Fault;
use crate::value::nd_type::{Axes, MAX_RANK};
use crate::value::nd_view::NdView;
use crate::value::shape::{Shape, Strides};

/// A part of an array: its axes, and the bytes from the first element of the array to that of the part, none if it has no
/// elements.
pub(crate) struct Part {
    pub(crate) rank: usize,
    pub(crate) shape: Shape,
    pub(crate) strides: Strides,
    pub(crate) offset: isize,
}

impl Part {
    /// Finds a part of an array of these sizes and strides. For each axis there are three numbers if it is kept: the first
    /// place, how many, and the distance; else its place, from the end if it is negative.
    ///
    /// # Errors
    /// A place is outside, or there several times.
    ///
    /// # Panics
    /// If there are fewer numbers.
    #[inline]
    pub(crate) fn find(
        sizes: &[usize],
        strides: &[isize],
        kept: Axes,
        numbers: &[i64],
    ) -> Result<Part, Fault> {
        let mut part = Part { rank: 0, shape: [1; MAX_RANK], strides: [0; MAX_RANK], offset: 0 };
        let mut numbers = numbers.iter().copied();
        let mut next = || numbers.next().expect("a number for each place");
        let mut is_empty = false;
        for (axis, (size, stride)) in sizes.iter().zip(strides).enumerate() {
            let outside = |index: i64| Fault::Index { index, size: *size as i64 };
            let inside = |place: i64| usize::try_from(place).ok().filter(|place| place < size);
            if !kept.contains(axis) {
                let index = next();
                let place = if index < 0 { index.saturating_add(*size as i64) } else { index };
                let found = inside(place).ok_or_else(|| outside(index))?;
                part.offset += found as isize * stride;
                continue;
            }
            let (start, count, step) = (next(), next(), next());
            part.shape[part.rank] = usize::try_from(count).map_err(|_| outside(count))?;
            match count {
                0 => is_empty = true,
                _ => {
                    let last = (count - 1).saturating_mul(step).saturating_add(start);
                    let found = inside(start).ok_or_else(|| outside(start))?;
                    // No place twice: a part has no more elements than its array.
                    inside(last).filter(|_| count == 1 || step != 0).ok_or_else(|| outside(last))?;
                    part.offset += found as isize * stride;
                }
            }
            // One element is as far from the next as any.
            part.strides[part.rank] = if count > 1 { step as isize * stride } else { *stride };
            part.rank += 1;
        }
        part.offset = if is_empty { 0 } else { part.offset };
        Ok(part)
    }
}

impl<'a> NdView<'a> {
    /// The elements of a part.
    ///
    /// # Errors
    /// As for [`Part::find`].
    ///
    /// # Panics
    /// If there are fewer numbers, or elements may be missing.
    pub(crate) fn part(&self, kept: Axes, numbers: &[i64]) -> Result<NdView<'a>, Fault> {
        let part = Part::find(self.shape(), self.strides(), kept, numbers)?;
        Ok(self.under(part.rank, part.shape, part.strides, part.offset))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::nd_type::NdType;
    use crate::value::ndarray::NdRows;
    use crate::value::scalar::ScalarType;
    use fastrand::Rng;

    /// Elements of parts are those that places, computed one by one, say; what reaches outside is refused.
    #[test]
    fn parts_are_their_places() {
        let mut rng = Rng::with_seed(5);
        let mut refused = 0;
        for _ in 0..2000 {
            let shape: Vec<usize> = (0..3).map(|_| rng.usize(0..5)).collect();
            let count = shape.iter().product::<usize>();
            let cells: Vec<i64> = (0..count as i64).collect();
            let qtype = NdType::new(ScalarType::Int64, 3, 0).unwrap();
            let rows = NdRows::from_slice(qtype, &shape, &cells).unwrap();
            let kept = Axes::new((0..3).filter(|_| rng.bool())).unwrap();
            let (mut numbers, mut places) = (Vec::new(), Vec::new());
            for (axis, size) in shape.iter().enumerate() {
                let start = rng.i64(-1..5);
                match kept.contains(axis) {
                    true => {
                        let (count, step) = (rng.i64(0..4), rng.i64(-2..3));
                        numbers.extend([start, count, step]);
                        places.push((0..count).map(|i| start + i * step).collect::<Vec<i64>>());
                    }
                    false => {
                        numbers.push(start);
                        places.push(vec![if start < 0 { start + *size as i64 } else { start }]);
                    }
                }
            }
            let is_inside = |(places, size): (&Vec<i64>, &usize)| {
                places.iter().all(|place| (0..*size as i64).contains(place))
            };
            let is_once = |places: &Vec<i64>| places.len() < 2 || places[0] != places[1];
            let are_inside = places.iter().zip(&shape).all(is_inside) && places.iter().all(is_once);
            match rows.view().part(kept, &numbers) {
                Ok(part) => {
                    assert!(are_inside, "{shape:?} {kept} {numbers:?}");
                    let mut wanted = Vec::new();
                    for i in &places[0] {
                        for j in &places[1] {
                            for k in &places[2] {
                                wanted.push((i * shape[1] as i64 + j) * shape[2] as i64 + k);
                            }
                        }
                    }
                    assert_eq!(part.cells::<i64>().collect::<Vec<_>>(), wanted);
                }
                Err(_) => {
                    assert!(!are_inside, "{shape:?} {kept} {numbers:?}");
                    refused += 1;
                }
            }
        }
        assert!(refused > 200, "{refused}");
        let rows = NdRows::from_slice(NdType::new(ScalarType::Int64, 1, 0).unwrap(), &[1], &[7i64]).unwrap();
        for numbers in
            [[0, i64::MAX, 0], [0, 2, i64::MAX], [0, i64::MAX, i64::MAX], [0, -1, 1], [i64::MIN, 1, 1]]
        {
            assert!(rows.view().part(Axes::new([0]).unwrap(), &numbers).is_err(), "{numbers:?}");
        }
    }
}
