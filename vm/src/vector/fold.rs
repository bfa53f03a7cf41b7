//! Folds: many elements become one, by leaves that are computed where the elements are and joined afterwards.
//!
//! ```text
//! elements   0 … 71 | 72 … 143 | 144 … 215 | 216 … 299      300 elements: four leaves of up to 128
//! parts        p0        p1          p2          p3
//! result         (p0 · p1)    ·    (p2 · p3)                joined as the halves were parted
//! ```
//!
//! The tree is that of the [pairwise sum](super::spread), whatever is folded. It depends on the number of elements
//! only: neither blocks nor threads change a bit of the result.

use crate::vector::first_stage::{FirstStage, LANE_WORDS, MergeLanes, Merged, SumOf, sum_of_lanes};
use crate::vector::level::{Level, Loop};
use crate::vector::spread::{self, SummedFloat, left_half};
use bytemuck::Pod;
use std::marker::PhantomData;
use std::ops::Range;

/// A number that is folded.
pub trait Number: Pod + PartialOrd {
    /// What sums of it are.
    type Wide: Summand;
    /// What means of it are.
    type Real: Summand + SummedFloat;
    /// Zero.
    const ZERO: Self;
    /// One.
    const ONE: Self;
    /// True if it may be NaN, and zero may be -0.
    const IS_FLOAT: bool = !matches!(Self::Wide::KIND, SumOf::Integers);

    /// The number as a summand.
    fn wide(self) -> Self::Wide;

    /// The number as a real.
    fn real(self) -> Self::Real;
}

macro_rules! number {
    ($($rust:ident: $wide:ident, $real:ident, |$x:ident| $number:expr;)*) => {$(
        impl Number for $rust {
            type Wide = $wide;
            type Real = $real;
            const ZERO: $rust = 0 as $rust;
            const ONE: $rust = 1 as $rust;

            #[inline(always)]
            fn wide(self) -> $wide {
                let $x = self;
                $number as $wide
            }

            #[inline(always)]
            fn real(self) -> $real {
                let $x = self;
                $number as $real
            }
        }
    )*};
}

// A truth is a byte that is not 0.
number! {
    u8: i64, f64, |x| u8::from(x != 0);
    i32: i64, f64, |x| x;
    i64: i64, f64, |x| x;
    f32: f32, f32, |x| x;
    f64: f64, f64, |x| x;
}

/// What can be added up.
pub trait Summand: Pod {
    /// What it is.
    const KIND: SumOf;

    /// The sum of a leaf, which may be -0.
    fn leaf<T: Copy>(values: &[T], f: impl Fn(T) -> Self + Copy) -> Self;

    /// The sum of two.
    fn plus(self, other: Self) -> Self;

    /// The difference of two.
    fn minus(self, other: Self) -> Self;

    /// The product of two.
    fn times(self, other: Self) -> Self;
}

impl Summand for i64 {
    const KIND: SumOf = SumOf::Integers;

    #[inline(always)]
    fn leaf<T: Copy>(values: &[T], f: impl Fn(T) -> i64 + Copy) -> i64 {
        values.iter().fold(0, |sum: i64, x| sum.wrapping_add(f(*x)))
    }

    #[inline(always)]
    fn plus(self, other: i64) -> i64 {
        self.wrapping_add(other)
    }

    #[inline(always)]
    fn minus(self, other: i64) -> i64 {
        self.wrapping_sub(other)
    }

    #[inline(always)]
    fn times(self, other: i64) -> i64 {
        self.wrapping_mul(other)
    }
}

macro_rules! summand {
    ($($rust:ident: $kind:ident),*) => {$(
        impl Summand for $rust {
            const KIND: SumOf = SumOf::$kind;

            #[inline(always)]
            fn leaf<T: Copy>(values: &[T], f: impl Fn(T) -> $rust + Copy) -> $rust {
                spread::leaf(values, f)
            }

            #[inline(always)]
            fn plus(self, other: $rust) -> $rust {
                self + other
            }

            #[inline(always)]
            fn minus(self, other: $rust) -> $rust {
                self - other
            }

            #[inline(always)]
            fn times(self, other: $rust) -> $rust {
                self * other
            }
        }
    )*};
}

summand!(f32: Singles, f64: Doubles);

/// How elements become one: by parts of leaves, or by what a loop over registers takes in and lanes are merged to, which are
/// joined, and finished at last.
pub trait Fold: 'static {
    /// An element.
    type Element: Number;
    /// What is known of some of them, in 8 bytes at most.
    type Part: Pod;
    /// The result.
    type Out: Copy;

    /// What is known of a leaf.
    fn leaf(values: &[Self::Element]) -> Self::Part;

    /// What is known of one.
    #[inline(always)]
    fn of_one(value: Self::Element) -> Self::Part {
        Self::leaf(&[value])
    }

    /// What is known of neighbours.
    fn join(left: Self::Part, right: Self::Part) -> Self::Part;

    /// False if what is known stays what it is when a part is joined to it.
    #[inline(always)]
    fn may_change(_: Self::Part, _: Self::Part) -> bool {
        true
    }

    /// True if parts may be those of any stretches, joined in their order: leaves and their tree change no bit.
    const HAS_ANY_PARTS: bool = false;

    /// False if vectors of 512 bits are not worth a copy of the loops.
    const GAINS_BY_WIDTH: bool = size_of::<Self::Element>() == 8 || Self::Element::IS_FLOAT;

    /// Leaves of more elements have no code that knows their size; some of those of fewer have.
    const MOST_OF_OWN_SIZE: usize = 4;

    /// How a loop over registers takes elements in, if one can.
    const FIRST: Option<FirstStage> = None;

    /// How lanes become a part, if elements may go to any lane: sums and counts are words of 64 bits, extremes have the type of
    /// an element.
    const MERGE: Option<MergeLanes<Self::Part>> = None;

    /// What a leaf is kept in for each column while its elements come row by row: 1, or the [`SUMS`] of its lanes, which
    /// are joined by pairs before the rows that are left. No result says whether a lane began with its first element or with
    /// zero.
    const LANES: usize = 1;

    /// Takes in the elements of a row of the leaves of neighbouring columns; each leaf has `size` elements. After the
    /// last row the parts are in the first lane. The lanes have a place for each column, one after the other.
    #[inline(always)]
    fn take_row(lanes: &mut [Self::Part], at: RowOfLeaf, values: &[Self::Element]) {
        let parts = lanes[at.column..].iter_mut().zip(values);
        match at.row {
            0 => parts.for_each(|(part, value)| *part = Self::of_one(*value)),
            _ => parts.for_each(|(part, value)| *part = Self::join(*part, Self::of_one(*value))),
        }
    }

    /// Joins the lanes of some columns to the first one, if there are several. They have a place for each of so many columns.
    #[inline(always)]
    fn join_lanes(_lanes: &mut [Self::Part], _width: usize, _columns: Range<usize>) {}

    /// The result of so many elements.
    fn finish(part: Self::Part, count: usize) -> Self::Out;
}

/// A row of the leaves of columns.
#[derive(Clone, Copy, Debug)]
pub struct RowOfLeaf {
    /// Its number.
    pub row: usize,
    /// How many there are.
    pub size: usize,
    /// The first column of interest.
    pub column: usize,
    /// How far it is from one lane to the next, at least as many as there are columns.
    pub width: usize,
}

/// Adds a row to the sums of leaves as [`spread::leaf`] does: eight sums, which are joined before the rows that are left.
#[inline(always)]
fn add_row<T: Copy, S: Summand>(lanes: &mut [S], at: RowOfLeaf, values: &[T], f: impl Fn(T) -> S) {
    let RowOfLeaf { row, size, column, width } = at;
    let in_lanes = size - size % SUMS;
    let lane = if row < in_lanes { row % SUMS } else { 0 };
    let sums = lanes[lane * width + column..].iter_mut().zip(values);
    match (row < in_lanes && row < SUMS, row) {
        (true, _) => sums.for_each(|(sum, x)| *sum = f(*x)),
        (false, 0) => sums.for_each(|(sum, x)| *sum = S::zeroed().plus(f(*x))),
        (false, _) => sums.for_each(|(sum, x)| *sum = sum.plus(f(*x))),
    }
    if row + 1 == in_lanes {
        join_sums(lanes, width, column..column + values.len());
    }
}

/// Joins eight sums of some columns by pairs, as [`spread::leaf`] does.
#[inline(always)]
fn join_sums<S: Summand>(lanes: &mut [S], width: usize, columns: Range<usize>) {
    let mut all = lanes.chunks_exact_mut(width).map(|lane| &mut lane[columns.clone()]);
    let [s0, s1, s2, s3, s4, s5, s6, s7] = std::array::from_fn(|_| all.next().expect("there are as many"));
    for index in 0..s0.len() {
        let low = s0[index].plus(s1[index]).plus(s2[index].plus(s3[index]));
        s0[index] = low.plus(s4[index].plus(s5[index]).plus(s6[index].plus(s7[index])));
    }
}

/// The part of lanes of integers.
fn merge_sums<S: Summand>(lanes: &[u64; LANE_WORDS], _: usize) -> Merged<S> {
    let sum = sum_of_lanes(lanes);
    Merged::known(bytemuck::pod_read_unaligned(&bytemuck::bytes_of(&sum)[..size_of::<S>()]))
}

/// Running sums of a leaf.
pub const SUMS: usize = 8;

/// A leaf.
struct Leaf<'v, F: Fold>(&'v [F::Element]);

impl<F: Fold> Loop for Leaf<'_, F> {
    type Output = F::Part;
    const GAINS_BY_WIDTH: bool = F::GAINS_BY_WIDTH;

    #[inline(always)]
    fn run(self) -> F::Part {
        F::leaf(self.0)
    }
}

/// Folds elements.
pub fn fold<F: Fold>(mut values: &[F::Element]) -> F::Out {
    let count = values.len();
    if F::HAS_ANY_PARTS {
        return F::finish(Level::best().run(Leaf::<F>(values)), count);
    }
    join_leaves::<F>(count, &mut |size| {
        let (leaf, rest) = values.split_at(size);
        values = rest;
        Level::best().run(Leaf::<F>(leaf))
    })
}

/// Folds runs of so many elements, which follow each other; calls with the result of each.
///
/// # Panics
/// If a run has no elements, or the last one not all.
pub fn fold_each<F: Fold>(values: &[F::Element], run: usize, f: impl FnMut(F::Out)) {
    assert!(run > 0 && values.len().is_multiple_of(run), "whole runs");
    Level::best().run(Each::<F, _> { values, run, f });
}

/// Runs that follow each other.
struct Each<'v, F: Fold, G> {
    values: &'v [F::Element],
    run: usize,
    f: G,
}

impl<F: Fold, G: FnMut(F::Out)> Loop for Each<'_, F, G> {
    type Output = ();
    const GAINS_BY_WIDTH: bool = F::GAINS_BY_WIDTH;

    #[inline(always)]
    fn run(self) {
        let Each { values, run, mut f } = self;
        for mut values in values.chunks_exact(run) {
            f(match F::HAS_ANY_PARTS || run <= spread::LEAF {
                true => F::finish(F::leaf(values), run),
                false => join_leaves::<F>(run, &mut |size| {
                    let (leaf, rest) = values.split_at(size);
                    values = rest;
                    F::leaf(leaf)
                }),
            });
        }
    }
}

/// Joins the parts of the leaves of `count` elements. `part` gives that of the next leaf, by its size: 0 of no
/// elements.
pub fn join_leaves<F: Fold>(count: usize, part: &mut impl FnMut(usize) -> F::Part) -> F::Out {
    fn joined<F: Fold>(count: usize, part: &mut impl FnMut(usize) -> F::Part) -> F::Part {
        match left_half(count) {
            None => part(count),
            Some(left) => {
                let first = joined::<F>(left, part);
                F::join(first, joined::<F>(count - left, part))
            }
        }
    }
    F::finish(joined::<F>(count, part), count)
}

/// The sum; 0 of no elements, and never -0.
pub struct Sum<T>(PhantomData<T>);

impl<T: Number> Fold for Sum<T> {
    type Element = T;
    type Part = T::Wide;
    type Out = T::Wide;

    #[inline(always)]
    fn leaf(values: &[T]) -> T::Wide {
        T::Wide::leaf(values, T::wide)
    }

    fn join(left: T::Wide, right: T::Wide) -> T::Wide {
        left.plus(right)
    }

    // Integers wrap.
    const HAS_ANY_PARTS: bool = matches!(T::Wide::KIND, SumOf::Integers);
    const MOST_OF_OWN_SIZE: usize = if T::IS_FLOAT { 16 } else { 4 };
    const FIRST: Option<FirstStage> = Some(FirstStage::Sum(T::Wide::KIND));
    const MERGE: Option<MergeLanes<T::Wide>> = if Self::HAS_ANY_PARTS { Some(merge_sums) } else { None };
    const LANES: usize = SUMS;

    #[inline(always)]
    fn take_row(lanes: &mut [T::Wide], at: RowOfLeaf, values: &[T]) {
        add_row(lanes, at, values, T::wide);
    }

    #[inline(always)]
    fn join_lanes(lanes: &mut [T::Wide], width: usize, columns: Range<usize>) {
        join_sums(lanes, width, columns);
    }

    fn finish(part: T::Wide, _: usize) -> T::Wide {
        T::ZERO.wide().plus(part)
    }
}

/// The product; 1 of no elements.
pub struct Product<T>(PhantomData<T>);

impl<T: Number> Fold for Product<T> {
    type Element = T;
    type Part = T::Wide;
    type Out = T::Wide;

    #[inline(always)]
    fn leaf(values: &[T]) -> T::Wide {
        values.iter().fold(T::ONE.wide(), |product, x| product.times(x.wide()))
    }

    #[inline(always)]
    fn join(left: T::Wide, right: T::Wide) -> T::Wide {
        left.times(right)
    }

    fn finish(part: T::Wide, _: usize) -> T::Wide {
        part
    }
}

/// The arithmetic mean; NaN of no elements.
pub struct Mean<T>(PhantomData<T>);

impl<T: Number> Fold for Mean<T> {
    type Element = T;
    type Part = T::Real;
    type Out = T::Real;

    #[inline(always)]
    fn leaf(values: &[T]) -> T::Real {
        T::Real::leaf(values, T::real)
    }

    fn join(left: T::Real, right: T::Real) -> T::Real {
        left.plus(right)
    }

    const MOST_OF_OWN_SIZE: usize = if T::IS_FLOAT { 16 } else { 4 };
    const FIRST: Option<FirstStage> = Some(FirstStage::Sum(T::Real::KIND));
    const LANES: usize = SUMS;

    #[inline(always)]
    fn take_row(lanes: &mut [T::Real], at: RowOfLeaf, values: &[T]) {
        add_row(lanes, at, values, T::real);
    }

    #[inline(always)]
    fn join_lanes(lanes: &mut [T::Real], width: usize, columns: Range<usize>) {
        join_sums(lanes, width, columns);
    }

    fn finish(part: T::Real, count: usize) -> T::Real {
        T::Real::ZERO.plus(part) / T::Real::of(count as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_leaves_join_to_the_result() {
        let values: Vec<f64> = (0..1000).map(|i| f64::from(i % 37) * 0.1 - 1.0).collect();
        for count in [0, 1, 100, 129, 777, 1000] {
            let folded = fold::<Sum<f64>>(&values[..count]);
            assert_eq!(folded.to_bits(), spread::sum_of_few(&values[..count], |x| x).to_bits());
        }
        assert_eq!(fold::<Sum<f64>>(&[0.1; 1000]), 100.000_000_000_000_01);
        assert_eq!(fold::<Sum<f32>>(&[0.1; 1000]), 100.000_015);
        assert!([3, 9].iter().all(|count| fold::<Sum<f64>>(&vec![-0.0; *count]).is_sign_positive()));
        assert_eq!(fold::<Sum<i32>>(&[i32::MAX, 1]), 2_147_483_648);
        assert!(fold::<Mean<f64>>(&[]).is_nan());
    }
}
