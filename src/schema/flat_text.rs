//! Documents as three-address code: one line a term, operands are earlier lines.
//!
//! ```text
//! flat arithmetic 5fd0…            -- name and hash of the schema
//! !0 : Loop                        -- unique terms are made first, so that any line may refer to them
//! %0 = Num 1
//! %1 = Add %0 Mult %0 @ 2:4        -- a constructor without values is an immediate
//! !0 = "again" [2 %1 !0] _         -- then they are filled; lists are counted; `_` is an absent option
//! root %1
//! ```
//!
//! Shared terms stay shared. Lines stand in post-order from the root; a unique term is filled behind the
//! lines it refers to.

use crate::schema::assemble::{Assembler, UniqueNumber};
use crate::schema::datum_text::{push, push_datum};
use crate::schema::document::{Document, TermId, TermValue};
use crate::schema::model::{Constructor, Schema, SortId};
use crate::schema::print::schema_id;
use crate::schema::scan::{BrokenOff, Lexeme, Scanner};
use crate::schema::text_error::{TextError, TextProblem};
use crate::schema::walk::plain_first;
use cembra_vm::program::instruction::Span;

/// Prints a document.
pub fn flat_text(schema: &Schema, document: &Document) -> String {
    let order = plain_first(schema, document);
    let mut out = format!("flat {}{}\n", name_of(schema), schema_id(schema));
    let mut writer = FlatWriter { schema, document, names: vec![None; document.len()] };
    let (mut plain, mut unique) = (0, 0);
    for term in &order {
        let constructor = schema.constructor(document.constructor(*term));
        if constructor.is_unique {
            push(&mut out, format_args!("!{unique} : {}\n", constructor.name));
            writer.names[term.index()] = Some(('!', unique));
            unique += 1;
        } else if !is_immediate(constructor) {
            writer.names[term.index()] = Some(('%', plain));
            plain += 1;
        }
    }
    for term in order {
        if let Some((sign, number)) = writer.names[term.index()] {
            push(&mut out, format_args!("{sign}{number} ="));
            writer.line(term, sign == '%', &mut out);
            out.push('\n');
        }
    }
    out.push_str("root");
    writer.value(document.root(), &mut out);
    out.push('\n');
    out
}

pub(super) fn name_of(schema: &Schema) -> String {
    if schema.name.is_empty() { String::new() } else { format!("{} ", schema.name) }
}

/// A plain constructor without any values is written where it is used.
pub(super) fn is_immediate(constructor: &Constructor) -> bool {
    constructor.fields.is_empty() && !constructor.is_unique
}

struct FlatWriter<'d> {
    schema: &'d Schema,
    document: &'d Document,
    names: Vec<Option<(char, u64)>>,
}

impl FlatWriter<'_> {
    fn line(&self, term: TermId, is_plain: bool, out: &mut String) {
        let constructor = self.schema.constructor(self.document.constructor(term));
        if is_plain {
            push(out, format_args!(" {}", constructor.name));
        }
        let (own, attributes) = self.document.values(term).split_at(constructor.own_fields().len());
        own.iter().for_each(|value| self.value(*value, out));
        if !attributes.is_empty() {
            out.push_str(" @");
            attributes.iter().for_each(|value| self.value(*value, out));
        }
    }

    fn value(&self, value: TermValue, out: &mut String) {
        out.push(' ');
        match value {
            TermValue::Missing | TermValue::Broken | TermValue::Absent => out.push('_'),
            TermValue::Datum(id) => push_datum(out, self.document.datum(id)),
            TermValue::Term(term) => match self.names[term.index()] {
                Some((sign, number)) => push(out, format_args!("{sign}{number}")),
                None => out.push_str(&self.schema.constructor(self.document.constructor(term)).name),
            },
            TermValue::List(list) => {
                let elements = self.document.list(list);
                push(out, format_args!("[{}", elements.len()));
                elements.iter().for_each(|element| self.value(*element, out));
                out.push(']');
            }
        }
    }
}

/// Reads a document, whose root is of the type `wanted`, and validates it.
///
/// # Errors
/// All that is wrong, with places.
pub fn read_flat(schema: &Schema, wanted: SortId, text: &str) -> Result<Document, Vec<TextError>> {
    let mut reader = FlatReader {
        schema,
        scanner: Scanner::new(text, "--"),
        assembler: Assembler::new(schema),
        plain: Vec::new(),
    };
    let root = reader.read();
    reader.assembler.finish(root, wanted, reader.scanner.problems)
}

struct FlatReader<'t, 's> {
    schema: &'s Schema,
    scanner: Scanner<'t>,
    assembler: Assembler<'s>,
    /// What the lines `%0`, `%1` … built.
    plain: Vec<TermValue>,
}

impl FlatReader<'_, '_> {
    fn read(&mut self) -> Result<TermValue, BrokenOff> {
        if !self.scanner.take_word("flat") {
            return self.scanner.broken_off("`flat`");
        }
        check_schema(self.schema, &mut self.scanner);
        loop {
            let (lexeme, span) = self.scanner.take();
            match lexeme {
                Lexeme::Word("root") => {
                    self.operand()?;
                    let root = self.assembler.take_value();
                    return match self.scanner.peek() {
                        Lexeme::End => Ok(root),
                        _ => self.scanner.broken_off("the end of the text"),
                    };
                }
                Lexeme::Sign('!') => self.unique_line(span)?,
                Lexeme::Sign('%') => self.plain_line(span)?,
                other => {
                    let found = other.describe();
                    let expected = "`%`, `!` or `root`";
                    self.scanner.problem(TextProblem::Expected { expected, found }, span);
                    return Err(BrokenOff);
                }
            }
        }
    }

    fn unique_line(&mut self, span: Span) -> Result<(), BrokenOff> {
        let Some(number) = self.scanner.take_number() else { return self.scanner.broken_off("a number") };
        if self.scanner.take_sign(':') {
            let (Lexeme::Word(name), place) = self.scanner.take() else {
                return self.scanner.broken_off("a constructor");
            };
            if let Some(id) = self.assembler.find_constructor(name, place) {
                self.assembler.declare(id, number, span);
            }
            return Ok(());
        }
        if !self.scanner.take_sign('=') {
            return self.scanner.broken_off("`:` or `=`");
        }
        let Some(constructor) = self.assembler.declared(number) else {
            self.assembler.problem(TextProblem::UnknownReference { sign: '!', number }, span);
            return Err(BrokenOff);
        };
        if let Some(term) = self.assembler.define(constructor, number, span) {
            self.assembler.open_reserved(term, span);
            self.fields()?;
            self.assembler.take_value();
        }
        Ok(())
    }

    fn plain_line(&mut self, span: Span) -> Result<(), BrokenOff> {
        let Some(number) = self.scanner.take_number() else { return self.scanner.broken_off("a number") };
        if number != self.plain.len() as u64 {
            self.scanner.problem(TextProblem::DuplicateReference { sign: '%', number }, span);
            return Err(BrokenOff);
        }
        if !self.scanner.take_sign('=') {
            return self.scanner.broken_off("`=`");
        }
        let (Lexeme::Word(name), place) = self.scanner.take() else {
            return self.scanner.broken_off("a constructor");
        };
        self.assembler.open_term(name, UniqueNumber::None, place);
        self.fields()?;
        let value = self.assembler.take_value();
        self.plain.push(value);
        Ok(())
    }

    /// Operands to the end of the line, then those behind `@`.
    fn fields(&mut self) -> Result<(), BrokenOff> {
        let mut end = self.scanner.span().start;
        let mut has_attributes = false;
        while !self.is_line_start() {
            end = self.scanner.span().end;
            if !has_attributes && self.scanner.take_sign('@') {
                has_attributes = true;
                self.assembler.begin_attributes();
            } else {
                self.operand()?;
            }
        }
        self.assembler.close(end);
        Ok(())
    }

    /// True before `%1 =`, `!1 =`, `root` and the end.
    fn is_line_start(&self) -> bool {
        match self.scanner.peek() {
            Lexeme::End | Lexeme::Word("root") => true,
            Lexeme::Sign('%' | '!') => self.scanner.begins_line(),
            _ => false,
        }
    }

    fn operand(&mut self) -> Result<(), BrokenOff> {
        if *self.scanner.peek() != Lexeme::Sign('[') {
            return self.item();
        }
        let (_, span) = self.scanner.take();
        self.assembler.open_list(span);
        let Some(count) = self.scanner.take_number() else {
            return self.scanner.broken_off("the number of elements");
        };
        for _ in 0..count {
            if *self.scanner.peek() == Lexeme::Sign(']') {
                return self.scanner.broken_off("another element");
            }
            self.item()?;
        }
        let end = self.scanner.span().end;
        if !self.scanner.take_sign(']') {
            return self.scanner.broken_off("`]`");
        }
        self.assembler.close(end);
        Ok(())
    }

    fn item(&mut self) -> Result<(), BrokenOff> {
        match self.scanner.peek() {
            Lexeme::Sign('%' | '!') | Lexeme::Word(_) | Lexeme::Datum(_) => {}
            _ => return self.scanner.broken_off("an operand"),
        }
        let (lexeme, span) = self.scanner.take();
        match lexeme {
            Lexeme::Sign(sign) => {
                let Some(number) = self.scanner.take_number() else {
                    return self.scanner.broken_off("a number");
                };
                match sign {
                    '!' => self.assembler.reference(number, span),
                    _ => self.plain_reference(number, span),
                }
            }
            Lexeme::Word("_") => self.assembler.value(TermValue::Absent),
            Lexeme::Word(name) => {
                self.assembler.open_term(name, UniqueNumber::None, span);
                self.assembler.close(span.end);
            }
            Lexeme::Datum(datum) => self.assembler.datum(datum),
            Lexeme::End => {}
        }
        Ok(())
    }

    fn plain_reference(&mut self, number: u64, span: Span) {
        let found = usize::try_from(number).ok().and_then(|at| self.plain.get(at)).copied();
        if found.is_none() {
            self.assembler.problem(TextProblem::UnknownReference { sign: '%', number }, span);
        }
        self.assembler.value(found.unwrap_or(TermValue::Broken));
    }
}

/// Takes the name and the hash of the schema, which may be left out, and reports those of another one.
pub(super) fn check_schema(schema: &Schema, scanner: &mut Scanner<'_>) {
    let (found, span) = scanner.rest_of_line();
    if !found.is_empty() {
        check_schema_name(schema, found, span, scanner);
    }
}

/// Reports the name and the hash of another schema.
pub(super) fn check_schema_name(schema: &Schema, found: &str, span: Span, scanner: &mut Scanner<'_>) {
    let expected = format!("{}{}", name_of(schema), schema_id(schema));
    if found != expected {
        let found = found.to_owned();
        scanner.problem(TextProblem::OtherSchema { expected, found }, span);
    }
}
