//! The arguments `--tier`, `--backend` and `--cache`.

use clap::ValueEnum;

/// What runs a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TierArg {
    /// The interpreter.
    Interpreter,
    /// Machine code, where there is a compiler for it.
    Jit,
    /// A library that a C compiler has made, where the program has a form in C.
    Native,
}

/// How long libraries are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CacheArg {
    /// In the cache folder, for later runs.
    Persistent,
    /// In a folder of this process, which it removes.
    Process,
}

/// The language of sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SourceArg {
    /// C11.
    C,
    /// Rust, for functions on scalars, tuples and optional values.
    Rust,
}

impl SourceArg {
    /// The name of its backend.
    pub(super) fn name(self) -> &'static str {
        match self {
            SourceArg::C => "c",
            SourceArg::Rust => "rust",
        }
    }
}
