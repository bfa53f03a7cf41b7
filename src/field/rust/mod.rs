//! Programs as calls of the builder, in Rust.

mod expression;
mod print;
mod words;

pub use print::print_field_builder;
