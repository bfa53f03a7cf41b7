//! Block kernels of functions that have loops of their own over rows.

use crate::layout::PlainSlot;
use crate::operator::block::{BlockKernel, Column, Operands, RowFault, Target};
use crate::operator::function::function;
use crate::vector::Level;
use crate::vector::math::Operand;

/// The block kernel of a function of one operand. It looks for the best instructions by itself.
pub fn rows1<F: Fn(&[T], &mut [T]) + Copy, T: PlainSlot>(_: F) -> BlockKernel {
    BlockKernel {
        runs: [run1::<F, T>; Level::ALL.len()],
        is_lifted: true,
        is_fallible: false,
        arithmetic: None,
    }
}

/// The block kernel of a function of two operands.
pub fn rows2<F: Fn(Operand<'_, T>, Operand<'_, T>, &mut [T]) + Copy, T: PlainSlot>(_: F) -> BlockKernel {
    BlockKernel {
        runs: [run2::<F, T>; Level::ALL.len()],
        is_lifted: true,
        is_fallible: false,
        arithmetic: None,
    }
}

/// # Safety
/// The contract of [`BlockRun`](crate::operator::block::BlockRun).
unsafe fn run1<F: Fn(&[T], &mut [T]) + Copy, T: PlainSlot>(
    args: Operands<'_>,
    target: Target,
    rows: usize,
) -> Result<(), Box<RowFault>> {
    // SAFETY: the caller's promise: an argument and room for the result, rows of a type whose cells are
    // aligned values of it, apart from each other. What is under missing rows is initialised.
    unsafe {
        match operand::<T>(args.column(0), rows) {
            Operand::Rows(x) => function::<F>()(x, out(target, rows)),
            Operand::One(x) => {
                let out = out::<T>(target, rows);
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
/// The contract of [`BlockRun`](crate::operator::block::BlockRun).
unsafe fn run2<F: Fn(Operand<'_, T>, Operand<'_, T>, &mut [T]) + Copy, T: PlainSlot>(
    args: Operands<'_>,
    target: Target,
    rows: usize,
) -> Result<(), Box<RowFault>> {
    // SAFETY: as in `run1`.
    unsafe {
        let (x, y) = (operand(args.column(0), rows), operand(args.column(1), rows));
        function::<F>()(x, y, out(target, rows));
    }
    Ok(())
}

/// # Safety
/// The column has this many rows of cells that are values of `T`, or one.
unsafe fn operand<'a, T: PlainSlot>(column: &Column, rows: usize) -> Operand<'a, T> {
    // SAFETY: the caller's promise.
    unsafe {
        match column.step {
            0 => Operand::One(T::load(column.data)),
            _ => Operand::Rows(std::slice::from_raw_parts(column.data.cast(), rows)),
        }
    }
}

/// # Safety
/// The target has room for this many values of `T`, which nobody else accesses.
unsafe fn out<'a, T: PlainSlot>(target: Target, rows: usize) -> &'a mut [T] {
    // SAFETY: the caller's promise; cells of the frame and of blocks are initialised or overwritten as a whole.
    unsafe { std::slice::from_raw_parts_mut(target.data.cast(), rows) }
}
