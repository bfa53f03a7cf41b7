//! Row moves: rows of one array that become rows of another, as they are.
//!
//! ```text
//! take     a b c d  by numbers 2 0 - 2       c a - c         a number, or a missing one, for each row of the result
//! choose   a b c d  where the mask is 1101   a b d           the rows under the bits that are set
//! join     a b c    0..2, then d e  1..2     a b e           ranges of arrays, one behind the other
//! ```
//!
//! How many rows come out is known before the first one moves. Plain cells are then moved as words of their size in loops
//! that know it; strings, whose places depend on the rows before them, are appended one by one. Presence is looked at only
//! where an array has words of it.
//!
//! Without success there are no rows.

use crate::array::block::rows_of_word;
use crate::array::meter::Meter;
use crate::array::read_rows::ReadRows;
use crate::array::rows_out::RowsOut;
use crate::value::array::{ROWS_OF_A_WORD, are_rows, cell_size};
use crate::value::{ArrayRows, Fault, ScalarValue};
use crate::vector::Level;
use crate::vector::level::Loop;
use bytemuck::Pod;
use std::ops::Range;

/// Code for the unsigned integer that is as large as a cell; nothing for rows without cells.
macro_rules! with_cell {
    ($element:expr, $cell:ident => $code:expr) => {
        match cell_size($element) {
            1 => with_cell!(u8, $cell: $code),
            4 => with_cell!(u32, $cell: $code),
            8 => with_cell!(u64, $cell: $code),
            _ => {}
        }
    };
    ($rust:ty, $cell:ident: $code:expr) => {{
        type $cell = $rust;
        $code
    }};
}

/// All cells of an array.
fn cells<C: Pod>(rows: &ArrayRows) -> &[C] {
    &bytemuck::cast_slice(rows.bytes())[..rows.len()]
}

/// All cells of a result.
fn cells_mut<'o, C: Pod>(out: &'o mut RowsOut<'_>) -> &'o mut [C] {
    let len = out.len();
    &mut bytemuck::cast_slice_mut(out.cells_mut())[..len]
}

/// The row of this number.
///
/// # Errors
/// There is none.
pub(crate) fn row_number(number: i64, rows: usize) -> Result<usize, Fault> {
    let row = usize::try_from(number).ok().filter(|row| *row < rows);
    row.ok_or_else(|| Fault::Range { message: format!("array index {number} out of range [0, {rows})") })
}

/// True if each number is that of one of so many rows.
pub(crate) fn are_all_rows(numbers: &[i64], rows: usize) -> bool {
    Level::best().run(AreRows { numbers, rows })
}

struct AreRows<'n> {
    numbers: &'n [i64],
    rows: usize,
}

impl Loop for AreRows<'_> {
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        are_rows(self.numbers, self.rows)
    }
}

/// Numbers that are checked before their rows move: they stay in the first cache.
const CHECKED: usize = 1024;

/// Calls with each place, and the row whose number stands there, if one does.
#[inline(always)]
fn each_number(
    numbers: &ArrayRows,
    rows: usize,
    meter: &Meter<'_>,
    mut f: impl FnMut(usize, Option<usize>),
) -> Result<(), Fault> {
    let all: &[i64] = cells(numbers);
    for stride in meter.strides(numbers.len()) {
        let stride = stride?;
        if numbers.presence().is_some() {
            for place in stride {
                let number = numbers.is_present(place).then(|| row_number(all[place], rows));
                f(place, number.transpose()?);
            }
            continue;
        }
        for first in stride.clone().step_by(CHECKED) {
            let numbers = &all[first..stride.end.min(first + CHECKED)];
            if !are_all_rows(numbers, rows) {
                numbers.iter().try_for_each(|number| row_number(*number, rows).map(drop))?;
            }
            (first..).zip(numbers).for_each(|(place, number)| f(place, Some(*number as usize)));
        }
    }
    Ok(())
}

/// Moves the cells of these numbers, or zeros where one is missing.
fn take_cells<C: Pod>(from: &[C], to: &mut [C], numbers: &ArrayRows, meter: &Meter<'_>) -> Result<(), Fault> {
    if numbers.presence().is_some() {
        return each_number(numbers, from.len(), meter, |place, row| {
            to[place] = row.map_or(C::zeroed(), |row| from[row]);
        });
    }
    let all: &[i64] = cells(numbers);
    for stride in meter.strides(all.len()) {
        let stride = stride?;
        for (to, numbers) in to[stride.clone()].chunks_mut(CHECKED).zip(all[stride].chunks(CHECKED)) {
            if !are_all_rows(numbers, from.len()) {
                numbers.iter().try_for_each(|number| row_number(*number, from.len()).map(drop))?;
            }
            for (cell, number) in to.iter_mut().zip(numbers) {
                // SAFETY: each number is that of a row.
                *cell = unsafe { *from.get_unchecked(*number as usize) };
            }
        }
    }
    Ok(())
}

/// Calls with each row that is present: of a mask, the rows that it chooses.
#[inline(always)]
pub(crate) fn each_chosen(
    rows: &ReadRows<'_>,
    meter: &Meter<'_>,
    f: impl FnMut(usize) -> Result<(), Fault>,
) -> Result<(), Fault> {
    each_chosen_of(rows, 0..rows.len(), meter, f)
}

/// The same of a range of rows.
#[inline(always)]
pub(crate) fn each_chosen_of(
    rows: &ReadRows<'_>,
    range: Range<usize>,
    meter: &Meter<'_>,
    mut f: impl FnMut(usize) -> Result<(), Fault>,
) -> Result<(), Fault> {
    for stride in meter.strides(range.len()) {
        let stride = stride?;
        let stride = range.start + stride.start..range.start + stride.end;
        if rows.are_all_present() {
            stride.into_iter().try_for_each(&mut f)?;
            continue;
        }
        for first in stride.clone().step_by(ROWS_OF_A_WORD) {
            let mut left = rows.word_from(first) & rows_of_word(0, stride.end - first);
            while left != 0 {
                f(first + left.trailing_zeros() as usize)?;
                left &= left - 1;
            }
        }
    }
    Ok(())
}

/// Rows that a mask chooses.
pub(crate) fn chosen(mask: &ArrayRows) -> usize {
    mask.presence().map_or(mask.len(), |words| words.iter().map(|word| word.count_ones() as usize).sum())
}

impl RowsOut<'_> {
    /// Becomes the rows of these numbers: one for each, missing where the number or its row is.
    ///
    /// # Errors
    /// There is no row of a number; no memory, or the run has to stop.
    ///
    /// # Panics
    /// If the numbers are not INT64.
    pub(crate) fn take(&mut self, rows: &ArrayRows, numbers: &ArrayRows) -> Result<(), Fault> {
        self.start(rows.element());
        let taken = self.take_rows(rows, numbers);
        self.finish(taken)
    }

    fn take_rows(&mut self, rows: &ArrayRows, numbers: &ArrayRows) -> Result<(), Fault> {
        let (element, meter) = (rows.element(), self.meter());
        if !element.is_plain() {
            self.reserve(numbers.len())?;
            let mut pushed = Ok(());
            each_number(numbers, rows.len(), meter, |_, row| match row {
                _ if pushed.is_err() => {}
                Some(row) => pushed = self.push_row_of(rows, row),
                None => pushed = self.push_missing(),
            })?;
            return pushed;
        }
        self.resize_for_kernel(element, numbers.len())?;
        with_cell!(element, C => take_cells(cells::<C>(rows), cells_mut::<C>(self), numbers, meter)?);
        let has_cells = cell_size(element) > 0;
        if has_cells && rows.presence().is_none() && numbers.presence().is_none() {
            return Ok(());
        }
        let presence = self.presence_mut()?;
        each_number(numbers, rows.len(), meter, |place, row| {
            let is_missing = !row.is_some_and(|row| rows.is_present(row));
            presence[place / ROWS_OF_A_WORD] &= !(u64::from(is_missing) << (place % ROWS_OF_A_WORD));
        })
    }

    /// Becomes some rows, which are present.
    ///
    /// # Errors
    /// No memory, or the run has to stop.
    ///
    /// # Panics
    /// If there is no row of a number.
    pub(crate) fn gather(&mut self, rows: &ArrayRows, numbers: &[u32]) -> Result<(), Fault> {
        let (element, meter) = (rows.element(), self.meter());
        self.start(element);
        if !element.is_plain() {
            let pushed = meter.strides(numbers.len()).try_for_each(|stride| {
                numbers[stride?].iter().try_for_each(|row| self.push_row_of(rows, *row as usize))
            });
            return self.finish(pushed);
        }
        self.resize_for_kernel(element, numbers.len())?;
        with_cell!(element, C => {
            let (from, to) = (cells::<C>(rows), cells_mut::<C>(self));
            let gathered = meter.strides(numbers.len()).try_for_each(|stride| {
                let stride = stride?;
                let places = to[stride.clone()].iter_mut();
                places.zip(&numbers[stride]).for_each(|(place, row)| *place = from[*row as usize]);
                Ok(())
            });
            return self.finish(gathered);
        });
        Ok(())
    }

    /// Becomes the rows where a mask of as many rows is present.
    ///
    /// # Errors
    /// No memory, or the run has to stop.
    pub(crate) fn choose(&mut self, rows: &ArrayRows, mask: &ArrayRows) -> Result<(), Fault> {
        assert_eq!(rows.len(), mask.len(), "a mask of the rows");
        self.start(rows.element());
        let chosen = self.choose_rows(rows, mask);
        self.finish(chosen)
    }

    fn choose_rows(&mut self, rows: &ArrayRows, mask: &ArrayRows) -> Result<(), Fault> {
        let (element, meter, count) = (rows.element(), self.meter(), chosen(mask));
        if !element.is_plain() {
            self.reserve(count)?;
            return each_chosen(&ReadRows::kept(mask), meter, |row| self.push_row_of(rows, row));
        }
        self.resize_for_kernel(element, count)?;
        with_cell!(element, C => {
            let (from, to) = (cells::<C>(rows), cells_mut::<C>(self));
            let mut places = to.iter_mut();
            each_chosen(&ReadRows::kept(mask), meter, |row| {
                if let Some(place) = places.next() {
                    *place = from[row];
                }
                Ok(())
            })?;
        });
        if rows.presence().is_some() {
            let (presence, mut place) = (self.presence_mut()?, 0);
            each_chosen(&ReadRows::kept(mask), meter, |row| {
                presence[place / ROWS_OF_A_WORD] &=
                    !(u64::from(!rows.is_present(row)) << (place % ROWS_OF_A_WORD));
                place += 1;
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Becomes ranges of rows of arrays of one type, one behind the other.
    ///
    /// # Errors
    /// No memory, or the run has to stop.
    ///
    /// # Panics
    /// If an array has no such rows.
    pub(crate) fn join(&mut self, parts: &[(&ArrayRows, Range<usize>)]) -> Result<(), Fault> {
        self.start(parts[0].0.element());
        let joined = self.join_rows(parts);
        self.finish(joined)
    }

    fn join_rows(&mut self, parts: &[(&ArrayRows, Range<usize>)]) -> Result<(), Fault> {
        let (element, meter) = (parts[0].0.element(), self.meter());
        let count = parts.iter().map(|(_, range)| range.len()).sum();
        if !element.is_plain() {
            self.reserve(count)?;
            for (rows, range) in parts {
                for stride in meter.strides(range.len()) {
                    stride?.try_for_each(|row| self.push_row_of(rows, range.start + row))?;
                }
            }
            return Ok(());
        }
        self.resize_for_kernel(element, count)?;
        with_cell!(element, C => {
            let mut to = cells_mut::<C>(self);
            for (rows, range) in parts {
                let (here, behind) = to.split_at_mut(range.len());
                for stride in meter.strides(range.len()) {
                    let stride = stride?;
                    here[stride.clone()].copy_from_slice(&cells::<C>(rows)[range.clone()][stride]);
                }
                to = behind;
            }
        });
        if parts.iter().any(|(rows, _)| rows.presence().is_some()) {
            let (presence, mut first) = (self.presence_mut()?, 0);
            for (rows, range) in parts.iter() {
                let rows = ReadRows::kept(rows);
                for stride in meter.strides(if rows.are_all_present() { 0 } else { range.len() }) {
                    let (mut row, end) = stride.map(|stride| (stride.start, stride.end))?;
                    while row < end {
                        // Up to the end of a word of the result.
                        let (number, bit) = ((first + row) / ROWS_OF_A_WORD, (first + row) % ROWS_OF_A_WORD);
                        let count = (ROWS_OF_A_WORD - bit).min(end - row);
                        let missing = !rows.word_from(range.start + row) & rows_of_word(0, count);
                        presence[number] &= !(missing << bit);
                        row += count;
                    }
                }
                first += range.len();
            }
        }
        Ok(())
    }

    /// Becomes so many rows of one value, or of none.
    ///
    /// # Errors
    /// No memory, or the run has to stop.
    ///
    /// # Panics
    /// If the value is of another type than the rows are.
    pub(crate) fn repeat(&mut self, value: Option<&ScalarValue>, count: usize) -> Result<(), Fault> {
        let (element, meter) = (self.element(), self.meter());
        let is_of_type = |value: &ScalarValue| value.scalar_type().storage() == element.storage();
        assert!(value.is_none_or(is_of_type), "a row of the array's type");
        let bits = value.map_or(Some(0), ScalarValue::plain_bits);
        let Some(bits) = bits.filter(|_| element.is_plain()) else {
            self.reserve(count)?;
            return meter.strides(count).try_for_each(|stride| stride?.try_for_each(|_| self.push(value)));
        };
        self.resize_for_kernel(element, count)?;
        with_cell!(element, C => {
            let to = cells_mut::<C>(self);
            for stride in meter.strides(count) {
                to[stride?].fill(bits as C);
            }
        });
        if value.is_none() {
            self.presence_mut()?.fill(0);
        }
        Ok(())
    }

    /// No rows if they could not be made; else without words of presence that say nothing.
    fn finish(&mut self, made: Result<(), Fault>) -> Result<(), Fault> {
        match made {
            Ok(()) => self.normalize(),
            Err(_) => self.start(self.element()),
        }
        made
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::ScalarType;
    use fastrand::Rng;

    const ELEMENTS: [ScalarType; 6] = [
        ScalarType::Unit,
        ScalarType::Boolean,
        ScalarType::Int32,
        ScalarType::Int64,
        ScalarType::Float64,
        ScalarType::Text,
    ];

    fn value(element: ScalarType, rng: &mut Rng) -> ScalarValue {
        match element {
            ScalarType::Unit => ScalarValue::Unit,
            ScalarType::Boolean => ScalarValue::Boolean(rng.bool()),
            ScalarType::Int32 => ScalarValue::Int32(rng.i32(..)),
            ScalarType::Int64 => ScalarValue::Int64(rng.i64(..)),
            ScalarType::Float64 => ScalarValue::Float64(rng.f64()),
            _ => ScalarValue::Text("ab".repeat(rng.usize(..4)).into()),
        }
    }

    /// Rows of which this share is present.
    fn random_rows(element: ScalarType, len: usize, share: f64, rng: &mut Rng) -> ArrayRows {
        let values: Vec<_> = (0..len).map(|_| (rng.f64() < share).then(|| value(element, rng))).collect();
        ArrayRows::from_values(element, &values)
    }

    /// What a move makes, in rows that were others before.
    fn moved(
        element: ScalarType,
        f: impl FnOnce(&mut RowsOut<'_>) -> Result<(), Fault>,
    ) -> Result<ArrayRows, Fault> {
        let meter = Meter::of_default();
        let mut rows = random_rows(element, 30, 0.5, &mut Rng::with_seed(9));
        f(&mut RowsOut::new(&mut rows, &meter)).map(|()| rows)
    }

    fn from_rows(element: ScalarType, rows: impl Iterator<Item = Option<ScalarValue>>) -> ArrayRows {
        ArrayRows::from_values(element, &rows.collect::<Vec<_>>())
    }

    #[test]
    fn moved_rows_are_those_of_one_by_one() {
        let mut rng = Rng::with_seed(5);
        for round in 0..600 {
            let (element, len) = (ELEMENTS[round % ELEMENTS.len()], rng.usize(..200));
            let share = [1.0, 0.8, 0.1][rng.usize(..3)];
            let rows = random_rows(element, len, share, &mut rng);
            let mask = random_rows(ScalarType::Unit, len, [1.0, 0.5, 0.1, 0.0][rng.usize(..4)], &mut rng);
            let chosen = rows.iter().zip(mask.iter()).filter_map(|(row, mask)| mask.map(|_| row));
            let expected = from_rows(element, chosen);
            let found = moved(element, |out| out.choose(&rows, &mask)).expect("memory");
            assert_eq!(found.presence().is_some(), expected.iter().any(|row| row.is_none()));
            assert_eq!(found, expected);

            let mut present: Vec<u32> =
                (0..len as u32).filter(|row| rows.is_present(*row as usize)).collect();
            rng.shuffle(&mut present);
            let found = moved(element, |out| out.gather(&rows, &present)).expect("memory");
            assert_eq!(found, from_rows(element, present.iter().map(|row| rows.get(*row as usize))));

            let other = random_rows(element, rng.usize(..200), share, &mut rng);
            let ends = [rng.usize(..=len), rng.usize(..=other.len())];
            let starts = ends.map(|end| rng.usize(..=end));
            let parts = [(&rows, starts[0]..ends[0]), (&other, starts[1]..ends[1])];
            let joined = parts.iter().flat_map(|(rows, range)| range.clone().map(|row| rows.get(row)));
            let expected = from_rows(element, joined);
            assert_eq!(moved(element, |out| out.join(&parts)), Ok(expected));

            if len > 0 {
                let number = |rng: &mut Rng| ScalarValue::Int64(rng.i64(0..len as i64));
                let numbers: Vec<_> =
                    (0..rng.usize(..200)).map(|_| (rng.f64() < share).then(|| number(&mut rng))).collect();
                let place = |number: &Option<ScalarValue>| number.as_ref().and_then(|number| number.as_i64());
                let taken = numbers.iter().map(|number| place(number).and_then(|row| rows.get(row as usize)));
                let expected = from_rows(element, taken);
                let numbers = ArrayRows::from_values(ScalarType::Int64, &numbers);
                assert_eq!(moved(element, |out| out.take(&rows, &numbers)), Ok(expected));
            }
            for one in [None, Some(value(element, &mut rng))] {
                let found = moved(element, |out| {
                    out.start(element);
                    out.repeat(one.as_ref(), len)
                });
                assert_eq!(found, Ok(from_rows(element, (0..len).map(|_| one.clone()))));
            }
        }
    }

    #[test]
    fn a_number_of_no_row_is_named() {
        for element in ELEMENTS {
            let rows = random_rows(element, 70, 1.0, &mut Rng::with_seed(1));
            for (wrong, place) in [(70, 0), (-1, 65), (i64::MIN, 199), (i64::MAX, 3)] {
                for missing in [None, Some(130)] {
                    let number = |at| if at == place { wrong } else { at as i64 % 70 };
                    let numbers =
                        (0..200).map(|at| (Some(at) != missing).then(|| ScalarValue::Int64(number(at))));
                    let numbers = ArrayRows::from_values(ScalarType::Int64, &numbers.collect::<Vec<_>>());
                    let meter = Meter::of_default();
                    let mut out = ArrayRows::new(element);
                    let fault =
                        RowsOut::new(&mut out, &meter).take(&rows, &numbers).expect_err("no such row");
                    assert_eq!(fault.to_string(), format!("array index {wrong} out of range [0, 70)"));
                    assert_eq!(out.len(), 0);
                }
            }
        }
    }
}
