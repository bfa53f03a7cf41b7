//! What is wrong with a schema: errors and warnings, each with its rule, its place and a hint.

use cembra_vm::program::instruction::Span;
use std::borrow::Cow;
use std::sync::Arc;
use thiserror::Error;

/// How grave a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The schema means something, if not what one would expect.
    Warning,
    /// The schema cannot be used.
    Error,
}

/// A finding about a schema.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{problem}")]
pub struct SchemaError {
    /// What it is.
    pub problem: SchemaProblem,
    /// The module with the place; empty for the schema itself if it has no `module`.
    pub module: Arc<str>,
    /// Where, in bytes of the module's text.
    pub span: Span,
}

/// What can be wrong with a schema.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SchemaProblem {
    /// The text or the number of its types is beyond a limit.
    #[error("limit {name}: {actual}, at most {limit} are allowed")]
    Limit {
        /// Name of the limit.
        name: &'static str,
        /// What the schema has.
        actual: usize,
        /// What is allowed.
        limit: usize,
    },
    /// A character that begins no token.
    #[error("unexpected character {character:?}")]
    Character {
        /// The character.
        character: char,
    },
    /// A version without its closing quote.
    #[error("unterminated string")]
    UnterminatedString,
    /// Another token was expected.
    #[error("Unmatched {expected} (found {found})")]
    Unmatched {
        /// What was expected.
        expected: &'static str,
        /// What stands there.
        found: String,
    },
    /// `...` among alternatives or fields.
    #[error("`...` defines nothing")]
    Ellipsis,
    /// `*?` or `?*`.
    #[error("a field is a list or an option, not both")]
    TwoModifiers,
    /// An import of a module that is not there.
    #[error("there is no module `{name}`")]
    UnknownModule {
        /// The module.
        name: Arc<str>,
    },
    /// Modules that import each other.
    #[error("{}", circle_text(modules))]
    ImportCycle {
        /// The modules of the circle.
        modules: Vec<String>,
    },
    /// An import of a type that its module lacks.
    #[error("module `{module}` has no type `{name}`")]
    UnknownImport {
        /// The module.
        module: Arc<str>,
        /// The type.
        name: Arc<str>,
    },
    /// Two imports bring different types of one name.
    #[error("type `{name}` is imported from `{first}` and from `{second}`")]
    ImportConflict {
        /// The type.
        name: Arc<str>,
        /// Where it came from first.
        first: Arc<str>,
        /// Where another comes from.
        second: Arc<str>,
    },
    /// A second definition of a type.
    #[error("Redefinition of type {name}")]
    DuplicateType {
        /// The type.
        name: Arc<str>,
    },
    /// A constructor of two types.
    #[error("Redefinition of constructor {name}; Defined in {first} and {second}")]
    DuplicateConstructor {
        /// The constructor.
        name: Arc<str>,
        /// The type that has it first.
        first: Arc<str>,
        /// The type that has it again.
        second: Arc<str>,
    },
    /// Two fields of one name.
    #[error("Redefinition of field {field} of {constructor}")]
    DuplicateField {
        /// The constructor.
        constructor: Arc<str>,
        /// The field.
        field: Arc<str>,
    },
    /// A type with the name of a builtin.
    #[error("Redefinition of the builtin type {name}")]
    RedefinedBuiltin {
        /// The name.
        name: Arc<str>,
    },
    /// `|=` on a type that does not exist.
    #[error("there is no type `{name}` to extend")]
    NothingToExtend {
        /// The type.
        name: Arc<str>,
    },
    /// `|=` on a product, or with one.
    #[error("type `{name}` is a product; only a sum can be extended, and with alternatives")]
    ExtendedProduct {
        /// The type.
        name: Arc<str>,
    },
    /// A type that nothing defines.
    #[error("Undefined type {name}, used in {}", users.join(", "))]
    UndefinedType {
        /// The type.
        name: Arc<str>,
        /// Constructors and types that use it.
        users: Vec<String>,
        /// A type that looks like it.
        near: Option<Arc<str>>,
    },
    /// Types that consist of each other.
    #[error("types are defined by each other: {}", types.join(" = "))]
    AliasCycle {
        /// The types of the circle.
        types: Vec<String>,
    },
    /// A constructor of which there can be no finite value.
    #[error("{constructor} has no finite value: its field {field} needs a {field_type} first")]
    Uninhabited {
        /// The constructor.
        constructor: Arc<str>,
        /// A field that can never be filled.
        field: Arc<str>,
        /// The field's type.
        field_type: Arc<str>,
    },
    /// A constructor with a name that texts use for data.
    #[error("`{name}` is a datum in texts and cannot name a constructor")]
    ReservedConstructor {
        /// The name.
        name: Arc<str>,
    },
    /// A constructor that begins like a type.
    #[error("constructor `{name}` should start with an uppercase letter")]
    LowercaseConstructor {
        /// The constructor.
        name: Arc<str>,
    },
    /// A type that begins like a constructor.
    #[error("type `{name}` should start with a lowercase letter")]
    UppercaseType {
        /// The type.
        name: Arc<str>,
    },
    /// A field with the name of a keyword.
    #[error("field `{field}` of {constructor} is a keyword; typed layers call it `{field}_`")]
    KeywordField {
        /// The constructor.
        constructor: Arc<str>,
        /// The field.
        field: Arc<str>,
    },
    /// A type that nothing uses.
    #[error("type `{name}` is not used")]
    UnusedType {
        /// The type.
        name: Arc<str>,
    },
}

fn circle_text(modules: &[String]) -> String {
    match modules {
        [module] => format!("module `{module}` imports itself"),
        several => format!("modules import each other: {}", several.join(", ")),
    }
}

impl SchemaProblem {
    /// How grave it is.
    pub fn severity(&self) -> Severity {
        match self {
            SchemaProblem::LowercaseConstructor { .. }
            | SchemaProblem::UppercaseType { .. }
            | SchemaProblem::KeywordField { .. }
            | SchemaProblem::UnusedType { .. } => Severity::Warning,
            _ => Severity::Error,
        }
    }

    /// The rule's name, the same in every version.
    pub fn rule(&self) -> &'static str {
        match self {
            SchemaProblem::Limit { .. } => "limit",
            SchemaProblem::Character { .. } => "unexpected-character",
            SchemaProblem::UnterminatedString => "unterminated-string",
            SchemaProblem::Unmatched { .. } => "unmatched-token",
            SchemaProblem::Ellipsis => "ellipsis",
            SchemaProblem::TwoModifiers => "two-modifiers",
            SchemaProblem::UnknownModule { .. } => "unknown-module",
            SchemaProblem::ImportCycle { .. } => "import-cycle",
            SchemaProblem::UnknownImport { .. } => "unknown-import",
            SchemaProblem::ImportConflict { .. } => "import-conflict",
            SchemaProblem::DuplicateType { .. } => "duplicate-type",
            SchemaProblem::DuplicateConstructor { .. } => "duplicate-constructor",
            SchemaProblem::DuplicateField { .. } => "duplicate-field",
            SchemaProblem::RedefinedBuiltin { .. } => "redefined-builtin",
            SchemaProblem::NothingToExtend { .. } => "nothing-to-extend",
            SchemaProblem::ExtendedProduct { .. } => "extended-product",
            SchemaProblem::UndefinedType { .. } => "undefined-type",
            SchemaProblem::AliasCycle { .. } => "alias-cycle",
            SchemaProblem::Uninhabited { .. } => "uninhabited",
            SchemaProblem::ReservedConstructor { .. } => "reserved-constructor",
            SchemaProblem::LowercaseConstructor { .. } => "lowercase-constructor",
            SchemaProblem::UppercaseType { .. } => "uppercase-type",
            SchemaProblem::KeywordField { .. } => "keyword-field",
            SchemaProblem::UnusedType { .. } => "unused-type",
        }
    }

    /// What could be done about it.
    pub fn hint(&self) -> Option<Cow<'static, str>> {
        match self {
            SchemaProblem::Ellipsis => {
                Some("list every alternative, or extend the type elsewhere with `|=`".into())
            }
            SchemaProblem::TwoModifiers => Some("an empty list is a list: `T* name` suffices".into()),
            SchemaProblem::ImportCycle { modules } if modules.len() == 1 => {
                Some("a module has its own types without an import".into())
            }
            SchemaProblem::ImportCycle { .. } => {
                Some("move what the modules share to a module of its own".into())
            }
            SchemaProblem::ImportConflict { name, .. } => {
                Some(format!("define `{name}` here, or import it from one of them by name").into())
            }
            SchemaProblem::DuplicateType { name } => {
                Some(format!("`{name} |= …` adds alternatives to the type").into())
            }
            SchemaProblem::UndefinedType { near: Some(near), .. } => {
                Some(format!("did you mean `{near}`?").into())
            }
            SchemaProblem::AliasCycle { .. } => {
                Some("one of the types needs a constructor of its own".into())
            }
            SchemaProblem::Uninhabited { .. } => {
                Some("make the field an option `?` or a list `*`, or the constructor unique `@`".into())
            }
            _ => None,
        }
    }
}

impl SchemaError {
    /// How grave it is.
    pub fn severity(&self) -> Severity {
        self.problem.severity()
    }
}
