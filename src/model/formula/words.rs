//! The words of formulas: how a sign or a function is written, and the operator of the machine that it is.
//!
//! ```text
//! sqrt(x)       math.sqrt          a < b            bool.less: a truth value, for `where` alone
//! x // y        math.floordiv      where(c, x, y)   nd.where: both sides are computed, one is taken
//! ```

use crate::expr::print::{INFIX, PREFIX};
use crate::registry::define::OperatorDef;
use crate::registry::derived::{compare, nd};
use crate::registry::registry::Registry;
use cembra_vm::builtins::nd::shape;
use cembra_vm::builtins::{bools, math, plane, trig};
use std::sync::LazyLock;

/// What an operand or a result is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sort {
    /// A number.
    Number,
    /// A truth value.
    Truth,
}

/// A sign or a function.
#[derive(Debug)]
pub(crate) struct Word {
    /// How it is written.
    names: &'static [&'static str],
    /// The operator of the machine.
    pub(crate) operator: &'static str,
    /// What it takes.
    pub(crate) operands: &'static [Sort],
    /// What it gives.
    pub(crate) result: Sort,
    /// True if an element depends on others along the axis: a component knows of those, a parameter does not.
    pub(crate) is_along: bool,
}

const N: Sort = Sort::Number;
const T: Sort = Sort::Truth;

const fn word(
    names: &'static [&'static str],
    operator: &'static str,
    operands: &'static [Sort],
    result: Sort,
) -> Word {
    Word { names, operator, operands, result, is_along: false }
}

const fn unary(names: &'static [&'static str], operator: &'static str) -> Word {
    word(names, operator, &[N], N)
}

const fn binary(names: &'static [&'static str], operator: &'static str) -> Word {
    word(names, operator, &[N, N], N)
}

const fn along(names: &'static [&'static str], operator: &'static str) -> Word {
    Word { is_along: true, ..unary(names, operator) }
}

/// All words. The first ones have the published codes, in this order.
const WORDS: &[Word] = &[
    binary(&["+"], math::ADD),
    binary(&["-"], math::SUBTRACT),
    binary(&["*"], math::MULTIPLY),
    binary(&["/"], math::DIVIDE),
    unary(&["-"], math::NEG),
    binary(&["**", "pow"], math::POW),
    binary(&["//"], math::FLOORDIV),
    binary(&["%"], math::MOD),
    unary(&["sqrt"], math::SQRT),
    unary(&["exp"], math::EXP),
    unary(&["log"], math::LOG),
    unary(&["log10"], math::LOG10),
    unary(&["log2"], math::LOG2),
    unary(&["sin"], trig::SIN),
    unary(&["cos"], trig::COS),
    unary(&["tan"], trig::TAN),
    unary(&["asin", "arcsin"], trig::ASIN),
    unary(&["acos", "arccos"], trig::ACOS),
    unary(&["atan", "arctan"], trig::ATAN),
    binary(&["atan2", "arctan2"], trig::ATAN2),
    unary(&["sinh"], trig::SINH),
    unary(&["cosh"], trig::COSH),
    unary(&["tanh"], trig::TANH),
    unary(&["abs", "fabs"], math::ABS),
    unary(&["floor"], math::FLOOR),
    unary(&["ceil"], math::CEIL),
    binary(&["min"], math::MINIMUM),
    binary(&["max"], math::MAXIMUM),
    unary(&["+"], math::POS),
    unary(&["sign"], math::SIGN),
    unary(&["exp2"], math::EXP2),
    unary(&["erf"], math::ERF),
    unary(&["erfc"], math::ERFC),
    binary(&["faddeeva_real"], plane::FADDEEVA_REAL),
    word(&["<"], bools::LESS, &[N, N], T),
    word(&["<="], bools::LESS_EQUAL, &[N, N], T),
    word(&[">"], compare::GREATER, &[N, N], T),
    word(&[">="], compare::GREATER_EQUAL, &[N, N], T),
    word(&["=="], bools::EQUAL, &[N, N], T),
    word(&["!="], bools::NOT_EQUAL, &[N, N], T),
    word(&["&"], bools::LOGICAL_AND, &[T, T], T),
    word(&["|"], bools::LOGICAL_OR, &[T, T], T),
    word(&["~"], bools::LOGICAL_NOT, &[T], T),
    word(&["where"], shape::WHERE, &[T, N, N], N),
    along(&["highest"], nd::MAX),
    along(&["sum_to_end"], nd::CUMSUM),
];

impl Word {
    /// The word behind an operator with so many operands, as the parser names it.
    pub(crate) fn parsed(operator: &str, operands: usize) -> Option<&'static Word> {
        let infix = INFIX.iter().map(|(operator, symbol, _)| (operator, symbol));
        let mut signs = infix.chain(PREFIX.iter().map(|(operator, symbol)| (operator, symbol)));
        let name = signs.find(|(known, _)| **known == operator).map_or(operator, |(_, symbol)| symbol);
        WORDS.iter().find(|word| word.names.contains(&name) && word.operands.len() == operands)
    }

    /// Its place among all words, which published codes follow.
    pub(crate) fn place(&self) -> usize {
        WORDS.iter().position(|word| std::ptr::eq(word, self)).unwrap_or(WORDS.len())
    }
}

/// The operators that a parser of formulas knows: functions by their bare names.
pub(crate) fn registry() -> &'static Registry {
    static WITH_WORDS: LazyLock<Registry> = LazyLock::new(|| {
        let mut registry = Registry::standard();
        for word in WORDS {
            let params = &["x", "y", "z"][..word.operands.len()];
            for name in word.names.iter().filter(|name| name.starts_with(char::is_alphabetic)) {
                let def =
                    OperatorDef::new(name, params, word.operator, |cx| cx.unchanged(cx.types[0].clone()));
                registry.define(def).expect("a word is no name of another operator");
            }
        }
        registry
    });
    &WITH_WORDS
}
