//! Steps: what runs for a block, with the columns at its first row.
//!
//! A region whose rows are one block runs its steps one after the other, and prepares for nothing else: no
//! [worker](super::worker), no threads.

use crate::array::block::{Column, Operands, RowFault, Target, intersect};
use crate::array::fold_kernel::Folded;
use crate::array::scan::{Block, Carry, ScanRun};
use crate::machine::tile::blocks::Outcome;
use crate::machine::tile::choose::Choice;
use crate::machine::tile::rare::Again;
use crate::machine::tile::region::{Fold, MemberFault, Region};
use crate::machine::tile::schedule::{Code, Presence, Schedule, Step};
use crate::machine::tile::strips::LoadedStrip;
use crate::value::Fault;
use bumpalo::Bump;
use std::alloc::Layout;

/// Where rows of a block stand.
pub(super) struct Rows<'w> {
    /// How many columns are inputs.
    pub(super) inputs: usize,
    /// The columns at the block.
    pub(super) columns: &'w [Column],
    /// By column; empty if no row of any of them can be missing.
    pub(super) presence: &'w [Presence],
    /// The strips of the schedule.
    pub(super) strips: &'w [LoadedStrip],
    /// The folds of the region.
    pub(super) folds: &'w [Fold],
}

impl Rows<'_> {
    /// Runs a step, other than a scan: [`Rows::scan`].
    ///
    /// # Safety
    /// The columns have so many rows, of the types that the step was made for; blocks of rows begin at words.
    #[inline(always)]
    pub(super) unsafe fn run(
        &self,
        step: &Step,
        count: usize,
        folded: &mut [Folded<'_>],
    ) -> Result<(), Box<StepFault>> {
        match step.code {
            // SAFETY: the caller's promise.
            Code::Rows { run, is_lifted } => unsafe {
                let (args, target) = self.operands(step, is_lifted, count);
                run(args, target, count).map_err(|fault| StepFault::of(step, *fault))
            },
            Code::Strip(number) => {
                let strip = &self.strips[number as usize];
                // SAFETY: as above.
                let has_fired = unsafe { strip.run(self.columns.as_ptr(), 0..count) };
                match &strip.again {
                    None => Ok(()),
                    // SAFETY: as above.
                    Some(again) => unsafe { self.finish_rare(again, has_fired, count, folded) },
                }
            }
            Code::Fold(number) => {
                let from = [0, 1].map(|arg| &self.columns[step.args[arg] as usize]);
                let kernel = &self.folds[number as usize].kernel;
                // SAFETY: as above: the operands have all axes of the region, so that they have these elements, or they
                // have these rows.
                unsafe { kernel.step(&mut folded[number as usize], from, count) };
                Ok(())
            }
            Code::Scan(..) => unreachable!("a scan asks where rows stand in their run"),
        }
    }

    /// What is left to do for a block of a strip that may have fired.
    ///
    /// # Safety
    /// As [`Rows::run`], for the members of the strip.
    #[inline]
    unsafe fn finish_rare(
        &self,
        again: &Again,
        has_fired: bool,
        count: usize,
        folded: &mut [Folded<'_>],
    ) -> Result<(), Box<StepFault>> {
        again.fired.count(has_fired);
        match has_fired {
            // SAFETY: the caller's promise.
            true => unsafe { self.run_again(again, count, folded) },
            false => Ok(()),
        }
    }

    /// Runs the members of a strip as passes.
    ///
    /// # Safety
    /// As [`Rows::run`], for these members.
    #[cold]
    unsafe fn run_again(
        &self,
        again: &Again,
        mut count: usize,
        folded: &mut [Folded<'_>],
    ) -> Result<(), Box<StepFault>> {
        assert!(count <= again.passes.block, "a strip that can fire runs for one block");
        let arena = Bump::new();
        let columns = arena.alloc_slice_copy(self.columns);
        again.passes.place_scratch(self.presence, columns, &arena);
        follow_inputs(self.presence, columns);
        let rows = Rows { columns, ..*self };
        let mut lowest = Ok(());
        for step in &again.passes.steps {
            // SAFETY: the caller's promise; what only the strip reads has a place for a block.
            if let Err(fault) = unsafe { rows.run(step, count, folded) } {
                // Later members can only raise in a lower row.
                count = fault.row();
                lowest = Err(fault);
            }
        }
        lowest
    }

    /// Runs the step of a scan over so many elements or rows of the columns, the first at a place of a run. `carry` is the column that
    /// points to what is carried.
    ///
    /// # Safety
    /// As [`Rows::run`]; what is carried has its place.
    pub(super) unsafe fn scan(
        &self,
        step: &Step,
        (scan, carry): (ScanRun, u16),
        count: usize,
        (place, run): (usize, usize),
    ) {
        // SAFETY: the caller's promise: the operand has all axes or rows of the region, so that it has these elements, and the
        // result has room for them. Nobody else has the carry of this thread.
        unsafe {
            let (args, target) = self.operands(step, true, count);
            let Column { data: from, presence, .. } = *args.column(0);
            let carry = &mut *self.columns[carry as usize].data.cast_mut().cast::<Carry>();
            scan(Block { from, presence, to: target.data, count, place, run }, carry);
        }
    }

    /// The operands of a step, and where its result goes, whose presence is there already if it `is_lifted`.
    ///
    /// # Safety
    /// As [`Rows::run`].
    #[inline(always)]
    unsafe fn operands<'s>(&self, step: &'s Step, is_lifted: bool, count: usize) -> (Operands<'s>, Target) {
        let index = self.inputs + step.member as usize;
        let Column { data, presence: words, .. } = self.columns[index];
        let args = Operands { columns: self.columns.as_ptr(), positions: &step.args };
        // Only a column that is written is cast to be so.
        let target = Target { data: data.cast_mut(), presence: words.cast_mut() };
        if is_lifted && self.presence.get(index) == Some(&Presence::Own) {
            // SAFETY: the caller's promise: the operands have these rows, the result has room for them.
            unsafe {
                let operands = (0..step.arity as usize).map(|arg| args.column(arg));
                intersect(operands, target.presence, count);
            }
        }
        (args, target)
    }
}

/// A row of a block that raises, in a member.
pub(super) struct StepFault {
    member: u16,
    fault: RowFault,
}

impl StepFault {
    #[cold]
    fn of(step: &Step, fault: RowFault) -> Box<StepFault> {
        Box::new(StepFault { member: step.member, fault })
    }

    /// The row.
    pub(super) fn row(&self) -> usize {
        self.fault.row
    }
}

/// All rows or elements of a region.
#[derive(Clone, Copy)]
pub(super) struct Whole {
    /// How many there are.
    pub(super) rows: usize,
    /// How many stand along the last axis.
    pub(super) size: usize,
}

/// Points columns that have the presence of an input to where that stands.
pub(super) fn follow_inputs(presence: &[Presence], columns: &mut [Column]) {
    for (index, presence) in presence.iter().enumerate() {
        if let Presence::Input(input) = *presence {
            columns[index].presence = columns[input as usize].presence;
        }
    }
}

impl Schedule {
    /// Gives the columns of scratch memory a place in the arena.
    #[inline(always)]
    pub(super) fn place_scratch(&self, presence: &[Presence], columns: &mut [Column], arena: &Bump) {
        if !self.in_scratch.is_empty() {
            self.place_columns(presence, columns, arena);
        }
    }

    /// The same where there are such columns.
    #[inline(never)]
    fn place_columns(&self, presence: &[Presence], columns: &mut [Column], arena: &Bump) {
        let layout = Layout::from_size_align(self.scratch, 64).expect("a region has few blocks");
        let scratch = arena.alloc_layout(layout).as_ptr();
        for (index, offset) in &self.in_scratch {
            columns[*index as usize].data = scratch.wrapping_add(*offset as usize);
        }
        if presence.is_empty() {
            return;
        }
        for (index, _) in &self.in_scratch {
            let column = &mut columns[*index as usize];
            if presence[*index as usize] == Presence::Own {
                // Behind the data of a block.
                column.presence = column.data.wrapping_add(self.block * 8).cast();
            }
        }
    }
}

impl Region {
    /// Runs all steps over all rows, which the schedule can take [at once](Schedule::at_once).
    ///
    /// # Safety
    /// The columns have so many rows, but for those in scratch memory.
    #[inline(always)]
    pub(super) unsafe fn run_at_once(
        &self,
        choice: Choice<'_>,
        columns: &mut [Column],
        presence: &[Presence],
        Whole { rows, size }: Whole,
        arena: &Bump,
        folded: &mut [Folded<'_>],
    ) -> Outcome {
        let Choice { schedule, strips } = choice;
        schedule.place_scratch(presence, columns, arena);
        follow_inputs(presence, columns);
        let at = Rows { inputs: self.inputs.len(), columns, presence, strips, folds: &self.folds };
        let (mut count, mut lowest) = (rows, Ok(()));
        for step in &schedule.steps {
            if let Code::Scan(run, carry) = step.code {
                // SAFETY: the caller's promise; scratch memory has room for a block.
                unsafe { at.scan(step, (run, carry), count, (0, size)) };
                continue;
            }
            // SAFETY: as above.
            if let Err(fault) = unsafe { at.run(step, count, folded) } {
                // Later members can only raise in a lower row.
                count = fault.row();
                lowest = Err(self.raised(0, *fault));
            }
        }
        lowest
    }

    /// The fault of a step in a row of a block, which begins with row `first`.
    #[cold]
    pub(super) fn raised(
        &self,
        first: usize,
        StepFault { member, fault: RowFault { row, fault } }: StepFault,
    ) -> Box<MemberFault> {
        let ip = self.members[member as usize].ip;
        Box::new(MemberFault { ip, fault: Fault::Row { row: (first + row) as u64, fault: fault.into() } })
    }
}
