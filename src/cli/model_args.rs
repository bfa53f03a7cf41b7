//! Arguments of `cembra model`.

use crate::cli::budget_args::BudgetArgs;
use crate::cli::fit_args::{FitArgs, finite_or_infinite};
use crate::cli::model_options::{Evaluator, ModelFiles};
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
    /// Find the parameters of a model from measured spectra.
    Fit(Box<FitArgs>),
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
    /// Show the program that evaluates the spectrum: instructions, frame, tile regions.
    #[arg(long, conflicts_with = "json")]
    pub machine: bool,
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
    /// Add normal noise of this standard deviation to the spectrum.
    #[arg(long, value_name = "SIGMA", value_parser = deviation, allow_hyphen_values = true, conflicts_with_all = ["batch", "components"])]
    pub noise: Option<f64>,
    /// Where the noise begins: the same number gives the same noise.
    #[arg(long, value_name = "N", default_value_t = 0, requires = "noise")]
    pub seed: u64,
    /// Write to a file instead of standard output: .csv or .npy.
    #[arg(short, long, value_name = "FILE", conflicts_with = "batch")]
    pub out: Option<PathBuf>,
    /// The files are recorded cases; print one JSON line for each theta.
    #[arg(long)]
    pub batch: bool,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
    /// What the evaluation, or each case of the batch, may use up.
    #[command(flatten)]
    pub budget: BudgetArgs,
}

/// A standard deviation.
fn deviation(text: &str) -> Result<f64, String> {
    let sigma = finite_or_infinite(text)?;
    match sigma >= 0.0 && sigma.is_finite() {
        true => Ok(sigma),
        false => Err(format!("a standard deviation is finite and not negative, unlike {sigma}")),
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
