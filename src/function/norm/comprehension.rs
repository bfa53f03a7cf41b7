//! Comprehensions: functions of what the first clause runs over, called at once.

use super::{Normaliser, norm_schema};
use crate::python::tree::PyClause;
use crate::schema::{Datum, TermValue};
use cembra_vm::program::instruction::Span;

/// What a comprehension collects.
#[derive(Clone, Copy)]
pub(super) enum Collected {
    List(TermValue),
    Set(TermValue),
    Dict(TermValue, TermValue),
    Yields(TermValue),
}

impl Normaliser<'_> {
    /// A function of what the first clause runs over, called at once: its targets are names of its own.
    pub(super) fn comprehension(&mut self, what: Collected, clauses: &[PyClause], span: Span) -> TermValue {
        let (whole, over) = (self.temporary(), self.temporary());
        let (holder, iter) = (self.named(&whole), self.named(&over));
        let mut inner = vec![self.collected(what, holder, span)];
        for (at, clause) in clauses.iter().enumerate().rev() {
            for condition in self.tree.expr_list(clause.conditions).iter().rev() {
                let (body, none) = (self.list(&inner), self.list(&[]));
                inner = vec![self.statement("If", &[self.value(*condition), body, none], span)];
            }
            let iter = if at == 0 { iter } else { self.value(clause.iter) };
            inner = vec![self.for_loop(clause.target, iter, inner, Vec::new(), span)];
        }
        let none = self.list(&[]);
        let empty = match what {
            Collected::List(_) => Some(self.term("List", &[none])),
            Collected::Set(_) => Some(self.term("Set", &[none])),
            Collected::Dict(..) => Some(self.term("Dict", &[none, none])),
            Collected::Yields(_) => None,
        };
        let mut body = Vec::new();
        body.extend(self.assigned_around(&inner, span));
        body.extend(empty.map(|empty| self.statement("Assign", &[holder, empty], span)));
        body.append(&mut inner);
        if empty.is_some() {
            body.push(self.statement("Return", &[holder], span));
        }
        let over = self.document.add_text(&over);
        let parameter = self.term("Parameter", &[over, TermValue::Absent]);
        let (parameters, body) = (self.list(&[parameter]), self.list(&body));
        let function = self.term("Lambda", &[parameters, body]);
        let first = clauses.first().map_or(TermValue::Missing, |clause| self.value(clause.iter));
        let (args, none) = (self.list(&[first]), self.list(&[]));
        self.term("Call", &[function, args, none])
    }

    /// `:=` assigns to names of the function around a comprehension, and of those that it is in.
    fn assigned_around(&mut self, statements: &[TermValue], span: Span) -> Option<TermValue> {
        let mut names: Vec<Box<str>> = Vec::new();
        let mut work: Vec<TermValue> = statements.iter().rev().copied().collect();
        while let Some(value) = work.pop() {
            if let Some(list) = self.document.as_list(value) {
                work.extend(list.iter().rev());
            }
            let Some(term) = self.document.as_term(value) else { continue };
            let kind = &*norm_schema().constructor(self.document.constructor(term)).name;
            let values = self.document.values(term);
            match kind {
                "Lambda" => work.extend(self.first_of_comprehension(values)),
                "Nonlocal" => {
                    let list = self.document.as_list(values[0]).unwrap_or_default();
                    names.extend(list.iter().filter_map(|name| self.text_of(*name)));
                }
                "Seq" => {
                    let assigned = self.document.as_list(values[0]).unwrap_or_default();
                    names.extend(assigned.iter().filter_map(|statement| self.assigned_name(*statement)));
                    work.extend(assigned.iter().rev());
                    work.push(values[1]);
                }
                _ => work.extend(values.iter().rev()),
            }
        }
        names.dedup();
        if names.is_empty() {
            return None;
        }
        let names: Vec<TermValue> = names.iter().map(|name| self.document.add_text(name)).collect();
        let names = self.list(&names);
        Some(self.statement("Nonlocal", &[names], span))
    }

    /// The first statement of a function, if that is a comprehension: its parameter is none of the source.
    fn first_of_comprehension(&self, lambda: &[TermValue]) -> Option<TermValue> {
        let document = &self.document;
        let parameter = document.as_term(*document.as_list(lambda[0])?.first()?)?;
        let is_made = self.text_of(document.values(parameter)[0])?.starts_with('%');
        document.as_list(lambda[1])?.first().copied().filter(|_| is_made)
    }

    /// The name that a statement assigns.
    fn assigned_name(&self, statement: TermValue) -> Option<Box<str>> {
        let target = self.document.values(self.document.as_term(statement)?).first()?;
        self.text_of(*self.document.values(self.document.as_term(*target)?).first()?)
    }

    fn text_of(&self, value: TermValue) -> Option<Box<str>> {
        match self.document.as_datum(value)? {
            Datum::Text(text) => Some(text.clone()),
            _ => None,
        }
    }

    /// What a round of a comprehension does.
    fn collected(&mut self, what: Collected, holder: TermValue, span: Span) -> TermValue {
        let (method, element) = match what {
            Collected::List(element) => ("append", element),
            Collected::Set(element) => ("add", element),
            Collected::Dict(key, value) => {
                let item = self.term("Item", &[holder, key]);
                return self.statement("Assign", &[item, value], span);
            }
            Collected::Yields(element) => {
                let element = self.term("Yield", &[element]);
                return self.statement("Discard", &[element], span);
            }
        };
        let method = self.document.add_text(method);
        let method = self.term("Attribute", &[holder, method]);
        let (element, none) = (self.list(&[element]), self.list(&[]));
        let call = self.term("Call", &[method, element, none]);
        self.statement("Discard", &[call], span)
    }
}
