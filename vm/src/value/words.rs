//! Words: the cells of an array in memory, from the first byte of a line of the cache on.
//!
//! ```text
//! memory     | . . | c0 c1 c2 c3 c4 c5 c6 c7 | c8 …          allocators give memory at multiples of 16
//!                  ^ first, a multiple of 64
//! ```
//!
//! A wide load or store from within a line takes half as long as one from two lines, as long as the cells come from a near
//! cache. Few cells are left where they are.

use crate::value::budget::{Account, Exhausted, Growing, fill_up_to};
use crate::value::large_pages;
use std::collections::TryReserveError;
use std::ops::{Deref, DerefMut};

/// Bytes of a line of the cache.
const LINE: usize = 64;

/// Words of a line less one: what stands before the first word of a line, at most.
const SPARE: usize = LINE / size_of::<u64>() - 1;

/// Words from which on memory begins with a line.
const MANY: usize = 64;

/// Words for cells of any plain type. Refilled ones keep their memory.
#[derive(Debug, Default)]
pub(crate) struct Words {
    /// What stands before the first word, and the words.
    memory: Vec<u64>,
    /// Where they begin, which is in the memory.
    first: usize,
}

impl Words {
    /// No words.
    pub(crate) const fn new() -> Words {
        Words { memory: Vec::new(), first: 0 }
    }

    /// Where the words begin.
    #[inline(always)]
    pub(crate) fn begin(&self) -> *const u64 {
        self.memory.as_ptr().wrapping_add(self.first)
    }

    /// The same, to write words.
    #[inline(always)]
    pub(crate) fn begin_mut(&mut self) -> *mut u64 {
        self.memory.as_mut_ptr().wrapping_add(self.first)
    }

    /// Words that there is memory for, wherever that begins.
    pub(crate) fn capacity(&self) -> usize {
        let all = self.memory.capacity();
        if all < MANY + SPARE { all } else { all - SPARE }
    }

    /// Removes words from the end, or adds zeros.
    pub(crate) fn resize(&mut self, count: usize) {
        if count > self.capacity() {
            let more = count.max(2 * self.capacity());
            self.grow_to(more).unwrap_or_else(|_| panic!("no memory for {more} words"));
        }
        self.memory.resize(self.first + count, 0);
    }

    /// Makes at least so many words, whatever stands there; new memory is zero and not touched before it is used.
    ///
    /// # Errors
    /// The account refuses or the run has to stop, and the words stay, perhaps with zeros behind them. Or the system
    /// refuses, and there are none.
    pub(crate) fn lay_out(&mut self, count: usize, account: &dyn Account) -> Result<(), Exhausted> {
        if self.len() >= count {
            return Ok(());
        }
        if self.capacity() >= count {
            return fill_up_to(&mut self.memory, self.first + count, 0, account);
        }
        let (asked, before) = ((count as u64).saturating_mul(8), self.capacity() as u64 * 8);
        account.charge(asked - before)?;
        // The old words go before the new ones come.
        *self = Words::new();
        match bytemuck::allocation::try_zeroed_vec(count.saturating_add(spare(count))) {
            Ok(memory) => {
                large_pages::ask(&memory);
                self.first = words_to_line(&memory, count);
                self.memory = memory;
                self.memory.truncate(self.first + count);
                Ok(())
            }
            Err(()) => {
                account.give_back(asked);
                Err(Exhausted::Memory { asked })
            }
        }
    }
}

/// Words that so many may stand behind.
fn spare(count: usize) -> usize {
    if count >= MANY { SPARE } else { 0 }
}

/// How far the first of so many words is from the begin of memory.
fn words_to_line(memory: &[u64], count: usize) -> usize {
    memory.as_ptr().align_offset(LINE).min(spare(count))
}

impl Growing for Words {
    const ITEM: usize = size_of::<u64>();

    fn count(&self) -> usize {
        self.len()
    }

    fn room(&self) -> usize {
        self.capacity()
    }

    fn clear(&mut self) {
        self.memory.truncate(self.first);
    }

    fn grow_to(&mut self, count: usize) -> Result<(), TryReserveError> {
        let (len, before) = (self.len(), self.first);
        let more = count.saturating_add(spare(count)).saturating_sub(self.memory.len());
        // Most allocators remap the pages of a large block: nothing is copied, and it keeps its place in a cache line.
        self.memory.try_reserve_exact(more)?;
        large_pages::ask(&self.memory);
        self.first = words_to_line(&self.memory, count);
        if self.first != before {
            self.memory.resize(before.max(self.first) + len, 0);
            self.memory.copy_within(before..before + len, self.first);
            self.memory.truncate(self.first + len);
        }
        Ok(())
    }
}

impl<'w> Extend<&'w u64> for Words {
    fn extend<I: IntoIterator<Item = &'w u64>>(&mut self, words: I) {
        self.memory.extend(words);
    }
}

impl Clone for Words {
    fn clone(&self) -> Words {
        let mut clone = Words::new();
        clone.clone_from(self);
        clone
    }

    fn clone_from(&mut self, other: &Words) {
        self.clear();
        self.resize(other.len());
        self.copy_from_slice(other);
    }
}

impl Deref for Words {
    type Target = [u64];

    #[inline]
    fn deref(&self) -> &[u64] {
        &self.memory[self.first..]
    }
}

impl DerefMut for Words {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u64] {
        &mut self.memory[self.first..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::budget::{Unlimited, copy_words, reserve};

    #[test]
    fn many_words_begin_with_a_line() {
        let is_at_line = |words: &Words| words.len() < MANY || words.as_ptr().addr().is_multiple_of(LINE);
        let mut laid_out = Words::new();
        let mut grown = Words::new();
        for count in [0, 1, 3, 63, 64, 100, 1000, 70_000] {
            laid_out.lay_out(count, &Unlimited).expect("memory");
            assert!(laid_out.len() == count && is_at_line(&laid_out), "{count} laid out");
            laid_out.iter_mut().zip(1..).for_each(|(word, number)| *word = number);
            for len in grown.len()..count {
                reserve(&mut grown, len + 1, &Unlimited).expect("memory");
                grown.resize(len + 1);
                grown[len] = len as u64 + 1;
            }
            assert!(grown[..] == laid_out[..] && is_at_line(&grown), "{count} grown");
            let mut copied = grown.clone();
            assert!(copied[..] == grown[..] && is_at_line(&copied), "{count} cloned");
            copied.clone_from(&laid_out);
            copy_words(&mut copied, &laid_out, &Unlimited).expect("memory");
            assert!(copied[..] == laid_out[..] && copied.capacity() >= count, "{count} copied");
        }
        laid_out.lay_out(10, &Unlimited).expect("memory");
        assert_eq!(laid_out.len(), 70_000, "words are kept");
        laid_out.resize(5);
        assert_eq!(laid_out[..], [1, 2, 3, 4, 5]);
    }
}
