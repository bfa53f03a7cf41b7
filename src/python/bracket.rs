//! Brackets: tuples, lists, dictionaries, sets, calls, subscripts with slices, and the end of an expression.

use crate::python::cursor::{Failed, Operand, Parser};
use crate::python::error::PythonProblem;
use crate::python::expression::{Next, begins_operand};
use crate::python::pending::{Extent, Pending, SliceDraft, Stop};
use crate::python::token::PyToken;
use crate::python::tree::{ExprId, ExprKind, PyExpr, PyKeyword, Stretch};
use cembra_vm::program::instruction::Span;

impl Parser<'_> {
    /// Opens brackets where an operand is expected.
    pub(super) fn open_bracket(&mut self, token: PyToken) -> Result<Next, Failed> {
        let (open, items) = (self.advance().start, self.items.len());
        let (pending, closing) = match token {
            PyToken::ParenOpen => (Pending::Paren { open, items, has_comma: false }, PyToken::ParenClose),
            PyToken::SquareOpen => (Pending::List { open, items, has_comma: false }, PyToken::SquareClose),
            _ => {
                (Pending::Brace { open, items, is_dictionary: true, is_refused: false }, PyToken::BraceClose)
            }
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
        let open = self.advance().start;
        let (items, extent) = (self.items.len(), operand.extent());
        if token == PyToken::ParenOpen {
            self.pending.push(Pending::Call { callee: extent, open, items, keywords: self.keywords.len() });
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
            PyToken::Comma | PyToken::BraceClose if self.lacks_value() => self.expected("`:`"),
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

    pub(super) fn wanted_in_brackets(&self) -> &'static str {
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

    pub(super) fn closing(&self) -> Option<PyToken> {
        match self.pending.last()? {
            Pending::Paren { .. } | Pending::Call { .. } => Some(PyToken::ParenClose),
            Pending::List { .. } | Pending::Subscript { .. } => Some(PyToken::SquareClose),
            Pending::Brace { .. } => Some(PyToken::BraceClose),
            _ => None,
        }
    }

    /// True where a key of a dictionary stands that has other entries before it.
    fn lacks_value(&self) -> bool {
        match self.pending.last() {
            Some(Pending::Brace { items, is_dictionary: true, is_refused: false, .. }) => {
                (self.items.len() - items).is_multiple_of(2)
            }
            _ => false,
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
                if !matches!(kind, ExprKind::Refused | ExprKind::Starred(_)) {
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
            Some(Pending::Brace { items, is_dictionary, is_refused, .. })
                if *is_refused
                    || self.items.len() == *items
                    || *is_dictionary && (self.items.len() - *items).is_multiple_of(2) =>
            {
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
            Pending::Brace { open, items, is_refused: true, .. } => {
                self.items.truncate(items);
                self.refused(open, end)
            }
            Pending::Brace { open, items, is_dictionary, .. } => {
                let elements = self.list_from(items);
                let kind = if is_dictionary { ExprKind::Dict(elements) } else { ExprKind::Set(elements) };
                self.add(kind, open, end)
            }
            Pending::Call { callee, items, keywords, .. } => self.call(callee, items, keywords, end),
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

    pub(super) fn call(&mut self, callee: Extent, items: usize, keywords: usize, end: u32) -> Operand {
        let args = self.list_from(items);
        let start = self.tree.keywords.len() as u32;
        self.tree.keywords.extend(self.keywords.drain(keywords..));
        let keywords = Stretch { start, end: self.tree.keywords.len() as u32 };
        self.add(ExprKind::Call { callee: callee.0, args, keywords }, callee.1, end)
    }
}
