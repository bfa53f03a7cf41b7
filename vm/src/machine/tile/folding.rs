//! Folds of a region: what is known before the first block, and the results when all blocks have been seen.

use crate::array::fold_kernel::{Folded, Known};
use crate::array::meter::Meter;
use crate::array::runs::{Runs, result_shape, runs};
use crate::layout::TypedSlot;
use crate::layout::nd_handle::NdHandle;
use crate::machine::tile::region::{Fold, MemberFault, Region};
use crate::value::budget::Account;
use bumpalo::Bump;
use bumpalo::collections::Vec as BumpVec;

impl Region {
    /// How rows or elements of this shape become one, for each fold.
    #[inline]
    pub(super) fn runs_of<'a>(&self, shape: &[usize], arena: &'a Bump) -> &'a [Runs] {
        match &*self.folds {
            [] => &[],
            folds => arena.alloc_slice_fill_iter(folds.iter().map(|fold| runs(shape, fold.axes))),
        }
    }

    /// The same of rows, which become one value.
    #[inline]
    pub(super) fn runs_of_rows<'a>(&self, rows: usize, arena: &'a Bump) -> &'a [Runs] {
        match self.folds.len() {
            0 => &[],
            folds => arena.alloc_slice_fill_copy(folds, Runs { run: rows, count: 1, width: 1 }),
        }
    }

    /// What is known before the first of so many rows or elements, which are not none. Its memory, the second result, counts
    /// until [the results are there](Region::end_folds).
    pub(super) fn begin_folds<'a>(
        &self,
        runs: &[Runs],
        rows: usize,
        arena: &'a Bump,
        meter: &Meter<'_>,
    ) -> Result<(&'a mut [Folded<'a>], u64), Box<MemberFault>> {
        let kept = self.kept_bytes(runs);
        meter.charge(kept).map_err(|stop| self.stopped(stop.into()))?;
        let mut folded = BumpVec::with_capacity_in(self.folds.len(), arena);
        for (fold, runs) in self.folds.iter().zip(runs) {
            match fold.kernel.begin(*runs, 0..rows, arena, meter.watch()) {
                Ok(state) => folded.push(state),
                Err(stop) => {
                    meter.give_back(kept);
                    return Err(Box::new(MemberFault { ip: fold.ip, fault: stop.into() }));
                }
            }
        }
        Ok((folded.into_bump_slice_mut(), kept))
    }

    /// Gives back the memory of what is known.
    #[inline(always)]
    pub(super) fn end_folds(&self, kept: u64, meter: &Meter<'_>) {
        if kept > 0 {
            meter.give_back(kept);
        }
    }

    fn kept_bytes(&self, runs: &[Runs]) -> u64 {
        self.folds.iter().zip(runs).map(|(fold, runs)| fold.kernel.kept_bytes(*runs)).sum()
    }

    /// Writes the results of folds of all rows or elements of this shape.
    ///
    /// # Safety
    /// `frame` is a frame that the slots of results were verified for; what is known is of all rows or elements.
    #[inline(never)]
    pub(super) unsafe fn finish_folds(
        &self,
        folded: &mut [Folded<'_>],
        runs: &[Runs],
        shape: &[usize],
        frame: *mut u8,
        meter: &Meter<'_>,
    ) -> Result<(), Box<MemberFault>> {
        for (number, fold) in self.folds.iter().enumerate() {
            let Some(slot) = &fold.slot else { continue };
            let known = folded.get_mut(number).map_or(Known::default(), Folded::known);
            // SAFETY: the caller's promise.
            unsafe {
                let out = fold.make_room(slot, frame, shape, meter)?;
                fold.kernel.finish(known, runs[number], out, &|| meter.stop());
            }
            meter.poll().map_err(|fault| Box::new(MemberFault { ip: fold.ip, fault }))?;
        }
        Ok(())
    }
}

impl Fold {
    /// The place of the result, or of its elements, of elements with this shape.
    ///
    /// # Safety
    /// As [`Region::finish_folds`].
    unsafe fn make_room(
        &self,
        slot: &TypedSlot,
        frame: *mut u8,
        shape: &[usize],
        meter: &Meter<'_>,
    ) -> Result<*mut u8, Box<MemberFault>> {
        let place = frame.wrapping_add(slot.offset() as usize);
        let Some(qtype) = slot.qtype().nd() else { return Ok(place) };
        // SAFETY: the caller's promise: the handle of an array stands in its slot, and nobody else accesses it.
        let handle = unsafe { &mut *place.cast::<NdHandle>() };
        let room = handle.make_room(qtype, &result_shape(shape, self.axes, qtype), meter);
        room.map_err(|stop| Box::new(MemberFault { ip: self.ip, fault: stop.into() }))
    }
}
