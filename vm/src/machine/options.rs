//! What a host may ask of a run: fuel, cancellation, limits, observation.

use crate::machine::observer::Observer;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Calls of routines that may be open at once unless told otherwise.
pub const DEFAULT_CALL_DEPTH: usize = 1_000;

/// Bytes that the frames of open calls may have together unless told otherwise: 256 MiB.
pub const DEFAULT_CALL_FRAME_BYTES: u64 = 256 << 20;

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

/// Options of one run.
#[derive(Default)]
pub struct RunOptions<'o> {
    pub(super) fuel: Option<u64>,
    pub(super) cancel: Option<&'o CancelToken>,
    pub(super) observer: Option<&'o mut dyn Observer>,
    pub(super) call_depth: Option<usize>,
    pub(super) call_frame_bytes: Option<u64>,
    pub(super) threads: Option<usize>,
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
        self.fuel = Some(instructions);
        self
    }

    /// A token that stops the run; it is looked at before the first instruction, every 64
    /// instructions and at each backward jump.
    pub fn cancel(mut self, token: &'o CancelToken) -> Self {
        self.cancel = Some(token);
        self
    }

    /// Called before and after each instruction; the run then steps through unfused code.
    pub fn observer(mut self, observer: &'o mut dyn Observer) -> Self {
        self.observer = Some(observer);
        self
    }

    /// Calls of routines that may be open at once.
    pub fn call_depth(mut self, depth: usize) -> Self {
        self.call_depth = Some(depth);
        self
    }

    /// Threads that work on a tile region of more than 65,536 rows, one unless told otherwise. The result
    /// does not depend on it. Each thread allocates memory for its blocks.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads);
        self
    }

    /// Bytes that the frames of open calls may have together.
    pub fn call_frame_bytes(mut self, bytes: u64) -> Self {
        self.call_frame_bytes = Some(bytes);
        self
    }
}

impl fmt::Debug for RunOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunOptions")
            .field("fuel", &self.fuel)
            .field("cancel", &self.cancel)
            .field("threads", &self.threads)
            .field("observed", &self.observer.is_some())
            .finish_non_exhaustive()
    }
}
