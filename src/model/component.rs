//! The functions that components name: one row each, with package, role and parameters.
//!
//! | package | axis | functions |
//! | --- | --- | --- |
//! | energy | x | peaks and backgrounds |
//! | time | t | dynamics, kernels and the placeholder `none` |
//! | profile | z | what a parameter does along an auxiliary axis |
//!
//! The two published sets of formulas are [`Semantics`]: the functions of time have a trailing `y0` in
//! the older one.

use std::fmt;

/// Which published set of formulas a model means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Semantics {
    /// The current one: quadrature kernels, Voigt scaled at its centre.
    #[default]
    Current,
    /// The one of the design document: trailing `y0`, sampled kernels, Voigt scaled on the grid.
    V0_9,
}

impl Semantics {
    /// The name in headers and options.
    pub fn name(self) -> &'static str {
        match self {
            Semantics::Current => "current",
            Semantics::V0_9 => "0.9",
        }
    }

    /// The semantics of that name.
    pub fn from_name(name: &str) -> Option<Semantics> {
        [Semantics::Current, Semantics::V0_9].into_iter().find(|s| s.name() == name)
    }
}

/// The axis that a function is evaluated on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Package {
    /// The energy axis.
    Energy,
    /// The time axis.
    Time,
    /// The auxiliary axis of profiles.
    Profile,
}

impl Package {
    /// `energy`, `time` or `profile`.
    pub fn name(self) -> &'static str {
        match self {
            Package::Energy => "energy",
            Package::Time => "time",
            Package::Profile => "profile",
        }
    }
}

impl fmt::Display for Package {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
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
    ($($(#[$doc:meta])* $variant:ident $name:literal $package:ident $role:ident
        [$($parameter:literal),*];)*) => {
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
        }
    };
}

functions! {
    /// `A exp(-((x-x0)/SD)^2 / 2)`
    Gauss "Gauss" Energy Additive ["A", "x0", "SD"];
    /// Gauss with `SD` below `x0` and `SD*ratio` from `x0` on.
    GaussAsym "GaussAsym" Energy Additive ["A", "x0", "SD", "ratio"];
    /// `A / (1 + (2(x-x0)/W)^2)`
    Lorentz "Lorentz" Energy Additive ["A", "x0", "W"];
    /// The convolution of Gauss and Lorentz, scaled to `A` at its centre.
    Voigt "Voigt" Energy Additive ["A", "x0", "SD", "W"];
    /// Sum of Gauss and Lorentz with mixing `m`.
    Gls "GLS" Energy Additive ["A", "x0", "F", "m"];
    /// Product of Gauss and Lorentz with mixing `m`.
    Glp "GLP" Energy Additive ["A", "x0", "F", "m"];
    /// Doniach-Sunjic line with asymmetry `alpha`.
    Ds "DS" Energy Additive ["A", "x0", "F", "alpha"];
    /// A constant.
    Offset "Offset" Energy Background ["y0"];
    /// A straight line between `xStart` and `xStop`, constant outside.
    LinBack "LinBack" Energy Background ["m", "b", "xStart", "xStop"];
    /// `pShirley` times the sum of the spectrum from here to the end of the axis.
    Shirley "Shirley" Energy SpectrumFed ["pShirley"];

    /// `A` from `t0` on.
    Step "stepFun" Time Additive ["A", "t0"];
    /// `m (t-t0)` from `t0` on.
    Linear "linFun" Time Additive ["m", "t0"];
    /// `A exp(-(t-t0)/tau)` from `t0` on.
    Exponential "expFun" Time Additive ["A", "tau", "t0"];
    /// `A sin(2 pi f (t-t0) + phi)` from `t0` on.
    Sine "sinFun" Time Additive ["A", "f", "phi", "t0"];
    /// `A sinc(2 f (t-t0))` from `t0` on.
    Sinc "sinDivX" Time Additive ["A", "f", "t0"];
    /// `A sqrt(t-t0)` from `t0` on.
    SquareRoot "sqrtFun" Time Additive ["A", "t0"];
    /// `A/2 (1 + erf((t-t0)/(SD sqrt 2)))`, not zero before `t0`.
    ErrorFunction "erfFun" Time Additive ["A", "SD", "t0"];
    /// No effect.
    None "none" Time Placeholder [];

    /// `exp(-(d/SD)^2 / 2)`
    GaussKernel "gaussCONV" Time Kernel ["SD"];
    /// `exp(-|d|/tau)`
    SymmetricKernel "expSymCONV" Time Kernel ["tau"];
    /// `exp(-d/tau)` for `d >= 0`.
    DecayKernel "expDecayCONV" Time Kernel ["tau"];
    /// `exp(d/tau)` for `d <= 0`.
    RiseKernel "expRiseCONV" Time Kernel ["tau"];
    /// 1 for `|d| <= width/2`.
    BoxKernel "boxCONV" Time Kernel ["width"];
    /// `1/(1 + (2d/W)^2)`, semantics 0.9 only.
    LorentzKernel "lorentzCONV" Time Kernel ["W"];
    /// Voigt line, semantics 0.9 only.
    VoigtKernel "voigtCONV" Time Kernel ["SD", "W"];

    /// `A exp(-z/tau)`
    ProfileDecay "pExpDecay" Profile Additive ["A", "tau"];
    /// `m z + b`
    ProfileLinear "pLinear" Profile Additive ["m", "b"];
    /// `A exp(-((z-x0)/SD)^2 / 2)`
    ProfileGauss "pGauss" Profile Additive ["A", "x0", "SD"];
}

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

    /// True for a function of time that is added to a parameter.
    pub fn is_dynamics(self) -> bool {
        self.package() == Package::Time && self.role() == Role::Additive
    }

    /// True if components of this function get a number.
    pub fn is_numbered(self) -> bool {
        matches!(self.role(), Role::Additive | Role::Placeholder)
    }

    /// True for what needs other components below it in the file.
    pub fn is_background(self) -> bool {
        matches!(self.role(), Role::Background | Role::SpectrumFed)
    }
}
