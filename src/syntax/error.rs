//! Errors in the text of an expression.

use crate::expr::GraphError;
use crate::registry::infer::{TypeError, suggestion};
use crate::syntax::excerpt::excerpt;
use cembra_vm::program::instruction::Span;
use cembra_vm::value::{Category, QType};
use std::borrow::Cow;
use std::sync::Arc;
use thiserror::Error;

/// What is wrong with a text.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SyntaxErrorKind {
    /// The text is longer than allowed.
    #[error("limit expression-text: {actual} characters, at most {limit} are allowed")]
    TooLong {
        /// Code points of the text.
        actual: usize,
        /// Code points allowed.
        limit: usize,
    },
    /// Parentheses, calls or prefix operators nest too deeply.
    #[error("limit expression-nesting: more than {limit} levels")]
    TooDeep {
        /// Levels allowed.
        limit: usize,
    },
    /// A character that begins no token.
    #[error("unexpected character {}", show(*character))]
    Character {
        /// The character.
        character: char,
    },
    /// A character in a byte string that is no single byte.
    #[error("a byte string holds ASCII characters and escapes such as \\xE9, not {}", show(*character))]
    ByteString {
        /// The character.
        character: char,
    },
    /// A string without its closing quote.
    #[error("unterminated string")]
    UnterminatedString,
    /// A backslash that begins no escape.
    #[error("unknown escape in a string; known are \\n \\r \\t \\' \\\" \\\\ \\xNN \\u{{N}}")]
    Escape,
    /// Digits that make no number.
    #[error("malformed number `{text}`")]
    Number {
        /// The digits.
        text: String,
    },
    /// A number that no type holds.
    #[error("the number {text} does not fit {qtype}")]
    NumberRange {
        /// The digits.
        text: String,
        /// The type it should have.
        qtype: QType,
    },
    /// Something else was expected.
    #[error("expected {expected}, found {found}")]
    Expected {
        /// What was expected.
        expected: &'static str,
        /// What stands there.
        found: String,
    },
    /// A text without anything in it, or of comments only.
    #[error("expected an expression, found only white space and comments")]
    Empty,
    /// A bracket without its counterpart.
    #[error("unclosed `{bracket}`")]
    Unclosed {
        /// The opening bracket.
        bracket: char,
    },
    /// A closing bracket that nothing opened.
    #[error("`{bracket}` closes nothing")]
    Unopened {
        /// The closing bracket.
        bracket: char,
    },
    /// `a < b < c`.
    #[error("comparisons do not chain, and `&` and `|` bind tighter than they do; write `(a < b) & (b < c)`")]
    ChainedComparison,
    /// A name that may not be assigned.
    #[error("`{name}` is a word of the language and cannot be assigned")]
    Reserved {
        /// The name.
        name: String,
    },
    /// A name with dots before `=`.
    #[error("`{name}` has a dot; the name of a statement has none")]
    Dotted {
        /// The name.
        name: String,
    },
    /// Two statements with one name.
    #[error("`{name}` has a value already; give the second statement another name")]
    Reassigned {
        /// The name.
        name: String,
    },
    /// A name that was read as an input before its statement.
    #[error(
        "`{name}` was read as an input before this statement; write L.{name} for the input, or give the statement another name"
    )]
    UsedBefore {
        /// The name.
        name: String,
    },
    /// `name{…}` where the name is no constructor.
    #[error(
        "unknown constructor `{name}`; there are unit, boolean, int32, int64, float32, float64, weak_float, text, bytes, and these with optional_"
    )]
    UnknownConstructor {
        /// The name.
        name: String,
    },
    /// A keyword argument that the operator does not have.
    #[error("{operator} has no parameter `{name}`{}", suggestion(near))]
    UnknownParameter {
        /// The operator.
        operator: Arc<str>,
        /// The keyword.
        name: Arc<str>,
        /// Parameters that look like it.
        near: Vec<Arc<str>>,
    },
    /// An argument that is given twice.
    #[error("{operator} gets the argument `{name}` twice")]
    DuplicateArgument {
        /// The operator.
        operator: Arc<str>,
        /// The parameter.
        name: Arc<str>,
    },
    /// A positional argument behind a keyword argument.
    #[error("positional arguments come before keyword arguments")]
    PositionalAfterKeyword,
    /// A constructor that got no literal of its kind.
    #[error("{constructor} takes {expected}")]
    Constructor {
        /// The constructor.
        constructor: String,
        /// What it takes.
        expected: &'static str,
    },
    /// A name with dots is no operator, and is not called like one.
    #[error(transparent)]
    OperatorValue(TypeError),
    /// The operator is unknown, or gets too many or too few arguments.
    #[error(transparent)]
    Operator(#[from] TypeError),
    /// Too many distinct nodes.
    #[error(transparent)]
    Graph(#[from] GraphError),
}

/// A character as itself if it can be seen, and by number if it is not plain ASCII.
fn show(character: char) -> String {
    let number = u32::from(character);
    match character.is_ascii_graphic() {
        true => format!("`{character}`"),
        false if character.escape_debug().count() > 1 => format!("U+{number:04X}"),
        false => format!("`{character}` (U+{number:04X})"),
    }
}

/// What to write instead of words and signs of other languages, and of letters that look like signs.
const INSTEAD: &[(&str, &str)] = &[
    ("and", "for masks write `x & y`, for truth values bool.logical_and(x, y)"),
    ("or", "for masks write `x | y`, for truth values bool.logical_or(x, y)"),
    ("not", "for a mask write `~x`, for a truth value bool.logical_not(x)"),
    ("&", "for masks write `x & y`, for truth values bool.logical_and(x, y)"),
    ("|", "for masks write `x | y`, for truth values bool.logical_or(x, y)"),
    ("!", "for a mask write `~x`, for a truth value bool.logical_not(x)"),
    ("if", "write core.where(condition, true_branch, false_branch)"),
    ("?", "write core.where(condition, true_branch, false_branch)"),
    ("^", "for a power write `x ** y`, for bits bitwise.bitwise_xor(x, y)"),
    ("[", "for a field of a tuple write core.get_nth(tuple, n), for a sequence seq.make(x, y)"),
    (",", "for a tuple of literals, such as axes, write tuple(0, 1), of other values core.make_tuple(x, y)"),
    ("NA", "a missing value has a type, such as optional_float64{NA}"),
    ("None", "a missing value has a type, such as optional_float64{NA}"),
    ("L", "an input is written L.name"),
    ("P", "a placeholder is written P.name"),
    ("\u{2212}", "write the minus sign `-`"),
    ("\u{2013}", "write the minus sign `-`"),
    ("\u{d7}", "write `*`"),
    ("\u{b7}", "write `*`"),
    ("\u{2018}", "write the quote `'`"),
    ("\u{2019}", "write the quote `'`"),
    ("\u{201c}", "write the quote `\"`"),
    ("\u{201d}", "write the quote `\"`"),
    ("\u{a0}", "this is a no-break space; write a plain one"),
];

/// What a name with dots may mean if it is no operator.
fn dotted_hint(name: &str) -> String {
    let input = format!("an input is written L.{name}");
    match name.split_once('.') {
        Some((tuple, field)) if !field.contains('.') => {
            format!("{input}, a field of a namedtuple namedtuple.get_field({tuple}, '{field}')")
        }
        _ => input,
    }
}

/// An error in the text of an expression.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{kind}")]
pub struct SyntaxError {
    /// What is wrong.
    pub kind: SyntaxErrorKind,
    /// Where, in bytes.
    pub span: Span,
}

impl SyntaxError {
    /// An error at a place.
    pub fn new(kind: impl Into<SyntaxErrorKind>, span: Span) -> SyntaxError {
        SyntaxError { kind: kind.into(), span }
    }

    /// The message with the line that it is about.
    pub fn with_source(&self, source: &str) -> String {
        excerpt(&self.to_string(), source, self.span)
    }

    /// What to write instead, for mistakes that are common.
    pub fn hint(&self) -> Option<Cow<'static, str>> {
        match &self.kind {
            SyntaxErrorKind::OperatorValue(TypeError::UnknownOperator { name, near }) if near.is_empty() => {
                Some(dotted_hint(name).into())
            }
            _ => self.instead().map(Cow::Borrowed),
        }
    }

    fn instead(&self) -> Option<&'static str> {
        let character;
        let found = match &self.kind {
            // A comma too many in a call is no tuple.
            SyntaxErrorKind::Expected { expected: "an operand", found } if found == "`,`" => return None,
            SyntaxErrorKind::Expected { expected: "a literal", .. } => {
                return Some("a constructor makes literals; core.cast(x, TYPE) casts any value");
            }
            SyntaxErrorKind::Expected { found, .. } => found.trim_matches('`'),
            SyntaxErrorKind::Character { character: c } => {
                character = c.to_string();
                &character
            }
            _ => return None,
        };
        INSTEAD.iter().find(|row| row.0 == found).map(|row| row.1)
    }

    /// The kind of error in one word.
    pub fn category(&self) -> Category {
        match &self.kind {
            SyntaxErrorKind::TooLong { .. } | SyntaxErrorKind::TooDeep { .. } | SyntaxErrorKind::Graph(_) => {
                Category::Limit
            }
            SyntaxErrorKind::Operator(error) | SyntaxErrorKind::OperatorValue(error) => error.category(),
            _ => Category::Syntax,
        }
    }
}
