//! Hash tables of dictionaries and sets: where a key stands among the keys, in the order they came in.
//!
//! ```text
//! keys   7  3  9              the list of keys
//! table  0 2 0 0 1 3 0 0      at the hash of a key or behind it: its position + 1; 0 where nothing is
//! ```
//!
//! Keys and table are arrays like others: the table has twice as many cells as there are keys or more, a power of 2, and grows
//! with them. A table that does not fit its keys finds nothing or raises; it never leads outside.

use crate::array::meter::Meter;
use crate::operator::{Family, KernelCall, Overload};
use crate::value::nd_view::{NdCell, NdView};
use crate::value::qtype::{FLOAT64, INT64};
use crate::value::{Category, Fault, NdType, QType, ScalarType};

/// Name of `python.find_key`.
pub const FIND_KEY: &str = "python.find_key";
/// Name of `python.key_position`.
pub const KEY_POSITION: &str = "python.key_position";
/// Name of `python.add_key`.
pub const ADD_KEY: &str = "python.add_key";
/// Name of `python.same_length`.
pub const SAME_LENGTH: &str = "python.same_length";
/// Cells of the smallest table.
const LEAST_CELLS: usize = 8;
/// Cells that a search passes over without being charged.
const FREE_PROBES: usize = 32;

/// The rows of this file.
pub fn rows() -> Vec<Family> {
    vec![
        Family::new(
            FIND_KEY,
            &["table", "keys", "key"],
            "The position of a key among the keys, by their hash table; -1 if it is not there.",
        )
        .cost_of(8)
        .raises()
        .on_demand(|family, args| search(family, args, |_, position| Ok(position.unwrap_or(-1)))),
        Family::new(
            KEY_POSITION,
            &["table", "keys", "key"],
            "The position of a key among the keys, by their hash table. Raises if it is not there.",
        )
        .cost_of(8)
        .raises()
        .on_demand(|family, args| {
            search(family, args, |key, position| {
                let message = || format!("KeyError: {key}").into();
                position.ok_or_else(|| Fault::Trap { category: Category::Raised, message: message() })
            })
        }),
        Family::new(
            ADD_KEY,
            &["table", "keys"],
            "The hash table itself, in which the last of the keys now has its place.",
        )
        .cost_of(8)
        .updating()
        .on_demand(add_key),
        Family::new(
            SAME_LENGTH,
            &["length", "before"],
            "The length. Raises if it is not the one from before: a dictionary that is iterated over.",
        )
        .raises()
        .exact_binary(|length: i64, before: i64| match length == before {
            true => Ok(length),
            false => Err(Fault::Trap {
                category: Category::Raised,
                message: "RuntimeError: dictionary changed size during iteration".into(),
            }),
        }),
    ]
}

/// A number that is a key.
trait Key: NdCell + PartialEq {
    /// True of what does not equal itself.
    fn is_nan(self) -> bool;
    /// A number that equal keys have in common.
    fn hash(self) -> u64;
    /// As Python prints it.
    fn text(self) -> String;
}

impl Key for i64 {
    fn is_nan(self) -> bool {
        false
    }

    fn hash(self) -> u64 {
        mixed(self as u64)
    }

    fn text(self) -> String {
        self.to_string()
    }
}

impl Key for f64 {
    fn is_nan(self) -> bool {
        f64::is_nan(self)
    }

    fn hash(self) -> u64 {
        // Both zeros are one key.
        mixed((self + 0.0).to_bits())
    }

    fn text(self) -> String {
        format!("{self:?}")
    }
}

/// Spreads the bits of a number.
fn mixed(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// True for the types of a table and of keys.
fn are_table_and_keys(table: NdType, keys: NdType) -> bool {
    let is_list = |of: NdType| of.rank() == 1 && !of.is_unit(0);
    let is_key = matches!(keys.element(), ScalarType::Int64 | ScalarType::Float64);
    table.element() == ScalarType::Int64 && is_list(table) && is_list(keys) && is_key
}

/// A search that makes its result of the key's text and its position.
fn search(
    family: &Family,
    args: &[QType],
    result: fn(&str, Option<i64>) -> Result<i64, Fault>,
) -> Option<Overload> {
    let [QType::NdArray(table), QType::NdArray(keys), key] = args else { return None };
    let fits = are_table_and_keys(*table, *keys) && *key == QType::Scalar(keys.element());
    let is_float = *key == FLOAT64;
    fits.then(|| {
        family.make_general(args, INT64, move |call| {
            let found = match is_float {
                true => find::<f64>(call, call.plain(2), result),
                false => find::<i64>(call, call.plain(2), result),
            }?;
            call.set::<i64>(found);
            Ok(())
        })
    })
}

fn find<K: Key>(
    call: &KernelCall<'_>,
    key: K,
    result: fn(&str, Option<i64>) -> Result<i64, Fault>,
) -> Result<i64, Fault> {
    let (table, keys) = (call.nd(0), call.nd(1));
    let position = match place_of(in_order::<i64>(&table)?, in_order(&keys)?, key, call.meter())? {
        Place::At(position) => Some(position as i64),
        Place::Free(_) | Place::Full => None,
    };
    match position {
        Some(_) => result("", position),
        None => result(&key.text(), None),
    }
}

/// Where a search ends.
enum Place {
    /// At the key: its position among the keys.
    At(usize),
    /// At a cell of the table that is free.
    Free(usize),
    /// Nowhere: the table has no free cell.
    Full,
}

/// Looks for a key from the cell of its hash on.
fn place_of<K: Key>(table: &[i64], keys: &[K], key: K, meter: &Meter<'_>) -> Result<Place, Fault> {
    if key.is_nan() {
        return Err(Fault::Domain { message: "NaN is no key: it equals nothing".into() });
    }
    if table.is_empty() {
        return Ok(Place::Full);
    }
    if !table.len().is_power_of_two() {
        return Err(Fault::Range { message: "a hash table has a power of 2 of cells".to_owned() });
    }
    let mask = table.len() - 1;
    let mut cell = key.hash() as usize & mask;
    for probe in 0..table.len() {
        let position = table[cell];
        if position == 0 {
            return Ok(Place::Free(cell));
        }
        let known = usize::try_from(position - 1).ok().filter(|at| keys.get(*at) == Some(&key));
        if let Some(known) = known {
            return Ok(Place::At(known));
        }
        if probe >= FREE_PROBES {
            meter.rows(1)?;
        }
        cell = (cell + 1) & mask;
    }
    Ok(Place::Full)
}

/// Elements that lie one behind the other.
fn in_order<'a, T: NdCell>(view: &NdView<'a>) -> Result<&'a [T], Fault> {
    let apart = || Fault::Range { message: "keys lie one behind the other".to_owned() };
    view.as_slice().ok_or_else(apart)
}

fn add_key(family: &Family, args: &[QType]) -> Option<Overload> {
    let [QType::NdArray(table), QType::NdArray(keys)] = args else { return None };
    let (table, is_float) = (*table, keys.element() == ScalarType::Float64);
    are_table_and_keys(table, *keys).then(|| {
        family.make_general(args, QType::NdArray(table), move |call| match is_float {
            true => add::<f64>(call, table),
            false => add::<i64>(call, table),
        })
    })
}

/// Gives the last key its cell, in a larger table if half of the cells are taken.
fn add<K: Key>(call: &mut KernelCall<'_>, table: NdType) -> Result<(), Fault> {
    let keys = call.nd(1);
    let keys = in_order::<K>(&keys)?;
    call.charge_rows(1)?;
    let meter = call.meter();
    let rows = call.rows_to_resize()?;
    let view = rows.view();
    let is_full = keys.len().saturating_mul(2) > view.len();
    // A view that a host made, turned or cut, is no table of ours.
    let is_table = view.is_contiguous() && view.start() == 0 && view.len().is_power_of_two();
    if !is_full && is_table {
        let cells = bytemuck::cast_slice_mut(rows.resize_within(table, &[rows.shape()[0]], meter)?);
        enter(cells, keys, keys.len().saturating_sub(1), meter)?;
    } else {
        let size = keys.len().saturating_mul(4).max(LEAST_CELLS).checked_next_power_of_two();
        let size = size.unwrap_or(usize::MAX);
        meter.check_array(size)?;
        meter.rows(keys.len())?;
        let cells: &mut [i64] = bytemuck::cast_slice_mut(rows.resize_within(table, &[size], meter)?);
        for part in meter.strides(cells.len()) {
            cells[part?].fill(0);
        }
        for part in meter.strides(keys.len()) {
            for position in part? {
                enter(cells, keys, position, meter)?;
            }
        }
    }
    call.keep_result();
    Ok(())
}

/// Writes the position of a key, unless an equal one is there.
fn enter<K: Key>(cells: &mut [i64], keys: &[K], position: usize, meter: &Meter<'_>) -> Result<(), Fault> {
    let Some(key) = keys.get(position) else { return Ok(()) };
    match place_of(cells, keys, *key, meter)? {
        Place::Free(cell) => cells[cell] = position as i64 + 1,
        Place::At(_) => {}
        Place::Full => return Err(Fault::Range { message: "the hash table is full".to_owned() }),
    }
    Ok(())
}
