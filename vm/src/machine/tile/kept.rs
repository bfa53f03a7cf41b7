//! A region that is kept with the places of its operands: one strip over runs of elements, level by level if it has to.
//!
//! ```text
//! level 0     run run run …     columns at  base + first + level * stride      what is handed on: its first value
//! level 1     run run run …                                                    what is handed on: the result of level 0
//! ```
//!
//! Which strip it is, which columns move, and by how much, has been found out; only where memory begins is new in each run.

use crate::machine::sweep_order::SweepOrder;
use crate::machine::tile::plan::Extent;
use crate::machine::tile::region::{InputPlace, Region};
use crate::machine::tile::strips::LoadedStrip;
use crate::operator::block::Column;
use crate::operator::cell::Strips;
use crate::operator::fold_kernel::CHUNK;
use crate::operator::nd_walk::Space;
use crate::value::array::cell_size;
use crate::value::shape::{PerAxis, Strides};
use crate::value::{NdType, ScalarType};

/// Fewest elements of a run, if there is more than one run.
const LEAST_ROW: usize = 8;

/// Most elements that repeat a first value.
const MOST_FIRST: usize = 1 << 20;

/// Where elements stand in memory of the host, in bytes.
#[derive(Clone, Copy, Debug)]
pub(in crate::machine) struct KeptPlace {
    pub(in crate::machine) memory: usize,
    pub(in crate::machine) first: isize,
    pub(in crate::machine) strides: Strides,
}

/// Where the elements of an input stand.
#[derive(Clone, Copy, Debug)]
pub(in crate::machine) enum KeptSource {
    Cells(KeptPlace),
    /// Where those of a result stand one level before; at the first level they are one value, in the first bytes.
    Before(KeptPlace, u64),
}

/// A column of elements.
#[derive(Clone, Copy, Debug)]
struct Moving {
    column: u16,
    base: Base,
    /// Bytes from there to the first element of the lowest level.
    first: isize,
    /// Bytes from one level to the next.
    level: isize,
    /// Bytes to the next element along each axis but that of runs.
    strides: Strides,
}

/// Columns, and by how many bytes they move.
type Steps = Box<[(u16, isize)]>;

/// How columns move in a level.
#[derive(Debug)]
struct Level {
    moving: Box<[Moving]>,
    /// By axis but that of runs: from one run to the next.
    steps: Box<[Steps]>,
}

impl Level {
    fn new(moving: Vec<Moving>, axes: usize) -> Level {
        let steps = |axis: usize| {
            let along = moving.iter().map(|moves| (moves.column, moves.strides[axis]));
            along.filter(|(_, by)| *by != 0).collect()
        };
        Level { steps: (0..axes).map(steps).collect(), moving: moving.into() }
    }
}

#[derive(Clone, Copy, Debug)]
enum Base {
    Memory(usize),
    /// The repeated value that begins at this word.
    First(usize),
}

/// A strip over the elements of a shape.
#[derive(Debug)]
pub(in crate::machine) struct KeptStrip {
    strip: LoadedStrip,
    columns: Box<[Column]>,
    /// Columns of one value in the frame, with their offsets.
    scalars: Box<[(u16, u32)]>,
    level: Level,
    /// The first level, if something is handed on.
    first_level: Option<Level>,
    /// What is handed on to the first level.
    values: Box<[u64]>,
    /// Sizes of the axes of a level but that of runs.
    outer: Box<[usize]>,
    /// Elements of a run.
    run: usize,
    levels: usize,
    is_down: bool,
}

impl KeptStrip {
    /// Elements of a level.
    pub(in crate::machine) fn elements(&self) -> usize {
        self.outer.iter().product::<usize>() * self.run
    }

    /// Number of levels.
    pub(in crate::machine) fn levels(&self) -> usize {
        self.levels
    }
}

impl Region {
    /// Keeps the region for elements of a shape, whose places the functions say by the offset of an input or a result. Nothing
    /// if it does not run as one strip over all of them, or not yet.
    pub(in crate::machine) fn keep(
        &self,
        shape: &[usize],
        order: SweepOrder,
        source: impl Fn(u32) -> Option<KeptSource>,
        target: impl Fn(u32) -> Option<KeptPlace>,
    ) -> Option<KeptStrip> {
        let plan = self.plan_of_one_strip().filter(|plan| plan.auto != Strips::Never)?;
        let Extent::Elements(axes) = self.extent else { return None };
        let is_plain = self.scans == 0 && self.folds.is_empty() && plan.schedule.in_scratch.is_empty();
        if !is_plain || axes.rank() != shape.len() || shape.contains(&0) {
            return None;
        }
        let (axis, is_down) = match order {
            SweepOrder::Any => (None, false),
            SweepOrder::Up(axis) => (Some(axis), false),
            SweepOrder::Down(axis) => (Some(axis), true),
        };
        let mut plane: PerAxis = shape.iter().copied().collect();
        let levels =
            axis.map_or(Some(1), |axis| plane.get_mut(axis).map(|size| std::mem::replace(size, 1)))?;
        let (mut operands, mut scalars) = (Vec::new(), Vec::new());
        for (column, input) in self.inputs.iter().enumerate() {
            match input.place {
                InputPlace::Elements { offset, qtype } => {
                    operands.push(Operand::of(column as u16, qtype, source(offset)?, &plane)?);
                }
                InputPlace::Scalar { offset, .. } => scalars.push((column as u16, offset)),
                InputPlace::Array { .. } => return None,
            }
        }
        for output in &self.outputs {
            let (qtype, place) = (output.slot.qtype().nd()?, target(output.slot.offset())?);
            let is_whole = qtype.units().zip(&*plane).all(|(is_unit, size)| !is_unit || *size == 1);
            let operand = Operand::of(output.column, qtype, KeptSource::Cells(place), &plane)?;
            operands.push(Operand { is_result: true, ..operand });
            is_whole.then_some(())?;
        }
        let mut strides: Vec<Strides> = operands.iter().map(|operand| operand.place.strides).collect();
        let space = Space::join(&plane, &mut strides);
        let (run, outer) = space.sizes().split_last()?;
        let last = outer.len();
        if !outer.is_empty() && *run < LEAST_ROW {
            return None;
        }
        let mut columns = self.columns.clone();
        let (mut moving, mut of_first, mut values) = (Vec::new(), Vec::new(), Vec::new());
        for (Operand { column, element, place, before, is_result }, mut strides) in
            operands.into_iter().zip(strides)
        {
            let size = cell_size(element);
            // The only element of a run may be anywhere.
            let step = if *run == 1 { size as isize } else { strides[last] };
            if step != size as isize && (step != 0 || is_result) {
                return None;
            }
            strides[last] = 0;
            let column_of = &mut columns[column as usize];
            match is_result {
                true => column_of.data = std::ptr::null(),
                false => *column_of = Column::of_cells(std::ptr::null(), step as usize),
            }
            let level = axis.map_or(0, |axis| place.strides[axis]);
            let base = Base::Memory(place.memory);
            let Some(value) = before else {
                let moves = Moving { column, base, first: place.first, level, strides };
                moving.push(moves);
                of_first.push(moves);
                continue;
            };
            let back = if is_down { level } else { -level };
            moving.push(Moving { column, base, first: place.first + back, level, strides });
            let (base, first, strides) = (Base::First(values.len()), 0, Strides::default());
            of_first.push(Moving { column, base, first, level: 0, strides });
            let count = (*run * size).div_ceil(8);
            if values.len() + count > MOST_FIRST {
                return None;
            }
            let word = if size == 8 { value } else { repeated(value, size) };
            values.resize(values.len() + count, word);
        }
        let rows = plane.iter().product();
        // Strips of other inputs are compiled at once: whoever asks to keep a run has run the program often.
        if plan.variants.get().is_none() && !self.has_paid(plan, 0) {
            return None;
        }
        let [strip] = self.variant(plan, &columns, &[], rows, Strips::Always)? else { return None };
        if strip.again.is_some() || !strip.folds.is_empty() {
            return None;
        }
        Some(KeptStrip {
            strip: strip.clone(),
            columns,
            scalars: scalars.into(),
            level: Level::new(moving, last),
            first_level: (!values.is_empty()).then(|| Level::new(of_first, last)),
            values: values.into(),
            outer: outer.into(),
            run: *run,
            levels,
            is_down,
        })
    }
}

/// A value of 1 or 4 bytes, as many times as a word has room for.
fn repeated(value: u64, size: usize) -> u64 {
    let value = value & ((1 << (8 * size)) - 1);
    (0..8 / size).fold(0, |word, at| word | value << (8 * size * at))
}

/// An input or a result over axes.
struct Operand {
    column: u16,
    element: ScalarType,
    place: KeptPlace,
    /// The first value, if it is one level before.
    before: Option<u64>,
    is_result: bool,
}

impl Operand {
    /// An input; nothing if its type has other axes.
    fn of(column: u16, qtype: NdType, source: KeptSource, plane: &[usize]) -> Option<Operand> {
        let (place, before) = match source {
            KeptSource::Cells(place) => (place, None),
            KeptSource::Before(place, value) => (place, Some(value)),
        };
        let repeats = |(axis, is_unit): (usize, bool)| {
            !is_unit || plane.get(axis) == Some(&1) || place.strides[axis] == 0
        };
        let fits = qtype.rank() == plane.len() && qtype.units().enumerate().all(repeats);
        let element = qtype.element();
        fits.then_some(Operand { column, element, place, before, is_result: false })
    }
}

impl KeptStrip {
    /// Computes all elements; false if `go_on`, which is asked every few thousand of them, was: some have been computed then.
    ///
    /// # Safety
    /// The frame has the layout of the region, and values for scalars; `base` gives where each memory begins. All elements
    /// lie inside of it, none of a result shares a byte with another element, but for what is one level before, and nobody
    /// else accesses results.
    pub(in crate::machine) unsafe fn run(
        &mut self,
        frame: *const u8,
        base: impl Fn(usize) -> *mut u8,
        mut go_on: impl FnMut() -> bool,
    ) -> bool {
        for (column, offset) in &self.scalars {
            self.columns[*column as usize].data = frame.wrapping_add(*offset as usize);
        }
        let mut since = 0;
        for step in 0..self.levels {
            let of_level = self.first_level.as_ref().filter(|_| step == 0).unwrap_or(&self.level);
            let level = if self.is_down { self.levels - 1 - step } else { step } as isize;
            for moves in &of_level.moving {
                let base = match moves.base {
                    Base::Memory(number) => base(number).cast_const(),
                    Base::First(word) => self.values[word..].as_ptr().cast(),
                };
                let first = base.wrapping_offset(moves.first + level * moves.level);
                self.columns[moves.column as usize].data = first;
            }
            let steps = &of_level.steps;
            let plane = Plane { strip: &self.strip, columns: &mut self.columns, steps, run: self.run };
            // SAFETY: the caller's promise: the columns stand at the first elements of a level, or at values that are
            // repeated for a run.
            if !unsafe { plane.run(&self.outer, &mut since, &mut go_on) } {
                return false;
            }
        }
        true
    }
}

/// The elements of a level.
struct Plane<'k> {
    strip: &'k LoadedStrip,
    columns: &'k mut [Column],
    steps: &'k [Steps],
    run: usize,
}

impl Plane<'_> {
    /// # Safety
    /// As [`KeptStrip::run`]; the columns stand at the first elements.
    unsafe fn run(mut self, outer: &[usize], since: &mut usize, go_on: &mut impl FnMut() -> bool) -> bool {
        if let [count] = *outer {
            for row in 0..count {
                if row > 0 {
                    self.step(0, 1);
                }
                // SAFETY: the caller's promise.
                if !unsafe { self.run_along(since, go_on) } {
                    return false;
                }
            }
            return true;
        }
        let mut at = PerAxis::from_iter(outer.iter().map(|_| 0));
        loop {
            // SAFETY: the caller's promise.
            if !unsafe { self.run_along(since, go_on) } {
                return false;
            }
            // The next run, the last axis fastest.
            let mut axis = outer.len();
            loop {
                let Some(next) = axis.checked_sub(1) else { return true };
                axis = next;
                at[axis] += 1;
                if at[axis] < outer[axis] {
                    self.step(axis, 1);
                    break;
                }
                self.step(axis, -(outer[axis] as isize - 1));
                at[axis] = 0;
            }
        }
    }

    /// # Safety
    /// As [`KeptStrip::run`]; the columns stand at the begin of a run.
    #[inline(always)]
    unsafe fn run_along(&mut self, since: &mut usize, go_on: &mut impl FnMut() -> bool) -> bool {
        let mut start = 0;
        while start < self.run {
            let end = self.run.min(start + CHUNK);
            // SAFETY: the caller's promise; rows have no presence.
            unsafe { self.strip.run(self.columns, start..end) };
            *since += end - start;
            start = end;
            if *since >= CHUNK {
                *since = 0;
                if !go_on() {
                    return false;
                }
            }
        }
        true
    }

    /// Moves the columns along an axis.
    #[inline(always)]
    fn step(&mut self, axis: usize, by: isize) {
        for (column, bytes) in &self.steps[axis] {
            let column = &mut self.columns[*column as usize];
            column.data = column.data.wrapping_offset(bytes * by);
        }
    }
}
