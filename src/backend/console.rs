//! Console: where an evaluation prints its trace and waits at breakpoints.

use std::io::Write;
use std::sync::{Arc, Mutex};

/// Where an evaluation prints and waits.
pub trait Console: Send {
    /// Prints a text as it is.
    fn print(&mut self, text: &str);

    /// Waits for someone to go on; the prompt is on the console already.
    fn wait(&mut self);
}

/// The standard output, and a line of the standard input at breakpoints.
#[derive(Debug, Default)]
pub struct Standard;

impl Console for Standard {
    /// A closed output is nobody's fault and does not stop an evaluation.
    fn print(&mut self, text: &str) {
        let mut out = std::io::stdout().lock();
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }

    /// The end of the input goes on, too.
    fn wait(&mut self) {
        let _ = std::io::stdin().read_line(&mut String::new());
    }
}

/// A text that collects what is printed and waits for nobody; clones share it.
#[derive(Clone, Debug, Default)]
pub struct Transcript {
    text: Arc<Mutex<String>>,
}

impl Transcript {
    /// What has been printed so far.
    pub fn text(&self) -> String {
        self.text.lock().expect("nobody panics while printing").clone()
    }
}

impl Console for Transcript {
    fn print(&mut self, text: &str) {
        self.text.lock().expect("nobody panics while printing").push_str(text);
    }

    fn wait(&mut self) {}
}
