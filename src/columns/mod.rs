//! Columns: expressions over the rows of files, batch by batch.
//!
//! ```text
//! a.csv ──Source─┐                              ┌─Sink── out.npz
//! b.npy ──Source─┴─> batch ─> program ─> batch ─┘
//!          reading           main thread           writing
//! ```
//!
//! A *source* knows its columns and fills arrays with the next rows of those that are asked for. A
//! *sink* takes the result columns; what it writes appears under its name only when it is finished. A
//! [plan] compiles the expressions for the columns they name; the [job](run) it gives moves batches
//! from the one to the other, and its three threads work on different batches.
//!
//! Apart from that, a file can be read [whole], as arrays of numbers of any number of axes.
//!
//! 1. Memory is bounded by the rows of a batch, not by the files.
//! 2. A program runs per batch only if every operator in it works [row by row](rowwise), so the result
//!    does not depend on where batches begin.
//! 3. No file takes more memory than its length justifies, whatever sizes it claims, and no damaged file more than
//!    an error: the panics of other crates end at one boundary.
//! 4. Whatever fails, the file under the target's name is the old one or the whole new one.

#[cfg(feature = "columns")]
pub mod arrow_cells;
#[cfg(feature = "columns")]
pub mod arrow_source;
pub mod csv_infer;
pub mod csv_records;
pub mod csv_sink;
pub mod csv_source;
pub mod error;
pub mod evaluate;
pub mod format;
#[cfg(feature = "columns")]
pub mod guard;
#[cfg(feature = "columns")]
pub mod ipc;
#[cfg(feature = "columns")]
mod ipc_check;
pub mod npy_header;
pub mod npy_sink;
pub mod npy_source;
pub mod npz_members;
pub mod npz_sink;
pub mod npz_source;
pub mod outputs;
#[cfg(feature = "columns")]
mod parquet_check;
#[cfg(feature = "columns")]
pub mod parquet_file;
pub mod pipeline;
pub mod plan;
pub mod progress;
pub mod replace;
pub mod rowwise;
pub mod run;
pub mod sink;
pub mod source;
pub mod whole;

pub use error::ColumnsError;
pub use evaluate::{OnError, Scope};
pub use format::{Format, OpenOptions, create, open};
pub use plan::Plan;
pub use progress::{Progress, RunOptions, Summary};
pub use run::Job;
pub use sink::Sink;
pub use source::Source;
pub use whole::{NumberArray, check_numbers, read_whole};
