//! Sums over pairs of elements of two arrays, such as an inner product: kernels of reductions.
//!
//! ```text
//! x  . . . . . | . . . . .        one chunk after the other: 32 running sums each
//! y  . . . . . | . . . . .
//! ```

use crate::array::block::Column;
use crate::array::fold_kernel::{CHUNK, Cut, FoldKernel, Folded, Known};
use crate::array::fold_memory::{of_word, to_word};
use crate::array::runs::Runs;
use crate::array::take_lanes::TakeLanes;
use crate::layout::PlainSlot;
use crate::value::Exhausted;
use crate::vector::Level;
use crate::vector::first_stage::{FirstStage, OfPairs, SPREAD_WORDS, SumOf};
use crate::vector::fold::{Number, Summand};
use crate::vector::lanes::{self, LANES};
use crate::vector::level::Loop;
use crate::vector::spread::LEAF;
use crate::vector::stop::StopCheck;
use bumpalo::Bump;
use bytemuck::Zeroable;
use std::marker::PhantomData;

/// What comes of a pair of elements.
pub(crate) trait OfPair: 'static {
    /// The same in other words.
    const TERM: OfPairs;

    /// It; the same of both orders, but for which NaN comes out of two.
    fn of<T: Number>(x: T, y: T) -> T::Wide;
}

/// Their product.
pub(crate) struct Product;

impl OfPair for Product {
    const TERM: OfPairs = OfPairs::Product;

    #[inline(always)]
    fn of<T: Number>(x: T, y: T) -> T::Wide {
        x.wide().times(y.wide())
    }
}

/// The square of their difference.
pub(crate) struct SquaredDifference;

impl OfPair for SquaredDifference {
    const TERM: OfPairs = OfPairs::SquaredDifference;

    #[inline(always)]
    fn of<T: Number>(x: T, y: T) -> T::Wide {
        let difference = x.wide().minus(y.wide());
        difference.times(difference)
    }
}

/// The kernel of the sum of what comes of pairs of elements of two operands.
pub(crate) fn kernel<T: Number<Wide: PlainSlot>, P: OfPair>() -> FoldKernel {
    const { assert!(size_of::<[T::Wide; LANES]>() <= LEAF * size_of::<u64>()) };
    let is_integer = T::Wide::KIND == SumOf::Integers;
    FoldKernel {
        needs: None,
        step: step::<T, P>,
        finish: finish::<T>,
        lanes: 0,
        cut: Cut::Chunks,
        first: Some(if is_integer {
            FirstStage::Sum(SumOf::Integers)
        } else {
            FirstStage::Spread(T::Wide::KIND)
        }),
        side_by_side: None,
        pairs: Some(P::TERM),
        take_lanes: is_integer.then_some(TakeLanes::OF_INTEGERS),
        take_spread: Some(take_spread::<T>),
        counts: false,
        has_any_parts: false,
    }
}

/// Takes in the running sums of a chunk.
fn take_spread<T: Number>(state: &mut Folded<'_>, lanes: &[u64; SPREAD_WORDS]) {
    let sums: &[T::Wide] = bytemuck::cast_slice(lanes);
    let sums = *sums.first_chunk().expect("there are as many lanes");
    state.parts.push(to_word(lanes::total(sums)));
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
pub(crate) fn sum_of_pairs<T, P>(
    x: &[T],
    y: &[T],
    arena: &Bump,
    stop: StopCheck<'_>,
) -> Result<T::Wide, Exhausted>
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
unsafe fn finish<T: Number<Wide: PlainSlot>>(known: Known<'_>, _: Runs, out: *mut u8, _: StopCheck<'_>) {
    // SAFETY: the caller's promise.
    unsafe { PlainSlot::store(out, sum_of_chunks::<T>(known.parts)) };
}

/// # Safety
/// The contract of [`FoldKernel::step`].
unsafe fn step<T: Number, P: OfPair>(state: &mut Folded<'_>, from: [&Column; 2], count: usize) {
    let operands = from.map(|from| from.data.cast::<T>());
    Level::best().run(AddElements { state, operands, count, of_pair: PhantomData::<P> });
}

struct AddElements<'v, 'a, T, P> {
    state: &'v mut Folded<'a>,
    operands: [*const T; 2],
    count: usize,
    of_pair: PhantomData<P>,
}

impl<T: Number, P: OfPair> Loop for AddElements<'_, '_, T, P> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let AddElements { state, operands: [x, y], count, .. } = self;
        match x == y {
            // A compiler that knows it reads elements once.
            true => add_pairs::<T, P>(state, [x; 2], count),
            false => add_pairs::<T, P>(state, [x, y], count),
        }
    }
}

/// Adds what comes of pairs, of which there are so many.
#[inline(always)]
fn add_pairs<T: Number, P: OfPair>(state: &mut Folded<'_>, [x, y]: [*const T; 2], count: usize) {
    state.cells();
    let Folded { parts, leaves, kept, cells, .. } = state;
    let sums = bytemuck::cast_slice_mut::<u64, T::Wide>(cells).first_chunk_mut();
    let sums = sums.expect("there is room for the lanes");
    let mut first = 0;
    while first < count {
        let of_chunk = (count - first).min(CHUNK - *kept % CHUNK);
        lanes::add_terms(sums, *kept % LANES, of_chunk, |row| {
            // SAFETY: who runs a step promises so many elements; every byte pattern is a number.
            unsafe { P::of(x.add(first + row).read(), y.add(first + row).read()) }
        });
        *kept += of_chunk;
        first += of_chunk;
        if kept.is_multiple_of(CHUNK) || *kept == leaves.count() {
            parts.push(to_word(lanes::total(*sums)));
            *sums = [T::Wide::zeroed(); LANES];
        }
    }
}
