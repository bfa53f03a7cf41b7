//! Tokens of a schema: names, strings, signs; `--` begins a comment.

use crate::schema::error::SchemaProblem;
use cembra_vm::program::instruction::Span;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SchemaToken<'t> {
    Id(&'t str),
    Text(&'t str),
    Sign(&'static str),
    End,
}

/// Signs, the longer before those they begin with.
const SIGNS: [&str; 13] = ["...", "|=", "|", "=", "(", ")", "{", "}", ",", "*", "?", "@", "\\"];

/// Something and where it stands.
pub(super) type Placed<T> = (T, Span);

/// The tokens of a text, with the end last, and what could not be read.
pub(super) fn tokens(text: &str) -> (Vec<Placed<SchemaToken<'_>>>, Vec<Placed<SchemaProblem>>) {
    let (mut tokens, mut problems) = (Vec::new(), Vec::new());
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let (rest, start) = (&text[at..], at);
        if first.is_whitespace() || first == '\u{feff}' {
            at += first.len_utf8();
        } else if rest.starts_with("--") {
            at += rest.find('\n').unwrap_or(rest.len());
        } else if first.is_alphabetic() || first == '_' {
            let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
            at += end;
            tokens.push((SchemaToken::Id(&rest[..end]), span(start, at)));
        } else if first == '"' {
            match rest[1..].find(['"', '\n']).filter(|end| rest[1 + end..].starts_with('"')) {
                Some(end) => {
                    at += end + 2;
                    tokens.push((SchemaToken::Text(&rest[1..=end]), span(start, at)));
                }
                None => {
                    at += rest.find('\n').unwrap_or(rest.len());
                    problems.push((SchemaProblem::UnterminatedString, span(start, at)));
                }
            }
        } else if let Some(sign) = SIGNS.into_iter().find(|sign| rest.starts_with(sign)) {
            at += sign.len();
            tokens.push((SchemaToken::Sign(sign), span(start, at)));
        } else {
            at += first.len_utf8();
            problems.push((SchemaProblem::Character { character: first }, span(start, at)));
        }
    }
    tokens.push((SchemaToken::End, span(at, at)));
    (tokens, problems)
}

fn span(start: usize, end: usize) -> Span {
    let place = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    Span { start: place(start), end: place(end) }
}

impl SchemaToken<'_> {
    /// As messages name it, in the words of ASDL.
    pub(super) fn describe(self) -> String {
        match self {
            SchemaToken::Id(name) if name.starts_with(char::is_uppercase) => {
                format!("ConstructorId `{name}`")
            }
            SchemaToken::Id(name) => format!("TypeId `{name}`"),
            SchemaToken::Text(_) => "String".to_owned(),
            SchemaToken::Sign(",") => "Comma".to_owned(),
            SchemaToken::Sign(sign) => format!("`{sign}`"),
            SchemaToken::End => "the end".to_owned(),
        }
    }
}
