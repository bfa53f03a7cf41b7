//! Equality of terms.
//!
//! [`classes`] is structural equality: plain terms are equal if their constructors and visible fields are;
//! hidden fields and attributes do not count, so that positions do not break sharing. A unique term equals
//! itself only.
//!
//! [`same_documents`] compares everything, across documents; unique terms correspond one to one.

use crate::schema::document::{Document, TermId, TermValue};
use crate::schema::model::{ConstructorId, Schema};
use hashbrown::{HashMap, HashSet};

/// A number for each term; two terms have the same number exactly if they are structurally equal.
pub fn classes(schema: &Schema, document: &Document) -> Vec<u32> {
    /// What equality looks at: the constructor, the shape of the fields, and their values.
    #[derive(PartialEq, Eq, Hash)]
    enum Part {
        Constructor(ConstructorId),
        Term(u32),
        Value(TermValue),
        List(usize),
    }
    let mut known: HashMap<Vec<Part>, u32> = HashMap::new();
    let mut classes: Vec<u32> = vec![0; document.len()];
    let is_unique = |term: TermId| schema.constructor(document.constructor(term)).is_unique;
    // Unique terms come first: plain ones may refer to any of them.
    let mut next = 0;
    for term in document.terms().filter(|term| is_unique(*term)) {
        classes[term.index()] = next;
        next += 1;
    }
    for term in document.terms().filter(|term| !is_unique(*term)) {
        let id = document.constructor(term);
        let mut parts = vec![Part::Constructor(id)];
        let fields = schema.constructor(id).fields.iter().zip(document.values(term));
        for (_, value) in fields.filter(|(field, _)| field.is_visible()) {
            let elements = document.elements(value);
            if matches!(value, TermValue::List(_)) {
                parts.push(Part::List(elements.len()));
            }
            parts.extend(elements.iter().map(|element| match element {
                TermValue::Term(child) => Part::Term(classes[child.index()]),
                other => Part::Value(*other),
            }));
        }
        classes[term.index()] = *known.entry(parts).or_insert_with(|| {
            next += 1;
            next - 1
        });
    }
    classes
}

/// True if two documents of one schema are equal in everything that texts show.
pub fn same_documents(schema: &Schema, left: &Document, right: &Document) -> bool {
    let mut met: HashSet<(TermId, TermId)> = HashSet::new();
    let mut partners: HashMap<TermId, TermId> = HashMap::new();
    let mut owners: HashMap<TermId, TermId> = HashMap::new();
    let mut work = vec![(left.root(), right.root())];
    while let Some((a, b)) = work.pop() {
        match (a, b) {
            (TermValue::Datum(a), TermValue::Datum(b)) if left.datum(a) == right.datum(b) => {}
            (TermValue::List(a), TermValue::List(b)) if left.list(a).len() == right.list(b).len() => {
                work.extend(left.list(a).iter().copied().zip(right.list(b).iter().copied()));
            }
            (TermValue::Term(a), TermValue::Term(b)) if left.constructor(a) == right.constructor(b) => {
                if schema.constructor(left.constructor(a)).is_unique {
                    let is_pair = *partners.entry(a).or_insert(b) == b && *owners.entry(b).or_insert(a) == a;
                    if !is_pair {
                        return false;
                    }
                }
                if met.insert((a, b)) {
                    work.extend(left.values(a).iter().copied().zip(right.values(b).iter().copied()));
                }
            }
            (TermValue::Absent, TermValue::Absent) | (TermValue::Missing, TermValue::Missing) => {}
            _ => return false,
        }
    }
    true
}
