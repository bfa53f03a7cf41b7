//! Integration tests: what is seen from outside.

mod cases;
mod cli;
mod dumps;
mod frames;
mod oracles;
mod random;
mod reference;
mod support;
