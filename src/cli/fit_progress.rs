//! The progress of a fit, on terminals only: chi² so far and evaluations a second.

use crate::fit::Observer;
use indicatif::{HumanCount, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Times a second that the line is drawn.
const DRAWN: u8 = 5;

/// A line on standard error.
#[derive(Debug)]
pub struct FitBar {
    bar: ProgressBar,
    start: Instant,
    evaluations: AtomicU64,
    best: Mutex<f64>,
}

impl Default for FitBar {
    fn default() -> FitBar {
        FitBar::new()
    }
}

impl FitBar {
    /// A line that is drawn if standard error is a terminal.
    pub fn new() -> FitBar {
        FitBar::drawn_to(ProgressDrawTarget::stderr_with_hz(DRAWN))
    }

    /// A line that is not drawn.
    pub fn hidden() -> FitBar {
        FitBar::drawn_to(ProgressDrawTarget::hidden())
    }

    fn drawn_to(target: ProgressDrawTarget) -> FitBar {
        let style = ProgressStyle::with_template("{spinner} {msg}").expect("the template has no errors");
        let bar = ProgressBar::with_draw_target(None, target).with_style(style);
        let (start, evaluations, best) = (Instant::now(), AtomicU64::new(0), Mutex::new(f64::INFINITY));
        FitBar { bar, start, evaluations, best }
    }

    /// Removes the line.
    pub fn end(&self) {
        self.bar.finish_and_clear();
    }
}

impl Observer for FitBar {
    fn evaluated(&self, chi_square: f64) {
        let count = self.evaluations.fetch_add(1, Ordering::Relaxed) + 1;
        if self.bar.is_hidden() {
            return;
        }
        let mut best = self.best.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        *best = best.min(chi_square);
        let rate = count as f64 / self.start.elapsed().as_secs_f64().max(1e-9);
        let message = format!("chi² {:.6e}, {} evaluations, {rate:.0}/s", *best, HumanCount(count));
        self.bar.set_message(message);
    }
}
