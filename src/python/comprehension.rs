//! Comprehensions and generator expressions: clauses behind the first element of brackets.

use crate::python::cursor::{Failed, Operand, Parser};
use crate::python::error::Outside;
use crate::python::expression::Next;
use crate::python::pending::{ClauseDraft, ComprehensionDraft, Pending, Stage};
use crate::python::token::PyToken;
use crate::python::tree::{ExprKind, PyClause, Stretch};

impl Parser<'_> {
    /// True if nothing stands before the element in its brackets.
    pub(super) fn is_first_element(&self) -> bool {
        match self.pending.last() {
            Some(Pending::Paren { items, has_comma, .. } | Pending::List { items, has_comma, .. }) => {
                !has_comma && self.items.len() == *items
            }
            Some(Pending::Call { items, keywords, .. }) => {
                self.items.len() == *items && self.keywords.len() == *keywords
            }
            // An element, or the value behind a key.
            Some(Pending::Brace { items, is_dictionary, .. }) => {
                self.items.len() == *items + usize::from(*is_dictionary)
            }
            _ => false,
        }
    }

    pub(super) fn begin_comprehension(&mut self, element: Operand) -> Result<Next, Failed> {
        if let ExprKind::Starred(_) = self.tree.expr(element.id).kind {
            self.outside(Outside::Starred, self.tree.expr(element.id).span);
        }
        let draft = ComprehensionDraft {
            element: element.id,
            clauses: Vec::new(),
            stage: Stage::Condition,
            items: self.items.len(),
            target_start: 0,
            has_comma: false,
        };
        self.pending.push(Pending::Comprehension(Box::new(draft)));
        self.begin_clause()
    }

    fn begin_clause(&mut self) -> Result<Next, Failed> {
        if self.peek() == PyToken::Async {
            let span = self.advance().span();
            self.outside(Outside::Async, span);
        }
        self.expect(PyToken::For, "`for`")?;
        let (items, start) = (self.items.len(), self.span().start);
        if let Some(Pending::Comprehension(draft)) = self.pending.last_mut() {
            draft.clauses.push(ClauseDraft { target: None, iter: None, conditions: Vec::new() });
            draft.stage = Stage::Target;
            (draft.items, draft.target_start, draft.has_comma) = (items, start, false);
        }
        Ok(Next::Expect)
    }

    /// Behind a target, an iterable or a condition of a comprehension.
    pub(super) fn end_of_clause_part(&mut self, operand: Operand) -> Result<Next, Failed> {
        let Some(Pending::Comprehension(draft)) = self.pending.last_mut() else { return Err(Failed) };
        if draft.stage == Stage::Target {
            return self.end_of_clause_target(operand);
        }
        let stage = draft.stage;
        if let Some(clause) = draft.clauses.last_mut() {
            match stage {
                Stage::Iter => clause.iter = Some(operand.id),
                _ => clause.conditions.push(operand.id),
            }
        }
        match self.peek() {
            PyToken::If => {
                self.advance();
                self.set_stage(Stage::Condition);
                Ok(Next::Expect)
            }
            PyToken::For | PyToken::Async => self.begin_clause(),
            _ => self.end_of_comprehension(),
        }
    }

    fn set_stage(&mut self, next: Stage) {
        if let Some(Pending::Comprehension(draft)) = self.pending.last_mut() {
            draft.stage = next;
        }
    }

    fn end_of_clause_target(&mut self, operand: Operand) -> Result<Next, Failed> {
        let Some(Pending::Comprehension(draft)) = self.pending.last_mut() else { return Err(Failed) };
        let (items, start, is_list) = (draft.items, draft.target_start, draft.has_comma);
        let mut target = operand;
        let mut ends = self.peek() == PyToken::In;
        if self.peek() == PyToken::Comma || is_list {
            self.items.push(operand.id);
            if let Some(Pending::Comprehension(draft)) = self.pending.last_mut() {
                draft.has_comma = true;
            }
            if self.take(PyToken::Comma) {
                if self.peek() != PyToken::In {
                    return Ok(Next::Expect);
                }
                ends = true;
            }
            let elements = self.list_from(items);
            let end = self.previous_end();
            target = self.add(ExprKind::Tuple(elements), start, end);
        }
        if !ends {
            return self.expected("`in`");
        }
        self.advance();
        self.check_target(target.id);
        if let Some(Pending::Comprehension(draft)) = self.pending.last_mut() {
            draft.stage = Stage::Iter;
            if let Some(clause) = draft.clauses.last_mut() {
                clause.target = Some(target.id);
            }
        }
        Ok(Next::Expect)
    }

    fn end_of_comprehension(&mut self) -> Result<Next, Failed> {
        let Some(Pending::Comprehension(draft)) = self.pending.pop() else { return Err(Failed) };
        if Some(self.peek()) != self.closing() {
            return self.expected(self.wanted_in_brackets());
        }
        let mut clauses = Vec::with_capacity(draft.clauses.len());
        for clause in draft.clauses {
            let first = self.items.len();
            self.items.extend(clause.conditions);
            let conditions = self.list_from(first);
            if let (Some(target), Some(iter)) = (clause.target, clause.iter) {
                clauses.push(PyClause { target, iter, conditions });
            }
        }
        let start = self.tree.clauses.len() as u32;
        self.tree.clauses.extend(clauses);
        let clauses = Stretch { start, end: self.tree.clauses.len() as u32 };
        let end = self.advance().end;
        let element = draft.element;
        Ok(Next::Operand(match self.pending.pop() {
            Some(Pending::List { open, .. }) => {
                self.add(ExprKind::ListComprehension { element, clauses }, open, end)
            }
            Some(Pending::Paren { open, .. }) => self.add(ExprKind::Generator(element, clauses), open, end),
            Some(Pending::Brace { open, items, is_dictionary, is_refused }) => {
                let key = self.items.get(items).copied().unwrap_or(element);
                self.items.truncate(items);
                match (is_refused, is_dictionary) {
                    (true, _) => self.refused(open, end),
                    (_, true) => self.add(ExprKind::DictComprehension(key, element, clauses), open, end),
                    (_, false) => self.add(ExprKind::SetComprehension(element, clauses), open, end),
                }
            }
            Some(Pending::Call { callee, open, items, keywords }) => {
                let argument = self.add(ExprKind::Generator(element, clauses), open, end);
                self.items.push(argument.id);
                self.call(callee, items, keywords, end)
            }
            _ => return Err(Failed),
        }))
    }
}
