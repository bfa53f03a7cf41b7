//! Program: what the compiler makes and every tier runs.
//!
//! A program is data. It prints ([`dump`], [`text`]), parses back, is verified ([`verify`],
//! [`slot_check`]), and has a content hash. It consists of routines; the first one is the main
//! routine, the others are reached by `call`.
//!
//! ```text
//! Routine ── layout     where slots lie, and the literals
//!   ├─────── values     v0: FLOAT32 [0x00], v1: FLOAT64 [0x08], …   what each slot means where
//!   ├─────── inputs, output, side outputs, literals: names and roles of values
//!   ├─────── operators  o0: core.to_float64(FLOAT32) -> FLOAT64, …  exact overloads
//!   └─────── eval       v2 = o0(v0); v1 = o1(v2, v3); jumps, traps, calls, guards
//! ```
//!
//! What tiers that make code ask of a program without running it is here as well: [`cfg`](mod@cfg), [`liveness`], and loops whose turns are
//! [`counted`].
//!
//! Operands are *values*, not slots: slots are shared over time, values are not. That is what lets
//! an independent checker prove an allocation right, and a layout dump show what lived where.

pub mod affine;
pub mod body;
pub mod catch;
pub mod cfg;
pub mod counted;
pub mod dump;
pub mod instruction;
pub mod liveness;
pub mod parallel;
pub mod program;
pub mod slot_check;
pub mod text;
pub mod verify;
pub mod verify_error;
mod verify_parallel;
pub mod written;

pub use body::Body;
pub use catch::Catch;
pub use instruction::{Instruction, ValueId};
pub use program::{Program, Routine};
