//! Inputs of a region over axes: shapes, and where each block of an input stands.
//!
//! ```text
//! region [time, energy] of (400, 1100)    blocks of 368, 368 and 364 elements
//! amplitude  [time, 1]                    one element in each block
//! gauss      [1, energy]                  the same 1100 elements, row after row
//! data       [time, energy], by columns   gathered, a block at a time
//! ```

use crate::array::block::Column;
use crate::array::nd_space::{Along, Position, Space};
use crate::array::nd_walk::{Operand, Walk, repeats_by_type};
use crate::layout::nd_handle::NdHandle;
use crate::machine::tile::region::{Input, InputPlace, MemberFault, Output, Region};
use crate::operator::cell::Strips;
use crate::value::array::cell_size;
use crate::value::broadcast::common_shape;
use crate::value::nd_type::MAX_RANK;
use crate::value::shape::{Shape, Strides, fill_strides, padded};
use crate::value::{Fault, NdType, ScalarType};
use bumpalo::Bump;
use bumpalo::collections::Vec as BumpVec;
use std::alloc::Layout;

/// What a region over axes reads, and the shape that all of it is repeated to.
pub(super) struct Elements<'a> {
    rank: usize,
    shape: Shape,
    space: Space,
    /// True if what becomes one is too short for strips, or stands otherwise: they take in no folds.
    pub(super) are_short: bool,
    /// How many elements there were to see through views.
    pub(super) seen: usize,
    /// True if strips can take several runs a call: only they read inputs that have another column in every block.
    takes_runs: bool,
    /// The inputs that have another column in every block.
    walks: &'a [(u16, Walk<'a>)],
    /// The columns that move on from block to block: inputs and outputs that stand in order.
    pub(super) moving: &'a [u16],
    /// Those of outputs that go to memory of the host where they do not.
    strided: &'a [u16],
}

/// Fewest elements of a run that one strip reads where they lie.
const LEAST_ROW: usize = 8;

/// An input with axes.
struct Array<'a> {
    column: u16,
    first: *const u8,
    sizes: &'a [usize],
    qtype: NdType,
}

/// Inputs with axes, and where they stand.
struct Found<'a> {
    arrays: BumpVec<'a, Array<'a>>,
    /// Of each, over the axes of the region; there is room for those of outputs.
    strides: &'a mut [Strides],
    /// How many elements there were to see through views.
    seen: usize,
}

/// Memory of the host for an output.
struct StridedRoom {
    column: u16,
    element: ScalarType,
    first: *mut u8,
    strides: Strides,
}

/// Places where blocks are gathered, for each walk; null where none is needed.
pub(super) type Buffers<'w> = &'w [*mut u8];

impl Region {
    /// Looks at the inputs of a region over these axes and fills in their columns.
    ///
    /// # Safety
    /// `frame` is a frame that the slots of inputs were verified for; nobody writes the inputs for `'a`.
    pub(super) unsafe fn load_elements<'a>(
        &self,
        axes: NdType,
        frame: *const u8,
        columns: &mut [Column],
        strips: Strips,
        arena: &'a Bump,
    ) -> Result<Elements<'a>, Box<MemberFault>> {
        // SAFETY: the caller's promise.
        if let Some(elements) = unsafe { self.elements_in_order(axes, frame.cast_mut(), columns, arena) } {
            return Ok(elements);
        }
        let rank = axes.rank();
        // SAFETY: the caller's promise.
        let Found { arrays, strides, seen } = unsafe { self.find_elements(rank, frame, columns, arena)? };
        let Ok(shape) = common_shape(arrays.iter().map(|array| (array.sizes, array.qtype)), rank) else {
            // SAFETY: the caller's promise.
            return Err(unsafe { self.find_shape_mismatch(axes, frame) });
        };
        // SAFETY: the caller's promise.
        let rooms = unsafe { self.strided_rooms(frame, &shape[..rank], arena) };
        let strides = &mut strides[..arrays.len() + rooms.len()];
        for (strides, room) in strides[arrays.len()..].iter_mut().zip(&rooms) {
            *strides = room.strides;
        }
        let mut space = Space::join(&shape[..rank], strides);
        let (strides, of_rooms) = strides.split_at(arrays.len());
        let operand = |(array, strides): (&Array<'_>, &'a Strides)| {
            let Array { first, qtype, .. } = *array;
            Operand::new(first, qtype.element(), strides, repeats_by_type(Some(qtype), &shape[..rank]))
        };
        let mut operands = BumpVec::with_capacity_in(arrays.len(), arena);
        operands.extend(arrays.iter().zip(strides).map(operand));
        if let Some(periods) = self.periods(&shape[..rank], &space, &operands)
            && rooms.is_empty()
        {
            operands.iter_mut().for_each(|operand| periods.lay_out(operand, &space, arena));
            space = periods.space();
        }
        let fits_rows = |operand: &Operand<'_>| operand.is_by_run(&space) || operand.is_spread();
        let are_short = self.has_short_runs(&shape[..rank], false)
            || self.is_side_by_side() && !operands.iter().all(fits_rows)
            || !self.has_leaves(&shape[..rank], &space);
        let takes_runs = self.by_passes_among_runs(are_short, strips).is_some_and(|by_passes| {
            arrays.iter().zip(&operands).all(|(array, operand)| match by_passes.contains(&array.column) {
                true => operand.is_even(&space),
                false => operand.is_by_run(&space),
            }) && (by_passes.is_empty() || rooms.is_empty())
        });
        if takes_runs {
            space = space.with_least_run(LEAST_ROW);
        }
        let mut walks = BumpVec::with_capacity_in(arrays.len(), arena);
        let mut moving = BumpVec::with_capacity_in(columns.len(), arena);
        let mut strided = BumpVec::with_capacity_in(rooms.len(), arena);
        for (Array { column, .. }, operand) in arrays.into_iter().zip(operands) {
            let walk = Walk::new(operand, &space);
            columns[column as usize] = walk.column();
            if walk.changes_by_block() {
                walks.push((column, walk));
            } else if walk.is_in_order() {
                moving.push(column);
            }
        }
        for (room, strides) in rooms.iter().zip(of_rooms) {
            if let Some(walk) = Walk::to_memory(room.first, room.element, strides, &space) {
                walks.push((room.column, walk));
                strided.push(room.column);
            }
        }
        let is_output = |column: &u16| *column as usize >= self.inputs.len() && !strided.contains(column);
        moving.extend(self.moving.iter().copied().filter(is_output));
        let (walks, moving) = (walks.into_bump_slice(), moving.into_bump_slice());
        Ok(Elements {
            rank,
            shape,
            space,
            seen,
            takes_runs,
            are_short,
            walks,
            moving,
            strided: strided.into_bump_slice(),
        })
    }

    /// Looks at the inputs, and fills in the columns of those without axes.
    ///
    /// # Safety
    /// As [`Region::load_elements`].
    #[inline]
    unsafe fn find_elements<'a>(
        &self,
        rank: usize,
        frame: *const u8,
        columns: &mut [Column],
        arena: &'a Bump,
    ) -> Result<Found<'a>, Box<MemberFault>> {
        let inputs = self.inputs.len();
        let mut arrays = BumpVec::with_capacity_in(inputs, arena);
        let strides = arena.alloc_slice_fill_copy(inputs + self.outputs.len(), [0; MAX_RANK]);
        let mut seen = 0;
        for ((number, input), column) in (0..).zip(&self.inputs).zip(columns) {
            match input.place {
                InputPlace::Elements { offset, qtype } => {
                    // SAFETY: the caller's promise: the handle of an array stands in its slot.
                    let handle = unsafe { &*frame.add(offset as usize).cast::<NdHandle>() };
                    let in_order = if input.through.is_empty() { handle.in_order(qtype) } else { None };
                    let strides = &mut strides[arrays.len()][..rank];
                    let (first, sizes) = match in_order {
                        Some((first, sizes)) => {
                            fill_strides(strides, sizes, cell_size(qtype.element()));
                            (first, sizes)
                        }
                        None => {
                            // SAFETY: the caller's promise.
                            let (view, of) = unsafe { input.elements(frame, offset, qtype)? };
                            seen += of;
                            strides.copy_from_slice(&view.strides_over(rank)[..rank]);
                            let first = view.bytes().as_ptr().wrapping_add(view.start());
                            (first, &*arena.alloc_slice_copy(view.shape()))
                        }
                    };
                    arrays.push(Array { column: number, first, sizes, qtype });
                }
                InputPlace::Scalar { offset, .. } => {
                    // SAFETY: the caller's promise; elements are never optional.
                    column.data = unsafe { frame.add(offset as usize) };
                }
                InputPlace::Array { .. } => unreachable!("a region of elements"),
            }
        }
        Ok(Found { arrays, strides, seen })
    }

    /// [All of it](Region::load_elements) if every input and output stands [in order](crate::machine::tile::in_order): then there is one
    /// run, and no view has to be looked at. It leaves any data in columns otherwise.
    ///
    /// # Safety
    /// As [`Region::load_elements`].
    #[inline]
    unsafe fn elements_in_order<'a>(
        &self,
        axes: NdType,
        frame: *mut u8,
        columns: &mut [Column],
        arena: &'a Bump,
    ) -> Option<Elements<'a>> {
        let inputs = self.in_order.as_ref()?;
        // SAFETY: the caller's promise.
        let found = unsafe {
            inputs.place(&self.inputs, frame, arena, |column, data, _| {
                columns[column as usize].data = data;
            })?
        };
        let sizes = found.sizes.expect("elements have axes");
        let is_strided = |output: &Output| {
            let qtype = output.slot.qtype().nd().expect("an output over axes");
            // SAFETY: as above: the handle of an array stands in its slot.
            let handle = unsafe { &*frame.add(output.slot.offset() as usize).cast::<NdHandle>() };
            handle.strided_room(qtype, sizes).is_some()
        };
        if self.outputs.iter().any(is_strided) {
            return None;
        }
        Some(Elements {
            rank: axes.rank(),
            shape: padded(sizes, 1),
            space: Space::of_run(found.count),
            seen: found.seen,
            takes_runs: false,
            are_short: self.has_short_runs(sizes, true),
            walks: &[],
            moving: arena.alloc_slice_copy(&self.moving),
            strided: &[],
        })
    }

    /// Outputs that have memory of the host, where they do not stand one after the other.
    ///
    /// # Safety
    /// As [`Region::load_elements`]; the slots of outputs were verified as well.
    unsafe fn strided_rooms<'a>(
        &self,
        frame: *const u8,
        shape: &[usize],
        arena: &'a Bump,
    ) -> BumpVec<'a, StridedRoom> {
        let mut rooms = BumpVec::new_in(arena);
        for Output { column, slot, element } in &self.outputs {
            let qtype = slot.qtype().nd().expect("an output over axes");
            // SAFETY: the caller's promise: the handle of an array stands in its slot.
            let handle = unsafe { &*frame.add(slot.offset() as usize).cast::<NdHandle>() };
            if let Some((first, strides)) = handle.strided_room(qtype, shape) {
                rooms.push(StridedRoom { column: *column, element: *element, first, strides });
            }
        }
        rooms
    }

    /// The first member whose operands have no common shape.
    ///
    /// # Safety
    /// As [`Region::load_elements`].
    #[cold]
    unsafe fn find_shape_mismatch(&self, axes: NdType, frame: *const u8) -> Box<MemberFault> {
        let array = |input: &Input| match input.place {
            InputPlace::Elements { offset, qtype } => {
                // SAFETY: the caller's promise.
                let (view, _) = unsafe { input.elements(frame, offset, qtype).ok()? };
                Some((view.shape().to_vec(), qtype))
            }
            _ => None,
        };
        let mut arrays: Vec<Option<(Vec<usize>, NdType)>> = self.inputs.iter().map(array).collect();
        for member in &self.members {
            let operands = member.args().iter().filter_map(|arg| arrays[*arg as usize].as_ref());
            let shapes = operands.map(|(shape, qtype)| (&**shape, *qtype));
            match common_shape(shapes, axes.rank()) {
                Ok(shape) => arrays.push(Some((shape[..axes.rank()].to_vec(), axes))),
                Err(fault) => return Box::new(MemberFault { ip: member.ip, fault }),
            }
        }
        unreachable!("connected members whose operands agree have one shape")
    }
}

impl Elements<'_> {
    /// The shape of results.
    pub(super) fn shape(&self) -> &[usize] {
        &self.shape[..self.rank]
    }

    /// True if no input has another column in every block.
    pub(super) fn is_in_place(&self) -> bool {
        self.walks.is_empty()
    }

    /// True if the column is that of an output that goes to memory of the host where it does not stand in order.
    pub(super) fn is_strided(&self, column: u16) -> bool {
        self.strided.contains(&column)
    }

    /// True if strips can take several runs a call.
    pub(super) fn takes_runs(&self) -> bool {
        self.takes_runs && !self.is_in_place() && self.has_runs_in_place()
    }

    /// True if every input and output stands in order along each run.
    pub(super) fn has_runs_in_place(&self) -> bool {
        self.walks.iter().all(|(_, walk)| !walk.is_gathered())
    }

    /// The same of those that are not spread: where they stand.
    pub(super) fn has_rows_in_place(&self) -> bool {
        self.walks.iter().all(|(_, walk)| !walk.is_gathered() || walk.is_spread())
    }

    /// Moves a position to an element; gives how many there are up to the end of its run. `columns` point to the element
    /// then, but for those that move.
    #[inline]
    pub(super) fn begin_run(&self, at: &mut Position, element: usize, columns: &mut [Column]) -> usize {
        match self.space.go_to_next_run(at, element) {
            true => {
                for (column, walk) in self.walks {
                    let data = &mut columns[*column as usize].data;
                    *data = data.wrapping_offset(walk.between_runs(&self.space));
                }
            }
            false => {
                self.space.go_to(at, element);
                for (column, walk) in self.walks {
                    columns[*column as usize].data = walk.at_position(&self.space, at);
                }
            }
        }
        self.space.left_of_run(at)
    }

    /// Elements of a run.
    pub(super) fn run(&self) -> usize {
        self.space.run()
    }

    /// Runs from the one at a position on, along the axis before the last one.
    pub(super) fn runs_left(&self, at: &Position) -> usize {
        self.space.runs_left(at)
    }

    /// By how many bytes inputs and outputs that do not stand in order move from one of these runs to the next.
    pub(super) fn between_runs(&self) -> impl Iterator<Item = (u16, isize)> {
        self.walks.iter().map(|(column, walk)| (*column, walk.between_runs(&self.space)))
    }

    /// How inputs and outputs that do not stand in order move from one stretch of so many elements to the next.
    pub(super) fn behind(&self, elements: usize) -> Option<Along> {
        self.space.behind(elements)
    }

    /// How many stretches there are from the one at a position on.
    pub(super) fn times_left(&self, at: &Position, along: Along) -> usize {
        self.space.times_left(at, along)
    }

    /// By how many bytes.
    pub(super) fn bytes_along(&self, along: Along) -> impl Iterator<Item = (u16, isize)> + Clone {
        self.walks.iter().map(move |(column, walk)| (*column, walk.bytes_along(along)))
    }

    /// Elements of a block, at most so many.
    pub(super) fn block(&self, most: usize) -> usize {
        self.space.block(most)
    }

    /// Moves a position to an element, and gives where a block of so many elements ends that begins there.
    #[inline]
    pub(super) fn end_of_block(&self, at: &mut Position, first: usize, block: usize, end: usize) -> usize {
        self.space.go_to(at, first);
        self.space.end_of_block(at, block, end)
    }

    /// The same for blocks of so many whole runs, as far as it begins with one.
    #[inline]
    pub(super) fn end_of_runs(
        &self,
        at: &mut Position,
        first: usize,
        runs: usize,
        end: usize,
    ) -> Option<usize> {
        self.space.go_to(at, first);
        let (run, left) = (self.run(), self.space.left_of_run(at));
        let runs = runs.min(self.space.runs_left(at)).min((end - first) / run);
        (left == run && runs > 0).then(|| first + runs * run)
    }

    /// Places for blocks of inputs that are gathered.
    pub(super) fn buffers<'w>(&self, block: usize, arena: &'w Bump) -> Buffers<'w> {
        let layout = Layout::from_size_align(block * 8, 64).expect("a block is small");
        arena.alloc_slice_fill_iter(self.walks.iter().map(|(_, walk)| match walk.is_gathered() {
            true => arena.alloc_layout(layout).as_ptr(),
            false => std::ptr::null_mut(),
        }))
    }

    /// Points columns to the block that begins at a position.
    ///
    /// # Safety
    /// There is such a block, of a size that [`Elements::end_of_block`] gave and the buffers have room for.
    #[inline]
    pub(super) unsafe fn fill(
        &self,
        at: &Position,
        count: usize,
        buffers: Buffers<'_>,
        columns: &mut [Column],
    ) {
        for ((column, walk), buffer) in self.walks.iter().zip(buffers) {
            // SAFETY: the caller's promise.
            columns[*column as usize].data = unsafe { walk.data(&self.space, at, count, *buffer) };
        }
    }

    /// The fault of a row as that of an element.
    #[cold]
    pub(super) fn locate(&self, fault: MemberFault) -> MemberFault {
        let MemberFault { ip, fault } = fault;
        let fault = match fault {
            Fault::Row { row, fault } => fault.in_element(row as usize, self.shape()),
            other => other,
        };
        MemberFault { ip, fault }
    }
}
