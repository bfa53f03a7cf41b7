//! Documents as calls of opaque functions, in the manner of LLVM's text.
//!
//! ```text
//! ; llvm arithmetic 5fd0…
//! !0 = metadata !{ metadata !"op", i8* "Mul" }
//! define i8* @document() {
//! entry:
//!   %u0 = call i8* @arithmetic.new.Loop()
//!   %0 = call i8* @arithmetic.Name(metadata !"b")
//!   %1 = call i8* @arithmetic.BinOp(i8* %0, metadata !0, i8* %0)
//!   call void @arithmetic.fill.Loop(i8* %u0, i8* %1)
//!   ret i8* %u0
//! }
//! ```
//!
//! One call a term, children first. A constructor without values is a row of metadata with its type.
//! Unique terms are made first and filled behind what they refer to. Lists are in square brackets, absent
//! options are `null`, attributes follow the fields. Sharing is kept.

use crate::schema::assemble::{Assembler, UniqueNumber};
use crate::schema::builtin::Datum;
use crate::schema::datum_text::push;
use crate::schema::document::{Document, TermId, TermValue};
use crate::schema::flat_text::{check_schema_name, is_immediate, name_of};
use crate::schema::model::{ConstructorId, Schema, SortId};
use crate::schema::print::schema_id;
use crate::schema::scan::{BrokenOff, Lexeme, Scanner};
use crate::schema::text_error::{TextError, TextProblem};
use crate::schema::typed_operand::{TypedOperand, push_typed, take_register_name, take_typed};
use crate::schema::walk::plain_first;
use cembra_vm::program::instruction::Span;
use hashbrown::HashMap;

/// Prints a document.
pub fn llvm_text(schema: &Schema, document: &Document) -> String {
    let order = plain_first(schema, document);
    let mut writer =
        LlvmWriter { schema, document, names: vec![String::new(); document.len()], out: String::new() };
    push(&mut writer.out, format_args!("; llvm {}{}\n", name_of(schema), schema_id(schema)));
    writer.name(&order);
    let prefix = if schema.name.is_empty() { "schema" } else { &schema.name };
    for term in order.iter().filter(|term| writer.names[term.index()].starts_with("i8* %u")) {
        let constructor = &schema.constructor(document.constructor(*term)).name;
        let register = &writer.names[term.index()]["i8* ".len()..];
        push(&mut writer.out, format_args!("  {register} = call i8* @{prefix}.new.{constructor}()\n"));
    }
    for term in order {
        writer.call(term, prefix);
    }
    writer.out.push_str("  ret ");
    writer.value(document.root());
    writer.out.push_str("\n}\n");
    writer.out
}

struct LlvmWriter<'d> {
    schema: &'d Schema,
    document: &'d Document,
    /// Each term as an operand.
    names: Vec<String>,
    out: String,
}

impl LlvmWriter<'_> {
    /// Gives names to terms, and writes the metadata of immediates.
    fn name(&mut self, order: &[TermId]) {
        let mut rows: HashMap<ConstructorId, usize> = HashMap::new();
        let (mut plain, mut unique) = (0, 0);
        for term in order {
            let id = self.document.constructor(*term);
            let constructor = self.schema.constructor(id);
            self.names[term.index()] = if is_immediate(constructor) {
                let next = rows.len();
                let row = *rows.entry(id).or_insert(next);
                if row == next {
                    let sort = &self.schema.sort(constructor.sort).name;
                    let name = &constructor.name;
                    push(
                        &mut self.out,
                        format_args!("!{row} = metadata !{{ metadata !\"{sort}\", i8* \"{name}\" }}\n"),
                    );
                }
                format!("metadata !{row}")
            } else if constructor.is_unique {
                unique += 1;
                format!("i8* %u{}", unique - 1)
            } else {
                plain += 1;
                format!("i8* %{}", plain - 1)
            };
        }
        self.out.push_str("define i8* @document() {\nentry:\n");
    }

    fn call(&mut self, term: TermId, prefix: &str) {
        let constructor = self.schema.constructor(self.document.constructor(term));
        if is_immediate(constructor) {
            return;
        }
        let operand = self.names[term.index()].clone();
        match constructor.is_unique {
            true => {
                push(&mut self.out, format_args!("  call void @{prefix}.fill.{}({operand}", constructor.name))
            }
            false => {
                let register = &operand["i8* ".len()..];
                push(&mut self.out, format_args!("  {register} = call i8* @{prefix}.{}(", constructor.name));
            }
        }
        for (at, value) in self.document.values(term).iter().enumerate() {
            if at > 0 || constructor.is_unique {
                self.out.push_str(", ");
            }
            self.value(*value);
        }
        self.out.push_str(")\n");
    }

    fn value(&mut self, value: TermValue) {
        match value {
            TermValue::Missing | TermValue::Broken | TermValue::Absent => self.out.push_str("null"),
            TermValue::Datum(id) => push_typed(&mut self.out, self.document.datum(id)),
            TermValue::Term(term) => self.out.push_str(&self.names[term.index()]),
            TermValue::List(list) => {
                self.out.push('[');
                for (at, element) in self.document.list(list).iter().enumerate() {
                    if at > 0 {
                        self.out.push_str(", ");
                    }
                    self.value(*element);
                }
                self.out.push(']');
            }
        }
    }
}

/// Reads a document, whose root is of the type `wanted`, and validates it.
///
/// # Errors
/// All that is wrong, with places; behind a text that breaks off, nothing.
pub fn read_llvm(schema: &Schema, wanted: SortId, text: &str) -> Result<Document, Vec<TextError>> {
    // The first line is a comment for LLVM.
    let scanner = Scanner::new(text, ";");
    let mut reader = LlvmReader {
        schema,
        scanner,
        assembler: Assembler::new(schema),
        metadata: HashMap::new(),
        plain: HashMap::new(),
    };
    reader.check_schema(text);
    let root = reader.read();
    reader.assembler.finish(root, wanted, reader.scanner.problems)
}

struct LlvmReader<'t, 's> {
    schema: &'s Schema,
    scanner: Scanner<'t>,
    assembler: Assembler<'s>,
    /// Constructors of immediates.
    metadata: HashMap<u64, String>,
    plain: HashMap<u64, TermValue>,
}

impl LlvmReader<'_, '_> {
    /// The first line is a comment for LLVM; it may be left out.
    fn check_schema(&mut self, text: &str) {
        let line = text.lines().next().unwrap_or_default();
        if let Some(found) = line.strip_prefix("; llvm ") {
            check_schema_name(
                self.schema,
                found.trim(),
                Span { start: 0, end: line.len() as u32 },
                &mut self.scanner,
            );
        }
    }

    fn read(&mut self) -> Result<TermValue, BrokenOff> {
        while self.scanner.take_sign('!') {
            self.metadata_row()?;
        }
        for word in ["define", "i8", "*", "@", "document", "(", ")", "{", "entry", ":"] {
            let sign = word.chars().next().filter(|character| !character.is_alphanumeric());
            let found = match sign {
                Some(sign) => self.scanner.take_sign(sign),
                None => self.scanner.take_word(word),
            };
            if !found {
                return self.scanner.broken_off("`define i8* @document() {` and `entry:`");
            }
        }
        loop {
            if self.scanner.take_word("ret") {
                break;
            }
            let span = self.scanner.span();
            if self.scanner.take_word("call") {
                self.fill(span)?;
            } else {
                self.call(span)?;
            }
        }
        self.operand()?;
        let root = self.assembler.take_value();
        if !self.scanner.take_sign('}') || *self.scanner.peek() != Lexeme::End {
            return self.scanner.broken_off("`}` and the end of the text");
        }
        Ok(root)
    }

    /// `!0 = metadata !{ metadata !"op", i8* "Mul" }`.
    fn metadata_row(&mut self) -> Result<(), BrokenOff> {
        let span = self.scanner.span();
        let number = self.scanner.take_number();
        let is_begun =
            self.scanner.take_sign('=') && take_typed(&mut self.scanner) == Some(TypedOperand::Braces);
        let has_sort = matches!(take_typed(&mut self.scanner), Some(TypedOperand::Datum(Datum::Text(_))));
        let is_pointer =
            self.scanner.take_sign(',') && self.scanner.take_word("i8") && self.scanner.take_sign('*');
        let (Some(number), true, (Lexeme::Datum(Datum::Text(name)), place)) =
            (number, is_begun && has_sort && is_pointer, self.scanner.take())
        else {
            return self.scanner.broken_off("`= metadata !{ metadata !\"type\", i8* \"Constructor\" }`");
        };
        if !self.scanner.take_sign('}') {
            return self.scanner.broken_off("`}`");
        }
        self.assembler.find_constructor(&name, place);
        if self.metadata.insert(number, name.into()).is_some() {
            self.scanner.problem(TextProblem::DuplicateReference { sign: '!', number }, span);
        }
        Ok(())
    }

    /// The last part of `@name.Constructor` or `@name.new.Constructor`, and the bracket behind it.
    fn function(&mut self) -> Result<(String, Span), BrokenOff> {
        if !self.scanner.take_sign('@') {
            return self.scanner.broken_off("`@`");
        }
        loop {
            let (Lexeme::Word(part), span) = self.scanner.take() else {
                return self.scanner.broken_off("the name of a function");
            };
            if self.scanner.take_sign('(') {
                return Ok((part.to_owned(), span));
            }
            if !self.scanner.take_sign('.') {
                return self.scanner.broken_off("`.` or `(`");
            }
        }
    }

    /// `%0 = call i8* @name.Constructor(…)`, `%u0 = call i8* @name.new.Constructor()`.
    fn call(&mut self, span: Span) -> Result<(), BrokenOff> {
        let Some((number, is_unique)) = take_register_name(&mut self.scanner) else {
            return self.scanner.broken_off("`%0 = call`, `call` or `ret`");
        };
        let is_call = self.scanner.take_sign('=')
            && self.scanner.take_word("call")
            && self.scanner.take_word("i8")
            && self.scanner.take_sign('*');
        if !is_call {
            return self.scanner.broken_off("`= call i8*`");
        }
        let (name, place) = self.function()?;
        if is_unique {
            if let Some(id) = self.assembler.find_constructor(&name, place) {
                self.assembler.declare(id, number, span);
            }
            return match self.scanner.take_sign(')') {
                true => Ok(()),
                false => self.scanner.broken_off("`)`"),
            };
        }
        self.assembler.open_term(&name, UniqueNumber::None, place);
        self.operands()?;
        let value = self.assembler.take_value();
        if self.plain.insert(number, value).is_some() {
            self.scanner.problem(TextProblem::DuplicateReference { sign: '%', number }, span);
        }
        Ok(())
    }

    /// `call void @name.fill.Constructor(i8* %u0, …)`.
    fn fill(&mut self, span: Span) -> Result<(), BrokenOff> {
        if !self.scanner.take_word("void") {
            return self.scanner.broken_off("`void`");
        }
        let (name, place) = self.function()?;
        let Some(TypedOperand::Register { number, is_unique: true }) = take_typed(&mut self.scanner) else {
            return self.scanner.broken_off("`i8* %u0`");
        };
        self.scanner.take_sign(',');
        let id = self.assembler.find_constructor(&name, place).ok_or(BrokenOff)?;
        if self.assembler.declared(number).is_none() {
            self.scanner.problem(TextProblem::UnknownReference { sign: '%', number }, span);
            return Err(BrokenOff);
        }
        let term = self.assembler.define(id, number, span).ok_or(BrokenOff)?;
        self.assembler.open_reserved(term, span);
        self.operands()?;
        self.assembler.take_value();
        Ok(())
    }

    /// Operands up to the closing bracket, fields first, then attributes.
    fn operands(&mut self) -> Result<(), BrokenOff> {
        loop {
            let end = self.scanner.span().end;
            if self.scanner.take_sign(')') {
                self.assembler.close(end);
                return Ok(());
            }
            if self.assembler.next_field().is_none() {
                self.assembler.begin_attributes_once();
            }
            self.operand()?;
            if !self.scanner.take_sign(',') && *self.scanner.peek() != Lexeme::Sign(')') {
                return self.scanner.broken_off("`,` or `)`");
            }
        }
    }

    fn operand(&mut self) -> Result<(), BrokenOff> {
        let span = self.scanner.span();
        if !self.scanner.take_sign('[') {
            return self.item();
        }
        self.assembler.open_list(span);
        loop {
            let end = self.scanner.span().end;
            if self.scanner.take_sign(']') {
                self.assembler.close(end);
                return Ok(());
            }
            self.item()?;
            if !self.scanner.take_sign(',') && *self.scanner.peek() != Lexeme::Sign(']') {
                return self.scanner.broken_off("`,` or `]`");
            }
        }
    }

    fn item(&mut self) -> Result<(), BrokenOff> {
        let span = self.scanner.span();
        match take_typed(&mut self.scanner) {
            Some(TypedOperand::Datum(datum)) => self.assembler.datum(datum),
            Some(TypedOperand::Absent) => self.assembler.value(TermValue::Absent),
            Some(TypedOperand::Row(number)) => self.immediate(number, span),
            Some(TypedOperand::Register { number, is_unique: true }) => {
                self.assembler.reference(number, span)
            }
            Some(TypedOperand::Register { number, .. }) => {
                let found = self.plain.get(&number).copied();
                if found.is_none() {
                    self.scanner.problem(TextProblem::UnknownReference { sign: '%', number }, span);
                }
                self.assembler.value(found.unwrap_or(TermValue::Broken));
            }
            Some(TypedOperand::Braces) | None => {
                self.scanner.problem(TextProblem::Operand, span);
                return Err(BrokenOff);
            }
        }
        Ok(())
    }

    fn immediate(&mut self, number: u64, span: Span) {
        match self.metadata.get(&number).cloned() {
            Some(name) => {
                self.assembler.open_term(&name, UniqueNumber::None, span);
                self.assembler.close(span.end);
            }
            None => {
                self.scanner.problem(TextProblem::UnknownReference { sign: '!', number }, span);
                self.assembler.value(TermValue::Broken);
            }
        }
    }
}
