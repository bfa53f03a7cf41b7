//! Fused pairs: the code of a cell that does the work of the cell behind it too.
//!
//! ```text
//! cells     | multiply | add | …          run of `multiply`: multiplies, and leaves the product in its accumulator
//! fused     | both     | add | …          run of `both`: multiplies, adds, and goes on behind `add`
//! ```
//!
//! Both cells stay where they are, with their operands: fused code reads those of both. A jump to the second cell
//! finds it as before.
//!
//! Fused code knows what is usual. Where an operation has no result, an index is outside or a place is unknown, nothing has
//! changed yet, and the code that the first or the second cell has alone does it: slowly, or with a fault that it is blamed
//! for. Two operations round twice, fused or not.

use crate::layout::PlainSlot;
use crate::layout::access::Accumulators;
use crate::operator::cell::{Cell, Run, State, raise};
use crate::operator::element::{get, read_element, set, write_element};
use crate::operator::element_type::Element;
use crate::operator::fusible::{
    Add, And, CheckedAdd, CheckedMultiply, CheckedSubtract, DOES_NOT_FIT, Equal, FloatAdd, FloatEqual,
    FloatLess, FloatLessEqual, FloatMultiply, FloatNotEqual, FloatOp, FloatSubtract, Fusible, IntegerOp,
    Less, LessEqual, NotEqual, Operation, Order, Subtract,
};
use crate::operator::scalar::{jump_where, operands2};
use crate::operator::threaded::{OPERANDS_OF_A_CELL, RESULT_NOT_STORED};

/// What a cell of a pair does, and how.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Half {
    /// The operation.
    pub(crate) operation: Fusible,
    /// The mode of its code.
    pub(crate) mode: usize,
    /// Of a comparison with a jump: whether it jumps if it holds, or if it does not.
    pub(crate) sense: bool,
}

/// A block for the constant that a mode is, if it is one of these.
macro_rules! by_mode {
    ($mode:expr, [$($known:literal),*], $M:ident => $run:expr) => {
        match $mode {
            $($known => {
                const $M: usize = $known;
                $run
            })*
            _ => None,
        }
    };
}

/// The code of a pair, if there is any.
pub(crate) fn pair(first: Half, second: Half) -> Option<Run> {
    match (first.operation, second.operation) {
        (Fusible::Float(op), _) => after_float(op, first, second),
        (Fusible::GetFloat(1), Fusible::Float(op)) => by_mode!(first.mode, [4, 5], M => {
            float_behind::<Load<f64, 1, M>>(op, second)
        }),
        (Fusible::GetFloat(2), Fusible::Float(op)) => by_mode!(first.mode, [4, 5, 6], M => {
            float_behind::<Load<f64, 2, M>>(op, second)
        }),
        (Fusible::GetInteger(1), Fusible::IntegerOrder(order)) => by_mode!(first.mode, [4, 5], M => {
            integer_jump_behind::<Load<i64, 1, M>>(order, second)
        }),
        (Fusible::Integer(op), _) => after_integer(op, first, second),
        _ => None,
    }
}

fn after_float(op: FloatOp, first: Half, second: Half) -> Option<Run> {
    match op {
        FloatOp::Add => by_mode!(first.mode, [4, 5, 6], M => behind_float::<Plain<FloatAdd, M>>(second)),
        FloatOp::Subtract => {
            by_mode!(first.mode, [4, 5, 6], M => behind_float::<Plain<FloatSubtract, M>>(second))
        }
        FloatOp::Multiply => {
            by_mode!(first.mode, [4, 5, 6], M => behind_float::<Plain<FloatMultiply, M>>(second))
        }
    }
}

fn behind_float<F: Work>(second: Half) -> Option<Run> {
    match second.operation {
        Fusible::Float(op) => float_behind::<F>(op, second),
        Fusible::SetFloat(1) => by_mode!(second.mode, [2], M => Some(both::<F, Store<f64, 1, M>>)),
        Fusible::SetFloat(2) => by_mode!(second.mode, [2], M => Some(both::<F, Store<f64, 2, M>>)),
        Fusible::FloatOrder(order) => match order {
            Order::Equal => jump_behind::<F, FloatEqual>(second),
            Order::NotEqual => jump_behind::<F, FloatNotEqual>(second),
            Order::Less => jump_behind::<F, FloatLess>(second),
            Order::LessEqual => jump_behind::<F, FloatLessEqual>(second),
        },
        _ => None,
    }
}

fn float_behind<F: Work>(op: FloatOp, second: Half) -> Option<Run> {
    match op {
        FloatOp::Add => plain_behind::<F, FloatAdd>(second),
        FloatOp::Subtract => plain_behind::<F, FloatSubtract>(second),
        FloatOp::Multiply => plain_behind::<F, FloatMultiply>(second),
    }
}

fn plain_behind<F: Work, O: Operation>(second: Half) -> Option<Run> {
    by_mode!(second.mode, [1, 2, 5, 6], M => Some(both::<F, Plain<O, M>>))
}

fn after_integer(op: IntegerOp, first: Half, second: Half) -> Option<Run> {
    match (op, second.operation) {
        (IntegerOp::And, Fusible::IntegerOrder(order)) => {
            by_mode!(first.mode, [4, 5], M => integer_jump_behind::<Plain<And, M>>(order, second))
        }
        // What counts is stored; what is only compared is not.
        (IntegerOp::Add, Fusible::IntegerOrder(order)) => {
            by_mode!(first.mode, [0, 4], M => integer_jump_behind::<Plain<Add, M>>(order, second))
        }
        (IntegerOp::CheckedAdd, Fusible::IntegerOrder(order)) => {
            by_mode!(first.mode, [0, 4], M => integer_jump_behind::<Plain<CheckedAdd, M>>(order, second))
        }
        (IntegerOp::Add, _) => by_mode!(first.mode, [4, 5], M => behind_integer::<Plain<Add, M>>(second)),
        (IntegerOp::Subtract, _) => {
            by_mode!(first.mode, [4, 5], M => behind_integer::<Plain<Subtract, M>>(second))
        }
        (IntegerOp::CheckedAdd, _) => {
            by_mode!(first.mode, [4, 5], M => behind_integer::<Plain<CheckedAdd, M>>(second))
        }
        (IntegerOp::CheckedSubtract, _) => {
            by_mode!(first.mode, [4, 5], M => behind_integer::<Plain<CheckedSubtract, M>>(second))
        }
        (IntegerOp::CheckedMultiply, _) => {
            by_mode!(first.mode, [4, 5], M => behind_integer::<Plain<CheckedMultiply, M>>(second))
        }
        _ => None,
    }
}

fn behind_integer<F: Work>(second: Half) -> Option<Run> {
    match second.operation {
        Fusible::Integer(IntegerOp::CheckedAdd) => integer_behind::<F, CheckedAdd>(second),
        Fusible::Integer(IntegerOp::CheckedSubtract) => integer_behind::<F, CheckedSubtract>(second),
        Fusible::Integer(IntegerOp::Add) => integer_behind::<F, Add>(second),
        Fusible::GetFloat(1) => by_mode!(second.mode, [1, 5], M => Some(both::<F, Load<f64, 1, M>>)),
        Fusible::GetFloat(2) => by_mode!(second.mode, [1, 2, 5, 6], M => Some(both::<F, Load<f64, 2, M>>)),
        Fusible::GetInteger(1) => by_mode!(second.mode, [1, 5], M => Some(both::<F, Load<i64, 1, M>>)),
        _ => None,
    }
}

fn integer_behind<F: Work, O: Operation>(second: Half) -> Option<Run> {
    by_mode!(second.mode, [1, 5], M => Some(both::<F, Plain<O, M>>))
}

fn integer_jump_behind<F: Work>(order: Order, second: Half) -> Option<Run> {
    match order {
        Order::Equal => jump_behind::<F, Equal>(second),
        Order::NotEqual => jump_behind::<F, NotEqual>(second),
        Order::Less => jump_behind::<F, Less>(second),
        Order::LessEqual => jump_behind::<F, LessEqual>(second),
    }
}

fn jump_behind<F: Work, O: Operation<Result = bool>>(second: Half) -> Option<Run> {
    match second.sense {
        true => by_mode!(second.mode, [0, 1, 2], M => Some(and_jump::<F, O, M, true>)),
        false => by_mode!(second.mode, [0, 1, 2], M => Some(and_jump::<F, O, M, false>)),
    }
}

/// What a cell does: operands from the frame and the accumulators, a result to there.
trait Work: 'static {
    /// Cells that hold its operands.
    const CELLS: usize = 1;

    /// Does it, and gives the accumulators; `None` if nothing is done yet.
    ///
    /// # Safety
    /// The contract of [`Run`], of a cell with the code of this work.
    unsafe fn work(cell: *const Cell, frame: *mut u8, held: Accumulators) -> Option<Accumulators>;

    /// What the cell does where [`work`](Work::work) has done nothing: in another way, or a fault.
    ///
    /// # Safety
    /// As there.
    unsafe fn otherwise(cell: *const Cell, state: State, held: Accumulators) -> *const Cell;
}

/// An operation on plain values.
struct Plain<O, const MODE: usize>(O);

impl<O: Operation, const MODE: usize> Work for Plain<O, MODE> {
    #[inline(always)]
    unsafe fn work(cell: *const Cell, frame: *mut u8, held: Accumulators) -> Option<Accumulators> {
        // SAFETY: the caller's promise.
        unsafe {
            let (a, b) = operands2::<O::Operand, O::Operand, MODE>(cell, frame, held);
            let value = O::apply(a, b)?;
            if MODE & RESULT_NOT_STORED == 0 {
                O::Result::store(frame.add((*cell).out as usize), value);
            }
            Some(value.into_accumulators(held))
        }
    }

    #[inline(always)]
    unsafe fn otherwise(cell: *const Cell, state: State, _: Accumulators) -> *const Cell {
        // SAFETY: the caller's promise.
        unsafe { raise(cell, state, DOES_NOT_FIT) }
    }
}

/// An element is read.
struct Load<T, const RANK: usize, const MODE: usize>(T);

impl<T: Element, const RANK: usize, const MODE: usize> Work for Load<T, RANK, MODE> {
    #[inline(always)]
    unsafe fn work(cell: *const Cell, frame: *mut u8, held: Accumulators) -> Option<Accumulators> {
        // SAFETY: the caller's promise.
        unsafe {
            let value = read_element::<T, RANK, MODE>(cell, frame, held)?;
            if MODE & RESULT_NOT_STORED == 0 {
                T::Value::store(frame.add((*cell).out as usize), value);
            }
            Some(value.into_accumulators(held))
        }
    }

    #[inline(always)]
    unsafe fn otherwise(cell: *const Cell, state: State, held: Accumulators) -> *const Cell {
        // SAFETY: the caller's promise.
        unsafe { get::<T, RANK, MODE>(cell, state, held) }
    }
}

/// An element is written.
struct Store<T, const RANK: usize, const MODE: usize>(T);

impl<T: Element, const RANK: usize, const MODE: usize> Work for Store<T, RANK, MODE> {
    const CELLS: usize = (RANK + 2).div_ceil(OPERANDS_OF_A_CELL);

    #[inline(always)]
    unsafe fn work(cell: *const Cell, frame: *mut u8, held: Accumulators) -> Option<Accumulators> {
        // SAFETY: the caller's promise.
        unsafe { write_element::<T, RANK, MODE>(cell, frame, held)? };
        Some(held)
    }

    #[inline(always)]
    unsafe fn otherwise(cell: *const Cell, state: State, held: Accumulators) -> *const Cell {
        // SAFETY: the caller's promise.
        unsafe { set::<T, RANK, MODE>(cell, state, held) }
    }
}

/// Two cells.
///
/// # Safety
/// The contract of [`Run`]: the cell and the one behind it are cells of these works, of one cell each, and not the last.
unsafe fn both<F: Work, S: Work>(cell: *const Cell, state: State, held: Accumulators) -> *const Cell {
    // SAFETY: the caller's promise.
    unsafe {
        let Some(held) = F::work(cell, state.frame, held) else {
            return F::otherwise(cell, state, held);
        };
        let second = cell.add(1);
        let Some(held) = S::work(second, state.frame, held) else {
            return S::otherwise(second, state, held);
        };
        let next = second.add(S::CELLS);
        ((*next).run)(next, state, held)
    }
}

/// A cell, and one that compares and [jumps](crate::operator::scalar::compare_and_jump).
///
/// # Safety
/// As [`both`]; the jump target was checked by the verifier.
unsafe fn and_jump<F: Work, O: Operation<Result = bool>, const MODE: usize, const SENSE: bool>(
    cell: *const Cell,
    state: State,
    held: Accumulators,
) -> *const Cell {
    // SAFETY: the caller's promise.
    unsafe {
        let Some(held) = F::work(cell, state.frame, held) else {
            return F::otherwise(cell, state, held);
        };
        let jump = cell.add(1);
        let (a, b) = operands2::<O::Operand, O::Operand, MODE>(jump, state.frame, held);
        jump_where(O::apply(a, b) == Some(SENSE), jump, state, held)
    }
}
