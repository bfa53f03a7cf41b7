//! Pictures of spectra as SVG, and with the feature `png` as PNG: curves with components and residuals, maps with traces, parameters over time. Fields, and boxes of points with halos.
//!
//! ```text
//! Curves      data o o o, fit ───, peaks filled     MapFigure   data | fit | residual, each with its colours
//!             residuals below                                   spectra at three times, traces at three energies
//! ```
//!
//! A figure is plain numbers and labels; what they come from is known to the caller. Maps are pictures
//! inside of the picture, so that a large spectrum is no large file.

#[cfg(feature = "png")]
pub mod bitmap;
pub mod curves;
pub mod domains;
pub mod error;
pub mod fields;
pub mod maps;
pub mod raster;
pub mod scale;
pub mod sheet;
pub mod style;
pub mod traces;

pub use curves::{Component, Curves};
pub use domains::{DomainAxis, DomainBox, DomainFigure};
pub use error::PlotError;
pub use fields::{FieldFigure, FieldFigureAxis};
pub use maps::MapFigure;
pub use style::Labels;
pub use traces::{Trace, Traces};
