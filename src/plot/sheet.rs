//! A sheet: an SVG drawing that gets pictures at the end, and charts in the style of the room.

use crate::plot::error::PlotError;
use crate::plot::scale::tick;
use crate::plot::style::{AXIS, FACE, FRAME, GRID, TICK};
use plotters::chart::ChartContext;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use std::fmt::Write;
use std::ops::Range;

/// A part of a drawing.
pub type Area<'s> = DrawingArea<SVGBackend<'s>, plotters::coord::Shift>;

/// A chart with numbers on both axes.
pub type Chart<'c, 's> = ChartContext<'c, SVGBackend<'s>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

/// A picture inside the drawing.
#[derive(Clone, Debug)]
pub struct Inset {
    /// Pixels from the left.
    pub x: Range<i32>,
    /// Pixels from the top.
    pub y: Range<i32>,
    /// The picture's address.
    pub address: String,
}

/// Draws on a sheet of this size.
///
/// # Errors
/// As of what is drawn.
pub fn draw(
    size: (u32, u32),
    contents: impl FnOnce(&Area<'_>) -> Result<Vec<Inset>, PlotError>,
) -> Result<String, PlotError> {
    let mut svg = String::new();
    let insets = {
        let root = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        root.fill(&WHITE).map_err(PlotError::drawing)?;
        let insets = contents(&root)?;
        root.present().map_err(PlotError::drawing)?;
        insets
    };
    let end = svg.rfind("</svg>").unwrap_or(svg.len());
    svg.truncate(end);
    for Inset { x, y, address } in insets {
        let (width, height) = (x.end - x.start, y.end - y.start);
        writeln!(
            svg,
            "<image x=\"{}\" y=\"{}\" width=\"{width}\" height=\"{height}\" preserveAspectRatio=\"none\" \
             style=\"image-rendering:pixelated\" href=\"{address}\"/>",
            x.start, y.start
        )
        .map_err(PlotError::drawing)?;
    }
    svg.push_str("</svg>\n");
    Ok(svg)
}

/// What stands around a chart.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'t> {
    /// Name of the horizontal axis; empty for a chart without numbers below.
    pub x: &'t str,
    /// Name of the vertical axis.
    pub y: &'t str,
    /// Above the chart; may be empty.
    pub title: &'t str,
}

/// An empty chart with grid and axes.
///
/// # Errors
/// It cannot be drawn.
pub fn chart<'c, 's>(
    area: &'c Area<'s>,
    frame: Frame<'_>,
    x: Range<f64>,
    y: Range<f64>,
) -> Result<Chart<'c, 's>, PlotError> {
    let below = if frame.x.is_empty() { 6 } else { 46 };
    let mut builder = ChartBuilder::on(area);
    builder.margin(8).margin_right(18).x_label_area_size(below).y_label_area_size(64);
    if !frame.title.is_empty() {
        builder.caption(frame.title, (FACE, AXIS).into_font().style(FontStyle::Bold));
    }
    let mut chart = builder.build_cartesian_2d(x.clone(), y.clone()).map_err(PlotError::drawing)?;
    let (x_tick, y_tick) = (|v: &f64| tick(*v, &x), |v: &f64| tick(*v, &y));
    let (width, height) = area.dim_in_pixel();
    let mut mesh = chart.configure_mesh();
    mesh.light_line_style(TRANSPARENT)
        .bold_line_style(GRID)
        .axis_style(FRAME)
        .x_labels((width / 90).max(3) as usize)
        .y_labels((height / 55).clamp(3, 9) as usize)
        .label_style((FACE, TICK))
        .axis_desc_style((FACE, AXIS))
        .y_desc(frame.y)
        .y_label_formatter(&y_tick);
    let below = |v: &f64| x_tick(v);
    let nothing = |_: &f64| String::new();
    match frame.x.is_empty() {
        true => mesh.x_label_formatter(&nothing),
        false => mesh.x_desc(frame.x).x_label_formatter(&below),
    };
    mesh.draw().map_err(PlotError::drawing)?;
    Ok(chart)
}

/// Draws a line through points.
///
/// # Errors
/// It cannot be drawn.
pub fn line(
    chart: &mut Chart<'_, '_>,
    points: impl Iterator<Item = (f64, f64)>,
    style: ShapeStyle,
    name: Option<&str>,
) -> Result<(), PlotError> {
    let finite: Vec<(f64, f64)> = points.filter(|(_, y)| y.is_finite()).collect();
    let series = chart.draw_series(LineSeries::new(finite, style)).map_err(PlotError::drawing)?;
    if let Some(name) = name {
        series.label(name).legend(move |(x, y)| PathElement::new([(x, y), (x + 20, y)], style));
    }
    Ok(())
}

/// Draws a small circle at each point.
///
/// # Errors
/// They cannot be drawn.
pub fn dots(
    chart: &mut Chart<'_, '_>,
    points: impl Iterator<Item = (f64, f64)>,
    style: ShapeStyle,
    name: Option<&str>,
) -> Result<(), PlotError> {
    let finite = points.filter(|(_, y)| y.is_finite());
    let circles = finite.map(|point| Circle::new(point, 2, style));
    let series = chart.draw_series(circles).map_err(PlotError::drawing)?;
    if let Some(name) = name {
        series.label(name).legend(move |(x, y)| Circle::new((x + 10, y), 3, style));
    }
    Ok(())
}

/// Draws the names of all series.
///
/// # Errors
/// They cannot be drawn.
pub fn legend<'s: 'c, 'c>(chart: &mut Chart<'c, 's>, position: SeriesLabelPosition) -> Result<(), PlotError> {
    chart
        .configure_series_labels()
        .position(position)
        .background_style(WHITE.mix(0.85))
        .border_style(GRID)
        .label_font((FACE, TICK))
        .legend_area_size(26)
        .margin(8)
        .draw()
        .map_err(PlotError::drawing)
}
