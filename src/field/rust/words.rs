//! Names of variables and types in printed Rust, and how strongly expressions bind.

use crate::field::dimension::DimensionId;
use crate::field::element::{FieldLiteral, integer_of};
use crate::field::expression::{FieldId, FieldNodeId, FieldScalarId, TableId};
use crate::field::program::FieldProgram;
use crate::field::sharing::UniqueNames;
use cembra_vm::value::{ScalarType, ScalarValue};
use hashbrown::{HashMap, HashSet};
use std::cell::RefCell;

/// Words that no variable has: those of Rust, and those that the function uses itself.
const TAKEN: &[&str] = &[
    "as",
    "async",
    "await",
    "break",
    "const",
    "continue",
    "crate",
    "dyn",
    "else",
    "enum",
    "extern",
    "false",
    "fn",
    "for",
    "if",
    "impl",
    "in",
    "let",
    "loop",
    "match",
    "mod",
    "move",
    "mut",
    "pub",
    "ref",
    "return",
    "self",
    "static",
    "struct",
    "super",
    "trait",
    "true",
    "type",
    concat!("un", "safe"),
    "use",
    "where",
    "while",
    "abstract",
    "become",
    "box",
    "do",
    "final",
    "gen",
    "macro",
    "override",
    "priv",
    "try",
    "typeof",
    "unsized",
    "virtual",
    "yield",
    "f32",
    "f64",
    "i64",
    "b",
    "carry",
    "vec",
    "_",
];

/// Names of variables.
#[derive(Default)]
pub(super) struct Variables {
    names: UniqueNames,
}

impl Variables {
    /// A name like the one wanted that no variable has.
    pub fn new_name(&mut self, wanted: &str) -> String {
        let in_rust = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
        let mut name: String = wanted.chars().map(in_rust).collect();
        if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
            name.insert(0, 'x');
        }
        if TAKEN.contains(&&*name) {
            name.push('_');
        }
        self.names.unique(&name, |_| false)
    }
}

/// A program while it is printed.
pub(super) struct Printer<'p> {
    pub program: &'p FieldProgram,
    pub variables: Variables,
    pub dims: Vec<String>,
    pub tables: Vec<String>,
    pub fields: Vec<String>,
    pub scalars: Vec<String>,
    /// Variables of declarations that something reads.
    pub used: RefCell<HashSet<String>>,
    /// Types of the fronts that are named.
    pub imported: RefCell<HashSet<&'static str>>,
    /// Variables of operations.
    pub nodes: HashMap<FieldNodeId, String>,
}

impl Printer<'_> {
    pub fn imports(&self) -> String {
        let mut names: Vec<&str> = self.imported.borrow().iter().copied().collect();
        names.sort_unstable();
        let types = names.iter().position(|name| *name == "ScalarType").map(|at| names.remove(at));
        let types = types.map_or(String::new(), |name| format!("use cembra::vm::value::{name};\n"));
        format!("use cembra::field::{{{}}};\n{types}", names.join(", "))
    }

    pub fn import(&self, name: &'static str) -> &'static str {
        self.imported.borrow_mut().insert(name);
        name
    }

    pub fn read(&self, variable: &str) -> String {
        self.used.borrow_mut().insert(variable.to_owned());
        variable.to_owned()
    }

    pub fn dim(&self, id: DimensionId) -> String {
        self.read(&self.dims[id.0])
    }

    pub fn dims(&self, ids: &[DimensionId]) -> String {
        let dims: Vec<String> = ids.iter().map(|id| self.dim(*id)).collect();
        format!("&[{}]", dims.join(", "))
    }

    pub fn table(&self, id: TableId) -> String {
        self.read(&self.tables[id.0])
    }

    pub fn field(&self, id: FieldId) -> String {
        self.read(&self.fields[id.0])
    }

    pub fn scalar(&self, id: FieldScalarId) -> String {
        self.read(&self.scalars[id.0])
    }

    pub fn dtype(&self, dtype: ScalarType) -> String {
        format!("{}::{dtype:?}", self.import("ScalarType"))
    }
}

/// How strongly an expression of Rust binds.
pub(super) const SUM: u8 = 1;
pub(super) const PRODUCT: u8 = 2;
pub(super) const SIGN: u8 = 3;
pub(super) const CALL: u8 = 4;

/// A part in brackets if it binds weaker than the level.
pub(super) fn within((text, level): (String, u8), at_least: u8) -> String {
    if level < at_least { format!("({text})") } else { text }
}

pub(super) fn literal_text(literal: &FieldLiteral) -> String {
    number(literal.value(), literal.dtype())
}

/// A number of an element type in Rust.
pub(super) fn number(value: &ScalarValue, dtype: ScalarType) -> String {
    let float = |value: f64, finite: String, of: &str| match value {
        _ if value.is_nan() => format!("{of}::NAN"),
        _ if value.is_infinite() => {
            format!("{of}::{}", if value > 0.0 { "INFINITY" } else { "NEG_INFINITY" })
        }
        _ => finite,
    };
    let suffix = match dtype {
        ScalarType::Int8 => "i8",
        ScalarType::Int16 => "i16",
        ScalarType::Int32 => "i32",
        ScalarType::Int64 => "i64",
        ScalarType::Uint8 => "u8",
        ScalarType::Uint16 => "u16",
        ScalarType::Uint32 => "u32",
        _ => "u64",
    };
    match value {
        ScalarValue::Boolean(value) => value.to_string(),
        ScalarValue::Float64(value) => float(*value, format!("{value:?}"), "f64"),
        ScalarValue::Float32(value) => float(f64::from(*value), format!("{value:?}_f32"), "f32"),
        other => integer_of(other, dtype).map_or_else(String::new, |value| format!("{value}_{suffix}")),
    }
}
