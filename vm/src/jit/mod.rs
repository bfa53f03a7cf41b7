//! The compiled tier: machine code for the routines of a bound program, made by Cranelift.
//!
//! ```text
//! BoundExpr ── parts ──> translate ──> Cranelift ──> one module: read and executed, never written again
//!     ^                  jit::routine                     │
//!     └────────── attach: Compiled, with the cells ───────┘
//!
//! v2 = math.multiply(v0, v1)       fmul                          rules by recipe      (jit::recipes)
//! v3 = python.add(v4, v5)          add, jump if overflow ──┐     rules by primitive   (jit::primitives)
//! v6 = nd.get(v7, v3)              key, bound, load ───────┤     in place             (jit::elements)
//! v8 = strings.join(v9, v10)       ────────────────────────┴───> the cell of the instruction, through `run_cells`
//! ```
//!
//! Plain values are variables of Cranelift, one for each leaf: an optional has two, a tuple those of its fields. Inputs are
//! loaded where a routine begins, literals where they are used; values are stored where it ends and where a cell reads them.
//! Handles stay in the frame.
//!
//! 1. Compiled code gives the bits of the cells (NaN being one value), their errors at their instructions, and uses their fuel.
//! 2. Whatever is rare or has no rule is done by the cell of the instruction: faults have one home.
//! 3. A slot is written at most where the interpreter would have that value in it, so that shared slots stay right: the
//!    [slot checker](crate::program::slot_check) has accepted the program.
//! 4. Code is written before it is made executable, never both. It lives as long as the bound program.
//!
//! What compiling takes: about 0.1 ms a routine and 2 µs an instruction. It pays for loops, calls, and wide and branching
//! programs that run often.

mod abilities;
mod choosing;
mod compiled;
mod counted;
mod elements;
mod emitter;
mod error;
mod hot;
mod listing;
mod order;
mod places;
mod preserving;
mod primitives;
mod recipes;
mod refusing;
mod routine;
mod sealing;
mod spilled;
mod spilling;
mod variables;
mod versions;

pub use compiled::compile;
pub use error::{Interpreted, NotCompiled};
pub use hot::{CompileJob, compile_when_hot};
pub use listing::{CodeLine, RoutineListing, listing};
