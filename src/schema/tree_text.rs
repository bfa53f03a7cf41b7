//! Documents as trees of terms, the form for people.
//!
//! ```text
//! FunctionDef("f", arguments([arg("n")]), [
//!   Return(Name("n", Load)) @2:4,
//! ])
//! !0:Foo("foo1", !1:Foo("foo2", !0))             -- unique terms have a number; a cycle refers to it
//! ```
//!
//! | | |
//! | --- | --- |
//! | `Name(…)` | a term; without brackets if it has no values; absent options at its end are left out |
//! | `@datum`, `@{…}` | its attributes |
//! | `[…]`, `_` | a list, an absent option |
//! | `-- …` | a comment |
//!
//! Shared plain terms are written out each time, up to a limit; the flat form keeps sharing.

use crate::schema::assemble::{Assembler, UniqueNumber};
use crate::schema::datum_text::{push, push_datum};
use crate::schema::document::{Document, ListId, TermId, TermValue};
use crate::schema::model::{Schema, SortId};
use crate::schema::scan::{BrokenOff, Lexeme, Scanner};
use crate::schema::text_error::{TextError, TextProblem};
use cembra_vm::program::instruction::Span;

/// Bytes of a text that a document with shared terms may become.
pub const MAX_TREE_BYTES: usize = 1 << 28;

/// Columns of a line, if lists are to be broken.
const WIDTH: usize = 100;

/// Levels that are indented; deeper ones begin in the same column, so that deep texts stay linear.
const MAX_INDENT: usize = 40;

/// Prints a document.
///
/// # Errors
/// A text beyond [`MAX_TREE_BYTES`], which shared terms can cause.
pub fn tree_text(schema: &Schema, document: &Document) -> Result<String, TextError> {
    let numbers = vec![None; document.len()];
    let mut writer =
        TreeWriter { schema, document, out: String::new(), line_start: 0, numbers, numbered: Vec::new() };
    writer.write(vec![TreeTask::Value(document.root())], false)?;
    writer.out.push('\n');
    Ok(writer.out)
}

/// Prints a document on one line, with `...` where a cycle closes; this text cannot be read back.
///
/// # Errors
/// A text beyond [`MAX_TREE_BYTES`].
pub fn tree_outline(schema: &Schema, document: &Document) -> Result<String, TextError> {
    let text = tree_text(schema, document)?;
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_str();
    // Numbers stand outside of quotes only.
    while let Some(at) = rest.find(['!', '"']) {
        out.push_str(&rest[..at]);
        if rest[at..].starts_with('"') {
            let end = quoted_length(&rest[at..]);
            out.push_str(&rest[at..at + end]);
            rest = &rest[at + end..];
            continue;
        }
        let digits = rest[at + 1..].bytes().take_while(u8::is_ascii_digit).count();
        rest = &rest[at + 1 + digits..];
        match rest.strip_prefix(':') {
            Some(definition) => rest = definition,
            None => out.push_str("..."),
        }
    }
    out.push_str(rest);
    Ok(out)
}

fn quoted_length(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            b'"' if !is_escaped => return at + 1,
            b'\\' => is_escaped = !is_escaped,
            _ => is_escaped = false,
        }
    }
    text.len()
}

struct TreeWriter<'d> {
    schema: &'d Schema,
    document: &'d Document,
    out: String,
    line_start: usize,
    /// Numbers of unique terms, given where they are met first.
    numbers: Vec<Option<usize>>,
    /// Terms that have numbers, in order.
    numbered: Vec<TermId>,
}

/// What is still to be written, last first.
#[derive(Clone, Copy)]
enum TreeTask {
    Value(TermValue),
    Text(&'static str),
    /// The attributes of a term.
    Attributes(TermId),
    /// A new line within so many open lists.
    Line(usize),
    /// A list, broken into lines or not.
    List(ListId, usize),
}

impl TreeWriter<'_> {
    /// Writes until nothing is left, or the line is full if all is to be on one. True if nothing is left.
    fn write(&mut self, mut tasks: Vec<TreeTask>, is_one_line: bool) -> Result<bool, TextError> {
        let mut level = 0_usize;
        while let Some(task) = tasks.pop() {
            if is_one_line && self.column() >= WIDTH {
                return Ok(false);
            }
            if self.out.len() > MAX_TREE_BYTES {
                let problem = TextProblem::Limit { name: "tree-text-bytes", limit: MAX_TREE_BYTES };
                return Err(TextError { problem, span: Span::default() });
            }
            match task {
                TreeTask::Text(text) => self.out.push_str(text),
                TreeTask::Line(depth) => {
                    level = depth;
                    self.out.push('\n');
                    self.line_start = self.out.len();
                    self.out.extend(std::iter::repeat_n("  ", depth.min(MAX_INDENT)));
                }
                TreeTask::List(list, depth) => {
                    if is_one_line {
                        self.out.push('[');
                        self.push_elements(list, &mut tasks);
                    } else if !self.try_one_line(list)? {
                        self.break_list(list, depth, &mut tasks);
                    }
                }
                TreeTask::Attributes(term) => self.attributes(term, &mut tasks),
                TreeTask::Value(value) => self.value(value, level, &mut tasks),
            }
        }
        Ok(true)
    }

    fn column(&self) -> usize {
        self.out.len() - self.line_start
    }

    fn value(&mut self, value: TermValue, level: usize, tasks: &mut Vec<TreeTask>) {
        match value {
            TermValue::Missing | TermValue::Broken | TermValue::Absent => self.out.push('_'),
            TermValue::Datum(id) => push_datum(&mut self.out, self.document.datum(id)),
            TermValue::List(list) => tasks.push(TreeTask::List(list, level)),
            TermValue::Term(term) => self.term(term, tasks),
        }
    }

    fn term(&mut self, term: TermId, tasks: &mut Vec<TreeTask>) {
        let constructor = self.schema.constructor(self.document.constructor(term));
        if constructor.is_unique {
            if let Some(number) = self.numbers[term.index()] {
                return push(&mut self.out, format_args!("!{number}"));
            }
            let number = self.numbered.len();
            push(&mut self.out, format_args!("!{number}:"));
            self.numbers[term.index()] = Some(number);
            self.numbered.push(term);
        }
        self.out.push_str(&constructor.name);
        let own = without_absent_end(&self.document.values(term)[..constructor.own_fields().len()]);
        if !constructor.attributes().is_empty() {
            tasks.push(TreeTask::Attributes(term));
        }
        if !own.is_empty() {
            self.out.push('(');
            tasks.push(TreeTask::Text(")"));
            push_values(own, tasks);
        }
    }

    fn attributes(&mut self, term: TermId, tasks: &mut Vec<TreeTask>) {
        let constructor = self.schema.constructor(self.document.constructor(term));
        let values = without_absent_end(&self.document.values(term)[constructor.own_fields().len()..]);
        match values {
            [] => {}
            [TermValue::Datum(id)] => {
                self.out.push_str(" @");
                push_datum(&mut self.out, self.document.datum(*id));
            }
            values => {
                self.out.push_str(" @{");
                tasks.push(TreeTask::Text("}"));
                push_values(values, tasks);
            }
        }
    }

    /// Writes a list on the line, if there is room for all of it, or there are no terms in it.
    fn try_one_line(&mut self, list: ListId) -> Result<bool, TextError> {
        let (length, numbered) = (self.out.len(), self.numbered.len());
        let elements = self.document.list(list);
        let has_terms = elements.iter().any(|value| matches!(value, TermValue::Term(_)));
        self.out.push('[');
        let mut tasks = Vec::new();
        self.push_elements(list, &mut tasks);
        if self.write(tasks, has_terms)? {
            return Ok(true);
        }
        self.out.truncate(length);
        for term in self.numbered.drain(numbered..) {
            self.numbers[term.index()] = None;
        }
        Ok(false)
    }

    fn push_elements(&self, list: ListId, tasks: &mut Vec<TreeTask>) {
        tasks.push(TreeTask::Text("]"));
        push_values(self.document.list(list), tasks);
    }

    /// Gives each element of a list a line.
    fn break_list(&mut self, list: ListId, level: usize, tasks: &mut Vec<TreeTask>) {
        self.out.push('[');
        tasks.push(TreeTask::Text("]"));
        tasks.push(TreeTask::Line(level));
        for value in self.document.list(list).iter().rev() {
            tasks.push(TreeTask::Text(","));
            tasks.push(TreeTask::Value(*value));
            tasks.push(TreeTask::Line(level + 1));
        }
    }
}

fn push_values(values: &[TermValue], tasks: &mut Vec<TreeTask>) {
    for (at, value) in values.iter().enumerate().rev() {
        tasks.push(TreeTask::Value(*value));
        if at > 0 {
            tasks.push(TreeTask::Text(", "));
        }
    }
}

/// Values without the absent ones at the end.
pub(super) fn without_absent_end(values: &[TermValue]) -> &[TermValue] {
    let end = values.iter().rposition(|value| *value != TermValue::Absent).map_or(0, |last| last + 1);
    &values[..end]
}

/// Where the reader is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TreePlace {
    List,
    Fields,
    Attributes,
}

impl TreePlace {
    fn closing(self) -> (char, &'static str) {
        match self {
            TreePlace::List => (']', "`,` or `]`"),
            TreePlace::Fields => (')', "`,` or `)`"),
            TreePlace::Attributes => ('}', "`,` or `}`"),
        }
    }
}

/// Reads a document, whose root is of the type `wanted`, and validates it.
///
/// # Errors
/// All that is wrong, with places; behind a text that breaks off, nothing.
pub fn read_tree(schema: &Schema, wanted: SortId, text: &str) -> Result<Document, Vec<TextError>> {
    let mut reader = TreeReader {
        scanner: Scanner::new(text, "--"),
        assembler: Assembler::new(schema),
        places: Vec::new(),
    };
    let root = reader.read().map(|()| reader.assembler.take_value());
    reader.assembler.finish(root, wanted, reader.scanner.problems)
}

struct TreeReader<'t, 's> {
    scanner: Scanner<'t>,
    assembler: Assembler<'s>,
    places: Vec<TreePlace>,
}

impl TreeReader<'_, '_> {
    fn read(&mut self) -> Result<(), BrokenOff> {
        loop {
            if self.begin_value()? {
                continue;
            }
            // A value is complete: what holds it may be complete too.
            loop {
                let Some(place) = self.places.last().copied() else { return self.end() };
                let (closing, expected) = place.closing();
                let is_next = self.scanner.take_sign(',');
                if is_next && *self.scanner.peek() != Lexeme::Sign(closing) {
                    break;
                }
                let end = self.scanner.span().end;
                if !self.scanner.take_sign(closing) {
                    return self.scanner.broken_off(expected);
                }
                self.places.pop();
                if place == TreePlace::Fields && self.begin_attributes(end)? {
                    break;
                }
                if place != TreePlace::Fields {
                    self.assembler.close(end);
                }
            }
        }
    }

    /// Takes a whole value, or the beginning of one: then true.
    fn begin_value(&mut self) -> Result<bool, BrokenOff> {
        let (lexeme, span) = match self.scanner.peek() {
            Lexeme::Sign('[') => {
                let (_, span) = self.scanner.take();
                self.assembler.open_list(span);
                let end = self.scanner.span().end;
                if self.scanner.take_sign(']') {
                    self.assembler.close(end);
                    return Ok(false);
                }
                self.places.push(TreePlace::List);
                return Ok(true);
            }
            Lexeme::Sign('!') => return self.unique(),
            Lexeme::Word(_) | Lexeme::Datum(_) => self.scanner.take(),
            _ => return self.scanner.broken_off("a value"),
        };
        match lexeme {
            Lexeme::Word("_") => self.assembler.value(TermValue::Absent),
            Lexeme::Word(name) => return self.begin_term(name, UniqueNumber::None, span),
            Lexeme::Datum(datum) => self.assembler.datum(datum),
            Lexeme::Sign(_) | Lexeme::End => {}
        }
        Ok(false)
    }

    fn unique(&mut self) -> Result<bool, BrokenOff> {
        let (_, span) = self.scanner.take();
        let Some(number) = self.scanner.take_number() else { return self.scanner.broken_off("a number") };
        if !self.scanner.take_sign(':') {
            self.assembler.reference(number, span);
            return Ok(false);
        }
        match self.scanner.take() {
            (Lexeme::Word(name), span) => self.begin_term(name, UniqueNumber::Known(number), span),
            _ => self.scanner.broken_off("a constructor"),
        }
    }

    fn begin_term(&mut self, name: &str, number: UniqueNumber, span: Span) -> Result<bool, BrokenOff> {
        self.assembler.open_term(name, number, span);
        if !self.scanner.take_sign('(') {
            return self.begin_attributes(span.end);
        }
        let end = self.scanner.span().end;
        if self.scanner.take_sign(')') {
            return self.begin_attributes(end);
        }
        self.places.push(TreePlace::Fields);
        Ok(true)
    }

    /// Behind the fields of a term: closes it, or begins its attributes; then true.
    fn begin_attributes(&mut self, end: u32) -> Result<bool, BrokenOff> {
        if !self.scanner.take_sign('@') {
            self.assembler.close(end);
            return Ok(false);
        }
        self.assembler.begin_attributes();
        if self.scanner.take_sign('{') {
            let end = self.scanner.span().end;
            if self.scanner.take_sign('}') {
                self.assembler.close(end);
                return Ok(false);
            }
            self.places.push(TreePlace::Attributes);
            return Ok(true);
        }
        match self.scanner.peek() {
            Lexeme::Datum(_) => {}
            _ => return self.scanner.broken_off("a datum or `{`"),
        }
        if let (Lexeme::Datum(datum), _) = self.scanner.take() {
            self.assembler.datum(datum);
        }
        self.assembler.close(end);
        Ok(false)
    }

    fn end(&mut self) -> Result<(), BrokenOff> {
        match self.scanner.peek() {
            Lexeme::End => Ok(()),
            _ => self.scanner.broken_off("the end of the text"),
        }
    }
}
