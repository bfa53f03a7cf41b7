//! Frame/slot virtual machine of Cembra.
//!
//! A [`Program`](program::Program) is data: a frame layout, literals to place once, and a list of
//! operators, jumps and traps on slots. The machine turns it into a
//! [`BoundExpr`](machine::BoundExpr) that runs on a [`Frame`](frame::Frame), any number of times,
//! without allocating.
//!
//! ```text
//! value ─┐
//! vector ┼─> layout ─> frame ──┬─> operator ─> builtins
//!        ├─> strip ──> array ──┘       └─────> program ─> machine
//!        │       └────────────────────────────────────────^
//!                                            jit, library ─┘   with the features of these names
//! ```
//!
//! Rooms import only rooms on lower floors. `unsafe` appears in `vector`, `layout`, `strip`, `array`, `frame`,
//! `operator`, `machine`, `jit` and `library` only; every site names the invariant it leans on. The invariants are established by
//! the program verifier (`program/verify.rs`): nothing is bound that it has not accepted.

#![warn(missing_docs)]

pub mod array;
pub mod builtins;
pub mod frame;
#[cfg(feature = "jit")]
pub mod jit;
pub mod layout;
#[cfg(feature = "library")]
pub mod library;
pub mod machine;
pub mod operator;
pub mod program;
pub mod strip;
pub mod value;
pub mod vector;
