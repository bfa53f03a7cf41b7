//! SlotArena: which bytes of a frame are free, and for whom.
//!
//! ```text
//! [x·······|output··|m|······|literal·|temporary]
//!  pinned   pinned   ^ recycled: temporaries only
//!                      ^^^^^^ virgin: never used; literals or temporaries
//! ```
//!
//! Rules:
//! 1. Inputs, outputs and literals are *pinned*: they take virgin or new bytes and keep them.
//! 2. Temporaries take the smallest free piece that fits, recycled before virgin before new; what is
//!    left of the piece stays free.
//! 3. Bytes with a buffer handle are reused only for the same type, never as plain bytes.
//! 4. `release` gives back exactly what `allocate` gave, `release_inner` what `allocate_inner` gave: arrays without rows in
//!    memory take places of each other.

use cembra_vm::layout::TypedSlot;
use cembra_vm::value::QType;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Free and used bytes of a frame under construction.
#[derive(Clone, Debug, Default)]
pub struct SlotArena {
    end: u64,
    recycled: Pieces,
    virgin: Pieces,
    /// Offsets of free slots with handles, by type.
    handles: HashMap<QType, Vec<u32>>,
    /// Those of arrays that stay inside of tile regions.
    inner_handles: HashMap<QType, Vec<u32>>,
}

impl SlotArena {
    /// An empty frame.
    pub fn new() -> SlotArena {
        SlotArena::default()
    }

    /// Bytes used so far.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// A slot that keeps its bytes for the whole program.
    pub fn pin(&mut self, qtype: &QType) -> TypedSlot {
        let (size, align) = (qtype.size(), qtype.align());
        let found = if qtype.is_plain() { self.virgin.take_best(size, align) } else { None };
        TypedSlot::new(found.unwrap_or_else(|| self.append(size, align)), qtype.clone())
    }

    /// A slot for a while.
    pub fn allocate(&mut self, qtype: &QType) -> TypedSlot {
        let (size, align) = (qtype.size(), qtype.align());
        let offset = match qtype.is_plain() {
            true => self.recycled.take_best(size, align).or_else(|| self.virgin.take_best(size, align)),
            false => self.handles.get_mut(&qtype.storage()).and_then(Vec::pop),
        };
        let offset = offset.or_else(|| self.extend_tail(qtype)).unwrap_or_else(|| self.append(size, align));
        TypedSlot::new(offset, qtype.clone())
    }

    /// A slot for a while, of an array that stays inside of a tile region.
    pub fn allocate_inner(&mut self, qtype: &QType) -> TypedSlot {
        let free = self.inner_handles.get_mut(&qtype.storage()).and_then(Vec::pop);
        let offset = free.unwrap_or_else(|| self.append(qtype.size(), qtype.align()));
        TypedSlot::new(offset, qtype.clone())
    }

    /// Gives a slot back that is one of those.
    pub fn release_inner(&mut self, slot: &TypedSlot) {
        self.inner_handles.entry(slot.qtype().storage()).or_default().push(slot.offset());
    }

    /// A slot for a while that shares no byte with the avoided ones, held or free.
    pub fn allocate_clear_of(&mut self, qtype: &QType, avoided: &[TypedSlot]) -> TypedSlot {
        let ranges = |slot: &TypedSlot| (slot.offset(), slot.end() as u32);
        let mut kept = SlotArena::default();
        for slot in avoided {
            let (start, end) = ranges(slot);
            self.recycled.take_range(start, end).into_iter().for_each(|(s, e)| kept.recycled.insert(s, e));
            self.virgin.take_range(start, end).into_iter().for_each(|(s, e)| kept.virgin.insert(s, e));
            if let Some(free) =
                self.handles.get_mut(&slot.qtype().storage()).filter(|_| !slot.qtype().is_plain())
            {
                let before = free.len();
                free.retain(|offset| *offset != slot.offset());
                if free.len() < before {
                    kept.release(slot);
                }
            }
        }
        let chosen = self.allocate(qtype);
        kept.recycled.by_start.into_iter().for_each(|(s, e)| self.recycled.insert(s, e));
        kept.virgin.by_start.into_iter().for_each(|(s, e)| self.virgin.insert(s, e));
        for (qtype, offsets) in kept.handles {
            self.handles.entry(qtype).or_default().extend(offsets);
        }
        chosen
    }

    /// Gives a slot back.
    pub fn release(&mut self, slot: &TypedSlot) {
        match slot.qtype().is_plain() {
            true => self.recycled.insert(slot.offset(), slot.end() as u32),
            false => self.handles.entry(slot.qtype().storage()).or_default().push(slot.offset()),
        }
    }

    /// Takes the bytes of a slot that had been released.
    pub fn reserve(&mut self, slot: &TypedSlot) {
        if slot.qtype().is_plain() {
            self.recycled.take_range(slot.offset(), slot.end() as u32);
        } else if let Some(free) = self.handles.get_mut(&slot.qtype().storage()) {
            free.retain(|offset| *offset != slot.offset());
        }
    }

    /// Uses a free piece at the very end and as many new bytes as are missing.
    fn extend_tail(&mut self, qtype: &QType) -> Option<u32> {
        if !qtype.is_plain() {
            return None;
        }
        let end = u32::try_from(self.end).ok()?;
        for pieces in [&mut self.recycled, &mut self.virgin] {
            let Some(start) = pieces.last_start(end) else { continue };
            let offset = start.next_multiple_of(qtype.align());
            if offset < end {
                pieces.take_range(start, end);
                if start < offset {
                    pieces.insert(start, offset);
                }
                self.end = u64::from(offset) + u64::from(qtype.size());
                return Some(offset);
            }
        }
        None
    }

    fn append(&mut self, size: u32, align: u32) -> u32 {
        let offset = self.end.next_multiple_of(u64::from(align));
        if offset > self.end && offset <= u64::from(u32::MAX) {
            self.virgin.insert(self.end as u32, offset as u32);
        }
        self.end = offset + u64::from(size);
        // A frame beyond 4 GiB is far over any limit; building its layout reports the true size.
        u32::try_from(offset).unwrap_or(0)
    }
}

/// Disjoint free ranges of bytes, neighbours joined.
#[derive(Clone, Debug, Default)]
struct Pieces {
    /// End by start.
    by_start: BTreeMap<u32, u32>,
    /// Length and start.
    by_length: BTreeSet<(u32, u32)>,
}

impl Pieces {
    fn add(&mut self, start: u32, end: u32) {
        self.by_start.insert(start, end);
        self.by_length.insert((end - start, start));
    }

    fn drop_piece(&mut self, start: u32, end: u32) {
        self.by_start.remove(&start);
        self.by_length.remove(&(end - start, start));
    }

    /// Frees a range, joined with its neighbours.
    fn insert(&mut self, start: u32, end: u32) {
        let (mut start, mut end) = (start, end);
        let before = self.by_start.range(..=start).next_back().map(|(s, e)| (*s, *e));
        if let Some((s, e)) = before.filter(|(_, e)| *e >= start) {
            self.drop_piece(s, e);
            (start, end) = (s, end.max(e));
        }
        while let Some((s, e)) = self.by_start.range(start..=end).next().map(|(s, e)| (*s, *e)) {
            self.drop_piece(s, e);
            end = end.max(e);
        }
        if start < end {
            self.add(start, end);
        }
    }

    /// Takes a range out, as far as it is free: the parts that were.
    fn take_range(&mut self, start: u32, end: u32) -> Vec<(u32, u32)> {
        let first = self.by_start.range(..=start).next_back().map(|(s, _)| *s).unwrap_or(start);
        let touched: Vec<(u32, u32)> =
            self.by_start.range(first..end).map(|(s, e)| (*s, *e)).filter(|(_, e)| *e > start).collect();
        for (s, e) in &touched {
            self.drop_piece(*s, *e);
            if *s < start {
                self.add(*s, start);
            }
            if end < *e {
                self.add(end, *e);
            }
        }
        touched.into_iter().map(|(s, e)| (s.max(start), e.min(end))).collect()
    }

    /// Takes an aligned range from the smallest piece that holds it.
    fn take_best(&mut self, size: u32, align: u32) -> Option<u32> {
        let fits = |(length, start): &&(u32, u32)| {
            let offset = start.next_multiple_of(align);
            offset + size <= start + length
        };
        let (length, start) = *self.by_length.range((size, 0)..).find(fits)?;
        let (end, offset) = (start + length, start.next_multiple_of(align));
        self.drop_piece(start, end);
        if start < offset {
            self.add(start, offset);
        }
        if offset + size < end {
            self.add(offset + size, end);
        }
        Some(offset)
    }

    /// Start of the piece that ends at `end`.
    fn last_start(&self, end: u32) -> Option<u32> {
        self.by_start.iter().next_back().filter(|(_, e)| **e == end).map(|(s, _)| *s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cembra_vm::value::qtype::{BOOLEAN, FLOAT32, FLOAT64, TEXT};

    #[test]
    fn holes_are_filled_and_pieces_join() {
        let mut arena = SlotArena::new();
        let flag = arena.allocate(&BOOLEAN);
        let x = arena.pin(&FLOAT64);
        assert_eq!((flag.offset(), x.offset()), (0, 8));
        // The hole behind the flag is virgin: a literal may have it.
        assert_eq!(arena.pin(&FLOAT32).offset(), 4);
        let t = arena.allocate(&FLOAT64);
        arena.release(&flag);
        arena.release(&t);
        // Recycled bytes are for temporaries only.
        assert_eq!(arena.pin(&BOOLEAN).offset(), 1);
        assert_eq!(arena.allocate(&FLOAT32).offset(), 16);
        assert_eq!(arena.allocate(&BOOLEAN).offset(), 0);
        // Four recycled bytes at the end grow into eight.
        assert_eq!(arena.allocate(&FLOAT64).offset(), 24);
        assert_eq!(arena.end(), 32);
    }

    #[test]
    fn handles_are_reused_by_type_only() {
        let mut arena = SlotArena::new();
        let text = arena.allocate(&TEXT);
        arena.release(&text);
        assert_eq!(arena.allocate(&FLOAT64).offset(), 24);
        assert_eq!(arena.allocate(&TEXT).offset(), 0);
    }
}
