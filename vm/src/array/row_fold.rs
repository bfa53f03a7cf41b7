//! Folds of rows: reductions of a whole array with missing rows.
//!
//! ```text
//! rows       3.5   missing   1.0   …        values    3.5   0   1.0   …      leaves of up to 128
//! present     1       0       1    …        count     2 …
//! sum        the parts of leaves, joined    mean      the sum over the count
//! ```
//!
//! To a sum a missing row is a 0 where it stands, so that the order of additions depends on the number of rows only: it
//! has the bits of that of an n-dimensional array with zeros. FLOAT32 is added in double and rounded once. To a minimum it
//! is infinite, or the greatest integer.

use crate::array::block::{Column, rows_of_word};
use crate::array::fold_kernel::{Cut, FoldKernel, Folded, Known, take};
use crate::array::fold_memory::{of_word, to_word};
use crate::array::fold_results::results;
use crate::array::runs::Runs;
use crate::array::take_lanes::TakeLanes;
use crate::layout::PlainSlot;
use crate::value::array::{ROWS_OF_A_WORD, cell_size};
use crate::vector::Level;
use crate::vector::extremes::Best;
use crate::vector::first_stage::{FirstStage, SumOf as SumKind};
use crate::vector::fold::{Fold, Sum, join_leaves};
use crate::vector::level::Loop;
use crate::vector::spread::LEAF;
use crate::vector::spread::SummedFloat;
use crate::vector::stop::StopCheck;
use std::any::TypeId;
use std::marker::PhantomData;

/// A reduction of rows.
pub(crate) trait RowFold: 'static {
    /// A row.
    type Row: PlainSlot;
    /// How rows become one, as its elements.
    type Fold: Fold;
    /// The result.
    type Out: PlainSlot;
    /// True if the result depends on how many rows are present.
    const COUNTS: bool;
    /// What a missing row counts as.
    const MISSING: ElementOf<Self>;

    /// A row as an element.
    fn element(row: Self::Row) -> ElementOf<Self>;

    /// The result of so many rows that are present.
    fn result(folded: <Self::Fold as Fold>::Out, present: u64) -> Self::Out;
}

/// What a row is folded as.
pub(crate) type ElementOf<R> = <<R as RowFold>::Fold as Fold>::Element;

/// A row as an element, or what a missing row counts as. Which rows are missing cannot be foreseen.
#[inline(always)]
pub(crate) fn element_of<R: RowFold>(cell: R::Row, is_present: bool) -> ElementOf<R> {
    // As words: of floats, the choice would be a branch.
    let (found, missing) = (to_word(R::element(cell)), to_word(R::MISSING));
    of_word(std::hint::select_unpredictable(is_present, found, missing))
}

/// The sum; 0 without rows. Integers wrap.
pub(crate) struct SumOf<T>(PhantomData<T>);

/// The arithmetic mean of floats; missing without rows.
pub(crate) struct MeanOf<T>(PhantomData<T>);

/// The least row, with `GREATEST` the greatest; NaN if there is one, missing without rows.
pub(crate) struct BestOf<T, const GREATEST: bool>(PhantomData<T>);

macro_rules! row_folds {
    ($($row:ty: sum of $number:ty, from $least:expr, to $greatest:expr;)*) => {$(
        impl RowFold for SumOf<$row> {
            type Row = $row;
            type Fold = Sum<$number>;
            type Out = $row;
            const COUNTS: bool = false;
            const MISSING: $number = 0 as $number;

            #[inline(always)]
            fn element(row: $row) -> $number {
                row.into()
            }

            fn result(sum: <Sum<$number> as Fold>::Out, _: u64) -> $row {
                sum as $row
            }
        }

        impl<const GREATEST: bool> RowFold for BestOf<$row, GREATEST> {
            type Row = $row;
            type Fold = Best<$row, GREATEST>;
            type Out = Option<$row>;
            const COUNTS: bool = true;
            const MISSING: $row = if GREATEST { $least } else { $greatest };

            #[inline(always)]
            fn element(row: $row) -> $row {
                row
            }

            fn result(best: $row, present: u64) -> Option<$row> {
                (present > 0).then_some(best)
            }
        }
    )*};
}

row_folds! {
    i32: sum of i32, from i32::MIN, to i32::MAX;
    i64: sum of i64, from i64::MIN, to i64::MAX;
    f32: sum of f64, from f32::NEG_INFINITY, to f32::INFINITY;
    f64: sum of f64, from f64::NEG_INFINITY, to f64::INFINITY;
}

impl<T: SummedFloat + PlainSlot> RowFold for MeanOf<T>
where
    Option<T>: PlainSlot,
{
    type Row = T;
    type Fold = Sum<f64>;
    type Out = Option<T>;
    const COUNTS: bool = true;
    const MISSING: f64 = 0.0;

    #[inline(always)]
    fn element(row: T) -> f64 {
        row.wide()
    }

    fn result(sum: f64, present: u64) -> Option<T> {
        (present > 0).then(|| T::of(sum / present as f64))
    }
}

/// The kernel of a fold of rows.
pub(crate) fn fold_of_rows<R: RowFold>() -> FoldKernel {
    FoldKernel {
        needs: None,
        step: step::<R>,
        finish: finish::<R>,
        lanes: 0,
        cut: Cut::Leaves,
        first: first_stage::<R>(),
        side_by_side: None,
        pairs: None,
        take_lanes: TakeLanes::of::<R::Fold>(),
        take_spread: None,
        counts: R::COUNTS,
        has_any_parts: R::Fold::HAS_ANY_PARTS,
    }
}

/// How a strip takes rows in: integers wrap in the width of the result.
fn first_stage<R: RowFold>() -> Option<FirstStage> {
    match R::Fold::FIRST {
        Some(FirstStage::Sum(SumKind::Integers)) if size_of::<R::Out>() == 4 => {
            Some(FirstStage::Sum(SumKind::Halves))
        }
        first => first,
    }
}

/// The kernel of what the number of rows that are present says, `WHAT` of [`COUNT`], [`ANY`], [`ALL`].
pub(crate) fn count_of_rows<const WHAT: u8>() -> FoldKernel {
    FoldKernel {
        needs: None,
        step: |state, [column, _], rows| {
            // SAFETY: the caller's promise.
            state.present += unsafe { present_rows(column, rows) };
        },
        finish: finish_count::<WHAT>,
        lanes: 0,
        cut: Cut::Rows,
        first: None,
        side_by_side: None,
        pairs: None,
        take_lanes: None,
        take_spread: None,
        counts: true,
        has_any_parts: false,
    }
}

/// How many rows are present.
pub(crate) const COUNT: u8 = 0;
/// Present if one row is.
pub(crate) const ANY: u8 = 1;
/// Present if all rows are.
pub(crate) const ALL: u8 = 2;

/// How many rows are present.
///
/// # Safety
/// The column has words for them.
unsafe fn present_rows(column: &Column, rows: usize) -> u64 {
    if column.presence.is_null() {
        return if column.all == 0 { 0 } else { rows as u64 };
    }
    let words = 0..rows.div_ceil(ROWS_OF_A_WORD);
    // SAFETY: the caller's promise.
    words
        .map(|number| u64::from(unsafe { (column.word(number) & rows_of_word(number, rows)).count_ones() }))
        .sum()
}

/// # Safety
/// The contract of [`FoldKernel::step`].
unsafe fn step<R: RowFold>(state: &mut Folded<'_>, [column, _]: [&Column; 2], rows: usize) {
    if R::COUNTS {
        // SAFETY: the caller's promise.
        state.present += unsafe { present_rows(column, rows) };
    }
    let is_element = TypeId::of::<R::Row>() == TypeId::of::<ElementOf<R>>();
    if is_element && column.step == cell_size(R::Row::SCALAR) && column.is_all_present() {
        // SAFETY: the caller's promise; rows are elements.
        return take::<R::Fold>(state, unsafe { std::slice::from_raw_parts(column.data.cast(), rows) });
    }
    for first in (0..rows).step_by(LEAF) {
        let mut values = [R::MISSING; LEAF];
        let values = &mut values[..LEAF.min(rows - first)];
        // A leaf has whole words.
        Level::best().run(FillLeaf::<R> { values, column: &column.at_row(first) });
        take::<R::Fold>(state, values);
    }
}

/// Rows as the elements of a leaf. Who makes it promises that the column has so many, from a word of presence on.
struct FillLeaf<'v, R: RowFold> {
    values: &'v mut [ElementOf<R>],
    column: &'v Column,
}

impl<R: RowFold> Loop for FillLeaf<'_, R> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let size = cell_size(R::Row::SCALAR);
        // SAFETY: the promise of who made this.
        unsafe {
            match self.column.step == size {
                // A step that is known where this is compiled makes vectors of rows.
                true => fill::<R>(self.values, self.column, size),
                false => fill::<R>(self.values, self.column, self.column.step),
            }
        }
    }
}

/// Reads rows that begin at a word of presence.
///
/// # Safety
/// The column has so many rows, in steps of so many bytes.
#[inline(always)]
unsafe fn fill<R: RowFold>(values: &mut [ElementOf<R>], column: &Column, step: usize) {
    for (number, values) in values.chunks_mut(ROWS_OF_A_WORD).enumerate() {
        // SAFETY: the caller's promise.
        let present = unsafe { column.word(number) };
        let cells = column.data.wrapping_add(number * ROWS_OF_A_WORD * step);
        for (row, value) in values.iter_mut().enumerate() {
            // SAFETY: as above; what stands in a missing row can be read, whatever it is.
            let found = R::element(unsafe { R::Row::load_row(cells.add(row * step), true) });
            *value = if present >> row & 1 == 1 { found } else { R::MISSING };
        }
    }
}

/// # Safety
/// The contract of [`FoldKernel::finish`].
unsafe fn finish<R: RowFold>(known: Known<'_>, runs: Runs, out: *mut u8, _: StopCheck<'_>) {
    let folded = match known.parts {
        [part] => R::Fold::finish(of_word(*part), runs.run),
        parts => results::<R::Fold>(parts, runs).next().expect("rows are one run"),
    };
    // SAFETY: the caller's promise.
    unsafe { R::Out::store(out, R::result(folded, known.present)) };
}

/// # Safety
/// The contract of [`FoldKernel::finish`].
unsafe fn finish_count<const WHAT: u8>(known: Known<'_>, runs: Runs, out: *mut u8, _: StopCheck<'_>) {
    let holds = match WHAT {
        ANY => known.present > 0,
        _ => known.present == runs.run as u64,
    };
    // SAFETY: the caller's promise.
    unsafe {
        match WHAT {
            COUNT => i64::store(out, known.present as i64),
            _ => Option::<()>::store(out, holds.then_some(())),
        }
    }
}

/// Leaves between two questions whether to stop.
const STRETCH: usize = 512;

/// The fold of the rows of a group, of which these are present, at these places if not all are. Asks now and then whether
/// to stop; the result is then of no use.
pub(crate) fn fold_present<R: RowFold>(
    present: &[R::Row],
    places: Option<&[u32]>,
    size: usize,
    stop: StopCheck<'_>,
) -> R::Out {
    let (mut first, mut taken, mut leaves, mut stopped) = (0, 0, 0, false);
    let folded = join_leaves::<R::Fold>(size, &mut |count| {
        leaves += 1;
        stopped = stopped || leaves % STRETCH == 0 && stop();
        let mut values = [R::MISSING; LEAF];
        let end = first + count;
        if places.is_none() && !stopped {
            values.iter_mut().zip(&present[first..end]).for_each(|(value, row)| *value = R::element(*row));
            taken = end;
        }
        while !stopped && taken < present.len() {
            let place = places.map_or(taken, |places| places[taken] as usize);
            if place >= end {
                break;
            }
            values[place - first] = R::element(present[taken]);
            taken += 1;
        }
        first = end;
        R::Fold::leaf(&values[..count])
    });
    R::result(folded, present.len() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::meter::Meter;
    use crate::vector::fold::fold;
    use bumpalo::Bump;

    /// Rows with gaps, in blocks, as a group, and with zeros in the gaps.
    #[test]
    fn missing_rows_count_as_zero_where_they_stand() {
        let arena = Bump::new();
        for rows in [1usize, 7, 8, 9, 64, 127, 129, 300, 1000, 5000] {
            let values: Vec<f32> = (0..rows).map(|i| (i * 37 % 101) as f32 * 0.1 - 3.0).collect();
            for gap in [1, 2, 3, 1000] {
                let is_present = |row: usize| gap > 1 && row % gap != gap - 1;
                let words: Vec<u64> = (0..rows.div_ceil(ROWS_OF_A_WORD))
                    .map(|word| (0..64).map(|bit| u64::from(is_present(word * 64 + bit)) << bit).sum())
                    .collect();
                let filled: Vec<f64> =
                    (0..rows).map(|row| if is_present(row) { f64::from(values[row]) } else { 0.0 }).collect();
                let expected = fold::<Sum<f64>>(&filled) as f32;
                let count = (0..rows).filter(|row| is_present(*row)).count() as u64;
                let kernel = fold_of_rows::<MeanOf<f32>>();
                let runs = Runs { run: rows, count: 1, width: 1 };
                let mut state =
                    kernel.begin(runs, 0..rows, &arena, Meter::of_default().watch()).expect("memory");
                for first in (0..rows).step_by(192) {
                    let column = Column {
                        presence: words.as_ptr(),
                        ..Column::of_cells(values.as_ptr().cast(), size_of::<f32>())
                    };
                    // SAFETY: the column has these rows.
                    unsafe { kernel.step(&mut state, [&column.at_row(first); 2], 192.min(rows - first)) };
                }
                let sum = results::<Sum<f64>>(&state.parts, runs).next().map(|sum| sum as f32);
                assert_eq!((sum, state.present), (Some(expected), count), "{rows} rows");
                let places: Vec<u32> = (0..rows as u32).filter(|row| is_present(*row as usize)).collect();
                let present: Vec<f32> = places.iter().map(|place| values[*place as usize]).collect();
                let grouped = fold_present::<SumOf<f32>>(&present, Some(&places), rows, &|| false);
                assert_eq!(grouped.to_bits(), expected.to_bits(), "{rows} rows as a group");
            }
        }
    }
}
