//! Block kernels of functions that have loops of their own over rows.
//!
//! The function of a host may read the result before it writes it, or write a part only, so that what stands there has to
//! be values of the type: zeros. A function of our own that is known to write all of it goes without them.

use crate::array::block::{BlockKernel, BlockRun, Column, Operands, RowFault, Target};
use crate::array::function::function;
use crate::layout::PlainSlot;
use crate::value::ScalarType;
use crate::value::nd_view::NdCell;
use crate::vector::Level;
use crate::vector::math::MathOperand;

/// What stands in the rows of a result before the function runs.
const ZEROS: bool = true;
/// What stands in the rows of a result before the function runs.
const ANYTHING: bool = false;

/// The block kernel of a function of one operand. It looks for the best instructions by itself.
pub fn rows1<F: Fn(&[T], &mut [T]) + Copy + Send + Sync + 'static, T: PlainSlot + NdCell>(
    _: F,
) -> BlockKernel {
    kernel(run1::<F, T, ZEROS>)
}

/// The same of a function that writes all of the result and reads none of it.
pub(crate) fn rows1_in_place<F: Fn(&[T], &mut [T]) + Copy + Send + Sync + 'static, T: PlainSlot + NdCell>(
    _: F,
) -> BlockKernel {
    kernel(run1::<F, T, ANYTHING>)
}

/// The block kernel of a function of two operands.
pub fn rows2<
    F: Fn(MathOperand<'_, T>, MathOperand<'_, T>, &mut [T]) + Copy + Send + Sync + 'static,
    T: PlainSlot + NdCell,
>(
    _: F,
) -> BlockKernel {
    kernel(run2::<F, T, ZEROS>)
}

/// The same of a function that writes all of the result and reads none of it.
pub(crate) fn rows2_in_place<
    F: Fn(MathOperand<'_, T>, MathOperand<'_, T>, &mut [T]) + Copy + Send + Sync + 'static,
    T: PlainSlot + NdCell,
>(
    _: F,
) -> BlockKernel {
    kernel(run2::<F, T, ANYTHING>)
}

fn kernel(run: BlockRun) -> BlockKernel {
    BlockKernel {
        runs: [run; Level::ALL.len()],
        is_lifted: true,
        is_fallible: false,
        recipe: None,
        special: None,
    }
}

/// # Safety
/// The contract of [`BlockRun`](crate::array::block::BlockRun).
unsafe fn run1<F: Fn(&[T], &mut [T]) + Copy, T: PlainSlot + NdCell, const CLEARED: bool>(
    args: Operands<'_>,
    target: Target,
    rows: usize,
) -> Result<(), Box<RowFault>> {
    // SAFETY: the caller's promise: an argument and room for the result, rows of a type whose cells are
    // aligned values of it, apart from each other. What is under missing rows is initialised.
    unsafe {
        match operand::<T>(args.column(0), rows, &mut Vec::new()) {
            MathOperand::Rows(x) => function::<F>()(x, out::<T, CLEARED>(target, rows)),
            MathOperand::One(x) => {
                let out = out::<T, CLEARED>(target, rows);
                if let Some(first) = out.first_mut() {
                    function::<F>()(&[x], std::slice::from_mut(first));
                    let value = *first;
                    out.fill(value);
                }
            }
        }
    }
    Ok(())
}

/// # Safety
/// The contract of [`BlockRun`](crate::array::block::BlockRun).
unsafe fn run2<
    F: Fn(MathOperand<'_, T>, MathOperand<'_, T>, &mut [T]) + Copy,
    T: PlainSlot + NdCell,
    const CLEARED: bool,
>(
    args: Operands<'_>,
    target: Target,
    rows: usize,
) -> Result<(), Box<RowFault>> {
    // SAFETY: as in `run1`.
    unsafe {
        let (mut x, mut y) = (Vec::new(), Vec::new());
        let (x, y) = (operand(args.column(0), rows, &mut x), operand(args.column(1), rows, &mut y));
        function::<F>()(x, y, out::<T, CLEARED>(target, rows));
    }
    Ok(())
}

/// Rows as values of `T`. A `bool` in Rust is 0 or 1, whatever is done with it; a run that was cut short can have left
/// other bytes, which `truths` then has as truth values.
///
/// # Safety
/// The column has this many rows of initialised cells, or one, of the scalar type of `T`.
unsafe fn operand<'a, T: PlainSlot + NdCell>(
    column: &Column,
    rows: usize,
    truths: &'a mut Vec<T>,
) -> MathOperand<'a, T> {
    // SAFETY: the caller's promise; a `Cell` has bytes, so that a step of 0 is one value. All bytes but those of a
    // truth value are values.
    unsafe {
        if column.step == 0 {
            return MathOperand::One(T::load(column.data));
        }
        if T::ELEMENT == ScalarType::Boolean {
            let bytes = std::slice::from_raw_parts(column.data, rows);
            if bytes.iter().any(|byte| *byte > 1) {
                truths.extend(bytes.iter().map(|byte| T::read(std::slice::from_ref(byte))));
                return MathOperand::Rows(truths);
            }
        }
        MathOperand::Rows(std::slice::from_raw_parts(column.data.cast(), rows))
    }
}

/// # Safety
/// The target has room for this many values of `T`, which nobody else accesses. Unless they are cleared, whoever gets
/// them writes them before reading them.
unsafe fn out<'a, T: PlainSlot + NdCell, const CLEARED: bool>(target: Target, rows: usize) -> &'a mut [T] {
    // SAFETY: the caller's promise; all bytes 0 are a value of every `Cell`.
    unsafe {
        if CLEARED {
            target.data.write_bytes(0, rows * size_of::<T>());
        }
        std::slice::from_raw_parts_mut(target.data.cast(), rows)
    }
}
