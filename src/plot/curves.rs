//! One spectrum: data, fit and components above, residuals below.
//!
//! Backgrounds are summed to one dashed line, and each peak stands filled upon it, so that the fit is
//! the upper edge of what is filled wherever peaks do not overlap.

use crate::plot::error::PlotError;
use crate::plot::scale::{extent, padded};
use crate::plot::sheet::{Chart, Frame, chart, dots, draw, legend, line};
use crate::plot::style::{DATA, FACE, FIT, FRAME, Labels, TITLE, series};
use plotters::prelude::*;

/// Size of the picture.
const SIZE: (u32, u32) = (900, 660);

/// A component of the fit.
#[derive(Clone, Debug)]
pub struct Component {
    /// Its name.
    pub name: String,
    /// Its own curve.
    pub values: Vec<f64>,
    /// True if it stands on the background, false if it is a part of it.
    pub is_peak: bool,
}

/// A spectrum and its fit.
#[derive(Clone, Debug)]
pub struct Curves {
    /// Names; the horizontal axis is the one called energy.
    pub labels: Labels,
    /// The axis.
    pub axis: Vec<f64>,
    /// Measured values; NaN where there are none.
    pub data: Vec<f64>,
    /// The fit.
    pub fit: Vec<f64>,
    /// Residuals, as the fit has weighted them; NaN outside of its window.
    pub residuals: Vec<f64>,
    /// What the fit is the sum of.
    pub components: Vec<Component>,
}

impl Curves {
    /// The picture.
    ///
    /// # Errors
    /// Nothing is finite.
    pub fn svg(&self) -> Result<String, PlotError> {
        draw(SIZE, |root| {
            let root = root
                .titled(&self.labels.title, (FACE, TITLE).into_font().style(FontStyle::Bold))
                .map_err(PlotError::drawing)?;
            let (upper, lower) = root.split_vertically((70).percent_height());
            self.spectrum(&upper)?;
            self.differences(&lower)?;
            Ok(Vec::new())
        })
    }

    fn x(&self) -> Result<std::ops::Range<f64>, PlotError> {
        extent(self.axis.iter().copied()).ok_or(PlotError::Nothing)
    }

    fn points<'v>(&'v self, values: &'v [f64]) -> impl Iterator<Item = (f64, f64)> + 'v {
        self.axis.iter().copied().zip(values.iter().copied())
    }

    fn spectrum(&self, area: &crate::plot::sheet::Area<'_>) -> Result<(), PlotError> {
        let background = self.background();
        let all = self.data.iter().chain(&self.fit).chain(&background).copied();
        let y = padded(all, 0.06).ok_or(PlotError::Nothing)?;
        let frame = Frame { x: "", y: &self.labels.intensity, title: "" };
        let mut chart = chart(area, frame, self.x()?, y)?;
        self.peaks(&mut chart, &background)?;
        let has_background = self.components.iter().any(|c| !c.is_peak);
        if has_background {
            let points = self.points(&background).collect::<Vec<_>>().into_iter();
            let dashes = DashedLineSeries::new(points, 6, 4, FRAME.stroke_width(1));
            let drawn = chart.draw_series(dashes).map_err(PlotError::drawing)?;
            let sample = |(x, y)| PathElement::new([(x, y), (x + 20, y)], FRAME.stroke_width(1));
            drawn.label("background").legend(sample);
        }
        dots(&mut chart, self.points(&self.data), DATA.stroke_width(1), Some("data"))?;
        line(&mut chart, self.points(&self.fit), FIT.stroke_width(2), Some("fit"))?;
        legend(&mut chart, self.empty_corner())
    }

    /// The sum of all backgrounds.
    fn background(&self) -> Vec<f64> {
        let mut sum = vec![0.0; self.axis.len()];
        for component in self.components.iter().filter(|c| !c.is_peak) {
            sum.iter_mut().zip(&component.values).for_each(|(sum, value)| *sum += value);
        }
        sum
    }

    fn peaks(&self, chart: &mut Chart<'_, '_>, background: &[f64]) -> Result<(), PlotError> {
        for (index, component) in self.components.iter().filter(|c| c.is_peak).enumerate() {
            let color = series(index);
            let top: Vec<f64> = component.values.iter().zip(background).map(|(v, b)| v + b).collect();
            let outline: Vec<(f64, f64)> = self
                .points(&top)
                .chain(self.points(background).collect::<Vec<_>>().into_iter().rev())
                .collect();
            if outline.iter().any(|(_, y)| !y.is_finite()) {
                continue;
            }
            let filled = Polygon::new(outline, color.mix(0.22).filled());
            chart.draw_series(std::iter::once(filled)).map_err(PlotError::drawing)?;
            line(chart, self.points(&top), color.stroke_width(1), Some(&component.name))?;
        }
        Ok(())
    }

    /// Where the legend covers least: beside the half of the axis with the lower data.
    fn empty_corner(&self) -> SeriesLabelPosition {
        let middle = self.axis.len() / 2;
        let top = |values: &[f64]| values.iter().copied().filter(|v| v.is_finite()).fold(f64::MIN, f64::max);
        let ascending = self.axis.last() >= self.axis.first();
        match (top(&self.data[..middle]) < top(&self.data[middle..])) == ascending {
            true => SeriesLabelPosition::UpperLeft,
            false => SeriesLabelPosition::UpperRight,
        }
    }

    fn differences(&self, area: &crate::plot::sheet::Area<'_>) -> Result<(), PlotError> {
        let y = padded(self.residuals.iter().copied().chain([0.0]), 0.12).ok_or(PlotError::Nothing)?;
        let frame = Frame { x: &self.labels.energy, y: "Residual", title: "" };
        let x = self.x()?;
        let mut chart = chart(area, frame, x.clone(), y)?;
        line(&mut chart, [(x.start, 0.0), (x.end, 0.0)].into_iter(), FRAME.stroke_width(1), None)?;
        line(&mut chart, self.points(&self.residuals), DATA.mix(0.6).stroke_width(1), None)?;
        dots(&mut chart, self.points(&self.residuals), DATA.filled(), None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure() -> Curves {
        let labels = Labels {
            title: "a <line>".to_owned(),
            energy: "Energy (eV)".to_owned(),
            time: "Time".to_owned(),
            intensity: "Counts".to_owned(),
        };
        let axis: Vec<f64> = (0..9).map(f64::from).collect();
        let peak: Vec<f64> = axis.iter().map(|x| 5.0 - (x - 4.0).abs()).collect();
        let fit: Vec<f64> = peak.iter().map(|y| y + 1.0).collect();
        let mut data = fit.clone();
        data[2] = f64::NAN;
        let component = |name: &str, values, is_peak| Component { name: name.to_owned(), values, is_peak };
        let components = vec![component("Floor", vec![1.0; 9], false), component("Peak", peak, true)];
        Curves { labels, axis, residuals: vec![0.25; 9], data, fit, components }
    }

    #[test]
    fn a_picture_names_what_it_shows() {
        let svg = figure().svg().expect("a picture");
        for text in ["Energy (eV)", "Counts", "Residual", "Peak", "background", "fit", "a &lt;line&gt;"] {
            assert!(svg.contains(text), "{text}");
        }
        assert!(!svg.contains("NaN") && svg.ends_with("</svg>\n"));
        // A circle for each value that is there, above and below, and one in the legend.
        assert_eq!(svg.matches("<circle").count(), 8 + 9 + 1);
    }

    #[test]
    fn nothing_finite_is_no_picture() {
        let mut figure = figure();
        figure.axis.fill(f64::NAN);
        assert_eq!(figure.svg(), Err(PlotError::Nothing));
    }
}
