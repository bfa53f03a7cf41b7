//! Scalar kernels: plain Rust functions turned into threaded code.
//!
//! A function item or a closure that captures nothing has no size; its type alone is enough to call
//! it. Each kernel is therefore compiled into `run` functions with the operation inlined, one per
//! *mode*: which operands come from the accumulators, and whether the result is stored.

use crate::array::block::BlockKernel;
use crate::array::block_loops::{block1, block2, block3, block4};
use crate::array::function::{Outcome, function};
use crate::layout::PlainSlot;
use crate::layout::access::{Accumulator, Accumulators};
use crate::operator::cell::{Cell, Run, State, go, next, raise};
use crate::operator::threaded::{
    Carried, FIRST_IN_ACCUMULATOR, Modes, RESULT_NOT_STORED, SECOND_IN_ACCUMULATOR, Threaded,
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

/// A kernel of its parts, which knows no type of an operation: hundreds of operations are put together here.
#[inline(never)]
fn typed(
    args: &[QType],
    (result, left_in): (QType, Option<Accumulator>),
    modes: &Modes,
    carried: [Option<Accumulator>; 2],
    block: BlockKernel,
) -> Typed {
    let carried = [0, 1].map(|operand| Carried { operand, accumulator: carried[operand] });
    (args.to_vec(), result, ScalarKernel { threaded: Threaded::of_modes(*modes, carried, left_in), block })
}

/// Kernels of a number of operands: their constructor, the same with other code over rows, and code on single values.
macro_rules! kernels {
    (
        $meaning:literal; $name:ident, $over:ident, $block:ident, $run:ident; $($A:ident $a:ident $index:literal),+;
        $carried:expr, |$modes:ident| $further:block
    ) => {
        #[doc = $meaning]
        pub(crate) fn $name<F, $($A,)+ R, O>(f: F) -> Typed
        where
            F: Fn($($A),+) -> O + Copy + Send + Sync + 'static,
            $($A: PlainSlot,)+ R: PlainSlot, O: Outcome<R>,
        {
            $over(f, $block::<F, $($A,)+ R, O>())
        }

        /// The same with other code over rows.
        pub(crate) fn $over<F, $($A,)+ R, O>(_: F, block: BlockKernel) -> Typed
        where
            F: Fn($($A),+) -> O + Copy + Send + Sync + 'static,
            $($A: PlainSlot,)+ R: PlainSlot, O: Outcome<R>,
        {
            let modes = const {
                let mut $modes: Modes = [None; 8];
                $modes[0] = Some($run::<F, $($A,)+ R, O, 0>);
                $further
                &{ $modes }
            };
            typed(&[$($A::plain_qtype()),+], (R::plain_qtype(), R::ACCUMULATOR), modes, $carried, block)
        }

        /// # Safety
        /// The contract of [`Run`](crate::operator::cell::Run).
        unsafe fn $run<F, $($A,)+ R, O, const MODE: usize>(cell: *const Cell, state: State, held: Accumulators) -> *const Cell
        where
            F: Fn($($A),+) -> O + Copy,
            $($A: PlainSlot,)+ R: PlainSlot, O: Outcome<R>,
        {
            // SAFETY: the verifier checked the slots behind the offsets against the overload's types.
            unsafe {
                $(let $a = operand::<$A, $index, MODE>(cell, state.frame, held);)+
                finish::<R, MODE>(function::<F>()($($a),+).split(), cell, state, held)
            }
        }
    };
}

kernels!("A kernel of one operand."; unary, unary_over, block1, run1; A a 0; [A::ACCUMULATOR, None], |modes| {
    if A::ACCUMULATOR.is_some() {
        modes[1] = Some(run1::<F, A, R, O, 1>);
    }
    if R::ACCUMULATOR.is_some() {
        modes[4] = Some(run1::<F, A, R, O, 4>);
    }
    if A::ACCUMULATOR.is_some() && R::ACCUMULATOR.is_some() {
        modes[5] = Some(run1::<F, A, R, O, 5>);
    }
});
kernels!(
    "A kernel of two operands in the frame."; binary, binary_over, block2, run2; A a 0, B b 1;
    [A::ACCUMULATOR, B::ACCUMULATOR], |_modes| {}
);
kernels!(
    "A kernel of three operands in the frame."; ternary, ternary_over, block3, run3; A a 0, B b 1, C c 2;
    [None; 2], |_modes| {}
);
kernels!(
    "A kernel of four operands in the frame."; quaternary, quaternary_over, block4, run4; A a 0, B b 1, C c 2, D d 3;
    [None; 2], |_modes| {}
);

/// A kernel of two operands in every mode, for the operations that programs consist of.
pub(crate) fn hot_binary<F, A, B, R, O>(f: F) -> Typed
where
    F: Fn(A, B) -> O + Copy + Send + Sync + 'static,
    A: PlainSlot,
    B: PlainSlot,
    R: PlainSlot,
    O: Outcome<R>,
{
    let mut typed = binary::<F, A, B, R, O>(f);
    typed.2.threaded.modes = const {
        [
            Some(run2::<F, A, B, R, O, 0> as Run),
            Some(run2::<F, A, B, R, O, 1>),
            Some(run2::<F, A, B, R, O, 2>),
            Some(run2::<F, A, B, R, O, 3>),
            Some(run2::<F, A, B, R, O, 4>),
            Some(run2::<F, A, B, R, O, 5>),
            Some(run2::<F, A, B, R, O, 6>),
            Some(run2::<F, A, B, R, O, 7>),
        ]
    };
    typed
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

/// Reads an operand from the accumulators or the frame.
///
/// # Safety
/// The contract of [`Run`](crate::operator::cell::Run), of a cell whose operand of this number is an `A`.
#[inline(always)]
unsafe fn operand<A: PlainSlot, const INDEX: usize, const MODE: usize>(
    cell: *const Cell,
    frame: *mut u8,
    held: Accumulators,
) -> A {
    // Only the first two can be in accumulators.
    match [FIRST_IN_ACCUMULATOR, SECOND_IN_ACCUMULATOR, 0, 0][INDEX] & MODE != 0 {
        true => A::from_accumulators(held),
        // SAFETY: the caller's promise.
        false => unsafe { A::load(frame.add((*cell).args[INDEX] as usize)) },
    }
}

/// The operands of a cell that has two.
///
/// # Safety
/// The contract of [`Run`](crate::operator::cell::Run).
#[inline(always)]
pub(super) unsafe fn operands2<A: PlainSlot, B: PlainSlot, const MODE: usize>(
    cell: *const Cell,
    frame: *mut u8,
    held: Accumulators,
) -> (A, B) {
    // SAFETY: the caller's promise.
    unsafe { (operand::<A, 0, MODE>(cell, frame, held), operand::<B, 1, MODE>(cell, frame, held)) }
}

/// Leaves a result in its accumulator and, unless the mode says otherwise, in the frame; then runs the next cell.
///
/// # Safety
/// The contract of [`Run`](crate::operator::cell::Run).
#[inline(always)]
unsafe fn finish<R: PlainSlot, const MODE: usize>(
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
        if MODE & RESULT_NOT_STORED == 0 {
            R::store(state.frame.add((*cell).out as usize), value);
        }
        next(cell, state, value.into_accumulators(held))
    }
}

/// Compares two operands and jumps by `args[2]` cells if the condition holds (`SENSE`) or does not (not `SENSE`).
/// `args[3]` packs the fuel of both ways, that of the jump in the upper half.
///
/// # Safety
/// The contract of [`Run`](crate::operator::cell::Run).
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
    // SAFETY: as in code of two operands; the jump target was checked by the verifier.
    unsafe {
        let (a, b) = operands2::<A, B, MODE>(cell, state.frame, held);
        let jumps = function::<F>()(a, b).holds() == SENSE;
        jump_where(jumps, cell, state, held)
    }
}

/// Goes to the target of a cell that compares and jumps, or behind it.
///
/// # Safety
/// The contract of [`Run`](crate::operator::cell::Run); the cell is such a cell.
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
