//! Documents as ATerms, the exchange format of rewriting tools.
//!
//! ```text
//! Foo("a", [1, 2], Some(Bar), None()){pos(pos(2, 4))}
//! Foo("foo1", Ref("Foo", 1)){id(0)}
//! ```
//!
//! | | |
//! | --- | --- |
//! | options | `Some(x)`, `None()` |
//! | unique terms | annotated `{id(0)}` where they stand first, `Ref("Foo", 0)` elsewhere |
//! | attributes | annotations behind the id, each with its name: `{pos(…)}` |
//! | positions, bytes | `pos(line, column)`, `pos(line, column, line, column)`; `bytes("00ff")` |
//! | constructors with one of these names | in quotes: `"Some"(1)` |

use crate::schema::assemble::{Assembler, UniqueNumber};
use crate::schema::builtin::{Datum, SourcePosition};
use crate::schema::datum_text::{push, push_datum};
use crate::schema::definition::Multiplicity;
use crate::schema::document::{Document, TermId, TermValue};
use crate::schema::model::{FieldDef, Schema, SortId};
use crate::schema::scan::{BrokenOff, Lexeme, Scanner};
use crate::schema::text_error::{TextError, TextProblem};
use crate::schema::tree_text::MAX_TREE_BYTES;
use cembra_vm::program::instruction::Span;

/// Names that mean something in this form.
const FORMS: [&str; 5] = ["Some", "None", "Ref", "pos", "bytes"];

/// Prints a document on one line.
///
/// # Errors
/// A text beyond [`MAX_TREE_BYTES`], which shared terms can cause.
pub fn aterm_text(schema: &Schema, document: &Document) -> Result<String, TextError> {
    let numbers = vec![None; document.len()];
    let mut writer = AtermWriter { schema, document, out: String::new(), numbers, next: 0 };
    let mut tasks = vec![AtermTask::Value(document.root())];
    while let Some(task) = tasks.pop() {
        if writer.out.len() > MAX_TREE_BYTES {
            let problem = TextProblem::Limit { name: "aterm-text-bytes", limit: MAX_TREE_BYTES };
            return Err(TextError { problem, span: Span::default() });
        }
        match task {
            AtermTask::Text(text) => writer.out.push_str(text),
            AtermTask::Value(value) => writer.value(value, &mut tasks),
            AtermTask::Field(field, value) => writer.field(field, value, &mut tasks),
            AtermTask::Name(field) => push(&mut writer.out, format_args!("{}(", field.name)),
            AtermTask::Number(number) => push(&mut writer.out, format_args!("id({number})")),
        }
    }
    writer.out.push('\n');
    Ok(writer.out)
}

struct AtermWriter<'d> {
    schema: &'d Schema,
    document: &'d Document,
    out: String,
    numbers: Vec<Option<u64>>,
    next: u64,
}

/// What is still to be written, last first.
#[derive(Clone, Copy)]
enum AtermTask<'d> {
    Text(&'static str),
    Value(TermValue),
    Field(&'d FieldDef, TermValue),
    Name(&'d FieldDef),
    Number(u64),
}

impl<'d> AtermWriter<'d> {
    fn field(&mut self, field: &'d FieldDef, value: TermValue, tasks: &mut Vec<AtermTask<'d>>) {
        match (field.multiplicity, value) {
            (Multiplicity::Option, TermValue::Absent) => self.out.push_str("None()"),
            (Multiplicity::Option, value) => {
                self.out.push_str("Some(");
                tasks.extend([AtermTask::Text(")"), AtermTask::Value(value)]);
            }
            _ => self.value(value, tasks),
        }
    }

    fn value(&mut self, value: TermValue, tasks: &mut Vec<AtermTask<'d>>) {
        match value {
            TermValue::Missing | TermValue::Broken | TermValue::Absent => self.out.push_str("None()"),
            TermValue::Datum(id) => self.datum(self.document.datum(id)),
            TermValue::Term(term) => self.term(term, tasks),
            TermValue::List(list) => {
                self.out.push('[');
                tasks.push(AtermTask::Text("]"));
                separated(self.document.list(list).iter().map(|value| AtermTask::Value(*value)), tasks);
            }
        }
    }

    fn datum(&mut self, datum: &Datum) {
        match datum {
            Datum::Position(SourcePosition { line, column, end: None }) => {
                push(&mut self.out, format_args!("pos({line},{column})"));
            }
            Datum::Position(SourcePosition { line, column, end: Some((end_line, end_column)) }) => {
                push(&mut self.out, format_args!("pos({line},{column},{end_line},{end_column})"));
            }
            Datum::Bytes(bytes) => {
                self.out.push_str("bytes(\"");
                bytes.iter().for_each(|byte| push(&mut self.out, format_args!("{byte:02x}")));
                self.out.push_str("\")");
            }
            other => push_datum(&mut self.out, other),
        }
    }

    fn term(&mut self, term: TermId, tasks: &mut Vec<AtermTask<'d>>) {
        let constructor = self.schema.constructor(self.document.constructor(term));
        let mut annotations = Vec::new();
        if constructor.is_unique {
            if let Some(number) = self.numbers[term.index()] {
                return push(&mut self.out, format_args!("Ref(\"{}\",{number})", constructor.name));
            }
            annotations.push(vec![AtermTask::Number(self.next)]);
            self.numbers[term.index()] = Some(self.next);
            self.next += 1;
        }
        let is_form = FORMS.contains(&&*constructor.name);
        let quote = if is_form { "\"" } else { "" };
        push(&mut self.out, format_args!("{quote}{}{quote}", constructor.name));
        let (own, attributes) = self.document.values(term).split_at(constructor.own_fields().len());
        for (field, value) in constructor.attributes().iter().zip(attributes) {
            annotations.push(vec![
                AtermTask::Text(")"),
                AtermTask::Field(field, *value),
                AtermTask::Name(field),
            ]);
        }
        if !annotations.is_empty() {
            tasks.push(AtermTask::Text("}"));
            for (at, mut annotation) in annotations.into_iter().enumerate().rev() {
                tasks.append(&mut annotation);
                tasks.push(AtermTask::Text(if at == 0 { "{" } else { "," }));
            }
        }
        if is_form || !own.is_empty() {
            self.out.push('(');
            tasks.push(AtermTask::Text(")"));
            let fields = constructor.own_fields().iter().zip(own);
            separated(fields.map(|(field, value)| AtermTask::Field(field, *value)), tasks);
        }
    }
}

/// Pushes tasks, with commas between them, so that the first is done first.
fn separated<'d>(
    items: impl DoubleEndedIterator<Item = AtermTask<'d>> + ExactSizeIterator,
    tasks: &mut Vec<AtermTask<'d>>,
) {
    for (at, item) in items.enumerate().rev() {
        tasks.push(item);
        if at > 0 {
            tasks.push(AtermTask::Text(","));
        }
    }
}

/// Where the reader is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AtermPlace {
    List,
    Fields,
    /// In `Some(…)`.
    Option,
    /// In the value of an annotation.
    Annotation,
}

/// Reads a document, whose root is of the type `wanted`, and validates it.
///
/// # Errors
/// All that is wrong, with places; behind a text that breaks off, nothing.
pub fn read_aterm(schema: &Schema, wanted: SortId, text: &str) -> Result<Document, Vec<TextError>> {
    let scanner = Scanner::new(text, "%%");
    let mut reader = AtermReader { scanner, assembler: Assembler::new(schema), places: Vec::new() };
    let root = reader.read().map(|()| reader.assembler.take_value());
    reader.assembler.finish(root, wanted, reader.scanner.problems)
}

struct AtermReader<'t, 's> {
    scanner: Scanner<'t>,
    assembler: Assembler<'s>,
    places: Vec<AtermPlace>,
}

impl AtermReader<'_, '_> {
    fn read(&mut self) -> Result<(), BrokenOff> {
        loop {
            if self.begin_value()? {
                continue;
            }
            if !self.complete()? {
                return Ok(());
            }
        }
    }

    /// Behind a value: closes what ends with it; false at the end of the text.
    fn complete(&mut self) -> Result<bool, BrokenOff> {
        loop {
            let Some(place) = self.places.last().copied() else {
                return match self.scanner.peek() {
                    Lexeme::End => Ok(false),
                    _ => self.scanner.broken_off("the end of the text"),
                };
            };
            let has_more = matches!(place, AtermPlace::List | AtermPlace::Fields);
            if has_more && self.scanner.take_sign(',') {
                return Ok(true);
            }
            let end = self.scanner.span().end;
            let (sign, expected) = match place {
                AtermPlace::List => (']', "`,` or `]`"),
                AtermPlace::Fields => (')', "`,` or `)`"),
                AtermPlace::Option | AtermPlace::Annotation => (')', "`)`"),
            };
            if !self.scanner.take_sign(sign) {
                return self.scanner.broken_off(expected);
            }
            self.places.pop();
            let begins_value = match place {
                AtermPlace::List => {
                    self.assembler.close(end);
                    false
                }
                AtermPlace::Fields => self.annotations(end)?,
                AtermPlace::Option => false,
                AtermPlace::Annotation => self.next_annotation()?,
            };
            if begins_value {
                return Ok(true);
            }
        }
    }

    /// Takes a whole value, or the beginning of one: then true.
    fn begin_value(&mut self) -> Result<bool, BrokenOff> {
        let (lexeme, span) = self.scanner.take();
        match lexeme {
            Lexeme::Sign('[') => {
                self.assembler.open_list(span);
                let end = self.scanner.span().end;
                if self.scanner.take_sign(']') {
                    self.assembler.close(end);
                    return Ok(false);
                }
                self.places.push(AtermPlace::List);
                Ok(true)
            }
            Lexeme::Datum(Datum::Text(name)) if self.is_called(span) => self.begin_term(&name, span),
            Lexeme::Datum(datum) => {
                self.assembler.datum(datum);
                Ok(false)
            }
            Lexeme::Word(form) if FORMS.contains(&form) && self.is_called(span) => self.form(form, span),
            Lexeme::Word(name) => self.begin_term(name, span),
            other => {
                let found = other.describe();
                self.scanner.problem(TextProblem::Expected { expected: "a value", found }, span);
                Err(BrokenOff)
            }
        }
    }

    /// True if `(` follows directly.
    fn is_called(&self, span: Span) -> bool {
        *self.scanner.peek() == Lexeme::Sign('(') && self.scanner.is_adjacent(span)
    }

    fn form(&mut self, form: &str, span: Span) -> Result<bool, BrokenOff> {
        self.scanner.take();
        match form {
            "Some" => {
                self.places.push(AtermPlace::Option);
                return Ok(true);
            }
            "None" => self.assembler.value(TermValue::Absent),
            "Ref" => self.reference(span)?,
            "bytes" => self.bytes()?,
            _ => self.position()?,
        }
        match self.scanner.take_sign(')') {
            true => Ok(false),
            false => self.scanner.broken_off("`)`"),
        }
    }

    fn reference(&mut self, span: Span) -> Result<(), BrokenOff> {
        let (Lexeme::Datum(Datum::Text(name)), place) = self.scanner.take() else {
            return self.scanner.broken_off("the name of a constructor");
        };
        if !self.scanner.take_sign(',') {
            return self.scanner.broken_off("`,`");
        }
        let Some(number) = self.scanner.take_number() else { return self.scanner.broken_off("a number") };
        let constructor = self.assembler.find_constructor(&name, place);
        let term = constructor.and_then(|id| self.assembler.declare(id, number, span));
        self.assembler.value(term.map_or(TermValue::Broken, TermValue::Term));
        Ok(())
    }

    fn bytes(&mut self) -> Result<(), BrokenOff> {
        let (Lexeme::Datum(Datum::Text(digits)), span) = self.scanner.take() else {
            return self.scanner.broken_off("hexadecimal digits in quotes");
        };
        let pair = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
        let bytes: Option<Vec<u8>> = match digits.len() % 2 {
            0 => digits.as_bytes().chunks(2).map(pair).collect(),
            _ => None,
        };
        if bytes.is_none() {
            self.scanner.problem(TextProblem::Number { text: digits.into() }, span);
        }
        self.assembler.datum(Datum::Bytes(bytes.unwrap_or_default().into()));
        Ok(())
    }

    fn position(&mut self) -> Result<(), BrokenOff> {
        let mut numbers = Vec::with_capacity(4);
        loop {
            let Some(number) = self.scanner.take_number().and_then(|number| u32::try_from(number).ok())
            else {
                return self.scanner.broken_off("a line or a column");
            };
            numbers.push(number);
            if numbers.len() == 4 || !self.scanner.take_sign(',') {
                break;
            }
        }
        let (line, column, end) = match numbers[..] {
            [line, column] => (line, column, None),
            [line, column, end_line, end_column] => (line, column, Some((end_line, end_column))),
            _ => return self.scanner.broken_off("`,`"),
        };
        self.assembler.datum(Datum::Position(SourcePosition { line, column, end }));
        Ok(())
    }

    fn begin_term(&mut self, name: &str, span: Span) -> Result<bool, BrokenOff> {
        self.assembler.open_term(name, UniqueNumber::Later, span);
        if !self.is_called(span) {
            return self.annotations(span.end);
        }
        self.scanner.take();
        let end = self.scanner.span().end;
        if self.scanner.take_sign(')') {
            return self.annotations(end);
        }
        self.places.push(AtermPlace::Fields);
        Ok(true)
    }

    /// Behind the fields of a term: closes it, or begins the first annotation with a value; then true.
    fn annotations(&mut self, end: u32) -> Result<bool, BrokenOff> {
        if !self.scanner.take_sign('{') {
            self.assembler.close(end);
            return Ok(false);
        }
        if self.scanner.take_word("id") {
            let is_number = self.scanner.take_sign('(');
            let span = self.scanner.span();
            let Some(number) = self.scanner.take_number().filter(|_| is_number) else {
                return self.scanner.broken_off("`id(number)`");
            };
            if !self.scanner.take_sign(')') {
                return self.scanner.broken_off("`)`");
            }
            self.assembler.number_term(number, span);
            self.assembler.begin_attributes();
            return self.next_annotation();
        }
        self.assembler.begin_attributes();
        self.annotation()
    }

    /// Behind an annotation: the next one begins, then true, or the term ends.
    fn next_annotation(&mut self) -> Result<bool, BrokenOff> {
        if self.scanner.take_sign(',') {
            return self.annotation();
        }
        let end = self.scanner.span().end;
        if !self.scanner.take_sign('}') {
            return self.scanner.broken_off("`,` or `}`");
        }
        self.assembler.close(end);
        Ok(false)
    }

    fn annotation(&mut self) -> Result<bool, BrokenOff> {
        let wanted = self.assembler.next_field().map(|field| field.name.clone());
        let is_wanted = wanted.is_none_or(|name| *self.scanner.peek() == Lexeme::Word(&name));
        match self.scanner.peek() {
            Lexeme::Word(_) if is_wanted => {
                self.scanner.take();
            }
            _ => return self.scanner.broken_off("the next attribute's name"),
        }
        if !self.scanner.take_sign('(') {
            return self.scanner.broken_off("`(`");
        }
        self.places.push(AtermPlace::Annotation);
        Ok(true)
    }
}
