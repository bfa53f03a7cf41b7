//! Expressions of parameters in postfix form, as expressions of the machine.
//!
//! Floor division and remainder of the machine raise for a zero divisor, those of models give NaN: the divisor
//! is replaced there.

use crate::expr::ExprBuilder;
use crate::model::arithmetic::Operation;
use crate::model::lower::term::Term;
use crate::model::schedule::plan::{Source, Word};
use cembra_vm::builtins::{bools, math, trig};

/// The value of a postfix form.
pub fn evaluate<'b>(
    builder: &'b ExprBuilder,
    words: &[Word],
    mut read: impl FnMut(Source) -> Term<'b>,
) -> Term<'b> {
    let mut stack: Vec<Term<'b>> = Vec::new();
    for word in words {
        let value = match *word {
            Word::Constant(number) => Term::number(builder, number),
            Word::Read(source) => read(source),
            Word::Apply(operation) => {
                let y = stack.pop().expect("operands come first");
                match operation.arity() {
                    1 => unary(operation, y),
                    _ => binary(operation, stack.pop().expect("operands come first"), y),
                }
            }
        };
        stack.push(value);
    }
    stack.pop().expect("an expression has a value")
}

fn unary(operation: Operation, x: Term<'_>) -> Term<'_> {
    x.apply(operator(operation))
}

fn binary<'b>(operation: Operation, x: Term<'b>, y: Term<'b>) -> Term<'b> {
    match operation {
        Operation::FloorDivide | Operation::Modulo => {
            let is_zero = y.with(bools::EQUAL, y.beside(0.0));
            let whole = x.with(operator(operation), is_zero.select(y.beside(1.0), y));
            is_zero.select(y.beside(f64::NAN), whole)
        }
        _ => x.with(operator(operation), y),
    }
}

/// The operator of the machine that does the same.
fn operator(operation: Operation) -> &'static str {
    match operation {
        Operation::Add => math::ADD,
        Operation::Subtract => math::SUBTRACT,
        Operation::Multiply => math::MULTIPLY,
        Operation::Divide => math::DIVIDE,
        Operation::Negate => math::NEG,
        Operation::Power => math::POW,
        Operation::FloorDivide => math::FLOORDIV,
        Operation::Modulo => math::MOD,
        Operation::SquareRoot => math::SQRT,
        Operation::Exponential => math::EXP,
        Operation::Logarithm => math::LOG,
        Operation::Logarithm10 => math::LOG10,
        Operation::Logarithm2 => math::LOG2,
        Operation::Sine => trig::SIN,
        Operation::Cosine => trig::COS,
        Operation::Tangent => trig::TAN,
        Operation::ArcSine => trig::ASIN,
        Operation::ArcCosine => trig::ACOS,
        Operation::ArcTangent => trig::ATAN,
        Operation::ArcTangent2 => trig::ATAN2,
        Operation::HyperbolicSine => trig::SINH,
        Operation::HyperbolicCosine => trig::COSH,
        Operation::HyperbolicTangent => trig::TANH,
        Operation::Absolute => math::ABS,
        Operation::Floor => math::FLOOR,
        Operation::Ceiling => math::CEIL,
        Operation::Minimum => math::MINIMUM,
        Operation::Maximum => math::MAXIMUM,
    }
}
