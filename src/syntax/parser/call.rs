//! Calls: the arguments between the brackets, and what the closing bracket makes of them.
//!
//! A call waits on the pending stack with its arguments so far. `,` and `)` reduce the operand before
//! them to one node, which becomes an argument.

use crate::expr::print::Binding;
use crate::syntax::call::{Argument, Keyword, operands};
use crate::syntax::error::{SyntaxError, SyntaxErrorKind};
use crate::syntax::lexer::{Kind, Token, span};
use crate::syntax::parser::{Parsed, Parser, Pending};
use cembra_vm::program::instruction::Span;

/// Calls that make literals and are no operators.
const COMPOUND: [&str; 14] = [
    "tuple",
    "namedtuple",
    "sequence",
    "dense_array",
    "array",
    "dense_array_shape",
    "array_shape",
    "dense_array_edge",
    "array_edge",
    "ndarray",
    "axes",
    "qtype",
    "present",
    "missing",
];

impl Parser<'_> {
    /// Pushes a call; its arguments follow.
    pub(super) fn begin_call(&mut self, name: &str, place: Span) -> Parsed<bool> {
        let own = COMPOUND.contains(&name);
        if !own {
            self.registry.find(name).map_err(|e| SyntaxError::new(e, place))?;
        }
        let open = self.next().span;
        self.brackets.push(open);
        self.depth += 1;
        let keyword = self.keyword();
        let call = Pending::Call { name: name.to_owned(), start: place, arguments: Vec::new(), keyword };
        self.pending.push(call);
        Ok(false)
    }

    /// `name=` before an argument.
    fn keyword(&mut self) -> Option<Keyword> {
        while *self.kind(0) == Kind::LineEnd {
            self.next();
        }
        match (self.kind(0), self.kind(1)) {
            (Kind::Name(name), Kind::Symbol("=")) if !name.contains('.') => {
                let span = self.next().span;
                self.next();
                Some(Keyword { name: name.as_str().into(), span })
            }
            _ => None,
        }
    }

    /// `,`: the operand before it is an argument of the innermost call.
    pub(super) fn next_argument(&mut self) -> Parsed<()> {
        self.reduce(Binding::Comparison)?;
        if !matches!(self.pending.last(), Some(Pending::Call { .. })) {
            return self.expected("an operator or the end");
        }
        self.take_argument()?;
        self.next();
        let next = self.keyword();
        if let Some(Pending::Call { keyword, .. }) = self.pending.last_mut() {
            *keyword = next;
        }
        Ok(())
    }

    fn take_argument(&mut self) -> Parsed<()> {
        let operand = self.pop()?;
        if let Some(Pending::Call { arguments, keyword, .. }) = self.pending.last_mut() {
            arguments.push(Argument { keyword: keyword.take(), node: operand.node, span: operand.span });
        }
        Ok(())
    }

    /// `)`.
    pub(super) fn close(&mut self, token: &Token) -> Parsed<()> {
        self.reduce(Binding::Comparison)?;
        match self.pending.last() {
            Some(Pending::Group(open)) => {
                let start = open.start;
                self.pending.pop();
                self.brackets.pop();
                self.depth -= 1;
                self.next();
                // The value keeps its node; only the place grows by the parentheses.
                if let Some(operand) = self.operands.last_mut() {
                    operand.span = span(start as usize, token.span.end as usize);
                }
                Ok(())
            }
            Some(Pending::Call { .. }) => {
                self.take_argument()?;
                self.next();
                self.end_call(token.span.end)
            }
            _ => Err(SyntaxError::new(SyntaxErrorKind::Unopened { bracket: ')' }, token.span)),
        }
    }

    pub(super) fn end_call(&mut self, end: u32) -> Parsed<()> {
        let Some(Pending::Call { name, start, arguments, .. }) = self.pending.pop() else {
            return self.expected("an operator or the end");
        };
        self.brackets.pop();
        self.depth -= 1;
        let place = span(start.start as usize, end as usize);
        match name.as_str() {
            name if COMPOUND.contains(&name) => {
                let literal =
                    self.compound(name, &arguments).map_err(|kind| SyntaxError::new(kind, place))?;
                self.literal(literal, place)
            }
            _ => {
                let def = self.registry.find(&name).map_err(|e| SyntaxError::new(e, place))?.clone();
                let graph = &mut self.graph;
                let nodes = operands(&def, &arguments, place, &mut |literal| graph.add_literal(literal))?;
                self.apply(&name, &nodes, place)
            }
        }
    }
}
