//! Walks: operands of n-dimensional arrays in the order of the result's elements, the last axis fastest.
//!
//! ```text
//! result (1000, 3)    operand strides 24, 8    one axis of 3000: in order, block after block
//!                     operand strides  8, 0    one element, repeated along a run
//! result (3, 1000)    operand strides  0, 8    in order along a run, from the beginning in the next
//!                     operand strides  8, 24   gathered, a block at a time
//! ```
//!
//! Over a [space](Space) whose runs are long, an operand that is in order or repeated along a run is read where it lies.

use crate::array::block::Column;
use crate::array::nd_space::{Along, Position, Space};
use crate::array::runs_copied::copy_runs;
use crate::value::array::cell_size;
use crate::value::shape::{Shape, Strides};
use crate::value::{NdType, ScalarType};
use crate::vector::Level;
use crate::vector::level::Loop;
use std::num::NonZero;

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

/// Where an operand stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operand<'a> {
    pub(super) first: *const u8,
    /// Bytes of a cell.
    pub(super) size: usize,
    /// Over a space.
    pub(super) strides: &'a Strides,
    /// As [`repeats_by_type`] has it.
    pub(super) repeats: bool,
    /// If the first stride is that from one element to the next which so many elements of the space have; others are 0 then.
    pub(super) spread: Option<NonZero<usize>>,
}

impl<'a> Operand<'a> {
    /// Elements of a type, of which the first one stands there, with their strides over a space. `repeats` as
    /// [`repeats_by_type`] has it.
    pub(crate) fn new(
        first: *const u8,
        element: ScalarType,
        strides: &'a Strides,
        repeats: bool,
    ) -> Operand<'a> {
        Operand { first, size: cell_size(element), strides, repeats, spread: None }
    }

    /// True if it is one element or in order along each run.
    pub(crate) fn is_by_run(&self, space: &Space) -> bool {
        let step = self.strides[space.last()];
        self.spread.is_none() && (step == 0 || step == self.size as isize)
    }

    /// True if it has one element for each period of a space that is laid out.
    pub(crate) fn is_spread(&self) -> bool {
        self.spread.is_some()
    }

    /// True if it is one element, or all of it is in order.
    pub(crate) fn is_even(&self, space: &Space) -> bool {
        self.is_one(space) || self.is_in_order(space)
    }

    /// True if all strides are 0.
    pub(super) fn is_one(&self, space: &Space) -> bool {
        self.strides[..space.rank].iter().all(|stride| *stride == 0)
    }

    /// True if all its elements stand in order.
    pub(super) fn is_in_order(&self, space: &Space) -> bool {
        self.strides[space.last()] == self.size as isize && space.is_in_order(self.strides)
    }
}

/// An operand as it is read over a space.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Walk<'a> {
    of: Operand<'a>,
    way: Way,
}

impl<'a> Walk<'a> {
    /// That of an operand.
    pub(crate) fn new(of: Operand<'a>, space: &Space) -> Walk<'a> {
        let Operand { first, size, strides, repeats, spread, .. } = of;
        let last = space.last();
        let is_whole = |bytes: &isize| bytes.unsigned_abs().is_multiple_of(size);
        let is_aligned = first.addr().is_multiple_of(size) && strides[..last].iter().all(is_whole);
        let way = match strides[last] {
            _ if !is_aligned || spread.is_some() => Way::Gathered,
            0 if !repeats => Way::Gathered,
            0 if of.is_one(space) => Way::One,
            _ if of.is_in_order(space) => Way::InOrder,
            step if (step == 0 || step == size as isize) && space.has_long_runs() => {
                Way::ByRun(step as usize)
            }
            _ => Way::Gathered,
        };
        Walk { of, way }
    }

    /// That of an operand whose blocks are gathered, whatever it is.
    pub(super) fn gathered(of: Operand<'a>) -> Walk<'a> {
        Walk { of, way: Way::Gathered }
    }

    /// A result in memory with these strides, which is written: nothing unless it stands in order along each run.
    pub(crate) fn to_memory(
        first: *mut u8,
        element: ScalarType,
        strides: &'a Strides,
        space: &Space,
    ) -> Option<Walk<'a>> {
        let (size, last) = (cell_size(element), space.last());
        let is_in_runs = strides[last] == size as isize && space.has_long_runs();
        let of = Operand { first, size, strides, repeats: false, spread: None };
        is_in_runs.then_some(Walk { of, way: Way::ByRun(size) })
    }

    /// Bytes from an element of a run to that of the next one along the axis before the last.
    pub(crate) fn between_runs(&self, space: &Space) -> isize {
        space.last().checked_sub(1).map_or(0, |axis| self.of.strides[axis])
    }

    /// Bytes of such a move.
    pub(crate) fn bytes_along(&self, Along { axis, steps }: Along) -> isize {
        self.of.strides[axis].wrapping_mul(steps as isize)
    }

    /// True if blocks have to be gathered, but not to be looked for: a block may begin and end anywhere.
    pub(crate) fn is_spread(&self) -> bool {
        self.of.spread.is_some()
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
            Way::InOrder | Way::Gathered => self.of.size,
            Way::ByRun(step) => step,
        };
        Column::of_cells(self.of.first, step)
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
        unsafe {
            match self.of.spread {
                Some(period) => self.of.spread_cells(period, first.element, count, buffer),
                None => self.gather_cells(space, place, count, buffer),
            }
        }
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
        let along = |axis: usize| (place[axis] as isize).wrapping_mul(self.of.strides[axis]);
        // Most spaces have two axes or one, and then the place on the second is 0: that takes no loop.
        let mut offset = along(0).wrapping_add(along(1));
        for axis in 2..space.rank {
            offset = offset.wrapping_add(along(axis));
        }
        self.of.first.wrapping_offset(offset)
    }

    /// # Safety
    /// As [`Walk::data`].
    #[inline(never)]
    unsafe fn gather_cells(&self, space: &Space, place: &Shape, count: usize, buffer: *mut u8) {
        match self.of.size {
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
    const GAINS_BY_WIDTH: bool = false;

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
            let steps = (walk.of.strides[last], walk.between_runs(space));
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
