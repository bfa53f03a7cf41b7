//! Parallel routines: those whose calls the machine may run in pieces.
//!
//! ```text
//! call of r1 for trips 0..1000      r1(0, 16, …)   r1(16, 32, …)   …   r1(984, 1000, …)
//!                                        └──────── combine, from the first to the last ────────> result
//! ```
//!
//! The first two inputs are the numbers of the first trip and the one behind the last. A piece gets the same other
//! arguments as the call, but of an array that it changes it gets its own part, a [`Window`], and nothing else.
//!
//! 1. How many pieces there are depends on the number of trips only, and so does the result. A call for no trips is one
//!    piece for none.
//! 2. Whatever the routine does, pieces cannot reach the same element of an array that one of them changes.

use crate::program::instruction::ValueId;

/// What makes a routine parallel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parallel {
    /// Number of the routine that makes one result of two: of some pieces, and of the piece behind them.
    pub combine: u32,
    /// The parts of arrays that a piece changes: one for each input that the routine updates.
    pub windows: Vec<Window>,
}

/// The part of an array that belongs to a piece: along an axis, the element of each of its trips, in their order.
///
/// ```text
/// trip k has the element first + k * step        a piece of the trips 16..32 sees 16 elements, from 0
/// ```
///
/// Other axes are whole. A call whose trips have elements outside of the array is an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The input with the array.
    pub array: ValueId,
    /// The axis.
    pub axis: u32,
    /// The input with the element of trip 0, an INT64.
    pub first: ValueId,
    /// The input with the distance between elements of trips, an INT64.
    pub step: ValueId,
}
