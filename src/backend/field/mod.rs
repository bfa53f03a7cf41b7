//! Field programs on the machine: plans of compiled stages, and what moves values between buffers and frames.
//!
//! | file | content |
//! | --- | --- |
//! | [`plan`] | a program bound to data: checked, lowered, compiled; runs any number of times |
//! | `bound_statement` | a statement: how its values get to the targets |
//! | `bound_stage` | a stage: bands, temporaries |
//! | `stage_program` | the program of a stage with its frame: views in, results out |
//! | `levels` | the loop of a scan over its levels |
//! | `results` | where results go |

mod bound_stage;
mod bound_statement;
mod levels;
pub mod plan;
mod results;
mod stage_program;

pub use plan::{FieldPlan, run_field_program};
