//! The progress bar of a run, on terminals only.

use crate::columns::Progress;
use indicatif::{HumanCount, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::{Duration, Instant};

/// Times a second that the bar is drawn.
const DRAWN: u8 = 5;

/// A bar on standard error, with rows a second and the time that is left.
#[derive(Debug)]
pub struct Bar {
    bar: ProgressBar,
    start: Instant,
}

impl Default for Bar {
    fn default() -> Bar {
        Bar::new()
    }
}

impl Bar {
    /// A bar that is drawn if standard error is a terminal.
    pub fn new() -> Bar {
        Bar::drawn_to(ProgressDrawTarget::stderr_with_hz(DRAWN))
    }

    /// A bar that is not drawn, only measures time.
    pub fn hidden() -> Bar {
        Bar::drawn_to(ProgressDrawTarget::hidden())
    }

    fn drawn_to(target: ProgressDrawTarget) -> Bar {
        Bar { bar: ProgressBar::with_draw_target(None, target), start: Instant::now() }
    }

    /// Shows how far the run has come.
    pub fn show(&self, progress: Progress) {
        if self.bar.is_hidden() {
            return;
        }
        if self.bar.length().is_none() {
            let template = match progress.total {
                0 => "{spinner} {msg}",
                _ => "{wide_bar} {percent:>3} %  {msg}, {eta} left",
            };
            let style = ProgressStyle::with_template(template);
            self.bar.set_style(style.expect("the template has no errors"));
            self.bar.set_length(progress.total);
        }
        self.bar.set_position(progress.read);
        let rate = rate(progress.rows, self.elapsed());
        self.bar.set_message(format!("{} rows, {rate}", HumanCount(progress.rows)));
    }

    /// Time since the bar was made.
    pub fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    /// Removes the bar.
    pub fn end(&self) {
        self.bar.finish_and_clear();
    }
}

/// Rows a second, in words.
pub fn rate(rows: u64, time: Duration) -> String {
    let rate = rows as f64 / time.as_secs_f64().max(1e-9);
    format!("{} rows/s", HumanCount(rate as u64))
}
