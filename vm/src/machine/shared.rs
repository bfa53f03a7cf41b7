//! Shared budget: several runs, one after the other or on several threads, that use up one budget together.
//!
//! ```text
//! SharedBudget ── share() ──> Share: instructions, rows and time that are left ── within() ───> a run
//!      ^                        │                                              └── metered() ──> work outside of programs
//!      └──── what was used ─────┘ when the share goes
//! ```
//!
//! 1. The clock starts when the shared budget is made.
//! 2. Instructions and rows of all runs count together; bytes alive and rows of one array are limits of each run.
//! 3. Shares that exist at the same time may each use what was left when they were taken.
//! 4. Errors name the limit of the whole, not what was left: runs [within](crate::machine::RunOptions::within) a share see to it.

use crate::array::meter::{Meter, MeterLimits, Watch};
use crate::machine::error::{RunError, RunErrorKind};
use crate::value::budget::{Budget, CancelToken, Exhausted, MOST_ARRAY_ROWS};
use crate::value::{Category, Fault};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// A budget that several runs use up together.
#[derive(Debug)]
pub struct SharedBudget {
    whole: Budget,
    started: Instant,
    instructions: AtomicU64,
    rows: AtomicU64,
}

impl Default for SharedBudget {
    fn default() -> SharedBudget {
        SharedBudget::new(Budget::default())
    }
}

impl SharedBudget {
    /// A budget of which nothing has been used; its time begins now.
    pub fn new(whole: Budget) -> SharedBudget {
        let (instructions, rows) = Default::default();
        SharedBudget { whole, started: Instant::now(), instructions, rows }
    }

    /// The whole budget.
    pub fn whole(&self) -> &Budget {
        &self.whole
    }

    /// What runs have used so far.
    pub fn used(&self) -> Used {
        let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Used { instructions: load(&self.instructions), rows: load(&self.rows) }
    }

    /// What the next run may use.
    pub fn share(&self) -> Share<'_> {
        let Budget { time, instructions, rows, .. } = self.whole;
        let used = self.used();
        let left = |limit: Option<u64>, used: u64| limit.map(|limit| limit.saturating_sub(used));
        let left = Budget {
            time: time.map(|time| time.saturating_sub(self.started.elapsed())),
            instructions: left(instructions, used.instructions),
            rows: left(rows, used.rows),
            ..self.whole.clone()
        };
        Share { shared: self, left, alive: 0, used: Cell::default() }
    }
}

impl Watch for SharedBudget {
    fn ask(&self) -> Result<(), Exhausted> {
        if self.whole.cancel.as_ref().is_some_and(CancelToken::is_cancelled) {
            return Err(Exhausted::Cancelled);
        }
        match self.whole.time {
            Some(limit) if self.started.elapsed() >= limit => Err(Exhausted::Time { limit }),
            _ => Ok(()),
        }
    }
}

/// What a run has used up, whether it succeeded or not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// Instructions.
    pub instructions: u64,
    /// Rows that operators went over.
    pub rows: u64,
}

/// What one run may use of a [`SharedBudget`]; when it goes, what the run has used counts.
#[derive(Debug)]
pub struct Share<'s> {
    shared: &'s SharedBudget,
    left: Budget,
    /// Bytes that the host counts against the limit.
    alive: u64,
    used: Cell<Used>,
}

impl Share<'_> {
    /// The same where so many bytes are alive outside of the run.
    pub fn beside(mut self, alive: u64) -> Self {
        self.left.bytes_alive = self.left.bytes_alive.saturating_sub(alive);
        self.alive = alive;
        self
    }

    /// What is left for the run.
    pub(super) fn left(&self) -> &Budget {
        &self.left
    }

    /// Where the run notes what it uses.
    pub(super) fn used(&self) -> &Cell<Used> {
        &self.used
    }

    /// Work of the host that counts as a run of one instruction: it charges a meter.
    ///
    /// # Errors
    /// The budget is used up before the work begins, or the work fails.
    pub fn metered<R, E: From<Fault>>(&self, work: impl FnOnce(&Meter<'_>) -> Result<R, E>) -> Result<R, E> {
        let Budget { instructions, rows, bytes_alive, array_rows, time, ref cancel } = self.shared.whole;
        if let (Some(0), Some(limit)) = (self.left.instructions, instructions) {
            return Err(Fault::from(Exhausted::Instructions { limit }).into());
        }
        let array_rows = array_rows.min(MOST_ARRAY_ROWS);
        let limits = MeterLimits { rows: rows.unwrap_or(u64::MAX), bytes_alive, array_rows };
        let watch = (time.is_some() || cancel.is_some()).then_some(self.shared as &dyn Watch);
        let before = self.shared.used().rows;
        let meter = Meter::new(&limits, self.alive).after(before).watched(watch);
        meter.poll()?;
        let result = work(&meter);
        self.used.set(Used { instructions: 1, rows: meter.rows_used().saturating_sub(before) });
        result
    }

    /// An error of the run; it names the limits of the whole budget.
    pub(super) fn failure(&self, mut error: RunError) -> RunError {
        error.kind = match error.kind {
            RunErrorKind::Fault(fault) => RunErrorKind::Fault(self.fault(fault)),
            RunErrorKind::OutOfFuel { fuel } => {
                RunErrorKind::OutOfFuel { fuel: self.shared.whole.instructions.unwrap_or(fuel) }
            }
            kind => kind,
        };
        error
    }

    fn fault(&self, fault: Fault) -> Fault {
        let Budget { time, rows, bytes_alive, .. } = self.shared.whole;
        match fault {
            Fault::Exhausted(Exhausted::Time { limit }) => {
                Exhausted::Time { limit: time.unwrap_or(limit) }.into()
            }
            Fault::Exhausted(Exhausted::Rows { limit }) => {
                Exhausted::Rows { limit: rows.unwrap_or(limit) }.into()
            }
            Fault::Exhausted(Exhausted::Bytes { asked, alive, .. }) => {
                Exhausted::Bytes { asked, alive: alive + self.alive, limit: bytes_alive }.into()
            }
            other => other,
        }
    }
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        let Used { instructions, rows } = self.used.get();
        self.shared.instructions.fetch_add(instructions, Ordering::Relaxed);
        self.shared.rows.fetch_add(rows, Ordering::Relaxed);
    }
}

impl RunError {
    /// True if the run has used up its budget, or was cancelled: the same run would fail again.
    pub fn is_exhausted(&self) -> bool {
        matches!(self.kind, RunErrorKind::Fault(Fault::Exhausted(_)))
            || matches!(self.category(), Category::FuelExhausted | Category::Cancelled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn work_counts_until_the_whole_is_used_up() {
        let shared = SharedBudget::new(Budget::new().rows(100).bytes_alive(1000));
        assert_eq!(shared.share().metered(|meter| meter.rows(60)), Ok(()));
        assert_eq!(shared.share().metered(|meter| meter.rows(30)), Ok(()));
        assert_eq!(shared.used().rows, 90);
        let error = shared.share().metered(|meter| meter.rows(11)).expect_err("10 are left");
        assert_eq!(error, Exhausted::Rows { limit: 100 }.into());
        assert_eq!(shared.share().metered(|meter| meter.rows(10)), Ok(()));
    }

    #[test]
    fn work_is_one_instruction() {
        let shared = SharedBudget::new(Budget::new().instructions(2));
        let work = || shared.share().metered(|_| Ok::<(), Fault>(()));
        assert_eq!([work(), work()], [Ok(()), Ok(())]);
        assert_eq!(work(), Err(Exhausted::Instructions { limit: 2 }.into()));
    }

    #[test]
    fn bytes_of_the_host_count_beside_those_of_the_run() {
        let shared = SharedBudget::new(Budget::new().bytes_alive(1000));
        let room = |bytes| shared.share().beside(900).metered(|meter| meter.vec::<u8>(bytes).map(drop));
        assert_eq!(room(100), Ok(()));
        assert_eq!(room(101), Err(Exhausted::Bytes { asked: 101, alive: 900, limit: 1000 }.into()));
    }

    #[test]
    fn time_and_token_stop_work_before_it_begins() {
        let error = |budget| {
            SharedBudget::new(budget).share().metered(|_| Ok::<(), Fault>(())).expect_err("it has to stop")
        };
        let limit = Duration::ZERO;
        assert_eq!(error(Budget::new().time(limit)), Exhausted::Time { limit }.into());
        let token = crate::value::CancelToken::new();
        token.cancel();
        assert_eq!(error(Budget::new().cancel(&token)), Exhausted::Cancelled.into());
    }
}
