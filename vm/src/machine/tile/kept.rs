//! A region that is kept with the places of its operands: one strip over runs of elements, level by level if it has to.
//!
//! ```text
//! level 0     run run run …     columns at  base + first + level * stride      what is handed on: its first value
//! level 1     run run run …                                                    what is handed on: the result of level 0
//! ```
//!
//! Which strip it is, which columns move, and by how much, has been found out; only where memory begins is new in each run.
//! Along a run, cells stand in order, repeat, or are [chosen by positions](crate::machine::positions), which the strip reads itself.

use crate::array::block::Column;
use crate::array::nd_space::Space;
use crate::machine::positions::Positions;
use crate::machine::sweep_order::SweepOrder;
use crate::machine::tile::access::Access;
use crate::machine::tile::plan::Extent;
use crate::machine::tile::region::{InputPlace, Region};
use crate::machine::tile::strips::{Case, ColumnSteps, LoadedStrip};
use crate::operator::cell::Strips;
use crate::value::array::cell_size;
use crate::value::shape::{PerAxis, Strides};
use crate::value::{NdType, ScalarType};

/// Fewest elements of a run, if there is more than one run.
const LEAST_ROW: usize = 8;

/// With no more elements than these, runs may be shorter: all of them take less time than what is not kept takes before the first one.
const FEW: usize = 128;

/// Elements from which on a run is long enough to begin at a line: that costs a step of its own, and saves time on each element. A stencil
/// on 512 x 512 points takes 0.45 ns a point instead of 0.52, on 64 x 64 it would take 0.62 instead of 0.57.
const LONG: usize = 256;

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
#[derive(Clone, Debug)]
pub(in crate::machine) enum KeptSource {
    Cells(KeptPlace),
    /// Those that positions choose along the last axis, from one of the list on; the place is that of position 0.
    Taken(KeptPlace, Positions, usize),
    /// Where those of a result stand one level before; at the first level they are one value, in the first bytes.
    Before(KeptPlace, u64),
}

/// A column of elements.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moving {
    pub(super) column: u16,
    pub(super) base: Base,
    /// Bytes from there to the first element of the lowest level.
    pub(super) first: isize,
    /// Bytes from one level to the next.
    pub(super) level: isize,
    /// Bytes to the next element along each axis but that of runs.
    strides: Strides,
}

/// Columns, and by how many bytes they move.
pub(super) type Steps = Box<[(u16, isize)]>;

/// How columns move in a level.
#[derive(Debug)]
pub(super) struct Level {
    pub(super) moving: Box<[Moving]>,
    /// By axis but those of runs: from the runs of one call to those of the next.
    pub(super) steps: Box<[Steps]>,
    /// From one run to the next.
    pub(super) runs: ColumnSteps,
}

impl Level {
    /// Columns with so many axes but that of elements; runs are along the last of them.
    fn new(strip: &LoadedStrip, moving: Vec<Moving>, axes: usize, columns: &[Column]) -> Level {
        let along = |axis: usize| moving.iter().map(move |moves| (moves.column, moves.strides[axis]));
        let steps = |axis: usize| along(axis).filter(|(_, by)| *by != 0).collect();
        let runs = ColumnSteps::new(strip, columns, axes.checked_sub(1).into_iter().flat_map(&along));
        Level { steps: (0..axes.saturating_sub(1)).map(steps).collect(), runs, moving: moving.into() }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Base {
    Memory(usize),
    /// The repeated value that begins at this word.
    First(usize),
}

/// A strip over the elements of a shape.
#[derive(Debug)]
pub(in crate::machine) struct KeptStrip {
    pub(super) strip: LoadedStrip,
    pub(super) columns: Box<[Column]>,
    pub(super) scalars: ScalarColumns,
    pub(super) level: Level,
    /// The first level, if something is handed on.
    pub(super) first_level: Option<Level>,
    /// Of a level to the next one that is computed.
    pub(super) to_next_level: ColumnSteps,
    /// What is handed on to the first level.
    pub(super) values: Box<[u64]>,
    /// Columns of a call, which moves them.
    pub(super) of_call: Box<[Column]>,
    /// Sizes of the axes of a level but the last two.
    pub(super) outer: Box<[usize]>,
    /// Runs along the last axis but one.
    pub(super) runs: usize,
    /// Elements of a run.
    pub(super) run: usize,
    pub(super) levels: usize,
    pub(super) is_down: bool,
    pub(super) taken: TakenColumns,
}

impl KeptStrip {
    /// Elements of a level.
    pub(in crate::machine) fn elements(&self) -> usize {
        self.outer.iter().product::<usize>() * self.runs * self.run
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
        let is_plain = self.scans.is_empty() && self.folds.is_empty();
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
        let (operands, scalars) = self.operands_of(&plane, source, target)?;
        let mut strides: Vec<Strides> = operands.iter().map(|operand| operand.place.strides).collect();
        let taken = taken_of(&operands, &plane, &mut strides)?;
        let space = Space::join(&plane, &mut strides);
        let (run, outer) = space.sizes().split_last()?;
        let last = outer.len();
        let rows: usize = plane.iter().product();
        if !outer.is_empty() && *run < LEAST_ROW && rows * levels > FEW {
            return None;
        }
        let direction = axis.map(|axis| (axis, is_down));
        let Moved { columns, moving, of_first, values } =
            self.moved(operands.into_iter().zip(strides), (*run, last), direction)?;
        // Strips of other inputs are compiled at once: whoever asks to keep a run has run the program often.
        if plan.variants.get().is_none() && !self.has_paid(plan, 0) {
            return None;
        }
        let case = Case::new(self.signature(&columns)?, access(&moving, &columns, (*run, rows * levels)));
        let [strip] = self.variant(plan, case, &columns, &[], rows, Strips::Always)? else {
            return None;
        };
        if strip.again.is_some() || !strip.folds.is_empty() {
            return None;
        }
        let to_next =
            moving.iter().map(|moves| (moves.column, if is_down { -moves.level } else { moves.level }));
        let to_next_level = ColumnSteps::new(strip, &columns, to_next);
        let (runs, outer) = outer.split_last().map_or((1, outer), |(runs, outer)| (*runs, outer));
        Some(KeptStrip {
            strip: strip.clone(),
            of_call: columns.clone(),
            scalars,
            to_next_level,
            level: Level::new(strip, moving, last, &columns),
            first_level: (!values.is_empty()).then(|| Level::new(strip, of_first, last, &columns)),
            values: values.into(),
            outer: outer.into(),
            runs,
            run: *run,
            levels,
            is_down,
            taken,
            columns,
        })
    }

    /// The inputs and results over axes, and the columns of one value in the frame, with their offsets.
    fn operands_of(
        &self,
        plane: &[usize],
        source: impl Fn(u32) -> Option<KeptSource>,
        target: impl Fn(u32) -> Option<KeptPlace>,
    ) -> Option<(Vec<Operand>, ScalarColumns)> {
        let (mut operands, mut scalars) = (Vec::new(), Vec::new());
        for (column, input) in self.inputs.iter().enumerate() {
            match input.place {
                _ if !input.through.is_empty() => return None,
                InputPlace::Elements { offset, qtype } => {
                    operands.push(Operand::of(column as u16, qtype, source(offset)?, plane)?);
                }
                InputPlace::Scalar { offset, .. } => scalars.push((column as u16, offset)),
                InputPlace::Array { .. } => return None,
            }
        }
        for output in &self.outputs {
            let (qtype, place) = (output.slot.qtype().nd()?, target(output.slot.offset())?);
            let is_whole = qtype.units().zip(plane).all(|(is_unit, size)| !is_unit || *size == 1);
            let operand = Operand::of(output.column, qtype, KeptSource::Cells(place), plane)?;
            operands.push(Operand { is_result: true, ..operand });
            is_whole.then_some(())?;
        }
        Some((operands, scalars.into()))
    }

    /// How columns move over runs of so many elements, whose axis has a number; levels are along an axis, perhaps downwards.
    fn moved(
        &self,
        operands: impl Iterator<Item = (Operand, Strides)>,
        (run, along): (usize, usize),
        levels: Option<(usize, bool)>,
    ) -> Option<Moved> {
        let mut columns = self.columns.clone();
        let (mut moving, mut of_first, mut values) = (Vec::new(), Vec::new(), Vec::new());
        for (Operand { column, element, place, before, taken, is_result }, mut strides) in operands {
            let size = cell_size(element);
            // The only element of a run may be anywhere.
            let step = if run == 1 { size as isize } else { strides[along] };
            if taken.is_none() && step != size as isize && (step != 0 || is_result) {
                return None;
            }
            strides[along] = 0;
            let column_of = &mut columns[column as usize];
            match (is_result, taken) {
                (true, _) => column_of.data = std::ptr::null(),
                (false, Some((list, from))) => *column_of = Column::of_taken(list.list()[from..].as_ptr()),
                (false, None) => *column_of = Column::of_cells(std::ptr::null(), step as usize),
            }
            let (level, is_down) =
                levels.map_or((0, false), |(axis, is_down)| (place.strides[axis], is_down));
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
            let count = (run * size).div_ceil(8);
            if values.len() + count > MOST_FIRST {
                return None;
            }
            let word = if size == 8 { value } else { repeated(value, size) };
            values.resize(values.len() + count, word);
        }
        Some(Moved { columns, moving, of_first, values })
    }
}

/// Columns of a kept run, and how they move.
struct Moved {
    columns: Box<[Column]>,
    moving: Vec<Moving>,
    /// In the first level, if something is handed on to it.
    of_first: Vec<Moving>,
    /// What is handed on.
    values: Vec<u64>,
}

/// Columns of one value in the frame, with their offsets.
pub(super) type ScalarColumns = Box<[(u16, u32)]>;

/// Columns with their positions, from one of a list on.
pub(super) type TakenColumns = Box<[(u16, Positions, usize)]>;

/// The operands at positions; adds the strides of positions. Nothing if runs are not along the axis that positions belong to.
fn taken_of(operands: &[Operand], plane: &[usize], strides: &mut Vec<Strides>) -> Option<TakenColumns> {
    let mut taken = Vec::new();
    for operand in operands {
        let Some((list, from)) = &operand.taken else { continue };
        taken.push((operand.column, list.clone(), *from));
        // Positions repeat along all other axes.
        let mut along = Strides::default();
        *along[..plane.len()].last_mut().filter(|_| plane.last() != Some(&1))? = size_of::<u32>() as isize;
        strides.push(along);
    }
    Some(taken.into())
}

/// How strips reach elements of all fields, so many in a run and in all; a field may be read in several places. Runs begin anywhere,
/// and most fields stand alike.
fn access(moving: &[Moving], columns: &[Column], (run, elements): (usize, usize)) -> Access {
    let memory = |moves: &Moving| match moves.base {
        Base::Memory(number) => number,
        Base::First(_) => usize::MAX,
    };
    let is_new = |at: usize| !moving[..at].iter().any(|before| memory(before) == memory(&moving[at]));
    let steps = (0..moving.len()).filter(|at| is_new(*at)).map(|at| &columns[moving[at].column as usize]);
    let bytes: usize = steps.filter(|column| !column.is_taken()).map(|column| column.step).sum();
    match Access::of(elements, elements.saturating_mul(bytes)) {
        Access::Cached if run >= LONG => Access::AtLines,
        other => other.of_fields(moving.len()),
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
    /// Positions along the last axis, from one of the list on.
    taken: Option<(Positions, usize)>,
    is_result: bool,
}

impl Operand {
    /// An input; nothing if its type has other axes.
    fn of(column: u16, qtype: NdType, source: KeptSource, plane: &[usize]) -> Option<Operand> {
        let element = qtype.element();
        let (place, before, taken) = match source {
            KeptSource::Cells(place) => (place, None, None),
            KeptSource::Before(place, value) => (place, Some(value), None),
            // Truths are no numbers, which strips take.
            KeptSource::Taken(..) if cell_size(element) == 1 => return None,
            KeptSource::Taken(place, positions, from) => (place, None, Some((positions, from))),
        };
        let repeats = |(axis, is_unit): (usize, bool)| {
            !is_unit || plane.get(axis) == Some(&1) || place.strides[axis] == 0
        };
        let fits = qtype.rank() == plane.len() && qtype.units().enumerate().all(repeats);
        fits.then_some(Operand { column, element, place, before, taken, is_result: false })
    }
}
