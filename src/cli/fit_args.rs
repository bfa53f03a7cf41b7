//! Arguments of `cembra model fit`.

use crate::cli::budget_args::BudgetArgs;
use crate::cli::model_options::{Evaluator, ModelFiles};
use crate::fit::{Method, Noise};
use cembra_vm::value::number::is_in_range;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Arguments of `model fit`.
#[derive(Debug, Args)]
pub struct FitArgs {
    /// The model.
    #[command(flatten)]
    pub model: ModelFiles,
    /// Measured spectra: CSV or TSV tables, NPY or NPZ arrays; with the feature `columns` Parquet and
    /// Arrow tables. Several files are fitted together, and share parameters that vary by `project`.
    #[arg(short, long, value_name = "FILE", required = true)]
    pub data: Vec<PathBuf>,
    /// Which column of a table, or array of an NPZ file, is the spectrum.
    #[arg(long, value_name = "NAME")]
    pub column: Option<String>,
    /// What is fitted to data over time and energy.
    #[arg(long, value_enum, default_value_t = FitKind::Full)]
    pub kind: FitKind,
    /// Energies that count, both ends included; either may be left out.
    #[arg(long, value_name = "FROM:TO", allow_hyphen_values = true, value_parser = interval)]
    pub energy_window: Option<Interval>,
    /// Times that count, both ends included; either may be left out.
    #[arg(long, value_name = "FROM:TO", allow_hyphen_values = true, value_parser = interval)]
    pub time_window: Option<Interval>,
    /// What is known of the noise: unknown, gaussian:SIGMA, poisson or poisson:COUNTS-A-UNIT.
    #[arg(long, value_name = "NOISE", default_value = "unknown", value_parser = noise)]
    pub noise: Noise,
    /// How the best parameters are found.
    #[arg(long, value_enum, default_value_t = MethodArg::Lm)]
    pub method: MethodArg,
    /// Which evaluator computes the spectra.
    #[arg(long, value_enum, default_value_t = Evaluator::Compiled)]
    pub evaluator: Evaluator,
    /// A free parameter that is to keep its value; a name may end in `*`.
    #[arg(long, value_name = "NAME")]
    pub fix: Vec<String>,
    /// Another initial value: GLP_01_A=12.5.
    #[arg(long = "set", value_name = "NAME=VALUE", allow_hyphen_values = true)]
    pub values: Vec<String>,
    /// Find confidence intervals of 1, 2 and 3 standard deviations from profiles of chi².
    #[arg(long)]
    pub confidence: bool,
    /// Threads for slices; all processors without it.
    #[arg(long, value_name = "N")]
    pub threads: Option<usize>,
    /// Write the result as JSON; `-` prints it instead of the table.
    #[arg(short, long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Write the model with the fitted values as its initial ones.
    #[arg(long, value_name = "FILE")]
    pub save_model: Option<PathBuf>,
    /// Draw data, fit and residuals as an SVG picture; with the feature `png` also as FILE.png.
    #[arg(long, value_name = "FILE.svg")]
    pub plot: Option<PathBuf>,
    /// What the energy axis is called in pictures, with its unit.
    #[arg(long, value_name = "TEXT", default_value = "Energy")]
    pub energy_label: String,
    /// What the time axis is called in pictures, with its unit.
    #[arg(long, value_name = "TEXT", default_value = "Time")]
    pub time_label: String,
    /// What the values are called in pictures, with their unit.
    #[arg(long, value_name = "TEXT", default_value = "Intensity")]
    pub intensity_label: String,
    /// Print no progress.
    #[arg(short, long)]
    pub quiet: bool,
    /// What all fits together may use up.
    #[command(flatten)]
    pub budget: BudgetArgs,
}

/// What is fitted to data over time and energy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FitKind {
    /// All of it, with the dynamics.
    Full,
    /// The mean of the times before 0, or of the time window, without dynamics.
    Baseline,
    /// The mean of all times, or of the time window, without dynamics.
    Spectrum,
    /// The spectrum of each time by itself, without dynamics.
    Slices,
}

impl FitKind {
    /// The name in results.
    pub fn name(self) -> &'static str {
        match self {
            FitKind::Full => "full",
            FitKind::Baseline => "baseline",
            FitKind::Spectrum => "spectrum",
            FitKind::Slices => "slices",
        }
    }
}

/// Names of methods.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MethodArg {
    /// Levenberg and Marquardt, by derivatives.
    Lm,
    /// Nelder and Mead, by a simplex.
    Nelder,
    /// The simplex, then Levenberg and Marquardt.
    TwoStage,
    /// Variable projection: amplitudes are solved for, the others found by Levenberg and Marquardt.
    Varpro,
}

impl MethodArg {
    /// The method.
    pub fn method(self) -> Method {
        match self {
            MethodArg::Lm => Method::LevenbergMarquardt,
            MethodArg::Nelder => Method::NelderMead,
            MethodArg::TwoStage => Method::TwoStage,
            MethodArg::Varpro => Method::VariableProjection,
        }
    }
}

/// Values from one end to the other, both included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The lower end.
    pub from: f64,
    /// The upper end.
    pub to: f64,
}

fn interval(text: &str) -> Result<Interval, String> {
    let end = |text: &str, absent: f64| match text.trim() {
        "" => Ok(absent),
        number => finite_or_infinite(number),
    };
    let (from, to) = text.split_once(':').ok_or("it is FROM:TO")?;
    let (from, to) = (end(from, f64::NEG_INFINITY)?, end(to, f64::INFINITY)?);
    match from <= to {
        true => Ok(Interval { from, to }),
        false => Err(format!("{from} is not below {to}")),
    }
}

/// A number that does not overflow; `inf` is what it says.
pub(super) fn finite_or_infinite(text: &str) -> Result<f64, String> {
    let number = text.parse().map_err(|_| format!("`{text}` is no number"))?;
    match is_in_range(text, number) {
        true => Ok(number),
        false => Err(format!("`{text}` is out of the range of FLOAT64")),
    }
}

fn noise(text: &str) -> Result<Noise, String> {
    let (name, scale) = text.split_once(':').map_or((text, None), |(name, scale)| (name, Some(scale)));
    let scale = scale.map(finite_or_infinite).transpose()?;
    let noise = match (name, scale) {
        ("unknown", None) => Noise::Unknown,
        ("gaussian", Some(sigma)) => Noise::Gaussian { sigma },
        ("poisson", scale) => Noise::Poisson { scale: scale.unwrap_or(1.0) },
        _ => return Err("it is unknown, gaussian:SIGMA, poisson or poisson:SCALE".to_owned()),
    };
    noise.check().map(|()| noise).map_err(|error| error.to_string())
}
