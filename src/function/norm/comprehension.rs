//! Comprehensions: functions of what the first clause runs over, called at once.

use super::Normaliser;
use crate::python::tree::PyClause;
use crate::schema::TermValue;
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
