//! Domains: the boxes of points that statements write, and what they read around them.
//!
//! ```text
//! 1    writes u            reads u  ▒▒▒▒▒▒▒▒▒▒▒
//!      ┌───────┐                    ▒┌───────┐▒        a halo of one point on all sides
//!      │       │                    ▒│       │▒
//!      └───────┘                    ▒└───────┘▒
//!      I 1 : n-1                    ▒▒▒▒▒▒▒▒▒▒▒
//! ```
//!
//! The second axis of a box goes to the right, the first one down; further axes are told in words.

use crate::plot::error::PlotError;
use crate::plot::sheet::{Area, draw};
use crate::plot::style::{AXIS, FACE, FRAME, GRID, TICK, series};
use plotters::prelude::*;

/// An axis of a box.
#[derive(Clone, Debug)]
pub struct DomainAxis {
    /// Its name.
    pub dimension: String,
    /// The points, in words.
    pub points: String,
    /// Points read before (0 or less) and behind the domain; nothing if others than neighbours in order are read.
    pub halo: Option<(i64, i64)>,
}

/// Points that a statement writes or reads.
#[derive(Clone, Debug)]
pub struct DomainBox {
    /// What is done to which field.
    pub title: String,
    /// True for a read.
    pub is_read: bool,
    /// The axes.
    pub axes: Vec<DomainAxis>,
}

/// A row of boxes for each statement.
#[derive(Clone, Debug)]
pub struct DomainFigure {
    /// By statement.
    pub rows: Vec<Vec<DomainBox>>,
}

/// Pixels of a box and what stands around.
const CELL: (i32, i32) = (230, 210);
/// Pixels of the domain.
const DOMAIN: (i32, i32) = (90, 66);
/// Pixels of a point of a halo, and most of a side.
const POINT: i64 = 9;
const WIDEST: i64 = 27;
/// Pixels for the number of the statement.
const NUMBER: i32 = 44;
/// Boxes that are drawn; a larger program has no picture.
const MOST: usize = 2000;

impl DomainFigure {
    /// Draws the figure.
    ///
    /// # Errors
    /// It has too many boxes, or cannot be drawn.
    pub fn svg(&self) -> Result<String, PlotError> {
        let count: usize = self.rows.iter().map(Vec::len).sum();
        if count.max(self.rows.len()) > MOST {
            return Err(PlotError::drawing(format!("{count} boxes of points; at most {MOST} are drawn")));
        }
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0).max(1);
        let size = (NUMBER + CELL.0 * columns as i32, CELL.1 * self.rows.len().max(1) as i32);
        draw((size.0 as u32, size.1 as u32), |area| {
            for (row, boxes) in self.rows.iter().enumerate() {
                let top = CELL.1 * row as i32;
                text(area, &(row + 1).to_string(), (14, top + 14), AXIS)?;
                for (column, of) in boxes.iter().enumerate() {
                    of.draw(area, (NUMBER + CELL.0 * column as i32, top))?;
                }
            }
            Ok(Vec::new())
        })
    }
}

impl DomainBox {
    fn draw(&self, area: &Area<'_>, (left, top): (i32, i32)) -> Result<(), PlotError> {
        text(area, &self.title, (left, top + 14), AXIS)?;
        let (x, y) = (left + WIDEST as i32 + 4, top + 40 + WIDEST as i32);
        // Of one axis only the width counts.
        let (down, right) = match &self.axes[..] {
            [] => (None, None),
            [only] => (None, Some(only)),
            [first, second, ..] => (Some(first), Some(second)),
        };
        let height = if down.is_some() { DOMAIN.1 } else { DOMAIN.1 / 3 };
        let (before, behind) = sides(right);
        let (above, below) = sides(down);
        if self.is_read {
            let shade = series(1).mix(0.25);
            let halo = [(x - before, y - above), (x + DOMAIN.0 + behind, y + height + below)];
            rectangle(area, halo, shade.filled())?;
            rectangle(area, halo, series(1).stroke_width(1))?;
        }
        let is_by_table = self.axes.iter().any(|axis| axis.halo.is_none());
        let inside = if is_by_table { GRID.filled() } else { series(0).mix(0.25).filled() };
        let domain = [(x, y), (x + DOMAIN.0, y + height)];
        rectangle(area, domain, inside)?;
        rectangle(area, domain, FRAME.stroke_width(1))?;
        let mut line = y + height + WIDEST as i32 + 8;
        for axis in &self.axes {
            text(area, &format!("{}  {}", axis.dimension, axis.points), (left, line), TICK)?;
            line += 16;
        }
        Ok(())
    }
}

/// Pixels of the halo before and behind.
fn sides(axis: Option<&DomainAxis>) -> (i32, i32) {
    let (low, high) = axis.and_then(|axis| axis.halo).unwrap_or((0, 0));
    let pixels = |points: i64| points.clamp(0, WIDEST).saturating_mul(POINT).min(WIDEST) as i32;
    (pixels(low.saturating_neg()), pixels(high))
}

fn rectangle(
    area: &Area<'_>,
    corners: [(i32, i32); 2],
    style: impl Into<ShapeStyle>,
) -> Result<(), PlotError> {
    area.draw(&Rectangle::new(corners, style)).map_err(PlotError::drawing)
}

fn text(area: &Area<'_>, what: &str, at: (i32, i32), size: u32) -> Result<(), PlotError> {
    area.draw(&Text::new(what.to_owned(), at, (FACE, size).into_font())).map_err(PlotError::drawing)
}
