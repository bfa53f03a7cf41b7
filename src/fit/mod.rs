//! Fits: parameters of a model from data, with bounds, noise models and statistics.
//!
//! ```text
//! Problem: model, data, windows, noise ──evaluator──> Objective: chi² at theta, and the triangle of derivatives
//!                                                          │ minimisers: least_squares, simplex, projection
//!                                                          │ for each slice, or for several files at once
//!                                                          v
//!                                        Fit: values, standard errors, covariance, chi²
//! ```

pub mod bounds;
pub mod caution;
pub mod confidence;
pub mod error;
pub mod least_squares;
pub mod linear;
pub mod matrix;
pub mod method;
pub mod noise;
pub mod objective;
pub mod problem;
pub mod project;
pub mod projection;
pub mod residuals;
pub mod simplex;
pub mod slices;
pub mod statistics;
pub mod student;
pub mod triangle;

pub use confidence::ConfidenceInterval;
pub use error::FitError;
pub use method::{Method, Settings, fit, fit_with};
pub use noise::Noise;
pub use problem::Problem;
pub use project::Project;
pub use residuals::Observer;
pub use statistics::Fit;
