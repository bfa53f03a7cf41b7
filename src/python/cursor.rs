//! The parser's state: tokens and where it is, the tree so far, what is not complete yet.

use crate::python::error::{Outside, PythonError, PythonProblem};
use crate::python::lexer::{PlacedToken, tokens};
use crate::python::lines::SourceLines;
use crate::python::operators::CompareOp;
use crate::python::pending::{Block, Pending};
use crate::python::token::PyToken;
use crate::python::tree::{
    ExprId, ExprKind, NameId, PyExpr, PyKeyword, PyStmt, PyTree, StmtId, StmtKind, Stretch,
};
use cembra_vm::program::instruction::Span;
use hashbrown::{HashMap, HashSet};
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfkc_quick};

/// Findings that are kept.
const MAX_ERRORS: usize = 1000;

/// A statement is given up; its error is in the list.
pub(super) struct Failed;

/// An expression with the brackets around it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operand {
    pub id: ExprId,
    pub start: u32,
    pub end: u32,
}

/// Reads tokens, builds the tree.
pub(super) struct Parser<'t> {
    pub text: &'t str,
    tokens: Vec<PlacedToken>,
    at: usize,
    pub tree: PyTree,
    pub errors: Vec<PythonError>,
    /// Where the lexer found something: a second finding at the same place says nothing new.
    reported: HashSet<u32>,
    /// The lexer found a bracket that nothing closes.
    has_unclosed: bool,
    names: HashMap<Box<str>, NameId>,
    /// Operators and brackets that wait for an operand or an end.
    pub pending: Vec<Pending>,
    /// Elements of lists that are not complete.
    pub items: Vec<ExprId>,
    pub ops: Vec<CompareOp>,
    pub keywords: Vec<PyKeyword>,
    /// Statements whose blocks are not complete.
    pub blocks: Vec<Block>,
    /// Statements of blocks that are not complete.
    pub statements: Vec<StmtId>,
    /// End of the last line of statements: where the blocks that it ends, end.
    pub line_end: u32,
    /// Decorators before the next definition.
    pub decorators: Vec<ExprId>,
}

impl<'t> Parser<'t> {
    pub(super) fn new(text: &'t str) -> Parser<'t> {
        let (tokens, errors) = tokens(text);
        let count = tokens.len();
        let tree = PyTree {
            exprs: Vec::with_capacity(count / 2),
            stmts: Vec::with_capacity(count / 8),
            expr_lists: Vec::with_capacity(count / 8),
            stmt_lists: Vec::with_capacity(count / 8),
            compare_ops: Vec::new(),
            keywords: Vec::new(),
            parameters: Vec::new(),
            clauses: Vec::new(),
            aliases: Vec::new(),
            cases: Vec::new(),
            handlers: Vec::new(),
            patterns: Vec::new(),
            names: Vec::new(),
            body: Stretch::default(),
            lines: SourceLines::new(text),
        };
        Parser {
            text,
            tokens,
            at: 0,
            tree,
            reported: errors.iter().map(|error| error.span.start).collect(),
            has_unclosed: errors.iter().any(|e| matches!(e.problem, PythonProblem::Unclosed { .. })),
            errors,
            names: HashMap::new(),
            pending: Vec::new(),
            items: Vec::new(),
            ops: Vec::new(),
            keywords: Vec::new(),
            blocks: Vec::new(),
            statements: Vec::new(),
            line_end: 0,
            decorators: Vec::new(),
        }
    }

    pub(super) fn peek(&self) -> PyToken {
        self.tokens[self.at].token
    }

    /// A token ahead; the end of the text is endless.
    pub(super) fn peek_at(&self, ahead: usize) -> PlacedToken {
        self.tokens[(self.at + ahead).min(self.tokens.len() - 1)]
    }

    pub(super) fn span(&self) -> Span {
        self.tokens[self.at].span()
    }

    /// End of the token that was taken last.
    pub(super) fn previous_end(&self) -> u32 {
        self.at.checked_sub(1).map_or(0, |at| self.tokens[at].end)
    }

    /// Takes the next token; the end stays.
    pub(super) fn advance(&mut self) -> PlacedToken {
        let token = self.tokens[self.at];
        if token.token != PyToken::End {
            self.at += 1;
        }
        token
    }

    pub(super) fn take(&mut self, token: PyToken) -> bool {
        let found = self.peek() == token;
        if found {
            self.advance();
        }
        found
    }

    pub(super) fn expect(&mut self, token: PyToken, name: &'static str) -> Result<PlacedToken, Failed> {
        match self.peek() == token {
            true => Ok(self.advance()),
            false => self.expected(name),
        }
    }

    /// Takes a name.
    pub(super) fn name(&mut self, what: &'static str) -> Result<(NameId, Span), Failed> {
        let token = self.expect(PyToken::Name, what)?;
        Ok((self.name_id(token.span()), token.span()))
    }

    pub(super) fn slice(&self, span: Span) -> &'t str {
        &self.text[span.start as usize..span.end as usize]
    }

    /// The number of the name that stands somewhere.
    pub(super) fn name_id(&mut self, span: Span) -> NameId {
        self.intern_name(self.slice(span))
    }

    /// The number of a name, which Python compares in the form NFKC.
    pub(super) fn intern_name(&mut self, name: &str) -> NameId {
        match is_nfkc_quick(name.chars()) {
            IsNormalized::Yes => self.intern(name),
            _ => self.intern(&name.nfkc().collect::<String>()),
        }
    }

    /// The number of a name or a text; equal ones have one number.
    pub(super) fn intern(&mut self, text: &str) -> NameId {
        if let Some(known) = self.names.get(text) {
            return *known;
        }
        let id = NameId(self.tree.names.len() as u32);
        self.tree.names.push(text.into());
        self.names.insert(text.into(), id);
        id
    }

    pub(super) fn error(&mut self, problem: PythonProblem, span: Span) {
        if self.errors.len() < MAX_ERRORS {
            self.errors.push(PythonError { problem, span });
        }
    }

    pub(super) fn outside(&mut self, outside: Outside, span: Span) {
        self.error(PythonProblem::Outside(outside), span);
    }

    pub(super) fn expected<T>(&mut self, expected: &'static str) -> Result<T, Failed> {
        let (found, span) = (self.peek(), self.span());
        // The lexer ended the line because a bracket was forgotten.
        let ends_line = |byte: &u8| matches!(byte, b'\n' | b'\r');
        let is_cut = found == PyToken::Newline
            && !self.text.as_bytes().get(span.start as usize).is_some_and(ends_line);
        let is_consequence =
            self.has_unclosed && (is_cut || (found == PyToken::End && self.is_in_brackets()));
        if !is_consequence && !self.reported.contains(&span.start) {
            self.error(PythonProblem::Expected { expected, found }, span);
        }
        Err(Failed)
    }

    fn is_in_brackets(&self) -> bool {
        self.pending.iter().any(Pending::is_bracket)
    }

    pub(super) fn add(&mut self, kind: ExprKind, start: u32, end: u32) -> Operand {
        let id = ExprId(self.tree.exprs.len() as u32);
        self.tree.exprs.push(PyExpr { kind, span: Span { start, end } });
        Operand { id, start, end }
    }

    pub(super) fn refused(&mut self, start: u32, end: u32) -> Operand {
        self.add(ExprKind::Refused, start, end)
    }

    /// Makes a list of the items from a place on.
    pub(super) fn list_from(&mut self, first: usize) -> Stretch {
        let start = self.tree.expr_lists.len() as u32;
        self.tree.expr_lists.extend(self.items.drain(first..));
        Stretch { start, end: self.tree.expr_lists.len() as u32 }
    }

    pub(super) fn add_statement(&mut self, kind: StmtKind, start: u32, end: u32) {
        let id = StmtId(self.tree.stmts.len() as u32);
        self.tree.stmts.push(PyStmt { kind, span: Span { start, end } });
        self.statements.push(id);
    }

    /// Makes a block of the statements from a place on.
    pub(super) fn block_from(&mut self, first: usize) -> Stretch {
        let start = self.tree.stmt_lists.len() as u32;
        self.tree.stmt_lists.extend(self.statements.drain(first..));
        Stretch { start, end: self.tree.stmt_lists.len() as u32 }
    }
}
