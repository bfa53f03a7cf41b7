//! Models on the machine: compiled once, evaluated on frames; and the choice of an evaluator.
//!
//! ```text
//! Schedule ──lower──> Lowered ──compile──> CompiledModel ── evaluate(theta, frame) ──> spectrum
//!                                               │           evaluate_curves        ──> and each component
//!                                               └───────────evaluate_jacobian      ──> and its derivatives
//! ```
//!
//! A compiled model is immutable; threads share it, each with a frame of its own. Components and derivatives are
//! programs of their own, compiled when they are first asked for, and a frame has memory for those that have run.
//!
//! ```
//! use cembra::backend::model::CompiledModel;
//! use cembra::model::{graph::from_model::graph_of, load, schedule::schedule};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let text = "
//! cembra: {energy: {from: 80, to: 92, points: 4}}
//! m:
//!   Offset:
//!     y0: [2.0, True, 0.0, 5.0]
//!   Gauss:
//!     A: [20.0, True, 0.0, 60.0]
//!     x0: [84.0, False]
//!     SD: [1.0, True, 0.1, 4.0]
//! ";
//! let loaded = load::read([("m.yaml", text)]).map_err(|errors| errors[0].clone())?;
//! let schedule = schedule(&graph_of(&loaded.model)?).map_err(|reasons| reasons[0].to_string())?;
//! let model = CompiledModel::new(&schedule)?;
//! let mut frame = model.new_frame()?;
//! let spectrum = model.evaluate(&[1.0, 10.0, 1.0], &mut frame)?;
//! assert_eq!(spectrum[1], 11.0);
//! let jacobian = model.evaluate_jacobian(&[1.0, 10.0, 1.0], &mut frame)?;
//! let mut by_amplitude = [0.0; 4];
//! jacobian.column(1).copy_to(&mut by_amplitude);
//! assert_eq!(by_amplitude[1], 1.0);
//! # Ok(())
//! # }
//! ```

mod compiled;
mod error;
mod evaluator;
mod part;
mod program;

pub use compiled::{CompiledModel, Curves, Jacobian};
pub use error::{ModelCompileError, ModelRunError};
pub use evaluator::{Evaluator, EvaluatorKind, Linearization, Linearized, TOLERANCE, dependences};
pub use part::{Part, PartRow};
pub use program::ModelFrame;
