//! Scans of the groups of an edge, all at once: rows are taken as they come.
//!
//! ```text
//! row   parent    known of group 1, before and after     result
//! 3.5 ─── 1 ────▶        2.0           5.5                5.5
//! ```
//!
//! The results are those of the rows of each group, gathered and scanned by themselves.

use crate::array::children::{Children, TakeRow};
use crate::array::meter::Meter;
use crate::array::read_rows::ReadRows;
use crate::value::{ArrayRows, Fault};
use bytemuck::Pod;

/// A scan that knows of the rows before one a single state.
pub(crate) trait GroupScan<T> {
    /// What is known of some rows.
    type State: Pod;
    /// A result.
    type Out: Pod;
    /// What is known of no rows.
    const START: Self::State;

    /// Takes in a row, and gives its result.
    fn next(state: &mut Self::State, cell: T) -> Self::Out;

    /// The result of all of some rows that come next, if it is one and what is known stays.
    #[inline(always)]
    fn unchanged(_: &Self::State, _: &[T]) -> Option<Self::Out> {
        None
    }

    /// Takes in a row that is missing.
    fn skip(_: &mut Self::State) {}
}

/// Scans rows, which are these cells: writes a result for each that is present and has a parent, and says by words of presence
/// which those are, if they are not all. Parents are those of an edge to so many groups.
pub(crate) fn scan_groups<T: Copy, S: GroupScan<T>>(
    (cells, rows): (&[T], &ReadRows<'_>),
    (parents, groups): (&ArrayRows, usize),
    (out, presence): (&mut [S::Out], &mut [u64]),
    meter: &Meter<'_>,
) -> Result<(), Fault> {
    assert_eq!(cells.len(), out.len(), "a result for each row");
    let mut states = meter.zeros::<S::State>(groups)?;
    for stride in meter.strides(groups) {
        states[stride?].fill(S::START);
    }
    let children = Children { cells, rows, parents };
    // SAFETY: there is a state for each group, and a result for each row.
    unsafe { children.each(meter, &mut States::<T, S> { states: &mut states, out })? };
    let with_parent = ReadRows::kept(parents);
    if !(rows.are_all_present() && with_parent.are_all_present()) {
        for (number, word) in presence.iter_mut().enumerate() {
            *word = rows.word(number) & with_parent.word(number);
        }
    }
    Ok(())
}

/// What is known of groups so far, and the results.
struct States<'s, T, S: GroupScan<T>> {
    states: &'s mut [S::State],
    out: &'s mut [S::Out],
}

impl<T, S: GroupScan<T>> TakeRow<T> for States<'_, T, S> {
    #[inline(always)]
    unsafe fn take(&mut self, parent: usize, row: usize, cell: T, is_present: bool) {
        // SAFETY: the caller's promise.
        let (state, out) =
            unsafe { (self.states.get_unchecked_mut(parent), self.out.get_unchecked_mut(row)) };
        match is_present {
            true => *out = S::next(state, cell),
            false => S::skip(state),
        }
    }
}
