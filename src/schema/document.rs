//! Documents: values of a schema in an arena.
//!
//! ```text
//! (1 + 2) + 2        %0 = Num 1    %1 = Num 2    %2 = Add %0 %1    %3 = Add %2 %1     root: %3
//! ```
//!
//! Invariants:
//! 1. A plain term is made after what it refers to, so the numbers of plain terms ascend from children to
//!    parents: every pass is a loop over numbers, and plain terms cannot be part of a cycle.
//! 2. A unique term is reserved first and filled later; only its fields may point to higher numbers.
//! 3. A term has as many values as its constructor has fields and attributes.
//!
//! Nothing here is recursive: a document of any depth is dropped at once.

use crate::schema::builtin::Datum;
use crate::schema::model::{Constructor, ConstructorId, Schema};
use cembra_vm::program::instruction::Span;
use hashbrown::HashMap;
use std::fmt;
use thiserror::Error;

/// Number of a term in its document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TermId(pub(crate) u32);

impl TermId {
    /// Position among the document's terms.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for TermId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "%{}", self.0)
    }
}

/// Number of a datum in its document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DatumId(u32);

/// Number of a list in its document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ListId(u32);

/// What a field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TermValue {
    /// Nothing, where something must stand: validation reports it.
    Missing,
    /// Something that could not be read and was reported.
    Broken,
    /// No value of an option.
    Absent,
    /// A term.
    Term(TermId),
    /// A datum.
    Datum(DatumId),
    /// Values in order; lists do not nest.
    List(ListId),
}

/// A constructor and where its values stand.
#[derive(Clone, Copy, Debug)]
struct TermRow {
    constructor: ConstructorId,
    first: u32,
    count: u32,
}

/// Why a term cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DocumentError {
    /// A number of values that the constructor does not have.
    #[error("{constructor} has {expected} fields and attributes, not {actual}")]
    FieldCount {
        /// The constructor.
        constructor: String,
        /// Its fields and attributes.
        expected: usize,
        /// Values given.
        actual: usize,
    },
    /// A plain term cannot be reserved: it could become part of a cycle.
    #[error("{constructor} is not unique; only a constructor with `@` can be filled later")]
    NotUnique {
        /// The constructor.
        constructor: String,
    },
    /// A document has at most 2^31 terms, values and data.
    #[error("limit document-terms: at most 2147483648 are allowed")]
    TooLarge,
}

/// An arena of terms with a root.
#[derive(Clone, Debug, Default)]
pub struct Document {
    rows: Vec<TermRow>,
    values: Vec<TermValue>,
    lists: Vec<(u32, u32)>,
    elements: Vec<TermValue>,
    data: Vec<Datum>,
    data_numbers: HashMap<Datum, DatumId>,
    /// Where each term stands in the text it was read from; empty for others.
    spans: Vec<Span>,
    root: Option<TermValue>,
}

impl Document {
    /// A document without terms.
    pub fn new() -> Document {
        Document::default()
    }

    /// Number of terms.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// True without terms.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Numbers of all terms, children before their parents except where unique terms are concerned.
    pub fn terms(&self) -> impl DoubleEndedIterator<Item = TermId> + use<> {
        (0..self.rows.len() as u32).map(TermId)
    }

    /// What the document stands for; nothing before [`Document::set_root`].
    pub fn root(&self) -> TermValue {
        self.root.unwrap_or(TermValue::Missing)
    }

    /// Says what the document stands for.
    pub fn set_root(&mut self, root: TermValue) {
        self.root = Some(root);
    }

    /// The constructor of a term.
    pub fn constructor(&self, term: TermId) -> ConstructorId {
        self.rows[term.index()].constructor
    }

    /// Values of a term's fields, then of its attributes.
    pub fn values(&self, term: TermId) -> &[TermValue] {
        let row = self.rows[term.index()];
        &self.values[row.first as usize..][..row.count as usize]
    }

    /// A datum.
    pub fn datum(&self, id: DatumId) -> &Datum {
        &self.data[id.0 as usize]
    }

    /// Elements of a list.
    pub fn list(&self, id: ListId) -> &[TermValue] {
        let (start, end) = self.lists[id.0 as usize];
        &self.elements[start as usize..end as usize]
    }

    /// The term that a value is.
    pub fn as_term(&self, value: TermValue) -> Option<TermId> {
        match value {
            TermValue::Term(term) => Some(term),
            _ => None,
        }
    }

    /// The datum that a value is.
    pub fn as_datum(&self, value: TermValue) -> Option<&Datum> {
        match value {
            TermValue::Datum(id) => Some(self.datum(id)),
            _ => None,
        }
    }

    /// The elements of the list that a value is.
    pub fn as_list(&self, value: TermValue) -> Option<&[TermValue]> {
        match value {
            TermValue::List(list) => Some(self.list(list)),
            _ => None,
        }
    }

    /// The elements of a list, or the one value.
    pub fn elements<'d>(&'d self, value: &'d TermValue) -> &'d [TermValue] {
        match value {
            TermValue::List(list) => self.list(*list),
            other => std::slice::from_ref(other),
        }
    }

    /// Where the term stands in the text it was read from.
    pub fn span(&self, term: TermId) -> Span {
        self.spans.get(term.index()).copied().unwrap_or_default()
    }

    pub(crate) fn set_span(&mut self, term: TermId, span: Span) {
        if self.spans.len() <= term.index() {
            self.spans.resize(term.index() + 1, Span::default());
        }
        self.spans[term.index()] = span;
    }

    /// Adds a datum; equal data are one.
    pub fn add_datum(&mut self, datum: Datum) -> TermValue {
        if let Some(known) = self.data_numbers.get(&datum) {
            return TermValue::Datum(*known);
        }
        let id = DatumId(self.data.len() as u32);
        self.data.push(datum.clone());
        self.data_numbers.insert(datum, id);
        TermValue::Datum(id)
    }

    /// Adds a text.
    pub fn add_text(&mut self, text: &str) -> TermValue {
        self.add_datum(Datum::Text(text.into()))
    }

    /// Adds a list.
    pub fn add_list(&mut self, elements: &[TermValue]) -> TermValue {
        let id = ListId(self.lists.len() as u32);
        let start = self.elements.len() as u32;
        self.elements.extend_from_slice(elements);
        self.lists.push((start, self.elements.len() as u32));
        TermValue::List(id)
    }

    /// Adds a term with the values of its fields and attributes.
    ///
    /// # Errors
    /// Another number of values than the constructor has; a document that is too large.
    pub fn add_term(
        &mut self,
        schema: &Schema,
        constructor: ConstructorId,
        values: &[TermValue],
    ) -> Result<TermId, DocumentError> {
        check_count(schema.constructor(constructor), values.len())?;
        self.check_room(values.len())?;
        let id = TermId(self.rows.len() as u32);
        let (first, count) = (self.values.len() as u32, values.len() as u32);
        self.values.extend_from_slice(values);
        self.rows.push(TermRow { constructor, first, count });
        Ok(id)
    }

    /// Makes room for a unique term, whose values are missing until [`Document::fill`].
    ///
    /// # Errors
    /// A constructor without `@`; a document that is too large.
    pub fn reserve(&mut self, schema: &Schema, constructor: ConstructorId) -> Result<TermId, DocumentError> {
        let definition = schema.constructor(constructor);
        if !definition.is_unique {
            return Err(DocumentError::NotUnique { constructor: definition.name.to_string() });
        }
        let missing = vec![TermValue::Missing; definition.fields.len()];
        self.add_term(schema, constructor, &missing)
    }

    /// Gives a reserved term its values.
    ///
    /// # Errors
    /// A plain term; another number of values than the constructor has.
    pub fn fill(&mut self, schema: &Schema, term: TermId, values: &[TermValue]) -> Result<(), DocumentError> {
        let constructor = schema.constructor(self.constructor(term));
        if !constructor.is_unique {
            return Err(DocumentError::NotUnique { constructor: constructor.name.to_string() });
        }
        check_count(constructor, values.len())?;
        let row = self.rows[term.index()];
        self.values[row.first as usize..][..row.count as usize].copy_from_slice(values);
        Ok(())
    }

    fn check_room(&self, more: usize) -> Result<(), DocumentError> {
        let limit = 1 << 31;
        let used = self.values.len().max(self.elements.len()).max(self.rows.len());
        if used.saturating_add(more) >= limit { Err(DocumentError::TooLarge) } else { Ok(()) }
    }
}

fn check_count(constructor: &Constructor, actual: usize) -> Result<(), DocumentError> {
    let expected = constructor.fields.len();
    match expected == actual {
        true => Ok(()),
        false => {
            Err(DocumentError::FieldCount { constructor: constructor.name.to_string(), expected, actual })
        }
    }
}
