//! Runs a region: looks at sizes and presence, makes room, and then computes block after block.
//!
//! ```text
//! rows        sizes agree    presence planned    outputs of that size       blocks
//! elements    shapes agree   never missing       outputs of that shape      blocks, faults by element
//! ```

use crate::layout::handle::{ArrayHandle, RawRows};
use crate::layout::nd_handle::NdHandle;
use crate::machine::tile::blocks::{Blocks, Uneven};
use crate::machine::tile::choose::Choice;
use crate::machine::tile::lent::Lent;
use crate::machine::tile::plan::Extent;
use crate::machine::tile::region::{Input, InputPlace, MemberFault, Region};
use crate::machine::tile::schedule::Presence;
use crate::operator::block::Column;
use crate::operator::call::check_rows;
use crate::operator::cell::{Cell, Registers, next, raise};
use crate::operator::meter::Meter;
use crate::operator::rows_out::RowsOut;
use crate::value::array::cell_size;
use crate::value::{ArrayRows, Fault, NdType};
use bumpalo::Bump;
use bumpalo::collections::Vec as BumpVec;

/// Runs the region whose number is in `args[0]`.
///
/// # Safety
/// The contract of [`Run`](crate::operator::cell::Run); `registers.regions` are the regions of the running
/// code.
pub(in crate::machine) unsafe fn run_region(
    cell: *const Cell,
    frame: *mut u8,
    registers: *mut Registers,
    float: f64,
    bits: u64,
) -> *const Cell {
    // SAFETY: the number was made together with the regions; the verifier checked the slots of their
    // inputs and outputs.
    unsafe {
        let region = &*(*registers).regions.cast::<Region>().add((*cell).args[0] as usize);
        (*registers).at = cell;
        (*registers).running = cell;
        let outcome = region.run(frame, &*registers);
        (*registers).running = std::ptr::null();
        match outcome {
            Ok(()) => next(cell, frame, registers, float, bits),
            Err(error) => {
                (*registers).blamed = Some(error.ip);
                raise(cell, registers, error.fault)
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
        // SAFETY: registers of a run point to its arena and its meter.
        let (arena, meter) = unsafe { (&*registers.arena, &*registers.meter) };
        let columns = arena.alloc_slice_copy(&self.columns);
        if let Extent::Elements(axes) = self.extent {
            // SAFETY: the caller's promise.
            return unsafe { self.run_over_axes(axes, frame, columns, registers) };
        }
        // SAFETY: the caller's promise.
        let (rows, lent) = unsafe { self.load(frame, columns, arena)? };
        self.charge(rows, meter)?;
        let presence = self.plan_presence(columns, arena);
        // SAFETY: the caller's promise; no input shares the array of an output (invariant 1).
        unsafe { self.place(frame, rows, columns, presence, meter)? };
        let choice = self.choose(columns, presence, rows, registers.strips, || true);
        let runs = self.runs_of_rows(rows, arena);
        let folded = self.begin_folds(runs, rows, arena, meter)?;
        // SAFETY: all columns but those in scratch memory have this many rows now.
        let outcome = unsafe {
            if lent.is_empty() && choice.is_at_once(rows) {
                self.run_at_once(choice, columns, presence, rows, arena, folded)
            } else {
                let (moving, uneven) = (&*self.moving, Uneven::Rows(lent));
                let (watch, Choice { schedule, strips }) = (meter.watch_place(), choice);
                let blocks = Blocks {
                    region: self,
                    schedule,
                    strips,
                    rows,
                    columns,
                    presence,
                    moving,
                    uneven,
                    runs,
                    watch,
                };
                blocks.run(arena, registers.threads, folded)
            }
        };
        self.end_folds(runs, rows, meter);
        // SAFETY: the caller's promise.
        unsafe { self.normalize(frame, presence) };
        outcome?;
        // SAFETY: the caller's promise.
        unsafe { self.finish_folds(folded, runs, &[rows], frame, meter) }
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
    ) -> Result<(), Box<MemberFault>> {
        // SAFETY: registers of a run point to its arena and its meter.
        let (arena, meter) = unsafe { (&*registers.arena, &*registers.meter) };
        // SAFETY: the caller's promise.
        let elements = unsafe { self.load_elements(axes, frame, columns, arena)? };
        let runs = self.runs_of(elements.shape(), arena);
        for (fold, runs) in self.folds.iter().zip(runs) {
            let checked = fold.kernel.check_elements(*runs);
            checked.map_err(|fault| Box::new(MemberFault { ip: fold.ip, fault }))?;
        }
        // SAFETY: the caller's promise; no input shares the array of an output (invariant 1).
        let rows = unsafe { self.place_elements(frame, elements.shape(), columns, meter)? };
        self.charge(rows, meter)?;
        let has_leaves = || runs.iter().all(|runs| elements.has_leaves_of(runs.run));
        let choice = self.choose(columns, &[], rows, registers.strips, has_leaves);
        let folded = self.begin_folds(runs, rows, arena, meter)?;
        let presence = &[];
        // SAFETY: all columns but those in scratch memory have this many elements now.
        let outcome = unsafe {
            if elements.is_in_place() && choice.is_at_once(rows) {
                self.run_at_once(choice, columns, presence, rows, arena, folded)
            } else {
                let (moving, uneven) = (elements.moving, Uneven::Elements(&elements));
                let (watch, Choice { schedule, strips }) = (meter.watch_place(), choice);
                let blocks = Blocks {
                    region: self,
                    schedule,
                    strips,
                    rows,
                    columns,
                    presence,
                    moving,
                    uneven,
                    runs,
                    watch,
                };
                blocks.run(arena, registers.threads, folded)
            }
        };
        self.end_folds(runs, rows, meter);
        outcome.map_err(|fault| Box::new(elements.locate(*fault)))?;
        // SAFETY: the caller's promise.
        unsafe { self.finish_folds(folded, runs, elements.shape(), frame, meter) }
    }

    /// Forgets presence words of outputs that miss no row.
    ///
    /// # Safety
    /// As [`Region::run`].
    #[inline(always)]
    unsafe fn normalize(&self, frame: *mut u8, presence: &[Presence]) {
        if presence.is_empty() {
            return;
        }
        for output in &self.outputs {
            // SAFETY: the caller's promise.
            unsafe { array_at(frame, output.slot.offset()).normalize() };
        }
    }

    /// Looks at the inputs; gives the number of rows, and the inputs that a worker has to lay out.
    ///
    /// # Safety
    /// As [`Region::run`].
    unsafe fn load<'a>(
        &self,
        frame: *const u8,
        columns: &mut [Column],
        arena: &'a Bump,
    ) -> Result<(usize, &'a [Lent]), Box<MemberFault>> {
        let mut rows = None;
        let mut agree = true;
        let mut lent = BumpVec::new_in(arena);
        for (index, input) in self.inputs.iter().enumerate() {
            // SAFETY: the caller's promise.
            let loaded = unsafe { load(frame, input, &mut columns[index]) };
            let Loaded::Array { rows: size, lent: raw } = loaded else { continue };
            agree &= *rows.get_or_insert(size) == size;
            lent.extend(raw.map(|rows| Lent { column: index, rows }));
        }
        match agree {
            true => Ok((rows.expect("a region has an array"), lent.into_bump_slice())),
            // SAFETY: the caller's promise.
            false => Err(unsafe { self.find_mismatch(frame) }),
        }
    }

    /// The first member whose arrays are of different sizes.
    ///
    /// # Safety
    /// As [`Region::run`].
    #[cold]
    unsafe fn find_mismatch(&self, frame: *const u8) -> Box<MemberFault> {
        let size_of = |input: &Input| {
            // SAFETY: the caller's promise.
            match unsafe { load(frame, input, &mut { Column::MISSING }) } {
                Loaded::Array { rows, .. } => Some(rows),
                Loaded::Scalar => None,
            }
        };
        let mut sizes: Vec<Option<usize>> = self.inputs.iter().map(size_of).collect();
        for member in &self.members {
            let of_args: Vec<usize> = member.args().iter().filter_map(|arg| sizes[*arg as usize]).collect();
            if of_args.iter().any(|size| *size != of_args[0]) {
                let sizes = of_args.iter().map(|size| *size as u64).collect();
                return Box::new(MemberFault { ip: member.ip, fault: Fault::Sizes { sizes } });
            }
            sizes.push(of_args.first().copied());
        }
        unreachable!("connected members whose arrays agree have one size")
    }

    /// Makes room in the outputs and points their columns to it.
    ///
    /// # Safety
    /// As [`Region::run`].
    unsafe fn place(
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
            let mut out = RowsOut::new(array, meter);
            let at_output = |fault| self.fault_of(output.column, fault);
            out.resize_for_kernel(output.element, rows).map_err(at_output)?;
            if presence.get(index) == Some(&Presence::Own) {
                columns[index].presence = out.presence_mut().map_err(at_output)?.as_mut_ptr();
            }
            columns[index].data = out.cells_mut().as_mut_ptr();
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
        shape: &[usize],
        columns: &mut [Column],
        meter: &Meter<'_>,
    ) -> Result<usize, Box<MemberFault>> {
        for output in &self.outputs {
            let qtype = output.slot.qtype().nd().expect("an output over axes");
            // SAFETY: the caller's promise.
            let handle = unsafe { handle_at(frame, output.slot.offset()) };
            let room = handle.make_room(qtype, shape, meter);
            let room = room.map_err(|stop| self.fault_of(output.column, stop.into()))?;
            columns[output.column as usize].data = room;
        }
        Ok(shape.iter().product())
    }

    /// Charges the rows that all members go over.
    fn charge(&self, rows: usize, meter: &Meter<'_>) -> Result<(), Box<MemberFault>> {
        let all = rows.saturating_mul(self.members.len());
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

/// Rows that are lent, as if they were in order; a worker lays those out that are not. The words of
/// presence are those of a worker as well: that there are some is all that counts here.
fn lent_column(lent: &RawRows) -> Column {
    Column {
        data: lent.first,
        step: cell_size(lent.element),
        presence: if lent.bitmap.is_null() { std::ptr::null() } else { lent.bitmap.cast() },
        all: u64::MAX,
    }
}

/// What an input turned out to be.
enum Loaded {
    /// One value for all rows.
    Scalar,
    /// Rows, lent or not.
    Array {
        /// How many.
        rows: usize,
        /// Where they stand, if they are lent.
        lent: Option<RawRows>,
    },
}

/// Looks at an input and fills in its column.
///
/// # Safety
/// `frame` is a frame that the slot of the input was verified for.
unsafe fn load(frame: *const u8, input: &Input, column: &mut Column) -> Loaded {
    // SAFETY: the caller's promise: array slots hold array handles, and a presence byte is there.
    unsafe {
        match input.place {
            InputPlace::Array { offset, element } => {
                let handle = &*frame.add(offset as usize).cast::<ArrayHandle>();
                if let Some(lent) = handle.lent() {
                    assert_eq!(lent.element.storage(), element.storage(), "rows of the slot's type");
                    *column = lent_column(lent);
                    return Loaded::Array { rows: lent.len, lent: Some(*lent) };
                }
                let rows = handle.view();
                check_rows(rows, element);
                *column = Column::of_rows(rows, element);
                Loaded::Array { rows: rows.len(), lent: None }
            }
            InputPlace::Scalar { offset, presence, .. } => {
                let present = presence.is_none_or(|at| frame.add(at as usize).read() != 0);
                *column = Column::of_value(frame.add(offset as usize), present);
                Loaded::Scalar
            }
            InputPlace::Elements { .. } => unreachable!("a region of rows"),
        }
    }
}
