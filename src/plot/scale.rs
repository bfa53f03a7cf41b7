//! Ranges of axes, and numbers beside them.

use std::ops::Range;

/// From the smallest to the largest finite value, with some room; none if no value is finite.
pub fn padded(values: impl IntoIterator<Item = f64>, room: f64) -> Option<Range<f64>> {
    let range = extent(values)?;
    let length = range.end - range.start;
    Some(range.start - room * length..range.end + room * length)
}

/// From the smallest to the largest finite value; a single value gets a length.
pub fn extent(values: impl IntoIterator<Item = f64>) -> Option<Range<f64>> {
    let finite = values.into_iter().filter(|v| v.is_finite());
    let (low, high) =
        finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
    match () {
        () if low > high => None,
        () if low == high => Some(low - 0.5 * low.abs().max(1.0)..high + 0.5 * high.abs().max(1.0)),
        () => Some(low..high),
    }
}

/// The same distance below and above zero, that holds all but the most extreme values.
pub fn symmetric(values: &[f64]) -> Option<Range<f64>> {
    let mut sizes: Vec<f64> = values.iter().map(|v| v.abs()).filter(|v| v.is_finite()).collect();
    sizes.sort_by(f64::total_cmp);
    let last = sizes.len().checked_sub(1)?;
    // One value in 500 may be beyond the colours: a single outlier would take them from all others.
    let size = sizes[last - sizes.len() / 500].max(f64::MIN_POSITIVE);
    Some(-size..size)
}

/// A number as a tick has it: no more digits than its range needs.
pub fn tick(value: f64, range: &Range<f64>) -> String {
    let length = (range.end - range.start).abs();
    let largest = range.start.abs().max(range.end.abs());
    let value = if value.abs() < length * 1e-9 { 0.0 } else { value };
    if !(1e-3..1e5).contains(&largest) {
        return if value == 0.0 { "0".to_owned() } else { format!("{value:.1e}") };
    }
    let decimals = (1.0 - (length / 5.0).log10().floor()).clamp(0.0, 9.0) as usize;
    let text = format!("{value:.decimals$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_short() {
        assert_eq!(tick(84.5, &(80.0..92.0)), "84.5");
        assert_eq!(tick(84.0, &(80.0..92.0)), "84");
        assert_eq!(tick(1e-17, &(-1.0..1.0)), "0");
        assert_eq!(tick(250_000.0, &(0.0..1e6)), "2.5e5");
        assert_eq!(tick(0.02, &(0.0..0.1)), "0.02");
    }

    #[test]
    fn ranges_hold_what_is_finite() {
        assert_eq!(extent([1.0, f64::NAN, 3.0]), Some(1.0..3.0));
        assert_eq!(extent([2.0]), Some(1.0..3.0));
        assert_eq!(extent([f64::NAN]), None);
        assert_eq!(symmetric(&[-2.0, 1.0]), Some(-2.0..2.0));
    }
}
