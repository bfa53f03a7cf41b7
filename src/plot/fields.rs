//! Fields: values along one dimension as a line, along two as a map with its colours.
//!
//! ```text
//!   I ^  ▒▒▒▒▒▒▒  ░ 20        the second dimension to the right, the first one upwards
//!     |  ░░▒▒▒░░  ▒ 60
//!     +--------> J  █ 100
//! ```

use crate::plot::error::PlotError;
use crate::plot::maps::{ColouredMap, draw_map};
use crate::plot::raster::SEQUENTIAL;
use crate::plot::scale::{extent, padded};
use crate::plot::sheet::{Frame, chart, dots, draw, line};
use crate::plot::style::{FACE, TITLE, series};
use plotters::prelude::*;

/// Sizes of the pictures.
const MAP: (u32, u32) = (640, 560);
const LINE: (u32, u32) = (720, 440);

/// Points that are drawn one by one on a line.
const MOST_DOTS: usize = 200;

/// A dimension of a field.
#[derive(Clone, Debug)]
pub struct FieldFigureAxis {
    /// Its name.
    pub name: String,
    /// The first point.
    pub first: i64,
    /// Number of points.
    pub count: usize,
}

impl FieldFigureAxis {
    fn points(&self) -> Vec<f64> {
        (0..self.count).map(|at| self.first as f64 + at as f64).collect()
    }
}

/// A field on one or two dimensions.
#[derive(Clone, Debug)]
pub struct FieldFigure {
    /// Its name.
    pub title: String,
    /// Its dimensions.
    pub axes: Vec<FieldFigureAxis>,
    /// Its values, the last dimension fastest; NaN stays empty.
    pub values: Vec<f64>,
}

impl FieldFigure {
    /// Draws the figure.
    ///
    /// # Errors
    /// The field has not one or two dimensions, or nothing in it is finite.
    pub fn svg(&self) -> Result<String, PlotError> {
        match &self.axes[..] {
            [only] => self.line(only),
            [first, second] => self.map(first, second),
            axes => {
                let what = format!("`{}` has {} dimensions; 1 or 2 are drawn", self.title, axes.len());
                Err(PlotError::drawing(what))
            }
        }
    }

    fn line(&self, axis: &FieldFigureAxis) -> Result<String, PlotError> {
        let points = axis.points();
        let x = extent(points.iter().copied()).ok_or(PlotError::Nothing)?;
        let y = padded(self.values.iter().copied(), 0.06).ok_or(PlotError::Nothing)?;
        draw(LINE, |root| {
            let mut chart = chart(root, Frame { x: &axis.name, y: &self.title, title: "" }, x, y)?;
            let all = || points.iter().copied().zip(self.values.iter().copied());
            line(&mut chart, all(), series(0).stroke_width(2), None)?;
            if points.len() <= MOST_DOTS {
                dots(&mut chart, all(), series(0).filled(), None)?;
            }
            Ok(Vec::new())
        })
    }

    fn map(&self, first: &FieldFigureAxis, second: &FieldFigureAxis) -> Result<String, PlotError> {
        let range = extent(self.values.iter().copied()).ok_or(PlotError::Nothing)?;
        let (rows, columns) = (first.points(), second.points());
        draw(MAP, |root| {
            let root = root
                .titled(&self.title, (FACE, TITLE).into_font().style(FontStyle::Bold))
                .map_err(PlotError::drawing)?;
            let map = ColouredMap {
                columns: &columns,
                rows: &rows,
                values: &self.values,
                range: &range,
                gradient: SEQUENTIAL,
            };
            draw_map(&root, Frame { x: &second.name, y: &first.name, title: "" }, map)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(sizes: &[usize], values: Vec<f64>) -> FieldFigure {
        let axis = |(at, count): (usize, &usize)| FieldFigureAxis {
            name: format!("dimension {at}"),
            first: -1,
            count: *count,
        };
        FieldFigure { title: "height".to_owned(), axes: sizes.iter().enumerate().map(axis).collect(), values }
    }

    #[test]
    fn one_and_two_dimensions_are_drawn() {
        let map = figure(&[2, 3], vec![1.0, 2.0, 3.0, 4.0, f64::NAN, 6.0]).svg().expect("a picture");
        assert_eq!(map.matches("<image").count(), 2);
        assert!(["height", "dimension 0", "dimension 1"].iter().all(|text| map.contains(text)), "{map}");
        let line = figure(&[4], vec![1.0, f64::INFINITY, 2.0, 0.5]).svg().expect("a picture");
        assert!(line.contains("<polyline") && !line.contains("<image"));
        assert_eq!(figure(&[1, 1], vec![2.0]).svg().map(|svg| svg.matches("<image").count()), Ok(2));
        assert_eq!(figure(&[2], vec![f64::NAN; 2]).svg(), Err(PlotError::Nothing));
        assert_eq!(figure(&[0, 3], Vec::new()).svg(), Err(PlotError::Nothing));
        assert!(figure(&[1, 1, 1], vec![1.0]).svg().is_err());
    }
}
