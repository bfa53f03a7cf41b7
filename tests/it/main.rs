//! Integration tests: what is seen from outside.

mod allocations;
mod deep;
mod dumps;
mod frames;
mod host;
mod oracles;
mod properties;
mod random;
mod reference;
mod reuse;
mod support;
