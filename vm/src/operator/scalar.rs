//! Scalar kernels: plain Rust functions turned into threaded code.
//!
//! A function item or a closure that captures nothing has no size; its type alone is enough to call
//! it. Each kernel is therefore compiled into `run` functions with the operation inlined, one per
//! *mode*: which operands come from the accumulators, and whether the result is stored.

use crate::layout::PlainSlot;
use crate::layout::access::{Accumulator, Accumulators};
use crate::operator::block::BlockKernel;
use crate::operator::block_loops::{block1, block2, block3, block4};
use crate::operator::cell::{Cell, Run, State, go, next, raise};
use crate::operator::function::{Outcome, function};
use crate::operator::threaded::{
    Carried, FIRST_IN_ACCUMULATOR, RESULT_NOT_STORED, SECOND_IN_ACCUMULATOR, Threaded,
};
use crate::value::{Fault, QType};

/// Threaded code of an operation on plain values.
#[derive(Clone, Debug)]
pub(crate) struct ScalarKernel {
    /// Code on single values.
    pub(crate) threaded: Threaded,
    /// Code over rows of columns.
    pub(crate) block: BlockKernel,
}

/// The types and the code of a scalar kernel.
pub(crate) type Typed = (Vec<QType>, QType, ScalarKernel);

fn plain_kernel(
    run: Run,
    block: BlockKernel,
    operands: [Option<Accumulator>; 2],
    result: Option<Accumulator>,
) -> ScalarKernel {
    let carried = [0, 1].map(|operand| Carried { operand, accumulator: operands[operand] });
    ScalarKernel { threaded: Threaded::new(run, carried, result), block }
}

/// A kernel of one operand.
pub(crate) fn unary<F, A, R, O>(f: F) -> Typed
where
    F: Fn(A) -> O + Copy + Send + Sync + 'static,
    A: PlainSlot,
    R: PlainSlot,
    O: Outcome<R>,
{
    unary_over(f, block1::<F, A, R, O>())
}

/// As [`unary`], with other code over rows.
pub(crate) fn unary_over<F, A, R, O>(_: F, block: BlockKernel) -> Typed
where
    F: Fn(A) -> O + Copy + Send + Sync + 'static,
    A: PlainSlot,
    R: PlainSlot,
    O: Outcome<R>,
{
    let operands = [A::ACCUMULATOR, None];
    let mut kernel = plain_kernel(run1::<F, A, R, O, 0>, block, operands, R::ACCUMULATOR);
    if A::ACCUMULATOR.is_some() {
        kernel.threaded.modes[1] = Some(run1::<F, A, R, O, 1>);
    }
    if R::ACCUMULATOR.is_some() {
        kernel.threaded.modes[4] = Some(run1::<F, A, R, O, 4>);
    }
    if A::ACCUMULATOR.is_some() && R::ACCUMULATOR.is_some() {
        kernel.threaded.modes[5] = Some(run1::<F, A, R, O, 5>);
    }
    (vec![A::plain_qtype()], R::plain_qtype(), kernel)
}

/// A kernel of two operands in the frame.
pub(crate) fn binary<F, A, B, R, O>(f: F) -> Typed
where
    F: Fn(A, B) -> O + Copy + Send + Sync + 'static,
    A: PlainSlot,
    B: PlainSlot,
    R: PlainSlot,
    O: Outcome<R>,
{
    binary_over(f, block2::<F, A, B, R, O>())
}

/// As [`binary`], with other code over rows.
pub(crate) fn binary_over<F, A, B, R, O>(_: F, block: BlockKernel) -> Typed
where
    F: Fn(A, B) -> O + Copy + Send + Sync + 'static,
    A: PlainSlot,
    B: PlainSlot,
    R: PlainSlot,
    O: Outcome<R>,
{
    let operands = [A::ACCUMULATOR, B::ACCUMULATOR];
    let kernel = plain_kernel(run2::<F, A, B, R, O, 0>, block, operands, R::ACCUMULATOR);
    (vec![A::plain_qtype(), B::plain_qtype()], R::plain_qtype(), kernel)
}

/// A kernel of two operands in every mode, for the operations that programs consist of.
pub(crate) fn hot_binary<F, A, B, R, O>(f: F) -> Typed
where
    F: Fn(A, B) -> O + Copy + Send + Sync + 'static,
    A: PlainSlot,
    B: PlainSlot,
    R: PlainSlot,
    O: Outcome<R>,
{
    let (args, result, mut kernel) = binary::<F, A, B, R, O>(f);
    kernel.threaded.modes[1] = Some(run2::<F, A, B, R, O, 1>);
    kernel.threaded.modes[2] = Some(run2::<F, A, B, R, O, 2>);
    kernel.threaded.modes[3] = Some(run2::<F, A, B, R, O, 3>);
    kernel.threaded.modes[4] = Some(run2::<F, A, B, R, O, 4>);
    kernel.threaded.modes[5] = Some(run2::<F, A, B, R, O, 5>);
    kernel.threaded.modes[6] = Some(run2::<F, A, B, R, O, 6>);
    kernel.threaded.modes[7] = Some(run2::<F, A, B, R, O, 7>);
    (args, result, kernel)
}

/// What a jump can be on: a presence mask or a truth value.
pub(crate) trait Condition: PlainSlot {
    /// True if it is present, or true.
    fn holds(self) -> bool;
}

impl Condition for Option<()> {
    #[inline(always)]
    fn holds(self) -> bool {
        self.is_some()
    }
}

impl Condition for bool {
    #[inline(always)]
    fn holds(self) -> bool {
        self
    }
}

/// A comparison: a presence mask or a truth value in every mode, or a jump without storing it.
pub(crate) fn comparison<F, A, B, R>(f: F) -> Typed
where
    F: Fn(A, B) -> R + Copy + Send + Sync + 'static,
    A: PlainSlot,
    B: PlainSlot,
    R: Condition + Outcome<R>,
{
    let (args, result, mut kernel) = hot_binary::<F, A, B, R, R>(f);
    kernel.threaded.jump_if = [
        Some(compare_and_jump::<F, A, B, R, 0, true>),
        Some(compare_and_jump::<F, A, B, R, 1, true>),
        Some(compare_and_jump::<F, A, B, R, 2, true>),
        Some(compare_and_jump::<F, A, B, R, 3, true>),
    ];
    kernel.threaded.jump_if_not = [
        Some(compare_and_jump::<F, A, B, R, 0, false>),
        Some(compare_and_jump::<F, A, B, R, 1, false>),
        Some(compare_and_jump::<F, A, B, R, 2, false>),
        Some(compare_and_jump::<F, A, B, R, 3, false>),
    ];
    (args, result, kernel)
}

/// A kernel of three operands in the frame.
pub(crate) fn ternary<F, A, B, C, R, O>(f: F) -> Typed
where
    F: Fn(A, B, C) -> O + Copy + Send + Sync + 'static,
    A: PlainSlot,
    B: PlainSlot,
    C: PlainSlot,
    R: PlainSlot,
    O: Outcome<R>,
{
    ternary_over(f, block3::<F, A, B, C, R, O>())
}

/// As [`ternary`], with other code over rows.
pub(crate) fn ternary_over<F, A, B, C, R, O>(_: F, block: BlockKernel) -> Typed
where
    F: Fn(A, B, C) -> O + Copy + Send + Sync + 'static,
    A: PlainSlot,
    B: PlainSlot,
    C: PlainSlot,
    R: PlainSlot,
    O: Outcome<R>,
{
    let operands = [None; 2];
    let kernel = plain_kernel(run3::<F, A, B, C, R, O>, block, operands, R::ACCUMULATOR);
    (vec![A::plain_qtype(), B::plain_qtype(), C::plain_qtype()], R::plain_qtype(), kernel)
}

/// A kernel of four operands in the frame.
pub(crate) fn quaternary<F, A, B, C, D, R, O>(_: F) -> Typed
where
    F: Fn(A, B, C, D) -> O + Copy + Send + Sync + 'static,
    A: PlainSlot,
    B: PlainSlot,
    C: PlainSlot,
    D: PlainSlot,
    R: PlainSlot,
    O: Outcome<R>,
{
    let operands = [None; 2];
    let block = block4::<F, A, B, C, D, R, O>();
    let kernel = plain_kernel(run4::<F, A, B, C, D, R, O>, block, operands, R::ACCUMULATOR);
    let args = vec![A::plain_qtype(), B::plain_qtype(), C::plain_qtype(), D::plain_qtype()];
    (args, R::plain_qtype(), kernel)
}

/// Reads an operand from the accumulators or the frame.
///
/// # Safety
/// The frame holds an `A` at the offset unless it is in the accumulator.
#[inline(always)]
unsafe fn operand<A: PlainSlot, const ACCUMULATED: bool>(
    frame: *mut u8,
    offset: u32,
    held: Accumulators,
) -> A {
    match ACCUMULATED {
        true => A::from_accumulators(held),
        // SAFETY: the caller's promise.
        false => unsafe { A::load(frame.add(offset as usize)) },
    }
}

/// Leaves a result in its accumulator and, unless `HELD`, in the frame; then runs the next cell.
///
/// # Safety
/// The contract of [`Run`].
#[inline(always)]
unsafe fn finish<R: PlainSlot, const HELD: bool>(
    result: Result<R, impl Into<Fault>>,
    cell: *const Cell,
    state: State,
    held: Accumulators,
) -> *const Cell {
    // SAFETY: `out` is the verified place of an `R`.
    unsafe {
        let value = match result {
            Ok(value) => value,
            Err(fault) => return raise(cell, state, fault),
        };
        if !HELD {
            R::store(state.frame.add((*cell).out as usize), value);
        }
        let held = value.into_accumulators(held);
        next(cell, state, held)
    }
}

/// # Safety
/// The contract of [`Run`].
unsafe fn run1<F, A, R, O, const MODE: usize>(
    cell: *const Cell,
    state: State,
    held: Accumulators,
) -> *const Cell
where
    F: Fn(A) -> O + Copy,
    A: PlainSlot,
    R: PlainSlot,
    O: Outcome<R>,
{
    // SAFETY: the verifier checked the slots behind the offsets against the overload's types.
    unsafe {
        let [a, ..] = (*cell).args;
        let a: A = match MODE & FIRST_IN_ACCUMULATOR {
            0 => operand::<A, false>(state.frame, a, held),
            _ => operand::<A, true>(state.frame, a, held),
        };
        let result = function::<F>()(a).split();
        match MODE & RESULT_NOT_STORED {
            0 => finish::<R, false>(result, cell, state, held),
            _ => finish::<R, true>(result, cell, state, held),
        }
    }
}

/// # Safety
/// The contract of [`Run`].
unsafe fn run2<F, A, B, R, O, const MODE: usize>(
    cell: *const Cell,
    state: State,
    held: Accumulators,
) -> *const Cell
where
    F: Fn(A, B) -> O + Copy,
    A: PlainSlot,
    B: PlainSlot,
    R: PlainSlot,
    O: Outcome<R>,
{
    // SAFETY: as in `run1`.
    unsafe {
        let (a, b) = operands2::<A, B, MODE>(cell, state.frame, held);
        let result = function::<F>()(a, b).split();
        match MODE & RESULT_NOT_STORED {
            0 => finish::<R, false>(result, cell, state, held),
            _ => finish::<R, true>(result, cell, state, held),
        }
    }
}

/// # Safety
/// The contract of [`Run`].
#[inline(always)]
pub(super) unsafe fn operands2<A: PlainSlot, B: PlainSlot, const MODE: usize>(
    cell: *const Cell,
    frame: *mut u8,
    held: Accumulators,
) -> (A, B) {
    // SAFETY: as in `run1`.
    unsafe {
        let [a, b, ..] = (*cell).args;
        let a = match MODE & FIRST_IN_ACCUMULATOR {
            0 => operand::<A, false>(frame, a, held),
            _ => operand::<A, true>(frame, a, held),
        };
        let b = match MODE & SECOND_IN_ACCUMULATOR {
            0 => operand::<B, false>(frame, b, held),
            _ => operand::<B, true>(frame, b, held),
        };
        (a, b)
    }
}

/// Compares two operands and jumps by `args[2]` cells if the condition holds (`SENSE`) or does not (not `SENSE`).
/// `args[3]` packs the fuel of both ways, that of the jump in the upper half.
///
/// # Safety
/// The contract of [`Run`].
unsafe fn compare_and_jump<F, A, B, R, const MODE: usize, const SENSE: bool>(
    cell: *const Cell,
    state: State,
    held: Accumulators,
) -> *const Cell
where
    F: Fn(A, B) -> R + Copy,
    A: PlainSlot,
    B: PlainSlot,
    R: Condition,
{
    // SAFETY: as in `run1`; the jump target was checked by the verifier.
    unsafe {
        let (a, b) = operands2::<A, B, MODE>(cell, state.frame, held);
        let jumps = function::<F>()(a, b).holds() == SENSE;
        jump_where(jumps, cell, state, held)
    }
}

/// Goes to the target of a cell that compares and jumps, or behind it.
///
/// # Safety
/// The contract of [`Run`]; the cell is such a cell.
#[inline(always)]
pub(super) unsafe fn jump_where(
    jumps: bool,
    cell: *const Cell,
    state: State,
    held: Accumulators,
) -> *const Cell {
    // SAFETY: the caller's promise.
    unsafe {
        let [_, _, target, fuel] = (*cell).args;
        match jumps {
            true => {
                let target = cell.offset(target as i32 as isize);
                go(cell, target, fuel >> 16, state, held)
            }
            false => go(cell, cell.add(1), fuel & 0xFFFF, state, held),
        }
    }
}

/// # Safety
/// The contract of [`Run`].
unsafe fn run3<F, A, B, C, R, O>(cell: *const Cell, state: State, held: Accumulators) -> *const Cell
where
    F: Fn(A, B, C) -> O + Copy,
    A: PlainSlot,
    B: PlainSlot,
    C: PlainSlot,
    R: PlainSlot,
    O: Outcome<R>,
{
    // SAFETY: as in `run1`.
    unsafe {
        let [a, b, c, _] = (*cell).args.map(|offset| state.frame.add(offset as usize));
        let result = function::<F>()(A::load(a), B::load(b), C::load(c)).split();
        finish::<R, false>(result, cell, state, held)
    }
}

/// # Safety
/// The contract of [`Run`].
unsafe fn run4<F, A, B, C, D, R, O>(cell: *const Cell, state: State, held: Accumulators) -> *const Cell
where
    F: Fn(A, B, C, D) -> O + Copy,
    A: PlainSlot,
    B: PlainSlot,
    C: PlainSlot,
    D: PlainSlot,
    R: PlainSlot,
    O: Outcome<R>,
{
    // SAFETY: as in `run1`.
    unsafe {
        let [a, b, c, d] = (*cell).args.map(|offset| state.frame.add(offset as usize));
        let result = function::<F>()(A::load(a), B::load(b), C::load(c), D::load(d)).split();
        finish::<R, false>(result, cell, state, held)
    }
}
