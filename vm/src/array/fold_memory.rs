//! What folds keep in the arena of a run: parts of leaves, in words, and lanes of columns.

use crate::array::meter::{STRIDE, Watch};
use crate::value::Exhausted;
use crate::vector::spread::LEAF;
use bumpalo::Bump;
use bumpalo::collections::Vec as BumpVec;
use bytemuck::Pod;
use std::alloc::Layout;

/// Parts of stretches that there is room for: one of each thread.
pub(super) const PARTS_OF_STRETCHES: usize = 8;

/// Leaves that a run may have at most.
pub(super) fn most_parts(run: usize) -> usize {
    run.div_ceil(LEAF / 2)
}

/// Words from one lane of so many columns to the next: each begins with a line of the cache, as rows that are added to it may not.
pub(super) fn lane(width: usize) -> usize {
    width.next_multiple_of(8)
}

/// An empty vector with room.
pub(super) fn room(count: usize, arena: &Bump) -> Result<BumpVec<'_, u64>, Exhausted> {
    if count == 0 {
        return Ok(BumpVec::new_in(arena));
    }
    let layout =
        Layout::array::<u64>(count).and_then(|layout| layout.align_to(if count < 8 { 8 } else { 64 }));
    let place = layout.ok().and_then(|layout| arena.try_alloc_layout(layout).ok());
    match place {
        // SAFETY: the arena gave room for so many words, which nobody else has.
        Some(place) => Ok(unsafe { BumpVec::from_raw_parts_in(place.cast().as_ptr(), 0, count, arena) }),
        None => Err(Exhausted::Memory { asked: (count as u64).saturating_mul(8) }),
    }
}

/// So many zeros.
pub(super) fn zeros<'a>(
    count: usize,
    arena: &'a Bump,
    watch: Option<&dyn Watch>,
) -> Result<&'a mut [u64], Exhausted> {
    let mut zeros = room(count, arena)?;
    while zeros.len() < count {
        watch.map_or(Ok(()), Watch::ask)?;
        zeros.resize(count.min(zeros.len() + STRIDE), 0);
    }
    Ok(zeros.into_bump_slice_mut())
}

/// A part as a word.
#[inline(always)]
pub(super) fn to_word<T: Pod>(part: T) -> u64 {
    let mut word = 0;
    bytemuck::bytes_of_mut(&mut word)[..size_of::<T>()].copy_from_slice(bytemuck::bytes_of(&part));
    word
}

/// The part that became a word.
#[inline(always)]
pub(super) fn of_word<T: Pod>(word: u64) -> T {
    bytemuck::pod_read_unaligned(&bytemuck::bytes_of(&word)[..size_of::<T>()])
}
