//! Compilation: from a prepared expression to a program.
//!
//! ```text
//! Prepared ─order─> ─emit─> Body over values ─postpone─> ─liveness─> ─assign slots─> Routine ─bind─> BoundExpr
//! ```
//!
//! - [`order`]: which operand is computed first, so that few values are alive at once.
//! - [`emission`], [`emit`]: nodes become instructions over *values*; branches become jumps; views need nothing.
//! - `postpone`: single values that are made of reductions wait, so that rows are read once.
//! - [`known`]: which nodes have their values where the walk stands.
//! - [`slots`]: who may use which bytes of the frame.
//! - `inner`: which arrays stay inside of a tile region.
//! - [`assign`]: values get slots, by where they are alive.
//! - [`binder`]: one or several expressions in one layout.
//! - [`tier`]: the interpreter, or machine code as well.
//!
//! Layout order: inputs as given, output, then literals and temporaries as the walk meets them. A
//! result may take the bytes of an operand that dies with it; literals, outputs and inputs keep theirs
//! (inputs unless [`Options::allow_overriding_input_slots`]).

pub mod assign;
pub mod binder;
pub mod emission;
pub mod emit;
pub mod error;
mod inner;
pub mod known;
pub mod order;
mod postpone;
mod redefined;
pub mod slots;
pub mod tier;

pub use assign::SlotReuse;
pub use binder::{Binder, Options, compile};
pub use error::CompileError;
