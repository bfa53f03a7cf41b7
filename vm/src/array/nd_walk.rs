//! Walks: operands of n-dimensional arrays in the order of the result's elements, the last axis fastest.
//!
//! ```text
//! result (1000, 3)    operand strides 24, 8    one axis of 3000: in order, block after block
//!                     operand strides  8, 0    one element, repeated along a run
//! result (3, 1000)    operand strides  0, 8    in order along a run, from the beginning in the next
//!                     operand strides  8, 24   gathered, a block at a time
//! ```
//!
//! Axes that all operands walk alike are joined. If the last one that is left is long, blocks end where its
//! *runs* end, and an operand that is in order or repeated along a run is read where it lies.

use crate::array::block::Column;
use crate::array::runs_copied::copy_runs;
use crate::value::array::cell_size;
use crate::value::nd_type::MAX_RANK;
use crate::value::shape::{Shape, Strides};
use crate::value::{NdType, NdView, ScalarType};
use crate::vector::Level;
use crate::vector::level::Loop;
use std::marker::PhantomData;

/// Runs shorter than this are gathered, several to a block.
const SHORT_RUN: usize = 128;

/// Axes that operands are walked over, as few as they allow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Space {
    shape: Shape,
    rank: usize,
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

    /// The same for who reads runs of so many elements where they lie.
    pub(crate) fn with_least_run(self, least_run: usize) -> Space {
        Space { least_run, ..self }
    }

    fn last(&self) -> usize {
        self.rank - 1
    }

    /// Elements of a run.
    pub(crate) fn run(&self) -> usize {
        self.shape[self.last()]
    }

    /// True if all elements of an operand with these strides, which has them in order along a run, stand in order.
    fn is_in_order(&self, strides: &Strides) -> bool {
        let follows =
            |axis: usize| strides[axis - 1] == strides[axis].wrapping_mul(self.shape[axis] as isize);
        (1..self.rank).all(follows)
    }

    fn has_long_runs(&self) -> bool {
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
        !self.ends_with_runs() || self.run().is_multiple_of(8) || self.run().is_multiple_of(run)
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
    /// [`Walk::between_runs`].
    pub(crate) fn runs_left(&self, position: &Position) -> usize {
        self.last().checked_sub(1).map_or(1, |axis| self.shape[axis] - position.place[axis])
    }

    /// Moves a position from the begin of a run to an element, if the next run begins with it, one step along the axis
    /// before the last: an operand stands [`Walk::between_runs`] bytes farther then.
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

    /// True if an operand of cells of so many bytes is one element or in order along each run.
    pub(crate) fn is_by_run(&self, strides: &Strides, size: usize) -> bool {
        let step = strides[self.last()];
        step == 0 || step == size as isize
    }

    /// True if an operand of cells of so many bytes is one element, or all of it is in order.
    pub(crate) fn is_even(&self, strides: &Strides, size: usize) -> bool {
        let is_one = strides[..self.rank].iter().all(|stride| *stride == 0);
        is_one || strides[self.last()] == size as isize && self.is_in_order(strides)
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
    element: usize,
    place: Shape,
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
    axis: usize,
    steps: usize,
}

/// True if an operand of a type has one element for all of a run, whatever its strides: it has not the last
/// axis with more elements than one, or has it as a unit axis. Kernels take such an operand beside one that
/// has the axis.
pub(crate) fn repeats_by_type(qtype: Option<NdType>, shape: &[usize]) -> bool {
    let (Some(qtype), Some(axis)) = (qtype, shape.iter().rposition(|size| *size != 1)) else { return true };
    let back = shape.len() - axis;
    qtype.rank() < back || qtype.is_unit(qtype.rank() - back)
}

/// How an operand is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// One element for all.
    One,
    /// In order from the first element to the last.
    InOrder,
    /// Along each run in steps of so many bytes: the size of a cell, or 0.
    ByRun(usize),
    /// Gathered.
    Gathered,
}

/// An operand over a space.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Walk<'a> {
    first: *const u8,
    /// Bytes of a cell.
    size: usize,
    strides: Strides,
    way: Way,
    cells: PhantomData<&'a [u8]>,
}

impl<'a> Walk<'a> {
    /// An operand with its strides over the space. `repeats` as [`repeats_by_type`] has it.
    pub(crate) fn new(view: NdView<'a>, strides: Strides, space: &Space, repeats: bool) -> Walk<'a> {
        let size = cell_size(view.element());
        let last = space.last();
        let is_whole = |bytes: &isize| bytes.unsigned_abs().is_multiple_of(size);
        let first = view.bytes().as_ptr().wrapping_add(view.start());
        let is_aligned = first.addr().is_multiple_of(size) && strides[..last].iter().all(is_whole);
        let way = match strides[last] {
            _ if !is_aligned => Way::Gathered,
            0 if !repeats => Way::Gathered,
            0 if strides[..last].iter().all(|stride| *stride == 0) => Way::One,
            step if step == size as isize && space.is_in_order(&strides) => Way::InOrder,
            step if (step == 0 || step == size as isize) && space.has_long_runs() => {
                Way::ByRun(step as usize)
            }
            _ => Way::Gathered,
        };
        Walk { first, size, strides, way, cells: PhantomData }
    }

    /// A result in memory with these strides, which is written: nothing unless it stands in order along each run.
    pub(crate) fn to_memory(
        first: *mut u8,
        element: ScalarType,
        strides: Strides,
        space: &Space,
    ) -> Option<Walk<'a>> {
        let (size, last) = (cell_size(element), space.last());
        let is_in_runs = strides[last] == size as isize && space.has_long_runs();
        is_in_runs.then_some(Walk { first, size, strides, way: Way::ByRun(size), cells: PhantomData })
    }

    /// Bytes from an element of a run to that of the next one along the axis before the last.
    pub(crate) fn between_runs(&self, space: &Space) -> isize {
        space.last().checked_sub(1).map_or(0, |axis| self.strides[axis])
    }

    /// Bytes of such a move.
    pub(crate) fn bytes_along(&self, Along { axis, steps }: Along) -> isize {
        self.strides[axis].wrapping_mul(steps as isize)
    }

    /// True if blocks have to be gathered.
    pub(crate) fn is_gathered(&self) -> bool {
        self.way == Way::Gathered
    }

    /// True if the operand stands in order as a result does.
    pub(crate) fn is_in_order(&self) -> bool {
        self.way == Way::InOrder
    }

    /// True if the operand's column is another one in every block.
    pub(crate) fn changes_by_block(&self) -> bool {
        !matches!(self.way, Way::One | Way::InOrder)
    }

    /// The column of an operand at the first element. In other blocks only its data stand elsewhere.
    pub(crate) fn column(&self) -> Column {
        let step = match self.way {
            Way::One => 0,
            Way::InOrder | Way::Gathered => self.size,
            Way::ByRun(step) => step,
        };
        Column::of_cells(self.first, step)
    }

    /// Where a block of `count` elements stands that begins at a position.
    ///
    /// # Safety
    /// The space has these elements, in a block as [`Space::end_of_block`] gives it. If blocks are gathered,
    /// `buffer` has room for them.
    #[inline]
    pub(crate) unsafe fn data(
        &self,
        space: &Space,
        first: &Position,
        count: usize,
        buffer: *mut u8,
    ) -> *const u8 {
        let place = &first.place;
        if !self.is_gathered() {
            return self.at(space, place);
        }
        // SAFETY: the caller's promise.
        unsafe { self.gather_cells(space, place, count, buffer) };
        buffer
    }

    /// Where the element at a position stands, if blocks are not gathered.
    #[inline]
    pub(crate) fn at_position(&self, space: &Space, position: &Position) -> *const u8 {
        self.at(space, &position.place)
    }

    /// The element at a place.
    #[inline]
    fn at(&self, space: &Space, place: &Shape) -> *const u8 {
        let along = |axis: usize| (place[axis] as isize).wrapping_mul(self.strides[axis]);
        // Most spaces have two axes or one, and then the place on the second is 0: that takes no loop.
        let mut offset = along(0).wrapping_add(along(1));
        for axis in 2..space.rank {
            offset = offset.wrapping_add(along(axis));
        }
        self.first.wrapping_offset(offset)
    }

    /// # Safety
    /// As [`Walk::data`].
    #[inline(never)]
    unsafe fn gather_cells(&self, space: &Space, place: &Shape, count: usize, buffer: *mut u8) {
        match self.size {
            1 => Level::best().run(Gather::<u8> { walk: self, space, place: *place, count, to: buffer }),
            4 => {
                Level::best().run(Gather::<u32> {
                    walk: self,
                    space,
                    place: *place,
                    count,
                    to: buffer.cast(),
                });
            }
            _ => {
                Level::best().run(Gather::<u64> {
                    walk: self,
                    space,
                    place: *place,
                    count,
                    to: buffer.cast(),
                });
            }
        }
    }
}

/// A block that is gathered: there are so many elements from a place on, of cells of the size of `T`, and room for them.
struct Gather<'g, T> {
    walk: &'g Walk<'g>,
    space: &'g Space,
    place: Shape,
    count: usize,
    to: *mut T,
}

impl<T: Copy> Loop for Gather<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Gather { walk, space, mut place, mut count, mut to } = self;
        let last = space.last();
        let size = space.shape[last];
        while count > 0 {
            let run = count.min(size - place[last]);
            // Whole runs one after the other along the axis before.
            let rows = match last.checked_sub(1) {
                Some(axis) if run == size => (count / run).min(space.shape[axis] - place[axis]),
                _ => 1,
            };
            let steps = (walk.strides[last], walk.between_runs(space));
            // SAFETY: the runs are of elements of the view, which lie inside of its bytes; there is room for them.
            unsafe {
                let from = walk.at(space, &place).cast::<T>();
                copy_runs(from, steps, to, run, rows);
                to = to.add(run * rows);
            }
            count -= run * rows;
            place[last] += run;
            if place[last] < size {
                break;
            }
            place[last] = 0;
            let Some(mut axis) = last.checked_sub(1) else { break };
            place[axis] += rows;
            while axis > 0 && place[axis] == space.shape[axis] {
                place[axis] = 0;
                axis -= 1;
                place[axis] += 1;
            }
        }
    }
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
