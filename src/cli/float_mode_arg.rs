//! The argument `--float-mode`.

use crate::prepare::{RuleClass, RuleSet};
use clap::ValueEnum;

/// How floats are rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FloatModeArg {
    /// After every operation, as it is written.
    Strict,
    /// Once where a product is added or subtracted: a * b + c is math.fma(a, b, c).
    Contract,
}

impl FloatModeArg {
    /// The rules of the optimizer with those of the mode.
    pub fn rules(self, rules: RuleSet) -> RuleSet {
        match self {
            FloatModeArg::Strict => rules,
            FloatModeArg::Contract => rules.with(RuleClass::Contract),
        }
    }
}
