//! Fits: parameters of a model from data, with bounds, noise models and statistics.
//!
//! ```text
//! Problem: model, data, windows, noise ──minimize──> Fit: values, standard errors, covariance, chi²
//! ```

pub mod bounds;
pub mod error;
pub mod least_squares;
pub mod matrix;
pub mod noise;
pub mod problem;
pub mod statistics;

pub use error::FitError;
pub use least_squares::fit;
pub use noise::Noise;
pub use problem::Problem;
pub use statistics::Fit;
