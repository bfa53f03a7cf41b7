//! The parser: operator precedence with two stacks.
//!
//! ```text
//! a + b * c       operands: a b c     pending: + *      reduce * then +
//! f(a, -b)        pending: f( -       the call collects its arguments until `)`
//! ```
//!
//! The text alternates between places where an operand is expected and places where an operator may
//! follow. Prefix operators, brackets and calls are pushed on the pending stack in the first; in the
//! second, an infix operator first reduces everything that binds at least as tightly. Calls are in
//! `call`, literals in `literal`.

use crate::expr::print::{Binding, INFIX, PREFIX, RESERVED};
use crate::expr::{Expr, Graph, Literal, NodeId};
use crate::registry::infer::PRESENCE_SYMBOLS;
use crate::registry::{Dialect, Registry};
use crate::syntax::call::{Argument, Keyword};
use crate::syntax::construct;
use crate::syntax::error::{SyntaxError, SyntaxErrorKind};
use crate::syntax::lexer::{Kind, Token, describe, span, tokens};
use cembra_vm::program::instruction::Span;
use std::collections::{HashMap, HashSet};

mod call;
mod literal;

/// Limits of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Code points of the text.
    pub text: usize,
    /// Levels of brackets, calls and prefix operators.
    pub nesting: usize,
    /// Distinct nodes of the expression.
    pub nodes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { text: 100_000, nesting: 250, nodes: crate::expr::graph::DEFAULT_NODE_LIMIT }
    }
}

/// Parses an expression in the default dialect with the standard operators.
///
/// # Errors
/// The text is not an expression.
///
/// ```
/// # fn main() -> Result<(), cembra::syntax::SyntaxError> {
/// let expr = cembra::syntax::parse("d = b*b - 4*a*c\nmath.sqrt(d)")?;
/// assert_eq!(expr.to_string(), "math.sqrt(b * b - 4 * a * c)");
/// # Ok(())
/// # }
/// ```
pub fn parse(text: &str) -> Result<Expr, SyntaxError> {
    parse_with(text, &Registry::standard(), Dialect::default(), &Limits::default())
}

/// Parses an expression.
///
/// # Errors
/// The text is not an expression, or exceeds a limit.
pub fn parse_with(
    text: &str,
    registry: &Registry,
    dialect: Dialect,
    limits: &Limits,
) -> Result<Expr, SyntaxError> {
    let everything = span(0, text.len().min(u32::MAX as usize));
    let actual = text.chars().count();
    if actual > limits.text {
        let kind = SyntaxErrorKind::TooLong { actual, limit: limits.text };
        return Err(SyntaxError::new(kind, Span::default()));
    }
    let tokens = tokens(text)?;
    let mut parser = Parser {
        tokens: &tokens,
        at: 0,
        graph: Graph::with_limit(limits.nodes),
        registry,
        dialect,
        limits,
        names: HashMap::new(),
        bare_inputs: HashSet::new(),
        operands: Vec::new(),
        pending: Vec::new(),
        brackets: Vec::new(),
        depth: 0,
    };
    let root = parser.statements()?;
    Expr::new(&parser.graph, root).map_err(|error| SyntaxError::new(error, everything))
}

/// An operand on the stack.
#[derive(Clone, Copy, Debug)]
struct Operand {
    node: NodeId,
    span: Span,
}

/// What waits for operands.
#[derive(Debug)]
enum Pending {
    /// An operator before its operand.
    Prefix(&'static str, Span),
    /// An operator between its operands.
    Infix(&'static str, Binding),
    /// `(`.
    Group(Span),
    /// A call whose arguments are being read.
    Call { name: String, start: Span, arguments: Vec<Argument>, keyword: Option<Keyword> },
}

struct Parser<'t> {
    tokens: &'t [Token],
    at: usize,
    graph: Graph,
    registry: &'t Registry,
    dialect: Dialect,
    limits: &'t Limits,
    /// Values of the statements so far.
    names: HashMap<String, NodeId>,
    /// Names without a prefix that were read as inputs.
    bare_inputs: HashSet<String>,
    operands: Vec<Operand>,
    pending: Vec<Pending>,
    /// Opening brackets of the groups and calls pending, so that nobody looks for them among long chains of operators.
    brackets: Vec<Span>,
    /// Groups, calls and prefix operators pending.
    depth: usize,
}

type Parsed<T> = Result<T, SyntaxError>;

impl<'t> Parser<'t> {
    fn peek(&self) -> &'t Token {
        &self.tokens[self.at]
    }

    fn kind(&self, ahead: usize) -> &'t Kind {
        self.tokens.get(self.at + ahead).map_or(&Kind::End, |t| &t.kind)
    }

    fn next(&mut self) -> &'t Token {
        let token = self.peek();
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    fn at_symbol(&self, symbol: &str) -> bool {
        matches!(self.kind(0), Kind::Symbol(s) if *s == symbol)
    }

    fn expected<T>(&self, expected: &'static str) -> Parsed<T> {
        let token = self.peek();
        let found = describe(&token.kind);
        Err(SyntaxError::new(SyntaxErrorKind::Expected { expected, found }, token.span))
    }

    /// Statements up to the result.
    fn statements(&mut self) -> Parsed<NodeId> {
        loop {
            while *self.kind(0) == Kind::LineEnd {
                self.next();
            }
            if *self.kind(0) == Kind::End {
                return self.no_result();
            }
            let place = self.peek().span;
            let assigned = match (self.kind(0), self.kind(1)) {
                (Kind::Name(name), Kind::Symbol("=")) => Some(self.assignable(name)?),
                _ => None,
            };
            let value = self.expression()?;
            match assigned {
                Some(name) if self.bare_inputs.contains(&name) => {
                    return Err(SyntaxError::new(SyntaxErrorKind::UsedBefore { name }, place));
                }
                Some(name) => {
                    self.names.insert(name, value);
                }
                None => return self.end(value),
            }
        }
    }

    fn assignable(&mut self, name: &str) -> Parsed<String> {
        let token = self.next();
        self.next();
        let name = name.to_owned();
        let kind = match () {
            () if name.contains('.') => SyntaxErrorKind::Dotted { name },
            () if RESERVED.contains(&&*name) || construct::word(&name).is_some() => {
                SyntaxErrorKind::Reserved { name }
            }
            () if self.names.contains_key(&name) => SyntaxErrorKind::Reassigned { name },
            () => return Ok(name),
        };
        Err(SyntaxError::new(kind, token.span))
    }

    /// The text ends where a statement or the result could begin.
    fn no_result<T>(&self) -> Parsed<T> {
        match self.names.is_empty() {
            true => Err(SyntaxError::new(SyntaxErrorKind::Empty, self.peek().span)),
            false => self.expected("a result expression after the statements"),
        }
    }

    fn end(&mut self, value: NodeId) -> Parsed<NodeId> {
        while *self.kind(0) == Kind::LineEnd {
            self.next();
        }
        match self.kind(0) {
            Kind::End => Ok(value),
            _ => self.expected("the end of the text after the result"),
        }
    }

    /// One expression, up to a line end outside brackets or the end of the text.
    fn expression(&mut self) -> Parsed<NodeId> {
        loop {
            self.operand()?;
            if let Some(result) = self.after_operand()? {
                return Ok(result);
            }
        }
    }

    /// Reads up to and including one operand without its own brackets.
    fn operand(&mut self) -> Parsed<()> {
        loop {
            let token = self.next();
            let depth_before = self.depth;
            match &token.kind {
                Kind::LineEnd => continue,
                Kind::Symbol("-") if self.at_signed_number() => {
                    let number = self.next();
                    return self.number(number, true, token.span);
                }
                Kind::Symbol(symbol) if PREFIX.iter().any(|p| p.1 == *symbol) => {
                    self.pending.push(Pending::Prefix(symbol, token.span));
                    self.depth += 1;
                }
                Kind::Symbol("(") => {
                    self.pending.push(Pending::Group(token.span));
                    self.brackets.push(token.span);
                    self.depth += 1;
                }
                // A call without arguments, or behind a trailing comma, ends where an operand could begin.
                Kind::Symbol(")")
                    if matches!(self.pending.last(), Some(Pending::Call { keyword: None, .. })) =>
                {
                    return self.end_call(token.span.end);
                }
                Kind::Integer(_) | Kind::Float(_) => return self.number(token, false, token.span),
                kind if self.is_special(kind) => return self.number(token, false, token.span),
                Kind::Text(text) => return self.literal(Literal::from(text.as_str()), token.span),
                Kind::Bytes(bytes) => return self.literal(Literal::from(bytes.clone()), token.span),
                Kind::Name(name) => {
                    if self.name(name, token.span)? {
                        return Ok(());
                    }
                }
                _ => {
                    self.at -= usize::from(token.kind != Kind::End);
                    return match self.innermost_bracket() {
                        Some((bracket, open)) if token.kind == Kind::End => {
                            Err(SyntaxError::new(SyntaxErrorKind::Unclosed { bracket }, open))
                        }
                        _ => self.expected("an operand"),
                    };
                }
            }
            if self.depth > depth_before && self.depth > self.limits.nesting {
                let kind = SyntaxErrorKind::TooDeep { limit: self.limits.nesting };
                return Err(SyntaxError::new(kind, token.span));
            }
        }
    }

    /// True if a number follows a minus sign and is not the base of a power.
    fn at_signed_number(&self) -> bool {
        let is_number = matches!(self.kind(0), Kind::Integer(_) | Kind::Float(_));
        (is_number || self.is_special(self.kind(0))) && *self.kind(1) != Kind::Symbol("**")
    }

    fn innermost_bracket(&self) -> Option<(char, Span)> {
        self.brackets.last().map(|open| ('(', *open))
    }

    fn literal(&mut self, literal: Literal, place: Span) -> Parsed<()> {
        let node = self.graph.add_literal(literal).map_err(|e| SyntaxError::new(e, place))?;
        self.push(node, place);
        Ok(())
    }

    fn push(&mut self, node: NodeId, place: Span) {
        self.graph.set_span(node, place);
        self.operands.push(Operand { node, span: place });
    }

    /// A name: a call begins, or it is an operand; true in the second case.
    fn name(&mut self, full: &str, place: Span) -> Parsed<bool> {
        let name = full.strip_prefix("arolla.").unwrap_or(full);
        let name = name.strip_prefix("M.").unwrap_or(name);
        if let Some((prefix @ ("L" | "P"), leaf)) = name.split_once('.') {
            return self.leaf(prefix, leaf, place).map(|()| true);
        }
        if matches!(name, "L" | "P") && self.at_symbol("[") {
            return self.subscript(name, place).map(|()| true);
        }
        if self.at_symbol("{") || (self.at_symbol("(") && construct::scalar_constructor(name).is_some()) {
            return self.constructor(name, place).map(|()| true);
        }
        if self.at_symbol("(") {
            return self.begin_call(name, place);
        }
        if let Some(node) = self.names.get(name) {
            self.operands.push(Operand { node: *node, span: place });
            return Ok(true);
        }
        if let Some(literal) = construct::word(name) {
            return self.literal(literal, place).map(|()| true);
        }
        if full.contains('.') {
            let def = self.registry.find(name).map_err(|error| match name == full {
                true => SyntaxError::new(SyntaxErrorKind::OperatorValue(error), place),
                false => SyntaxError::new(error, place),
            })?;
            let literal = Literal::Operator(def.name.clone());
            return self.literal(literal, place).map(|()| true);
        }
        match RESERVED.contains(&name) {
            true => {
                self.at -= 1;
                self.expected("an operand")
            }
            false => {
                self.bare_inputs.insert(name.to_owned());
                self.leaf("L", name, place).map(|()| true)
            }
        }
    }

    fn leaf(&mut self, prefix: &str, name: &str, place: Span) -> Parsed<()> {
        let node = match prefix {
            "P" => self.graph.placeholder(name),
            _ => self.graph.leaf(name),
        };
        self.push(node.map_err(|e| SyntaxError::new(e, place))?, place);
        Ok(())
    }

    /// `L['any text']`.
    fn subscript(&mut self, prefix: &str, place: Span) -> Parsed<()> {
        self.next();
        let Kind::Text(name) = self.kind(0) else { return self.expected("a name in quotes") };
        self.next();
        if !self.at_symbol("]") {
            return self.expected("`]`");
        }
        let end = self.next().span.end;
        self.leaf(prefix, name, span(place.start as usize, end as usize))
    }

    /// Goes on after an operand: to the next operand, or out of the expression with its value.
    fn after_operand(&mut self) -> Parsed<Option<NodeId>> {
        loop {
            let token = self.peek();
            match &token.kind {
                Kind::LineEnd if !self.brackets.is_empty() => {
                    self.next();
                }
                Kind::LineEnd | Kind::End => {
                    self.reduce(Binding::Comparison)?;
                    if let Some((bracket, open)) = self.innermost_bracket() {
                        return Err(SyntaxError::new(SyntaxErrorKind::Unclosed { bracket }, open));
                    }
                    return Ok(self.operands.pop().map(|o| o.node));
                }
                Kind::Symbol(")") => self.close(token)?,
                Kind::Symbol(",") => return self.next_argument().map(|()| None),
                Kind::Symbol(symbol) => match INFIX.iter().find(|row| row.1 == *symbol) {
                    Some((name, _, binding)) => return self.infix(name, *binding, token.span).map(|()| None),
                    None => return self.expected("an operator or the end"),
                },
                _ => return self.expected("an operator or the end"),
            }
        }
    }

    fn infix(&mut self, name: &'static str, binding: Binding, place: Span) -> Parsed<()> {
        match binding {
            // To the right: an equal operator waits for this one.
            Binding::Power => self.reduce(Binding::Atom)?,
            Binding::Comparison => {
                self.reduce(Binding::Or)?;
                if matches!(self.pending.last(), Some(Pending::Infix(_, Binding::Comparison))) {
                    return Err(SyntaxError::new(SyntaxErrorKind::ChainedComparison, place));
                }
            }
            _ => self.reduce(binding)?,
        }
        self.next();
        self.pending.push(Pending::Infix(name, binding));
        Ok(())
    }

    /// Applies pending operators that bind at least this tightly.
    fn reduce(&mut self, least: Binding) -> Parsed<()> {
        loop {
            match self.pending.last() {
                Some(Pending::Infix(name, binding)) if *binding >= least => {
                    let name = *name;
                    self.pending.pop();
                    let (b, a) = (self.pop()?, self.pop()?);
                    let place = span(a.span.start as usize, b.span.end as usize);
                    self.apply_symbol(name, &[a.node, b.node], place)?;
                }
                Some(Pending::Prefix(symbol, start)) if Binding::Unary >= least => {
                    let (symbol, start) = (*symbol, *start);
                    self.pending.pop();
                    self.depth -= 1;
                    let a = self.pop()?;
                    let row = PREFIX.into_iter().find(|p| p.1 == symbol);
                    let place = span(start.start as usize, a.span.end as usize);
                    self.apply_symbol(row.map_or(symbol, |p| p.0), &[a.node], place)?;
                }
                _ => return Ok(()),
            }
        }
    }

    fn pop(&mut self) -> Parsed<Operand> {
        match self.operands.pop() {
            Some(operand) => Ok(operand),
            None => self.expected("an operand"),
        }
    }

    /// Applies an operator that is written by its symbol.
    fn apply_symbol(&mut self, name: &str, nodes: &[NodeId], place: Span) -> Parsed<()> {
        self.apply(name, nodes, place)?;
        let is_presence = PRESENCE_SYMBOLS.iter().any(|(operator, ..)| *operator == name);
        if let (true, Some(written)) = (is_presence, self.operands.last()) {
            self.graph.set_by_symbol(written.node);
        }
        Ok(())
    }

    fn apply(&mut self, name: &str, nodes: &[NodeId], place: Span) -> Parsed<()> {
        let operator = self.graph.symbol(name);
        let node = self.graph.apply(operator, nodes).map_err(|e| SyntaxError::new(e, place))?;
        self.push(node, place);
        Ok(())
    }
}
