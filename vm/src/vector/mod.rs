//! Pure loops and special functions; knows no slot, no frame.
//!
//! Every transcendental function of every tier goes through this room, so that the interpreter,
//! literal folding, tiles and compiled code give the same bits. They are written in portable Rust: none
//! depends on the platform's mathematics library.

pub mod crossing;
pub mod distribution;
pub mod extremes;
pub mod first_stage;
pub mod float;
pub mod fold;
pub mod lanes;
pub mod leaves;
pub mod level;
pub mod math;
pub mod nonzero;
pub mod order;
pub mod prefetch;
pub mod python;
pub mod reduce;
pub mod select;
pub mod spread;
pub mod stop;
pub mod variance;

pub use float::Float;
pub use level::Level;
