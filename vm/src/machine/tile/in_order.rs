//! Rows in order: a region of rows whose inputs are whole arrays of the frame and plain values, while no row is missing.
//!
//! ```text
//! any run          views, loans, presence | sizes | room | strips or passes, and which | blocks
//! rows in order                           | sizes | room | the strip of complete rows
//! ```
//!
//! What a run finds out before its first row takes longer than some hundred rows do. A run that is as most are looks for no more
//! than it has to. Any other one, or one that is wrong, is left as it is to the code for all of them, which says what is wrong.

use crate::array::block::Column;
use crate::array::fold_kernel::CHUNK;
use crate::array::meter::Meter;
use crate::layout::handle::ArrayHandle;
use crate::machine::tile::access::{Access, FEWEST_FAR};
use crate::machine::tile::choose::Choice;
use crate::machine::tile::plan::Extent;
use crate::machine::tile::region::{Input, InputPlace, MemberFault, Region, RowsInOrder, WholeArray};
use crate::machine::tile::run::{Attempt, Settled};
use crate::machine::tile::strips::{Case, LoadedStrip, StripPlan};
use crate::operator::cell::{Registers, Strips};

// Rows below a chunk are always reached as those in caches are, and for a whole chunk another way would hardly be faster.
const _: () = assert!(CHUNK <= FEWEST_FAR);

impl RowsInOrder {
    /// Those of a region with these inputs; nothing if one of them is seen through a view or may be a missing value.
    pub(super) fn of(extent: Extent, inputs: &[Input]) -> Option<RowsInOrder> {
        let (mut arrays, mut values) = (Vec::new(), Vec::new());
        for (column, input) in (0..).zip(inputs) {
            match input.place {
                InputPlace::Array { offset, element } if input.through.is_empty() => {
                    arrays.push(WholeArray { column, offset, element });
                }
                InputPlace::Scalar { offset, presence: None, .. } => values.push((column, offset)),
                _ => return None,
            }
        }
        (extent == Extent::Rows).then(|| RowsInOrder { arrays: arrays.into(), values: values.into() })
    }

    /// Gives where the rows or the value of each input stand, by column, and says how many rows there are; nothing if they are not
    /// in order.
    ///
    /// # Safety
    /// The slots were verified for the layout of the frame, and hold what is read from them.
    #[inline(always)]
    pub(super) unsafe fn place(&self, frame: *mut u8, mut put: impl FnMut(u16, *const u8)) -> Option<usize> {
        let mut rows = None;
        for input in &self.arrays {
            // SAFETY: the caller's promise: array slots hold array handles.
            let array = match unsafe { &*frame.add(input.offset as usize).cast::<ArrayHandle>() } {
                ArrayHandle::Owned(array) => &**array,
                ArrayHandle::Shared(array) => &**array,
                ArrayHandle::Lent(_) => return None,
            };
            let are_as_many = *rows.get_or_insert(array.len()) == array.len();
            if array.element() != input.element || array.presence().is_some() || !are_as_many {
                return None;
            }
            put(input.column, array.bytes().as_ptr());
        }
        for (column, offset) in &self.values {
            put(*column, frame.wrapping_add(*offset as usize));
        }
        rows
    }
}

impl StripPlan {
    /// What runs for rows of which none is missing, if that is one strip, which is compiled.
    #[inline(always)]
    pub(super) fn of_complete_rows(
        &self,
        signature: u64,
        strips: Strips,
    ) -> Option<(Choice<'_>, &LoadedStrip)> {
        let mut variant = self.variants.get()?;
        let case = Case::new(signature, Access::Cached);
        while variant.case != case {
            variant = variant.next.get()?;
        }
        let choice = Choice { schedule: &self.schedule, strips: variant.strips.as_deref()? };
        match choice.strips {
            [strip] if self.schedule.is_one_strip && strips != Strips::Never && !self.is_often_vain() => {
                Some((choice, strip))
            }
            _ => None,
        }
    }
}

impl Region {
    /// Computes all rows where they are in order, and says whether that has settled all results; nothing if they are not, or too many,
    /// or if no strip is compiled.
    ///
    /// # Safety
    /// As [`Region::run`].
    #[inline(always)]
    pub(super) unsafe fn run_in_order(
        &self,
        frame: *mut u8,
        registers: &Registers,
    ) -> Option<Result<Settled, Box<MemberFault>>> {
        let (inputs, plan) = (self.in_order.as_ref()?, self.strips.as_ref()?);
        let (choice, strip) = plan.of_complete_rows(self.complete_signature, registers.strips)?;
        // SAFETY: registers of a run point to its arena and its meter.
        let (arena, meter) = unsafe { (&*registers.region_arena, &*registers.meter) };
        let columns = arena.alloc_slice_copy(&self.columns);
        self.begin_scans(columns, arena);
        // SAFETY: the caller's promise.
        let rows = unsafe { inputs.place(frame, |column, data| columns[column as usize].data = data)? };
        let of_lanes = choice.strip_of_lanes(rows);
        if of_lanes.is_none() && !choice.is_at_once(rows) {
            return None;
        }
        // SAFETY: the caller's promise; no input shares the array of an output, and columns have these rows then.
        let outcome = unsafe {
            self.make_room(frame, rows, columns, meter).and_then(|()| match of_lanes {
                Some(strip) => self.fold_chunk(strip, rows, columns.as_mut_ptr(), frame, arena, meter),
                None => Ok(strip.run_once(columns.as_ptr(), rows)),
            })
        };
        Some(outcome.map(|is_settled| {
            // SAFETY: the caller's promise.
            unsafe { self.normalize(frame, &self.complete) };
            if is_settled { Settled::All } else { Settled::NotAll }
        }))
    }

    /// Charges rows in order, and makes room for results.
    ///
    /// # Safety
    /// As [`Region::place`].
    #[inline(always)]
    unsafe fn make_room(
        &self,
        frame: *mut u8,
        rows: usize,
        columns: &mut [Column],
        meter: &Meter<'_>,
    ) -> Result<(), Box<MemberFault>> {
        self.charge(rows, 0, meter, Attempt::First)?;
        // SAFETY: the caller's promise.
        unsafe { self.place(frame, rows, columns, &self.complete, meter) }
    }
}
