//! Reductions: operators whose result has fewer rows or axes than their operands, and is there when all of them have been
//! seen.

use crate::operator::fold_kernel::FoldKernel;
use crate::operator::general::GeneralKernel;
use crate::value::Axes;

/// A reduction of the rows of an array, or along axes between which there are unit axes only.
#[derive(Clone, Debug)]
pub(crate) struct ReductionKernel {
    /// The code over whole arrays.
    pub(crate) whole: GeneralKernel,
    /// The code over blocks.
    pub(crate) fold: FoldKernel,
    /// The axes; that of rows is the first one.
    pub(crate) axes: Axes,
}
