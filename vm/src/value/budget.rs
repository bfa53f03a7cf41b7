//! Budgets: what a run may use up, and what it says when it has.
//!
//! ```text
//! instructions   off       counted by the machine, the same in every tier
//! rows           off       rows that operators go over: a median of 1,000 rows counts 1,000
//! bytes alive    4 GiB     rows and texts that the frame holds, with what operators hold while they run
//! array rows     2^27      rows or elements of one array
//! time           off       from the start of the run
//! cancel         off       a token that another thread may fire
//! ```
//!
//! Bytes are counted before they are allocated; an allocation that the system refuses is an error of the run as
//! well. Long operators ask for time and cancellation while they run.

use core::time::Duration;
use std::cell::Cell;
use std::collections::TryReserveError;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use thiserror::Error;

/// Bytes that a run may have alive unless told otherwise: 4 GiB.
pub const DEFAULT_BYTES_ALIVE: u64 = 4 << 30;

/// Rows that an array made by an operator may have at most: 134,217,728.
pub const MOST_ARRAY_ROWS: u64 = 1 << 27;

/// Stops runs from another thread.
#[derive(Clone, Debug, Default)]
pub struct CancelToken(Arc<AtomicBool>);

impl CancelToken {
    /// A token that has not been cancelled.
    pub fn new() -> CancelToken {
        CancelToken::default()
    }

    /// Asks every run that carries this token to stop.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// True after [`CancelToken::cancel`].
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// What a run may use. The default limits what could harm a process, memory, and nothing else.
#[derive(Clone, Debug)]
pub struct Budget {
    /// Instructions.
    pub instructions: Option<u64>,
    /// Rows that operators go over, all operators together.
    pub rows: Option<u64>,
    /// Bytes of rows and texts that are alive at one time.
    pub bytes_alive: u64,
    /// Rows of one array; more than [`MOST_ARRAY_ROWS`] counts as that.
    pub array_rows: u64,
    /// Time from the start of the run.
    pub time: Option<Duration>,
    /// A token that stops the run.
    pub cancel: Option<CancelToken>,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget {
            instructions: None,
            rows: None,
            bytes_alive: DEFAULT_BYTES_ALIVE,
            array_rows: MOST_ARRAY_ROWS,
            time: None,
            cancel: None,
        }
    }
}

impl Budget {
    /// True if it limits what the default does, and no more or less.
    pub fn is_default(&self) -> bool {
        let Budget { instructions, rows, bytes_alive, array_rows, time, cancel } = self;
        let is_off = instructions.is_none() && rows.is_none() && time.is_none() && cancel.is_none();
        is_off && *bytes_alive == DEFAULT_BYTES_ALIVE && *array_rows == MOST_ARRAY_ROWS
    }

    /// The default budget.
    pub fn new() -> Budget {
        Budget::default()
    }

    /// Instructions that the run may use.
    pub fn instructions(mut self, instructions: u64) -> Budget {
        self.instructions = Some(instructions);
        self
    }

    /// Rows that operators may go over, all operators together.
    pub fn rows(mut self, rows: u64) -> Budget {
        self.rows = Some(rows);
        self
    }

    /// Bytes of rows and texts that may be alive at one time.
    pub fn bytes_alive(mut self, bytes: u64) -> Budget {
        self.bytes_alive = bytes;
        self
    }

    /// Rows that one array may have.
    pub fn array_rows(mut self, rows: u64) -> Budget {
        self.array_rows = rows;
        self
    }

    /// Time that the run may take.
    pub fn time(mut self, time: Duration) -> Budget {
        self.time = Some(time);
        self
    }

    /// A token that stops the run.
    pub fn cancel(mut self, token: &CancelToken) -> Budget {
        self.cancel = Some(token.clone());
        self
    }
}

/// What a run has used up.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Exhausted {
    /// Work outside of programs would take more instructions than allowed.
    #[error("out of fuel: the run needs more than {limit} instructions")]
    Instructions {
        /// Instructions allowed.
        limit: u64,
    },
    /// The operators would go over more rows than allowed.
    #[error("out of rows: the operators of the run go over more than {limit} rows")]
    Rows {
        /// Rows allowed.
        limit: u64,
    },
    /// More bytes would be alive than allowed.
    #[error("limit bytes-alive: {asked} bytes more than the {alive} that are alive exceed {limit}")]
    Bytes {
        /// Bytes asked for.
        asked: u64,
        /// Bytes alive.
        alive: u64,
        /// Bytes allowed.
        limit: u64,
    },
    /// The system has no memory left.
    #[error("out of memory: {asked} bytes cannot be allocated")]
    Memory {
        /// Bytes asked for.
        asked: u64,
    },
    /// The time is over.
    #[error("out of time: the run takes longer than {limit:?}")]
    Time {
        /// Time allowed.
        limit: Duration,
    },
    /// The host asked to stop.
    #[error("the run was cancelled")]
    Cancelled,
}

/// Who keeps count of memory.
pub trait Account {
    /// Counts bytes that are about to be allocated.
    ///
    /// # Errors
    /// They would exceed what is allowed.
    fn charge(&self, bytes: u64) -> Result<(), Exhausted>;

    /// Counts bytes that have been given back.
    fn give_back(&self, bytes: u64);

    /// Looks whether the run has to stop.
    ///
    /// # Errors
    /// It has.
    fn ask(&self) -> Result<(), Exhausted> {
        Ok(())
    }
}

/// An account without a limit.
#[derive(Clone, Copy, Debug)]
pub struct Unlimited;

impl Account for Unlimited {
    fn charge(&self, _: u64) -> Result<(), Exhausted> {
        Ok(())
    }

    fn give_back(&self, _: u64) {}
}

/// An account without a limit that says by how much buffers have grown.
#[derive(Debug, Default)]
pub(crate) struct Grown(Cell<i64>);

impl Grown {
    /// Bytes that were charged and not given back; below zero if more were given back.
    pub(crate) fn bytes(&self) -> i64 {
        self.0.get()
    }
}

impl Account for Grown {
    fn charge(&self, bytes: u64) -> Result<(), Exhausted> {
        // No buffer has more bytes than an `isize` counts; what is asked beyond is refused by the system.
        self.0.set(self.0.get().saturating_add_unsigned(bytes));
        Ok(())
    }

    fn give_back(&self, bytes: u64) {
        self.0.set(self.0.get().saturating_sub_unsigned(bytes));
    }
}

/// A buffer that grows: a vector, or a text.
pub trait Growing {
    /// Bytes of an item.
    const ITEM: usize;

    /// Items that it has.
    fn count(&self) -> usize;

    /// Items that it has memory for.
    fn room(&self) -> usize;

    /// Removes all items, and keeps their memory.
    fn clear(&mut self);

    /// Asks the system for memory for so many items in all.
    ///
    /// # Errors
    /// The system refuses.
    fn grow_to(&mut self, count: usize) -> Result<(), TryReserveError>;
}

/// The standard buffers have the same methods, and no trait for them.
macro_rules! growing {
    ($buffer:ty, $item:ty $(, $parameter:ident)?) => {
        impl$(<$parameter>)? Growing for $buffer {
            const ITEM: usize = size_of::<$item>();

            fn count(&self) -> usize {
                self.len()
            }

            fn room(&self) -> usize {
                self.capacity()
            }

            fn clear(&mut self) {
                self.clear();
            }

            fn grow_to(&mut self, count: usize) -> Result<(), TryReserveError> {
                self.try_reserve_exact(count.saturating_sub(self.len()))
            }
        }
    };
}

growing!(Vec<T>, T, T);
growing!(String, u8);

/// Makes room for so many items in all, keeping the ones that are there. Both the old and the new memory count
/// while items move.
///
/// # Errors
/// The account refuses, or the system does.
pub fn reserve<G: Growing>(items: &mut G, count: usize, account: &dyn Account) -> Result<(), Exhausted> {
    if count <= items.room() {
        return Ok(());
    }
    let count = count.max(items.room().saturating_mul(2)).max(64 / G::ITEM.max(1));
    reserve_exact(items, count, account)
}

/// Makes room for so many items behind those that are there.
///
/// # Errors
/// As [`reserve`].
pub fn reserve_more<G: Growing>(items: &mut G, more: usize, account: &dyn Account) -> Result<(), Exhausted> {
    let count = items.count().saturating_add(more);
    reserve(items, count, account)
}

/// The same as [`reserve`] without room for more.
///
/// # Errors
/// As [`reserve`].
#[inline]
pub fn reserve_exact<G: Growing>(
    items: &mut G,
    count: usize,
    account: &dyn Account,
) -> Result<(), Exhausted> {
    match count <= items.room() {
        true => Ok(()),
        false => grow_exact(items, count, account),
    }
}

#[cold]
fn grow_exact<G: Growing>(items: &mut G, count: usize, account: &dyn Account) -> Result<(), Exhausted> {
    let bytes = |count: usize| (count as u64).saturating_mul(G::ITEM as u64);
    let (asked, before) = (bytes(count), bytes(items.room()));
    account.charge(asked)?;
    if items.grow_to(count).is_err() {
        account.give_back(asked);
        return Err(Exhausted::Memory { asked });
    }
    // An allocator may give more than it was asked for.
    account.give_back(before);
    match bytes(items.room()).checked_sub(asked).filter(|more| *more > 0) {
        Some(more) => account.charge(more),
        None => Ok(()),
    }
}

/// Items that are copied between two looks at the clock.
const COPIED: usize = 1 << 16;

/// Makes a buffer hold these words, on account.
///
/// # Errors
/// As [`reserve`], or the run has to stop; the buffer is empty then.
pub fn copy_words<G>(to: &mut G, from: &[u64], account: &dyn Account) -> Result<(), Exhausted>
where
    G: Growing + Default + for<'w> Extend<&'w u64>,
{
    to.clear();
    if to.room() < from.len() {
        let (asked, before) = (from.len() as u64 * 8, to.room() as u64 * 8);
        account.charge(asked - before)?;
        *to = G::default();
        if to.grow_to(from.len()).is_err() {
            account.give_back(asked);
            return Err(Exhausted::Memory { asked });
        }
    }
    for part in from.chunks(COPIED) {
        if let Err(error) = account.ask() {
            to.clear();
            return Err(error);
        }
        to.extend(part);
    }
    Ok(())
}

/// Appends copies of an item until there are so many. There is room for them.
///
/// # Errors
/// The run has to stop; there are fewer then.
pub fn fill_up_to<T: Copy>(
    items: &mut Vec<T>,
    count: usize,
    item: T,
    account: &dyn Account,
) -> Result<(), Exhausted> {
    while items.len() < count {
        account.ask()?;
        items.resize(count.min(items.len() + COPIED), item);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Counter(Cell<u64>, u64);

    impl Account for Counter {
        fn charge(&self, asked: u64) -> Result<(), Exhausted> {
            let (alive, limit) = (self.0.get(), self.1);
            if alive.saturating_add(asked) > limit {
                return Err(Exhausted::Bytes { asked, alive, limit });
            }
            self.0.set(alive + asked);
            Ok(())
        }

        fn give_back(&self, bytes: u64) {
            self.0.set(self.0.get().saturating_sub(bytes));
        }
    }

    #[test]
    fn what_is_alive_is_what_vectors_have() {
        let account = Counter(Cell::new(0), 1 << 16);
        let mut items: Vec<u32> = Vec::new();
        let mut words: Vec<u64> = Vec::new();
        for count in [1, 17, 100, 3000] {
            reserve(&mut items, count, &account).expect("below the limit");
            reserve_exact(&mut words, count, &account).expect("below the limit");
            assert_eq!(account.0.get(), items.capacity() as u64 * 4 + words.capacity() as u64 * 8);
        }
        let before = account.0.get();
        let error = reserve_exact(&mut items, 1 << 20, &account).expect_err("too many");
        assert_eq!(error, Exhausted::Bytes { asked: 4 << 20, alive: before, limit: 1 << 16 });
        assert_eq!(account.0.get(), before);
        let error = reserve(&mut words, usize::MAX / 32, &Unlimited).expect_err("no such memory");
        assert!(matches!(error, Exhausted::Memory { .. }), "{error}");
    }
}
