//! Kept sweeps: a sweep bound once to where elements stand in memory of the host.
//!
//! ```text
//! CallMemory ── keep_sweep(shape, places) ──> KeptSweep
//!     └──────── run_kept(&kept, memories) ──> true: swept      false: other memory or another library
//! ```
//!
//! What [`CallMemory::sweep`] compares for each operand has been compared for memory of known types and sizes: a sweep compares
//! those, and knows where memory begins.

use crate::library::boundary_array::BoundaryArray;
use crate::library::call::CallMemory;
use crate::library::call_layout::Place;
use crate::library::open::{Library, RawColumn};
use crate::machine::host_cells::{CellsKind, CellsPlace, HostCells};
use crate::machine::positions::Positions;
use crate::machine::room::span;
use crate::machine::sweep_order::SweepOrder;
use crate::value::nd_type::MAX_RANK;
use crate::value::shape::{PerAxis, Strides};
use crate::value::{ScalarValue, Value};
use std::sync::Arc;

/// Where an operand of a kept sweep comes from.
#[derive(Clone, Debug)]
pub enum SweepSource {
    /// The plain value that [`CallMemory::write`] has written.
    Plain,
    /// Cells of the host.
    Cells(CellsPlace),
    /// Those that positions choose along the last axis: the ones of the list from a number on. The step of the last axis is that
    /// from one position to the next.
    Taken(CellsPlace, Positions, usize),
    /// The result of this number, one step before; at the first step a value.
    Before(usize, ScalarValue),
}

/// A sweep with the places of its operands and results.
#[derive(Debug)]
pub struct KeptSweep {
    library: Library,
    memories: Box<[CellsKind]>,
    /// By array of the library.
    columns: Box<[KeptColumn]>,
    /// Those of the first step, if a result is an operand of the next one.
    of_first: Option<Box<[KeptColumn]>>,
    /// First values.
    values: Box<[u64]>,
    /// By argument: positions from a number on.
    lists: Box<[Option<(Positions, usize)>]>,
    sizes: [i64; MAX_RANK],
    rank: i64,
    in_order: i64,
}

/// An array of a sweep.
#[derive(Clone, Copy, Debug)]
struct KeptColumn {
    base: Base,
    /// Bytes from there to the element of the first step.
    first: isize,
    /// In the order in which axes are taken.
    strides: [i64; MAX_RANK],
}

#[derive(Clone, Copy, Debug)]
enum Base {
    Memory(usize),
    Value(usize),
}

/// Makes columns, with axes in the order in which they are taken.
struct Columns<'k> {
    shape: &'k [usize],
    memories: &'k [HostCells<'k>],
    /// The axis that is taken step by step, and whether from its end.
    steps: Option<(usize, bool)>,
}

impl Columns<'_> {
    /// The column of an array that has these sizes at a place; nothing if an element lies outside, or is of another type.
    fn at(&self, array: BoundaryArray, place: &CellsPlace, sizes: &[usize]) -> Option<KeptColumn> {
        let kind = self.memories.get(place.memory)?.kind;
        if array.has_rows() || (array.element(), array.rank()) != (kind.element, self.shape.len()) {
            return None;
        }
        let mut strides = place.strides(sizes, kind)?;
        let mut first = isize::try_from(place.first.checked_mul(array.size())?).ok()?;
        if let Some((axis, true)) = self.steps {
            first += (self.shape[axis] as isize - 1) * strides[axis];
            strides[axis] = -strides[axis];
        }
        Some(KeptColumn { base: Base::Memory(place.memory), first, strides: self.in_order(strides) })
    }

    /// Numbers by axis, that of steps first.
    fn in_order(&self, mut numbers: Strides) -> [i64; MAX_RANK] {
        if let Some((axis, _)) = self.steps {
            numbers[..=axis].rotate_right(1);
        }
        numbers.map(|number| number as i64)
    }
}

impl CallMemory {
    /// Writes the plain argument of a number, for kept sweeps.
    ///
    /// False if there is none, or it has another type.
    pub fn write(&mut self, argument: usize, value: &Value) -> bool {
        let CallMemory { library, frame, .. } = self;
        match library.inner.layout.arguments.get(argument) {
            Some(Place::Plain(slot)) => frame.write(slot, value).is_ok(),
            _ => false,
        }
    }

    /// Keeps a sweep over elements of a shape: where operands, in the order of parameters, and all results, in their order, stand in
    /// the memory that sweeps will be lent. `memories` are such.
    ///
    /// Nothing if the library has no sweep or takes something else, if elements lie outside of their memory, or if results are
    /// not apart from all else.
    pub fn keep_sweep(
        &self,
        (shape, order): (&[usize], SweepOrder),
        sources: &[SweepSource],
        results: &[CellsPlace],
        memories: &[HostCells<'_>],
    ) -> Option<KeptSweep> {
        let layout = &self.library.inner.layout;
        let (steps, rank) = match order {
            SweepOrder::Any => (None, shape.len()),
            SweepOrder::Up(axis) => (Some((axis, false)), shape.len()),
            SweepOrder::Down(axis) => (Some((axis, true)), shape.len()),
        };
        let is_shape = (1..=MAX_RANK).contains(&rank) && !shape.contains(&0);
        let has_axis = steps.is_none_or(|(axis, _)| axis < rank);
        let counts = (layout.arguments.len(), layout.results.len()) == (sources.len(), results.len());
        if !self.can_sweep() || !is_shape || !has_axis || !counts {
            return None;
        }
        let columns = Columns { shape, memories, steps };
        let mut all = vec![None; layout.arrays];
        for (at, (to, of)) in results.iter().zip(&layout.results).enumerate() {
            let Place::Array(number, array) = of else { return None };
            let is_apart = results[..at].iter().all(|other| other.memory != to.memory);
            span(shape, to.steps.get(..rank)?)?;
            if !is_apart || !memories.get(to.memory)?.kind.is_written {
                return None;
            }
            all[*number] = Some(columns.at(*array, to, shape)?);
        }
        let is_written = |place: &CellsPlace| results.iter().any(|to| to.memory == place.memory);
        let (mut firsts, mut values) = (vec![None; layout.arrays], Vec::new());
        let mut lists = Vec::new();
        let parameters = &self.library.inner.signature.parameters;
        for ((of, source), parameter) in layout.arguments.iter().zip(sources).zip(parameters) {
            let mut list = None;
            match (of, source) {
                (Place::Plain(_), SweepSource::Plain) => {}
                (Place::Array(number, array), SweepSource::Cells(place))
                    if !parameter.is_taken && !is_written(place) =>
                {
                    all[*number] = Some(columns.at(*array, place, shape)?);
                }
                (Place::Array(number, array), SweepSource::Taken(place, positions, from))
                    if parameter.is_taken && !is_written(place) && order == SweepOrder::Any =>
                {
                    let mut sizes: PerAxis = shape.iter().copied().collect();
                    let chosen = sizes.last_mut()?;
                    if positions.list().len().checked_sub(*from)? < *chosen {
                        return None;
                    }
                    // Of an axis of one element a place may have any step: the second is there for the comparison only.
                    *chosen = positions.end().max(1);
                    let mut column = columns.at(*array, place, &sizes)?;
                    let step = place.steps[rank - 1].checked_mul(isize::try_from(array.size()).ok()?)?;
                    column.strides[rank - 1] = step as i64;
                    all[*number] = Some(column);
                    list = Some((positions.clone(), *from));
                }
                (Place::Array(number, array), SweepSource::Before(result, value))
                    if !parameter.is_taken && order != SweepOrder::Any =>
                {
                    let Some(Place::Array(to, other)) = layout.results.get(*result) else { return None };
                    let is_same = (array.element(), array.rank()) == (other.element(), other.rank());
                    let word = value.bits().filter(|_| is_same && value.scalar_type() == array.element())?;
                    all[*number] = all[*to];
                    let base = Base::Value(values.len());
                    firsts[*number] = Some(KeptColumn { base, first: 0, strides: [0; MAX_RANK] });
                    values.push(word);
                }
                _ => return None,
            }
            lists.push(list);
        }
        let mut columns_of: Box<[KeptColumn]> = all.into_iter().collect::<Option<_>>()?;
        let of_first = (!values.is_empty()).then(|| {
            let first =
                firsts.iter().zip(&*columns_of).map(|(first, column)| first.unwrap_or(*column)).collect();
            // Behind the first step, what is handed on stands where it was written, all else a step farther.
            let others = columns_of.iter_mut().zip(&firsts).filter(|(_, first)| first.is_none());
            others.for_each(|(column, _)| column.first += column.strides[0] as isize);
            first
        });
        let mut sizes: Strides = [1; MAX_RANK];
        sizes.iter_mut().zip(shape).for_each(|(to, size)| *to = *size as isize);
        Some(KeptSweep {
            library: self.library.clone(),
            memories: memories.iter().map(|memory| memory.kind).collect(),
            columns: columns_of,
            of_first,
            values: values.into(),
            lists: lists.into(),
            sizes: columns.in_order(sizes),
            rank: rank as i64,
            in_order: i64::from(steps.is_some()),
        })
    }

    /// Computes all elements in memory of the sizes and types that the sweep was kept for; false if it is other memory, or the sweep of
    /// another library: nothing was written then.
    pub fn run_kept(&mut self, kept: &KeptSweep, memories: &mut [HostCells<'_>]) -> bool {
        let is_own = Arc::ptr_eq(&self.library.inner, &kept.library.inner);
        let is_known = memories.len() == kept.memories.len()
            && memories.iter().zip(&kept.memories).all(|(memory, kind)| memory.kind == *kind);
        if !is_own || !is_known {
            return false;
        }
        for (to, list) in self.lists.iter_mut().zip(&kept.lists) {
            if let Some((positions, from)) = list {
                *to = positions.list()[*from..].as_ptr();
            }
        }
        let mut sizes = kept.sizes;
        if let Some(of_first) = &kept.of_first {
            let mut one = sizes;
            one[0] = 1;
            // SAFETY: see below; values that repeat have strides of 0.
            unsafe { self.go_over(kept, of_first, one, memories) };
            sizes[0] -= 1;
        }
        if sizes[0] > 0 {
            // SAFETY: all places were compared with memory of these types and sizes, which is borrowed: results alone, apart from
            // what is read but for a result one step before. Positions were compared with the axis that they choose from.
            unsafe { self.go_over(kept, &kept.columns, sizes, memories) };
        }
        true
    }

    /// # Safety
    /// The library is that of the sweep; each column has elements of these sizes, inside of its memory.
    unsafe fn go_over(
        &mut self,
        kept: &KeptSweep,
        columns: &[KeptColumn],
        mut sizes: [i64; MAX_RANK],
        memories: &[HostCells<'_>],
    ) {
        let Some(sweep) = self.library.inner.sweep else { return };
        for (to, column) in self.columns.iter_mut().zip(columns) {
            let base = match column.base {
                Base::Memory(number) => memories[number].first,
                Base::Value(number) => kept.values[number..].as_ptr().cast_mut().cast(),
            };
            *to = RawColumn { data: base.wrapping_offset(column.first), strides: column.strides };
        }
        let (addresses, lists) = (self.addresses.as_ptr(), self.lists.as_ptr());
        // SAFETY: the library has this function; the caller's promise.
        unsafe {
            sweep(addresses, kept.rank, kept.in_order, sizes.as_mut_ptr(), self.columns.as_mut_ptr(), lists)
        };
    }
}
