//! The machine: binds a verified program, runs it, watches it.
//!
//! ```text
//! Program ─verify─> BoundExpr ── code: one array of cells per routine (machine::code)
//!                      │           fused: accumulators, compare-and-jump, no-op copies dropped
//!                      │           stepped: one pause per instruction, for observers
//!                      │           tile regions: operators on arrays, block by block (machine::tile)
//!                      │           a compiled tier, if a host attached one (machine::tier)
//!                      └─ execute(&mut Frame) ─> machine::run
//! ```
//!
//! The program stays canonical. Cells carry the number of the instruction they stem from; errors,
//! fuel and traces speak of instructions, whatever the code looks like.
//!
//! *Fuel* counts instructions. A stretch of instructions up to the next jump, trap or call is charged
//! when it is entered, so the charge is the same in every tier: a run with just enough fuel succeeds,
//! and with one less it fails at the same instruction every time.

#[cfg(test)]
mod asks;
mod attached;
pub mod bound;
pub mod call;
mod call_cells;
mod calls;
mod caught;
mod cells;
mod code;
pub mod error;
pub mod host_cells;
pub mod invoke;
pub mod kept;
#[cfg(test)]
mod latency;
#[cfg(feature = "jit")]
pub(crate) mod native;
pub mod observer;
pub mod options;
mod pairs;
mod parallel;
#[cfg(feature = "jit")]
pub(crate) mod parts;
#[cfg(all(test, target_os = "linux"))]
mod peaks;
mod pieces;
pub mod positions;
pub mod room;
mod routine_code;
mod run;
pub mod shared;
#[cfg(test)]
mod stops;
mod stretches;
pub mod sweep_order;
#[cfg(feature = "jit")]
pub mod tier;
pub mod tile;
mod transfer;
pub mod update;

pub use crate::operator::cell::Strips;
pub use crate::value::budget::{Budget, CancelToken};
pub use bound::{BindError, BoundExpr};
pub use call::{Call, CallError, Outputs};
pub use error::{Location, RunError, RunErrorKind};
pub use host_cells::{CellsPlace, HostCells};
pub use invoke::invoke;
pub use kept::{KeptOperand, KeptRun};
pub use observer::{Observer, Profile, Trace};
pub use options::RunOptions;
pub use positions::Positions;
pub use room::{Room, RoomError};
pub use shared::{Share, SharedBudget, Used};
pub use sweep_order::SweepOrder;
#[cfg(feature = "jit")]
pub use tier::CompiledTier;
pub use tile::RegionReport;
pub use update::NdViewMut;
