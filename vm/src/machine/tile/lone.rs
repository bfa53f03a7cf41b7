//! Lone regions: all of a program is one region over [rows or elements in order](super::in_order), and perhaps scalar cells behind
//! it, as most expressions over rows are.
//!
//! ```text
//! any program    registers | meter | cells: region … end | memory given back
//! lone region                               strip
//! ```
//!
//! A run without limits that needs no more memory than the frame has would set up what nobody looks at. So the strip is called at
//! once, if it is compiled; a run that is not as most are is left to the code for all of them, from its beginning.

use crate::array::block::Column;
use crate::frame::Frame;
use crate::layout::handle::ArrayHandle;
use crate::layout::nd_handle::NdHandle;
use crate::machine::options::RunLimits;
use crate::machine::tile::in_order::InOrder;
use crate::machine::tile::region::Region;
use crate::machine::tile::schedule::Presence;
use std::mem::MaybeUninit;
use std::ptr;

/// Most columns of a lone region: they stand on the stack.
const MOST_COLUMNS: usize = 64;

impl Region {
    /// True if it may be [run alone](Region::run_alone).
    pub(in crate::machine) fn may_run_alone(&self) -> bool {
        let is_for_strips = self.in_order.as_ref().is_some_and(|inputs| inputs.are_for_strips);
        is_for_strips && self.scans.is_empty() && self.columns.len() <= MOST_COLUMNS
    }

    /// Computes all rows where that takes no more than its strip and memory that the frame has; false if it takes more, and all is
    /// still to be computed.
    ///
    /// # Safety
    /// The slots of inputs and outputs were verified for the layout of the frame, whose inputs are written, and the region
    /// [may run alone](Region::may_run_alone).
    #[inline]
    pub(in crate::machine) unsafe fn run_alone(&self, frame: &mut Frame) -> bool {
        let (Some(inputs), Some(plan)) = (&self.in_order, &self.strips) else { return false };
        if !plan.may_take_rows(RunLimits::DEFAULT.strips) {
            return false;
        }
        let mut places = [const { MaybeUninit::<Column>::uninit() }; MOST_COLUMNS];
        let mut put = |column: u16, data, presence| {
            places[column as usize].write(Column { data, presence, ..Column::MISSING });
        };
        let base = frame.base();
        // SAFETY: the caller's promise; nobody else uses the frame. A strip reads and writes the columns of inputs, outputs and folds.
        unsafe {
            let arena = &*frame.scratch().of_region();
            let Some(found) = inputs.place(&self.inputs, base, arena, &mut put) else { return false };
            let rows = found.count;
            let Some((choice, strip, presence)) = plan.of_rows(self.complete_signature | found.may_miss)
            else {
                return false;
            };
            let of_lanes = choice.strip_of_lanes(rows);
            if of_lanes.is_none() && !choice.is_at_once(rows)
                || !self.reuse_outputs(base, found, presence, put)
            {
                return false;
            }
            let columns = places.as_mut_ptr().cast();
            let is_settled = match of_lanes {
                None => strip.run_once(columns, rows),
                Some(strip) => self.fold_chunk(strip, rows, columns, base),
            };
            if inputs.may_be_laid_out() {
                frame.reset_scratch();
            }
            self.normalize(base, presence);
            is_settled
        }
    }

    /// Gives where the rows or elements of each output stand, and presence of its own, by column, if the frame has memory for so many;
    /// false if it has not.
    ///
    /// # Safety
    /// As [`Region::place`].
    #[inline(always)]
    pub(super) unsafe fn reuse_outputs(
        &self,
        frame: *mut u8,
        InOrder { count, sizes, .. }: InOrder<'_>,
        presence: &[Presence],
        mut put: impl FnMut(u16, *const u8, *const u64),
    ) -> bool {
        self.outputs.iter().all(|output| {
            let slot = frame.wrapping_add(output.slot.offset() as usize);
            let (first, words) = match sizes {
                None => {
                    // SAFETY: the caller's promise.
                    let ArrayHandle::Owned(array) = (unsafe { &mut *slot.cast::<ArrayHandle>() }) else {
                        return false;
                    };
                    if !array.reuse_for_kernel(output.element, count) {
                        return false;
                    }
                    let words = match presence.get(output.column as usize) {
                        Some(Presence::Own) => array.reuse_presence().map(|words| words.as_ptr()),
                        _ => Some(ptr::null()),
                    };
                    let Some(words) = words else { return false };
                    (array.cells_mut().as_ptr(), words)
                }
                Some(sizes) => {
                    let qtype = output.slot.qtype().nd().expect("an output over axes");
                    // SAFETY: as above.
                    let handle = unsafe { &mut *slot.cast::<NdHandle>() };
                    let Some(first) = handle.reuse_room(qtype, sizes) else { return false };
                    (first.cast_const(), ptr::null())
                }
            };
            put(output.column, first, words);
            true
        })
    }
}
