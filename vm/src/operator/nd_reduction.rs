//! Kernels of reductions along the last axes: of a whole array, or a block at a time.
//!
//! ```text
//! (2, 300) -> (2)     runs of 300 elements become one each
//! leaves              72 | 72 | 72 | 84 || 72 | 72 | 72 | 84
//! blocks              a . . . . . | b . . . . . | c . .           what a block has of its last leaf is kept
//! ```
//!
//! The parts of all leaves are joined when all blocks have been seen. Sums over pairs of elements, such as an inner product,
//! have no leaves, but a sum for each 65,536 elements.

use crate::layout::PlainSlot;
use crate::operator::general::GeneralKernel;
use crate::operator::reduction::CHUNK;
use crate::value::nd_view::{Cell, PerAxis};
use crate::value::{Axes, Fault, NdType};
use crate::vector::Level;
use crate::vector::fold::{Fold, Leaves, Number, Summand, join_leaves};
use crate::vector::lanes::{self, LANES};
use crate::vector::level::Loop;
use crate::vector::spread::LEAF;
use bumpalo::Bump;
use bumpalo::collections::Vec as BumpVec;
use bytemuck::{Pod, Zeroable};
use std::fmt;
use std::marker::PhantomData;

/// A reduction along some axes.
#[derive(Clone, Debug)]
pub(crate) struct NdReductionKernel {
    /// The code over whole arrays.
    pub(crate) whole: GeneralKernel,
    /// The code over blocks.
    pub(crate) fold: FoldKernel,
    /// The axes: the last ones but for unit axes.
    pub(crate) axes: Axes,
}

/// The code of a reduction over blocks.
#[derive(Clone, Copy)]
pub(crate) struct FoldKernel {
    /// What there is none of without elements; `None` if there is a result without.
    needs: Option<&'static str>,
    step: unsafe fn(&mut Folded<'_>, [*const u8; 2], usize),
    finish: unsafe fn(&[u64], usize, usize, *mut u8),
    /// Where threads may begin.
    cut: Cut,
}

/// What is known of elements by itself, and joined in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cut {
    /// The leaves of the pairwise sum.
    Leaves,
    /// So many elements as a [`CHUNK`] has.
    Chunks,
}

impl fmt::Debug for FoldKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FoldKernel")
    }
}

impl FoldKernel {
    /// The kernel of a fold of elements that stand in arrays as cells, and what there is none of without elements.
    pub(crate) fn new<C: Cell, F: Fold<Out: PlainSlot>>(needs: Option<&'static str>) -> FoldKernel {
        const {
            assert!(size_of::<C>() == size_of::<F::Element>() && align_of::<C>() == align_of::<F::Element>());
            assert!(size_of::<F::Part>() <= size_of::<u64>());
        }
        FoldKernel { needs, step: step::<F>, finish: finish::<F>, cut: Cut::Leaves }
    }

    /// The kernel of the sum of what comes of pairs of elements of two operands.
    pub(crate) fn of_pairs<T: Number<Wide: PlainSlot>, P: OfPair>() -> FoldKernel {
        const { assert!(size_of::<[T::Wide; LANES]>() <= size_of::<Cells>()) };
        FoldKernel { needs: None, step: step_of_pairs::<T, P>, finish: finish_pairs::<T>, cut: Cut::Chunks }
    }

    /// An error if runs have no element, but results are asked for.
    pub(crate) fn check_elements(&self, run: usize, runs: usize) -> Result<(), Fault> {
        match self.needs {
            Some(what) if run == 0 && runs > 0 => {
                Err(Fault::Range { message: format!("no elements, of which there is no {what}") })
            }
            _ => Ok(()),
        }
    }

    /// The first place from an element on where a thread may begin. Reductions agree on it if they are of a kind and
    /// have the same runs.
    pub(crate) fn next_cut(&self, run: usize, element: usize) -> usize {
        match (self.cut, Leaves::from(run, element)) {
            (Cut::Chunks, _) => element.next_multiple_of(CHUNK).min(run),
            (Cut::Leaves, (_, 0)) => element,
            (Cut::Leaves, (mut leaves, place)) => element - place + leaves.next_size(),
        }
    }

    /// True if threads may begin at the same places as for another reduction of the same runs.
    pub(crate) fn is_cut_like(&self, other: &FoldKernel) -> bool {
        self.cut == other.cut
    }

    /// What is known before an element where a thread may begin, of runs that are not empty.
    pub(crate) fn begin<'a>(&self, run: usize, element: usize, arena: &'a Bump) -> Folded<'a> {
        let (mut leaves, _) = Leaves::from(run, element);
        let (leaf, kept) = match self.cut {
            Cut::Leaves => (leaves.next_size(), 0),
            Cut::Chunks => (0, element),
        };
        Folded { parts: BumpVec::new_in(arena), leaves, leaf, kept, cells: Cells([0; LEAF]) }
    }

    /// Takes in the elements that follow; of the second operand if there is one.
    ///
    /// # Safety
    /// There are that many elements of the kernel's type, aligned.
    pub(crate) unsafe fn step(&self, state: &mut Folded<'_>, from: [*const u8; 2], count: usize) {
        // SAFETY: the caller's promise.
        unsafe { (self.step)(state, from, count) }
    }

    /// Writes the results of all runs.
    ///
    /// # Safety
    /// The parts are those of all leaves of these runs, by this kernel; there is room for the results.
    pub(crate) unsafe fn finish(&self, parts: &[u64], run: usize, runs: usize, out: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe { (self.finish)(parts, run, runs, out) }
    }
}

/// What is known of the elements so far.
pub(crate) struct Folded<'a> {
    /// The parts of whole leaves.
    pub(crate) parts: BumpVec<'a, u64>,
    /// The leaves that come next.
    leaves: Leaves,
    /// The size of the leaf that the next element is in.
    leaf: usize,
    /// How many of its elements are kept; without leaves, how many elements there were.
    kept: usize,
    cells: Cells,
}

/// The cells of a leaf, or lanes.
#[repr(align(64))]
struct Cells([u64; LEAF]);

/// # Safety
/// The contract of [`FoldKernel::step`].
unsafe fn step<F: Fold>(state: &mut Folded<'_>, from: [*const u8; 2], count: usize) {
    // SAFETY: the caller's promise; every byte pattern is an element.
    let values: &[F::Element] = unsafe { std::slice::from_raw_parts(from[0].cast(), count) };
    Level::best().run(TakeIn::<F> { state, values });
}

struct TakeIn<'v, 'a, F: Fold> {
    state: &'v mut Folded<'a>,
    values: &'v [F::Element],
}

impl<F: Fold> Loop for TakeIn<'_, '_, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        take_in::<F>(self.state, self.values);
    }
}

#[inline(always)]
fn take_in<F: Fold>(state: &mut Folded<'_>, mut values: &[F::Element]) {
    let Folded { parts, leaves, leaf, kept, cells } = state;
    let cells: &mut [F::Element] = &mut bytemuck::cast_slice_mut(&mut cells.0)[..LEAF];
    if *kept > 0 {
        let (head, rest) = values.split_at(values.len().min(*leaf - *kept));
        cells[*kept..][..head.len()].copy_from_slice(head);
        *kept += head.len();
        values = rest;
        if *kept < *leaf {
            return;
        }
        parts.push(to_word(F::leaf(&cells[..*leaf])));
        (*leaf, *kept) = (leaves.next_size(), 0);
    }
    while let Some((head, rest)) = values.split_at_checked(*leaf) {
        parts.push(to_word(F::leaf(head)));
        *leaf = leaves.next_size();
        values = rest;
    }
    cells[..values.len()].copy_from_slice(values);
    *kept = values.len();
}

/// # Safety
/// The contract of [`FoldKernel::finish`].
unsafe fn finish<F: Fold<Out: PlainSlot>>(parts: &[u64], run: usize, runs: usize, out: *mut u8) {
    let mut parts = parts.iter().map(|word| of_word::<F::Part>(*word));
    for number in 0..runs {
        let value = join_leaves::<F>(run, &mut |size| match size {
            0 => F::leaf(&[]),
            _ => parts.next().expect("there is a part for each leaf"),
        });
        // SAFETY: the caller's promise.
        unsafe { F::Out::store(out.add(number * size_of::<F::Out>()), value) };
    }
}

/// # Safety
/// The contract of [`FoldKernel::step`].
unsafe fn step_of_pairs<T: Number, P: OfPair>(state: &mut Folded<'_>, from: [*const u8; 2], count: usize) {
    // SAFETY: the caller's promise; every byte pattern is an element.
    let operands = from.map(|from| unsafe { std::slice::from_raw_parts(from.cast::<T>(), count) });
    Level::best().run(AddPairs { state, operands, of_pair: PhantomData::<P> });
}

/// What comes of a pair of elements.
pub(crate) trait OfPair: 'static {
    /// It.
    fn of<T: Number>(a: T, b: T) -> T::Wide;
}

/// Their product.
pub(crate) struct Product;

impl OfPair for Product {
    #[inline(always)]
    fn of<T: Number>(a: T, b: T) -> T::Wide {
        a.wide().times(b.wide())
    }
}

/// The square of their difference.
pub(crate) struct SquaredDifference;

impl OfPair for SquaredDifference {
    #[inline(always)]
    fn of<T: Number>(a: T, b: T) -> T::Wide {
        let difference = a.wide().minus(b.wide());
        difference.times(difference)
    }
}

struct AddPairs<'v, 'a, T, P> {
    state: &'v mut Folded<'a>,
    operands: [&'v [T]; 2],
    of_pair: PhantomData<P>,
}

impl<T: Number, P: OfPair> Loop for AddPairs<'_, '_, T, P> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let AddPairs { state: Folded { parts, leaves, kept, cells, .. }, operands: [a, b], .. } = self;
        let sums = bytemuck::cast_slice_mut::<u64, T::Wide>(&mut cells.0).first_chunk_mut();
        let sums = sums.expect("there is room for the lanes");
        let (mut a, mut b) = (a, b);
        while !a.is_empty() {
            let ((head_a, rest_a), (head_b, rest_b)) = {
                let count = a.len().min(CHUNK - *kept % CHUNK);
                (a.split_at(count), b.split_at(count))
            };
            match std::ptr::eq(head_a, head_b) {
                // Squares: a compiler that knows it reads elements once.
                true => lanes::add(sums, *kept % LANES, head_a, head_a, P::of),
                false => lanes::add(sums, *kept % LANES, head_a, head_b, P::of),
            }
            *kept += head_a.len();
            if kept.is_multiple_of(CHUNK) || *kept == leaves.count() {
                parts.push(to_word(lanes::total(*sums)));
                *sums = [T::Wide::zeroed(); LANES];
            }
            (a, b) = (rest_a, rest_b);
        }
    }
}

/// The sum of what comes of pairs of elements.
///
/// # Panics
/// There are more elements of one than of the other.
pub(crate) fn sum_of_pairs<T, P>(a: &[T], b: &[T], arena: &Bump) -> T::Wide
where
    T: Number<Wide: PlainSlot>,
    P: OfPair,
{
    if a.is_empty() {
        return T::Wide::zeroed();
    }
    let mut state = FoldKernel::of_pairs::<T, P>().begin(a.len(), 0, arena);
    Level::best().run(AddPairs { state: &mut state, operands: [a, b], of_pair: PhantomData::<P> });
    sum_of_chunks::<T>(&state.parts)
}

fn sum_of_chunks<T: Number>(parts: &[u64]) -> T::Wide {
    parts.iter().fold(T::Wide::zeroed(), |sum, word| sum.plus(of_word(*word)))
}

/// # Safety
/// The contract of [`FoldKernel::finish`].
unsafe fn finish_pairs<T: Number<Wide: PlainSlot>>(parts: &[u64], _: usize, _: usize, out: *mut u8) {
    // SAFETY: the caller's promise.
    unsafe { PlainSlot::store(out, sum_of_chunks::<T>(parts)) };
}

fn to_word<T: Pod>(part: T) -> u64 {
    let mut word = 0;
    bytemuck::bytes_of_mut(&mut word)[..size_of::<T>()].copy_from_slice(bytemuck::bytes_of(&part));
    word
}

fn of_word<T: Pod>(word: u64) -> T {
    bytemuck::pod_read_unaligned(&bytemuck::bytes_of(&word)[..size_of::<T>()])
}

/// Elements of a run, and how many runs there are, in an array of a shape.
pub(crate) fn runs(shape: &[usize], axes: Axes) -> (usize, usize) {
    let product = |reduced: bool| {
        let of = shape.iter().enumerate().filter(|(axis, _)| axes.contains(*axis) == reduced);
        of.map(|(_, size)| size).product()
    };
    (product(true), product(false))
}

/// The shape of an array of results: without the axes, or with unit axes for them if its type has as many.
pub(crate) fn result_shape(shape: &[usize], axes: Axes, result: NdType) -> PerAxis {
    let drops = result.rank() < shape.len();
    let size = |(axis, size): (usize, &usize)| match axes.contains(axis) {
        true => (!drops).then_some(1),
        false => Some(*size),
    };
    shape.iter().enumerate().filter_map(size).collect()
}
