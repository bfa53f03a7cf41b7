//! Frame: one aligned block of memory that follows a layout, and the pool that keeps frames warm.
//!
//! ```text
//! Frame ── layout: Arc<FrameLayout>
//!   ├──── bytes    [input|input|output|literal|temporary|handle──]──> buffer, kept between runs
//!   ├──── written  [ 1  |  1  |  0   ]   one bit per input, then per output
//!   ├──── scratch  for values that cannot keep a buffer, given back after a run, and for regions, after each
//!   └──── callees  frames of called routines, kept between runs
//! ```
//!
//! Invariants:
//! 1. The bytes of a handle always hold a valid handle of its kind; plain bytes are initialised.
//! 2. Literal bytes are those of the layout from creation on; no verified program writes them.
//! 3. A written-bit is set only while its slot holds a value of this use of the frame.

pub mod error;
pub mod frame;
mod memory;
pub mod pool;
pub(crate) mod scratch;
pub mod typed;

pub use error::FrameError;
pub use frame::Frame;
pub use pool::{FramePool, PooledFrame};
