//! FrameLayout: where every slot of a frame lies, and the typed handles to reach it.
//!
//! A layout is to a frame what a struct definition is to an instance: one block of memory, fields
//! at fixed offsets, as many instances as you like.
//!
//! ```text
//! x: FLOAT32   output: FLOAT64   FLOAT64       FLOAT64 = 1
//! [0x00|····]  [0x08··········]  [0x10·······]  [0x18·······]     size 32, align 8
//! ```
//!
//! - Offsets are appended: `offset = round_up(size, align)`; the final size is rounded up to the
//!   largest alignment.
//! - Bytes are either *plain* or belong to one *handle* (the header of a text, bytes or sequence
//!   buffer). A byte never changes its nature, so plain slots may share bytes over time and handle
//!   slots may share a handle of the same kind, but never one another's.
//! - Literals are part of the layout: two frames of one layout hold the same literals.

pub mod access;
pub mod builder;
pub mod element_place;
pub mod handle;
pub mod held;
pub mod layout;
pub mod nd_handle;
mod opened;
pub mod slot;

pub use access::{PlainSlot, SlotType};
pub use builder::{LayoutBuilder, LayoutError};
pub use layout::{FrameLayout, LayoutId};
pub use slot::{NumberSlot, Slot, TypedSlot};
