//! `Schema`: types, constructors and fields with all names bound.
//!
//! ```text
//! expr = Add(expr left, expr right) | Num(int n) attributes (posinfo pos)
//!  │      │        │                              │
//!  Sort   │        fields in order, then the attributes of the sum
//!         Constructor: belongs to one sort, is found by name
//! ```
//!
//! A sort admits the constructors of its own and of the types it includes, and data of builtin types.

use crate::schema::builtin::{Builtin, Datum};
use crate::schema::definition::Multiplicity;
use hashbrown::HashMap;
use std::fmt;
use std::sync::Arc;

/// Number of a type in its schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SortId(pub(crate) u32);

impl SortId {
    /// Position among the schema's types.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Number of a constructor in its schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConstructorId(pub(crate) u32);

impl ConstructorId {
    /// Position among the schema's constructors.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A field or an attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldDef {
    /// Its name, unique in the constructor.
    pub name: Arc<str>,
    /// What it holds.
    pub sort: SortId,
    /// How many of them.
    pub multiplicity: Multiplicity,
    /// No child for visitors, not part of structural equality.
    pub is_hidden: bool,
    /// From `attributes`: like a hidden field, written apart.
    pub is_attribute: bool,
}

impl FieldDef {
    /// True if visitors see what it holds.
    pub fn is_visible(&self) -> bool {
        !self.is_hidden && !self.is_attribute
    }
}

/// A constructor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constructor {
    /// Its name, unique in the schema.
    pub name: Arc<str>,
    /// The type that defines it.
    pub sort: SortId,
    /// `@`: compared by identity; may be part of cycles.
    pub is_unique: bool,
    /// Fields in order, then attributes.
    pub fields: Box<[FieldDef]>,
}

impl Constructor {
    /// Fields without attributes.
    pub fn own_fields(&self) -> &[FieldDef] {
        &self.fields[..self.attribute_start()]
    }

    /// Attributes.
    pub fn attributes(&self) -> &[FieldDef] {
        &self.fields[self.attribute_start()..]
    }

    fn attribute_start(&self) -> usize {
        self.fields.iter().take_while(|field| !field.is_attribute).count()
    }
}

/// An alternative of a sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alternative {
    /// A constructor of this type.
    Constructor(ConstructorId),
    /// All that another type admits.
    Includes(SortId),
}

/// How a type is defined.
#[derive(Clone, Debug)]
pub enum SortForm {
    /// By a predicate on data.
    Builtin(Builtin),
    /// `name = (…)`: one constructor of the type's own name.
    Product(ConstructorId),
    /// Alternatives; a single included type is an alias.
    Sum(Vec<Alternative>),
}

/// A type.
#[derive(Clone, Debug)]
pub struct Sort {
    /// Its name.
    pub name: Arc<str>,
    /// Its definition.
    pub form: SortForm,
    /// A bit for each type whose constructors and data it admits, itself included.
    pub(super) included: Box<[u64]>,
}

impl Sort {
    /// True if a predicate on data defines it.
    pub fn is_builtin(&self) -> bool {
        matches!(self.form, SortForm::Builtin(_))
    }

    fn includes(&self, sort: SortId) -> bool {
        self.included[sort.index() / 64] & (1 << (sort.index() % 64)) != 0
    }
}

/// A schema.
#[derive(Clone, Debug)]
pub struct Schema {
    /// Name of its module, empty if it has none.
    pub name: Arc<str>,
    /// The text behind `version`.
    pub version: Option<Arc<str>>,
    pub(super) sorts: Vec<Sort>,
    pub(super) constructors: Vec<Constructor>,
    pub(super) first: Option<SortId>,
    pub(super) sort_names: HashMap<Arc<str>, SortId>,
    pub(super) constructor_names: HashMap<Arc<str>, ConstructorId>,
}

impl Schema {
    /// Types in order of definition, imported ones first, builtin ones that are used last.
    pub fn sorts(&self) -> &[Sort] {
        &self.sorts
    }

    /// Constructors in order of definition.
    pub fn constructors(&self) -> &[Constructor] {
        &self.constructors
    }

    /// A type.
    pub fn sort(&self, id: SortId) -> &Sort {
        &self.sorts[id.index()]
    }

    /// A constructor.
    pub fn constructor(&self, id: ConstructorId) -> &Constructor {
        &self.constructors[id.index()]
    }

    /// The type of a name.
    pub fn find_sort(&self, name: &str) -> Option<SortId> {
        self.sort_names.get(name).copied()
    }

    /// The constructor of a name.
    pub fn find_constructor(&self, name: &str) -> Option<ConstructorId> {
        self.constructor_names.get(name).copied()
    }

    /// True if a value of this constructor may stand where the type is wanted.
    pub fn admits(&self, sort: SortId, constructor: ConstructorId) -> bool {
        self.sort(sort).includes(self.constructor(constructor).sort)
    }

    /// True if the datum may stand where the type is wanted.
    pub fn admits_datum(&self, sort: SortId, datum: &Datum) -> bool {
        let wanted = self.sort(sort);
        let accepts = |(index, other): (usize, &Sort)| match &other.form {
            SortForm::Builtin(builtin) => wanted.includes(SortId(index as u32)) && (builtin.accepts)(datum),
            _ => false,
        };
        // Builtin types come last, and there are few.
        self.sorts
            .iter()
            .enumerate()
            .rev()
            .take_while(|(_, other)| matches!(other.form, SortForm::Builtin(_)))
            .any(accepts)
    }

    /// True if data may stand where the type is wanted.
    pub fn admits_some_datum(&self, sort: SortId) -> bool {
        let wanted = self.sort(sort);
        let is_included =
            |(index, other): (usize, &Sort)| other.is_builtin() && wanted.includes(SortId(index as u32));
        self.sorts.iter().enumerate().any(is_included)
    }

    /// The only constructor of a type that has one, and no data.
    pub fn sole_constructor(&self, sort: SortId) -> Option<ConstructorId> {
        match &self.sort(sort).form {
            SortForm::Product(id) => Some(*id),
            SortForm::Sum(alternatives) => match alternatives[..] {
                [Alternative::Constructor(id)] => Some(id),
                _ => None,
            },
            SortForm::Builtin(_) => None,
        }
    }

    /// True if the type is builtin.
    pub fn is_builtin(&self, sort: SortId) -> bool {
        self.sort(sort).is_builtin()
    }

    /// The first type that the schema's own module defines: what a document is, unless one says otherwise.
    pub fn first_sort(&self) -> Option<SortId> {
        self.first
    }

    /// Constructors with `@`.
    pub fn unique_constructors(&self) -> impl Iterator<Item = ConstructorId> + '_ {
        let unique = |(index, c): (usize, &Constructor)| c.is_unique.then_some(ConstructorId(index as u32));
        self.constructors.iter().enumerate().filter_map(unique)
    }
}

/// Content hash of a schema, equal across processes and machines: the SHA-256 of its printed text.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SchemaId(pub [u8; 32]);

impl fmt::Display for SchemaId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|b| write!(f, "{b:02x}"))
    }
}

impl fmt::Debug for SchemaId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SchemaId({self})")
    }
}
