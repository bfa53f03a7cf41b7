//! Expressions: operands and operators, by precedence, with a stack of its own.
//!
//! ```text
//! -a ** 2 + b        operand   waiting
//!                    a         - (13)
//!                    2         - (13), a ** (14)
//!   at `+` (11):     (-(a**2)) applied, then waits:  (…) + (11)
//! ```

use crate::python::block::has_rest;
use crate::python::cursor::{Failed, Operand, Parser};
use crate::python::error::{Outside, PythonProblem};
use crate::python::literal::{NumberLiteral, large, number, string};
use crate::python::operators::{BinaryOp, BoolOp, CompareOp, UnaryOp};
use crate::python::pending::{COMPARE, Extent, IF_ELSE, LambdaDraft, OR, POWER, Pending, Stage, Stop};
use crate::python::token::PyToken;
use crate::python::tree::{ExprKind, PyParameter};
use cembra_vm::program::instruction::Span;

/// What comes next.
pub(super) enum Next {
    /// An operand is complete; an operator or an end follows.
    Operand(Operand),
    /// An operand must follow.
    Expect,
    /// The expression is complete.
    Done(Operand),
}

impl Operand {
    pub(super) fn extent(self) -> Extent {
        (self.id, self.start, self.end)
    }
}

impl Parser<'_> {
    /// Reads an expression.
    pub(super) fn expression(&mut self, stop: Stop) -> Result<Operand, Failed> {
        let depth = (self.pending.len(), self.items.len(), self.ops.len(), self.keywords.len());
        let start = self.span().start;
        self.pending.push(Pending::Base { stop, items: self.items.len(), start, has_comma: false });
        let result = self.expression_loop();
        if result.is_err() {
            self.items.truncate(depth.1);
            self.ops.truncate(depth.2);
            self.keywords.truncate(depth.3);
        }
        self.pending.truncate(depth.0);
        result
    }

    fn expression_loop(&mut self) -> Result<Operand, Failed> {
        let mut next = Next::Expect;
        loop {
            next = match next {
                Next::Expect => self.operand()?,
                Next::Operand(operand) => self.after(operand)?,
                Next::Done(operand) => return Ok(operand),
            };
        }
    }

    fn top(&self) -> &Pending {
        self.pending.last().expect("the expression began with a base")
    }

    /// Reads an operand or what stands before one.
    fn operand(&mut self) -> Result<Next, Failed> {
        let (token, span) = (self.peek(), self.span());
        let kind = match token {
            PyToken::Name => {
                self.advance();
                let name = self.name_id(span);
                return Ok(Next::Operand(self.add(ExprKind::Name(name), span.start, span.end)));
            }
            PyToken::Number => return Ok(Next::Operand(self.number_operand())),
            PyToken::String => return Ok(Next::Operand(self.string_operand())),
            PyToken::True => ExprKind::Bool(true),
            PyToken::False => ExprKind::Bool(false),
            PyToken::None => ExprKind::None,
            PyToken::Minus => return Ok(self.prefix(UnaryOp::Neg)),
            PyToken::Plus => return Ok(self.prefix(UnaryOp::Pos)),
            PyToken::Tilde => return Ok(self.prefix(UnaryOp::Invert)),
            PyToken::Not if self.top().binding() <= 5 => return Ok(self.prefix(UnaryOp::Not)),
            PyToken::Lambda if self.top().binding() <= IF_ELSE => return self.lambda(),
            PyToken::ParenOpen | PyToken::SquareOpen | PyToken::BraceOpen => return self.open_bracket(token),
            PyToken::Ellipsis => {
                self.outside(Outside::Ellipsis, span);
                ExprKind::Refused
            }
            PyToken::Broken => ExprKind::Refused,
            PyToken::Star | PyToken::DoubleStar => return Ok(self.unpack()),
            PyToken::Await => return Ok(self.refuse_prefix(Outside::Async)),
            PyToken::Yield => return Ok(self.yield_operand()),
            _ => return self.operand_left_out(),
        };
        self.advance();
        Ok(Next::Operand(self.add(kind, span.start, span.end)))
    }

    /// Reports a word before an operand and goes on with the operand.
    fn refuse_prefix(&mut self, outside: Outside) -> Next {
        let span = self.advance().span();
        self.outside(outside, span);
        Next::Expect
    }

    /// `*a`: an argument of a call; elsewhere reported, and refused with its operand.
    fn unpack(&mut self) -> Next {
        let (token, span) = (self.peek(), self.advance().span());
        if token == PyToken::Star && matches!(self.top(), Pending::Call { .. }) {
            self.pending.push(Pending::Starred { start: span.start });
            return Next::Expect;
        }
        self.outside(Outside::Starred, span);
        if let Some(Pending::Brace { is_refused, .. }) = self.pending.last_mut() {
            *is_refused = true;
        }
        self.pending.push(Pending::Unpack { start: span.start });
        Next::Expect
    }

    fn yield_operand(&mut self) -> Next {
        let span = self.advance().span();
        self.outside(Outside::Yield, span);
        self.take(PyToken::From);
        match begins_operand(self.peek()) {
            true => Next::Expect,
            false => Next::Operand(self.refused(span.start, span.end)),
        }
    }

    fn number_operand(&mut self) -> Operand {
        let span = self.advance().span();
        let text = self.slice(span);
        let kind = match number(text) {
            Ok(NumberLiteral::Int(value)) => ExprKind::Int(value),
            Ok(NumberLiteral::Float(value)) => ExprKind::Float(value),
            Ok(NumberLiteral::MinMagnitude) => return self.min_operand(span.start, span.end),
            Err(problem) => {
                self.error(problem, span);
                ExprKind::Refused
            }
        };
        self.add(kind, span.start, span.end)
    }

    /// 2^63 is a number only behind a minus sign that nothing binds stronger than.
    fn min_operand(&mut self, start: u32, end: u32) -> Operand {
        let binds_stronger = matches!(
            self.peek(),
            PyToken::DoubleStar | PyToken::Dot | PyToken::ParenOpen | PyToken::SquareOpen
        );
        if let (Pending::Prefix { op: UnaryOp::Neg, start }, false) = (self.top(), binds_stronger) {
            let start = *start;
            self.pending.pop();
            return self.add(ExprKind::Int(i64::MIN), start, end);
        }
        let span = Span { start, end };
        self.error(large(self.slice(span)), span);
        self.refused(start, end)
    }

    /// Strings side by side are one.
    fn string_operand(&mut self) -> Operand {
        let start = self.span().start;
        let (mut text, mut end, mut is_refused) = (String::new(), start, false);
        while self.peek() == PyToken::String {
            let span = self.advance().span();
            end = span.end;
            let refusal = match string(self.slice(span), &mut text) {
                Ok(prefix) if prefix.is_formatted => Some(PythonProblem::Outside(Outside::FormattedString)),
                Ok(prefix) if prefix.is_bytes => Some(PythonProblem::Outside(Outside::Bytes)),
                Ok(_) => None,
                Err(problem) => Some(problem),
            };
            if let Some(problem) = refusal {
                is_refused = true;
                self.error(problem, span);
            }
        }
        if is_refused {
            return self.refused(start, end);
        }
        let text = self.intern(&text);
        self.add(ExprKind::Text(text), start, end)
    }

    fn prefix(&mut self, op: UnaryOp) -> Next {
        let start = self.advance().start;
        self.pending.push(Pending::Prefix { op, start });
        Next::Expect
    }

    fn lambda(&mut self) -> Result<Next, Failed> {
        let start = self.advance().start;
        self.lambda_parameters(LambdaDraft { parameters: Vec::new(), start })
    }

    /// Reads parameters up to the first default or the colon.
    pub(super) fn lambda_parameters(&mut self, mut draft: LambdaDraft) -> Result<Next, Failed> {
        loop {
            let mut is_rest = false;
            match self.peek() {
                PyToken::Colon => {
                    self.advance();
                    let parameters = self.parameter_list(draft.parameters);
                    self.pending.push(Pending::Lambda { parameters, start: draft.start });
                    return Ok(Next::Expect);
                }
                PyToken::Star if self.peek_at(1).token == PyToken::Name && !has_rest(&draft.parameters) => {
                    self.advance();
                    is_rest = true;
                }
                PyToken::Star | PyToken::DoubleStar | PyToken::Slash => {
                    let span = self.advance().span();
                    self.outside(Outside::ParameterKinds, span);
                    if self.peek() == PyToken::Comma {
                        self.advance();
                    }
                    continue;
                }
                _ => {}
            }
            let (name, span) = self.name("a parameter or `:`")?;
            if (is_rest && self.peek() == PyToken::Equal) || has_rest(&draft.parameters) {
                self.outside(Outside::ParameterKinds, span);
            }
            draft.parameters.push(PyParameter { name, annotation: None, default: None, span, is_rest });
            match self.peek() {
                PyToken::Equal => {
                    self.advance();
                    self.pending.push(Pending::LambdaDefault(Box::new(draft)));
                    return Ok(Next::Expect);
                }
                PyToken::Comma => {
                    self.advance();
                }
                PyToken::Colon => {}
                _ => return self.expected("`,` or `:`"),
            }
        }
    }

    /// Reads what stands behind an operand.
    fn after(&mut self, operand: Operand) -> Result<Next, Failed> {
        let token = self.peek();
        if matches!(self.top(), Pending::Base { stop: Stop::Pattern, .. }) {
            return Ok(Next::Done(operand));
        }
        if let Some(op) = binary_op(token) {
            return Ok(self.binary(op, operand));
        }
        match token {
            PyToken::ParenOpen | PyToken::SquareOpen => self.open_suffix(token, operand),
            PyToken::Dot => self.attribute(operand),
            PyToken::And => Ok(self.logic(BoolOp::And, operand)),
            PyToken::Or => Ok(self.logic(BoolOp::Or, operand)),
            PyToken::If => self.if_word(operand),
            PyToken::Else => self.else_word(operand),
            PyToken::ColonEqual => self.named(operand),
            PyToken::Equal if self.is_keyword(operand) => Ok(self.begin_keyword(operand)),
            _ => match self.compare_op() {
                Some((op, length)) => self.compare(op, length, operand),
                None => self.end_of_part(operand),
            },
        }
    }

    fn attribute(&mut self, value: Operand) -> Result<Next, Failed> {
        self.advance();
        let (name, span) = self.name("the name of an attribute")?;
        Ok(Next::Operand(self.add(ExprKind::Attribute(value.id, name), value.start, span.end)))
    }

    fn binary(&mut self, op: BinaryOp, operand: Operand) -> Next {
        let span = self.advance().span();
        if op == BinaryOp::MatMul {
            self.outside(Outside::MatrixProduct, span);
        }
        // Powers group from the right.
        let left = self.reduce(operand, if op == BinaryOp::Pow { POWER + 1 } else { op.binding() });
        self.pending.push(Pending::Binary { op, left: left.extent() });
        Next::Expect
    }

    fn logic(&mut self, op: BoolOp, operand: Operand) -> Next {
        self.advance();
        let operand = self.reduce(operand, op.binding() + 1);
        match self.top() {
            Pending::Logic { op: waiting, .. } if *waiting == op => {}
            _ => {
                self.pending.push(Pending::Logic { op, items: self.items.len(), start: operand.start });
            }
        }
        self.items.push(operand.id);
        Next::Expect
    }

    /// The comparison that comes next and the number of its tokens.
    fn compare_op(&self) -> Option<(CompareOp, usize)> {
        let second = self.peek_at(1).token;
        Some(match self.peek() {
            PyToken::EqualEqual => (CompareOp::Equal, 1),
            PyToken::NotEqual => (CompareOp::NotEqual, 1),
            PyToken::Less => (CompareOp::Less, 1),
            PyToken::LessEqual => (CompareOp::LessEqual, 1),
            PyToken::Greater => (CompareOp::Greater, 1),
            PyToken::GreaterEqual => (CompareOp::GreaterEqual, 1),
            PyToken::In => (CompareOp::In, 1),
            PyToken::Not if second == PyToken::In => (CompareOp::NotIn, 2),
            PyToken::Is if second == PyToken::Not => (CompareOp::IsNot, 2),
            PyToken::Is => (CompareOp::Is, 1),
            _ => return None,
        })
    }

    fn compare(&mut self, op: CompareOp, length: usize, operand: Operand) -> Result<Next, Failed> {
        let operand = self.reduce(operand, COMPARE + 1);
        let ends_target = op == CompareOp::In
            && match self.top() {
                Pending::Base { stop, .. } => *stop == Stop::Target,
                Pending::Comprehension(draft) => draft.stage == Stage::Target,
                _ => false,
            };
        if ends_target {
            return self.end_of_part(operand);
        }
        (0..length).for_each(|_| {
            self.advance();
        });
        if !matches!(self.top(), Pending::Compare { .. }) {
            let (items, ops) = (self.items.len(), self.ops.len());
            self.pending.push(Pending::Compare { items, ops, start: operand.start });
        }
        self.items.push(operand.id);
        self.ops.push(op);
        Ok(Next::Expect)
    }

    /// `if` behind an operand: a conditional expression, or a condition of a comprehension.
    fn if_word(&mut self, operand: Operand) -> Result<Next, Failed> {
        let operand = self.reduce(operand, OR);
        match self.top() {
            Pending::Comprehension(_) => self.end_of_part(operand),
            Pending::IfTest { .. } => self.expected("`else`"),
            Pending::Base { stop: Stop::Target, .. } => self.expected("`in`"),
            _ => {
                self.advance();
                self.pending.push(Pending::IfTest { body: operand.extent() });
                Ok(Next::Expect)
            }
        }
    }

    fn else_word(&mut self, operand: Operand) -> Result<Next, Failed> {
        let operand = self.reduce(operand, OR);
        let Pending::IfTest { body } = *self.top() else { return self.end_of_part(operand) };
        self.advance();
        self.pending.pop();
        self.pending.push(Pending::IfElse { body, test: operand.id });
        Ok(Next::Expect)
    }

    fn named(&mut self, operand: Operand) -> Result<Next, Failed> {
        let is_bare = self.is_bare_name(operand);
        let may_stand = match self.top() {
            Pending::Base { stop, .. } => *stop == Stop::Test,
            Pending::Comprehension(draft) => draft.stage == Stage::Condition,
            other => other.is_bracket(),
        };
        if !may_stand {
            return self.expected("an operator or the end of the expression");
        }
        if !is_bare {
            let span = self.tree.expr(operand.id).span;
            let what = self.describe(operand.id);
            self.error(PythonProblem::Target { what }, span);
            return Err(Failed);
        }
        self.advance();
        self.pending.push(Pending::Named { target: operand.extent() });
        Ok(Next::Expect)
    }

    /// True for a name without brackets.
    pub(super) fn is_bare_name(&self, operand: Operand) -> bool {
        let expr = self.tree.expr(operand.id);
        matches!(expr.kind, ExprKind::Name(_))
            && expr.span.start == operand.start
            && expr.span.end == operand.end
    }

    /// Applies what waits and binds at least as strongly.
    pub(super) fn reduce(&mut self, mut operand: Operand, binding: u8) -> Operand {
        while self.top().binding() >= binding {
            let Some(pending) = self.pending.pop() else { break };
            operand = self.apply(pending, operand);
        }
        operand
    }

    fn apply(&mut self, pending: Pending, operand: Operand) -> Operand {
        let end = operand.end;
        match pending {
            Pending::Binary { op, left } => self.add(ExprKind::Binary(op, left.0, operand.id), left.1, end),
            Pending::Prefix { op, start } => self.add(ExprKind::Unary(op, operand.id), start, end),
            Pending::Logic { op, items, start } => {
                self.items.push(operand.id);
                let operands = self.list_from(items);
                self.add(ExprKind::Logic(op, operands), start, end)
            }
            Pending::Compare { items, ops, start } => {
                self.items.push(operand.id);
                let operands = self.list_from(items);
                let ops = self.ops_from(ops);
                self.add(ExprKind::Compare { operands, ops }, start, end)
            }
            Pending::IfElse { body, test } => {
                let kind = ExprKind::IfElse { test, body: body.0, orelse: operand.id };
                self.add(kind, body.1, end)
            }
            Pending::Lambda { parameters, start } => {
                self.add(ExprKind::Lambda { parameters, body: operand.id }, start, end)
            }
            Pending::Named { target } => self.add(ExprKind::Named(target.0, operand.id), target.1, end),
            Pending::Unpack { start } => self.refused(start, end),
            Pending::Starred { start } => self.add(ExprKind::Starred(operand.id), start, end),
            _ => operand,
        }
    }
}

/// The operator of two operands that a token stands for.
pub(super) fn binary_op(token: PyToken) -> Option<BinaryOp> {
    Some(match token {
        PyToken::Plus => BinaryOp::Add,
        PyToken::Minus => BinaryOp::Sub,
        PyToken::Star => BinaryOp::Mul,
        PyToken::Slash => BinaryOp::Div,
        PyToken::DoubleSlash => BinaryOp::FloorDiv,
        PyToken::Percent => BinaryOp::Mod,
        PyToken::DoubleStar => BinaryOp::Pow,
        PyToken::ShiftLeft => BinaryOp::ShiftLeft,
        PyToken::ShiftRight => BinaryOp::ShiftRight,
        PyToken::Ampersand => BinaryOp::BitAnd,
        PyToken::Pipe => BinaryOp::BitOr,
        PyToken::Caret => BinaryOp::BitXor,
        PyToken::At => BinaryOp::MatMul,
        _ => return None,
    })
}

/// True for tokens that an operand begins with.
pub(super) fn begins_operand(token: PyToken) -> bool {
    matches!(
        token,
        PyToken::Name
            | PyToken::Number
            | PyToken::String
            | PyToken::True
            | PyToken::False
            | PyToken::None
            | PyToken::ParenOpen
            | PyToken::SquareOpen
            | PyToken::BraceOpen
            | PyToken::Minus
            | PyToken::Plus
            | PyToken::Tilde
            | PyToken::Not
            | PyToken::Lambda
            | PyToken::Ellipsis
            | PyToken::Star
            | PyToken::DoubleStar
            | PyToken::Await
            | PyToken::Yield
            | PyToken::Broken
    )
}
