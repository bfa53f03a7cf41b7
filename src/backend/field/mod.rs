//! Field programs on the machine: plans of compiled stages, and what moves values between buffers and frames.
//!
//! | file | content |
//! | --- | --- |
//! | [`plan`] | a program bound to data: checked, lowered, compiled; runs any number of times |
//! | `bound_statement` | a statement: how its values get to the targets |
//! | `bound_stage` | a stage: bands, temporaries |
//! | `stage_data`, `lent` | what a stage reads, and how a run lends it to the program |
//! | `stage_program` | the program of a stage with its frame: views in, results out |
//! | `kept` | runs that are bound to where buffers have their points |
//! | `levels` | the loop of a scan over its levels |
//! | [`tier`] | what runs the programs of stages |
//! | `native_stage` | the library of a stage |
//! | `limits` | what a run may use |
//! | `results` | where results go |

mod bound_stage;
mod bound_statement;
mod kept;
mod lent;
mod levels;
mod limits;
#[cfg(feature = "native")]
mod native_stage;
pub mod plan;
mod results;
mod stage_data;
mod stage_program;
pub mod tier;

pub use plan::{FieldPlan, run_field_program};
pub use tier::{FieldTier, InterpretedStage, TierObserver};
