//! Brackets: tuples, lists, calls, subscripts with slices, comprehensions, and the end of an expression.

use crate::python::cursor::{Failed, Operand, Parser};
use crate::python::error::{Outside, PythonProblem};
use crate::python::expression::{Next, begins_operand};
use crate::python::pending::{ClauseDraft, ComprehensionDraft, Extent, Pending, SliceDraft, Stage, Stop};
use crate::python::token::PyToken;
use crate::python::tree::{ExprId, ExprKind, PyClause, PyExpr, PyKeyword, Stretch};
use cembra_vm::program::instruction::Span;

impl Parser<'_> {
    /// Opens brackets where an operand is expected.
    pub(super) fn open_bracket(&mut self, token: PyToken) -> Result<Next, Failed> {
        let (open, items) = (self.advance().start, self.items.len());
        let (pending, closing) = match token {
            PyToken::ParenOpen => (Pending::Paren { open, items, has_comma: false }, PyToken::ParenClose),
            PyToken::SquareOpen => (Pending::List { open, items, has_comma: false }, PyToken::SquareClose),
            _ => (Pending::Brace { open, items, is_dictionary: true }, PyToken::BraceClose),
        };
        self.pending.push(pending);
        match self.peek() == closing {
            true => self.close(),
            false => {
                if let Some(Pending::Brace { is_dictionary, .. }) = self.pending.last_mut() {
                    *is_dictionary = false;
                }
                Ok(Next::Expect)
            }
        }
    }

    /// Opens brackets behind an operand.
    pub(super) fn open_suffix(&mut self, token: PyToken, operand: Operand) -> Result<Next, Failed> {
        self.advance();
        let (items, extent) = (self.items.len(), operand.extent());
        if token == PyToken::ParenOpen {
            self.pending.push(Pending::Call { callee: extent, items, keywords: self.keywords.len() });
            return if self.peek() == PyToken::ParenClose { self.close() } else { Ok(Next::Expect) };
        }
        let start = self.span().start;
        self.pending.push(Pending::Subscript { value: extent, items, has_comma: false, start, slice: None });
        Ok(Next::Expect)
    }

    /// An operand is missing: parts of a slice may be.
    pub(super) fn operand_left_out(&mut self) -> Result<Next, Failed> {
        let (token, span) = (self.peek(), self.span());
        let previous = self.previous_end();
        if let Some(Pending::Subscript { slice, .. }) = self.pending.last_mut() {
            match (token, slice.as_mut()) {
                (PyToken::Colon, None) => {
                    *slice = Some(SliceDraft { parts: [None; 3], count: 1, start: span.start });
                    self.advance();
                    return Ok(Next::Expect);
                }
                (PyToken::Colon, Some(draft)) if draft.count < 2 => {
                    draft.count += 1;
                    self.advance();
                    return Ok(Next::Expect);
                }
                (PyToken::Comma | PyToken::SquareClose, Some(draft)) => {
                    let SliceDraft { parts: [lower, upper, step], start, .. } = *draft;
                    *slice = None;
                    let kind = ExprKind::Slice { lower, upper, step };
                    return Ok(Next::Operand(self.add(kind, start, previous)));
                }
                _ => {}
            }
        }
        self.expected("an expression")
    }

    /// Behind an operand that no operator follows: an element, an argument, the whole expression.
    pub(super) fn end_of_part(&mut self, operand: Operand) -> Result<Next, Failed> {
        let operand = self.reduce(operand, 1);
        match self.pending.last_mut() {
            Some(Pending::Base { .. }) | None => self.end_of_expression(operand),
            Some(Pending::IfTest { .. }) => self.expected("`else`"),
            Some(Pending::Keyword { name, start }) => {
                let span = Span { start: *start, end: operand.end };
                self.keywords.push(PyKeyword { name: *name, value: operand.id, span });
                self.pending.pop();
                self.after_argument()
            }
            Some(Pending::LambdaDefault(_)) => self.end_of_default(operand),
            Some(Pending::Comprehension(_)) => self.end_of_clause_part(operand),
            Some(_) => self.element(operand),
        }
    }

    fn end_of_expression(&mut self, operand: Operand) -> Result<Next, Failed> {
        let Some(Pending::Base { stop, items, start, has_comma }) = self.pending.last_mut() else {
            return Ok(Next::Done(operand));
        };
        let (items, start, is_tuple) = (*items, *start, *has_comma);
        let is_list = matches!(stop, Stop::Line | Stop::Target);
        if self.peek() == PyToken::Comma && is_list {
            self.mark_comma();
            self.items.push(operand.id);
            self.advance();
            if begins_operand(self.peek()) {
                return Ok(Next::Expect);
            }
            let elements = self.list_from(items);
            let end = self.previous_end();
            return Ok(Next::Done(self.add(ExprKind::Tuple(elements), start, end)));
        }
        if !is_tuple {
            return Ok(Next::Done(operand));
        }
        self.items.push(operand.id);
        let elements = self.list_from(items);
        Ok(Next::Done(self.add(ExprKind::Tuple(elements), start, operand.end)))
    }

    fn end_of_default(&mut self, operand: Operand) -> Result<Next, Failed> {
        let Some(Pending::LambdaDefault(mut draft)) = self.pending.pop() else { return Err(Failed) };
        if let Some(parameter) = draft.parameters.last_mut() {
            parameter.default = Some(operand.id);
        }
        if !self.take(PyToken::Comma) && self.peek() != PyToken::Colon {
            return self.expected("`,` or `:`");
        }
        self.lambda_parameters(*draft)
    }

    /// An element of the innermost brackets is complete.
    fn element(&mut self, operand: Operand) -> Result<Next, Failed> {
        match self.peek() {
            PyToken::Colon => self.colon(operand),
            PyToken::For | PyToken::Async if self.is_first_element() => self.begin_comprehension(operand),
            PyToken::Comma => {
                self.push_element(operand);
                self.mark_comma();
                self.after_argument()
            }
            token if Some(token) == self.closing() => {
                self.push_element(operand);
                self.close()
            }
            PyToken::Equal => {
                let span = self.span();
                self.error(PythonProblem::AssignmentInExpression, span);
                Err(Failed)
            }
            _ => self.expected(self.wanted_in_brackets()),
        }
    }

    fn wanted_in_brackets(&self) -> &'static str {
        match self.closing() {
            Some(PyToken::ParenClose) => "`,` or `)`",
            Some(PyToken::SquareClose) => "`,` or `]`",
            _ => "`,` or `}`",
        }
    }

    /// At the comma or the closing bracket behind an element or a keyword argument.
    fn after_argument(&mut self) -> Result<Next, Failed> {
        let closing = self.closing();
        if Some(self.peek()) == closing {
            return self.close();
        }
        if !self.take(PyToken::Comma) {
            return self.expected(self.wanted_in_brackets());
        }
        match Some(self.peek()) == closing {
            true => self.close(),
            false => Ok(Next::Expect),
        }
    }

    fn closing(&self) -> Option<PyToken> {
        match self.pending.last()? {
            Pending::Paren { .. } | Pending::Call { .. } => Some(PyToken::ParenClose),
            Pending::List { .. } | Pending::Subscript { .. } => Some(PyToken::SquareClose),
            Pending::Brace { .. } => Some(PyToken::BraceClose),
            _ => None,
        }
    }

    fn mark_comma(&mut self) {
        if let Some(
            Pending::Base { has_comma, .. }
            | Pending::Paren { has_comma, .. }
            | Pending::List { has_comma, .. }
            | Pending::Subscript { has_comma, .. },
        ) = self.pending.last_mut()
        {
            *has_comma = true;
        }
    }

    fn push_element(&mut self, operand: Operand) {
        let mut id = operand.id;
        match self.pending.last_mut() {
            Some(Pending::Subscript { slice, .. }) => {
                if let Some(SliceDraft { mut parts, count, start }) = slice.take() {
                    parts[count] = Some(operand.id);
                    let [lower, upper, step] = parts;
                    id = self.add(ExprKind::Slice { lower, upper, step }, start, operand.end).id;
                }
            }
            Some(Pending::Call { keywords, .. }) if *keywords < self.keywords.len() => {
                let PyExpr { kind, span } = *self.tree.expr(id);
                if kind != ExprKind::Refused {
                    self.error(PythonProblem::PositionalAfterKeyword, span);
                }
            }
            _ => {}
        }
        self.items.push(id);
    }

    /// `:` behind an element: a slice, or an entry of a dictionary.
    fn colon(&mut self, operand: Operand) -> Result<Next, Failed> {
        match self.pending.last_mut() {
            Some(Pending::Subscript { slice, .. }) => {
                let draft =
                    slice.get_or_insert(SliceDraft { parts: [None; 3], count: 0, start: operand.start });
                if draft.count == 2 {
                    return self.expected("`,` or `]`");
                }
                draft.parts[draft.count] = Some(operand.id);
                draft.count += 1;
            }
            Some(Pending::Brace { is_dictionary, .. }) => {
                *is_dictionary = true;
                self.items.push(operand.id);
            }
            _ => return self.expected(self.wanted_in_brackets()),
        }
        self.advance();
        Ok(Next::Expect)
    }

    /// True in `name` before `=` of a call.
    pub(super) fn is_keyword(&self, operand: Operand) -> bool {
        matches!(self.pending.last(), Some(Pending::Call { .. })) && self.is_bare_name(operand)
    }

    pub(super) fn begin_keyword(&mut self, operand: Operand) -> Next {
        self.advance();
        let span = Span { start: operand.start, end: operand.end };
        let name = self.name_id(span);
        let known = match self.pending.last() {
            Some(Pending::Call { keywords, .. }) => &self.keywords[*keywords..],
            _ => &[],
        };
        if known.iter().any(|keyword| keyword.name == name) {
            let name = self.tree.name(name).to_owned();
            self.error(PythonProblem::RepeatedKeyword { name }, span);
        }
        self.pending.push(Pending::Keyword { name, start: operand.start });
        Next::Expect
    }

    /// Takes the closing bracket and builds what stands in the brackets.
    fn close(&mut self) -> Result<Next, Failed> {
        let before = self.previous_end();
        let end = self.advance().end;
        let Some(pending) = self.pending.pop() else { return Err(Failed) };
        Ok(Next::Operand(match pending {
            Pending::Paren { open, items, has_comma: false } if self.items.len() == items + 1 => {
                let id = self.items.pop().unwrap_or(ExprId(0));
                Operand { id, start: open, end }
            }
            Pending::Paren { open, items, .. } => {
                let elements = self.list_from(items);
                self.add(ExprKind::Tuple(elements), open, end)
            }
            Pending::List { open, items, .. } => {
                let elements = self.list_from(items);
                self.add(ExprKind::List(elements), open, end)
            }
            Pending::Brace { open, items, is_dictionary } => {
                self.items.truncate(items);
                self.refuse_braces(open, end, is_dictionary)
            }
            Pending::Call { callee, items, keywords } => self.call(callee, items, keywords, end),
            Pending::Subscript { value, items, has_comma, start, .. } => {
                let index = match has_comma {
                    false => self.items.pop().unwrap_or(value.0),
                    true => {
                        let elements = self.list_from(items);
                        self.add(ExprKind::Tuple(elements), start, before).id
                    }
                };
                self.add(ExprKind::Subscript(value.0, index), value.1, end)
            }
            _ => return Err(Failed),
        }))
    }

    fn call(&mut self, callee: Extent, items: usize, keywords: usize, end: u32) -> Operand {
        let args = self.list_from(items);
        let start = self.tree.keywords.len() as u32;
        self.tree.keywords.extend(self.keywords.drain(keywords..));
        let keywords = Stretch { start, end: self.tree.keywords.len() as u32 };
        self.add(ExprKind::Call { callee: callee.0, args, keywords }, callee.1, end)
    }

    fn refuse_braces(&mut self, start: u32, end: u32, is_dictionary: bool) -> Operand {
        let outside = if is_dictionary { Outside::Dictionary } else { Outside::Set };
        self.outside(outside, Span { start, end });
        self.refused(start, end)
    }

    /// True if nothing stands before the element in its brackets.
    fn is_first_element(&self) -> bool {
        match self.pending.last() {
            Some(Pending::Paren { items, has_comma, .. } | Pending::List { items, has_comma, .. }) => {
                !has_comma && self.items.len() == *items
            }
            Some(Pending::Call { items, keywords, .. }) => {
                self.items.len() == *items && self.keywords.len() == *keywords
            }
            // A key and a value, or an element.
            Some(Pending::Brace { items, .. }) => self.items.len() <= *items + 1,
            _ => false,
        }
    }

    fn begin_comprehension(&mut self, element: Operand) -> Result<Next, Failed> {
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
    fn end_of_clause_part(&mut self, operand: Operand) -> Result<Next, Failed> {
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
        let kind = ExprKind::ListComprehension { element: draft.element, clauses };
        Ok(Next::Operand(match self.pending.pop() {
            Some(Pending::List { open, .. }) => self.add(kind, open, end),
            Some(Pending::Paren { open, .. }) => {
                self.outside(Outside::Generator, Span { start: open, end });
                self.refused(open, end)
            }
            Some(Pending::Brace { open, items, is_dictionary }) => {
                self.items.truncate(items);
                self.refuse_braces(open, end, is_dictionary)
            }
            Some(Pending::Call { callee, items, keywords }) => {
                self.outside(Outside::Generator, Span { start: callee.2, end });
                let argument = self.refused(callee.2, end);
                self.items.push(argument.id);
                self.call(callee, items, keywords, end)
            }
            _ => return Err(Failed),
        }))
    }
}
