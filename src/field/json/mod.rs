//! The published JSON form of field programs, versions 1 and 2: read with its data, and written.

pub mod read;
mod read_expression;
pub mod values;
pub mod write;

pub use read::read_field_case;
pub use write::{WrittenCells, write_field_program};
