//! What a host may ask of a run: a budget, limits of calls, threads, observation.

use crate::array::meter::{MeterLimits, Watch};
use crate::machine::observer::Observer;
use crate::machine::shared::{Share, Used};
use crate::operator::cell::Strips;
use crate::value::budget::{Budget, MOST_ARRAY_ROWS};
use crate::value::{CancelToken, Exhausted};
use std::cell::Cell;
use std::fmt;
use std::time::{Duration, Instant};

/// Calls of routines that may be open at once unless told otherwise.
pub const DEFAULT_CALL_DEPTH: usize = 1_000;

/// Bytes that the frames of open calls may have together unless told otherwise: 256 MiB.
pub const DEFAULT_CALL_FRAME_BYTES: u64 = 256 << 20;

/// Fuel of a run without a limit; far beyond what a machine can execute.
const UNLIMITED_FUEL: u64 = i64::MAX as u64;

/// Options of one run.
#[derive(Default)]
pub struct RunOptions<'o> {
    pub(super) limits: RunLimits<'o>,
    pub(super) observer: Option<&'o mut dyn Observer>,
    /// The part of a shared budget that the limits are.
    pub(super) share: Option<&'o Share<'o>>,
}

/// What a run may use.
#[derive(Clone, Copy, Debug)]
pub(super) struct RunLimits<'o> {
    /// Instructions.
    pub(super) fuel: u64,
    /// Rows and bytes.
    pub(super) meter: MeterLimits,
    pub(super) time: Option<Duration>,
    pub(super) cancel: Option<&'o CancelToken>,
    /// Is asked first.
    #[cfg(test)]
    pub(super) asked: Option<&'o dyn Watch>,
    /// Calls that may be open at once.
    pub(super) call_depth: usize,
    /// Bytes of their frames.
    pub(super) call_frame_bytes: u64,
    /// Calls in pieces that are open around the run.
    pub(super) nested: usize,
    /// Threads of a region.
    pub(super) threads: usize,
    /// When a region runs as strips.
    pub(super) strips: Strips,
    /// Where it is noted what a run has used up.
    pub(super) used: Option<&'o Cell<Used>>,
}

impl RunLimits<'static> {
    /// Those of a run without options.
    pub(super) const DEFAULT: RunLimits<'static> = RunLimits {
        fuel: UNLIMITED_FUEL,
        meter: MeterLimits::DEFAULT,
        time: None,
        cancel: None,
        #[cfg(test)]
        asked: None,
        call_depth: DEFAULT_CALL_DEPTH,
        call_frame_bytes: DEFAULT_CALL_FRAME_BYTES,
        nested: 0,
        threads: 1,
        strips: Strips::Auto,
        used: None,
    };
}

impl Default for RunLimits<'_> {
    fn default() -> Self {
        RunLimits::DEFAULT
    }
}

impl<'o> RunOptions<'o> {
    /// No fuel limit, no cancellation, no observer.
    pub fn new() -> RunOptions<'o> {
        RunOptions::default()
    }

    /// Instructions the run may use. Deterministic: the same program and inputs use the same number,
    /// observed or not. A stretch without jumps is charged when it is entered, so that a run that
    /// cannot finish it stops before it.
    pub fn fuel(mut self, instructions: u64) -> Self {
        self.limits.fuel = instructions.min(UNLIMITED_FUEL);
        self
    }

    /// All of a budget.
    pub fn budget(self, budget: &'o Budget) -> Self {
        let limits = RunLimits {
            fuel: budget.instructions.map_or(UNLIMITED_FUEL, |fuel| fuel.min(UNLIMITED_FUEL)),
            time: budget.time,
            cancel: budget.cancel.as_ref(),
            ..self.limits
        };
        let with = RunOptions { limits, ..self };
        let with = with.rows(budget.rows.unwrap_or(u64::MAX)).bytes_alive(budget.bytes_alive);
        with.array_rows(budget.array_rows)
    }

    /// A share of a budget, if there is one, in place of the limits so far; errors then name those of the whole budget.
    pub fn within(self, share: Option<&'o Share<'o>>) -> Self {
        match share {
            Some(of) => RunOptions { share, ..self.budget(of.left()) }.used(of.used()),
            None => self,
        }
    }

    /// Rows that operators may go over, all operators together. Deterministic, as fuel is; an operator is charged
    /// for the longest of its arguments and its result.
    pub fn rows(mut self, rows: u64) -> Self {
        self.limits.meter.rows = rows;
        self
    }

    /// Bytes of rows and texts that the frame and its operators may have alive at one time, 4 GiB unless told
    /// otherwise. What a host lends or shares does not count.
    pub fn bytes_alive(mut self, bytes: u64) -> Self {
        self.limits.meter.bytes_alive = bytes;
        self
    }

    /// Rows of one array, [`MOST_ARRAY_ROWS`] unless told otherwise, and at most.
    pub fn array_rows(mut self, rows: u64) -> Self {
        self.limits.meter.array_rows = rows.min(MOST_ARRAY_ROWS);
        self
    }

    /// Time that the run may take. The clock is looked at where a token is.
    pub fn time(mut self, time: Duration) -> Self {
        self.limits.time = Some(time);
        self
    }

    /// A token that stops the run; it is looked at before the first instruction, every 64
    /// instructions, at each backward jump, and every few thousand rows.
    pub fn cancel(mut self, token: &'o CancelToken) -> Self {
        self.limits.cancel = Some(token);
        self
    }

    /// Where the run notes what it has used up, for a budget that several runs share.
    pub fn used(mut self, used: &'o Cell<Used>) -> Self {
        self.limits.used = Some(used);
        self
    }

    /// Called before and after each instruction; the run then steps through unfused code.
    pub fn observer(mut self, observer: &'o mut dyn Observer) -> Self {
        self.observer = Some(observer);
        self
    }

    /// Calls of routines that may be open at once.
    pub fn call_depth(mut self, depth: usize) -> Self {
        self.limits.call_depth = depth;
        self
    }

    /// Threads that work on a tile region of more than 65,536 rows, or on the pieces of a [parallel
    /// routine](crate::program::parallel), one unless told otherwise. The result does not depend on it. Each thread
    /// allocates memory for its blocks or its frame, and has its share of the bytes that may be alive.
    pub fn threads(mut self, threads: usize) -> Self {
        self.limits.threads = threads;
        self
    }

    /// Whether tile regions run as [strips](crate::strip), compiled loops over registers. The result does not depend on
    /// it.
    pub fn strips(mut self, strips: Strips) -> Self {
        self.limits.strips = strips;
        self
    }

    /// Bytes that the frames of open calls may have together.
    pub fn call_frame_bytes(mut self, bytes: u64) -> Self {
        self.limits.call_frame_bytes = bytes;
        self
    }
}

impl<'o> RunLimits<'o> {
    /// Begins to watch the clock and the token; `None` if there is nothing to watch.
    #[inline]
    pub(super) fn watch(&self) -> Option<RunWatch<'o>> {
        #[cfg(test)]
        let is_counted = self.asked.is_some();
        #[cfg(not(test))]
        let is_counted = false;
        if self.time.is_none() && self.cancel.is_none() && !is_counted {
            return None;
        }
        // A time beyond what the clock can say never comes.
        let deadline = self.time.and_then(|time| Some((Instant::now().checked_add(time)?, time)));
        Some(RunWatch {
            cancel: self.cancel,
            deadline,
            #[cfg(test)]
            asked: self.asked,
        })
    }
}

#[cfg(test)]
impl<'o> RunOptions<'o> {
    /// A watch that is asked before the token and the clock.
    pub(super) fn asked(mut self, asked: &'o dyn Watch) -> Self {
        self.limits.asked = Some(asked);
        self
    }
}

/// The clock and the token of one run.
pub(super) struct RunWatch<'o> {
    cancel: Option<&'o CancelToken>,
    /// When the time is over, and how long it is.
    deadline: Option<(Instant, Duration)>,
    #[cfg(test)]
    asked: Option<&'o dyn Watch>,
}

impl RunWatch<'_> {
    /// True if the token has been fired.
    #[inline]
    pub(super) fn is_cancelled(&self) -> bool {
        self.cancel.is_some_and(CancelToken::is_cancelled)
    }
}

impl Watch for RunWatch<'_> {
    fn ask(&self) -> Result<(), Exhausted> {
        #[cfg(test)]
        if let Some(asked) = self.asked {
            asked.ask()?;
        }
        if self.is_cancelled() {
            return Err(Exhausted::Cancelled);
        }
        match self.deadline {
            Some((end, limit)) if Instant::now() >= end => Err(Exhausted::Time { limit }),
            _ => Ok(()),
        }
    }
}

impl fmt::Debug for RunOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunOptions")
            .field("limits", &self.limits)
            .field("observed", &self.observer.is_some())
            .finish()
    }
}
