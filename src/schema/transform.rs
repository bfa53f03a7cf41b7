//! Rewriting: a document to a new one, children before parents.
//!
//! ```text
//! Block([Pass, Expr(Num(1))])     delete Pass, splice Expr into two        Block([Expr(Num(1)), Expr(Num(1))])
//! ```
//!
//! The rewriter sees each term once, already rebuilt with its edited children in the new document, and says
//! what stands in its place. A term can vanish from a list or an option, and become several in a list. A
//! unique term keeps its identity: it can be refilled in the new document, not replaced.

use crate::schema::definition::Multiplicity;
use crate::schema::document::{Document, DocumentError, TermId, TermValue};
use crate::schema::model::{FieldDef, Schema};
use crate::schema::walk::plain_first;
use thiserror::Error;

/// What stands in the place of a term.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edit {
    /// The term itself.
    Keep,
    /// Another value of the new document.
    Replace(TermValue),
    /// Nothing: the element of a list, or the value of an option, vanishes.
    Delete,
    /// Several values, in a list.
    Splice(Vec<TermValue>),
}

/// An edit that its place does not allow.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TransformError {
    /// A mandatory field, the root or an option lost its value or got several.
    #[error("{place} needs one value, not {count}")]
    Count {
        /// `Constructor.field`, or `root`.
        place: String,
        /// Values that the edit left.
        count: usize,
    },
    /// An edit of a unique term other than keeping it.
    #[error("{constructor} is unique; it can be refilled, not replaced")]
    Unique {
        /// The constructor.
        constructor: String,
    },
    /// A term that cannot be made.
    #[error(transparent)]
    Document(#[from] DocumentError),
}

/// Rewrites what the root reaches. `edit` gets the new document and a term in it.
///
/// # Errors
/// An edit that its place does not allow.
pub fn transform(
    schema: &Schema,
    document: &Document,
    edit: &mut dyn FnMut(&mut Document, TermId) -> Edit,
) -> Result<Document, TransformError> {
    let order = plain_first(schema, document);
    let mut rewriter =
        Rewriter { schema, old: document, new: Document::new(), edits: vec![None; document.len()] };
    for term in &order {
        let id = document.constructor(*term);
        if schema.constructor(id).is_unique {
            let reserved = rewriter.new.reserve(schema, id)?;
            rewriter.edits[term.index()] = Some(vec![TermValue::Term(reserved)]);
        }
    }
    for term in order {
        rewriter.rebuild(term, edit)?;
    }
    let mut roots = Vec::new();
    rewriter.map_into(document.root(), &mut roots);
    let [root] = roots[..] else {
        return Err(TransformError::Count { place: "root".to_owned(), count: roots.len() });
    };
    rewriter.new.set_root(root);
    Ok(rewriter.new)
}

struct Rewriter<'d> {
    schema: &'d Schema,
    old: &'d Document,
    new: Document,
    /// What each old term has become.
    edits: Vec<Option<Vec<TermValue>>>,
}

impl Rewriter<'_> {
    fn rebuild(
        &mut self,
        term: TermId,
        edit: &mut dyn FnMut(&mut Document, TermId) -> Edit,
    ) -> Result<(), TransformError> {
        let (schema, old) = (self.schema, self.old);
        let id = old.constructor(term);
        let constructor = schema.constructor(id);
        let mut values = Vec::with_capacity(constructor.fields.len());
        for (value, field) in old.values(term).iter().zip(&constructor.fields) {
            values.push(self.field(*value, field, &constructor.name)?);
        }
        let reserved = match self.edits[term.index()].as_deref() {
            Some([TermValue::Term(reserved)]) if constructor.is_unique => Some(*reserved),
            _ => None,
        };
        let made = match reserved {
            Some(reserved) => {
                self.new.fill(schema, reserved, &values)?;
                reserved
            }
            None => self.new.add_term(schema, id, &values)?,
        };
        let outcome = match edit(&mut self.new, made) {
            Edit::Keep => vec![TermValue::Term(made)],
            _ if reserved.is_some() => {
                return Err(TransformError::Unique { constructor: constructor.name.to_string() });
            }
            Edit::Replace(value) => vec![value],
            Edit::Delete => Vec::new(),
            Edit::Splice(values) => values,
        };
        self.edits[term.index()] = Some(outcome);
        Ok(())
    }

    fn field(
        &mut self,
        value: TermValue,
        field: &FieldDef,
        constructor: &str,
    ) -> Result<TermValue, TransformError> {
        let mut values = Vec::new();
        match value {
            TermValue::List(list) => {
                self.old.list(list).iter().for_each(|element| self.map_into(*element, &mut values));
                return Ok(self.new.add_list(&values));
            }
            value => self.map_into(value, &mut values),
        }
        match (&values[..], field.multiplicity) {
            ([one], _) => Ok(*one),
            ([], Multiplicity::Option) => Ok(TermValue::Absent),
            _ => Err(TransformError::Count {
                place: format!("{constructor}.{}", field.name),
                count: values.len(),
            }),
        }
    }

    /// What an old value has become.
    fn map_into(&mut self, value: TermValue, values: &mut Vec<TermValue>) {
        match value {
            TermValue::Term(term) => values.extend(self.edits[term.index()].iter().flatten()),
            TermValue::Datum(id) => {
                let datum = self.old.datum(id).clone();
                values.push(self.new.add_datum(datum));
            }
            other => values.push(other),
        }
    }
}
