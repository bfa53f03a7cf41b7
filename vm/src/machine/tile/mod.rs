//! Tile regions: element-wise operators on arrays of one size, run block by block.
//!
//! ```text
//! program      v2 = math.multiply(x, 2.5)          region    for each block of 512 rows:
//!              v3 = math.multiply(y, -1.25)                    t0 = multiply(x[block], 2.5)
//!              v4 = math.add(v2, v3)                           t1 = multiply(y[block], -1.25)
//!                                                              v4[block] = add(t0, t1)
//! ```
//!
//! A region is private code of the machine, as accumulators are: the program stays canonical, an observer
//! runs it instruction by instruction, and errors name the instruction they stem from. Blocks stay in the
//! first-level cache. Inputs and outputs are read and written in place by moving pointers; what only the
//! region itself reads is never laid out as a whole.
//!
//! 1. The members of a region are instructions of one basic block, in their order; it runs where its last
//!    member stood. Nothing between reads a byte that a member lays out or writes a byte that a member reads, and
//!    what something between or another member has overwritten is not laid out.
//! 2. Members are connected through the arrays they share, so that all of them have one size.
//! 3. A size mismatch is found before anything is written, at the first member that has it.
//! 4. Of the rows that raise, the lowest is reported, with the first member that raises in it.
//! 5. An operand that lies in another array is read there, and not made (`views.rs`).
//! 6. Each row of a result is what the operators give for that row: the size of blocks cannot be observed.
//!
//! Between members of different regions, and what stands among them, the order of execution differs from
//! that of the instructions. It shows only where two of them raise: one error is reported, not always the
//! one of the earlier instruction.

mod access;
mod axes;
mod blocks;
pub(super) mod build;
mod choose;
mod chosen;
mod chunk_folds;
mod chunks;
mod columns;
mod folding;
mod in_order;
pub(super) mod kept;
mod kept_run;
mod lent;
mod lone;
mod lowered;
mod member_recipes;
pub(super) mod plan;
pub(super) mod planner;
mod presence;
mod rare;
pub(super) mod region;
pub mod report;
mod rows;
pub(super) mod run;
mod schedule;
mod scratch;
mod side_by_side;
mod steps;
mod strip_folds;
mod strip_members;
mod strip_order;
mod strip_plan;
mod strip_rows;
mod strips;
mod through;
mod uses;
pub(super) mod views;
mod whole_runs;
mod worker;

pub use lowered::Part;
pub use plan::{Closed, Extent};
pub use report::{ColumnOf, RegionReport, StripReport};
