//! Pure loops and special functions; knows no slot, no frame.
//!
//! Every transcendental function of every tier goes through this room, so that the interpreter,
//! literal folding, tiles and compiled code give the same bits. The functions here are scalar and
//! written in portable Rust (`libm`): they do not depend on the platform's mathematics library.

pub mod float;
pub mod level;
pub mod order;
pub mod prefetch;
pub mod reduce;
pub mod spread;

pub use float::Float;
pub use level::Level;
