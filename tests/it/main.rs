//! Integration tests: what is seen from outside.

mod allocations;
mod cases;
mod cli;
mod columns;
mod deep;
mod derivatives;
mod dumps;
mod folding;
mod frames;
mod host;
mod model;
mod oracles;
mod properties;
mod random;
mod reference;
mod reuse;
mod row_by_row;
mod support;
