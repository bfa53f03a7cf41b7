//! Synthetic data: spectra with noise that a number repeats.

use cembra_vm::vector::math::double;
use fastrand::Rng;
use std::f64::consts::TAU;

/// Adds normal noise of a standard deviation, by the transformation of G. E. P. Box and M. E. Muller,
/// Annals of Mathematical Statistics 29 (1958) 610.
pub fn add_noise(values: &mut [f64], sigma: f64, seed: u64) {
    let mut random = Rng::with_seed(seed);
    for pair in values.chunks_mut(2) {
        // One minus a number below one is never zero, so the logarithm is finite.
        let radius = sigma * (-2.0 * double::ln(1.0 - random.f64())).sqrt();
        let angle = TAU * random.f64();
        pair[0] += radius * double::cos(angle);
        if let Some(second) = pair.get_mut(1) {
            *second += radius * double::sin(angle);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_has_its_size_and_repeats() {
        let mut values = vec![1.0; 100_001];
        add_noise(&mut values, 0.5, 7);
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n;
        assert!((mean - 1.0).abs() < 0.01 && (variance - 0.25).abs() < 0.005, "{mean} {variance}");
        let mut again = vec![1.0; 100_001];
        add_noise(&mut again, 0.5, 7);
        assert_eq!(values, again);
    }
}
