//! Embedding: from a host's data to a value, end to end.
//!
//! ```text
//! input ─loader─> frame ─execute─> frame ─output─> value
//!                                    └─listener─> sink
//! ```
//!
//! A [`ModelExecutor`] does the five steps of one evaluation: take a frame, load inputs, run, hand out
//! side outputs, read the output. It is compiled once, shared between threads, and cheap to clone. A
//! *loader* knows the types of the names it offers and writes them into slots; a *listener* is told the
//! side outputs.

pub mod error;
pub mod executor;
pub mod export;
pub mod listener;
pub mod loader;
pub mod output;

pub use error::HostError;
pub use executor::{ExecutorOptions, LocalExecutor, ModelExecutor};
pub use listener::{Listener, SlotListener};
pub use loader::{Accessors, InputLoader, LoadError, MapLoader};
pub use output::Output;
