//! The functions by name: of one number, of rows, and in a table.
//!
//! ```
//! use cembra_vm::vector::math::double;
//!
//! let mut out = [0.0; 3];
//! double::exp_into(&[0.0, 1.0, f64::NEG_INFINITY], &mut out);
//! assert_eq!(out, [1.0, double::exp(1.0), 0.0]);
//! ```

use crate::vector::level::Level;
use crate::vector::math::dispatch::{Binary, MathOperand, Unary};
use crate::vector::math::dispatch::{binary, binary_rows, binary_rows_on, fused};
use crate::vector::math::dispatch::{unary, unary_rows, unary_rows_on};
use crate::vector::math::{
    area, error, exponential, faddeeva, gamma, hyperbolic, inverse, logarithm, power, root, trigonometry,
};

/// A function of one number, in all its forms.
#[derive(Clone, Copy, Debug)]
pub struct UnaryFunction<T> {
    /// Its name in this module.
    pub name: &'static str,
    /// Which function it is.
    pub kind: UnaryKind,
    /// The value at one number.
    pub one: fn(T) -> T,
    /// The values of rows, with the best instructions of the machine; panics if sizes differ.
    pub rows: fn(&[T], &mut [T]),
    /// The values of rows with given instructions; panics if the machine has not got them.
    pub rows_on: fn(Level, &[T], &mut [T]),
}

/// A function of two numbers, in all its forms.
#[derive(Clone, Copy, Debug)]
pub struct BinaryFunction<T> {
    /// Its name in this module.
    pub name: &'static str,
    /// Which function it is.
    pub kind: BinaryKind,
    /// The value at two numbers.
    pub one: fn(T, T) -> T,
    /// The values of rows, with the best instructions of the machine; panics if sizes differ.
    pub rows: fn(MathOperand<'_, T>, MathOperand<'_, T>, &mut [T]),
    /// The values of rows with given instructions; panics if the machine has not got them.
    pub rows_on: fn(Level, MathOperand<'_, T>, MathOperand<'_, T>, &mut [T]),
}

/// Functions of one width: plain functions, so that their code is made once, in this crate.
macro_rules! functions_of {
    ($float:ident;
     $($meaning:literal $name:ident $into:ident $module:ident $lane:ident;)*;
     $($meaning2:literal $name2:ident $into2:ident $module2:ident $lane2:ident;)*;
     $($plane:tt)*) => {
        $(
            #[doc = $meaning]
            pub fn $name(x: $float) -> $float {
                unary::<$module::$lane, $float>(x)
            }

            #[doc = concat!("`out[i] = ", stringify!($name), "(x[i])`; panics if the sizes differ.")]
            pub fn $into(x: &[$float], out: &mut [$float]) {
                unary_rows::<$module::$lane, $float>(x, out);
            }
        )*
        $(
            #[doc = $meaning2]
            pub fn $name2(x: $float, y: $float) -> $float {
                binary::<$module2::$lane2, $float>(x, y)
            }

            #[doc = concat!("`out[i] = ", stringify!($name2), "(x[i], y[i])`; panics if the sizes differ.")]
            pub fn $into2(x: MathOperand<'_, $float>, y: MathOperand<'_, $float>, out: &mut [$float]) {
                binary_rows::<$module2::$lane2, $float>(x, y, out);
            }
        )*

        /// All functions of one number.
        pub fn unary_functions() -> Vec<UnaryFunction<$float>> {
            vec![$(UnaryFunction {
                name: stringify!($name),
                kind: UnaryKind::$lane,
                one: $name,
                rows: $into,
                rows_on: unary_rows_on::<$module::$lane, $float>,
            }),*]
        }

        /// All functions of two numbers.
        pub fn binary_functions() -> Vec<BinaryFunction<$float>> {
            vec![$(BinaryFunction {
                name: stringify!($name2),
                kind: BinaryKind::$lane2,
                one: $name2,
                rows: $into2,
                rows_on: binary_rows_on::<$module2::$lane2, $float>,
            }),*]
        }
    };
}

/// Parts of functions of the complex plane, at x + iy.
macro_rules! plane_functions_of {
    ($float:ident; $($unary:literal $($of_unary:ident)*;)*; $($binary:literal $($of_binary:ident)*;)*;
     $($meaning:literal $name:ident $into:ident $module:ident $lane:ident;)*) => {
        $(
            #[doc = $meaning]
            pub fn $name(x: $float, y: $float) -> $float {
                binary::<$module::$lane, $float>(x, y)
            }

            #[doc = concat!("`out[i] = ", stringify!($name), "(x[i], y[i])`; panics if the sizes differ.")]
            pub fn $into(x: MathOperand<'_, $float>, y: MathOperand<'_, $float>, out: &mut [$float]) {
                binary_rows::<$module::$lane, $float>(x, y, out);
            }
        )*

        /// All parts of functions of the complex plane.
        pub fn plane_functions() -> Vec<BinaryFunction<$float>> {
            vec![$(BinaryFunction {
                name: stringify!($name),
                kind: BinaryKind::$lane,
                one: $name,
                rows: $into,
                rows_on: binary_rows_on::<$module::$lane, $float>,
            }),*]
        }
    };
}

/// The list of functions, handed to a macro behind its own arguments: functions of one number, of two, and parts of
/// functions of the complex plane, at x + iy.
macro_rules! functions {
    ($macro:ident $($argument:tt)*) => {
        $macro! { $($argument)*;
            "e to the power x." exp exp_into exponential Exp;
            "2 to the power x." exp2 exp2_into exponential Exp2;
            "`exp(x) - 1` without cancellation." expm1 expm1_into exponential Expm1;
            "`1 / (1 + exp(-x))`." sigmoid sigmoid_into exponential Sigmoid;
            "Natural logarithm; NaN below zero." ln ln_into logarithm Ln;
            "Logarithm to base 2." log2 log2_into logarithm Log2;
            "Logarithm to base 10." log10 log10_into logarithm Log10;
            "`ln(1 + x)` without cancellation." log1p log1p_into logarithm Log1p;
            "Square root, correctly rounded." sqrt sqrt_into root Sqrt;
            "Cube root." cbrt cbrt_into root Cbrt;
            "x to the power 3." cube cube_into power Cube;
            "x to the power 4." fourth fourth_into power Fourth;
            "x to the power 1/2." root root_into power Root;
            "Sine of an angle in radians." sin sin_into trigonometry Sin;
            "Cosine of an angle in radians." cos cos_into trigonometry Cos;
            "Tangent of an angle in radians." tan tan_into trigonometry Tan;
            "Arc sine in radians." asin asin_into inverse Asin;
            "Arc cosine in radians." acos acos_into inverse Acos;
            "Arc tangent in radians." atan atan_into inverse Atan;
            "Hyperbolic sine." sinh sinh_into hyperbolic Sinh;
            "Hyperbolic cosine." cosh cosh_into hyperbolic Cosh;
            "Hyperbolic tangent." tanh tanh_into hyperbolic Tanh;
            "Inverse hyperbolic sine." asinh asinh_into area Asinh;
            "Inverse hyperbolic cosine." acosh acosh_into area Acosh;
            "Inverse hyperbolic tangent." atanh atanh_into area Atanh;
            "Error function." erf erf_into error Erf;
            "Complementary error function." erfc erfc_into error Erfc;
            "Natural logarithm of the magnitude of the gamma function." lgamma lgamma_into gamma Lgamma;;
            "C `pow`: x to the power y; NaN for a negative x and a fractional y." pow pow_into power Pow;
            "`sqrt(x*x + y*y)` without overflow." hypot hypot_into root Hypot;
            "Angle of the point (second, first) in radians." atan2 atan2_into inverse Atan2;;
            "Real part of the Faddeeva function `w(x + iy)`."
                faddeeva_real faddeeva_real_into faddeeva FaddeevaReal;
            "Imaginary part of the Faddeeva function `w(x + iy)`."
                faddeeva_imag faddeeva_imag_into faddeeva FaddeevaImag;
            "Real part of the derivative of the Faddeeva function at `x + iy`."
                faddeeva_slope_real faddeeva_slope_real_into faddeeva FaddeevaSlopeReal;
            "Imaginary part of the derivative of the Faddeeva function at `x + iy`."
                faddeeva_slope_imag faddeeva_slope_imag_into faddeeva FaddeevaSlopeImag;
        }
    };
}

/// Which functions there are, as data and as types.
macro_rules! kinds {
    (; $($meaning:literal $name:ident $into:ident $module:ident $lane:ident;)*;
     $($meaning2:literal $name2:ident $into2:ident $module2:ident $lane2:ident;)*;
     $($meaning3:literal $name3:ident $into3:ident $module3:ident $lane3:ident;)*) => {
        /// A function of one number.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum UnaryKind {$(
            #[doc = $meaning]
            $lane,
        )*}

        impl UnaryKind {
            /// All of them.
            pub const ALL: &[UnaryKind] = &[$(UnaryKind::$lane),*];

            /// The function with a name.
            pub fn named(name: &str) -> Option<UnaryKind> {
                UnaryKind::ALL.iter().copied().find(|kind| kind.name() == name)
            }

            /// The name of its functions in [`double`] and [`single`].
            pub fn name(self) -> &'static str {
                match self {
                    $(UnaryKind::$lane => stringify!($name),)*
                }
            }

            /// Hands the function to a visitor, as a type.
            pub fn visit<V: UnaryVisitor>(self, visitor: V) -> V::Output {
                match self {
                    $(UnaryKind::$lane => visitor.visit::<$module::$lane>(),)*
                }
            }
        }

        /// A function of two numbers.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum BinaryKind {
            $(
                #[doc = $meaning2]
                $lane2,
            )*
            $(
                #[doc = $meaning3]
                $lane3,
            )*
        }

        impl BinaryKind {
            /// All of them.
            pub const ALL: &[BinaryKind] = &[$(BinaryKind::$lane2,)* $(BinaryKind::$lane3),*];

            /// The name of its functions in [`double`] and, but for parts of functions of the complex plane, [`single`].
            pub fn name(self) -> &'static str {
                match self {
                    $(BinaryKind::$lane2 => stringify!($name2),)*
                    $(BinaryKind::$lane3 => stringify!($name3),)*
                }
            }

            /// Hands the function to a visitor, as a type.
            pub fn visit<V: BinaryVisitor>(self, visitor: V) -> V::Output {
                match self {
                    $(BinaryKind::$lane2 => visitor.visit::<$module2::$lane2>(),)*
                    $(BinaryKind::$lane3 => visitor.visit::<$module3::$lane3>(),)*
                }
            }
        }
    };
}

functions!(kinds);

/// What can be done with every function of one number.
pub trait UnaryVisitor {
    /// What comes out of it.
    type Output;

    /// Does it.
    fn visit<F: Unary>(self) -> Self::Output;
}

/// What can be done with every function of two numbers.
pub trait BinaryVisitor {
    /// What comes out of it.
    type Output;

    /// Does it.
    fn visit<F: Binary>(self) -> Self::Output;
}

/// Functions of FLOAT64.
pub mod double {
    use super::{
        BinaryFunction, BinaryKind, MathOperand, UnaryFunction, UnaryKind, area, binary, binary_rows,
        binary_rows_on, error, exponential, faddeeva, fused, gamma, hyperbolic, inverse, logarithm, power,
        root, trigonometry, unary, unary_rows, unary_rows_on,
    };
    functions!(functions_of f64);

    /// `x * y + z` with one rounding, by the processor or in software.
    pub fn fma(x: f64, y: f64, z: f64) -> f64 {
        fused(x, y, z)
    }

    functions!(plane_functions_of f64);

    pub use crate::vector::math::gamma::gamma;
}

/// Functions of FLOAT32: those of FLOAT64, rounded once more.
pub mod single {
    use super::{
        BinaryFunction, BinaryKind, MathOperand, UnaryFunction, UnaryKind, area, binary, binary_rows,
        binary_rows_on, error, exponential, fused, gamma, hyperbolic, inverse, logarithm, power, root,
        trigonometry, unary, unary_rows, unary_rows_on,
    };
    functions!(functions_of f32);

    /// `x * y + z` with one rounding, by the processor or in software.
    pub fn fma(x: f32, y: f32, z: f32) -> f32 {
        fused(x, y, z)
    }
}
