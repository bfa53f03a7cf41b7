//! A schema as it is written: modules, imports and definitions with their places, names not yet bound.

use cembra_vm::program::instruction::Span;
use std::sync::Arc;

/// A name and where it stands.
#[derive(Clone, Debug)]
pub struct NamePlace {
    /// The name.
    pub name: Arc<str>,
    /// Number of the module it stands in, in the order of loading.
    pub module: u32,
    /// Place in that module's text.
    pub span: Span,
}

/// A module.
#[derive(Clone, Debug)]
pub struct ModuleText {
    /// Its name, empty for definitions without `module`.
    pub name: NamePlace,
    /// What stands behind `version`.
    pub version: Option<Arc<str>>,
    /// Modules whose types it uses.
    pub imports: Vec<Import>,
    /// Types, in order.
    pub definitions: Vec<Definition>,
}

/// `from module import names`.
#[derive(Clone, Debug)]
pub struct Import {
    /// The module.
    pub module: NamePlace,
    /// Some types, or all of them for `*`.
    pub names: Option<Vec<NamePlace>>,
}

/// `name = …` or `name |= …`.
#[derive(Clone, Debug)]
pub struct Definition {
    /// The type.
    pub name: NamePlace,
    /// True for `|=`.
    pub extends: bool,
    /// True for `(…)` without a constructor: the type's name is the constructor's.
    pub is_product: bool,
    /// Constructors, and names that may be types.
    pub alternatives: Vec<AlternativeText>,
    /// Fields of every constructor that no equality looks at.
    pub attributes: Vec<FieldText>,
}

/// A constructor, or the name of a type that is included.
#[derive(Clone, Debug)]
pub struct AlternativeText {
    /// Its name.
    pub name: NamePlace,
    /// `@`: compared by identity.
    pub is_unique: bool,
    /// Fields; nothing without brackets.
    pub fields: Option<Vec<FieldText>>,
}

/// A field.
#[derive(Clone, Debug)]
pub struct FieldText {
    /// Name of its type.
    pub type_name: NamePlace,
    /// One, an option, or a list.
    pub multiplicity: Multiplicity,
    /// `\`: no child for visitors.
    pub is_hidden: bool,
    /// Its name, if it has one.
    pub name: Option<NamePlace>,
}

/// How many values a field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Multiplicity {
    /// Exactly one.
    One,
    /// One or none: `?`.
    Option,
    /// Any number in order: `*`.
    List,
}

impl Multiplicity {
    /// As a schema writes it.
    pub fn sign(self) -> &'static str {
        match self {
            Multiplicity::One => "",
            Multiplicity::Option => "?",
            Multiplicity::List => "*",
        }
    }
}

/// Where the parts of a schema were defined, for messages.
#[derive(Debug, Default)]
pub(super) struct Places {
    pub sorts: Vec<NamePlace>,
    pub constructors: Vec<NamePlace>,
    /// Whether a field or an alternative names the sort.
    pub is_used: Vec<bool>,
}
