//! Workflows: typed steps, and what is made of them.
//!
//! A [`Step`] turns one stage into the next. Composition is typed: what does not fit does not compile. Choices
//! are made where a workflow is composed, by taking another step; no option travels along a workflow.
//!
//! ```text
//!          chain                 step ── step                    one after the other
//!          skip_if               step ┄┄ or nothing              Out = I only
//!          ByInput               step ─┬ step                    the input chooses a step, or a list of steps
//!                                      └ step ── step
//!          Cached                key ─ store ─ step              the step runs only for what is new
//!          named_sequence!       name: step, name: step, …       every step can be replaced, by with_<name>
//! ```
//!
//! | file | what it has |
//! | --- | --- |
//! | [`step`](mod@step) | the trait, steps from functions, chains, skipping, errors, shared steps |
//! | [`by_input`](mod@by_input) | a step, or a list of steps, that the input chooses |
//! | [`fingerprint`] | what a value contributes to the key of a result |
//! | [`store`] | where results are kept: the trait, and a bounded store in memory |
//! | [`cached`] | a step that runs once for each key |
//! | [`observer`] | what looks at the artifact of each step of a named sequence |
//! | [`sequence`] | the macro for named sequences |
//!
//! 1. Steps are pure: this room touches no files, clocks or threads.
//! 2. `chain` is associative, and [`identity`] is its unit: names aside, both sides give the same.
//! 3. Errors are never kept; a run that panics does not block those that wait for it.
//! 4. An observer sees artifacts and cannot change them.
//!
//! ```
//! use cembra::workflow::{Step, step};
//! let parse = step("parse", |text: &str| text.parse::<i32>());
//! let double = step("double", |n: i32| Ok(2 * n));
//! assert_eq!(parse.chain(double).run("21"), Ok(42));
//! ```

pub mod by_input;
pub mod cached;
pub mod fingerprint;
mod flight;
pub mod observer;
pub mod sequence;
pub mod step;
pub mod store;

pub use by_input::{ByInput, StepList, by_input};
pub use cached::Cached;
pub use fingerprint::{Fingerprint, Fingerprinter, StepKey};
pub use observer::{Artifact, StepObserver};
pub use sequence::named_sequence;
pub use step::{Chain, FnStep, IdentityStep, MapErr, SharedStep, SkipIf, Step, identity, step};
pub use store::{MemoryStore, Store};
