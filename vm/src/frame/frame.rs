//! Frame: typed access, written-bits, scratch.

use crate::frame::error::FrameError;
use crate::frame::memory::Memory;
use crate::frame::scratch::FrameScratch;
#[cfg(test)]
use crate::layout::handle::{ArrayHandle, BytesHandle, EdgeHandle, HandleKind, SequenceHandle, TextHandle};
#[cfg(test)]
use crate::layout::nd_handle::NdHandle;
use crate::layout::slot::READ_ONLY;
use crate::layout::{FrameLayout, NumberSlot, Slot, SlotType};
use crate::value::nd_view::NdCell;
use crate::value::scalar::HANDLE_SIZE;
use std::sync::Arc;

/// One block of memory for one run at a time.
#[derive(Debug)]
pub struct Frame {
    memory: Memory,
    written: WrittenBits,
    scratch: FrameScratch,
    calls: CallStack,
    poisoned: bool,
    /// Bytes that buffers hold, those of idle callees too.
    alive: u64,
}

/// The frames of called routines: those active now, and those kept warm for the next call. During a run the machine
/// has it.
#[derive(Debug, Default)]
pub(crate) struct CallStack {
    /// Calls in progress, the innermost last.
    pub(crate) active: Vec<ActiveCall>,
    /// Frames by routine; of any program that ran here, so their layouts are compared before a run.
    pub(crate) frames: Vec<RoutineFrames>,
}

/// The frames of one routine, all of one layout: first those in use, the innermost last, then idle ones.
#[derive(Debug, Default)]
pub(crate) struct RoutineFrames {
    #[expect(clippy::vec_box, reason = "a running frame stays where it is while the row grows")]
    pub(crate) frames: Vec<Box<Frame>>,
    /// Their first bytes.
    pub(crate) bases: Vec<FrameBase>,
    /// How many are in use.
    pub(crate) used: usize,
}

/// The first byte of a frame that stands beside it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FrameBase(pub(crate) *mut u8);

// SAFETY: it goes where the frame goes, and only the run on that frame uses it.
unsafe impl Send for FrameBase {}
// SAFETY: as above.
unsafe impl Sync for FrameBase {}

impl RoutineFrames {
    /// Adds an idle frame.
    pub(crate) fn push(&mut self, frame: Box<Frame>) {
        self.bases.push(FrameBase(frame.base()));
        self.frames.push(frame);
    }

    /// Takes an idle frame.
    pub(crate) fn take_idle(&mut self) -> Option<Box<Frame>> {
        if self.used == self.frames.len() {
            return None;
        }
        self.bases.pop();
        self.frames.pop()
    }

    /// Drops all frames; none is in use.
    pub(crate) fn clear(&mut self) {
        self.frames.clear();
        self.bases.clear();
    }
}

/// A call in progress.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ActiveCall {
    /// The routine called.
    pub(crate) routine: u32,
    /// The calling instruction's cell, in the caller's code.
    pub(crate) cell: *const (),
    /// The first byte of the caller's frame.
    pub(crate) caller: *mut u8,
}

// SAFETY: who reads the pointers is the run that made them, and it ends with no call in progress.
unsafe impl Send for ActiveCall {}
// SAFETY: as above.
unsafe impl Sync for ActiveCall {}

impl Frame {
    /// A frame with its literals in place and no input written.
    ///
    /// # Errors
    /// [`FrameError::OutOfMemory`].
    pub fn new(layout: &Arc<FrameLayout>) -> Result<Frame, FrameError> {
        Ok(Frame {
            memory: Memory::new(layout)?,
            written: WrittenBits::new(layout.inputs().len() + layout.outputs().len()),
            scratch: FrameScratch::default(),
            calls: CallStack::default(),
            poisoned: false,
            alive: 0,
        })
    }

    /// The frame's layout.
    pub fn layout(&self) -> &Arc<FrameLayout> {
        self.memory.layout()
    }

    /// Writes a slot; an input counts as written from then on.
    ///
    /// # Panics
    /// If the slot belongs to another layout, or a literal stands there.
    #[inline]
    pub fn set<T: SlotType>(&mut self, slot: Slot<T>, value: T::View<'_>) {
        if slot.tag != self.layout().tag {
            self.refuse(slot);
        }
        if slot.bit != 0 {
            self.written.set(slot.bit - 1);
        }
        // SAFETY: the tag says that the layout of this frame made the slot, so it holds a valid `T`;
        // `&mut self` makes the access exclusive.
        unsafe { T::assign(self.memory.at(slot.offset), value) }
    }

    /// Writes a slot of a number or truth value; an input counts as written from then on.
    ///
    /// # Panics
    /// If the slot belongs to another layout, or a literal or a value of another type stands there.
    #[inline]
    pub fn set_number<T: NdCell>(&mut self, slot: NumberSlot, value: T) {
        assert!(slot.tag == self.layout().tag, "{slot:?} is not written in this frame");
        assert!(slot.element == T::ELEMENT, "{slot:?} has no {}", T::ELEMENT);
        if slot.bit != 0 {
            self.written.set(slot.bit - 1);
        }
        // SAFETY: the tag says that the layout of this frame made the slot, where a value of the element's type stands,
        // which is that of a `T`; `&mut self` makes the access exclusive.
        unsafe { self.memory.at(slot.offset).cast::<T>().write(value) }
    }

    /// Reads a slot.
    ///
    /// # Panics
    /// If the slot belongs to another layout, or is an input or output that has not been written.
    #[inline]
    pub fn get<T: SlotType>(&self, slot: Slot<T>) -> T::View<'_> {
        assert!(slot.tag & !READ_ONLY == self.layout().tag, "{slot:?} belongs to another layout");
        assert!(slot.bit == 0 || self.written.get(slot.bit - 1), "{slot:?} has not been written");
        // SAFETY: the tag says that the layout of this frame made the slot, so it holds a valid `T`;
        // the borrow of `self` keeps it unchanged.
        unsafe { T::view(self.memory.at(slot.offset)) }
    }

    /// The frame's bytes, with zeros where a buffer handle lies: what stands at the offsets of a layout dump.
    pub fn plain_bytes(&self) -> Vec<u8> {
        let size = self.layout().size();
        let mut bytes = vec![0; size as usize];
        let handles = || self.layout().handles().iter().map(|h| h.0);
        let starts = std::iter::once(0).chain(handles().map(|at| at + HANDLE_SIZE));
        let ends = handles().chain(std::iter::once(size));
        for (start, end) in starts.zip(ends) {
            let target = &mut bytes[start as usize..end as usize];
            // SAFETY: the bytes between two handles are plain and initialised (frame invariant 1).
            unsafe { target.as_mut_ptr().copy_from_nonoverlapping(self.memory.at(start), target.len()) };
        }
        bytes
    }

    /// True if there is an input or output with this bit, and it holds a value.
    pub fn is_written(&self, bit: u32) -> bool {
        self.written.get(bit)
    }

    /// Forgets every input and output, as for the next user of a pooled frame.
    pub fn clear_written(&mut self) {
        self.written.clear_all();
    }

    /// True if a run was cut short in a way that leaves the frame unusable.
    pub fn is_poisoned(&self) -> bool {
        self.poisoned
    }

    pub(crate) fn poison(&mut self) {
        self.poisoned = true;
    }

    /// Bytes of rows and texts that buffers of the frame hold; those that a host wrote as texts or lends do not count.
    pub fn alive(&self) -> u64 {
        self.alive
    }

    /// Bytes that the buffers hold, counted one by one.
    #[cfg(test)]
    pub(crate) fn count_alive(&self) -> u64 {
        let held = |(offset, kind): &(u32, HandleKind)| {
            let at = self.memory.at(*offset);
            // SAFETY: handles stand where the layout says (frame invariant 1).
            unsafe {
                match kind {
                    HandleKind::Text => (*at.cast::<TextHandle>()).capacity() as u64,
                    HandleKind::Bytes => (*at.cast::<BytesHandle>()).capacity() as u64,
                    HandleKind::Sequence => (*at.cast::<SequenceHandle>()).capacity() as u64 * 8,
                    HandleKind::Edge => (*at.cast::<EdgeHandle>()).0.heap_bytes(),
                    HandleKind::Array => match &*at.cast::<ArrayHandle>() {
                        ArrayHandle::Owned(rows) => rows.heap_bytes(),
                        _ => 0,
                    },
                    HandleKind::NdArray => (*at.cast::<NdHandle>()).heap_bytes(),
                }
            }
        };
        self.layout().handles().iter().map(held).sum()
    }

    pub(crate) fn set_alive(&mut self, bytes: u64) {
        self.alive = bytes;
    }

    pub(crate) fn base(&self) -> *mut u8 {
        self.memory.base()
    }

    pub(crate) fn written(&self) -> &WrittenBits {
        &self.written
    }

    pub(crate) fn written_mut(&mut self) -> &mut WrittenBits {
        &mut self.written
    }

    /// Scratch memory of the current run.
    pub(crate) fn scratch(&self) -> &FrameScratch {
        &self.scratch
    }

    /// Gives the scratch memory of a run back, keeping the largest chunks for the next.
    pub(crate) fn reset_scratch(&mut self) {
        self.scratch.reset();
    }

    #[inline]
    pub(crate) fn calls_mut(&mut self) -> &mut CallStack {
        &mut self.calls
    }

    #[cold]
    fn refuse<T>(&self, slot: Slot<T>) -> ! {
        match slot.tag == self.layout().tag | READ_ONLY {
            true => panic!("{slot:?} holds a literal, which cannot be written"),
            false => panic!("{slot:?} belongs to another layout"),
        }
    }
}

/// One bit per input and output; up to 64 without an allocation.
#[derive(Debug)]
pub(crate) struct WrittenBits {
    first: u64,
    rest: Vec<u64>,
}

impl WrittenBits {
    fn new(bits: usize) -> WrittenBits {
        WrittenBits { first: 0, rest: vec![0; bits.saturating_sub(64).div_ceil(64)] }
    }

    /// A mask over the same bits.
    pub(crate) fn mask(bits: usize, set: impl Iterator<Item = u32>) -> WrittenBits {
        let mut mask = WrittenBits::new(bits);
        set.for_each(|bit| mask.set(bit));
        mask
    }

    #[inline]
    pub(crate) fn set(&mut self, bit: u32) {
        match bit {
            0..64 => self.first |= 1 << bit,
            _ => self.rest[(bit / 64 - 1) as usize] |= 1 << (bit % 64),
        }
    }

    #[inline]
    pub(crate) fn unset(&mut self, bit: u32) {
        match bit {
            0..64 => self.first &= !(1 << bit),
            _ => self.rest[(bit / 64 - 1) as usize] &= !(1 << (bit % 64)),
        }
    }

    #[inline]
    pub(crate) fn get(&self, bit: u32) -> bool {
        match bit {
            0..64 => self.first >> bit & 1 == 1,
            _ => self.rest.get((bit / 64 - 1) as usize).is_some_and(|word| word >> (bit % 64) & 1 == 1),
        }
    }

    /// True if all bits of the mask are set here.
    #[inline]
    pub(crate) fn has(&self, mask: &WrittenBits) -> bool {
        mask.first & !self.first == 0 && (mask.rest.is_empty() || self.first_missing(mask).is_none())
    }

    /// The lowest bit of the mask that is not set here.
    pub(crate) fn first_missing(&self, mask: &WrittenBits) -> Option<u32> {
        let missing = mask.first & !self.first;
        if missing != 0 {
            return Some(missing.trailing_zeros());
        }
        if mask.rest.is_empty() {
            return None;
        }
        let rest = mask.rest.iter().zip(&self.rest).map(|(m, w)| m & !w);
        let (word, missing) = rest.enumerate().find(|(_, missing)| *missing != 0)?;
        Some(64 * (word as u32 + 1) + missing.trailing_zeros())
    }

    #[inline]
    pub(crate) fn set_all(&mut self, mask: &WrittenBits) {
        self.first |= mask.first;
        if !mask.rest.is_empty() {
            self.rest.iter_mut().zip(&mask.rest).for_each(|(w, m)| *w |= m);
        }
    }

    #[inline]
    pub(crate) fn clear(&mut self, mask: &WrittenBits) {
        self.first &= !mask.first;
        if !mask.rest.is_empty() {
            self.rest.iter_mut().zip(&mask.rest).for_each(|(w, m)| *w &= !m);
        }
    }

    fn clear_all(&mut self) {
        self.first = 0;
        // An empty memset at a dangling pointer is a masked store, 60 ns on AVX-512 machines.
        if !self.rest.is_empty() {
            self.rest.fill(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::access::Text;

    #[test]
    fn slots_keep_values_and_buffers() {
        let mut b = FrameLayout::builder();
        let (x, name, flag) = (b.input::<f64>(), b.slot::<Text>(), b.slot::<Option<i32>>());
        let mut frame = Frame::new(&b.build().expect("small")).expect("small");
        frame.set(x, 2.5);
        frame.set(name, "cembra");
        frame.set(flag, Some(7));
        assert_eq!((frame.get(x), frame.get(name), frame.get(flag)), (2.5, "cembra", Some(7)));
        let before = frame.get(name).as_ptr();
        frame.set(name, "pinus");
        assert_eq!((frame.get(name), frame.get(name).as_ptr()), ("pinus", before));
    }

    #[test]
    #[should_panic(expected = "belongs to another layout")]
    fn foreign_slots_are_refused() {
        let (mut one, mut two) = (FrameLayout::builder(), FrameLayout::builder());
        let (_, slot) = (one.slot::<f64>(), two.slot::<f64>());
        let mut frame = Frame::new(&one.build().expect("small")).expect("small");
        frame.set(slot, 1.0);
    }

    #[test]
    #[should_panic(expected = "has not been written")]
    fn unwritten_inputs_are_not_read() {
        let mut b = FrameLayout::builder();
        let x = b.input::<f64>();
        let frame = Frame::new(&b.build().expect("small")).expect("small");
        frame.get(x);
    }

    #[test]
    fn masks_reach_beyond_one_word() {
        let mask = WrittenBits::mask(130, [0, 64, 129].into_iter());
        let mut written = WrittenBits::new(130);
        assert_eq!(written.first_missing(&mask), Some(0));
        written.set(0);
        assert_eq!(written.first_missing(&mask), Some(64));
        written.set_all(&mask);
        assert_eq!(written.first_missing(&mask), None);
        written.clear(&mask);
        assert!(!written.get(129));
    }
}
