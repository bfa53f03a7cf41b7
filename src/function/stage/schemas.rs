//! The schemas of the stages, and the builtin types that they add.
//!
//! | type | what it holds |
//! | --- | --- |
//! | `value` | the name of a value: `s.2`, the third definition of `s`, or `%3` |
//! | `category` | a category of faults: `"DOMAIN"` |
//! | `element` | the type of an array's elements: `"FLOAT64"` |
//! | `qtype` | a type of the machine: `"OPTIONAL_FLOAT64"` |
//! | `machineop` | an operator of the machine: `"math.add"` |

use crate::schema::{Builtin, Builtins, Datum, Schema, SortId, read_schema};
use cembra_vm::builtins;
use cembra_vm::value::{Category, QType, ScalarType};
use hashbrown::HashSet;
use std::fmt;
use std::str::FromStr;
use std::sync::LazyLock;

/// The text of the schema of `ussa`.
pub const USSA: &str = include_str!("../schemas/ussa.asdl");
/// The text of the schema of `tssa`.
pub const TSSA: &str = include_str!("../schemas/tssa.asdl");
/// The text of the schema of `low`.
pub const LOW: &str = include_str!("../schemas/low.asdl");

/// A stage between the syntax tree and the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StageName {
    /// Values and phis, without types.
    Ussa,
    /// The same with types.
    Tssa,
    /// Operators of the machine.
    Low,
}

impl StageName {
    /// Every stage, in order.
    pub const ALL: [StageName; 3] = [StageName::Ussa, StageName::Tssa, StageName::Low];

    /// The text of its schema.
    pub fn schema_source(self) -> &'static str {
        match self {
            StageName::Ussa => USSA,
            StageName::Tssa => TSSA,
            StageName::Low => LOW,
        }
    }

    /// Its schema.
    pub fn schema(self) -> &'static Schema {
        static SCHEMAS: LazyLock<[Schema; 3]> = LazyLock::new(|| {
            StageName::ALL.map(|stage| {
                let reading = read_schema(stage.schema_source(), &module_text, &stage_builtins());
                reading.schema.expect("a test reads the schemas without errors")
            })
        });
        &SCHEMAS[self as usize]
    }

    /// The type of a whole document.
    pub fn root(self) -> SortId {
        self.schema().find_sort("module").expect("the schema defines it")
    }
}

impl fmt::Display for StageName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            StageName::Ussa => "ussa",
            StageName::Tssa => "tssa",
            StageName::Low => "low",
        })
    }
}

/// The text of a schema that others import.
pub fn module_text(name: &str) -> Option<String> {
    StageName::ALL.into_iter().find(|s| s.to_string() == name).map(|s| s.schema_source().to_owned())
}

/// The builtin types of the schemas of stages.
pub fn stage_builtins() -> Builtins {
    let row = |name: &str, meaning, accepts| Builtin {
        name: name.into(),
        meaning,
        accepts,
        may_be_redefined: true,
    };
    Builtins::standard()
        .with(row("value", "the name of a value: s.2 or %3", |d| text(d).is_some_and(is_value_name)))
        .with(row("category", "a category of faults", |d| text(d).and_then(Category::from_name).is_some()))
        .with(row("element", "the type of elements of arrays", |d| text(d).and_then(element_named).is_some()))
        .with(row("qtype", "a type of the machine", |d| text(d).is_some_and(|t| QType::from_str(t).is_ok())))
        .with(row("machineop", "an operator of the machine", |d| text(d).and_then(operator_name).is_some()))
}

fn text(datum: &Datum) -> Option<&str> {
    match datum {
        Datum::Text(text) => Some(text),
        _ => None,
    }
}

/// The variable and the number of a value's name; no variable for `%3`.
pub(super) fn value_name(name: &str) -> Option<(Option<&str>, &str)> {
    let (variable, number) = match name.strip_prefix('%') {
        Some(number) => (None, number),
        None => {
            let (variable, number) = name.rsplit_once('.')?;
            (Some(variable), number)
        }
    };
    let is_number = !number.is_empty() && number.len() <= 9 && number.bytes().all(|b| b.is_ascii_digit());
    let is_shown = variable.is_none_or(|variable| {
        !variable.is_empty() && variable.chars().all(|c| !c.is_control() && !c.is_whitespace())
    });
    (is_number && is_shown).then_some((variable, number))
}

fn is_value_name(name: &str) -> bool {
    value_name(name).is_some()
}

/// The type of elements with a name of the machine.
pub(super) fn element_named(name: &str) -> Option<ScalarType> {
    use ScalarType::{Boolean, Float32, Float64, Int32, Int64};
    let wide = [Boolean, Int32, Int64, Float32, Float64];
    wide.into_iter().chain(ScalarType::NARROW).find(|element| element.name() == name)
}

/// The machine's own text of an operator's name.
pub(super) fn operator_name(name: &str) -> Option<&'static str> {
    // One table for the process, so that names of operators live as long as it.
    static NAMES: LazyLock<HashSet<&'static str>> = LazyLock::new(|| {
        let table = builtins::table();
        table.families().map(|family| &*Box::leak(family.name().to_string().into_boxed_str())).collect()
    });
    NAMES.get(name).copied()
}
