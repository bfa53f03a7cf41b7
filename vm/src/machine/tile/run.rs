//! Runs a region: sizes first, then block after block.

use crate::layout::handle::ArrayHandle;
use crate::machine::tile::region::{Input, Member, Place, Region};
use crate::operator::block::{Column, Columns, RowFault, Target, intersect};
use crate::operator::call::check_rows;
use crate::operator::cell::{Cell, Registers, next, raise};
use crate::value::Fault;
use crate::value::array::{ROWS_OF_A_WORD, cell_size};
use crate::vector::Level;
use bumpalo::Bump;
use std::ops::Range;

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
        let outcome = region.run(frame, &*(*registers).arena);
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

/// What a member raises.
struct MemberFault {
    ip: u32,
    fault: Fault,
}

/// Where the presence of a column stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Presence {
    /// All rows are alike; the column says how.
    Alike,
    /// In the words of the input with this number.
    Input(u16),
    /// In words of its own.
    Own,
}

/// What stays the same for all blocks of a run.
struct Run<'r> {
    region: &'r Region,
    /// Columns at the first row.
    base: &'r [Column],
    presence: &'r [Presence],
    /// First cell and first word of each output.
    outputs: &'r [Target],
    scratch: *mut u8,
    level: Level,
}

impl Region {
    /// Computes all rows of the outputs.
    ///
    /// # Safety
    /// `frame` is a frame that the slots of inputs and outputs were verified for.
    unsafe fn run(&self, frame: *mut u8, arena: &Bump) -> Result<(), Box<MemberFault>> {
        let mut rows = None;
        let mut agree = true;
        let columns = self.inputs.len() + self.members.len();
        let base = arena.alloc_slice_fill_copy(columns, Column::MISSING);
        for (column, input) in base.iter_mut().zip(&self.inputs) {
            // SAFETY: the caller's promise.
            let size = unsafe { load(frame, input, column) };
            agree &= size.is_none_or(|size| *rows.get_or_insert(size) == size);
        }
        if !agree {
            // SAFETY: the caller's promise.
            unsafe { self.find_mismatch(frame)? };
        }
        let rows = rows.expect("a region has an array");
        let presence = arena.alloc_slice_fill_copy(columns, Presence::Alike);
        self.plan_presence(base, presence);
        let target = Target { data: std::ptr::null_mut(), presence: std::ptr::null_mut() };
        let outputs = arena.alloc_slice_fill_copy(self.outputs.len(), target);
        for (index, member) in self.members.iter().enumerate() {
            let Place::Output(number) = member.place else { continue };
            let output = &self.outputs[number as usize];
            // SAFETY: an array slot holds an array handle; no input shares it (invariant 1).
            let array = unsafe { (*frame.add(output.offset as usize).cast::<ArrayHandle>()).owned() };
            array.resize(output.element, rows);
            let column = self.inputs.len() + index;
            let may_miss = presence[column] != Presence::Alike || !base[column].is_all_present();
            outputs[number as usize] = Target {
                presence: match may_miss {
                    true => array.presence_mut().as_mut_ptr(),
                    false => std::ptr::null_mut(),
                },
                data: array.bytes_mut().as_mut_ptr(),
            };
        }
        let run = Run {
            region: self,
            base,
            presence,
            outputs,
            scratch: arena.alloc_layout(self.scratch_layout()).as_ptr(),
            level: Level::best(),
        };
        // SAFETY: inputs and outputs have this many rows.
        let outcome = unsafe { run.blocks(0..rows, arena) };
        for (output, target) in self.outputs.iter().zip(&*outputs) {
            if !target.presence.is_null() {
                // SAFETY: as above.
                unsafe { (*frame.add(output.offset as usize).cast::<ArrayHandle>()).owned().normalize() };
            }
        }
        outcome
    }

    fn scratch_layout(&self) -> std::alloc::Layout {
        std::alloc::Layout::from_size_align(self.scratch, 64).expect("a region has few blocks")
    }

    /// Where the presence of every member's rows will stand, from what inputs have.
    fn plan_presence(&self, base: &mut [Column], presence: &mut [Presence]) {
        let inputs = self.inputs.len();
        for (index, column) in base.iter().enumerate().take(inputs) {
            if !column.presence.is_null() {
                presence[index] = Presence::Input(index as u16);
            }
        }
        for (index, member) in self.members.iter().enumerate() {
            let column = inputs + index;
            base[column].step = cell_size(member.element);
            base[column].all = u64::MAX;
            if !member.kernel.is_lifted {
                presence[column] = Presence::Own;
                continue;
            }
            for arg in member.args.iter().map(|arg| *arg as usize) {
                base[column].all &= base[arg].all;
                presence[column] = match (presence[column], presence[arg]) {
                    (known, Presence::Alike) => known,
                    (Presence::Alike, Presence::Input(input)) => Presence::Input(input),
                    (known, other) if known == other && other != Presence::Own => known,
                    _ => Presence::Own,
                };
            }
            let misses_some = base[column].all == 0 && presence[column] != Presence::Alike;
            let is_output = matches!(member.place, Place::Output(_));
            let may_miss = presence[column] != Presence::Alike || base[column].all == 0;
            // Words of an output are its own; so are those of rows that one missing value takes away.
            if misses_some || is_output && may_miss {
                presence[column] = Presence::Own;
            }
        }
    }

    /// The first member whose arrays are of different sizes.
    ///
    /// # Safety
    /// As [`Region::run`].
    #[cold]
    unsafe fn find_mismatch(&self, frame: *mut u8) -> Result<(), Box<MemberFault>> {
        let size_of = |input: &Input| {
            let mut column = Column::MISSING;
            // SAFETY: the caller's promise.
            unsafe { load(frame, input, &mut column) }
        };
        let mut sizes: Vec<Option<usize>> = self.inputs.iter().map(size_of).collect();
        for member in &self.members {
            let of_args: Vec<usize> = member.args.iter().filter_map(|arg| sizes[*arg as usize]).collect();
            if of_args.iter().any(|size| *size != of_args[0]) {
                let sizes = of_args.iter().map(|size| *size as u64).collect();
                return Err(Box::new(MemberFault { ip: member.ip, fault: Fault::Sizes { sizes } }));
            }
            sizes.push(of_args.first().copied());
        }
        unreachable!("connected members whose arrays agree have one size")
    }
}

/// Looks at an input; gives the number of rows of an array.
///
/// # Safety
/// `frame` is a frame that the slot of the input was verified for.
unsafe fn load(frame: *const u8, input: &Input, column: &mut Column) -> Option<usize> {
    // SAFETY: the caller's promise: array slots hold array handles, and a presence byte is there.
    unsafe {
        match *input {
            Input::Array { offset, element } => {
                let rows = (*frame.add(offset as usize).cast::<ArrayHandle>()).view();
                check_rows(rows, element);
                *column = Column::of_rows(rows, element);
                Some(rows.len())
            }
            Input::Scalar { offset, presence } => {
                let present = presence.is_none_or(|at| frame.add(at as usize).read() != 0);
                *column = Column::of_value(frame.add(offset as usize), present);
                None
            }
        }
    }
}

impl Run<'_> {
    /// Computes these rows, which begin at the start of a word.
    ///
    /// # Safety
    /// Inputs and outputs have these rows, and nobody else accesses those of the outputs or the scratch
    /// memory.
    unsafe fn blocks(&self, rows: Range<usize>, arena: &Bump) -> Result<(), Box<MemberFault>> {
        let columns: &mut [Column] = arena.alloc_slice_copy(self.base);
        let first = columns.as_mut_ptr();
        let args_of = |member: &Member| -> Columns {
            let mut args: Columns = [first; 4];
            for (arg, column) in args.iter_mut().zip(&member.args) {
                // SAFETY: a member reads columns of its region.
                *arg = unsafe { first.add(*column as usize) };
            }
            args
        };
        let args: &[Columns] = arena.alloc_slice_fill_iter(self.region.members.iter().map(args_of));
        for start in rows.clone().step_by(self.region.block) {
            let count = self.region.block.min(rows.end - start);
            // SAFETY: the caller's promise; `first` points to all columns, which only this loop accesses.
            unsafe { self.block(first, args, start, count)? };
        }
        Ok(())
    }

    /// Computes one block.
    ///
    /// # Safety
    /// As [`Run::blocks`]; `columns` points to the columns of the region, which `args` refer to.
    unsafe fn block(
        &self,
        columns: *mut Column,
        args: &[Columns],
        start: usize,
        mut count: usize,
    ) -> Result<(), Box<MemberFault>> {
        let inputs = self.region.inputs.len();
        let word = start / ROWS_OF_A_WORD;
        let mut lowest = None;
        // SAFETY: the caller's promise: every column has these rows, and words where it has presence.
        unsafe {
            for (index, base) in self.base[..inputs].iter().enumerate() {
                let column = &mut *columns.add(index);
                column.data = base.data.wrapping_add(start * base.step);
                column.presence = base.presence_from(word);
            }
            for (index, member) in self.region.members.iter().enumerate() {
                let target = self.target(member, start);
                let column = columns.add(inputs + index);
                (*column).data = target.data;
                (*column).presence = match self.presence[inputs + index] {
                    Presence::Alike => std::ptr::null(),
                    Presence::Input(input) => self.base[input as usize].presence_from(word),
                    Presence::Own => target.presence,
                };
                let kernel = &member.kernel;
                if kernel.is_lifted && self.presence[inputs + index] == Presence::Own {
                    let operands = args[index][..member.args.len()].iter().map(|column| &**column);
                    intersect(operands, target.presence, count);
                }
                if let Err(fault) = (kernel.run(self.level))(&args[index], target, count) {
                    let RowFault { row, fault } = *fault;
                    // Later members can only raise in a lower row.
                    count = row;
                    let row = (start + row) as u64;
                    lowest =
                        Some(MemberFault { ip: member.ip, fault: Fault::Row { row, fault: fault.into() } });
                }
            }
        }
        lowest.map_or(Ok(()), |fault| Err(Box::new(fault)))
    }

    /// Where the rows of a member from `start` on go.
    ///
    /// # Safety
    /// Outputs have this row.
    unsafe fn target(&self, member: &Member, start: usize) -> Target {
        // SAFETY: the caller's promise; scratch places lie in the scratch memory.
        unsafe {
            match member.place {
                Place::Scratch(offset) => {
                    let data = self.scratch.add(offset as usize);
                    Target { data, presence: data.add(self.region.block * 8).cast() }
                }
                Place::Output(number) => {
                    let Target { data, presence } = self.outputs[number as usize];
                    Target {
                        data: data.add(start * cell_size(member.element)),
                        presence: match presence.is_null() {
                            true => presence,
                            false => presence.add(start / ROWS_OF_A_WORD),
                        },
                    }
                }
            }
        }
    }
}
