//! The order of a sweep: which steps of results are operands of the next ones.

/// The order in which a sweep takes the steps along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SweepOrder {
    /// Any: no element of a result is read.
    Any,
    /// From the first one up.
    Up(usize),
    /// From the last one down.
    Down(usize),
}
