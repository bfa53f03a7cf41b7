//! Views: results whose elements lie in the first operand, so that a region can read them there.
//!
//! ```text
//! array.slice(x, 1, 3)         x0 x1 x2 x3 x4        rows 1..4, where they stand
//! array.take(x, ids)           x0 x1 x2 x3 x4        rows that ids choose, each time that they are read
//! nd._expand_dims(x, [1])      (3,) strides (8,)     shape (3, 1), strides (8, 0)
//! nd._part(x, [0], 1, 2, 1)    x0 x1 x2 x3 x4        x1 x2
//! ```
//!
//! The operator's own code copies the elements.

use crate::value::nd_type::MAX_RANK;
use crate::value::{Fault, NdView};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// Which rows of so many, by the two INT64 operands behind the first one.
pub(crate) type RowsOf = fn(usize, [i64; 2]) -> Result<Range<usize>, Fault>;

/// The elements of an array under other axes, by the INT64 operands behind the first one.
pub(crate) type ElementsOf = dyn for<'v> Fn(&NdView<'v>, &[i64]) -> Result<NdView<'v>, Fault> + Send + Sync;

/// Most INT64 operands of a view: three for each axis.
pub(crate) const MOST_NUMBERS: usize = 3 * MAX_RANK;

/// How the result of an operator lies in its first operand.
#[derive(Clone)]
pub(crate) enum OperandView {
    /// Rows that stand one after the other.
    Rows(RowsOf),
    /// Rows that the second operand chooses: numbers of rows, or an edge from them.
    Chosen,
    /// Elements under other axes.
    Elements(Arc<ElementsOf>),
}

impl OperandView {
    /// True if it takes time to find a row.
    pub(crate) fn chooses(&self) -> bool {
        matches!(self, OperandView::Chosen)
    }
}

impl fmt::Debug for OperandView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            OperandView::Rows(_) => "Rows",
            OperandView::Chosen => "Chosen",
            OperandView::Elements(_) => "Elements",
        })
    }
}
