//! Dictionaries and sets of the interpreters: keys in the order in which they came in.

use super::{Step, Stop, raise};
use crate::function::reference::Datum;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// A dictionary or a set, which several names share.
#[derive(Clone, Debug)]
pub(super) struct Dict {
    rows: Rc<RefCell<Rows>>,
}

#[derive(Debug, Default)]
struct Rows {
    keys: Vec<Datum>,
    /// As many as keys; truth values in a set.
    values: Vec<Datum>,
    places: HashMap<(bool, u64), usize>,
}

/// What makes keys equal: truth values are integers, and the zeros are one float.
fn identity(key: Datum) -> Step<(bool, u64)> {
    match key {
        Datum::Float(value) if value.is_nan() => raise("ValueError"),
        Datum::Float(value) => Ok((true, (value + 0.0).to_bits())),
        Datum::Int(value) => Ok((false, value as u64)),
        Datum::Bool(value) => Ok((false, value.into())),
    }
}

impl Dict {
    /// One without keys.
    pub(super) fn new() -> Dict {
        Dict { rows: Rc::default() }
    }

    pub(super) fn len(&self) -> i64 {
        self.rows.borrow().keys.len() as i64
    }

    pub(super) fn keys(&self) -> Vec<Datum> {
        self.rows.borrow().keys.clone()
    }

    /// The value of a key.
    pub(super) fn get(&self, key: Datum) -> Step<Option<Datum>> {
        let (identity, rows) = (identity(key)?, self.rows.borrow());
        Ok(rows.places.get(&identity).map(|place| rows.values[*place]))
    }

    /// Gives a key a value.
    pub(super) fn put(&self, key: Datum, value: Datum) -> Step<()> {
        let (identity, mut rows) = (identity(key)?, self.rows.borrow_mut());
        match rows.places.get(&identity).copied() {
            Some(place) => rows.values[place] = value,
            None => {
                let place = rows.keys.len();
                rows.places.insert(identity, place);
                rows.keys.push(key);
                rows.values.push(value);
            }
        }
        Ok(())
    }

    /// Adds a key to a set.
    pub(super) fn add(&self, key: Datum) -> Step<()> {
        self.put(key, Datum::Bool(true))
    }

    /// The key that came in at a number.
    pub(super) fn key_at(&self, at: i64) -> Step<Datum> {
        place(&self.rows.borrow().keys, at)
    }

    /// The value behind it.
    pub(super) fn value_at(&self, at: i64) -> Step<Datum> {
        place(&self.rows.borrow().values, at)
    }
}

fn place(of: &[Datum], at: i64) -> Step<Datum> {
    let at = if at < 0 { at + of.len() as i64 } else { at };
    of.get(at as usize).copied().ok_or(Stop::Raised("IndexError".into()))
}
