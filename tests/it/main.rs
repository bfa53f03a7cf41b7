//! Integration tests: what is seen from outside.

mod allocations;
mod deep;
mod dumps;
mod frames;
mod oracles;
mod properties;
mod random;
mod reference;
mod support;
