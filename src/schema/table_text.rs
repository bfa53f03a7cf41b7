//! Unique objects as rows of tables, one table a constructor.
//!
//! ```text
//! table untyped 5fd0…
//! Foo ; name, id, attr
//! !0 = metadata !{ metadata !"foo1", i64 0, i64 1 }
//! !1 = metadata !{ metadata !"foo2", i64 1, i64 0 }
//! root metadata !0
//! ```
//!
//! The id stands behind the data that begin a row. In other fields a reference is the id of its row, or
//! `metadata !0` where a number could stand as well. Plain terms are nested rows that begin with their
//! constructor, attributes are further columns, lists are in square brackets.

use crate::schema::assemble::{Assembler, UniqueNumber};
use crate::schema::builtin::Datum;
use crate::schema::datum_text::{push, push_quoted};
use crate::schema::definition::Multiplicity;
use crate::schema::document::{Document, TermId, TermValue};
use crate::schema::flat_text::{check_schema, name_of};
use crate::schema::model::{Constructor, ConstructorId, Schema, SortId};
use crate::schema::print::schema_id;
use crate::schema::scan::{BrokenOff, Lexeme, Scanner};
use crate::schema::text_error::{TextError, TextProblem};
use crate::schema::tree_text::MAX_TREE_BYTES;
use crate::schema::typed_operand::{TypedOperand, push_typed, take_typed};
use crate::schema::walk::plain_first;
use cembra_vm::program::instruction::Span;

/// Prints a document.
///
/// # Errors
/// A text beyond [`MAX_TREE_BYTES`], which shared plain terms can cause.
pub fn table_text(schema: &Schema, document: &Document) -> Result<String, TextError> {
    let order = plain_first(schema, document);
    let is_unique = |term: &TermId| schema.constructor(document.constructor(*term)).is_unique;
    let uniques: Vec<TermId> = order.into_iter().filter(is_unique).collect();
    let mut numbers = vec![None; document.len()];
    for (number, term) in uniques.iter().enumerate() {
        numbers[term.index()] = Some(number as u64);
    }
    let mut writer = TableWriter { schema, document, numbers, out: String::new() };
    push(&mut writer.out, format_args!("table {}{}\n", name_of(schema), schema_id(schema)));
    for id in schema.unique_constructors() {
        let rows: Vec<TermId> =
            uniques.iter().copied().filter(|term| document.constructor(*term) == id).collect();
        writer.table(schema.constructor(id), &rows)?;
    }
    writer.out.push_str("root ");
    writer.value(document.root(), None)?;
    writer.out.push('\n');
    Ok(writer.out)
}

/// Columns before the id: the data that begin a row.
fn columns_before_id(schema: &Schema, constructor: &Constructor) -> usize {
    let is_datum = |sort: SortId| schema.is_builtin(sort);
    let fields = constructor.own_fields().iter();
    fields.take_while(|field| is_datum(field.sort) && field.multiplicity == Multiplicity::One).count()
}

/// True if a number may stand where the type is wanted.
fn admits_numbers(schema: &Schema, sort: Option<SortId>) -> bool {
    sort.is_none_or(|sort| schema.admits_datum(sort, &Datum::Int(0)))
}

struct TableWriter<'d> {
    schema: &'d Schema,
    document: &'d Document,
    numbers: Vec<Option<u64>>,
    out: String,
}

/// What is still to be written, last first.
#[derive(Clone, Copy)]
enum TableTask {
    Text(&'static str),
    Value(TermValue, Option<SortId>),
    Id(u64),
}

impl TableWriter<'_> {
    fn table(&mut self, constructor: &Constructor, rows: &[TermId]) -> Result<(), TextError> {
        if rows.is_empty() {
            return Ok(());
        }
        let before = columns_before_id(self.schema, constructor);
        let mut names: Vec<&str> = constructor.fields.iter().map(|field| &*field.name).collect();
        names.insert(before, "id");
        push(&mut self.out, format_args!("{} ; {}\n", constructor.name, names.join(", ")));
        for term in rows {
            let number = self.numbers[term.index()].unwrap_or_default();
            push(&mut self.out, format_args!("!{number} = metadata !{{ "));
            let mut cells: Vec<TableTask> = self.cells(*term);
            cells.insert(before, TableTask::Id(number));
            self.write(separated(cells))?;
            self.out.push_str(" }\n");
        }
        Ok(())
    }

    fn cells(&self, term: TermId) -> Vec<TableTask> {
        let fields = &self.schema.constructor(self.document.constructor(term)).fields;
        let values = self.document.values(term).iter().zip(fields.iter());
        values.map(|(value, field)| TableTask::Value(*value, Some(field.sort))).collect()
    }

    fn value(&mut self, value: TermValue, sort: Option<SortId>) -> Result<(), TextError> {
        self.write(vec![TableTask::Value(value, sort)])
    }

    fn write(&mut self, mut tasks: Vec<TableTask>) -> Result<(), TextError> {
        while let Some(task) = tasks.pop() {
            if self.out.len() > MAX_TREE_BYTES {
                let problem = TextProblem::Limit { name: "table-text-bytes", limit: MAX_TREE_BYTES };
                return Err(TextError { problem, span: Span::default() });
            }
            match task {
                TableTask::Text(text) => self.out.push_str(text),
                TableTask::Id(number) => push(&mut self.out, format_args!("i64 {number}")),
                TableTask::Value(value, sort) => self.cell(value, sort, &mut tasks),
            }
        }
        Ok(())
    }

    fn cell(&mut self, value: TermValue, sort: Option<SortId>, tasks: &mut Vec<TableTask>) {
        match value {
            TermValue::Missing | TermValue::Broken | TermValue::Absent => self.out.push_str("null"),
            TermValue::Datum(id) => push_typed(&mut self.out, self.document.datum(id)),
            TermValue::List(list) => {
                let elements = self.document.list(list).iter();
                self.out.push('[');
                tasks.push(TableTask::Text("]"));
                tasks.extend(separated(elements.map(|value| TableTask::Value(*value, sort)).collect()));
            }
            TermValue::Term(term) => match self.numbers[term.index()] {
                Some(number) if admits_numbers(self.schema, sort) => {
                    push(&mut self.out, format_args!("metadata !{number}"));
                }
                Some(number) => push(&mut self.out, format_args!("i64 {number}")),
                None => {
                    self.out.push_str("metadata !{ metadata !");
                    push_quoted(
                        &mut self.out,
                        &self.schema.constructor(self.document.constructor(term)).name,
                    );
                    tasks.push(TableTask::Text(" }"));
                    let cells = self.cells(term);
                    if !cells.is_empty() {
                        tasks.extend(separated(cells));
                        tasks.push(TableTask::Text(", "));
                    }
                }
            },
        }
    }
}

/// Tasks with commas between them, the first on top of the stack.
fn separated(cells: Vec<TableTask>) -> Vec<TableTask> {
    let mut tasks = Vec::with_capacity(cells.len() * 2);
    for (at, cell) in cells.into_iter().enumerate().rev() {
        tasks.push(cell);
        if at > 0 {
            tasks.push(TableTask::Text(", "));
        }
    }
    tasks
}

/// Reads a document, whose root is of the type `wanted`, and validates it.
///
/// # Errors
/// All that is wrong, with places; behind a text that breaks off, nothing.
pub fn read_table(schema: &Schema, wanted: SortId, text: &str) -> Result<Document, Vec<TextError>> {
    let mut reader = TableReader {
        schema,
        scanner: Scanner::new(text, ";"),
        assembler: Assembler::new(schema),
        places: Vec::new(),
    };
    reader.declare(text);
    let root = reader.read();
    reader.assembler.finish(root, wanted, reader.scanner.problems)
}

/// What the reader is inside of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TablePlace {
    /// A row; cells until the id, which is that of the row.
    Row {
        until_id: usize,
        number: u64,
    },
    Term,
    List,
}

struct TableReader<'t, 's> {
    schema: &'s Schema,
    scanner: Scanner<'t>,
    assembler: Assembler<'s>,
    places: Vec<TablePlace>,
}

impl TableReader<'_, '_> {
    /// Makes room for the rows of all tables: a row may refer to any other.
    fn declare(&mut self, text: &str) {
        let mut constructor = None;
        for line in text.lines().skip(1) {
            let line = line.split(';').next().unwrap_or_default().trim();
            let number =
                line.strip_prefix('!').and_then(|rest| rest.split_once('=')).map(|(number, _)| number.trim());
            match number {
                Some(number) => {
                    if let (Some(id), Ok(number)) = (constructor, number.parse()) {
                        self.assembler.declare(id, number, Span::default());
                    }
                }
                None => constructor = self.schema.find_constructor(line),
            }
        }
    }

    fn read(&mut self) -> Result<TermValue, BrokenOff> {
        if !self.scanner.take_word("table") {
            return self.scanner.broken_off("`table`");
        }
        check_schema(self.schema, &mut self.scanner);
        let mut constructor = None;
        loop {
            let (lexeme, span) = self.scanner.take();
            match lexeme {
                Lexeme::Word("root") => break,
                Lexeme::Word(name) => {
                    constructor = Some(self.assembler.find_constructor(name, span).ok_or(BrokenOff)?)
                }
                Lexeme::Sign('!') => self.row(constructor, span)?,
                other => {
                    let found = other.describe();
                    let expected = "a constructor, `!` or `root`";
                    self.scanner.problem(TextProblem::Expected { expected, found }, span);
                    return Err(BrokenOff);
                }
            }
        }
        if self.begin_cell()? {
            self.cells()?;
        }
        match self.scanner.peek() {
            Lexeme::End => Ok(self.assembler.take_value()),
            _ => self.scanner.broken_off("the end of the text"),
        }
    }

    fn row(&mut self, constructor: Option<ConstructorId>, span: Span) -> Result<(), BrokenOff> {
        let Some(id) = constructor else { return self.scanner.broken_off("the constructor of the table") };
        let Some(number) = self.scanner.take_number() else { return self.scanner.broken_off("a number") };
        if !self.scanner.take_sign('=') {
            return self.scanner.broken_off("`=`");
        }
        let Some(TypedOperand::Braces) = take_typed(&mut self.scanner) else {
            return self.scanner.broken_off("`metadata !{`");
        };
        let Some(term) = self.assembler.define(id, number, span) else { return Err(BrokenOff) };
        self.assembler.open_reserved(term, span);
        let until_id = columns_before_id(self.schema, self.schema.constructor(id));
        self.places.push(TablePlace::Row { until_id, number });
        self.cells()?;
        self.assembler.take_value();
        Ok(())
    }

    /// Reads cells until everything that is open is closed.
    fn cells(&mut self) -> Result<(), BrokenOff> {
        while let Some(place) = self.places.last().copied() {
            let closing = if place == TablePlace::List { ']' } else { '}' };
            let end = self.scanner.span().end;
            if self.scanner.take_sign(closing) {
                self.places.pop();
                self.assembler.close(end);
                self.between()?;
                continue;
            }
            self.begin_attributes();
            let is_id = match self.places.last_mut() {
                Some(TablePlace::Row { until_id: 0, .. }) => true,
                Some(TablePlace::Row { until_id, .. }) => {
                    *until_id -= 1;
                    false
                }
                _ => false,
            };
            if is_id {
                self.id()?;
                self.between()?;
            } else if !self.begin_cell()? {
                self.between()?;
            }
        }
        Ok(())
    }

    /// The comma behind a cell, unless brackets close.
    fn between(&mut self) -> Result<(), BrokenOff> {
        if self.places.is_empty() || self.scanner.take_sign(',') {
            return Ok(());
        }
        match self.scanner.peek() {
            Lexeme::Sign(']' | '}') => Ok(()),
            _ => self.scanner.broken_off("`,` or the end of the row"),
        }
    }

    fn id(&mut self) -> Result<(), BrokenOff> {
        let span = self.scanner.span();
        let found = take_typed(&mut self.scanner);
        let Some(TablePlace::Row { until_id, number }) = self.places.last_mut() else {
            return Err(BrokenOff);
        };
        // No further column is the id.
        *until_id = usize::MAX;
        let (number, sign) = (*number, '!');
        if found != Some(TypedOperand::Datum(Datum::Int(number as i64))) {
            self.scanner.problem(TextProblem::UnknownReference { sign, number }, span);
            return Err(BrokenOff);
        }
        Ok(())
    }

    /// Cells behind the last field are attributes.
    fn begin_attributes(&mut self) {
        if !self.assembler.is_in_list() && self.assembler.next_field().is_none() {
            self.assembler.begin_attributes_once();
        }
    }

    /// Takes a whole cell, or opens one that has parts: then true.
    fn begin_cell(&mut self) -> Result<bool, BrokenOff> {
        let span = self.scanner.span();
        if self.scanner.take_sign('[') {
            self.assembler.open_list(span);
            self.places.push(TablePlace::List);
            return Ok(true);
        }
        let admits_numbers = admits_numbers(self.schema, self.assembler.wanted_sort());
        match take_typed(&mut self.scanner) {
            Some(TypedOperand::Datum(Datum::Int(number))) if !admits_numbers => {
                self.assembler.reference(u64::try_from(number).unwrap_or(u64::MAX), span);
            }
            Some(TypedOperand::Datum(datum)) => self.assembler.datum(datum),
            Some(TypedOperand::Absent) => self.assembler.value(TermValue::Absent),
            Some(TypedOperand::Row(number)) => self.assembler.reference(number, span),
            Some(TypedOperand::Braces) => {
                let place = self.scanner.span();
                let Some(TypedOperand::Datum(Datum::Text(name))) = take_typed(&mut self.scanner) else {
                    return self.scanner.broken_off("the name of a constructor");
                };
                self.assembler.open_term(&name, UniqueNumber::None, place);
                self.places.push(TablePlace::Term);
                self.scanner.take_sign(',');
                return Ok(true);
            }
            Some(TypedOperand::Register { .. }) | None => {
                self.scanner.problem(TextProblem::Operand, span);
                return Err(BrokenOff);
            }
        }
        Ok(false)
    }
}
