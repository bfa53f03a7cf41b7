//! How a job is run, how far it has come, and what it has done.

use crate::columns::error::RowError;
use crate::columns::evaluate::OnError;
use cembra_vm::value::{ArrayRows, Budget};

/// Rows of a batch unless the host asks for another number.
pub const DEFAULT_BATCH_ROWS: usize = 1 << 16;

/// How a job is run.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// Rows of a batch; none if all rows are one batch.
    pub batch_rows: Option<usize>,
    /// What happens to a row that fails.
    pub on_error: OnError,
    /// Rows of the results that the summary has.
    pub head: usize,
    /// Rows of the results after which the run may end.
    pub enough: Option<u64>,
    /// What the run may use up: time and cancellation for all batches together, anything else for each batch.
    pub budget: Budget,
}

impl Default for RunOptions {
    fn default() -> RunOptions {
        RunOptions {
            batch_rows: Some(DEFAULT_BATCH_ROWS),
            on_error: OnError::Fail,
            head: 0,
            enough: None,
            budget: Budget::default(),
        }
    }
}

/// How far a run has come.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    /// Rows computed.
    pub rows: u64,
    /// Units read of the first source: bytes, or rows.
    pub read: u64,
    /// Units in all; 0 if unknown.
    pub total: u64,
}

/// What a run has done.
#[derive(Debug, Default)]
pub struct Summary {
    /// Rows read.
    pub rows: u64,
    /// Rows of the results.
    pub written: u64,
    /// Rows that failed, and were left out or have missing results.
    pub failed: u64,
    /// The first of them.
    pub first_failure: Option<RowError>,
    /// The first rows of the results.
    pub head: Vec<ArrayRows>,
}
