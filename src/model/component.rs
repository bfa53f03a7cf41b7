//! The functions that components name: one row each, with package, role, parameters and the formula.
//!
//! | package | axis | functions |
//! | --- | --- | --- |
//! | energy | x | peaks and backgrounds |
//! | time | t | dynamics, kernels and the placeholder `none` |
//! | profile | z | what a parameter does along an auxiliary axis |
//!
//! A formula is text of the expression language. What it is multiplied by stands in front, so that a line that does not change
//! with time is computed once, however its height changes. A name `y0` at the end of a function of time counts in the older
//! semantics alone.
//!
//! The two published sets of formulas are [`Semantics`]: the functions of time have a trailing `y0` in
//! the older one.

use crate::model::formula::Formula;
use crate::model::named::named;
use std::borrow::Cow;
use std::sync::{LazyLock, OnceLock};

named! {
    /// Which published set of formulas a model means.
    #[derive(Default)]
    Semantics {
        /// The current one: quadrature kernels, Voigt scaled at its centre.
        #[default]
        Current "current",
        /// The one of the design document: trailing `y0`, sampled kernels, Voigt scaled on the grid.
        V0_9 "0.9",
    }
}

impl Semantics {
    /// The semantics of that name.
    pub fn from_name(name: &str) -> Option<Semantics> {
        [Semantics::Current, Semantics::V0_9].into_iter().find(|s| s.name() == name)
    }
}

named! {
    /// The axis that a function is evaluated on.
    Package {
        /// The energy axis.
        Energy "energy",
        /// The time axis.
        Time "time",
        /// The auxiliary axis of profiles.
        Profile "profile",
    }
}

/// How a component combines with the others of its model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// A peak, a trace or a profile term: its value is added.
    Additive,
    /// Added too, but no peak: not numbered and never the last component.
    Background,
    /// A background whose value depends on the spectrum that the components below it make.
    SpectrumFed,
    /// Convolves what the components below it make.
    Kernel,
    /// Does nothing: the empty first entry of a list with subcycles.
    Placeholder,
}

macro_rules! functions {
    ($($(#[$doc:meta])* $variant:ident $name:literal $code:literal $package:ident $role:ident
        [$($parameter:literal),*] $formula:literal;)*) => {
        /// A function that a component names.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Function {
            $($(#[$doc])* $variant,)*
        }

        impl Function {
            /// All functions.
            pub const ALL: &[Function] = &[$(Function::$variant),*];

            /// The name in model files.
            pub fn name(self) -> &'static str {
                match self { $(Function::$variant => $name),* }
            }

            /// The published code among the functions of its kind.
            pub fn code(self) -> i64 {
                match self { $(Function::$variant => $code),* }
            }

            /// The axis it is evaluated on.
            pub fn package(self) -> Package {
                match self { $(Function::$variant => Package::$package),* }
            }

            /// How its value is combined.
            pub fn role(self) -> Role {
                match self { $(Function::$variant => Role::$role),* }
            }

            /// The parameters of the current semantics, in the order of the formula.
            fn current_parameters(self) -> &'static [&'static str] {
                match self { $(Function::$variant => &[$($parameter),*]),* }
            }

            /// The formula as the table has it.
            fn row(self) -> &'static str {
                match self { $(Function::$variant => $formula),* }
            }
        }
    };
}

functions! {
    /// A normal distribution of height `A`.
    Gauss "Gauss" 0 Energy Additive ["A", "x0", "SD"] "A * exp(-0.5 * ((x - x0) / SD)**2)";
    /// Gauss with `SD` below `x0` and `SD*ratio` from `x0` on.
    GaussAsym "GaussAsym" 1 Energy Additive ["A", "x0", "SD", "ratio"]
        "A * exp(-0.5 * ((x - x0) / where(x < x0, SD, SD * ratio))**2)";
    /// A Cauchy distribution of height `A` and full width `W`.
    Lorentz "Lorentz" 2 Energy Additive ["A", "x0", "W"] "A * (1 / (1 + ((x - x0) / (W / 2))**2))";
    /// The convolution of Gauss and Lorentz, scaled to `A` at its centre; in the semantics 0.9 on the grid.
    Voigt "Voigt" 3 Energy Additive ["A", "x0", "SD", "W"]
        "w = SD * sqrt(2); A * (faddeeva_real((x - x0) / w, W / 2 / w) / faddeeva_real(0 / w, W / 2 / w))";
    /// Sum of Gauss and Lorentz with mixing `m`, both of full width `F`.
    Gls "GLS" 4 Energy Additive ["A", "x0", "F", "m"]
        "A * ((1 - m) * exp2(-4 * ((x - x0) / F)**2) + m / (1 + 4 * ((x - x0) / F)**2))";
    /// Product of Gauss and Lorentz with mixing `m`, both of full width `F`.
    Glp "GLP" 5 Energy Additive ["A", "x0", "F", "m"]
        "A * (exp2(-4 * (1 - m) * ((x - x0) / F)**2) / (1 + 4 * m * ((x - x0) / F)**2))";
    /// Doniach-Sunjic line with asymmetry `alpha`.
    Ds "DS" 6 Energy Additive ["A", "x0", "F", "alpha"]
        "angle = pi * alpha / 2 + (1 - alpha) * atan((x - x0) * (1 / F)); \
         A * (cos(angle) / (F**2 + (x - x0)**2)**((1 - alpha) / 2))";
    /// A constant.
    Offset "Offset" 10 Energy Background ["y0"] "y0";
    /// A straight line between `xStart` and `xStop`, constant outside; no number unless the first is below the second.
    LinBack "LinBack" 11 Energy Background ["m", "b", "xStart", "xStop"]
        "above = where(xStop < x, m * (xStop - xStart) + b, m * (x - xStart) + b); \
         where(xStart >= xStop, 0 / 0, where(x < xStart, b, above))";
    /// The sum of the spectrum from here to the end of the axis, scaled.
    Shirley "Shirley" 12 Energy SpectrumFed ["pShirley"] "pShirley * sum_to_end(spectrum)";

    /// A step at `t0`.
    Step "stepFun" 6 Time Additive ["A", "t0"] "where(t < t0, 0, A + y0)";
    /// A straight line from `t0` on.
    Linear "linFun" 2 Time Additive ["m", "t0"] "where(t < t0, 0, m * (t - t0) + y0)";
    /// An exponential decay from `t0` on.
    Exponential "expFun" 0 Time Additive ["A", "tau", "t0"] "where(t < t0, 0, A * exp(-1 / tau * (t - t0)) + y0)";
    /// An oscillation from `t0` on.
    Sine "sinFun" 1 Time Additive ["A", "f", "phi", "t0"]
        "where(t < t0, 0, A * sin(2 * pi * f * (t - t0) + phi) + y0)";
    /// `A sinc(2 f (t-t0))` from `t0` on.
    Sinc "sinDivX" 3 Time Additive ["A", "f", "t0"]
        "u = pi * (2 * f * (t - t0)); v = where(u == 0, 1, u); \
         where(t < t0, 0, A * where(u == 0, 1, sin(v) / v) + y0)";
    /// A square root from `t0` on.
    SquareRoot "sqrtFun" 5 Time Additive ["A", "t0"]
        "d = t - t0; A * where(0 < d, sqrt(where(0 < d, d, 1)), 0) + y0";
    /// A smooth step at `t0`, not zero before.
    ErrorFunction "erfFun" 4 Time Additive ["A", "SD", "t0"]
        "A / 2 * (1 + erf((t - t0) / (SD * sqrt(2)))) + y0";
    /// No effect.
    None "none" -1 Time Placeholder [] "0";

    /// A normal distribution.
    GaussKernel "gaussCONV" 0 Time Kernel ["SD"] "exp(-0.5 * (d / SD)**2)";
    /// An exponential decay to both sides.
    SymmetricKernel "expSymCONV" 1 Time Kernel ["tau"] "exp(-abs(d) / tau)";
    /// An exponential decay after the event.
    DecayKernel "expDecayCONV" 2 Time Kernel ["tau"] "where(d < 0, 0, exp(-d / tau))";
    /// An exponential rise before the event.
    RiseKernel "expRiseCONV" 3 Time Kernel ["tau"] "where(0 < d, 0, exp(d / tau))";
    /// A box of full width `width`.
    BoxKernel "boxCONV" 4 Time Kernel ["width"] "where(abs(d) <= width / 2, 1, 0)";
    /// A Cauchy distribution of full width `W`; semantics 0.9 only.
    LorentzKernel "lorentzCONV" 5 Time Kernel ["W"] "1 / (1 + (2 * d / W)**2)";
    /// The convolution of both; semantics 0.9 only.
    VoigtKernel "voigtCONV" 6 Time Kernel ["SD", "W"]
        "w = SD * sqrt(2); faddeeva_real(d / w, W / 2 / w)";

    /// An exponential decay.
    ProfileDecay "pExpDecay" 0 Profile Additive ["A", "tau"] "A * exp(-z / tau)";
    /// A straight line.
    ProfileLinear "pLinear" 1 Profile Additive ["m", "b"] "m * z + b";
    /// A normal distribution of height `A`.
    ProfileGauss "pGauss" 2 Profile Additive ["A", "x0", "SD"] "A * exp(-0.5 * ((z - x0) / SD)**2)";
}

/// Voigt in the semantics 0.9: scaled to `A` where it is highest on the grid.
const VOIGT_ON_GRID: &str =
    "w = SD * sqrt(2); line = faddeeva_real((x - x0) / w, W / 2 / w); A * (line / highest(line))";

/// The formulas of both semantics, read when they are first asked for.
static FORMULAS: [[OnceLock<Formula>; 2]; Function::ALL.len()] =
    [const { [const { OnceLock::new() }; 2] }; Function::ALL.len()];

impl Function {
    /// The function of that name in some semantics.
    pub fn from_name(name: &str, semantics: Semantics) -> Option<Function> {
        Function::ALL.iter().copied().find(|f| f.name() == name && f.exists_in(semantics))
    }

    /// True if the semantics has this function.
    pub fn exists_in(self, semantics: Semantics) -> bool {
        match self {
            Function::Step => semantics == Semantics::Current,
            Function::LorentzKernel | Function::VoigtKernel => semantics == Semantics::V0_9,
            _ => true,
        }
    }

    /// Parameters in the order of the formula.
    pub fn parameters(self, semantics: Semantics) -> Vec<&'static str> {
        let mut parameters = self.current_parameters().to_vec();
        if semantics == Semantics::V0_9 && self.is_dynamics() {
            parameters.push("y0");
        }
        parameters
    }

    /// What it computes, in the points of its [axis](Self::axis) and its parameters.
    pub fn formula(self, semantics: Semantics) -> &'static Formula {
        let read = || Formula::of_axis(&self.text(semantics), self.axis(), &self.parameters(semantics));
        FORMULAS[self as usize][semantics as usize].get_or_init(read)
    }

    /// Functions of time have a trailing `y0` in the older semantics alone.
    fn text(self, semantics: Semantics) -> Cow<'static, str> {
        match (self, semantics) {
            (Function::Voigt, Semantics::V0_9) => VOIGT_ON_GRID.into(),
            (_, Semantics::Current) if self.is_dynamics() => self.row().replace(" + y0", "").into(),
            _ => self.row().into(),
        }
    }

    /// What its formula calls the points: energies, times, distances in time, points of a profile; or the spectrum below it.
    pub fn axis(self) -> &'static str {
        match (self.package(), self.role()) {
            (_, Role::SpectrumFed) => "spectrum",
            (_, Role::Kernel) => "d",
            (Package::Energy, _) => "x",
            (Package::Time, _) => "t",
            (Package::Profile, _) => "z",
        }
    }

    /// Mass of a kernel that lies beyond a distance `d >= 0`, after the event and before it; `None` for none. Kernels of the
    /// semantics 0.9 alone have no such formula.
    pub fn tails(self) -> [Option<&'static Formula>; 2] {
        static TAILS: LazyLock<[Formula; 3]> = LazyLock::new(|| {
            [
                Formula::of_axis("SD * sqrt(pi / 2) * erfc(d / (sqrt(2) * SD))", "d", &["SD"]),
                Formula::of_axis("tau * exp(-d / tau)", "d", &["tau"]),
                Formula::of_axis("min(max(width / 2 - d, 0), max(width, 0))", "d", &["width"]),
            ]
        });
        let [gauss, exponential, clamped] = &*TAILS;
        match self {
            Function::GaussKernel => [Some(gauss), Some(gauss)],
            Function::SymmetricKernel => [Some(exponential), Some(exponential)],
            Function::DecayKernel => [Some(exponential), None],
            Function::RiseKernel => [None, Some(exponential)],
            Function::BoxKernel => [Some(clamped), Some(clamped)],
            _ => [None, None],
        }
    }

    /// True for a function of time that is added to a parameter.
    pub fn is_dynamics(self) -> bool {
        self.package() == Package::Time && self.role() == Role::Additive
    }

    /// True if components of this function get a number.
    pub fn is_numbered(self) -> bool {
        matches!(self.role(), Role::Additive | Role::Placeholder)
    }
}
