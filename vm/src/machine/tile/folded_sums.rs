//! Folded sums: sums with a product that only a reduction of [pairs of elements](crate::operator::nd_pairs) reads. It
//! computes them on the way, in registers.
//!
//! ```text
//! t0 = multiply(a, b)   t1 = add(t0, c)   t2 = nd.dot(t1, y)        one step, of a, b, c and y
//! ```
//!
//! Folds of pairs are in no strip, so that what they read would be laid out.

use crate::machine::tile::columns::{Columns, Source};
use crate::machine::tile::strip_plan::{Lanes, operation};
use crate::operator::Kernel;
use crate::operator::reduction::ReductionKernel;
use crate::strip::BinaryOp;

/// Has folds of pairs read what sums are made of, and says by member whether one computes it on the way. `reads` says how
/// often members read the result of one; none, if others do.
pub(super) fn fold_sums(
    columns: &mut Columns<'_>,
    lanes: &Lanes,
    reads: impl Fn(usize) -> Option<u32>,
) -> Vec<bool> {
    let mut is_folded = vec![false; columns.members().len()];
    for fold in columns.members() {
        let Some((sum, product, sources)) = sum_of(columns, lanes, &reads, fold) else { continue };
        (is_folded[sum], is_folded[product]) = (true, true);
        columns.operands[fold] = sources;
    }
    is_folded
}

/// The sum that a fold can compute, its product, and what the fold reads then: a, b, c and its other operand.
fn sum_of(
    columns: &Columns<'_>,
    lanes: &Lanes,
    reads: impl Fn(usize) -> Option<u32>,
    fold: usize,
) -> Option<(usize, usize, Vec<Source>)> {
    let Kernel::Reduction(ReductionKernel { fold: kernel, .. }) = columns.kernels[fold] else { return None };
    kernel.step_of_sum()?;
    // The other of two operands of a member is this one, which nobody else reads, made by an operation.
    let made_by = |member: usize, wanted: BinaryOp| {
        let operands = &columns.operands[member];
        (0..2).find_map(|operand| match operands[operand] {
            Source::Member(made)
                if reads(made) == Some(1) && operation(columns, lanes, made) == Some(wanted) =>
            {
                Some((made, operands[1 - operand]))
            }
            _ => None,
        })
    };
    let (sum, other) = made_by(fold, BinaryOp::Add)?;
    let (product, constant) = made_by(sum, BinaryOp::Mul)?;
    let factors = &columns.operands[product];
    Some((sum, product, vec![factors[0], factors[1], constant, other]))
}
