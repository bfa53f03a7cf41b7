//! Hostile input: files that are damaged or lie, names that clash, outputs that go away, calls of anything with
//! anything. Every one is a value or an error that says what is wrong and where; none takes more than its size
//! justifies.
//!
//! `CEMBRA_HOSTILE=100000 cargo test --features columns --test it -- hostile --test-threads 1` runs so many cases of
//! each kind instead of those of a few seconds; `CEMBRA_SEED` begins elsewhere.

mod expressions;
mod files;
pub mod mutate;
mod mutation;
mod operators;
mod outputs;
mod reports;
mod seeds;

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is a number, not {text}")))
}

/// How many cases a test runs, if nobody asks for more.
pub fn count(usual: u64) -> u64 {
    number("CEMBRA_HOSTILE").unwrap_or(usual)
}

/// Where random cases begin.
pub fn seed() -> u64 {
    number("CEMBRA_SEED").unwrap_or(7)
}
