//! Arguments of `cembra model`.

use crate::model::component::Semantics;
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Arguments of `model`.
#[derive(Debug, Args)]
pub struct ModelArgs {
    /// What to do with the model.
    #[command(subcommand)]
    pub command: ModelCommand,
}

/// Commands on models.
#[derive(Debug, Subcommand)]
pub enum ModelCommand {
    /// Read model files and report every error and warning with its place.
    Check(CheckArgs),
    /// Show how a model is evaluated: rows, steps, operations.
    Explain(ExplainModelArgs),
    /// Show a model as a graph, or save it as a file.
    Graph(GraphArgs),
    /// Evaluate a model.
    Eval(EvalModelArgs),
}

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

/// Arguments of `model check`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// The model.
    #[command(flatten)]
    pub model: ModelFiles,
    /// The files are recorded cases; print one JSON line each.
    #[arg(long)]
    pub batch: bool,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `model explain`.
#[derive(Debug, Args)]
pub struct ExplainModelArgs {
    /// The model.
    #[command(flatten)]
    pub model: ModelFiles,
    /// Print the packed arrays as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `model graph`.
#[derive(Debug, Args)]
pub struct GraphArgs {
    /// The model.
    #[command(flatten)]
    pub model: ModelFiles,
    /// How to show it.
    #[arg(long, value_enum, default_value_t = GraphFormat::Text)]
    pub format: GraphFormat,
}

/// Arguments of `model eval`.
#[derive(Debug, Args)]
pub struct EvalModelArgs {
    /// The model.
    #[command(flatten)]
    pub model: ModelFiles,
    /// A value of a free parameter, instead of its initial one: GLP_01_A=12.5.
    #[arg(long = "set", value_name = "NAME=VALUE", allow_hyphen_values = true)]
    pub values: Vec<String>,
    /// Which evaluator computes the spectrum.
    #[arg(long, value_enum, default_value_t = Evaluator::Compiled)]
    pub evaluator: Evaluator,
    /// Add a column for each component (spectra over one axis).
    #[arg(long, conflicts_with = "batch")]
    pub components: bool,
    /// The files are recorded cases; print one JSON line for each theta.
    #[arg(long)]
    pub batch: bool,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
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

/// Forms of graphs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum GraphFormat {
    /// For people.
    Text,
    /// All fields of all nodes.
    Json,
    /// For Graphviz.
    Dot,
    /// A model file that gives the same graph.
    Yaml,
}

/// Evaluators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Evaluator {
    /// The schedule as a program of the machine; the interpreter if there is none.
    Compiled,
    /// The schedule, step by step.
    Schedule,
    /// The component loop of the original.
    Interpreter,
    /// Compiled and interpreter; an error if they differ by more than 1e-10, absolute and relative.
    Compare,
}
