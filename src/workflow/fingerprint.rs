//! Fingerprints: what a value contributes to the key of a result.
//!
//! A value is fed to SHA-256 as a record that cannot be mistaken for another: the kind of the record, a tag that
//! says the type, and lengths in front of whatever follows them.
//!
//! ```text
//! leaf    0  length of tag  tag  length of bytes    bytes
//! group   1  length of tag  tag  number of members  each member, a record
//! ```
//!
//! 1. Records are prefix-free: equal keys mean equal sequences of records, collisions of SHA-256 aside. `("ab", "c")` and
//!    `("a", "bc")` differ.
//! 2. Tags tell types apart: `1i64`, `1u64`, `1.0`, `true` and `"1"` differ. Floats differ if their bits do.
//! 3. The key does not depend on the process, the machine or addresses, so that it may name a file.
//!
//! ```
//! use cembra::workflow::{Fingerprint, Fingerprinter, StepKey};
//! struct Tile { rows: u64, name: String }
//! impl Fingerprint for Tile {
//!     fn feed(&self, to: &mut Fingerprinter) {
//!         to.group("Tile", &[&self.rows, &self.name]);
//!     }
//! }
//! let tile = Tile { rows: 8, name: "a".to_owned() };
//! assert_ne!(StepKey::of(&tile), StepKey::of(&(8u64, "a")));
//! ```

use cembra_vm::value::QType;
use sha2::{Digest, Sha256};
use std::fmt;
use std::sync::Arc;

/// What can be part of a key.
pub trait Fingerprint {
    /// Feeds exactly one record: all that a result may depend on.
    fn feed(&self, to: &mut Fingerprinter);
}

/// Takes the records of values.
#[derive(Debug)]
pub struct Fingerprinter {
    hash: Sha256,
}

impl Fingerprinter {
    /// A value without parts: a tag that says its type, and its bytes.
    pub fn leaf(&mut self, tag: &str, bytes: &[u8]) {
        self.head(0, tag, bytes.len());
        self.hash.update(bytes);
    }

    /// A value with parts: a tag that says its type, and its members in order.
    pub fn group(&mut self, tag: &str, members: &[&dyn Fingerprint]) {
        self.head(1, tag, members.len());
        members.iter().for_each(|member| member.feed(self));
    }

    fn head(&mut self, kind: u8, tag: &str, length: usize) {
        self.hash.update([kind]);
        self.hash.update((tag.len() as u64).to_le_bytes());
        self.hash.update(tag);
        self.hash.update((length as u64).to_le_bytes());
    }
}

/// The key of a result: a digest of 256 bits. It is written as 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StepKey([u8; 32]);

impl StepKey {
    /// The key of a value.
    pub fn of(value: &(impl Fingerprint + ?Sized)) -> StepKey {
        let mut to = Fingerprinter { hash: Sha256::new() };
        value.feed(&mut to);
        StepKey(to.hash.finalize().into())
    }
}

impl fmt::Display for StepKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for StepKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StepKey({self})")
    }
}

impl Fingerprint for StepKey {
    fn feed(&self, to: &mut Fingerprinter) {
        to.leaf("StepKey", &self.0);
    }
}

macro_rules! plain_numbers {
    ($($number:ident)*) => {
        $(impl Fingerprint for $number {
            fn feed(&self, to: &mut Fingerprinter) {
                to.leaf(stringify!($number), &self.to_le_bytes());
            }
        })*
    };
}

plain_numbers!(u8 u16 u32 u64 u128 i8 i16 i32 i64 i128 f32 f64);

impl Fingerprint for usize {
    /// The same on machines of 32 bits and of 64.
    fn feed(&self, to: &mut Fingerprinter) {
        to.leaf("usize", &(*self as u64).to_le_bytes());
    }
}

impl Fingerprint for bool {
    fn feed(&self, to: &mut Fingerprinter) {
        to.leaf("bool", &[u8::from(*self)]);
    }
}

impl Fingerprint for str {
    fn feed(&self, to: &mut Fingerprinter) {
        to.leaf("str", self.as_bytes());
    }
}

impl Fingerprint for String {
    fn feed(&self, to: &mut Fingerprinter) {
        self.as_str().feed(to);
    }
}

impl Fingerprint for QType {
    fn feed(&self, to: &mut Fingerprinter) {
        to.leaf("QType", self.to_string().as_bytes());
    }
}

impl<T: Fingerprint + ?Sized> Fingerprint for &T {
    fn feed(&self, to: &mut Fingerprinter) {
        (**self).feed(to);
    }
}

impl<T: Fingerprint + ?Sized> Fingerprint for Arc<T> {
    fn feed(&self, to: &mut Fingerprinter) {
        (**self).feed(to);
    }
}

impl<T: Fingerprint> Fingerprint for Option<T> {
    fn feed(&self, to: &mut Fingerprinter) {
        match self {
            Some(value) => to.group("Option", &[value]),
            None => to.group("Option", &[]),
        }
    }
}

impl<T: Fingerprint> Fingerprint for [T] {
    fn feed(&self, to: &mut Fingerprinter) {
        let members: Vec<&dyn Fingerprint> = self.iter().map(|member| member as &dyn Fingerprint).collect();
        to.group("list", &members);
    }
}

impl<T: Fingerprint> Fingerprint for Vec<T> {
    fn feed(&self, to: &mut Fingerprinter) {
        self.as_slice().feed(to);
    }
}

macro_rules! tuples {
    ($(($($member:ident $position:tt),*))*) => {
        $(impl<$($member: Fingerprint),*> Fingerprint for ($($member,)*) {
            fn feed(&self, to: &mut Fingerprinter) {
                to.group("tuple", &[$(&self.$position),*]);
            }
        })*
    };
}

tuples!((A 0)(A 0, B 1)(A 0, B 1, C 2)(A 0, B 1, C 2, D 3));

impl Fingerprint for () {
    fn feed(&self, to: &mut Fingerprinter) {
        to.group("tuple", &[]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cembra_vm::value::qtype::{FLOAT32, FLOAT64};
    use hashbrown::HashSet;

    #[test]
    fn values_that_differ_have_keys_that_differ() {
        let values: Vec<Box<dyn Fingerprint>> = vec![
            Box::new(("ab", "c")),
            Box::new(("a", "bc")),
            Box::new(("abc", "")),
            Box::new("abc"),
            Box::new(("ab", "c", ())),
            Box::new((("ab", "c"),)),
            Box::new(vec!["ab", "c"]),
            Box::new(vec![vec!["ab"], vec!["c"]]),
            Box::new(vec![vec!["ab", "c"], vec![]]),
            Box::new(Some("abc")),
            Box::new(None::<u8>),
            Box::new(()),
            Box::new(1i64),
            Box::new(1u64),
            Box::new(1usize),
            Box::new(1u8),
            Box::new(1.0),
            Box::new(1.0f32),
            Box::new(true),
            Box::new(false),
            Box::new("1"),
            Box::new(0.0),
            Box::new(-0.0),
            Box::new(FLOAT32),
            Box::new(FLOAT64),
            Box::new("FLOAT64"),
        ];
        let keys: HashSet<StepKey> = values.iter().map(|value| StepKey::of(&**value)).collect();
        assert_eq!(keys.len(), values.len());
    }

    #[test]
    fn the_way_to_a_value_does_not_count() {
        let text = "abc".to_owned();
        assert_eq!(StepKey::of(&text), StepKey::of("abc"));
        assert_eq!(StepKey::of(&Arc::new(text.clone())), StepKey::of(&&text));
        assert_eq!(StepKey::of(&vec![1, 2]), StepKey::of(&[1, 2][..]));
    }

    #[test]
    fn types_of_one_shape_are_told_apart_by_their_tags() {
        struct Rows(u64);
        struct Bytes(u64);
        impl Fingerprint for Rows {
            fn feed(&self, to: &mut Fingerprinter) {
                to.group("Rows", &[&self.0]);
            }
        }
        impl Fingerprint for Bytes {
            fn feed(&self, to: &mut Fingerprinter) {
                to.group("Bytes", &[&self.0]);
            }
        }
        assert_ne!(StepKey::of(&Rows(3)), StepKey::of(&Bytes(3)));
        assert_eq!(StepKey::of(&Rows(3)), StepKey::of(&Rows(3)));
    }

    #[test]
    fn keys_are_the_same_in_every_process() {
        // Computed by hand: SHA-256 of 00, u64 3, "str", u64 3, "abc".
        let mut record = vec![0u8];
        record.extend(3u64.to_le_bytes());
        record.extend(b"str");
        record.extend(3u64.to_le_bytes());
        record.extend(b"abc");
        let expected: [u8; 32] = Sha256::digest(&record).into();
        assert_eq!(StepKey::of("abc").0, expected);
        assert_eq!(StepKey::of("abc").to_string().len(), 64);
    }
}
