//! The progress of a loop over steps, on terminals only: how many are done, and the time that is left.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Steps from which on a loop may take long.
const LONG: u64 = 100;
/// Times a second that the bar is drawn.
const DRAWN: u8 = 5;

/// A bar on standard error.
#[derive(Debug)]
pub(super) struct StepBar {
    bar: ProgressBar,
}

impl StepBar {
    /// A bar that is drawn if standard error is a terminal, and the loop has many steps.
    pub(super) fn new(steps: u64) -> StepBar {
        StepBar::drawn_to(steps, ProgressDrawTarget::stderr_with_hz(DRAWN))
    }

    fn drawn_to(steps: u64, target: ProgressDrawTarget) -> StepBar {
        let target = if steps < LONG { ProgressDrawTarget::hidden() } else { target };
        let style =
            ProgressStyle::with_template("{wide_bar} {percent:>3} %  {pos} of {len} steps, {eta} left");
        let bar = ProgressBar::with_draw_target(Some(steps), target);
        StepBar { bar: bar.with_style(style.expect("the template has no errors")) }
    }

    /// A step is done.
    pub(super) fn step(&self) {
        self.bar.inc(1);
    }

    /// Removes the bar; if all steps are done, it has said so.
    pub(super) fn end(&self) {
        self.bar.force_draw();
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use indicatif::TermLike;
    use std::io::Result;
    use std::sync::{Arc, Mutex};

    /// A terminal that keeps what is written.
    #[derive(Clone, Debug, Default)]
    struct Screen(Arc<Mutex<String>>);

    impl Screen {
        fn add(&self, text: &str) -> Result<()> {
            self.0.lock().expect("no panic").push_str(text);
            Ok(())
        }
    }

    impl TermLike for Screen {
        fn width(&self) -> u16 {
            80
        }
        fn move_cursor_up(&self, _: usize) -> Result<()> {
            Ok(())
        }
        fn move_cursor_down(&self, _: usize) -> Result<()> {
            Ok(())
        }
        fn move_cursor_right(&self, _: usize) -> Result<()> {
            Ok(())
        }
        fn move_cursor_left(&self, _: usize) -> Result<()> {
            Ok(())
        }
        fn write_line(&self, line: &str) -> Result<()> {
            self.add(line)
        }
        fn write_str(&self, text: &str) -> Result<()> {
            self.add(text)
        }
        fn clear_line(&self) -> Result<()> {
            self.add("<cleared>")
        }
        fn flush(&self) -> Result<()> {
            Ok(())
        }
    }

    /// What a loop of steps writes that ends behind some of them.
    fn written(steps: u64, done: u64) -> String {
        let screen = Screen::default();
        let bar = StepBar::drawn_to(steps, ProgressDrawTarget::term_like(Box::new(screen.clone())));
        (0..done).for_each(|_| bar.step());
        bar.end();
        screen.0.lock().expect("no panic").clone()
    }

    #[test]
    fn a_long_loop_ends_at_all_steps() {
        let text = written(250, 250);
        let last = text.rfind("100 %").expect("it is drawn");
        assert!(text[last..].contains("250 of 250 steps") && text[last..].ends_with("<cleared>"), "{text}");
    }

    #[test]
    fn a_loop_that_fails_ends_where_it_was() {
        let text = written(200, 50);
        assert!(text.contains(" 25 %  50 of 200 steps") && !text.contains("100 %"), "{text}");
    }

    #[test]
    fn a_short_loop_has_no_bar() {
        assert_eq!(written(99, 99), "");
    }
}
