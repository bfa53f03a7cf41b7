//! The operations of expressions: one row each.
//!
//! Arithmetic is that of IEEE 754 everywhere; nothing here fails.

use cembra_vm::vector::float;
use cembra_vm::vector::math::double;

/// How an operation is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperatorSign {
    /// Between its operands.
    Infix(&'static str),
    /// Before its operand.
    Prefix(&'static str),
    /// As a function.
    Call(&'static str),
}

macro_rules! operations {
    ($($(#[$doc:meta])* $variant:ident $arity:literal [$($name:literal),*] |$x:ident, $y:ident| $value:expr;)*) => {
        /// An operation on one or two numbers.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Operation {
            $($(#[$doc])* $variant,)*
        }

        impl Operation {
            /// All operations.
            pub const ALL: &[Operation] = &[$(Operation::$variant),*];

            /// Names that call it; operators have none.
            pub fn names(self) -> &'static [&'static str] {
                match self { $(Operation::$variant => &[$($name),*]),* }
            }

            /// Operands: one or two.
            pub fn arity(self) -> usize {
                match self { $(Operation::$variant => $arity),* }
            }

            /// The result; the second operand of an operation on one number is not read.
            pub fn apply(self, x: f64, y: f64) -> f64 {
                match self { $(Operation::$variant => { let ($x, $y) = (x, y); let _ = $y; $value })* }
            }
        }
    };
}

operations! {
    /// `x + y`
    Add 2 [] |x, y| x + y;
    /// `x - y`
    Subtract 2 [] |x, y| x - y;
    /// `x * y`
    Multiply 2 [] |x, y| x * y;
    /// `x / y`
    Divide 2 [] |x, y| x / y;
    /// `-x`
    Negate 1 [] |x, y| -x;
    /// `x ** y`
    Power 2 ["pow"] |x, y| double::pow(x, y);
    /// `x // y`, rounded down.
    FloorDivide 2 [] |x, y| float::floordiv(x, y);
    /// `x % y`, with the sign of `y`.
    Modulo 2 [] |x, y| float::floormod(x, y);
    /// Square root.
    SquareRoot 1 ["sqrt"] |x, y| x.sqrt();
    /// Exponential function.
    Exponential 1 ["exp"] |x, y| double::exp(x);
    /// Natural logarithm.
    Logarithm 1 ["log"] |x, y| double::ln(x);
    /// Logarithm to base 10.
    Logarithm10 1 ["log10"] |x, y| double::log10(x);
    /// Logarithm to base 2.
    Logarithm2 1 ["log2"] |x, y| double::log2(x);
    /// Sine.
    Sine 1 ["sin"] |x, y| double::sin(x);
    /// Cosine.
    Cosine 1 ["cos"] |x, y| double::cos(x);
    /// Tangent.
    Tangent 1 ["tan"] |x, y| double::tan(x);
    /// Inverse sine.
    ArcSine 1 ["asin", "arcsin"] |x, y| double::asin(x);
    /// Inverse cosine.
    ArcCosine 1 ["acos", "arccos"] |x, y| double::acos(x);
    /// Inverse tangent.
    ArcTangent 1 ["atan", "arctan"] |x, y| double::atan(x);
    /// Angle of the point (y, x).
    ArcTangent2 2 ["atan2", "arctan2"] |x, y| double::atan2(x, y);
    /// Hyperbolic sine.
    HyperbolicSine 1 ["sinh"] |x, y| double::sinh(x);
    /// Hyperbolic cosine.
    HyperbolicCosine 1 ["cosh"] |x, y| double::cosh(x);
    /// Hyperbolic tangent.
    HyperbolicTangent 1 ["tanh"] |x, y| double::tanh(x);
    /// Absolute value.
    Absolute 1 ["abs", "fabs"] |x, y| x.abs();
    /// Next whole number below.
    Floor 1 ["floor"] |x, y| x.floor();
    /// Next whole number above.
    Ceiling 1 ["ceil"] |x, y| x.ceil();
    /// The smaller one; NaN if either is.
    Minimum 2 ["min"] |x, y| float::minimum(x, y);
    /// The larger one; NaN if either is.
    Maximum 2 ["max"] |x, y| float::maximum(x, y);
}

impl Operation {
    /// The operation that a name calls.
    pub fn called(name: &str) -> Option<Operation> {
        Operation::ALL.iter().copied().find(|o| o.names().contains(&name))
    }

    /// How it is written.
    pub fn sign(self) -> OperatorSign {
        match self {
            Operation::Add => OperatorSign::Infix("+"),
            Operation::Subtract => OperatorSign::Infix("-"),
            Operation::Multiply => OperatorSign::Infix("*"),
            Operation::Divide => OperatorSign::Infix("/"),
            Operation::Power => OperatorSign::Infix("**"),
            Operation::FloorDivide => OperatorSign::Infix("//"),
            Operation::Modulo => OperatorSign::Infix("%"),
            Operation::Negate => OperatorSign::Prefix("-"),
            called => OperatorSign::Call(called.names()[0]),
        }
    }
}
