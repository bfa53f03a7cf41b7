//! Flags: what an evaluation shows while it runs.

/// What an evaluation shows while it runs; a node's own flags add to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// Values are traced, as runnable numpy with comments.
    pub trace: bool,
    /// Traced arrays are shown whole, however large.
    pub full: bool,
    /// Evaluation waits after each node.
    pub breakpoints: bool,
    /// What is going to be evaluated is printed before.
    pub dump: bool,
    /// Graphs are compiled, and evaluated by the machine.
    pub jit: bool,
}

impl Flags {
    /// Reads `trace, break`: names `trace`, `trace=full`, `break`, `dump` and `jit` between commas, in any case;
    /// other names are ignored.
    pub fn parse(text: &str) -> Flags {
        let mut flags = Flags::default();
        for name in text.split(',') {
            match name.trim().to_ascii_lowercase().as_str() {
                "trace" => flags.trace = true,
                "trace=full" => (flags.trace, flags.full) = (true, true),
                "break" => flags.breakpoints = true,
                "dump" => flags.dump = true,
                "jit" => flags.jit = true,
                _ => {}
            }
        }
        flags
    }

    /// True if an evaluation shows anything.
    pub fn shows(self) -> bool {
        self.trace || self.breakpoints || self.dump
    }

    /// The flags in the environment variable `CEMBRA_FLAGS`.
    pub fn from_environment() -> Flags {
        std::env::var("CEMBRA_FLAGS").map(|text| Flags::parse(&text)).unwrap_or_default()
    }
}
