//! Kernels of running sums along the last axis, and of running results of rows: of a whole array, or a block at a time.
//!
//! ```text
//! runs of 4     a b c d | e f g h | i j …
//! blocks        a b c | d e f | g h i | …       the sum up to a block's end is carried into the next
//! ```
//!
//! Sums from the other end visit the blocks from the last to the first.
//!
//! One by one, each sum waits for the one before it. *In groups* only the first of eight does:
//!
//! ```text
//! elements      a b c d e f g h           | i j k …
//! of the group  a, a+b, (a+b)+c, …, t     | i, i+j, …
//! sums          s+a, s+(a+b), …, s+t      | (s+t)+i, …           s: the sum of all groups before
//! ```
//!
//! Groups are places of a run from one multiple of eight to the next, whatever end sums begin at, so that blocks and
//! threads cannot be seen in a sum.
//!
//! Rows are one run. A missing one has no result.

use crate::array::group_scan::GroupScan;
use crate::array::meter::{Meter, STRIDE};
use crate::value::Fault;
use crate::value::array::ROWS_OF_A_WORD;
use bytemuck::Pod;
use std::ops::{Add, Range};

/// Which end of a run its sums begin at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// At the first element.
    Forward,
    /// At the last element.
    Back,
}

/// A running sum along the last axis, or a running result of rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScanKernel {
    /// The code over a block.
    pub(crate) block: ScanRun,
    /// The order of blocks.
    pub(crate) direction: Direction,
    /// What is carried to the first block.
    pub(crate) start: Carry,
    /// What strips compute, if they can.
    pub(crate) running: Option<Running>,
}

impl ScanKernel {
    /// Sums along the last axis.
    pub(crate) fn along_axis(block: ScanRun, direction: Direction) -> ScanKernel {
        ScanKernel { block, direction, start: Carry::default(), running: None }
    }

    /// A scan of all rows.
    pub(crate) fn of_rows<T: Copy, S: GroupScan<T>>(running: Running) -> ScanKernel {
        let start = Carry::of(S::START);
        ScanKernel { block: rows::<T, S>, direction: Direction::Forward, start, running: Some(running) }
    }
}

/// A running result of rows. Missing ones have none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Running {
    /// The sum of the rows that are present: of floats in double, rounded row by row.
    Sum,
    /// The greatest of them.
    Greatest,
    /// How many are present.
    Present,
    /// How many rows there were before, missing ones too.
    Before,
}

/// The code of sums of `R`, one by one.
pub(crate) fn one_by_one<R: Summand>(direction: Direction) -> ScanRun {
    match direction {
        Direction::Forward => by_runs::<R, OneByOne, false>,
        Direction::Back => by_runs::<R, OneByOne, true>,
    }
}

/// The code of sums of `R`, in groups.
pub(crate) fn in_groups<R: Summand>(direction: Direction) -> ScanRun {
    match direction {
        Direction::Forward => by_runs::<R, InGroups, false>,
        Direction::Back => by_runs::<R, InGroups, true>,
    }
}

/// Running sums in groups, of runs of so many elements that lie one after the other.
///
/// # Errors
/// The run of the program has to stop.
pub(crate) fn sum_in_groups<R: Summand>(
    elements: &mut [R],
    run: usize,
    direction: Direction,
    meter: &Meter<'_>,
) -> Result<(), Fault> {
    // Whole runs, or a part of one that begins with a group.
    let part = if run <= STRIDE { STRIDE / run.max(1) * run.max(1) } else { STRIDE };
    let mut carry = Carry::default();
    for elements in in_direction(elements.chunks_mut(run.max(part)), direction) {
        for (number, elements) in in_direction(elements.chunks_mut(part).enumerate(), direction) {
            meter.poll()?;
            let (at, count) = (elements.as_mut_ptr().cast::<u8>(), elements.len());
            let place = if run <= STRIDE { 0 } else { number * part };
            let block = Block { from: at, presence: std::ptr::null(), to: at, count, place, run };
            // SAFETY: the sums take the room of the elements, which are whole runs or begin at their place in one.
            unsafe { in_groups::<R>(direction)(block, &mut carry) };
        }
    }
    Ok(())
}

/// Parts in the order in which running sums go over them.
fn in_direction<T>(
    mut parts: impl DoubleEndedIterator<Item = T>,
    direction: Direction,
) -> impl Iterator<Item = T> {
    std::iter::from_fn(move || match direction {
        Direction::Forward => parts.next(),
        Direction::Back => parts.next_back(),
    })
}

/// What is summed up: 0 is its default.
pub(crate) trait Summand: Copy + Default + Add<Output = Self> {}

impl Summand for f32 {}
impl Summand for f64 {}

/// Elements of a block: where they are, where their sums go, and where they stand.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block {
    pub(crate) from: *const u8,
    /// Words of presence; null of elements with axes, or if all rows are alike.
    pub(crate) presence: *const u64,
    pub(crate) to: *mut u8,
    pub(crate) count: usize,
    /// Place of the first of them in its run.
    pub(crate) place: usize,
    /// Elements of a run.
    pub(crate) run: usize,
}

/// What goes from block to block, in the first word of those that [strips](crate::strip::List::running) want.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C, align(8))]
pub(crate) struct Carry([u64; 8]);

impl Carry {
    /// The one of a state, in each word.
    fn of<S: Pod>(state: S) -> Carry {
        let mut word = [0; size_of::<u64>()];
        word[..size_of::<S>()].copy_from_slice(bytemuck::bytes_of(&state));
        Carry([u64::from_ne_bytes(word); 8])
    }
}

/// Computes the sums of a block. `carry` is what the block that was computed before left, and the start of the kernel at first; of
/// elements with axes it is not read where a run begins.
///
/// # Safety
/// There are that many elements of the kernel's type, aligned, words of presence for them if it points to some, and room for as many
/// sums, which is that of the elements or has no byte of one. `place < run`.
pub(crate) type ScanRun = unsafe fn(block: Block, carry: &mut Carry);

/// What has been summed up of a run.
#[derive(Clone, Copy)]
#[repr(C)]
struct Sums<R> {
    /// Of all groups before the last one.
    before: R,
    /// Of the last one, or of all elements where there are no groups.
    last: R,
}

/// Where elements are, and where their sums go.
type Ends<R> = (*const R, *mut R);

/// An order of additions.
trait Order<R> {
    /// Sums up a piece of a run, of which `sums` is what stood before; none of it where a run begins. The pointers are
    /// those of the first of its places.
    ///
    /// # Safety
    /// The contract of [`ScanRun`], for the elements of these places.
    unsafe fn piece<const BACK: bool>(at: Ends<R>, places: Range<usize>, sums: Option<Sums<R>>) -> Sums<R>;
}

/// # Safety
/// The contract of [`ScanRun`].
unsafe fn by_runs<R: Summand, O: Order<R>, const BACK: bool>(block: Block, carry: &mut Carry) {
    const { assert!(size_of::<Sums<R>>() <= size_of::<Carry>() && align_of::<Sums<R>>() <= align_of::<Carry>()) };
    let Block { count, place, run, .. } = block;
    let (from, to, carry) =
        (block.from.cast::<R>(), block.to.cast::<R>(), (&raw mut *carry).cast::<Sums<R>>());
    let mut rest = 0..count;
    while !rest.is_empty() {
        // The piece that comes next, and its places.
        let (piece, places) = if BACK {
            let end = (place + rest.end - 1) % run + 1;
            let first = rest.end.saturating_sub(end);
            (first..rest.end, end - (rest.end - first)..end)
        } else {
            let start = (place + rest.start) % run;
            let end = rest.end.min(rest.start + run - start);
            (rest.start..end, start..start + (end - rest.start))
        };
        let begins = if BACK { places.end == run } else { places.start == 0 };
        rest = if BACK { 0..piece.start } else { piece.end..count };
        // SAFETY: the caller's promise; a carry was written before a run goes on.
        unsafe {
            let sums = (!begins).then(|| carry.read());
            carry.write(O::piece::<BACK>((from.add(piece.start), to.add(piece.start)), places, sums));
        }
    }
}

/// Results of rows.
///
/// # Safety
/// The contract of [`ScanRun`].
unsafe fn rows<T: Copy, S: GroupScan<T>>(block: Block, carry: &mut Carry) {
    const { assert!(size_of::<S::State>() <= size_of::<u64>() && align_of::<S::State>() <= align_of::<Carry>()) };
    let Block { count, presence, .. } = block;
    let (from, to, carry) =
        (block.from.cast::<T>(), block.to.cast::<S::Out>(), (&raw mut *carry).cast::<S::State>());
    // SAFETY: the caller's promise: a carry begins with a state.
    unsafe {
        let mut state = carry.read();
        if presence.is_null() {
            complete_rows::<T, S>(&mut state, (from, to), count);
        } else {
            for row in 0..count {
                match *presence.add(row / ROWS_OF_A_WORD) >> (row % ROWS_OF_A_WORD) & 1 {
                    1 => to.add(row).write(S::next(&mut state, from.add(row).read())),
                    _ => S::skip(&mut state),
                }
            }
        }
        carry.write(state);
    }
}

/// Rows that are looked at together for one that changes what is known.
pub(crate) const TOGETHER: usize = 16;

/// Results of rows of which none is missing.
pub(crate) fn scan_rows<T: Copy, S: GroupScan<T>>(state: &mut S::State, rows: &[T], out: &mut [S::Out]) {
    assert_eq!(rows.len(), out.len(), "a result for each row");
    // SAFETY: there are as many results as rows.
    unsafe { complete_rows::<T, S>(state, (rows.as_ptr(), out.as_mut_ptr()), rows.len()) };
}

/// The same of so many rows.
///
/// # Safety
/// There are that many rows, and room for as many results, which is that of the rows or has no byte of one.
#[inline(always)]
unsafe fn complete_rows<T: Copy, S: GroupScan<T>>(
    state: &mut S::State,
    (from, to): (*const T, *mut S::Out),
    count: usize,
) {
    let in_groups = count / TOGETHER * TOGETHER;
    // SAFETY: the caller's promise; the rows of a group are read before its results are written.
    unsafe {
        for first in (0..in_groups).step_by(TOGETHER) {
            let rows = from.add(first).cast::<[T; TOGETHER]>().read();
            match S::unchanged(state, &rows) {
                Some(result) => to.add(first).cast::<[S::Out; TOGETHER]>().write([result; TOGETHER]),
                None => {
                    for (row, value) in (first..).zip(rows) {
                        to.add(row).write(S::next(state, value));
                    }
                }
            }
        }
        for row in in_groups..count {
            to.add(row).write(S::next(state, from.add(row).read()));
        }
    }
}

/// Each element is added to the sum before it.
struct OneByOne;

impl<R: Summand> Order<R> for OneByOne {
    unsafe fn piece<const BACK: bool>(
        (from, to): Ends<R>,
        places: Range<usize>,
        sums: Option<Sums<R>>,
    ) -> Sums<R> {
        let count = places.len();
        let place = |step: usize| if BACK { count - 1 - step } else { step };
        // SAFETY: the caller's promise; a piece has an element.
        unsafe {
            let first = from.add(place(0)).read();
            let mut sum = sums.map_or(first, |sums| sums.last + first);
            to.add(place(0)).write(sum);
            for place in (1..count).map(place) {
                sum = sum + from.add(place).read();
                to.add(place).write(sum);
            }
            Sums { before: R::default(), last: sum }
        }
    }
}

/// Elements of a group.
const GROUP: usize = 8;

/// Each element is added to the sum of those of its group before it, and that to the sum of all groups before.
struct InGroups;

impl<R: Summand> Order<R> for InGroups {
    #[inline(always)]
    unsafe fn piece<const BACK: bool>(
        (from, to): Ends<R>,
        places: Range<usize>,
        sums: Option<Sums<R>>,
    ) -> Sums<R> {
        let mut sums = sums.unwrap_or(Sums { before: R::default(), last: R::default() });
        // Whole groups, with what is before and behind them.
        let start = places.start.next_multiple_of(GROUP).min(places.end);
        let whole = start..start.max(places.end / GROUP * GROUP);
        let (first, last) = (places.start..whole.start, whole.end..places.end);
        let (before, behind) = if BACK { (last, first) } else { (first, last) };
        let element = |place: usize| place - places.start;
        // SAFETY: the caller's promise.
        unsafe {
            cut_group::<R, BACK>(from, to, places.start, before, &mut sums);
            for number in 0..whole.len() / GROUP {
                let first =
                    if BACK { whole.end - (number + 1) * GROUP } else { whole.start + number * GROUP };
                let (from, to) = (from.add(element(first)), to.add(element(first)));
                group::<R, BACK>(from.cast(), to.cast(), &mut sums);
            }
            cut_group::<R, BACK>(from, to, places.start, behind, &mut sums);
        }
        sums
    }
}

/// Sums up a whole group.
///
/// # Safety
/// The contract of [`ScanRun`].
#[inline(always)]
unsafe fn group<R: Summand, const BACK: bool>(
    from: *const [R; GROUP],
    to: *mut [R; GROUP],
    sums: &mut Sums<R>,
) {
    // SAFETY: the caller's promise.
    let mut group = unsafe { from.read() };
    sums.before = sums.before + sums.last;
    for step in 1..GROUP {
        let (place, last) = if BACK { (GROUP - 1 - step, GROUP - step) } else { (step, step - 1) };
        group[place] = group[last] + group[place];
    }
    sums.last = group[if BACK { 0 } else { GROUP - 1 }];
    // SAFETY: as above.
    unsafe { to.write(group.map(|sum| sums.before + sum)) };
}

/// Sums up some places of a group. The pointers are those of the place `first`.
///
/// # Safety
/// The contract of [`ScanRun`].
#[inline(always)]
unsafe fn cut_group<R: Summand, const BACK: bool>(
    from: *const R,
    to: *mut R,
    first: usize,
    places: Range<usize>,
    sums: &mut Sums<R>,
) {
    for step in 0..places.len() {
        let place = if BACK { places.end - 1 - step } else { places.start + step };
        let begins = place % GROUP == if BACK { GROUP - 1 } else { 0 };
        if begins {
            *sums = Sums { before: sums.before + sums.last, last: R::default() };
        }
        // SAFETY: the caller's promise.
        unsafe {
            sums.last = sums.last + from.add(place - first).read();
            to.add(place - first).write(sums.before + sums.last);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sums of each run of some elements, element by element.
    fn expected(elements: &[f64], run: usize, is_back: bool, in_groups: bool) -> Vec<f64> {
        let mut sums = elements.to_vec();
        for row in sums.chunks_mut(run) {
            let (mut before, mut last) = (0.0, 0.0);
            for step in 0..row.len() {
                let place = if is_back { row.len() - 1 - step } else { step };
                if in_groups && place % GROUP == if is_back { GROUP - 1 } else { 0 } {
                    (before, last) = (before + last, 0.0);
                }
                last += row[place];
                row[place] = before + last;
            }
        }
        sums
    }

    #[test]
    fn blocks_of_any_size_give_the_sums_of_runs() {
        let elements: Vec<f64> = (0..120).map(|i| f64::from(i * i % 17) * 0.1 - 0.3).collect();
        let directions = [Direction::Forward, Direction::Back];
        let kernels = directions.into_iter().flat_map(|direction| {
            [(one_by_one::<f64>(direction), direction, false), (in_groups::<f64>(direction), direction, true)]
        });
        for (scan, direction, in_groups) in kernels {
            for (run, size) in [1, 3, 8, 15, 20, 24, 60, 120]
                .into_iter()
                .flat_map(|run| [1, 2, 7, 8, 15, 16, 60, 120].map(|size| (run, size)))
            {
                let is_back = direction == Direction::Back;
                let mut sums = vec![0.0; elements.len()];
                let mut firsts: Vec<usize> = (0..elements.len()).step_by(size).collect();
                if is_back {
                    firsts.reverse();
                }
                let mut carry = Carry([f64::NAN.to_bits(); 8]);
                for first in firsts {
                    let count = size.min(elements.len() - first);
                    let block = Block {
                        from: elements[first..].as_ptr().cast(),
                        presence: std::ptr::null(),
                        to: sums[first..].as_mut_ptr().cast(),
                        count,
                        place: first % run,
                        run,
                    };
                    // SAFETY: the elements and sums of a block are in their lists.
                    unsafe { scan(block, &mut carry) };
                }
                let expected = expected(&elements, run, is_back, in_groups);
                assert_eq!(sums, expected, "{direction:?}, runs of {run}, blocks of {size}");
            }
        }
    }
}
