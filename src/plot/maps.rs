//! A spectrum over time and energy: maps of data, fit and residuals above, cuts through them below.

use crate::plot::error::PlotError;
use crate::plot::raster::{DIVERGING, Gradient, SEQUENTIAL, picture, pixels, samples};
use crate::plot::scale::{extent, padded, symmetric, tick};
use crate::plot::sheet::{Area, Frame, Inset, chart, dots, draw, legend, line};
use crate::plot::style::{AXIS, FACE, FRAME, Labels, TICK, TITLE, series};
use plotters::prelude::*;
use std::ops::Range;

/// Size of the picture.
const SIZE: (u32, u32) = (1320, 900);

/// Width of a colour bar with its numbers.
const BAR: i32 = 74;

/// Cuts that are shown in each direction.
const CUTS: usize = 3;

/// Part of the height of a chart that its legend takes.
const LEGEND: f64 = 0.22;

/// Pixels a map may have along an axis.
const PIXELS: usize = 400;

/// A spectrum over time and energy and its fit.
#[derive(Clone, Debug)]
pub struct MapFigure {
    /// Names.
    pub labels: Labels,
    /// Energies.
    pub energy: Vec<f64>,
    /// Times.
    pub time: Vec<f64>,
    /// Measured values, time after time.
    pub data: Vec<f64>,
    /// The fit.
    pub fit: Vec<f64>,
    /// Residuals, as the fit has weighted them; NaN outside of its window.
    pub residuals: Vec<f64>,
}

impl MapFigure {
    /// The picture.
    ///
    /// # Errors
    /// Nothing is finite.
    pub fn svg(&self) -> Result<String, PlotError> {
        draw(SIZE, |root| {
            let root = root
                .titled(&self.labels.title, (FACE, TITLE).into_font().style(FontStyle::Bold))
                .map_err(PlotError::drawing)?;
            let (upper, lower) = root.split_vertically((52).percent_height());
            let insets = self.maps(&upper)?;
            let (left, right) = lower.split_horizontally((50).percent_width());
            self.spectra(&left)?;
            self.traces(&right)?;
            Ok(insets)
        })
    }

    fn maps(&self, area: &Area<'_>) -> Result<Vec<Inset>, PlotError> {
        let both = extent(self.data.iter().chain(&self.fit).copied()).ok_or(PlotError::Nothing)?;
        let around_zero = symmetric(&self.residuals).ok_or(PlotError::Nothing)?;
        let parts = area.split_evenly((1, 3));
        let maps = [
            ("Data", &self.data, &both, SEQUENTIAL),
            ("Fit", &self.fit, &both, SEQUENTIAL),
            ("Residual", &self.residuals, &around_zero, DIVERGING),
        ];
        let mut insets = Vec::new();
        for (part, (title, values, range, gradient)) in parts.iter().zip(maps) {
            let frame = Frame { x: &self.labels.energy, y: &self.labels.time, title };
            let map = ColouredMap { columns: &self.energy, rows: &self.time, values, range, gradient };
            insets.extend(draw_map(part, frame, map)?);
        }
        Ok(insets)
    }

    /// Spectra at the times that differ most from the mean.
    fn spectra(&self, area: &Area<'_>) -> Result<(), PlotError> {
        let width = self.energy.len();
        let row = |values: &[f64], index: usize| values[index * width..(index + 1) * width].to_vec();
        let cuts = salient(self.time.len(), width, |row, column| self.data[row * width + column]);
        let names = cuts.iter().map(|cut| {
            format!("time {}", tick(self.time[*cut], &(self.time[0]..self.time[self.time.len() - 1])))
        });
        let cut = |values: &[f64]| cuts.iter().map(|index| row(values, *index)).collect::<Vec<_>>();
        let frame = Frame { x: &self.labels.energy, y: &self.labels.intensity, title: "Spectra" };
        cuts_chart(area, frame, &self.energy, &names.collect::<Vec<_>>(), &cut(&self.data), &cut(&self.fit))
    }

    /// Traces at the energies that change most.
    fn traces(&self, area: &Area<'_>) -> Result<(), PlotError> {
        let width = self.energy.len();
        let column = |values: &[f64], index: usize| {
            values.iter().skip(index).step_by(width).copied().collect::<Vec<_>>()
        };
        let cuts = salient(width, self.time.len(), |column, row| self.data[row * width + column]);
        let names = cuts.iter().map(|cut| {
            format!("energy {}", tick(self.energy[*cut], &(self.energy[0]..self.energy[width - 1])))
        });
        let cut = |values: &[f64]| cuts.iter().map(|index| column(values, *index)).collect::<Vec<_>>();
        let frame = Frame { x: &self.labels.time, y: &self.labels.intensity, title: "Traces" };
        cuts_chart(area, frame, &self.time, &names.collect::<Vec<_>>(), &cut(&self.data), &cut(&self.fit))
    }
}

/// Values as colours.
pub(super) struct ColouredMap<'m> {
    /// Places of the columns.
    pub columns: &'m [f64],
    /// Places of the rows, the first one at the bottom.
    pub rows: &'m [f64],
    /// The values, row after row.
    pub values: &'m [f64],
    /// The values that have colours.
    pub range: &'m Range<f64>,
    pub gradient: Gradient,
}

/// Draws a map with its axes, and the bar of its colours beside; the pictures are to be put in.
///
/// # Errors
/// It cannot be drawn.
pub(super) fn draw_map(
    area: &Area<'_>,
    frame: Frame<'_>,
    map: ColouredMap<'_>,
) -> Result<Vec<Inset>, PlotError> {
    let ColouredMap { columns, rows, values, range, gradient } = map;
    let (left, right) = area.split_horizontally(area.dim_in_pixel().0 as i32 - BAR);
    let (x, y) = (span(columns)?, span(rows)?);
    let chart = chart(&left, frame, x.clone(), y.clone())?;
    let (across, up) = chart.plotting_area().get_pixel_range();
    let fine = |pixels: &Range<i32>| ((pixels.end - pixels.start).max(1) as usize).min(PIXELS);
    let (at_columns, at_rows) = (samples(columns, &x, fine(&across)), samples(rows, &y, fine(&up)));
    let values = pixels(values, &at_columns, &at_rows, columns.len());
    let map = Inset { x: across, y: up, address: picture(at_columns.len(), &values, range, gradient)? };
    Ok(vec![bar(&right, &map, range, gradient)?, map])
}

/// The stretch that samples cover, half a step beyond both ends.
fn span(axis: &[f64]) -> Result<Range<f64>, PlotError> {
    let range = extent(axis.iter().copied()).ok_or(PlotError::Nothing)?;
    let half = |pair: Option<&[f64]>| pair.map_or(0.0, |pair| (pair[1] - pair[0]).abs() / 2.0);
    let ends = (half(axis.get(..2)), half(axis.len().checked_sub(2).and_then(|at| axis.get(at..))));
    let (low, high) = if axis.last() >= axis.first() { ends } else { (ends.1, ends.0) };
    Ok(range.start - low..range.end + high)
}

/// The colours of a map with their values, as high as the map.
fn bar(area: &Area<'_>, map: &Inset, range: &Range<f64>, gradient: Gradient) -> Result<Inset, PlotError> {
    let (left, top) = area.get_base_pixel();
    let x = left..left + 14;
    let height = map.y.end - map.y.start;
    let text = (FACE, TICK).into_font().color(&BLACK);
    for count in 0..=4 {
        let value = range.start + f64::from(count) / 4.0 * (range.end - range.start);
        let y = map.y.end - height * count / 4 - top;
        area.draw(&PathElement::new([(14, y), (18, y)], FRAME)).map_err(PlotError::drawing)?;
        let label = Text::new(tick(value, range), (21, y - AXIS as i32 / 2), text.clone());
        area.draw(&label).map_err(PlotError::drawing)?;
    }
    let steps: Vec<f64> = (0..256)
        .rev()
        .map(|step| range.start + f64::from(step) / 255.0 * (range.end - range.start))
        .collect();
    Ok(Inset { x, y: map.y.clone(), address: picture(1, &steps, range, gradient)? })
}

/// Some lines of a map that differ most from the mean of all lines, each away from the others; in order.
fn salient(lines: usize, length: usize, value: impl Fn(usize, usize) -> f64) -> Vec<usize> {
    let mean = |at: usize| (0..lines).map(|line| value(line, at)).sum::<f64>() / lines as f64;
    let means: Vec<f64> = (0..length).map(mean).collect();
    let distance = |line: usize| (0..length).map(|at| (value(line, at) - means[at]).powi(2)).sum::<f64>();
    let mut order: Vec<(f64, usize)> = (0..lines).map(|line| (distance(line), line)).collect();
    order.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let mut chosen: Vec<usize> = Vec::new();
    for (_, line) in order {
        let is_apart = chosen.iter().all(|other| other.abs_diff(line) * 8 > lines);
        if is_apart && chosen.len() < CUTS {
            chosen.push(line);
        }
    }
    chosen.sort_unstable();
    chosen
}

/// Data and fit along some cuts.
fn cuts_chart(
    area: &Area<'_>,
    frame: Frame<'_>,
    axis: &[f64],
    names: &[String],
    data: &[Vec<f64>],
    fit: &[Vec<f64>],
) -> Result<(), PlotError> {
    let x = extent(axis.iter().copied()).ok_or(PlotError::Nothing)?;
    let y = padded(data.iter().chain(fit).flatten().copied(), 0.06).ok_or(PlotError::Nothing)?;
    // Room for the legend above all lines.
    let y = y.start..y.end + LEGEND * (y.end - y.start);
    let mut chart = chart(area, frame, x, y)?;
    for (index, name) in names.iter().enumerate() {
        let color = series(index);
        let points = |values: &[f64]| axis.iter().copied().zip(values.to_vec()).collect::<Vec<_>>();
        dots(&mut chart, points(&data[index]).into_iter(), color.mix(0.35).filled(), None)?;
        line(&mut chart, points(&fit[index]).into_iter(), color.stroke_width(2), Some(name))?;
    }
    legend(&mut chart, SeriesLabelPosition::UpperRight)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_maps_have_their_colours() {
        let name = |text: &str| text.to_owned();
        let labels = Labels {
            title: name("title"),
            energy: name("Energy"),
            time: name("Delay"),
            intensity: name("Counts"),
        };
        let (energy, time) = (vec![3.0, 2.0, 1.0], vec![-1.0, 0.0, 2.0, 5.0]);
        let data: Vec<f64> = (0..12).map(f64::from).collect();
        let residuals = data.iter().map(|v| v - 6.0).collect();
        let figure = MapFigure { labels, energy, time, fit: data.clone(), data, residuals };
        let svg = figure.svg().expect("a picture");
        assert_eq!(svg.matches("<image").count(), 6);
        for text in ["Data", "Fit", "Residual", "Spectra", "Traces", "Delay", "Energy"] {
            assert!(svg.contains(text), "{text}");
        }
    }

    #[test]
    fn cuts_are_where_something_happens() {
        let height = |line: usize, _: usize| if line == 20 || line == 21 { 1.0 } else { 0.0 };
        assert!(salient(40, 3, height).contains(&20));
        assert_eq!(salient(2, 3, height).len(), 2);
    }
}
