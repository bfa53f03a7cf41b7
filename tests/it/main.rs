//! Integration tests: what is seen from outside.

mod allocations;
mod cases;
mod cli;
mod deep;
mod derivatives;
mod dumps;
mod folding;
mod frames;
mod host;
mod numpy;
mod oracles;
mod properties;
mod random;
mod reference;
mod reuse;
mod support;
