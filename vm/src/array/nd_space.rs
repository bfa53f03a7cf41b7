//! Spaces: the axes that operands of n-dimensional arrays are walked over, as few as they allow.
//!
//! ```text
//! result (1000, 3)    operands   24, 8 and 0, 0    one axis of 3000
//!                     operands   24, 8 and 8, 0    two axes: a thousand runs of 3
//! result (3, 1000)    operands 8000, 8 and 0, 8    two axes: three runs of 1000, where blocks end
//! ```
//!
//! Axes that all operands walk alike are joined. The last one that is left is that of *runs*; if it is long, blocks end where runs
//! end.

use crate::value::nd_type::MAX_RANK;
use crate::value::shape::{Shape, Strides};

/// Runs shorter than this are gathered, several to a block.
const SHORT_RUN: usize = 128;

/// Axes that operands are walked over, as few as they allow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Space {
    pub(super) shape: Shape,
    pub(super) rank: usize,
    /// Runs shorter than this are gathered.
    least_run: usize,
}

impl Space {
    /// Joins the axes that all operands walk alike, in the strides as well; at least one is left.
    pub(crate) fn join(shape: &[usize], operands: &mut [Strides]) -> Space {
        let mut space = Space { shape: [1; MAX_RANK], rank: 0, least_run: SHORT_RUN };
        for (axis, size) in shape.iter().copied().enumerate().filter(|(_, size)| *size != 1) {
            let last = space.rank.wrapping_sub(1);
            let is_alike = |strides: &Strides| strides[last] == strides[axis].wrapping_mul(size as isize);
            let joins = space.rank > 0 && operands.iter().all(is_alike);
            space.rank += usize::from(!joins);
            let axis_left = space.rank - 1;
            space.shape[axis_left] = if joins { space.shape[axis_left] * size } else { size };
            operands.iter_mut().for_each(|strides| strides[axis_left] = strides[axis]);
        }
        if space.rank == 0 {
            operands.iter_mut().for_each(|strides| strides[0] = 0);
            space.rank = 1;
        }
        space
    }

    /// One run of so many elements.
    pub(crate) fn of_run(elements: usize) -> Space {
        Space { shape: [elements, 1, 1, 1, 1, 1], rank: 1, least_run: SHORT_RUN }
    }

    /// Sizes of the axes that are left; the last one is that of runs.
    pub(crate) fn sizes(&self) -> &[usize] {
        &self.shape[..self.rank]
    }

    /// So many runs of as many elements, of which the last one may be shorter.
    pub(super) fn of_runs(runs: usize, elements: usize) -> Space {
        Space { shape: [runs, elements, 1, 1, 1, 1], rank: 2, least_run: SHORT_RUN }
    }

    /// The same for who reads runs of so many elements where they lie.
    pub(crate) fn with_least_run(self, least_run: usize) -> Space {
        Space { least_run, ..self }
    }

    /// The axis of runs.
    pub(super) fn last(&self) -> usize {
        self.rank - 1
    }

    /// Elements of a run.
    pub(crate) fn run(&self) -> usize {
        self.shape[self.last()]
    }

    /// True if all elements of an operand with these strides, which has them in order along a run, stand in order.
    pub(super) fn is_in_order(&self, strides: &Strides) -> bool {
        let follows =
            |axis: usize| strides[axis - 1] == strides[axis].wrapping_mul(self.shape[axis] as isize);
        (1..self.rank).all(follows)
    }

    /// True if runs are read where they lie.
    pub(super) fn has_long_runs(&self) -> bool {
        self.run() >= self.least_run
    }

    /// Elements of a block: at most so many. The blocks of a long run are of about one size.
    pub(crate) fn block(&self, most: usize) -> usize {
        match self.ends_with_runs() {
            true => self.run().div_ceil(self.run().div_ceil(most)).next_multiple_of(8).min(most),
            false => most,
        }
    }

    /// Where a block of so many elements that begins at a position ends: it has elements of one run only if runs are
    /// long.
    #[inline]
    pub(crate) fn end_of_block(&self, first: &Position, block: usize, end: usize) -> usize {
        let count = match self.ends_with_runs() {
            true => block.min(self.run() - first.place[self.last()]),
            false => block,
        };
        (first.element + count).min(end)
    }

    /// True if no block ends where a leaf of so many elements that become one may not: behind other than a multiple of
    /// eight of its elements.
    pub(crate) fn has_leaves_of(&self, run: usize) -> bool {
        let are_eights = self.run().is_multiple_of(8) && run.is_multiple_of(8);
        !self.ends_with_runs() || are_eights || self.run().is_multiple_of(run)
    }

    fn ends_with_runs(&self) -> bool {
        self.rank > 1 && self.has_long_runs()
    }

    /// Moves a position to an element. To the same run or the begin of the next it takes no division.
    #[inline]
    pub(crate) fn go_to(&self, position: &mut Position, element: usize) {
        let last = self.last();
        let place = &mut position.place;
        let along = place[last].wrapping_add(element.wrapping_sub(position.element));
        position.element = element;
        if last == 0 || along < self.shape[last] {
            place[last] = along;
        } else if last == 1 && along == self.shape[last] {
            *place = [place[0] + 1, 0, 0, 0, 0, 0];
        } else {
            *place = self.place(element);
        }
    }

    /// Elements from a position to the end of its run.
    pub(crate) fn left_of_run(&self, position: &Position) -> usize {
        self.run() - position.place[self.last()]
    }

    /// Runs from that of a position on, along the axis before the last one: between two of them operands move by
    /// [so many bytes](crate::array::nd_walk::Walk::between_runs).
    pub(crate) fn runs_left(&self, position: &Position) -> usize {
        self.last().checked_sub(1).map_or(1, |axis| self.shape[axis] - position.place[axis])
    }

    /// Moves a position from the begin of a run to an element, if the next run begins with it, one step along the axis
    /// before the last: an operand stands [so many bytes](crate::array::nd_walk::Walk::between_runs) farther then.
    #[inline]
    pub(crate) fn go_to_next_run(&self, position: &mut Position, element: usize) -> bool {
        let last = self.last();
        let Position { element: before, place } = position;
        let follows = last > 0 && place[last] == 0 && element == *before + self.run();
        let is_next = follows && place[last - 1] + 1 < self.shape[last - 1];
        if is_next {
            place[last - 1] += 1;
            *before = element;
        }
        is_next
    }

    /// How operands move from one stretch of so many elements to the next, if a stretch is all of some last axes: along the axis
    /// before these, by so many of its steps. Nothing if there is only one.
    pub(crate) fn behind(&self, elements: usize) -> Option<Along> {
        let mut within = 1;
        for (axis, size) in self.sizes().iter().enumerate().rev() {
            if elements < within * size {
                let steps = elements / within;
                return (within * steps == elements).then_some(Along { axis, steps });
            }
            within *= size;
        }
        None
    }

    /// How often operands can move so from a position on, that position included.
    pub(crate) fn times_left(&self, position: &Position, Along { axis, steps }: Along) -> usize {
        (self.shape[axis] - position.place[axis]) / steps
    }

    /// The place of an element on each axis, 0 on those that the space has not.
    #[cold]
    fn place(&self, element: usize) -> Shape {
        let mut place = [0; MAX_RANK];
        let mut rest = element;
        for axis in (1..self.rank).rev() {
            place[axis] = rest % self.shape[axis];
            rest /= self.shape[axis];
        }
        place[0] = rest;
        place
    }
}

/// An element of a space, and its place on each axis, 0 on those that the space has not.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Position {
    pub(super) element: usize,
    pub(super) place: Shape,
}

impl Position {
    /// True if the element is this one.
    pub(crate) fn is_at(&self, element: usize) -> bool {
        self.element == element
    }
}

/// Steps along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Along {
    pub(super) axis: usize,
    pub(super) steps: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_are_joined_where_all_operands_allow() {
        let join = |shape: &[usize], operands: &[&[isize]]| {
            let mut strides = vec![[0; MAX_RANK]; operands.len()];
            for (to, from) in strides.iter_mut().zip(operands) {
                to[..from.len()].copy_from_slice(from);
            }
            let space = Space::join(shape, &mut strides);
            let strides: Vec<Vec<isize>> = strides.iter().map(|s| s[..space.rank].to_vec()).collect();
            (space.shape[..space.rank].to_vec(), strides)
        };
        let one: Vec<Vec<isize>> = vec![vec![8], vec![0]];
        assert_eq!(join(&[2, 1, 3], &[&[24, 99, 8], &[0, 0, 0]]), (vec![6], one));
        let two: Vec<Vec<isize>> = vec![vec![24, 8], vec![0, 8]];
        assert_eq!(join(&[2, 3], &[&[24, 8], &[0, 8]]), (vec![2, 3], two));
        assert_eq!(join(&[1, 1], &[&[24, 8]]), (vec![1], vec![vec![0]]));
        assert_eq!(join(&[2, 0], &[&[0, 8]]), (vec![0], vec![vec![8]]));
    }

    #[test]
    fn blocks_end_with_long_runs_and_are_of_about_one_size() {
        let space = Space { shape: [2, 440, 1, 1, 1, 1], rank: 2, least_run: SHORT_RUN };
        let mut ends = vec![0];
        let block = space.block(256);
        let mut position = Position::default();
        while ends.last() != Some(&880) {
            space.go_to(&mut position, ends[ends.len() - 1]);
            ends.push(space.end_of_block(&position, block, 880));
        }
        assert_eq!(ends, [0, 224, 440, 664, 880]);
        let short = Space { shape: [100, 7, 1, 1, 1, 1], rank: 2, least_run: SHORT_RUN };
        assert_eq!((short.block(256), short.end_of_block(&Position::default(), 256, 700)), (256, 256));
        assert_eq!(short.place(256)[..2], [36, 4]);
    }

    #[test]
    fn positions_are_those_of_elements() {
        for (shape, rank) in [([880, 1, 1, 1, 1, 1], 1), ([4, 220, 1, 1, 1, 1], 2), ([2, 4, 110, 1, 1, 1], 3)]
        {
            let space = Space { shape, rank, least_run: SHORT_RUN };
            let mut position = Position::default();
            for element in [0, 8, 110, 219, 220, 440, 300, 879, 0, 660] {
                space.go_to(&mut position, element);
                assert_eq!((position.element, position.place), (element, space.place(element)), "{shape:?}");
            }
        }
    }
}
