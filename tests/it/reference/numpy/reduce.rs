//! Reductions over axes.
//!
//! Each run of elements over the reduced axes gives one element of the result. Sums add as numpy's do: elements that lie
//! side by side pairwise in blocks of 128, these pieces in order. Means and variances are rounded to the type after each
//! step; float16 is added as float32 within a piece. No axes reduce nothing: `axis=()`.
//!
//! A single value has no axes. Of the reductions that are one operation between elements (sum, prod, min, max, any,
//! all, and the count of what is true) numpy takes `axis=0` and `axis=-1` all the same, and gives the value; of means, variances and
//! quantiles it does not, nor of `axis=(0,)`.

use super::promote::{Promoted, cast, truth, with_type};
use super::resolve;
use cembra::backend::OpError;
use cembra::dag::array::{Element, Elements};
use cembra::dag::kind::{Axis, Dims, Reduction};
use cembra::dag::promotion::{divided, summed};
use cembra::dag::{Array, DType};
use half::f16;
use ndarray::IxDyn;
use std::cmp::Ordering;

/// Reduces axes of an array.
///
/// # Errors
/// There is no such axis, it is given twice, the type has no such reduction, or there is no smallest or
/// largest of no elements.
pub fn reduce(reduction: Reduction, dims: Dims, array: &Array, axis: &Axis) -> Result<Array, OpError> {
    let runs = match axis {
        Axis::One(0 | -1) if array.shape().is_empty() && joins_elements(reduction) => {
            Runs::new(array, &[], dims)?
        }
        axis => Runs::new(array, axis.numbers(), dims)?,
    };
    let dtype = array.dtype();
    let operation = reduction.numpy_name();
    let not_defined = || OpError::NotDefined { operation, dtypes: vec![dtype] };
    match reduction {
        Reduction::Any => return Ok(runs.each(&truth(array), |run| run.contains(&true))),
        Reduction::All => return Ok(runs.each(&truth(array), |run| !run.contains(&false))),
        Reduction::CountNonzero => {
            let count = |run: &mut [bool]| run.iter().filter(|v| **v).count() as i64;
            return Ok(runs.each(&truth(array), count));
        }
        _ if dtype.is_text() => return Err(not_defined()),
        Reduction::Min | Reduction::Max if runs.length == 0 && !runs.is_empty_result() => {
            return Err(OpError::NoElements { operation });
        }
        _ => {}
    }
    let working = match reduction {
        Reduction::Min | Reduction::Max => dtype,
        Reduction::Sum | Reduction::Prod => summed(dtype),
        _ => divided(dtype),
    };
    with_type!(
        working,
        T => Ok(number_reduction::<T>(reduction, &runs, &cast::<T>(array))),
        text => Err(not_defined())
    )
}

/// True for a reduction that puts one operation between all elements.
fn joins_elements(reduction: Reduction) -> bool {
    match reduction {
        Reduction::Sum | Reduction::Prod | Reduction::Min | Reduction::Max => true,
        Reduction::Any | Reduction::All | Reduction::CountNonzero => true,
        Reduction::Mean | Reduction::Median | Reduction::Var | Reduction::Std => false,
    }
}

/// The quantile of each run, linear between neighbours.
///
/// # Errors
/// As [`reduce`]; the share is not between 0 and 1.
pub fn quantile(q: f64, dims: Dims, array: &Array, axes: &[isize]) -> Result<Array, OpError> {
    let runs = Runs::new(array, axes, dims)?;
    let dtype = array.dtype();
    let not_defined = || OpError::NotDefined { operation: "quantile", dtypes: vec![dtype] };
    if dtype.is_text() || dtype == DType::Bool {
        return Err(not_defined());
    }
    if runs.length == 0 && !runs.is_empty_result() {
        return Err(OpError::NoElements { operation: "quantile" });
    }
    if !(0.0..=1.0).contains(&q) {
        return Err(OpError::QuantileRange { q });
    }
    with_type!(
        divided(dtype),
        T => Ok(runs.each(&cast::<T>(array), |run| run_quantile(run, q))),
        text => Err(not_defined())
    )
}

fn number_reduction<T: Reduced>(reduction: Reduction, runs: &Runs, elements: &Elements<T>) -> Array {
    match reduction {
        Reduction::Sum => runs.each(elements, |run| runs.sum(run)),
        Reduction::Prod => runs.each(elements, |run| runs.product(run)),
        Reduction::Min => runs.each(elements, |run| extreme(run, |new, old| new < old)),
        Reduction::Max => runs.each(elements, |run| extreme(run, |new, old| new > old)),
        Reduction::Median => runs.each(elements, |run| run_median(run)),
        Reduction::Mean if T::DTYPE == DType::Float16 => runs.each(elements, |run| {
            let wide: Vec<f32> = run.iter().map(|v| v.wide() as f32).collect();
            T::from_float((runs.sum(&wide) / run.len() as f32).into())
        }),
        Reduction::Mean => runs.each(elements, |run| runs.mean(run)),
        Reduction::Var => runs.each(elements, |run| runs.variance(run)),
        Reduction::Std => runs.each(elements, |run| T::from_float(runs.variance(run).wide().sqrt())),
        Reduction::Any | Reduction::All | Reduction::CountNonzero => {
            unreachable!("these read truth values")
        }
    }
}

/// Numbers as reductions need them.
trait Reduced: Promoted + PartialOrd {
    const ONE: Self;
    const ZERO: Self;
    fn plus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
    /// The order of numbers, in which -0 stands before 0.
    fn order(&self, other: &Self) -> Ordering;
}

macro_rules! reduced {
    ($($T:ty, $zero:expr, $one:expr, $plus:expr, $times:expr, $order:ident;)*) => { $(
        impl Reduced for $T {
            const ONE: $T = $one;
            const ZERO: $T = $zero;
            fn plus(self, other: $T) -> $T {
                $plus(self, other)
            }
            fn times(self, other: $T) -> $T {
                $times(self, other)
            }
            fn order(&self, other: &$T) -> Ordering {
                self.$order(other)
            }
        }
    )* };
}

reduced! {
    bool, false, true, |l, r| l | r, |l, r| l & r, cmp;
    i8, 0, 1, i8::wrapping_add, i8::wrapping_mul, cmp;
    i32, 0, 1, i32::wrapping_add, i32::wrapping_mul, cmp;
    i64, 0, 1, i64::wrapping_add, i64::wrapping_mul, cmp;
    f16, f16::ZERO, f16::ONE, |l, r| l + r, |l, r| l * r, total_cmp;
    f32, 0.0, 1.0, |l, r| l + r, |l, r| l * r, total_cmp;
    f64, 0.0, 1.0, |l, r| l + r, |l, r| l * r, total_cmp;
}

/// How an array is cut into runs.
struct Runs {
    /// Axes that stay.
    kept: Vec<usize>,
    /// Their sizes.
    places: Vec<usize>,
    /// Sizes of the result.
    shape: Vec<usize>,
    /// Elements of a run.
    length: usize,
    /// Elements of a run that lie side by side.
    piece: usize,
}

impl Runs {
    fn new(array: &Array, axes: &[isize], dims: Dims) -> Result<Runs, OpError> {
        let sizes = array.shape();
        let reduced = resolve(axes, sizes.len())?;
        let mut runs = Runs { kept: vec![], places: vec![], shape: vec![], length: 1, piece: 1 };
        for (axis, size) in sizes.iter().enumerate() {
            let is_reduced = reduced.contains(&axis);
            match (is_reduced, dims) {
                (true, Dims::Keep) => runs.shape.push(1),
                (true, Dims::Drop) => {}
                (false, _) => {
                    runs.shape.push(*size);
                    runs.kept.push(axis);
                    runs.places.push(*size);
                }
            }
            runs.length *= if is_reduced { *size } else { 1 };
            // An axis that stays parts what stands before it, unless it has one element.
            runs.piece = match (is_reduced, size) {
                (_, 1) => runs.piece,
                (true, size) => runs.piece * size,
                (false, _) => 1,
            };
        }
        Ok(runs)
    }

    fn is_empty_result(&self) -> bool {
        self.shape.contains(&0)
    }

    /// One element of the result for each place along the axes that stay.
    fn each<T: Element, R: Element>(
        &self,
        elements: &Elements<T>,
        mut reduce: impl FnMut(&mut [T]) -> R,
    ) -> Array {
        let run = |place: &IxDyn| -> Vec<T> {
            let is_of = |index: &IxDyn| {
                self.kept.iter().enumerate().all(|(number, axis)| index[*axis] == place[number])
            };
            elements.indexed_iter().filter(|(index, _)| is_of(index)).map(|(_, value)| *value).collect()
        };
        let places = ndarray::indices(IxDyn(&self.places)).into_iter();
        let result: Vec<R> = places.map(|place| reduce(&mut run(&place))).collect();
        Array::new(result, &self.shape).expect("there is a run for each element of the result")
    }

    fn sum<T: Reduced>(&self, run: &[T]) -> T {
        let pieces = run.chunks(self.piece.max(1));
        pieces.fold(T::ZERO, |sum, piece| match T::DTYPE {
            DType::Float16 => {
                let wide: Vec<f32> = piece.iter().map(|v| v.wide() as f32).collect();
                T::from_float((sum.wide() as f32 + pairwise_sum(&wide)).into())
            }
            _ => sum.plus(pairwise_sum(piece)),
        })
    }

    fn product<T: Reduced>(&self, run: &[T]) -> T {
        let pieces = run.chunks(self.piece.max(1));
        pieces.fold(T::ONE, |product, piece| match T::DTYPE {
            DType::Float16 => {
                let times = |product: f32, v: &T| product * v.wide() as f32;
                T::from_float(piece.iter().fold(product.wide() as f32, times).into())
            }
            _ => piece.iter().copied().fold(product, T::times),
        })
    }

    /// The mean; NaN of no elements.
    fn mean<T: Reduced>(&self, run: &[T]) -> T {
        T::from_float(self.sum(run).wide() / run.len() as f64)
    }

    /// The mean of squared distances from the mean.
    fn variance<T: Reduced>(&self, run: &[T]) -> T {
        let mean = self.mean(run).wide();
        let distance = |v: &T| T::from_float(v.wide() - mean).wide();
        let squares: Vec<T> = run.iter().map(|v| T::from_float(distance(v) * distance(v))).collect();
        self.mean(&squares)
    }
}

/// Sums blocks of up to 128 in eight strands, and the blocks in pairs; fewer than eight in order.
fn pairwise_sum<T: Reduced>(run: &[T]) -> T {
    let whole = run.len() - run.len() % 8;
    let strand = |number: usize| {
        run[..whole].iter().skip(number).step_by(8).copied().reduce(T::plus).expect("eight elements and more")
    };
    let two = |number: usize| strand(number).plus(strand(number + 1));
    match run.len() {
        0..8 => run.iter().copied().fold(T::ZERO, T::plus),
        8..=128 => {
            let total = two(0).plus(two(2)).plus(two(4).plus(two(6)));
            run[whole..].iter().copied().fold(total, T::plus)
        }
        count => {
            let (first, second) = run.split_at(count / 2 / 8 * 8);
            pairwise_sum(first).plus(pairwise_sum(second))
        }
    }
}

/// The first element that all others are not better than; a NaN if there is one.
fn extreme<T: Reduced>(run: &[T], is_better: fn(&T, &T) -> bool) -> T {
    let better =
        |old: T, new: &T| if is_nan(old) || !(is_nan(*new) || is_better(new, &old)) { old } else { *new };
    run[1..].iter().fold(run[0], better)
}

/// True only for a NaN.
fn is_nan<T: PartialOrd>(value: T) -> bool {
    value.partial_cmp(&value).is_none()
}

/// Puts the elements in order; false, and nothing is done, if one of them is a NaN, which has no place.
fn sort<T: Reduced>(run: &mut [T]) -> bool {
    let has_order = !run.iter().any(|v| is_nan(*v));
    if has_order {
        run.sort_unstable_by(T::order);
    }
    has_order
}

/// The middle element, or the mean of the two in the middle; NaN of nothing.
fn run_median<T: Reduced>(run: &mut [T]) -> T {
    if !sort(run) || run.is_empty() {
        return T::from_float(f64::NAN);
    }
    let middle = run.len() / 2;
    match run.len() % 2 {
        1 => run[middle],
        _ => T::from_float((run[middle - 1].wide() + run[middle].wide()) / 2.0),
    }
}

/// Between the neighbours of `q * (n - 1)`, from the nearer of both.
fn run_quantile<T: Reduced>(run: &mut [T], q: f64) -> T {
    if !sort(run) {
        return T::from_float(f64::NAN);
    }
    let place = q * (run.len() - 1) as f64;
    let below = place.floor() as usize;
    let (a, b) = (run[below].wide(), run[(below + 1).min(run.len() - 1)].wide());
    let share = place - below as f64;
    T::from_float(if share >= 0.5 { b - (b - a) * (1.0 - share) } else { a + (b - a) * share })
}
