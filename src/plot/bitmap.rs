//! A picture as pixels: an SVG drawing rendered by the crate `resvg`, with the fonts of the system.

use crate::plot::error::PlotError;
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::fontdb::{Database, Family, Query};
use resvg::usvg::{Options, Tree};
use std::sync::Arc;

/// Pixels for each unit of a drawing: sharp on most screens and in print.
const SCALE: f32 = 2.0;

/// Renders a drawing as a PNG file.
///
/// # Errors
/// The system has no font, or the drawing is not sound.
pub fn png(svg: &str) -> Result<Vec<u8>, PlotError> {
    let options = Options { fontdb: Arc::new(fonts()?), ..Options::default() };
    let tree = Tree::from_str(svg, &options).map_err(PlotError::drawing)?;
    let size = tree.size().to_int_size().scale_by(SCALE).ok_or(PlotError::Nothing)?;
    let mut pixels = Pixmap::new(size.width(), size.height()).ok_or(PlotError::Nothing)?;
    resvg::render(&tree, Transform::from_scale(SCALE, SCALE), &mut pixels.as_mut());
    pixels.encode_png().map_err(PlotError::drawing)
}

/// The fonts of the system; any of them stands for a typeface without serifs if none is known as one.
fn fonts() -> Result<Database, PlotError> {
    let mut fonts = Database::new();
    fonts.load_system_fonts();
    if fonts.query(&Query { families: &[Family::SansSerif], ..Query::default() }).is_none() {
        let face = fonts.faces().next().ok_or(PlotError::NoFont)?;
        let family = face.families.first().ok_or(PlotError::NoFont)?.0.clone();
        fonts.set_sans_serif_family(family);
    }
    Ok(fonts)
}
