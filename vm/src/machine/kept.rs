//! Kept runs: a program on memory of the host, bound once to where elements stand there.
//!
//! ```text
//! BoundExpr ── keep(shape, places) ──> KeptRun ── run(memories) ──> true       the places hold for whatever memory is lent
//!                                                               ──> false      run the program: it says what is wrong
//! ```
//!
//! A run of a program on lent arrays looks at each array, its axes and its place; a time loop has it look at the same again and again. A kept
//! run has compared all of it before, for memory of known sizes: it compares sizes, and what the run may use.
//!
//! 1. Results are those of [`BoundExpr::run_on`], and so is what counts as used. A kept run reads scalars of the frame and
//!    writes scalars that the program computes; all else of the frame stays.
//! 2. Memory that is written is lent alone, and no operand is read there, but for a result one step before.
//! 3. It never fails: it says that it did not run, or stopped, and whoever asks runs the program, which then stops with its error.

use crate::array::fold_kernel::CHUNK;
use crate::array::meter::Watch;
use crate::frame::Frame;
use crate::frame::frame::WrittenBits;
use crate::layout::{FrameLayout, TypedSlot};
use crate::machine::bound::BoundExpr;
use crate::machine::host_cells::{CellsKind, CellsPlace, HostCells};
use crate::machine::options::RunOptions;
use crate::machine::positions::Positions;
use crate::machine::room::span;
use crate::machine::routine_code::Code;
use crate::machine::run::run_cells;
use crate::machine::shared::Used;
use crate::machine::sweep_order::SweepOrder;
use crate::machine::tile::kept::{KeptPlace, KeptSource, KeptStrip};
use crate::machine::tile::run::run_region;
use crate::operator::cell::{Cell, Run, Strips};
use crate::program::{Instruction, Routine};
use crate::value::shape::PerAxis;
use crate::value::{ScalarType, ScalarValue};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Where an operand of a kept run comes from.
#[derive(Clone, Debug)]
pub enum KeptOperand {
    /// Cells of the host.
    Cells(CellsPlace),
    /// Those that positions choose along the last axis: the ones of the list from a number on. Cells of the last axis stand one
    /// after the other.
    Taken(CellsPlace, Positions, usize),
    /// The result of this number, one step before; at the first step a value.
    Before(usize, ScalarValue),
}

/// A program that is kept with the places of its operands and results.
#[derive(Debug)]
pub struct KeptRun {
    layout: Arc<FrameLayout>,
    /// The inputs that are not lent.
    required: WrittenBits,
    /// The cells that compute scalars; the last one ends the run. None if there are no scalars to compute.
    scalars: Box<[Cell]>,
    /// What all steps use up.
    used: Used,
    memories: Box<[CellsKind]>,
    strip: KeptStrip,
}

// SAFETY: pointers of columns are made anew for each run; cells hold function pointers and numbers.
unsafe impl Send for KeptRun {}
// SAFETY: as above; a run borrows it alone.
unsafe impl Sync for KeptRun {}

impl BoundExpr {
    /// Notes a run that could have been kept; false if there is nothing to keep, or not yet: the program is to be one strip, which is
    /// compiled after some runs.
    pub fn may_keep(&self) -> bool {
        matches!(&self.codes[0].regions[..], [region] if region.may_keep()) && !self.has_tiers()
    }

    /// Keeps the program for elements of a shape, which are computed in an order: where the inputs, by their
    /// [numbers](BoundExpr::input_number), and all results stand in the memory that runs will be lent. `memories` are such.
    ///
    /// Nothing if the program does not run as one strip over these elements, or not yet; if elements lie outside of their
    /// memory, or results are not apart from all else. Then [`run_on`](BoundExpr::run_on) is the way.
    pub fn keep(
        &self,
        (shape, order): (&[usize], SweepOrder),
        inputs: &[(u32, KeptOperand)],
        results: &[(&TypedSlot, CellsPlace)],
        memories: &[HostCells<'_>],
    ) -> Option<KeptRun> {
        let (code, main) = (&self.codes[0], self.program().main());
        let [region] = &code.regions[..] else { return None };
        if self.has_tiers() {
            return None;
        }
        let scalars = scalar_cells(code, main)?;
        let layout = self.layout();
        let kind = |number: usize| memories.get(number).map(|memory| memory.kind);
        let place = |place: &CellsPlace, shape: &[usize], element: ScalarType| {
            let kind = kind(place.memory).filter(|kind| kind.element == element)?;
            let first = isize::try_from(place.first.checked_mul(crate::value::array::cell_size(element))?);
            Some(KeptPlace { memory: place.memory, first: first.ok()?, strides: place.strides(shape, kind)? })
        };
        let element = |slot: &TypedSlot| slot.qtype().nd().map(|qtype| qtype.element());
        let mut targets: Vec<(u32, ScalarType, KeptPlace)> = Vec::new();
        for (slot, at) in results {
            let (element, is_written) = (element(slot)?, kind(at.memory)?.is_written);
            span(shape, at.steps.get(..shape.len())?)?;
            if !is_written || targets.iter().any(|(.., other)| other.memory == at.memory) {
                return None;
            }
            targets.push((slot.offset(), element, place(at, shape, element)?));
        }
        let mut sources: Vec<(u32, KeptSource)> = Vec::new();
        let mut is_lent = WrittenBits::mask(layout.inputs().len(), std::iter::empty());
        for (bit, operand) in inputs {
            let slot = layout.inputs().get(*bit as usize)?;
            let element = element(slot)?;
            is_lent.set(*bit);
            sources.push((
                slot.offset(),
                match operand {
                    KeptOperand::Cells(at) | KeptOperand::Taken(at, ..)
                        if targets.iter().any(|(.., to)| to.memory == at.memory) =>
                    {
                        return None;
                    }
                    KeptOperand::Cells(at) => KeptSource::Cells(place(at, shape, element)?),
                    KeptOperand::Taken(at, positions, from) => {
                        let mut sizes: PerAxis = shape.iter().copied().collect();
                        let chosen = sizes.last_mut().filter(|_| order == SweepOrder::Any)?;
                        positions.list().len().checked_sub(*from).filter(|count| *count >= *chosen)?;
                        *chosen = positions.end().max(1);
                        let is_in_order = *chosen == 1 || at.steps[shape.len() - 1] == 1;
                        let place = place(at, &sizes, element).filter(|_| is_in_order)?;
                        KeptSource::Taken(place, positions.clone(), *from)
                    }
                    KeptOperand::Before(result, value) => {
                        let (_, _, to) = targets.get(*result).filter(|(_, of, _)| *of == element)?;
                        let value = value.bits().filter(|_| value.scalar_type() == element)?;
                        (order != SweepOrder::Any).then_some(KeptSource::Before(*to, value))?
                    }
                },
            ));
        }
        let source =
            |offset: u32| sources.iter().find(|(at, _)| *at == offset).map(|(_, source)| source.clone());
        let target = |offset: u32| targets.iter().find(|(at, ..)| *at == offset).map(|(.., place)| *place);
        let is_target = |value| target(main.slot(value).offset()).is_some();
        if targets.len() != region.outputs()
            || !main.results().all(is_target)
            || sources.iter().any(|(at, _)| target(*at).is_some())
        {
            return None;
        }
        let strip = region.keep(shape, order, source, target)?;
        let levels = strip.levels() as u64;
        let rows =
            (strip.elements() as u64).checked_mul(region.member_count() as u64)?.checked_mul(levels)?;
        let used = Used { instructions: u64::from(code.entry_fuel) * levels, rows };
        let bit = |slot: &TypedSlot| layout.bit_of(slot).checked_sub(1);
        let needed = main.inputs.iter().filter_map(|(_, value)| bit(main.slot(*value)));
        let required = WrittenBits::mask(
            layout.inputs().len() + layout.outputs().len(),
            needed.filter(|bit| !is_lent.get(*bit)),
        );
        let memories = memories.iter().map(|memory| memory.kind).collect();
        Some(KeptRun { layout: layout.clone(), required, scalars, used, memories, strip })
    }
}

impl KeptRun {
    /// Has the run count as so many runs of the program: those of parts of the elements, which it is instead of.
    pub fn counted_as(mut self, runs: u64) -> KeptRun {
        self.used.instructions = self.used.instructions.saturating_mul(runs);
        self
    }

    /// Computes all elements in memory of the sizes and types that it was kept for. False if it has not: other memory, a frame that
    /// misses an input, an observer, less than the run would use up, or somebody stopped it; results may have been written in part
    /// then.
    pub fn run(
        &mut self,
        frame: &mut Frame,
        memories: &mut [HostCells<'_>],
        options: &RunOptions<'_>,
    ) -> bool {
        let limits = &options.limits;
        let elements = self.strip.elements();
        let is_known = Arc::ptr_eq(frame.layout(), &self.layout)
            && !frame.is_poisoned()
            && frame.written().first_missing(&self.required).is_none()
            && memories.len() == self.memories.len()
            && memories.iter().zip(&self.memories).all(|(memory, kind)| memory.kind == *kind);
        let is_within = limits.fuel >= self.used.instructions
            && limits.meter.rows >= self.used.rows
            && limits.meter.array_rows >= elements as u64;
        // Threads share what has more elements, and observers and passes are for the program.
        let is_plain = (limits.threads <= 1 || elements <= CHUNK)
            && options.observer.is_none()
            && limits.strips != Strips::Never;
        if !(is_known && is_within && is_plain) {
            return false;
        }
        let watch = limits.watch();
        let go_on = || watch.as_ref().is_none_or(|watch| watch.ask().is_ok());
        if !go_on() || !self.compute_scalars(frame) {
            return false;
        }
        let base = |number: usize| memories[number].first;
        // SAFETY: the frame has the layout and the scalars; the memories are those that all places were compared with, in
        // number, size and type, and are borrowed: results alone, and apart from what is read.
        let is_done = unsafe { self.strip.run(frame.base(), base, go_on) };
        if is_done && let Some(used) = limits.used {
            used.set(self.used);
        }
        is_done
    }

    /// Computes the scalars that elements need; false if one of them raises.
    fn compute_scalars(&self, frame: &mut Frame) -> bool {
        if self.scalars.is_empty() {
            return true;
        }
        // A kernel of the host may panic: the program does the same again, and keeps its frame from being used.
        catch_unwind(AssertUnwindSafe(|| run_cells(&self.scalars, frame))).unwrap_or(false)
    }
}

/// The cells in front of the only region, which compute scalars, and the last one; nothing if there is anything else.
fn scalar_cells(code: &Code, main: &Routine) -> Option<Box<[Cell]>> {
    let is_flat = code.general.is_empty() && code.calls.is_empty() && code.guards.is_empty();
    let [before @ .., region, end] = &code.cells[..] else { return None };
    let is_last = std::ptr::fn_addr_eq(region.run, run_region as Run);
    let region = &code.regions[region.args[0] as usize];
    let is_plain = |value: &crate::program::ValueId| main.slot(*value).qtype().is_plain();
    let is_scalar = |(ip, instruction): (usize, &Instruction)| {
        let body = &main.body;
        let all_plain =
            || body.reads(instruction).iter().all(is_plain) && body.writes(instruction).iter().all(is_plain);
        matches!(instruction, Instruction::Operator { .. }) && (region.has_member(ip) || all_plain())
    };
    if !is_flat || !is_last || !main.body.instructions().iter().enumerate().all(is_scalar) {
        return None;
    }
    Some(match before {
        [] => Box::default(),
        before => before.iter().chain([end]).copied().collect(),
    })
}
