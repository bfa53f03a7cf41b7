//! Threaded code: the cells that one operation can become.
//!
//! ```text
//! mode 0      all operands in the frame, the result stored
//! mode 1, 2   the first, the second carried operand is in its accumulator      both: 3
//! mode 4      the result stays in its accumulator and is not stored            with 1, 2, 3: 5, 6, 7
//! ```
//!
//! Of a plain operation the carried operands are the first and the second. Of an element of an array they are the
//! index and the value, whose positions depend on the number of axes.

use crate::layout::access::Accumulator;
use crate::operator::cell::Run;
use crate::operator::fusible::Fusible;
use crate::operator::primitive::Primitive;

/// Mode bit: the first carried operand is in its accumulator.
pub const FIRST_IN_ACCUMULATOR: usize = 1;
/// Mode bit: the second carried operand is in its accumulator.
pub const SECOND_IN_ACCUMULATOR: usize = 2;
/// Mode bit: the result stays in its accumulator and is not stored.
pub const RESULT_NOT_STORED: usize = 4;

/// Operands that one cell has room for. One with more is followed by a cell that only holds the others.
pub(crate) const OPERANDS_OF_A_CELL: usize = 4;

/// Code by mode.
pub(crate) type Modes = [Option<Run>; 8];

/// The code of an operation on single values, for every place of its operands that there is code for.
#[derive(Clone, Debug)]
pub(crate) struct Threaded {
    /// Code by mode; mode 0 is always there.
    pub(crate) modes: Modes,
    /// Code that computes a condition and jumps if it holds, by operand mode.
    pub(crate) jump_if: [Option<Run>; 4],
    /// The same if it does not hold.
    pub(crate) jump_if_not: [Option<Run>; 4],
    /// The operands that can be in accumulators.
    pub(crate) carried: [Carried; 2],
    /// The accumulator the result is left in.
    pub(crate) result: Option<Accumulator>,
    /// The operation, if there are pairs of it.
    pub(crate) fusible: Option<Fusible>,
    /// The operation, if it may have no result and compilers know it.
    pub(crate) primitive: Option<Primitive>,
}

/// An operand that can be in an accumulator.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Carried {
    /// Its position among the operands.
    pub(crate) operand: usize,
    /// Which accumulator.
    pub(crate) accumulator: Option<Accumulator>,
}

impl Threaded {
    /// Code for operands in the frame, to which other modes are added.
    pub(crate) fn new(run: Run, carried: [Carried; 2], result: Option<Accumulator>) -> Threaded {
        let mut modes = [None; 8];
        modes[0] = Some(run);
        Threaded::of_modes(modes, carried, result)
    }

    /// Code by mode, that of mode 0 among it.
    pub(crate) fn of_modes(modes: Modes, carried: [Carried; 2], result: Option<Accumulator>) -> Threaded {
        Threaded {
            modes,
            jump_if: [None; 4],
            jump_if_not: [None; 4],
            carried,
            result,
            fusible: None,
            primitive: None,
        }
    }
}
