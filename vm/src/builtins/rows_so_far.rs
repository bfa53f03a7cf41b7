//! Rows so far: what running sums, greatest rows and numbers of rows know of the rows before one.

use crate::array::group_scan::GroupScan;
use crate::builtins::present::Unit;
use crate::vector::select::Key;

/// The sum of the rows so far.
pub(super) struct RunningSum;

macro_rules! running_sums {
    ($($row:ty: $sum:ty, $start:expr, |$so_far:ident, $next:ident| $joined:expr;)*) => {$(
        impl GroupScan<$row> for RunningSum {
            type State = $sum;
            type Out = $row;
            const START: $sum = $start;

            #[inline(always)]
            fn next($so_far: &mut $sum, $next: $row) -> $row {
                *$so_far = $joined;
                *$so_far as $row
            }
        }
    )*};
}

// Nothing is added to -0 by it, not even the sign of a zero.
running_sums! {
    i32: i32, 0, |sum, next| sum.wrapping_add(next);
    i64: i64, 0, |sum, next| sum.wrapping_add(next);
    f32: f64, -0.0, |sum, next| *sum + f64::from(next);
    f64: f64, -0.0, |sum, next| *sum + next;
}

/// The greatest row so far.
pub(super) struct RunningMax;

macro_rules! greatest_rows {
    ($($row:ty: $state:ty, $start:expr;)*) => {$(
        impl GroupScan<$row> for RunningMax {
            type State = $state;
            type Out = $row;
            const START: $state = $start;

            #[inline(always)]
            fn next(max: &mut $state, next: $row) -> $row {
                let next = <$state>::from(next);
                *max = if max.is_nan() || *max >= next { *max } else { next };
                *max as $row
            }

            #[inline(always)]
            fn unchanged(max: &$state, rows: &[$row]) -> Option<$row> {
                let are_below = rows.iter().fold(true, |are, row| are & (<$state>::from(*row) <= *max));
                (are_below || max.is_nan()).then_some(*max as $row)
            }
        }
    )*};
}

// As wide as strips carry them.
greatest_rows! {
    i32: i64, i64::MIN;
    i64: i64, i64::MIN;
    f32: f64, f64::NEG_INFINITY;
    f64: f64, f64::NEG_INFINITY;
}

/// How many rows up to this one are present; with `BEFORE`, how many rows there were before, missing ones too.
pub(super) struct RowsSoFar<const BEFORE: bool>;

impl<const BEFORE: bool> GroupScan<Unit> for RowsSoFar<BEFORE> {
    type State = i64;
    type Out = i64;
    const START: i64 = 0;

    #[inline(always)]
    fn next(count: &mut i64, _: Unit) -> i64 {
        *count += 1;
        *count - i64::from(BEFORE)
    }

    #[inline(always)]
    fn skip(count: &mut i64) {
        *count += i64::from(BEFORE);
    }
}
