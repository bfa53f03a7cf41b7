//! Values as coloured pixels: a PNG picture of 256 colours as text for an SVG picture.

use crate::plot::error::PlotError;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::ops::Range;

/// Colours between which others are interpolated, from the smallest value to the largest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gradient(&'static [[u8; 3]]);

/// Viridis (N. Smith and S. van der Walt, 2015), dark to light, in nine of its colours.
pub const SEQUENTIAL: Gradient = Gradient(&[
    [68, 1, 84],
    [71, 44, 122],
    [59, 81, 139],
    [44, 113, 142],
    [33, 144, 141],
    [39, 173, 129],
    [92, 200, 99],
    [170, 220, 50],
    [253, 231, 37],
]);

/// Blue below, white at the middle, red above.
pub const DIVERGING: Gradient = Gradient(&[
    [33, 102, 172],
    [103, 169, 207],
    [209, 229, 240],
    [250, 250, 250],
    [253, 219, 199],
    [239, 138, 98],
    [178, 24, 43],
]);

/// What stands for a value that is no number.
const MISSING: [u8; 3] = [200, 200, 200];

impl Gradient {
    /// The colour of a place between 0 and 1.
    fn color(self, place: f64) -> [u8; 3] {
        let last = self.0.len() - 1;
        let at = place.clamp(0.0, 1.0) * last as f64;
        let index = (at.floor() as usize).min(last - 1);
        let part = at - index as f64;
        let mix = |channel: usize| {
            let (a, b) = (f64::from(self.0[index][channel]), f64::from(self.0[index + 1][channel]));
            (a + part * (b - a)).round() as u8
        };
        [mix(0), mix(1), mix(2)]
    }
}

/// A picture of values in a range, row after row from the top, as the address that an SVG picture takes.
///
/// # Errors
/// The picture cannot be encoded.
pub fn picture(
    width: usize,
    values: &[f64],
    range: &Range<f64>,
    gradient: Gradient,
) -> Result<String, PlotError> {
    // Colour 255 is that of missing values.
    let place = |value: f64| (value - range.start) / (range.end - range.start);
    let pixel = |value: &f64| match place(*value) {
        place if place.is_nan() => 255,
        place => (place.clamp(0.0, 1.0) * 254.0).round() as u8,
    };
    let palette: Vec<u8> =
        (0..255).flat_map(|index| gradient.color(f64::from(index) / 254.0)).chain(MISSING).collect();
    let pixels: Vec<u8> = values.iter().map(pixel).collect();
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width as u32, (values.len() / width) as u32);
    encoder.set_color(png::ColorType::Indexed);
    encoder.set_palette(palette);
    encoder.set_compression(png::Compression::High);
    let mut writer = encoder.write_header().map_err(PlotError::drawing)?;
    writer.write_image_data(&pixels).map_err(PlotError::drawing)?;
    writer.finish().map_err(PlotError::drawing)?;
    Ok(format!("data:image/png;base64,{}", STANDARD.encode(bytes)))
}

/// Which samples of an axis lie in each of so many equal stretches of a range, or reach there: their mean is the
/// pixel.
pub fn samples(axis: &[f64], range: &Range<f64>, pixels: usize) -> Vec<Range<usize>> {
    let ascending = axis.last() >= axis.first();
    let sorted: Vec<f64> = if ascending { axis.to_vec() } else { axis.iter().rev().copied().collect() };
    // A sample reaches to the middle of its neighbours.
    let edges: Vec<f64> = sorted.windows(2).map(|pair| (pair[0] + pair[1]) / 2.0).collect();
    let step = (range.end - range.start) / pixels as f64;
    let stretch = |pixel: usize| {
        let (from, to) = (range.start + pixel as f64 * step, range.start + (pixel + 1) as f64 * step);
        let below = |limit: f64| sorted.partition_point(|sample| *sample < limit);
        let found = match below(from)..below(to) {
            // Where pixels are narrow, a pixel belongs to the sample that reaches to its middle.
            none if none.is_empty() => {
                let nearest = edges.partition_point(|edge| *edge <= (from + to) / 2.0);
                nearest..nearest + 1
            }
            found => found,
        };
        if ascending { found } else { sorted.len() - found.end..sorted.len() - found.start }
    };
    (0..pixels).map(stretch).collect()
}

/// Pixels of a spectrum: energies to the right, times upwards.
pub fn pixels(values: &[f64], energies: &[Range<usize>], times: &[Range<usize>], width: usize) -> Vec<f64> {
    let mean = |rows: &Range<usize>, columns: &Range<usize>| {
        let sum: f64 =
            rows.clone().map(|row| values[row * width..][columns.clone()].iter().sum::<f64>()).sum();
        sum / (rows.len() * columns.len()) as f64
    };
    times.iter().rev().flat_map(|rows| energies.iter().map(move |columns| mean(rows, columns))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pixels_are_means_of_samples() {
        let few = samples(&[0.0, 1.0, 2.0, 3.0], &(-0.5..3.5), 2);
        assert_eq!(few, [0..2, 2..4]);
        let many = samples(&[1.0, 0.0], &(-0.5..1.5), 4);
        assert_eq!(many, [1..2, 1..2, 0..1, 0..1]);
        let values = [1.0, 2.0, 3.0, 4.0];
        assert_eq!(pixels(&values, &[0..1, 1..2], &[0..1, 1..2], 2), [3.0, 4.0, 1.0, 2.0]);
        let all = [0..1, 0..2, 1..2];
        assert_eq!(pixels(&values, &all, &all[1..2], 2), [2.0, 2.5, 3.0]);
    }

    #[test]
    fn colours_go_from_end_to_end() {
        assert_eq!(SEQUENTIAL.color(0.0), [68, 1, 84]);
        assert_eq!(SEQUENTIAL.color(2.0), [253, 231, 37]);
        assert_eq!(DIVERGING.color(0.5), [250, 250, 250]);
        let text = picture(2, &[0.0, 1.0, f64::NAN, 0.5], &(0.0..1.0), SEQUENTIAL).expect("a picture");
        assert!(text.starts_with("data:image/png;base64,iVBOR"), "{text}");
    }
}
