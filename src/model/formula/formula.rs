//! A formula: its text, its names, and the expression that it is.
//!
//! ```
//! # fn main() -> Result<(), cembra::model::formula::FormulaProblem> {
//! let formula = cembra::model::formula::Formula::read("where(A > 2, sqrt(A), 3/4*B)")?;
//! assert_eq!(formula.names(), ["A", "B"]);
//! assert_eq!(formula.evaluate(|name| [4.0, 8.0][name]), 2.0);
//! assert_eq!(formula.renamed(|name| Some(format!("m_{name}"))).text(), "where(m_A > 2, sqrt(m_A), 3/4*m_B)");
//! # Ok(())
//! # }
//! ```

use crate::compile::CompileError;
use crate::expr::{Expr, ExprBuilder, Node, NodeId};
use crate::model::formula::build::{Built, build, constant, is_truth, number};
use crate::model::formula::program::{FormulaError, Program};
use crate::model::formula::words::{Sort, Word, registry};
use crate::model::lower::term::Term;
use crate::registry::Dialect;
use crate::registry::infer::TypeError;
use crate::syntax::lexer::{Kind, Token, describe, span, tokens};
use crate::syntax::{Limits, SyntaxError, SyntaxErrorKind, parse_with};
use cembra_vm::builtins::math;
use std::sync::{Arc, OnceLock};

/// Characters a formula may have.
pub const LENGTH_LIMIT: usize = 10_000;

/// Levels of brackets and signs a formula may have.
const NESTING_LIMIT: usize = 200;

/// A formula that has been read.
#[derive(Clone, Debug)]
pub struct Formula {
    text: String,
    names: Vec<String>,
    own: Arc<Own>,
}

/// What renaming leaves as it is.
#[derive(Debug)]
struct Own {
    expr: Expr,
    /// Names as the expression has them.
    names: Vec<String>,
    has_axis: bool,
    has_truth_values: bool,
    program: OnceLock<Result<Program, CompileError>>,
}

/// Formulas are equal if they are the same text.
impl PartialEq for Formula {
    fn eq(&self, other: &Formula) -> bool {
        self.text == other.text
    }
}

/// Why a text is no formula.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("character {at}: {problem}")]
pub struct FormulaProblem {
    /// Character from 1.
    pub at: usize,
    /// What is wrong there.
    pub problem: String,
}

impl Formula {
    /// Reads a formula of parameters: one expression of numbers, whose names are those of parameters.
    ///
    /// # Errors
    /// The text is not of the language, or beyond its limits.
    pub fn read(text: &str) -> Result<Formula, FormulaProblem> {
        if text.len() > LENGTH_LIMIT {
            let problem = format!("limit expression-text: more than {LENGTH_LIMIT} characters");
            return Err(FormulaProblem { at: 1, problem });
        }
        // A file may break the line of a formula wherever it likes.
        let line = text.replace(['\n', '\r'], " ");
        let problem = |error: SyntaxError| problem_of(text, &error);
        if let Some(at) = line.find('#') {
            // Behind it everything would be a comment, lines that follow too.
            let kind = SyntaxErrorKind::Character { character: '#' };
            return Err(problem(SyntaxError::new(kind, span(at, at + 1))));
        }
        tokens(&line).map_err(problem)?.iter().try_for_each(allow).map_err(problem)?;
        let formula = Formula::parsed(&line, None).map_err(problem)?;
        Ok(Formula { text: text.to_owned(), ..formula })
    }

    /// A formula of the table of components: statements and a result, in the points of an axis and in parameters.
    ///
    /// # Panics
    /// The text is no formula of these names.
    pub(crate) fn of_axis(text: &str, axis: &str, parameters: &[&str]) -> Formula {
        let names = std::iter::once(axis).chain(parameters.iter().copied()).map(str::to_owned).collect();
        Formula::parsed(text, Some(names)).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    fn parsed(text: &str, names: Option<Vec<String>>) -> Result<Formula, SyntaxError> {
        let limits = Limits { text: LENGTH_LIMIT, nesting: NESTING_LIMIT, ..Limits::default() };
        let expr = parse_with(text, registry(), Dialect::Cembra, &limits)?;
        let has_axis = names.is_some();
        let has_truth_values = check(&expr, has_axis)?;
        let leaves = expr.leaves();
        let own = leaves.iter().filter(|name| constant(name).is_none()).map(|name| name.to_string());
        let names: Vec<String> = names.unwrap_or_else(|| own.collect());
        let own = Own { expr, names: names.clone(), has_axis, has_truth_values, program: OnceLock::new() };
        Ok(Formula { text: text.to_owned(), names, own: Arc::new(own) })
    }

    /// As it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Names it refers to, each once, in order of appearance.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// True if it has `True` or `False` in it, which count as 1 and 0.
    pub fn has_truth_values(&self) -> bool {
        self.own.has_truth_values
    }

    /// The same formula of other names; `None` keeps a name.
    pub fn renamed(&self, rename: impl Fn(&str) -> Option<String>) -> Formula {
        let name = |name: &String| rename(name).unwrap_or_else(|| name.clone());
        let names: Vec<String> = self.names.iter().map(name).collect();
        let line = self.text.replace(['\n', '\r'], " ");
        let tokens = tokens(&line).expect("the text has been read");
        let (mut text, mut end) = (String::new(), 0);
        for (token, next) in tokens.iter().zip(&tokens[1..]) {
            let Kind::Name(written) = &token.kind else { continue };
            let place = self.names.iter().position(|name| name == written);
            if let Some(place) = place.filter(|_| next.kind != Kind::Symbol("(")) {
                text.push_str(&self.text[end..token.span.start as usize]);
                text.push_str(&names[place]);
                end = token.span.end as usize;
            }
        }
        text.push_str(&self.text[end..]);
        Formula { text, names, own: self.own.clone() }
    }

    /// The value, given the values of names by their index.
    pub fn evaluate(&self, value: impl Fn(usize) -> f64) -> f64 {
        let values = (0..self.names.len()).map(value);
        let computed = self.program().map_err(FormulaError::from).and_then(|program| program.value(values));
        computed.expect("operators of numbers do not fail, and a formula has a text of limited length")
    }

    /// The values at the points of its axis, given those of its parameters.
    ///
    /// # Errors
    /// There is no memory, or there are more points than an array may have.
    pub fn evaluate_along(&self, points: &[f64], parameters: &[f64]) -> Result<Vec<f64>, FormulaError> {
        self.program()?.values(points, parameters)
    }

    fn program(&self) -> Result<&Program, CompileError> {
        let Own { expr, names, has_axis, program, .. } = &*self.own;
        program.get_or_init(|| Program::new(expr, names, *has_axis)).as_ref().map_err(Clone::clone)
    }

    /// The formula of a term for its axis and terms for its parameters.
    pub(crate) fn along<'b>(&self, axis: Term<'b>, parameters: &[Term<'b>]) -> Built<'b> {
        let terms: Vec<Term<'b>> = std::iter::once(axis).chain(parameters.iter().copied()).collect();
        self.build(axis.node.builder(), &terms)
    }

    /// The formula of terms, by the index of their names.
    pub(crate) fn build<'b>(&self, builder: &'b ExprBuilder, terms: &[Term<'b>]) -> Built<'b> {
        let names = &self.own.names;
        build(&self.own.expr, builder, |name| {
            names.iter().position(|known| known == name).map(|place| terms[place])
        })
    }

    /// Its steps on a stack, operands before what is done to them.
    pub(crate) fn postfix(&self) -> Vec<Postfix> {
        let graph = self.own.expr.graph();
        let (mut steps, mut work) = (Vec::new(), vec![self.own.expr.root()]);
        // The root first and right operands before left ones: the order of a stack, backwards.
        while let Some(id) = work.pop() {
            match graph.node(id) {
                Node::Literal(literal) => {
                    let number = number(literal).unwrap_or(f64::NAN);
                    // The sign of a number is an operation, as it was written.
                    if number.is_sign_negative() {
                        steps.push(Postfix::Apply(Word::parsed(math::NEG, 1).expect("a word")));
                    }
                    steps.push(Postfix::Number(number.abs()));
                }
                Node::Operator(name, operands) => {
                    let word = Word::parsed(graph.name(name), operands.len()).expect("checked");
                    if word.operator != math::POS {
                        steps.push(Postfix::Apply(word));
                    }
                    work.extend(operands);
                }
                Node::Leaf(name) | Node::Placeholder(name) => {
                    let name = graph.name(name);
                    let place = self.own.names.iter().position(|known| **known == **name);
                    let number = || Postfix::Number(constant(name).unwrap_or(f64::NAN));
                    steps.push(place.map_or_else(number, Postfix::Name));
                }
            }
        }
        steps.reverse();
        steps
    }
}

/// A step on a stack.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Postfix {
    /// Pushes a number.
    Number(f64),
    /// Pushes the value of a name, by its index.
    Name(usize),
    /// Replaces operands by their result.
    Apply(&'static Word),
}

/// Refuses what formulas of parameters have no use for.
fn allow(token: &Token) -> Result<(), SyntaxError> {
    let is_foreign = match &token.kind {
        Kind::Name(name) => name.contains('.'),
        Kind::Symbol(symbol) => ["=", "[", "]", "{", "}", ":", "."].contains(symbol),
        Kind::Text(_) | Kind::Bytes(_) | Kind::LineEnd => true,
        Kind::Integer(_) | Kind::Float(_) | Kind::End => false,
    };
    let (expected, found) = ("numbers, names of parameters, signs and functions", describe(&token.kind));
    match is_foreign {
        true => Err(SyntaxError::new(SyntaxErrorKind::Expected { expected, found }, token.span)),
        false => Ok(()),
    }
}

/// Checks that everything is a number or a condition, where it belongs; true if truth values are written as numbers.
fn check(expr: &Expr, has_axis: bool) -> Result<bool, SyntaxError> {
    let graph = expr.graph();
    let mut sorts: Vec<Sort> = Vec::with_capacity(graph.len());
    let mut has_truth_values = false;
    let fail = |id, expected, found: &str| {
        let found = found.to_owned();
        Err(SyntaxError::new(SyntaxErrorKind::Expected { expected, found }, graph.span(id)))
    };
    for id in (0..graph.len()).map(NodeId::at) {
        sorts.push(match graph.node(id) {
            Node::Leaf(_) => Sort::Number,
            Node::Placeholder(_) => return fail(id, "a name", "a placeholder"),
            Node::Literal(literal) => {
                if number(literal).is_none() {
                    return fail(id, "a number", &literal.to_string());
                }
                has_truth_values |= is_truth(literal);
                Sort::Number
            }
            Node::Operator(name, operands) => {
                let known = Word::parsed(graph.name(name), operands.len());
                let Some(word) = known.filter(|word| has_axis || !word.is_along) else {
                    return fail(id, "a function of numbers", &format!("`{}`", graph.name(name)));
                };
                let wrong = operands.iter().zip(word.operands).find(|(id, sort)| sorts[id.index()] != **sort);
                match wrong {
                    Some((_, Sort::Number)) => {
                        return fail(id, "numbers", "a condition, which only `where` takes");
                    }
                    Some((_, Sort::Truth)) => return fail(id, "a condition, such as `a < b`", "a number"),
                    None => word.result,
                }
            }
        });
    }
    match sorts[expr.root().index()] {
        Sort::Number => Ok(has_truth_values),
        Sort::Truth => fail(expr.root(), "a number", "a condition; write where(condition, x, y)"),
    }
}

/// What is wrong with a text, by the character where it is.
fn problem_of(text: &str, error: &SyntaxError) -> FormulaProblem {
    let start = text.floor_char_boundary(error.span.start as usize);
    let problem = match &error.kind {
        SyntaxErrorKind::Operator(TypeError::UnknownOperator { name, .. }) => {
            format!("there is no function `{name}`")
        }
        kind => kind.to_string(),
    };
    FormulaProblem { at: text[..start].chars().count() + 1, problem }
}
