//! Sums over pairs of elements of two arrays, such as an inner product: kernels of reductions.
//!
//! ```text
//! x  . . . . . | . . . . .        one chunk after the other: 32 running sums each
//! y  . . . . . | . . . . .
//! ```
//!
//! Where x is `a * b + c` that nobody else reads, a region computes it on the way: it stands in registers.

use crate::layout::PlainSlot;
use crate::operator::block::Column;
use crate::operator::fold_kernel::{CHUNK, Cut, FoldKernel, Folded, Known, Runs, of_word, to_word};
use crate::operator::row_numbers::{Each, Rows, WithRows, with_sum};
use crate::value::Exhausted;
use crate::vector::Level;
use crate::vector::fold::{Number, Summand};
use crate::vector::lanes::{self, LANES};
use crate::vector::level::Loop;
use crate::vector::spread::LEAF;
use crate::vector::stop::Stop;
use bumpalo::Bump;
use bytemuck::Zeroable;
use std::marker::PhantomData;

/// What comes of a pair of elements.
pub(crate) trait OfPair: 'static {
    /// It; the same of both orders, but for which NaN comes out of two.
    fn of<T: Number>(x: T, y: T) -> T::Wide;
}

/// Their product.
pub(crate) struct Product;

impl OfPair for Product {
    #[inline(always)]
    fn of<T: Number>(x: T, y: T) -> T::Wide {
        x.wide().times(y.wide())
    }
}

/// The square of their difference.
pub(crate) struct SquaredDifference;

impl OfPair for SquaredDifference {
    #[inline(always)]
    fn of<T: Number>(x: T, y: T) -> T::Wide {
        let difference = x.wide().minus(y.wide());
        difference.times(difference)
    }
}

/// The kernel of the sum of what comes of pairs of elements of two operands.
pub(crate) fn kernel<T: Number<Wide: PlainSlot>, P: OfPair>() -> FoldKernel {
    const { assert!(size_of::<[T::Wide; LANES]>() <= LEAF * size_of::<u64>()) };
    FoldKernel {
        needs: None,
        step: step::<T, P>,
        step_of_sum: None,
        finish: finish::<T>,
        lanes: 0,
        cut: Cut::Chunks,
        sum: None,
        counts: false,
    }
}

/// The same of FLOAT64.
pub(crate) fn kernel_of_floats<P: OfPair>() -> FoldKernel {
    FoldKernel { step_of_sum: Some(step_of_sum::<P>), ..kernel::<f64, P>() }
}

/// The sum of what comes of pairs of elements.
///
/// Asks now and then whether to stop; the sum is then of no use.
///
/// # Errors
/// The system refuses memory.
///
/// # Panics
/// There are more elements of one than of the other.
pub(crate) fn sum_of_pairs<T, P>(x: &[T], y: &[T], arena: &Bump, stop: Stop<'_>) -> Result<T::Wide, Exhausted>
where
    T: Number<Wide: PlainSlot>,
    P: OfPair,
{
    assert_eq!(x.len(), y.len(), "pairs");
    if x.is_empty() {
        return Ok(T::Wide::zeroed());
    }
    let runs = Runs { run: x.len(), count: 1, width: 1 };
    let mut state = kernel::<T, P>().begin(runs, 0..x.len(), arena, None)?;
    for (x, y) in x.chunks(CHUNK).zip(y.chunks(CHUNK)) {
        // SAFETY: both are slices of so many elements.
        unsafe { step::<T, P>(&mut state, [&of_cells(x), &of_cells(y)], x.len()) };
        if stop() {
            break;
        }
    }
    Ok(sum_of_chunks::<T>(&state.parts))
}

fn of_cells<T>(cells: &[T]) -> Column {
    Column::of_cells(cells.as_ptr().cast(), size_of::<T>())
}

fn sum_of_chunks<T: Number>(parts: &[u64]) -> T::Wide {
    parts.iter().fold(T::Wide::zeroed(), |sum, word| sum.plus(of_word(*word)))
}

/// # Safety
/// The contract of [`FoldKernel::finish`].
unsafe fn finish<T: Number<Wide: PlainSlot>>(known: &Known<'_>, _: Runs, out: *mut u8, _: Stop<'_>) {
    // SAFETY: the caller's promise.
    unsafe { PlainSlot::store(out, sum_of_chunks::<T>(known.parts)) };
}

/// # Safety
/// The contract of [`FoldKernel::step`].
unsafe fn step<T: Number, P: OfPair>(state: &mut Folded<'_>, from: [&Column; 2], count: usize) {
    let operands = from.map(|from| Each(from.data.cast::<T>()));
    Level::best().run(AddElements { state, operands, count, of_pair: PhantomData::<P> });
}

/// # Safety
/// The contract of `StepOfSum`.
unsafe fn step_of_sum<P: OfPair>(state: &mut Folded<'_>, from: [&Column; 4], count: usize) {
    let [a, b, c, y] = from;
    let rest = AddRows { state, y: Each(y.data.cast()), count, of_pair: PhantomData::<P> };
    Level::best().run(AddSums { columns: [a, b, c], rest });
}

struct AddPairs<'v, 'a, X, Y, P> {
    state: &'v mut Folded<'a>,
    x: X,
    y: Y,
    count: usize,
    of_pair: PhantomData<P>,
}

impl<X: Rows, Y: Rows<Number = X::Number>, P: OfPair> Loop for AddPairs<'_, '_, X, Y, P> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let AddPairs { state, x, y, count, .. } = self;
        type Wide<X> = <<X as Rows>::Number as Number>::Wide;
        state.cells();
        let Folded { parts, leaves, kept, cells, .. } = state;
        let sums = bytemuck::cast_slice_mut::<u64, Wide<X>>(cells).first_chunk_mut();
        let sums = sums.expect("there is room for the lanes");
        let mut first = 0;
        while first < count {
            let of_chunk = (count - first).min(CHUNK - *kept % CHUNK);
            lanes::add_terms(sums, *kept % LANES, of_chunk, |row| {
                // SAFETY: who made this promised so many rows.
                unsafe { P::of(x.at(first + row), y.at(first + row)) }
            });
            *kept += of_chunk;
            first += of_chunk;
            if kept.is_multiple_of(CHUNK) || *kept == leaves.count() {
                parts.push(to_word(lanes::total(*sums)));
                *sums = [Wide::<X>::zeroed(); LANES];
            }
        }
    }
}

struct AddElements<'v, 'a, T, P> {
    state: &'v mut Folded<'a>,
    operands: [Each<T>; 2],
    count: usize,
    of_pair: PhantomData<P>,
}

impl<T: Number, P: OfPair> Loop for AddElements<'_, '_, T, P> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let AddElements { state, operands: [x, y], count, of_pair } = self;
        match x.0 == y.0 {
            // A compiler that knows it reads elements once.
            true => AddPairs { state, x, y: x, count, of_pair }.run(),
            false => AddPairs { state, x, y, count, of_pair }.run(),
        }
    }
}

struct AddSums<'v, 'a, P> {
    /// a, b and c of the first elements, which are `a * b + c`.
    columns: [&'v Column; 3],
    rest: AddRows<'v, 'a, P>,
}

impl<P: OfPair> Loop for AddSums<'_, '_, P> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        // SAFETY: who made this promised a cell, or one for each row.
        unsafe { with_sum(self.columns, self.rest) };
    }
}

/// A sum of pairs whose first elements are not known yet.
struct AddRows<'v, 'a, P> {
    state: &'v mut Folded<'a>,
    y: Each<f64>,
    count: usize,
    of_pair: PhantomData<P>,
}

impl<P: OfPair> WithRows for AddRows<'_, '_, P> {
    #[inline(always)]
    fn run(self, x: impl Rows<Number = f64>) {
        let AddRows { state, y, count, of_pair } = self;
        AddPairs { state, x, y, count, of_pair }.run();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Columns of which some are one value, in blocks, beside the sum laid out.
    fn check<P: OfPair>() {
        let values: Vec<f64> = (0..250).map(|i| f64::from(i * 37 % 101) * 0.1 - 3.0).collect();
        let kernel = kernel_of_floats::<P>();
        let take_in = kernel.step_of_sum().expect("of FLOAT64 there is code");
        let arena = Bump::new();
        for (ones, count) in (0..8).flat_map(|ones| [1, 7, 31, 32, 33, 200].map(|count| (ones, count))) {
            let has_rows = |index: usize| ones >> index & 1 == 0;
            let column = |index: usize| &values[index * 13..];
            let at = |index: usize, row: usize| column(index)[if has_rows(index) { row } else { 0 }];
            let sums: Vec<f64> = (0..count).map(|row| at(0, row) * at(1, row) + at(2, row)).collect();
            let expected =
                sum_of_pairs::<f64, P>(&sums, &column(3)[..count], &arena, &|| false).expect("memory");
            let runs = Runs { run: count, count: 1, width: 1 };
            let mut state = kernel.begin(runs, 0..count, &arena, None).expect("memory");
            for first in (0..count).step_by(19) {
                let columns: [Column; 4] = std::array::from_fn(|index| match has_rows(index) {
                    true => Column::of_cells(column(index)[first..].as_ptr().cast(), 8),
                    false => Column::of_cells(column(index).as_ptr().cast(), 0),
                });
                // SAFETY: every column has these rows behind its first one.
                unsafe { take_in(&mut state, columns.each_ref(), (count - first).min(19)) };
            }
            let found = sum_of_chunks::<f64>(&state.parts);
            assert_eq!(found.to_bits(), expected.to_bits(), "{count} rows, {ones:03b} of them one");
        }
    }

    #[test]
    fn a_sum_on_the_way_gives_the_bits_of_one_laid_out() {
        check::<Product>();
        check::<SquaredDifference>();
    }
}
