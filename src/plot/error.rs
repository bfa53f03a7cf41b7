//! Why there is no picture.

use thiserror::Error;

/// Errors of pictures.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PlotError {
    /// Nothing to draw.
    #[error("there are no finite values to draw")]
    Nothing,
    /// Text cannot be drawn as pixels.
    #[error("the system has no font, which a picture as PNG needs; one as SVG does not")]
    NoFont,
    /// The drawing library gave up.
    #[error("the picture cannot be drawn: {problem}")]
    Drawing {
        /// What it says.
        problem: String,
    },
}

impl PlotError {
    /// An error of the drawing library.
    pub fn drawing(error: impl std::fmt::Display) -> PlotError {
        PlotError::Drawing { problem: error.to_string() }
    }
}
