//! Expressions of parameters: a small part of Python's arithmetic, read to postfix form.
//!
//! ```text
//! 3/4*GLP_01_A   ->   3  4  /  GLP_01_A  *
//! ```
//!
//! `+ - * / // % **`, signs, brackets, calls of the functions of [`Operation`], `pi` and `e`. Arithmetic is
//! that of IEEE 754 everywhere: a division by zero gives an infinity, a negative base with a
//! fractional power NaN. The postfix form is what plans pack, so nothing walks a tree.

use crate::model::arithmetic::Operation;
use cembra_vm::value::number::is_in_range;
use std::iter::Peekable;
use std::ops::Range;
use std::str::CharIndices;

/// Characters an expression may have.
pub const LENGTH_LIMIT: usize = 10_000;

/// Levels of brackets, signs and powers an expression may have.
const NESTING_LIMIT: usize = 200;

/// A step of the postfix form.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Instruction {
    /// Pushes a number.
    Constant(f64),
    /// Pushes the value of a name, by its index in [`Expression::names`].
    Reference(usize),
    /// Replaces its operands by its result.
    Apply(Operation),
}

/// An expression that has been read.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    text: String,
    instructions: Vec<Instruction>,
    names: Vec<String>,
    /// Where each name stands in the text.
    uses: Vec<(Range<usize>, usize)>,
    truth_values: bool,
}

/// Why a text is no expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpressionProblem {
    /// Character from 1.
    pub at: usize,
    /// What is wrong there.
    pub problem: String,
}

impl Expression {
    /// Reads an expression.
    ///
    /// # Errors
    /// The text is not of the language, or beyond its limits.
    pub fn read(text: &str) -> Result<Expression, ExpressionProblem> {
        if text.len() > LENGTH_LIMIT {
            let problem = format!("limit expression-text: more than {LENGTH_LIMIT} characters");
            return Err(ExpressionProblem { at: 1, problem });
        }
        let empty = Expression {
            text: text.to_owned(),
            instructions: Vec::new(),
            names: Vec::new(),
            uses: Vec::new(),
            truth_values: false,
        };
        let mut reader = Reader { text, tokens: tokens(text)?.into_iter().peekable(), made: empty, depth: 0 };
        reader.sum()?;
        match reader.tokens.next() {
            None => Ok(reader.made),
            Some(token) => Err(reader.unexpected(&token)),
        }
    }

    /// As it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The postfix form.
    pub fn instructions(&self) -> &[Instruction] {
        &self.instructions
    }

    /// Names it refers to, each once, in order of appearance.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// True if it has `True` or `False` in it, which count as 1 and 0.
    pub fn has_truth_values(&self) -> bool {
        self.truth_values
    }

    /// The same expression of other names; `None` keeps a name.
    pub fn renamed(&self, rename: impl Fn(&str) -> Option<String>) -> Expression {
        let mut renamed = self.clone();
        renamed.names = self.names.iter().map(|name| rename(name).unwrap_or_else(|| name.clone())).collect();
        (renamed.text, renamed.uses) = (String::new(), Vec::new());
        let mut end = 0;
        for (range, name) in &self.uses {
            renamed.text.push_str(&self.text[end..range.start]);
            let start = renamed.text.len();
            renamed.text.push_str(&renamed.names[*name]);
            renamed.uses.push((start..renamed.text.len(), *name));
            end = range.end;
        }
        renamed.text.push_str(&self.text[end..]);
        renamed
    }

    /// The value, given the values of names by their index.
    pub fn evaluate(&self, value: impl Fn(usize) -> f64) -> f64 {
        let mut stack: Vec<f64> = Vec::new();
        for instruction in &self.instructions {
            let pushed = match *instruction {
                Instruction::Constant(number) => number,
                Instruction::Reference(name) => value(name),
                Instruction::Apply(operation) => {
                    let y = stack.pop().expect("the reader pushes operands first");
                    match operation.arity() {
                        1 => operation.apply(y, y),
                        _ => operation.apply(stack.pop().expect("the reader pushes operands first"), y),
                    }
                }
            };
            stack.push(pushed);
        }
        stack.pop().expect("an expression has a value")
    }
}

#[derive(Clone, Debug, PartialEq)]
enum TokenKind {
    Number(f64),
    Name,
    Symbol(&'static str),
}

#[derive(Clone, Debug)]
struct Token {
    kind: TokenKind,
    range: Range<usize>,
}

/// Longer ones first.
const SYMBOLS: [&str; 10] = ["**", "//", "+", "-", "*", "/", "%", "(", ")", ","];

fn tokens(text: &str) -> Result<Vec<Token>, ExpressionProblem> {
    let mut tokens = Vec::new();
    let mut rest = text.char_indices().peekable();
    while let Some(&(start, first)) = rest.peek() {
        if first.is_whitespace() {
            rest.next();
            continue;
        }
        let length = match first {
            '0'..='9' | '.' => number_length(&text[start..]),
            c if c.is_alphabetic() || c == '_' => {
                text[start..].find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(text.len() - start)
            }
            _ => SYMBOLS.iter().find(|s| text[start..].starts_with(**s)).map_or(0, |s| s.len()),
        };
        let range = start..start + length;
        let problem = |problem: String| ExpressionProblem { at: character(text, start), problem };
        let kind = match first {
            _ if length == 0 => {
                return Err(problem(format!("unexpected character '{}'", first.escape_debug())));
            }
            '0'..='9' | '.' => {
                let digits = &text[range.clone()];
                let number = digits.parse().map_err(|_| problem(format!("malformed number {digits}")))?;
                if !is_in_range(digits, number) {
                    return Err(problem(format!("the number {digits} does not fit FLOAT64")));
                }
                TokenKind::Number(number)
            }
            c if c.is_alphabetic() || c == '_' => TokenKind::Name,
            _ => TokenKind::Symbol(
                SYMBOLS.iter().find(|s| **s == &text[range.clone()]).expect("it was found above"),
            ),
        };
        skip(&mut rest, range.end);
        tokens.push(Token { kind, range });
    }
    Ok(tokens)
}

fn skip(rest: &mut Peekable<CharIndices<'_>>, end: usize) {
    while rest.next_if(|(at, _)| *at < end).is_some() {}
}

/// Bytes of the number that a text begins with: digits, point, exponent.
fn number_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits = |from: usize| bytes[from..].iter().take_while(|b| b.is_ascii_digit()).count();
    let mut length = digits(0);
    if bytes.get(length) == Some(&b'.') {
        length += 1 + digits(length + 1);
    }
    if matches!(bytes.get(length), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(length + 1), Some(b'+' | b'-')));
        let exponent = digits((length + 1 + sign).min(bytes.len()));
        if exponent > 0 {
            length += 1 + sign + exponent;
        }
    }
    length
}

fn character(text: &str, byte: usize) -> usize {
    text[..byte].chars().count() + 1
}

/// Recursive descent in the order of Python's precedence: sums, products, signs, powers, atoms.
struct Reader<'t> {
    text: &'t str,
    tokens: Peekable<std::vec::IntoIter<Token>>,
    made: Expression,
    depth: usize,
}

impl Reader<'_> {
    fn unexpected(&self, token: &Token) -> ExpressionProblem {
        let problem = format!("unexpected `{}`", &self.text[token.range.clone()]);
        ExpressionProblem { at: character(self.text, token.range.start), problem }
    }

    fn at_end(&self, problem: String) -> ExpressionProblem {
        ExpressionProblem { at: character(self.text, self.text.len()), problem }
    }

    fn take(&mut self, symbols: &[&str]) -> Option<&'static str> {
        let token =
            self.tokens.next_if(|t| matches!(t.kind, TokenKind::Symbol(s) if symbols.contains(&s)))?;
        match token.kind {
            TokenKind::Symbol(symbol) => Some(symbol),
            _ => None,
        }
    }

    fn require(&mut self, symbol: &str) -> Result<(), ExpressionProblem> {
        match (self.take(&[symbol]), self.tokens.peek().cloned()) {
            (Some(_), _) => Ok(()),
            (None, Some(token)) => Err(self.unexpected(&token)),
            (None, None) => Err(self.at_end(format!("`{symbol}` is missing"))),
        }
    }

    fn apply(&mut self, operation: Operation) {
        self.made.instructions.push(Instruction::Apply(operation));
    }

    fn sum(&mut self) -> Result<(), ExpressionProblem> {
        self.product()?;
        while let Some(symbol) = self.take(&["+", "-"]) {
            self.product()?;
            self.apply(if symbol == "+" { Operation::Add } else { Operation::Subtract });
        }
        Ok(())
    }

    fn product(&mut self) -> Result<(), ExpressionProblem> {
        self.sign()?;
        while let Some(symbol) = self.take(&["*", "/", "//", "%"]) {
            self.sign()?;
            self.apply(match symbol {
                "*" => Operation::Multiply,
                "/" => Operation::Divide,
                "//" => Operation::FloorDivide,
                _ => Operation::Modulo,
            });
        }
        Ok(())
    }

    /// Signs bind weaker than powers: `-x**2` is `-(x**2)`.
    fn sign(&mut self) -> Result<(), ExpressionProblem> {
        self.depth += 1;
        if self.depth > NESTING_LIMIT {
            return Err(self.at_end(format!("limit expression-nesting: more than {NESTING_LIMIT} levels")));
        }
        match self.take(&["+", "-"]) {
            Some(symbol) => {
                self.sign()?;
                if symbol == "-" {
                    self.apply(Operation::Negate);
                }
            }
            None => {
                self.atom()?;
                if self.take(&["**"]).is_some() {
                    self.sign()?;
                    self.apply(Operation::Power);
                }
            }
        }
        self.depth -= 1;
        Ok(())
    }

    fn atom(&mut self) -> Result<(), ExpressionProblem> {
        let Some(token) = self.tokens.next() else {
            return Err(self.at_end("an operand is missing".to_owned()));
        };
        match token.kind {
            TokenKind::Number(number) => self.made.instructions.push(Instruction::Constant(number)),
            TokenKind::Symbol("(") => {
                self.sum()?;
                self.require(")")?;
            }
            TokenKind::Symbol(_) => return Err(self.unexpected(&token)),
            TokenKind::Name if self.take(&["("]).is_some() => self.call(&token)?,
            TokenKind::Name => self.name(token.range),
        }
        Ok(())
    }

    fn call(&mut self, token: &Token) -> Result<(), ExpressionProblem> {
        let name = &self.text[token.range.clone()];
        let at = character(self.text, token.range.start);
        let Some(operation) = Operation::called(name) else {
            return Err(ExpressionProblem { at, problem: format!("there is no function `{name}`") });
        };
        let mut operands = 0;
        while operands == 0 || self.take(&[","]).is_some() {
            self.sum()?;
            operands += 1;
        }
        self.require(")")?;
        if operands != operation.arity() {
            let problem = format!("`{name}` takes {} operands, not {operands}", operation.arity());
            return Err(ExpressionProblem { at, problem });
        }
        self.apply(operation);
        Ok(())
    }

    fn name(&mut self, range: Range<usize>) {
        let name = &self.text[range.clone()];
        let constant = match name {
            "pi" => Some(std::f64::consts::PI),
            "e" => Some(std::f64::consts::E),
            "True" => Some(1.0),
            "False" => Some(0.0),
            _ => None,
        };
        self.made.truth_values |= matches!(name, "True" | "False");
        let instruction = match constant {
            Some(number) => Instruction::Constant(number),
            None => {
                let known = self.made.names.iter().position(|n| n == name);
                let index = known.unwrap_or_else(|| {
                    self.made.names.push(name.to_owned());
                    self.made.names.len() - 1
                });
                self.made.uses.push((range, index));
                Instruction::Reference(index)
            }
        };
        self.made.instructions.push(instruction);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> f64 {
        Expression::read(text).unwrap_or_else(|e| panic!("{text}: {e:?}")).evaluate(|name| 10.0 + name as f64)
    }

    #[test]
    fn arithmetic_is_that_of_python() {
        assert_eq!(value("3/4*a"), 7.5);
        assert_eq!(value("-2**2"), -4.0);
        assert_eq!(value("2**-1"), 0.5);
        assert_eq!(value("2**3**2"), 512.0);
        assert_eq!(value("-(-a)**1"), 10.0);
        assert_eq!(value("a // 3 + b % 4"), 6.0);
        assert_eq!(value("sqrt(4)*2 + max(a, b)"), 15.0);
        assert_eq!(value("1e1 + .5 + 2."), 12.5);
        assert_eq!(value("a/pi"), 10.0 / std::f64::consts::PI);
        assert!(value("(0-1)**0.5").is_nan());
    }

    #[test]
    fn errors_have_places() {
        let error = |text: &str| Expression::read(text).expect_err(text);
        assert_eq!(error("a * * 2").at, 5);
        assert_eq!(error("").problem, "an operand is missing");
        assert_eq!(error("f(1)").problem, "there is no function `f`");
        assert_eq!(error("a > 2").problem, "unexpected character '>'");
        assert!(error(&"(".repeat(1000)).problem.starts_with("limit expression-nesting"));
    }

    #[test]
    fn names_are_replaced_in_the_text() {
        let expression = Expression::read("4*tau + sqrt(tau)").expect("an expression");
        let renamed = expression.renamed(|name| Some(format!("P_{name}")));
        assert_eq!(renamed.text(), "4*P_tau + sqrt(P_tau)");
        assert_eq!(renamed.names(), ["P_tau"]);
    }
}
