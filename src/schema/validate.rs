//! Validation: does a document fit its schema? Every offence is reported with its path.
//!
//! ```text
//! At BinOp.right: Missing field
//! At arguments.args[0]: Expecting arg but got Raise
//!    path: Module.body[2].args.args[0]
//! ```
//!
//! The walk goes over hidden fields and attributes too; each term is looked at once.

use crate::schema::datum_text::datum_text;
use crate::schema::definition::Multiplicity;
use crate::schema::document::{Document, TermId, TermValue};
use crate::schema::model::{FieldDef, Schema, SortId};
use crate::schema::walk::{Reach, Visitor, references, visit};
use cembra_vm::program::instruction::Span;
use std::fmt;
use thiserror::Error;

/// An offence against the schema.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("At {place}: {what}")]
pub struct Violation {
    /// What is wrong.
    pub what: Offence,
    /// `Constructor.field[index]`, or `root`.
    pub place: String,
    /// The way from the root: `Module.body[2].value`.
    pub path: String,
    /// Where the term stands in the text it was read from; unknown for others.
    pub span: Span,
}

/// What can be wrong with a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Offence {
    /// Nothing where something must stand.
    Missing,
    /// One value where a list must stand.
    NoList,
    /// A list where one value must stand.
    List,
    /// A term of a type that has other constructors.
    CannotBe(String),
    /// A term where only one constructor fits.
    Expecting {
        /// The constructor or the type that fits.
        expected: String,
        /// What stands there.
        found: String,
    },
    /// A list in a list, or an option in one.
    Element,
}

impl fmt::Display for Offence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Offence::Missing => f.write_str("Missing field"),
            Offence::NoList => f.write_str("Field must be iterable"),
            Offence::List => f.write_str("Cannot be a list"),
            Offence::CannotBe(found) => write!(f, "Cannot be a {found}"),
            Offence::Expecting { expected, found } => write!(f, "Expecting {expected} but got {found}"),
            Offence::Element => f.write_str("Cannot be an element of a list"),
        }
    }
}

/// Offences that are listed; a document with more has the rest of them counted.
const MAX_VIOLATIONS: usize = 1000;

/// All offences of a document against its schema; `wanted` is the type of the root.
///
/// # Errors
/// The offences, up to 1,000.
pub fn validate(schema: &Schema, document: &Document, wanted: SortId) -> Result<(), Vec<Violation>> {
    let mut validator = Validator { schema, document, faults: Vec::new() };
    validator.check_root(wanted);
    visit(schema, document, Reach::Everything, &mut validator);
    let faults = validator.faults;
    if faults.is_empty() {
        return Ok(());
    }
    let paths = Paths::new(schema, document);
    Err(faults.into_iter().map(|fault| fault.locate(schema, document, &paths)).collect())
}

/// An offence before its path is known.
struct FieldFault {
    term: Option<TermId>,
    field: usize,
    index: Option<usize>,
    what: Offence,
}

impl FieldFault {
    fn locate(self, schema: &Schema, document: &Document, paths: &Paths) -> Violation {
        let Some(term) = self.term else {
            return Violation {
                what: self.what,
                place: "root".to_owned(),
                path: "root".to_owned(),
                span: Span::default(),
            };
        };
        let constructor = schema.constructor(document.constructor(term));
        let name = &constructor.fields[self.field].name;
        let index = self.index.map(|index| format!("[{index}]")).unwrap_or_default();
        let path = format!("{}.{name}{index}", paths.path(schema, document, term));
        // An offending term is more precise a place than its parent.
        let value = document.values(term)[self.field];
        let element = document.elements(&value).get(self.index.unwrap_or(0)).copied();
        let span = match (element, self.what == Offence::Missing) {
            (Some(TermValue::Term(child)), false) => document.span(child),
            _ => document.span(term),
        };
        Violation { what: self.what, place: format!("{}.{name}{index}", constructor.name), path, span }
    }
}

struct Validator<'d> {
    schema: &'d Schema,
    document: &'d Document,
    faults: Vec<FieldFault>,
}

impl Visitor for Validator<'_> {
    fn enter(&mut self, term: TermId) -> bool {
        let constructor = self.schema.constructor(self.document.constructor(term));
        for (at, (value, field)) in self.document.values(term).iter().zip(&constructor.fields).enumerate() {
            self.check_field(term, at, *value, field);
        }
        true
    }

    fn leave(&mut self, _term: TermId) {}
}

impl Validator<'_> {
    fn check_root(&mut self, wanted: SortId) {
        let what = match self.document.root() {
            TermValue::Missing | TermValue::Absent => Some(Offence::Missing),
            TermValue::List(_) => Some(Offence::List),
            value => self.offence(value, wanted),
        };
        self.faults.extend(what.map(|what| FieldFault { term: None, field: 0, index: None, what }));
    }

    fn check_field(&mut self, term: TermId, at: usize, value: TermValue, field: &FieldDef) {
        match (field.multiplicity, value) {
            (_, TermValue::Broken) | (Multiplicity::Option, TermValue::Absent) => {}
            (Multiplicity::List, TermValue::List(list)) => {
                for (index, element) in self.document.list(list).iter().enumerate() {
                    let what = self.offence(*element, field.sort);
                    self.blame(term, at, Some(index), what);
                }
            }
            (_, TermValue::Missing) | (Multiplicity::One, TermValue::Absent) => {
                self.blame(term, at, None, Some(Offence::Missing));
            }
            (Multiplicity::List, _) => self.blame(term, at, None, Some(Offence::NoList)),
            (_, TermValue::List(_)) => self.blame(term, at, None, Some(Offence::List)),
            (_, value) => {
                let what = self.offence(value, field.sort);
                self.blame(term, at, None, what);
            }
        }
    }

    fn offence(&self, value: TermValue, wanted: SortId) -> Option<Offence> {
        let found = match value {
            TermValue::Broken => return None,
            TermValue::Missing | TermValue::Absent | TermValue::List(_) => return Some(Offence::Element),
            TermValue::Term(term) => {
                let constructor = self.document.constructor(term);
                if self.schema.admits(wanted, constructor) {
                    return None;
                }
                self.schema.constructor(constructor).name.to_string()
            }
            TermValue::Datum(id) => {
                let datum = self.document.datum(id);
                if self.schema.admits_datum(wanted, datum) {
                    return None;
                }
                datum_text(datum)
            }
        };
        let sole = self.schema.sole_constructor(wanted).map(|id| &self.schema.constructor(id).name);
        let sort = self.schema.sort(wanted);
        Some(match sole.or_else(|| self.schema.is_builtin(wanted).then_some(&sort.name)) {
            Some(expected) => Offence::Expecting { expected: expected.to_string(), found },
            None => Offence::CannotBe(found),
        })
    }

    fn blame(&mut self, term: TermId, field: usize, index: Option<usize>, what: Option<Offence>) {
        if self.faults.len() < MAX_VIOLATIONS {
            self.faults.extend(what.map(|what| FieldFault { term: Some(term), field, index, what }));
        }
    }
}

/// For each term the term that reaches it first.
struct Paths {
    parents: Vec<Option<TermId>>,
}

/// Steps of a path that are printed.
const MAX_STEPS: usize = 40;

impl Paths {
    fn new(schema: &Schema, document: &Document) -> Paths {
        struct Parents<'d> {
            schema: &'d Schema,
            document: &'d Document,
            parents: Vec<Option<TermId>>,
            is_met: Vec<bool>,
        }
        impl Visitor for Parents<'_> {
            fn enter(&mut self, term: TermId) -> bool {
                self.is_met[term.index()] = true;
                for child in references(self.schema, self.document, term) {
                    if !self.is_met[child.index()] {
                        self.parents[child.index()] = Some(term);
                    }
                }
                true
            }
            fn leave(&mut self, _term: TermId) {}
        }
        let count = document.len();
        let mut parents =
            Parents { schema, document, parents: vec![None; count], is_met: vec![false; count] };
        visit(schema, document, Reach::Everything, &mut parents);
        Paths { parents: parents.parents }
    }

    /// `Module.body[2].value`; the middle of a long path is left out.
    fn path(&self, schema: &Schema, document: &Document, term: TermId) -> String {
        let mut chain = vec![term];
        while let Some(parent) = self.parents[chain[chain.len() - 1].index()] {
            chain.push(parent);
        }
        chain.reverse();
        let root = schema.constructor(document.constructor(chain[0])).name.to_string();
        let steps = |links: &[TermId]| -> Vec<String> {
            links.windows(2).map(|link| step(schema, document, link[0], link[1])).collect()
        };
        if chain.len() <= MAX_STEPS {
            return [vec![root], steps(&chain)].concat().join(".");
        }
        let half = MAX_STEPS / 2;
        let first = [vec![root], steps(&chain[..half])].concat().join(".");
        let last = steps(&chain[chain.len() - half - 1..]).join(".");
        format!("{first}...({} more)...{last}", chain.len() - MAX_STEPS)
    }
}

/// `body[2]`: how a term names another.
fn step(schema: &Schema, document: &Document, parent: TermId, child: TermId) -> String {
    let fields = &schema.constructor(document.constructor(parent)).fields;
    for (value, field) in document.values(parent).iter().zip(fields.iter()) {
        let Some(index) = document.elements(value).iter().position(|e| *e == TermValue::Term(child)) else {
            continue;
        };
        return match value {
            TermValue::List(_) => format!("{}[{index}]", field.name),
            _ => field.name.to_string(),
        };
    }
    "?".to_owned()
}
