//! Sweeps: a library computes elements where the host says that they stand, step by step along an axis if it has to.
//!
//! ```text
//! shape (8, 3), Up(axis 0)      s[0] = x[0] + first   s[1] = x[1] + s[0]   s[2] = x[2] + s[1]   …
//! ```
//!
//! A call compares shapes, places and types in the library and makes arrays; a sweep compares them here, and only goes over the
//! elements. There is one where the program of a library is one region whose members are all total.
//!
//! 1. Elements of rooms share no byte with each other, and rooms are borrowed mutably: an element that a sweep writes is read as
//!    an operand of the next step alone.
//! 2. Positions are compared with the axis that they choose from, by their greatest one.

use crate::library::boundary_array::BoundaryArray;
use crate::library::call::CallMemory;
use crate::library::call_layout::Place;
use crate::library::error::BoundaryError;
use crate::library::open::{Loaded, RawColumn};
use crate::machine::Room;
use crate::machine::positions::Positions;
use crate::machine::sweep_order::SweepOrder;
use crate::value::nd_type::MAX_RANK;
use crate::value::shape::Strides;
use crate::value::{NdView, Value};

/// Where an operand of a sweep comes from.
#[derive(Clone, Copy, Debug)]
pub enum SweepOperand<'a> {
    /// A plain value.
    Value(&'a Value),
    /// Elements; an axis of size 1 repeats.
    Elements(&'a NdView<'a>),
    /// Elements of an array of one axis whose elements stand one after the other: the first one, and by axis how far it is to the
    /// next one, in elements; 0 where they repeat.
    Window(&'a NdView<'a>, usize, Strides),
    /// Elements that positions choose along the last axis: those of the list from a number on, one for each element of the sweep.
    Taken(&'a NdView<'a>, &'a Positions, usize),
    /// The result of this number, one step before; at the first step the only element of a view.
    Before(usize, &'a NdView<'a>),
}

/// The elements of a sweep: the sizes of its axes, those that are taken in order first.
struct Walk<'s> {
    shape: &'s [usize],
    order: SweepOrder,
    /// The axis of the shape for each axis of the walk.
    axes: [usize; MAX_RANK],
}

impl Walk<'_> {
    /// The axis that is taken step by step.
    fn axis(&self) -> Option<usize> {
        match self.order {
            SweepOrder::Any => None,
            SweepOrder::Up(axis) | SweepOrder::Down(axis) => Some(axis),
        }
    }

    /// A column whose first element, of the lowest step, stands at an address; `strides` are by axis of the shape.
    fn column(&self, mut data: *mut u8, mut strides: Strides) -> RawColumn {
        if let SweepOrder::Down(axis) = self.order {
            data = data.wrapping_offset((self.shape[axis] as isize - 1) * strides[axis]);
            strides[axis] = -strides[axis];
        }
        let mut column = RawColumn { data, strides: [0; MAX_RANK] };
        for (to, axis) in column.strides.iter_mut().zip(&self.axes).take(self.shape.len()) {
            *to = strides[*axis] as i64;
        }
        column
    }
}

impl CallMemory {
    /// True if the library has a sweep.
    pub fn can_sweep(&self) -> bool {
        self.library.inner.sweep.is_some()
    }

    /// Computes elements of this shape: operands in the order of the parameters, and a room for each result, by its number.
    ///
    /// # Errors
    /// There is no sweep; an operand or a room has another type or another shape, is missing or one too many; elements of an
    /// operand may be missing; positions lead beyond their axis.
    pub fn sweep<'a, 'r: 'a>(
        &mut self,
        shape: &[usize],
        order: SweepOrder,
        operands: impl ExactSizeIterator<Item = SweepOperand<'a>>,
        rooms: impl IntoIterator<Item = (usize, &'a mut Room<'r>)>,
    ) -> Result<(), BoundaryError> {
        let CallMemory { library, frame, addresses, columns, first_columns, lists, .. } = self;
        let Loaded { layout, signature, sweep: Some(sweep), .. } = &*library.inner else {
            return Err(BoundaryError::NoSweep);
        };
        let walk = walk(shape, order)?;
        let all = columns.iter_mut().chain(first_columns.iter_mut());
        all.for_each(|column| column.data = std::ptr::null_mut());
        let mut left = layout.results.len();
        for (number, room) in rooms {
            let Some(Place::Array(place, array)) = layout.results.get(number) else {
                return Err(BoundaryError::NoArray { number });
            };
            let wrong = |room: &Room<'_>| BoundaryError::Type {
                name: signature.results[number].0.clone(),
                expected: expected(*array, shape),
                actual: format!("{room:?}"),
            };
            let (first, element, sizes, strides) = room.elements();
            let fits = (element, sizes) == (array.element(), shape);
            if !fits || array.rank() != shape.len() || !columns[*place].data.is_null() {
                return Err(wrong(room));
            }
            columns[*place] = walk.column(first, strides);
            left -= 1;
        }
        if left > 0 {
            let expected = layout.results.len();
            return Err(BoundaryError::Rooms { expected, actual: expected - left });
        }
        let (expected_count, actual) = (layout.arguments.len(), operands.len());
        if expected_count != actual {
            return Err(BoundaryError::Count { expected: expected_count, actual });
        }
        let mut has_steps = false;
        for (((place, parameter), operand), list) in
            layout.arguments.iter().zip(&signature.parameters).zip(operands).zip(&mut **lists)
        {
            let mismatch = |actual: String| BoundaryError::Type {
                name: parameter.name.clone(),
                expected: match place {
                    Place::Plain(_) | Place::Edge(..) => parameter.qtype.to_string(),
                    Place::Array(_, array) => expected(*array, shape),
                },
                actual,
            };
            match (place, operand) {
                (Place::Plain(slot), SweepOperand::Value(value)) => {
                    frame.write(slot, value).map_err(|_| mismatch(value.qtype().to_string()))?;
                }
                (Place::Array(number, array), SweepOperand::Elements(view)) if !parameter.is_taken => {
                    columns[*number] =
                        elements(&walk, *array, view, None).ok_or_else(|| mismatch(of_view(view)))?;
                }
                (Place::Array(number, array), SweepOperand::Window(cells, first, steps))
                    if !parameter.is_taken =>
                {
                    let column = window(&walk, *array, cells, first, &steps);
                    columns[*number] =
                        column.ok_or_else(|| mismatch(format!("{} with steps {steps:?}", of_view(cells))))?;
                }
                (Place::Array(number, array), SweepOperand::Taken(view, positions, from))
                    if parameter.is_taken =>
                {
                    let chosen =
                        positions.list().get(from..).filter(|list| Some(list.len()) >= shape.last().copied());
                    let column = elements(&walk, *array, view, Some(positions)).zip(chosen);
                    let (column, chosen) = column.ok_or_else(|| mismatch(of_view(view)))?;
                    (columns[*number], *list) = (column, chosen.as_ptr());
                }
                (Place::Array(number, array), SweepOperand::Before(result, first)) if !parameter.is_taken => {
                    let other = match layout.results.get(result) {
                        Some(Place::Array(place, other)) if same(array, other) => columns[*place],
                        _ => return Err(mismatch(format!("result {result}"))),
                    };
                    let is_one = first.element() == array.element()
                        && !first.is_empty()
                        && first.validity().is_none()
                        && first
                            .shape()
                            .iter()
                            .zip(first.strides())
                            .all(|(size, step)| *size == 1 || *step == 0);
                    if order == SweepOrder::Any || !is_one {
                        return Err(mismatch(of_view(first)));
                    }
                    let data = first.bytes().as_ptr().wrapping_add(first.start()).cast_mut();
                    columns[*number] = other;
                    first_columns[*number] = RawColumn { data, strides: [0; MAX_RANK] };
                    has_steps = true;
                }
                (_, operand) => return Err(mismatch(format!("{operand:?}"))),
            }
        }
        if shape.contains(&0) {
            return Ok(());
        }
        let mut sizes = [1; MAX_RANK];
        for (size, axis) in sizes.iter_mut().zip(&walk.axes).take(shape.len()) {
            *size = shape[*axis] as i64;
        }
        let in_order = i64::from(order != SweepOrder::Any);
        let run = |mut sizes: [i64; MAX_RANK], columns: &mut [RawColumn]| {
            let (rank, columns) = (shape.len() as i64, columns.as_mut_ptr());
            // SAFETY: the library has this function; each column has the type of its parameter or result, and elements of these
            // sizes inside of memory that is borrowed by the arguments of `sweep`: rooms mutably, so that no element is read that
            // is written but by `Before`, one step later; chosen elements are inside by `Positions`.
            unsafe {
                sweep(addresses.as_ptr(), rank, in_order, sizes.as_mut_ptr(), columns, lists.as_ptr());
            }
        };
        if has_steps {
            for (column, first) in columns.iter_mut().zip(&mut **first_columns) {
                if first.data.is_null() {
                    *first = *column;
                    column.data = column.data.wrapping_offset(column.strides[0] as isize);
                }
            }
            run([1, sizes[1], sizes[2], sizes[3], sizes[4], sizes[5]], first_columns);
            sizes[0] -= 1;
        }
        if sizes[0] > 0 {
            run(sizes, columns);
        }
        Ok(())
    }
}

fn walk(shape: &[usize], order: SweepOrder) -> Result<Walk<'_>, BoundaryError> {
    let wrong = || BoundaryError::Sweep { shape: shape.to_vec(), order };
    let mut walk = Walk { shape, order, axes: [0, 1, 2, 3, 4, 5] };
    if shape.is_empty() || shape.len() > MAX_RANK {
        return Err(wrong());
    }
    if let Some(axis) = walk.axis() {
        walk.axes.get_mut(..=axis).filter(|_| axis < shape.len()).ok_or_else(wrong)?.rotate_right(1);
    }
    Ok(walk)
}

fn same(array: &BoundaryArray, other: &BoundaryArray) -> bool {
    (array.element(), array.rank()) == (other.element(), other.rank())
}

/// The column of a view; the last axis of one that positions choose from has any size that they fit in.
fn elements(
    walk: &Walk<'_>,
    array: BoundaryArray,
    view: &NdView<'_>,
    chosen: Option<&Positions>,
) -> Option<RawColumn> {
    let rank = walk.shape.len();
    if (view.element(), view.rank(), array.rank()) != (array.element(), rank, rank)
        || view.validity().is_some()
    {
        return None;
    }
    let mut strides: Strides = [0; MAX_RANK];
    for (axis, (stride, size)) in strides.iter_mut().zip(view.shape()).enumerate() {
        let is_chosen = chosen.is_some() && axis + 1 == rank;
        let fits = match chosen {
            Some(positions) if is_chosen => positions.end() <= *size && walk.order == SweepOrder::Any,
            _ => [1, walk.shape[axis]].contains(size),
        };
        if !fits {
            return None;
        }
        *stride = if *size == 1 && !is_chosen { 0 } else { view.strides()[axis] };
    }
    let first = view.bytes().as_ptr().wrapping_add(view.start()).cast_mut();
    Some(walk.column(first, strides))
}

/// The column of a window.
fn window(
    walk: &Walk<'_>,
    array: BoundaryArray,
    cells: &NdView<'_>,
    first: usize,
    steps: &Strides,
) -> Option<RawColumn> {
    let (size, rank) = (array.size() as isize, walk.shape.len());
    let is_row = cells.rank() == 1 && (cells.len() < 2 || cells.strides()[0] == size);
    let is_row = is_row && cells.validity().is_none();
    if cells.element() != array.element() || array.rank() != rank || !is_row {
        return None;
    }
    let (mut lowest, mut highest, mut strides) = (first as isize, first as isize, [0; MAX_RANK]);
    for ((stride, count), step) in strides.iter_mut().zip(walk.shape).zip(steps) {
        let reach = (*count as isize - 1).max(0).checked_mul(*step)?;
        lowest = lowest.checked_add(reach.min(0))?;
        highest = highest.checked_add(reach.max(0))?;
        // Of an axis of one element the step may be anything.
        *stride = if *count > 1 { step.checked_mul(size)? } else { 0 };
    }
    if !walk.shape.contains(&0) && (lowest < 0 || highest as usize >= cells.len()) {
        return None;
    }
    let begin = cells.bytes().as_ptr().wrapping_add(cells.start());
    Some(walk.column(begin.wrapping_offset((first as isize).wrapping_mul(size)).cast_mut(), strides))
}

fn expected(array: BoundaryArray, shape: &[usize]) -> String {
    format!("{array} over {shape:?}")
}

fn of_view(view: &NdView<'_>) -> String {
    format!("an array of {} of shape {:?}", view.element(), view.shape())
}
