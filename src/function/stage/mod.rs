//! Stages as data: each has a schema, a document, a text that reads back, and a verifier.
//!
//! ```text
//! pyast ──> ussa ──> tssa ──> low ──> program
//!            │        │        │
//!            └────────┴────────┴──> Document of schemas/ussa.asdl, tssa.asdl, low.asdl <──> text
//! ```
//!
//! A value is known by its name, a block by its number. What a text says is checked three times: by the schema (fields,
//! operators, types that exist), while names become numbers (values and blocks that exist), and by the rules of the stage.

mod canonical;
pub mod error;
mod form;
mod from_document;
mod machine_ops;
pub mod names;
mod python_ops;
pub mod schemas;
mod term_reader;
mod term_writer;
pub mod text;
mod to_document;
pub mod to_function;
pub mod verify;

pub use error::{StageError, StageProblem};
pub use schemas::StageName;
pub use text::{
    canonical_instances, canonical_low, low_document, low_functions, read_stage_text, stage_text,
    tssa_document, tssa_instances, untyped_functions, ussa_document, ussa_functions,
};
pub use to_function::{StageFailure, check_stage, compile_stage};
pub use verify::{verify_low, verify_tssa, verify_ussa};
