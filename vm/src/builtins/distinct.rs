//! Distinct rows: numbers the values of an array in order of first appearance.
//!
//! Rows are found by a hash of their bytes, in one of many tables by some of its bits: a table that grows moves a small
//! part of the rows, so that a run can be stopped in between.

use crate::operator::meter::{Meter, Scratch};
use crate::value::array::cell_size;
use crate::value::budget::Account;
use crate::value::{ArrayRows, Exhausted, Fault, ScalarType};
use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::BuildHasher;

/// Rows for each table, if all are distinct.
const ROWS_OF_A_TABLE: usize = 1 << 16;

/// Most tables: 16 bits of a hash choose one, others find the entry in it.
const MAX_TABLES: usize = 1 << 16;

/// The distinct values of an array met so far.
pub(super) struct Distinct<'r> {
    rows: &'r ArrayRows,
    /// True if zeros of both signs are one value.
    joins_zeros: bool,
    meter: &'r Meter<'r>,
    hasher: DefaultHashBuilder,
    tables: Vec<HashTable<Entry>>,
    /// The first row with each value.
    firsts: Scratch<'r, u32>,
    /// Bytes of the tables.
    bytes: u64,
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
    /// No values of these rows yet. Floats are compared by their bits, but zeros if they are to be joined.
    pub(super) fn new(
        rows: &'r ArrayRows,
        joins_zeros: bool,
        meter: &'r Meter<'r>,
    ) -> Result<Distinct<'r>, Fault> {
        let tables = (rows.len() / ROWS_OF_A_TABLE).next_power_of_two().min(MAX_TABLES);
        let (tables, firsts) = ((0..tables).map(|_| HashTable::new()).collect(), meter.vec(0)?);
        Ok(Distinct {
            rows,
            joins_zeros,
            meter,
            hasher: DefaultHashBuilder::default(),
            tables,
            firsts,
            bytes: 0,
        })
    }

    /// How many values there are.
    pub(super) fn len(&self) -> usize {
        self.firsts.len()
    }

    /// The number of the value in a row that is present; values are numbered from 0 as they come.
    pub(super) fn number(&mut self, row: usize) -> Result<usize, Fault> {
        let Distinct { rows, joins_zeros, hasher, .. } = self;
        let key = plain_key(rows, row, *joins_zeros);
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

/// The bits of a plain row; `None` of a string.
fn plain_key(rows: &ArrayRows, row: usize, joins_zeros: bool) -> Option<u64> {
    let element = rows.element();
    if !element.is_plain() {
        return None;
    }
    let mut bits = [0; 8];
    bits[..cell_size(element)].copy_from_slice(rows.raw(row));
    let bits = u64::from_le_bytes(bits);
    let negative_zero = match element {
        ScalarType::Float64 | ScalarType::WeakFloat => (-0.0f64).to_bits(),
        ScalarType::Float32 => u64::from((-0.0f32).to_bits()),
        _ => return Some(bits),
    };
    Some(if joins_zeros && bits == negative_zero { 0 } else { bits })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::ScalarValue;
    use hashbrown::HashMap;

    #[test]
    fn values_are_numbered_as_they_come() {
        let values: Vec<_> = (0..5000).map(|i| Some(ScalarValue::Int64(i * 7919 % 1201))).collect();
        let rows = ArrayRows::from_values(ScalarType::Int64, &values);
        let meter = Meter::of_default();
        let mut distinct = Distinct::new(&rows, false, &meter).expect("memory");
        for row in 0..5000 {
            assert_eq!(distinct.number(row), Ok(row % 1201));
        }
        assert_eq!(distinct.len(), 1201);
        assert!(meter.alive() >= 1201 * 8);
        drop(distinct);
        assert_eq!(meter.alive(), 0);
    }

    /// Rows for several tables, as numbers and as texts.
    #[test]
    fn many_rows_are_in_several_tables() {
        const ROWS: u32 = 3 * ROWS_OF_A_TABLE as u32;
        let number = |row: u32| (row.wrapping_mul(7919) % 100_003) as usize;
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
            let mut distinct = Distinct::new(&rows, false, &meter).expect("memory");
            assert!(distinct.tables.len() > 1);
            let found = (0..ROWS as usize).map(|row| distinct.number(row).expect("memory"));
            assert!(found.eq(expected.iter().copied()));
            assert_eq!(distinct.len(), of_values.len());
        }
    }

    #[test]
    fn zeros_and_texts() {
        let meter = Meter::of_default();
        let zeros = [0.0, -0.0, 1.0].map(|x| Some(ScalarValue::Float64(x)));
        let rows = ArrayRows::from_values(ScalarType::Float64, &zeros);
        for (joins, expected) in [(false, [0, 1, 2]), (true, [0, 0, 1])] {
            let mut distinct = Distinct::new(&rows, joins, &meter).expect("memory");
            assert_eq!([0, 1, 2].map(|row| distinct.number(row).expect("memory")), expected);
        }
        let texts = ["a", "", "a"].map(|text| Some(ScalarValue::Text(text.into())));
        let rows = ArrayRows::from_values(ScalarType::Text, &texts);
        let mut distinct = Distinct::new(&rows, false, &meter).expect("memory");
        assert_eq!([0, 1, 2].map(|row| distinct.number(row).expect("memory")), [0, 1, 0]);
    }
}
