//! Runs a region: sizes first, then block after block.

use crate::layout::handle::ArrayHandle;
use crate::machine::tile::region::{Input, Place, Region};
use crate::operator::block::{Column, Operands, RowFault, Target, intersect};
use crate::operator::call::check_rows;
use crate::operator::cell::{Cell, Registers, next, raise};
use crate::value::array::ROWS_OF_A_WORD;
use crate::value::{ArrayRows, Fault};
use crate::vector::Level;
use bumpalo::Bump;

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

/// What is known before the first block.
struct Run<'r> {
    region: &'r Region,
    rows: usize,
    /// Columns, at the first row.
    columns: &'r mut [Column],
    presence: &'r [Presence],
    level: Level,
}

impl Region {
    /// Computes all rows of the outputs.
    ///
    /// # Safety
    /// `frame` is a frame that the slots of inputs and outputs were verified for.
    unsafe fn run(&self, frame: *mut u8, arena: &Bump) -> Result<(), Box<MemberFault>> {
        let columns = arena.alloc_slice_copy(&self.columns);
        // SAFETY: the caller's promise.
        let rows = unsafe { self.load(frame, columns)? };
        let presence = arena.alloc_slice_fill_copy(columns.len(), Presence::Alike);
        self.plan_presence(columns, presence);
        let scratch = arena.alloc_layout(self.scratch_layout()).as_ptr();
        // SAFETY: the caller's promise; no input shares the array of an output (invariant 1).
        unsafe { self.place(frame, rows, columns, presence, scratch) };
        let mut run = Run { region: self, rows, columns, presence, level: Level::best() };
        // SAFETY: all columns have this many rows now.
        let outcome = unsafe { run.blocks() };
        for output in &self.outputs {
            // SAFETY: as above.
            unsafe { array_at(frame, output.offset).normalize() };
        }
        outcome
    }

    fn scratch_layout(&self) -> std::alloc::Layout {
        std::alloc::Layout::from_size_align(self.scratch, 64).expect("a region has few blocks")
    }

    /// Looks at the inputs; gives the number of rows.
    ///
    /// # Safety
    /// As [`Region::run`].
    unsafe fn load(&self, frame: *const u8, columns: &mut [Column]) -> Result<usize, Box<MemberFault>> {
        let mut rows = None;
        let mut agree = true;
        for (column, input) in columns.iter_mut().zip(&self.inputs) {
            // SAFETY: the caller's promise.
            let size = unsafe { load(frame, input, column) };
            agree &= size.is_none_or(|size| *rows.get_or_insert(size) == size);
        }
        match agree {
            true => Ok(rows.expect("a region has an array")),
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
            let mut column = Column::MISSING;
            // SAFETY: the caller's promise.
            unsafe { load(frame, input, &mut column) }
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

    /// Where the presence of every member's rows will stand, from what inputs have.
    fn plan_presence(&self, columns: &mut [Column], presence: &mut [Presence]) {
        let inputs = self.inputs.len();
        let is_complete = columns[..inputs].iter().all(Column::is_all_present);
        for index in 0..inputs {
            if !columns[index].presence.is_null() {
                presence[index] = Presence::Input(index as u16);
            }
        }
        for (index, member) in (inputs..).zip(&self.members) {
            if !member.kernel.is_lifted {
                presence[index] = Presence::Own;
            } else if !is_complete || self.has_masks {
                let mut merged = Presence::Alike;
                for arg in member.args().iter().map(|arg| *arg as usize) {
                    columns[index].all &= columns[arg].all;
                    merged = match (merged, presence[arg]) {
                        (known, Presence::Alike) => known,
                        (Presence::Alike, Presence::Input(input)) => Presence::Input(input),
                        (known, other) if known == other && other != Presence::Own => known,
                        _ => Presence::Own,
                    };
                }
                let may_miss = merged != Presence::Alike || columns[index].all == 0;
                // An output has words of its own, and so have rows that one missing value takes away.
                let is_output = matches!(member.place, Place::Output(_));
                let is_taken = columns[index].all == 0 && merged != Presence::Alike;
                presence[index] = if is_taken || is_output && may_miss { Presence::Own } else { merged };
            }
        }
    }

    /// Points the columns of members to where their first rows go, and makes room in the outputs.
    ///
    /// # Safety
    /// As [`Region::run`]; `scratch` has the bytes of the region's scratch memory.
    unsafe fn place(
        &self,
        frame: *mut u8,
        rows: usize,
        columns: &mut [Column],
        presence: &[Presence],
        scratch: *mut u8,
    ) {
        for (index, member) in (self.inputs.len()..).zip(&self.members) {
            let (data, words) = match member.place {
                // SAFETY: the place lies in the scratch memory.
                Place::Scratch(offset) => unsafe {
                    let data = scratch.add(offset as usize);
                    (data, data.add(self.block * 8).cast())
                },
                Place::Output(number) => {
                    let output = &self.outputs[number as usize];
                    // SAFETY: the caller's promise.
                    let array = unsafe { array_at(frame, output.offset) };
                    array.resize(output.element, rows);
                    let words = match presence[index] {
                        Presence::Own => array.presence_mut().as_mut_ptr(),
                        _ => std::ptr::null_mut(),
                    };
                    (array.bytes_mut().as_mut_ptr(), words)
                }
            };
            columns[index].data = data;
            columns[index].presence = match presence[index] {
                Presence::Alike => std::ptr::null(),
                Presence::Input(input) => columns[input as usize].presence,
                Presence::Own => words,
            };
        }
    }
}

/// The frame's own rows of an array slot.
///
/// # Safety
/// An array handle stands at the offset, and nobody else accesses it.
unsafe fn array_at<'f>(frame: *mut u8, offset: u32) -> &'f mut ArrayRows {
    // SAFETY: the caller's promise.
    unsafe { (*frame.add(offset as usize).cast::<ArrayHandle>()).owned() }
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
    /// Computes all rows.
    ///
    /// # Safety
    /// Every column has the rows, and nobody else accesses those of members.
    unsafe fn blocks(&mut self) -> Result<(), Box<MemberFault>> {
        let block = self.region.block;
        let mut start = 0;
        while start < self.rows {
            // SAFETY: the caller's promise.
            unsafe { self.block(start, block.min(self.rows - start))? };
            start += block;
            if start < self.rows {
                self.advance(block);
            }
        }
        Ok(())
    }

    /// Moves the columns on by one block; those in scratch memory stay.
    fn advance(&mut self, block: usize) {
        let inputs = self.region.inputs.len();
        for (index, column) in self.columns.iter_mut().enumerate() {
            let member = index.checked_sub(inputs).map(|member| &self.region.members[member]);
            let in_scratch = member.is_some_and(|member| matches!(member.place, Place::Scratch(_)));
            if !in_scratch {
                column.data = column.data.wrapping_add(block * column.step);
            }
            let own_scratch = in_scratch && self.presence[index] == Presence::Own;
            if !own_scratch && !column.presence.is_null() {
                column.presence = column.presence.wrapping_add(block / ROWS_OF_A_WORD);
            }
        }
    }

    /// Computes one block.
    ///
    /// # Safety
    /// As [`Run::blocks`]; the columns stand at `start`.
    unsafe fn block(&mut self, start: usize, mut count: usize) -> Result<(), Box<MemberFault>> {
        let inputs = self.region.inputs.len();
        let columns = self.columns.as_ptr();
        let mut lowest = None;
        for (index, member) in (inputs..).zip(&self.region.members) {
            // SAFETY: the caller's promise: the operands have these rows, the result has room for them; only
            // a column that is written is cast to be so.
            let outcome = unsafe {
                let column = *columns.add(index);
                let args = Operands { columns, positions: &member.args };
                let target = Target { data: column.data.cast_mut(), presence: column.presence.cast_mut() };
                if member.kernel.is_lifted && self.presence[index] == Presence::Own {
                    let operands = (0..member.arity as usize).map(|arg| args.column(arg));
                    intersect(operands, target.presence, count);
                }
                (member.kernel.run(self.level))(args, target, count)
            };
            if let Err(fault) = outcome {
                let RowFault { row, fault } = *fault;
                // Later members can only raise in a lower row.
                count = row;
                let row = (start + row) as u64;
                lowest = Some(MemberFault { ip: member.ip, fault: Fault::Row { row, fault: fault.into() } });
            }
        }
        lowest.map_or(Ok(()), |fault| Err(Box::new(fault)))
    }
}
