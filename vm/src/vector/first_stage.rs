//! First stage of a fold: how a loop over registers takes elements in, and how its lanes become one part.
//!
//! ```text
//! elements    3 -1 4 1 -5 9 2 6 | 5 3 -5 8 9 7 -9 3 | …        the least, in eight lanes
//! lanes       3 -1 -5 1 -5 7 -9 3
//! merged      -9
//! ```
//!
//! Which element goes to which lane is the matter of who takes them in, unless the order counts.

/// What is added up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SumOf {
    /// Numbers of single precision.
    Singles,
    /// Numbers of double precision.
    Doubles,
    /// Integers, which wrap.
    Integers,
    /// Integers of which only the lower 32 bits are asked for.
    Halves,
}

/// How a loop over registers takes elements in, which is all but the end of a fold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstStage {
    /// Adds elements, as numbers of a type, each to one of eight lanes of its leaf. Integers go to any lane.
    Sum(SumOf),
    /// Keeps the least element of each lane.
    Least,
    /// Keeps the greatest element of each lane.
    Greatest,
    /// Counts elements that are not zero.
    Count,
    /// Adds floats of a type, each to the one of [32 lanes](super::lanes) that its number says.
    Spread(SumOf),
}

/// Words of lanes.
pub const LANE_WORDS: usize = 8;

/// What comes of a pair of elements, as numbers of the sum's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OfPairs {
    /// Their product.
    Product,
    /// The square of their difference.
    SquaredDifference,
}

/// Words of 32 lanes.
pub const SPREAD_WORDS: usize = 32;

/// What lanes tell of elements that went to them in any order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Merged<P> {
    /// What is known of the elements.
    pub part: P,
    /// True if that depends on the order of elements after all, which lanes do not tell.
    pub is_open: bool,
}

impl<P> Merged<P> {
    /// A part that no order of elements changes.
    pub fn known(part: P) -> Merged<P> {
        Merged { part, is_open: false }
    }
}

/// Joins lanes, of that many elements.
pub type MergeLanes<P> = fn(lanes: &[u64; LANE_WORDS], count: usize) -> Merged<P>;

/// The sum of lanes of integers, which wraps.
pub fn sum_of_lanes(lanes: &[u64; LANE_WORDS]) -> u64 {
    lanes.iter().fold(0, |sum, lane| sum.wrapping_add(*lane))
}
