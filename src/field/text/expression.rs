//! Expressions of the text.
//!
//! ```text
//! or  and  not  comparison  + -  * / // %  unary -  **  postfix [ ]        weakest first
//! ```
//!
//! A number adapts to the element type beside it, and is float64 by itself. `float32(0.1)` is a number of that type.

use crate::field::dimension::DimensionId;
use crate::field::element::{FieldLiteral, dtype_from_name, dtype_name, integer_value};
use crate::field::error::{FieldError, FieldProblem};
use crate::field::expression::{FieldBinary, FieldId, FieldNode, FieldNodeId, FieldReduction, FieldUnary};
use crate::field::text::lexer::Token;
use crate::field::text::parser::{Parsed, Parser};
use cembra_vm::program::instruction::Span;
use cembra_vm::value::{ScalarType, ScalarValue};

/// A value, or a number whose element type is open.
#[derive(Clone, Debug)]
pub(super) enum Operand {
    Node(FieldNodeId),
    Number(String, Span),
}

impl<'t> Parser<'t> {
    /// An expression, a number as this element type.
    pub fn expression_as(&mut self, dtype: ScalarType) -> Parsed<FieldNodeId> {
        let operand = self.expression()?;
        self.fixed(operand, Some(dtype))
    }

    pub fn expression(&mut self) -> Parsed<Operand> {
        self.enter()?;
        let start = self.span();
        let mut left = self.conjunction()?;
        while self.takes_word("or") {
            let right = self.conjunction()?;
            left = self.binary(FieldBinary::Or, left, right, start)?;
        }
        self.leave();
        Ok(left)
    }

    fn conjunction(&mut self) -> Parsed<Operand> {
        let start = self.span();
        let mut left = self.negation()?;
        while self.takes_word("and") {
            let right = self.negation()?;
            left = self.binary(FieldBinary::And, left, right, start)?;
        }
        Ok(left)
    }

    fn negation(&mut self) -> Parsed<Operand> {
        let start = self.span();
        if !self.takes_word("not") {
            return self.comparison();
        }
        self.enter()?;
        let operand = self.negation()?;
        let operand = self.fixed(operand, None)?;
        self.leave();
        Ok(Operand::Node(self.add(FieldNode::Unary(FieldUnary::Not, operand), start)?))
    }

    fn comparison(&mut self) -> Parsed<Operand> {
        let start = self.span();
        let left = self.sum()?;
        let op = match self.peek() {
            Token::Symbol("<") => FieldBinary::Lt,
            Token::Symbol("<=") => FieldBinary::Le,
            Token::Symbol(">") => FieldBinary::Gt,
            Token::Symbol(">=") => FieldBinary::Ge,
            Token::Symbol("==") => FieldBinary::Eq,
            Token::Symbol("!=") => FieldBinary::Ne,
            _ => return Ok(left),
        };
        self.advance();
        let right = self.sum()?;
        self.binary(op, left, right, start)
    }

    fn sum(&mut self) -> Parsed<Operand> {
        let start = self.span();
        let mut left = self.product()?;
        loop {
            let op = match self.peek() {
                Token::Symbol("+") => FieldBinary::Add,
                Token::Symbol("-") => FieldBinary::Sub,
                _ => return Ok(left),
            };
            self.advance();
            let right = self.product()?;
            left = self.binary(op, left, right, start)?;
        }
    }

    fn product(&mut self) -> Parsed<Operand> {
        let start = self.span();
        let mut left = self.signed()?;
        loop {
            let op = match self.peek() {
                Token::Symbol("*") => FieldBinary::Mul,
                Token::Symbol("/") => FieldBinary::Div,
                Token::Symbol("//") => FieldBinary::FloorDiv,
                Token::Symbol("%") => FieldBinary::Mod,
                _ => return Ok(left),
            };
            self.advance();
            let right = self.signed()?;
            left = self.binary(op, left, right, start)?;
        }
    }

    fn signed(&mut self) -> Parsed<Operand> {
        let start = self.span();
        if !self.takes("-") {
            return self.power();
        }
        if let (Token::Number(text) | Token::Name(text @ ("nan" | "inf")), after) =
            (self.peek(), self.peek_after(1))
            && !matches!(after, Token::Symbol("**" | "["))
        {
            self.advance();
            return Ok(Operand::Number(format!("-{text}"), self.since(start)));
        }
        self.enter()?;
        let operand = self.signed()?;
        let operand = self.fixed(operand, None)?;
        self.leave();
        Ok(Operand::Node(self.add(FieldNode::Unary(FieldUnary::Neg, operand), start)?))
    }

    fn power(&mut self) -> Parsed<Operand> {
        let start = self.span();
        let left = self.postfix()?;
        if !self.takes("**") {
            return Ok(left);
        }
        self.enter()?;
        let right = self.signed()?;
        self.leave();
        self.binary(FieldBinary::Pow, left, right, start)
    }

    fn postfix(&mut self) -> Parsed<Operand> {
        let start = self.span();
        let mut operand = self.atom()?;
        while self.peek() == Token::Symbol("[") {
            let node = self.fixed(operand, None)?;
            self.advance();
            operand = Operand::Node(self.index(node, start)?);
            self.expect("]", "behind an index")?;
        }
        Ok(operand)
    }

    /// What stands between index brackets: shifts, one table, or one column.
    fn index(&mut self, node: FieldNodeId, start: Span) -> Parsed<FieldNodeId> {
        if self.peek_after(1) == Token::Symbol("=") {
            let local = self.dimension()?;
            self.advance();
            let column = self.column()?;
            return self.add(FieldNode::Column(node, local, column), start);
        }
        if let Token::Name(name) | Token::Quoted(name) = self.peek()
            && let Some(table) = self.program.table(name)
        {
            self.advance();
            if !self.takes("[") {
                return self.add(FieldNode::ShiftAll(node, table), start);
            }
            let column = self.column()?;
            self.expect("]", "behind a column")?;
            return self.add(FieldNode::Gather(node, table, column), start);
        }
        let mut offsets: Vec<(DimensionId, i64)> = Vec::new();
        let mut named: Vec<DimensionId> = Vec::new();
        loop {
            let span = self.span();
            let dimension = self.dimension()?;
            if named.contains(&dimension) {
                let what = format!("{} stands twice in an index", self.program.dim_name(dimension));
                return Err(FieldError::at(FieldProblem::Syntax { what }, span));
            }
            named.push(dimension);
            let sign = match self.peek() {
                Token::Symbol("+") => 1,
                Token::Symbol("-") => -1,
                _ => 0,
            };
            if sign != 0 {
                self.advance();
                if let Token::Name(name) | Token::Quoted(name) = self.peek() {
                    let what = format!(
                        "a shift is a number, and `{name}` is none; a table leads to points that are known later"
                    );
                    return Err(FieldError::at(FieldProblem::Syntax { what }, self.span()));
                }
                offsets.push((dimension, sign * self.integer()?));
            }
            if !self.takes(",") {
                break;
            }
        }
        match offsets.is_empty() {
            true => Ok(node),
            false => self.add(FieldNode::Shift(node, offsets), start),
        }
    }

    /// The number of a column.
    fn column(&mut self) -> Parsed<usize> {
        let span = self.span();
        usize::try_from(self.integer()?).map_err(|_| {
            let what = "a column of a table is 0 or more".to_owned();
            FieldError::at(FieldProblem::Syntax { what }, span)
        })
    }

    fn atom(&mut self) -> Parsed<Operand> {
        let start = self.span();
        match (self.peek(), self.peek_after(1)) {
            (Token::Symbol("("), _) => {
                self.advance();
                let operand = self.expression()?;
                self.expect(")", "behind an expression")?;
                Ok(operand)
            }
            (Token::Number(text), _) => {
                self.advance();
                Ok(Operand::Number(text.to_owned(), start))
            }
            (Token::Name(name), Token::Symbol("(")) => self.call(name),
            (Token::Name("true" | "false"), _) => {
                let value = self.advance() == Token::Name("true");
                self.literal(ScalarValue::Boolean(value), start)
            }
            (Token::Name(word @ ("nan" | "inf")), _) => {
                self.advance();
                Ok(Operand::Number(word.to_owned(), start))
            }
            (Token::Name(name) | Token::Quoted(name), _) => {
                self.advance();
                Ok(Operand::Node(self.reference(name, start)?))
            }
            _ => Err(self.wrong("a value is expected")),
        }
    }

    fn literal(&mut self, value: ScalarValue, start: Span) -> Parsed<Operand> {
        Ok(Operand::Node(self.add(FieldNode::Literal(value.into()), start)?))
    }

    fn reference(&mut self, name: &str, span: Span) -> Parsed<FieldNodeId> {
        if let Some(node) = self.scan_scope.get(name) {
            return Ok(*node);
        }
        if let Some(id) = self.program.field(name) {
            self.reads.push(id);
            return self.add(FieldNode::Field(id), span);
        }
        if let Some(id) = self.program.scalar(name) {
            return self.add(FieldNode::Scalar(id), span);
        }
        let Some(definition) = self.definitions.get(name) else {
            if self.program.dimension(name).is_some() {
                let what = format!(
                    "`{name}` is a dimension and no value; concat_where({name} == 1, a, b) chooses by the point"
                );
                return Err(FieldError::at(FieldProblem::Syntax { what }, span));
            }
            return Err(self.unknown("value", name, span));
        };
        let written = |field: &FieldId| self.written_at.get(field).is_some_and(|at| *at > definition.made_at);
        if let Some(field) = definition.reads.iter().find(|field| written(field)) {
            let field = &self.program.fields[field.0].name;
            let what =
                format!("`{name}` was defined from `{field}`, which has been written since; define it again");
            return Err(FieldError::at(FieldProblem::Syntax { what }, span));
        }
        self.reads.extend(&definition.reads);
        Ok(definition.node)
    }

    /// A function, a cast or one of the operations that are written like functions.
    fn call(&mut self, name: &str) -> Parsed<Operand> {
        let start = self.span();
        self.advance();
        self.expect("(", "behind a function")?;
        let node = match name {
            "concat_where" => {
                let condition = self.condition()?;
                self.expect(",", "behind the condition")?;
                let [a, b] = self.arguments()?;
                let (a, b) = self.alike(a, b)?;
                FieldNode::ConcatWhere(condition, a, b)
            }
            "where" => {
                let [condition, a, b] = self.arguments()?;
                let condition = self.fixed(condition, None)?;
                let (a, b) = self.alike(a, b)?;
                FieldNode::Where(condition, a, b)
            }
            "broadcast" => {
                let [value] = self.arguments()?;
                let value = self.fixed(value, None)?;
                let mut dims = Vec::new();
                while self.takes(",") {
                    dims.push(self.dimension()?);
                }
                FieldNode::Broadcast(value, dims)
            }
            _ if FieldReduction::from_name(name).is_some() => {
                let [value] = self.arguments()?;
                let value = self.fixed(value, None)?;
                self.expect(",", "before the table")?;
                let reduction = FieldReduction::from_name(name).expect("it was found");
                FieldNode::Reduce(reduction, value, self.dimension()?)
            }
            _ if dtype_from_name(name).is_some() => {
                let dtype = dtype_from_name(name).expect("it was found");
                let [value] = self.arguments()?;
                let node = match value {
                    Operand::Node(node) => FieldNode::Cast(node, dtype),
                    Operand::Number(text, span) => FieldNode::Literal(number_of(&text, dtype, span)?),
                };
                self.expect(")", "behind the arguments")?;
                return Ok(Operand::Node(self.add(node, start)?));
            }
            "pow" | "min" | "max" | "fmod" | "xor" => {
                let op = FieldBinary::from_name(name).expect("these are functions of two operands");
                let [a, b] = self.arguments()?;
                let (a, b) = self.alike(a, b)?;
                FieldNode::Binary(op, a, b)
            }
            _ if unary_function(name).is_some() => {
                let op = unary_function(name).expect("it was found");
                let [a] = self.arguments()?;
                FieldNode::Unary(op, self.fixed(a, None)?)
            }
            _ if self.program.field(name).is_some() || self.definitions.contains_key(name) => {
                let what =
                    format!("`{name}` is no function; the values beside it are `{name}[I+1]` and the like");
                return Err(FieldError::at(FieldProblem::Syntax { what }, start));
            }
            _ => {
                let kind = name.trim_end_matches(|digit: char| digit.is_ascii_digit());
                let is_type = kind.len() < name.len() && ["int", "uint", "float"].contains(&kind);
                let role = if is_type { "element type" } else { "function" };
                return Err(self.unknown(role, name, start));
            }
        };
        self.expect(")", "behind the arguments")?;
        Ok(Operand::Node(self.add(node, start)?))
    }

    /// So many expressions, separated by commas.
    fn arguments<const N: usize>(&mut self) -> Parsed<[Operand; N]> {
        let mut arguments = Vec::with_capacity(N);
        for number in 0..N {
            if number > 0 {
                self.expect(",", "between two arguments")?;
            }
            arguments.push(self.expression()?);
        }
        Ok(arguments.try_into().expect("as many as were read"))
    }

    fn binary(&mut self, op: FieldBinary, left: Operand, right: Operand, start: Span) -> Parsed<Operand> {
        let (left, right) = self.alike(left, right)?;
        Ok(Operand::Node(self.add(FieldNode::Binary(op, left, right), start)?))
    }

    /// Two operands, a number in the element type of the other one.
    fn alike(&mut self, left: Operand, right: Operand) -> Parsed<(FieldNodeId, FieldNodeId)> {
        let of = |parser: &Self, operand: &Operand| match operand {
            Operand::Node(node) => parser.dtype(*node),
            Operand::Number(..) => None,
        };
        let (of_left, of_right) = (of(self, &left), of(self, &right));
        Ok((self.fixed(left, of_right)?, self.fixed(right, of_left)?))
    }

    /// A number as a value of an element type: of this one if there is one, else of float64.
    pub fn fixed(&mut self, operand: Operand, dtype: Option<ScalarType>) -> Parsed<FieldNodeId> {
        let (text, span) = match operand {
            Operand::Node(node) => return Ok(node),
            Operand::Number(text, span) => (text, span),
        };
        // A truth value beside a number is an error of types, which the check reports.
        let dtype = dtype.filter(|dtype| *dtype != ScalarType::Boolean).unwrap_or(ScalarType::Float64);
        let value = number_of(&text, dtype, span)?;
        let id = self.program.nodes.add(FieldNode::Literal(value), span);
        let id = id.map_err(|problem| FieldError::at(problem, span))?;
        let _ = self.types.extend(&self.program);
        Ok(id)
    }
}

/// A function of one operand that is written with brackets.
fn unary_function(name: &str) -> Option<FieldUnary> {
    FieldUnary::from_name(name).filter(|op| !matches!(op, FieldUnary::Neg | FieldUnary::Not))
}

/// A number as the machine holds it for an element type; none if there is none, if it is too large, or if nothing of it is left.
pub(crate) fn number(text: &str, dtype: ScalarType) -> Option<ScalarValue> {
    let mantissa = text.split(['e', 'E']).next().unwrap_or_default();
    let has_digits = mantissa.contains(|c: char| ('1'..='9').contains(&c));
    let fits = |value: f64| match has_digits {
        true => value.is_finite() && value != 0.0,
        false => true,
    };
    Some(match dtype {
        ScalarType::Float32 => {
            ScalarValue::Float32(text.parse().ok().filter(|value: &f32| fits(f64::from(*value)))?)
        }
        ScalarType::Float64 => ScalarValue::Float64(text.parse().ok().filter(|value| fits(*value))?),
        integer => integer_value(text.parse().ok()?, integer)?,
    })
}

/// A number as a literal of an element type.
fn number_of(text: &str, dtype: ScalarType, span: Span) -> Parsed<FieldLiteral> {
    let literal = number(text, dtype).and_then(|value| FieldLiteral::new(value, dtype));
    literal.ok_or_else(|| no_number(text, dtype, span))
}

pub(super) fn no_number(text: &str, dtype: ScalarType, span: Span) -> FieldError {
    let what = format!("{text} is no {}", dtype_name(dtype));
    FieldError::at(FieldProblem::Syntax { what }, span)
}
