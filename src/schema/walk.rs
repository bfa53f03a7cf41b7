//! Ways through a document: orders, visitors and rewriting, all without recursion.
//!
//! | | |
//! | --- | --- |
//! | [`children`] | what visitors see of a term: no hidden field, no attribute |
//! | [`references`] | every term that a term names |
//! | [`post_order`] | terms from the root, children before parents, each once |
//! | [`plain_first`] | terms from the root, behind the plain terms they refer to, also in cycles |
//! | [`visit`] | calls a [`Visitor`] before and after the children of each term |

use crate::schema::document::{Document, TermId, TermValue};
use crate::schema::model::{FieldDef, Schema};

/// Which fields a walk follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Those that visitors see.
    Visible,
    /// Hidden fields and attributes too.
    Everything,
}

impl Reach {
    fn follows(self, field: &FieldDef) -> bool {
        self == Reach::Everything || field.is_visible()
    }
}

fn terms_of(values: &[TermValue]) -> impl DoubleEndedIterator<Item = TermId> + '_ {
    values.iter().filter_map(|value| match value {
        TermValue::Term(term) => Some(*term),
        _ => None,
    })
}

fn followed<'d>(
    schema: &'d Schema,
    document: &'d Document,
    term: TermId,
    reach: Reach,
) -> impl DoubleEndedIterator<Item = TermId> + 'd {
    let fields = &schema.constructor(document.constructor(term)).fields;
    let values = document.values(term).iter().zip(fields.iter());
    let wanted = values.filter(move |(_, field)| reach.follows(field));
    wanted.flat_map(|(value, _)| terms_of(document.elements(value)))
}

/// The children of a term, in order.
pub fn children<'d>(
    schema: &'d Schema,
    document: &'d Document,
    term: TermId,
) -> impl DoubleEndedIterator<Item = TermId> + 'd {
    followed(schema, document, term, Reach::Visible)
}

/// All terms that a term refers to, in order, hidden ones and those of attributes too.
pub fn references<'d>(
    schema: &'d Schema,
    document: &'d Document,
    term: TermId,
) -> impl DoubleEndedIterator<Item = TermId> + 'd {
    followed(schema, document, term, Reach::Everything)
}

/// Sees terms before and after their children.
pub trait Visitor {
    /// Called before the children; `false` passes over them.
    fn enter(&mut self, _term: TermId) -> bool {
        true
    }

    /// Called after the children, also if they were passed over.
    fn leave(&mut self, term: TermId);
}

/// Walks from the root; each term is visited once, where it is met first.
pub fn visit(schema: &Schema, document: &Document, reach: Reach, visitor: &mut dyn Visitor) {
    let mut is_met = vec![false; document.len()];
    let roots = [document.root()];
    // A term on the stack is entered when it is met first, left when it is met again.
    let mut work: Vec<(TermId, bool)> =
        terms_of(document.elements(&roots[0])).rev().map(|term| (term, false)).collect();
    while let Some((term, is_done)) = work.pop() {
        if is_done {
            visitor.leave(term);
            continue;
        }
        if std::mem::replace(&mut is_met[term.index()], true) {
            continue;
        }
        work.push((term, true));
        if visitor.enter(term) {
            work.extend(followed(schema, document, term, reach).rev().map(|child| (child, false)));
        }
    }
}

/// Terms that the root reaches, children before parents; cycles are cut where a term is met again.
pub fn post_order(schema: &Schema, document: &Document, reach: Reach) -> Vec<TermId> {
    struct Order(Vec<TermId>);
    impl Visitor for Order {
        fn leave(&mut self, term: TermId) {
            self.0.push(term);
        }
    }
    let mut order = Order(Vec::with_capacity(document.len()));
    visit(schema, document, reach, &mut order);
    order.0
}

/// Terms that the root reaches, each behind all plain terms that it refers to.
///
/// A unique term is followed only when the term that names it is done, in the order in which unique terms
/// are met, so that a cycle never puts a plain term before its children.
pub fn plain_first(schema: &Schema, document: &Document) -> Vec<TermId> {
    let is_unique = |term: TermId| schema.constructor(document.constructor(term)).is_unique;
    let mut is_met = vec![false; document.len()];
    let mut order = Vec::with_capacity(document.len());
    let root = document.root();
    let mut queue: std::collections::VecDeque<TermId> = terms_of(document.elements(&root)).collect();
    while let Some(next) = queue.pop_front() {
        let mut work = vec![(next, false)];
        while let Some((term, is_done)) = work.pop() {
            if is_done {
                order.push(term);
            } else if is_unique(term) && term != next {
                queue.push_back(term);
            } else if !std::mem::replace(&mut is_met[term.index()], true) {
                work.push((term, true));
                let children = followed(schema, document, term, Reach::Everything).rev();
                work.extend(children.map(|child| (child, false)));
            }
        }
    }
    order
}
