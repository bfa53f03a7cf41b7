//! Parameters of slices over time, each with its errors in a chart of its own.

use crate::plot::error::PlotError;
use crate::plot::scale::{extent, padded};
use crate::plot::sheet::{Frame, chart, draw};
use crate::plot::style::{FACE, Labels, TITLE, series};
use plotters::prelude::*;

/// Width of the picture.
const WIDTH: u32 = 900;

/// Height of a chart.
const HEIGHT: u32 = 190;

/// A parameter over time.
#[derive(Clone, Debug)]
pub struct Trace {
    /// Its name.
    pub name: String,
    /// Times, values and standard errors; without an error 0.
    pub points: Vec<(f64, f64, f64)>,
}

/// Parameters of slices.
#[derive(Clone, Debug)]
pub struct Traces {
    /// Names.
    pub labels: Labels,
    /// The parameters.
    pub traces: Vec<Trace>,
}

impl Traces {
    /// The picture.
    ///
    /// # Errors
    /// Nothing is finite.
    pub fn svg(&self) -> Result<String, PlotError> {
        let count = self.traces.len();
        if count == 0 {
            return Err(PlotError::Nothing);
        }
        draw((WIDTH, HEIGHT * count as u32 + 60), |root| {
            let root = root
                .titled(&self.labels.title, (FACE, TITLE).into_font().style(FontStyle::Bold))
                .map_err(PlotError::drawing)?;
            for (index, (area, trace)) in root.split_evenly((count, 1)).iter().zip(&self.traces).enumerate() {
                let time = if index + 1 == count { self.labels.time.as_str() } else { "" };
                self.trace(area, trace, time, series(index))?;
            }
            Ok(Vec::new())
        })
    }

    fn trace(
        &self,
        area: &crate::plot::sheet::Area<'_>,
        trace: &Trace,
        time: &str,
        color: RGBColor,
    ) -> Result<(), PlotError> {
        let finite: Vec<(f64, f64, f64)> =
            trace.points.iter().copied().filter(|(_, value, error)| (value + error).is_finite()).collect();
        let x = extent(self.traces.iter().flat_map(|t| &t.points).map(|p| p.0)).ok_or(PlotError::Nothing)?;
        // Errors of failed fits may be huge; the values decide what is shown.
        let y = padded(finite.iter().map(|p| p.1), 0.15).ok_or(PlotError::Nothing)?;
        let mut chart = chart(area, Frame { x: time, y: &trace.name, title: "" }, x, y.clone())?;
        let bars = finite.iter().map(|(time, value, error)| {
            let ends = [(value - error).max(y.start), (value + error).min(y.end)];
            PathElement::new(ends.map(|end| (*time, end)).to_vec(), color.mix(0.5).stroke_width(1))
        });
        chart.draw_series(bars).map_err(PlotError::drawing)?;
        let dots = finite.iter().map(|(time, value, _)| Circle::new((*time, *value), 2, color.filled()));
        chart.draw_series(dots).map_err(PlotError::drawing)?;
        Ok(())
    }
}
