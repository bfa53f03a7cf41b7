//! Positions along an axis that a host chooses elements by: the points that a table of neighbours names.
//!
//! ```text
//! cells       c0 c1 c2 c3 c4
//! positions   3 0 3 1           elements  c3 c0 c3 c1
//! ```
//!
//! Whoever takes elements compares the greatest position with the axis once, and none of them while it runs.

use std::sync::Arc;

/// Positions along an axis, whose greatest one is known.
#[derive(Clone, Debug)]
pub struct Positions {
    list: Arc<[u32]>,
    /// Behind the greatest one.
    end: usize,
}

impl Positions {
    /// Positions from 0 on.
    pub fn new(list: Arc<[u32]>) -> Positions {
        let end = list.iter().max().map_or(0, |most| *most as usize + 1);
        Positions { list, end }
    }

    pub(crate) fn list(&self) -> &[u32] {
        &self.list
    }

    /// Behind the greatest one.
    pub(crate) fn end(&self) -> usize {
        self.end
    }
}
