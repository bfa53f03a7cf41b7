//! Expressions of parameters in postfix form, as expressions of the machine.
//!
//! Floor division and remainder of the machine raise for a zero divisor, those of models give NaN: the divisor
//! is replaced there.

use crate::expr::ExprBuilder;
use crate::model::arithmetic::Operation;
use crate::model::lower::term::Term;
use crate::model::schedule::plan::{Source, Word};

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
            let is_zero = y.with("bool.equal", y.beside(0.0));
            let whole = x.with(operator(operation), is_zero.select(y.beside(1.0), y));
            is_zero.select(y.beside(f64::NAN), whole)
        }
        _ => x.with(operator(operation), y),
    }
}

/// The operator of the machine that does the same.
fn operator(operation: Operation) -> &'static str {
    match operation {
        Operation::Add => "math.add",
        Operation::Subtract => "math.subtract",
        Operation::Multiply => "math.multiply",
        Operation::Divide => "math.divide",
        Operation::Negate => "math.neg",
        Operation::Power => "math.pow",
        Operation::FloorDivide => "math.floordiv",
        Operation::Modulo => "math.mod",
        Operation::SquareRoot => "math.sqrt",
        Operation::Exponential => "math.exp",
        Operation::Logarithm => "math.log",
        Operation::Logarithm10 => "math.log10",
        Operation::Logarithm2 => "math.log2",
        Operation::Sine => "math.trig.sin",
        Operation::Cosine => "math.trig.cos",
        Operation::Tangent => "math.trig.tan",
        Operation::ArcSine => "math.trig.asin",
        Operation::ArcCosine => "math.trig.acos",
        Operation::ArcTangent => "math.trig.atan",
        Operation::ArcTangent2 => "math.trig.atan2",
        Operation::HyperbolicSine => "math.trig.sinh",
        Operation::HyperbolicCosine => "math.trig.cosh",
        Operation::HyperbolicTangent => "math.trig.tanh",
        Operation::Absolute => "math.abs",
        Operation::Floor => "math.floor",
        Operation::Ceiling => "math.ceil",
        Operation::Minimum => "math.minimum",
        Operation::Maximum => "math.maximum",
    }
}
