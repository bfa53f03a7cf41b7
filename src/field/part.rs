//! Parts of buffers: where a box of points stands in memory, and the values that come from there or go there.
//!
//! ```text
//! u on I 0:4, J 0:3      cells  0 1 2 | 3 4 5 | 6 7 8 | 9 10 11
//! I 1:3, J 1:3           start 4, shape (2, 2), strides (3, 1), up to cell 8
//! ```
//!
//! A part has the axes of the box that is evaluated, whatever the order of the axes in its buffer; an axis that the buffer
//! does not have has size 1.

use crate::field::buffer::FieldBuffer;
use crate::field::cells::{FieldCells, each_cells};
use crate::field::error::FieldProblem;
use cembra_vm::layout::TypedSlot;
use cembra_vm::machine::Room;
use cembra_vm::value::array::cell_size;
use cembra_vm::value::nd_type::MAX_RANK;
use cembra_vm::value::nd_view::NdCell;
use cembra_vm::value::shape::{PerAxis, Strides, c_strides};
use cembra_vm::value::{NdView, ScalarType, ScalarValue};
use std::ops::Range;

/// Where the points of a box stand; in cells.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PartPlace {
    start: usize,
    shape: PerAxis,
    strides: Strides,
}

impl PartPlace {
    /// Points along each axis.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// That of a box of these sizes in cells of its own, the last axis fastest; points along an axis of size 1 are one.
    pub fn in_order(sizes: &[usize]) -> PartPlace {
        let mut strides = c_strides(sizes, 1);
        let repeated = |(stride, size): (&mut isize, &usize)| *stride = if *size == 1 { 0 } else { *stride };
        strides.iter_mut().zip(sizes).for_each(repeated);
        PartPlace { start: 0, shape: sizes.iter().copied().collect(), strides }
    }

    /// The first cell, and the cells to the next one along each axis.
    pub fn window(&self) -> (usize, Strides) {
        (self.start, self.strides)
    }

    fn strides(&self) -> &[isize] {
        &self.strides[..self.shape.len()]
    }

    /// The cells from the first to the last one that belongs to a point, others between them included.
    fn cells(&self) -> Range<usize> {
        if self.shape.contains(&0) {
            return self.start..self.start;
        }
        let (mut first, mut last) = (self.start as isize, self.start as isize);
        for (size, stride) in self.shape.iter().zip(self.strides()) {
            let reach = (*size as isize - 1) * stride;
            (first, last) = (first + reach.min(0), last + reach.max(0));
        }
        first as usize..last as usize + 1
    }
}

/// A point of a place that is chosen by a list, along one axis.
pub(crate) struct TakenAxis<'l> {
    /// The axis of the part.
    pub axis: usize,
    /// The axis of the buffer.
    pub place: usize,
    /// Positions along the axis of the buffer, from 0 on.
    pub positions: &'l [u32],
}

impl FieldBuffer {
    /// A buffer without cells, which stands for one that is elsewhere.
    pub(crate) fn elsewhere() -> FieldBuffer {
        let (origin, shape, strides) = (Vec::new(), Vec::new(), Vec::new());
        FieldBuffer {
            cells: FieldCells::Float64(Vec::new()),
            dtype: ScalarType::Float64,
            origin,
            shape,
            strides,
            start: 0,
            written: None,
        }
    }

    /// The points under chosen axes: each is an axis of the buffer from a point on, or one of size 1 that the buffer
    /// does not have. Axes that are not chosen stay at the points of `fixed`.
    pub(crate) fn place(
        &self,
        axes: impl Iterator<Item = Option<(usize, i64, usize)>>,
        fixed: &[(usize, i64)],
    ) -> PartPlace {
        let at = |place: usize, point: i64| (point - self.origin[place]) as isize * self.strides[place];
        let mut start = self.start as isize;
        fixed.iter().for_each(|(place, point)| start += at(*place, *point));
        let (mut sizes, mut strides, mut rank) = ([1; MAX_RANK], [0; MAX_RANK], 0);
        for axis in axes {
            if let Some((place, first, count)) = axis {
                start += at(place, first);
                (sizes[rank], strides[rank]) = (count, self.strides[place]);
            }
            rank += 1;
        }
        let shape: PerAxis = sizes[..rank].iter().copied().collect();
        let start = if shape.contains(&0) { 0 } else { start as usize };
        PartPlace { start, shape, strides }
    }

    /// The values of a part.
    ///
    /// # Panics
    /// If a point lies outside.
    pub(crate) fn view_at(&self, part: &PartPlace) -> NdView<'_> {
        view(self.cells.view(), part)
    }

    /// Room for an output of a program; nothing if a stride is negative.
    pub(crate) fn room_at<'a>(&'a mut self, slot: &'a TypedSlot, part: &PartPlace) -> Option<Room<'a>> {
        let (start, shape, strides) = (part.start, part.shape(), part.strides());
        each_cells!(&mut self.cells, cells => Room::strided(slot, cells, start, shape, strides)).ok()
    }

    /// The values of a part, and the cells of another one to be written, if all cells of the one stand before all of the
    /// other.
    pub(crate) fn view_beside(
        &mut self,
        read: &PartPlace,
        written: &PartPlace,
    ) -> Option<(NdView<'_>, CellsOfPart<'_>)> {
        fn split<'a, T: NdCell>(
            cells: &'a mut [T],
            read: &PartPlace,
            written: &PartPlace,
            wrap: impl FnOnce(&'a mut [T]) -> CellsBeside<'a>,
        ) -> Option<(NdView<'a>, CellsOfPart<'a>)> {
            let (of_read, of_written) = (read.cells(), written.cells());
            let (lent, target, cut) = if of_read.end <= of_written.start {
                let (low, high) = cells.split_at_mut(of_written.start);
                (low, high, (0, of_written.start))
            } else if of_written.end <= of_read.start {
                let (low, high) = cells.split_at_mut(of_read.start);
                (high, low, (of_read.start, 0))
            } else {
                return None;
            };
            let lent: &'a [T] = lent;
            let whole = NdView::from_slice(lent, &[lent.len()]).ok()?;
            let read = PartPlace { start: read.start - cut.0, ..*read };
            let place = PartPlace { start: written.start - cut.1, ..*written };
            Some((view(whole, &read), CellsOfPart { cells: wrap(target), place }))
        }
        match &mut self.cells {
            FieldCells::Bool(cells) => split(cells, read, written, CellsBeside::Bool),
            FieldCells::Int32(cells) => split(cells, read, written, CellsBeside::Int32),
            FieldCells::Int64(cells) => split(cells, read, written, CellsBeside::Int64),
            FieldCells::Float32(cells) => split(cells, read, written, CellsBeside::Float32),
            FieldCells::Float64(cells) => split(cells, read, written, CellsBeside::Float64),
        }
    }

    /// Writes an array to a part: it is repeated along axes of size 1.
    ///
    /// # Panics
    /// If a point lies outside, or the element types differ.
    pub(crate) fn store_at(&mut self, part: &PartPlace, values: &NdView<'_>) {
        let values = values.broadcast_to(part.shape()).expect("a result has the axes of its box");
        each_cells!(&mut self.cells, cells => store_cells(cells, part, &values));
    }

    /// Copies a part of another buffer to one of the same shape, where axes of size 1 repeat.
    ///
    /// # Panics
    /// If a point lies outside, or the types of the cells differ.
    pub(crate) fn copy_at(&mut self, part: &PartPlace, from: &FieldBuffer, read: &PartPlace) {
        match (&mut self.cells, &from.cells) {
            (FieldCells::Bool(to), FieldCells::Bool(from)) => copy_cells(to, part, from, read),
            (FieldCells::Int32(to), FieldCells::Int32(from)) => copy_cells(to, part, from, read),
            (FieldCells::Int64(to), FieldCells::Int64(from)) => copy_cells(to, part, from, read),
            (FieldCells::Float32(to), FieldCells::Float32(from)) => copy_cells(to, part, from, read),
            (FieldCells::Float64(to), FieldCells::Float64(from)) => copy_cells(to, part, from, read),
            _ => unreachable!("the program was checked"),
        }
    }

    /// Takes elements of a part one after the other, where positions along some axes are chosen by lists: the part has
    /// the first position there.
    pub(crate) fn take_into(&self, part: &PartPlace, taken: &[TakenAxis<'_>], to: &mut FieldCells) {
        match (&self.cells, to) {
            (FieldCells::Bool(from), FieldCells::Bool(to)) => take_cells(self, from, part, taken, to),
            (FieldCells::Int32(from), FieldCells::Int32(to)) => take_cells(self, from, part, taken, to),
            (FieldCells::Int64(from), FieldCells::Int64(to)) => take_cells(self, from, part, taken, to),
            (FieldCells::Float32(from), FieldCells::Float32(to)) => take_cells(self, from, part, taken, to),
            (FieldCells::Float64(from), FieldCells::Float64(to)) => take_cells(self, from, part, taken, to),
            _ => unreachable!("the cells are of the type of the field"),
        }
    }

    /// Moves the points from a later one on along the first axis to its begin, which becomes that point.
    pub(crate) fn slide_to(&mut self, first: i64) {
        let by = (first - self.origin[0]) as usize;
        if by < self.shape[0] {
            let from = by * self.strides[0] as usize;
            each_cells!(&mut self.cells, cells => cells.copy_within(from.., 0));
        }
        self.origin[0] = first;
    }

    /// Makes a later or earlier point the first one along the first axis; the cells stay where they are.
    pub(crate) fn begin_at(&mut self, first: i64) {
        self.origin[0] = first;
    }

    /// A buffer of zeros whose planes stand one behind the other: all points at a place of an axis.
    ///
    /// # Errors
    /// There are too many cells.
    pub(crate) fn in_planes(
        dtype: ScalarType,
        origin: &[i64],
        shape: &[usize],
        axis: usize,
    ) -> Result<FieldBuffer, FieldProblem> {
        let mut buffer = FieldBuffer::filled(&ScalarValue::zero(dtype), origin, shape)?;
        let mut next = 1;
        let inner = (0..shape.len()).rev().filter(|other| *other != axis);
        for other in inner.chain([axis]) {
            buffer.strides[other] = next as isize;
            next *= shape[other].max(1);
        }
        Ok(buffer)
    }
}

/// Cells of a buffer of which another part is read.
pub(crate) struct CellsOfPart<'a> {
    cells: CellsBeside<'a>,
    place: PartPlace,
}

enum CellsBeside<'a> {
    Bool(&'a mut [bool]),
    Int32(&'a mut [i32]),
    Int64(&'a mut [i64]),
    Float32(&'a mut [f32]),
    Float64(&'a mut [f64]),
}

impl<'a> CellsOfPart<'a> {
    /// All cells of a buffer, to write a part.
    pub fn of(buffer: &'a mut FieldBuffer, part: &PartPlace) -> CellsOfPart<'a> {
        let cells = match &mut buffer.cells {
            FieldCells::Bool(cells) => CellsBeside::Bool(cells),
            FieldCells::Int32(cells) => CellsBeside::Int32(cells),
            FieldCells::Int64(cells) => CellsBeside::Int64(cells),
            FieldCells::Float32(cells) => CellsBeside::Float32(cells),
            FieldCells::Float64(cells) => CellsBeside::Float64(cells),
        };
        CellsOfPart { cells, place: *part }
    }

    /// True if a program can write here itself.
    pub fn has_room(&self) -> bool {
        self.place.strides().iter().all(|stride| *stride >= 0)
    }

    /// Room for an output of a program; nothing if a stride is negative.
    pub fn room(self, slot: &'a TypedSlot) -> Option<Room<'a>> {
        let (start, shape, strides) = (self.place.start, self.place.shape, self.place.strides);
        let strides = &strides[..shape.len()];
        let room = match self.cells {
            CellsBeside::Bool(cells) => Room::strided(slot, cells, start, &shape, strides),
            CellsBeside::Int32(cells) => Room::strided(slot, cells, start, &shape, strides),
            CellsBeside::Int64(cells) => Room::strided(slot, cells, start, &shape, strides),
            CellsBeside::Float32(cells) => Room::strided(slot, cells, start, &shape, strides),
            CellsBeside::Float64(cells) => Room::strided(slot, cells, start, &shape, strides),
        };
        room.ok()
    }

    /// Writes an array, which is repeated along axes of size 1.
    ///
    /// # Panics
    /// If the element types differ.
    pub fn store(self, values: &NdView<'_>) {
        let values = values.broadcast_to(self.place.shape()).expect("a result has the axes of its box");
        match self.cells {
            CellsBeside::Bool(cells) => store_cells(cells, &self.place, &values),
            CellsBeside::Int32(cells) => store_cells(cells, &self.place, &values),
            CellsBeside::Int64(cells) => store_cells(cells, &self.place, &values),
            CellsBeside::Float32(cells) => store_cells(cells, &self.place, &values),
            CellsBeside::Float64(cells) => store_cells(cells, &self.place, &values),
        }
    }
}

/// A part of a row of cells.
fn view<'a>(cells: NdView<'a>, part: &PartPlace) -> NdView<'a> {
    let size = cell_size(cells.element());
    let mut strides = part.strides;
    strides.iter_mut().for_each(|stride| *stride *= size as isize);
    let view = cells.rearranged(part.start * size, &part.shape, &strides[..part.shape.len()]);
    view.expect("the points lie inside")
}

/// Copies the elements of an array of the shape of a part to cells; rows in one piece where they lie so.
fn store_cells<T: NdCell>(cells: &mut [T], part: &PartPlace, values: &NdView<'_>) {
    if values.is_empty() {
        return;
    }
    let (outer, row, step) = match part.shape.split_last() {
        Some((row, outer)) => (outer, *row, part.strides[outer.len()]),
        None => (&[][..], 1, 1),
    };
    let slice = values.as_slice::<T>();
    let last = values.rank().checked_sub(1).filter(|_| slice.is_none() && step == 1);
    let apart = last.map(|last| (values.select_axes(0..last), values.select_axes([last])));
    if let Some((before, of_row)) = apart.filter(|(_, of_row)| of_row.as_slice::<T>().is_some()) {
        for (at, from) in starts(part, outer).zip(before.offsets()) {
            let (cells, from) = (&mut cells[at as usize..][..row], of_row.at(from));
            match from.as_slice::<T>() {
                Some(from) => cells.copy_from_slice(from),
                None => cells.iter_mut().zip(from.cells()).for_each(|(cell, value)| *cell = value),
            }
        }
        return;
    }
    let mut elements = values.cells::<T>();
    for (number, at) in starts(part, outer).enumerate() {
        match slice {
            Some(slice) if step == 1 => {
                cells[at as usize..][..row].copy_from_slice(&slice[number * row..][..row]);
            }
            _ => {
                for (column, value) in elements.by_ref().take(row).enumerate() {
                    cells[(at + column as isize * step) as usize] = value;
                }
            }
        }
    }
}

/// Copies a part of cells to a part of others: what stands in one piece in both goes in one piece.
fn copy_cells<T: Copy>(to: &mut [T], part: &PartPlace, from: &[T], read: &PartPlace) {
    if part.shape.contains(&0) {
        return;
    }
    let rank = part.shape.len();
    let mut steps = read.strides;
    read.shape.iter().zip(&mut steps).for_each(|(size, step)| *step = if *size == 1 { 0 } else { *step });
    let is_piece = |axis: usize, cells: usize| [part.strides[axis], steps[axis]] == [cells as isize; 2];
    let (mut outer, mut piece) = (rank, 1);
    while outer > 0 && (is_piece(outer - 1, piece) || part.shape[outer - 1] == 1) {
        outer -= 1;
        piece *= part.shape[outer];
    }
    let read = PartPlace { start: read.start, shape: part.shape, strides: steps };
    if piece > 1 || outer == 0 {
        let (rows, sizes) = match outer.checked_sub(1) {
            Some(last) => (part.shape[last], &part.shape[..last]),
            None => (1, &[][..]),
        };
        let [step, of_read] = [&part.strides, &steps].map(|strides| strides[sizes.len()]);
        for (at, from_at) in starts(part, sizes).zip(starts(&read, sizes)) {
            for number in 0..rows as isize {
                let [at, from_at] = [at + number * step, from_at + number * of_read].map(|at| at as usize);
                to[at..][..piece].copy_from_slice(&from[from_at..][..piece]);
            }
        }
        return;
    }
    let (row, sizes) = (part.shape[rank - 1], &part.shape[..rank - 1]);
    let (step, of_read) = (part.strides[rank - 1], steps[rank - 1]);
    for (at, from_at) in starts(part, sizes).zip(starts(&read, sizes)) {
        for column in 0..row as isize {
            to[(at + column * step) as usize] = from[(from_at + column * of_read) as usize];
        }
    }
}

/// The cells that rows begin with.
fn starts<'p>(part: &'p PartPlace, outer: &'p [usize]) -> impl Iterator<Item = isize> + 'p {
    let (mut index, mut at) = ([0usize; MAX_RANK], part.start as isize);
    (0..outer.iter().product::<usize>()).map(move |_| {
        let start = at;
        for axis in (0..outer.len()).rev() {
            index[axis] += 1;
            at += part.strides[axis];
            if index[axis] < outer[axis] {
                break;
            }
            at -= part.strides[axis] * outer[axis] as isize;
            index[axis] = 0;
        }
        start
    })
}

/// The offset of each position along an axis, in cells.
enum Steps<'l> {
    Even(isize),
    Taken(&'l [u32], isize),
}

impl Steps<'_> {
    fn at(&self, index: usize) -> isize {
        match self {
            Steps::Even(step) => index as isize * step,
            Steps::Taken(positions, step) => positions[index] as isize * step,
        }
    }
}

fn take_cells<T: NdCell>(
    buffer: &FieldBuffer,
    from: &[T],
    part: &PartPlace,
    taken: &[TakenAxis<'_>],
    to: &mut Vec<T>,
) {
    to.clear();
    let rank = part.shape.len();
    if part.shape.contains(&0) {
        return;
    }
    let steps = |axis: usize| match taken.iter().find(|taken| taken.axis == axis) {
        Some(taken) => Steps::Taken(taken.positions, buffer.strides[taken.place]),
        None => Steps::Even(part.strides[axis]),
    };
    let (outer, row) = (&part.shape[..rank - 1], part.shape[rank - 1]);
    to.reserve(outer.iter().product::<usize>() * row);
    let mut index = [0usize; MAX_RANK];
    let along = steps(rank - 1);
    for _ in 0..outer.iter().product::<usize>() {
        let offset: isize = (0..outer.len()).map(|axis| steps(axis).at(index[axis])).sum();
        let start = (part.start as isize + offset) as usize;
        match along {
            Steps::Even(1) => to.extend_from_slice(&from[start..][..row]),
            Steps::Even(step) => {
                to.extend((0..row).map(|at| from[(start as isize + at as isize * step) as usize]))
            }
            Steps::Taken(positions, 1) => {
                let from = &from[start..];
                to.extend(positions[..row].iter().map(|position| from[*position as usize]));
            }
            Steps::Taken(positions, step) => to.extend(
                positions[..row]
                    .iter()
                    .map(|position| from[(start as isize + *position as isize * step) as usize]),
            ),
        }
        for axis in (0..outer.len()).rev() {
            index[axis] += 1;
            if index[axis] < outer[axis] {
                break;
            }
            index[axis] = 0;
        }
    }
}
