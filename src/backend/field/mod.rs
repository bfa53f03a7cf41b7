//! Field programs on the machine: plans of compiled stages, and what moves values between buffers and frames.
//!
//! | file | content |
//! | --- | --- |
//! | [`plan`] | a program bound to data: checked, lowered, compiled; runs any number of times |
//! | `bound_stage` | one stage as a bound program with its frame: views in, results out |
//! | `levels` | the loop of a scan over its levels |
//! | `results` | results as views, and where they go |

mod bound_stage;
mod levels;
pub mod plan;
mod results;

pub use plan::{FieldPlan, run_field_program};
