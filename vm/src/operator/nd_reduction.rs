//! Kernels of reductions along the last axes: of a whole array, or a block at a time.
//!
//! ```text
//! (2, 300) -> (2)     runs of 300 elements become one each
//! leaves              72 | 72 | 72 | 84 || 72 | 72 | 72 | 84
//! blocks              a . . . . . | b . . . . . | c . .           what a block has of its last leaf is kept
//! ```
//!
//! The parts of all leaves are joined when all blocks have been seen.

use crate::layout::PlainSlot;
use crate::operator::general::GeneralKernel;
use crate::value::nd_view::{Cell, PerAxis};
use crate::value::{Axes, Fault, NdType};
use crate::vector::Level;
use crate::vector::fold::{Fold, Leaves, Number, join_leaves};
use crate::vector::lanes::{self, LANES};
use crate::vector::level::Loop;
use crate::vector::spread::LEAF;
use bumpalo::Bump;
use bumpalo::collections::Vec as BumpVec;
use bytemuck::{Pod, Zeroable};
use std::fmt;

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
    /// True if elements may be taken in from the beginning of any leaf on.
    pub(crate) has_leaves: bool,
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
        FoldKernel { needs, step: step::<F>, finish: finish::<F>, has_leaves: true }
    }

    /// The kernel of the inner product of two operands.
    pub(crate) fn dot<T: Number<Wide: PlainSlot>>() -> FoldKernel {
        const { assert!(size_of::<[T::Wide; LANES]>() <= size_of::<Cells>()) };
        FoldKernel { needs: None, step: step_of_dot::<T>, finish: finish_dot::<T>, has_leaves: false }
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
    /// How many of its elements are kept, or how many there were if there are no leaves.
    kept: usize,
    cells: Cells,
}

/// The cells of a leaf, or lanes.
#[repr(align(64))]
struct Cells([u64; LEAF]);

impl<'a> Folded<'a> {
    /// Before the element with a number, which a leaf begins with, of runs that are not empty.
    pub(crate) fn new(run: usize, element: usize, arena: &'a Bump) -> Folded<'a> {
        let (mut leaves, place) = Leaves::from(run, element);
        debug_assert_eq!(place, 0, "a leaf begins there");
        let leaf = leaves.next_size();
        Folded { parts: BumpVec::new_in(arena), leaves, leaf, kept: 0, cells: Cells([0; LEAF]) }
    }
}

/// Where the leaf ends that an element is in, or where it begins if it begins there.
pub(crate) fn end_of_leaf(run: usize, element: usize) -> usize {
    match Leaves::from(run, element) {
        (_, 0) => element,
        (mut leaves, place) => element - place + leaves.next_size(),
    }
}

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
        let value = join_leaves::<F>(&mut parts, run);
        // SAFETY: the caller's promise.
        unsafe { F::Out::store(out.add(number * size_of::<F::Out>()), value) };
    }
}

/// # Safety
/// The contract of [`FoldKernel::step`].
unsafe fn step_of_dot<T: Number>(state: &mut Folded<'_>, from: [*const u8; 2], count: usize) {
    // SAFETY: the caller's promise; every byte pattern is an element.
    let operands = from.map(|from| unsafe { std::slice::from_raw_parts(from.cast::<T>(), count) });
    Level::best().run(AddProducts { state, operands });
}

struct AddProducts<'v, 'a, T> {
    state: &'v mut Folded<'a>,
    operands: [&'v [T]; 2],
}

impl<T: Number> Loop for AddProducts<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let AddProducts { state: Folded { parts, leaves, kept, cells, .. }, operands: [a, b] } = self;
        let sums = bytemuck::cast_slice_mut::<u64, T::Wide>(&mut cells.0).first_chunk_mut();
        let sums = sums.expect("there is room for the lanes");
        match std::ptr::eq(a, b) {
            // Squares: a compiler that knows it reads elements once.
            true => lanes::add(sums, *kept % LANES, a, a, T::wide_product),
            false => lanes::add(sums, *kept % LANES, a, b, T::wide_product),
        }
        *kept += a.len();
        if *kept == leaves.count() {
            parts.push(to_word(lanes::total(*sums)));
        }
    }
}

/// # Safety
/// The contract of [`FoldKernel::finish`].
unsafe fn finish_dot<T: Number<Wide: PlainSlot>>(parts: &[u64], _: usize, _: usize, out: *mut u8) {
    let value = parts.first().map_or(Zeroable::zeroed(), |word| of_word::<T::Wide>(*word));
    // SAFETY: the caller's promise.
    unsafe { PlainSlot::store(out, value) };
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
