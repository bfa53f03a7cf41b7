//! Random programs: generated expressions must mean the same to the reference and to the machine.

mod agreement;
mod arrays;
mod exhaustive;
pub mod generate;
mod nd;
mod observe;
mod text;
mod tiles;
