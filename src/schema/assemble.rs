//! Builds a document from the events of a text, bottom-up, with its own stack.
//!
//! ```text
//! Add(Num(1), Num(2))      open Add · open Num · datum 1 · close · open Num · datum 2 · close · close
//! ```
//!
//! Fields that are left out at the end are absent options, empty lists, or missing, which validation
//! reports. What cannot be built becomes [`TermValue::Broken`], so that reading goes on.

use crate::schema::builtin::Datum;
use crate::schema::definition::Multiplicity;
use crate::schema::document::{Document, DocumentError, TermId, TermValue};
use crate::schema::model::{ConstructorId, FieldDef, Schema, SortId};
use crate::schema::scan::BrokenOff;
use crate::schema::text_error::{TextError, TextProblem};
use crate::schema::validate::validate;
use cembra_vm::program::instruction::Span;
use hashbrown::HashMap;
use std::sync::Arc;

/// A term or a list that is not closed yet.
#[derive(Debug)]
struct Open {
    what: OpenKind,
    /// Its first value on the stack.
    start: usize,
    span: Span,
}

#[derive(Debug)]
enum OpenKind {
    Term {
        constructor: Option<ConstructorId>,
        reserved: Option<TermId>,
        /// The first attribute on the stack.
        attributes: Option<usize>,
    },
    List {
        /// What its elements should be, where the field is known.
        sort: Option<SortId>,
    },
}

/// A unique term, which may be referred to before it has values.
#[derive(Clone, Copy, Debug)]
struct UniqueRow {
    term: TermId,
    place: Span,
    is_defined: bool,
}

/// Whether a text tells the number of a unique term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UniqueNumber {
    /// There is none: the term is plain.
    None,
    /// Before its values.
    Known(u64),
    /// Behind its values, if it is unique.
    Later,
}

/// Builds a document.
pub(super) struct Assembler<'s> {
    schema: &'s Schema,
    pub(super) document: Document,
    values: Vec<TermValue>,
    open: Vec<Open>,
    uniques: HashMap<u64, UniqueRow>,
    pub(super) problems: Vec<TextError>,
}

impl<'s> Assembler<'s> {
    pub(super) fn new(schema: &'s Schema) -> Assembler<'s> {
        Assembler {
            schema,
            document: Document::new(),
            values: Vec::new(),
            open: Vec::new(),
            uniques: HashMap::new(),
            problems: Vec::new(),
        }
    }

    pub(super) fn problem(&mut self, problem: TextProblem, span: Span) {
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push(TextError { problem, span });
        }
    }

    pub(super) fn datum(&mut self, datum: Datum) {
        let value = self.document.add_datum(datum);
        self.values.push(value);
    }

    pub(super) fn value(&mut self, value: TermValue) {
        self.values.push(value);
    }

    /// True if the innermost that is open is a list.
    pub(super) fn is_in_list(&self) -> bool {
        matches!(self.open.last(), Some(Open { what: OpenKind::List { .. }, .. }))
    }

    /// The field that the next value is for, if it stands directly in a known term.
    pub(super) fn next_field(&self) -> Option<&'s FieldDef> {
        let open = self.open.last()?;
        let OpenKind::Term { constructor: Some(id), attributes, .. } = open.what else { return None };
        let constructor = self.schema.constructor(id);
        match attributes {
            Some(first) => constructor.attributes().get(self.values.len() - first),
            None => constructor.own_fields().get(self.values.len() - open.start),
        }
    }

    /// The type of the next value, where it is known.
    pub(super) fn wanted_sort(&self) -> Option<SortId> {
        match self.open.last() {
            Some(Open { what: OpenKind::List { sort }, .. }) => *sort,
            _ => self.next_field().map(|field| field.sort),
        }
    }

    /// Begins a term.
    pub(super) fn open_term(&mut self, name: &str, number: UniqueNumber, span: Span) {
        let constructor = self.find_constructor(name, span);
        let reserved = constructor.and_then(|id| self.reserved(id, number, span));
        let what = OpenKind::Term { constructor, reserved, attributes: None };
        self.open.push(Open { what, start: self.values.len(), span });
    }

    fn reserved(&mut self, id: ConstructorId, number: UniqueNumber, span: Span) -> Option<TermId> {
        match (number, self.schema.constructor(id).is_unique) {
            (UniqueNumber::Known(number), true) => self.define(id, number, span),
            (UniqueNumber::None | UniqueNumber::Later, false) | (UniqueNumber::Later, true) => None,
            (_, is_unique) => {
                let constructor = self.schema.constructor(id).name.to_string();
                self.problem(TextProblem::Uniqueness { constructor, is_unique }, span);
                if is_unique { self.document.reserve(self.schema, id).ok() } else { None }
            }
        }
    }

    /// Says the number of the innermost term.
    pub(super) fn number_term(&mut self, number: u64, span: Span) {
        let Some(Open { what: OpenKind::Term { constructor: Some(id), .. }, .. }) = self.open.last() else {
            return;
        };
        let term = self.reserved(*id, UniqueNumber::Known(number), span);
        if let Some(Open { what: OpenKind::Term { reserved, .. }, .. }) = self.open.last_mut() {
            *reserved = term;
        }
    }

    /// Opens a unique term that has room already.
    pub(super) fn open_reserved(&mut self, term: TermId, span: Span) {
        let constructor = Some(self.document.constructor(term));
        let what = OpenKind::Term { constructor, reserved: Some(term), attributes: None };
        self.open.push(Open { what, start: self.values.len(), span });
    }

    pub(super) fn find_constructor(&mut self, name: &str, span: Span) -> Option<ConstructorId> {
        let found = self.schema.find_constructor(name);
        if found.is_none() {
            let few = self.problems.len() < MAX_SUGGESTIONS && name.len() < MAX_SUGGESTIONS;
            let near = few.then(|| nearest(self.schema, name)).flatten().map(|near| near.to_string());
            self.problem(TextProblem::UnknownConstructor { name: name.to_owned(), near }, span);
        }
        found
    }

    /// The unique term of a number, whose values follow.
    pub(super) fn define(&mut self, id: ConstructorId, number: u64, span: Span) -> Option<TermId> {
        let term = self.declare(id, number, span)?;
        let row = self.uniques.get_mut(&number)?;
        if std::mem::replace(&mut row.is_defined, true) {
            self.problem(TextProblem::DuplicateReference { sign: '!', number }, span);
        }
        Some(term)
    }

    /// The unique term of a number; makes room for it at its first mention.
    pub(super) fn declare(&mut self, id: ConstructorId, number: u64, span: Span) -> Option<TermId> {
        if let Some(row) = self.uniques.get(&number).copied() {
            let known = self.document.constructor(row.term);
            if known != id {
                self.problem(TextProblem::DuplicateReference { sign: '!', number }, span);
            }
            return (known == id).then_some(row.term);
        }
        match self.document.reserve(self.schema, id) {
            Ok(term) => {
                self.uniques.insert(number, UniqueRow { term, place: span, is_defined: false });
                self.document.set_span(term, span);
                Some(term)
            }
            Err(error) => {
                self.refuse(error, span);
                None
            }
        }
    }

    /// The constructor of a declared number.
    pub(super) fn declared(&self, number: u64) -> Option<ConstructorId> {
        self.uniques.get(&number).map(|row| self.document.constructor(row.term))
    }

    /// Refers to the unique term of a number.
    pub(super) fn reference(&mut self, number: u64, span: Span) {
        let found = self.uniques.get(&number).map(|row| row.term);
        if found.is_none() {
            self.problem(TextProblem::UnknownReference { sign: '!', number }, span);
        }
        self.values.push(found.map_or(TermValue::Broken, TermValue::Term));
    }

    /// Values from here are attributes of the innermost term.
    pub(super) fn begin_attributes(&mut self) {
        let here = self.values.len();
        if let Some(Open { what: OpenKind::Term { attributes, .. }, .. }) = self.open.last_mut() {
            *attributes = Some(here);
        }
    }

    /// The same, if they have not begun.
    pub(super) fn begin_attributes_once(&mut self) {
        if let Some(Open { what: OpenKind::Term { attributes: None, .. }, .. }) = self.open.last() {
            self.begin_attributes();
        }
    }

    pub(super) fn open_list(&mut self, span: Span) {
        if self.is_in_list() {
            self.problem(TextProblem::NestedList, span);
        }
        let sort = self.wanted_sort();
        self.open.push(Open { what: OpenKind::List { sort }, start: self.values.len(), span });
    }

    /// Ends the innermost term or list, whose text ends at `end`.
    pub(super) fn close(&mut self, end: u32) {
        let Some(Open { what, start, span }) = self.open.pop() else { return };
        let span = Span { start: span.start, end: end.max(span.end) };
        let value = match what {
            OpenKind::List { .. } => {
                let elements = self.values.split_off(start);
                match self.is_in_list() {
                    true => TermValue::Broken,
                    false => self.document.add_list(&elements),
                }
            }
            OpenKind::Term { constructor, reserved, attributes } => {
                let reserved = reserved.or_else(|| self.unnumbered(constructor, span));
                let split = attributes.unwrap_or(self.values.len());
                let attributes = self.values.split_off(split);
                let own = self.values.split_off(start);
                self.term(constructor, reserved, own, attributes, span)
            }
        };
        self.values.push(value);
    }

    /// Room for a unique term whose number was never told: an error.
    fn unnumbered(&mut self, constructor: Option<ConstructorId>, span: Span) -> Option<TermId> {
        let definition = self.schema.constructor(constructor?);
        if !definition.is_unique {
            return None;
        }
        let constructor_name = definition.name.to_string();
        self.problem(TextProblem::Uniqueness { constructor: constructor_name, is_unique: true }, span);
        self.document.reserve(self.schema, constructor?).ok()
    }

    fn term(
        &mut self,
        constructor: Option<ConstructorId>,
        reserved: Option<TermId>,
        mut own: Vec<TermValue>,
        mut attributes: Vec<TermValue>,
        span: Span,
    ) -> TermValue {
        let Some(id) = constructor else { return TermValue::Broken };
        let schema = self.schema;
        let definition = schema.constructor(id);
        self.complete(&definition.name, "fields", definition.own_fields(), &mut own, span);
        self.complete(&definition.name, "attributes", definition.attributes(), &mut attributes, span);
        own.append(&mut attributes);
        let made = match reserved {
            Some(term) => self.document.fill(schema, term, &own).map(|()| term),
            None => self.document.add_term(schema, id, &own),
        };
        match made {
            Ok(term) => {
                self.document.set_span(term, span);
                TermValue::Term(term)
            }
            Err(error) => {
                self.refuse(error, span);
                TermValue::Broken
            }
        }
    }

    /// Brings the values to the number of the fields.
    fn complete(
        &mut self,
        constructor: &Arc<str>,
        what: &'static str,
        fields: &[FieldDef],
        values: &mut Vec<TermValue>,
        span: Span,
    ) {
        if values.len() > fields.len() {
            let (expected, actual) = (fields.len(), values.len());
            let constructor = constructor.to_string();
            self.problem(TextProblem::TooMany { constructor, what, expected, actual }, span);
            values.truncate(fields.len());
        }
        for field in &fields[values.len()..] {
            values.push(match field.multiplicity {
                Multiplicity::One => TermValue::Missing,
                Multiplicity::Option => TermValue::Absent,
                Multiplicity::List => self.document.add_list(&[]),
            });
        }
    }

    fn refuse(&mut self, error: DocumentError, span: Span) {
        let problem = match error {
            DocumentError::TooLarge => TextProblem::Limit { name: "document-terms", limit: 1 << 31 },
            DocumentError::NotUnique { constructor } => {
                TextProblem::Uniqueness { constructor, is_unique: false }
            }
            DocumentError::FieldCount { constructor, expected, actual } => {
                TextProblem::TooMany { constructor, what: "fields and attributes", expected, actual }
            }
        };
        self.problem(problem, span);
    }

    /// Takes the value that was built last.
    pub(super) fn take_value(&mut self) -> TermValue {
        self.values.pop().unwrap_or(TermValue::Missing)
    }

    /// The document, validated, with this root; or all that is wrong with it, in order of the text. A document whose text
    /// breaks off is not validated.
    pub(super) fn finish(
        mut self,
        root: Result<TermValue, BrokenOff>,
        wanted: SortId,
        mut found: Vec<TextError>,
    ) -> Result<Document, Vec<TextError>> {
        let Ok(root) = root else {
            found.extend(self.problems);
            found.sort_by_key(|problem| problem.span.start);
            return Err(found);
        };
        self.document.set_root(root);
        self.problems.extend(found);
        let undefined: Vec<(u64, Span)> =
            self.uniques.iter().filter(|(_, row)| !row.is_defined).map(|(n, row)| (*n, row.place)).collect();
        for (number, place) in undefined {
            self.problem(TextProblem::Unfilled { number }, place);
        }
        if let Err(violations) = validate(self.schema, &self.document, wanted) {
            self.problems.extend(violations.into_iter().map(TextError::from));
        }
        if self.problems.is_empty() {
            return Ok(self.document);
        }
        self.problems.sort_by_key(|problem| problem.span.start);
        self.problems.truncate(MAX_PROBLEMS);
        Err(self.problems)
    }
}

/// Problems that are listed.
const MAX_PROBLEMS: usize = 1000;

/// Problems that look for a similar name, and bytes a name may have for it.
const MAX_SUGGESTIONS: usize = 100;

/// The constructor whose name looks most like this one.
fn nearest<'s>(schema: &'s Schema, name: &str) -> Option<&'s Arc<str>> {
    let distance = |other: &Arc<str>| strsim::damerau_levenshtein(name, other);
    let names = schema.constructors().iter().map(|constructor| &constructor.name);
    let near = names.filter(|other| other.len().abs_diff(name.len()) <= 2).min_by_key(|o| distance(o))?;
    (distance(near) <= 2).then_some(near)
}
