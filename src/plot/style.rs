//! Colours, type and labels that all figures share.

use plotters::style::RGBColor;

/// The typeface; the viewer's own, so that a picture needs no fonts.
pub const FACE: &str = "Helvetica, Arial, sans-serif";

/// Size of titles.
pub const TITLE: u32 = 17;

/// Size of names of axes.
pub const AXIS: u32 = 15;

/// Size of numbers.
pub const TICK: u32 = 13;

/// Data.
pub const DATA: RGBColor = RGBColor(90, 90, 90);

/// The fit.
pub const FIT: RGBColor = RGBColor(200, 30, 40);

/// Lines of the grid.
pub const GRID: RGBColor = RGBColor(228, 228, 228);

/// Frames and ticks.
pub const FRAME: RGBColor = RGBColor(110, 110, 110);

/// Colours of components and traces, distinct for most kinds of colour vision (M. Okabe and K. Ito, 2008).
pub const SERIES: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(230, 159, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(213, 94, 0),
    RGBColor(120, 94, 240),
];

/// Names of axes and the title, with units if they are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Labels {
    /// Above the picture.
    pub title: String,
    /// The energy axis.
    pub energy: String,
    /// The time axis.
    pub time: String,
    /// The values.
    pub intensity: String,
}

/// The colour of a series.
pub fn series(index: usize) -> RGBColor {
    SERIES[index % SERIES.len()]
}
