//! What components compute, as expressions: the formulas of [`shape`](crate::model::shape) on whole axes.
//!
//! A component over energy is an *amplitude* times a *line*: a line that does not change with time is
//! computed once for all times, however its amplitude changes. Both sides of a condition are evaluated and one
//! is taken, element by element; where the other side would have no finite slope, it is given an argument
//! that has one, so that derivatives are finite wherever the formula's are.
//!
//! `exp(-4 ln 2 u)` is `2^(-4 u)`, and the square of a distance in widths is its square times one over that of the
//! width: both take less time, and differ from the formula as written by a few roundings.

use crate::model::component::{Function, Semantics};
use crate::model::lower::term::{Rates, Term};
use crate::registry::derived::{compare, nd};
use cembra_vm::builtins::{bools, math, plane, trig};
use std::f64::consts::{LOG2_E, PI, SQRT_2};

/// Amplitude, if the formula has one as a factor, and line of a component over energy.
///
/// # Panics
/// The function reads a spectrum or is no function of energy, or has other parameters.
pub fn energy<'b>(
    function: Function,
    semantics: Semantics,
    x: Term<'b>,
    p: &[Term<'b>],
) -> (Option<Term<'b>>, Term<'b>) {
    match (function, p) {
        (Function::Gauss, &[a, x0, sd]) => (Some(a), gauss(x - x0, sd)),
        (Function::GaussAsym, &[a, x0, sd, ratio]) => {
            (Some(a), gauss(x - x0, x.less(x0).select(sd, sd * ratio)))
        }
        (Function::Lorentz, &[a, x0, w]) => {
            let u = Squares::new(x - x0, w / 2.0);
            (Some(a), 1.0 / (1.0 + u.times(w.beside(1.0))))
        }
        (Function::Voigt, &[a, x0, sd, w]) => {
            // The quotient is 1 at most: a product with the amplitude overflows only if the amplitude does.
            let curve = voigt(x - x0, sd, w);
            (Some(a), curve / voigt_scale(semantics, curve, sd, w))
        }
        (Function::Gls, &[a, x0, f, m]) => {
            let u = Squares::new(x - x0, f);
            let [gauss, lorentz] = [u.times(f.beside(-4.0)), u.times(f.beside(4.0))];
            (Some(a), (1.0 - m) * gauss.exp2() + m / (1.0 + lorentz))
        }
        (Function::Glp, &[a, x0, f, m]) => {
            let u = Squares::new(x - x0, f);
            (Some(a), u.times(-4.0 * (1.0 - m)).exp2() / (1.0 + u.times(4.0 * m)))
        }
        (Function::Ds, &[a, x0, f, alpha]) => {
            let angle = PI * alpha / 2.0 + (1.0 - alpha) * (x - x0).over(f).apply(trig::ATAN);
            let size = (f.square() + (x - x0).square()).with(math::POW, (1.0 - alpha) / 2.0);
            (Some(a), angle.apply(trig::COS) / size)
        }
        (Function::Offset, &[y0]) => (None, y0),
        (Function::LinBack, &[m, b, start, stop]) => (None, line(x, m, b, start, stop)),
        _ => panic!("{function:?} with {} parameters is no component that needs no spectrum", p.len()),
    }
}

fn gauss<'b>(distance: Term<'b>, sd: Term<'b>) -> Term<'b> {
    Squares::new(distance, sd).times(sd.beside(-0.5 * LOG2_E)).exp2()
}

/// The square of a distance in widths.
#[derive(Clone, Copy)]
enum Squares<'b> {
    /// The square of the distance, and one over that of the width, which has fewer axes.
    Apart(Term<'b>, Term<'b>),
    /// The square of the quotient.
    Whole(Term<'b>),
}

impl<'b> Squares<'b> {
    fn new(distance: Term<'b>, width: Term<'b>) -> Squares<'b> {
        match width.has_fewer_axes(distance) {
            true => Squares::Apart(distance.square(), over_square(width)),
            false => Squares::Whole((distance / width).square()),
        }
    }

    /// The product with a factor: one multiplication for each element, where factor and width have fewer axes.
    fn times(self, factor: Term<'b>) -> Term<'b> {
        match self {
            Squares::Apart(distance, of_width) => factor * of_width * distance,
            Squares::Whole(square) => factor * square,
        }
    }
}

/// Smallest square of a width. One over it has room for the factors of the formulas.
const SMALLEST_SQUARE: f64 = 1e-300;

/// One over the square of a width, which is finite for a tiny width: infinity times a distance of zero would be NaN at the
/// centre of the line. That of zero is infinite, as in the formula.
fn over_square(width: Term<'_>) -> Term<'_> {
    let zero = width.beside(0.0);
    let square = width.square().maximum(width.beside(SMALLEST_SQUARE));
    1.0 / width.with(bools::EQUAL, zero).select(zero, square)
}

/// What a Voigt line is divided by: its value at the centre, or in the older semantics the highest of the axis.
fn voigt_scale<'b>(semantics: Semantics, curve: Term<'b>, sd: Term<'b>, w: Term<'b>) -> Term<'b> {
    match semantics {
        Semantics::Current => voigt(curve.beside(0.0), sd, w),
        Semantics::V0_9 => {
            Term { node: curve.along(nd::MAX, -1, true), rates: curve.rates.without(Rates::ENERGY) }
        }
    }
}

/// `Re w` of the Voigt line at a distance from its centre. The reciprocal of a tiny width would overflow.
pub fn voigt<'b>(distance: Term<'b>, sd: Term<'b>, w: Term<'b>) -> Term<'b> {
    let width = sd * SQRT_2;
    (distance / width).with(plane::FADDEEVA_REAL, w / 2.0 / width)
}

/// Constant, rising between start and stop, constant; NaN unless start is below stop.
fn line<'b>(x: Term<'b>, m: Term<'b>, b: Term<'b>, start: Term<'b>, stop: Term<'b>) -> Term<'b> {
    let above = stop.less(x).select(m * (stop - start) + b, m * (x - start) + b);
    let value = x.less(start).select(b, above);
    start.with(compare::GREATER_EQUAL, stop).select(x.beside(f64::NAN), value)
}

/// A function of time on an axis; with a trailing `y0` in the older semantics.
///
/// # Panics
/// The function is no function of time, or has other parameters.
pub fn time<'b>(function: Function, t: Term<'b>, p: &[Term<'b>]) -> Term<'b> {
    let count = function.parameters(Semantics::Current).len();
    let raised = |value: Term<'b>| p.get(count).map_or(value, |y0| value + *y0);
    let zero = t.beside(0.0);
    let t0 = p[count - 1];
    let since = t - t0;
    let active = match (function, &p[..count]) {
        (Function::ErrorFunction, &[a, sd, _]) => {
            return raised(a / 2.0 * (1.0 + (since / (sd * SQRT_2)).apply(math::ERF)));
        }
        (Function::SquareRoot, &[a, _]) => {
            let begun = zero.less(since);
            let root = begun.select(since, t.beside(1.0)).apply(math::SQRT);
            return raised(a * begun.select(root, zero));
        }
        (Function::Step, &[a, _]) => a,
        (Function::Linear, &[m, _]) => m * since,
        (Function::Exponential, &[a, tau, _]) => a * (-1.0 / tau * since).exp(),
        (Function::Sine, &[a, f, phi, _]) => a * (2.0 * PI * f * since + phi).apply(trig::SIN),
        (Function::Sinc, &[a, f, _]) => a * sinc(2.0 * f * since),
        _ => panic!("{function:?} with {} parameters is no function of time", p.len()),
    };
    t.less(t0).select(zero, raised(active))
}

/// `sin(pi x) / (pi x)`, 1 at 0.
fn sinc(x: Term<'_>) -> Term<'_> {
    let angle = PI * x;
    let one = x.beside(1.0);
    let at_centre = angle.with(bools::EQUAL, x.beside(0.0));
    let safe = at_centre.select(one, angle);
    at_centre.select(one, safe.apply(trig::SIN) / safe)
}

/// A term of a profile.
///
/// # Panics
/// The function is no profile, or has other parameters.
pub fn profile<'b>(function: Function, z: Term<'b>, p: &[Term<'b>]) -> Term<'b> {
    match (function, p) {
        (Function::ProfileDecay, &[a, tau]) => a * (-z / tau).exp(),
        (Function::ProfileLinear, &[m, b]) => m * z + b,
        (Function::ProfileGauss, &[a, x0, sd]) => a * gauss(z - x0, sd),
        _ => panic!("{function:?} with {} parameters is no profile", p.len()),
    }
}
