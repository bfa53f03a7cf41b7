//! Copies: the elements of a view, wherever they lie, to cells one after the other, the last axis fastest.
//!
//! ```text
//! (4, 5, 6)    strides 240, 48, 8      one run of 120: the bytes as they are
//! (4, 5)       strides 96, 8           runs of 5, one behind the other
//! (300, 200)   strides 8, 2400         tiles: what lies together is read at once
//! ```
//!
//! Axes that follow each other in memory are joined first. Elements that are neighbours in memory along another axis than
//! the last one go by tiles, so that a line of the cache is read once. Anything else goes one by one.

use crate::value::array::cell_size;
use crate::value::nd_type::MAX_RANK;
use crate::value::nd_view::NdView;
use crate::value::shape::{Offsets, Shape, Strides};
use crate::vector::crossing::copy_crossing;
use std::convert::Infallible;

/// Elements of a run that are copied without a question whether to stop.
const PART: usize = 1 << 14;

/// Columns of tiles that are copied without a question.
const BAND: usize = 1 << 11;

impl NdView<'_> {
    /// Copies the elements, the last axis fastest, to bytes that have room for exactly as many.
    ///
    /// # Panics
    /// If they have not.
    pub fn copy_to(&self, target: &mut [u8]) {
        let copied: Result<(), Infallible> = self.copy_in_parts(target, |_| Ok(()));
        copied.expect("nothing stops it");
    }

    /// The same in parts: before each, `part` is told how many elements it has, 16,384 at most, and may stop.
    ///
    /// # Errors
    /// Those of `part`; then some elements are not copied.
    ///
    /// # Panics
    /// If there is not room for exactly the elements.
    pub fn copy_in_parts<E>(
        &self,
        target: &mut [u8],
        mut part: impl FnMut(usize) -> Result<(), E>,
    ) -> Result<(), E> {
        assert_eq!(target.len(), self.len() * cell_size(self.element()), "room for the elements");
        match cell_size(self.element()) {
            _ if self.is_empty() => Ok(()),
            1 => Copy::<1>::of(self).run(target.as_chunks_mut().0, &mut part),
            2 => Copy::<2>::of(self).run(target.as_chunks_mut().0, &mut part),
            4 => Copy::<4>::of(self).run(target.as_chunks_mut().0, &mut part),
            _ => Copy::<8>::of(self).run(target.as_chunks_mut().0, &mut part),
        }
    }
}

/// A question whether to go on with so many elements.
type Ask<'f, E> = &'f mut dyn FnMut(usize) -> Result<(), E>;

/// A view of cells of so many bytes, with as few axes as it allows, at least one.
struct Copy<'v, const SIZE: usize> {
    bytes: &'v [u8],
    start: usize,
    rank: usize,
    shape: Shape,
    strides: Strides,
    /// Cells from one element to the next in the target.
    steps: Shape,
}

impl<'v, const SIZE: usize> Copy<'v, SIZE> {
    fn of(view: &NdView<'v>) -> Copy<'v, SIZE> {
        let (bytes, start) = (view.bytes(), view.start());
        let mut copy = Copy {
            bytes,
            start,
            rank: 0,
            shape: [1; MAX_RANK],
            strides: [0; MAX_RANK],
            steps: [1; MAX_RANK],
        };
        let axes = view.shape().iter().zip(view.strides());
        for (size, stride) in axes.filter(|(size, _)| **size != 1) {
            let last = copy.rank.wrapping_sub(1);
            if copy.rank > 0 && copy.strides[last] == stride.wrapping_mul(*size as isize) {
                (copy.shape[last], copy.strides[last]) = (copy.shape[last] * size, *stride);
            } else {
                (copy.shape[copy.rank], copy.strides[copy.rank]) = (*size, *stride);
                copy.rank += 1;
            }
        }
        copy.rank = copy.rank.max(1);
        for axis in (1..copy.rank).rev() {
            copy.steps[axis - 1] = copy.steps[axis] * copy.shape[axis];
        }
        copy
    }

    fn run<E>(&self, target: &mut [[u8; SIZE]], ask: Ask<'_, E>) -> Result<(), E> {
        let last = self.rank - 1;
        if self.strides[last] == SIZE as isize || self.shape[last] == 1 {
            return self.by_runs(target, ask);
        }
        match (0..last).find(|axis| self.strides[*axis] == SIZE as isize) {
            Some(across) => self.by_tiles(across, target, ask),
            None => self.one_by_one(target, ask),
        }
    }

    /// The element that begins at a byte.
    #[inline(always)]
    fn cell(&self, at: usize) -> [u8; SIZE] {
        *self.bytes[at..].first_chunk().expect("an element lies inside the bytes")
    }

    /// Where elements begin in the bytes, and at which cell in the target, without the axes that are left out.
    fn places(&self, without: &[usize]) -> impl Iterator<Item = (usize, usize)> {
        let (mut shape, mut steps, mut count) = (self.shape, [0; MAX_RANK], 1);
        for axis in 0..self.rank {
            shape[axis] = if without.contains(&axis) { 1 } else { shape[axis] };
            steps[axis] = self.steps[axis] as isize;
            count *= shape[axis];
        }
        let from = Offsets::new(self.rank, shape, self.strides, self.start, count);
        from.zip(Offsets::new(self.rank, shape, steps, 0, count))
    }

    fn by_runs<E>(&self, target: &mut [[u8; SIZE]], ask: Ask<'_, E>) -> Result<(), E> {
        /// Shorter runs are copied by a loop: a call that copies bytes takes longer.
        const SHORT: usize = 8;
        let run = self.shape[self.rank - 1];
        for (at, to) in self.places(&[self.rank - 1]) {
            if run < SHORT {
                ask(run)?;
                let cells = self.bytes[at..].as_chunks().0;
                target[to..][..run].iter_mut().zip(cells).for_each(|(to, cell)| *to = *cell);
                continue;
            }
            let cells = &self.bytes[at..][..run * SIZE];
            let parts = cells.chunks(PART * SIZE).zip(target[to..][..run].chunks_mut(PART));
            for (from, to) in parts {
                ask(to.len())?;
                to.as_flattened_mut().copy_from_slice(from);
            }
        }
        Ok(())
    }

    fn one_by_one<E>(&self, target: &mut [[u8; SIZE]], ask: Ask<'_, E>) -> Result<(), E> {
        let (run, stride) = (self.shape[self.rank - 1], self.strides[self.rank - 1]);
        for (at, to) in self.places(&[self.rank - 1]) {
            let mut at = at as isize;
            for part in target[to..][..run].chunks_mut(PART) {
                ask(part.len())?;
                for cell in part {
                    *cell = self.cell(at as usize);
                    at += stride;
                }
            }
        }
        Ok(())
    }

    /// The elements of runs along an axis other than the last one.
    fn by_tiles<E>(&self, across: usize, target: &mut [[u8; SIZE]], ask: Ask<'_, E>) -> Result<(), E> {
        let last = self.rank - 1;
        let (rows, columns, step) = (self.shape[across], self.shape[last], self.steps[across]);
        let (stride, most) = (self.strides[last], PART / columns.min(BAND));
        for (at, to) in self.places(&[across, last]) {
            for first in (0..rows).step_by(most) {
                let count = most.min(rows - first);
                for band in (0..columns).step_by(BAND) {
                    let run = BAND.min(columns - band);
                    ask(count * run)?;
                    let from = (at + first * SIZE).wrapping_add_signed(stride * band as isize);
                    let to = (&mut target[to + first * step + band..], step);
                    copy_crossing(self.bytes, (from, stride), to, run, count);
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::scalar::ScalarType;
    use fastrand::Rng;

    const ELEMENTS: [ScalarType; 5] =
        [ScalarType::Int8, ScalarType::Int16, ScalarType::Float32, ScalarType::Int64, ScalarType::Float64];

    #[test]
    fn copies_are_those_of_one_by_one() {
        let mut rng = Rng::with_seed(11);
        for round in 0..2000 {
            let element = ELEMENTS[round % ELEMENTS.len()];
            let size = cell_size(element);
            let rank = rng.usize(0..5);
            let sizes: Vec<usize> = (0..rank).map(|_| [1, 2, 3, 8, 17, 40, 0][rng.usize(..7)]).collect();
            // Memory has the axes in another order, with gaps, some of them backwards and some repeated.
            let mut order: Vec<usize> = (0..rank).collect();
            rng.shuffle(&mut order);
            let (mut strides, mut next, mut start) = (vec![0isize; rank], size, 0usize);
            for axis in order {
                let repeats = rng.usize(..8) == 0;
                let is_back = !repeats && rng.usize(..5) == 0;
                strides[axis] = if repeats { 0 } else { next as isize };
                if is_back {
                    strides[axis] = -strides[axis];
                    start += next * sizes[axis].saturating_sub(1);
                }
                next *= if repeats { 1 } else { sizes[axis].max(1) };
                next += if rng.usize(..3) == 0 { size * rng.usize(..3) } else { 0 };
            }
            let shift = rng.usize(..3);
            let bytes: Vec<u8> = (0..next + shift).map(|_| rng.u8(..)).collect();
            let view = NdView::new(element, &bytes, start + shift, &sizes, &strides).expect("inside");
            let expected: Vec<u8> = view.offsets().flat_map(|at| bytes[at..][..size].to_vec()).collect();
            let mut found = vec![7; expected.len()];
            view.copy_to(&mut found);
            assert!(found == expected, "{element} {sizes:?} {strides:?}");
        }
    }

    #[test]
    fn long_ones_ask_for_each_part() {
        let values = vec![1.5f64; 1 << 16];
        for (shape, axes) in
            [(vec![1 << 16], vec![0]), (vec![1 << 14, 4], vec![1, 0]), (vec![4, 1 << 14], vec![1, 0])]
        {
            let view = NdView::from_slice(&values, &shape).expect("fits").select_axes(axes);
            let (mut asked, mut target) = (0, vec![0; 8 << 16]);
            let stopped = view.copy_in_parts(&mut target, |count| {
                assert!((1..=PART).contains(&count));
                asked += count;
                if asked > 1 << 15 { Err(asked) } else { Ok(()) }
            });
            assert!(stopped.is_err());
            let copied: Result<(), usize> = view.copy_in_parts(&mut target, |_| Ok(()));
            assert_eq!(copied, Ok(()));
            assert!(target.as_chunks().0.iter().all(|cell| f64::from_ne_bytes(*cell) == 1.5));
        }
    }
}
