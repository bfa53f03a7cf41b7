//! The parser's state: tokens, the program so far, names of definitions.

use crate::field::dimension::DimensionId;
use crate::field::error::{FieldError, FieldProblem};
use crate::field::expression::{
    BoundTerm, FieldBound, FieldId, FieldNode, FieldNodeId, IndexComparison, IndexCondition, IndexTerm,
};
use crate::field::program::FieldProgram;
use crate::field::text::lexer::Token;
use crate::field::types::FieldTypes;
use cembra_vm::program::instruction::Span;
use cembra_vm::value::ScalarType;
use hashbrown::HashMap;

/// Brackets and signs that may be open at once.
const DEEPEST: usize = 100;

/// Words that lines of declarations begin with.
pub(super) const DECLARING: [&str; 8] =
    ["horizontal", "vertical", "local", "table", "input", "output", "scalar", "static"];

pub(super) type Parsed<T> = Result<T, FieldError>;

/// A name that a line has defined.
#[derive(Clone, Debug)]
pub(super) struct Definition {
    pub node: FieldNodeId,
    /// The fields that its value depends on.
    pub reads: Vec<FieldId>,
    /// Number of statements before it.
    pub made_at: usize,
}

pub(super) struct Parser<'t> {
    pub text: &'t str,
    pub tokens: Vec<(Token<'t>, Span)>,
    pub at: usize,
    pub program: FieldProgram,
    pub types: FieldTypes,
    pub definitions: HashMap<String, Definition>,
    /// Carries and definitions inside of a scan.
    pub scan_scope: HashMap<String, FieldNodeId>,
    /// For each field the number of statements up to the last one that wrote it.
    pub written_at: HashMap<FieldId, usize>,
    /// Fields that the line has read so far.
    pub reads: Vec<FieldId>,
    pub depth: usize,
}

impl<'t> Parser<'t> {
    pub fn new(text: &'t str, tokens: Vec<(Token<'t>, Span)>) -> Parser<'t> {
        Parser {
            text,
            tokens,
            at: 0,
            program: FieldProgram::default(),
            types: FieldTypes::default(),
            definitions: HashMap::new(),
            scan_scope: HashMap::new(),
            written_at: HashMap::new(),
            reads: Vec::new(),
            depth: 0,
        }
    }

    pub fn peek(&self) -> Token<'t> {
        self.tokens[self.at].0
    }

    pub fn peek_after(&self, count: usize) -> Token<'t> {
        self.tokens.get(self.at + count).map_or(Token::End, |token| token.0)
    }

    pub fn span(&self) -> Span {
        self.tokens[self.at].1
    }

    /// From a place up to the last token that was taken.
    pub fn since(&self, start: Span) -> Span {
        let last = self.tokens[self.at.saturating_sub(1)].1;
        Span { start: start.start, end: last.end.max(start.end) }
    }

    pub fn advance(&mut self) -> Token<'t> {
        let token = self.peek();
        if self.at + 1 < self.tokens.len() {
            self.at += 1;
        }
        token
    }

    /// Takes a symbol if it is next.
    pub fn takes(&mut self, symbol: &str) -> bool {
        let is_next = matches!(self.peek(), Token::Symbol(next) if next == symbol);
        if is_next {
            self.advance();
        }
        is_next
    }

    /// Takes a word if it is next.
    pub fn takes_word(&mut self, word: &str) -> bool {
        let is_next = self.peek() == Token::Name(word);
        if is_next {
            self.advance();
        }
        is_next
    }

    pub fn expect(&mut self, symbol: &str, after: &str) -> Parsed<()> {
        match self.takes(symbol) {
            true => Ok(()),
            false => Err(self.wrong(&format!("`{symbol}` is expected {after}"))),
        }
    }

    /// An error at the next token.
    pub fn wrong(&self, what: &str) -> FieldError {
        let found = match self.peek() {
            Token::End => "the line ends".to_owned(),
            Token::Name(text) | Token::Number(text) | Token::Quoted(text) | Token::Symbol(text) => {
                let instead = match self.peek() {
                    Token::Symbol("^") => ": powers are written `**`",
                    Token::Symbol("&") => ": `and` joins truth values",
                    Token::Symbol("|") => ": `or` joins truth values",
                    Token::Symbol("~") => ": `not` is the opposite of a truth value",
                    Token::Name("if") => ": `where(condition, a, b)` chooses",
                    _ => "",
                };
                format!("found `{text}`{instead}")
            }
        };
        let what = format!("{what}; {found}");
        FieldError::at(FieldProblem::Syntax { what }, self.span())
    }

    /// An error of a name.
    pub fn unknown(&self, role: &'static str, name: &str, span: Span) -> FieldError {
        let line = |at: u32| 1 + self.text.bytes().take(at as usize).filter(|byte| *byte == b'\n').count();
        let problem = match self.defined_later(name) {
            Some(later) => {
                let (used, defined) = (line(span.start), line(later.start));
                FieldProblem::UsedBefore { name: name.to_owned(), used, defined }
            }
            None => FieldProblem::UnknownName { role, name: name.to_owned() },
        };
        FieldError::at(problem, span)
    }

    /// The place behind the one at hand where a line begins with a name and `=`, or declares it.
    fn defined_later(&self, name: &str) -> Option<Span> {
        let is_name = |token: &Token<'_>| matches!(token, Token::Name(n) | Token::Quoted(n) if *n == name);
        let mut lines = self.tokens[self.at..].split(|(token, _)| *token == Token::End);
        lines.next();
        lines.find_map(|line| match line {
            [(first, span), (Token::Symbol("="), _), ..] if is_name(first) => Some(*span),
            [(Token::Name(word), _), rest @ ..] if DECLARING.contains(word) => {
                // In brackets stand dimensions, behind colons types, behind `=` values.
                let mut open = 0;
                let mut begins = true;
                let found = rest.iter().position(|(token, _)| {
                    let is_found = begins && open == 0 && is_name(token);
                    begins = *token == Token::Symbol(",");
                    open += i32::from(*token == Token::Symbol("[")) - i32::from(*token == Token::Symbol("]"));
                    is_found
                })?;
                Some(rest[found].1)
            }
            _ => None,
        })
    }

    /// A name, quoted or not.
    pub fn name(&mut self, what: &str) -> Parsed<&'t str> {
        match self.peek() {
            Token::Name(name) | Token::Quoted(name) => {
                self.advance();
                Ok(name)
            }
            _ => Err(self.wrong(&format!("{what} is expected"))),
        }
    }

    pub fn dimension(&mut self) -> Parsed<DimensionId> {
        let span = self.span();
        let name = self.name("a dimension")?;
        self.program.dimension(name).ok_or_else(|| self.unknown("dimension", name, span))
    }

    /// An integer with a sign.
    pub fn integer(&mut self) -> Parsed<i64> {
        let start = self.span();
        let sign = if self.takes("-") { -1 } else { 1 };
        let number = match self.peek() {
            Token::Number(text) => text.parse::<i64>().ok().map(|number| sign * number),
            _ => None,
        };
        match number.filter(|number| i32::try_from(*number).is_ok()) {
            Some(number) => {
                self.advance();
                Ok(number)
            }
            None => {
                let error = self.wrong("an integer of 32 bits is expected");
                Err(FieldError { span: self.since(start), ..error })
            }
        }
    }

    pub fn enter(&mut self) -> Parsed<()> {
        self.depth += 1;
        match self.depth > DEEPEST {
            true => {
                let what = format!("more than {DEEPEST} brackets and signs are open");
                Err(FieldError::at(FieldProblem::Limit { limit: "field-nesting", what }, self.span()))
            }
            false => Ok(()),
        }
    }

    pub fn leave(&mut self) {
        self.depth -= 1;
    }

    /// Adds an operation that began at a place.
    pub fn add(&mut self, node: FieldNode, start: Span) -> Parsed<FieldNodeId> {
        let span = self.since(start);
        let id = self.program.nodes.add(node, span).map_err(|problem| FieldError::at(problem, span))?;
        // Errors of types are reported when the program is whole; here types only help numbers.
        let _ = self.types.extend(&self.program);
        Ok(id)
    }

    pub fn dtype(&self, id: FieldNodeId) -> Option<ScalarType> {
        self.types.get(id).map(|of| of.dtype)
    }

    /// A bound: integers and int32 scalars with `+`, `-` and `*`.
    pub fn bound(&mut self) -> Parsed<FieldBound> {
        let mut terms = Vec::new();
        self.bound_sum(&mut terms)?;
        Ok(FieldBound(terms))
    }

    fn bound_sum(&mut self, terms: &mut Vec<BoundTerm>) -> Parsed<()> {
        self.bound_product(terms)?;
        loop {
            let term = match self.peek() {
                Token::Symbol("+") => BoundTerm::Add,
                Token::Symbol("-") => BoundTerm::Sub,
                _ => return Ok(()),
            };
            self.advance();
            self.bound_product(terms)?;
            terms.push(term);
        }
    }

    fn bound_product(&mut self, terms: &mut Vec<BoundTerm>) -> Parsed<()> {
        self.bound_atom(terms)?;
        while self.takes("*") {
            self.bound_atom(terms)?;
            terms.push(BoundTerm::Mul);
        }
        Ok(())
    }

    fn bound_atom(&mut self, terms: &mut Vec<BoundTerm>) -> Parsed<()> {
        self.enter()?;
        match (self.peek(), self.peek_after(1)) {
            (Token::Symbol("("), _) => {
                self.advance();
                self.bound_sum(terms)?;
                self.expect(")", "behind a bound")?;
            }
            (Token::Symbol("-"), Token::Number(_)) | (Token::Number(_), _) => {
                let value = self.integer()?;
                terms.push(BoundTerm::Literal(value));
            }
            (Token::Symbol("-"), _) => {
                self.advance();
                terms.push(BoundTerm::Literal(0));
                self.bound_atom(terms)?;
                terms.push(BoundTerm::Sub);
            }
            _ => {
                let span = self.span();
                let name = self.name("a bound")?;
                if self.peek() == Token::Symbol("(") {
                    let what = "bounds are integers and int32 scalars with `+`, `-` and `*`; \
                                a scalar that is declared as `scalar n: int32` needs no cast";
                    return Err(FieldError::at(FieldProblem::Syntax { what: what.to_owned() }, span));
                }
                let scalar = self.program.scalar(name);
                terms.push(BoundTerm::Scalar(scalar.ok_or_else(|| self.unknown("scalar", name, span))?));
            }
        }
        self.leave();
        Ok(())
    }

    /// A condition on the index along one dimension.
    pub fn condition(&mut self) -> Parsed<IndexCondition> {
        let (mut terms, mut dimension) = (Vec::new(), None);
        self.condition_or(&mut terms, &mut dimension)?;
        let dimension = dimension.expect("a condition has a comparison");
        Ok(IndexCondition { dimension, terms })
    }

    fn condition_or(
        &mut self,
        terms: &mut Vec<IndexTerm>,
        dimension: &mut Option<DimensionId>,
    ) -> Parsed<()> {
        self.condition_and(terms, dimension)?;
        while self.takes_word("or") {
            self.condition_and(terms, dimension)?;
            terms.push(IndexTerm::Or);
        }
        Ok(())
    }

    fn condition_and(
        &mut self,
        terms: &mut Vec<IndexTerm>,
        dimension: &mut Option<DimensionId>,
    ) -> Parsed<()> {
        self.condition_atom(terms, dimension)?;
        while self.takes_word("and") {
            self.condition_atom(terms, dimension)?;
            terms.push(IndexTerm::And);
        }
        Ok(())
    }

    fn condition_atom(
        &mut self,
        terms: &mut Vec<IndexTerm>,
        dimension: &mut Option<DimensionId>,
    ) -> Parsed<()> {
        self.enter()?;
        if self.takes("(") {
            self.condition_or(terms, dimension)?;
            self.expect(")", "behind a condition")?;
        } else {
            let start = self.span();
            let found = self.dimension()?;
            if *dimension.get_or_insert(found) != found {
                let what = "a condition of concat_where is about one dimension; nest two instead".to_owned();
                return Err(FieldError::at(FieldProblem::Syntax { what }, start));
            }
            let comparison = match self.peek() {
                Token::Symbol("<") => IndexComparison::Lt,
                Token::Symbol("<=") => IndexComparison::Le,
                Token::Symbol(">") => IndexComparison::Gt,
                Token::Symbol(">=") => IndexComparison::Ge,
                Token::Symbol("==") => IndexComparison::Eq,
                Token::Symbol("!=") => IndexComparison::Ne,
                _ => {
                    return Err(
                        self.wrong("`<`, `<=`, `>`, `>=`, `==` or `!=` is expected behind a dimension")
                    );
                }
            };
            self.advance();
            terms.push(IndexTerm::Compare(comparison, self.bound()?));
        }
        self.leave();
        Ok(())
    }
}
