//! Integration tests: what is seen from outside.

mod allocations;
mod dumps;
mod frames;
mod oracles;
mod random;
mod reference;
mod support;
