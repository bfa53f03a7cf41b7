//! Bytes of the frame that open regions use: what they will read, and what they will lay out.
//!
//! ```text
//! reads     0x00 of region 3, 0x18 of region 3, 0x18 of region 5      several regions may read a byte
//! results   0x30 by instruction 7 of region 3                         a byte is of one result at most
//! ```
//!
//! Ranges are found by their first byte. None is longer than a few words, so that those that share a byte with a
//! slot begin in it or shortly before: a look-up takes the time of what it finds.

use crate::layout::TypedSlot;
use std::collections::BTreeMap;

/// A region while it is open. Of two that become one, both numbers stay in use.
pub(super) type RegionKey = u32;

/// What open regions use.
#[derive(Default)]
pub(super) struct Uses {
    /// By first byte and region.
    reads: BTreeMap<(u32, RegionKey), Read>,
    /// By first byte.
    results: BTreeMap<u32, Pending>,
    /// Bytes of the longest range so far.
    longest: u32,
}

/// Bytes that a region reads when it runs.
struct Read {
    end: u64,
    /// True if other operators on the array that stands there join the region.
    is_shared: bool,
}

/// A result of a member that the region lays out when it runs.
#[derive(Clone, Debug)]
pub(super) struct Pending {
    /// The place.
    pub(super) slot: TypedSlot,
    /// The region of the member.
    pub(super) region: RegionKey,
    /// The member.
    pub(super) ip: u32,
    /// True if the result has the extent of the region, so that members can read it inside.
    pub(super) has_rows: bool,
}

impl Uses {
    /// The region reads a slot when it runs.
    pub(super) fn add_read(&mut self, region: RegionKey, slot: &TypedSlot, is_shared: bool) {
        self.longest = self.longest.max(slot.qtype().size());
        let read = self.reads.entry((slot.offset(), region)).or_insert(Read { end: 0, is_shared: false });
        read.end = read.end.max(slot.end());
        read.is_shared |= is_shared;
    }

    /// A region lays out a result when it runs. Nothing that is pending shares a byte with it.
    pub(super) fn add_result(&mut self, pending: Pending) {
        self.longest = self.longest.max(pending.slot.qtype().size());
        self.results.insert(pending.slot.offset(), pending);
    }

    /// Forgets what a region reads at an offset.
    pub(super) fn remove_read(&mut self, region: RegionKey, offset: u32) {
        self.reads.remove(&(offset, region));
    }

    /// Forgets the result of a member at an offset, if it is still the one there.
    pub(super) fn remove_result(&mut self, ip: u32, offset: u32) {
        if self.results.get(&offset).is_some_and(|pending| pending.ip == ip) {
            self.results.remove(&offset);
        }
    }

    /// The regions that read a byte of the slot.
    pub(super) fn readers(&self, slot: &TypedSlot) -> Vec<RegionKey> {
        let near = self.reads.range((self.first_near(slot), 0)..(end_of(slot), 0));
        near.filter(|(_, read)| read.end > u64::from(slot.offset())).map(|((_, region), _)| *region).collect()
    }

    /// The regions that operators on the array in the slot join, because they read it as well.
    pub(super) fn sharers(&self, slot: &TypedSlot) -> Vec<RegionKey> {
        let here = self.reads.range((slot.offset(), 0)..=(slot.offset(), RegionKey::MAX));
        here.filter(|(_, read)| read.is_shared).map(|((_, region), _)| *region).collect()
    }

    /// The results that share a byte with the slot.
    pub(super) fn results(&self, slot: &TypedSlot) -> Vec<Pending> {
        let near = self.results.range(self.first_near(slot)..end_of(slot));
        near.map(|(_, pending)| pending).filter(|pending| pending.slot.overlaps(slot)).cloned().collect()
    }

    /// The result that stands in the slot, all of it and nothing else.
    pub(super) fn result_in(&self, slot: &TypedSlot) -> Option<&Pending> {
        self.results.get(&slot.offset()).filter(|pending| pending.slot.end() == slot.end())
    }

    /// The first byte that a range which reaches into the slot can begin with.
    fn first_near(&self, slot: &TypedSlot) -> u32 {
        slot.offset().saturating_sub(self.longest)
    }
}

/// One past the last byte. A slot without bytes has none in common with others.
fn end_of(slot: &TypedSlot) -> u32 {
    u32::try_from(slot.end()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::qtype::{FLOAT64, INT32};

    #[test]
    fn ranges_that_share_a_byte_are_found() {
        let mut uses = Uses::default();
        let (wide, narrow) = (|at| TypedSlot::new(at, FLOAT64), |at| TypedSlot::new(at, INT32));
        uses.add_read(1, &wide(8), true);
        uses.add_read(2, &narrow(12), false);
        uses.add_result(Pending { slot: wide(16), region: 1, ip: 7, has_rows: false });
        assert_eq!(uses.readers(&narrow(8)), [1]);
        assert_eq!(uses.readers(&narrow(12)), [1, 2]);
        assert_eq!(uses.readers(&narrow(16)), []);
        assert_eq!((uses.sharers(&wide(8)), uses.sharers(&narrow(12))), (vec![1], vec![]));
        assert_eq!(uses.results(&narrow(20)).len(), 1);
        assert!(uses.result_in(&narrow(16)).is_none() && uses.result_in(&wide(16)).is_some());
        uses.remove_result(8, 16);
        assert_eq!(uses.results(&wide(16)).len(), 1);
        uses.remove_result(7, 16);
        uses.remove_read(1, 8);
        assert!(uses.results(&wide(16)).is_empty() && uses.readers(&narrow(8)).is_empty());
    }
}
