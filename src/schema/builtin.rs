//! Data: the leaves of documents, and the table of builtin types that say which datum fits.
//!
//! ```text
//! int  identifier  string  bytes  float  bool  singleton  constant  object  posinfo
//!  │       │
//!  5     "total"            a predicate each; a host may add rows
//! ```

use std::fmt;
use std::sync::Arc;

/// A leaf of a document.
#[derive(Clone, Debug)]
pub enum Datum {
    /// Python's `None`.
    None,
    /// A truth value.
    Bool(bool),
    /// A whole number of 64 bits.
    Int(i64),
    /// A whole number beyond 64 bits, in canonical decimal digits.
    Big(Box<str>),
    /// A float, told apart by its bits.
    Float(f64),
    /// A text or a name.
    Text(Box<str>),
    /// Bytes.
    Bytes(Box<[u8]>),
    /// A place in a source.
    Position(SourcePosition),
}

/// Lines from 1 and columns from 0, in characters of the line's UTF-8 text; the end is the place behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SourcePosition {
    /// Line of the first character.
    pub line: u32,
    /// Column of the first character.
    pub column: u32,
    /// Where the stretch ends, if known.
    pub end: Option<(u32, u32)>,
}

impl fmt::Display for SourcePosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)?;
        self.end.map_or(Ok(()), |(line, column)| write!(f, "-{line}:{column}"))
    }
}

impl PartialEq for Datum {
    fn eq(&self, other: &Datum) -> bool {
        match (self, other) {
            (Datum::None, Datum::None) => true,
            (Datum::Bool(a), Datum::Bool(b)) => a == b,
            (Datum::Int(a), Datum::Int(b)) => a == b,
            (Datum::Big(a), Datum::Big(b)) | (Datum::Text(a), Datum::Text(b)) => a == b,
            (Datum::Float(a), Datum::Float(b)) => a.to_bits() == b.to_bits(),
            (Datum::Bytes(a), Datum::Bytes(b)) => a == b,
            (Datum::Position(a), Datum::Position(b)) => a == b,
            _ => false,
        }
    }
}

impl Eq for Datum {}

impl std::hash::Hash for Datum {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        std::mem::discriminant(self).hash(state);
        match self {
            Datum::None => {}
            Datum::Bool(v) => v.hash(state),
            Datum::Int(v) => v.hash(state),
            Datum::Big(v) | Datum::Text(v) => v.hash(state),
            Datum::Float(v) => v.to_bits().hash(state),
            Datum::Bytes(v) => v.hash(state),
            Datum::Position(v) => v.hash(state),
        }
    }
}

impl Datum {
    /// The integer of some decimal digits with an optional sign: 64 bits if they suffice.
    pub fn integer(digits: &str) -> Option<Datum> {
        let (sign, magnitude) = match digits.strip_prefix('-') {
            Some(rest) => ("-", rest),
            None => ("", digits),
        };
        if magnitude.is_empty() || !magnitude.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        let magnitude = magnitude.trim_start_matches('0');
        if magnitude.is_empty() {
            return Some(Datum::Int(0));
        }
        let canonical = format!("{sign}{magnitude}");
        Some(canonical.parse().map_or_else(|_| Datum::Big(canonical.into()), Datum::Int))
    }
}

/// A builtin type.
#[derive(Clone, Debug)]
pub struct Builtin {
    /// Its name in schemas.
    pub name: Arc<str>,
    /// What it holds, for the documentation of a schema.
    pub meaning: &'static str,
    /// True for a datum of this type.
    pub accepts: fn(&Datum) -> bool,
    /// A schema may define a type of this name instead.
    pub may_be_redefined: bool,
}

/// The builtin types of schemas.
#[derive(Clone, Debug)]
pub struct Builtins {
    rows: Vec<Builtin>,
}

impl Default for Builtins {
    fn default() -> Builtins {
        Builtins::standard()
    }
}

impl Builtins {
    /// Those of ASDL, with the names that schemas of Numba use.
    pub fn standard() -> Builtins {
        let row = |name: &str, meaning, accepts| Builtin {
            name: name.into(),
            meaning,
            accepts,
            may_be_redefined: name == "posinfo",
        };
        let rows = vec![
            row("identifier", "a name: letters, digits and `_`, dots between", is_identifier),
            row("string", "a text", is_text),
            row("str", "a text", is_text),
            row("bytes", "bytes", |d| matches!(d, Datum::Bytes(_))),
            row("int", "a whole number of any size", is_integer),
            row("float", "a float of 64 bits", |d| matches!(d, Datum::Float(_))),
            row("bool", "true or false", |d| matches!(d, Datum::Bool(_))),
            row("singleton", "none, true or false", |d| matches!(d, Datum::None | Datum::Bool(_))),
            row("constant", "any datum but a position", |d| !matches!(d, Datum::Position(_))),
            row("object", "any datum", |_| true),
            row("posinfo", "a place in the source: line:column, or from-to", |d| {
                matches!(d, Datum::Position(_))
            }),
        ];
        Builtins { rows }
    }

    /// With a further type; the last row of a name counts.
    pub fn with(mut self, row: Builtin) -> Builtins {
        self.rows.retain(|known| known.name != row.name);
        self.rows.push(row);
        self
    }

    /// The type of a name.
    pub fn get(&self, name: &str) -> Option<&Builtin> {
        self.rows.iter().find(|row| &*row.name == name)
    }
}

fn is_text(datum: &Datum) -> bool {
    matches!(datum, Datum::Text(_))
}

fn is_integer(datum: &Datum) -> bool {
    matches!(datum, Datum::Int(_) | Datum::Big(_))
}

fn is_identifier(datum: &Datum) -> bool {
    let part = |part: &str| {
        let mut characters = part.chars();
        characters.next().is_some_and(|c| c.is_alphabetic() || c == '_')
            && characters.all(|c| c.is_alphanumeric() || c == '_')
    };
    matches!(datum, Datum::Text(text) if text.split('.').all(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_canonical() {
        assert_eq!(Datum::integer("007"), Some(Datum::Int(7)));
        assert_eq!(Datum::integer("-0"), Some(Datum::Int(0)));
        assert_eq!(Datum::integer("9223372036854775808"), Some(Datum::Big("9223372036854775808".into())));
        assert_eq!(Datum::integer("-9223372036854775808"), Some(Datum::Int(i64::MIN)));
        assert_eq!(Datum::integer("-"), None);
    }

    #[test]
    fn a_host_adds_a_type() {
        let even = Builtin {
            name: "even".into(),
            meaning: "an even number",
            accepts: |d| matches!(d, Datum::Int(v) if v % 2 == 0),
            may_be_redefined: false,
        };
        let builtins = Builtins::standard().with(even);
        let even = builtins.get("even").map(|row| row.accepts);
        assert_eq!(
            even.map(|accepts| (accepts(&Datum::Int(4)), accepts(&Datum::Int(3)))),
            Some((true, false))
        );
    }
}
