//! Budget options: `--fuel`, `--limit-rows` and the others, the same for every command that evaluates.

use cembra_vm::machine::SharedBudget;
use cembra_vm::value::Budget;
use cembra_vm::value::array::MAX_ROWS;
use cembra_vm::value::budget::{Account, DEFAULT_BYTES_ALIVE, Exhausted};
use clap::{Args, value_parser};
use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

/// What the evaluations of a command may use up.
#[derive(Debug, Args)]
pub struct BudgetArgs {
    /// Instructions that may be used, by all evaluations or batches together.
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub fuel: Option<u64>,
    /// Rows that operators may go over, in all evaluations or batches together.
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub limit_rows: Option<u64>,
    /// Bytes of rows and texts that may be alive at one time.
    #[arg(long, value_name = "BYTES", default_value_t = DEFAULT_BYTES_ALIVE, hide_short_help = true)]
    pub limit_bytes: u64,
    /// Rows of one array.
    #[arg(long, value_name = "N", default_value_t = MAX_ROWS as u64, value_parser = value_parser!(u64).range(..=MAX_ROWS as u64), hide_short_help = true)]
    pub limit_array_rows: u64,
    /// Time that all evaluations or batches together may take.
    #[arg(long, value_name = "SECONDS", value_parser = seconds, hide_short_help = true)]
    pub limit_time: Option<Duration>,
}

impl BudgetArgs {
    /// The budget.
    pub fn budget(&self) -> Budget {
        Budget {
            instructions: self.fuel,
            rows: self.limit_rows,
            bytes_alive: self.limit_bytes,
            array_rows: self.limit_array_rows,
            time: self.limit_time,
            cancel: None,
        }
    }

    /// An account of bytes that the host keeps, up to what may be alive.
    pub fn bytes(&self) -> HostBytes {
        HostBytes { limit: self.limit_bytes, alive: Cell::new(0) }
    }

    /// A budget for several evaluations, whose time begins now.
    pub fn shared(&self) -> Arc<SharedBudget> {
        Arc::new(SharedBudget::new(self.budget()))
    }
}

/// Bytes that the host keeps while programs run.
#[derive(Debug)]
pub struct HostBytes {
    limit: u64,
    alive: Cell<u64>,
}

impl Account for HostBytes {
    fn charge(&self, asked: u64) -> Result<(), Exhausted> {
        let (alive, limit) = (self.alive.get(), self.limit);
        let sum = alive.checked_add(asked).filter(|sum| *sum <= limit);
        self.alive.set(sum.ok_or(Exhausted::Bytes { asked, alive, limit })?);
        Ok(())
    }

    fn give_back(&self, bytes: u64) {
        self.alive.set(self.alive.get().saturating_sub(bytes));
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: Option<f64> = text.parse().ok();
    let time = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    time.ok_or_else(|| "a number of seconds is expected".to_owned())
}
