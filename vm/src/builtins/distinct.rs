//! Distinct rows: numbers the values of an array in order of first appearance.
//!
//! ```text
//! integers from 3 to 900 of 5,000 rows       a number for each integer, found by its distance from 3
//! other rows                                 by a hash of their bytes, in one of many tables by some of its bits
//! ```
//!
//! A table that grows moves a small part of the rows, so that a run can be stopped in between.

use crate::array::meter::{Meter, Scratch};
use crate::array::read_rows::ReadRows;
use crate::array::row_moves::each_chosen;
use crate::value::array::cell_size;
use crate::value::budget::Account;
use crate::value::{ArrayRows, Exhausted, Fault, ScalarType};
use crate::vector::Level;
use crate::vector::level::Loop;
use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::BuildHasher;

/// Rows for each table, if all are distinct.
const ROWS_OF_A_TABLE: usize = 1 << 16;

/// Most tables: 16 bits of a hash choose one, others find the entry in it.
const MAX_TABLES: usize = 1 << 16;

/// Integers of a table that stays in the second cache.
const SMALL_TABLE: usize = 1 << 16;

/// The distinct values of an array met so far.
pub(super) struct Distinct<'r> {
    rows: &'r ArrayRows,
    meter: &'r Meter<'r>,
    hasher: DefaultHashBuilder,
    tables: Vec<HashTable<Entry>>,
    /// For integers that lie close together.
    direct: Option<Direct<'r>>,
    /// The first row with each value.
    firsts: Scratch<'r, u32>,
    /// Bytes of the tables.
    bytes: u64,
}

/// The numbers of integers from the least one on, each more by 1; 0 for one that was not met.
struct Direct<'r> {
    integers: Integers<'r>,
    least: i64,
    numbers: Scratch<'r, u32>,
}

/// Cells of a type of integers.
#[derive(Clone, Copy)]
enum Integers<'r> {
    Int32(&'r [i32]),
    Int64(&'r [i64]),
}

impl<'r> Direct<'r> {
    /// `None` unless the rows are integers of which there cannot be many more than rows.
    fn new(rows: &'r ArrayRows, meter: &'r Meter<'r>) -> Result<Option<Direct<'r>>, Fault> {
        let (integers, ends) = match rows.element() {
            ScalarType::Int32 => {
                let cells = &bytemuck::cast_slice(rows.bytes())[..rows.len()];
                (Integers::Int32(cells), ends::<i32>(cells, meter)?)
            }
            ScalarType::Int64 => {
                let cells = &bytemuck::cast_slice(rows.bytes())[..rows.len()];
                (Integers::Int64(cells), ends::<i64>(cells, meter)?)
            }
            _ => return Ok(None),
        };
        let Some((least, greatest)) = ends else { return Ok(None) };
        let distances = greatest.abs_diff(least);
        // Zeros of a table take less time than a hash of each row.
        let most = (2 * rows.len()).max((16 * rows.len()).min(SMALL_TABLE));
        if distances >= most as u64 {
            return Ok(None);
        }
        // Where there is no memory for so many, there may be enough for a hash of the few that are met.
        let numbers = meter.zeros(distances as usize + 1).ok();
        Ok(numbers.map(|numbers| Direct { integers, least, numbers }))
    }
}

/// What is known of integers that lie close together.
struct Met<'d, 'r> {
    least: i64,
    numbers: &'d mut [u32],
    firsts: &'d mut Scratch<'r, u32>,
    meter: &'r Meter<'r>,
}

impl Met<'_, '_> {
    /// [`Distinct::number`] of these cells.
    fn number<T: Copy + Into<i64>>(
        self,
        rows: &ReadRows<'_>,
        cells: &[T],
        to: &mut [i64],
    ) -> Result<(), Fault> {
        let Met { least, numbers, firsts, meter } = self;
        let are_all_present = rows.are_all_present();
        for stride in meter.strides(cells.len()) {
            let stride = stride?;
            let each = (stride.start..).zip(&cells[stride.clone()]);
            for (row, cell) in each.filter(|(row, _)| are_all_present || rows.is_present(*row)) {
                // The least cell is known: no difference is below 0.
                let number = &mut numbers[(*cell).into().wrapping_sub(least) as usize];
                if *number == 0 {
                    firsts.append(row as u32)?;
                    *number = firsts.len() as u32;
                }
                if let Some(place) = to.get_mut(row) {
                    *place = i64::from(*number) - 1;
                }
            }
        }
        Ok(())
    }
}

/// The least and the greatest cell, of missing rows too; `None` without rows.
fn ends<T: Copy + Ord + Into<i64>>(cells: &[T], meter: &Meter<'_>) -> Result<Option<(i64, i64)>, Fault> {
    let Some(mut ends) = cells.first().map(|first| (*first, *first)) else { return Ok(None) };
    for stride in meter.strides(cells.len()) {
        ends = Level::best().run(Ends { cells: &cells[stride?], before: ends });
    }
    Ok(Some((ends.0.into(), ends.1.into())))
}

/// The least and the greatest of some cells, and of two before them.
struct Ends<'c, T> {
    cells: &'c [T],
    before: (T, T),
}

impl<T: Copy + Ord> Loop for Ends<'_, T> {
    type Output = (T, T);

    #[inline(always)]
    fn run(self) -> (T, T) {
        self.cells.iter().fold(self.before, |(least, greatest), x| (least.min(*x), greatest.max(*x)))
    }
}

/// A value that was met. A table that grows hashes entries by themselves, without a look at their rows.
struct Entry {
    /// The bits of a plain row, or the hash of a string, in two halves: an entry has 12 bytes.
    word: [u32; 2],
    /// The number of the value.
    number: u32,
}

impl Entry {
    fn new(word: u64, number: u32) -> Entry {
        Entry { word: [word as u32, (word >> 32) as u32], number }
    }

    fn word(&self) -> u64 {
        u64::from(self.word[1]) << 32 | u64::from(self.word[0])
    }
}

impl<'r> Distinct<'r> {
    /// No values of these rows yet. Zeros of both signs are one value, and so are all NaN.
    pub(super) fn new(rows: &'r ArrayRows, meter: &'r Meter<'r>) -> Result<Distinct<'r>, Fault> {
        let tables = (rows.len() / ROWS_OF_A_TABLE).next_power_of_two().min(MAX_TABLES);
        let (tables, firsts) = ((0..tables).map(|_| HashTable::new()).collect(), meter.vec(0)?);
        Ok(Distinct {
            rows,
            meter,
            hasher: DefaultHashBuilder::default(),
            tables,
            direct: Direct::new(rows, meter)?,
            firsts,
            bytes: 0,
        })
    }

    /// How many values there are.
    pub(super) fn len(&self) -> usize {
        self.firsts.len()
    }

    /// The first row with each value that was met.
    pub(super) fn firsts(&self) -> &[u32] {
        &self.firsts
    }

    /// Numbers the values of rows that are present from 0 as they come, and writes the number of each row to its place, if there
    /// are places.
    ///
    /// # Errors
    /// No memory, or the run has to stop.
    pub(super) fn number(&mut self, to: &mut [i64]) -> Result<(), Fault> {
        let (rows, meter) = (ReadRows::kept(self.rows), self.meter);
        let Some(Direct { integers, least, numbers }) = &mut self.direct else {
            return each_chosen(&rows, meter, |row| {
                let number = self.number_by_hash(row)?;
                if let Some(place) = to.get_mut(row) {
                    *place = number as i64;
                }
                Ok(())
            });
        };
        let met = Met { least: *least, numbers, firsts: &mut self.firsts, meter };
        match integers {
            Integers::Int32(cells) => met.number(&rows, cells, to),
            Integers::Int64(cells) => met.number(&rows, cells, to),
        }
    }

    fn number_by_hash(&mut self, row: usize) -> Result<usize, Fault> {
        let Distinct { rows, hasher, .. } = self;
        let key = plain_key(rows, row);
        let hash = key.map_or_else(|| hasher.hash_one(rows.string(row)), |key| hasher.hash_one(key));
        let word = key.unwrap_or(hash);
        let hash_of = |entry: &Entry| match key {
            Some(_) => hasher.hash_one(entry.word()),
            None => entry.word(),
        };
        let number = (hash >> 32) as usize & (self.tables.len() - 1);
        let table = &mut self.tables[number];
        let is_equal = |entry: &Entry| {
            let first = || self.firsts[entry.number as usize] as usize;
            entry.word() == word && (key.is_some() || rows.string(row) == rows.string(first()))
        };
        if let Some(entry) = table.find(hash, is_equal) {
            return Ok(entry.number as usize);
        }
        let number = self.firsts.len();
        if table.len() == table.capacity() {
            // All tables grow at about the same time.
            self.meter.poll()?;
            let before = table.allocation_size() as u64;
            let asked = before.max(256) * 2;
            self.meter.charge(asked)?;
            let grown = table.try_reserve(1, hash_of);
            let after = table.allocation_size() as u64;
            self.meter.give_back(asked + before - after.min(asked + before));
            self.bytes += after - before;
            grown.map_err(|_| Exhausted::Memory { asked })?;
        }
        self.firsts.append(row as u32)?;
        table.insert_unique(hash, Entry::new(word, number as u32), hash_of);
        Ok(number)
    }
}

impl Drop for Distinct<'_> {
    fn drop(&mut self) {
        self.meter.give_back(self.bytes);
    }
}

/// What tells a plain row from others: its bits, but for floats that are zero or NaN; `None` of a string.
pub(super) fn plain_key(rows: &ArrayRows, row: usize) -> Option<u64> {
    let element = rows.element();
    if !element.is_plain() {
        return None;
    }
    // Each of a size that is known here.
    let bits = match cell_size(element) {
        0 => 0,
        1 => u64::from(rows.bytes()[row]),
        4 => u64::from(bytemuck::cast_slice::<_, u32>(rows.bytes())[row]),
        _ => bytemuck::cast_slice::<_, u64>(rows.bytes())[row],
    };
    let (infinite, sign) = match element {
        ScalarType::Float64 | ScalarType::WeakFloat => (f64::INFINITY.to_bits(), 1 << 63),
        ScalarType::Float32 => (u64::from(f32::INFINITY.to_bits()), 1 << 31),
        _ => return Some(bits),
    };
    Some(match bits & !sign {
        0 => 0,
        magnitude if magnitude > infinite => infinite + 1,
        _ => bits,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::meter::MeterLimits;
    use crate::value::ScalarValue;
    use hashbrown::HashMap;

    /// The number of each row; all are present.
    fn numbers(distinct: &mut Distinct<'_>) -> Vec<usize> {
        let mut numbers = vec![-1; distinct.rows.len()];
        distinct.number(&mut numbers).expect("memory");
        numbers.into_iter().map(|number| number as usize).collect()
    }

    #[test]
    fn values_are_numbered_as_they_come() {
        for (factor, is_close) in [(1, true), (i64::MAX / 1201, false)] {
            let value = |i: i64| Some(ScalarValue::Int64((i * 7919 % 1201 - 600) * factor));
            let rows = ArrayRows::from_values(ScalarType::Int64, &(0..5000).map(value).collect::<Vec<_>>());
            let meter = Meter::of_default();
            let mut distinct = Distinct::new(&rows, &meter).expect("memory");
            assert_eq!(distinct.direct.is_some(), is_close);
            assert_eq!(numbers(&mut distinct), (0..5000).map(|row| row % 1201).collect::<Vec<_>>());
            assert_eq!(distinct.len(), 1201);
            assert!(meter.alive() >= 1201 * 8);
            drop(distinct);
            assert_eq!(meter.alive(), 0);
        }
    }

    #[test]
    fn a_few_integers_need_no_memory_for_all_between_them() {
        let values: Vec<_> = (0..5000).map(|i| Some(ScalarValue::Int64(i % 2 * 9000))).collect();
        let rows = ArrayRows::from_values(ScalarType::Int64, &values);
        let limits = MeterLimits { bytes_alive: 9000, ..MeterLimits::DEFAULT };
        let meter = Meter::new(&limits, 0);
        let mut distinct = Distinct::new(&rows, &meter).expect("memory");
        assert!(distinct.direct.is_none());
        assert_eq!(numbers(&mut distinct), (0..5000).map(|row| row % 2).collect::<Vec<_>>());
    }

    /// Rows for several tables, as numbers and as texts.
    #[test]
    fn many_rows_are_in_several_tables() {
        const ROWS: u32 = 3 * ROWS_OF_A_TABLE as u32;
        let number = |row: u32| (row.wrapping_mul(7919) % 100_003) as usize * 1_000;
        let mut of_values = HashMap::new();
        let expected: Vec<usize> = (0..ROWS)
            .map(|row| {
                let next = of_values.len();
                *of_values.entry(number(row)).or_insert(next)
            })
            .collect();
        let mut integers = ArrayRows::new(ScalarType::Int64);
        let mut texts = ArrayRows::new(ScalarType::Text);
        for row in 0..ROWS {
            integers.push_raw(true, &(number(row) as i64).to_le_bytes());
            texts.push_raw(true, number(row).to_string().as_bytes());
        }
        for rows in [integers, texts] {
            let meter = Meter::of_default();
            let mut distinct = Distinct::new(&rows, &meter).expect("memory");
            assert!(distinct.tables.len() > 1);
            assert_eq!(numbers(&mut distinct), expected);
            assert_eq!(distinct.len(), of_values.len());
        }
    }

    #[test]
    fn zeros_nan_and_texts() {
        let meter = Meter::of_default();
        let floats = [0.0, -0.0, 1.0, -1.0, f64::NAN, f64::INFINITY, -f64::NAN, f64::from_bits(!0)];
        for element in [ScalarType::Float64, ScalarType::Float32] {
            let value = |x: f64| match element {
                ScalarType::Float64 => ScalarValue::Float64(x),
                _ => ScalarValue::Float32(x as f32),
            };
            let rows = ArrayRows::from_values(element, &floats.map(|x| Some(value(x))));
            let mut distinct = Distinct::new(&rows, &meter).expect("memory");
            assert_eq!(numbers(&mut distinct), [0, 0, 1, 2, 3, 4, 3, 3]);
        }
        let texts = ["a", "", "a"].map(|text| Some(ScalarValue::Text(text.into())));
        let rows = ArrayRows::from_values(ScalarType::Text, &texts);
        let mut distinct = Distinct::new(&rows, &meter).expect("memory");
        assert_eq!(numbers(&mut distinct), [0, 1, 0]);
    }

    #[test]
    fn texts_of_any_length_are_told_apart() {
        let meter = Meter::of_default();
        for last in 0..20 {
            let of_length = |n: usize| ["a".repeat(n), "a".repeat(n) + "\0", "b".repeat(n)];
            let mut texts: Vec<String> = (0..20).flat_map(of_length).collect();
            texts.extend(texts.clone());
            texts.push("a".repeat(last));
            let mut of_values = HashMap::new();
            let expected: Vec<usize> = texts
                .iter()
                .map(|text| {
                    let next = of_values.len();
                    *of_values.entry(text).or_insert(next)
                })
                .collect();
            let cells: Vec<_> =
                texts.iter().map(|text| Some(ScalarValue::Text(text.as_str().into()))).collect();
            let rows = ArrayRows::from_values(ScalarType::Text, &cells);
            assert_eq!(numbers(&mut Distinct::new(&rows, &meter).expect("memory")), expected);
        }
    }
}
