//! Model graphs: spectra described in YAML, as a graph that can be inspected, scheduled and evaluated.
//!
//! ```text
//! YAML ──yaml, library──> declarations ──load──> Model ──to_graph──> GraphIR ──schedule──> Schedule
//!                                                  │
//!                                                  └──interpret──> spectrum (the reference)
//! ```
//!
//! ```
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
//! let loaded = cembra::model::load::read([("m.yaml", text)]).map_err(|errors| errors[0].clone())?;
//! let model = loaded.model;
//! assert_eq!(model.theta_names(), ["Offset_y0", "Gauss_01_A", "Gauss_01_SD"]);
//! let spectrum = cembra::model::interpret::evaluate(&model, &[1.0, 10.0, 1.0])?;
//! assert_eq!(spectrum.values[1], 11.0);
//! # Ok(())
//! # }
//! ```

pub mod component;
pub mod declaration;
pub mod error;
pub mod formula;
pub mod graph;
pub mod interpret;
pub mod kernel;
pub mod library;
pub mod load;
pub mod lower;
mod named;
pub mod place;
pub mod quantity;
pub mod references;
pub mod rewrite;
pub mod schedule;
pub mod subcycle;
pub mod to_yaml;
pub mod tree;
pub mod yaml;

pub use error::{ModelError, ModelErrorKind};
pub use tree::Model;
