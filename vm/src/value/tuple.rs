//! Tuple types: field types, optional field names, and their place in memory.
//!
//! Fields are laid out as a C struct: each at the next offset that satisfies its alignment, the
//! whole rounded up to the largest alignment. Nested tuples are bounded ([`MAX_DEPTH`],
//! [`MAX_LEAVES`]) because a hash-consed expression can describe a type that is exponentially
//! larger than itself.

use crate::value::qtype::QType;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use thiserror::Error;

/// Levels of nesting a tuple type may have.
pub const MAX_DEPTH: u32 = 64;
/// Scalars a tuple type may hold, counted flat.
pub const MAX_LEAVES: u32 = 65_536;

/// A tuple type would be too large, or its names do not fit its fields.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TupleTypeError {
    /// More than [`MAX_DEPTH`] levels of nesting.
    #[error("limit tuple-depth: a tuple type nests {actual} levels deep, at most {MAX_DEPTH} are allowed")]
    Depth {
        /// Levels the type would have.
        actual: u32,
    },
    /// More than [`MAX_LEAVES`] scalars.
    #[error("limit tuple-fields: a tuple type holds {actual} scalars, at most {MAX_LEAVES} are allowed")]
    Leaves {
        /// Scalars the type would hold.
        actual: u64,
    },
    /// A namedtuple needs one name for each field.
    #[error("a namedtuple has {fields} fields and {names} names")]
    NameCount {
        /// Number of fields.
        fields: usize,
        /// Number of names.
        names: usize,
    },
    /// A field name is not a word.
    #[error("`{}` is not a field name: a word of letters, digits and underscores", name.escape_debug())]
    BadName {
        /// The name.
        name: Arc<str>,
    },
    /// Two fields of a namedtuple have one name.
    #[error("duplicate field name `{name}` in a namedtuple")]
    DuplicateName {
        /// The name that stands twice.
        name: Arc<str>,
    },
}

/// The type of a tuple (no names) or a namedtuple (one name for each field).
#[derive(Clone, Debug)]
pub struct TupleType {
    fields: Box<[QType]>,
    names: Option<Box<[Arc<str>]>>,
    offsets: Box<[u32]>,
    size: u32,
    align: u32,
    depth: u32,
    leaves: u32,
    plain: bool,
    stored: bool,
    /// Hash of fields and names, so that looking up a wide type does not walk it.
    hash: u64,
}

impl TupleType {
    /// A tuple of these fields.
    pub fn new(fields: impl Into<Box<[QType]>>) -> Result<Arc<TupleType>, TupleTypeError> {
        Self::build(fields.into(), None)
    }

    /// A namedtuple of these fields.
    pub fn named(
        names: impl Into<Box<[Arc<str>]>>,
        fields: impl Into<Box<[QType]>>,
    ) -> Result<Arc<TupleType>, TupleTypeError> {
        let (names, fields) = (names.into(), fields.into());
        if names.len() != fields.len() {
            return Err(TupleTypeError::NameCount { fields: fields.len(), names: names.len() });
        }
        if let Some(name) = names.iter().find(|n| !is_field_name(n)) {
            return Err(TupleTypeError::BadName { name: name.clone() });
        }
        let mut sorted: Vec<&Arc<str>> = names.iter().collect();
        sorted.sort_unstable();
        if let Some(pair) = sorted.windows(2).find(|w| w[0] == w[1]) {
            return Err(TupleTypeError::DuplicateName { name: pair[0].clone() });
        }
        Self::build(fields, Some(names))
    }

    fn build(fields: Box<[QType]>, names: Option<Box<[Arc<str>]>>) -> Result<Arc<TupleType>, TupleTypeError> {
        let depth = 1 + fields.iter().map(QType::depth).max().unwrap_or(0);
        if depth > MAX_DEPTH {
            return Err(TupleTypeError::Depth { actual: depth });
        }
        // An empty tuple counts as one, or no number of them would reach a limit.
        let leaves: u64 = fields.iter().map(|f| u64::from(f.leaf_count())).sum::<u64>().max(1);
        if leaves > u64::from(MAX_LEAVES) {
            return Err(TupleTypeError::Leaves { actual: leaves });
        }
        let (mut size, mut align) = (0u32, 1u32);
        let mut offsets = Vec::with_capacity(fields.len());
        for field in &fields {
            size = size.next_multiple_of(field.align());
            offsets.push(size);
            size += field.size();
            align = align.max(field.align());
        }
        Ok(Arc::new(TupleType {
            plain: fields.iter().all(QType::is_plain),
            stored: names.is_none() && fields.iter().all(QType::is_storage),
            offsets: offsets.into(),
            size: size.next_multiple_of(align),
            align,
            depth,
            leaves: leaves as u32,
            hash: hash_of(&fields, names.as_deref()),
            fields,
            names,
        }))
    }

    /// The type that stores this one: without names, its fields in their storage types.
    pub fn storage(this: &Arc<TupleType>) -> Arc<TupleType> {
        if this.stored {
            return this.clone();
        }
        let fields: Box<[QType]> = this.fields.iter().map(QType::storage).collect();
        Arc::new(TupleType {
            hash: hash_of(&fields, None),
            fields,
            names: None,
            offsets: this.offsets.clone(),
            stored: true,
            ..**this
        })
    }

    /// True if the type is its own storage type.
    pub fn is_storage(&self) -> bool {
        self.stored
    }

    /// Field types in order.
    pub fn fields(&self) -> &[QType] {
        &self.fields
    }

    /// Field names of a namedtuple; `None` for a tuple.
    pub fn names(&self) -> Option<&[Arc<str>]> {
        self.names.as_deref()
    }

    /// Position of the field with this name.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.names()?.iter().position(|n| &**n == name)
    }

    /// Byte offset of a field from the start of the tuple.
    pub fn offset(&self, field: usize) -> u32 {
        self.offsets[field]
    }

    /// Byte offsets of all fields, ascending.
    pub fn offsets(&self) -> &[u32] {
        &self.offsets
    }

    /// Bytes a value occupies in a frame.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// Alignment in bytes.
    pub fn align(&self) -> u32 {
        self.align
    }

    /// True if no field holds a buffer handle.
    pub fn is_plain(&self) -> bool {
        self.plain
    }

    /// Levels of nesting, 1 for a tuple of scalars.
    pub fn depth(&self) -> u32 {
        self.depth
    }

    /// Scalars inside, counted flat.
    pub fn leaf_count(&self) -> u32 {
        self.leaves
    }
}

/// Field names are words, so that a type's name says which type it is.
fn is_field_name(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|c| c.is_alphabetic() || c == '_')
        && chars.all(|c| c.is_alphanumeric() || c == '_')
}

// Size, offsets and depth follow from fields and names, so they take no part in identity.
impl PartialEq for TupleType {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
            || (self.hash == other.hash && self.fields == other.fields && self.names == other.names)
    }
}

impl Eq for TupleType {}

impl Hash for TupleType {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

/// One walk over the fields; nested tuples give the hash they have.
fn hash_of(fields: &[QType], names: Option<&[Arc<str>]>) -> u64 {
    let mut state = DefaultHasher::new();
    fields.hash(&mut state);
    names.hash(&mut state);
    state.finish()
}

impl fmt::Display for TupleType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.names.is_some() { "namedtuple<" } else { "tuple<" })?;
        for (i, field) in self.fields.iter().enumerate() {
            if i > 0 {
                f.write_str(",")?;
            }
            if let Some(names) = &self.names {
                write!(f, "{}=", names[i])?;
            }
            field.fmt(f)?;
        }
        f.write_str(">")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::qtype::{BOOLEAN, FLOAT32, FLOAT64, INT32};

    #[test]
    fn fields_follow_c_struct_rules() {
        let inner = TupleType::new([BOOLEAN, FLOAT64]).expect("small");
        let t = TupleType::new([INT32, QType::Tuple(inner), FLOAT32]).expect("small");
        assert_eq!((0..3).map(|i| t.offset(i)).collect::<Vec<_>>(), [0, 8, 24]);
        assert_eq!((t.size(), t.align()), (32, 8));
        assert_eq!(t.to_string(), "tuple<INT32,tuple<BOOLEAN,FLOAT64>,FLOAT32>");
    }

    #[test]
    fn exponential_types_hit_the_limit() {
        let mut q = QType::Tuple(TupleType::new([FLOAT32, FLOAT32]).expect("small"));
        let error = loop {
            match TupleType::new([q.clone(), q]) {
                Ok(t) => q = QType::Tuple(t),
                Err(e) => break e,
            }
        };
        assert_eq!(error, TupleTypeError::Leaves { actual: 131_072 });
    }

    #[test]
    fn equal_types_have_one_hash() {
        let hash = |t: &TupleType| {
            let mut state = DefaultHasher::new();
            t.hash(&mut state);
            state.finish()
        };
        let plain = || TupleType::new([INT32, FLOAT64]).expect("small");
        let named =
            |first: &str| TupleType::named([first.into(), "b".into()], [INT32, FLOAT64]).expect("small");
        assert_eq!(hash(&plain()), hash(&plain()));
        assert_eq!(
            (hash(&plain()), plain()),
            (hash(&TupleType::storage(&named("a"))), TupleType::storage(&named("a")))
        );
        assert!(plain() != named("a") && named("a") != named("c"));
        assert!(hash(&plain()) != hash(&named("a")) && hash(&named("a")) != hash(&named("c")));
    }

    #[test]
    fn names_must_be_distinct() {
        let error = TupleType::named(["a".into(), "a".into()], [INT32, INT32]).unwrap_err();
        assert_eq!(error.to_string(), "duplicate field name `a` in a namedtuple");
    }
}
