//! Runs a region: looks at sizes and presence, makes room, and then computes block after block.
//!
//! ```text
//! rows        sizes agree    presence planned    outputs of that size       blocks
//! elements    shapes agree   never missing       outputs of that shape      blocks, faults by element
//! ```

use crate::array::block::Column;
use crate::array::fold_kernel::Folded;
use crate::array::meter::Meter;
use crate::array::runs::Runs;
use crate::layout::access::Accumulators;
use crate::layout::handle::ArrayHandle;
use crate::layout::nd_handle::NdHandle;
use crate::machine::tile::axes::Elements;
use crate::machine::tile::blocks::{Blocks, Uneven};
use crate::machine::tile::choose::Choice;
use crate::machine::tile::plan::Extent;
use crate::machine::tile::region::{MemberFault, Region};
use crate::machine::tile::rows::Loaded;
use crate::machine::tile::schedule::Presence;
use crate::machine::tile::steps::Whole;
use crate::operator::cell::{Cell, Registers, State, Strips, next, raise};
use crate::value::{ArrayRows, Fault, NdType};
use bumpalo::Bump;

/// Bytes of a region that are not given back: what few blocks take.
const KEPT: usize = 16 << 10;

/// Runs the region whose number is in `args[0]`.
///
/// # Safety
/// The contract of [`Run`](crate::operator::cell::Run); `registers.regions` are the regions of the running
/// code.
pub(in crate::machine) unsafe fn run_region(
    cell: *const Cell,
    state: State,
    held: Accumulators,
) -> *const Cell {
    // SAFETY: the number was made together with the regions; the verifier checked the slots of their
    // inputs and outputs.
    unsafe {
        let State { frame, registers } = state;
        let region = &*(*registers).regions.cast::<Region>().add((*cell).args[0] as usize);
        (*registers).at = cell;
        (*registers).running = cell;
        let outcome = region.run(frame, &*registers);
        give_back(&mut *(*registers).region_arena);
        (*registers).running = std::ptr::null();
        match outcome {
            Ok(()) => next(cell, state, held),
            Err(error) => {
                (*registers).blamed = Some(error.ip);
                raise(cell, state, error.fault)
            }
        }
    }
}

impl Region {
    /// Computes all rows of the outputs.
    ///
    /// # Safety
    /// `frame` is a frame that the slots of inputs and outputs were verified for; `registers` are those of the run.
    unsafe fn run(&self, frame: *mut u8, registers: &Registers) -> Result<(), Box<MemberFault>> {
        // SAFETY: the caller's promise.
        let settled = unsafe {
            match self.run_in_order(frame, registers) {
                Some(settled) => settled?,
                None => self.attempt(frame, registers, Attempt::First)?,
            }
        };
        match settled {
            Settled::All => Ok(()),
            // SAFETY: as above; what it has written is written over.
            Settled::NotAll => unsafe { self.attempt(frame, registers, Attempt::Passes).map(|_| ()) },
        }
    }

    /// Computes all rows or elements, and says whether that has settled all results.
    ///
    /// # Safety
    /// As [`Region::run`].
    #[inline(never)]
    unsafe fn attempt(
        &self,
        frame: *mut u8,
        registers: &Registers,
        attempt: Attempt,
    ) -> Result<Settled, Box<MemberFault>> {
        // SAFETY: registers of a run point to its arena and its meter.
        let (arena, meter) = unsafe { (&*registers.region_arena, &*registers.meter) };
        let columns = arena.alloc_slice_copy(&self.columns);
        self.begin_scans(columns, arena);
        if let Extent::Elements(axes) = self.extent {
            // SAFETY: the caller's promise.
            return unsafe { self.run_over_axes(axes, frame, columns, registers, attempt) };
        }
        // SAFETY: the caller's promise.
        let Loaded { rows, seen, is_lent, is_complete } = unsafe { self.load(frame, columns, meter)? };
        self.charge(rows, seen, meter, attempt)?;
        let presence = match is_complete {
            true => &*self.complete,
            false => self.plan_presence(columns, arena),
        };
        // SAFETY: the caller's promise; no input shares the array of an output (invariant 1).
        unsafe { self.place(frame, rows, columns, presence, meter)? };
        let signature = is_complete.then_some(self.complete_signature);
        let (plan, strips) = (self.plan(false), attempt.strips(registers));
        let choice = self.choose(plan, columns, presence, signature, rows, strips);
        // SAFETY: all columns but those in scratch memory have this many rows now.
        let outcome = unsafe {
            if !is_lent && self.folds.is_empty() && choice.is_at_once(rows) {
                let whole = Whole { rows, size: rows };
                self.run_at_once(choice, columns, presence, whole, arena, &mut []).map(|()| Settled::All)
            } else if let Some(strip) = choice.strip_of_lanes(rows).filter(|_| !is_lent) {
                let is_settled = self.fold_chunk(strip, rows, columns.as_mut_ptr(), frame);
                Ok(if is_settled { Settled::All } else { Settled::NotAll })
            } else {
                let lent = if is_lent { self.lent(frame, arena) } else { &[] };
                let (moving, uneven, runs) =
                    (&*self.moving, Uneven::Rows(lent), self.runs_of_rows(rows, arena));
                let all = AllRows { rows, columns, presence, moving, uneven, runs, choice };
                return self.run_all(all, frame, registers);
            }
        };
        // SAFETY: the caller's promise.
        unsafe { self.normalize(frame, presence) };
        outcome
    }

    /// Computes all rows of the outputs where there is more to do than [to run all steps once](Region::run_at_once).
    ///
    /// # Safety
    /// As [`Region::run_columns`].
    #[inline(never)]
    unsafe fn run_all(
        &self,
        all: AllRows<'_>,
        frame: *mut u8,
        registers: &Registers,
    ) -> Result<Settled, Box<MemberFault>> {
        // SAFETY: the caller's promise.
        unsafe { self.run_columns(all, frame, registers) }
    }

    /// Computes all rows or elements of the outputs, and what becomes of them in folds.
    ///
    /// # Safety
    /// As [`Region::run`]; all columns but those in scratch memory have these rows or elements.
    #[inline(always)]
    unsafe fn run_columns(
        &self,
        AllRows { rows, columns, presence, moving, uneven, runs, choice }: AllRows<'_>,
        frame: *mut u8,
        registers: &Registers,
    ) -> Result<Settled, Box<MemberFault>> {
        // SAFETY: registers of a run point to its arena and its meter.
        let (arena, meter) = unsafe { (&*registers.region_arena, &*registers.meter) };
        let (is_in_place, shape) = match uneven {
            Uneven::Rows(lent) => (lent.is_empty(), &[rows][..]),
            Uneven::Elements(elements) => (elements.is_in_place(), elements.shape()),
        };
        // Without any rows there is nothing to know.
        let (folded, kept) = match rows == 0 || self.folds.is_empty() {
            true => (&mut [][..], 0),
            false => self.begin_folds(runs, rows, arena, meter)?,
        };
        // SAFETY: the caller's promise.
        let outcome = unsafe {
            if is_in_place && choice.is_at_once(rows) {
                let size = shape.last().map_or(1, |size| *size);
                self.run_at_once(choice, columns, presence, Whole { rows, size }, arena, folded)
            } else {
                let (watch, Choice { schedule, strips }) = (meter.watch_place(), choice);
                let region = self;
                let blocks =
                    Blocks { region, schedule, strips, rows, columns, presence, moving, uneven, runs, watch };
                blocks.run(arena, registers.threads, folded)
            }
        };
        self.end_folds(kept, meter);
        // SAFETY: the caller's promise.
        unsafe { self.normalize(frame, presence) };
        outcome.map_err(|fault| match uneven {
            Uneven::Rows(_) => fault,
            Uneven::Elements(elements) => Box::new(elements.locate(*fault)),
        })?;
        if self.settle(folded, choice) == Settled::NotAll {
            return Ok(Settled::NotAll);
        }
        if !self.folds.is_empty() {
            // SAFETY: the caller's promise.
            unsafe { self.finish_folds(folded, runs, shape, frame, meter)? };
        }
        Ok(Settled::All)
    }

    /// Computes all elements of the outputs.
    ///
    /// # Safety
    /// As [`Region::run`].
    unsafe fn run_over_axes(
        &self,
        axes: NdType,
        frame: *mut u8,
        columns: &mut [Column],
        registers: &Registers,
        attempt: Attempt,
    ) -> Result<Settled, Box<MemberFault>> {
        // SAFETY: registers of a run point to its arena and its meter.
        let (arena, meter) = unsafe { (&*registers.region_arena, &*registers.meter) };
        // SAFETY: the caller's promise.
        let elements = unsafe { self.load_elements(axes, frame, columns, attempt.strips(registers), arena)? };
        let runs = self.runs_of(elements.shape(), arena);
        for (fold, runs) in self.folds.iter().zip(runs) {
            let checked = fold.kernel.check_elements(*runs);
            checked.map_err(|fault| Box::new(MemberFault { ip: fold.ip, fault }))?;
        }
        // SAFETY: the caller's promise; no input shares the array of an output (invariant 1).
        let rows = unsafe { self.place_elements(frame, &elements, columns, meter)? };
        self.charge(rows, elements.seen, meter, attempt)?;
        let is_side_by_side = self.is_side_by_side() && !elements.are_short;
        let (plan, strips) = (self.plan(elements.are_short), attempt.strips(registers));
        let rows_at_once = if is_side_by_side { self.rows_at_once(columns, &elements, runs) } else { None };
        let whole_runs =
            rows_at_once.and_then(|at_once| self.choose_whole_runs(columns, rows, at_once, strips));
        let mut choice = whole_runs.unwrap_or_else(|| self.choose(plan, columns, &[], None, rows, strips));
        if is_side_by_side && !elements.has_rows_in_place() {
            // Strips that have been compiled in this run: inputs are gathered.
            choice = self.passes();
        }
        let (moving, uneven) = (elements.moving, Uneven::Elements(&elements));
        let all = AllRows { rows, columns, presence: &[], moving, uneven, runs, choice };
        // SAFETY: all columns but those in scratch memory have this many elements now.
        unsafe { self.run_columns(all, frame, registers) }
    }

    /// Forgets presence words of outputs that miss no row.
    ///
    /// # Safety
    /// As [`Region::run`].
    #[inline(always)]
    pub(super) unsafe fn normalize(&self, frame: *mut u8, presence: &[Presence]) {
        if presence.is_empty() {
            return;
        }
        for output in &self.outputs {
            // SAFETY: the caller's promise.
            unsafe { array_at(frame, output.slot.offset()).normalize() };
        }
    }

    /// Makes room in the outputs and points their columns to it.
    ///
    /// # Safety
    /// As [`Region::run`].
    pub(super) unsafe fn place(
        &self,
        frame: *mut u8,
        rows: usize,
        columns: &mut [Column],
        presence: &[Presence],
        meter: &Meter<'_>,
    ) -> Result<(), Box<MemberFault>> {
        for output in &self.outputs {
            let index = output.column as usize;
            // SAFETY: the caller's promise.
            let array = unsafe { array_at(frame, output.slot.offset()) };
            // Whether an array may have so many rows was asked when they were charged.
            let room = array.resize_for_kernel(output.element, rows, meter);
            room.map_err(|stop| self.fault_of(output.column, stop.into()))?;
            let column = &mut columns[index];
            if presence.get(index) == Some(&Presence::Own) {
                let words = array.presence_within(meter);
                let words = words.map_err(|stop| self.fault_of(output.column, stop.into()))?;
                column.presence = words.as_mut_ptr();
            }
            column.data = array.cells_mut().as_mut_ptr();
        }
        Ok(())
    }

    /// Makes room in the outputs for elements and points their columns to it; gives how many there are.
    ///
    /// # Safety
    /// As [`Region::run`].
    unsafe fn place_elements(
        &self,
        frame: *mut u8,
        elements: &Elements<'_>,
        columns: &mut [Column],
        meter: &Meter<'_>,
    ) -> Result<usize, Box<MemberFault>> {
        let shape = elements.shape();
        for output in &self.outputs {
            let qtype = output.slot.qtype().nd().expect("an output over axes");
            // SAFETY: the caller's promise.
            let handle = unsafe { handle_at(frame, output.slot.offset()) };
            if elements.is_strided(output.column) {
                handle.make_strided_room(qtype, shape).expect("its column points there");
                continue;
            }
            let room = handle.make_room(qtype, shape, meter);
            let room = room.map_err(|stop| self.fault_of(output.column, stop.into()))?;
            columns[output.column as usize].data = room;
        }
        Ok(shape.iter().product())
    }

    /// Says whether what strips have taken in tells the results of folds, and counts how often it does not.
    #[inline]
    fn settle(&self, folded: &[Folded<'_>], choice: Choice<'_>) -> Settled {
        let (Some(plan), [_, ..], [_, ..]) = (&self.strips, choice.strips, folded) else {
            return Settled::All;
        };
        let is_open = folded.iter().any(|folded| folded.is_open);
        plan.open.count(is_open);
        if is_open { Settled::NotAll } else { Settled::All }
    }

    /// Charges the rows that all members go over, and those seen through views, once.
    pub(super) fn charge(
        &self,
        rows: usize,
        seen: usize,
        meter: &Meter<'_>,
        attempt: Attempt,
    ) -> Result<(), Box<MemberFault>> {
        if attempt == Attempt::Passes {
            return Ok(());
        }
        let all = rows.saturating_mul(self.members.len()).saturating_add(seen);
        meter.check_array(rows).and_then(|()| meter.rows(all)).map_err(|fault| self.stopped(fault))
    }

    /// A fault of the member whose result is the column.
    #[cold]
    fn fault_of(&self, column: u16, fault: Fault) -> Box<MemberFault> {
        let member = &self.members[column as usize - self.inputs.len()];
        Box::new(MemberFault { ip: member.ip, fault })
    }

    /// A fault of all members.
    #[cold]
    pub(super) fn stopped(&self, fault: Fault) -> Box<MemberFault> {
        Box::new(MemberFault { ip: self.members[0].ip, fault })
    }
}

/// Gives back the memory of a region that has run, if there is much.
#[inline]
fn give_back(arena: &mut Bump) {
    if arena.allocated_bytes() > KEPT {
        arena.reset();
    }
}

/// The handle in a slot of an n-dimensional array.
///
/// # Safety
/// It stands at the offset, and nobody else accesses it.
unsafe fn handle_at<'f>(frame: *mut u8, offset: u32) -> &'f mut NdHandle {
    // SAFETY: the caller's promise.
    unsafe { &mut *frame.add(offset as usize).cast::<NdHandle>() }
}

/// The frame's own rows of an array slot.
///
/// # Safety
/// An array handle stands at the offset, and nobody else accesses it.
unsafe fn array_at<'f>(frame: *mut u8, offset: u32) -> &'f mut ArrayRows {
    // SAFETY: the caller's promise.
    unsafe { (*frame.add(offset as usize).cast::<ArrayHandle>()).owned() }
}

/// How a region is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Attempt {
    /// As it is chosen.
    First,
    /// Again, as passes, which take in rows in their order.
    Passes,
}

impl Attempt {
    fn strips(self, registers: &Registers) -> Strips {
        match self {
            Attempt::First => registers.strips,
            Attempt::Passes => Strips::Never,
        }
    }
}

/// What a run has settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Settled {
    /// All there is to compute.
    All,
    /// Not the results of folds that depend on the order of rows, or none, as there are rare rows: passes settle them.
    NotAll,
}

/// All rows or elements of a region, as [`Blocks`] has them, and how they are computed.
struct AllRows<'a> {
    rows: usize,
    columns: &'a mut [Column],
    presence: &'a [Presence],
    moving: &'a [u16],
    uneven: Uneven<'a>,
    runs: &'a [Runs],
    choice: Choice<'a>,
}
