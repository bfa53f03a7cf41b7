//! Options that several commands on models have.

use crate::backend::model::EvaluatorKind;
use crate::model::component::Semantics;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Where a model comes from.
#[derive(Debug, Args)]
pub struct ModelFiles {
    /// Model files in YAML; the entry `cembra` of one of them says how they are used.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Which formulas are meant, instead of what the files say.
    #[arg(long, value_enum)]
    pub semantics: Option<SemanticsArg>,
}

/// Names of semantics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SemanticsArg {
    /// Quadrature kernels, Voigt scaled at its centre.
    Current,
    /// Trailing y0, sampled kernels, Voigt scaled on the grid.
    #[value(name = "0.9")]
    V0_9,
}

impl SemanticsArg {
    /// The semantics.
    pub fn semantics(self) -> Semantics {
        match self {
            SemanticsArg::Current => Semantics::Current,
            SemanticsArg::V0_9 => Semantics::V0_9,
        }
    }
}

/// Evaluators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Evaluator {
    /// The schedule as a program of the machine; the interpreter if there is none.
    Compiled,
    /// The component loop of the original.
    Interpreter,
    /// Compiled and interpreter; an error if they differ by more than 1e-10, absolute and relative.
    Compare,
}

impl Evaluator {
    /// The evaluator by its kind.
    pub fn kind(self) -> EvaluatorKind {
        match self {
            Evaluator::Compiled => EvaluatorKind::Compiled,
            Evaluator::Interpreter => EvaluatorKind::Interpreter,
            Evaluator::Compare => EvaluatorKind::Compare,
        }
    }
}
