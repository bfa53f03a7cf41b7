//! Strips: element-wise operations on rows, compiled to one loop over registers.
//!
//! ```text
//! List ──lower──> instructions on virtual registers ──allocate──> registers, spills ──encode──> Code ──load──> Strip
//! terms           of a level, for one group of rows               of x86-64                     bytes          memory
//!
//! rows     first …                                                      … end
//!          | U groups | U groups | … | group | … | rest |       a group is 8 or 16 rows
//!            main loop: copies         loop          once, under a mask of its rows
//!            interleaved               of groups
//! ```
//!
//! A pass over rows loads and stores every intermediate value; a strip keeps it in registers. One group of rows has
//! the same number of rows for every type, so that a mask of FLOAT64 selects FLOAT32 without being moved:
//!
//! | level | rows | 64 bits | 32 bits | mask |
//! | --- | --: | --- | --- | --- |
//! | AVX-512 | 8, or 16 if nothing has 64 bits | a zmm | a ymm, of 16 rows a zmm | a mask register |
//! | AVX2 | 8 | two ymm | one ymm | lanes as wide as what was compared |
//!
//! A call computes the rows between two numbers. With [leaves](List::leaves) the loops run once for each leaf of rows, and
//! give the part of each leaf in every sum. What may be taken in in any order, as extremes and sums of integers, goes to
//! [lanes](List::fold), which the caller joins. A [running result](List::running) is a term: each row knows of those before it.
//!
//! 1. A row of a result has the bits that the operations of the [`List`] give for that row, and for those before it, on every level, whatever
//!    the number of rows, the unrolling and the registers. Any NaN is one value.
//! 2. No byte outside of the rows from `first` to `end` is read or written, but for cells that the rows of a column of positions
//!    [choose](List::take); bits of presence come in words, and are read by bytes inside of the words.
//! 3. Code calls nothing, allocates nothing and cannot unwind.
//!
//! [`record_unary`] and [`record_binary`] add special functions to a list, operation by operation.
//!
//! Only x86-64 with AVX2 has strips; elsewhere [`compile`] refuses.

mod composed;
mod fold_masks;
pub mod list;
mod memory;
pub mod op;
pub mod options;
pub mod recorded;
pub mod strip;
mod traced;
#[cfg(target_arch = "x86_64")]
pub(crate) mod x86;

pub use list::List;
pub use op::{BinaryOp, Comparison, Lane, LaneFold, Op, RunningOp, ShiftOp, Sink, Term, UnaryOp};
pub use options::{Code, CodeReport, Line, Operand, Options, Refused};
pub use recorded::{
    RecordedFunction, record_binary, record_domain, record_fast, record_rare_angles, record_rare_binary,
    record_rare_unary, record_unary,
};
pub use strip::{Strip, compile, listing, load};
