//! Meter: what one run has used of its budget, and may still use.
//!
//! ```text
//! machine ── Meter ──> Call ──> kernel          rows are charged, memory is counted, and somebody asks in time
//!              └─────> region ──> blocks
//! ```
//!
//! Usage rules for kernels:
//! 1. An operator on rows charges them once, by [`Meter::rows`], before it goes over them. The machine does this for the
//!    rows of arguments; what makes more rows than it takes charges the rest.
//! 2. A loop over rows goes by [`Meter::strides`], tells a `Pace` of each stretch, or calls [`Meter::poll`] at least every
//!    [`STRIDE`] rows.
//! 3. Memory that grows with rows comes from [`Meter::vec`] or [`RowsOut`](crate::array::rows_out::RowsOut).
//! 4. Long pure functions take [`Meter::stop`] and end early if it says so; their caller polls before it uses the
//!    result.

use crate::value::budget::{
    Account, DEFAULT_BYTES_ALIVE, Exhausted, MOST_ARRAY_ROWS, fill_up_to, reserve, reserve_exact,
};
use crate::value::{Fault, array::ROWS_OF_A_WORD};
use std::cell::Cell;
use std::fmt;
use std::ops::{Deref, DerefMut, Range};

/// Rows between two polls: a whole number of words of presence.
pub const STRIDE: usize = 1 << 14;

const _: () = assert!(STRIDE.is_multiple_of(ROWS_OF_A_WORD));

/// Rows of kernels that are slow on a single row, between two polls.
pub const SLOW_STRIDE: usize = 1 << 8;

/// Who knows whether a run has to stop: the clock, and other threads.
pub trait Watch: Sync {
    /// Looks.
    ///
    /// # Errors
    /// The time is over, or the run was cancelled.
    fn ask(&self) -> Result<(), Exhausted>;
}

/// What a meter goes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeterLimits {
    /// Rows that operators may go over, all together.
    pub rows: u64,
    /// Bytes that may be alive at one time.
    pub bytes_alive: u64,
    /// Rows of one array, [`MOST_ARRAY_ROWS`] at most.
    pub array_rows: u64,
}

impl MeterLimits {
    /// Those of the default budget.
    pub const DEFAULT: MeterLimits =
        MeterLimits { rows: u64::MAX, bytes_alive: DEFAULT_BYTES_ALIVE, array_rows: MOST_ARRAY_ROWS };
}

impl fmt::Debug for dyn Watch + '_ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watch")
    }
}

/// What one run may still use.
pub struct Meter<'r> {
    rows_left: Cell<u64>,
    /// Bytes of the frame and of what operators hold at the moment.
    alive: Cell<u64>,
    limits: &'r MeterLimits,
    watch: Option<&'r dyn Watch>,
}

impl fmt::Debug for Meter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = f.debug_struct("Meter");
        fields.field("rows_left", &self.rows_left.get()).field("alive", &self.alive.get());
        fields.finish_non_exhaustive()
    }
}

impl<'r> Meter<'r> {
    /// A meter for a run on a frame that has so many bytes alive.
    #[inline]
    pub fn new(limits: &'r MeterLimits, alive: u64) -> Meter<'r> {
        Meter { rows_left: Cell::new(limits.rows), alive: Cell::new(alive), limits, watch: None }
    }

    /// A meter of the default budget.
    pub fn of_default() -> Meter<'r> {
        Meter::new(&MeterLimits::DEFAULT, 0)
    }

    /// The same where so many rows have been charged before.
    pub(crate) fn after(self, rows: u64) -> Meter<'r> {
        self.rows_left.set(self.limits.rows.saturating_sub(rows));
        self
    }

    /// The same, asking a watch.
    #[inline]
    pub fn watched(self, watch: Option<&'r dyn Watch>) -> Meter<'r> {
        Meter { watch, ..self }
    }

    /// Charges rows that an operator is about to go over, and looks whether the run has to stop.
    ///
    /// # Errors
    /// Fewer rows are left, or the run has to stop.
    #[inline]
    pub fn rows(&self, rows: usize) -> Result<(), Fault> {
        let left = self.rows_left.get();
        self.rows_left.set(left.wrapping_sub(rows as u64));
        match left >= rows as u64 && self.watch.is_none() {
            true => Ok(()),
            false => self.rows_watched(left, rows),
        }
    }

    /// The same where it may end the run.
    #[cold]
    fn rows_watched(&self, left: u64, rows: usize) -> Result<(), Fault> {
        if left < rows as u64 {
            self.rows_left.set(left);
            return Err(Exhausted::Rows { limit: self.limits.rows }.into());
        }
        self.poll()
    }

    /// Rows charged so far, those before included.
    pub fn rows_used(&self) -> u64 {
        self.limits.rows - self.rows_left.get()
    }

    /// Looks whether the run has to stop.
    ///
    /// # Errors
    /// The time is over, or the run was cancelled.
    #[inline]
    pub fn poll(&self) -> Result<(), Fault> {
        self.ask().map_err(Fault::from)
    }

    /// True if the run has to stop. A function that ends early for it leaves a result that nobody may use.
    pub fn stop(&self) -> bool {
        self.poll().is_err()
    }

    /// Where the watch stands, for threads: who copies it right after the meter was made waits for the memory.
    pub(crate) fn watch_place(&self) -> &Option<&'r dyn Watch> {
        &self.watch
    }

    /// The watch.
    pub fn watch(&self) -> Option<&'r dyn Watch> {
        self.watch
    }

    /// Bytes alive.
    pub fn alive(&self) -> u64 {
        self.alive.get()
    }

    /// Refuses an array of more rows than one may have.
    ///
    /// # Errors
    /// There are more.
    #[inline]
    pub fn check_array(&self, rows: usize) -> Result<(), Fault> {
        let maximum = self.limits.array_rows;
        match rows as u64 > maximum {
            true => Err(Fault::Limit { limit: "array-rows", actual: rows as u64, maximum }),
            false => Ok(()),
        }
    }

    /// The rows `0..rows` in strides, with a poll before each.
    pub fn strides(&self, rows: usize) -> MeteredRanges<'_> {
        MeteredRanges { meter: self, next: 0, rows, stride: STRIDE }
    }

    /// The same for kernels that may be slow on a single row.
    pub fn slow_strides(&self, rows: usize) -> MeteredRanges<'_> {
        MeteredRanges { stride: SLOW_STRIDE, ..self.strides(rows) }
    }

    /// Polls for a loop that goes over rows in stretches of any size.
    pub(crate) fn pace(&self) -> Pace<'_> {
        Pace { meter: self, since_poll: 0 }
    }

    /// An empty vector with room for so many items, which count until it goes.
    ///
    /// # Errors
    /// Too many bytes would be alive, or the system refuses.
    pub fn vec<T>(&self, capacity: usize) -> Result<Scratch<'_, T>, Fault> {
        let mut scratch = Scratch { items: Vec::new(), account: self };
        scratch.reserve_exact(capacity)?;
        Ok(scratch)
    }

    /// A vector of so many zeros.
    ///
    /// # Errors
    /// As [`Meter::vec`].
    pub fn zeros<T: bytemuck::Zeroable>(&self, count: usize) -> Result<Scratch<'_, T>, Fault> {
        let asked = (count as u64).saturating_mul(size_of::<T>() as u64);
        self.charge(asked)?;
        match bytemuck::allocation::try_zeroed_vec(count) {
            Ok(items) => Ok(Scratch { items, account: self }),
            Err(()) => {
                self.give_back(asked);
                Err(Exhausted::Memory { asked }.into())
            }
        }
    }

    /// Items in a vector that counts until it goes.
    ///
    /// # Errors
    /// As [`Meter::vec`], or the run has to stop.
    pub fn collect<T>(&self, items: impl ExactSizeIterator<Item = T>) -> Result<Scratch<'_, T>, Fault> {
        let mut scratch = self.vec(items.len())?;
        for (number, item) in items.enumerate() {
            if number.is_multiple_of(STRIDE) {
                self.poll()?;
            }
            scratch.push(item);
        }
        Ok(scratch)
    }
}

impl Account for Meter<'_> {
    fn charge(&self, asked: u64) -> Result<(), Exhausted> {
        let (alive, limit) = (self.alive.get(), self.limits.bytes_alive);
        match alive.saturating_add(asked) > limit {
            true => Err(Exhausted::Bytes { asked, alive, limit }),
            false => {
                self.alive.set(alive + asked);
                Ok(())
            }
        }
    }

    fn give_back(&self, bytes: u64) {
        self.alive.set(self.alive.get().saturating_sub(bytes));
    }

    fn ask(&self) -> Result<(), Exhausted> {
        self.watch.map_or(Ok(()), Watch::ask)
    }
}

/// Rows since the last poll; see [`Meter::pace`].
#[derive(Debug)]
pub(crate) struct Pace<'m> {
    meter: &'m Meter<'m>,
    since_poll: usize,
}

impl Pace<'_> {
    /// Notes rows that are gone over, and polls once they are [`STRIDE`].
    ///
    /// # Errors
    /// The run has to stop.
    #[inline]
    pub(crate) fn over(&mut self, rows: usize) -> Result<(), Fault> {
        self.since_poll += rows;
        if self.since_poll < STRIDE {
            return Ok(());
        }
        self.since_poll = 0;
        self.meter.poll()
    }
}

/// Ranges of rows; see [`Meter::strides`].
#[derive(Debug)]
pub struct MeteredRanges<'m> {
    meter: &'m Meter<'m>,
    next: usize,
    rows: usize,
    stride: usize,
}

impl Iterator for MeteredRanges<'_> {
    type Item = Result<Range<usize>, Fault>;

    fn next(&mut self) -> Option<Self::Item> {
        let start = self.next;
        if start >= self.rows {
            return None;
        }
        self.next = self.rows.min(start + self.stride);
        Some(self.meter.poll().map(|()| start..self.next))
    }
}

/// A vector whose memory counts until it goes.
pub struct Scratch<'m, T> {
    items: Vec<T>,
    account: &'m dyn Account,
}

impl<T> Scratch<'_, T> {
    /// Makes room for so many items in all.
    ///
    /// # Errors
    /// Too many bytes would be alive, or the system refuses.
    pub fn reserve_exact(&mut self, count: usize) -> Result<(), Fault> {
        reserve_exact(&mut self.items, count, self.account).map_err(Fault::from)
    }

    /// Appends an item for which there is room.
    pub fn push(&mut self, item: T) {
        debug_assert!(self.items.len() < self.items.capacity(), "room for the item");
        self.items.push(item);
    }

    /// Appends items for which there is room.
    pub fn extend_from_slice(&mut self, items: &[T])
    where
        T: Copy,
    {
        debug_assert!(self.items.len() + items.len() <= self.items.capacity(), "room for the items");
        self.items.extend_from_slice(items);
    }

    /// Appends an item, with more room if it takes it.
    ///
    /// # Errors
    /// As [`Scratch::reserve_exact`].
    #[inline]
    pub fn append(&mut self, item: T) -> Result<(), Fault> {
        if self.items.len() == self.items.capacity() {
            let count = self.items.len() + 1;
            reserve(&mut self.items, count, self.account)?;
        }
        self.items.push(item);
        Ok(())
    }

    /// Makes it so many zeros; where there was no room for them, they are pages that nobody has touched.
    ///
    /// # Errors
    /// As [`Scratch::reserve_exact`], or the run has to stop.
    pub fn reset(&mut self, count: usize) -> Result<(), Fault>
    where
        T: bytemuck::Zeroable + Copy,
    {
        self.items.clear();
        let bytes = |count: usize| (count as u64).saturating_mul(size_of::<T>() as u64);
        let (before, asked) = (bytes(self.items.capacity()), bytes(count));
        if asked <= before {
            return Ok(fill_up_to(&mut self.items, count, T::zeroed(), self.account)?);
        }
        self.account.charge(asked - before)?;
        self.items = Vec::new();
        match bytemuck::allocation::try_zeroed_vec(count) {
            Ok(zeros) => {
                self.items = zeros;
                Ok(())
            }
            Err(()) => {
                self.account.give_back(asked);
                Err(Exhausted::Memory { asked }.into())
            }
        }
    }

    /// Forgets the items and keeps the memory.
    pub fn clear(&mut self) {
        self.items.clear();
    }

    /// The vector, which goes on to count as alive.
    pub fn into_alive(mut self) -> Vec<T> {
        std::mem::take(&mut self.items)
    }
}

impl<T> Drop for Scratch<'_, T> {
    fn drop(&mut self) {
        self.account.give_back((self.items.capacity() * size_of::<T>()) as u64);
    }
}

impl<T> Deref for Scratch<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.items
    }
}

impl<T> DerefMut for Scratch<'_, T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.items
    }
}

impl<T: fmt::Debug> fmt::Debug for Scratch<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.items.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    struct After(AtomicU32);

    impl Watch for After {
        fn ask(&self) -> Result<(), Exhausted> {
            match self.0.fetch_sub(1, Ordering::Relaxed) {
                0 => Err(Exhausted::Cancelled),
                _ => Ok(()),
            }
        }
    }

    #[test]
    fn loops_end_where_the_watch_says() {
        let watch = After(AtomicU32::new(3));
        let meter = Meter::of_default().watched(Some(&watch));
        let mut seen = 0;
        let outcome: Result<(), Fault> = meter.strides(10 * STRIDE).try_for_each(|rows| {
            seen = rows?.end;
            Ok(())
        });
        assert_eq!((outcome, seen), (Err(Fault::Exhausted(Exhausted::Cancelled)), 3 * STRIDE));
    }

    #[test]
    fn rows_and_bytes_run_out() {
        let limits = MeterLimits { rows: 100, bytes_alive: 1000, array_rows: 50 };
        let meter = Meter::new(&limits, 200);
        assert_eq!((meter.rows(60), meter.rows_used()), (Ok(()), 60));
        assert_eq!(meter.rows(41), Err(Exhausted::Rows { limit: 100 }.into()));
        let scratch = meter.vec::<u64>(50).expect("400 bytes");
        assert_eq!(meter.alive(), 600);
        let error = meter.vec::<u64>(60).map(|_| ()).expect_err("too many");
        assert_eq!(error, Exhausted::Bytes { asked: 480, alive: 600, limit: 1000 }.into());
        drop(scratch);
        assert_eq!(meter.alive(), 200);
        assert_eq!(meter.zeros::<u8>(100).expect("few").into_alive().len(), 100);
        assert_eq!(meter.alive(), 300);
        assert!(meter.check_array(50).is_ok() && meter.check_array(51).is_err());
    }
}
