//! Functions: Python-like text becomes a verified program.
//!
//! ```text
//! text ──python──> tree ──build──> blocks over variables ──ssa──> values, phis      once a function
//!                                                                    │ infer        once for types of arguments
//!                                                                    v
//!       Program <──program── registers, slots <──low── machine operators, checks, casts
//! ```
//!
//! - [`module`]: functions, constants and imports of a text.
//! - [`build`]: statements and expressions become operations on variables; calls that do not recurse are built in place.
//! - [`norm`]: the same for people, as a tree; [`stage`]: stages as documents and texts that read back.
//! - [`ssa`]: variables become values; reads that may find none are guarded.
//! - [`infer`]: the least types, for the types of the arguments; [`signature`]: those of functions of numbers.
//! - [`low`]: operators of the machine on scalars and arrays; tuples are gone.
//! - [`passes`]: the same in fewer instructions.
//! - [`program`]: out of SSA, instructions, slots, routines.
//! - [`steps`]: all of these as steps; [`compile`]: their sequence; [`run`]: calls a compiled function with values.
//! - [`operator`]: functions as operators of expressions.
//! - [`check`]: what is wrong with a function whatever its arguments are; [`explain`]: why a variable has its type.
//!
//! Integers are INT64 and floats FLOAT64. A result that does not fit raises; see docs/functions.md for the rest of
//! the semantics.

mod array_names;
pub mod build;
pub mod check;
pub mod compile;
pub mod compiled;
pub mod constant;
mod draft;
mod emitter;
pub mod error;
mod exceptions;
pub mod explain;
pub mod infer;
pub mod library;
pub mod low;
pub mod module;
pub mod norm;
pub mod op;
pub mod operator;
pub mod options;
mod packed;
pub mod passes;
pub mod program;
pub mod run;
pub mod signature;
pub mod ssa;
pub mod stage;
pub mod stage_text;
pub mod steps;
pub mod types;

pub use compile::{FunctionPipeline, compile_function};
pub use compiled::CompiledFunction;
pub use constant::Constant;
pub use error::{FunctionError, FunctionProblem};
pub use module::FunctionModule;
pub use operator::define_functions;
pub use options::{FunctionOptions, Overflow};
pub use run::{FunctionResult, python_class};
pub use types::{ArrayOf, FunctionType};
