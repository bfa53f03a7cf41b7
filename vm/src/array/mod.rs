//! Kernels over arrays: rows and elements in blocks, and what goes over them, one at a time or into one another.
//!
//! ```text
//! map     f(x0, y0), f(x1, y1), …     block, block_loops, block_rows, block_select      walks: nd_space, nd_walk, periods
//! fold    x0 · x1 · x2 · …            fold_kernel, row_fold, nd_pairs                    runs of elements: runs
//! scan    x0, x0 + x1, …              scan
//! groups  x0 · x2, x1 · x3, …         children, group_fold, group_rows, group_scan       ranges of rows: group_ranges
//! move    x[i0], x[i1], …             row_moves, runs_copied
//! ```
//!
//! A kernel is code for columns: where cells begin, how far apart they are, which are present. It knows neither slots nor
//! calls; the [operator contract](crate::operator) binds it to arguments, and tile regions run it block by block. Beside
//! its code, a kernel may have a [recipe], from which strips compute the same bits.
//!
//! Invariants:
//! 1. What a kernel computes of a row depends on nothing but that row, or, of folds and scans, on the rows and their
//!    number: not on where blocks begin, on the level of the processor, or on threads.
//! 2. Cells that grow in number with rows are on the account of a [meter], which also says when to stop.

pub mod block;
pub(crate) mod block_loops;
pub(crate) mod block_rows;
pub mod block_select;
mod children;
pub(crate) mod fold_kernel;
mod fold_memory;
mod fold_results;
pub mod function;
pub(crate) mod group_fold;
pub(crate) mod group_ranges;
pub(crate) mod group_rows;
pub(crate) mod group_scan;
pub mod meter;
pub(crate) mod nd_pairs;
pub(crate) mod nd_space;
pub(crate) mod nd_walk;
pub(crate) mod periods;
pub(crate) mod read_rows;
pub mod recipe;
pub(crate) mod row_fold;
pub(crate) mod row_moves;
pub mod rows_out;
pub(crate) mod runs;
mod runs_copied;
pub mod scan;
pub(crate) mod side_by_side;
pub mod special;
pub(crate) mod take_lanes;
pub(crate) mod whole_fold;
